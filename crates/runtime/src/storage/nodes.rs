//! Levels of nodes that a schema describes.

use super::{LevelArrays, LevelStorage, Place, Segments, Spread};
use crate::error::StorageError;
use crate::nodes::{self, Payload, Put};

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

    fn find(&self, level: &LevelStorage, parent: u64, coordinate: u64) -> Option<u64> {
        nodes::find(level, parent, coordinate)
    }

    /// The coordinate may be stored: then this finds it.
    fn put(
        &self,
        level: &mut LevelStorage,
        parent: u64,
        coordinate: u64,
        payload: Payload<'_>,
    ) -> Result<Put, StorageError> {
        nodes::put(level, parent, coordinate, payload)
    }

    fn remove(
        &self,
        level: &mut LevelStorage,
        parent: u64,
        coordinate: u64,
        payload: Payload<'_>,
    ) -> Result<bool, StorageError> {
        nodes::remove(level, parent, coordinate, payload)
    }
}
