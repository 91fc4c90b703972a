//! Lists of stored coordinates: if fewer than half of the places of a level that is tested are stored, lanes run over those,
//! and not over all places with most lanes idle. The number of stored coordinates is known when the loop is reached.
//!
//! ```text
//! y(i) = A(i,j) * x(j)            A: dense, bitmap
//!   if 2 * (end - begin) < size {                                    positions begin .. end of row i
//!     for each 31 words {
//!       n = 0;  for each w of them { n += unpack(list, n, w, 64 * its number) }
//!       for q in 0 .. n vector { t += A_vals[position + q] * x[base + list[q]] }
//!       position += n
//!     }
//!   } else {
//!     for j in 0 .. size vector { if bit j .. }                      lanes.rs
//!   }
//! ```
//!
//! The list is one of the thread's, made where its loops begin ([`room`]).

use lacunar_base::Diagnostic;
use lacunar_formats::DType;
use lacunar_imp::{BinaryOp, CompareOp, ExprId, LoopKind};

use super::cases::at_coordinate;
use super::here::Loop;
use super::{dense, lanes};
use crate::iterate::lattice::Point;
use crate::levels::{Position, Word};
use crate::lower::iter::{bounds, word};
use crate::lower::scope::Fact;
use crate::lower::sizes::ceil_div;
use crate::lower::storage::count_positions;
use crate::lower::{Lowerer, room};

/// Words that are unpacked before a list is gone through: a list of 4096 bytes, which lives on the stack.
const WORDS: i64 = 31;
/// The places of a list: those of the words, and room to store whole vectors.
const PLACES: i64 = (WORDS + 1) * Word::BITS;
/// The part of the places that has to be stored for lanes over all of them: measured at densities from 20 to 60%, they are as fast
/// from 45% on for matrices of a level-3 cache, from 65% for smaller ones, and from 25% for those that come from memory, where it
/// costs more to make lists in between.
const PART: i64 = 2;
const PART_OF_MANY: i64 = 4;
/// From this many values on, they come from memory.
const MANY: i64 = 4 << 20;

/// A loop in lanes over all coordinates, of which a single operand says where something is done.
pub(super) fn emit(cx: &mut Lowerer<'_>, l: &Loop<'_>) -> Result<(), Diagnostic> {
    let ((first, size), scope) = dense::enter(cx, l)?;
    let l = &l.within(&scope);
    let iterator = &l.lattice.iterators[0];
    let (begin, end) = bounds(cx, iterator, l.scope)?;
    let stored = cx.b.sub(end, begin);
    let mut part = cx.b.int(PART);
    if let Some(all) = count_positions(cx, &iterator.access, iterator.level, l.scope) {
        let (many, large) = (cx.b.int(MANY), cx.b.int(PART_OF_MANY));
        let is_large = cx.b.compare(CompareOp::Gt, all, many);
        part = cx.b.select(is_large, large, part);
    }
    let scaled = cx.b.mul(stored, part);
    let is_few = cx.b.compare(CompareOp::Lt, scaled, size);
    let (then, listed) = cx.block(|cx| over_list(cx, l, begin, size));
    listed?;
    let (otherwise, all) = cx.block(|cx| lanes::over(cx, l, (first, size)));
    cx.branch(is_few, then, otherwise);
    all
}

/// The loop over the coordinates that are stored at positions from `position` on, by way of a list.
fn over_list(cx: &mut Lowerer<'_>, l: &Loop<'_>, position: ExprId, size: ExprId) -> Result<(), Diagnostic> {
    let list = room::list(cx, PLACES, l.scope)?;
    let (zero, bits, words_at_once) = (cx.b.int(0), cx.b.int(Word::BITS), cx.b.int(WORDS));
    let words = ceil_div(&mut cx.b, size, bits);
    let segments = ceil_div(&mut cx.b, words, words_at_once);
    let next = cx.b.declare("next", position);
    cx.each(LoopKind::Serial, "segment", (zero, segments), |cx, segment| {
        let first = cx.b.mul(segment, words_at_once);
        let last = cx.b.add(first, words_at_once);
        let last = cx.b.binary(BinaryOp::Min, last, words);
        let count = cx.b.declare("count", zero);
        cx.each(LoopKind::Serial, "number", (first, last), |cx, number| {
            let word = word(cx, &l.lattice.iterators[0], number, l.scope)?;
            let offset = cx.b.sub(number, first);
            let offset = cx.b.mul(offset, bits);
            let so_far = cx.b.var(count);
            let ones = cx.b.unpack(list, so_far, word.bits, offset);
            let so_far = cx.b.add(so_far, ones);
            cx.b.assign(count, so_far);
            Ok::<(), Diagnostic>(())
        })?;
        let (position, listed) = (cx.b.var(next), cx.b.var(count));
        let (position, listed) = (cx.b.define("position", position), cx.b.define("listed", listed));
        let base = cx.b.mul(first, bits);
        let kind = l.kind(cx);
        cx.each(kind, "q", (zero, listed), |cx, q| {
            let place = cx.b.load("place", list, q);
            let place = cx.b.cast(DType::I64, place);
            let coordinate = cx.b.add(base, place);
            let coordinate = cx.b.define(&cx.kernel.vars[l.var].name, coordinate);
            at_listed(cx, l, coordinate, (position, q))
        })?;
        let after = cx.b.add(position, listed);
        cx.b.assign(next, after);
        Ok(())
    })
}

/// The body at a coordinate of the list, the `q`-th behind a position.
fn at_listed(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    coordinate: ExprId,
    (position, q): (ExprId, ExprId),
) -> Result<(), Diagnostic> {
    let position = cx.b.add(position, q);
    let iterator = &l.lattice.iterators[0];
    let mut inner = l.scope.deeper();
    inner.know(Fact::Value(l.var, coordinate));
    inner.bind(&iterator.access, iterator.level, Position::One(position));
    match l.lattice.residual(cx.kernel, l.body, Point::of([0])) {
        Some(residual) => at_coordinate(cx, l.var, &residual, &inner),
        None => Ok(()),
    }
}
