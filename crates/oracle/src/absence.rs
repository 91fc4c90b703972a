//! Absent entries in the oracle: their values, and the results of functions of them.
//!
//! ```
//! use lacunar_formats::DType;
//! use lacunar_notation::BinaryFn;
//! use lacunar_oracle::absence::{Value, binary};
//! use lacunar_oracle::scalar::Scalar::Real;
//! let (infinite, two) = (Value::Absent(Real(f64::INFINITY)), Value::Stored(Real(2.0)));
//! assert_eq!(binary(BinaryFn::Add, infinite, two, DType::F64), infinite);
//! assert_eq!(binary(BinaryFn::Min, infinite, two, DType::F64), two);
//! ```

use lacunar_formats::{DType, Kind};
use lacunar_notation::{BinaryFn, UnaryFn};

use crate::scalar::Scalar;

/// A value, and its origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Computed of some entry.
    Stored(Scalar),
    /// Computed of constants of the program, and perhaps of absent zeros.
    Written(Scalar),
    /// Computed of entries that are not there.
    Absent(Scalar),
}

impl Value {
    /// The value alone.
    pub fn scalar(self) -> Scalar {
        match self {
            Value::Stored(value) | Value::Written(value) | Value::Absent(value) => value,
        }
    }

    /// True if a result with this fill value has no entry here.
    pub fn rests_at(self, fill: Scalar) -> bool {
        match self {
            Value::Stored(_) => false,
            Value::Absent(value) if fill.is_zero() => value.is_zero(),
            Value::Written(_) if fill.is_zero() => false,
            Value::Written(value) | Value::Absent(value) => value == fill,
        }
    }

    fn is_filled(self) -> bool {
        matches!(self, Value::Absent(value) if !value.is_zero())
    }
}

/// A function of one operand.
pub fn unary(a: Value, function: impl FnOnce(Scalar) -> Scalar) -> Value {
    let value = function(a.scalar());
    match a {
        Value::Stored(_) => Value::Stored(value),
        Value::Absent(before) if !before.is_zero() || value.is_zero() => Value::Absent(value),
        Value::Absent(_) | Value::Written(_) => Value::Written(value),
    }
}

/// A value that is left out if it is 0.
pub fn pruned(a: Value) -> Value {
    if a.scalar().is_zero() { Value::Absent(a.scalar()) } else { a }
}

/// A value converted to a type; a pattern has all values that are not absent.
pub fn cast(a: Value, dtype: DType) -> Value {
    match a {
        Value::Absent(_) if dtype == DType::Pattern => Value::Absent(Scalar::Bool(false)),
        _ => unary(a, |value| value.cast(dtype)),
    }
}

/// A function of two operands of type `dtype`.
pub fn binary(function: BinaryFn, a: Value, b: Value, dtype: DType) -> Value {
    if let Value::Absent(left) = a
        && annihilates(function, left, dtype, true)
    {
        return Value::Absent(left);
    }
    if let Value::Absent(right) = b
        && annihilates(function, right, dtype, false)
    {
        return Value::Absent(right);
    }
    let value = a.scalar().binary(function, b.scalar(), dtype);
    let zero = |operand: Value| matches!(operand, Value::Absent(value) if value.is_zero());
    match (function, a, b) {
        (BinaryFn::Add, _, Value::Stored(present)) if zero(a) => Value::Stored(present),
        (BinaryFn::Add | BinaryFn::Sub, Value::Stored(present), _) if zero(b) => Value::Stored(present),
        (BinaryFn::Sub, _, Value::Stored(present)) if zero(a) => Value::Stored(present.unary(UnaryFn::Neg, dtype)),
        (_, Value::Stored(_), _) | (_, _, Value::Stored(_)) => Value::Stored(value),
        _ if a.is_filled() || b.is_filled() || ((zero(a) || zero(b)) && value.is_zero()) => Value::Absent(value),
        _ => Value::Written(value),
    }
}

