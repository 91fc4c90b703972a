//! Monoids: the operations that reductions combine values with.
//!
//! A reduction combines any number of values in any order, and none: it needs an operation that is associative and commutative, and
//! a value that leaves others as they are. Everything that a compiler does with sums follows from such facts:
//!
//! ```text
//! identity      the value of an accumulator before anything is combined with it        0, 1, inf, -inf, true, false
//! terminal      a value that nothing changes any more: the reduction may stop          min: -inf    or: true
//! idempotent    a value combined with itself is itself: repetitions need no counting   min max and or any
//! product       an operation that distributes over it: factors leave the reduction     * over sums, + over minima, and over or
//! ```
//!
//! The operation of `argmin` and `argmax` is one of pairs, an index and the value that it is the index of: of two pairs it keeps that
//! with the less (greater) value, and of equal values that with the smaller index. NaN is neither less nor greater and never kept.
//! The pair of -1 and the identity of `min` (`max`) leaves every other as it is. Expressions name the index alone
//! ([`BinaryFn::At`]), so that the reduction is one of numbers of type `i64` for all but accumulators ([`Monoid::compared`]).
//!
//! An operator that a program declares ([`crate::operator`]) is a monoid if it claims to be associative and commutative, and has an
//! identity. A reduction over nothing is absent. Papers: Henry et al., *Compilation of Sparse Array Programming Models* (OOPSLA 2021), §3
//! (declared properties); Kepner et al., *Mathematical Foundations of the GraphBLAS* (HPEC 2016), §III (semirings).
//!
//! ```
//! use lacunar_formats::{DType, Scalar};
//! use lacunar_notation::{BinaryFn, Monoid};
//! let shortest = Monoid::of(BinaryFn::Min).unwrap();
//! assert_eq!(shortest.identity(DType::F64), Some(Scalar::real(DType::F64, f64::INFINITY)));
//! assert_eq!(shortest.product(DType::F64), Some(BinaryFn::Add));
//! assert_eq!((shortest.name(), shortest.sign()), ("min", "min="));
//! ```

use lacunar_formats::{DType, Kind, Scalar};

use crate::operator::Operator;
use crate::ops::BinaryFn;

/// An associative and commutative function of two values, with an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Monoid(BinaryFn);

/// The built-in ones: the function, the name of a reduction, the sign of an assignment, and other signs of it.
const MONOIDS: &[(BinaryFn, &str, &str, &[&str])] = &[
    (BinaryFn::Add, "sum", "+=", &[]),
    (BinaryFn::Mul, "prod", "*=", &[]),
    (BinaryFn::Min, "min", "min=", &["minimum="]),
    (BinaryFn::Max, "max", "max=", &["maximum="]),
    (BinaryFn::And, "and", "and=", &["&=", "bitwise_and="]),
    (BinaryFn::Or, "or", "or=", &["|=", "bitwise_or="]),
    (BinaryFn::Xor, "xor", "xor=", &["^=", "bitwise_xor="]),
    (BinaryFn::Any, "any", "any=", &[]),
    (BinaryFn::ArgMin, "argmin", "argmin=", &[]),
    (BinaryFn::ArgMax, "argmax", "argmax=", &[]),
];

impl Monoid {
    /// Sums; on `bool`, or.
    pub const SUM: Monoid = Monoid(BinaryFn::Add);

    /// The monoid that a function is the operation of.
    pub fn of(function: BinaryFn) -> Option<Monoid> {
        if let BinaryFn::User(operator) = function {
            return operator.is_monoid().then_some(Monoid(function));
        }
        MONOIDS.iter().find(|(known, ..)| *known == function).map(|_| Monoid(function))
    }

    /// All that are built in.
    pub fn all() -> impl Iterator<Item = Monoid> {
        MONOIDS.iter().map(|(function, ..)| Monoid(*function))
    }

    /// The monoid of a reduction that is written `name(k, ...)`.
    pub fn parse(name: &str) -> Option<Monoid> {
        MONOIDS.iter().find(|(_, known, ..)| *known == name).map(|(function, ..)| Monoid(*function))
    }

    /// The monoid of an assignment that is written with this sign: `+=`, `min=`.
    pub fn of_sign(sign: &str) -> Option<Monoid> {
        let found = MONOIDS.iter().find(|(.., own, others)| *own == sign || others.contains(&sign));
        found.map(|(function, ..)| Monoid(*function))
    }

    fn entry(self) -> (&'static str, &'static str) {
        if let BinaryFn::User(operator) = self.0 {
            return (operator.name(), operator.sign());
        }
        MONOIDS.iter().find(|(known, ..)| *known == self.0).map_or(("?", "?="), |(_, name, sign, _)| (name, sign))
    }

