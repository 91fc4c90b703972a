//! Values whose type may still be open, and the types that they mix into.

use lacunar_formats::{DType, Kind};
use lacunar_notation::{BinaryFn, UnaryFn};

use crate::scalar::Scalar;
use crate::sums::{Node, Term, cast};
use crate::types::{computed_in, mixed, of_binary, of_unary};

/// A value whose type may still be open.
pub(super) enum Value {
    /// A constant.
    Open(Constant),
    /// A term, and the type by which it mixes. The term's own type is there to compute in.
    Typed(Term, DType),
}

#[derive(Clone, Copy)]
pub(super) enum Constant {
    Whole(i128),
    Fraction(f64),
}

impl Constant {
    /// Its type if nothing else says one.
    pub(super) fn alone(self) -> DType {
        match self {
            Constant::Whole(value) if value > i128::from(i64::MAX) => DType::U64,
            Constant::Whole(_) => DType::I64,
            Constant::Fraction(_) => DType::F64,
        }
    }

    /// Its type, and that of the operand, beside an operand of a type.
    pub(super) fn beside(self, other: DType) -> DType {
        match (self, other.kind()) {
            (_, Kind::Bool) => self.alone(),
            (Constant::Fraction(_), Kind::Signed | Kind::Unsigned) => DType::F64,
            _ => other,
        }
    }

    pub(super) fn real(self) -> f64 {
        match self {
            Constant::Whole(value) => value as f64,
            Constant::Fraction(value) => value,
        }
    }

    pub(super) fn of(self, dtype: DType) -> Term {
        let value = match (self, dtype.kind()) {
            (Constant::Whole(value), Kind::Signed | Kind::Unsigned) => Scalar::Int(value),
            // A number of the program is rounded once.
            _ => Scalar::Real(self.real()).cast(dtype),
        };
        Term { node: Node::Constant(Some(value)), dtype }
    }
}

pub(super) fn alone(value: &Value) -> DType {
    match value {
        Value::Open(constant) => constant.alone(),
        Value::Typed(_, DType::Pattern) => DType::Bool,
        Value::Typed(_, dtype) => *dtype,
    }
}

/// The value in the type that a type is computed in.
pub(super) fn settled(value: Value, dtype: DType) -> Term {
    match value {
        Value::Open(constant) => constant.of(computed_in(dtype)),
        Value::Typed(term, _) => cast(term, computed_in(dtype)),
    }
}

pub(super) fn unary(function: UnaryFn, operand: Value) -> Value {
    match (function, &operand) {
        (UnaryFn::Neg, &Value::Open(Constant::Whole(value))) => return Value::Open(Constant::Whole(-value)),
        (UnaryFn::Neg, &Value::Open(Constant::Fraction(value))) => return Value::Open(Constant::Fraction(-value)),
        _ => {}
    }
    let (from, to) = of_unary(function, alone(&operand));
    let node = Node::Unary(function, Box::new(settled(operand, from)));
    Value::Typed(Term { node, dtype: computed_in(to) }, to)
}

pub(super) fn binary(function: BinaryFn, left: Value, right: Value) -> Value {
    let (from, to) = of_binary(function, mixed_values(&left, &right));
    let node = Node::Binary(function, Box::new(settled(left, from)), Box::new(settled(right, from)));
    Value::Typed(Term { node, dtype: computed_in(to) }, to)
}

/// The type that two values mix into.
pub(super) fn mixed_values(left: &Value, right: &Value) -> DType {
    match (left, right) {
        (&Value::Open(a), Value::Open(b)) => mixed(a.alone(), b.alone()),
        (&Value::Open(constant), other) | (other, &Value::Open(constant)) => constant.beside(alone(other)),
        (left, right) => mixed(alone(left), alone(right)),
    }
}

/// An operation on constants.
pub(super) fn computed(function: BinaryFn, a: Constant, b: Constant) -> Constant {
    match (function, a, b) {
        (BinaryFn::Add, Constant::Whole(a), Constant::Whole(b)) => Constant::Whole(a + b),
        (BinaryFn::Sub, Constant::Whole(a), Constant::Whole(b)) => Constant::Whole(a - b),
        (BinaryFn::Mul, Constant::Whole(a), Constant::Whole(b)) => Constant::Whole(a * b),
        (BinaryFn::Add, ..) => Constant::Fraction(a.real() + b.real()),
        (BinaryFn::Sub, ..) => Constant::Fraction(a.real() - b.real()),
        (BinaryFn::Mul, ..) => Constant::Fraction(a.real() * b.real()),
        _ => Constant::Fraction(a.real() / b.real()),
    }
}
