//! Typed arrays from the tensors' allocator: sorting and packing compute in them.
//!
//! Unlike a `Vec`, an [`Array`] reports refused memory as an error, is zeroed without a pass when it is large, sits on
//! huge pages, and becomes a [`Buffer`](crate::buffer::Buffer) without a copy.

#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::alloc;
use crate::error::AllocError;
use crate::parallel::{self, Chunks};

/// A type of which every bit pattern of zeros is a value, and that owns nothing.
///
/// # Safety
/// The all-zero bytes are a valid value, the type has no drop glue, and its alignment is at most
/// [`alloc::ALIGNMENT`].
pub unsafe trait Plain: Copy + Send + Sync + 'static {}

macro_rules! plain {
    ($($ty:ty),*) => { $(
        // SAFETY: zero bytes are a value of every primitive number and of `bool`, and no bytes of `One`; alignments are at most
        // 16.
        unsafe impl Plain for $ty {}
    )* };
}
plain!(bool, i8, i16, i32, i64, u8, u16, u32, u64, u128, usize, f32, f64, [u32; 2], [u64; 2]);
plain!(lacunar_formats::One, half::f16, half::bf16, num_complex::Complex<f32>, num_complex::Complex<f64>);

// SAFETY: an element that may be uninitialized may be zero bytes too, has no drop glue, and is aligned as the element is.
unsafe impl<T: Plain> Plain for MaybeUninit<T> {}

/// The number of elements that are made before they are converted into others.
const BLOCK: usize = 256;

/// A fixed number of elements, owned.
#[derive(Debug)]
pub struct Array<T: Plain> {
    /// A block of `alloc` holding `len` initialised elements.
    block: NonNull<u8>,
    len: usize,
    element: std::marker::PhantomData<T>,
}

// SAFETY: the array owns its block, and `T` is `Send + Sync`.
unsafe impl<T: Plain> Send for Array<T> {}
// SAFETY: shared access only reads.
unsafe impl<T: Plain> Sync for Array<T> {}

