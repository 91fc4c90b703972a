//! Changes of packed tensors: a change of an element stores the unique one that it follows from.
//!
//! ```text
//! packed(skew):   insert (2, 0) 5      stores -5 at (0, 2);   insert (1, 1) 5      an error: the structure says that it is 0
//! ```
//!
//! On entry: coordinates that lie inside, and values of the tensor's type. On exit: all elements that follow from the one that was changed are
//! changed with it.

use lacunar_formats::Scalar;
use lacunar_sets::Coefficient;

use super::exchange;
use crate::error::StorageError;
use crate::fill::scalar_of;
use crate::structure::{Contradiction, Origin, StructureError, origin, times};
use crate::tensor::Tensor;
use crate::values::Element;

impl Tensor {
    /// Sets an element of a packed tensor; gives the one before, if it was not 0.
    ///
    /// # Errors
    /// The structure says that it is 0, and it is not to be; memory is refused.
    pub(super) fn set_packed<T: Element>(&mut self, coordinates: &[u64], value: T) -> Result<Option<T>, StorageError> {
        match origin(self, coordinates).ok_or_else(|| StorageError::overflow("a coordinate"))? {
            Origin::Nowhere if value == T::default() => Ok(None),
            Origin::Nowhere => Err(contradicted(coordinates, scalar_of(value)).into()),
            Origin::At(position, by) => {
                // Coefficients are 1 and -1, of the conjugate or not: each is its own inverse.
                let before = exchange(self.parts_mut().3, position as u64, multiplied(value, by)?)?;
                let before = before.map(|before| multiplied(before, by)).transpose()?;
                Ok(before.filter(|before| *before != T::default()))
            }
        }
    }

    /// An element of a packed tensor, if it is not 0.
    ///
    /// # Errors
    /// A coordinate does not fit.
    pub(super) fn get_packed<T: Element>(&self, coordinates: &[u64]) -> Result<Option<T>, StorageError> {
        match origin(self, coordinates).ok_or_else(|| StorageError::overflow("a coordinate"))? {
            Origin::Nowhere => Ok(None),
            Origin::At(position, by) => {
                let value = self.values().as_slice::<T>().and_then(|values| values.get(position).copied());
                let value = value.map(|value| multiplied(value, by)).transpose()?;
                Ok(value.filter(|value| *value != T::default()))
            }
        }
    }
}

/// A value times a coefficient.
///
/// # Errors
/// The coefficient is a fraction, by which nothing can be divided.
fn multiplied<T: Element>(value: T, by: Coefficient) -> Result<T, StorageError> {
    times(value, by).ok_or(StorageError::Astray)
}

/// The error of an element that the structure says is 0.
fn contradicted(coordinates: &[u64], found: Scalar) -> StructureError {
    let (coordinates, expected) = (coordinates.to_vec(), Scalar::zero(found.ty));
    StructureError::Element(Box::new(Contradiction { coordinates, found, expected, source: None }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use lacunar_formats::{DType, Format};

    use super::super::Batch;
    use super::*;

    #[test]
    fn what_follows_from_an_element_is_changed_with_it() {
        let mut skew = Tensor::zeros(vec![3, 3], &Format::packed("skew", 2).unwrap(), DType::F64).unwrap();
        assert_eq!(skew.insert(&[2, 0], 5.0).unwrap(), None);
        assert_eq!(skew.to_string(), "[[0, 0, -5], [0, 0, 0], [5, 0, 0]]");
        assert_eq!(skew.insert(&[0, 2], 1.0).unwrap(), Some(-5.0));
        assert_eq!(skew.remove::<f64>(&[2, 0]).unwrap(), Some(-1.0));
        assert_eq!(skew.remove::<f64>(&[1, 1]).unwrap(), None);
        let error = skew.insert(&[1, 1], 7.0).unwrap_err().to_string();
        assert_eq!(error, "element (1, 1) is 7, but by its structure it is 0");
        let mut batch = Batch::new(2);
        batch.set(&[1, 0], 3.0).add(&[0, 1], 1.0).set(&[2, 2], 1.0);
        assert!(skew.update(&batch).is_err());
        assert_eq!(skew.to_string(), "[[0, 0, 0], [0, 0, 0], [0, 0, 0]]");
        let mut batch = Batch::new(2);
        batch.set(&[1, 0], 3.0).add(&[0, 1], 1.0);
        skew.update(&batch).unwrap();
        assert_eq!(skew.to_string(), "[[0, -2, 0], [2, 0, 0], [0, 0, 0]]");
    }
}
