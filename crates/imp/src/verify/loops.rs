//! The promises about loops that are not serial, and about lists of parts.
//!
//! *Memory.* A local array belongs to the parallel loop that its memory comes from (the innermost one around its
//! `alloc`, `grow` and `deposit`), or to the function. It is mentioned in that loop only: the loops around all mentions
//! of it have the owner in common.
//!
//! ```text
//! for c in 0 .. n parallel {      w belongs to the loop
//!   alloc w[4] = 0;
//!   deposit p[c] = w[.. 2];
//! }
//! w[0] = 1;                       broken: Rule::PrivateArray
//! ```

use super::{Loop, Rule, Verifier, VerifyError, error};
use crate::ir::{Arg, ArrayId, ArrayRole, Block, ExprId, LoopKind, Stmt};
use crate::loops;
use crate::walk::is_straight;

/// The loops in which an array is used.
#[derive(Clone, Default)]
pub(super) struct Uses {
    /// The parallel loops around all its mentions, by their numbers; `None` before the first one.
    common: Option<Vec<u32>>,
    /// The innermost parallel loop around the statements that give it memory or take it, `Some(None)` for none.
    owner: Option<Option<u32>>,
}

impl Verifier<'_> {
    /// The number of iterations that may load, if a loop says it.
    pub(super) fn loads_behind_end(
        &mut self,
        stmt: &Stmt,
        loads: Option<ExprId>,
        kind: LoopKind,
        body: &Block,
    ) -> Result<(), VerifyError> {
        let Some(loads) = loads else { return Ok(()) };
        self.index(stmt, loads)?;
        let fits = matches!(kind, LoopKind::Vector(_)) && body.iter().all(is_straight);
        self.require(stmt, Rule::LoadsBehindEnd, fits)
    }

    /// A loop's body, whose counter is visible.
    pub(super) fn for_body(
        &mut self,
        stmt: &Stmt,
        kind: LoopKind,
        body: &Block,
        depth: usize,
    ) -> Result<(), VerifyError> {
        if matches!(kind, LoopKind::Parallel) {
            self.parallel_loops += 1;
            self.parallel.push(self.parallel_loops);
        }
        let done = self.in_loop(Loop::For(kind), body, depth);
        if matches!(kind, LoopKind::Parallel) {
            self.parallel.pop();
        }
        done?;
        let adds_up = !matches!(kind, LoopKind::Vector(_)) || loops::reductions(self.function, body).is_some();
        self.require(stmt, Rule::VectorReduction, adds_up)
    }

    /// Checks the rules for a statement in the loops around it, and for the arrays in it.
    pub(super) fn place(&mut self, stmt: &Stmt) -> Result<(), VerifyError> {
        let in_vector = self.loops.iter().any(|outer| matches!(outer, Loop::For(LoopKind::Vector(_))));
        self.require(stmt, Rule::VectorBody, !in_vector || loops::may_be_in_vector(stmt))?;
        for array in mentioned(stmt) {
            let role = self.array(stmt, array)?.role;
            let list = role == ArrayRole::Parts;
            self.require(stmt, Rule::PartsUse, !list || takes_parts(stmt))?;
            self.mention(array);
        }
        match *stmt {
            Stmt::Alloc { array, .. } | Stmt::Grow { array, .. } => {
                let own = self.function.arrays[array].role == ArrayRole::Local;
                self.require(stmt, Rule::OuterMemory, own || self.parallel.is_empty())?;
                self.give_memory(stmt, array)
            }
            _ => Ok(()),
        }
    }

    /// Notes that an array is mentioned at this place.
    fn mention(&mut self, array: ArrayId) {
        let around = &self.parallel;
        let common = self.uses[array.index()].common.get_or_insert_with(|| around.clone());
        let same = common.iter().zip(around).take_while(|(a, b)| a == b).count();
        common.truncate(same);
    }

    /// Notes that an array gets or loses memory at this place.
    fn give_memory(&mut self, stmt: &Stmt, array: ArrayId) -> Result<(), VerifyError> {
        let here = self.parallel.last().copied();
        let owner = *self.uses[array.index()].owner.get_or_insert(here);
        self.require(stmt, Rule::PrivateArray, owner == here)
    }

    /// Checks, after the last statement, that arrays are mentioned in the loops that they belong to.
    pub(super) fn private_arrays(&self) -> Result<(), VerifyError> {
        for ((_, array), uses) in self.function.arrays.iter().zip(&self.uses) {
            if let (Some(Some(owner)), Some(common)) = (uses.owner, &uses.common)
                && !common.contains(&owner)
            {
                return Err(error(Rule::PrivateArray, &array.name));
            }
        }
        Ok(())
    }

    pub(super) fn deposit(
        &mut self,
        stmt: &Stmt,
        parts: ArrayId,
        slot: ExprId,
        array: ArrayId,
        len: ExprId,
    ) -> Result<(), VerifyError> {
        self.index(stmt, slot)?;
        self.index(stmt, len)?;
        let (list, own) = (self.array(stmt, parts)?, self.array(stmt, array)?);
        let elems_agree = list.elem == own.elem;
        let roles_fit = list.role == ArrayRole::Parts && own.role == ArrayRole::Local && !self.parallel.is_empty();
        self.require(stmt, Rule::DepositRole, roles_fit)?;
        self.require(stmt, Rule::TypesDiffer, elems_agree)?;
        self.give_memory(stmt, array)
    }

    pub(super) fn collect(
        &mut self,
        stmt: &Stmt,
        array: ArrayId,
        at: ExprId,
        parts: ArrayId,
        bias: Option<ArrayId>,
    ) -> Result<(), VerifyError> {
        self.index(stmt, at)?;
        let (whole, list) = (self.array(stmt, array)?, self.array(stmt, parts)?);
        let (elem, elems_agree) = (whole.elem, whole.elem == list.elem);
        let roles_fit = matches!(whole.role, ArrayRole::Local | ArrayRole::Grown) && list.role == ArrayRole::Parts;
        self.require(stmt, Rule::CollectRole, roles_fit)?;
        self.require(stmt, Rule::OuterMemory, self.parallel.is_empty())?;
        self.require(stmt, Rule::TypesDiffer, elems_agree)?;
        if let Some(bias) = bias {
            let is_list = self.array(stmt, bias)?.role == ArrayRole::Parts;
            self.require(stmt, Rule::CollectBias, is_list && bias != parts && elem.is_integer())?;
        }
        self.give_memory(stmt, array)
    }
}

