//! Parts of a buffer's elements for writing, whose type is known at run time only.
//!
//! As slices do, they can be cut in two, so that threads get parts of their own; a loop that looks at the elements takes them as
//! words of their size.

#![allow(unsafe_code)]

use std::marker::PhantomData;

use lacunar_formats::DType;

use crate::array::Plain;
use crate::buffer::Buffer;
use crate::error::AllocError;

/// Neighboring elements of a buffer, which nobody else uses.
pub struct Span<'a> {
    /// Start of `len` initialised elements of `dtype`, aligned for it.
    start: *mut u8,
    len: usize,
    dtype: DType,
    buffer: PhantomData<&'a mut Buffer>,
}

// SAFETY: elements are plain data, and nobody else uses them.
unsafe impl Send for Span<'_> {}

impl<'a> Span<'a> {
    /// All elements of a buffer; none, if it is borrowed for reading.
    pub fn of(buffer: &'a mut Buffer) -> Span<'a> {
        let (len, dtype) = (buffer.len(), buffer.dtype());
        let start = buffer.as_mut_ptr();
        let len = if start.is_some() { len } else { 0 };
        Span { start: start.unwrap_or(std::ptr::null_mut()), len, dtype, buffer: PhantomData }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Their type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The start of the elements.
    pub fn as_mut_ptr(&self) -> *mut u8 {
        self.start
    }

    /// The elements before one, and the others; all and none, if there are not so many.
    pub fn split_at(self, middle: usize) -> (Span<'a>, Span<'a>) {
        let middle = middle.min(self.len);
        let rest = self.start.wrapping_add(middle * self.dtype.size());
        (Span { len: middle, ..self }, Span { start: rest, len: self.len - middle, ..self })
    }

    /// The same elements, for a while.
    pub fn again(&mut self) -> Span<'_> {
        Span { start: self.start, len: self.len, dtype: self.dtype, buffer: PhantomData }
    }

    /// The elements as words of their size.
    pub fn into_words<V: Plain>(self) -> &'a mut [V] {
        if self.len == 0 {
            return &mut [];
        }
        let fits = size_of::<V>() == self.dtype.size() && self.start.cast::<V>().is_aligned();
        assert!(fits, "words of {} bytes for elements of type {}", size_of::<V>(), self.dtype);
        // SAFETY: the memory holds `len` initialised elements of that size, which are words, and nobody else uses them.
        unsafe { std::slice::from_raw_parts_mut(self.start.cast(), self.len) }
    }

    /// The same of elements that are needed again.
    pub fn words<V: Plain>(&mut self) -> &mut [V] {
        self.again().into_words()
    }

    /// A copy of the elements.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn copied(&mut self) -> Result<Buffer, AllocError> {
        let dtype = self.dtype;
        crate::dispatch::with_word!(dtype, V => {
            Ok(Buffer::from_words(crate::array::Array::copy_of(self.words::<V>())?, dtype))
        })
    }
}
