//! Loose levels: compressed ones with unused places behind each segment, where coordinates could be put in.
//!
//! The coordinates under parent position `p` are `crd[pos[p] .. end[p]]`, ascending; the places from there up to `pos[p + 1]`
//! are not used, and the values there are no entries. Packing leaves a place in four, and one more.
//!
//! ```text
//! [ 5 . 6 ]    dense, loose:   pos 0     3   4    6      end 2 3 5
//! [ . . . ]                    crd 0 2 - | - | 1 -
//! [ . 7 . ]                 values 5 6 . | . | 7 .
//! ```

use lacunar_formats::{Capabilities, Holds, LEVELS, LevelInfo, LevelKind, Part, Properties};
use linkme::distributed_slice;

use super::{
    LevelArrays, LevelStorage, NOWHERE, Place, STORAGE, Segments, Spread, check_ascending, check_edges, check_length,
    checked_indices, last, numbers,
};
use crate::array::Array;
use crate::error::StorageError;
use crate::parallel;

#[distributed_slice(LEVELS)]
static LOOSE: LevelInfo = LevelInfo {
    name: "loose",
    letter: 'l',
    repeating: None,
    properties: Properties { compact: false, ..Properties::ASCENDING },
    capabilities: Capabilities { iterate_positions: true, search: true, ..Capabilities::NONE },
    parts: &[Part::POSITIONS, Part { name: "end", holds: Holds::Positions }, Part::COORDINATES],
};

/// Loose levels.
struct Loose;

#[distributed_slice(STORAGE)]
static OPERATIONS: &dyn LevelArrays = &Loose;

impl LevelArrays for Loose {
    fn kind(&self) -> LevelKind {
        LevelKind::new(&LOOSE)
    }

    fn length(&self, part: usize, parents: u64, before: &LevelStorage) -> Option<u64> {
        match part {
            0 => parents.checked_add(1),
            1 => Some(parents),
            _ => Some(last(before.numbers(0))),
        }
    }

    fn positions(&self, level: &LevelStorage, _parents: u64) -> Option<u64> {
        Some(level.numbers(2).len() as u64)
    }

    fn check(&self, level: &LevelStorage, parents: u64, place: Place) -> Result<u64, StorageError> {
        let crd = checked_indices(level, 2, place)?;
        check_edges(level, 0, parents, crd.len() as u64, place)?;
        let (pos, end) = (level.numbers(0), checked_indices(level, 1, place)?);
        check_length(level, 1, parents, place)?;
        let outside = |p: usize| (end.get(p) < pos.get(p) || end.get(p) > pos.get(p + 1)).then_some(p as u64);
        if let Some(at) = parallel::first(end.len(), outside) {
            let reason = "a segment ends outside its places";
            return Err(StorageError::Positions { level: place.level, place: at, reason });
        }
        check_ascending(crd, parents, |p| pos.get(p)..end.get(p), place)?;
        Ok(crd.len() as u64)
    }

    fn spread(&self, segments: &Segments, place: Place) -> Result<Spread, StorageError> {
        let parents = segments.parents();
        let (mut edges, mut ends) = (Array::<u64>::zeroed(parents + 1)?, Array::<u64>::zeroed(parents)?);
        for parent in 0..parents {
            let range = segments.range(parent);
            let used = range.end - range.start;
            ends[parent] = edges[parent] + used;
            edges[parent + 1] = ends[parent] + used / 4 + 1;
        }
        let total = edges[parents] as usize;
        let (mut crd, mut places) = (Array::<u64>::zeroed(total)?, Array::zeroed(total)?);
        places.fill(NOWHERE);
        for parent in 0..parents {
            for ((coordinate, position), at) in segments.under(parent).zip(edges[parent] as usize..) {
                (crd[at], places[at]) = (coordinate, position);
            }
        }
        let (positions, coordinates) = (place.positions(), place.coordinates());
        let arrays = vec![numbers(&edges, positions)?, numbers(&ends, positions)?, numbers(&crd, coordinates)?];
        Ok(Spread { level: LevelStorage::new(self.kind(), place.size(), arrays), places })
    }

    fn visit(&self, level: &LevelStorage, parent: u64, each: &mut dyn FnMut(u64, u64)) {
        let (pos, end, crd) = (level.numbers(0), level.numbers(1), level.numbers(2));
        let segment = pos.get(parent as usize)..end.get(parent as usize);
        segment.for_each(|position| each(crd.get(position as usize), position));
    }
}
