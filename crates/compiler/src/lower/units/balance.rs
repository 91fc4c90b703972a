//! Chunks with equally much work: they are cut where an operand has equally many values, not equally many rows.
//!
//! ```text
//! y(i) = A(i,j) * x(j)      A: csr       chunk c begins in the row of value number c * stored / chunks
//! ```
//!
//! On entry: a loop that threads share, and its body. If the loop goes through rows of other operands, the values of one do not tell its work
//! ([`has_rows_of_others`]), so that threads take smaller chunks.

use lacunar_base::Diagnostic;
use lacunar_formats::Level;
use lacunar_imp::{BinaryOp, CompareOp, ExprId};
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::{Role, VarId};

use crate::iterate::iterators::{AccessKey, level_var, sparse_levels};
use crate::levels::At;
use crate::lower::Lowerer;
use crate::lower::scope::Scope;
use crate::lower::storage::{ancestor, level};

/// The operand with the most values of those whose first level the loop over a variable visits, and its last sparse level above those
/// whose positions are not in the order of their parents.
pub(super) fn balanced_by(kernel: &Kernel, var: VarId, body: &Stmt) -> Option<(AccessKey, usize)> {
    if !kernel.provenance.is_plain(var) {
        return None;
    }
    let mut found: Option<(AccessKey, usize)> = None;
    let values = |key: &AccessKey| kernel.tensors[key.tensor].nnz.unwrap_or(0);
    body.visit_assigns(&mut |assign| {
        for key in assign.rhs.accesses().into_iter().map(AccessKey::from) {
            let is_first = kernel.tensors[key.tensor].role == Role::Input
                && !key.vars.is_empty()
                && level_var(kernel, &key, 0) == var
                && tells_coordinates(kernel.tensors[key.tensor].format.levels()[0]);
            let numbered = |(_, level): &(usize, Level)| level.kind.schema().is_none();
            let deepest = sparse_levels(kernel, key.tensor).take_while(numbered).last().map(|(level, _)| level);
            if let (true, Some(deepest)) = (is_first, deepest)
                && found.as_ref().is_none_or(|(known, _)| values(known) < values(&key))
            {
                found = Some((key, deepest));
            }
        }
    });
    found
}

/// True if a loop goes through rows of an operand that another variable than `var` chooses: they may be long for some of its values.
pub(super) fn has_rows_of_others(kernel: &Kernel, var: VarId, body: &Stmt) -> bool {
    let mut found = false;
    body.visit_assigns(&mut |assign| {
        found |= assign.rhs.accesses().into_iter().map(AccessKey::from).any(|key| {
            let is_stored = kernel.tensors[key.tensor].role == Role::Input && !key.vars.is_empty();
            is_stored
                && level_var(kernel, &key, 0) != var
                && sparse_levels(kernel, key.tensor).any(|(level, _)| level > 0)
        });
    });
    found
}

/// True if every position of an outermost level tells a coordinate, and the coordinates ascend.
fn tells_coordinates(level: Level) -> bool {
    let (properties, can) = (level.properties(), level.capabilities());
    properties.full || (properties.ordered && properties.compact && can.iterate_positions)
}

/// The first coordinate of a chunk: that under which value number `chunk * stored / chunks` of an operand is stored. For the
/// first chunk, and for the one behind the last, it is `edge`.
pub(super) fn first_of(
    cx: &mut Lowerer<'_>,
    key: &AccessKey,
    deepest: usize,
    (chunk, chunks, stored): (ExprId, ExprId, ExprId),
    edge: ExprId,
    scope: &Scope,
) -> Result<ExprId, Diagnostic> {
    let zero = cx.b.int(0);
    let first = cx.b.declare("bound", edge);
    let is_after = cx.b.compare(CompareOp::Gt, chunk, zero);
    let is_before = cx.b.compare(CompareOp::Lt, chunk, chunks);
    let is_inside = cx.b.and(is_after, is_before);
    cx.when(is_inside, |cx| {
        let before = cx.b.mul(chunk, stored);
        let mut position = cx.b.binary(BinaryOp::Div, before, chunks);
        for number in (1..=deepest).rev() {
            position = ancestor(cx, key, number, position, scope)?;
        }
        let at = At { parent: zero, position, state: None };
        let coordinate = level(cx, key, 0, scope)?.coordinate(&mut cx.b, "bound_at", at);
        cx.b.assign(first, coordinate);
        Ok::<(), Diagnostic>(())
    })?;
    Ok(cx.b.var(first))
}
