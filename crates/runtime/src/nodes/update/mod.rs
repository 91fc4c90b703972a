//! Updates of levels of nodes: elements that are put in and taken out, one after the other or many at once.
//!
//! ```text
//! locate.rs     the way to a coordinate               insert.rs      a new element: where it fits, and how nodes give way
//! items.rs      what a node holds, and what fits it   split.rs       nodes that are split around a separator
//! cells.rs      the places for items in nodes         rebalance.rs   binary trees that are balanced again
//! edit.rs       words, memory and references          remove.rs      an element that goes
//! payload.rs    what lies at positions                join.rs        nodes that have too few elements
//! free.rs       nodes that are not used any more      search.rs      comparisons on the way to a coordinate
//! run.rs        many changes, row after row           renew.rs       rows that are made anew
//! block.rs      elements side by side in a node       quick.rs       changes that need no more than one of these
//! guess.rs      where the values of a node may be     grow.rs        a block that moves into a larger node
//! leaf.rs       rows that are one node
//! ```

mod block;
mod cells;
mod edit;
mod free;
mod grow;
mod guess;
mod insert;
mod items;
mod join;
mod leaf;
mod locate;
mod payload;
mod quick;
mod rebalance;
mod remove;
mod renew;
mod run;
mod search;
mod split;
#[cfg(test)]
mod tests;

use crate::error::StorageError;
use crate::storage::LevelStorage;
use edit::Editor;
use remove::Removed;

pub(crate) use free::Kept;
pub use insert::Put;
pub use payload::Payload;
#[cfg(test)]
pub(crate) use payload::limit;
pub(crate) use quick::{put_quickly, remove_quickly};
pub(crate) use run::{Changes, change_runs, place_runs};

use super::View;
use super::build::makes_all;
use super::shape::Shapes;

/// Works at the nodes under a parent position.
fn edit<R>(
    level: &mut LevelStorage,
    parent: u64,
    payload: Payload<'_>,
    work: impl FnOnce(&mut Editor) -> R,
) -> Option<R> {
    let (schema, root, node, kept) = level.nodes_mut()?;
    kept.prepare(schema);
    let mut editor = Editor::new(schema, (root, node), kept, payload, u32::try_from(parent).ok()?);
    let result = work(&mut editor);
    editor.finish();
    Some(result)
}

/// True of levels of nodes of which rows of some numbers of elements cannot be made anew.
pub(crate) fn may_refuse(level: &mut LevelStorage) -> bool {
    let Some((schema, _, _, kept)) = level.nodes_mut() else { return false };
    *kept.refuses.get_or_insert_with(|| !makes_all(&Shapes::new(schema)))
}

/// The position of a coordinate under a parent position.
pub(crate) fn find(view: View, kept: &Kept, parent: u64, coordinate: u64) -> Option<u64> {
    let (parent, coordinate) = (u32::try_from(parent).ok()?, u32::try_from(coordinate).ok()?);
    view.find(&kept.searches, parent, coordinate).map(u64::from)
}

/// Stores a coordinate under a parent position, if it is not there.
///
/// # Errors
/// Handles or positions are too many, or memory is refused; nothing has been changed.
pub(crate) fn put(
    level: &mut LevelStorage,
    parent: u64,
    coordinate: u64,
    payload: Payload<'_>,
) -> Result<Put, StorageError> {
    let Ok(coordinate) = u32::try_from(coordinate) else { return Ok(Put::Nowhere) };
    edit(level, parent, payload, |editor| editor.insert(coordinate)).unwrap_or(Ok(Put::Nowhere))
}

/// Removes a coordinate under a parent position; false if that cannot be done in place.
///
/// # Errors
/// Memory is refused; nothing has been changed.
pub(crate) fn remove(
    level: &mut LevelStorage,
    parent: u64,
    coordinate: u64,
    payload: Payload<'_>,
) -> Result<bool, StorageError> {
    let Ok(coordinate) = u32::try_from(coordinate) else { return Ok(true) };
    let removed = edit(level, parent, payload, |editor| editor.remove(coordinate)).unwrap_or(Ok(Removed::Stuck))?;
    Ok(removed != Removed::Stuck)
}
