//! The second pass: it puts every value to its place, and beside it the coordinate that the level below the counted one
//! keeps.
//!
//! A place without an entry holds zero, or the number that means "no coordinate". A task writes these to all places of a bin just before it
//! puts the bin's entries there, while the places are in the cache. If there is one bin, which threads share, all places are filled first.
//!
//! ```text
//! sell:           values to their places, and columns to the same places of another array
//! ```

#![allow(unsafe_code)]

use std::ops::Range;

use super::locate::Locate;
use super::walk::{Put, Walk};
use crate::buffer::{Buffer, Number};
use crate::error::AllocError;
use crate::moved::Moved;
use crate::parallel;

/// The places that a task puts elements to.
struct Places<'m, 'a> {
    /// The elements, and the byte that places without any consist of.
    moved: &'m [(Moved<'a>, u8)],
    /// True if the places of a bin have nothing in them when it begins.
    by_bin: bool,
}

impl Put for Places<'_, '_> {
    fn enter(&mut self, places: Range<u64>) {
        if self.by_bin {
            // SAFETY: one task has the whole bin, and nothing has been put to its places.
            self.moved.iter().for_each(|(moved, byte)| unsafe { moved.clear(places.clone(), *byte) });
        }
    }

    fn put(&mut self, first: usize, places: &[u64]) {
        // SAFETY: entries differ in their coordinates, which follow from their places: nobody else has one of
        // these. The elements are read only when all are put.
        self.moved.iter().for_each(|(moved, _)| unsafe { moved.put(first, places) });
    }
}

/// The elements of each buffer in `total` places, those of a walk's entries, and `byte`s where there is no entry. `locate` gives a task the
/// means to find positions on the counted level.
///
/// # Errors
/// The system refused the memory.
pub fn put<C: Number, N: Locate>(
    walk: &Walk,
    crd: &[C],
    locate: impl Fn() -> N + Sync,
    elements: &[(&Buffer, u8)],
    total: usize,
) -> Result<Vec<Buffer>, AllocError> {
    let by_bin = walk.has_bins();
    let over = |&(from, byte): &(_, u8)| {
        // SAFETY: bins have all places, and each is entered by the task that has its rows, which fills its places.
        let moved = if by_bin { unsafe { Moved::new(from, total) } } else { Moved::over(from, total, byte) };
        Ok((moved?, byte))
    };
    let moved = elements.iter().map(over).collect::<Result<Vec<_>, AllocError>>()?;
    parallel::each(walk.tasks(), |_, rows| {
        walk.places(&mut locate(), rows, crd, &mut Places { moved: &moved, by_bin });
    });
    Ok(moved.into_iter().map(|(moved, _)| moved.into_buffer()).collect())
}
