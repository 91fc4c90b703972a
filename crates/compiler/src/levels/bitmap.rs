//! Bitmaps: a bit for each coordinate, and positions that are counted.
//!
//! ```text
//! size 70 under parents 0, 1:   bits: words 0 1 | 2 3     position = rank[word] + ones below the bit
//! ```
//!
//! A bit of one word tells if a coordinate is stored, so that loops test it in vector lanes or take 64 coordinates at once
//! (`lower/loops/words.rs`). Alone, an iterator goes from one 1 to the next:
//!
//! ```text
//! rest &= rest - 1
//! while rest == 0 { base += 64; rest = bits[words * parent + base / 64] }
//! coordinate = base + zeros below the lowest 1 of rest;  position += 1
//! ```
//!
//! A result sets a coordinate's bit, or those of a whole word at once; its positions are counted at the end.

use lacunar_formats::{DType, Holds};
use lacunar_imp::{ArrayId, BinaryOp, Builder, CompareOp, ExprId, UnaryOp, VarId};

use super::{Arrays, At, Demand, Length, LevelCode, Part, Position, Slot, State, Word, segment_of};

/// The code of a level.
pub(super) fn make(Arrays { arrays, size, whole }: Arrays<'_>) -> Box<dyn LevelCode> {
    Box::new(Bitmap { bits: arrays[0], rank: arrays[1], size, whole })
}

/// A bitmap level of a tensor.
#[derive(Debug)]
struct Bitmap {
    /// A bit for each coordinate, beginning a word for each parent position.
    bits: ArrayId,
    /// The position of the first coordinate of each word, and behind the last the number of positions.
    rank: ArrayId,
    /// The size of the dimension.
    size: ExprId,
    /// True if it is a level of a whole tensor: a part of a result counts no positions.
    whole: bool,
}

impl Bitmap {
    /// The number of words of a parent position.
    fn words(&self, b: &mut Builder) -> ExprId {
        let (bits, round) = (b.int(Word::BITS), b.int(Word::BITS - 1));
        let words = b.add(self.size, round);
        b.binary(BinaryOp::Div, words, bits)
    }

    /// The place of a word of a parent position.
    fn place(&self, b: &mut Builder, parent: ExprId, number: ExprId) -> ExprId {
        let words = self.words(b);
        let first = b.mul(parent, words);
        b.add(first, number)
    }

    /// The first position under a parent position; for the number of parents, the number of positions.
    fn edge(&self, b: &mut Builder, name: &str, parent: ExprId) -> ExprId {
        let words = self.words(b);
        let at = b.mul(parent, words);
        b.load_index(name, self.rank, at)
    }

    /// Moves `at`, in or before whose word are the bits `rest`, to the lowest 1 of these, or to the next 1. There is one.
    fn settle(&self, b: &mut Builder, parent: ExprId, State { at, rest }: State) {
        let Some(rest) = rest else { return };
        let (bits, one) = (b.int(Word::BITS), b.int(1));
        let coordinate = b.var(at);
        let number = b.binary(BinaryOp::Div, coordinate, bits);
        let number = b.declare("number", number);
        let (here, left) = (b.var(number), b.var(rest));
        let zero = Word::constant(b, 0);
        let none = b.compare(CompareOp::Eq, left, zero);
        b.while_loop(none, |b| {
            let next = b.add(here, one);
            b.assign(number, next);
            let place = self.place(b, parent, here);
            let word = b.load("word", self.bits, place);
            b.assign(rest, word);
        });
        let bit = b.unary(UnaryOp::TrailingZeros, left);
        let bit = b.cast(DType::I64, bit);
        let base = b.mul(here, bits);
        let coordinate = b.add(base, bit);
        b.assign(at, coordinate);
    }

    /// The state of an iterator at a position before `end`.
    fn state(&self, b: &mut Builder, parent: ExprId, position: ExprId, end: ExprId) -> State {
        let (none, zero) = (Word::constant(b, 0), b.int(0));
        let (at, rest) = (b.declare("at", zero), b.declare("rest", none));
        let state = State { at, rest: Some(rest) };
        let some = b.compare(CompareOp::Lt, position, end);
        b.if_then(some, |b| {
            // The word of the position is the last that begins at it or before.
            let (one, words) = (b.int(1), self.words(b));
            let first = b.mul(parent, words);
            let last = b.add(first, words);
            let behind = b.add(position, one);
            let next = b.lower_bound(self.rank, first, last, behind);
            let place = b.sub(next, one);
            let word = b.load("word", self.bits, place);
            b.assign(rest, word);
            let number = b.sub(place, first);
            let bits = b.int(Word::BITS);
            let base = b.mul(number, bits);
            b.assign(at, base);
            let begin = b.load_index("first", self.rank, place);
            b.for_loop("skipped", begin, position, |b, _| {
                let left = b.var(rest);
                let fewer = Word::without_lowest(b, left);
                b.assign(rest, fewer);
            });
            self.settle(b, parent, state);
        });
        state
    }
}

impl LevelCode for Bitmap {
    fn array(&self, part: Part) -> Option<ArrayId> {
        (part.holds == Holds::Words).then_some(self.bits)
    }

    fn bounds(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId) {
        let (first, end) = parent.range(b);
        self.span(b, first, end)
    }

    fn span(&self, b: &mut Builder, first: ExprId, end: ExprId) -> (ExprId, ExprId) {
        (self.edge(b, "begin", first), self.edge(b, "end", end))
    }

