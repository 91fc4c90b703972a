//! Index arrays, whose width is known at run time only: made of numbers of 64 bits, a block of which at a time is narrowed.
//!
//! The loop that makes the numbers is compiled once for each use, and the one that narrows them once for each width; a block of
//! numbers stays in the first-level cache between the two.
//!
//! ```text
//! numbers 5 0 258 in 16 bits:    block 5 0 258 (64 bits each)    array 0500 0000 0201 (bytes)
//! ```

use lacunar_formats::IndexWidth;

use crate::array::{Array, Room};
use crate::buffer::{Buffer, Indices, Number};
use crate::dispatch::with_width;
use crate::error::AllocError;
use crate::parallel::Chunks;

/// An index array of `len` numbers, of which `number` gives each. They fit the width.
///
/// # Errors
/// The system refused the memory.
pub fn index_array(len: usize, width: IndexWidth, number: impl Fn(usize) -> u64 + Sync) -> Result<Buffer, AllocError> {
    let numbers = |first: usize, block: &mut [u64]| {
        for (offset, slot) in block.iter_mut().enumerate() {
            *slot = number(first + offset);
        }
    };
    index_blocks(len, width, &numbers)
}

/// The same, where `numbers` writes a chunk of the numbers.
fn index_blocks(len: usize, width: IndexWidth, numbers: &dyn Chunks<u64>) -> Result<Buffer, AllocError> {
    with_width!(width, N => Ok(Buffer::from_array(Array::of_blocks(len, numbers, N::of)?)))
}

/// An index array of parts of these lengths, one behind the other, of which `numbers` gives each. They fit the width.
///
/// # Errors
/// The system refused the memory.
pub fn index_parts<I: Iterator<Item = u64>>(
    lengths: &[usize],
    width: IndexWidth,
    numbers: impl Fn(usize) -> I + Sync,
) -> Result<Buffer, AllocError> {
    index_array_of(lengths, width, &Given(numbers))
}

/// The parts of an index array, which put their numbers into a room.
pub trait Parts: Sync {
    /// Puts the numbers of a part.
    fn put(&self, part: usize, room: &mut impl Numbers);
}

/// Takes numbers.
pub trait Numbers {
    /// Takes the next one.
    fn take(&mut self, number: u64);
}

/// Parts whose numbers are given by iterators.
struct Given<F>(F);

impl<I: Iterator<Item = u64>, F: Fn(usize) -> I + Sync> Parts for Given<F> {
    #[inline(always)]
    fn put(&self, part: usize, room: &mut impl Numbers) {
        self.0(part).for_each(|number| room.take(number));
    }
}

/// An index array of parts of these lengths, one behind the other. The loops are compiled for arrays of 32 bits, which most are, and
/// once more for all others.
///
/// # Errors
/// The system refused the memory.
pub fn index_array_of(lengths: &[usize], width: IndexWidth, parts: &impl Parts) -> Result<Buffer, AllocError> {
    if width == IndexWidth::W32 {
        return Ok(Buffer::from_array(Array::<u32>::in_parts(lengths, &|part, mut room| {
            parts.put(part, &mut room);
            room
        })?));
    }
    of_any_width(lengths, width, &|part, mut room| parts.put(part, &mut room))
}

fn of_any_width(
    lengths: &[usize],
    width: IndexWidth,
    fill: &(dyn Fn(usize, AnyRoom) + Sync),
) -> Result<Buffer, AllocError> {
    macro_rules! rooms {
        ($($width:ident $room:ident),*) => {
            match width {
                $(IndexWidth::$width => {
                    Buffer::from_array(Array::in_parts(lengths, &|part, mut room| {
                        fill(part, AnyRoom::$room(&mut room));
                        room
                    })?)
                })*
            }
        };
    }
    Ok(rooms!(W8 U8, W16 U16, W32 U32, W64 U64))
}

/// A part of an index array that is being made, of whatever width.
enum AnyRoom<'r, 'a> {
    U8(&'r mut Room<'a, u8>),
    U16(&'r mut Room<'a, u16>),
    U32(&'r mut Room<'a, u32>),
    U64(&'r mut Room<'a, u64>),
}

impl Numbers for Room<'_, u32> {
    #[inline(always)]
    fn take(&mut self, number: u64) {
        self.put(number as u32);
    }
}

impl Numbers for AnyRoom<'_, '_> {
    #[inline(always)]
    fn take(&mut self, number: u64) {
        match self {
            AnyRoom::U8(room) => room.put(number as u8),
            AnyRoom::U16(room) => room.put(number as u16),
            AnyRoom::U32(room) => room.put(number as u32),
            AnyRoom::U64(room) => room.put(number),
        }
    }
}

/// The same numbers, which fit the width, in an array of their own.
///
/// # Errors
/// The system refused the memory.
pub fn copied(indices: Indices, width: IndexWidth) -> Result<Buffer, AllocError> {
    match (indices, width) {
        (Indices::U32(v), IndexWidth::W32) => Ok(Buffer::from_array(Array::copy_of(v)?)),
        (Indices::U64(v), IndexWidth::W64) => Ok(Buffer::from_array(Array::copy_of(v)?)),
        (indices, width) => index_array(indices.len(), width, |k| indices.get(k)),
    }
}

/// An index array with its numbers in another width, which they fit; the array itself, if it has that width.
///
/// # Errors
/// The system refused the memory.
pub fn of_width(array: Buffer, width: IndexWidth) -> Result<Buffer, AllocError> {
    match array.indices() {
        Some(numbers) if numbers.width() != width => index_array(array.len(), width, |k| numbers.get(k)),
        _ => Ok(array),
    }
}
