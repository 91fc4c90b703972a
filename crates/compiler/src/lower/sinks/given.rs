//! Patterns that are given: values for a pattern that another kernel, or a user, has found.
//!
//! A pattern that a user gives may be another than the result's. Then every coordinate that would be appended is *compared* with
//! the one at its position, and that position with the segment of its parent. As there are as many values as positions, the
//! patterns are the same if no coordinate differs.
//!
//! ```text
//! C(i,k): csr, pos and crd given      fail unless C2_pos[i] <= C2_n < C2_pos[i + 1] and C2_crd[C2_n] is k
//!                                     C_vals[C2_n] = ..; C2_n += 1
//! ```

use lacunar_base::Diagnostic;
use lacunar_formats::Holds;
use lacunar_imp::CompareOp;
use lacunar_notation::VarId;
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::schedule::Unit;

use super::append::{Append, Group};
use super::checks::fail_if;
use crate::iterate::iterators::{level_var, result_of};
use crate::iterate::position_space::replaced_by;
use crate::levels::{At, Position};
use crate::lower::derive::{coordinate, position};
use crate::lower::scope::Scope;
use crate::lower::storage::{count_positions, level};
use crate::lower::{Lowerer, Phase};

/// The leaf whose loop, the outermost of a kernel, threads share so that each has a piece of the sparse result.
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

/// Counts the positions that a pattern has, where it is compared.
pub(super) fn count(cx: &mut Lowerer<'_>, append: &mut Append, scope: &Scope) {
    let levels = cx.kernel.tensors[append.access.tensor].format.levels();
    // Other levels than these do not tell the coordinate of a position in one step.
    cx.found.conditional |= levels.iter().any(|level| !level.kind.is_plain());
    for group in &mut append.groups {
        let count = count_positions(cx, &append.access, group.tail, scope);
        group.given = count.map(|count| cx.b.define("given", count));
    }
}

/// Ends the kernel where the pattern that is given does not have the coordinates that are appended next, in group number
/// `number`, at the position that they get.
pub(super) fn compare(cx: &mut Lowerer<'_>, append: &Append, number: usize, scope: &Scope) -> Result<(), Diagnostic> {
    let (access, group) = (&append.access, append.groups[number]);
    let above = number.checked_sub(1).map(|above| append.groups[above]);
    if let Some(Group { counter, given: Some(given), .. }) = above {
        let parent = cx.b.var(counter);
        fail_if(cx, CompareOp::Ge, parent, given);
    }
    let number = cx.b.var(group.counter);
    let parent = position(cx, access, group.head.checked_sub(1), scope)?.first();
    let (begin, end) = level(cx, access, group.head, scope)?.bounds(&mut cx.b, Position::One(parent));
    fail_if(cx, CompareOp::Lt, number, begin);
    fail_if(cx, CompareOp::Ge, number, end);
    for of in group.head..=group.tail {
        let appended = coordinate(cx, level_var(cx.kernel, access, of), scope)?;
        let code = level(cx, access, of, scope)?;
        let given = code.coordinate(&mut cx.b, "given", At { parent, position: number, state: None });
        fail_if(cx, CompareOp::Ne, given, appended);
    }
    Ok(())
}
