//! Merges by words: 64 neighboring coordinates of each operand become the bits of a number, and the lattice becomes
//! operations on these numbers. Nothing is stored: the words are made on the way, by cursors like those of other merges.
//!
//! ```text
//! a(i) = b(i) * c(i), all compressed
//!   hb = first of b, or the largest number if there is none; hc likewise
//!   while (h = max(hb, hc)) is a coordinate {                 a union: min
//!     w = h / 64;  whoever is behind word w jumps there
//!     start = pb; bits = 0
//!     while hb / 64 == w { bits |= 1 << hb % 64; pb += 1; hb = next of b }      and c likewise
//!     left = bits of b & bits of c                            a union: |
//!     while left != 0 {
//!       t = zeros below the lowest 1 of left;  i = 64 w + t
//!       the positions: start + ones of bits below bit t
//!       case both ..                                          a union: / only b / only c
//!       left &= left - 1
//!     }
//!   }
//! ```
//!
//! For other lattices, `left` is the or of the points' ands, and `h` the least of the points' greatest. If every coordinate of the
//! dimension is visited, a loop over all words and all bits takes the place of `h` and `left`. An operand that repeats coordinates
//! has one bit for all positions of a coordinate, so that counting ones does not find them: a second cursor follows within the
//! word.
//!
//! If all operands store words, there is a simpler loop (`words.rs`).
//!
//! Its gain: an intersection has no branch for coordinates that only one operand has. Its cost: a pass of its own over the
//! coordinates. It pays if words have several coordinates.
//!
//! Paper: Henry et al. 2021, §6 names the strategy; the words are those of bitmap formats (Chou et al. 2018, §3).

use lacunar_base::Diagnostic;
use lacunar_formats::DType;
use lacunar_imp::{BinaryOp, CompareOp, ExprId, LoopKind, UnaryOp};

use super::cases::{cases, guarded};
use super::here::Loop;
use super::together::enter;
use super::union::heads;
use crate::iterate::lattice::Point;
use crate::levels::{Cursor, Position, Word};
use crate::lower::scope::Fact;
use crate::lower::strategy::is_large;
use crate::lower::{INDEX, Lowerer, MutableVar, iter, region};

/// The type of a word.
const WORD: DType = Word::TYPE;
/// The number of bits of a word.
const BITS: i64 = Word::BITS;

/// An operand of a merge: its cursor and the coordinate it stands on, as a [`WORD`].
struct Operand {
    k: usize,
    cursor: Cursor,
    head: MutableVar,
}

/// The coordinates that an operand has in the window of one word.
pub(super) struct OperandWord {
    pub k: usize,
    pub word: Word,
    /// The positions that are left, if coordinates repeat.
    pub rest: Option<Cursor>,
}

/// The combination of the words of operands.
pub(super) struct Combined {
    /// The smallest sets of operands at which there is something to do; none where there is at every coordinate.
    pub points: Vec<Point>,
    /// Every operand.
    pub here: Point,
}

/// The loop over words that are made of iterators.
pub(super) fn emit(cx: &mut Lowerer<'_>, l: &Loop<'_>, loops: &[Point]) -> Result<(), Diagnostic> {
    let (cursors, scope) = enter(cx, l, loops)?;
    let l = &l.within(&scope);
    let none = Word::constant(&mut cx.b, u64::MAX);
    let heads = heads(cx, l, &cursors, none);
    let operands = cursors.0.into_iter().zip(heads);
    let operands: Vec<Operand> = operands.map(|((k, cursor), (_, head))| Operand { k, cursor, head }).collect();
    let here = Point::union(loops);
    if l.lattice.visits_all() {
        return all_words(cx, l, &Combined { points: Vec::new(), here }, &operands);
    }
    next_words(cx, l, &Combined { points: Point::smallest(loops), here }, &operands)
}

