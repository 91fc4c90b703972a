//! The functions of index notation as operations of the imperative IR: for code that is built, and for constants.
//!
//! ```text
//! square(x)         x * x
//! an operator       its body, with the operands in their places; with regions, selections between their bodies
//! heaviside(x, h)   x < 0 ? 0 : x == 0 ? h : x > 0 ? 1 : x
//! ```

use lacunar_formats::{DType, External, Kind, Scalar};
use lacunar_imp::{BinaryOp, Builder, CompareOp, Const, Expr as Code, ExprId, UnaryOp, arith};
use lacunar_notation::operator::Bodies;
use lacunar_notation::{BinaryFn, Expr, ExprKind, Monoid, Operator, UnaryFn};

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
    /// A conversion.
    fn cast(&mut self, dtype: DType, a: Self::Value) -> Self::Value;
    /// A call of a function of other code, with as many operands as it has.
    fn external(&mut self, function: External, operands: &[Self::Value]) -> Self::Value;
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

    fn cast(&mut self, dtype: DType, a: ExprId) -> ExprId {
        self.cast(dtype, a)
    }

    fn external(&mut self, function: External, operands: &[ExprId]) -> ExprId {
        match *operands {
            [a, ref rest @ ..] => self.expr(Code::Extern(function, a, rest.first().copied())),
            [] => self.constant(Const::zero(function.signature().result)),
        }
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

    fn cast(&mut self, dtype: DType, a: Scalar) -> Scalar {
        arith::cast(dtype, a)
    }

    fn external(&mut self, function: External, operands: &[Scalar]) -> Scalar {
        function.call(operands)
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
        BinaryFn::User(operator) => return apply(at, operator, &[a, b], 0),
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

/// An operator that the program declares, for operands of its type. Bit `k` of `absent` says that operand `k` is known not to be present.
pub fn apply<A: Arithmetic>(at: &mut A, operator: Operator, operands: &[A::Value], absent: usize) -> A::Value {
    let Some(typed) = operator.typed() else { return at.constant(Const::zero(DType::F64)) };
    match &typed.bodies {
        Bodies::One(body) => value_of(at, body, operands),
        Bodies::External(function) => at.external(*function, operands),
        Bodies::Regions(bodies) => {
            let present: Vec<Presence<A::Value>> = (operands.iter().zip(&typed.rests).enumerate())
                .map(|(k, (operand, rest))| match rest {
                    _ if absent >> k & 1 == 1 => Presence::Never,
                    None => Presence::Always,
                    Some(rest) => Presence::If(differs(at, *operand, *rest)),
                })
                .collect();
            let values: Vec<Option<A::Value>> =
                bodies.iter().map(|body| body.as_ref().map(|body| value_of(at, body, operands))).collect();
            let otherwise = values.first().copied().flatten();
            let otherwise = otherwise.unwrap_or_else(|| at.constant(Const::zero(typed.result)));
            chosen(at, &values, (&present, operands.len()), otherwise)
        }
    }
}

/// True, false, or a condition: that an operand is present.
enum Presence<V> {
    Never,
    Always,
    If(V),
}

/// True if a value is another than the one at which it is not present.
fn differs<A: Arithmetic>(at: &mut A, value: A::Value, rest: Scalar) -> A::Value {
    // Only NaN differs from itself.
    if arith::compare(CompareOp::Ne, rest, rest) {
        return at.compare(CompareOp::Eq, value, value);
    }
    let rest = at.constant(rest);
    at.compare(CompareOp::Ne, value, rest)
}

/// The value of the region that holds: the last of `left` operands is the uppermost bit of the numbers of these values.
fn chosen<A: Arithmetic>(
    at: &mut A,
    values: &[Option<A::Value>],
    (present, left): (&[Presence<A::Value>], usize),
    otherwise: A::Value,
) -> A::Value {
    let (Some(last), false) = (left.checked_sub(1), values.iter().all(Option::is_none)) else {
        return values.first().copied().flatten().unwrap_or(otherwise);
    };
    let (without, with) = values.split_at(values.len() / 2);
    match present.get(last) {
        Some(Presence::Always) => chosen(at, with, (present, last), otherwise),
        Some(Presence::If(condition)) => {
            let with = chosen(at, with, (present, last), otherwise);
            let without = chosen(at, without, (present, last), otherwise);
            at.select(*condition, with, without)
        }
        Some(Presence::Never) | None => chosen(at, without, (present, last), otherwise),
    }
}

/// The value of a body, whose operands are accesses of order 0.
fn value_of<A: Arithmetic>(at: &mut A, body: &Expr, operands: &[A::Value]) -> A::Value {
    let zero = |at: &mut A| at.constant(Const::zero(body.dtype));
    match &body.kind {
        ExprKind::Literal(literal) => at.constant(literal.value(body.dtype)),
        ExprKind::Access(access) => match operands.get(access.tensor.index()) {
            Some(operand) => *operand,
            None => zero(at),
        },
        ExprKind::Unary(function, a) => {
            let a = value_of(at, a, operands);
            unary(at, *function, a)
        }
        ExprKind::Binary(function, a, b) => {
            let (a, b) = (value_of(at, a, operands), value_of(at, b, operands));
            binary(at, *function, a, b)
        }
        ExprKind::Select(parts) => {
            let [condition, a, b] = parts.each_ref().map(|part| value_of(at, part, operands));
            at.select(condition, a, b)
        }
        ExprKind::Apply(operator, parts) => {
            let parts: Vec<A::Value> = parts.iter().map(|part| value_of(at, part, operands)).collect();
            apply(at, *operator, &parts, 0)
        }
        ExprKind::Cast(a) => {
            let a = value_of(at, a, operands);
            at.cast(body.dtype, a)
        }
        // No body has a reduction.
        ExprKind::Reduce(..) => zero(at),
    }
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
