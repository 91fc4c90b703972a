//! Levels of nodes that a schema describes.

use super::{LevelArrays, LevelStorage, Place, Segments, Spread};
use crate::error::StorageError;

/// Levels of nodes.
pub(super) struct Nodes;

impl LevelArrays for Nodes {
    fn check(&self, _level: &LevelStorage, _parents: u64, _place: Place) -> Result<u64, StorageError> {
        Err(StorageError::overflow("a level of nodes"))
    }

    fn spread(&self, _segments: &Segments, _place: Place) -> Result<Spread, StorageError> {
        Err(StorageError::overflow("a level of nodes"))
    }

    fn count(&self, _level: &LevelStorage, _parent: u64) -> u64 {
        0
    }

    fn visit(&self, _level: &LevelStorage, _parent: u64, _each: &mut dyn FnMut(u64, u64)) {}
}
