//! Loops that threads share: the iterations of a loop with the tag `parallelize(.., cpu, ..)` are cut into chunks.
//!
//! ```text
//! chunks = the work of the kernel / what is worth a thread's while, at most a few for each thread
//! for c in 0 .. chunks parallel {
//!   workspaces that live inside the loop
//!   the loop, over its values from c * step up to (c + 1) * step
//! }
//! ```
//!
//! Where several chunks add to one place of a dense result, or of a workspace that is read outside:
//!
//! ```text
//! temporary    each chunk has a copy of its own, and the copies are added up behind the loop. Over positions, where the first
//!              variables of the fused one are those of the result, only the segment that a chunk's beginning cuts is
//!              shared: the chunk's part of it is carried out and added behind the loop
//! atomics      every addition is indivisible
//! ```
//!
//! How many chunks there are does not depend on the number of threads where a kernel is `strict`: then sums are formed in the
//! same order for any number of threads. Sparse results are the matter of [`super::segments`].
//!
//! Paper: Senanayake et al. 2020, §5.1 (race strategies). The carry-out is that of Merrill and Garland, *Merge-based
//! Parallel Sparse Matrix-Vector Multiplication* (SC 2016).

use lacunar_base::Diagnostic;
use lacunar_formats::{DType, Level};
use lacunar_imp::{ArrayId, BinaryOp, CompareOp, Const, ExprId, LoopKind};
use lacunar_notation::concrete::{Assign, Stmt};
use lacunar_notation::provenance::Relation;
use lacunar_notation::schedule::{Parts, Race, Unit};
use lacunar_notation::{AssignOp, Role, TensorId, VarId, WorkspaceKind};

use super::space::Interval;
use super::workspace::Workspace;
use super::{Lowerer, Scope};
use crate::iterate::iterators::{AccessKey, level_var, sparse_levels};
use crate::iterate::races::written_together;
use crate::iterate::space::{driver, pos_levels};
use crate::levels::Position;

/// Chunks for each thread, so that threads that are done early find more to do.
const CHUNKS_PER_THREAD: i64 = 8;
/// The threads a strict kernel counts on, whatever their number is.
pub(super) const STRICT_THREADS: i64 = 8;

/// Where additions to a tensor go instead of to its own values, inside a parallel loop.
#[derive(Clone, Debug)]
pub(super) enum Redirect {
    /// To a chunk's copy in an array of all copies, which begins at an offset.
    Copy { array: ArrayId, offset: ExprId },
    /// For the segment that is cut: to a chunk's block in an array of blocks; which segment it is goes to `places`.
    Carry { array: ArrayId, places: ArrayId, chunk: ExprId, depth: usize },
    /// To its own, indivisibly.
    Atomic,
}

/// The carry-out of the chunk that is being lowered.
#[derive(Clone, Debug)]
pub(super) struct Carry {
    /// The result.
    tensor: TensorId,
    /// How many of its outer levels name the segment.
    depth: usize,
    array: ArrayId,
    places: ArrayId,
    chunk: ExprId,
    /// The end of the segment that the chunk's beginning cuts; the chunk's beginning, if it cuts none.
    cut: ExprId,
}