/// Every word of the dimension, and every coordinate of it.
fn all_words(cx: &mut Lowerer<'_>, l: &Loop<'_>, combined: &Combined, operands: &[Operand]) -> Result<(), Diagnostic> {
    let (begin, end) = region::coordinates(cx, l.var, l.scope)?;
    let bits = cx.b.int(BITS);
    let (shift, round) = (log_bits(cx), Word::constant(&mut cx.b, BITS as u64 - 1));
    let first = cx.b.cast(WORD, begin);
    let first = cx.b.binary(BinaryOp::Shr, first, shift);
    // Nothing is visited if the end is before the beginning, which is not negative.
    let last = cx.b.binary(BinaryOp::Max, begin, end);
    let last = cx.b.cast(WORD, last);
    let last = cx.b.add(last, round);
    let last = cx.b.binary(BinaryOp::Shr, last, shift);
    let words = (cx.b.cast(INDEX, first), cx.b.cast(INDEX, last));
    cx.each(LoopKind::Serial, "word", words, |cx, number| {
        let word = cx.b.cast(WORD, number);
        let windows: Vec<OperandWord> = operands.iter().map(|operand| window(cx, l, operand, word)).collect();
        let base = cx.b.mul(number, bits);
        let low = cx.b.binary(BinaryOp::Max, begin, base);
        let left = cx.b.sub(end, base);
        let left = cx.b.binary(BinaryOp::Min, left, bits);
        let high = cx.b.add(base, left);
        cx.each(LoopKind::Serial, cx.var_name(l.var), (low, high), |cx, coordinate| {
            at_bit(cx, l, combined, &windows, coordinate)
        })
    })
}

/// The words in which some point of the lattice can have a coordinate.
fn next_words(cx: &mut Lowerer<'_>, l: &Loop<'_>, combined: &Combined, operands: &[Operand]) -> Result<(), Diagnostic> {
    let none = Word::constant(&mut cx.b, u64::MAX);
    let heads: Vec<(usize, ExprId)> = operands.iter().map(|op| (op.k, cx.b.var(op.head))).collect();
    let next = over_points(cx, &combined.points, &heads, BinaryOp::Max, BinaryOp::Min);
    let left = cx.b.compare(CompareOp::Ne, next, none);
    cx.repeat(left, |cx| {
        let shift = log_bits(cx);
        let word = cx.b.binary(BinaryOp::Shr, next, shift);
        let word = cx.b.define("word", word);
        let base = cx.b.binary(BinaryOp::Shl, word, shift);
        for operand in operands.iter().filter(|operand| !combined.points.contains(&Point::of([operand.k]))) {
            let head = cx.b.var(operand.head);
            let lags = cx.b.compare(CompareOp::Lt, head, base);
            cx.when(lags, |cx| {
                let coordinate = cx.b.cast(INDEX, base);
                operand.cursor.jump(&mut cx.b, coordinate);
                operand.cursor.look(&mut cx.b, operand.head, none);
            });
        }
        let windows: Vec<OperandWord> = operands.iter().map(|operand| window(cx, l, operand, word)).collect();
        let bits: Vec<(usize, ExprId)> = windows.iter().map(|window| (window.k, window.word.bits)).collect();
        let all = over_points(cx, &combined.points, &bits, BinaryOp::And, BinaryOp::Or);
        bit_by_bit(cx, l, combined, &windows, base, all)
    })
}

/// The coordinates of a word whose bits are set, lowest first. The word's first is `base`.
pub(super) fn bit_by_bit(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    combined: &Combined,
    windows: &[OperandWord],
    base: ExprId,
    bits: ExprId,
) -> Result<(), Diagnostic> {
    let rest = cx.b.declare("left", bits);
    let (here, zero) = (cx.b.var(rest), Word::constant(&mut cx.b, 0));
    let some = cx.b.compare(CompareOp::Ne, here, zero);
    cx.repeat(some, |cx| {
        let bit = cx.b.unary(UnaryOp::TrailingZeros, here);
        let coordinate = cx.b.binary(BinaryOp::Or, base, bit);
        let coordinate = cx.b.cast(INDEX, coordinate);
        let coordinate = cx.b.define(&cx.kernel.vars[l.var].name, coordinate);
        at_bit(cx, l, combined, windows, coordinate)?;
        let fewer = Word::without_lowest(&mut cx.b, here);
        cx.b.assign(rest, fewer);
        Ok(())
    })
}

