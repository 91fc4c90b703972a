//! Parts of arrays: threads that change different elements of one array.
//!
//! A slice of all elements says that nobody else writes to any of them. A thread that shares an array with others makes slices of
//! those elements alone that are its own: [`Words`] for reading, and [`Buffer::part_mut`] and its like for writing. So nodes of different
//! rows can be changed at once, though they lie between each other.
//!
//! ```text
//! nodes     a . b . c . d         thread 1 reads and writes a, b         thread 2 reads and writes c, d
//! ```
//!
//! On entry: an array that owns its memory. A [portion](Buffer::portion) of it has the same memory and length, does not grow, and is dropped
//! before the array changes its length. On exit: the array with what all have written.

#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Index, Range};

use crate::buffer::Buffer;
use crate::values::Element;

/// Numbers that are read one by one, or a few that are neighbors.
#[derive(Clone, Copy)]
pub(crate) struct Words<'a> {
    first: *const u32,
    len: usize,
    array: PhantomData<&'a [u32]>,
}

/// None.
impl Default for Words<'_> {
    fn default() -> Self {
        Words { first: std::ptr::null(), len: 0, array: PhantomData }
    }
}

impl<'a> Words<'a> {
    /// The number of words.
    pub fn len(self) -> usize {
        self.len
    }

    /// A word; none behind the last.
    #[inline(always)]
    pub fn get(self, at: usize) -> Option<u32> {
        // SAFETY: there are so many words, and nobody writes to those that are asked for.
        (at < self.len).then(|| unsafe { self.first.add(at).read() })
    }

    /// Neighbors; none if one of them is behind the last.
    #[inline(always)]
    pub fn part(self, range: Range<usize>) -> Option<&'a [u32]> {
        let is_inside = range.start <= range.end && range.end <= self.len;
        // SAFETY: there are so many words, and nobody writes to those that are asked for.
        is_inside.then(|| unsafe { std::slice::from_raw_parts(self.first.add(range.start), range.len()) })
    }

    /// The address of a word, which need not be there.
    pub fn address(self, at: usize) -> *const u32 {
        self.first.wrapping_add(at)
    }
}

impl Index<usize> for Words<'_> {
    type Output = u32;

    #[inline(always)]
    fn index(&self, at: usize) -> &u32 {
        assert!(at < self.len, "there are {} words, and none with number {at}", self.len);
        // SAFETY: there are so many words, and nobody writes to those that are asked for.
        unsafe { &*self.first.add(at) }
    }
}

