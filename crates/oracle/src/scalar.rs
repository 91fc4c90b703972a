//! One value of any element type, and the arithmetic of the imperative IR on it.
//!
//! Integers are kept in 128 bits and wrapped to their type after every operation; reals are kept as `f64` and rounded to `f32`
//! where the type says so, which for `+ - * /` and `sqrt` is the correctly rounded `f32` result. So one definition serves all
//! types; `f16` and `bf16` are rounded to from `f32`. The rules (division by zero, casts, NaN in `min`) are those of the head
//! comment of `imp/ir.rs`, written down a second time on purpose.
//!
//! ```
//! use lacunar_formats::DType;
//! use lacunar_notation::BinaryFn;
//! use lacunar_oracle::scalar::Scalar;
//! let sum = Scalar::Int(200).binary(BinaryFn::Add, Scalar::Int(100), DType::U8);
//! assert_eq!(sum, Scalar::Int(44));
//! ```

use lacunar_formats::{DType, Kind};
use lacunar_notation::{BinaryFn, Literal, UnaryFn};
use num_complex::Complex;

/// A value. The context tells its type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// A value of type `bool`.
    Bool(bool),
    /// A value of an integer type, within its range.
    Int(i128),
    /// A value of a real type: a number that the type has.
    Real(f64),
    /// A value of a complex type.
    Complex(Complex<f64>),
}

/// The least and the greatest integer of a type.
fn range(dtype: DType) -> (i128, i128) {
    let count = 1i128 << (8 * dtype.size());
    if dtype.kind() == Kind::Signed { (-count / 2, count / 2 - 1) } else { (0, count - 1) }
}

/// An integer, modulo two to the number of bits of its type.
fn wrap(value: i128, dtype: DType) -> Scalar {
    let (least, greatest) = range(dtype);
    // Two to the number of bits divides two to the 128, so that a sum that wraps around here is right all the same.
    Scalar::Int(least + value.wrapping_sub(least).rem_euclid(greatest - least + 1))
}

/// A real number, truncated towards zero and kept within the range of an integer type.
fn saturate(value: f64, dtype: DType) -> Scalar {
    let (least, greatest) = range(dtype);
    // `as` takes NaN to 0 and a value that is too large to an end of the range of 128 bits.
    Scalar::Int((value as i128).clamp(least, greatest))
}

fn round(value: f64, dtype: DType) -> f64 {
    match dtype.part() {
        DType::F16 => rounded_to(value as f32, 11, -14, 15),
        DType::BF16 => rounded_to(value as f32, 8, -126, 127),
        DType::F32 => f64::from(value as f32),
        _ => value,
    }
}

/// A number with so many bits between it and the nearest others, ties to even; numbers below two to the `least` are as far apart as
/// those above it, and a number beyond two to the `greatest` is infinite.
fn rounded_to(value: f32, bits: i32, least: i32, greatest: i32) -> f64 {
    let value = f64::from(value);
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let exponent = (((value.to_bits() >> 52) & 0x7ff) as i32 - 1023).max(least);
    let unit = 2f64.powi(exponent + 1 - bits);
    let rounded = (value / unit).round_ties_even() * unit;
    if rounded.abs() >= 2f64.powi(greatest + 1) { f64::INFINITY.copysign(value) } else { rounded }
}

fn real(value: f64, dtype: DType) -> Scalar {
    Scalar::Real(round(value, dtype))
}

fn complex(value: Complex<f64>, dtype: DType) -> Scalar {
    Scalar::Complex(Complex::new(round(value.re, dtype), round(value.im, dtype)))
}

/// Base to an integer power, wrapping after each product; a negative exponent leaves the truncated fraction: something other than 0
/// only for bases 1 and -1.
fn integer_power(base: i128, exponent: i128, dtype: DType) -> Scalar {
    if exponent < 0 {
        let odd = exponent % 2 != 0;
        return Scalar::Int(match base {
            1 => 1,
            -1 if odd => -1,
            -1 => 1,
            _ => 0,
        });
    }
    let (mut result, mut square, mut left) = (Scalar::Int(1), Scalar::Int(base), exponent);
    while left > 0 {
        if left % 2 == 1 {
            result = result.binary(BinaryFn::Mul, square, dtype);
        }
        square = square.binary(BinaryFn::Mul, square, dtype);
        left /= 2;
    }
    result
}

