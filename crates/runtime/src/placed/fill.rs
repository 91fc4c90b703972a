//! The second pass: every value to its place, and beside it what the level below the counted one keeps of each position.
//!
//! ```text
//! sell:           values to their places, and columns to the same places of another array
//! dense,bitmap:   values to their places, and the bits of those places set
//! ```

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};

use super::numbers::Numbers;
use super::walk::{Coordinate, Walk};
use crate::array::{Array, Plain};
use crate::error::{AllocError, StorageError};
use crate::parallel;
use crate::sort::Shared;

/// Coordinates in a word of bits.
const BITS: u64 = 64;

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

/// A bit for each place, set if it is an entry's; those of each parent position begin a word.
pub struct Bits {
    words: Array<u64>,
    target: Shared<u64>,
    /// Bits of a parent position.
    size: u64,
}

impl Bits {
    /// For so many places, `size` under each parent position.
    ///
    /// # Errors
    /// They are too many, or the system refused the memory.
    pub fn new(places: usize, size: u64) -> Result<Bits, StorageError> {
        let parents = (places as u64).checked_div(size).unwrap_or(0);
        let words = parents.checked_mul(size.div_ceil(BITS)).and_then(|words| usize::try_from(words).ok());
        let mut words = Array::zeroed(words.ok_or_else(|| StorageError::overflow("a bitmap"))?)?;
        let target = Shared(words.as_mut_ptr());
        Ok(Bits { words, target, size })
    }

    /// The words.
    pub fn into_array(self) -> Array<u64> {
        self.words
    }
}

impl Put for Bits {
    fn put(&self, _first: usize, places: &[u64]) {
        for place in places {
            let (parent, bit) = (place / self.size, place % self.size);
            let word = (parent * self.size.div_ceil(BITS) + bit / BITS) as usize;
            if word < self.words.len() {
                // SAFETY: the word is one of the array's, and all access to it is atomic until all is put.
                let word = unsafe { AtomicU64::from_ptr(self.target.get().add(word)) };
                word.fetch_or(1 << (bit % BITS), Ordering::Relaxed);
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
