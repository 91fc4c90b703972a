//! Dense tensors and `ndarray` arrays.
//!
//! ```
//! use lacunar::{Tensor, einsum};
//! use ndarray::array;
//! # fn main() -> Result<(), lacunar::Error> {
//! let a = Tensor::from_ndarray(array![[1.0, 2.0], [3.0, 4.0]])?;
//! let t: Tensor<f64> = einsum!("B(j,i) = A(i,j)", A = &a)?.try_into()?;
//! assert_eq!(t.as_ndarray(), Some(array![[1.0, 3.0], [2.0, 4.0]].view().into_dyn()));
//! # Ok(())
//! # }
//! ```

use lacunar_formats::Format;
use lacunar_runtime::{Buffer, Element, Tensor as DynTensor};
use ndarray::{Array, ArrayD, ArrayViewD, Dimension, IxDyn};

use crate::error::Error;
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
            array.iter().copied().collect()
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

fn shape(tensor: &DynTensor) -> Option<Vec<usize>> {
    tensor.dims().iter().map(|&size| usize::try_from(size).ok()).collect()
}
