//! Tensors and plain Rust values: numbers, vectors, arrays.
//!
//! ```
//! use lacunar_runtime::Tensor;
//! let vector = Tensor::from(vec![1.0, 2.0]);
//! assert_eq!(vector.dims(), [2]);
//! assert_eq!(Vec::<f64>::try_from(vector), Ok(vec![1.0, 2.0]));
//! assert_eq!(i32::try_from(Tensor::from(7)), Ok(7));
//! assert!(f64::try_from(Tensor::from(7)).is_err());
//! ```

use half::{bf16, f16};
use lacunar_formats::Format;
use num_complex::Complex;

use crate::buffer::Buffer;
use crate::error::StorageError;
use crate::storage::LevelStorage;
use crate::tensor::Tensor;
use crate::values::Element;

/// A dense tensor of values in row-major order, as many as the sizes say.
fn dense<T: Element>(dims: Vec<u64>, values: Vec<T>) -> Tensor {
    let levels = dims.iter().map(|&size| LevelStorage::dense(size)).collect();
    let format = Format::dense(dims.len());
    Tensor::assemble(dims, format, levels, Buffer::from_vec(values))
}

/// The only element of a tensor of order 0.
fn only<T: Element>(tensor: &Tensor) -> Result<T, StorageError> {
    if tensor.order() != 0 {
        return Err(StorageError::NoScalar { order: tensor.order() });
    }
    of_type::<T>(tensor)?.first().copied().ok_or(StorageError::Astray)
}

fn of_type<T: Element>(tensor: &Tensor) -> Result<&[T], StorageError> {
    let (found, expected) = (tensor.dtype(), T::DTYPE.to_string());
    tensor.values().as_slice().ok_or(StorageError::Type { what: "the tensor".to_string(), found, expected })
}

/// All elements of a tensor of order 1.
impl<T: Element> TryFrom<Tensor> for Vec<T> {
    type Error = StorageError;

    fn try_from(tensor: Tensor) -> Result<Vec<T>, StorageError> {
        match tensor.order() {
            1 => tensor.to_dense(),
            order => Err(StorageError::NoVector { order }),
        }
    }
}

macro_rules! native {
    ($($ty:ty),*) => { $(
        /// A tensor of order 0.
        impl From<$ty> for Tensor {
            fn from(value: $ty) -> Tensor {
                Tensor::scalar(value)
            }
        }

        /// A dense tensor of order 1, in the vector's memory.
        impl From<Vec<$ty>> for Tensor {
            fn from(values: Vec<$ty>) -> Tensor {
                dense(vec![values.len() as u64], values)
            }
        }

        /// A dense tensor of order 1, of a copy of the values.
        impl From<&[$ty]> for Tensor {
            fn from(values: &[$ty]) -> Tensor {
                Tensor::from(values.to_vec())
            }
        }

        /// A dense tensor of order 1.
        impl<const N: usize> From<[$ty; N]> for Tensor {
            fn from(values: [$ty; N]) -> Tensor {
                Tensor::from(Vec::from(values))
            }
        }

        /// A dense tensor of order 2, of rows.
        impl<const N: usize, const M: usize> From<[[$ty; N]; M]> for Tensor {
            fn from(rows: [[$ty; N]; M]) -> Tensor {
                dense(vec![M as u64, N as u64], rows.into_iter().flatten().collect())
            }
        }

        /// The only element of a tensor of order 0.
        impl TryFrom<Tensor> for $ty {
            type Error = StorageError;

            fn try_from(tensor: Tensor) -> Result<$ty, StorageError> {
                only(&tensor)
            }
        }
    )* };
}
native!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, Complex<f32>, Complex<f64>);
