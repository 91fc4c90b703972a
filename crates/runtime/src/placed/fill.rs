//! The second pass: it puts every value to its place, and beside it the coordinate that the level below the counted one
//! keeps.
//!
//! ```text
//! sell:           values to their places, and columns to the same places of another array
//! ```

#![allow(unsafe_code)]

use super::locate::Locate;
use super::walk::Walk;
use crate::buffer::Number;
use crate::moved::Moved;
use crate::parallel;

/// Puts the elements of a walk's entries to their places. `locate` gives a task the means to find positions on the
/// counted level.
pub fn put<C: Number, N: Locate>(walk: &Walk, crd: &[C], locate: impl Fn() -> N + Sync, moved: &[Moved]) {
    parallel::each(walk.tasks(), |_, rows| {
        walk.places(&mut locate(), rows, crd, &mut |first, places| {
            // SAFETY: entries differ in their coordinates, which follow from their places: nobody else has one of
            // these. The elements are read only when all are put.
            moved.iter().for_each(|moved| unsafe { moved.put(first, places) });
        });
    });
}
