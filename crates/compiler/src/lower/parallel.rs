//! Loops that threads share: the iterations of a loop with the tag `parallelize(.., cpu, ..)` are cut into chunks.
//!
//! ```text
//! chunks = the work of the kernel / what is worth a thread's while, at most a few for each thread
//! for c in 0 .. chunks parallel {
//!   workspaces that live inside the loop
//!   the loop, over its values number n * c / chunks up to n * (c + 1) / chunks
//! }
//! ```
//!
//! What becomes of places that several chunks add to is the matter of [`super::shared`].
//!
//! How many chunks there are does not depend on the number of threads where a kernel is `strict`: then sums are formed in the
//! same order for any number of threads. Sparse results are the matter of [`super::segments`].
//!
//! Paper: Senanayake et al. 2020, §5.1.

use lacunar_base::Diagnostic;
use lacunar_formats::{DType, Level};
use lacunar_imp::{ArrayId, BinaryOp, CompareOp, Const, ExprId, LoopKind};
use lacunar_notation::concrete::{Assign, Stmt};
use lacunar_notation::provenance::Relation;
use lacunar_notation::schedule::{Parts, Race, Unit};
use lacunar_notation::{Role, TensorId, VarId};

use super::shared::{Carry, Copies, Redirect};
use super::space::Interval;
use super::{Lowerer, Scope};
use crate::iterate::iterators::{AccessKey, level_var, sparse_levels};
use crate::iterate::races::written_together;
use crate::levels::At;

/// Chunks for each thread, so that threads that are done early find more to do.
const CHUNKS_PER_THREAD: i64 = 8;
/// The threads a strict kernel counts on, whatever their number is.
pub(super) const STRICT_THREADS: i64 = 8;

