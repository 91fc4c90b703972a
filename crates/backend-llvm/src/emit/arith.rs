//! Arithmetic and comparisons on `Bool`s, integers and reals (complex numbers: `complex.rs`).
//!
//! Integer division is guarded rather than branched on. If the machine would trap (the divisor is 0, or it is -1 and the
//! dividend the smallest integer), the divisor is replaced by 1. This is already right in the second case; in the first,
//! the quotient is replaced by 0. A constant divisor makes LLVM drop the guards.

use inkwell::values::{FloatValue, IntMathValue, IntValue};
use inkwell::{FloatPredicate, IntPredicate};
use lacunar_formats::{DType, Kind};
use lacunar_imp::{BinaryOp, CompareOp, UnaryOp, WordOp};

use super::Emitter;
use super::value::{self, Value};
use crate::LlvmError;

pub(super) const NOT_ON_TYPE: LlvmError = LlvmError::Malformed("an operation is not defined on its operands' type");

impl<'ctx> Emitter<'ctx, '_> {
    /// An operation on one operand of type `ty`.
    pub(super) fn unary(&mut self, op: UnaryOp, ty: DType, a: Value<'ctx>) -> Result<Value<'ctx>, LlvmError> {
        match ty.kind() {
            Kind::Bool => match op {
                UnaryOp::Not => Ok(Value::Int(self.builder.build_not(a.int()?, "")?)),
                _ => Err(NOT_ON_TYPE),
            },
            Kind::Unsigned | Kind::Signed => Ok(Value::Int(self.int_unary(op, ty, a.int()?)?)),
            Kind::Real => Ok(Value::Real(self.real_unary(op, a.real()?)?)),
            Kind::Complex => self.complex_unary(op, a.complex()?),
        }
    }

    /// An operation on two operands of type `ty`.
    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        ty: DType,
        a: Value<'ctx>,
        b: Value<'ctx>,
    ) -> Result<Value<'ctx>, LlvmError> {
        match ty.kind() {
            Kind::Bool => Ok(Value::Int(self.bool_binary(op, a.int()?, b.int()?)?)),
            Kind::Unsigned | Kind::Signed => Ok(Value::Int(self.int_binary(op, ty, a.int()?, b.int()?)?)),
            Kind::Real => Ok(Value::Real(self.real_binary(op, a.real()?, b.real()?)?)),
            Kind::Complex => {
                let (re, im) = self.complex_binary(op, a.complex()?, b.complex()?)?;
                Ok(Value::Complex(re, im))
            }
        }
    }

    /// The answer of a word of type `ty` about the bit at a place.
    pub(super) fn word(
        &mut self,
        op: WordOp,
        ty: DType,
        word: Value<'ctx>,
        place: Value<'ctx>,
    ) -> Result<Value<'ctx>, LlvmError> {
        let (word, place) = (word.int()?, self.cast(DType::I64, ty, place)?.int()?);
        let place = self.shift_amount(place)?;
        let asked = Value::Int(self.asked_bits(op, word, place, word.get_type().const_int(1, false))?);
        match op {
            WordOp::Bit => self.cast(ty, DType::Bool, asked),
            WordOp::Rank => {
                let ones = self.unary(UnaryOp::CountOnes, ty, asked)?;
                self.cast(ty, DType::I64, ones)
            }
        }
    }

    /// The bits of a word, or of several in lanes, that a question is about: the one at the place, moved to the lowest, or those
    /// below. The place is within the word.
    pub(super) fn asked_bits<T: IntMathValue<'ctx> + Copy>(
        &self,
        op: WordOp,
        word: T,
        place: T,
        one: T,
    ) -> Result<T, LlvmError> {
        let builder = &self.builder;
        Ok(match op {
            WordOp::Bit => builder.build_and(builder.build_right_shift(word, place, false, "")?, one, "")?,
            WordOp::Rank => {
                let below = builder.build_int_sub(builder.build_left_shift(one, place, "")?, one, "")?;
                builder.build_and(word, below, "")?
            }
        })
    }

    /// A comparison of two operands of type `ty`.
    pub(super) fn compare(
        &mut self,
        op: CompareOp,
        ty: DType,
        a: Value<'ctx>,
        b: Value<'ctx>,
    ) -> Result<Value<'ctx>, LlvmError> {
        let builder = &self.builder;
        Ok(Value::Int(match ty.kind() {
            Kind::Bool | Kind::Unsigned => {
                builder.build_int_compare(int_predicate(op, false), a.int()?, b.int()?, "")?
            }
            Kind::Signed => builder.build_int_compare(int_predicate(op, true), a.int()?, b.int()?, "")?,
            Kind::Real => builder.build_float_compare(real_predicate(op), a.real()?, b.real()?, "")?,
            Kind::Complex => {
                let ((a_re, a_im), (b_re, b_im)) = (a.complex()?, b.complex()?);
                let re = builder.build_float_compare(real_predicate(op), a_re, b_re, "")?;
                let im = builder.build_float_compare(real_predicate(op), a_im, b_im, "")?;
                match op {
                    CompareOp::Eq => builder.build_and(re, im, "")?,
                    CompareOp::Ne => builder.build_or(re, im, "")?,
                    CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => return Err(NOT_ON_TYPE),
                }
            }
        }))
    }

    fn bool_binary(&self, op: BinaryOp, a: IntValue<'ctx>, b: IntValue<'ctx>) -> Result<IntValue<'ctx>, LlvmError> {
        Ok(match op {
            BinaryOp::Add | BinaryOp::Max | BinaryOp::Or => self.builder.build_or(a, b, "")?,
            BinaryOp::Mul | BinaryOp::Min | BinaryOp::And => self.builder.build_and(a, b, "")?,
            BinaryOp::Xor => self.builder.build_xor(a, b, "")?,
            BinaryOp::Sub
            | BinaryOp::Div
            | BinaryOp::Rem
            | BinaryOp::Pow
            | BinaryOp::Atan2
            | BinaryOp::Shl
            | BinaryOp::Shr => return Err(NOT_ON_TYPE),
        })
    }

    fn int_unary(&self, op: UnaryOp, ty: DType, a: IntValue<'ctx>) -> Result<IntValue<'ctx>, LlvmError> {
        let (builder, signed) = (&self.builder, ty.kind() == Kind::Signed);
        let (zero, one) = (a.get_type().const_zero(), a.get_type().const_int(1, false));
        Ok(match op {
            UnaryOp::Neg => builder.build_int_neg(a, "")?,
            UnaryOp::Abs if signed => {
                let negative = builder.build_int_compare(IntPredicate::SLT, a, zero, "")?;
                builder.build_select(negative, builder.build_int_neg(a, "")?, a, "")?.into_int_value()
            }
            UnaryOp::Abs => a,
            UnaryOp::Sign => {
                let nonzero = builder.build_int_compare(IntPredicate::NE, a, zero, "")?;
                let sign = builder.build_select(nonzero, one, zero, "")?.into_int_value();
                if signed {
                    let negative = builder.build_int_compare(IntPredicate::SLT, a, zero, "")?;
                    let minus_one = a.get_type().const_all_ones();
                    builder.build_select(negative, minus_one, sign, "")?.into_int_value()
                } else {
                    sign
                }
            }
            UnaryOp::CountOnes => self.intrinsic("llvm.ctpop", &[a.get_type().into()], &[a.into()])?.into_int_value(),
            UnaryOp::TrailingZeros => {
                let of_zero_undefined = self.context.bool_type().const_zero();
                let args = [a.into(), of_zero_undefined.into()];
                self.intrinsic("llvm.cttz", &[a.get_type().into()], &args)?.into_int_value()
            }
            _ => return Err(NOT_ON_TYPE),
        })
    }

    fn int_binary(
        &self,
        op: BinaryOp,
        ty: DType,
        a: IntValue<'ctx>,
        b: IntValue<'ctx>,
    ) -> Result<IntValue<'ctx>, LlvmError> {
        let (builder, signed) = (&self.builder, ty.kind() == Kind::Signed);
        Ok(match op {
            BinaryOp::Add => builder.build_int_add(a, b, "")?,
            BinaryOp::Sub => builder.build_int_sub(a, b, "")?,
            BinaryOp::Mul => builder.build_int_mul(a, b, "")?,
            BinaryOp::Div | BinaryOp::Rem => self.int_divide(op, signed, a, b)?,
            BinaryOp::Min | BinaryOp::Max => {
                let predicate = match (op == BinaryOp::Min, signed) {
                    (true, true) => IntPredicate::SLT,
                    (true, false) => IntPredicate::ULT,
                    (false, true) => IntPredicate::SGT,
                    (false, false) => IntPredicate::UGT,
                };
                let first = builder.build_int_compare(predicate, a, b, "")?;
                builder.build_select(first, a, b, "")?.into_int_value()
            }
            BinaryOp::Pow => self.int_power(signed, a, b)?,
            BinaryOp::And => builder.build_and(a, b, "")?,
            BinaryOp::Or => builder.build_or(a, b, "")?,
            BinaryOp::Xor => builder.build_xor(a, b, "")?,
            BinaryOp::Shl => builder.build_left_shift(a, self.shift_amount(b)?, "")?,
            BinaryOp::Shr => builder.build_right_shift(a, self.shift_amount(b)?, false, "")?,
            BinaryOp::Atan2 => return Err(NOT_ON_TYPE),
        })
    }

    /// The number of bits by which a value is shifted: modulo its width, a power of two. LLVM leaves larger shifts
    /// open.
    fn shift_amount(&self, amount: IntValue<'ctx>) -> Result<IntValue<'ctx>, LlvmError> {
        let ty = amount.get_type();
        Ok(self.builder.build_and(amount, ty.const_int(u64::from(ty.get_bit_width()) - 1, false), "")?)
    }

    /// Quotient or remainder, 0 where the divisor is.
    fn int_divide(
        &self,
        op: BinaryOp,
        signed: bool,
        a: IntValue<'ctx>,
        b: IntValue<'ctx>,
    ) -> Result<IntValue<'ctx>, LlvmError> {
        let (builder, ty) = (&self.builder, a.get_type());
        let by_zero = builder.build_int_compare(IntPredicate::EQ, b, ty.const_zero(), "")?;
        let traps = if signed {
            let smallest = ty.const_int(1 << (ty.get_bit_width() - 1), false);
            let of_smallest = builder.build_int_compare(IntPredicate::EQ, a, smallest, "")?;
            let by_minus_one = builder.build_int_compare(IntPredicate::EQ, b, ty.const_all_ones(), "")?;
            builder.build_or(by_zero, builder.build_and(of_smallest, by_minus_one, "")?, "")?
        } else {
            by_zero
        };
        let divisor = builder.build_select(traps, ty.const_int(1, false), b, "divisor")?.into_int_value();
        let result = match (op == BinaryOp::Div, signed) {
            (true, true) => builder.build_int_signed_div(a, divisor, "")?,
            (true, false) => builder.build_int_unsigned_div(a, divisor, "")?,
            // A remainder by 1 is 0 already.
            (false, true) => return Ok(builder.build_int_signed_rem(a, divisor, "")?),
            (false, false) => return Ok(builder.build_int_unsigned_rem(a, divisor, "")?),
        };
        Ok(builder.build_select(by_zero, ty.const_zero(), result, "")?.into_int_value())
    }

    /// `base` to the power `exponent`, wrapping, by squaring. A negative exponent gives the reciprocal truncated: the
    /// power itself for the bases 1 and -1 (of the exponent's parity), 0 for every other.
    fn int_power(
        &self,
        signed: bool,
        base: IntValue<'ctx>,
        exponent: IntValue<'ctx>,
    ) -> Result<IntValue<'ctx>, LlvmError> {
        let (builder, ty) = (&self.builder, base.get_type());
        let (zero, one) = (ty.const_zero(), ty.const_int(1, false));
        let before = self.current_block()?;
        let (body, done) = (self.new_block("power"), self.new_block("powered"));
        builder.build_unconditional_branch(body)?;

        builder.position_at_end(body);
        let result = builder.build_phi(ty, "result")?;
        let square = builder.build_phi(ty, "square")?;
        let rest = builder.build_phi(ty, "rest")?;
        let (result_value, square_value, rest_value) = (
            result.as_basic_value().into_int_value(),
            square.as_basic_value().into_int_value(),
            rest.as_basic_value().into_int_value(),
        );
        let bit = builder.build_and(rest_value, one, "")?;
        let odd = builder.build_int_compare(IntPredicate::NE, bit, zero, "")?;
        let product = builder.build_int_mul(result_value, square_value, "")?;
        let next_result = builder.build_select(odd, product, result_value, "")?.into_int_value();
        let next_square = builder.build_int_mul(square_value, square_value, "")?;
        let next_rest = builder.build_right_shift(rest_value, one, false, "")?;
        result.add_incoming(&[(&one, before), (&next_result, body)]);
        square.add_incoming(&[(&base, before), (&next_square, body)]);
        rest.add_incoming(&[(&exponent, before), (&next_rest, body)]);
        let more = builder.build_int_compare(IntPredicate::NE, next_rest, zero, "")?;
        builder.build_conditional_branch(more, body, done)?;

        builder.position_at_end(done);
        if !signed {
            return Ok(next_result);
        }
        // Bases 1 and -1 repeat with period 2, so the exponent's bits taken as unsigned give the right power.
        let negative = builder.build_int_compare(IntPredicate::SLT, exponent, zero, "")?;
        let shifted = builder.build_int_add(base, one, "")?;
        let unit = builder.build_int_compare(IntPredicate::ULE, shifted, ty.const_int(2, false), "")?;
        let is_zero = builder.build_int_compare(IntPredicate::EQ, base, zero, "")?;
        let not_unit = builder.build_or(builder.build_not(unit, "")?, is_zero, "")?;
        let vanishes = builder.build_and(negative, not_unit, "")?;
        Ok(builder.build_select(vanishes, zero, next_result, "")?.into_int_value())
    }

    fn real_binary(
        &mut self,
        op: BinaryOp,
        a: FloatValue<'ctx>,
        b: FloatValue<'ctx>,
    ) -> Result<FloatValue<'ctx>, LlvmError> {
        Ok(match op {
            BinaryOp::Add => self.builder.build_float_add(a, b, "")?,
            BinaryOp::Sub => self.builder.build_float_sub(a, b, "")?,
            BinaryOp::Mul => self.builder.build_float_mul(a, b, "")?,
            BinaryOp::Div => self.builder.build_float_div(a, b, "")?,
            BinaryOp::Rem => self.builder.build_float_rem(a, b, "")?,
            BinaryOp::Min => self.real_intrinsic("llvm.minimum", &[a, b])?,
            BinaryOp::Max => self.real_intrinsic("llvm.maximum", &[a, b])?,
            BinaryOp::Pow => self.real_intrinsic("llvm.pow", &[a, b])?,
            BinaryOp::Atan2 => self.libm("atan2", &[a, b])?,
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr => return Err(NOT_ON_TYPE),
        })
    }

    /// -1, 0 or 1; zeros and NaN stay as they are.
    pub(super) fn real_sign(&self, a: FloatValue<'ctx>) -> Result<FloatValue<'ctx>, LlvmError> {
        let (builder, ty) = (&self.builder, a.get_type());
        let positive = builder.build_float_compare(FloatPredicate::OGT, a, ty.const_zero(), "")?;
        let negative = builder.build_float_compare(FloatPredicate::OLT, a, ty.const_zero(), "")?;
        let low = builder.build_select(negative, ty.const_float(-1.0), a, "")?.into_float_value();
        Ok(builder.build_select(positive, ty.const_float(1.0), low, "")?.into_float_value())
    }

    /// The `I64` constant.
    pub(super) fn index(&self, value: i64) -> IntValue<'ctx> {
        value::int_type(self.context, DType::I64).const_int(value as u64, false)
    }
}

