//! Pieces of a plain interval, one for each thread that the work is worth.
//!
//! ```text
//! pieces = max(1, min(work / grain, threads, n))
//! for piece in 0 .. pieces parallel { from, to = the piece's share of 0 .. n; .. }
//! ```
//!
//! On entry: the iterations of the interval write to places of their own.

use lacunar_imp::{BinaryOp, Builder, ExprId, LoopKind};

use crate::lower::Lowerer;
use crate::lower::scope::Interval;

/// Runs the statements that `build` emits for the pieces of `0 .. count`, which are so much work together, in scalar iterations.
pub(in crate::lower) fn in_pieces(
    cx: &mut Lowerer<'_>,
    count: ExprId,
    work: ExprId,
    build: impl FnOnce(&mut Lowerer<'_>, Interval),
) {
    let (zero, one) = (cx.b.int(0), cx.b.int(1));
    if cx.serial {
        return build(cx, (zero, count));
    }
    let grain = cx.b.int(i64::try_from(cx.options.grain).unwrap_or(i64::MAX).max(1));
    let worth = cx.b.binary(BinaryOp::Div, work, grain);
    let threads = cx.threads();
    let most = cx.b.binary(BinaryOp::Min, worth, threads);
    let most = cx.b.binary(BinaryOp::Min, most, count);
    let pieces = cx.b.binary(BinaryOp::Max, most, one);
    let pieces = cx.b.define("pieces", pieces);
    let each = cx.b.binary(BinaryOp::Div, count, pieces);
    let over = cx.b.binary(BinaryOp::Rem, count, pieces);
    let edge = |b: &mut Builder, piece| {
        let (before, more) = (b.mul(piece, each), b.binary(BinaryOp::Min, piece, over));
        b.add(before, more)
    };
    cx.each(LoopKind::Parallel, "piece", (zero, pieces), |cx, piece| {
        let next = cx.b.add(piece, one);
        let (from, to) = (edge(&mut cx.b, piece), edge(&mut cx.b, next));
        let share = (cx.b.define("from", from), cx.b.define("to", to));
        build(cx, share);
    });
}
