//! Elements on the way to places that were computed from other things: sorting, counting and placing move values so.
//!
//! Whoever computes places does so for a block of entries at a time, whatever the type of their values. The elements of the block
//! follow in a loop of their own, which is compiled once for each size of elements, and finds the places in the first-level cache.
//!
//! ```text
//! entries 8 9 10, places 5 - 2:    element 8 goes to place 5, element 9 nowhere, element 10 to place 2
//! ```
//!
//! On exit every element is at its place, if that is below the number of places; it has none otherwise.

#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::array::Plain;
use crate::buffer::Buffer;
use crate::dispatch::with_word;
use crate::error::AllocError;
use crate::parallel::{self, GRAIN};

/// The number of places that are computed before elements are moved.
pub const BLOCK: usize = 256;

/// A pointer that threads share; each writes to places of its own.
pub struct Shared<T>(pub *mut T);

// SAFETY: the pointer alone does nothing, and whoever writes through it answers for the places being disjoint.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// The pointer.
    pub fn get(&self) -> *mut T {
        self.0
    }
}

/// Prefetches the cache line of a place that will be written to, if the processor can.
#[inline(always)]
pub fn fetch<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    prefetch::<{ std::arch::x86_64::_MM_HINT_ET0 }, T>(place);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// Prefetches the cache line of a place that will be read, if the processor can.
#[inline(always)]
pub fn fetch_to_read<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }, T>(place);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn prefetch<const HINT: i32, T>(place: *const T) {
    // SAFETY: a hint, which changes no content and fails nowhere.
    unsafe { std::arch::x86_64::_mm_prefetch::<HINT>(place.cast()) };
}

/// Puts elements to their places of a target of `len` elements.
///
/// # Safety
/// The target is memory for so many, and nobody else touches the places.
#[inline(always)]
unsafe fn put<T: Plain>(elements: &[T], places: &[u64], (target, len): (*mut T, usize)) {
    for (&element, &place) in elements.iter().zip(places) {
        if place < len as u64 {
            // SAFETY: by the caller's promise.
            unsafe { target.add(place as usize).write(element) };
        }
    }
}

/// Puts the elements at places one behind the other.
///
/// # Safety
/// The target is memory for as many elements as there are places, and nobody else touches it.
unsafe fn take<T: Plain>(elements: &[T], places: &[u64], target: *mut T) {
    for (k, &place) in places.iter().enumerate() {
        // SAFETY: by the caller's promise.
        unsafe { target.add(k).write(elements[place as usize]) };
    }
}

/// A buffer whose elements go to another one: one after the other to any places, or from any places one behind the other.
pub struct Moved<'a> {
    from: &'a Buffer,
    to: Buffer,
    target: Shared<u8>,
}

