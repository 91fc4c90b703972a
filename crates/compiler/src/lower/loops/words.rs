//! Loops over levels that store words: 64 coordinates at a time, which the lattice combines as numbers.
//!
//! ```text
//! a(i) = b(i) * c(i), both bitmaps
//!   for w in first .. end {
//!     here = bits of b & bits of c                            a union: |
//!     while here != 0 { i = 64 w + zeros below the lowest 1; ..; here &= here - 1 }
//!   }
//! ```
//!
//! If the schedule says lanes and the result can be appended to in them, [`super::lanes`] emits the inner loop.
//!
//! On entry: every iterator that the loop advances is tested (`LevelCode::word`), and the loop does not visit all coordinates.

use lacunar_base::Diagnostic;
use lacunar_imp::{BinaryOp, ExprId, LoopKind};

use super::bits::{Combined, OperandWord, bit_by_bit, over_points};
use super::here::Loop;
use super::lanes;
use crate::iterate::lattice::Point;
use crate::levels::Word;
use crate::lower::iter::{bounds, most_visited, word};
use crate::lower::scope::Interval;
use crate::lower::{Lowerer, region};

/// The loop over the words of operands that store them.
pub(super) fn emit(cx: &mut Lowerer<'_>, l: &Loop<'_>, loops: &[Point]) -> Result<(), Diagnostic> {
    let here = Point::union(loops);
    let mut lengths = Vec::new();
    for k in here.members() {
        let (begin, end) = bounds(cx, &l.lattice.iterators[k], l.scope)?;
        lengths.push((k, cx.b.sub(end, begin)));
    }
    let size = cx.size(l.var);
    let scope = l.entered(cx, &mut |cx| most_visited(cx, l.lattice, size, loops, &lengths));
    let l = &l.within(&scope);
    let combined = Combined { points: Point::smallest(loops), here };
    let (begin, end) = region::coordinates(cx, l.var, l.scope)?;
    let is_whole = l.scope.region(l.var).is_none() && end == size;
    let (bits, round) = (cx.b.int(Word::BITS), cx.b.int(Word::BITS - 1));
    // Nothing is visited if the end is before the beginning, which is not negative.
    let first = cx.b.binary(BinaryOp::Div, begin, bits);
    let last = cx.b.add(end, round);
    let last = cx.b.binary(BinaryOp::Div, last, bits);
    cx.each(LoopKind::Serial, "number", (first, last), |cx, number| {
        at_word(cx, l, &combined, number, (!is_whole).then_some((begin, end)))
    })
}

/// The bodies at the coordinates of one word, within an interval.
fn at_word(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    combined: &Combined,
    number: ExprId,
    interval: Option<Interval>,
) -> Result<(), Diagnostic> {
    let mut windows = Vec::new();
    for k in combined.here.members() {
        windows.push(OperandWord { k, word: word(cx, &l.lattice.iterators[k], number, l.scope)?, rest: None });
    }
    let words: Vec<(usize, ExprId)> = windows.iter().map(|window| (window.k, window.word.bits)).collect();
    let mut here = over_points(cx, &combined.points, &words, BinaryOp::And, BinaryOp::Or);
    let bits = cx.b.int(Word::BITS);
    let base = cx.b.mul(number, bits);
    if let Some(interval) = interval {
        here = inside(cx, here, base, interval);
    }
    let here = cx.b.define("here", here);
    if let Some(group) = lanes::appended_group(cx, l, combined) {
        let operands: Vec<(usize, Word)> = windows.iter().map(|window| (window.k, window.word)).collect();
        return lanes::append(cx, l, group, &operands, (number, here));
    }
    let base = cx.b.cast(Word::TYPE, base);
    bit_by_bit(cx, l, combined, &windows, base, here)
}

/// The bits of a word, whose first coordinate is `base`, that stand for coordinates of an interval.
fn inside(cx: &mut Lowerer<'_>, here: ExprId, base: ExprId, (begin, end): Interval) -> ExprId {
    let (zero, bits) = (cx.b.int(0), cx.b.int(Word::BITS));
    let (before, until) = (cx.b.sub(begin, base), cx.b.sub(end, base));
    let before = cx.b.binary(BinaryOp::Max, before, zero);
    let behind = cx.b.sub(bits, until);
    let behind = cx.b.binary(BinaryOp::Max, behind, zero);
    let (before, behind) = (cx.b.cast(Word::TYPE, before), cx.b.cast(Word::TYPE, behind));
    let ones = Word::constant(&mut cx.b, u64::MAX);
    let from = cx.b.binary(BinaryOp::Shl, ones, before);
    let to = cx.b.binary(BinaryOp::Shr, ones, behind);
    let here = cx.b.binary(BinaryOp::And, here, from);
    cx.b.binary(BinaryOp::And, here, to)
}
