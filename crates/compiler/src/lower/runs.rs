//! Loops over runs: from run to run, and over the neighboring coordinates of each, which vector lanes take at once.
//!
//! ```text
//! y(i) = A(i,j) * x(j)       A: dense, runs           positions of their own
//!   for r in run[i] .. run[i+1] { for p in start[r] .. start[r+1] { j = crd[r] + (p - start[r]); t += A_vals[p] * x[j] } }
//!
//! y(i) = A(i,j) * x(j)       A: dense, repeated       one position, and one value
//!   for r in pos[i] .. pos[i+1] { for j in crd[r] .. last[r] + 1 { t += A_vals[r] * x[j] } }
//!
//! y(i) = 2 * A(i,j)          A: dense, repeated       the same at every coordinate: the run at once
//!   for r in pos[i] .. pos[i+1] { t += 2 * A_vals[r] * (last[r] + 1 - crd[r]) }
//! ```
//!
//! Paper: Donenfeld, Chou and Amarasinghe, *Unified Compilation for Lossless Compression and Sparse Computing* (CGO 2022), §5.

use lacunar_base::Diagnostic;
use lacunar_formats::{DType, Kind};
use lacunar_imp::{BinaryOp, CompareOp, ExprId};
use lacunar_notation::concrete::{Assign, Stmt};
use lacunar_notation::{AssignOp, ReduceOp, VarId};

use super::space::Interval;
use super::{Lowerer, Scope};
use crate::iterate::iterators::AccessKey;
use crate::iterate::lattice::Lattice;
use crate::levels::{Neighbors, Run};

impl Lowerer<'_> {
    /// A loop over the runs of one iterator, if it has runs of neighbors.
    pub(super) fn run_loop(
        &mut self,
        var: VarId,
        body: &Stmt,
        lattice: &Lattice,
        k: usize,
        scope: &Scope,
    ) -> Result<bool, Diagnostic> {
        let iterator = lattice.iterators[k].clone();
        if scope.uncertain.contains_key(&iterator.access) {
            return Ok(false);
        }
        let parent = self.position(&iterator.access, iterator.level.checked_sub(1), scope)?;
        let Some(code) = self.tensors[iterator.access.tensor.index()].levels.get(iterator.level) else {
            return Ok(false);
        };
        let Some(all) = code.runs(&mut self.b, parent) else { return Ok(false) };
        let bounds = self.bounds(lattice, k, scope)?;
        let length = self.b.sub(bounds.1, bounds.0);
        self.reserved |= self.reserve_ahead(var, body, scope, &mut |this| this.most_coordinates(lattice, k, length));
        let name = self.position_name(lattice, k);
        let windowed = scope.windows.contains_key(&(iterator.access.clone(), iterator.level));
        let confined = scope.confined.get(&var).copied();
        let (first, end) = if self.shares_positions(lattice, k) { bounds } else { all };
        let mut outcome = Ok(());
        self.in_for("run", first, end, |this, number| {
            let code = &this.tensors[iterator.access.tensor.index()].levels[iterator.level];
            let Some(Run { first, end, position, neighbors }) = code.run(&mut this.b, number) else { return };
            if neighbors == Neighbors::Shared {
                let coordinates = this.clamped((first, end), confined);
                outcome = this.shared_run(var, body, lattice, k, (position, coordinates), scope);
                return;
            }
            let length = this.b.sub(end, first);
            let behind = this.b.add(position, length);
            let within = (windowed || confined.is_some()).then_some(bounds);
            let (from, to) = this.clamped((position, behind), within);
            this.in_for_kind(&name, from, to, this.loop_kind(var, scope), |this, at| {
                let offset = this.b.sub(at, position);
                let coordinate = this.b.add(first, offset);
                outcome = this.at_stored(var, body, lattice, k, (at, coordinate), scope);
            });
        });
        outcome.map(|()| true)
    }

    /// The part of an interval inside of another.
    fn clamped(&mut self, (from, to): Interval, within: Option<Interval>) -> Interval {
        let Some((low, high)) = within else { return (from, to) };
        (self.b.binary(BinaryOp::Max, from, low), self.b.binary(BinaryOp::Min, to, high))
    }

    /// The coordinates of an interval, which all have one position.
    fn shared_run(
        &mut self,
        var: VarId,
        body: &Stmt,
        lattice: &Lattice,
        k: usize,
        (position, (from, to)): (ExprId, Interval),
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let mut outcome = Ok(());
        if self.is_same_throughout(var, body, &lattice.iterators[k].access) {
            let length = self.b.sub(to, from);
            let length = self.b.define("length", length);
            let zero = self.b.int(0);
            let some = self.b.compare(CompareOp::Gt, length, zero);
            let inner = Scope { times: Some(length), ..scope.clone() };
            self.b.begin_block();
            outcome = self.at_stored(var, body, lattice, k, (position, from), &inner);
            let then = self.b.end_block();
            self.b.push(lacunar_imp::Stmt::If { cond: some, then, otherwise: Vec::new() });
            return outcome;
        }
        let (name, kind) = (self.var_name(var), self.loop_kind(var, scope));
        self.in_for_kind(&name, from, to, kind, |this, coordinate| {
            outcome = this.at_stored(var, body, lattice, k, (position, coordinate), scope);
        });
        outcome
    }

    /// Whether the body adds something to one place that only `access` makes depend on the variable, so that it is the same over
    /// a run; and sums may be formed in any way.
    fn is_same_throughout(&self, var: VarId, body: &Stmt, access: &AccessKey) -> bool {
        let Stmt::Assign(Assign { lhs, op: AssignOp::Reduce(ReduceOp::Add), rhs }) = body else { return false };
        let others = rhs.accesses().into_iter().map(AccessKey::from).filter(|other| other != access);
        let fixed = !lhs.vars.contains(&var) && others.into_iter().all(|other| !other.vars.contains(&var));
        let exact = matches!(rhs.dtype.kind(), Kind::Bool | Kind::Signed | Kind::Unsigned);
        let any_way = exact || (rhs.dtype.kind() == Kind::Real && !self.b.function().strict);
        let once = access.vars.iter().filter(|own| **own == var).count() == 1;
        fixed && any_way && once
    }

    /// What is added: the value, as often as the scope says.
    pub(super) fn addend(&mut self, assign: &Assign, scope: &Scope) -> Result<ExprId, Diagnostic> {
        let value = self.expr(&assign.rhs, scope)?;
        let dtype = self.b.type_of(value);
        // A truth is the same however often.
        let Some(times) = scope.times.filter(|_| dtype != DType::Bool) else { return Ok(value) };
        let times = self.b.cast(dtype, times);
        Ok(self.b.mul(value, times))
    }

    /// Whether neighboring coordinates of an iterator may have one position.
    pub(super) fn shares_positions(&self, lattice: &Lattice, k: usize) -> bool {
        let iterator = &lattice.iterators[k];
        self.kernel.tensors[iterator.access.tensor].format.levels()[iterator.level].properties().shared
    }

    /// How many coordinates so many positions of an iterator have at most.
    pub(super) fn most_coordinates(&self, lattice: &Lattice, k: usize, positions: ExprId) -> ExprId {
        let iterator = &lattice.iterators[k];
        if self.shares_positions(lattice, k) {
            self.size(self.level_var(&iterator.access, iterator.level))
        } else {
            positions
        }
    }
}