fn sign(value: f64) -> f64 {
    if value.is_nan() || value == 0.0 { value } else { value.signum() }
}

impl From<lacunar_formats::Scalar> for Scalar {
    fn from(value: lacunar_formats::Scalar) -> Scalar {
        match value.ty.kind() {
            Kind::Bool => Scalar::Bool(value.bits != 0),
            Kind::Unsigned => Scalar::Int(i128::from(value.bits)),
            Kind::Signed => Scalar::Int(i128::from(value.bits as i64)),
            Kind::Real => Scalar::Real(value.re()),
            Kind::Complex => Scalar::Complex(Complex::new(value.re(), value.im())),
        }
    }
}

impl Scalar {
    /// Zero of a type.
    pub fn zero(dtype: DType) -> Scalar {
        match dtype.kind() {
            Kind::Bool => Scalar::Bool(false),
            Kind::Unsigned | Kind::Signed => Scalar::Int(0),
            Kind::Real => Scalar::Real(0.0),
            Kind::Complex => Scalar::Complex(Complex::new(0.0, 0.0)),
        }
    }

    /// True if it is zero (`-0.0` too).
    pub fn is_zero(self) -> bool {
        match self {
            Scalar::Bool(value) => !value,
            Scalar::Int(value) => value == 0,
            Scalar::Real(value) => value == 0.0,
            Scalar::Complex(value) => value.re == 0.0 && value.im == 0.0,
        }
    }

    /// Its absolute value or modulus, as a real number.
    pub fn magnitude(self) -> f64 {
        match self {
            Scalar::Bool(value) => f64::from(u8::from(value)),
            Scalar::Int(value) => value.unsigned_abs() as f64,
            Scalar::Real(value) => value.abs(),
            Scalar::Complex(value) => value.norm(),
        }
    }

    /// A constant as a value of type `dtype`; `None` for a structural zero.
    pub fn literal(literal: Literal, dtype: DType) -> Option<Scalar> {
        match literal {
            Literal::Bool(value) => Some(Scalar::Bool(value).cast(dtype)),
            Literal::Int(value) if dtype.is_integer() => Some(wrap(value, dtype)),
            Literal::Int(value) => Some(Scalar::Real(value as f64).cast(dtype)),
            Literal::Float(value) => Some(Scalar::Real(value).cast(dtype)),
            Literal::Absent => None,
            Literal::Fill(value) => Some(Scalar::from(value)),
        }
    }

    /// A declared fill value in the type of its tensor. Zeros of either sign are 0, and so are the elements that a pattern does not
    /// store.
    pub fn declared_fill(self, dtype: DType) -> Scalar {
        let own = self.cast(dtype);
        if own.is_zero() || dtype == DType::Pattern { Scalar::zero(dtype) } else { own }
    }

    /// As a fill value of a type.
    pub fn fill(self, dtype: DType) -> lacunar_formats::Scalar {
        use lacunar_formats::Scalar as Fill;
        match self.cast(dtype) {
            // The elements that a pattern does not store are 0.
            _ if dtype == DType::Pattern => Fill::zero(dtype),
            Scalar::Bool(value) => Fill::bool(value),
            Scalar::Int(value) => Fill { ty: dtype, bits: value as u64, imag: 0 },
            Scalar::Real(value) => Fill::real(dtype, value),
            Scalar::Complex(value) => Fill::complex(dtype, value.re, value.im),
        }
    }

