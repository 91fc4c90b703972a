//! The functions of index notation as operations of the imperative IR: for code that is built, and for constants.
//!
//! ```text
//! square(x)         x * x
//! heaviside(x, h)   x < 0 ? 0 : x == 0 ? h : x > 0 ? 1 : x
//! ```

use lacunar_formats::{DType, Kind, Scalar};
use lacunar_imp::{BinaryOp, Builder, CompareOp, Const, ExprId, UnaryOp, arith};
use lacunar_notation::{BinaryFn, Literal, Monoid, UnaryFn};

/// A way to carry operations out: in code, or on constants.
pub trait Arithmetic {
    /// A value.
    type Value: Copy;
    /// The type of a value.
    fn type_of(&self, value: Self::Value) -> DType;
    /// A constant.
    fn constant(&mut self, value: Const) -> Self::Value;
    /// An operation on one operand.
    fn unary(&mut self, op: UnaryOp, a: Self::Value) -> Self::Value;
    /// An operation on two operands.
    fn binary(&mut self, op: BinaryOp, a: Self::Value, b: Self::Value) -> Self::Value;
    /// A comparison.
    fn compare(&mut self, op: CompareOp, a: Self::Value, b: Self::Value) -> Self::Value;
    /// One value if a condition holds, else another.
    fn select(&mut self, condition: Self::Value, then: Self::Value, otherwise: Self::Value) -> Self::Value;
}

impl Arithmetic for Builder {
    type Value = ExprId;

    fn type_of(&self, value: ExprId) -> DType {
        self.type_of(value)
    }

    fn constant(&mut self, value: Const) -> ExprId {
        self.constant(value)
    }

    fn unary(&mut self, op: UnaryOp, a: ExprId) -> ExprId {
        self.unary(op, a)
    }

    fn binary(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> ExprId {
        self.binary(op, a, b)
    }

    fn compare(&mut self, op: CompareOp, a: ExprId, b: ExprId) -> ExprId {
        self.compare(op, a, b)
    }

    fn select(&mut self, condition: ExprId, then: ExprId, otherwise: ExprId) -> ExprId {
        self.select(condition, then, otherwise)
    }
}

/// Constants are computed as the interpreter does.
pub struct Constants;

impl Arithmetic for Constants {
    type Value = Scalar;

    fn type_of(&self, value: Scalar) -> DType {
        value.ty
    }

    fn constant(&mut self, value: Scalar) -> Scalar {
        value
    }

    fn unary(&mut self, op: UnaryOp, a: Scalar) -> Scalar {
        arith::unary(op, a)
    }

    fn binary(&mut self, op: BinaryOp, a: Scalar, b: Scalar) -> Scalar {
        arith::binary(op, a, b)
    }

    fn compare(&mut self, op: CompareOp, a: Scalar, b: Scalar) -> Scalar {
        Scalar::bool(arith::compare(op, a, b))
    }

