//! The entries that each position of a level covers, while levels are packed.
//!
//! Entries are sorted by level order, so a position covers a range of consecutive entries. The ranges of consecutive
//! positions are adjacent: one array of starts describes them all, and it is the `pos` array of a compressed level
//! below whose positions are the entries themselves.

use lacunar_formats::IndexWidth;

use crate::array::Array;
use crate::buffer::Buffer;
use crate::error::AllocError;
use crate::index_array::index_array;

/// Start of each position's range, and the number of entries at the end.
#[derive(Debug)]
pub enum Offsets {
    /// At most `u32::MAX` entries.
    U32(Array<u32>),
    /// Any number.
    U64(Array<u64>),
}

/// The ranges of entries that positions cover.
#[derive(Debug)]
pub enum Bounds {
    /// One position covers all entries.
    Root(usize),
    /// Every entry has its own position, of the same number.
    Identity(usize),
    /// Position `p` covers the entries from the `p`-th offset up to the next.
    Explicit(Offsets),
}

impl Bounds {
    /// The number of positions.
    pub fn positions(&self) -> usize {
        match self {
            Bounds::Root(_) => 1,
            Bounds::Identity(entries) => *entries,
            Bounds::Explicit(Offsets::U32(offsets)) => offsets.len() - 1,
            Bounds::Explicit(Offsets::U64(offsets)) => offsets.len() - 1,
        }
    }

    /// The first entry of a position; the number of entries for the position past the last.
    #[inline]
    pub fn start(&self, position: usize) -> usize {
        match self {
            Bounds::Root(entries) => position * entries,
            Bounds::Identity(_) => position,
            Bounds::Explicit(Offsets::U32(offsets)) => offsets[position] as usize,
            Bounds::Explicit(Offsets::U64(offsets)) => offsets[position] as usize,
        }
    }

    /// The entries of a position.
    #[inline]
    pub fn range(&self, position: usize) -> std::ops::Range<usize> {
        self.start(position)..self.start(position + 1)
    }

    /// The starts as a position array.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn into_pos(self, width: IndexWidth) -> Result<Buffer, AllocError> {
        match (self, width) {
            (Bounds::Explicit(Offsets::U32(offsets)), IndexWidth::W32) => Ok(Buffer::from_array(offsets)),
            (Bounds::Explicit(Offsets::U64(offsets)), IndexWidth::W64) => Ok(Buffer::from_array(offsets)),
            (bounds, width) => index_array(bounds.positions() + 1, width, |p| bounds.start(p) as u64),
        }
    }
}
