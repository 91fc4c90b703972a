//! One value of any element type, as bits: fill values, and the constants of kernels.
//!
//! Equal scalars are equal bits, so that `-0.0` is not `0.0` and a NaN equals itself.
//!
//! ```
//! use lacunar_formats::{DType, Scalar};
//! let infinite = Scalar::real(DType::F32, f64::INFINITY);
//! assert_eq!((infinite.to_string(), infinite.bits), ("inf".to_string(), 0x7f80_0000));
//! assert_eq!(Scalar::int(DType::I8, -1), Scalar { ty: DType::I8, bits: u64::MAX, imag: 0 });
//! ```

use std::fmt;

use half::{bf16, f16};

use crate::dtype::{DType, Kind};

/// A constant of any element type, as bits so that equal constants are equal values (and `-0.0` is not `0.0`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scalar {
    /// Its type.
    pub ty: DType,
    /// Integers: the value in 64 bits, two's complement (so signed types are sign-extended, unsigned ones
    /// zero-extended). Bool: 0 or 1. `F16` and `BF16`: their 16 bits. `F32`: the bits of the `f32`. `F64`: of the `f64`.
    /// Complex: of the real part.
    pub bits: u64,
    /// Complex: the bits of the imaginary part. Otherwise 0.
    pub imag: u64,
}

impl Scalar {
    /// An integer or `Bool` of type `ty` from its value.
    pub fn int(ty: DType, value: i64) -> Scalar {
        Scalar { ty, bits: value as u64, imag: 0 }
    }

    /// A `Bool`.
    pub fn bool(value: bool) -> Scalar {
        Scalar::int(DType::Bool, i64::from(value))
    }

    /// A real or complex number (imaginary part 0) of type `ty` from a double.
    pub fn real(ty: DType, value: f64) -> Scalar {
        Scalar { ty, bits: real_bits(ty.part(), value), imag: 0 }
    }

    /// A complex number of type `ty`.
    pub fn complex(ty: DType, re: f64, im: f64) -> Scalar {
        Scalar { ty, bits: real_bits(ty.part(), re), imag: real_bits(ty.part(), im) }
    }

    /// Zero of any type.
    pub fn zero(ty: DType) -> Scalar {
        Scalar { ty, bits: 0, imag: 0 }
    }

    /// One of any type.
    pub fn one(ty: DType) -> Scalar {
        if ty.is_float() { Scalar::real(ty, 1.0) } else { Scalar::int(ty, 1) }
    }

    /// The smallest value of a type: of a real one, minus infinity. Complex numbers have none.
    pub fn lowest(ty: DType) -> Option<Scalar> {
        match ty.kind() {
            Kind::Bool | Kind::Unsigned => Some(Scalar::zero(ty)),
            Kind::Signed => Some(Scalar::int(ty, i64::MIN >> (64 - 8 * ty.size()))),
            Kind::Real => Some(Scalar::real(ty, f64::NEG_INFINITY)),
            Kind::Complex => None,
        }
    }

    /// The largest value of a type: of a real one, infinity. Complex numbers have none.
    pub fn highest(ty: DType) -> Option<Scalar> {
        match ty.kind() {
            Kind::Bool => Some(Scalar::bool(true)),
            Kind::Unsigned => Some(Scalar { ty, bits: u64::MAX >> (64 - 8 * ty.size()), imag: 0 }),
            Kind::Signed => Some(Scalar::int(ty, i64::MAX >> (64 - 8 * ty.size()))),
            Kind::Real => Some(Scalar::real(ty, f64::INFINITY)),
            Kind::Complex => None,
        }
    }

    /// The same value in another type, rounded if both are real or complex; `None` if that type does not have it.
    ///
    /// ```
    /// use lacunar_formats::{DType, Scalar};
    /// let three = Scalar::real(DType::F64, 3.0);
    /// assert_eq!(three.to(DType::U8), Some(Scalar::int(DType::U8, 3)));
    /// assert_eq!((Scalar::real(DType::F64, 0.5).to(DType::I32), three.to(DType::Bool)), (None, None));
    /// ```
    pub fn to(self, ty: DType) -> Option<Scalar> {
        if self.ty.is_complex() && !ty.is_complex() && self.im() != 0.0 {
            return None;
        }
        // A pattern stores ones; an element that is not stored is something else.
        if ty == DType::Pattern {
            return self.is_zero().then_some(Scalar::zero(ty));
        }
        if ty.is_float() {
            let (re, im) = match self.ty.kind() {
                Kind::Real => (self.re(), 0.0),
                Kind::Complex => (self.re(), self.im()),
                Kind::Signed => (self.bits as i64 as f64, 0.0),
                Kind::Bool | Kind::Unsigned => (self.bits as f64, 0.0),
            };
            let found = if ty.is_complex() { Scalar::complex(ty, re, im) } else { Scalar::real(ty, re) };
            let fits = |before: f64, after: f64| !before.is_finite() || after.is_finite();
            return (fits(re, found.re()) && (!ty.is_complex() || fits(im, found.im()))).then_some(found);
        }
        let whole = self.whole()?;
        let (lowest, highest) = (Scalar::lowest(ty)?.whole()?, Scalar::highest(ty)?.whole()?);
        (lowest..=highest).contains(&whole).then_some(Scalar { ty, bits: whole as u64, imag: 0 })
    }

