//! Index variables that stand as values: `y(i) = i * x(i)`.
//!
//! A name alone is an index variable's value if it is an index of the statement, and no tensor. The values of a variable are
//! kept as a tensor of order 1 that nobody gives ([`Role::Index`](lacunar_notation::Role::Index)), whose element `i` is `i`: loops,
//! sizes and stored dimensions are those of an access of it. Its name is one that no text can have.
//!
//! ```text
//! y(i) = A(i,j) * j       as  y(i) = A(i,j) * [j](j)
//! ```

use indexmap::IndexSet;

use super::super::ast::{Expr, ExprKind, Statement};
use super::names::{Meaning, meaning};

/// The variables of a statement: the indices of its accesses, and the variables of its reductions.
pub(super) fn variables(statement: &Statement) -> IndexSet<String> {
    let mut found: IndexSet<String> = statement.indices.iter().filter_map(Expr::variable).map(str::to_string).collect();
    collect(&statement.rhs, &mut found);
    found
}

fn collect(expr: &Expr, found: &mut IndexSet<String>) {
    match &expr.kind {
        ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Identity(_) | ExprKind::Name(_) => {}
        ExprKind::List { index, .. } => {
            found.extend(index.as_deref().and_then(Expr::variable).map(str::to_string));
            index.iter().for_each(|index| collect(index, found));
        }
        ExprKind::Cast { operand, .. } | ExprKind::Neg(operand) => collect(operand, found),
        ExprKind::Binary(_, left, right) => {
            collect(left, found);
            collect(right, found);
        }
        ExprKind::Apply { name, args, callee } => {
            let indices = match meaning(&name.text, args, *callee) {
                Meaning::Access => args.as_slice(),
                Meaning::Reduction(_) => &args[..args.len().saturating_sub(1)],
                Meaning::Function(_) | Meaning::Operator(_) | Meaning::Cast(_) => &[],
            };
            found.extend(indices.iter().filter_map(Expr::variable).map(str::to_string));
            args.iter().for_each(|arg| collect(arg, found));
        }
    }
}
