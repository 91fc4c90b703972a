//! Levels of nodes that a schema describes: lists, trees and whatever else it says. The operations on nodes are in `crate::nodes`.
//!
//! ```text
//! [ 5 . 6 ]    dense, {list}:   root  4 0 12
//! [ . . . ]                     node  . 3 . .   0 8 0 .   2 0 1 .   1 0 2 .      coordinate, next node, position
//! [ . 7 . ]                   values  5 6 7
//! ```

use lacunar_formats::LevelKind;

use super::{LevelArrays, LevelStorage, Place, Segments, Spread};
use crate::error::StorageError;
use crate::nodes::{self, Payload, Put, View};

/// Levels of nodes.
pub(super) struct Nodes;

/// The schema of a kind of levels of nodes.
fn schema(kind: LevelKind) -> Result<&'static lacunar_formats::Schema, StorageError> {
    kind.schema().ok_or(StorageError::Astray)
}

impl LevelArrays for Nodes {
    fn length(&self, part: usize, parents: u64, _before: &LevelStorage) -> Option<u64> {
        // Roots do not tell how many words nodes have.
        (part == 0).then_some(parents)
    }

    fn positions(&self, level: &LevelStorage, _parents: u64) -> Option<u64> {
        Some(View::of(level)?.positions())
    }

    fn check(&self, level: &LevelStorage, parents: u64, place: Place) -> Result<u64, StorageError> {
        nodes::check(level, parents, place)
    }

    fn spread(&self, segments: &Segments, place: Place) -> Result<Spread, StorageError> {
        nodes::spread(schema(place.kind())?, segments, place)
    }

    fn count(&self, level: &LevelStorage, parent: u64) -> u64 {
        View::of(level).map_or(0, |view| nodes::count(view, parent))
    }

    fn counts_by_visits(&self) -> bool {
        true
    }

    fn visit(&self, level: &LevelStorage, parent: u64, each: &mut dyn FnMut(u64, u64)) {
        if let Some(view) = View::of(level) {
            nodes::visit(view, parent, each);
        }
    }

    fn visits_soon(&self, level: &LevelStorage, behind: &dyn Fn(usize) -> Option<u64>) {
        // Nodes that were laid out lie in the order of visits.
        if level.kept().new_words > 0
            && let Some(view) = View::of(level)
        {
            nodes::visits_soon(view, behind);
        }
    }

    fn find(&self, level: &LevelStorage, parent: u64, coordinate: u64) -> Option<u64> {
        nodes::find(View::of(level)?, level.kept(), parent, coordinate)
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
