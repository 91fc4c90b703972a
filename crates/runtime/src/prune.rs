//! Tensors without the entries that hold the fill value, which are not needed.
//!
//! Stored zeros are entries, and nothing drops them but this, and `prune(..)` in a program.

use lacunar_formats::{DType, Format, Scalar};

use crate::coo::{Coo, retain};
use crate::dispatch::with_values;
use crate::error::StorageError;
use crate::fill::element_of;
use crate::tensor::Tensor;
use crate::values::Element;

impl Coo {
    /// The entries whose values differ from a fill value, of the type of the values. Zeros of either sign are equal; an
    /// entry of a pattern has no value, and stays.
    ///
    /// ```
    /// use lacunar_formats::Scalar;
    /// use lacunar_runtime::{Coo, Coordinates};
    /// use lacunar_runtime::values::Values;
    /// let coords = vec![Coordinates::U32(vec![0, 2, 3])];
    /// let list = Coo { dims: vec![5], coords, values: Values::F64(vec![1.0, 0.0, -0.0]) };
    /// let pruned = list.pruned(Scalar::real(lacunar_formats::DType::F64, 0.0));
    /// assert_eq!(pruned.values, Values::F64(vec![1.0]));
    /// ```
    #[must_use]
    pub fn pruned(mut self, fill: Scalar) -> Coo {
        if self.values.dtype() == DType::Pattern {
            return self;
        }
        let kept: Vec<bool> = with_values!(&self.values, v => differing(v, fill));
        with_values!(&mut self.values, v => retain(v, &kept));
        let coords = self.coords.into_iter().zip(&self.dims).map(|(column, size)| column.kept(&kept, *size)).collect();
        Coo { coords, ..self }
    }
}

impl Tensor {
    /// The tensor in the same format, with only the entries that differ from its fill value. Zeros of either sign are
    /// equal.
    ///
    /// # Errors
    /// Memory is refused.
    pub fn pruned(&self) -> Result<Tensor, StorageError> {
        let list = self.to_coo()?.pruned(self.fill());
        Tensor::from_coo(list, &Format::coo(self.order()))?.with_fill(self.fill())?.convert(self.format())
    }
}

/// For each value, true if it differs from another.
fn differing<T: Element + PartialEq>(values: &[T], fill: Scalar) -> Vec<bool> {
    let fill: T = element_of(fill);
    values.iter().map(|value| *value != fill).collect()
}
