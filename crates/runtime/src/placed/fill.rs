//! The second pass: every value to its place, and beside it what the level below the counted one keeps of each position.
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

/// Puts what belongs to the entries of a walk to their places. `locate` gives what a task needs to know positions on the counted
/// level.
pub fn put<C: Number, N: Locate>(walk: &Walk, crd: &[C], locate: impl Fn() -> N + Sync, moved: &[Moved]) {
    parallel::each(walk.tasks(), |_, rows| {
        walk.places(&mut locate(), rows, crd, &mut |first, places| {
            // SAFETY: entries differ in their coordinates, which follow from their places: nobody else has one of
            // these. The elements are read only when all are put.
            moved.iter().for_each(|moved| unsafe { moved.put(first, places) });
        });
    });
}
