//! How values of equal coordinates are added up, in packing and when files list an entry twice.
//!
//! Booleans: or. What a pattern stores is one. Integers wrap, as in NumPy. Real and complex numbers add; `f16` and `bf16` as `f32`,
//! rounded.

use lacunar_formats::One;
use num_complex::Complex;

use crate::values::Element;

/// An element type with the addition of its tensors.
pub trait Accumulate: Element {
    /// The sum.
    #[must_use]
    fn accumulate(self, other: Self) -> Self;
}

impl Accumulate for bool {
    fn accumulate(self, other: bool) -> bool {
        self | other
    }
}

impl Accumulate for One {
    fn accumulate(self, _: One) -> One {
        One
    }
}

macro_rules! integers {
    ($($ty:ty),*) => { $(
        impl Accumulate for $ty {
            fn accumulate(self, other: $ty) -> $ty {
                self.wrapping_add(other)
            }
        }
    )* };
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! floats {
    ($($ty:ty),*) => { $(
        impl Accumulate for $ty {
            fn accumulate(self, other: $ty) -> $ty {
                self + other
            }
        }
    )* };
}
floats!(half::f16, half::bf16, f32, f64, Complex<f32>, Complex<f64>);
