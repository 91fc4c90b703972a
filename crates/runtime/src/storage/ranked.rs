//! Ranked slots: slots of coordinates that are sorted by their numbers of entries, as in SELL-C-sigma.
//!
//! The coordinates of parent position `p` are `0 .. pos[p + 1] - pos[p]`, as in slots. Beside them the level keeps the order in
//! which some dimension's coordinates are stored: `ranking[k]` is the coordinate of rank `k`, and the map says which levels
//! store ranks. So the ranking is as long as the dimension, whatever the level's positions are.
//!
//! ```text
//! sell(2,4)   rows with 1, 3, 0, 3, 2 entries:    pos 0 3 4 6    ranking 1 3 0 2 4
//! ```
//!
//! Conversion makes and follows rankings (`ranking.rs`); a level by itself cannot.

use super::slots::Slots;
use super::{Assembly, LevelArrays, LevelStorage, Place, Segments, Spread, checked_indices};
use crate::error::{Above, StorageError};

/// Ranked slots.
pub(super) struct Ranked;

impl LevelArrays for Ranked {
    fn length(&self, part: usize, parents: u64, before: &LevelStorage) -> Option<u64> {
        // The map tells the length of the ranking.
        if part == 0 { Slots.length(part, parents, before) } else { None }
    }

    fn positions(&self, level: &LevelStorage, parents: u64) -> Option<u64> {
        Slots.positions(level, parents)
    }

    fn check(&self, level: &LevelStorage, parents: u64, place: Place) -> Result<u64, StorageError> {
        checked_indices(level, 1, place)?;
        Slots.check(level, parents, place)
    }

    fn assembly(&self) -> Assembly {
        Assembly::Extent
    }

    fn spread(&self, _segments: &Segments, place: Place) -> Result<Spread, StorageError> {
        Err(StorageError::NotRepresentable {
            format: Box::new(place.format.clone()),
            above: Above::Level(place.level),
            reason: "what is stored by ranks is stored by coordinates first".to_string(),
        })
    }

    fn count(&self, level: &LevelStorage, parent: u64) -> u64 {
        Slots.count(level, parent)
    }

    fn visit(&self, level: &LevelStorage, parent: u64, each: &mut dyn FnMut(u64, u64)) {
        Slots.visit(level, parent, each);
    }
}
