//! Levels of runs: compressed ones that store only the first of coordinates that follow each other.
//!
//! Parent position `p` has the runs `run[p] .. run[p + 1]`; run `r` has the positions `start[r] .. start[r + 1]`, whose
//! coordinates are `crd[r]`, `crd[r] + 1`, .. Each coordinate has its own value.
//!
//! ```text
//! [ 5 6 . 7 8 ]    dense, runs:   run 0   2 2 3
//! [ . . . . . ]                   crd 0 3 | | 1
//! [ . 9 . . . ]                 start 0 2 | | 4 5
//! ```
//!
//! Paper: Pinar and Heath, *Improving Performance of Sparse Matrix-Vector Multiplication* (SC 1999): variable blocks of one
//! dimension.

use super::{LevelArrays, LevelStorage, Place, Segments, Spread, check_edges, checked_indices, last};
use crate::error::StorageError;
use crate::parallel;
use crate::segments;

/// Levels of runs.
pub(super) struct Runs;

impl LevelArrays for Runs {
    fn length(&self, part: usize, parents: u64, before: &LevelStorage) -> Option<u64> {
        match part {
            0 => parents.checked_add(1),
            1 => Some(last(before.numbers(0))),
            _ => last(before.numbers(0)).checked_add(1),
        }
    }

    fn positions(&self, level: &LevelStorage, _parents: u64) -> Option<u64> {
        Some(last(level.numbers(2)))
    }

    fn check(&self, level: &LevelStorage, parents: u64, place: Place) -> Result<u64, StorageError> {
        let crd = checked_indices(level, 1, place)?;
        let runs = crd.len() as u64;
        check_edges(level, 0, parents, runs, place)?;
        let (edges, start, size) = (level.numbers(0), level.numbers(2), place.size());
        check_edges(level, 2, runs, last(start), place)?;
        let wrong = |parent: usize| {
            let mut least = 0;
            (edges.get(parent)..edges.get(parent + 1)).find_map(|run| {
                let (first, position) = (crd.get(run as usize), start.get(run as usize));
                let length = start.get(run as usize + 1) - position;
                let end = first.saturating_add(length);
                if length == 0 {
                    let reason = "a run is empty";
                    return Some(StorageError::Positions { level: place.level, place: run, reason });
                }
                if end > size {
                    let dimension = place.dimension();
                    let (entry, coordinate) = (position + length - 1, end - 1);
                    return Some(StorageError::OutOfRange { dimension, entry, coordinate, size });
                }
                let disorder = first < least;
                least = end;
                disorder.then_some(StorageError::NotSorted { level: place.level, place: run })
            })
        };
        parallel::first(parents as usize, wrong).map_or(Ok(last(start)), Err)
    }

    fn spread(&self, segments: &Segments, place: Place) -> Result<Spread, StorageError> {
        let segments::Runs { edges, first, start } = segments.runs(place, |_, _| true)?;
        let level = LevelStorage::new(place.kind(), place.size(), vec![edges, first, start]);
        Ok(Spread { level, places: segments.places()? })
    }

    fn count(&self, level: &LevelStorage, parent: u64) -> u64 {
        let (edges, start) = (level.numbers(0), level.numbers(2));
        let edge = |parent: u64| start.get(edges.get(parent as usize) as usize);
        edge(parent + 1) - edge(parent)
    }

    fn visit(&self, level: &LevelStorage, parent: u64, each: &mut dyn FnMut(u64, u64)) {
        let (edges, crd, start) = (level.numbers(0), level.numbers(1), level.numbers(2));
        for run in edges.get(parent as usize)..edges.get(parent as usize + 1) {
            let (first, begin) = (crd.get(run as usize), start.get(run as usize));
            (begin..start.get(run as usize + 1)).for_each(|position| each(first + (position - begin), position));
        }
    }
}
