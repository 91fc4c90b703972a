//! Slots: under each parent position a counted run of coordinates 0, 1, 2, ..: the columns of ELL and SELL.
//!
//! The coordinates of parent position `p` are `0 .. pos[p + 1] - pos[p]`, and none is written down. A value stored at a
//! coordinate pads those before it with zeros.
//!
//! ```text
//! [ 5 6 . ]    dense, slots:   pos 0 2 2 5
//! [ . . . ]                 values 5 6 | | 0 0 7
//! [ . . 7 ]
//! ```

use super::{
    Assembly, LevelArrays, LevelStorage, Place, Segments, Spread, check_edges, check_extents, last, length, numbers,
};
use crate::error::StorageError;
use crate::parallel;

/// Slots.
pub(super) struct Slots;

impl LevelArrays for Slots {
    fn length(&self, _part: usize, parents: u64, _before: &LevelStorage) -> Option<u64> {
        parents.checked_add(1)
    }

    fn positions(&self, level: &LevelStorage, _parents: u64) -> Option<u64> {
        Some(last(level.numbers(0)))
    }

    fn check(&self, level: &LevelStorage, parents: u64, place: Place) -> Result<u64, StorageError> {
        let positions = last(level.numbers(0));
        check_edges(level, 0, parents, positions, place)?;
        check_extents(level.numbers(0), |_| 0, place)?;
        Ok(positions)
    }

    fn assembly(&self) -> Assembly {
        Assembly::Extent
    }

    fn spread(&self, segments: &Segments, place: Place) -> Result<Spread, StorageError> {
        let length = |parent: usize| segments.bounds(parent).map_or(0, |(_, last)| last + 1);
        let edges = parallel::edges(segments.parents(), length)?;
        let places = segments.between(&edges, |_| 0)?;
        let pos = numbers(&edges, place.positions())?;
        Ok(Spread { level: LevelStorage::new(place.kind(), place.size(), vec![pos]), places })
    }

    fn count(&self, level: &LevelStorage, parent: u64) -> u64 {
        length(level.numbers(0), parent)
    }

    fn visit(&self, level: &LevelStorage, parent: u64, each: &mut dyn FnMut(u64, u64)) {
        let pos = level.numbers(0);
        let (begin, end) = (pos.get(parent as usize), pos.get(parent as usize + 1));
        (begin..end).for_each(|position| each(position - begin, position));
    }
}
