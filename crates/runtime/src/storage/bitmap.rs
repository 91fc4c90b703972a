//! Bitmaps: a bit for each coordinate of the dimension says whether it is stored, and every coordinate has a position.
//!
//! Position = parent position * size + coordinate, as in dense levels; the bits of a parent position begin a new word of 64
//! bits. The values at positions whose bit is 0 are zeros and no entries.
//!
//! ```text
//! [ 5 . 6 ]    dense, bitmap:   bits 101 000 010 (lowest first, each in a word)
//! [ . . . ]                   values 5 . 6 . . . . 7 .
//! [ . 7 . ]
//! ```

use lacunar_formats::{Capabilities, Holds, LEVELS, LevelInfo, LevelKind, Part, Properties};
use linkme::distributed_slice;

use super::{
    Assembly, LevelArrays, LevelStorage, NOWHERE, Place, STORAGE, Segments, Spread, check_length, checked_indices,
};
use crate::array::Array;
use crate::buffer::Buffer;
use crate::error::StorageError;
use crate::parallel;

/// Coordinates in a word.
const BITS: u64 = 64;

#[distributed_slice(LEVELS)]
static BITMAP: LevelInfo = LevelInfo {
    name: "bitmap",
    letter: 'b',
    repeating: None,
    properties: Properties { compact: false, ..Properties::ASCENDING },
    capabilities: Capabilities { iterate_coordinates: true, search: true, ..Capabilities::NONE },
    parts: &[Part { name: "bits", holds: Holds::Words }],
};

/// Bitmaps.
struct Bitmap;

#[distributed_slice(STORAGE)]
static OPERATIONS: &dyn LevelArrays = &Bitmap;

impl LevelArrays for Bitmap {
    fn kind(&self) -> LevelKind {
        LevelKind::new(&BITMAP)
    }

    fn length(&self, _part: usize, parents: u64, before: &LevelStorage) -> Option<u64> {
        parents.checked_mul(before.size().div_ceil(BITS))
    }

    fn positions(&self, level: &LevelStorage, parents: u64) -> Option<u64> {
        parents.checked_mul(level.size())
    }

    fn check(&self, level: &LevelStorage, parents: u64, place: Place) -> Result<u64, StorageError> {
        let overflow = || StorageError::overflow(format!("the number of positions of level {}", place.level));
        let (size, dimension) = (place.size(), place.dimension());
        if level.size() != size {
            let what = format!("bitmap level {}", place.level);
            return Err(StorageError::Length { what, found: level.size(), expected: size });
        }
        let words = checked_indices(level, 0, place)?;
        check_length(level, 0, self.length(0, parents, level).ok_or_else(overflow)?, place)?;
        // Behind the last coordinate there is nothing.
        let (each, used) = (size.div_ceil(BITS) as usize, size % BITS);
        let stray = |parent: usize| {
            let bits = words.get((parent + 1) * each - 1) >> used;
            let coordinate = size + u64::from(bits.trailing_zeros());
            (bits != 0).then_some(StorageError::OutOfRange { dimension, entry: parent as u64, coordinate, size })
        };
        let rows = if used == 0 { 0 } else { parents as usize };
        parallel::first(rows, stray).map_or(Ok(()), Err)?;
        self.positions(level, parents).ok_or_else(overflow)
    }

    fn assembly(&self) -> Assembly {
        Assembly::Bits
    }

    fn spread(&self, segments: &Segments, place: Place) -> Result<Spread, StorageError> {
        let places = segments.by_coordinate(place)?;
        let (size, each) = (place.size() as usize, place.size().div_ceil(BITS) as usize);
        let words = segments.parents().checked_mul(each).ok_or_else(|| StorageError::overflow("a bitmap"))?;
        let mut bits = Array::<u64>::zeroed(words)?;
        let word = |number: usize| {
            let (parent, first) = (number / each, number % each * BITS as usize);
            let coordinates = first..size.min(first + BITS as usize);
            let has = |c: &usize| places[parent * size + c] != NOWHERE;
            coordinates.filter(has).fold(0, |word, c| word | 1 << (c - first))
        };
        parallel::fill(&mut bits, word);
        let arrays = vec![Buffer::from_array(bits)];
        Ok(Spread { level: LevelStorage::new(self.kind(), place.size(), arrays), places })
    }

    fn visit(&self, level: &LevelStorage, parent: u64, each: &mut dyn FnMut(u64, u64)) {
        let words = level.numbers(0);
        let count = level.size().div_ceil(BITS);
        for word in 0..count {
            let mut bits = words.get((parent * count + word) as usize);
            while bits != 0 {
                let coordinate = word * BITS + u64::from(bits.trailing_zeros());
                each(coordinate, parent * level.size() + coordinate);
                bits &= bits - 1;
            }
        }
    }
}
