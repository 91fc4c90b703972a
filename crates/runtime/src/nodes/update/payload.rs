//! Values, or subtensors of the level below: the things that lie at the positions of a level.
//!
//! A position of the innermost level has a value. Under dense levels it has as many as these have places, one behind the other; above a
//! level of nodes it has the handle of the subtensor's root node. So it is always the same number of elements of one array, and an
//! element of a level moves with a copy of these:
//!
//! ```text
//! {bst} over dense of 3    position p: values[3 p .. 3 p + 3]
//! {bst}{btree}             position p: root[p] of the btree level
//! ```
//!
//! Elements that have no place for a while are *held* in an array beside, in which number 0 is that of a new element.

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::buffer::Buffer;
use crate::error::AllocError;
use crate::moved::fetch;

/// The number of the new element among those that are held.
pub(crate) const FRESH: u32 = 0;

/// The array that goes with the positions of a level.
pub struct Payload<'a> {
    buffer: &'a mut Buffer,
    /// The number of elements at a position.
    stride: usize,
    /// The same in bytes.
    bytes: usize,
    /// True if places that are not used have to be 0: they are handles, which a check follows.
    is_cleared: bool,
    /// The bytes that a new element has, again and again; zeros, if there are none.
    fresh: Vec<MaybeUninit<u8>>,
    /// The others that are held, from number 1 on.
    held: Vec<MaybeUninit<u8>>,
}

impl<'a> Payload<'a> {
    /// The values at positions, so many at each; a new one is `fresh` again and again, or zeros.
    #[inline]
    pub fn values(buffer: &'a mut Buffer, stride: usize, fresh: &[u8]) -> Payload<'a> {
        let bytes = stride * buffer.dtype().size();
        let fresh = fresh.iter().copied().map(MaybeUninit::new).collect();
        Payload { buffer, stride, bytes, is_cleared: false, fresh, held: Vec::new() }
    }

    /// The handles at positions, so many at each; a new one has none.
    pub fn roots(buffer: &'a mut Buffer, stride: usize) -> Payload<'a> {
        Payload { is_cleared: true, ..Payload::values(buffer, stride, &[]) }
    }

    /// The number of positions.
    #[inline]
    pub fn positions(&self) -> u64 {
        let len = self.buffer.len();
        // A division takes longer than all that a small change does.
        let positions = if self.stride <= 1 { len } else { len / self.stride };
        positions as u64
    }

    /// Makes room for so many more positions without a change to those that are there.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn reserve(&mut self, more: u64) -> Result<(), AllocError> {
        reserve(self.buffer, more.saturating_mul(self.stride as u64))
    }

    /// Makes positions, with zeros.
    ///
    /// # Errors
    /// The system refused the memory; none if there is room.
    pub fn grow(&mut self, positions: u64) -> Result<(), AllocError> {
        self.buffer.resize(positions.saturating_mul(self.stride as u64))
    }

    fn range(&self, positions: Range<u64>) -> Range<usize> {
        positions.start as usize * self.bytes..positions.end as usize * self.bytes
    }

    /// Copies a range of positions to a place and those behind it.
    pub fn shift(&mut self, from: Range<u64>, to: u64) {
        let (from, to) = (self.range(from), to as usize * self.bytes);
        let bytes = self.buffer.bytes_mut();
        if bytes.len() >= from.end.max(to + (from.end - from.start)) {
            bytes.copy_within(from, to);
        }
    }

    /// Exchanges the values at two positions.
    pub fn exchange(&mut self, one: u64, other: u64) {
        let (one, other) = (self.range(one..one + 1), self.range(other..other + 1));
        let bytes = self.buffer.bytes_mut();
        if bytes.len() >= one.end.max(other.end) {
            one.zip(other).for_each(|(one, other)| bytes.swap(one, other));
        }
    }

    /// Takes the value at a position aside; returns its number there.
    pub fn hold(&mut self, position: u64) -> u32 {
        // Without values, any number but that of the new element.
        let number = 1 + self.held.len().checked_div(self.bytes).unwrap_or(0);
        let range = self.range(position..position + 1);
        if let Some(bytes) = self.buffer.bytes_mut().get(range) {
            self.held.extend_from_slice(bytes);
        }
        number as u32
    }

    /// Puts a held value at a position.
    pub fn put(&mut self, held: u32, position: u64) {
        let to = self.range(position..position + 1);
        let Some(to) = self.buffer.bytes_mut().get_mut(to) else { return };
        let from = match held.checked_sub(1) {
            None => None,
            Some(other) => self.held.get(other as usize * self.bytes..(other as usize + 1) * self.bytes),
        };
        match from {
            Some(from) => to.copy_from_slice(from),
            None if self.fresh.is_empty() => to.fill(MaybeUninit::new(0)),
            None => to.chunks_exact_mut(self.fresh.len()).for_each(|to| to.copy_from_slice(&self.fresh)),
        }
    }

    /// Gives a new element other bytes.
    pub fn set_fresh(&mut self, bytes: &[u8]) {
        self.fresh.clear();
        self.fresh.extend(bytes.iter().copied().map(MaybeUninit::new));
    }

    /// Writes the bytes of an element to a position.
    pub fn write(&mut self, bytes: &[u8], position: u64) {
        let to = self.range(position..position + 1);
        if let Some(to) = self.buffer.bytes_mut().get_mut(to) {
            to.iter_mut().zip(bytes).for_each(|(to, byte)| *to = MaybeUninit::new(*byte));
        }
    }

    /// Prefetches the value at a position, which may not be there.
    pub fn fetch(&self, position: u64) {
        fetch(self.buffer.as_ptr().wrapping_add(position as usize * self.bytes));
    }

    /// The array.
    pub fn buffer_mut(&mut self) -> &mut Buffer {
        self.buffer
    }

    /// Forgets all that is held but the new element.
    pub fn release(&mut self) {
        self.held.clear();
    }

    /// Says that a position is not used any more.
    pub fn vacate(&mut self, position: u64) {
        if self.is_cleared {
            let range = self.range(position..position + 1);
            if let Some(bytes) = self.buffer.bytes_mut().get_mut(range) {
                bytes.fill(MaybeUninit::new(0));
            }
        }
    }

    /// True if places that are not used are cleared.
    pub fn is_cleared(&self) -> bool {
        self.is_cleared
    }
}

/// Makes room in an array for so many more elements, twice as many as it has at least, if there are as many: so that n elements
/// which come one by one are copied about twice.
///
/// # Errors
/// The system refused the memory; the array is as it was.
#[inline]
pub(crate) fn reserve(buffer: &mut Buffer, more: u64) -> Result<(), AllocError> {
    let len = buffer.len();
    let wanted = (len as u64).saturating_add(more);
    #[cfg(test)]
    limit::check(wanted)?;
    if buffer.has_room(wanted) {
        return Ok(());
    }
    buffer.reserve(wanted.max(2 * len as u64).max(LEAST)).or_else(|_| buffer.reserve(wanted))
}

/// The least number of elements that an array has room for.
const LEAST: u64 = 64;

/// A limit of memory, for tests of the state that is left when it is reached.
#[cfg(test)]
pub(crate) mod limit {
    use std::cell::Cell;

    use crate::error::AllocError;

    thread_local! {
        /// The most elements that an array of nodes, or of the data at positions, may have.
        pub(crate) static ELEMENTS: Cell<u64> = const { Cell::new(u64::MAX) };
    }

    pub(super) fn check(wanted: u64) -> Result<(), AllocError> {
        if wanted > ELEMENTS.get() { Err(AllocError { bytes: wanted }) } else { Ok(()) }
    }
}
