//! The reasons why a tensor does not have a structure.

use std::fmt;

use crate::{AllocError, StorageError, Tensor};
use lacunar_formats::Scalar;
use lacunar_sets::Coefficient;
use thiserror::Error as ThisError;

/// An element that a structure says something else of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// Its coordinates.
    pub coordinates: Vec<u64>,
    /// Its value; 0 also if it is not stored.
    pub found: Scalar,
    /// The value that it has to have.
    pub expected: Scalar,
    /// The coordinates of the unique element that it follows from, and the coefficient of that; `None` if it is to be 0.
    pub source: Option<(Vec<u64>, Coefficient)>,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |coordinates: &[u64]| {
            format!("({})", coordinates.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))
        };
        let Contradiction { coordinates, found, expected, source } = self;
        write!(f, "element {} is {found}, but by its structure it is {expected}", at(coordinates))?;
        match source {
            None => Ok(()),
            Some((unique, by)) if by.is_one() => write!(f, ", as element {} is", at(unique)),
            Some((unique, by)) => write!(f, ", {by} times element {}", at(unique)),
        }
    }
}

/// The reason why a tensor does not have a structure, or why that can't be told.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum StructureError {
    /// A structure of tensors of another order.
    #[error("a structure of {structure} dimensions, and a tensor of {order}")]
    Order {
        /// The order of the structure.
        structure: usize,
        /// The order of the tensor.
        order: usize,
    },
    /// Not a value for each parameter.
    #[error("the structure has the parameters {}, and {given} values are given", .needed.join(", "))]
    Parameters {
        /// The parameters, of which the first are the sizes.
        needed: Vec<String>,
        /// The number of values that are given.
        given: usize,
    },
    /// A value of a parameter that is a size, which the tensor does not have.
    #[error("dimension {dimension} is of size {size}, and the parameter of its size is {parameter}")]
    Size {
        /// The dimension.
        dimension: usize,
        /// Its size.
        size: u64,
        /// The value.
        parameter: i64,
    },
    /// The sizes of the tensor are not those of tensors with the structure.
    #[error("the structure is of tensors of other sizes than {}: it has to be that {context}", sizes(.dims))]
    Context {
        /// The conditions of the parameters.
        context: String,
        /// The sizes of the tensor.
        dims: Vec<u64>,
    },
    /// Elements that are not stored are not 0.
    #[error("elements that are not stored are {fill}, but structures leave out zeros")]
    Fill {
        /// The fill value.
        fill: Scalar,
    },
    /// An element contradicts.
    #[error("{0}")]
    Element(Box<Contradiction>),
    /// It can't be told which elements follow from others: too many pieces, or too large numbers.
    #[error(
        "it can't be told what this structure leaves of a tensor of these sizes; write it with fewer parts and smaller numbers, or leave it away"
    )]
    TooHard,
    /// A tensor that can't be stored.
    #[error(transparent)]
    Storage(StorageError),
}

impl From<StorageError> for StructureError {
    fn from(error: StorageError) -> StructureError {
        match error {
            StorageError::Structure(error) => *error,
            error => StructureError::Storage(error),
        }
    }
}

impl From<AllocError> for StructureError {
    fn from(error: AllocError) -> StructureError {
        StructureError::Storage(error.into())
    }
}

/// Tensors have structures if their fill value is 0.
///
/// # Errors
/// It is not.
pub(super) fn zero_elsewhere(tensor: &Tensor) -> Result<(), StructureError> {
    if tensor.fill().is_zero() { Ok(()) } else { Err(StructureError::Fill { fill: tensor.fill() }) }
}

fn sizes(dims: &[u64]) -> String {
    dims.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ")
}