    /// The name of a reduction: `sum`, `min`.
    pub fn name(self) -> &'static str {
        self.entry().0
    }

    /// The sign of an assignment: `+=`, `min=`.
    pub fn sign(self) -> &'static str {
        self.entry().1
    }

    /// The function of two values.
    pub fn function(self) -> BinaryFn {
        self.0
    }

    /// The type in which it combines values that come in another one: its own, if it is an operator that a program declares.
    pub fn operand(self, dtype: DType) -> DType {
        match self.0 {
            BinaryFn::User(operator) => operator.typed().map_or(dtype, |typed| typed.operand),
            _ => dtype,
        }
    }

    /// Adds the operators that it is made of, as they are declared, each once.
    pub fn operators(self, found: &mut Vec<Operator>) {
        if let BinaryFn::User(operator) = self.0 {
            operator.collect(found);
        }
    }

    /// True if it is defined on a type of values.
    pub fn is_defined(self, ty: DType) -> bool {
        self.0.result_type(ty) == Some(ty) && self.identity(ty).is_some()
    }

    /// The value that leaves every other as it is; `None` if the monoid is not defined on the type.
    pub fn identity(self, ty: DType) -> Option<Scalar> {
        self.0.identities(ty)[0]
    }

    /// True if the identity is 0.
    pub fn begins_at_zero(self, ty: DType) -> bool {
        self.identity(ty).is_some_and(Scalar::is_zero)
    }

    /// The value that no other changes, if there is one: a reduction that has come to it may stop.
    pub fn terminal(self, ty: DType) -> Option<Scalar> {
        match self.0 {
            BinaryFn::Add if ty == DType::Bool => Some(Scalar::bool(true)),
            BinaryFn::Mul if ty == DType::Bool => Some(Scalar::bool(false)),
            BinaryFn::And => Some(Scalar::zero(ty)),
            BinaryFn::Or => BinaryFn::And.identities(ty)[0],
            // A minimum of real numbers is not a number if one of them is not.
            BinaryFn::Min if !ty.is_float() => Scalar::lowest(ty),
            BinaryFn::Max if !ty.is_float() => Scalar::highest(ty),
            BinaryFn::User(operator) if !ty.is_float() => operator.typed().and_then(|typed| typed.annihilator),
            _ => None,
        }
    }

    /// True if the first value other than the identity is kept: a reduction may stop at each such value.
    ///
    /// ```
    /// use lacunar_notation::Monoid;
    /// let first: Vec<&str> = Monoid::all().filter(|monoid| monoid.keeps_first()).map(Monoid::name).collect();
    /// assert_eq!(first, ["any"]);
    /// ```
    pub fn keeps_first(self) -> bool {
        self.0 == BinaryFn::Any
    }

    /// The monoid by which values are compared, if indices are combined by the values that they are the indices of.
    ///
    /// ```
    /// use lacunar_notation::Monoid;
    /// assert_eq!(Monoid::parse("argmin").and_then(Monoid::compared), Monoid::parse("min"));
    /// assert_eq!(Monoid::SUM.compared(), None);
    /// ```
    pub fn compared(self) -> Option<Monoid> {
        match self.0 {
            BinaryFn::ArgMin => Some(Monoid(BinaryFn::Min)),
            BinaryFn::ArgMax => Some(Monoid(BinaryFn::Max)),
            _ => None,
        }
    }

    /// True if a value combined with itself is itself.
    pub fn is_idempotent(self, ty: DType) -> bool {
        match self.0 {
            BinaryFn::Add | BinaryFn::Mul => ty == DType::Bool,
            BinaryFn::Min | BinaryFn::Max | BinaryFn::And | BinaryFn::Or | BinaryFn::Any => true,
            BinaryFn::ArgMin | BinaryFn::ArgMax => true,
            BinaryFn::User(operator) => operator.declaration().properties.idempotent,
            _ => false,
        }
    }

    /// The operation that distributes over it, up to rounding: `c * sum(e)` is `sum(c * e)`. Not on integers where it can overflow.
    pub fn product(self, ty: DType) -> Option<BinaryFn> {
        match self.0 {
            BinaryFn::Add => Some(BinaryFn::Mul),
            BinaryFn::Min | BinaryFn::Max if ty.kind() == Kind::Real => Some(BinaryFn::Add),
            BinaryFn::Or | BinaryFn::Xor => Some(BinaryFn::And),
            BinaryFn::And => Some(BinaryFn::Or),
            _ => None,
        }
    }

    /// True if values of a type give the same result in whatever order they are combined, bit by bit.
    pub fn is_exact(self, ty: DType) -> bool {
        match self.0 {
            BinaryFn::Add | BinaryFn::Mul | BinaryFn::User(_) => !ty.is_float(),
            BinaryFn::Any => false,
            _ => true,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use super::*;

    #[test]
    fn names_and_signs_lead_back() {
        for monoid in Monoid::all() {
            assert_eq!(Monoid::parse(monoid.name()), Some(monoid));
            assert_eq!(Monoid::of_sign(monoid.sign()), Some(monoid));
            assert_eq!(Monoid::of(monoid.function()), Some(monoid));
        }
        assert_eq!(Monoid::of(BinaryFn::Sub), None);
        assert_eq!(Monoid::of_sign("|="), Monoid::parse("or"));
    }

    #[test]
    fn each_is_defined_where_it_has_an_identity() {
        let on = |ty| Monoid::all().filter(|monoid| monoid.is_defined(ty)).map(Monoid::name).collect::<Vec<_>>();
        assert_eq!(on(DType::F64), ["sum", "prod", "min", "max", "any"]);
        assert_eq!(on(DType::U8), ["sum", "prod", "min", "max", "and", "or", "xor", "any"]);
        assert_eq!(on(DType::C128), ["sum", "prod", "any"]);
        assert_eq!(Monoid::parse("and").unwrap().identity(DType::U8), Some(Scalar::int(DType::U8, 255)));
    }
}
