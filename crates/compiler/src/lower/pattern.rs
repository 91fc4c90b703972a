//! Values for a pattern that is given, by threads: each chunk of the outermost loop fills its part of the result's values, whose
//! place the pattern tells.
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
//! for results in parts ([`super::segments`]), which are how a pattern is found.

use lacunar_base::Diagnostic;
use lacunar_formats::Holds;
use lacunar_imp::{CompareOp, ExprId};
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::schedule::Unit;
use lacunar_notation::{Role, VarId};

use super::assemble::Group;
use super::space::Interval;
use super::{Lowerer, Phase, Scope};
use crate::iterate::iterators::{AccessKey, level_var};
use crate::iterate::space::replaced_by;
use crate::levels::{At, Position};

/// The leaf whose loop, the outermost of a kernel, threads share so that each has a part of the sparse result.
pub(super) fn cut_by(kernel: &Kernel) -> Option<VarId> {
    let Stmt::Forall(var, _) = kernel.stmt else { return None };
    let mut result = None;
    kernel.stmt.visit_assigns(&mut |assign| {
        if kernel.tensors[assign.lhs.tensor].role == Role::Result {
            result = Some(AccessKey::from(&assign.lhs));
        }
    });
    let access = result?;
    let format = &kernel.tensors[access.tensor].format;
    if format.is_dense() || !matches!(kernel.provenance.parallel(var), Some((Unit::CpuThread, _))) {
        return None;
    }
    let first = level_var(kernel, &access, 0);
    let dense = format.levels()[0].properties().full;
    // Words of one segment are not put one behind the other.
    if format.levels()[0].kind.info().parts.iter().any(|part| part.holds == Holds::Words) {
        return None;
    }
    let ordered = kernel.provenance.originals(var) == [first] && !(dense && replaced_by(kernel, first).is_some());
    ordered.then_some(var)
}

/// The leaf whose loop's chunks find their place in a pattern that is given. Loops over positions do not tell which coordinates
/// a chunk has.
pub(super) fn placed_by(kernel: &Kernel, phase: Phase) -> Option<VarId> {
    let found = cut_by(kernel).filter(|_| phase == Phase::Compute)?;
    let originals = kernel.provenance.originals(found);
    originals.iter().all(|var| replaced_by(kernel, *var).is_none()).then_some(found)
}

impl Lowerer<'_> {
    /// The kernel: its outermost loop in chunks, each of which fills the values of its part.
    pub(super) fn compute_in_parts(&mut self, var: VarId, body: &Stmt) -> Result<(), Diagnostic> {
        let mut scope = Scope { started: self.kernel.provenance.originals(var), ..Scope::default() };
        let interval = self.range(var, &mut scope)?;
        let chunks = self.chunks(var, interval, body, false);
        self.in_chunks(var, interval, chunks, body, |this, _, part| this.part_of_values(var, part, body, &scope))
    }

    fn part_of_values(&mut self, var: VarId, interval: Interval, body: &Stmt, scope: &Scope) -> Result<(), Diagnostic> {
        let Some(access) = self.result() else { return Ok(()) };
        self.declare_workspaces(Some(var));
        let mut scope = scope.clone();
        let first = self.first_below(var, interval.0, &mut scope)?;
        let end = self.first_below(var, interval.1, &mut scope)?;
        self.begin_result()?;
        let starts = self.given_positions(&access, first)?;
        let ends = self.given_positions(&access, end)?;
        let Some(appended) = &self.appended else { return Ok(()) };
        let groups = appended.groups.clone();
        for (group, start) in groups.iter().zip(starts) {
            self.b.assign(group.counter, start);
        }
        let whole = self.stored;
        if let (Some(group), Some(&last)) = (groups.last(), ends.last()) {
            let block = self.extent(&access, group.last + 1, access.vars.len());
            let values = self.b.mul(last, block);
            self.stored = Some(self.b.define("until", values));
        }
        self.leaf_loop(var, interval, body, &scope)?;
        self.finish_result()?;
        self.stored = whole;
        Ok(())
    }

    /// For each group of the result, its first position under coordinates of the first level that are `first` or more.
    fn given_positions(&mut self, access: &AccessKey, first: ExprId) -> Result<Vec<ExprId>, Diagnostic> {
        let Some(appended) = &self.appended else { return Ok(Vec::new()) };
        let groups = appended.groups.clone();
        let mut positions = Vec::new();
        let mut above = None;
        for group in groups {
            let (begin, from) = above.unwrap_or((first, 1));
            let parents = self.extent(access, from, group.head);
            let (b, code) = self.level(access, group.head)?;
            let position = if group.head == 0 {
                let zero = b.int(0);
                let (begin, end) = code.bounds(b, Position::One(zero));
                code.seek(b, zero, begin, end, first)
            } else {
                let parent = b.mul(begin, parents);
                code.bounds(b, Position::Range(parent, parent)).0
            };
            let position = self.b.define("place", position);
            positions.push(position);
            above = Some((position, group.last + 1));
        }
        Ok(positions)
    }

    /// Counts the positions that a pattern has, where it is compared.
    pub(super) fn count_given(&mut self, access: &AccessKey, groups: &mut [Group]) {
        let levels = self.kernel.tensors[access.tensor].format.levels();
        // Other levels than these do not tell the coordinate of a position in one step.
        self.conditional |= levels.iter().any(|level| !level.kind.is_plain());
        for group in groups {
            let count = self.count_positions(access, group.last);
            group.given = count.map(|count| self.b.define("given", count));
        }
    }

    /// Ends the kernel where the pattern that is given does not have the coordinates that are appended next, in group number
    /// `place`, at the position that they get.
    pub(super) fn compare(&mut self, access: &AccessKey, place: usize, scope: &Scope) -> Result<(), Diagnostic> {
        let Some(appended) = &self.appended else { return Ok(()) };
        let (group, above) = (appended.groups[place], place.checked_sub(1).map(|above| appended.groups[above]));
        if let Some(Group { counter, given: Some(given), .. }) = above {
            let parent = self.b.var(counter);
            self.fail_if(CompareOp::Ge, parent, given);
        }
        let position = self.b.var(group.counter);
        let parent = self.position(access, group.head.checked_sub(1), scope)?.first();
        let (b, code) = self.level(access, group.head)?;
        let (begin, end) = code.bounds(b, Position::One(parent));
        self.fail_if(CompareOp::Lt, position, begin);
        self.fail_if(CompareOp::Ge, position, end);
        for level in group.head..=group.last {
            let appended = self.coordinate(self.level_var(access, level), scope)?;
            let (b, code) = self.level(access, level)?;
            let given = code.coordinate(b, "given", At { parent, position, state: None });
            self.fail_if(CompareOp::Ne, given, appended);
        }
        Ok(())
    }
}
