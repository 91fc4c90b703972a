//! Functions of real numbers: instructions and intrinsics of LLVM where there are any, otherwise the C library's.
//!
//! Calls of the C library are declared without side effects (the IR knows no `errno`), so LLVM may move and merge them.

use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::intrinsics::Intrinsic;
use inkwell::types::{BasicMetadataTypeEnum, BasicType, BasicTypeEnum};
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, FloatValue, FunctionValue, InstructionValue};
use lacunar_formats::{External, Signature};
use lacunar_imp::UnaryOp;

use super::Emitter;
use super::arith::NOT_ON_TYPE;
use super::value::{self, Value};
use crate::LlvmError;

impl<'ctx> Emitter<'ctx, '_> {
    /// A function of one real.
    pub(super) fn real_unary(&mut self, op: UnaryOp, a: FloatValue<'ctx>) -> Result<FloatValue<'ctx>, LlvmError> {
        match op {
            UnaryOp::Neg => Ok(self.builder.build_float_neg(a, "")?),
            UnaryOp::Abs => self.real_intrinsic("llvm.fabs", &[a]),
            UnaryOp::Sqrt => self.real_intrinsic("llvm.sqrt", &[a]),
            UnaryOp::Exp => self.real_intrinsic("llvm.exp", &[a]),
            UnaryOp::Log => self.real_intrinsic("llvm.log", &[a]),
            UnaryOp::Log10 => self.real_intrinsic("llvm.log10", &[a]),
            UnaryOp::Sin => self.real_intrinsic("llvm.sin", &[a]),
            UnaryOp::Cos => self.real_intrinsic("llvm.cos", &[a]),
            UnaryOp::Floor => self.real_intrinsic("llvm.floor", &[a]),
            UnaryOp::Ceil => self.real_intrinsic("llvm.ceil", &[a]),
            UnaryOp::Cbrt => self.libm("cbrt", &[a]),
            UnaryOp::Tan => self.libm("tan", &[a]),
            UnaryOp::Asin => self.libm("asin", &[a]),
            UnaryOp::Acos => self.libm("acos", &[a]),
            UnaryOp::Atan => self.libm("atan", &[a]),
            UnaryOp::Sinh => self.libm("sinh", &[a]),
            UnaryOp::Cosh => self.libm("cosh", &[a]),
            UnaryOp::Tanh => self.libm("tanh", &[a]),
            UnaryOp::Asinh => self.libm("asinh", &[a]),
            UnaryOp::Acosh => self.libm("acosh", &[a]),
            UnaryOp::Atanh => self.libm("atanh", &[a]),
            UnaryOp::Sign => self.real_sign(a),
            UnaryOp::Not
            | UnaryOp::Real
            | UnaryOp::Imag
            | UnaryOp::Conj
            | UnaryOp::CountOnes
            | UnaryOp::TrailingZeros => Err(NOT_ON_TYPE),
        }
    }

    /// An intrinsic of LLVM on reals of one type.
    pub(super) fn real_intrinsic(&self, name: &str, args: &[FloatValue<'ctx>]) -> Result<FloatValue<'ctx>, LlvmError> {
        let ty = args.first().map(|arg| arg.get_type().as_basic_type_enum());
        let args: Vec<BasicMetadataValueEnum> = args.iter().map(|&arg| arg.into()).collect();
        Ok(self.intrinsic(name, ty.as_slice(), &args)?.into_float_value())
    }

    /// An intrinsic of LLVM for the given types.
    pub(super) fn intrinsic(
        &self,
        name: &str,
        types: &[BasicTypeEnum<'ctx>],
        args: &[BasicMetadataValueEnum<'ctx>],
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        self.call_function(self.declare_intrinsic(name, types)?, args)
    }

    /// An intrinsic that gives no value; gives the call.
    pub(super) fn intrinsic_effect(
        &self,
        name: &str,
        types: &[BasicTypeEnum<'ctx>],
        args: &[BasicMetadataValueEnum<'ctx>],
    ) -> Result<Option<InstructionValue<'ctx>>, LlvmError> {
        let call = self.builder.build_call(self.declare_intrinsic(name, types)?, args, "")?;
        Ok(call.try_as_basic_value().instruction())
    }

    fn declare_intrinsic(&self, name: &str, types: &[BasicTypeEnum<'ctx>]) -> Result<FunctionValue<'ctx>, LlvmError> {
        let function = Intrinsic::find(name).and_then(|intrinsic| intrinsic.get_declaration(self.module, types));
        function.ok_or(LlvmError::Malformed("LLVM lacks an intrinsic"))
    }

    /// A function of the C library on reals of one type; for `f32` its name gets an `f`.
    pub(super) fn libm(&self, name: &str, args: &[FloatValue<'ctx>]) -> Result<FloatValue<'ctx>, LlvmError> {
        let ty = args.first().map_or(self.context.f64_type(), |arg| arg.get_type());
        let name = if ty == self.context.f32_type() { format!("{name}f") } else { name.to_string() };
        let function = match self.module.get_function(&name) {
            Some(function) if function == self.kernel => return Err(LlvmError::ReservedName(name)),
            Some(function) => function,
            None => {
                let types: Vec<BasicMetadataTypeEnum> = args.iter().map(|arg| arg.get_type().into()).collect();
                let function = self.module.add_function(&name, ty.fn_type(&types, false), None);
                for (attribute, value) in [("nounwind", 0), ("willreturn", 0), ("memory", 0)] {
                    let kind = Attribute::get_named_enum_kind_id(attribute);
                    function.add_attribute(AttributeLoc::Function, self.context.create_enum_attribute(kind, value));
                }
                function
            }
        };
        let args: Vec<BasicMetadataValueEnum> = args.iter().map(|&arg| arg.into()).collect();
        Ok(self.call_function(function, &args)?.into_float_value())
    }

    /// A function of other code, which gives the same value for the same operands and does nothing else.
    pub(super) fn external(&self, external: External, operands: &[Value<'ctx>]) -> Result<Value<'ctx>, LlvmError> {
        let symbol = external.symbol();
        let function = match self.module.get_function(&symbol) {
            Some(function) => function,
            None => {
                let Signature { operand, result, .. } = external.signature();
                let operand = BasicMetadataTypeEnum::from(value::register_type(self.context, operand));
                let result = value::register_type(self.context, result);
                let function =
                    self.module.add_function(&symbol, result.fn_type(&vec![operand; operands.len()], false), None);
                for (attribute, value) in [("nounwind", 0), ("willreturn", 0), ("memory", 0)] {
                    let kind = Attribute::get_named_enum_kind_id(attribute);
                    function.add_attribute(AttributeLoc::Function, self.context.create_enum_attribute(kind, value));
                }
                function
            }
        };
        let args: Vec<BasicMetadataValueEnum> = operands.iter().map(|operand| operand.parts().0.into()).collect();
        Ok(Value::from_parts(self.call_function(function, &args)?, None))
    }

    fn call_function(
        &self,
        function: FunctionValue<'ctx>,
        args: &[BasicMetadataValueEnum<'ctx>],
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let call = self.builder.build_call(function, args, "")?;
        call.try_as_basic_value().basic().ok_or(LlvmError::Malformed("a call gives a value"))
    }
}
