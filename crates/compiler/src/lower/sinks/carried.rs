//! Carried sums: chunks of positions cut segments, and the sum that a chunk has for the segment which its beginning cuts is added
//! behind the loop.
//!
//! ```text
//! y(i) += A(i,j) * x(j), positions of A shared        chunk 1 begins in the middle of row 7
//! for chunk parallel {
//!   the positions up to the end of row 7:      y_carried[chunk] += ..;  y_cut[chunk] = 7
//!   the others:                                y_vals[i] += ..
//! }
//! for c { if y_cut[c] >= 0 { y_vals[y_cut[c]] += y_carried[c] } }
//! ```
//!
//! On entry: the first variables of the fused one are those of the result's outer levels, in order.
//!
//! Paper: the carry-out of Merrill and Garland, *Merge-based Parallel Sparse Matrix-Vector Multiplication* (SC 2016).

use std::rc::Rc;

use lacunar_base::Diagnostic;
use lacunar_formats::{DType, Level};
use lacunar_imp::{ArrayId, BinaryOp, CompareOp, ExprId};
use lacunar_notation::concrete::Stmt;
use lacunar_notation::{AssignOp, Monoid, Role, TensorId, VarId};

use super::copies::{assigned, block_below};
use super::values::{combine_at, identity_of, monoid_of};
use super::{Addition, Sink};
use crate::iterate::iterators::{AccessKey, level_var};
use crate::iterate::position_space::{driver, pos_levels};
use crate::levels::Position;
use crate::lower::Lowerer;
use crate::lower::derive::{first_below, position, value_position};
use crate::lower::scope::{Fact, Interval, Scope};
use crate::lower::sizes::product;
use crate::lower::storage::{ancestors, count_positions, descend, is_inside_dimension, unbound, values};

/// Room for the sums that the chunks of a loop carry out.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower) struct Room {
    /// The result.
    tensor: TensorId,
    /// The number of the result's outer levels that name the segment.
    depth: usize,
    /// A block for each chunk.
    array: ArrayId,
    /// The segment that each chunk's block belongs to; -1 for none.
    places: ArrayId,
}

/// The sum that a chunk carries out.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower) struct Carry {
    room: Room,
    chunk: ExprId,
    /// The end of the segment that the chunk's beginning cuts; the chunk's beginning, if it cuts none.
    cut: ExprId,
}

/// The block of a chunk, for the segment that is cut.
#[derive(Debug)]
struct Carried {
    of: Rc<dyn Sink>,
    room: Room,
    chunk: ExprId,
}

/// The number of outer levels of a dense result that name the segments of positions which the loop over a variable
/// cuts, if its chunks meet in such segments.
pub(in crate::lower) fn depth_of(cx: &Lowerer<'_>, var: VarId, body: &Stmt, tensor: TensorId) -> Option<usize> {
    let kernel = cx.kernel;
    let originals = kernel.provenance.originals(var);
    let access = AccessKey::from(driver(kernel, var)?);
    let first = pos_levels(kernel, &access, &originals).start;
    let mut depth = None;
    let mut fits = kernel.tensors[tensor].role == Role::Result && kernel.tensors[tensor].is_array();
    body.visit_assigns(&mut |assign| {
        if assign.lhs.tensor != tensor {
            return;
        }
        let key = AccessKey::from(&assign.lhs);
        let own = originals.iter().take_while(|original| key.vars.contains(original)).count();
        let outer = (0..own).all(|level| originals[..own].contains(&level_var(kernel, &key, level)));
        let rest = originals[own..].iter().all(|original| !key.vars.contains(original));
        fits &= own > 0 && outer && rest && assign.op != AssignOp::Set && depth.is_none_or(|depth| depth == own);
        depth = Some(own);
    });
    // The positions of levels that walk through a dimension together are not those of segments.
    let is_cut = |depth: usize| assigned(cx, tensor).is_some_and(|key| is_inside_dimension(cx, &key, depth));
    // If coordinates repeat, one coordinate has several segments.
    let is_unique = |level: &Level| level.unique;
    let stored = kernel.tensors[access.tensor].format.levels();
    depth.filter(|own| fits && !(0..=*own).any(is_cut) && stored[first..].iter().take(*own).all(is_unique))
}

/// Makes room for the sums that chunks carry out.
pub(in crate::lower) fn declare(
    cx: &mut Lowerer<'_>,
    tensor: TensorId,
    depth: usize,
    chunks: ExprId,
    scope: &Scope,
) -> Room {
    let info = &cx.kernel.tensors[tensor];
    let block = block_below(cx, tensor, depth, scope);
    let total = product(&mut cx.b, chunks, block);
    let array = cx.b.local_array(&format!("{}_carried", info.name), info.dtype);
    let places = cx.b.local_array(&format!("{}_cut", info.name), DType::I64);
    let starts_at_zero = monoid_of(cx.kernel, tensor).begins_at_zero(info.dtype);
    cx.b.alloc(array, total, starts_at_zero);
    cx.b.alloc(places, chunks, false);
    let (zero, none) = (cx.b.int(0), cx.b.int(-1));
    if !starts_at_zero {
        let identity = identity_of(cx, tensor);
        cx.fill(array, (zero, total), identity);
    }
    cx.fill(places, (zero, chunks), none);
    Room { tensor, depth, array, places }
}

