//! The reasons why a tensor cannot be stored, packed, imported or converted.
//!
//! Every variant has the expectation and the place: the level or dimension, and the place inside the array.

use std::fmt;

use lacunar_base::words::count;
use lacunar_formats::{DType, Format};
use thiserror::Error;

use crate::structure::StructureError;

/// The system gave no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub struct AllocError {
    /// The number of bytes that were asked for; `u64::MAX` if the size itself does not fit.
    pub bytes: u64,
}

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bytes {
            u64::MAX => f.write_str("out of memory: more bytes than can be addressed were asked for"),
            bytes => write!(f, "out of memory: {bytes} bytes were refused"),
        }
    }
}

/// The place in the levels above under which entries do not fit a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Above {
    /// Coordinates, one of each level above.
    Coordinates(Vec<u64>),
    /// A position of the level above.
    Position(u64),
    /// The level itself.
    Level(usize),
}

impl fmt::Display for Above {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Above::Coordinates(coordinates) if coordinates.is_empty() => f.write_str("the root"),
            Above::Coordinates(coordinates) => {
                let coordinates: Vec<String> = coordinates.iter().map(u64::to_string).collect();
                write!(f, "({})", coordinates.join(","))
            }
            Above::Position(position) => write!(f, "position {position}"),
            Above::Level(level) => write!(f, "level {level}"),
        }
    }
}

/// The reason why a tensor cannot be stored as asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StorageError {
    /// Memory was refused.
    #[error(transparent)]
    Alloc(#[from] AllocError),
    /// A size does not fit into 64 bits.
    #[error("{what} does not fit into 64 bits")]
    Overflow {
        /// The size that overflows.
        what: String,
    },
    /// A number does not fit into the index arrays of the format.
    #[error("{what} does not fit into {width}-bit index arrays")]
    Width {
        /// The number.
        what: String,
        /// Bits of the arrays.
        width: u32,
    },
    /// A format of one order for data of another.
    #[error("format `{format}` stores {}, but the tensor has {order}", count(*.levels, "dimension", "dimensions"))]
    Order {
        /// The format.
        format: Format,
        /// The number of dimensions that it stores.
        levels: usize,
        /// The number of the tensor's dimensions.
        order: usize,
    },
    /// Coordinates of an element are too few or too many.
    #[error("{found} coordinates are given for an element of a tensor of {order} dimensions")]
    Coordinates {
        /// The number of coordinates that are given.
        found: usize,
        /// The number of the tensor's dimensions.
        order: usize,
    },
    /// An array has the wrong length.
    #[error("{what} has {found} elements, but {expected} are needed")]
    Length {
        /// The array.
        what: String,
        /// Its length.
        found: u64,
        /// The length that fits the others.
        expected: u64,
    },
    /// An array has the wrong element type.
    #[error("{what} is of type {found}, but {expected} is needed")]
    Type {
        /// The array.
        what: String,
        /// Its element type.
        found: DType,
        /// The type that fits.
        expected: String,
    },
    /// The level's arrays are of another kind than the format's level.
    #[error("level {level} of format `{format}` has the arrays of another level kind")]
    LevelKind {
        /// The level.
        level: usize,
        /// The format.
        format: Format,
    },
    /// A number of an index array is negative.
    #[error("{what} holds a negative number at {place}")]
    Negative {
        /// The array.
        what: String,
        /// The place in it.
        place: u64,
    },
    /// A coordinate is not below the size of its dimension.
    #[error("coordinate {coordinate} of entry {entry} is outside dimension {dimension} of size {size}")]
    OutOfRange {
        /// The dimension, counted from 0.
        dimension: usize,
        /// The place in the coordinate array.
        entry: u64,
        /// The coordinate found there.
        coordinate: u64,
        /// The size of the dimension.
        size: u64,
    },
    /// A position array does not start at 0 or descends.
    #[error("position array of level {level} is wrong at {place}: {reason}")]
    Positions {
        /// The level, counted from 0.
        level: usize,
        /// The place in the position array.
        place: u64,
        /// The fault.
        reason: &'static str,
    },
    /// The nodes of a level are not those of its schema.
    #[error("the nodes of level {level} are wrong at word {word}: {reason}")]
    Nodes {
        /// The level, counted from 0.
        level: usize,
        /// The word in the array of nodes.
        word: u64,
        /// The fault.
        reason: &'static str,
    },
    /// Coordinates descend under one parent.
    #[error("coordinates of level {level} are not sorted at {place}")]
    NotSorted {
        /// The level, counted from 0.
        level: usize,
        /// The place in the coordinate array.
        place: u64,
    },
    /// A coordinate occurs twice under one parent.
    #[error("level {level} holds the same coordinate twice, at {place}")]
    Duplicate {
        /// The level, counted from 0.
        level: usize,
        /// The place of the second in the coordinate array.
        place: u64,
    },
    /// A coordinate has a rank in a window of others.
    #[error("rank {place} of level {level} is that of coordinate {coordinate}, which is in another window of {window}")]
    Window {
        /// The level, counted from 0.
        level: usize,
        /// The rank.
        place: u64,
        /// The coordinate found there.
        coordinate: u64,
        /// The number of coordinates in a window.
        window: u64,
    },
    /// A byte of a bool array is neither 0 nor 1.
    #[error("element {place} of the bool values is neither 0 nor 1")]
    Bool {
        /// The place in the value array.
        place: u64,
    },
    /// The data do not fit the format.
    #[error("the entries under {above} do not fit format `{format}`: {reason}")]
    NotRepresentable {
        /// The format.
        format: Box<Format>,
        /// The place that the entries are under.
        above: Above,
        /// The reason: the property that does not fit, and one that would.
        reason: String,
    },
    /// A pattern in a format that stores more than entries.
    #[error(
        "format `{format}` cannot store a pattern: some of its places only fill up, and without values nothing tells which; use `bool`, or a format whose innermost level is not padded, such as `csr`"
    )]
    PaddedPattern {
        /// The format.
        format: Box<Format>,
    },
    /// A tensor that does not have the structure of a packed format.
    #[error(transparent)]
    Structure(Box<StructureError>),
    /// An array is borrowed for reading and cannot be written to.
    #[error("{what} is borrowed for reading only")]
    ReadOnly {
        /// The array.
        what: String,
    },
    /// A tensor that was to be a number.
    #[error("a number is a tensor of order 0, but this one is of order {order}")]
    NoScalar {
        /// The order of the tensor.
        order: usize,
    },
    /// A tensor that was to be a vector.
    #[error("a vector is a tensor of order 1, but this one is of order {order}")]
    NoVector {
        /// The order of the tensor.
        order: usize,
    },
    /// A leg of a conversion does not follow from the one before: a fault of this crate.
    #[error("internal error: a leg of the conversion does not follow from the one before")]
    Astray,
}

impl From<StructureError> for StorageError {
    fn from(error: StructureError) -> StorageError {
        match error {
            StructureError::Storage(error) => error,
            error => StorageError::Structure(Box::new(error)),
        }
    }
}

impl StorageError {
    /// A size that overflows.
    pub fn overflow(what: impl Into<String>) -> StorageError {
        StorageError::Overflow { what: what.into() }
    }
}
