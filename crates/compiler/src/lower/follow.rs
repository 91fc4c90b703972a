//! Copies of elements that follow from others, behind the loops that compute these.
//!
//! ```text
//! C(i,j) = C(j,i) where i > j          for blocks of 32 x 32:  for i in ..  for j in .. min(i, ..) { C[n i + j] = C[n j + i] }
//! ```
//!
//! The two innermost dimensions are gone through in blocks, so that lines which are read across are used while they are in a cache; threads
//! share the blocks. Conditions of the innermost coordinate are the bounds of its loop.
//!
//! On entry: the elements that are computed have their values, and all others are 0. On exit: all have.

use lacunar_base::Diagnostic;
use lacunar_formats::Scalar;
use lacunar_imp::{ArrayId, BinaryOp, ExprId, LoopKind, UnaryOp};
use lacunar_notation::follow::{Condition, Follower};

use super::Lowerer;
use super::region::computed::{holds_at, narrowed};
use super::scope::{Interval, Scope};
use super::sizes::{ceil_div, constant, product};
use super::storage::values;
use super::units::pieces::in_pieces;
use crate::iterate::iterators::result_of;

/// The coordinates of a block in each of two dimensions.
const BLOCK: u64 = 32;

/// A result whose elements are copied.
struct Target {
    array: ArrayId,
    /// The dimensions, in the order of storage.
    order: Vec<usize>,
    /// By dimension.
    sizes: Vec<ExprId>,
}

/// Copies the elements of the result that follow from others.
pub(super) fn copy(cx: &mut Lowerer<'_>, scope: &Scope) -> Result<(), Diagnostic> {
    let kernel = cx.kernel;
    let Some((followers, result)) = kernel.followers.as_ref().zip(result_of(kernel)) else { return Ok(()) };
    if followers.parts.is_empty() || !cx.options.phase.computes() {
        return Ok(());
    }
    let array = values(cx, result.tensor, scope)?;
    let order = kernel.tensors[result.tensor].format.mode_order().to_vec();
    let sizes: Vec<ExprId> = result.vars.iter().map(|var| cx.size(*var)).collect();
    let target = Target { array, order, sizes };
    let Some(&blocked) = target.order.iter().rev().nth(1) else { return Ok(()) };
    cx.say(scope, "copies of what follows from other elements, in blocks");
    let size = constant(&mut cx.b, BLOCK);
    let blocks = ceil_div(&mut cx.b, target.sizes[blocked], size);
    let one = cx.b.int(1);
    let work = target.sizes.iter().fold(one, |work, size| product(&mut cx.b, work, *size));
    in_pieces(cx, blocks, work, |cx, (from, to)| {
        for follower in &followers.parts {
            cx.each(LoopKind::Serial, "block", (from, to), |cx, block| {
                let within = block_of(cx, block, target.sizes[blocked]);
                target.outer(cx, follower, within, &mut vec![None; target.sizes.len()], 0);
            });
        }
    });
    Ok(())
}

/// The coordinates of a block, below a size.
fn block_of(cx: &mut Lowerer<'_>, block: ExprId, size: ExprId) -> Interval {
    let length = constant(&mut cx.b, BLOCK);
    let begin = cx.b.mul(block, length);
    let left = cx.b.sub(size, begin);
    let own = cx.b.binary(BinaryOp::Min, left, length);
    let end = cx.b.add(begin, own);
    (cx.b.define("begin", begin), cx.b.define("end", end))
}

impl Target {
    /// The loops over all dimensions, from that with a number in the order of storage on; `within` are the coordinates of the last but one.
    fn outer(
        &self,
        cx: &mut Lowerer<'_>,
        follower: &Follower,
        within: Interval,
        values: &mut Vec<Option<ExprId>>,
        number: usize,
    ) {
        let zero = cx.b.int(0);
        let dim = self.order[number];
        if number + 2 < self.order.len() {
            cx.each(LoopKind::Serial, "at", (zero, self.sizes[dim]), |cx, at| {
                values[dim] = Some(at);
                self.outer(cx, follower, within, values, number + 1);
            });
            return;
        }
        let Some(&last) = self.order.last() else { return };
        let length = constant(&mut cx.b, BLOCK);
        let blocks = ceil_div(&mut cx.b, self.sizes[last], length);
        cx.each(LoopKind::Serial, "across", (zero, blocks), |cx, block| {
            let across = block_of(cx, block, self.sizes[last]);
            cx.each(LoopKind::Serial, "at", within, |cx, at| {
                values[dim] = Some(at);
                self.row(cx, follower, (last, across), values);
            });
        });
    }

    /// The copies of neighboring elements, whose last coordinates lie in an interval.
    fn row(
        &self,
        cx: &mut Lowerer<'_>,
        follower: &Follower,
        (last, across): (usize, Interval),
        values: &mut [Option<ExprId>],
    ) {
        let is_of_last = |condition: &&Condition| condition.factors[last] != 0;
        let (bounds, others): (Vec<&Condition>, Vec<&Condition>) = follower.conditions.iter().partition(is_of_last);
        let mut holds = None;
        for condition in others {
            let own = holds_at(cx, condition, Some(last), (values, &self.sizes));
            holds = Some(holds.map_or(own, |all| cx.b.and(all, own)));
        }
        cx.when_some(holds, |cx| {
            let across = narrowed(cx, &bounds, last, (values, &self.sizes), across);
            cx.each(LoopKind::Serial, "at", across, |cx, at| {
                values[last] = Some(at);
                self.copy(cx, follower, values);
                values[last] = None;
            });
        });
    }

    fn copy(&self, cx: &mut Lowerer<'_>, follower: &Follower, values: &[Option<ExprId>]) {
        let source: Vec<Option<ExprId>> = follower.from.iter().map(|dim| values[*dim]).collect();
        let (from, to) = (self.place(cx, &source), self.place(cx, values));
        let mut value = cx.b.load("unique", self.array, from);
        if follower.coefficient.conjugate && cx.b.type_of(value).is_complex() {
            value = cx.b.unary(UnaryOp::Conj, value);
        }
        if follower.coefficient.numerator() < 0 {
            // The difference of equal numbers is 0 without a sign, whichever comes first.
            let zero = cx.b.constant(Scalar::zero(cx.b.type_of(value)));
            value = cx.b.sub(zero, value);
        }
        cx.b.store(self.array, to, value);
    }

    /// The position of an element.
    fn place(&self, cx: &mut Lowerer<'_>, coordinates: &[Option<ExprId>]) -> ExprId {
        let zero = cx.b.int(0);
        self.order.iter().fold(zero, |above, dim| {
            let first = cx.b.mul(above, self.sizes[*dim]);
            coordinates[*dim].map_or(first, |at| cx.b.add(first, at))
        })
    }
}
