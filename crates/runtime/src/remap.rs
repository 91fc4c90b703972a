//! Coordinates of a tensor's dimensions to those that its levels store, and back, for formats with a [`Map`].
//!
//! ```text
//! bcsr(2,2) of a 3 x 3 matrix:   entry (2, 1)  is stored at  (1, 0, 0, 1)      blocks, then places inside
//!                                place (1, 0, 1, 1) would be (3, 1): it only fills up the block, and is no entry
//! ```
//!
//! Slots are counted in the order of the other coordinates, so entries are sorted and equal ones added up first.
//!
//! Paper: Chou et al., *Automatic Generation of Efficient Sparse Tensor Format Conversion Routines* (PLDI 2020), §4.

use lacunar_formats::{Format, Map, Recovery, Scalar, Term};

use crate::alloc::make_room;
use crate::buffer::Buffer;
use crate::coo::{self, Coo, Coordinates};
use crate::error::{AllocError, StorageError};
use crate::fits::check_sizes;
use crate::outside;
use crate::parallel;
use crate::placed;
use crate::ranking;
use crate::route::{Facts, Route};
use crate::storage::{LevelStorage, Place};
use crate::tensor::Tensor;

/// The stored dimensions of a tensor of these sizes in a format: with a map, one a level.
///
/// # Errors
/// A size does not fit into 64 bits.
pub(crate) fn stored_dims(format: &Format, dims: &[u64], levels: &[LevelStorage]) -> Result<Vec<u64>, StorageError> {
    let Some(map) = format.map() else { return Ok(dims.to_vec()) };
    let sizes = map.stored_dims(dims).ok_or_else(|| StorageError::overflow("the number of diagonals"))?;
    let slots = |level: usize| levels.get(level).map_or(0, number_of_slots);
    let sizes: Vec<u64> =
        sizes.into_iter().enumerate().map(|(level, size)| size.unwrap_or_else(|| slots(level))).collect();
    check_sizes(&sizes)?;
    Ok(sizes)
}

/// The number of slots of a level of slots.
fn number_of_slots(level: &LevelStorage) -> u64 {
    let numbers = level.crd().and_then(Buffer::indices);
    match numbers.filter(|_| level.kind().is_plain()) {
        // Plain levels do not know the number of slots.
        Some(numbers) => (0..numbers.len()).map(|k| numbers.get(k).saturating_add(1)).max().unwrap_or(0),
        None => level.size(),
    }
}

/// The tensor of a format with a map, from a tensor of plain levels that has its entries by the stored dimensions.
pub(crate) fn restore(dims: Vec<u64>, stored: Tensor, format: &Format) -> Result<Tensor, StorageError> {
    let stored = if format.is_plain() { stored } else { stored.spread(&format.stored())? };
    let (_, stored_format, levels, values) = stored.into_parts();
    let format = format.clone().with_widths_of(&stored_format);
    Ok(Tensor::assemble(dims, format, levels, values))
}

/// A tensor of plain levels in a format with the same map, or with none if it has none, whose levels may be of any kind.
pub(crate) fn spread(tensor: Tensor, format: &Format) -> Result<Tensor, StorageError> {
    if format.map().is_none() {
        return tensor.spread(format);
    }
    let stored_dims = tensor.stored_dims()?;
    let (dims, plain, levels, values) = tensor.into_parts();
    restore(dims, Tensor::assemble(stored_dims, plain.stored(), levels, values), format)
}

/// The entries with the coordinates that a format with a map stores. If it has slots, entries of one counted coordinate
/// follow each other, and none repeats another's coordinates.
///
/// # Errors
/// A size does not fit into 64 bits, or memory is refused.
pub(crate) fn to_stored(coo: Coo, format: &Format) -> Result<Coo, StorageError> {
    let Some(map) = format.map() else { return Ok(coo) };
    let Coo { dims, coords, values } = coo;
    let sizes = map.stored_dims(&dims).ok_or_else(|| StorageError::overflow("the number of diagonals"))?;
    let len = values.len();
    let at = |d: usize, k: usize| coords[d].get(k).unwrap_or(0);
    let mut stored_dims = Vec::new();
    let mut columns = Vec::new();
    for (term, size) in map.terms().iter().zip(sizes) {
        let (size, column) = match *term {
            Term::Ordinal(d) | Term::RankedOrdinal(d, _) => {
                let slots = ordinals(len, &|k| at(d, k))?;
                (slots.iter().max().map_or(0, |most| u64::from(*most) + 1), Coordinates::U32(slots))
            }
            Term::Whole(d) => (size.unwrap_or(0), coords[d].clone()),
            term => {
                let size = size.unwrap_or(0);
                let column = match term {
                    Term::Quotient(d, block) => column(len, size, |k| at(d, k) / u64::from(block)),
                    Term::Remainder(d, block) => column(len, size, |k| at(d, k) % u64::from(block)),
                    Term::Difference(d, other) => {
                        let last = dims[other].saturating_sub(1);
                        column(len, size, |k| at(d, k) + (last - at(other, k)))
                    }
                    Term::Whole(_) | Term::Ordinal(_) | Term::RankedOrdinal(..) => Ok(Coordinates::for_size(size)),
                };
                (size, column?)
            }
        };
        stored_dims.push(size);
        columns.push(column);
    }
    Ok(Coo { dims: stored_dims, coords: columns, values })
}

/// For each of so many entries, how many before it have the same coordinate; equal coordinates follow each other.
fn ordinals(len: usize, coordinate: &dyn Fn(usize) -> u64) -> Result<Vec<u32>, StorageError> {
    let mut slots = reserved(len)?;
    let mut next = 0u32;
    for k in 0..len {
        if k > 0 && coordinate(k) != coordinate(k - 1) {
            next = 0;
        }
        slots.push(next);
        next = next.checked_add(1).ok_or_else(|| StorageError::overflow("the number of slots"))?;
    }
    Ok(slots)
}

