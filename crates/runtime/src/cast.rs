//! Conversion of values between element types.
//!
//! As Rust's `as`: integers wrap, real numbers are truncated towards zero and saturate as integers. A complex number
//! gives its real part. Numbers become `f16` and `bf16` by way of `f32`, rounded to the nearest. Values other than zero
//! are true, and true is 1.

use lacunar_formats::{DType, One, Scalar};
use num_complex::Complex;

use crate::array::Array;
use crate::buffer::Buffer;
use crate::dispatch::with_element;
use crate::error::{AllocError, StorageError};
use crate::fill::cast_scalar;
use crate::fits::check_type;
use crate::parallel::Chunks;
use crate::tensor::Tensor;
use crate::values::Element;

/// A value of any element type, by kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A number of an unsigned type, or a boolean.
    Unsigned(u64),
    /// A number of a signed type.
    Signed(i64),
    /// A number of a real type.
    Real(f64),
    /// A number of a complex type: real and imaginary part.
    Complex(f64, f64),
}

impl Number {
    /// The sum of two numbers of one kind; integers wrap. The sum of two numbers of different kinds is the first.
    pub fn plus(self, other: Number) -> Number {
        match (self, other) {
            (Number::Unsigned(a), Number::Unsigned(b)) => Number::Unsigned(a.wrapping_add(b)),
            (Number::Signed(a), Number::Signed(b)) => Number::Signed(a.wrapping_add(b)),
            (Number::Real(a), Number::Real(b)) => Number::Real(a + b),
            (Number::Complex(a, b), Number::Complex(c, d)) => Number::Complex(a + c, b + d),
            _ => self,
        }
    }

    /// The number added up so many times.
    pub fn times(self, count: u64) -> Number {
        match self {
            Number::Unsigned(a) => Number::Unsigned(a.wrapping_mul(count)),
            Number::Signed(a) => Number::Signed(a.wrapping_mul(count as i64)),
            Number::Real(a) => Number::Real(a * count as f64),
            Number::Complex(a, b) => Number::Complex(a * count as f64, b * count as f64),
        }
    }

    /// Its absolute value.
    pub fn magnitude(self) -> f64 {
        match self {
            Number::Unsigned(a) => a as f64,
            Number::Signed(a) => (a as f64).abs(),
            Number::Real(a) => a.abs(),
            Number::Complex(a, b) => a.hypot(b),
        }
    }
}

/// The numbers that values of one kind are.
pub trait Wide: Copy + Default + Send + Sync {
    /// The number by kind.
    fn number(self) -> Number;
    /// The sum of two; integers wrap. Unlike [`Number::plus`] it asks for no kind, so that loops of it become vector code.
    fn plus(self, other: Self) -> Self;
    /// The square of the magnitude, rounded as that of an `f64`.
    fn square(self) -> f64;
}

macro_rules! wides {
    ($($ty:ty: $v:ident, $other:ident => $number:expr, $plus:expr, $square:expr;)*) => { $(
        impl Wide for $ty {
            #[inline(always)]
            fn number(self) -> Number {
                let $v = self;
                $number
            }
            #[inline(always)]
            fn plus(self, $other: $ty) -> $ty {
                let $v = self;
                $plus
            }
            #[inline(always)]
            fn square(self) -> f64 {
                let $v = self;
                $square
            }
        }
    )* };
}
wides! {
    u64: v, w => Number::Unsigned(v), v.wrapping_add(w), v as f64 * v as f64;
    i64: v, w => Number::Signed(v), v.wrapping_add(w), v as f64 * v as f64;
    f64: v, w => Number::Real(v), v + w, v * v;
    Complex<f64>: v, w => Number::Complex(v.re, v.im), v + w, v.re * v.re + v.im * v.im;
}

/// An element type that converts to and from every other.
pub trait Convert: Element {
    /// The widest type of its kind.
    type Wide: Wide;
    /// The value in that type.
    fn wide(self) -> Self::Wide;
    /// The value nearest to `number` in the sense of `as`.
    fn from_number(number: Number) -> Self;
    /// The value by kind.
    fn number(self) -> Number {
        self.wide().number()
    }
}

