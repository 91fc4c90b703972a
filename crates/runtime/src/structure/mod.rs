//! Data with structure: comparing a tensor's elements with a [`Structure`], the part of them that has to be stored, tensors that have
//! a structure, and finding the structures of a tensor.
//!
//! ```
//! use lacunar_formats::{Format, structure::Named};
//! use lacunar_runtime::{Buffer, Structured, Tensor};
//! let matrix = |values: [f64; 4]| Tensor::from_dense(vec![2, 2], Buffer::from_vec(values.to_vec()), &Format::csr()).unwrap();
//! let skew = Named::find("skew").unwrap().structure(2, &[]).unwrap();
//! matrix([0.0, 2.0, -2.0, 0.0]).check_structure(&skew, &[2, 2]).unwrap();
//! let error = matrix([0.0, 2.0, 5.0, 0.0]).check_structure(&skew, &[2, 2]).unwrap_err();
//! assert_eq!(error.to_string(), "element (1, 0) is 5, but by its structure it is -2, -1 times element (0, 1)");
//! ```
//!
//! | file | |
//! |---|---|
//! | `points.rs` | a structure at given sizes: the kind of an element, by its coordinates |
//! | `followers.rs` | the redundant elements that follow from a unique one |
//! | `check.rs` | comparing a tensor with a structure |
//! | `make.rs`, `dense.rs` | tensors that have one |
//! | `packed.rs` | tensors whose format stores unique elements alone |
//! | `find.rs`, `reach.rs`, `implied.rs` | the named structures that a tensor has; their arguments; which of them to tell |
//! | `numbers.rs`, `table.rs` | elements of any type; elements by coordinates |

mod check;
mod dense;
mod error;
mod find;
mod followers;
mod implied;
mod make;
mod numbers;
mod packed;
mod points;
mod reach;
mod table;

use lacunar_formats::Structure;

use crate::Tensor as DynTensor;

pub use error::{Contradiction, StructureError};
pub use find::FoundStructure;
pub(crate) use numbers::multiplied as times;
use packed::Seen;
pub(crate) use packed::{Origin, check_layout, element, keep, origin, whole};

/// Operations of a tensor with a [`Structure`] of its elements. The parameters of a structure have values, of which the first are the
/// tensor's sizes. Elements that are not stored are 0: a tensor with another fill value has no structure.
pub trait Structured: Sized {
    /// Compares all elements with a structure: those outside of it have to be 0, and redundant ones the multiples of their unique ones,
    /// exactly (zeros of either sign are equal, and so are NaN). It takes a pass over the stored elements, and for each redundant one a
    /// search.
    ///
    /// # Errors
    /// The first element that contradicts, in the order of storage, one that is not stored where its unique one is; or the structure is of
    /// other tensors, or has too large numbers.
    ///
    /// ```
    /// use lacunar_formats::{Format, structure::Named};
    /// use lacunar_runtime::{Buffer, Structured, Tensor};
    /// let matrix = |values: [i64; 4]| Tensor::from_dense(vec![2, 2], Buffer::from_vec(values.to_vec()), &Format::dense(2)).unwrap();
    /// let upper = Named::find("upper").unwrap().structure(2, &[]).unwrap();
    /// assert!(matrix([1, 2, 0, 4]).check_structure(&upper, &[2, 2]).is_ok());
    /// let error = matrix([1, 2, 3, 4]).check_structure(&upper, &[2, 2]).unwrap_err();
    /// assert_eq!(error.to_string(), "element (1, 0) is 3, but by its structure it is 0");
    /// ```
    fn check_structure(&self, structure: &Structure, params: &[i64]) -> Result<(), StructureError>;

    /// The unique elements alone, in the same format; of a tensor that stores no others already, a copy.
    ///
    /// # Errors
    /// The structure is of other tensors, or has too large numbers; memory is refused.
    ///
    /// ```
    /// use lacunar_formats::{Format, structure::Named};
    /// use lacunar_runtime::{Buffer, Structured, Tensor};
    /// let matrix = Tensor::from_dense(vec![2, 2], Buffer::from_vec(vec![1, 2, 2, 4]), &Format::dense(2)).unwrap();
    /// let symmetric = Named::find("symmetric").unwrap().structure(2, &[]).unwrap();
    /// let half = matrix.keep_unique(&symmetric, &[2, 2]).unwrap();
    /// assert_eq!(half.to_string(), "[[1, 2], [0, 4]]");
    /// ```
    fn keep_unique(&self, structure: &Structure, params: &[i64]) -> Result<Self, StructureError>;

    /// A tensor that has the structure, in the same format: the unique elements of this one, and those that follow from them; all other
    /// elements are dropped.
    ///
    /// # Errors
    /// The structure is of other tensors, or has too large numbers; the format can't hold the elements; memory is refused.
    ///
    /// ```
    /// use lacunar_formats::{Format, structure::Named};
    /// use lacunar_runtime::{Buffer, Structured, Tensor};
    /// let any = Tensor::from_dense(vec![3, 3], Buffer::from_vec((1..10).collect::<Vec<i64>>()), &Format::dense(2)).unwrap();
    /// let circulant = Named::find("circulant").unwrap().structure(2, &[]).unwrap();
    /// let turned = any.with_structure(&circulant, &[3, 3]).unwrap();
    /// assert_eq!(turned.to_string(), "[[1, 2, 3], [3, 1, 2], [2, 3, 1]]");
    /// ```
    fn with_structure(&self, structure: &Structure, params: &[i64]) -> Result<Self, StructureError>;

    /// The structures with names that the elements have, but for those that others of them imply: of a diagonal matrix `diagonal` alone.
    /// Bands, blocks and arrows are told where they are narrow.
    ///
    /// # Errors
    /// The fill value is not 0, or memory is refused.
    ///
    /// ```
    /// use lacunar_formats::Format;
    /// use lacunar_runtime::{Buffer, Structured, Tensor};
    /// let values = vec![2, 1, 0, 0, 1, 3, 1, 0, 0, 1, 5, 1, 0, 0, 1, 7];
    /// let a = Tensor::from_dense(vec![4, 4], Buffer::from_vec(values), &Format::dense(2)).unwrap();
    /// let found: Vec<String> = a.structures().unwrap().iter().map(ToString::to_string).collect();
    /// assert_eq!(found, ["symmetric", "banded(1,1)"]);
    /// ```
    fn structures(&self) -> Result<Vec<FoundStructure>, StructureError>;
}

impl Structured for DynTensor {
    fn check_structure(&self, structure: &Structure, params: &[i64]) -> Result<(), StructureError> {
        match packed::completed(self, structure)? {
            Seen::Alike => check::fits(self, structure, params),
            Seen::Whole(whole) => check::check(&whole, structure, params),
        }
    }

    fn keep_unique(&self, structure: &Structure, params: &[i64]) -> Result<DynTensor, StructureError> {
        match packed::completed(self, structure)? {
            Seen::Alike => check::fits(self, structure, params).and_then(|()| Ok(self.try_clone()?)),
            Seen::Whole(whole) => make::keep_unique(&whole, structure, params),
        }
    }

    fn with_structure(&self, structure: &Structure, params: &[i64]) -> Result<DynTensor, StructureError> {
        match packed::completed(self, structure)? {
            Seen::Alike => check::fits(self, structure, params).and_then(|()| Ok(self.try_clone()?)),
            Seen::Whole(whole) => make::with_structure(&whole, structure, params),
        }
    }

    fn structures(&self) -> Result<Vec<FoundStructure>, StructureError> {
        find::find(&*packed::seen_whole(self)?)
    }
}