impl Buffer {
    /// The elements, if they have 32 bits and no sign.
    pub(crate) fn words(&self) -> Option<Words<'_>> {
        (self.dtype() == u32::DTYPE).then(|| Words { first: self.as_ptr().cast(), len: self.len(), array: PhantomData })
    }

    /// Some elements, if they are of type `T`, are all there, and the buffer is not borrowed.
    #[inline(always)]
    pub(crate) fn part_mut<T: Element>(&mut self, range: Range<usize>) -> Option<&mut [T]> {
        let is_inside = range.start <= range.end && range.end <= self.len() && self.dtype() == T::DTYPE;
        let first = self.as_mut_ptr().filter(|_| is_inside)?.cast::<T>();
        // SAFETY: there are so many elements of the type; of several portions, each is asked for other ones.
        Some(unsafe { std::slice::from_raw_parts_mut(first.add(range.start), range.len()) })
    }

    /// An element, if it is of type `T` and there, and the buffer is not borrowed.
    #[inline(always)]
    pub(crate) fn element_mut<T: Element>(&mut self, at: usize) -> Option<&mut T> {
        self.part_mut(at..at.checked_add(1)?)?.first_mut()
    }

    /// Some bytes, if they are all there and the buffer is not borrowed.
    #[inline(always)]
    pub(crate) fn part_bytes(&mut self, range: Range<usize>) -> Option<&mut [MaybeUninit<u8>]> {
        let is_inside = range.start <= range.end && range.end as u64 <= self.bytes();
        let first = self.as_mut_ptr().filter(|_| is_inside)?.cast::<MaybeUninit<u8>>();
        // SAFETY: there are so many bytes; of several portions, each is asked for other ones.
        Some(unsafe { std::slice::from_raw_parts_mut(first.add(range.start), range.len()) })
    }

    /// Copies bytes to a place, which may have some of them in common, if both are there and the buffer is not borrowed.
    #[inline(always)]
    pub(crate) fn copy_bytes(&mut self, from: Range<usize>, to: usize) {
        let all = self.bytes() as usize;
        let fits = from.start <= from.end && from.end <= all && to <= all && from.len() <= all - to;
        if let Some(first) = self.as_mut_ptr().filter(|_| fits) {
            // SAFETY: both ranges are inside of the memory; of several portions, each is asked for other ones.
            unsafe { std::ptr::copy(first.add(from.start), first.add(to), from.len()) };
        }
    }

    /// Exchanges bytes with as many from a place on, none of which both have, if all are there and the buffer is not borrowed.
    #[inline(always)]
    pub(crate) fn exchange_bytes(&mut self, one: Range<usize>, other: usize) {
        let all = self.bytes() as usize;
        let is_apart = one.end <= other || other.checked_add(one.len()).is_some_and(|end| end <= one.start);
        let fits = one.start <= one.end && one.end <= all && other <= all && one.len() <= all - other && is_apart;
        if let Some(first) = self.as_mut_ptr().filter(|_| fits) {
            // SAFETY: both ranges are inside of the memory and apart; of several portions, each is asked for other ones.
            unsafe { std::ptr::swap_nonoverlapping(first.add(one.start), first.add(other), one.len()) };
        }
    }

    /// A buffer of the same elements, which another thread changes.
    ///
    /// # Safety
    /// It is dropped before the buffer changes its length or is dropped. Until then, no element that is written through one of the buffer
    /// and its portions is read or written through another, and nobody asks for slices of all elements.
    pub(crate) unsafe fn portion(&mut self) -> Option<Buffer> {
        let (len, dtype) = (self.len(), self.dtype());
        let first = std::ptr::NonNull::new(self.as_mut_ptr()?)?;
        // SAFETY: by the caller's promise the memory is there as long as the portion.
        Some(unsafe { Buffer::exclusive(first, len, dtype) })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_where_the_array_does() {
        let mut buffer = Buffer::from_vec(vec![1u32, 2, 3, 4]);
        buffer.part_mut::<u32>(1..3).unwrap().copy_from_slice(&[7, 8]);
        assert!(buffer.part_mut::<u32>(3..5).is_none() && buffer.part_mut::<f32>(0..1).is_none());
        assert!(buffer.part_bytes(15..17).is_none() && buffer.element_mut::<u32>(usize::MAX).is_none());
        buffer.copy_bytes(4..12, 8);
        buffer.copy_bytes(8..17, 0);
        buffer.copy_bytes(0..4, 13);
        buffer.exchange_bytes(0..4, 3);
        buffer.exchange_bytes(0..8, 8);
        buffer.exchange_bytes(8..16, 0);
        buffer.exchange_bytes(8..16, 9);
        assert_eq!(buffer.as_slice::<u32>(), Some(&[1, 7, 7, 8][..]));
        let words = buffer.words().unwrap();
        assert_eq!(
            (words.get(3), words.get(4), words.part(2..4), words.part(2..5)),
            (Some(8), None, Some(&[7, 8][..]), None)
        );
    }

    #[test]
    fn portions_are_changed_at_once() {
        let mut buffer = Buffer::from_vec(vec![0u32; 1000]);
        // SAFETY: each thread has other elements, and both are done before the buffer is read.
        let portions = [0, 1].map(|first| (first, unsafe { buffer.portion() }.unwrap()));
        std::thread::scope(|scope| {
            for (first, mut portion) in portions {
                scope.spawn(move || {
                    (first..1000).step_by(2).for_each(|at| *portion.element_mut(at).unwrap() = at as u32)
                });
            }
        });
        assert!(buffer.as_slice::<u32>().unwrap().iter().zip(0..).all(|(own, at)| *own == at));
    }
}
