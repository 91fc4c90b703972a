//! The operands of a program, and the types that its result can become.
//!
//! ```
//! use lacunar::{Kernel, Options, Tensor, einsum};
//! # fn main() -> Result<(), lacunar::Error> {
//! let (row, scale) = (vec![1.0, 2.0], 10.0);
//! let a = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
//! let y = einsum!("y(i) = c * A(i,j) * x(j)", A = &a, x = &row, c = scale -> Vec<f64>)?;
//! assert_eq!(y, [50.0, 110.0]);
//!
//! let kernel = Kernel::compile("s = x(i) * x(i)", &Options::new())?;
//! let square: f64 = kernel.call(&[("x", &row)])?;
//! assert_eq!(square, 5.0);
//! # Ok(())
//! # }
//! ```

use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use half::{bf16, f16};
use lacunar_runtime::{Element, Lent, StorageError, Tensor as DynTensor};
use num_complex::Complex;

use crate::error::Error;
use crate::tensor::Tensor;

/// An operand seen as a tensor: it dereferences to a [`DynTensor`].
#[derive(Debug)]
pub enum TensorView<'a> {
    /// A tensor as it is.
    Tensor(&'a DynTensor),
    /// A tensor over the operand's memory, or one that was made of it.
    Lent(Lent<'a>),
}

impl Deref for TensorView<'_> {
    type Target = DynTensor;

    fn deref(&self) -> &DynTensor {
        match self {
            TensorView::Tensor(tensor) => tensor,
            TensorView::Lent(lent) => lent,
        }
    }
}

impl<'a> From<Lent<'a>> for TensorView<'a> {
    fn from(lent: Lent<'a>) -> TensorView<'a> {
        TensorView::Lent(lent)
    }
}

/// An operand of [`einsum!`](crate::einsum!) and of [`Kernel::call`](crate::Kernel::call): tensors, numbers, slices,
/// vectors and arrays of numbers; with the features of these names, also arrays of `ndarray` and matrices of `sprs`.
/// The memory of an operand is used as it is, wherever a format has its layout.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an operand of an expression",
    note = "operands are tensors, numbers, slices, vectors and arrays of numbers, and references to these",
    note = "arrays of `ndarray` and matrices of `sprs` are operands with lacunar's features of these names"
)]
pub trait Operand {
    /// The operand as a tensor.
    ///
    /// # Errors
    /// No tensor can be stored so; memory is refused where a copy is needed.
    fn as_tensor(&self) -> Result<TensorView<'_>, Error>;
}

impl Operand for DynTensor {
    fn as_tensor(&self) -> Result<TensorView<'_>, Error> {
        Ok(TensorView::Tensor(self))
    }
}

impl<T: Element> Operand for Tensor<T> {
    fn as_tensor(&self) -> Result<TensorView<'_>, Error> {
        Ok(TensorView::Tensor(self.as_dyn()))
    }
}

/// A vector.
impl<T: Element> Operand for [T] {
    fn as_tensor(&self) -> Result<TensorView<'_>, Error> {
        Ok(Lent::vector(self)?.into())
    }
}

/// A vector.
impl<T: Element> Operand for Vec<T> {
    fn as_tensor(&self) -> Result<TensorView<'_>, Error> {
        self.as_slice().as_tensor()
    }
}

/// A vector.
impl<T: Element, const N: usize> Operand for [T; N] {
    fn as_tensor(&self) -> Result<TensorView<'_>, Error> {
        self.as_slice().as_tensor()
    }
}

macro_rules! pointers {
    ($($ty:ty),*) => { $(
        impl<O: Operand + ?Sized> Operand for $ty {
            fn as_tensor(&self) -> Result<TensorView<'_>, Error> {
                (**self).as_tensor()
            }
        }
    )* };
}
pointers!(&O, &mut O, Box<O>, Rc<O>, Arc<O>);