impl<T: Plain> Array<T> {
    /// `len` zeros.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn zeroed(len: usize) -> Result<Array<T>, AllocError> {
        let bytes = len.checked_mul(size_of::<T>()).ok_or(AllocError { bytes: u64::MAX })?;
        // Below that size, the allocator would write zeros as well, but not to memory that was used before.
        let fresh = bytes >= alloc::LARGE;
        let block = alloc::allocate(bytes, fresh).ok_or(AllocError { bytes: bytes as u64 })?;
        if !fresh {
            // SAFETY: the block holds that many bytes, and nobody else has it.
            unsafe { std::ptr::write_bytes(block.as_ptr(), 0, bytes) };
        }
        Ok(Array { block, len, element: std::marker::PhantomData })
    }

    /// The same of an array of which all is going to be written: memory that was released is cleared, however much it is.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn cleared(len: usize) -> Result<Array<T>, AllocError> {
        let bytes = len.checked_mul(size_of::<T>()).ok_or(AllocError { bytes: u64::MAX })?;
        let block = alloc::allocate_cleared(bytes).ok_or(AllocError { bytes: bytes as u64 })?;
        Ok(Array { block, len, element: std::marker::PhantomData })
    }

    /// A copy of a slice.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn copy_of(slice: &[T]) -> Result<Array<T>, AllocError> {
        let mut array = Array::uninitialized(slice.len())?;
        // SAFETY: initialized elements can be seen as elements that may be uninitialized.
        let from = unsafe { std::slice::from_raw_parts(slice.as_ptr().cast::<MaybeUninit<T>>(), slice.len()) };
        parallel::copy(from, &mut array);
        // SAFETY: every element has been written.
        Ok(unsafe { array.assume_init() })
    }

    /// `len` elements, each of which `element` gives. Memory that was used before will do, which [`Array::zeroed`] cannot take.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn of(len: usize, element: impl Fn(usize) -> T + Sync) -> Result<Array<T>, AllocError> {
        let fill = |start: usize, chunk: &mut [MaybeUninit<T>]| {
            for (offset, slot) in chunk.iter_mut().enumerate() {
                slot.write(element(start + offset));
            }
        };
        // SAFETY: the loop writes every element.
        unsafe { Array::of_chunks(len, &fill) }
    }

    /// `len` elements that `of` makes of others; `read` gives these others from a number on. A block of them at a time
    /// stays in the first-level cache: so `read` is not compiled anew for each type of element.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn of_blocks<S: Copy + Default>(
        len: usize,
        read: &dyn Chunks<S>,
        of: impl Fn(S) -> T + Sync,
    ) -> Result<Array<T>, AllocError> {
        let fill = |start: usize, chunk: &mut [MaybeUninit<T>]| {
            let mut block = [S::default(); BLOCK];
            for (number, slots) in chunk.chunks_mut(BLOCK).enumerate() {
                let block = &mut block[..slots.len()];
                read.on(start + number * BLOCK, block);
                for (slot, &element) in slots.iter_mut().zip(&*block) {
                    slot.write(of(element));
                }
            }
        };
        // SAFETY: block after block, every element is written.
        unsafe { Array::of_chunks(len, &fill) }
    }

    /// `len` elements, which `fill` writes chunk after chunk, given the number of a chunk's first element.
    ///
    /// # Safety
    /// `fill` writes every element of a chunk.
    ///
    /// # Errors
    /// The system refused the memory.
    unsafe fn of_chunks(len: usize, fill: &dyn Chunks<MaybeUninit<T>>) -> Result<Array<T>, AllocError> {
        let mut array = Array::uninitialized(len)?;
        parallel::fill_chunks_of(&mut array, parallel::GRAIN, fill);
        // SAFETY: every element has been written, by the caller's promise.
        Ok(unsafe { array.assume_init() })
    }

    /// Parts of these lengths, one behind the other: `fill` puts the elements into part after part, on several threads,
    /// and gives back the room that it leaves, which becomes zeros.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn in_parts(
        lengths: &[usize],
        fill: &(dyn for<'a> Fn(usize, Room<'a, T>) -> Room<'a, T> + Sync),
    ) -> Result<Array<T>, AllocError> {
        let len = lengths.iter().try_fold(0usize, |sum, length| sum.checked_add(*length));
        let mut array = Array::uninitialized(len.ok_or(AllocError { bytes: u64::MAX })?)?;
        parallel::each(parallel::split(&mut array, lengths), |part, slots| {
            let room = fill(part, Room { slots: slots.iter_mut() });
            room.slots.for_each(|slot| *slot = MaybeUninit::zeroed());
        });
        // SAFETY: every element has been written; zero bytes are a value of `T`.
        Ok(unsafe { array.assume_init() })
    }

    /// Drops the elements from `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// The block and the number of elements; the caller owns the block.
    pub(crate) fn into_raw(self) -> (NonNull<u8>, usize) {
        let raw = (self.block, self.len);
        std::mem::forget(self);
        raw
    }
}

/// A part of an array that is being made: the room that is still to be filled.
pub struct Room<'a, T> {
    slots: std::slice::IterMut<'a, MaybeUninit<T>>,
}

impl<T> Room<'_, T> {
    /// Puts the next element in; nothing, if there is no room left.
    #[inline(always)]
    pub fn put(&mut self, element: T) {
        if let Some(slot) = self.slots.next() {
            slot.write(element);
        }
    }
}

impl<T: Plain> Array<MaybeUninit<T>> {
    /// `len` elements of any content: for arrays of which every element is written, out of order.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn uninitialized(len: usize) -> Result<Array<MaybeUninit<T>>, AllocError> {
        let bytes = len.checked_mul(size_of::<T>()).ok_or(AllocError { bytes: u64::MAX })?;
        let block = alloc::allocate(bytes, false).ok_or(AllocError { bytes: bytes as u64 })?;
        Ok(Array { block, len, element: std::marker::PhantomData })
    }

    /// The array, whose elements have been written.
    ///
    /// # Safety
    /// Every element has been written.
    pub unsafe fn assume_init(self) -> Array<T> {
        let (block, len) = self.into_raw();
        Array { block, len, element: std::marker::PhantomData }
    }
}

impl<T: Plain> Drop for Array<T> {
    fn drop(&mut self) {
        // SAFETY: the block came from `alloc`, and the array is its only owner.
        unsafe { alloc::release_scratch(self.block) };
    }
}

impl<T: Plain> Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the block holds `len` initialised elements, aligned for any `Plain` type.
        unsafe { std::slice::from_raw_parts(self.block.as_ptr().cast(), self.len) }
    }
}

impl<T: Plain> DerefMut for Array<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`, and access is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.block.as_ptr().cast(), self.len) }
    }
}