/// An empty vector with room for so many elements.
pub(crate) fn reserved<T>(len: usize) -> Result<Vec<T>, AllocError> {
    let mut vec = Vec::new();
    make_room(&mut vec, len).map_err(|_| AllocError { bytes: (len as u64).saturating_mul(size_of::<T>() as u64) })?;
    Ok(vec)
}

/// A coordinate array for a dimension of a size.
fn column(len: usize, size: u64, value: impl Fn(usize) -> u64 + Sync) -> Result<Coordinates, AllocError> {
    Ok(match Coordinates::for_size(size) {
        Coordinates::U32(_) => {
            let mut column = reserved(len)?;
            column.resize(len, 0u32);
            parallel::fill(&mut column, |k| value(k) as u32);
            Coordinates::U32(column)
        }
        Coordinates::U64(_) => {
            let mut column = reserved(len)?;
            column.resize(len, 0u64);
            parallel::fill(&mut column, value);
            Coordinates::U64(column)
        }
    })
}

/// The coordinates of the dimensions at every position, from the stored ones: an array for each dimension, in which
/// padding has coordinates that are not below the dimension's size.
pub(crate) fn recover(stored: &[Coordinates], map: &Map, dims: &[u64]) -> Result<Vec<Coordinates>, AllocError> {
    let len = stored.first().map_or(0, Coordinates::len);
    let at = |level: usize, k: usize| stored[level].get(k).unwrap_or(0);
    (0..map.order())
        .map(|d| match map.recovery(d) {
            Some(Recovery::Whole(level)) => column(len, dims[d], |k| at(level, k)),
            Some(Recovery::Block { quotient, remainder, size }) => {
                // Wide enough for coordinates behind the last one.
                let most = dims[d].saturating_add(u64::from(size));
                column(len, most, |k| at(quotient, k) * u64::from(size) + at(remainder, k))
            }
            Some(Recovery::Diagonal { difference, other, reverse }) => {
                let level = match map.recovery(other) {
                    Some(Recovery::Whole(level)) => level,
                    _ => difference,
                };
                let most = dims[d].saturating_add(dims[other]).saturating_add(1);
                // A coordinate before the first is outside as well.
                let inside = |sum: u64, less: u64| sum.checked_sub(less).unwrap_or(dims[d]);
                if reverse {
                    let last = dims[d].saturating_sub(1);
                    column(len, most, |k| inside(at(level, k) + last, at(difference, k)))
                } else {
                    let last = dims[other].saturating_sub(1);
                    column(len, most, |k| inside(at(difference, k) + at(level, k), last))
                }
            }
            None => column(len, dims[d], |_| dims[d]),
        })
        .collect()
}

/// The content of a tensor's arrays besides entries with coordinates of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Extra {
    /// Nothing.
    None,
    /// Places outside of its dimensions, which are no entries, or repeated coordinates. Packed anew, it has none.
    Dropped,
}

/// Checks arrays that fit a tensor's levels against its map: every rank is that of one coordinate, and every coordinate
/// that is stored is one of the dimensions'. Padding may lie outside.
///
/// # Errors
/// The first entry that lies outside; a fault of the ranks.
pub(crate) fn check(tensor: &Tensor, map: &Map) -> Result<Extra, StorageError> {
    ranking::check(tensor)?;
    let plain = if tensor.format().is_plain() { None } else { Some(tensor.to_plain()?) };
    let seen = plain.as_ref().unwrap_or(tensor);
    if let Some(place) = outside::first(tensor, seen, false)? {
        return Err(out_of_range(seen, map, place)?);
    }
    if tensor.format().is_padded() {
        return Ok(Extra::None);
    }
    let extra = outside::first(tensor, seen, true)?.is_some() || map.ordinal().is_some() && repeats(tensor)?;
    Ok(if extra { Extra::Dropped } else { Extra::None })
}

/// The error of an entry that lies outside.
fn out_of_range(tensor: &Tensor, map: &Map, entry: u64) -> Result<StorageError, StorageError> {
    let columns = recover(&tensor.stored_coordinates()?, map, tensor.dims())?;
    let coordinates = columns.iter().map(|column| column.get(entry as usize).unwrap_or(0)).zip(tensor.dims());
    let outside = coordinates.enumerate().find(|(_, (coordinate, size))| coordinate >= size);
    let (dimension, (coordinate, &size)) = outside.unwrap_or((0, (0, &0)));
    Ok(StorageError::OutOfRange { dimension, entry, coordinate, size })
}

/// True if slots repeat a coordinate of the tensor.
fn repeats(tensor: &Tensor) -> Result<bool, StorageError> {
    // The answer for ranks is the answer for the rows that have them.
    if let Some(placing) = placed::slots(&Facts::of(tensor)) {
        let rows = placed::rows(tensor, &placing, None)?;
        let place = Place { format: rows.format(), dims: rows.dims(), level: 1 };
        let order = rows.levels()[1].check_order(&[rows.levels()[1].numbers(1)], place);
        return Ok(matches!(order, Err(StorageError::Duplicate { .. })));
    }
    let entries = coo::entries(tensor, false)?;
    let (stored, zero) = (entries.len() as u64, Scalar::zero(tensor.dtype()));
    let distinct = Route::new(Facts::of_list(&entries, zero), &Format::csf(tensor.order()))?;
    Ok(distinct.take_list(entries, zero)?.nnz() < stored)
}
