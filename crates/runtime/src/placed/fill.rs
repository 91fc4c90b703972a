//! The second pass: every value to its place, and beside it what the level below the counted one keeps of each position.
//!
//! ```text
//! sell:           values to their places, and columns to the same places of another array
//! ```

#![allow(unsafe_code)]

use super::numbers::Numbers;
use super::walk::{Coordinate, Walk};
use crate::array::{Array, Plain};
use crate::error::AllocError;
use crate::parallel;
use crate::sort::Shared;

/// Puts what belongs to entries to their places. Nobody else writes to these: entries differ in their coordinates, which follow
/// from their places.
pub trait Put: Sync {
    /// The entries from number `first` on, with their places. Places past the end are none.
    fn put(&self, first: usize, places: &[u64]);
}

/// An array, each element of which goes to its entry's place.
pub struct Moved<'a, T: Plain> {
    from: &'a [T],
    to: Array<T>,
    target: Shared<T>,
}

impl<'a, T: Plain> Moved<'a, T> {
    /// Elements that go to so many places, which begin as `absent`.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn new(from: &'a [T], places: usize, absent: T) -> Result<Moved<'a, T>, AllocError> {
        let mut to = Array::of(places, |_| absent)?;
        let target = Shared(to.as_mut_ptr());
        Ok(Moved { from, to, target })
    }

    /// The elements by place.
    pub fn into_array(self) -> Array<T> {
        self.to
    }
}

impl<T: Plain> Put for Moved<'_, T> {
    fn put(&self, first: usize, places: &[u64]) {
        let len = self.to.len() as u64;
        for (&place, &element) in places.iter().zip(&self.from[first..]) {
            if place < len {
                // SAFETY: the place is one of the array's, which is read only when all is put, and no other entry has it.
                unsafe { self.target.get().add(place as usize).write(element) };
            }
        }
    }
}

/// Puts all entries of a walk. `numbers` gives what a task needs to know positions on the counted level.
pub fn put<C: Coordinate, N: Numbers>(walk: &Walk, crd: &[C], numbers: impl Fn() -> N + Sync, puts: &[&dyn Put]) {
    parallel::each(walk.tasks(), |_, rows| {
        walk.places(&mut numbers(), rows, crd, &mut |first, places| {
            puts.iter().for_each(|put| put.put(first, places));
        });
    });
}
