//! The checks of arrays that come from outside, and searches in arrays that were checked, for level kinds.

use std::cmp::Ordering;
use std::ops::Range;

use lacunar_formats::IndexWidth;

use super::{LevelStorage, Place};
use crate::buffer::{Indices, Number, with_indices};
use crate::error::StorageError;
use crate::parallel;

/// The last number of a position array; 0 if there is none.
pub fn last(pos: Indices) -> u64 {
    pos.len().checked_sub(1).map_or(0, |last| pos.get(last))
}

/// The first place of a range in which coordinates ascend that has one which is `coordinate` or more.
pub fn first_reaching(crd: Indices, Range { start: mut low, end: mut high }: Range<u64>, coordinate: u64) -> u64 {
    while low < high {
        let middle = low + (high - low) / 2;
        if crd.get(middle as usize) < coordinate { low = middle + 1 } else { high = middle }
    }
    low
}

/// The place of a coordinate in such a range, if it is there.
pub fn stored_at(crd: Indices, range: Range<u64>, coordinate: u64) -> Option<u64> {
    let at = first_reaching(crd, range.clone(), coordinate);
    (at < range.end && crd.get(at as usize) == coordinate).then_some(at)
}

/// The length of a segment of a position array.
pub fn length(pos: Indices, segment: u64) -> u64 {
    pos.get(segment as usize + 1) - pos.get(segment as usize)
}

/// The numbers of array number `part` of a level, of the width the format gives it.
///
/// # Errors
/// They are of another type.
pub fn checked_indices<'a>(level: &'a LevelStorage, part: usize, place: Place) -> Result<Indices<'a>, StorageError> {
    let wrong = |name: &str, found, expected: IndexWidth| StorageError::Type {
        what: format!("array {name} of level {}", place.level),
        found,
        expected: expected.dtype().to_string(),
    };
    let (Some(buffer), Some(described)) = (level.arrays.get(part), level.kind.info().parts.get(part)) else {
        let what = format!("the list of arrays of level {}", place.level);
        return Err(StorageError::Length { what, found: level.arrays.len() as u64, expected: part as u64 + 1 });
    };
    let width = described.width(place.positions(), place.coordinates());
    match buffer.indices() {
        Some(indices) if indices.width() == width => Ok(indices),
        _ => Err(wrong(described.name, buffer.dtype(), width)),
    }
}

/// Checks that array number `part` of a level has so many numbers.
///
/// # Errors
/// It has others.
pub fn check_length(level: &LevelStorage, part: usize, expected: u64, place: Place) -> Result<(), StorageError> {
    let found = level.numbers(part).len() as u64;
    if found == expected {
        return Ok(());
    }
    let name = level.kind.info().parts.get(part).map_or("", |part| part.name);
    Err(StorageError::Length { what: format!("array {name} of level {}", place.level), found, expected })
}

/// Checks array number `part` of a level as the edges of the segments of `parents` positions, which cover `positions`.
///
/// # Errors
/// They do not.
pub fn check_edges(
    level: &LevelStorage,
    part: usize,
    parents: u64,
    positions: u64,
    place: Place,
) -> Result<(), StorageError> {
    let pos = checked_indices(level, part, place)?;
    let edges = parents.checked_add(1).ok_or_else(|| StorageError::overflow("the number of positions"))?;
    check_length(level, part, edges, place)?;
    let wrong = |at: usize, reason| StorageError::Positions { level: place.level, place: at as u64, reason };
    if pos.get(0) != 0 {
        return Err(wrong(0, "the first position is not 0"));
    }
    if let Some(k) = first_descent(pos) {
        return Err(wrong(k, "positions descend"));
    }
    if last(pos) != positions {
        return Err(wrong(pos.len() - 1, "the last position is not the number of coordinates"));
    }
    Ok(())
}

/// Checks that runs of coordinates, one for each parent position, which begin at `first` and are as long as the segments of a
/// checked position array, stay below the size of the dimension.
///
/// # Errors
/// One does not.
pub fn check_extents(pos: Indices, first: impl Fn(usize) -> u64 + Sync, place: Place) -> Result<(), StorageError> {
    let size = place.size();
    let outside = |p: usize| {
        let length = pos.get(p + 1) - pos.get(p);
        let end = first(p).saturating_add(length);
        (length > 0 && end > size).then(|| StorageError::OutOfRange {
            dimension: place.dimension(),
            entry: pos.get(p + 1) - 1,
            coordinate: end - 1,
            size,
        })
    };
    parallel::first(pos.len().saturating_sub(1), outside).map_or(Ok(()), Err)
}

/// Checks that the coordinates at the positions `segment` of each parent position, which exist, ascend and are below the size
/// of the dimension.
///
/// # Errors
/// They do not, or one is not.
pub fn check_ascending(
    crd: Indices,
    parents: u64,
    segment: impl Fn(usize) -> Range<u64> + Sync,
    place: Place,
) -> Result<(), StorageError> {
    let (size, level) = (place.size(), place.level);
    let fault = |position: u64, first: bool| {
        let coordinate = crd.get(position as usize);
        if coordinate >= size {
            return Some(StorageError::OutOfRange { dimension: place.dimension(), entry: position, coordinate, size });
        }
        let before = if first { None } else { Some(crd.get(position as usize - 1)) };
        match before.map(|before| before.cmp(&coordinate)) {
            Some(Ordering::Equal) => Some(StorageError::Duplicate { level, place: position }),
            Some(Ordering::Greater) => Some(StorageError::NotSorted { level, place: position }),
            _ => None,
        }
    };
    let in_segment = |parent: usize| {
        let segment = segment(parent);
        segment.clone().find_map(|position| fault(position, position == segment.start))
    };
    parallel::first(parents as usize, in_segment).map_or(Ok(()), Err)
}

/// The first place of a position array that is below the one before it.
fn first_descent(pos: Indices) -> Option<usize> {
    fn find<N: PartialOrd + Sync>(pos: &[N]) -> Option<usize> {
        parallel::first(pos.len(), |k| (k > 0 && pos[k] < pos[k - 1]).then_some(k))
    }
    with_indices!(pos, pos => find(pos))
}

/// Checks that the coordinates of a level can be told from the largest number of their width, which is none.
///
/// # Errors
/// The dimension is too large.
pub fn check_size(place: Place) -> Result<(), StorageError> {
    if place.size() <= place.coordinates().max() {
        return Ok(());
    }
    let what = format!("size {} of dimension {}, with a number for none,", place.size(), place.dimension());
    Err(StorageError::Width { what, width: place.coordinates().bits() })
}

/// Checks that all coordinates are below the size of the dimension.
///
/// # Errors
/// One is not.
pub fn check_range(crd: Indices, place: Place) -> Result<(), StorageError> {
    let size = place.size();
    let outside = with_indices!(crd, crd => parallel::find(crd, |coordinate| coordinate.get() >= size));
    outside.map_or(Ok(()), |entry| {
        let (dimension, coordinate) = (place.dimension(), crd.get(entry));
        Err(StorageError::OutOfRange { dimension, entry: entry as u64, coordinate, size })
    })
}
