//! Bitmaps: a bit for each coordinate, and a position for each, which is computed.
//!
//! ```text
//! size 70 under parents 0, 1:   bits: words 0 1 | 2 3     position = parent * 70 + coordinate
//! ```
//!
//! Iteration goes from one 1 to the next, word by word: the variable beside the position holds the bits of its word that are
//! left, the position's own lowest.
//!
//! ```text
//! rest &= rest - 1
//! while rest == 0 { base += 64; if base >= size { break }; rest = bits[words * parent + base / 64] }
//! position = parent * size + base + zeros below the lowest 1 of rest
//! ```

use lacunar_formats::DType;
use lacunar_imp::{ArrayId, BinaryOp, Builder, CompareOp, Const, ExprId, Stmt, UnaryOp, VarId};
use linkme::distributed_slice;

use super::{Arrays, At, CODES, LevelCode, LevelCoder, Position};

#[distributed_slice(CODES)]
static CODER: LevelCoder = LevelCoder { kind: "bitmap", make };

fn make(Arrays { arrays, size, .. }: Arrays<'_>) -> Box<dyn LevelCode> {
    Box::new(Bitmap { bits: arrays[0], size })
}

/// The type of a word, and how many bits it has.
const WORD: DType = DType::U64;
const BITS: i64 = 64;

/// A bitmap level of a tensor.
#[derive(Debug)]
struct Bitmap {
    /// A bit for each coordinate, beginning a word for each parent position.
    bits: ArrayId,
    /// The size of the dimension.
    size: ExprId,
}

impl Bitmap {
    /// The word that holds the bit of a coordinate.
    fn word(&self, b: &mut Builder, parent: ExprId, coordinate: ExprId) -> ExprId {
        let (bits, round) = (b.int(BITS), b.int(BITS - 1));
        let words = b.add(self.size, round);
        let words = b.binary(BinaryOp::Div, words, bits);
        let first = b.mul(parent, words);
        let number = b.binary(BinaryOp::Div, coordinate, bits);
        let at = b.add(first, number);
        b.load("word", self.bits, at)
    }

    /// Moves `position`, in the word that begins at coordinate `base` and of which the bits `rest` are left, to the next 1.
    fn settle(&self, b: &mut Builder, parent: ExprId, position: VarId, end: ExprId, base: ExprId, rest: VarId) {
        let first = b.mul(parent, self.size);
        let limit = b.sub(end, first);
        let base = b.declare("base", base);
        let (here, left) = (b.var(base), b.var(rest));
        let zero = b.constant(Const::zero(WORD));
        let none = b.compare(CompareOp::Eq, left, zero);
        b.while_loop(none, |b| {
            let bits = b.int(BITS);
            let next = b.add(here, bits);
            b.assign(base, next);
            let behind = b.compare(CompareOp::Ge, here, limit);
            b.if_then(behind, |b| b.push(Stmt::Break));
            let word = self.word(b, parent, here);
            b.assign(rest, word);
        });
        let bit = b.unary(UnaryOp::TrailingZeros, left);
        let bit = b.cast(DType::I64, bit);
        let coordinate = b.add(here, bit);
        let at = b.add(first, coordinate);
        let at = b.binary(BinaryOp::Min, at, end);
        b.assign(position, at);
    }

    /// The coordinate at a position, and the first one of its word.
    fn place(&self, b: &mut Builder, parent: ExprId, position: ExprId) -> (ExprId, ExprId) {
        let first = b.mul(parent, self.size);
        let coordinate = b.sub(position, first);
        let bits = b.int(BITS);
        let number = b.binary(BinaryOp::Div, coordinate, bits);
        (coordinate, b.mul(number, bits))
    }
}

impl LevelCode for Bitmap {
    fn bounds(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId) {
        let (first, end) = parent.range(b);
        self.span(b, first, end)
    }

    fn span(&self, b: &mut Builder, first: ExprId, end: ExprId) -> (ExprId, ExprId) {
        (b.mul(first, self.size), b.mul(end, self.size))
    }

    fn parent(&self, b: &mut Builder, position: ExprId, _parents: ExprId) -> ExprId {
        b.binary(BinaryOp::Div, position, self.size)
    }

    fn seek(&self, b: &mut Builder, parent: ExprId, begin: ExprId, end: ExprId, coordinate: ExprId) -> ExprId {
        let first = b.mul(parent, self.size);
        let at = b.add(first, coordinate);
        let at = b.binary(BinaryOp::Max, at, begin);
        b.binary(BinaryOp::Min, at, end)
    }

    fn coordinate(&self, b: &mut Builder, name: &str, at: At) -> ExprId {
        let first = b.mul(at.parent, self.size);
        let coordinate = b.sub(at.position, first);
        b.define(name, coordinate)
    }

    fn is_contiguous(&self) -> bool {
        false
    }

    fn start(&self, b: &mut Builder, parent: ExprId, position: VarId, end: ExprId) -> Option<VarId> {
        let zero = b.constant(Const::zero(WORD));
        let rest = b.declare("rest", zero);
        let at = b.var(position);
        let some = b.compare(CompareOp::Lt, at, end);
        b.if_then(some, |b| {
            let (coordinate, base) = self.place(b, parent, at);
            let base = b.define("first", base);
            let word = self.word(b, parent, coordinate);
            let skipped = b.sub(coordinate, base);
            let skipped = b.cast(WORD, skipped);
            let ones = b.constant(Const { ty: WORD, bits: u64::MAX, imag: 0 });
            let mask = b.binary(BinaryOp::Shl, ones, skipped);
            let left = b.binary(BinaryOp::And, word, mask);
            b.assign(rest, left);
            self.settle(b, parent, position, end, base, rest);
        });
        Some(rest)
    }

    fn advance(&self, b: &mut Builder, parent: ExprId, position: VarId, end: ExprId, state: Option<VarId>) {
        let Some(rest) = state else { return };
        let at = b.var(position);
        let (_, base) = self.place(b, parent, at);
        let base = b.define("first", base);
        let (left, one) = (b.var(rest), b.constant(Const::one(WORD)));
        let below = b.sub(left, one);
        let fewer = b.binary(BinaryOp::And, left, below);
        b.assign(rest, fewer);
        self.settle(b, parent, position, end, base, rest);
    }

    fn find(&self, b: &mut Builder, parent: ExprId, _bounds: (ExprId, ExprId), coordinate: ExprId) -> (ExprId, ExprId) {
        let word = self.word(b, parent, coordinate);
        let place = b.cast(WORD, coordinate);
        let one = b.constant(Const::one(WORD));
        // Shifts are modulo the bits of a word.
        let moved = b.binary(BinaryOp::Shr, word, place);
        let bit = b.binary(BinaryOp::And, moved, one);
        let count = b.cast(DType::I64, bit);
        let first = b.mul(parent, self.size);
        let at = b.add(first, coordinate);
        (at, b.add(at, count))
    }

    fn count_positions(&self, b: &mut Builder, parents: ExprId, _size: ExprId) -> ExprId {
        b.mul(parents, self.size)
    }
}
