//! Values and types of LLVM for the element types of the IR.
//!
//! In registers a `Bool` is an `i1`, an integer the integer of its width, a real `float` or `double` (one that is
//! only stored an integer of 16 bits), and a complex number
//! *two* reals ([`Value::Complex`]), which lets LLVM optimize the parts apart. In memory a `Bool` is a byte (0 or 1) and a
//! complex number two reals in a row.

use inkwell::context::Context;
use inkwell::types::{ArrayType, BasicType, BasicTypeEnum, FloatType, IntType};
use inkwell::values::{BasicValue, BasicValueEnum, FloatValue, IntValue};
use lacunar_formats::DType;
use lacunar_imp::Const;

use crate::LlvmError;

/// A value of the IR in registers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'ctx> {
    /// An integer or a `Bool`, or the bits of a type that is only stored.
    Int(IntValue<'ctx>),
    /// A real.
    Real(FloatValue<'ctx>),
    /// Real and imaginary part.
    Complex(FloatValue<'ctx>, FloatValue<'ctx>),
}

impl<'ctx> Value<'ctx> {
    /// The integer that it is.
    pub(super) fn int(self) -> Result<IntValue<'ctx>, LlvmError> {
        match self {
            Value::Int(value) => Ok(value),
            Value::Real(_) | Value::Complex(..) => Err(LlvmError::Malformed("an integer was expected")),
        }
    }

    /// The real that it is.
    pub(super) fn real(self) -> Result<FloatValue<'ctx>, LlvmError> {
        match self {
            Value::Real(value) => Ok(value),
            Value::Int(_) | Value::Complex(..) => Err(LlvmError::Malformed("a real number was expected")),
        }
    }

    /// The parts of the complex number that it is.
    pub(super) fn complex(self) -> Result<(FloatValue<'ctx>, FloatValue<'ctx>), LlvmError> {
        match self {
            Value::Complex(re, im) => Ok((re, im)),
            Value::Int(_) | Value::Real(_) => Err(LlvmError::Malformed("a complex number was expected")),
        }
    }

    /// Its LLVM values: two for a complex number, otherwise one.
    pub(super) fn parts(self) -> (BasicValueEnum<'ctx>, Option<BasicValueEnum<'ctx>>) {
        match self {
            Value::Int(value) => (value.as_basic_value_enum(), None),
            Value::Real(value) => (value.as_basic_value_enum(), None),
            Value::Complex(re, im) => (re.as_basic_value_enum(), Some(im.as_basic_value_enum())),
        }
    }

    /// True if it is known to be a zero all of whose bits are 0.
    pub(super) fn is_zero(self) -> bool {
        let (first, second) = self.parts();
        let zero = |part: BasicValueEnum<'ctx>| match part {
            BasicValueEnum::IntValue(value) => value.is_null(),
            BasicValueEnum::FloatValue(value) => value.is_null(),
            _ => false,
        };
        zero(first) && second.is_none_or(zero)
    }

    /// A value from its LLVM values.
    pub(super) fn from_parts(first: BasicValueEnum<'ctx>, second: Option<BasicValueEnum<'ctx>>) -> Value<'ctx> {
        match (first, second) {
            (first, Some(second)) => Value::Complex(first.into_float_value(), second.into_float_value()),
            (BasicValueEnum::FloatValue(value), None) => Value::Real(value),
            (value, None) => Value::Int(value.into_int_value()),
        }
    }
}

/// The integer of an integer or `Bool` type, in registers.
pub(super) fn int_type(context: &Context, ty: DType) -> IntType<'_> {
    if ty == DType::Bool { context.bool_type() } else { bytes_type(context, ty.size()) }
}

/// The integer of so many bytes.
fn bytes_type(context: &Context, bytes: usize) -> IntType<'_> {
    match bytes {
        1 => context.i8_type(),
        2 => context.i16_type(),
        4 => context.i32_type(),
        _ => context.i64_type(),
    }
}

/// The floating-point type of a real type, or of the parts of a complex one.
pub(super) fn real_type(context: &Context, ty: DType) -> FloatType<'_> {
    if ty.part() == DType::F32 { context.f32_type() } else { context.f64_type() }
}

/// The LLVM type of a value in a register; of one part, if complex.
pub(super) fn register_type(context: &Context, ty: DType) -> BasicTypeEnum<'_> {
    let real = ty.is_float() && !ty.is_storage();
    if real { real_type(context, ty).as_basic_type_enum() } else { int_type(context, ty).as_basic_type_enum() }
}

/// The LLVM type of a value in memory; of one part, if complex.
pub(super) fn memory_type(context: &Context, ty: DType) -> BasicTypeEnum<'_> {
    if ty == DType::Bool { context.i8_type().as_basic_type_enum() } else { register_type(context, ty) }
}

/// A row of so many elements of a memory type.
pub(super) fn row_of(ty: BasicTypeEnum<'_>, len: u32) -> ArrayType<'_> {
    match ty {
        BasicTypeEnum::FloatType(ty) => ty.array_type(len),
        other => other.into_int_type().array_type(len),
    }
}

/// A constant.
pub(super) fn constant<'ctx>(context: &'ctx Context, constant: Const) -> Value<'ctx> {
    let ty = constant.ty;
    if ty.is_complex() {
        let part = real_type(context, ty);
        Value::Complex(part.const_float(constant.re()), part.const_float(constant.im()))
    } else if ty.is_real() && !ty.is_storage() {
        Value::Real(real_type(context, ty).const_float(constant.re()))
    } else {
        Value::Int(int_type(context, ty).const_int(constant.bits, false))
    }
}