impl<'a> Moved<'a> {
    /// Elements that go to so many places.
    ///
    /// # Safety
    /// An element is put to each place before [`Moved::into_buffer`].
    ///
    /// # Errors
    /// The system refused the memory.
    pub unsafe fn new(from: &'a Buffer, places: usize) -> Result<Moved<'a>, AllocError> {
        // SAFETY: by the caller's promise, all is written before it is read.
        Ok(Moved::into(from, unsafe { Buffer::uninitialized(from.dtype(), places as u64)? }))
    }

    /// The same with places that hold something before: those of a buffer of the same type, which is owned.
    pub fn into(from: &'a Buffer, mut to: Buffer) -> Moved<'a> {
        let target = Shared(to.as_mut_ptr().unwrap_or(std::ptr::null_mut()));
        Moved { from, to, target }
    }

    /// The same with places of which every byte is `byte`; elements of the type may consist of it.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn over(from: &'a Buffer, places: usize, byte: u8) -> Result<Moved<'a>, AllocError> {
        // SAFETY: every byte is written.
        let mut moved = unsafe { Moved::new(from, places)? };
        parallel::fill_chunks(moved.to.bytes_mut(), GRAIN, |_, bytes| bytes.fill(MaybeUninit::new(byte)));
        Ok(moved)
    }

    /// Fills places, which exist, with a byte that elements of the type may consist of.
    ///
    /// # Safety
    /// Nobody else touches these places.
    pub unsafe fn clear(&self, places: Range<u64>, byte: u8) {
        let (len, size) = (self.to.len() as u64, self.from.dtype().size());
        let (start, end) = (places.start.min(len) as usize, places.end.min(len) as usize);
        // SAFETY: the target has these places, which by the caller's promise are nobody else's.
        unsafe { self.target.get().add(start * size).write_bytes(byte, end.saturating_sub(start) * size) };
    }

    /// The elements as words, and the places that they go to, which are as many as said.
    pub fn words<V: Plain>(&self) -> (&[V], *mut V) {
        (self.from.as_words(), self.target.get().cast())
    }

    /// Tells which of the elements of a buffer from number `first` on have a byte that is not zero.
    pub fn nonzero(from: &Buffer, first: usize, nonzero: &mut [bool]) {
        with_word!(from.dtype(), V => {
            let words = &from.as_words::<V>()[first..];
            nonzero.iter_mut().zip(words).for_each(|(nonzero, word)| *nonzero = *word != V::default());
        });
    }

    /// Asks for the cache lines of places, which are far from each other.
    pub fn fetch(&self, places: &[u64]) {
        let (target, size) = (self.target.get(), self.from.dtype().size());
        places.iter().for_each(|&place| fetch(target.wrapping_add(place as usize * size)));
    }

    /// Puts the elements from number `first` on to their places.
    ///
    /// # Safety
    /// No other element has one of these places.
    pub unsafe fn put(&self, first: usize, places: &[u64]) {
        with_word!(self.from.dtype(), V => {
            let target = (self.target.get().cast::<V>(), self.to.len());
            // SAFETY: by the caller's promise; the target is memory of the type.
            unsafe { put(&self.from.as_words::<V>()[first..], places, target) };
        });
    }

    /// The same while nobody else puts anything.
    pub fn put_alone(&mut self, first: usize, places: &[u64]) {
        // SAFETY: the target is borrowed here only.
        unsafe { self.put(first, places) };
    }

    /// Takes the elements at places, which exist, to the place `first` and those behind, which exist as well.
    ///
    /// # Safety
    /// No other element has one of these places.
    pub unsafe fn take(&self, places: &[u64], first: usize) {
        let len = places.len().min(self.to.len().saturating_sub(first));
        let target = self.target.get().wrapping_add(first * self.to.dtype().size());
        // SAFETY: the target has so many elements from there on, and by the caller's promise they are nobody else's.
        with_word!(self.from.dtype(), V => unsafe { take(self.from.as_words::<V>(), &places[..len], target.cast()) });
    }

    /// The elements by place.
    pub fn into_buffer(self) -> Buffer {
        self.to
    }
}

/// The places of elements that follow each other, a block of which is put at a time.
pub struct Puts<'a> {
    moved: &'a Moved<'a>,
    first: usize,
    places: [u64; BLOCK],
    len: usize,
}

impl<'a> Puts<'a> {
    /// The places of the elements from number `first` on.
    ///
    /// # Safety
    /// No other element has one of the places that are pushed.
    pub unsafe fn new(moved: &'a Moved<'a>, first: usize) -> Puts<'a> {
        Puts { moved, first, places: [0; BLOCK], len: 0 }
    }

    /// The next element's place.
    #[inline(always)]
    pub fn push(&mut self, place: u64) {
        if self.len == BLOCK {
            self.empty();
        }
        self.places[self.len] = place;
        self.len += 1;
    }

    /// There are no more.
    pub fn finish(mut self) {
        self.empty();
    }

    fn empty(&mut self) {
        // SAFETY: by the promise of whoever made this.
        unsafe { self.moved.put(self.first, &self.places[..self.len]) };
        self.first += self.len;
        self.len = 0;
    }
}