    /// The value converted to another type.
    pub fn cast(self, to: DType) -> Scalar {
        match to.kind() {
            // The elements that a pattern stores are one, whatever they are.
            _ if to == DType::Pattern => Scalar::Bool(true),
            Kind::Bool => Scalar::Bool(!self.is_zero()),
            Kind::Unsigned | Kind::Signed => match self {
                Scalar::Bool(value) => Scalar::Int(i128::from(value)),
                Scalar::Int(value) => wrap(value, to),
                Scalar::Real(value) => saturate(value, to),
                Scalar::Complex(value) => saturate(value.re, to),
            },
            Kind::Real => match self {
                // Straight to the type: by way of `f64` it would be rounded twice.
                Scalar::Int(value) if to != DType::F64 => real(f64::from(value as f32), to),
                Scalar::Int(value) => Scalar::Real(value as f64),
                Scalar::Bool(value) => Scalar::Real(f64::from(u8::from(value))),
                Scalar::Real(value) => real(value, to),
                Scalar::Complex(value) => real(value.re, to),
            },
            Kind::Complex => match self {
                Scalar::Complex(value) => complex(value, to),
                other => match other.cast(to.part()) {
                    Scalar::Real(value) => Scalar::Complex(Complex::new(value, 0.0)),
                    // A cast to a real type gives a real.
                    unreal => unreal,
                },
            },
        }
    }

    /// A function of one operand, both of type `dtype` (but the modulus and the parts of a complex number are real).
    pub fn unary(self, function: UnaryFn, dtype: DType) -> Scalar {
        match self {
            Scalar::Bool(value) => match function {
                UnaryFn::Not => Scalar::Bool(!value),
                UnaryFn::Imag => Scalar::Bool(false),
                _ => self,
            },
            Scalar::Int(value) => match function {
                UnaryFn::Neg => wrap(-value, dtype),
                UnaryFn::Abs => wrap(value.abs(), dtype),
                UnaryFn::Imag => Scalar::Int(0),
                UnaryFn::Sign => Scalar::Int(value.signum()),
                UnaryFn::Square => self.binary(BinaryFn::Mul, self, dtype),
                UnaryFn::Cube => self.binary(BinaryFn::Mul, self, dtype).binary(BinaryFn::Mul, self, dtype),
                _ => self,
            },
            Scalar::Real(value) => real(real_function(function, value), dtype),
            Scalar::Complex(value) => match function {
                UnaryFn::Abs => real(value.norm(), dtype.part()),
                UnaryFn::Real => Scalar::Real(value.re),
                UnaryFn::Imag => Scalar::Real(value.im),
                _ => complex(complex_function(function, value), dtype),
            },
        }
    }

    /// A function of two operands of type `dtype`; the result has that type, or is a `bool` for comparisons.
    pub fn binary(self, function: BinaryFn, other: Scalar, dtype: DType) -> Scalar {
        if function == BinaryFn::Any {
            return if self.is_zero() { other } else { self };
        }
        match (self, other) {
            (Scalar::Bool(a), Scalar::Bool(b)) => Scalar::Bool(bool_function(function, a, b)),
            (Scalar::Int(a), Scalar::Int(b)) => match comparison(function, a.partial_cmp(&b)) {
                Some(holds) => Scalar::Bool(holds),
                None => integer_function(function, a, b, dtype),
            },
            (Scalar::Real(a), Scalar::Real(b)) => match comparison(function, a.partial_cmp(&b)) {
                Some(holds) => Scalar::Bool(holds),
                None => real(real_function_of_two(function, a, b), dtype),
            },
            (Scalar::Complex(a), Scalar::Complex(b)) => match function {
                BinaryFn::Eq => Scalar::Bool(a == b),
                BinaryFn::Ne => Scalar::Bool(a != b),
                BinaryFn::Sub => complex(a - b, dtype),
                BinaryFn::Mul => complex(a * b, dtype),
                BinaryFn::Div => complex(quotient(a, b), dtype),
                BinaryFn::Pow => complex(a.powc(b), dtype),
                _ => complex(a + b, dtype),
            },
            // Operands of different kinds: a checked program converts them first.
            (a, b) => a.cast(dtype).binary(function, b.cast(dtype), dtype),
        }
    }
}

/// The quotient of complex numbers by Smith's formula: the smaller part of the divisor is taken relative to the larger one.
fn quotient(a: Complex<f64>, b: Complex<f64>) -> Complex<f64> {
    let is_upright = b.re.abs() < b.im.abs();
    // Both numbers over i, or as they are.
    let turned = |z: Complex<f64>| if is_upright { Complex::new(z.im, -z.re) } else { z };
    let (a, b) = (turned(a), turned(b));
    let ratio = b.im / b.re;
    let divisor = b.re + b.im * ratio;
    Complex::new((a.re + a.im * ratio) / divisor, (a.im - a.re * ratio) / divisor)
}

