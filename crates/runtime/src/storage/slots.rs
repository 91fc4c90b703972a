//! Slots: under each parent position a counted run of coordinates 0, 1, 2, ..: the columns of ELL and SELL.
//!
//! The coordinates of parent position `p` are `0 .. pos[p + 1] - pos[p]`, and none is written down. What is stored at a
//! coordinate fills up those before it, with zeros.
//!
//! ```text
//! [ 5 6 . ]    dense, slots:   pos 0 2 2 5
//! [ . . . ]                 values 5 6 | | 0 0 7
//! [ . . 7 ]
//! ```

use lacunar_formats::{Capabilities, LEVELS, LevelInfo, LevelKind, Part, Properties};
use linkme::distributed_slice;

use super::{
    Assembly, LevelArrays, LevelStorage, NOWHERE, Place, STORAGE, Segments, Spread, check_edges, check_extents, last,
    numbers,
};
use crate::array::Array;
use crate::error::StorageError;

#[distributed_slice(LEVELS)]
static SLOTS: LevelInfo = LevelInfo {
    name: "slots",
    letter: 'e',
    repeating: None,
    properties: Properties { padded: true, ..Properties::ASCENDING },
    capabilities: Capabilities { iterate_positions: true, search: true, ..Capabilities::NONE },
    parts: &[Part::POSITIONS],
};

/// Slots.
pub(super) struct Slots;

#[distributed_slice(STORAGE)]
static OPERATIONS: &dyn LevelArrays = &Slots;

impl LevelArrays for Slots {
    fn kind(&self) -> LevelKind {
        LevelKind::new(&SLOTS)
    }

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
        let mut edges = Array::<u64>::zeroed(segments.parents() + 1)?;
        for parent in 0..segments.parents() {
            let count = segments.under(parent).last().map_or(0, |(coordinate, _)| coordinate + 1);
            edges[parent + 1] = edges[parent].checked_add(count).ok_or_else(|| StorageError::overflow("slots"))?;
        }
        let total = usize::try_from(edges[segments.parents()]).map_err(|_| StorageError::overflow("slots"))?;
        let mut places = Array::zeroed(total)?;
        places.fill(NOWHERE);
        for parent in 0..segments.parents() {
            for (coordinate, position) in segments.under(parent) {
                places[(edges[parent] + coordinate) as usize] = position;
            }
        }
        let pos = numbers(&edges, place.positions())?;
        Ok(Spread { level: LevelStorage::new(self.kind(), place.size(), vec![pos]), places })
    }

    fn visit(&self, level: &LevelStorage, parent: u64, each: &mut dyn FnMut(u64, u64)) {
        let pos = level.numbers(0);
        let (begin, end) = (pos.get(parent as usize), pos.get(parent as usize + 1));
        (begin..end).for_each(|position| each(position - begin, position));
    }
}
