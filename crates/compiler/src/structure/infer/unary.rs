//! Functions of one operand, and conversions.
//!
//! A linear function keeps every coefficient. An odd one keeps a sign, an even one forgets it; others keep elements without a coefficient.
//!
//! ```text
//! -A, conj(A)            as A
//! sin(A), A skew         skew
//! abs(A), A skew         symmetric
//! exp(A)                 not 0 anywhere; symmetric if A is
//! ```

use lacunar_formats::DType;
use lacunar_notation::{Expr, ExprKind, UnaryFn};
use lacunar_sets::Coefficient;

use super::Context;
use super::closed::{Closed, whole};

/// The effect of a function on the coefficient of its operand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `f(c x) = c f(x)`, and conjugation commutes with it.
    Linear,
    /// `f(-x) = -f(x)`.
    Odd,
    /// `f(-x) = f(x)`, and conjugation changes nothing.
    Even,
    /// Nothing is known but equal values.
    Plain,
}

/// A function of one operand.
pub(super) fn unary(context: &Context<'_>, expr: &Expr) -> Option<Closed> {
    let (operand, kind, keeps_zero) = match &expr.kind {
        ExprKind::Unary(function, operand) => (operand, kind(*function, operand.dtype), function.keeps_zero()),
        // A stored element of a pattern is present, even if it is 0.
        ExprKind::Cast(operand) => (operand, conversion(operand.dtype, expr.dtype), expr.dtype != DType::Pattern),
        _ => return None,
    };
    let closed = context.infer(operand)?;
    let sign = |c: Coefficient| Coefficient::new(c.numerator(), c.denominator(), false);
    let minus_one = Coefficient::new(-1, 1, false)?;
    let closed = closed.with_coefficients(|coefficient| match kind {
        Kind::Linear => Some(coefficient),
        Kind::Odd => Some(coefficient).filter(|c| c.is_one() || *c == minus_one),
        Kind::Even => sign(coefficient).filter(|c| c.is_one() || *c == minus_one).map(|_| Coefficient::ONE),
        Kind::Plain => Some(coefficient).filter(|c| c.is_one()),
    })?;
    if keeps_zero {
        return Some(closed);
    }
    let support = whole(context, &closed.vars)?;
    Closed::new(closed.vars, support, closed.map)
}

fn kind(function: UnaryFn, operand: DType) -> Kind {
    use UnaryFn as U;
    match function {
        U::Neg | U::Conj | U::Prune => Kind::Linear,
        U::Real if !operand.is_complex() => Kind::Linear,
        // The absolute value of the least integer is itself, so that evenness holds there too.
        U::Abs => Kind::Even,
        U::Square if !operand.is_complex() => Kind::Even,
        U::Cos | U::Cosh if !operand.is_complex() => Kind::Even,
        U::Sin | U::Tan | U::Sinh | U::Tanh | U::Asin | U::Atan | U::Asinh | U::Atanh | U::Cbrt | U::Cube | U::Sign
            if !operand.is_complex() =>
        {
            Kind::Odd
        }
        _ => Kind::Plain,
    }
}

/// A conversion between real or between complex numbers keeps signs and conjugation; others keep equal values.
fn conversion(from: DType, to: DType) -> Kind {
    let both_real = from.is_float() && to.is_float() && !from.is_complex() && !to.is_complex();
    if from == to || both_real && from.arithmetic() == to.arithmetic() {
        return Kind::Linear;
    }
    if both_real || (from.is_complex() && !to.is_complex() && to.is_float()) { Kind::Odd } else { Kind::Plain }
}
