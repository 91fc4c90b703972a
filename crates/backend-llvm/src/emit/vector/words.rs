//! Lanes that test neighboring bits of a word: they take a mask instead of a shift in each lane, and, for elements that
//! these bits count, neighbors instead of a gather or scatter.
//!
//! ```text
//! if bit(word, k) { .. }             the mask: bits k .. k + width of word
//!   v = a[first + rank(word, k)]     under this mask: an expanding load from the first lane's element on
//!   a[first + rank(word, k)] = v     under this mask: a compressing store
//! ```
//!
//! On entry: `k` is the counter of the loop, whose vectors begin at multiples of their width, so that the bits of one lie in one
//! word; the word is the same in all lanes. Under the mask, each lane's element is behind that of the lane with a bit before.

use inkwell::IntPredicate;
use inkwell::types::{BasicType, VectorType};
use inkwell::values::{IntValue, VectorValue};
use lacunar_formats::DType;
use lacunar_imp::{ArrayId, BinaryOp, Expr, ExprId, Function, UnaryOp, WordOp};

use super::super::Emitter;
use super::super::value::Value;
use super::VectorLoop;
use super::known::Known;
use super::lanes::{Lanes, vector_of};
use crate::LlvmError;

/// The bits of a word.
pub(super) const BITS: u64 = 64;

/// An index of elements that the bits of a word count.
#[derive(Clone, Copy)]
struct Counted {
    /// The index of the word's first.
    first: ExprId,
    word: ExprId,
}

/// The word whose bit for the counter an expression tests.
pub(super) fn tested_word(function: &Function, known: &Known, expr: ExprId) -> Option<ExprId> {
    match function.exprs[expr] {
        Expr::Word(WordOp::Bit, word, place) => is_in_lanes(function, known, word, place).then_some(word),
        _ => None,
    }
}

/// Reads an index that counts the ones below the counter's bit.
fn counted(function: &Function, known: &Known, index: ExprId) -> Option<Counted> {
    let Expr::Binary(BinaryOp::Add, first, before) = function.exprs[index] else { return None };
    match function.exprs[before] {
        Expr::Word(WordOp::Rank, word, place) => {
            is_in_lanes(function, known, word, place).then_some(Counted { first, word })
        }
        _ => None,
    }
}

/// True if neighboring lanes ask a word of [`BITS`] about neighboring places.
fn is_in_lanes(function: &Function, known: &Known, word: ExprId, place: ExprId) -> bool {
    function.type_of(word) == DType::U64 && matches!(function.exprs[place], Expr::Var(var) if var == known.counter)
}

