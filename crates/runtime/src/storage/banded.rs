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

use lacunar_formats::{Capabilities, Holds, LEVELS, LevelInfo, LevelKind, Part, Properties};
use linkme::distributed_slice;

use super::{
    Assembly, LevelArrays, LevelStorage, NOWHERE, Place, STORAGE, Segments, Spread, check_edges, check_extents,
    check_length, checked_indices, last, numbers,
};
use crate::array::Array;
use crate::error::StorageError;

#[distributed_slice(LEVELS)]
static BANDED: LevelInfo = LevelInfo {
    name: "banded",
    letter: 'k',
    repeating: None,
    properties: Properties { padded: true, ..Properties::ASCENDING },
    capabilities: Capabilities { iterate_positions: true, search: true, ..Capabilities::NONE },
    parts: &[Part::POSITIONS, Part { name: "first", holds: Holds::Coordinates }],
};

/// Banded levels.
struct Banded;

#[distributed_slice(STORAGE)]
static OPERATIONS: &dyn LevelArrays = &Banded;

impl LevelArrays for Banded {
    fn kind(&self) -> LevelKind {
        LevelKind::new(&BANDED)
    }

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
        let overflow = || StorageError::overflow(format!("the number of positions of level {}", place.level));
        let mut first = Array::<u64>::zeroed(segments.parents())?;
        let mut edges = Array::<u64>::zeroed(segments.parents() + 1)?;
        for parent in 0..segments.parents() {
            let mut under = segments.under(parent).map(|(coordinate, _)| coordinate);
            let begin = under.next();
            first[parent] = begin.unwrap_or(0);
            let length = begin.map_or(0, |begin| under.last().unwrap_or(begin) - begin + 1);
            edges[parent + 1] = edges[parent].checked_add(length).ok_or_else(overflow)?;
        }
        let total = usize::try_from(edges[segments.parents()]).map_err(|_| overflow())?;
        let mut places = Array::zeroed(total)?;
        places.fill(NOWHERE);
        for parent in 0..segments.parents() {
            for (coordinate, position) in segments.under(parent) {
                places[(edges[parent] + coordinate - first[parent]) as usize] = position;
            }
        }
        let arrays = vec![numbers(&edges, place.positions())?, numbers(&first, place.coordinates())?];
        Ok(Spread { level: LevelStorage::new(self.kind(), place.size(), arrays), places })
    }

    fn visit(&self, level: &LevelStorage, parent: u64, each: &mut dyn FnMut(u64, u64)) {
        let (pos, first) = (level.numbers(0), level.numbers(1).get(parent as usize));
        let (begin, end) = (pos.get(parent as usize), pos.get(parent as usize + 1));
        (begin..end).for_each(|position| each(first + (position - begin), position));
    }
}
