//! `f16` and `bf16`, which are only stored: to `f32` and back, rounded to the nearest, ties to even.
//!
//! In registers they are integers of 16 bits. A `bf16` is the upper half of an `f32`. For `f16` there is an instruction where
//! the processor has one (F16C); elsewhere it is done with integers and one operation on reals, so that no function of a
//! compiler's own library is called, which a shipped object could not count on:
//!
//! ```text
//! f16 to f32    exponent and fraction moved to their places, times 2^112: as the biases differ; exact, subnormals too
//! f32 to f16    the exponent less 112, the fraction rounded off; below 2^-14: plus 0.5, whose last bit is 2^-24
//! ```
//!
//! Everything is done on vectors; a single value is a vector of one.

use inkwell::IntPredicate;
use inkwell::types::VectorType;
use inkwell::values::{FloatValue, IntValue, VectorValue};
use lacunar_formats::DType;

use super::Emitter;
use crate::LlvmError;

/// The bits of an infinite `f32`; above them are those of NaN.
const INFINITY: u64 = 0x7f80_0000;
/// 112, the difference of the biases of `f32` and `f16`, as an exponent in its place.
const BIASES: u64 = 112 << 23;

impl<'ctx> Emitter<'ctx, '_> {
    /// A stored value as `f32`.
    pub(super) fn widen(&self, from: DType, value: IntValue<'ctx>) -> Result<FloatValue<'ctx>, LlvmError> {
        let one = value.get_type().vec_type(1).get_undef();
        let one = self.builder.build_insert_element(one, value, self.place(), "")?;
        let wide = self.widen_lanes(from, one)?;
        Ok(self.builder.build_extract_element(wide, self.place(), "")?.into_float_value())
    }

    /// An `f32` as it is stored.
    pub(super) fn narrow(&self, to: DType, value: FloatValue<'ctx>) -> Result<IntValue<'ctx>, LlvmError> {
        let one = value.get_type().vec_type(1).get_undef();
        let one = self.builder.build_insert_element(one, value, self.place(), "")?;
        let stored = self.narrow_lanes(to, one)?;
        Ok(self.builder.build_extract_element(stored, self.place(), "")?.into_int_value())
    }

    /// The place of the only element.
    fn place(&self) -> IntValue<'ctx> {
        self.context.i32_type().const_zero()
    }

    /// Stored values as `f32`.
    pub(super) fn widen_lanes(&self, from: DType, stored: VectorValue<'ctx>) -> Result<VectorValue<'ctx>, LlvmError> {
        let (builder, lanes) = (&self.builder, stored.get_type().get_size());
        let reals = self.context.f32_type().vec_type(lanes);
        let words = self.context.i32_type().vec_type(lanes);
        if from == DType::F16 && self.vectors.halves {
            let halves = builder.build_bit_cast(stored, self.context.f16_type().vec_type(lanes), "")?;
            return Ok(builder.build_float_ext(halves.into_vector_value(), reals, "")?);
        }
        let bits = builder.build_int_z_extend(stored, words, "")?;
        let word = |value| self.words(value, lanes);
        if from == DType::BF16 {
            let bits = builder.build_left_shift(bits, word(16), "")?;
            return Ok(builder.build_bit_cast(bits, reals, "")?.into_vector_value());
        }
        let magnitude = builder.build_and(bits, word(0x7fff), "")?;
        let moved = builder.build_left_shift(magnitude, word(13), "")?;
        let moved = builder.build_bit_cast(moved, reals, "")?.into_vector_value();
        let power = builder.build_bit_cast(word((112 + 127) << 23), reals, "")?.into_vector_value();
        let scaled = builder.build_float_mul(moved, power, "")?;
        let scaled = builder.build_bit_cast(scaled, words, "")?.into_vector_value();
        let finite = builder.build_int_compare(IntPredicate::ULT, magnitude, word(0x7c00), "")?;
        let special = builder.build_or(scaled, word(INFINITY), "")?;
        let scaled = builder.build_select(finite, scaled, special, "")?.into_vector_value();
        let sign = builder.build_and(bits, word(0x8000), "")?;
        let sign = builder.build_left_shift(sign, word(16), "")?;
        Ok(builder.build_bit_cast(builder.build_or(scaled, sign, "")?, reals, "")?.into_vector_value())
    }

    /// `f32`s as they are stored.
    pub(super) fn narrow_lanes(&self, to: DType, reals: VectorValue<'ctx>) -> Result<VectorValue<'ctx>, LlvmError> {
        let (builder, lanes) = (&self.builder, reals.get_type().get_size());
        let words = self.context.i32_type().vec_type(lanes);
        let shorts = self.context.i16_type().vec_type(lanes);
        if to == DType::F16 && self.vectors.halves {
            let halves = builder.build_float_trunc(reals, self.context.f16_type().vec_type(lanes), "")?;
            return Ok(builder.build_bit_cast(halves, shorts, "")?.into_vector_value());
        }
        let word = |value| self.words(value, lanes);
        let bits = builder.build_bit_cast(reals, words, "")?.into_vector_value();
        let magnitude = builder.build_and(bits, word(0x7fff_ffff), "")?;
        let nan = builder.build_int_compare(IntPredicate::UGT, magnitude, word(INFINITY), "")?;
        let (finite, quiet) = match to {
            DType::BF16 => (self.rounded(magnitude, 16)?, 0x7fc0),
            _ => (self.binary16(magnitude)?, 0x7e00),
        };
        let stored = builder.build_select(nan, word(quiet), finite, "")?.into_vector_value();
        let sign = builder.build_right_shift(bits, word(16), false, "")?;
        let sign = builder.build_and(sign, word(0x8000), "")?;
        Ok(builder.build_int_truncate(builder.build_or(stored, sign, "")?, shorts, "")?)
    }

    /// The bits without their last ones, so many of them, rounded.
    fn rounded(&self, bits: VectorValue<'ctx>, last: u64) -> Result<VectorValue<'ctx>, LlvmError> {
        let (builder, lanes) = (&self.builder, bits.get_type().get_size());
        let word = |value| self.words(value, lanes);
        let kept = builder.build_right_shift(bits, word(last), false, "")?;
        let odd = builder.build_and(kept, word(1), "")?;
        let half = builder.build_int_add(word((1 << (last - 1)) - 1), odd, "")?;
        let sum = builder.build_int_add(bits, half, "")?;
        Ok(builder.build_right_shift(sum, word(last), false, "")?)
    }

    /// The bits of the `f16` next to a positive `f32`.
    fn binary16(&self, magnitude: VectorValue<'ctx>) -> Result<VectorValue<'ctx>, LlvmError> {
        let (builder, lanes) = (&self.builder, magnitude.get_type().get_size());
        let reals = self.context.f32_type().vec_type(lanes);
        let word = |value| self.words(value, lanes);
        // Larger values become infinite, as 2^16 does.
        let most = word((16 + 127) << 23);
        let fits = builder.build_int_compare(IntPredicate::ULT, magnitude, most, "")?;
        let kept = builder.build_select(fits, magnitude, most, "")?.into_vector_value();
        let normal = self.rounded(builder.build_int_sub(kept, word(BIASES), "")?, 13)?;
        let half = word(126 << 23);
        let real = |bits| builder.build_bit_cast(bits, reals, "");
        let sum = builder.build_float_add(real(magnitude)?.into_vector_value(), real(half)?.into_vector_value(), "")?;
        let sum = builder.build_bit_cast(sum, magnitude.get_type(), "")?.into_vector_value();
        let subnormal = builder.build_int_sub(sum, half, "")?;
        let small = builder.build_int_compare(IntPredicate::ULT, magnitude, word(BIASES + (1 << 23)), "")?;
        Ok(builder.build_select(small, subnormal, normal, "")?.into_vector_value())
    }

    /// A number of 32 bits in so many lanes.
    fn words(&self, value: u64, lanes: u32) -> VectorValue<'ctx> {
        VectorType::const_vector(&vec![self.context.i32_type().const_int(value, false); lanes as usize])
    }
}