/// Copies of what a parallel loop adds to.
struct Copies {
    tensor: TensorId,
    array: ArrayId,
    /// Elements of one copy.
    len: ExprId,
    /// Whether a chunk gave anything, where the pattern of a result depends on it.
    given: Option<ArrayId>,
}

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
        let copies = copied.iter().map(|tensor| self.declare_copies(*tensor, chunks)).collect::<Result<Vec<_>, _>>()?;
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
        let step = if ready || stored.is_some() { one } else { self.ceil_div(length, chunks) };
        let step = if step == one { one } else { self.b.define("step", step) };
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
                    let begin = this.b.mul(chunk, step);
                    let begin = this.b.add(low, begin);
                    let end = this.b.add(begin, step);
                    Ok((begin, this.b.binary(BinaryOp::Min, end, high)))
                }
            };
            outcome = part.and_then(|(begin, end)| {
                let part = (this.b.define("first", begin), this.b.define("last", end));
                build(this, chunk, part)
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
                    && level_var(self.kernel, &key, 0) == var;
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
        let code = &self.tensors[key.tensor.index()].levels[0];
        let coordinate = code.coordinate(&mut self.b, "bound_at", position);
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

    /// How many outer levels of a dense result name the segments of positions that the loop over a variable cuts, if that
    /// is how its chunks meet.
    fn carry_depth(&self, var: VarId, body: &Stmt, tensor: TensorId) -> Option<usize> {
        let originals = self.kernel.provenance.originals(var);
        let access = AccessKey::from(driver(self.kernel, var)?);
        let first = pos_levels(self.kernel, &access, &originals).start;
        let mut depth = None;
        let mut fits =
            self.kernel.tensors[tensor].role == Role::Result && self.kernel.tensors[tensor].format.is_dense();
        body.visit_assigns(&mut |assign| {
            if assign.lhs.tensor != tensor {
                return;
            }
            let key = AccessKey::from(&assign.lhs);
            let own = originals.iter().take_while(|original| key.vars.contains(original)).count();
            let outer = (0..own).all(|level| originals[..own].contains(&level_var(self.kernel, &key, level)));
            let rest = originals[own..].iter().all(|original| !key.vars.contains(original));
            fits &= own > 0 && outer && rest && assign.op != AssignOp::Set && depth.is_none_or(|depth| depth == own);
            depth = Some(own);
        });
        // Where coordinates repeat, what belongs together has several segments.
        let unique = |level: &Level| level.unique;
        let stored = self.kernel.tensors[access.tensor].format.levels();
        depth.filter(|own| fits && stored[first..].iter().take(*own).all(unique))
    }

    /// The number of elements of a tensor that is not sparse.
    fn elements(&mut self, tensor: TensorId) -> ExprId {
        let mut vars = Vec::new();
        self.kernel.stmt.visit_assigns(&mut |assign| {
            if assign.lhs.tensor == tensor {
                vars.clone_from(&assign.lhs.vars);
            }
        });
        let one = self.b.int(1);
        vars.into_iter().fold(one, |product, var| {
            let size = self.size(var);
            self.b.mul(product, size)
        })
    }

    fn declare_copies(&mut self, tensor: TensorId, chunks: ExprId) -> Result<Copies, Diagnostic> {
        let info = &self.kernel.tensors[tensor];
        if let Role::Workspace(WorkspaceKind::Marked | WorkspaceKind::Sorted) = info.role {
            return Err(Diagnostic::internal(format!(
                "threads cannot share the list that is workspace `{}`",
                info.name
            )));
        }
        let (name, dtype) = (info.name.clone(), info.dtype);
        let len = self.elements(tensor);
        let total = self.b.mul(chunks, len);
        let array = self.b.local_array(&format!("{name}_copies"), dtype);
        self.b.alloc(array, total, false);
        let given = self.appends().then(|| {
            let given = self.b.local_array(&format!("{name}_gave"), DType::Bool);
            self.b.alloc(given, chunks, false);
            given
        });
        Ok(Copies { tensor, array, len, given })
    }

    /// At the beginning of a chunk: its copy is empty, and takes the place of the tensor.
    fn begin_copy(&mut self, copies: &Copies, chunk: ExprId) {
        let info = &self.kernel.tensors[copies.tensor];
        let (name, dtype) = (info.name.clone(), info.dtype);
        let zero = self.b.constant(Const::zero(dtype));
        let given = copies.given.map(|_| {
            let no = self.b.bool(false);
            self.b.declare(&format!("{name}_given"), no)
        });
        let place = &mut self.tensors[copies.tensor.index()];
        if let Some(Workspace::Scalar { .. }) = place.workspace {
            let value = self.b.declare(&name, zero);
            self.shadowed.push((copies.tensor, place.workspace.replace(Workspace::Scalar { value, given })));
            return;
        }
        if let Some(Workspace::Dense { len, .. }) = place.workspace {
            self.shadowed.push((copies.tensor, place.workspace.replace(Workspace::Dense { len, given })));
        }
        let begin = self.b.mul(chunk, copies.len);
        let end = self.b.add(begin, copies.len);
        self.b.push(lacunar_imp::Stmt::Fill { array: copies.array, begin, end, value: zero });
        self.redirects.insert(copies.tensor, Redirect::Copy { array: copies.array, offset: begin });
    }

    /// At the end of a chunk: what a variable holds goes to the copies.
    fn end_copy(&mut self, copies: &Copies, chunk: ExprId) {
        self.redirects.remove(&copies.tensor);
        let Some(place) = self.shadowed.iter().position(|(tensor, _)| *tensor == copies.tensor) else { return };
        let (_, outer) = self.shadowed.swap_remove(place);
        let inner = std::mem::replace(&mut self.tensors[copies.tensor.index()].workspace, outer);
        if let Some(Workspace::Scalar { value, .. }) = inner {
            let value = self.b.var(value);
            self.b.store(copies.array, chunk, value);
        }
        if let (
            Some(array),
            Some(Workspace::Scalar { given: Some(given), .. } | Workspace::Dense { given: Some(given), .. }),
        ) = (copies.given, &inner)
        {
            let given = self.b.var(*given);
            self.b.store(array, chunk, given);
        }
    }

    /// Behind the loop: the copies are added up.
    fn add_copies(&mut self, copies: &Copies, chunks: ExprId) -> Result<(), Diagnostic> {
        let zero = self.b.int(0);
        let array = copies.array;
        let scalar = match &self.tensors[copies.tensor.index()].workspace {
            Some(Workspace::Scalar { value, .. }) => Some(*value),
            _ => None,
        };
        if let Some(value) = scalar {
            self.b.for_loop("c", zero, chunks, |b, c| {
                let part = b.load("part", array, c);
                let sum = b.var(value);
                let sum = b.add(sum, part);
                b.assign(value, sum);
            });
        } else {
            let values = self.values_of(copies.tensor)?;
            let len = copies.len;
            self.b.for_loop("c", zero, chunks, |b, c| {
                let begin = b.mul(c, len);
                b.for_loop("p", zero, len, |b, p| {
                    let at = b.add(begin, p);
                    let part = b.load("part", array, at);
                    b.accumulate(values, p, BinaryOp::Add, part);
                });
            });
        }
        let outer = match &self.tensors[copies.tensor.index()].workspace {
            Some(Workspace::Scalar { given, .. } | Workspace::Dense { given, .. }) => *given,
            _ => None,
        };
        if let (Some(array), Some(outer)) = (copies.given, outer) {
            self.b.for_loop("c", zero, chunks, |b, c| {
                let gave = b.load("gave", array, c);
                let so_far = b.var(outer);
                let any = b.or(so_far, gave);
                b.assign(outer, any);
            });
        }
        Ok(())
    }

    /// Blocks for what the chunks carry out, and the segments they belong to (-1: none).
    fn declare_carry(
        &mut self,
        tensor: TensorId,
        depth: usize,
        chunks: ExprId,
    ) -> Result<(TensorId, ArrayId, ArrayId, usize), Diagnostic> {
        let info = &self.kernel.tensors[tensor];
        let (name, dtype) = (info.name.clone(), info.dtype);
        let block = self.block_below(tensor, depth);
        let total = self.b.mul(chunks, block);
        let array = self.b.local_array(&format!("{name}_carried"), dtype);
        let places = self.b.local_array(&format!("{name}_cut"), DType::I64);
        self.b.alloc(array, total, true);
        self.b.alloc(places, chunks, false);
        let (zero, none) = (self.b.int(0), self.b.int(-1));
        self.b.push(lacunar_imp::Stmt::Fill { array: places, begin: zero, end: chunks, value: none });
        Ok((tensor, array, places, depth))
    }

    /// The number of elements of a dense result under one position of its level `depth - 1`.
    fn block_below(&mut self, tensor: TensorId, depth: usize) -> ExprId {
        let mut key = None;
        self.kernel.stmt.visit_assigns(&mut |assign| {
            if assign.lhs.tensor == tensor {
                key = Some(AccessKey::from(&assign.lhs));
            }
        });
        let one = self.b.int(1);
        let Some(key) = key else { return one };
        (depth..key.vars.len()).fold(one, |product, level| {
            let size = self.size(level_var(self.kernel, &key, level));
            self.b.mul(product, size)
        })
    }

    /// Where the segment that a chunk's beginning cuts ends; the chunk's beginning, if it cuts none.
    fn cut(&mut self, var: VarId, part: Interval, depth: usize, scope: &mut Scope) -> Result<ExprId, Diagnostic> {
        let Some(access) = driver(self.kernel, var) else { return Ok(part.0) };
        let key = AccessKey::from(access);
        let originals = self.kernel.provenance.originals(var);
        let levels = pos_levels(self.kernel, &key, &originals);
        let low = self.first_below(var, part.0, scope)?;
        let low = self.b.define("begins", low);
        let one = self.b.int(1);
        let behind = self.b.add(low, one);
        let segment = levels.start + depth;
        let mut at = (low, behind);
        for level in (segment..levels.end).rev() {
            at = self.ancestors(&key, level, at)?;
        }
        let end = self.b.add(at.0, one);
        // The last chunks may be empty and begin where nothing is.
        let all = self.count_positions(&key, levels.end - 1).ok_or_else(|| self.unbound(&key, levels.end - 1))?;
        let inside = self.b.compare(CompareOp::Lt, low, all);
        let cut = self.b.declare("cut", low);
        self.b.begin_block();
        let (first, end) = self.descend(&key, segment..=levels.end - 1, (at.0, end))?;
        let begun = self.b.compare(CompareOp::Lt, first, low);
        self.b.if_then(begun, |b| b.assign(cut, end));
        let then = self.b.end_block();
        self.b.push(lacunar_imp::Stmt::If { cond: inside, then, otherwise: Vec::new() });
        let cut = self.b.var(cut);
        Ok(self.b.define("cut_end", cut))
    }

    /// The first value of what a leaf was split from that belongs to a value of the leaf, in the terms of the outermost
    /// variable that is not split.
    pub(super) fn first_below(&mut self, var: VarId, value: ExprId, scope: &mut Scope) -> Result<ExprId, Diagnostic> {
        match self.kernel.provenance.origin(var).cloned() {
            Some(relation @ (Relation::Split { parent, outer, .. } | Relation::Divide { parent, outer, .. })) => {
                let (first, high) = self.range(parent, scope)?;
                let size = self.strip(&relation, scope)?;
                let offset = if var == outer {
                    self.b.mul(value, size)
                } else {
                    let number = self.coordinate(outer, scope)?;
                    let begin = self.b.mul(number, size);
                    self.b.add(begin, value)
                };
                let value = self.b.add(first, offset);
                let value = self.b.binary(BinaryOp::Min, value, high);
                self.first_below(parent, value, scope)
            }
            Some(Relation::Bound { parent, .. }) => self.first_below(parent, value, scope),
            _ => Ok(value),
        }
    }

    /// An interval of positions, of which those of the cut segment add to what is carried out.
    pub(super) fn carried_nests(
        &mut self,
        carry: &Carry,
        (low, high): Interval,
        nest: &mut dyn FnMut(&mut Self, Interval) -> Result<(), Diagnostic>,
    ) -> Result<(), Diagnostic> {
        let end = self.b.binary(BinaryOp::Min, high, carry.cut);
        let redirect =
            Redirect::Carry { array: carry.array, places: carry.places, chunk: carry.chunk, depth: carry.depth };
        self.redirects.insert(carry.tensor, redirect);
        nest(self, (low, end))?;
        self.redirects.remove(&carry.tensor);
        let begin = self.b.binary(BinaryOp::Max, low, carry.cut);
        nest(self, (begin, high))
    }

    /// Behind the loop: what was carried out is added to the segments it belongs to.
    fn add_carried(&mut self, tensor: TensorId, array: ArrayId, places: ArrayId, depth: usize, chunks: ExprId) {
        let Some(values) = self.tensors[tensor.index()].values else { return };
        let block = self.block_below(tensor, depth);
        let zero = self.b.int(0);
        self.b.for_loop("c", zero, chunks, |b, c| {
            let place = b.load("place", places, c);
            let some = b.compare(CompareOp::Ge, place, zero);
            let then = b.block(|b| {
                let (from, to) = (b.mul(c, block), b.mul(place, block));
                b.for_loop("p", zero, block, |b, p| {
                    let source = b.add(from, p);
                    let part = b.load("part", array, source);
                    let at = b.add(to, p);
                    b.accumulate(values, at, BinaryOp::Add, part);
                });
            });
            b.push(lacunar_imp::Stmt::If { cond: some, then, otherwise: Vec::new() });
        });
    }

    /// Adds a value to an element of a tensor, or to what stands for it here.
    pub(super) fn add_to(
        &mut self,
        key: &AccessKey,
        at: ExprId,
        value: ExprId,
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        match self.redirects.get(&key.tensor).cloned() {
            None => {
                let values = self.values_of(key.tensor)?;
                self.b.accumulate(values, at, BinaryOp::Add, value);
            }
            Some(Redirect::Atomic) => {
                let values = self.values_of(key.tensor)?;
                self.b.atomic(values, at, BinaryOp::Add, value);
            }
            Some(Redirect::Copy { array, offset }) => {
                let at = self.b.add(offset, at);
                self.b.accumulate(array, at, BinaryOp::Add, value);
            }
            Some(Redirect::Carry { array, places, chunk, depth }) => {
                let block = self.block_below(key.tensor, depth);
                let Position::One(segment) = self.position(key, depth.checked_sub(1), scope)? else {
                    return Err(Diagnostic::internal("a result repeats a coordinate"));
                };
                self.b.store(places, chunk, segment);
                let first = self.b.mul(segment, block);
                let (offset, begin) = (self.b.sub(at, first), self.b.mul(chunk, block));
                let at = self.b.add(begin, offset);
                self.b.accumulate(array, at, BinaryOp::Add, value);
            }
        }
        Ok(())
    }
}
