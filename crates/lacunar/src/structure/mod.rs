//! Data with structure: whether a tensor's elements are such as a [`Structure`] says, the part of them that has to be stored, tensors
//! that have a structure, and which structures a tensor has.
//!
//! ```
//! use lacunar::{Format, Structured, Tensor};
//! use lacunar::inside::notation::structure::Named;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let skew = Named::find("skew").unwrap().structure(2, &[]).unwrap();
//! let a = Tensor::from([[0.0, 2.0], [-2.0, 0.0]]).convert(Format::csr())?;
//! a.as_dyn().check_structure(&skew, &[2, 2])?;
//! let b = Tensor::from([[0.0, 2.0], [5.0, 0.0]]);
//! let error = b.as_dyn().check_structure(&skew, &[2, 2]).unwrap_err();
//! assert_eq!(error.to_string(), "element (1, 0) is 5, but by its structure it is -2, -1 times element (0, 1)");
//! # Ok(())
//! # }
//! ```
//!
//! | file | |
//! |---|---|
//! | `points.rs` | a structure at given sizes: what an element is, by its coordinates |
//! | `followers.rs` | the redundant elements that follow from a unique one |
//! | `check.rs` | whether a tensor has a structure |
//! | `make.rs` | tensors that have one |
//! | `find.rs`, `reach.rs`, `implied.rs` | the named structures that a tensor has; their arguments; which of them to tell |
//! | `numbers.rs`, `table.rs` | elements of any type; elements by coordinates |

mod check;
mod error;
mod find;
mod followers;
mod given;
mod implied;
mod make;
mod numbers;
mod points;
mod reach;
mod table;

use lacunar_notation::Structure;
use lacunar_runtime::Tensor as DynTensor;

pub use error::{Contradiction, StructureError};
pub use find::FoundStructure;
pub(crate) use given::{Givens, as_given};

/// What a [`Structure`] says of a tensor's elements. The parameters of a structure have values, of which the first are the tensor's sizes.
/// Elements that are not stored are 0: a tensor with another fill value has no structure.
pub trait Structured: Sized {
    /// Compares all elements with a structure: those outside of it have to be 0, and redundant ones the multiples of their unique ones,
    /// exactly (zeros of either sign are equal, and so is what is not a number). It takes a pass over the stored elements, and for each
    /// redundant one a search.
    ///
    /// # Errors
    /// The first element that contradicts, in the order of storage, one that is not stored where its unique one is; or the structure is of
    /// other tensors, or has too large numbers.
    ///
    /// ```
    /// use lacunar::inside::notation::structure::Named;
    /// use lacunar::{Structured, Tensor};
    /// let upper = Named::find("upper").unwrap().structure(2, &[]).unwrap();
    /// assert!(Tensor::from([[1, 2], [0, 4]]).as_dyn().check_structure(&upper, &[2, 2]).is_ok());
    /// let error = Tensor::from([[1, 2], [3, 4]]).as_dyn().check_structure(&upper, &[2, 2]).unwrap_err();
    /// assert_eq!(error.to_string(), "element (1, 0) is 3, but by its structure it is 0");
    /// ```
    fn check_structure(&self, structure: &Structure, params: &[i64]) -> Result<(), StructureError>;

    /// The unique elements alone, in the same format.
    ///
    /// # Errors
    /// The structure is of other tensors, or has too large numbers; memory is refused.
    ///
    /// ```
    /// use lacunar::inside::notation::structure::Named;
    /// use lacunar::{Structured, Tensor};
    /// let symmetric = Named::find("symmetric").unwrap().structure(2, &[]).unwrap();
    /// let half = Tensor::from([[1, 2], [2, 4]]).as_dyn().keep_unique(&symmetric, &[2, 2]).unwrap();
    /// assert_eq!(half.to_string(), "[[1, 2], [0, 4]]");
    /// ```
    fn keep_unique(&self, structure: &Structure, params: &[i64]) -> Result<Self, StructureError>;

    /// A tensor that has the structure, in the same format: the unique elements of this one, and what follows from them; all other elements
    /// are dropped.
    ///
    /// # Errors
    /// The structure is of other tensors, or has too large numbers; the format can't hold the elements; memory is refused.
    ///
    /// ```
    /// use lacunar::inside::notation::structure::Named;
    /// use lacunar::{Structured, Tensor};
    /// let circulant = Named::find("circulant").unwrap().structure(2, &[]).unwrap();
    /// let turned = Tensor::from([[1, 2, 3], [4, 5, 6], [7, 8, 9]]).as_dyn().with_structure(&circulant, &[3, 3]).unwrap();
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
    /// use lacunar::{Structured, Tensor};
    /// let a = Tensor::from([[2, 1, 0, 0], [1, 3, 1, 0], [0, 1, 5, 1], [0, 0, 1, 7]]);
    /// let found: Vec<String> = a.as_dyn().structures()?.iter().map(ToString::to_string).collect();
    /// assert_eq!(found, ["symmetric", "banded(1,1)"]);
    /// # Ok::<(), lacunar::Error>(())
    /// ```
    fn structures(&self) -> Result<Vec<FoundStructure>, StructureError>;
}

impl Structured for DynTensor {
    fn check_structure(&self, structure: &Structure, params: &[i64]) -> Result<(), StructureError> {
        check::check(self, structure, params)
    }

    fn keep_unique(&self, structure: &Structure, params: &[i64]) -> Result<DynTensor, StructureError> {
        make::keep_unique(self, structure, params)
    }

    fn with_structure(&self, structure: &Structure, params: &[i64]) -> Result<DynTensor, StructureError> {
        make::with_structure(self, structure, params)
    }

    fn structures(&self) -> Result<Vec<FoundStructure>, StructureError> {
        find::find(self)
    }
}