/// A type that the result of a program can become: the type behind `->` in [`einsum!`](crate::einsum!), and that of
/// [`Kernel::call`](crate::Kernel::call).
#[diagnostic::on_unimplemented(
    message = "the result of an expression cannot become a `{Self}`",
    note = "it can become a `Tensor<f64>`, of order 0 an `f64`, of order 1 a `Vec<f64>`, and the same of other types of elements, or a `DynTensor`"
)]
pub trait FromResult: Sized {
    /// The value of a result.
    ///
    /// # Errors
    /// The result has another type of elements or another order, or memory is refused.
    fn from_result(result: DynTensor) -> Result<Self, Error>;
}

impl FromResult for DynTensor {
    fn from_result(result: DynTensor) -> Result<DynTensor, Error> {
        Ok(result)
    }
}

impl<T: Element> FromResult for Tensor<T> {
    fn from_result(result: DynTensor) -> Result<Tensor<T>, Error> {
        Tensor::try_from(of_type::<T>(result)?)
    }
}

/// All elements of a result of order 1.
impl<T: Element> FromResult for Vec<T> {
    fn from_result(result: DynTensor) -> Result<Vec<T>, Error> {
        Ok(Vec::try_from(of_type::<T>(result)?)?)
    }
}

/// The same result, if its elements are of a type: the statement says how it gets that.
fn of_type<T: Element>(result: DynTensor) -> Result<DynTensor, Error> {
    let (found, wanted) = (result.dtype(), T::DTYPE);
    if found == wanted {
        return Ok(result);
    }
    Err(Error::Argument(format!(
        "the elements of the result are of type {found}, not {wanted}; convert what is assigned, as in `{wanted}(A(i,j))`, or take \
         a result of type {found}"
    )))
}

macro_rules! numbers {
    ($($ty:ty),*) => { $(
        /// A tensor of order 0.
        impl Operand for $ty {
            fn as_tensor(&self) -> Result<TensorView<'_>, Error> {
                Ok(Lent::from(DynTensor::scalar(*self)).into())
            }
        }

        /// The element of a result of order 0.
        impl FromResult for $ty {
            fn from_result(result: DynTensor) -> Result<$ty, Error> {
                Ok(<$ty>::try_from(of_type::<$ty>(result)?)?)
            }
        }
    )* };
}
numbers!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, Complex<f32>, Complex<f64>);

/// A tensor that a result is put into. The memory of a dense one is used again.
pub trait Destination {
    /// The tensor as it is.
    fn tensor(&self) -> &DynTensor;

    /// Takes the tensor, and leaves one without elements or of order 0.
    fn take(&mut self) -> DynTensor;

    /// Puts a result of the same type of elements in its place.
    ///
    /// # Errors
    /// The elements are of another type.
    fn put(&mut self, result: DynTensor) -> Result<(), Error>;
}

impl Destination for DynTensor {
    fn tensor(&self) -> &DynTensor {
        self
    }

    fn take(&mut self) -> DynTensor {
        std::mem::replace(self, DynTensor::scalar(false))
    }

    fn put(&mut self, result: DynTensor) -> Result<(), Error> {
        *self = result;
        Ok(())
    }
}

impl<T: Element> Destination for Tensor<T> {
    fn tensor(&self) -> &DynTensor {
        self.as_dyn()
    }

    fn take(&mut self) -> DynTensor {
        self.take_dyn()
    }

    fn put(&mut self, result: DynTensor) -> Result<(), Error> {
        *self = Tensor::try_from(result)?;
        Ok(())
    }
}

/// Operands by name, seen as tensors.
pub(crate) fn views<'a>(given: &[(&'a str, &'a dyn Operand)]) -> Result<Vec<(&'a str, TensorView<'a>)>, Error> {
    let named = |error: Error, name: &str| match error {
        Error::Storage(error @ StorageError::Alloc(_)) => Error::Storage(error),
        other => Error::Argument(format!("`{name}` cannot be an operand: {other}")),
    };
    given.iter().map(|&(name, operand)| Ok((name, operand.as_tensor().map_err(|error| named(error, name))?))).collect()
}