impl Lowerer<'_> {
    /// The threads' race strategy for the loop over a variable, if threads are to share it.
    pub(super) fn shared(&self, var: VarId) -> Option<Race> {
        match self.kernel.provenance.parallel(var) {
            Some((Unit::CpuThread, race)) if !self.in_parallel && !self.serial => Some(race),
            _ => None,
        }
    }

    /// The loop over a leaf, shared by threads.
    pub(super) fn parallel_loop(
        &mut self,
        var: VarId,
        race: Race,
        body: &Stmt,
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let mut scope = scope.clone();
        scope.started.extend(self.kernel.provenance.originals(var));
        let interval = self.range(var, &mut scope)?;
        let mut added = written_together(self.kernel, var, body);
        // A dense result that is only assembled has no values to add to.
        added.retain(|tensor| {
            self.kernel.tensors[*tensor].role != Role::Result || self.tensors[tensor.index()].values.is_some()
        });
        let carried = added.iter().copied().find_map(|tensor| self.carry_depth(var, body, tensor).map(|d| (tensor, d)));
        let atomic = race == Race::Atomics;
        let carried = carried.filter(|_| !atomic && added.len() == 1);
        let copied: Vec<TensorId> = if atomic || carried.is_some() || matches!(race, Race::None | Race::Ignore) {
            Vec::new()
        } else {
            added.clone()
        };
        let few = !copied.is_empty();
        let chunks = self.chunks(var, interval, body, few);
        let copies = copied.iter().map(|tensor| self.declare_copies(*tensor, chunks, &scope));
        let copies = copies.collect::<Result<Vec<_>, _>>()?;
        let carry = match carried {
            Some((tensor, depth)) => Some(self.declare_carry(tensor, depth, chunks)?),
            None => None,
        };
        if atomic {
            for &tensor in &added {
                self.redirects.insert(tensor, Redirect::Atomic);
            }
        }
        self.in_chunks(var, interval, chunks, body, |this, chunk, part| {
            this.chunk(var, chunk, part, body, &scope, &copies, carry.as_ref())
        })?;
        self.redirects.clear();
        for copies in &copies {
            self.add_copies(copies, chunks)?;
        }
        if let Some((tensor, array, places, depth)) = carry {
            self.add_carried(tensor, array, places, depth, chunks);
        }
        Ok(())
    }

    /// `for c in 0 .. chunks parallel`, with the part of the interval that chunk `c` has: equally many stored values where
    /// the loop is over the first level of a tensor, else equally many values of the variable.
    pub(super) fn in_chunks(
        &mut self,
        var: VarId,
        (low, high): Interval,
        chunks: ExprId,
        body: &Stmt,
        build: impl FnOnce(&mut Self, ExprId, Interval) -> Result<(), Diagnostic>,
    ) -> Result<(), Diagnostic> {
        let length = self.b.sub(high, low);
        let (zero, one) = (self.b.int(0), self.b.int(1));
        // The strips of a loop that was divided for threads are chunks already.
        let ready = chunks == length;
        let balanced = if ready { None } else { self.balanced_by(var, body) };
        let stored = match &balanced {
            Some((key, deepest)) => self.count_positions(key, *deepest),
            None => None,
        };
        // Every chunk has so many values, the first ones each one more, until all that are left over have a place.
        let shares = (!ready && stored.is_none()).then(|| {
            let each = self.b.binary(BinaryOp::Div, length, chunks);
            let over = self.b.binary(BinaryOp::Rem, length, chunks);
            (self.b.define("each", each), self.b.define("over", over))
        });
        let name = if ready { self.var_name(var) } else { "chunk".to_string() };
        let mut outcome = Ok(());
        self.in_parallel = true;
        self.in_for_kind(&name, zero, chunks, LoopKind::Parallel, |this, chunk| {
            let part = match (&balanced, stored) {
                (Some((key, deepest)), Some(stored)) => {
                    let next = this.b.add(chunk, one);
                    let begin = this.first_of(key, *deepest, stored, chunk, chunks, low);
                    begin.and_then(|begin| Ok((begin, this.first_of(key, *deepest, stored, next, chunks, high)?)))
                }
                _ => {
                    let next = this.b.add(chunk, one);
                    let mut edge = |number: ExprId| {
                        let before = shares.map_or(number, |(each, over)| {
                            let before = this.b.mul(number, each);
                            let more = this.b.binary(BinaryOp::Min, number, over);
                            this.b.add(before, more)
                        });
                        this.b.add(low, before)
                    };
                    Ok((edge(chunk), edge(next)))
                }
            };
            outcome = part.and_then(|(begin, end)| {
                let part = (this.b.define("first", begin), this.b.define("last", end));
                this.with_list(|this| build(this, chunk, part))
            });
        });
        self.in_parallel = false;
        outcome
    }

    /// The operand with the most values of those whose first level the loop over a variable visits, and its last sparse level.
    fn balanced_by(&self, var: VarId, body: &Stmt) -> Option<(AccessKey, usize)> {
        if !self.kernel.provenance.is_plain(var) {
            return None;
        }
        let mut found: Option<(AccessKey, usize)> = None;
        let values = |key: &AccessKey| self.kernel.tensors[key.tensor].nnz.unwrap_or(0);
        body.visit_assigns(&mut |assign| {
            for key in assign.rhs.accesses().into_iter().map(AccessKey::from) {
                let first = self.kernel.tensors[key.tensor].role == Role::Input
                    && !key.vars.is_empty()
                    && level_var(self.kernel, &key, 0) == var
                    && tells_coordinates(self.kernel.tensors[key.tensor].format.levels()[0]);
                let deepest = sparse_levels(self.kernel, key.tensor).last().map(|(level, _)| level);
                if let (true, Some(deepest)) = (first, deepest)
                    && found.as_ref().is_none_or(|(known, _)| values(known) < values(&key))
                {
                    found = Some((key, deepest));
                }
            }
        });
        found
    }

    /// The first coordinate of a chunk: that under which value number `chunk * stored / chunks` of an operand is stored. For the
    /// first chunk, and for the one behind the last, it is `edge`.
    fn first_of(
        &mut self,
        key: &AccessKey,
        deepest: usize,
        stored: ExprId,
        chunk: ExprId,
        chunks: ExprId,
        edge: ExprId,
    ) -> Result<ExprId, Diagnostic> {
        let zero = self.b.int(0);
        let first = self.b.declare("bound", edge);
        let after = self.b.compare(CompareOp::Gt, chunk, zero);
        let before = self.b.compare(CompareOp::Lt, chunk, chunks);
        let inside = self.b.and(after, before);
        self.b.begin_block();
        let share = self.b.mul(chunk, stored);
        let mut position = self.b.binary(BinaryOp::Div, share, chunks);
        let mut outcome = Ok(());
        for level in (1..=deepest).rev() {
            match self.ancestor(key, level, position) {
                Ok(above) => position = above,
                Err(error) => outcome = Err(error),
            }
        }
        let at = At { parent: zero, position, state: None };
        let code = &self.tensors[key.tensor.index()].levels[0];
        let coordinate = code.coordinate(&mut self.b, "bound_at", at);
        self.b.assign(first, coordinate);
        let then = self.b.end_block();
        self.b.push(lacunar_imp::Stmt::If { cond: inside, then, otherwise: Vec::new() });
        outcome.map(|()| self.b.var(first))
    }

    #[expect(clippy::too_many_arguments, reason = "a chunk is described by all of these")]
    fn chunk(
        &mut self,
        var: VarId,
        chunk: ExprId,
        part: Interval,
        body: &Stmt,
        scope: &Scope,
        copies: &[Copies],
        carry: Option<&(TensorId, ArrayId, ArrayId, usize)>,
    ) -> Result<(), Diagnostic> {
        self.declare_workspaces(Some(var));
        for copies in copies {
            self.begin_copy(copies, chunk);
        }
        let mut scope = scope.clone();
        if let Some(&(tensor, array, places, depth)) = carry {
            let cut = self.cut(var, part, depth, &mut scope)?;
            self.carry = Some(Carry { tensor, depth, array, places, chunk, cut });
        }
        let outcome = self.leaf_loop(var, part, body, &scope);
        self.carry = None;
        for copies in copies {
            self.end_copy(copies, chunk);
        }
        outcome
    }

    /// How many chunks the loop over an interval of a variable's values is cut into.
    pub(super) fn chunks(&mut self, var: VarId, (low, high): Interval, body: &Stmt, few: bool) -> ExprId {
        let length = self.b.sub(high, low);
        if let Some(Relation::Divide { outer, parts: Parts::PerThread(_), .. }) = self.kernel.provenance.origin(var)
            && *outer == var
        {
            return length;
        }
        let per_thread = self.b.int(if few { 1 } else { CHUNKS_PER_THREAD });
        let one = self.b.int(1);
        let threads = self.threads();
        let most = self.b.mul(threads, per_thread);
        // A thread by itself has nobody to share with.
        let alone = self.b.compare(CompareOp::Le, threads, one);
        let most = self.b.select(alone, one, most);
        let worth = self.worth();
        let chunks = self.b.binary(BinaryOp::Min, most, worth);
        let chunks = self.b.binary(BinaryOp::Min, chunks, length);
        let mut chunks = chunks;
        if let Some((key, deepest)) = self.balanced_by(var, body)
            && let Some(stored) = self.count_positions(&key, deepest)
        {
            // Every chunk begins at a value.
            chunks = self.b.binary(BinaryOp::Min, chunks, stored);
        }
        let chunks = self.b.binary(BinaryOp::Max, chunks, one);
        self.b.define("chunks", chunks)
    }

    /// The number of chunks that the work of the kernel is worth.
    pub(super) fn worth(&mut self) -> ExprId {
        self.worth.unwrap_or_else(|| self.b.int(i64::MAX))
    }

    /// Estimates the work of the kernel from the sizes and the numbers of stored values that it is run with.
    pub(super) fn estimate_work(&mut self) {
        let shared = self.kernel.provenance.tags.iter().any(|(var, _)| self.shared(*var).is_some());
        if !shared {
            return;
        }
        let mut assigns: Vec<Assign> = Vec::new();
        self.kernel.stmt.visit_assigns(&mut |assign| assigns.push(assign.clone()));
        let mut work = self.b.constant(Const::real(DType::F64, 0.0));
        for assign in &assigns {
            let own = self.work_of(assign);
            work = self.b.add(work, own);
        }
        let grain = self.b.constant(Const::real(DType::F64, self.grain.max(1) as f64));
        let worth = self.b.binary(BinaryOp::Div, work, grain);
        let worth = self.b.cast(DType::I64, worth);
        self.worth = Some(self.b.define("worth", worth));
    }

    /// The combinations of coordinates that an assignment is met at, if stored ones are spread evenly; at least the stored
    /// values of each operand.
    fn work_of(&mut self, assign: &Assign) -> ExprId {
        let real = |this: &mut Self, value: ExprId| this.b.cast(DType::F64, value);
        let mut vars: Vec<VarId> = assign.lhs.vars.clone();
        let accesses: Vec<AccessKey> = assign.rhs.accesses().into_iter().map(AccessKey::from).collect();
        for var in accesses.iter().flat_map(|access| &access.vars) {
            if !vars.contains(var) {
                vars.push(*var);
            }
        }
        let one = self.b.constant(Const::real(DType::F64, 1.0));
        let mut met = one;
        for &var in &vars {
            let size = self.size(var);
            let size = real(self, size);
            met = self.b.mul(met, size);
        }
        let mut least = one;
        for access in &accesses {
            if matches!(self.kernel.tensors[access.tensor].role, Role::Workspace(_)) {
                continue;
            }
            let Some((level, _)) = sparse_levels(self.kernel, access.tensor).last() else { continue };
            let Some(stored) = self.count_positions(access, level) else { continue };
            let stored = real(self, stored);
            least = self.b.binary(BinaryOp::Max, least, stored);
            let mut places = one;
            for above in 0..=level {
                let size = self.size(level_var(self.kernel, access, above));
                let size = real(self, size);
                places = self.b.mul(places, size);
            }
            let places = self.b.binary(BinaryOp::Max, places, one);
            let density = self.b.binary(BinaryOp::Div, stored, places);
            met = self.b.mul(met, density);
        }
        self.b.binary(BinaryOp::Max, met, least)
    }
}

/// Whether every position of an outermost level tells a coordinate, and they ascend.
fn tells_coordinates(level: Level) -> bool {
    let (properties, can) = (level.properties(), level.capabilities());
    properties.full || (properties.ordered && properties.compact && can.iterate_positions)
}