/// At the beginning of a chunk with its share of the positions: finds the segment that it cuts.
pub(in crate::lower) fn begin(
    cx: &mut Lowerer<'_>,
    room: Room,
    chunk: ExprId,
    var: VarId,
    share: Interval,
    scope: &mut Scope,
) -> Result<(), Diagnostic> {
    let cut = cut(cx, var, share, room.depth, scope)?;
    scope.know(Fact::Carry(Some(Rc::new(Carry { room, chunk, cut }))));
    Ok(())
}

/// The end of the segment that a chunk's beginning cuts; the chunk's beginning, if it cuts none.
fn cut(
    cx: &mut Lowerer<'_>,
    var: VarId,
    share: Interval,
    depth: usize,
    scope: &mut Scope,
) -> Result<ExprId, Diagnostic> {
    let Some(access) = driver(cx.kernel, var) else { return Ok(share.0) };
    let key = AccessKey::from(access);
    let originals = cx.kernel.provenance.originals(var);
    let levels = pos_levels(cx.kernel, &key, &originals);
    let low = first_below(cx, var, share.0, scope)?;
    let low = cx.b.define("begins", low);
    let one = cx.b.int(1);
    let behind = cx.b.add(low, one);
    let segment = levels.start + depth;
    let mut at = (low, behind);
    for level in (segment..levels.end).rev() {
        at = ancestors(cx, &key, level, at, scope)?;
    }
    let end = cx.b.add(at.0, one);
    // The only chunk of no positions begins where there are no segments.
    let all = count_positions(cx, &key, levels.end - 1, scope).ok_or_else(|| unbound(cx, &key, levels.end - 1))?;
    let is_inside = cx.b.compare(CompareOp::Lt, low, all);
    let cut = cx.b.declare("cut", low);
    cx.when(is_inside, |cx| {
        let (first, end) = descend(cx, &key, segment..=levels.end - 1, (at.0, end), scope)?;
        let is_begun = cx.b.compare(CompareOp::Lt, first, low);
        cx.b.if_then(is_begun, |b| b.assign(cut, end));
        Ok::<(), Diagnostic>(())
    })?;
    let cut = cx.b.var(cut);
    Ok(cx.b.define("cut_end", cut))
}

/// The loops over an interval of positions: those of the cut segment add to the carried sum.
pub(in crate::lower) fn nests(
    cx: &mut Lowerer<'_>,
    carry: &Carry,
    (low, high): Interval,
    scope: &Scope,
    nest: &mut dyn FnMut(&mut Lowerer<'_>, Interval, &Scope) -> Result<(), Diagnostic>,
) -> Result<(), Diagnostic> {
    let room = carry.room;
    let scope = scope.with(Fact::Carry(None));
    let of = scope.sink(room.tensor).ok_or_else(|| Diagnostic::internal("carried sums of what is not written"))?;
    let carried = Carried { of, room, chunk: carry.chunk };
    let end = cx.b.binary(BinaryOp::Min, high, carry.cut);
    nest(cx, (low, end), &scope.with(Fact::Sink(room.tensor, Rc::new(carried))))?;
    let begin = cx.b.binary(BinaryOp::Max, low, carry.cut);
    nest(cx, (begin, high), &scope)
}

/// Behind the loop: adds the carried sums to the segments they belong to.
pub(in crate::lower) fn add_up(
    cx: &mut Lowerer<'_>,
    room: Room,
    chunks: ExprId,
    scope: &Scope,
) -> Result<(), Diagnostic> {
    let values = values(cx, room.tensor, scope)?;
    let block = block_below(cx, room.tensor, room.depth, scope);
    let monoid = monoid_of(cx.kernel, room.tensor);
    let zero = cx.b.int(0);
    cx.b.for_loop("c", zero, chunks, |b, c| {
        let place = b.load("place", room.places, c);
        let some = b.compare(CompareOp::Ge, place, zero);
        b.if_then(some, |b| {
            let (from, to) = (b.mul(c, block), b.mul(place, block));
            b.for_loop("p", zero, block, |b, p| {
                let source = b.add(from, p);
                let part = b.load("part", room.array, source);
                let at = b.add(to, p);
                combine_at(b, values, at, monoid, part);
            });
        });
    });
    Ok(())
}

impl Sink for Carried {
    fn add(&self, cx: &mut Lowerer<'_>, addition: &Addition, scope: &Scope) -> Result<(), Diagnostic> {
        let &Addition { ref key, op, value, .. } = addition;
        let at = value_position(cx, key, scope)?;
        let Room { depth, array, places, .. } = self.room;
        let block = block_below(cx, key.tensor, depth, scope);
        let Position::One(segment) = position(cx, key, depth.checked_sub(1), scope)? else {
            return Err(Diagnostic::internal("a result repeats a coordinate"));
        };
        cx.b.store(places, self.chunk, segment);
        let first = cx.b.mul(segment, block);
        let (offset, begin) = (cx.b.sub(at, first), cx.b.mul(self.chunk, block));
        let at = cx.b.add(begin, offset);
        combine_at(&mut cx.b, array, at, op.monoid().unwrap_or(Monoid::SUM), value);
        Ok(())
    }

    fn hidden(&self) -> Option<&Rc<dyn Sink>> {
        Some(&self.of)
    }

    fn is_array(&self) -> bool {
        true
    }
}
