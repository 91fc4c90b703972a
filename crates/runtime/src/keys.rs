//! The entries of a tensor in the order of its levels, each entry's coordinates packed into one integer.
//!
//! A coordinate below `size` takes as many bits as `size - 1`; the outermost level's stand highest, so the order of
//! the integers is the lexicographic order of the coordinates:
//!
//! ```text
//! dims 5 x 6, levels in order 0, 1:   3 bits for i, 3 bits for j     (2, 5) -> 010 101
//! ```
//!
//! Keys have 32, 64 or 128 bits, whichever is the least that holds all coordinates. If 128 bits are not enough, the
//! entries stay in columns, one array per level, and are sorted by one after the other.

use lacunar_formats::IndexWidth;

use crate::array::Array;
use crate::buffer::{Buffer, Indices};
use crate::coo::Coordinates;
use crate::error::AllocError;
use crate::index_array::{copied, index_array};
use crate::sort::Key;

/// The bits of each level's coordinate inside a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Lowest bit of each level's coordinate.
    shifts: Vec<u32>,
    /// As many ones as the coordinate has bits.
    masks: Vec<u64>,
    /// Bits of all coordinates together.
    bits: u32,
}

impl Layout {
    /// The layout for levels of the given sizes, outermost first.
    pub fn new(sizes: &[u64]) -> Layout {
        let (mut shifts, mut masks, mut bits) = (vec![0; sizes.len()], vec![0; sizes.len()], 0u32);
        for (level, &size) in sizes.iter().enumerate().rev() {
            let width = u64::BITS - size.saturating_sub(1).leading_zeros();
            shifts[level] = bits;
            masks[level] = u64::MAX.checked_shr(u64::BITS - width).unwrap_or(0);
            bits = bits.saturating_add(width);
        }
        Layout { shifts, masks, bits }
    }

    /// Bits of all coordinates together.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// True if a level's size is 1 (or 0): its coordinate has no bits, and its shift may be the key's whole width.
    pub fn is_single(&self, level: usize) -> bool {
        self.masks[level] == 0
    }

    /// The number that each 1 of a level's coordinate adds to a key; 0 if its size is 1, and it has no bits.
    pub fn unit<K: Key>(&self, level: usize) -> K {
        if self.is_single(level) { K::ZERO } else { K::ZERO.with(1, self.shifts[level]) }
    }

    /// The lowest bit of a level's coordinate.
    pub fn shift(&self, level: usize) -> u32 {
        self.shifts[level]
    }
}

/// Read access to sorted entries, `0 .. len`.
pub trait Access: Sync {
    /// The number of entries.
    fn len(&self) -> usize;
    /// The coordinates of a level, by entry.
    fn column(&self, level: usize) -> impl Fn(usize) -> u64 + Sync + '_;
    /// A test that is true if an entry is the first, or differs from the one before it in a coordinate of the levels up
    /// to `last`.
    fn starts(&self, last: usize) -> impl Fn(usize) -> bool + Sync + '_;
}

/// Entries as packed keys.
#[derive(Debug)]
pub struct Keyed<K: Key> {
    /// One key per entry, ascending.
    pub keys: Array<K>,
    /// The bits of coordinates in them.
    pub layout: Layout,
}

impl<K: Key> Access for Keyed<K> {
    fn len(&self) -> usize {
        self.keys.len()
    }

    fn column(&self, level: usize) -> impl Fn(usize) -> u64 + Sync + '_ {
        let (shift, mask) = (self.layout.shifts[level], self.layout.masks[level]);
        move |k| if mask == 0 { 0 } else { self.keys[k].digit(shift, mask) }
    }

    fn starts(&self, last: usize) -> impl Fn(usize) -> bool + Sync + '_ {
        let shift = self.layout.shifts[last];
        move |k| k == 0 || self.keys[k].difference(self.keys[k - 1]).above(shift) != K::ZERO
    }
}

/// Entries as one array of coordinates per level.
#[derive(Debug)]
pub struct Columns<'a> {
    /// The number of entries.
    pub len: usize,
    /// The arrays, outermost level first. An array that was taken is empty.
    pub columns: Vec<Column<'a>>,
}

/// The coordinates of one level, by entry.
#[derive(Debug)]
pub enum Column<'a> {
    /// An index array of its own.
    Owned(Buffer),
    /// One of a tensor's arrays.
    Borrowed(Indices<'a>),
}

impl From<Coordinates> for Column<'_> {
    fn from(coordinates: Coordinates) -> Self {
        Column::Owned(match coordinates {
            Coordinates::U32(v) => Buffer::from_vec(v),
            Coordinates::U64(v) => Buffer::from_vec(v),
        })
    }
}

impl Column<'_> {
    fn indices(&self) -> Indices<'_> {
        match self {
            Column::Owned(buffer) => buffer.indices().unwrap_or(Indices::U32(&[])),
            Column::Borrowed(indices) => *indices,
        }
    }
}

impl Access for Columns<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn column(&self, level: usize) -> impl Fn(usize) -> u64 + Sync + '_ {
        let column = self.columns[level].indices();
        move |k| column.get(k)
    }

    fn starts(&self, last: usize) -> impl Fn(usize) -> bool + Sync + '_ {
        let columns: Vec<Indices> = self.columns[..=last].iter().map(Column::indices).collect();
        // An array is taken where every entry has a position of its own: then all of them differ.
        move |k| k == 0 || columns.iter().any(|column| column.is_empty() || column.get(k) != column.get(k - 1))
    }
}

/// Sorted entries with distinct coordinates, in any representation.
#[derive(Debug)]
pub enum Entries<'a> {
    /// At most 32 bits.
    Keys32(Keyed<u32>),
    /// At most 64 bits.
    Keys64(Keyed<u64>),
    /// At most 128 bits.
    Keys128(Keyed<u128>),
    /// Separate arrays.
    Columns(Columns<'a>),
}

/// Evaluates the body with `$access` bound to the representation, which implements [`Access`].
macro_rules! with_access {
    ($entries:expr, $access:ident => $body:expr) => {
        match $entries {
            $crate::keys::Entries::Keys32($access) => $body,
            $crate::keys::Entries::Keys64($access) => $body,
            $crate::keys::Entries::Keys128($access) => $body,
            $crate::keys::Entries::Columns($access) => $body,
        }
    };
}
pub(crate) use with_access;

impl Entries<'_> {
    /// The number of entries.
    pub fn len(&self) -> usize {
        with_access!(self, entries => entries.len())
    }

    /// The coordinates of a level as an array, in the order of entries. The level is not asked for again.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn take_column(&mut self, level: usize, width: IndexWidth) -> Result<Buffer, AllocError> {
        if let Entries::Columns(Columns { columns, .. }) = self {
            let fits = columns[level].indices().width() == width;
            if fits && matches!(columns[level], Column::Owned(_)) {
                let taken = std::mem::replace(&mut columns[level], Column::Borrowed(Indices::U32(&[])));
                if let Column::Owned(buffer) = taken {
                    return Ok(buffer);
                }
            }
            return copied(columns[level].indices(), width);
        }
        with_access!(self, entries => {
            let column = entries.column(level);
            index_array(entries.len(), width, column)
        })
    }
}
