//! What the chunks of a loop that threads share add to: places of a dense result, or of a workspace that is read outside, that
//! several of them meet at.
//!
//! ```text
//! temporary    each chunk has a copy of its own, and the copies are added up behind the loop. Over positions, where the first
//!              variables of the fused one are those of the result, only the segment that a chunk's beginning cuts is
//!              shared: the chunk's part of it is carried out and added behind the loop
//! atomics      every addition is indivisible
//! ```
//!
//!
//! On entry: the schedule says how races are met, or there are none. On exit: additions go where [`Redirect`] says while the
//! chunk's loop is lowered, and everything is in its place behind it.
//!
//! Paper: Senanayake et al. 2020, §5.1 (race strategies). The carry-out is that of Merrill and Garland, *Merge-based
//! Parallel Sparse Matrix-Vector Multiplication* (SC 2016).

use lacunar_base::Diagnostic;
use lacunar_formats::{DType, Level};
use lacunar_imp::{ArrayId, BinaryOp, CompareOp, Const, ExprId};
use lacunar_notation::concrete::Stmt;
use lacunar_notation::provenance::Relation;
use lacunar_notation::{AssignOp, Role, TensorId, VarId, WorkspaceKind};

use super::sizes::{product, strip_begin};
use super::space::Interval;
use super::workspace::Workspace;
use super::{Lowerer, Scope};
use crate::iterate::iterators::{AccessKey, level_var};
use crate::iterate::space::{driver, pos_levels};
use crate::levels::Position;

/// Where additions to a tensor go instead of to its own values, inside a parallel loop.
#[derive(Clone, Debug)]
pub(super) enum Redirect {
    /// To a chunk's copy in an array of all copies: an element's place there is its own, and an offset.
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
    pub tensor: TensorId,
    /// How many of its outer levels name the segment.
    pub depth: usize,
    pub array: ArrayId,
    pub places: ArrayId,
    pub chunk: ExprId,
    /// The end of the segment that the chunk's beginning cuts; the chunk's beginning, if it cuts none.
    pub cut: ExprId,
}

/// Copies of what a parallel loop adds to.
pub(super) struct Copies {
    pub tensor: TensorId,
    pub array: ArrayId,
    /// The element that a copy begins with.
    pub first: ExprId,
    /// Elements of one copy.
    pub len: ExprId,
    /// Whether a chunk gave anything, where the pattern of a result depends on it.
    pub given: Option<ArrayId>,
}