/// The second of three values where the first, a condition, is true, else the third. It is absent if both are not stored and the
/// same, one of them being absent. Otherwise a condition that is not stored gives one of them as it is, but a written zero is
/// absent if the condition is.
///
/// ```
/// use lacunar_oracle::absence::{Value, selected};
/// use lacunar_oracle::scalar::Scalar::{Bool, Real};
/// let (one, nothing) = (Value::Stored(Real(1.0)), Value::Absent(Real(0.0)));
/// assert_eq!(selected([Value::Absent(Bool(false)), one, nothing]), nothing);
/// assert_eq!(selected([Value::Stored(Bool(false)), one, nothing]), Value::Stored(Real(0.0)));
/// assert_eq!(selected([Value::Stored(Bool(true)), nothing, nothing]), nothing);
/// ```
pub fn selected([condition, a, b]: [Value; 3]) -> Value {
    let chosen = if condition.scalar().is_zero() { b } else { a };
    match (condition, a, b) {
        (_, Value::Absent(left), Value::Absent(right) | Value::Written(right))
        | (_, Value::Written(left), Value::Absent(right))
            if left == right =>
        {
            Value::Absent(left)
        }
        (Value::Stored(_), ..) => Value::Stored(chosen.scalar()),
        (Value::Absent(_), ..) if chosen.scalar().is_zero() && !matches!(chosen, Value::Stored(_)) => {
            Value::Absent(chosen.scalar())
        }
        _ => chosen,
    }
}

/// True if an absent operand of this value makes the result absent, with this value, whatever the other operand.
fn annihilates(function: BinaryFn, value: Scalar, dtype: DType, left: bool) -> bool {
    if value.is_zero() {
        return match function {
            BinaryFn::Mul | BinaryFn::And => true,
            BinaryFn::Div | BinaryFn::IntDiv | BinaryFn::Rem => left,
            _ => false,
        };
    }
    let infinite = matches!(value, Scalar::Real(value) if value.is_infinite());
    match function {
        BinaryFn::Add => infinite || dtype == DType::Bool,
        BinaryFn::Sub => infinite && left,
        BinaryFn::Min => Some(value) == extreme(dtype, false),
        BinaryFn::Max => Some(value) == extreme(dtype, true),
        BinaryFn::Or => match dtype.kind() {
            Kind::Signed => value == Scalar::Int(-1),
            _ => Some(value) == extreme(dtype, true),
        },
        _ => false,
    }
}

/// The value that an operation leaves others as they are with, on a type.
pub fn identity(operation: BinaryFn, dtype: DType) -> Scalar {
    let found = match operation {
        BinaryFn::Mul => Some(Scalar::Bool(true).cast(dtype)),
        BinaryFn::Min => extreme(dtype, true),
        BinaryFn::Max => extreme(dtype, false),
        BinaryFn::And if dtype.kind() == Kind::Signed => Some(Scalar::Int(-1)),
        BinaryFn::And => extreme(dtype, true),
        BinaryFn::ArgMin | BinaryFn::ArgMax => Some(Scalar::Int(-1)),
        _ => None,
    };
    found.unwrap_or(Scalar::zero(dtype))
}

/// True if an operation on a value and itself gives the value.
pub fn is_idempotent(operation: BinaryFn, dtype: DType) -> bool {
    match operation {
        BinaryFn::Add | BinaryFn::Mul => dtype == DType::Bool,
        BinaryFn::Xor => false,
        _ => true,
    }
}

/// The greatest value of a type, or the least.
fn extreme(dtype: DType, greatest: bool) -> Option<Scalar> {
    let bits = 8 * dtype.size() as u32;
    match dtype.kind() {
        Kind::Bool => Some(Scalar::Bool(greatest)),
        Kind::Unsigned => Some(Scalar::Int(if greatest { (1 << bits) - 1 } else { 0 })),
        Kind::Signed => Some(Scalar::Int(if greatest { (1 << (bits - 1)) - 1 } else { -(1 << (bits - 1)) })),
        Kind::Real => Some(Scalar::Real(if greatest { f64::INFINITY } else { f64::NEG_INFINITY })),
        Kind::Complex => None,
    }
}
