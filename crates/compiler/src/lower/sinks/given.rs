//! Patterns that are given: values for a pattern that another kernel, or a user, has found.
//!
//! ```text
//! C(i,k): csr, pos and crd given         a chunk has the rows first .. last
//! for chunk in 0 .. chunks parallel {
//!   C_n = pos[first]; until = pos[last]
//!   for i in first .. last { ..; vals[C_n] = ..; C_n += 1 }
//!   fail unless C_n is until                never beyond it on the way, so that chunks keep apart
//! }
//! ```
//!
//! A pattern that a user gives may be another than the result's. Then every coordinate that would be appended is *compared* with
//! the one at its position, and that position with the segment of its parent. As there are as many values as positions, the
//! patterns are the same if no coordinate differs.
//!
//! Where the first level is compressed, the chunk's first position is found by a search for its first coordinate. On entry: as
//! for results in parts ([`super::part`]), which are how a pattern is found.

use lacunar_base::Diagnostic;
use lacunar_formats::Holds;
use lacunar_imp::{CompareOp, ExprId};
use lacunar_notation::VarId;
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::schedule::Unit;

use super::append::{Append, Group, fail_if};
use super::result_of;
use crate::iterate::iterators::level_var;
use crate::iterate::space::replaced_by;
use crate::levels::{At, Position};
use crate::lower::derive::{coordinate, position};
use crate::lower::scope::{Interval, Scope};
use crate::lower::storage::{count_positions, extent, level};
use crate::lower::{Lowerer, Phase};

/// The leaf whose loop, the outermost of a kernel, threads share so that each has a part of the sparse result.
pub(in crate::lower) fn cut_by(kernel: &Kernel) -> Option<VarId> {
    let Stmt::Forall(var, _) = kernel.stmt else { return None };
    let access = result_of(kernel)?;
    let format = &kernel.tensors[access.tensor].format;
    if format.is_dense() || !matches!(kernel.provenance.parallel(var), Some((Unit::CpuThread, _))) {
        return None;
    }
    let first = level_var(kernel, &access, 0);
    let is_dense = format.levels()[0].properties().full;
    // Words of one segment are not put one behind the other.
    if format.levels()[0].kind.info().parts.iter().any(|part| part.holds == Holds::Words) {
        return None;
    }
    let is_ordered = kernel.provenance.originals(var) == [first] && !(is_dense && replaced_by(kernel, first).is_some());
    is_ordered.then_some(var)
}

/// The leaf whose loop's chunks find their place in a pattern that is given. Loops over positions do not tell which coordinates
/// a chunk has.
pub(in crate::lower) fn placed_by(kernel: &Kernel, phase: Phase) -> Option<VarId> {
    let found = cut_by(kernel).filter(|_| phase == Phase::Compute)?;
    let originals = kernel.provenance.originals(found);
    originals.iter().all(|var| replaced_by(kernel, *var).is_none()).then_some(found)
}

/// The result of a chunk that computes the values of coordinates `first .. end` of the first level: its counters begin where the
/// pattern has these, and it ends where the pattern does.
pub(in crate::lower) fn begin_part(
    cx: &mut Lowerer<'_>,
    (first, end): Interval,
    scope: &Scope,
) -> Result<Scope, Diagnostic> {
    let mut scope = super::begin_result(cx, scope)?;
    let Some(append) = scope.appended().cloned() else { return Ok(scope) };
    let starts = positions_from(cx, &append, first, &scope)?;
    let ends = positions_from(cx, &append, end, &scope)?;
    for (group, start) in append.groups.iter().zip(starts) {
        cx.b.assign(group.counter, start);
    }
    if let (Some(&group), Some(&last)) = (append.groups.last(), ends.last()) {
        let block = append.block(cx, group, &scope);
        let values = cx.b.mul(last, block);
        let until = cx.b.define("until", values);
        let tensor = append.access.tensor;
        scope = super::into_scope(tensor, std::rc::Rc::new(Append { stored: Some(until), ..append }), &scope);
    }
    Ok(scope)
}

/// For each group of the result, its first position under coordinates of the first level that are `first` or more.
fn positions_from(
    cx: &mut Lowerer<'_>,
    append: &Append,
    first: ExprId,
    scope: &Scope,
) -> Result<Vec<ExprId>, Diagnostic> {
    let access = &append.access;
    let mut positions = Vec::new();
    let mut above = None;
    for group in &append.groups {
        let (begin, from) = above.unwrap_or((first, 1));
        let parents = extent(cx, access, from, group.head, scope);
        let code = level(cx, access, group.head, scope)?;
        let position = if group.head == 0 {
            let zero = cx.b.int(0);
            let (begin, end) = code.bounds(&mut cx.b, Position::One(zero));
            code.seek(&mut cx.b, zero, begin, end, first)
        } else {
            let parent = cx.b.mul(begin, parents);
            code.bounds(&mut cx.b, Position::Range(parent, parent)).0
        };
        let position = cx.b.define("place", position);
        positions.push(position);
        above = Some((position, group.last + 1));
    }
    Ok(positions)
}

/// Counts the positions that a pattern has, where it is compared.
pub(super) fn count(cx: &mut Lowerer<'_>, append: &mut Append, scope: &Scope) {
    let levels = cx.kernel.tensors[append.access.tensor].format.levels();
    // Other levels than these do not tell the coordinate of a position in one step.
    cx.found.conditional |= levels.iter().any(|level| !level.kind.is_plain());
    for group in &mut append.groups {
        let count = count_positions(cx, &append.access, group.last, scope);
        group.given = count.map(|count| cx.b.define("given", count));
    }
}

/// Ends the kernel where the pattern that is given does not have the coordinates that are appended next, in group number
/// `place`, at the position that they get.
pub(super) fn compare(cx: &mut Lowerer<'_>, append: &Append, place: usize, scope: &Scope) -> Result<(), Diagnostic> {
    let (access, group) = (&append.access, append.groups[place]);
    let above = place.checked_sub(1).map(|above| append.groups[above]);
    if let Some(Group { counter, given: Some(given), .. }) = above {
        let parent = cx.b.var(counter);
        fail_if(cx, CompareOp::Ge, parent, given);
    }
    let number = cx.b.var(group.counter);
    let parent = position(cx, access, group.head.checked_sub(1), scope)?.first();
    let (begin, end) = level(cx, access, group.head, scope)?.bounds(&mut cx.b, Position::One(parent));
    fail_if(cx, CompareOp::Lt, number, begin);
    fail_if(cx, CompareOp::Ge, number, end);
    for of in group.head..=group.last {
        let appended = coordinate(cx, level_var(cx.kernel, access, of), scope)?;
        let code = level(cx, access, of, scope)?;
        let given = code.coordinate(&mut cx.b, "given", At { parent, position: number, state: None });
        fail_if(cx, CompareOp::Ne, given, appended);
    }
    Ok(())
}
