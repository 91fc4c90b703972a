//! Dense tensors and `ndarray` arrays.
//!
//! ```
//! use lacunar::{Tensor, einsum};
//! use ndarray::array;
//! # fn main() -> Result<(), lacunar::Error> {
//! let a = array![[1.0, 2.0], [3.0, 4.0]];
//! let t = einsum!("B(j,i) = A(i,j)", A = &a -> ndarray::Array2<f64>)?;
//! assert_eq!(t, array![[1.0, 3.0], [2.0, 4.0]]);
//! let tensor = Tensor::from_ndarray(a)?;
//! assert_eq!(tensor.as_ndarray(), Some(array![[1.0, 2.0], [3.0, 4.0]].view().into_dyn()));
//! # Ok(())
//! # }
//! ```

use lacunar_formats::Format;
use lacunar_runtime::{AllocError, Buffer, Element, Lent, StorageError, Tensor as DynTensor};
use ndarray::{Array, ArrayBase, ArrayD, ArrayViewD, Data, Dimension, IxDyn};

use crate::error::Error;
use crate::operand::{FromResult, Operand, TensorView};
use crate::tensor::Tensor;

impl<T: Element> Tensor<T> {
    /// Takes an array as a dense tensor; without a copy, where its elements are in standard (row-major) order from the
    /// start of its memory.
    ///
    /// # Errors
    /// The number of elements overflows.
    pub fn from_ndarray<D: Dimension>(array: Array<T, D>) -> Result<Tensor<T>, Error> {
        let dims: Vec<u64> = array.shape().iter().map(|&size| size as u64).collect();
        let len = array.len();
        let values = if array.is_standard_layout() {
            let (mut values, offset) = array.into_raw_vec_and_offset();
            values.drain(..offset.unwrap_or(0));
            values.truncate(len);
            values
        } else {
            copied(&array)?
        };
        let format = Format::dense(dims.len());
        Tensor::try_from(DynTensor::from_dense(dims, Buffer::from_vec(values), &format)?)
    }

    /// A dense tensor as an array, without a copy. `None` if a level is not dense.
    pub fn as_ndarray(&self) -> Option<ArrayViewD<'_, T>> {
        let format = self.as_dyn().format();
        if !format.is_dense() {
            return None;
        }
        let sizes = shape(self.as_dyn())?;
        let stored: Vec<usize> = format.mode_order().iter().map(|&dimension| sizes[dimension]).collect();
        let by_level = ArrayViewD::from_shape(IxDyn(&stored), self.values()).ok()?;
        let levels: Option<Vec<usize>> = (0..sizes.len()).map(|dimension| format.level_of(dimension)).collect();
        Some(by_level.permuted_axes(IxDyn(&levels?)))
    }

    /// All elements as an array, zeros where nothing is stored.
    ///
    /// # Errors
    /// Memory for that many is refused.
    pub fn to_ndarray(&self) -> Result<ArrayD<T>, Error> {
        let values = self.to_dense()?;
        let array = shape(self.as_dyn()).and_then(|shape| ArrayD::from_shape_vec(IxDyn(&shape), values).ok());
        array.ok_or_else(|| Error::Argument("the sizes are too large for an array".to_string()))
    }
}

/// The elements of an array in row-major order: a view may have more than memory does.
fn copied<T: Element, S: Data<Elem = T>, D: Dimension>(array: &ArrayBase<S, D>) -> Result<Vec<T>, Error> {
    let bytes = (array.len() as u64).saturating_mul(size_of::<T>() as u64);
    let mut elements = Vec::new();
    elements.try_reserve_exact(array.len()).map_err(|_| StorageError::from(AllocError { bytes }))?;
    elements.extend(array.iter().copied());
    Ok(elements)
}

fn shape(tensor: &DynTensor) -> Option<Vec<usize>> {
    tensor.dims().iter().map(|&size| usize::try_from(size).ok()).collect()
}

/// An array of `ndarray`, or a view of one. It is used as it is, where its axes follow each other in memory without gaps, in
/// any order of axes; otherwise its elements are copied.
impl<S: Data, D: Dimension> Operand for ArrayBase<S, D>
where
    S::Elem: Element,
{
    fn as_tensor(&self) -> Result<TensorView<'_>, Error> {
        let dims: Vec<u64> = self.shape().iter().map(|&size| size as u64).collect();
        // From the axis with the longest steps to that with the shortest; those of one element may be anywhere.
        let mut axes: Vec<usize> = (0..self.ndim()).collect();
        axes.sort_by_key(|&axis| std::cmp::Reverse((self.strides()[axis], self.shape()[axis] > 1)));
        let by_memory = self.view().into_dyn().permuted_axes(IxDyn(&axes)).to_slice();
        let format = Format::dense(dims.len()).with_mode_order(axes).ok();
        Ok(match by_memory.zip(format) {
            Some((elements, format)) => Lent::dense(dims, &format, elements)?.into(),
            None => {
                let copy = Buffer::from_vec(copied(self)?);
                Lent::from(DynTensor::from_dense(dims.clone(), copy, &Format::dense(dims.len()))?).into()
            }
        })
    }
}

/// An array of the order of the result, in row-major order.
impl<T: Element, D: Dimension> FromResult for Array<T, D> {
    fn from_result(result: DynTensor) -> Result<Array<T, D>, Error> {
        let order = result.order();
        let array = Tensor::<T>::try_from(result)?.to_ndarray()?;
        let wrong = |_| Error::Argument(format!("the result is of order {order}, which the array is not"));
        array.into_dimensionality().map_err(wrong)
    }
}
