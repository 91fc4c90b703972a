//! Values in lanes: expressions of a vector loop.

use inkwell::types::{BasicType, BasicTypeEnum, VectorType};
use inkwell::values::{BasicMetadataValueEnum, BasicValue, BasicValueEnum, FastMathFlags, VectorValue};
use inkwell::{FloatPredicate, IntPredicate};
use lacunar_formats::{DType, Kind};
use lacunar_imp::{BinaryOp, CompareOp, Expr, ExprId, UnaryOp};

use super::super::Emitter;
use super::super::arith::{NOT_ON_TYPE, int_predicate, real_predicate};
use super::super::value::{self, Value};
use super::VectorLoop;
use crate::LlvmError;

/// A value in the lanes of a vector.
#[derive(Clone, Copy)]
pub(super) enum Lanes<'ctx> {
    /// The same in all.
    Uniform(Value<'ctx>),
    /// One for each.
    Varying(VectorValue<'ctx>),
}

/// A vector of so many.
pub(in super::super) fn vector_of(ty: BasicTypeEnum<'_>, width: u32) -> Result<VectorType<'_>, LlvmError> {
    match ty {
        BasicTypeEnum::IntType(ty) => Ok(ty.vec_type(width)),
        BasicTypeEnum::FloatType(ty) => Ok(ty.vec_type(width)),
        BasicTypeEnum::PointerType(ty) => Ok(ty.vec_type(width)),
        _ => Err(LlvmError::Malformed("vectors have scalar elements")),
    }
}

impl<'ctx> Emitter<'ctx, '_> {
    /// The vector of values of a type in registers.
    pub(super) fn vector_type(&self, ty: DType, width: u32) -> Result<VectorType<'ctx>, LlvmError> {
        vector_of(value::register_type(self.context, ty), width)
    }

    /// A value of type `ty` as a vector.
    pub(super) fn spread(&self, value: Lanes<'ctx>, ty: DType, width: u32) -> Result<VectorValue<'ctx>, LlvmError> {
        match value {
            Lanes::Varying(vector) => Ok(vector),
            Lanes::Uniform(value) if !ty.is_complex() => self.splat(value.parts().0, width),
            Lanes::Uniform(_) => Err(NOT_ON_TYPE),
        }
    }

    /// The value of an expression in the lanes.
    pub(super) fn lanes(&mut self, state: &VectorLoop<'ctx, '_>, expr: ExprId) -> Result<Lanes<'ctx>, LlvmError> {
        let mut known: Vec<(ExprId, Lanes<'ctx>)> = Vec::new();
        let mut pending = vec![expr];
        while let Some(&expr) = pending.last() {
            let find = |operand: ExprId| known.iter().find(|(id, _)| *id == operand).map(|&(_, value)| value);
            if find(expr).is_none() {
                if !state.known.varies(self.source, expr) {
                    let value = Lanes::Uniform(self.eval(expr)?);
                    known.push((expr, value));
                } else if let Some(mask) = self.bits_of_word(state, expr)? {
                    known.push((expr, Lanes::Varying(mask)));
                } else {
                    let operands: Vec<ExprId> = self.source.exprs[expr].operands().collect();
                    let missing: Vec<ExprId> = operands.iter().copied().filter(|&id| find(id).is_none()).collect();
                    if !missing.is_empty() {
                        pending.extend(missing);
                        continue;
                    }
                    let operands: Vec<Lanes> = operands.into_iter().filter_map(find).collect();
                    let value = self.combine_lanes(state, expr, &operands)?;
                    known.push((expr, value));
                }
            }
            pending.pop();
        }
        let last = known.last().map(|&(_, value)| value);
        last.ok_or(LlvmError::Malformed("an expression has a value"))
    }

    /// The value of an expression that varies, from its operands' values.
    fn combine_lanes(
        &mut self,
        state: &VectorLoop<'ctx, '_>,
        expr: ExprId,
        operands: &[Lanes<'ctx>],
    ) -> Result<Lanes<'ctx>, LlvmError> {
        let width = state.width;
        match (self.source.exprs[expr], operands) {
            (Expr::Var(var), _) if var == state.known.counter => {
                let first = self.splat(state.counter.into(), width)?;
                Ok(Lanes::Varying(self.builder.build_int_add(first, self.iota(0, width), "")?))
            }
            (Expr::Var(var), _) => state.get(var),
            (Expr::Unary(op, a), &[x]) => self.unary_lanes(state, op, self.source.type_of(a), x),
            (Expr::Binary(op, a, _), &[x, y]) => self.binary_lanes(state, op, self.source.type_of(a), x, y),
            (Expr::Compare(op, a, _), &[x, y]) => {
                let ty = self.source.type_of(a);
                let (x, y) = (self.spread(x, ty, width)?, self.spread(y, ty, width)?);
                Ok(Lanes::Varying(match ty.kind() {
                    Kind::Real => self.builder.build_float_compare(real_predicate(op), x, y, "")?,
                    kind => self.builder.build_int_compare(int_predicate(op, kind == Kind::Signed), x, y, "")?,
                }))
            }
            (Expr::Select(_, a, _), &[condition, x, y]) => {
                let ty = self.source.type_of(a);
                let condition = self.spread(condition, DType::Bool, width)?;
                let (x, y) = (self.spread(x, ty, width)?, self.spread(y, ty, width)?);
                Ok(Lanes::Varying(self.builder.build_select(condition, x, y, "")?.into_vector_value()))
            }
            (Expr::Cast(to, a), &[x]) => self.cast_lanes(state, self.source.type_of(a), to, x),
            (Expr::Word(op, word, _), &[x, y]) => self.word_lanes(state, op, self.source.type_of(word), [x, y]),
            _ => Err(LlvmError::Malformed("an operation has its operands")),
        }
    }

    pub(super) fn unary_lanes(
        &mut self,
        state: &VectorLoop<'ctx, '_>,
        op: UnaryOp,
        ty: DType,
        x: Lanes<'ctx>,
    ) -> Result<Lanes<'ctx>, LlvmError> {
        if let Lanes::Uniform(value) = x {
            return Ok(Lanes::Uniform(self.unary(op, ty, value)?));
        }
        let x = self.spread(x, ty, state.width)?;
        let name = match (op, ty.kind()) {
            (UnaryOp::Not, Kind::Bool) => return Ok(Lanes::Varying(self.builder.build_not(x, "")?)),
            (UnaryOp::Neg, Kind::Real) => return Ok(Lanes::Varying(self.builder.build_float_neg(x, "")?)),
            (UnaryOp::Neg, Kind::Signed | Kind::Unsigned) => {
                return Ok(Lanes::Varying(self.builder.build_int_neg(x, "")?));
            }
            (UnaryOp::CountOnes, Kind::Unsigned) => "llvm.ctpop",
            (UnaryOp::Abs, Kind::Real) => "llvm.fabs",
            (UnaryOp::Sqrt, Kind::Real) => "llvm.sqrt",
            (UnaryOp::Floor, Kind::Real) => "llvm.floor",
            (UnaryOp::Ceil, Kind::Real) => "llvm.ceil",
            _ => return Err(NOT_ON_TYPE),
        };
        Ok(Lanes::Varying(self.vector_intrinsic(name, &[x])?))
    }

    /// An operation on two values of type `ty`.
    pub(super) fn binary_lanes(
        &mut self,
        state: &VectorLoop<'ctx, '_>,
        op: BinaryOp,
        ty: DType,
        x: Lanes<'ctx>,
        y: Lanes<'ctx>,
    ) -> Result<Lanes<'ctx>, LlvmError> {
        if let (Lanes::Uniform(x), Lanes::Uniform(y)) = (x, y) {
            return Ok(Lanes::Uniform(self.binary(op, ty, x, y)?));
        }
        let (x, y) = (self.spread(x, ty, state.width)?, self.spread(y, ty, state.width)?);
        Ok(Lanes::Varying(self.combine_vectors(op, ty, x, y)?))
    }

    /// An operation on two vectors of elements of type `ty`.
    pub(super) fn combine_vectors(
        &self,
        op: BinaryOp,
        ty: DType,
        x: VectorValue<'ctx>,
        y: VectorValue<'ctx>,
    ) -> Result<VectorValue<'ctx>, LlvmError> {
        let builder = &self.builder;
        let signed = ty.kind() == Kind::Signed;
        let extreme = |op| -> Result<VectorValue<'ctx>, LlvmError> {
            let first = builder.build_int_compare(int_predicate(op, signed), x, y, "")?;
            Ok(builder.build_select(first, x, y, "")?.into_vector_value())
        };
        Ok(match (op, ty.kind()) {
            (BinaryOp::Add, Kind::Real) => builder.build_float_add(x, y, "")?,
            (BinaryOp::Sub, Kind::Real) => builder.build_float_sub(x, y, "")?,
            (BinaryOp::Mul, Kind::Real) => builder.build_float_mul(x, y, "")?,
            (BinaryOp::Div, Kind::Real) => builder.build_float_div(x, y, "")?,
            (BinaryOp::Min, Kind::Real) => self.vector_intrinsic("llvm.minimum", &[x, y])?,
            (BinaryOp::Max, Kind::Real) => self.vector_intrinsic("llvm.maximum", &[x, y])?,
            (BinaryOp::Or, _) | (BinaryOp::Add | BinaryOp::Max, Kind::Bool) => builder.build_or(x, y, "")?,
            (BinaryOp::And, _) | (BinaryOp::Mul | BinaryOp::Min, Kind::Bool) => builder.build_and(x, y, "")?,
            (BinaryOp::Xor, _) => builder.build_xor(x, y, "")?,
            (BinaryOp::Add, Kind::Signed | Kind::Unsigned) => builder.build_int_add(x, y, "")?,
            (BinaryOp::Sub, Kind::Signed | Kind::Unsigned) => builder.build_int_sub(x, y, "")?,
            (BinaryOp::Mul, Kind::Signed | Kind::Unsigned) => builder.build_int_mul(x, y, "")?,
            (BinaryOp::Shl | BinaryOp::Shr, Kind::Unsigned) => {
                // Shifts are modulo the bits of a number.
                let one = x.get_type().get_element_type().into_int_type();
                let most =
                    self.splat(one.const_int(8 * ty.size() as u64 - 1, false).into(), x.get_type().get_size())?;
                let by = builder.build_and(y, most, "")?;
                match op {
                    BinaryOp::Shl => builder.build_left_shift(x, by, "")?,
                    _ => builder.build_right_shift(x, by, false, "")?,
                }
            }
            (BinaryOp::Min, Kind::Signed | Kind::Unsigned) => extreme(CompareOp::Lt)?,
            (BinaryOp::Max, Kind::Signed | Kind::Unsigned) => extreme(CompareOp::Gt)?,
            _ => return Err(NOT_ON_TYPE),
        })
    }

    pub(super) fn cast_lanes(
        &mut self,
        state: &VectorLoop<'ctx, '_>,
        from: DType,
        to: DType,
        x: Lanes<'ctx>,
    ) -> Result<Lanes<'ctx>, LlvmError> {
        if let Lanes::Uniform(value) = x {
            return Ok(Lanes::Uniform(self.cast(from, to, value)?));
        }
        if from == to {
            return Ok(x);
        }
        let x = self.spread(x, from, state.width)?;
        if from.is_storage() {
            let wide = Lanes::Varying(self.widen_lanes(from, x)?);
            return self.cast_lanes(state, from.arithmetic(), to, wide);
        }
        if to.is_storage() {
            let single = self.cast_lanes(state, from, to.arithmetic(), Lanes::Varying(x))?;
            let single = self.spread(single, to.arithmetic(), state.width)?;
            return Ok(Lanes::Varying(self.narrow_lanes(to, single)?));
        }
        let builder = &self.builder;
        let ty = self.vector_type(to, state.width)?;
        let zero = x.get_type().const_zero();
        let signed = from.kind() == Kind::Signed;
        Ok(Lanes::Varying(match (from.kind(), to.kind()) {
            (Kind::Real, Kind::Bool) => builder.build_float_compare(FloatPredicate::UNE, x, zero, "")?,
            (_, Kind::Bool) => builder.build_int_compare(IntPredicate::NE, x, zero, "")?,
            (Kind::Real, Kind::Real) if from.size() < to.size() => builder.build_float_ext(x, ty, "")?,
            (Kind::Real, Kind::Real) => builder.build_float_trunc(x, ty, "")?,
            (Kind::Real, kind) => {
                let name = if kind == Kind::Signed { "llvm.fptosi.sat" } else { "llvm.fptoui.sat" };
                let types = [ty.as_basic_type_enum(), x.get_type().as_basic_type_enum()];
                self.intrinsic(name, &types, &[x.into()])?.into_vector_value()
            }
            (_, Kind::Real) if signed => builder.build_signed_int_to_float(x, ty, "")?,
            (_, Kind::Real) => builder.build_unsigned_int_to_float(x, ty, "")?,
            _ if from == DType::Bool || (from.size() < to.size() && !signed) => {
                builder.build_int_z_extend(x, ty, "")?
            }
            _ if from.size() < to.size() => builder.build_int_s_extend(x, ty, "")?,
            _ if from.size() > to.size() => builder.build_int_truncate(x, ty, "")?,
            _ => x,
        }))
    }

    /// An intrinsic of LLVM on vectors of one type, which gives a vector of that type.
    fn vector_intrinsic(&self, name: &str, args: &[VectorValue<'ctx>]) -> Result<VectorValue<'ctx>, LlvmError> {
        let ty = args.first().map(|arg| arg.get_type().as_basic_type_enum());
        let args: Vec<BasicMetadataValueEnum> = args.iter().map(|&arg| arg.into()).collect();
        Ok(self.intrinsic(name, ty.as_slice(), &args)?.into_vector_value())
    }

    /// All lanes of a vector combined.
    pub(super) fn reduce_vector(
        &self,
        op: BinaryOp,
        ty: DType,
        x: VectorValue<'ctx>,
    ) -> Result<Value<'ctx>, LlvmError> {
        let types = [x.get_type().as_basic_type_enum()];
        let start = |value: f64| BasicMetadataValueEnum::from(value::real_type(self.context, ty).const_float(value));
        let (name, args) = match (op, ty.kind()) {
            (BinaryOp::Add, Kind::Real) => ("llvm.vector.reduce.fadd", vec![start(-0.0), x.into()]),
            (BinaryOp::Mul, Kind::Real) => ("llvm.vector.reduce.fmul", vec![start(1.0), x.into()]),
            (BinaryOp::Min, Kind::Real) => ("llvm.vector.reduce.fminimum", vec![x.into()]),
            (BinaryOp::Max, Kind::Real) => ("llvm.vector.reduce.fmaximum", vec![x.into()]),
            (BinaryOp::Or, _) | (BinaryOp::Add | BinaryOp::Max, Kind::Bool) => {
                ("llvm.vector.reduce.or", vec![x.into()])
            }
            (BinaryOp::And, _) | (BinaryOp::Mul | BinaryOp::Min, Kind::Bool) => {
                ("llvm.vector.reduce.and", vec![x.into()])
            }
            (BinaryOp::Xor, _) => ("llvm.vector.reduce.xor", vec![x.into()]),
            (BinaryOp::Add, _) => ("llvm.vector.reduce.add", vec![x.into()]),
            (BinaryOp::Mul, _) => ("llvm.vector.reduce.mul", vec![x.into()]),
            (BinaryOp::Min, Kind::Signed) => ("llvm.vector.reduce.smin", vec![x.into()]),
            (BinaryOp::Min, _) => ("llvm.vector.reduce.umin", vec![x.into()]),
            (BinaryOp::Max, Kind::Signed) => ("llvm.vector.reduce.smax", vec![x.into()]),
            (BinaryOp::Max, _) => ("llvm.vector.reduce.umax", vec![x.into()]),
            _ => return Err(NOT_ON_TYPE),
        };
        let total: BasicValueEnum = self.intrinsic(name, &types, &args)?;
        if let (true, Some(call)) = (ty.is_float(), total.as_instruction_value()) {
            // Only reductions of functions that are not strict are vectors.
            let set = call.set_fast_math_flags(FastMathFlags::AllowReassoc);
            set.map_err(|_| LlvmError::Malformed("a sum takes floating-point flags"))?;
        }
        Ok(Value::from_parts(total, None))
    }
}
