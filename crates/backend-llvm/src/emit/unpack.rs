//! `unpack`: the ones of a word, as a list of their places.
//!
//! If the processor compresses bytes (AVX-512 VBMI2), a vector of all places is compressed by the word, and stored
//! whole:
//!
//! ```text
//! packed = compress(0 1 .. 63, word)              places of the ones, then zeros
//! list[at .. at + 32] = base + packed[.. 32]      and the other half, if there are more ones
//! ```
//!
//! Elsewhere, a loop takes one after the other.
//!
//! `marks`: 64 marks as a word, a vector of bytes that is compared with 0 at once.

use inkwell::IntPredicate;
use inkwell::types::{BasicType, VectorType};
use inkwell::values::{IntValue, VectorValue};
use lacunar_imp::{ArrayId, ExprId};

use super::Emitter;
use super::alias::Scope;
use super::value::Value;
use crate::LlvmError;

/// The bits of a word.
const BITS: u32 = 64;
/// Places that are stored at once.
const HALF: u32 = BITS / 2;

impl<'ctx> Emitter<'ctx, '_> {
    /// Writes the places, behind `base`, of the ones of a word to a list from `at` on; how many these are.
    pub(super) fn unpack(
        &mut self,
        list: ArrayId,
        at: ExprId,
        word: ExprId,
        base: ExprId,
    ) -> Result<IntValue<'ctx>, LlvmError> {
        let (at, word, base) = (self.eval_int(at)?, self.eval_int(word)?, self.eval_int(base)?);
        let base = self.builder.build_int_truncate(base, self.context.i16_type(), "")?;
        let long = self.context.i64_type().as_basic_type_enum();
        let ones = self.intrinsic("llvm.ctpop", &[long], &[word.into()])?.into_int_value();
        if self.vectors.compresses_bytes {
            self.unpack_at_once(list, at, (word, ones), base)?;
        } else {
            self.unpack_one_by_one(list, at, word, base)?;
        }
        Ok(ones)
    }

    fn unpack_at_once(
        &mut self,
        list: ArrayId,
        at: IntValue<'ctx>,
        (word, ones): (IntValue<'ctx>, IntValue<'ctx>),
        base: IntValue<'ctx>,
    ) -> Result<(), LlvmError> {
        let places: Vec<IntValue> =
            (0..BITS).map(|bit| self.context.i8_type().const_int(u64::from(bit), false)).collect();
        let places = VectorType::const_vector(&places);
        let mask = self.builder.build_bit_cast(word, self.context.bool_type().vec_type(BITS), "")?;
        let args = [places.into(), places.get_type().const_zero().into(), mask.into()];
        let types = [places.get_type().as_basic_type_enum()];
        let packed = self.intrinsic("llvm.x86.avx512.mask.compress", &types, &args)?.into_vector_value();
        self.store_half(list, at, packed, 0, base)?;
        let half = self.index(HALF.into());
        let more = self.builder.build_int_compare(IntPredicate::UGT, ones, half, "")?;
        let (second, done) = (self.new_block("second_half"), self.new_block("unpacked"));
        self.builder.build_conditional_branch(more, second, done)?;
        self.builder.position_at_end(second);
        let behind = self.builder.build_int_add(at, half, "")?;
        self.store_half(list, behind, packed, HALF, base)?;
        self.builder.build_unconditional_branch(done)?;
        self.builder.position_at_end(done);
        Ok(())
    }

    /// 64 marks from `at` on, the first in the lowest bit.
    pub(super) fn marks(&mut self, array: ArrayId, at: ExprId) -> Result<IntValue<'ctx>, LlvmError> {
        let at = self.eval_int(at)?;
        let bytes = self.context.i8_type().vec_type(BITS);
        let (first, _) = self.element(array, at)?;
        let load = self.builder.build_load(bytes, first, "marks")?.into_vector_value();
        if let Some(instruction) = load.as_instruction() {
            self.align(instruction, self.source.arrays[array].elem)?;
            self.aliasing.mark(instruction, Scope::Elements(array))?;
        }
        let set = self.builder.build_int_compare(IntPredicate::NE, load, bytes.const_zero(), "")?;
        Ok(self.builder.build_bit_cast(set, self.context.i64_type(), "")?.into_int_value())
    }

    /// Stores the bytes of a vector from `first` on, each with `base` added.
    fn store_half(
        &mut self,
        list: ArrayId,
        at: IntValue<'ctx>,
        packed: VectorValue<'ctx>,
        first: u32,
        base: IntValue<'ctx>,
    ) -> Result<(), LlvmError> {
        let int = self.context.i32_type();
        let lanes: Vec<IntValue> = (first..first + HALF).map(|lane| int.const_int(lane.into(), false)).collect();
        let half = self.builder.build_shuffle_vector(packed, packed, VectorType::const_vector(&lanes), "")?;
        let half = self.builder.build_int_z_extend(half, self.context.i16_type().vec_type(HALF), "")?;
        let base = self.splat(base.into(), HALF)?;
        let places = self.builder.build_int_add(half, base, "")?;
        let (first, _) = self.element(list, at)?;
        let store = self.builder.build_store(first, places)?;
        self.align(store, self.source.arrays[list].elem)?;
        self.aliasing.mark(store, Scope::Elements(list))
    }

    /// While there are ones, stores the place of the lowest, and takes it away.
    fn unpack_one_by_one(
        &mut self,
        list: ArrayId,
        at: IntValue<'ctx>,
        word: IntValue<'ctx>,
        base: IntValue<'ctx>,
    ) -> Result<(), LlvmError> {
        let (long, zero, one) = (self.context.i64_type(), self.index(0), self.index(1));
        let before = self.current_block()?;
        let (body, done) = (self.new_block("ones"), self.new_block("unpacked"));
        let any = self.builder.build_int_compare(IntPredicate::NE, word, zero, "")?;
        self.builder.build_conditional_branch(any, body, done)?;
        self.builder.position_at_end(body);
        let (rest, next) = (self.builder.build_phi(long, "rest")?, self.builder.build_phi(long, "next")?);
        let (left, place) = (rest.as_basic_value().into_int_value(), next.as_basic_value().into_int_value());
        let flag = self.context.bool_type().const_zero();
        let lowest = self.intrinsic("llvm.cttz", &[long.as_basic_type_enum()], &[left.into(), flag.into()])?;
        let lowest = self.builder.build_int_truncate(lowest.into_int_value(), self.context.i16_type(), "")?;
        let lowest = self.builder.build_int_add(lowest, base, "")?;
        self.store(list, place, Value::Int(lowest))?;
        let below = self.builder.build_int_sub(left, one, "")?;
        let fewer = self.builder.build_and(left, below, "")?;
        let behind = self.builder.build_int_add(place, one, "")?;
        let end = self.current_block()?;
        rest.add_incoming(&[(&word, before), (&fewer, end)]);
        next.add_incoming(&[(&at, before), (&behind, end)]);
        let more = self.builder.build_int_compare(IntPredicate::NE, fewer, zero, "")?;
        self.builder.build_conditional_branch(more, body, done)?;
        self.builder.position_at_end(done);
        Ok(())
    }
}
