//! Conversions between element types: to integers saturating (`llvm.fptosi.sat`), between integers wrapping.

use inkwell::types::BasicType;
use inkwell::values::FloatValue;
use inkwell::{FloatPredicate, IntPredicate};
use lacunar_formats::{DType, Kind};

use super::Emitter;
use super::value::{self, Value};
use crate::LlvmError;

impl<'ctx> Emitter<'ctx, '_> {
    /// Converts a value of type `from` to type `to`.
    pub(super) fn cast(&mut self, from: DType, to: DType, a: Value<'ctx>) -> Result<Value<'ctx>, LlvmError> {
        if from == to {
            return Ok(a);
        }
        if from.is_storage() {
            let wide = Value::Real(self.widen(from, a.int()?)?);
            return self.cast(from.arithmetic(), to, wide);
        }
        if to.is_storage() {
            let single = self.cast(from, to.arithmetic(), a)?.real()?;
            return Ok(Value::Int(self.narrow(to, single)?));
        }
        match to.kind() {
            Kind::Bool => self.nonzero(a),
            Kind::Unsigned | Kind::Signed => self.cast_to_int(from, to, a),
            Kind::Real => Ok(Value::Real(self.cast_to_real(from, to, a)?)),
            Kind::Complex => {
                let re = self.cast_to_real(from, to, a)?;
                let im = match a {
                    Value::Complex(_, im) => self.cast_to_real(from.part(), to, Value::Real(im))?,
                    Value::Int(_) | Value::Real(_) => re.get_type().const_zero(),
                };
                Ok(Value::Complex(re, im))
            }
        }
    }

    /// True if a value differs from zero (NaN does).
    fn nonzero(&self, a: Value<'ctx>) -> Result<Value<'ctx>, LlvmError> {
        let real = |x: FloatValue<'ctx>| {
            self.builder.build_float_compare(FloatPredicate::UNE, x, x.get_type().const_zero(), "")
        };
        Ok(Value::Int(match a {
            Value::Int(x) => self.builder.build_int_compare(IntPredicate::NE, x, x.get_type().const_zero(), "")?,
            Value::Real(x) => real(x)?,
            Value::Complex(re, im) => self.builder.build_or(real(re)?, real(im)?, "")?,
        }))
    }

    fn cast_to_int(&self, from: DType, to: DType, a: Value<'ctx>) -> Result<Value<'ctx>, LlvmError> {
        let ty = value::int_type(self.context, to);
        let real = match a {
            Value::Int(x) => {
                let signed = from.kind() == Kind::Signed;
                return Ok(Value::Int(self.builder.build_int_cast_sign_flag(x, ty, signed, "")?));
            }
            Value::Real(x) | Value::Complex(x, _) => x,
        };
        let name = if to.kind() == Kind::Signed { "llvm.fptosi.sat" } else { "llvm.fptoui.sat" };
        let types = [ty.as_basic_type_enum(), real.get_type().as_basic_type_enum()];
        Ok(Value::Int(self.intrinsic(name, &types, &[real.into()])?.into_int_value()))
    }

    /// The value, or the real part of a complex one, as the real type or part of `to`.
    fn cast_to_real(&self, from: DType, to: DType, a: Value<'ctx>) -> Result<FloatValue<'ctx>, LlvmError> {
        let ty = value::real_type(self.context, to);
        Ok(match a {
            Value::Int(x) if from.kind() == Kind::Signed => self.builder.build_signed_int_to_float(x, ty, "")?,
            Value::Int(x) => self.builder.build_unsigned_int_to_float(x, ty, "")?,
            Value::Real(x) | Value::Complex(x, _) if x.get_type() == ty => x,
            Value::Real(x) | Value::Complex(x, _) => self.builder.build_float_cast(x, ty, "")?,
        })
    }
}