impl Lowerer<'_> {
    /// How many outer levels of a dense result name the segments of positions that the loop over a variable cuts, if that
    /// is how its chunks meet.
    pub(super) fn carry_depth(&self, var: VarId, body: &Stmt, tensor: TensorId) -> Option<usize> {
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
        // The positions of levels that walk through a dimension together are not those of segments.
        let cut = |depth: usize| self.assigned(tensor).is_some_and(|key| self.is_inside_dimension(&key, depth));
        // Where coordinates repeat, what belongs together has several segments.
        let unique = |level: &Level| level.unique;
        let stored = self.kernel.tensors[access.tensor].format.levels();
        depth.filter(|own| fits && !(0..=*own).any(cut) && stored[first..].iter().take(*own).all(unique))
    }

    /// How a tensor is assigned to.
    fn assigned(&self, tensor: TensorId) -> Option<AccessKey> {
        let mut key = None;
        self.kernel.stmt.visit_assigns(&mut |assign| {
            if assign.lhs.tensor == tensor {
                key = Some(AccessKey::from(&assign.lhs));
            }
        });
        key
    }

    /// How many outer levels of a dense result have coordinates at a place: what is added to there lies under one position of theirs.
    fn levels_known(&self, tensor: TensorId, scope: &Scope) -> usize {
        let Some(key) = self.assigned(tensor).filter(|_| self.kernel.tensors[tensor].role == Role::Result) else {
            return 0;
        };
        let known = |level: usize| scope.coordinates.contains_key(&self.level_var(&key, level));
        let depth = (0..key.vars.len()).take_while(|level| known(*level)).count();
        if (0..=depth).any(|level| self.is_inside_dimension(&key, level)) { 0 } else { depth }
    }

    /// Declares copies of what the chunks add to of a tensor: of all of it, or of what lies under the coordinates that it has here.
    pub(super) fn declare_copies(
        &mut self,
        tensor: TensorId,
        chunks: ExprId,
        scope: &Scope,
    ) -> Result<Copies, Diagnostic> {
        let info = &self.kernel.tensors[tensor];
        if let Role::Workspace(WorkspaceKind::Marked | WorkspaceKind::Sorted) = info.role {
            return Err(Diagnostic::internal(format!(
                "threads cannot share the list that is workspace `{}`",
                info.name
            )));
        }
        let (name, dtype) = (info.name.clone(), info.dtype);
        let depth = self.levels_known(tensor, scope);
        let len = self.block_below(tensor, depth);
        let number = match (depth.checked_sub(1), self.assigned(tensor)) {
            (Some(level), Some(key)) => self.position(&key, Some(level), scope)?.first(),
            _ => self.b.int(0),
        };
        let first = self.b.mul(number, len);
        let total = product(&mut self.b, chunks, len);
        let array = self.b.local_array(&format!("{name}_copies"), dtype);
        self.b.alloc(array, total, false);
        let given = self.appends().then(|| {
            let given = self.b.local_array(&format!("{name}_gave"), DType::Bool);
            self.b.alloc(given, chunks, false);
            given
        });
        Ok(Copies { tensor, array, first, len, given })
    }

    /// At the beginning of a chunk: its copy is empty, and takes the place of the tensor.
    pub(super) fn begin_copy(&mut self, copies: &Copies, chunk: ExprId) {
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
        let offset = self.b.sub(begin, copies.first);
        self.redirects.insert(copies.tensor, Redirect::Copy { array: copies.array, offset });
    }

    /// At the end of a chunk: what a variable holds goes to the copies.
    pub(super) fn end_copy(&mut self, copies: &Copies, chunk: ExprId) {
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
    pub(super) fn add_copies(&mut self, copies: &Copies, chunks: ExprId) -> Result<(), Diagnostic> {
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
            let Copies { first, len, .. } = *copies;
            self.b.for_loop("c", zero, chunks, |b, c| {
                let begin = b.mul(c, len);
                b.for_loop("p", zero, len, |b, p| {
                    let at = b.add(begin, p);
                    let part = b.load("part", array, at);
                    let place = b.add(first, p);
                    b.accumulate(values, place, BinaryOp::Add, part);
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
    pub(super) fn declare_carry(
        &mut self,
        tensor: TensorId,
        depth: usize,
        chunks: ExprId,
    ) -> Result<(TensorId, ArrayId, ArrayId, usize), Diagnostic> {
        let info = &self.kernel.tensors[tensor];
        let (name, dtype) = (info.name.clone(), info.dtype);
        let block = self.block_below(tensor, depth);
        let total = product(&mut self.b, chunks, block);
        let array = self.b.local_array(&format!("{name}_carried"), dtype);
        let places = self.b.local_array(&format!("{name}_cut"), DType::I64);
        self.b.alloc(array, total, true);
        self.b.alloc(places, chunks, false);
        let (zero, none) = (self.b.int(0), self.b.int(-1));
        self.b.push(lacunar_imp::Stmt::Fill { array: places, begin: zero, end: chunks, value: none });
        Ok((tensor, array, places, depth))
    }

    /// The number of elements of a tensor that is not sparse under one position of its level `depth - 1`; all, if `depth` is 0.
    fn block_below(&mut self, tensor: TensorId, depth: usize) -> ExprId {
        match self.assigned(tensor) {
            Some(key) => self.extent(&key, depth, key.vars.len()),
            None => self.b.int(1),
        }
    }

    /// Where the segment that a chunk's beginning cuts ends; the chunk's beginning, if it cuts none.
    pub(super) fn cut(
        &mut self,
        var: VarId,
        part: Interval,
        depth: usize,
        scope: &mut Scope,
    ) -> Result<ExprId, Diagnostic> {
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
        // The only chunk of no positions begins where nothing is.
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
                    let whole = self.b.sub(high, first);
                    strip_begin(&mut self.b, value, size, whole)
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
    pub(super) fn add_carried(
        &mut self,
        tensor: TensorId,
        array: ArrayId,
        places: ArrayId,
        depth: usize,
        chunks: ExprId,
    ) {
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
