//! How values of equal coordinates are added up, in packing and when files list an entry twice.
//!
//! Booleans: or. Integers wrap, as in NumPy. Real and complex numbers add.

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
floats!(f32, f64, Complex<f32>, Complex<f64>);