fn comparison(function: BinaryFn, order: Option<std::cmp::Ordering>) -> Option<bool> {
    Some(match function {
        BinaryFn::Eq => order.is_some_and(|o| o.is_eq()),
        BinaryFn::Ne => !order.is_some_and(|o| o.is_eq()),
        BinaryFn::Lt => order.is_some_and(|o| o.is_lt()),
        BinaryFn::Le => order.is_some_and(|o| o.is_le()),
        BinaryFn::Gt => order.is_some_and(|o| o.is_gt()),
        BinaryFn::Ge => order.is_some_and(|o| o.is_ge()),
        _ => return None,
    })
}

fn bool_function(function: BinaryFn, a: bool, b: bool) -> bool {
    if let Some(holds) = comparison(function, Some(a.cmp(&b))) {
        return holds;
    }
    match function {
        BinaryFn::Mul | BinaryFn::Min | BinaryFn::And => a && b,
        BinaryFn::Xor => a != b,
        _ => a || b,
    }
}

fn integer_function(function: BinaryFn, a: i128, b: i128, dtype: DType) -> Scalar {
    match function {
        BinaryFn::Sub => wrap(a - b, dtype),
        // Two 64-bit factors fit in 128 bits but for the largest unsigned ones, where wrapping loses nothing of the
        // low 64 bits.
        BinaryFn::Mul => wrap(a.wrapping_mul(b), dtype),
        BinaryFn::Div | BinaryFn::IntDiv => wrap(a.checked_div(b).unwrap_or(0), dtype),
        BinaryFn::Rem => wrap(a.checked_rem(b).unwrap_or(0), dtype),
        BinaryFn::Min => Scalar::Int(a.min(b)),
        BinaryFn::Max => Scalar::Int(a.max(b)),
        BinaryFn::Pow => integer_power(a, b, dtype),
        BinaryFn::And => wrap(a & b, dtype),
        BinaryFn::Or => wrap(a | b, dtype),
        BinaryFn::Xor => wrap(a ^ b, dtype),
        _ => wrap(a + b, dtype),
    }
}

fn real_function(function: UnaryFn, x: f64) -> f64 {
    match function {
        UnaryFn::Neg => -x,
        UnaryFn::Not | UnaryFn::Real | UnaryFn::Conj | UnaryFn::Prune => x,
        UnaryFn::Abs => x.abs(),
        UnaryFn::Imag => 0.0,
        UnaryFn::Sqrt => x.sqrt(),
        UnaryFn::Cbrt => x.cbrt(),
        UnaryFn::Exp => x.exp(),
        UnaryFn::Log => x.ln(),
        UnaryFn::Log10 => x.log10(),
        UnaryFn::Sin => x.sin(),
        UnaryFn::Cos => x.cos(),
        UnaryFn::Tan => x.tan(),
        UnaryFn::Asin => x.asin(),
        UnaryFn::Acos => x.acos(),
        UnaryFn::Atan => x.atan(),
        UnaryFn::Sinh => x.sinh(),
        UnaryFn::Cosh => x.cosh(),
        UnaryFn::Tanh => x.tanh(),
        UnaryFn::Asinh => x.asinh(),
        UnaryFn::Acosh => x.acosh(),
        UnaryFn::Atanh => x.atanh(),
        UnaryFn::Floor => x.floor(),
        UnaryFn::Ceil => x.ceil(),
        UnaryFn::Sign => sign(x),
        UnaryFn::Square => x * x,
        UnaryFn::Cube => x * x * x,
    }
}

