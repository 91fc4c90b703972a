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

use super::{
    LevelArrays, LevelStorage, Place, Places, Segments, Spread, check_edges, check_length, checked_indices, last,
};
use crate::error::StorageError;
use crate::index_array::index_array;
use crate::parallel;

/// Levels of repeated values.
pub(super) struct Repeated;

impl LevelArrays for Repeated {
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
        let runs = segments.runs(place, |before, position| segments.same(before, position))?;
        let (first, start) = runs.numbers();
        let end = |run: usize| first.get(run) + (start.get(run + 1) - start.get(run)) - 1;
        let end = index_array(first.len(), place.coordinates(), end)?;
        let places = index_array(first.len(), segments.width(), |run| segments.position(start.get(run)))?;
        let level = LevelStorage::new(place.kind(), place.size(), vec![runs.edges, runs.first, end]);
        Ok(Spread { level, places: Places::Listed(places) })
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