    /// The value as an integer, if it is one.
    fn whole(self) -> Option<i128> {
        match self.ty.kind() {
            Kind::Bool | Kind::Unsigned => Some(i128::from(self.bits)),
            Kind::Signed => Some(i128::from(self.bits as i64)),
            // Beyond, no integer type has it.
            Kind::Real | Kind::Complex => {
                let value = self.re();
                (value.fract() == 0.0 && value.abs() < 1e20).then_some(value as i128)
            }
        }
    }

    /// The real part (or the value, of a real) as a double.
    pub fn re(self) -> f64 {
        part(self.ty, self.bits)
    }

    /// The imaginary part of a complex number as a double.
    pub fn im(self) -> f64 {
        part(self.ty, self.imag)
    }

    /// True if it is zero, of either sign.
    pub fn is_zero(self) -> bool {
        match self.ty.is_float() {
            true => self.re() == 0.0 && (!self.ty.is_complex() || self.im() == 0.0),
            false => self.bits == 0,
        }
    }

    /// True if both are the same number: zeros of either sign are, also as parts of a complex number. NaN equals the same NaN.
    ///
    /// ```
    /// use lacunar_formats::{DType, Scalar};
    /// let (plus, minus) = (Scalar::complex(DType::C128, -1.0, 0.0), Scalar::complex(DType::C128, -1.0, -0.0));
    /// assert!(plus.equals(minus) && plus != minus);
    /// ```
    pub fn equals(self, other: Scalar) -> bool {
        let both_zero = |a: u64, b: u64| part(self.ty, a) == 0.0 && part(self.ty, b) == 0.0;
        let same = |a: u64, b: u64| a == b || (self.ty.is_float() && both_zero(a, b));
        self.ty == other.ty && same(self.bits, other.bits) && same(self.imag, other.imag)
    }

    /// True if it is an infinite real number.
    pub fn is_infinite(self) -> bool {
        self.ty.is_real() && self.re().is_infinite()
    }
}

/// The text that the command line takes: `-3`, `2.5`, `inf`, `true`, `1+2i`.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ty.kind() {
            Kind::Bool => write!(f, "{}", self.bits != 0),
            Kind::Unsigned => write!(f, "{}", self.bits),
            Kind::Signed => write!(f, "{}", self.bits as i64),
            Kind::Real => f.write_str(&real_text(self.ty, self.bits)),
            Kind::Complex => {
                let imaginary = real_text(self.ty.part(), self.imag);
                let sign = if imaginary.starts_with('-') { "" } else { "+" };
                write!(f, "{}{sign}{imaginary}i", real_text(self.ty.part(), self.bits))
            }
        }
    }
}

/// The shortest text of a real number, with an exponent where it would have many zeros.
fn real_text(ty: DType, bits: u64) -> String {
    let magnitude = part(ty, bits).abs();
    if magnitude.is_finite() && magnitude != 0.0 && !(1e-5..1e16).contains(&magnitude) {
        return match ty {
            DType::F16 => format!("{:e}", f16::from_bits(bits as u16)),
            DType::BF16 => format!("{:e}", bf16::from_bits(bits as u16)),
            DType::F32 => format!("{:e}", f32::from_bits(bits as u32)),
            _ => format!("{:e}", f64::from_bits(bits)),
        };
    }
    match ty {
        DType::F16 => f16::from_bits(bits as u16).to_string(),
        DType::BF16 => bf16::from_bits(bits as u16).to_string(),
        DType::F32 => f32::from_bits(bits as u32).to_string(),
        _ => f64::from_bits(bits).to_string(),
    }
}

fn part(ty: DType, bits: u64) -> f64 {
    match ty.part() {
        DType::F16 => f64::from(f16::from_bits(bits as u16)),
        DType::BF16 => f64::from(bf16::from_bits(bits as u16)),
        DType::F32 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    }
}

fn real_bits(part: DType, value: f64) -> u64 {
    match part {
        DType::F16 => u64::from(f16::from_f32(value as f32).to_bits()),
        DType::BF16 => u64::from(bf16::from_f32(value as f32).to_bits()),
        DType::F32 => u64::from((value as f32).to_bits()),
        _ => value.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_are_those_of_the_rust_types() {
        assert_eq!(Scalar::lowest(DType::I16), Some(Scalar::int(DType::I16, i64::from(i16::MIN))));
        assert_eq!(Scalar::highest(DType::I64), Some(Scalar::int(DType::I64, i64::MAX)));
        assert_eq!(Scalar::highest(DType::U8).map(|c| c.bits), Some(255));
        assert_eq!(Scalar::highest(DType::U64).map(|c| c.bits), Some(u64::MAX));
        assert_eq!(Scalar::lowest(DType::F32), Some(Scalar::real(DType::F32, f64::NEG_INFINITY)));
        assert_eq!(Scalar::lowest(DType::C64), None);
    }

    #[test]
    fn zeros_have_either_sign() {
        assert!(Scalar::real(DType::F32, -0.0).is_zero() && Scalar::complex(DType::C64, 0.0, -0.0).is_zero());
        assert!(!Scalar::complex(DType::C128, 0.0, 1.0).is_zero() && !Scalar::bool(true).is_zero());
    }

    #[test]
    fn texts() {
        assert_eq!(Scalar::complex(DType::C128, 1.0, -2.0).to_string(), "1-2i");
        assert_eq!(Scalar::real(DType::F64, f64::NEG_INFINITY).to_string(), "-inf");
        assert_eq!(Scalar::int(DType::I8, -3).to_string(), "-3");
    }
}
