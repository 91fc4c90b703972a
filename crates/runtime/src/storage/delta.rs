//! Delta-coded levels: compressed ones that store how far each coordinate is from the one before it.
//!
//! The first coordinate under parent position `p` is `delta[pos[p]]`, and each after it is `delta` more than its predecessor.
//! Differences are small where coordinates lie close together, so that such arrays compress well.
//!
//! ```text
//! [ 5 . 6 7 ]    dense, delta:   pos 0     3 3 4
//! [ . . . . ]                  delta 0 2 1 | | 1
//! [ . 8 . . ]
//! ```
//!
//! Paper: Willcock and Lumsdaine, *Accelerating Sparse Matrix Computations via Data Compression* (ICS 2006).

use super::{LevelArrays, LevelStorage, Place, Segments, Spread, check_edges, checked_indices, length};
use crate::error::StorageError;
use crate::parallel;

/// Delta-coded levels.
pub(super) struct Delta;

impl LevelArrays for Delta {
    fn check(&self, level: &LevelStorage, parents: u64, place: Place) -> Result<u64, StorageError> {
        let delta = checked_indices(level, 1, place)?;
        check_edges(level, 0, parents, delta.len() as u64, place)?;
        let (pos, size) = (level.numbers(0), place.size());
        let wrong = |parent: usize| {
            let (begin, mut coordinate) = (pos.get(parent), 0u64);
            (begin..pos.get(parent + 1)).find_map(|position| {
                let step = delta.get(position as usize);
                coordinate = coordinate.saturating_add(step);
                if coordinate >= size {
                    let dimension = place.dimension();
                    return Some(StorageError::OutOfRange { dimension, entry: position, coordinate, size });
                }
                (step == 0 && position > begin)
                    .then_some(StorageError::Duplicate { level: place.level, place: position })
            })
        };
        parallel::first(parents as usize, wrong).map_or(Ok(delta.len() as u64), Err)
    }

    fn spread(&self, segments: &Segments, place: Place) -> Result<Spread, StorageError> {
        let delta = segments.column(place.coordinates(), |piece| {
            let mut before = segments.before(piece).unwrap_or(0);
            move |coordinate| coordinate - std::mem::replace(&mut before, coordinate)
        })?;
        let arrays = vec![segments.edges(place.positions())?, delta];
        let level = LevelStorage::new(place.kind(), place.size(), arrays);
        Ok(Spread { level, places: segments.places()? })
    }

    fn count(&self, level: &LevelStorage, parent: u64) -> u64 {
        length(level.numbers(0), parent)
    }

    fn visit(&self, level: &LevelStorage, parent: u64, each: &mut dyn FnMut(u64, u64)) {
        let (pos, delta) = (level.numbers(0), level.numbers(1));
        let mut coordinate = 0;
        for position in pos.get(parent as usize)..pos.get(parent as usize + 1) {
            coordinate += delta.get(position as usize);
            each(coordinate, position);
        }
    }
}