fn complex_function(function: UnaryFn, z: Complex<f64>) -> Complex<f64> {
    match function {
        UnaryFn::Neg => -z,
        UnaryFn::Conj => z.conj(),
        UnaryFn::Sqrt => z.sqrt(),
        UnaryFn::Exp => z.exp(),
        UnaryFn::Log => z.ln(),
        UnaryFn::Sin => z.sin(),
        UnaryFn::Cos => z.cos(),
        // tan(z) = -i tanh(iz)
        UnaryFn::Tan => tanh(z * Complex::i()) * -Complex::i(),
        UnaryFn::Sinh => z.sinh(),
        UnaryFn::Cosh => z.cosh(),
        UnaryFn::Tanh => tanh(z),
        UnaryFn::Square => z * z,
        UnaryFn::Cube => z * z * z,
        // Not defined on complex numbers; a checked program has none of these.
        _ => z,
    }
}

/// The hyperbolic tangent: beyond 300, the exponentials in it overflow, and it is 1 or -1 but for less than rounding errors.
fn tanh(z: Complex<f64>) -> Complex<f64> {
    if z.re.abs() > 300.0 && z.im.is_finite() { Complex::new(z.re.signum(), 0.0) } else { z.tanh() }
}

fn real_function_of_two(function: BinaryFn, a: f64, b: f64) -> f64 {
    let either_nan = a.is_nan() || b.is_nan();
    match function {
        BinaryFn::Sub => a - b,
        BinaryFn::Mul => a * b,
        BinaryFn::Div => a / b,
        BinaryFn::Rem => a % b,
        BinaryFn::Min | BinaryFn::Max if either_nan => f64::NAN,
        BinaryFn::Min => a.min(b),
        BinaryFn::Max => a.max(b),
        BinaryFn::Pow => a.powf(b),
        BinaryFn::Atan2 => a.atan2(b),
        BinaryFn::Heaviside if a.is_nan() => a,
        BinaryFn::Heaviside if a == 0.0 => b,
        BinaryFn::Heaviside => f64::from(u8::from(a > 0.0)),
        _ => a + b,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_and_divide_towards_zero() {
        let (a, b) = (Scalar::Int(-7), Scalar::Int(2));
        assert_eq!(a.binary(BinaryFn::IntDiv, b, DType::I8), Scalar::Int(-3));
        assert_eq!(a.binary(BinaryFn::Rem, b, DType::I8), Scalar::Int(-1));
        assert_eq!(a.binary(BinaryFn::IntDiv, Scalar::Int(0), DType::I8), Scalar::Int(0));
        assert_eq!(Scalar::Int(-128).binary(BinaryFn::IntDiv, Scalar::Int(-1), DType::I8), Scalar::Int(-128));
        assert_eq!(Scalar::Int(-128).unary(UnaryFn::Abs, DType::I8), Scalar::Int(-128));
        assert_eq!(Scalar::Int(3).binary(BinaryFn::Pow, Scalar::Int(5), DType::U8), Scalar::Int(243));
        assert_eq!(Scalar::Int(3).binary(BinaryFn::Pow, Scalar::Int(6), DType::U8), Scalar::Int(729 % 256));
        let max = Scalar::Int(i128::from(u64::MAX));
        assert_eq!(max.binary(BinaryFn::Mul, max, DType::U64), Scalar::Int(1));
    }

    #[test]
    fn casts_saturate_from_reals_and_wrap_between_integers() {
        assert_eq!(Scalar::Real(-3.9).cast(DType::I32), Scalar::Int(-3));
        assert_eq!(Scalar::Real(1e9).cast(DType::I8), Scalar::Int(127));
        assert_eq!(Scalar::Real(f64::NAN).cast(DType::I64), Scalar::Int(0));
        assert_eq!(Scalar::Int(-1).cast(DType::U16), Scalar::Int(65535));
        assert_eq!(Scalar::Complex(Complex::new(2.5, 9.0)).cast(DType::F32), Scalar::Real(2.5));
    }

    #[test]
    fn reals_follow_ieee() {
        let nan = Scalar::Real(f64::NAN);
        assert!(nan.binary(BinaryFn::Min, Scalar::Real(1.0), DType::F64).magnitude().is_nan());
        assert_eq!(nan.binary(BinaryFn::Ne, nan, DType::F64), Scalar::Bool(true));
        let tenth = Scalar::literal(Literal::Float(0.1), DType::F32);
        assert_eq!(tenth, Some(Scalar::Real(f64::from(0.1_f32))));
    }
}
