//! Words: 64 neighboring coordinates under one parent position, a bit for each, and the positions that go with them.
//!
//! ```text
//! bits  ..0110      coordinate 64 number + 2 is there: bit 2
//! first 7           its position is 7 + the ones below: 8
//! ```
//!
//! Both are operations of the IR, `bit(bits, k)` and `first + rank(bits, k)`. If lanes run over coordinates, the LLVM back end
//! makes a mask of the one, instead of a branch, and of the other neighboring positions, instead of a gather
//! (`emit/vector/words.rs`).

use lacunar_formats::DType;
use lacunar_imp::{BinaryOp, Builder, Const, ExprId, UnaryOp, WordOp};

/// The coordinates that a level has among 64 neighbors.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// A bit for each, lowest first.
    pub bits: ExprId,
    /// The position of the first that is there.
    pub first: ExprId,
}

impl Word {
    /// The type of the bits.
    pub const TYPE: DType = DType::U64;
    /// The number of bits.
    pub const BITS: i64 = 64;
    /// The binary logarithm of the number of bits.
    const LOG_BITS: u64 = 6;

    /// A constant of the type of words.
    pub fn constant(b: &mut Builder, bits: u64) -> ExprId {
        b.constant(Const { ty: Word::TYPE, bits, imag: 0 })
    }

    /// The number of the word of a coordinate.
    pub fn number(b: &mut Builder, coordinate: ExprId) -> ExprId {
        let (place, shift) = (b.cast(Word::TYPE, coordinate), Word::constant(b, Word::LOG_BITS));
        let number = b.binary(BinaryOp::Shr, place, shift);
        b.cast(DType::I64, number)
    }

    /// The condition that a coordinate of the word is there. Places in a word are coordinates modulo its bits.
    pub fn has(self, b: &mut Builder, coordinate: ExprId) -> ExprId {
        b.word(WordOp::Bit, self.bits, coordinate)
    }

    /// The position of a coordinate of the word, if it is there.
    pub fn position(self, b: &mut Builder, coordinate: ExprId) -> ExprId {
        let before = b.word(WordOp::Rank, self.bits, coordinate);
        b.add(self.first, before)
    }

    /// The number of coordinates that are there.
    pub fn count(b: &mut Builder, bits: ExprId) -> ExprId {
        let ones = b.unary(UnaryOp::CountOnes, bits);
        b.cast(DType::I64, ones)
    }

    /// The bits but for the lowest.
    pub fn without_lowest(b: &mut Builder, bits: ExprId) -> ExprId {
        let one = Word::constant(b, 1);
        let below = b.sub(bits, one);
        b.binary(BinaryOp::And, bits, below)
    }
}
