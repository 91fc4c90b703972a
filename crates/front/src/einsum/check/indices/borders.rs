//! Indices that stay inside of their dimension: `wrap(i + 1)`, `clamp(2*i - k)`.
//!
//! Their names are no others' where an index is expected; `wrap[i]` is an element of a tensor all the same.

use lacunar_notation::Rule;

use crate::einsum::ast::{Callee, Expr, ExprKind};

/// The rule of an index, and the content of its parentheses.
pub(super) fn of(index: &Expr) -> Option<(Rule, &[Expr])> {
    match &index.kind {
        ExprKind::Apply { name, args, callee: Callee::Named } => Some((Rule::parse(&name.text)?, args)),
        _ => None,
    }
}
