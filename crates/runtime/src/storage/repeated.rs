//! Levels of repeated values: run-length coding. Neighboring coordinates that have the same value share a position.
//!
//! Parent position `p` has the positions `pos[p] .. pos[p + 1]`; position `r` is that of the coordinates `crd[r] ..= last[r]`.
//! Values are the same if all their bits are.
//!
//! ```text
//! [ 5 5 5 . 7 ]    dense, repeated:   pos 0   2 2 4
//! [ . . . . . ]                       crd 0 4 | | 1 3
//! [ . 9 9 2 . ]                      last 2 4 | | 2 3
//!                                  values 5 7     9 2
//! ```
//!
//! Above other levels, nothing is known to be the same, and each coordinate has a position of its own.
//!
//! Paper: Donenfeld, Chou and Amarasinghe, *Unified Compilation for Lossless Compression and Sparse Computing* (CGO 2022), §4.

use lacunar_formats::{Capabilities, Holds, LEVELS, LevelInfo, LevelKind, Part, Properties};
use linkme::distributed_slice;

use super::{
    LevelArrays, LevelStorage, Place, STORAGE, Segments, Spread, check_edges, check_length, checked_indices, last,
    numbers,
};
use crate::array::Array;
use crate::error::StorageError;
use crate::parallel;

#[distributed_slice(LEVELS)]
static REPEATED: LevelInfo = LevelInfo {
    name: "repeated",
    letter: 'g',
    repeating: None,
    properties: Properties { shared: true, ..Properties::ASCENDING },
    capabilities: Capabilities { iterate_coordinates: true, search: true, ..Capabilities::NONE },
    parts: &[Part::POSITIONS, Part::COORDINATES, Part { name: "last", holds: Holds::Coordinates }],
};

/// Levels of repeated values.
struct Repeated;

#[distributed_slice(STORAGE)]
static OPERATIONS: &dyn LevelArrays = &Repeated;

impl LevelArrays for Repeated {
    fn kind(&self) -> LevelKind {
        LevelKind::new(&REPEATED)
    }

    fn length(&self, part: usize, parents: u64, before: &LevelStorage) -> Option<u64> {
        if part == 0 { parents.checked_add(1) } else { Some(last(before.numbers(0))) }
    }

    fn positions(&self, level: &LevelStorage, _parents: u64) -> Option<u64> {
        Some(last(level.numbers(0)))
    }

    fn check(&self, level: &LevelStorage, parents: u64, place: Place) -> Result<u64, StorageError> {
        let (first, end) = (checked_indices(level, 1, place)?, checked_indices(level, 2, place)?);
        let runs = first.len() as u64;
        check_edges(level, 0, parents, runs, place)?;
        check_length(level, 2, runs, place)?;
        let (pos, size) = (level.numbers(0), place.size());
        let wrong = |parent: usize| {
            let mut least = 0;
            (pos.get(parent)..pos.get(parent + 1)).find_map(|run| {
                let (own, coordinate) = (first.get(run as usize), end.get(run as usize));
                if coordinate >= size {
                    let dimension = place.dimension();
                    return Some(StorageError::OutOfRange { dimension, entry: run, coordinate, size });
                }
                if coordinate < own {
                    let reason = "a run ends before it begins";
                    return Some(StorageError::Positions { level: place.level, place: run, reason });
                }
                let disorder = own < least;
                least = coordinate + 1;
                disorder.then_some(StorageError::NotSorted { level: place.level, place: run })
            })
        };
        parallel::first(parents as usize, wrong).map_or(Ok(runs), Err)
    }

    fn spread(&self, segments: &Segments, place: Place) -> Result<Spread, StorageError> {
        let begins = |before: Option<(u64, u64)>, (coordinate, position): (u64, u64)| {
            before.is_none_or(|(own, other)| own + 1 != coordinate || !segments.same(other, position))
        };
        let mut edges = Array::<u64>::zeroed(segments.parents() + 1)?;
        parallel::fill(&mut edges[1..], |parent| {
            let mut before = None;
            let first = |entry| begins(before.replace(entry), entry);
            segments.under(parent).map(first).filter(|first| *first).count() as u64
        });
        for parent in 0..segments.parents() {
            edges[parent + 1] += edges[parent];
        }
        let runs = edges[segments.parents()] as usize;
        let (mut crd, mut end) = (Array::<u64>::zeroed(runs)?, Array::<u64>::zeroed(runs)?);
        let mut places = Array::zeroed(runs)?;
        let mut run = 0;
        for parent in 0..segments.parents() {
            let mut before = None;
            for (coordinate, position) in segments.under(parent) {
                if begins(before.replace((coordinate, position)), (coordinate, position)) {
                    (crd[run], places[run]) = (coordinate, position);
                    run += 1;
                }
                end[run - 1] = coordinate;
            }
        }
        let arrays = vec![
            numbers(&edges, place.positions())?,
            numbers(&crd, place.coordinates())?,
            numbers(&end, place.coordinates())?,
        ];
        Ok(Spread { level: LevelStorage::new(self.kind(), place.size(), arrays), places })
    }

    fn visit(&self, level: &LevelStorage, parent: u64, each: &mut dyn FnMut(u64, u64)) {
        let (pos, crd, end) = (level.numbers(0), level.numbers(1), level.numbers(2));
        for run in pos.get(parent as usize)..pos.get(parent as usize + 1) {
            (crd.get(run as usize)..=end.get(run as usize)).for_each(|coordinate| each(coordinate, run));
        }
    }

    fn count(&self, level: &LevelStorage, parent: u64) -> u64 {
        let (pos, crd, end) = (level.numbers(0), level.numbers(1), level.numbers(2));
        (pos.get(parent as usize)..pos.get(parent as usize + 1)).fold(0, |count, run| {
            let others = end.get(run as usize) - crd.get(run as usize);
            count.saturating_add(others).saturating_add(1)
        })
    }
}