/// The values of operands combined as the lattice says: `both` within each point, `either` over all points.
pub(super) fn over_points(
    cx: &mut Lowerer<'_>,
    points: &[Point],
    values: &[(usize, ExprId)],
    both: BinaryOp,
    either: BinaryOp,
) -> ExprId {
    let mut all = None;
    for point in points {
        let members = values.iter().filter(|(k, _)| point.has(*k)).map(|(_, value)| *value);
        let together = members.reduce(|a, b| cx.b.binary(both, a, b));
        all = match (all, together) {
            (Some(a), Some(b)) => Some(cx.b.binary(either, a, b)),
            (a, b) => a.or(b),
        };
    }
    all.unwrap_or_else(|| Word::constant(&mut cx.b, 0))
}

/// Moves a cursor over its coordinates in a word, which become bits.
fn window(cx: &mut Lowerer<'_>, l: &Loop<'_>, operand: &Operand, word: ExprId) -> OperandWord {
    let (k, cursor) = (operand.k, &operand.cursor);
    let (one, none) = (Word::constant(&mut cx.b, 1), Word::constant(&mut cx.b, u64::MAX));
    let zero = Word::constant(&mut cx.b, 0);
    let at = cursor.position(&mut cx.b);
    let start = cx.b.define(&format!("{}_first", cursor.name()), at);
    let bits = cx.b.declare(&format!("{}_bits", cursor.name()), zero);
    let (head, so_far) = (cx.b.var(operand.head), cx.b.var(bits));
    let shift = log_bits(cx);
    let number = cx.b.binary(BinaryOp::Shr, head, shift);
    let is_inside = cx.b.compare(CompareOp::Eq, number, word);
    cx.repeat(is_inside, |cx| {
        let bit = cx.b.binary(BinaryOp::Shl, one, head);
        let more = cx.b.binary(BinaryOp::Or, so_far, bit);
        cx.b.assign(bits, more);
        let step = cx.b.int(1);
        let next = cx.b.add(at, step);
        cursor.set(&mut cx.b, next);
        cursor.look(&mut cx.b, operand.head, none);
    });
    let rest = l.traits[k].repeats.then(|| cursor.follower(&mut cx.b, start));
    OperandWord { k, word: Word { bits: so_far, first: start }, rest }
}

/// One coordinate of a word: the body for those operands that have its bit.
fn at_bit(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    combined: &Combined,
    windows: &[OperandWord],
    coordinate: ExprId,
) -> Result<(), Diagnostic> {
    let mut inner = l.scope.with(Fact::Value(l.var, coordinate));
    let mut present = Vec::new();
    let mut steps = Vec::new();
    for window in windows {
        let iterator = &l.lattice.iterators[window.k];
        let name = iter::name(cx, iterator);
        let is_certain = !combined.points.is_empty() && combined.points.iter().all(|point| point.has(window.k));
        if !is_certain {
            let has = window.word.has(&mut cx.b, coordinate);
            present.push((window.k, cx.b.define(&format!("at_{name}"), has)));
        }
        let position = match &window.rest {
            None => {
                let position = window.word.position(&mut cx.b, coordinate);
                Position::One(cx.b.define(&name, position))
            }
            Some(rest) => {
                rest.skip(&mut cx.b, coordinate);
                let end = rest.segment_end(&mut cx.b, coordinate);
                steps.push((rest, end));
                Position::Range(rest.position(&mut cx.b), end)
            }
        };
        inner.bind(&iterator.access, iterator.level, position);
    }
    if is_large(l.lattice, l.body) {
        guarded(cx, l, combined.here, &present, &inner)?;
    } else {
        cases(cx, l, combined.here, &present, &inner)?;
    }
    steps.into_iter().for_each(|(rest, end)| rest.set(&mut cx.b, end));
    Ok(())
}

/// The binary logarithm of the number of bits of a word.
fn log_bits(cx: &mut Lowerer<'_>) -> ExprId {
    Word::constant(&mut cx.b, BITS.trailing_zeros().into())
}
