//! Packing without sorting: where a format is one level that takes coordinates in any order below dense levels.
//!
//! The position in the dense levels follows from the coordinates; the level below says which position each entry has, and its value
//! is put there.
//!
//! ```text
//! dense, hashed    (1,0) 5   (0,2) 6   (1,0) 7      parents 1 0 1    positions 3 1 3    values . 6 . 12
//! ```
//!
//! On entry: a list whose coordinates are below the sizes. On exit: the tensor that packing by sorting makes.

use lacunar_formats::{Format, LevelKind};

use crate::accumulate::Accumulate;
use crate::array::Array;
use crate::buffer::Buffer;
use crate::coo::{Coo, Coordinates};
use crate::dispatch::with_element;
use crate::error::StorageError;
use crate::pack::{level_sizes, positions, strides};
use crate::parallel;
use crate::storage::{LevelStorage, Place};
use crate::tensor::Tensor;

/// Coordinates in the order in which they came.
pub struct Unsorted<'a> {
    /// The number of parent positions.
    pub parents: usize,
    /// The parent position of each; 0 where nothing is said.
    pub of: Option<&'a [u64]>,
    /// The coordinates.
    pub coordinates: &'a Coordinates,
}

/// A level that holds what was put in.
pub struct Inserted {
    /// The level.
    pub level: LevelStorage,
    /// The position of each coordinate of the list.
    pub positions: Array<u64>,
    /// Whether some have the same position.
    pub repeats: bool,
}

/// Stores coordinates in a level of the place. What is stored does not depend on their order.
pub type Inserter = fn(&Unsorted, Place) -> Result<Inserted, StorageError>;

/// Packs a list into a format; gives the list back where the format does not allow it without sorting. The format has no map,
/// and its widths are wide enough.
///
/// # Errors
/// Positions are too many, or memory is refused.
pub fn pack(coo: Coo, format: &Format) -> Result<Result<Tensor, Coo>, StorageError> {
    let Some((inner, outer)) = format.levels().split_last() else { return Ok(Err(coo)) };
    let insert =
        LevelStorage::inserter(inner.kind).filter(|_| outer.iter().all(|level| level.kind == LevelKind::DENSE));
    let Some(insert) = insert else { return Ok(Err(coo)) };
    let place = Place { format, dims: &coo.dims, level: outer.len() };
    let sizes = &level_sizes(&coo.dims, format)[..outer.len()];
    let overflow = |_| StorageError::overflow("the number of positions");
    let parents = usize::try_from(positions(1, sizes)?).map_err(overflow)?;
    let of = parent_positions(&coo, format, sizes)?;
    let coordinates = &coo.coords[place.dimension()];
    let list = Unsorted { parents, of: of.as_deref(), coordinates };
    let Inserted { level, positions, repeats } = insert(&list, place)?;
    let count = level.positions(parents as u64).ok_or_else(|| StorageError::overflow("the number of values"))?;
    let values = placed(&Buffer::from_values(coo.values), &positions, repeats, count)?;
    let levels = sizes.iter().map(|&size| LevelStorage::dense(size)).chain([level]).collect();
    Ok(Ok(Tensor::assemble(coo.dims, format.clone(), levels, values)))
}

/// Where each entry is in the outer levels, which are dense; nothing where there are none.
fn parent_positions(coo: &Coo, format: &Format, sizes: &[u64]) -> Result<Option<Array<u64>>, StorageError> {
    if sizes.is_empty() {
        return Ok(None);
    }
    let mut at = Array::<u64>::zeroed(coo.len())?;
    for (level, stride) in strides(sizes)?.into_iter().enumerate() {
        match &coo.coords[format.mode_order()[level]] {
            Coordinates::U32(v) => parallel::zip(&mut at, v, |at, &c| *at += u64::from(c) * stride),
            Coordinates::U64(v) => parallel::zip(&mut at, v, |at, &c| *at += c * stride),
        }
    }
    Ok(Some(at))
}

/// The values at their positions; values of one position are added up, in the order of the list.
fn placed(values: &Buffer, positions: &[u64], repeats: bool, count: u64) -> Result<Buffer, StorageError> {
    let dtype = values.dtype();
    let mut placed = Buffer::zeroed(dtype, count)?;
    let mut taken = Array::<bool>::zeroed(if repeats { placed.len() } else { 0 })?;
    with_element!(dtype, T => {
        let from = values.as_slice::<T>().unwrap_or_default();
        let to = placed.as_mut_slice::<T>().unwrap_or_default();
        for (&position, &value) in positions.iter().zip(from) {
            let position = position as usize;
            // The first value takes the place: a zero that it were added to could change its sign.
            let repeated = repeats && std::mem::replace(&mut taken[position], true);
            to[position] = if repeated { to[position].accumulate(value) } else { value };
        }
    });
    Ok(placed)
}
