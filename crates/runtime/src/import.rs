//! Tensors from arrays of the user's: everything is checked once, at memory speed, on all threads.
//!
//! Checked are the types and lengths of arrays, that positions start at 0 and never descend, that coordinates are below
//! their dimension's size and ascend under each parent, and that none repeats unless the format says so. A coordinate
//! list that repeats whole coordinates is packed anew, which adds up their values. Slots that repeat coordinates are
//! packed anew, too, and so are tensors with entries in the padding behind the last coordinate; these entries are left
//! out.
//!
//! Arrays of signed integers (SciPy's) are taken as unsigned, without a copy; negative numbers are refused.
//!
//! ```
//! use lacunar_formats::Format;
//! use lacunar_runtime::{buffer::Buffer, storage::LevelStorage, tensor::Tensor};
//! let (indptr, indices, data) = (vec![0i32, 2, 3], vec![0i32, 2, 1], vec![5.0, 6.0, 7.0]);
//! let levels = vec![
//!     LevelStorage::dense(2),
//!     LevelStorage::compressed(Buffer::from_vec(indptr), Buffer::from_vec(indices)),
//! ];
//! let csr = Tensor::from_parts(vec![2, 3], &Format::csr(), levels, Buffer::from_vec(data)).unwrap();
//! assert_eq!(csr.to_coo().unwrap().len(), 3);
//! ```

#![allow(unsafe_code)]

use lacunar_formats::{DType, Format, One};

use crate::buffer::{Buffer, Indices};
use crate::error::StorageError;
use crate::fits::{check_sizes, check_type};
use crate::parallel;
use crate::remap::{self, Extra};
use crate::storage::{LevelStorage, Place};
use crate::structure;
use crate::tensor::Tensor;
use crate::values::Element;

impl Tensor {
    /// A tensor of the given arrays, checked. See the head of this module.
    ///
    /// # Errors
    /// The first thing that is wrong with the arrays.
    pub fn from_parts(
        dims: Vec<u64>,
        format: &Format,
        levels: Vec<LevelStorage>,
        values: Buffer,
    ) -> Result<Tensor, StorageError> {
        if format.order() != dims.len() {
            let (levels, order) = (format.order(), dims.len());
            return Err(StorageError::Order { format: format.clone(), levels, order });
        }
        if levels.len() != format.levels().len() {
            let (found, expected) = (levels.len() as u64, format.levels().len() as u64);
            return Err(StorageError::Length { what: "the list of levels".into(), found, expected });
        }
        let levels = levels
            .into_iter()
            .enumerate()
            .map(|(level, storage)| unsigned(storage, level))
            .collect::<Result<Vec<_>, StorageError>>()?;
        let tensor = Tensor::assemble(dims, format.clone(), levels, values);
        match check(&tensor)? {
            Extra::None => Ok(tensor),
            Extra::Dropped => Tensor::from_coo(tensor.to_coo()?, format),
        }
    }

    /// The tensor, whose arrays were made here; builds with debug assertions check them as those from outside.
    #[track_caller]
    pub(crate) fn checked_if_debug(self) -> Tensor {
        if cfg!(debug_assertions) {
            // Checking against a map takes as much memory as the tensor.
            let found = if self.nnz() <= SMALL { check(&self) } else { check_levels(&self) };
            assert!(found == Ok(Extra::None), "arrays of {} that were made: {found:?}", self.format());
        }
        self
    }

    /// A pattern of the given arrays, checked, which has no values: everything that the arrays store is one.
    ///
    /// # Errors
    /// The first thing that is wrong with the arrays; some places of the format only fill up.
    ///
    /// ```
    /// use lacunar_formats::Format;
    /// use lacunar_runtime::{buffer::Buffer, storage::LevelStorage, tensor::Tensor};
    /// let rows = LevelStorage::compressed(Buffer::from_vec(vec![0i32, 2, 3]), Buffer::from_vec(vec![0i32, 2, 1]));
    /// let matrix = Tensor::pattern(vec![2, 3], &Format::csr(), vec![LevelStorage::dense(2), rows]).unwrap();
    /// assert_eq!((matrix.nnz(), matrix.bytes()), (3, 24));
    /// ```
    pub fn pattern(dims: Vec<u64>, format: &Format, levels: Vec<LevelStorage>) -> Result<Tensor, StorageError> {
        let levels = levels.into_iter().enumerate().map(|(level, storage)| unsigned(storage, level));
        let levels = levels.collect::<Result<Vec<_>, StorageError>>()?;
        let places = levels.iter().try_fold(1, |parents, level| level.positions(parents));
        let places = places.and_then(|places| usize::try_from(places).ok());
        let places = places.ok_or_else(|| StorageError::overflow("the number of positions"))?;
        Tensor::from_parts(dims, format, levels, Buffer::from_vec(vec![One; places]))
    }

