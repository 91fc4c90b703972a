//! The other half of a matrix with symmetry: files hold one triangle, and each entry off the diagonal stands for two.
//!
//! ```text
//! file (lower triangle)     symmetric   skew-symmetric   Hermitian
//! (2, 1)  3 + i             (1, 2)  3 + i    -3 - i       3 - i
//! (2, 2)  d                 any d       d is 0           d is real
//! ```

use half::{bf16, f16};
use lacunar_formats::One;
use num_complex::Complex;

use super::Symmetry;
use crate::values::Element;

/// A value with a mirror image.
pub(super) trait Mirror: Element {
    /// The value on the other side of the diagonal; `None` if it has no place in the type.
    fn mirror(self, symmetry: Symmetry) -> Option<Self>;
    /// True if the value may stand on the diagonal of a matrix: it has to be its own mirror image.
    fn fits_diagonal(self, symmetry: Symmetry) -> bool {
        symmetry != Symmetry::SkewSymmetric || self == Self::default()
    }
}

/// The values that [`Mirror::fits_diagonal`] asks for, in words.
pub(super) fn expected_on_diagonal(symmetry: Symmetry) -> &'static str {
    match symmetry {
        Symmetry::Hermitian => "a real value on the diagonal of a Hermitian matrix",
        _ => "only zeros on the diagonal of a skew-symmetric matrix",
    }
}

macro_rules! reals {
    ($($ty:ty),*) => { $(
        impl Mirror for $ty {
            fn mirror(self, symmetry: Symmetry) -> Option<$ty> {
                Some(if symmetry == Symmetry::SkewSymmetric { -self } else { self })
            }
        }
    )* };
}
reals!(f16, bf16, f32, f64);

macro_rules! integers {
    ($($ty:ty),*) => { $(
        impl Mirror for $ty {
            fn mirror(self, symmetry: Symmetry) -> Option<$ty> {
                if symmetry == Symmetry::SkewSymmetric { self.checked_neg() } else { Some(self) }
            }
        }
    )* };
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! complexes {
    ($($part:ty),*) => { $(
        impl Mirror for Complex<$part> {
            fn mirror(self, symmetry: Symmetry) -> Option<Complex<$part>> {
                Some(match symmetry {
                    Symmetry::SkewSymmetric => -self,
                    Symmetry::Hermitian => self.conj(),
                    Symmetry::General | Symmetry::Symmetric => self,
                })
            }
            fn fits_diagonal(self, symmetry: Symmetry) -> bool {
                match symmetry {
                    Symmetry::SkewSymmetric => self == Complex::default(),
                    Symmetry::Hermitian => self.im == 0.0,
                    Symmetry::General | Symmetry::Symmetric => true,
                }
            }
        }
    )* };
}
complexes!(f32, f64);

impl Mirror for bool {
    fn mirror(self, symmetry: Symmetry) -> Option<bool> {
        // `true` has no negative.
        if symmetry == Symmetry::SkewSymmetric && self { None } else { Some(self) }
    }
}

impl Mirror for One {
    fn mirror(self, symmetry: Symmetry) -> Option<One> {
        if symmetry == Symmetry::SkewSymmetric { None } else { Some(self) }
    }
}
