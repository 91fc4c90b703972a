//! Tensors without the entries that are not needed: those that hold the fill value.
//!
//! Stored zeros are entries, and nothing drops them but this, and `prune(..)` in a program.

use crate::coo::Coo;
use crate::error::StorageError;
use crate::tensor::Tensor;

impl Tensor {
    /// The tensor in the same format, with those entries only that differ from its fill value. Zeros of either sign are equal.
    ///
    /// # Errors
    /// Memory is refused.
    ///
    /// ```
    /// use lacunar_formats::Format;
    /// use lacunar_runtime::{Coo, Tensor};
    /// use lacunar_runtime::coo::Coordinates;
    /// use lacunar_runtime::values::Values;
    /// let coords = vec![Coordinates::U32(vec![0, 2, 3])];
    /// let list = Coo { dims: vec![5], coords, values: Values::F64(vec![1.0, 0.0, -0.0]) };
    /// let tensor = Tensor::from_coo(list, &Format::sv())?;
    /// assert_eq!((tensor.nnz(), tensor.pruned()?.nnz()), (3, 1));
    /// # Ok::<(), lacunar_runtime::StorageError>(())
    /// ```
    pub fn pruned(&self) -> Result<Tensor, StorageError> {
        let Coo { dims, mut coords, mut values } = self.to_coo()?;
        let fill = self.fill();
        let kept: Vec<bool> = (0..values.len()).map(|k| values.get(k).is_some_and(|value| value != fill)).collect();
        coords.iter_mut().for_each(|column| column.retain(&kept));
        values.retain(&kept);
        Tensor::from_coo(Coo { dims, coords, values }, self.format())?.with_fill(fill)
    }
}