/// True if a statement may name a list of parts: it allocates, deposits or collects.
fn takes_parts(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Alloc { .. } | Stmt::Deposit { .. } | Stmt::Collect { .. })
}

/// The arrays that a statement itself names.
fn mentioned(stmt: &Stmt) -> Vec<ArrayId> {
    match *stmt {
        Stmt::Load { array, .. }
        | Stmt::Store { array, .. }
        | Stmt::Atomic { array, .. }
        | Stmt::Alloc { array, .. }
        | Stmt::Grow { array, .. }
        | Stmt::Fill { array, .. }
        | Stmt::Prefetch { array, .. } => vec![array],
        Stmt::Deposit { parts, array, .. } => vec![parts, array],
        Stmt::Collect { array, parts, bias, .. } => [array, parts].into_iter().chain(bias).collect(),
        Stmt::Call { ref args, .. } => args
            .iter()
            .filter_map(|&arg| match arg {
                Arg::Array(array) => Some(array),
                Arg::Scalar(_) => None,
            })
            .collect(),
        Stmt::Define { .. }
        | Stmt::Assign { .. }
        | Stmt::For { .. }
        | Stmt::While { .. }
        | Stmt::Break
        | Stmt::If { .. }
        | Stmt::Fail(_)
        | Stmt::Comment(_) => Vec::new(),
    }
}