macro_rules! reals {
    ($($wide:ty: $($ty:ty),*;)*) => { $($(
        impl Convert for $ty {
            type Wide = $wide;
            #[inline(always)]
            fn wide(self) -> $wide {
                self as $wide
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
    u64: u8, u16, u32, u64;
    i64: i8, i16, i32, i64;
    f64: f32, f64;
}

macro_rules! halves {
    ($($ty:ty),*) => { $(
        impl Convert for $ty {
            type Wide = f64;
            #[inline(always)]
            fn wide(self) -> f64 {
                f64::from(self)
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
    type Wide = u64;
    fn wide(self) -> u64 {
        1
    }
    fn from_number(_: Number) -> One {
        One
    }
}

impl Convert for bool {
    type Wide = u64;
    #[inline(always)]
    fn wide(self) -> u64 {
        u64::from(self)
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
            type Wide = Complex<f64>;
            #[inline(always)]
            fn wide(self) -> Complex<f64> {
                Complex::new(f64::from(self.re), f64::from(self.im))
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

impl Buffer {
    /// The values, converted to another type.
    ///
    /// # Errors
    /// Memory is refused.
    pub fn cast(&self, dtype: DType) -> Result<Buffer, AllocError> {
        cast(self, dtype)
    }

    /// The first value that is another number after a conversion, if one is: a fraction that was cut off, an integer that wrapped.
    ///
    /// ```
    /// use lacunar_formats::DType;
    /// use lacunar_runtime::Buffer;
    /// let values = Buffer::from_vec(vec![3.0, 2.5]);
    /// let integers = values.cast(DType::I32)?;
    /// assert_eq!(values.first_changed(&integers)?, Some(2.5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Memory is refused.
    pub fn first_changed(&self, converted: &Buffer) -> Result<Option<f64>, AllocError> {
        let (before, after) = (cast(self, DType::F64)?, cast(converted, DType::F64)?);
        let (before, after) =
            (before.as_slice::<f64>().unwrap_or_default(), after.as_slice::<f64>().unwrap_or_default());
        let changed = before.iter().zip(after).find(|(before, after)| before != after);
        Ok(changed.map(|(before, _)| *before))
    }
}

impl Tensor {
    /// The same tensor with values of another type, converted as `as` does: real numbers are truncated and saturate as
    /// integers, integers wrap; a complex number gives its real part; values other than zero are true. Values of a
    /// pattern are one; if a pattern is made, every value becomes one.
    ///
    /// # Errors
    /// A pattern cannot be stored in the format, or the system refused the memory.
    pub fn cast(&self, dtype: DType) -> Result<Tensor, StorageError> {
        check_type(dtype, self.format())?;
        let zero = Scalar::zero(dtype);
        // A pattern has no fill value other than zero.
        let fill =
            if self.fill().is_zero() || dtype == DType::Pattern { zero } else { cast_scalar(self.fill(), dtype)? };
        let fill = if fill.is_zero() { zero } else { fill };
        Ok(self.with_values(cast(self.values(), dtype)?, fill)?)
    }

    /// The places of the tensor's values, without the values: each is one.
    ///
    /// # Errors
    /// Some places of the format only fill up, which without values nothing tells.
    ///
    /// ```
    /// use lacunar_formats::{DType, Format};
    /// use lacunar_runtime::{Buffer, Tensor};
    /// let entries = Buffer::from_vec(vec![0.0, 2.0, 3.0, 0.0]);
    /// let matrix = Tensor::from_dense(vec![2, 2], entries, &Format::csr()).unwrap();
    /// let pattern = matrix.into_pattern().unwrap();
    /// assert_eq!((pattern.dtype(), pattern.nnz(), pattern.values().bytes()), (DType::Pattern, 2, 0));
    /// let ones = pattern.cast(DType::F64).unwrap();
    /// assert_eq!(ones.values().as_slice::<f64>(), Some(&[1.0, 1.0][..]));
    /// assert!(pattern.convert(&Format::dense(2)).is_err());
    /// ```
    pub fn into_pattern(self) -> Result<Tensor, StorageError> {
        check_type(DType::Pattern, self.format())?;
        let values = Buffer::from_vec(vec![One; self.values().len()]);
        let (dims, format, levels, _) = self.into_parts();
        Ok(Tensor::assemble(dims, format, levels, values))
    }
}

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
        let read = |first: usize, block: &mut [<S as Convert>::Wide]| {
            block.iter_mut().zip(&from[first..]).for_each(|(slot, value)| *slot = value.wide());
        };
        narrowed(from.len(), dtype, &read)
    })
}

/// Values of a type, made of the numbers that `read` gives from one on: a loop for each kind of number, and not for each other type.
fn narrowed<W: Wide>(len: usize, dtype: DType, read: &dyn Chunks<W>) -> Result<Buffer, AllocError> {
    with_element!(dtype, T => {
        Ok(Buffer::from_array(Array::of_blocks(len, read, |wide: W| T::from_number(wide.number()))?))
    })
}
