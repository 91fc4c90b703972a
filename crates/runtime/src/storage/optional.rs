//! Optional levels: at most one coordinate under each parent position.
//!
//! `crd[p]` is the coordinate; the position is the parent's. If there is none, `crd[p]` is the largest number of its
//! type, the position is not used, and its value is a zero that is no entry.
//!
//! ```text
//! [ . 5 . ]    dense, optional:   crd 1 - 0
//! [ . . . ]                    values 5 . 7
//! [ 7 . . ]
//! ```

use super::{Assembly, LevelArrays, LevelStorage, Place, Segments, Spread, check_length, check_size, checked_indices};
use crate::error::StorageError;
use crate::parallel;

/// Optional levels.
pub(super) struct Optional;

impl LevelArrays for Optional {
    fn length(&self, _part: usize, parents: u64, _before: &LevelStorage) -> Option<u64> {
        Some(parents)
    }

    fn positions(&self, _level: &LevelStorage, parents: u64) -> Option<u64> {
        Some(parents)
    }

    fn check(&self, level: &LevelStorage, parents: u64, place: Place) -> Result<u64, StorageError> {
        let crd = checked_indices(level, 0, place)?;
        check_length(level, 0, parents, place)?;
        let (size, none) = (place.size(), place.coordinates().max());
        let bad = parallel::first(crd.len(), |k| {
            let coordinate = crd.get(k);
            (coordinate != none && coordinate >= size).then_some((k as u64, coordinate))
        });
        match bad {
            Some((entry, coordinate)) => {
                Err(StorageError::OutOfRange { dimension: place.dimension(), entry, coordinate, size })
            }
            None => check_size(place).map(|()| parents),
        }
    }

    fn assembly(&self) -> Assembly {
        Assembly::Single { absent: true }
    }

    fn spread(&self, segments: &Segments, place: Place) -> Result<Spread, StorageError> {
        let none = place.coordinates().max();
        check_size(place)?;
        let (crd, places) = segments.one_each(place, none)?;
        Ok(Spread { level: LevelStorage::new(place.kind(), place.size(), vec![crd]), places })
    }

    fn count(&self, level: &LevelStorage, parent: u64) -> u64 {
        let crd = level.numbers(0);
        u64::from(crd.get(parent as usize) != crd.width().max())
    }

    fn visit(&self, level: &LevelStorage, parent: u64, each: &mut dyn FnMut(u64, u64)) {
        let crd = level.numbers(0);
        let coordinate = crd.get(parent as usize);
        if coordinate != crd.width().max() {
            each(coordinate, parent);
        }
    }
}