    fn select(&mut self, condition: Scalar, then: Scalar, otherwise: Scalar) -> Scalar {
        if condition.is_zero() { otherwise } else { then }
    }
}

/// A function of one operand.
pub fn unary<A: Arithmetic>(at: &mut A, function: UnaryFn, a: A::Value) -> A::Value {
    let ty = at.type_of(a);
    let op = match function {
        UnaryFn::Square => return at.binary(BinaryOp::Mul, a, a),
        UnaryFn::Cube => {
            let square = at.binary(BinaryOp::Mul, a, a);
            return at.binary(BinaryOp::Mul, square, a);
        }
        // The real part of a real number is the number; its imaginary part is zero.
        UnaryFn::Real | UnaryFn::Conj if !ty.is_complex() => return a,
        // The assignment leaves out the values that are pruned.
        UnaryFn::Prune => return a,
        UnaryFn::Imag if !ty.is_complex() => return at.constant(Const::zero(ty)),
        UnaryFn::Abs if matches!(ty.kind(), Kind::Unsigned | Kind::Bool) => return a,
        UnaryFn::Sign if ty == DType::Bool => return a,
        UnaryFn::Floor | UnaryFn::Ceil if !ty.is_float() => return a,
        UnaryFn::Neg => UnaryOp::Neg,
        UnaryFn::Not => UnaryOp::Not,
        UnaryFn::Abs => UnaryOp::Abs,
        UnaryFn::Real => UnaryOp::Real,
        UnaryFn::Imag => UnaryOp::Imag,
        UnaryFn::Conj => UnaryOp::Conj,
        UnaryFn::Sqrt => UnaryOp::Sqrt,
        UnaryFn::Cbrt => UnaryOp::Cbrt,
        UnaryFn::Exp => UnaryOp::Exp,
        UnaryFn::Log => UnaryOp::Log,
        UnaryFn::Log10 => UnaryOp::Log10,
        UnaryFn::Sin => UnaryOp::Sin,
        UnaryFn::Cos => UnaryOp::Cos,
        UnaryFn::Tan => UnaryOp::Tan,
        UnaryFn::Asin => UnaryOp::Asin,
        UnaryFn::Acos => UnaryOp::Acos,
        UnaryFn::Atan => UnaryOp::Atan,
        UnaryFn::Sinh => UnaryOp::Sinh,
        UnaryFn::Cosh => UnaryOp::Cosh,
        UnaryFn::Tanh => UnaryOp::Tanh,
        UnaryFn::Asinh => UnaryOp::Asinh,
        UnaryFn::Acosh => UnaryOp::Acosh,
        UnaryFn::Atanh => UnaryOp::Atanh,
        UnaryFn::Floor => UnaryOp::Floor,
        UnaryFn::Ceil => UnaryOp::Ceil,
        UnaryFn::Sign => UnaryOp::Sign,
    };
    at.unary(op, a)
}

/// A function of two operands of one type.
pub fn binary<A: Arithmetic>(at: &mut A, function: BinaryFn, a: A::Value, b: A::Value) -> A::Value {
    let op = match function {
        BinaryFn::Eq => return at.compare(CompareOp::Eq, a, b),
        BinaryFn::Ne => return at.compare(CompareOp::Ne, a, b),
        BinaryFn::Lt => return at.compare(CompareOp::Lt, a, b),
        BinaryFn::Le => return at.compare(CompareOp::Le, a, b),
        BinaryFn::Gt => return at.compare(CompareOp::Gt, a, b),
        BinaryFn::Ge => return at.compare(CompareOp::Ge, a, b),
        BinaryFn::Heaviside => return heaviside(at, a, b),
        BinaryFn::Any => {
            let zero = at.constant(Const::zero(at.type_of(a)));
            let is_some = at.compare(CompareOp::Ne, a, zero);
            return at.select(is_some, a, b);
        }
        // The value beside an index, and those of two of them, are the business of accumulators.
        BinaryFn::At => return b,
        BinaryFn::ArgMin | BinaryFn::ArgMax => return a,
        BinaryFn::Add => BinaryOp::Add,
        BinaryFn::Sub => BinaryOp::Sub,
        BinaryFn::Mul => BinaryOp::Mul,
        BinaryFn::Div | BinaryFn::IntDiv => BinaryOp::Div,
        BinaryFn::Rem => BinaryOp::Rem,
        BinaryFn::Min => BinaryOp::Min,
        BinaryFn::Max => BinaryOp::Max,
        BinaryFn::Pow => BinaryOp::Pow,
        BinaryFn::Atan2 => BinaryOp::Atan2,
        BinaryFn::And => BinaryOp::And,
        BinaryFn::Or => BinaryOp::Or,
        BinaryFn::Xor => BinaryOp::Xor,
    };
    at.binary(op, a, b)
}

/// The operation of the IR that combines values as a monoid does, if there is one: lanes reduce among themselves by it, and memory
/// takes it indivisibly.
pub fn reduction(monoid: Monoid) -> Option<BinaryOp> {
    Some(match monoid.function() {
        BinaryFn::Add => BinaryOp::Add,
        BinaryFn::Mul => BinaryOp::Mul,
        BinaryFn::Min => BinaryOp::Min,
        BinaryFn::Max => BinaryOp::Max,
        BinaryFn::And => BinaryOp::And,
        BinaryFn::Or => BinaryOp::Or,
        BinaryFn::Xor => BinaryOp::Xor,
        _ => return None,
    })
}

/// `x < 0 ? 0 : x == 0 ? h : x > 0 ? 1 : x`; the last is NaN.
fn heaviside<A: Arithmetic>(at: &mut A, x: A::Value, at_zero: A::Value) -> A::Value {
    let ty = at.type_of(x);
    let (zero, one) = (at.constant(Const::zero(ty)), at.constant(Const::one(ty)));
    let above = at.compare(CompareOp::Gt, x, zero);
    let above = at.select(above, one, x);
    let equal = at.compare(CompareOp::Eq, x, zero);
    let from_zero = at.select(equal, at_zero, above);
    let below = at.compare(CompareOp::Lt, x, zero);
    at.select(below, zero, from_zero)
}

/// A literal as a constant of a type.
pub fn constant(literal: Literal, ty: DType) -> Const {
    match literal {
        Literal::Absent => Const::zero(ty),
        Literal::Fill(value) => value,
        Literal::Bool(value) if ty.is_float() => Const::real(ty, f64::from(u8::from(value))),
        Literal::Bool(value) => Const::int(ty, i64::from(value)),
        Literal::Int(value) if ty.is_float() => Const::real(ty, value as f64),
        Literal::Int(value) if ty == DType::Bool => Const::bool(value != 0),
        Literal::Int(value) => Const::int(ty, value as i64),
        Literal::Float(value) if ty.is_float() => Const::real(ty, value),
        Literal::Float(value) if ty == DType::Bool => Const::bool(value != 0.0),
        Literal::Float(value) => Const::int(ty, value as i64),
    }
}
