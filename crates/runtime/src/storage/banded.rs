//! Banded levels: under each parent position one contiguous run of coordinates, which may begin anywhere (a skyline).
//!
//! The coordinates of parent position `p` are `first[p] .. first[p] + pos[p + 1] - pos[p]`. Between the first and the last
//! entry, places without one hold zeros.
//!
//! ```text
//! [ 5 6 . . ]    dense, banded:     pos 0 2 5 5
//! [ . 7 . 8 ]                     first 0 1 0
//! [ . . . . ]                    values 5 6 | 7 0 8 |
//! ```
//!
//! Paper: Felippa, *Solution of Linear Equations with Skyline-Stored Symmetric Matrix* (Computers & Structures 5, 1975).

use super::{
    Assembly, LevelArrays, LevelStorage, Place, Segments, Spread, check_edges, check_extents, check_length,
    checked_indices, last, length, numbers,
};
use crate::error::StorageError;
use crate::index_array::index_array;
use crate::parallel;

/// Banded levels.
pub(super) struct Banded;

impl LevelArrays for Banded {
    fn length(&self, part: usize, parents: u64, _before: &LevelStorage) -> Option<u64> {
        if part == 0 { parents.checked_add(1) } else { Some(parents) }
    }

    fn positions(&self, level: &LevelStorage, _parents: u64) -> Option<u64> {
        Some(last(level.numbers(0)))
    }

    fn check(&self, level: &LevelStorage, parents: u64, place: Place) -> Result<u64, StorageError> {
        let positions = last(level.numbers(0));
        check_edges(level, 0, parents, positions, place)?;
        let first = checked_indices(level, 1, place)?;
        check_length(level, 1, parents, place)?;
        check_extents(level.numbers(0), |parent| first.get(parent), place)?;
        Ok(positions)
    }

    fn assembly(&self) -> Assembly {
        Assembly::Span
    }

    fn spread(&self, segments: &Segments, place: Place) -> Result<Spread, StorageError> {
        let first = |parent: usize| segments.bounds(parent).map_or(0, |(first, _)| first);
        let length = |parent: usize| segments.bounds(parent).map_or(0, |(first, last)| last - first + 1);
        let edges = parallel::edges(segments.parents(), length)?;
        let places = segments.between(&edges, first)?;
        let arrays =
            vec![numbers(&edges, place.positions())?, index_array(segments.parents(), place.coordinates(), first)?];
        Ok(Spread { level: LevelStorage::new(place.kind(), place.size(), arrays), places })
    }

    fn count(&self, level: &LevelStorage, parent: u64) -> u64 {
        length(level.numbers(0), parent)
    }

    fn visit(&self, level: &LevelStorage, parent: u64, each: &mut dyn FnMut(u64, u64)) {
        let (pos, first) = (level.numbers(0), level.numbers(1).get(parent as usize));
        let (begin, end) = (pos.get(parent as usize), pos.get(parent as usize + 1));
        (begin..end).for_each(|position| each(first + (position - begin), position));
    }
}