    /// Checks the arrays of the tensor like those from outside: the rules of every level kind and, for nodes, those of their schema.
    ///
    /// # Errors
    /// The first thing that is wrong with the arrays: a fault of whoever made them.
    ///
    /// ```
    /// use lacunar_formats::{DType, FormatSpec};
    /// use lacunar_runtime::Tensor;
    /// let format = "d{bst}".parse::<FormatSpec>().unwrap().resolve(2).unwrap();
    /// let mut tensor = Tensor::zeros(vec![3, 4], &format, DType::F64).unwrap();
    /// tensor.insert(&[1, 3], 5.0).unwrap();
    /// tensor.validate().unwrap();
    /// ```
    pub fn validate(&self) -> Result<(), StorageError> {
        check(self).map(|_| ())
    }

    /// A tensor of the given arrays, not checked.
    ///
    /// # Safety
    /// Everything that [`Tensor::from_parts`] checks holds, and the index arrays are of unsigned types.
    pub unsafe fn from_parts_unchecked(
        dims: Vec<u64>,
        format: Format,
        levels: Vec<LevelStorage>,
        values: Buffer,
    ) -> Tensor {
        Tensor::assemble(dims, format, levels, values)
    }
}

/// Looking through so many values costs little.
const SMALL: u64 = 1 << 16;

/// Checks the arrays of a tensor, which has a level for each of its format's.
///
/// # Errors
/// The first thing that is wrong with them.
fn check(tensor: &Tensor) -> Result<Extra, StorageError> {
    let repeats = check_levels(tensor)?;
    Ok(tensor.format().map().map_or(Ok(Extra::None), |map| remap::check(tensor, map))?.max(repeats))
}

/// The same of its levels, whatever a map makes of their coordinates.
///
/// # Errors
/// The first thing that is wrong with them.
fn check_levels(tensor: &Tensor) -> Result<Extra, StorageError> {
    let (dims, format, levels) = (tensor.dims(), tensor.format(), tensor.levels());
    check_sizes(dims)?;
    let (stored, stored_dims) = (format.stored(), remap::stored_dims(format, dims, levels)?);
    let place = |level| Place { format: &stored, dims: &stored_dims, level };
    check_type(tensor.dtype(), format)?;
    let mut positions = 1;
    for (level, storage) in levels.iter().enumerate() {
        if storage.kind() != format.levels()[level].kind {
            return Err(StorageError::LevelKind { level, format: format.clone() });
        }
        positions = storage.check(positions, place(level))?;
    }
    if tensor.nnz() != positions {
        let (what, found) = ("the array of values".into(), tensor.nnz());
        return Err(StorageError::Length { what, found, expected: positions });
    }
    structure::check_layout(tensor)?;
    let order = (0..levels.len()).try_for_each(|level| check_order(levels, place(level)));
    match order {
        Ok(()) => Ok(Extra::None),
        Err(StorageError::Duplicate { level, .. }) if repeats_are_summed(tensor, level) => Ok(Extra::Dropped),
        Err(error) => Err(error),
    }
}

/// The level with signed index arrays read as unsigned.
fn unsigned(storage: LevelStorage, level: usize) -> Result<LevelStorage, StorageError> {
    storage.try_map(|name, array| {
        let negative = match array.dtype() {
            DType::I8 => first_negative(array.as_slice::<i8>()),
            DType::I16 => first_negative(array.as_slice::<i16>()),
            DType::I32 => first_negative(array.as_slice::<i32>()),
            DType::I64 => first_negative(array.as_slice::<i64>()),
            _ => None,
        };
        match negative {
            Some(place) => Err(StorageError::Negative { what: format!("array {name} of level {level}"), place }),
            None => Ok(array.into_unsigned()),
        }
    })
}

fn first_negative<T: Element + PartialOrd>(array: Option<&[T]>) -> Option<u64> {
    let array = array.unwrap_or_default();
    parallel::first(array.len(), |k| (array[k] < T::default()).then_some(k as u64))
}

/// Checks that the coordinates of a level ascend, with those of the levels that distinguish its positions.
fn check_order(levels: &[LevelStorage], place: Place) -> Result<(), StorageError> {
    let chain = &levels[place.level..=place.distinguished_to()];
    let chain: Vec<Indices> = chain.iter().filter_map(|level| level.crd()?.indices()).collect();
    levels[place.level].check_order(&chain, place)
}

/// True if entries that repeat a coordinate at a level are a coordinate list's: the levels from there on are all that
/// distinguishes entries.
fn repeats_are_summed(tensor: &Tensor, level: usize) -> bool {
    let place = Place { format: tensor.format(), dims: tensor.dims(), level };
    place.distinguished_to() > level && place.distinguished_to() + 1 == tensor.levels().len()
}