/// The predicate of a comparison of integers.
pub(super) fn int_predicate(op: CompareOp, signed: bool) -> IntPredicate {
    if signed { signed_predicate(op) } else { unsigned_predicate(op) }
}

fn unsigned_predicate(op: CompareOp) -> IntPredicate {
    match op {
        CompareOp::Eq => IntPredicate::EQ,
        CompareOp::Ne => IntPredicate::NE,
        CompareOp::Lt => IntPredicate::ULT,
        CompareOp::Le => IntPredicate::ULE,
        CompareOp::Gt => IntPredicate::UGT,
        CompareOp::Ge => IntPredicate::UGE,
    }
}

fn signed_predicate(op: CompareOp) -> IntPredicate {
    match op {
        CompareOp::Eq => IntPredicate::EQ,
        CompareOp::Ne => IntPredicate::NE,
        CompareOp::Lt => IntPredicate::SLT,
        CompareOp::Le => IntPredicate::SLE,
        CompareOp::Gt => IntPredicate::SGT,
        CompareOp::Ge => IntPredicate::SGE,
    }
}

/// Comparisons with NaN are false, except that NaN is unequal to everything.
pub(super) fn real_predicate(op: CompareOp) -> FloatPredicate {
    match op {
        CompareOp::Eq => FloatPredicate::OEQ,
        CompareOp::Ne => FloatPredicate::UNE,
        CompareOp::Lt => FloatPredicate::OLT,
        CompareOp::Le => FloatPredicate::OLE,
        CompareOp::Gt => FloatPredicate::OGT,
        CompareOp::Ge => FloatPredicate::OGE,
    }
}
