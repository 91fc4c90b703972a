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

use lacunar_formats::{Capabilities, Holds, LEVELS, LevelInfo, LevelKind, Part, Properties};
use linkme::distributed_slice;

use super::{LevelArrays, LevelStorage, Place, STORAGE, Segments, Spread, check_edges, checked_indices, last, numbers};
use crate::array::Array;
use crate::error::StorageError;
use crate::parallel;

#[distributed_slice(LEVELS)]
static RUNS: LevelInfo = LevelInfo {
    name: "runs",
    letter: 'r',
    repeating: None,
    properties: Properties::ASCENDING,
    capabilities: Capabilities { iterate_positions: true, search: true, ..Capabilities::NONE },
    parts: &[
        Part { name: "run", holds: Holds::Positions },
        Part::COORDINATES,
        Part { name: "start", holds: Holds::Positions },
    ],
};

/// Levels of runs.
struct Runs;

#[distributed_slice(STORAGE)]
static OPERATIONS: &dyn LevelArrays = &Runs;

impl LevelArrays for Runs {
    fn kind(&self) -> LevelKind {
        LevelKind::new(&RUNS)
    }

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
        let (pos, crd, places) = segments.copied(place)?;
        let (compressed, parents) = (LevelStorage::compressed(pos, crd), segments.parents());
        let (pos, all) = (compressed.numbers(0), compressed.numbers(1));
        let begins = |parent: usize, k: u64| k == pos.get(parent) || all.get(k as usize) != all.get(k as usize - 1) + 1;
        let mut edges = Array::<u64>::zeroed(parents + 1)?;
        for parent in 0..parents {
            let count = (pos.get(parent)..pos.get(parent + 1)).filter(|&k| begins(parent, k)).count();
            edges[parent + 1] = edges[parent] + count as u64;
        }
        let runs = edges[parents] as usize;
        let (mut first, mut start) = (Array::<u64>::zeroed(runs)?, Array::<u64>::zeroed(runs + 1)?);
        let mut run = 0;
        for parent in 0..parents {
            for k in (pos.get(parent)..pos.get(parent + 1)).filter(|&k| begins(parent, k)) {
                (first[run], start[run]) = (all.get(k as usize), k);
                run += 1;
            }
        }
        start[runs] = places.len() as u64;
        let (positions, coordinates) = (place.positions(), place.coordinates());
        let arrays = vec![numbers(&edges, positions)?, numbers(&first, coordinates)?, numbers(&start, positions)?];
        Ok(Spread { level: LevelStorage::new(self.kind(), place.size(), arrays), places })
    }

    fn visit(&self, level: &LevelStorage, parent: u64, each: &mut dyn FnMut(u64, u64)) {
        let (edges, crd, start) = (level.numbers(0), level.numbers(1), level.numbers(2));
        for run in edges.get(parent as usize)..edges.get(parent as usize + 1) {
            let (first, begin) = (crd.get(run as usize), start.get(run as usize));
            (begin..start.get(run as usize + 1)).for_each(|position| each(first + (position - begin), position));
        }
    }
}
