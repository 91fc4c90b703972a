//! Words: 64 neighboring coordinates under one parent position, a bit for each, and the positions that go with them.
//!
//! ```text
//! bits  ..0110      coordinate 64 number + 2 is there: bit 2
//! first 7           its position is 7 + the ones below: 8
//! ```
//!
//! What is written here for a coordinate, the LLVM back end reads again where lanes run over coordinates
//! (`emit/vector/words.rs`): a mask instead of a branch, and neighboring positions instead of a gather.

use lacunar_formats::DType;
use lacunar_imp::{BinaryOp, Builder, CompareOp, Const, ExprId, UnaryOp};

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
    /// How many there are.
    pub const BITS: i64 = 64;
    /// Which power of two that is.
    const LOG_BITS: u64 = 6;

    /// A constant of the type of words.
    pub fn constant(b: &mut Builder, bits: u64) -> ExprId {
        b.constant(Const { ty: Word::TYPE, bits, imag: 0 })
    }

    /// The number of the word of a coordinate, which is of the type of words.
    pub fn number(b: &mut Builder, coordinate: ExprId) -> ExprId {
        let shift = Word::constant(b, Word::LOG_BITS);
        let number = b.binary(BinaryOp::Shr, coordinate, shift);
        b.cast(DType::I64, number)
    }

    /// Whether a coordinate of the word, of the type of words, is there.
    pub fn has(self, b: &mut Builder, coordinate: ExprId) -> ExprId {
        Word::bit(b, self.bits, coordinate)
    }

    /// Whether the bit of a coordinate is set.
    pub fn bit(b: &mut Builder, bits: ExprId, coordinate: ExprId) -> ExprId {
        let (zero, one) = (Word::constant(b, 0), Word::constant(b, 1));
        // Shifts are modulo the bits of a word.
        let moved = b.binary(BinaryOp::Shr, bits, coordinate);
        let lowest = b.binary(BinaryOp::And, moved, one);
        b.compare(CompareOp::Ne, lowest, zero)
    }

    /// The position of a coordinate of the word, of the type of words, if it is there.
    pub fn position(self, b: &mut Builder, coordinate: ExprId) -> ExprId {
        let one = Word::constant(b, 1);
        let bit = b.binary(BinaryOp::Shl, one, coordinate);
        let below = b.sub(bit, one);
        let before = b.binary(BinaryOp::And, self.bits, below);
        let before = b.unary(UnaryOp::CountOnes, before);
        let before = b.cast(DType::I64, before);
        b.add(self.first, before)
    }

    /// How many are there.
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