    fn parent(&self, b: &mut Builder, position: ExprId, parents: ExprId) -> ExprId {
        let words = self.words(b);
        let all = b.mul(parents, words);
        let word = segment_of(b, self.rank, position, all);
        b.binary(BinaryOp::Div, word, words)
    }

    fn seek(&self, b: &mut Builder, parent: ExprId, begin: ExprId, end: ExprId, coordinate: ExprId) -> ExprId {
        let found = b.declare("at", end);
        let inside = b.compare(CompareOp::Lt, coordinate, self.size);
        b.if_then(inside, |b| {
            let zero = b.int(0);
            let coordinate = b.binary(BinaryOp::Max, coordinate, zero);
            let number = Word::number(b, coordinate);
            let at = self.word(b, parent, number).map_or(end, |word| word.position(b, coordinate));
            let at = b.binary(BinaryOp::Max, at, begin);
            let at = b.binary(BinaryOp::Min, at, end);
            b.assign(found, at);
        });
        b.var(found)
    }

    fn coordinate(&self, b: &mut Builder, name: &str, at: At) -> ExprId {
        let state = at.state.unwrap_or_else(|| {
            let one = b.int(1);
            let end = b.add(at.position, one);
            self.state(b, at.parent, at.position, end)
        });
        let own = b.var(state.at);
        b.define(name, own)
    }

    fn is_contiguous(&self) -> bool {
        false
    }

    fn start(&self, b: &mut Builder, parent: ExprId, position: VarId, end: ExprId) -> Option<State> {
        let at = b.var(position);
        Some(self.state(b, parent, at, end))
    }

    fn advance(&self, b: &mut Builder, parent: ExprId, position: VarId, end: ExprId, state: Option<State>) {
        let (at, one) = (b.var(position), b.int(1));
        let next = b.add(at, one);
        b.assign(position, next);
        let Some(state @ State { rest: Some(rest), .. }) = state else { return };
        let some = b.compare(CompareOp::Lt, at, end);
        b.if_then(some, |b| {
            let left = b.var(rest);
            let fewer = Word::without_lowest(b, left);
            b.assign(rest, fewer);
            self.settle(b, parent, state);
        });
    }

    fn find(&self, b: &mut Builder, parent: ExprId, _bounds: (ExprId, ExprId), coordinate: ExprId) -> (ExprId, ExprId) {
        let number = Word::number(b, coordinate);
        let Some(word) = self.word(b, parent, number) else { return (coordinate, coordinate) };
        let found = word.has(b, coordinate);
        let count = b.cast(DType::I64, found);
        let at = word.position(b, coordinate);
        (at, b.add(at, count))
    }

    fn word(&self, b: &mut Builder, parent: ExprId, number: ExprId) -> Option<Word> {
        let place = self.place(b, parent, number);
        let bits = b.load("word", self.bits, place);
        Some(Word { bits, first: b.load_index("first", self.rank, place) })
    }

    fn lengths(&self, b: &mut Builder, parents: ExprId, demand: &mut Demand<'_>) {
        let words = Some(self.words(b));
        demand(b, self.bits, Length { each: words, ..Length::of(parents) });
        demand(b, self.rank, Length { each: words, ..Length::edges(parents) });
    }

    fn count_positions(&self, b: &mut Builder, parents: ExprId, _size: ExprId) -> ExprId {
        self.edge(b, "stored", parents)
    }

    fn append_init(&self, b: &mut Builder, parents: Option<ExprId>) {
        let words = self.words(b);
        if let Some(parents) = parents {
            b.grow(self.bits, parents, words, true);
        }
    }

    fn append_coordinate(&self, b: &mut Builder, slot: Slot, coordinate: ExprId) {
        let place = b.cast(Word::TYPE, coordinate);
        let number = Word::number(b, coordinate);
        let one = Word::constant(b, 1);
        let bit = b.binary(BinaryOp::Shl, one, place);
        self.append_word(b, slot, number, bit);
    }

    fn append_word(&self, b: &mut Builder, slot: Slot, number: ExprId, bits: ExprId) {
        let at = self.place(b, slot.parent, number);
        if !slot.fixed {
            let (words, one) = (self.words(b), b.int(1));
            let behind = b.add(slot.parent, one);
            b.grow(self.bits, behind, words, true);
        }
        let so_far = b.load("so_far", self.bits, at);
        let more = b.binary(BinaryOp::Or, so_far, bits);
        b.store(self.bits, at, more);
    }

    fn takes_words(&self) -> bool {
        true
    }

    fn append_finish(&self, b: &mut Builder, parents: ExprId, _start: ExprId, _complete: bool) {
        let (zero, one, words) = (b.int(0), b.int(1), self.words(b));
        b.grow(self.bits, parents, words, true);
        if !self.whole {
            return;
        }
        let all = b.mul(parents, words);
        let edges = b.add(all, one);
        b.grow(self.rank, edges, one, false);
        let count = b.declare("count", zero);
        b.store_index(self.rank, zero, zero);
        b.for_loop("number", zero, all, |b, number| {
            let word = b.load("word", self.bits, number);
            let ones = Word::count(b, word);
            let so_far = b.var(count);
            let so_far = b.add(so_far, ones);
            b.assign(count, so_far);
            let so_far = b.var(count);
            let next = b.add(number, one);
            b.store_index(self.rank, next, so_far);
        });
    }

    fn part_length(&self, b: &mut Builder, part: Part, parents: ExprId, _positions: ExprId) -> Option<ExprId> {
        let words = self.words(b);
        (part.holds == Holds::Words).then(|| b.mul(parents, words))
    }
}
