//! Elements as the bits of a scalar, and back.
//!
//! ```
//! use lacunar_formats::{DType, Scalar};
//! use lacunar_runtime::{element_of, scalar_of};
//! assert_eq!(scalar_of(-1i8), Scalar::int(DType::I8, -1));
//! assert_eq!(element_of::<f32>(Scalar::real(DType::F32, 0.5)), 0.5);
//! ```

use half::{bf16, f16};
use lacunar_formats::{DType, One, Scalar};
use num_complex::Complex;

/// The element types, of which no other crate makes more.
pub trait ScalarBits: Sized {
    /// The element with the bits of a scalar of its type.
    fn from_scalar(scalar: Scalar) -> Self;
    /// The scalar with the element's bits.
    fn to_scalar(self) -> Scalar;
}

/// Numbers by the expressions for their bits, from a scalar's and to them.
macro_rules! by_bits {
    ($($ty:ty, $variant:ident: |$bits:ident| $of:expr, |$value:ident| $to:expr;)*) => { $(
        impl ScalarBits for $ty {
            fn from_scalar(scalar: Scalar) -> $ty {
                let $bits = scalar.bits;
                $of
            }
            fn to_scalar(self) -> Scalar {
                let $value = self;
                Scalar { ty: DType::$variant, bits: $to, imag: 0 }
            }
        }
    )* };
}

by_bits! {
    bool, Bool: |bits| bits & 1 == 1, |value| u64::from(value);
    i8, I8: |bits| bits as i8, |value| value as i64 as u64;
    i16, I16: |bits| bits as i16, |value| value as i64 as u64;
    i32, I32: |bits| bits as i32, |value| value as i64 as u64;
    i64, I64: |bits| bits as i64, |value| value as u64;
    u8, U8: |bits| bits as u8, |value| u64::from(value);
    u16, U16: |bits| bits as u16, |value| u64::from(value);
    u32, U32: |bits| bits as u32, |value| u64::from(value);
    u64, U64: |bits| bits, |value| value;
    f16, F16: |bits| f16::from_bits(bits as u16), |value| u64::from(value.to_bits());
    bf16, BF16: |bits| bf16::from_bits(bits as u16), |value| u64::from(value.to_bits());
    f32, F32: |bits| f32::from_bits(bits as u32), |value| u64::from(value.to_bits());
    f64, F64: |bits| f64::from_bits(bits), |value| value.to_bits();
}

impl ScalarBits for Complex<f32> {
    fn from_scalar(scalar: Scalar) -> Complex<f32> {
        Complex::new(f32::from_bits(scalar.bits as u32), f32::from_bits(scalar.imag as u32))
    }
    fn to_scalar(self) -> Scalar {
        Scalar { ty: DType::C64, bits: u64::from(self.re.to_bits()), imag: u64::from(self.im.to_bits()) }
    }
}

impl ScalarBits for Complex<f64> {
    fn from_scalar(scalar: Scalar) -> Complex<f64> {
        Complex::new(f64::from_bits(scalar.bits), f64::from_bits(scalar.imag))
    }
    fn to_scalar(self) -> Scalar {
        Scalar { ty: DType::C128, bits: self.re.to_bits(), imag: self.im.to_bits() }
    }
}

/// A pattern has no values: elements that it does not store are 0.
impl ScalarBits for One {
    fn from_scalar(_: Scalar) -> One {
        One
    }
    fn to_scalar(self) -> Scalar {
        Scalar::zero(DType::Pattern)
    }
}
