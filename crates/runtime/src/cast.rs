//! Conversion of values between element types.
//!
//! As Rust's `as`: integers wrap, real numbers are truncated towards zero and saturate as integers. A complex number
//! gives its real part. Numbers become `f16` and `bf16` by way of `f32`, rounded to the nearest. What is not zero is true, and true is 1.

use lacunar_formats::{DType, One};
use num_complex::Complex;

use crate::array::Array;
use crate::buffer::Buffer;
use crate::dispatch::with_element;
use crate::error::AllocError;
use crate::values::Element;

/// A value of any element type, by kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Of an unsigned type, or a boolean.
    Unsigned(u64),
    /// Of a signed type.
    Signed(i64),
    /// Of a real type.
    Real(f64),
    /// Of a complex type: real and imaginary part.
    Complex(f64, f64),
}

/// An element type that converts to and from every other.
pub trait Convert: Element {
    /// The value by kind.
    fn number(self) -> Number;
    /// The value nearest to `number` in the sense of `as`.
    fn from_number(number: Number) -> Self;
}

macro_rules! reals {
    ($($kind:ident $wide:ty: $($ty:ty),*;)*) => { $($(
        impl Convert for $ty {
            #[inline(always)]
            fn number(self) -> Number {
                Number::$kind(self as $wide)
            }
            #[inline(always)]
            fn from_number(number: Number) -> Self {
                match number {
                    Number::Unsigned(v) => v as $ty,
                    Number::Signed(v) => v as $ty,
                    Number::Real(v) | Number::Complex(v, _) => v as $ty,
                }
            }
        }
    )*)* };
}
reals! {
    Unsigned u64: u8, u16, u32, u64;
    Signed i64: i8, i16, i32, i64;
    Real f64: f32, f64;
}

macro_rules! halves {
    ($($ty:ty),*) => { $(
        impl Convert for $ty {
            #[inline(always)]
            fn number(self) -> Number {
                Number::Real(f64::from(self))
            }
            #[inline(always)]
            fn from_number(number: Number) -> Self {
                <$ty>::from_f32(f32::from_number(number))
            }
        }
    )* };
}
halves!(half::f16, half::bf16);

impl Convert for One {
    fn number(self) -> Number {
        Number::Unsigned(1)
    }
    fn from_number(_: Number) -> One {
        One
    }
}

impl Convert for bool {
    fn number(self) -> Number {
        Number::Unsigned(u64::from(self))
    }
    fn from_number(number: Number) -> bool {
        match number {
            Number::Unsigned(v) => v != 0,
            Number::Signed(v) => v != 0,
            Number::Real(v) => v != 0.0,
            Number::Complex(re, im) => re != 0.0 || im != 0.0,
        }
    }
}

macro_rules! complexes {
    ($($part:ty),*) => { $(
        impl Convert for Complex<$part> {
            #[inline(always)]
            fn number(self) -> Number {
                Number::Complex(f64::from(self.re), f64::from(self.im))
            }
            #[inline(always)]
            fn from_number(number: Number) -> Self {
                let im = if let Number::Complex(_, im) = number { im } else { 0.0 };
                Complex::new(<$part>::from_number(number), im as $part)
            }
        }
    )* };
}
complexes!(f32, f64);

/// The values as another type; a copy where the type is the same.
///
/// # Errors
/// The system refused the memory.
pub fn cast(values: &Buffer, dtype: DType) -> Result<Buffer, AllocError> {
    if dtype == values.dtype() {
        return values.try_clone();
    }
    with_element!(values.dtype(), S => {
        let from = values.as_slice::<S>().unwrap_or_default();
        with_element!(dtype, T => {
            Ok(Buffer::from_array(Array::of(from.len(), |k| T::from_number(from[k].number()))?))
        })
    })
}
