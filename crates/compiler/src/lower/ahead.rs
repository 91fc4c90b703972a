//! Prefetches of nodes: the root nodes of the rows that come next, and their values.
//!
//! A row of nodes lies wherever there was room when it was made. The loop over rows knows where the next ones begin: their handles are
//! neighbors. So while a row is walked through, the root node of one some rows ahead is on its way, and behind it the values of
//! one that is nearer.
//!
//! ```text
//! y(i) = A(i,j) * x(j)     A: d{blist<16>}     let far = positions of A * 12 > 4 MiB
//! for i in .. {
//!   if far {
//!     prefetch A2_node[root[min(i + 42, n - 1)] ..]
//!     prefetch A_vals[the first position of root[min(i + 21, n - 1)] ..], as many as it has
//!   }
//!   the blocks of row i
//! }
//! ```
//!
//! Levels above whose positions are in the order of their coordinates have the next rows at the next positions. The same holds for other
//! levels of nodes, for the most part: conversions and compaction number positions in order, and nodes that come later get positions near
//! their neighbors'. A row that is prefetched in vain costs little. Data that the caches keep are not prefetched ([`Reach`]). Rows of a
//! few elements pass faster than memory answers: so there are as many under way as the first level has room for, if they are short.
//! Nothing of this changes a value.
//!
//! Paper: Ainsworth and Jones, *Software prefetching for indirect memory accesses* (CGO 2017).

use lacunar_base::Diagnostic;
use lacunar_formats::DType;
use lacunar_imp::{BinaryOp, CompareOp, ExprId};
use lacunar_machine::Reach;
use lacunar_notation::Role;

use super::Lowerer;
use super::caches::amount;
use super::scope::{Fact, Scope};
use super::storage::{count_positions, find_level, values};
use crate::iterate::iterators::{AccessKey, Iterator};
use crate::levels::nodes::Nodes;

/// The most rows that are under way.
const MOST_ROWS: u64 = 64;
/// The bytes of a word.
const WORD: u64 = 4;

/// Judges, around all loops, which levels of nodes are more than caches keep, of those whose rows are in order.
pub(super) fn judge(cx: &mut Lowerer<'_>, scope: &Scope) -> Scope {
    let mut found: Vec<AccessKey> = Vec::new();
    cx.kernel.stmt.visit_assigns(&mut |assign| {
        for access in assign.rhs.accesses().into_iter().map(AccessKey::from) {
            if rows_of(cx, &access).is_some() && !found.contains(&access) {
                found.push(access);
            }
        }
    });
    found.into_iter().fold(scope.clone(), |scope, access| {
        let Some(far) = rows_of(cx, &access).and_then(|own| is_far(cx, &access, own, &scope)) else { return scope };
        let far = cx.b.define("far", far);
        scope.with(Fact::FarRows(access, far))
    })
}

/// The innermost level of nodes, if its parent positions are rows in order, or mostly are.
fn rows_of(cx: &Lowerer<'_>, access: &AccessKey) -> Option<usize> {
    let tensor = &cx.kernel.tensors[access.tensor];
    let levels = tensor.format.levels();
    let own = levels.iter().rposition(|level| level.kind.schema().is_some())?;
    let above = &levels[own.checked_sub(1)?];
    let properties = above.properties();
    let are_ordered = properties.ordered && properties.compact || above.kind.schema().is_some();
    (tensor.role == Role::Input && tensor.view.is_none() && are_ordered).then_some(own)
}

/// The condition that a level of nodes, with the arrays at its positions, takes more bytes than caches keep.
fn is_far(cx: &mut Lowerer<'_>, access: &AccessKey, own: usize, scope: &Scope) -> Option<ExprId> {
    let tensor = &cx.kernel.tensors[access.tensor];
    let is_last = own + 1 == tensor.format.order();
    let each = WORD + if is_last { tensor.dtype.size() as u64 } else { WORD };
    let positions = count_positions(cx, access, own, scope)?;
    let least = cx.b.int(i64::try_from(cx.options.reach.kept / each).unwrap_or(i64::MAX));
    let ahead = rows_ahead(cx, access, own, scope)?;
    let (name, limit) = (cx.name(access.tensor), amount(cx.options.reach.kept));
    cx.note(format!("rows of `{name}` are prefetched {ahead} ahead where it has more than {limit}"));
    Some(cx.b.compare(CompareOp::Gt, positions, least))
}

/// The number of rows by which root nodes are asked for ahead: as many as have room in the first-level cache until they are read.
fn rows_ahead(cx: &Lowerer<'_>, access: &AccessKey, own: usize, scope: &Scope) -> Option<u64> {
    let code = find_level(cx, access.tensor, own, scope)?;
    let Reach { lines_ahead, .. } = cx.options.reach;
    let (of_node, of_values) = code.nodes()?.least_lines(cx.kernel.tensors[access.tensor].dtype.size() as u64);
    // Values are asked for half as far ahead.
    let lines = of_node + of_values.div_ceil(2);
    Some((lines_ahead / lines.max(1)).min(MOST_ROWS)).filter(|rows| *rows > 0)
}

/// Asks for rows that come after the one at parent position `here`, which an iterator of a level of nodes is opened on.
pub(super) fn next_rows(
    cx: &mut Lowerer<'_>,
    iterator: &Iterator,
    (nodes, here): (&Nodes, ExprId),
    scope: &Scope,
) -> Result<(), Diagnostic> {
    let key = &iterator.access;
    let Some(far) = scope.far_rows(key).filter(|_| rows_of(cx, key) == Some(iterator.level)) else { return Ok(()) };
    let (above, ahead) = (iterator.level.checked_sub(1), rows_ahead(cx, key, iterator.level, scope));
    let (Some(above), Some(ahead)) = (above, ahead) else { return Ok(()) };
    let (Some(rows), None) = (count_positions(cx, key, above, scope), scope.uncertain(key)) else { return Ok(()) };
    let tensor = &cx.kernel.tensors[key.tensor];
    let has_values = iterator.level + 1 == tensor.format.order() && tensor.dtype != DType::Pattern;
    let size = tensor.dtype.size() as u64;
    let one = cx.b.int(1);
    let last = cx.b.sub(rows, one);
    let next = |cx: &mut Lowerer<'_>, distance: u64| {
        let distance = cx.b.int(distance as i64);
        let next = cx.b.add(here, distance);
        cx.b.binary(BinaryOp::Min, next, last)
    };
    cx.when(far, |cx| {
        let row = next(cx, ahead);
        nodes.prefetch_root(&mut cx.b, row);
        let values = if has_values { Some((values(cx, key.tensor, scope)?, size)) } else { None };
        let row = next(cx, ahead.div_ceil(2));
        nodes.prefetch_elements(&mut cx.b, values, row);
        Ok(())
    })
}