impl<'ctx> Emitter<'ctx, '_> {
    /// The mask of an expression that tests the bits of a word, which is the same in all lanes.
    pub(super) fn bits_of_word(
        &mut self,
        state: &VectorLoop<'ctx, '_>,
        expr: ExprId,
    ) -> Result<Option<VectorValue<'ctx>>, LlvmError> {
        let Some(word) = self.word_of_lanes(state, expr) else { return Ok(None) };
        let Lanes::Uniform(Value::Int(word)) = self.lanes(state, word)? else { return Ok(None) };
        let long = self.context.i64_type();
        let place = self.builder.build_and(state.counter, long.const_int(BITS - 1, false), "")?;
        let moved = self.builder.build_right_shift(word, place, false, "")?;
        // This is not done by a conversion of the bits to lanes, on which LLVM 19 loops forever where two such masks are combined.
        let part = if state.width > 8 && state.width <= 32 { self.context.i32_type() } else { long };
        let moved = self.builder.build_int_truncate_or_bit_cast(moved, part, "")?;
        let moved = self.splat(moved.into(), state.width)?;
        let bits: Vec<IntValue> = (0..state.width).map(|lane| part.const_int(1 << lane, false)).collect();
        let own = self.builder.build_and(moved, VectorType::const_vector(&bits), "")?;
        Ok(Some(self.builder.build_int_compare(IntPredicate::NE, own, own.get_type().const_zero(), "bits")?))
    }

    /// The word whose bits an expression tests, where those of a vector lie in one.
    pub(super) fn word_of_lanes(&self, state: &VectorLoop<'ctx, '_>, expr: ExprId) -> Option<ExprId> {
        let word = tested_word(self.source, state.known, expr)?;
        let one = state.known.is_aligned() && u64::from(state.width) <= BITS;
        (one && self.is_uniform(state, word)).then_some(word)
    }

    /// True if a variable or constant is the same in all lanes.
    fn is_uniform(&self, state: &VectorLoop<'ctx, '_>, expr: ExprId) -> bool {
        match self.source.exprs[expr] {
            Expr::Var(var) if state.known.inner[var.index()] => {
                matches!(state.get(var), Ok(Lanes::Uniform(_)))
            }
            _ => !state.known.varies(self.source, expr),
        }
    }

    /// The index of the first lane's element, where the lanes' elements are neighbors under the mask.
    fn first_counted(
        &mut self,
        state: &VectorLoop<'ctx, '_>,
        array: ArrayId,
        index: ExprId,
    ) -> Result<Option<IntValue<'ctx>>, LlvmError> {
        // Narrower elements are moved one by one.
        if self.source.arrays[array].elem.size() < 4 {
            return Ok(None);
        }
        let Some(Counted { first, word }) = counted(self.source, state.known, index) else { return Ok(None) };
        if state.bits != Some(word) {
            return Ok(None);
        }
        let (Lanes::Uniform(Value::Int(first)), Lanes::Uniform(Value::Int(word))) =
            (self.lanes(state, first)?, self.lanes(state, word)?)
        else {
            return Ok(None);
        };
        let place = Value::Int(state.counter);
        let before = self.word(WordOp::Rank, DType::U64, Value::Int(word), place)?.int()?;
        Ok(Some(self.builder.build_int_add(first, before, "")?))
    }

    /// The answers of words of type `ty` about the bit at a place for each lane.
    pub(super) fn word_lanes(
        &mut self,
        state: &VectorLoop<'ctx, '_>,
        op: WordOp,
        ty: DType,
        [word, place]: [Lanes<'ctx>; 2],
    ) -> Result<Lanes<'ctx>, LlvmError> {
        let place = self.cast_lanes(state, DType::I64, ty, place)?;
        let (word, place) = (self.spread(word, ty, state.width)?, self.spread(place, ty, state.width)?);
        let one = word.get_type().get_element_type().into_int_type();
        let last = self.splat(one.const_int(8 * ty.size() as u64 - 1, false).into(), state.width)?;
        let one = self.splat(one.const_int(1, false).into(), state.width)?;
        let place = self.builder.build_and(place, last, "")?;
        let asked = Lanes::Varying(self.asked_bits(op, word, place, one)?);
        match op {
            WordOp::Bit => self.cast_lanes(state, ty, DType::Bool, asked),
            WordOp::Rank => {
                let ones = self.unary_lanes(state, UnaryOp::CountOnes, ty, asked)?;
                self.cast_lanes(state, ty, DType::I64, ones)
            }
        }
    }

    /// Loads elements that are neighbors under the mask; `None` if they are not.
    pub(super) fn expand(
        &mut self,
        state: &VectorLoop<'ctx, '_>,
        array: ArrayId,
        index: ExprId,
    ) -> Result<Option<VectorValue<'ctx>>, LlvmError> {
        let Some(mask) = state.mask else { return Ok(None) };
        let Some(index) = self.first_counted(state, array, index)? else { return Ok(None) };
        let part = super::super::value::memory_type(self.context, self.source.arrays[array].elem);
        let vector = vector_of(part, state.width)?;
        let (first, _) = self.element(array, index)?;
        let args = [first.into(), mask.into(), vector.const_zero().into()];
        let loaded = self.intrinsic("llvm.masked.expandload", &[vector.as_basic_type_enum()], &args)?;
        Ok(Some(loaded.into_vector_value()))
    }

    /// Stores elements that are neighbors under the mask; `false` if they are not.
    pub(super) fn compress(
        &mut self,
        state: &VectorLoop<'ctx, '_>,
        array: ArrayId,
        index: ExprId,
        value: VectorValue<'ctx>,
    ) -> Result<bool, LlvmError> {
        let Some(mask) = state.mask else { return Ok(false) };
        let Some(index) = self.first_counted(state, array, index)? else { return Ok(false) };
        let (first, _) = self.element(array, index)?;
        let types = [value.get_type().as_basic_type_enum()];
        let args = [value.into(), first.into(), mask.into()];
        self.store_intrinsic("llvm.masked.compressstore", array, &types, &args)?;
        Ok(true)
    }
}
