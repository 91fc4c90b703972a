//! Tensors from and to numbers, vectors and arrays, with the element type known.
//!
//! ```
//! use lacunar::{DynTensor, Tensor, einsum};
//! # fn main() -> Result<(), lacunar::Error> {
//! let x = Tensor::from(vec![3.0, 4.0]);
//! let square = f64::try_from(einsum!("s = x(i) * x(i)", x = &x)?)?;
//! assert_eq!(square, 25.0);
//! assert_eq!(Vec::try_from(x)?, [3.0, 4.0]);
//! # Ok(())
//! # }
//! ```

use lacunar_runtime::{Element, Tensor as DynTensor};

use super::Tensor;
use crate::error::Error;

impl<T: Element> From<Tensor<T>> for DynTensor {
    fn from(tensor: Tensor<T>) -> DynTensor {
        tensor.into_dyn()
    }
}

/// Fails where the elements are of another type.
impl<T: Element> TryFrom<DynTensor> for Tensor<T> {
    type Error = Error;

    fn try_from(inner: DynTensor) -> Result<Tensor<T>, Error> {
        if inner.dtype() == T::DTYPE {
            Ok(Tensor::of(inner))
        } else {
            Err(Error::Argument(format!("the elements are of type {}, not {}", inner.dtype(), T::DTYPE)))
        }
    }
}

/// All elements of a tensor of order 1; fails for other orders.
impl<T: Element> TryFrom<Tensor<T>> for Vec<T> {
    type Error = Error;

    fn try_from(tensor: Tensor<T>) -> Result<Vec<T>, Error> {
        Ok(Vec::try_from(tensor.inner)?)
    }
}

/// A tensor of a value that converts to a tensor without its element type.
macro_rules! native {
    ($($(#[$doc:meta])* [$($generics:tt)*] $from:ty;)*) => { $(
        $(#[$doc])*
        impl<$($generics)*> From<$from> for Tensor<T>
        where
            DynTensor: From<$from>,
        {
            fn from(value: $from) -> Tensor<T> {
                Tensor::of(DynTensor::from(value))
            }
        }
    )* };
}
native! {
    /// A dense tensor of order 1, in the vector's memory.
    [T: Element] Vec<T>;
    /// A dense tensor of order 1, of a copy of the values.
    ['a, T: Element] &'a [T];
    /// A dense tensor of order 1.
    [T: Element, const N: usize] [T; N];
    /// A dense tensor of order 2, of rows.
    [T: Element, const N: usize, const M: usize] [[T; N]; M];
}

macro_rules! numbers {
    ($($ty:ty),*) => { $(
        /// A tensor of order 0.
        impl From<$ty> for Tensor<$ty> {
            fn from(value: $ty) -> Tensor<$ty> {
                Tensor::scalar(value)
            }
        }

        /// The only element of a tensor of order 0; fails for other orders.
        impl TryFrom<Tensor<$ty>> for $ty {
            type Error = Error;

            fn try_from(tensor: Tensor<$ty>) -> Result<$ty, Error> {
                Ok(<$ty>::try_from(tensor.inner)?)
            }
        }
    )* };
}
numbers!(bool, i8, i16, i32, i64, u8, u16, u32, u64, half::f16, half::bf16, f32, f64);
numbers!(num_complex::Complex<f32>, num_complex::Complex<f64>);
