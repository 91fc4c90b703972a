//! Bitmaps: a bit for each coordinate of the dimension says whether it is stored. What is stored has positions one after the
//! other, as in compressed levels.
//!
//! The bits of a parent position begin a new word of 64 bits. Word `w` has the positions `rank[w] .. rank[w + 1]`, so that a
//! coordinate's position is that of its word and the number of ones below its bit.
//!
//! ```text
//! [ 5 . 6 ]    dense, bitmap:   bits 101 000 010 (lowest first, each in a word)
//! [ . . . ]                     rank 0 2 2 3
//! [ . 7 . ]                   values 5 6 7
//! ```
//!
//! Paper: Jacobson, *Space-efficient Static Trees and Graphs* (FOCS 1989), of ranks that are kept for each block of bits.

use lacunar_formats::{Capabilities, Holds, LEVELS, LevelInfo, LevelKind, Part, Properties};
use linkme::distributed_slice;

use super::{LevelArrays, LevelStorage, Place, STORAGE, Segments, Spread, check_length, checked_indices, numbers};
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
    properties: Properties::ASCENDING,
    capabilities: Capabilities {
        iterate_coordinates: true,
        search: true,
        test: true,
        append: true,
        ..Capabilities::NONE
    },
    parts: &[Part { name: "bits", holds: Holds::Words }, Part { name: "rank", holds: Holds::Positions }],
};

/// Bitmaps.
struct Bitmap;

#[distributed_slice(STORAGE)]
static OPERATIONS: &dyn LevelArrays = &Bitmap;

impl LevelArrays for Bitmap {
    fn kind(&self) -> LevelKind {
        LevelKind::new(&BITMAP)
    }

    fn length(&self, part: usize, parents: u64, before: &LevelStorage) -> Option<u64> {
        let words = parents.checked_mul(before.size().div_ceil(BITS))?;
        words.checked_add(part as u64)
    }

    fn positions(&self, level: &LevelStorage, _parents: u64) -> Option<u64> {
        let rank = level.numbers(1);
        rank.len().checked_sub(1).map(|last| rank.get(last))
    }

    fn check(&self, level: &LevelStorage, parents: u64, place: Place) -> Result<u64, StorageError> {
        let overflow = || StorageError::overflow(format!("the number of positions of level {}", place.level));
        let (size, dimension) = (place.size(), place.dimension());
        if level.size() != size {
            let what = format!("bitmap level {}", place.level);
            return Err(StorageError::Length { what, found: level.size(), expected: size });
        }
        let (words, rank) = (checked_indices(level, 0, place)?, checked_indices(level, 1, place)?);
        for part in [0, 1] {
            check_length(level, part, self.length(part, parents, level).ok_or_else(overflow)?, place)?;
        }
        // Behind the last coordinate there is nothing.
        let (each, used) = (size.div_ceil(BITS) as usize, size % BITS);
        let stray = |parent: usize| {
            let bits = words.get((parent + 1) * each - 1) >> used;
            let coordinate = size + u64::from(bits.trailing_zeros());
            (bits != 0).then_some(StorageError::OutOfRange { dimension, entry: parent as u64, coordinate, size })
        };
        let rows = if used == 0 { 0 } else { parents as usize };
        parallel::first(rows, stray).map_or(Ok(()), Err)?;
        let wrong = |word: usize| {
            let ones = u64::from(words.get(word).count_ones());
            let expected = rank.get(word).checked_add(ones);
            (expected != Some(rank.get(word + 1))).then(|| StorageError::Length {
                what: format!("the positions of word {word} of bitmap level {}", place.level),
                found: rank.get(word + 1).saturating_sub(rank.get(word)),
                expected: ones,
            })
        };
        if rank.get(0) != 0 {
            let what = format!("the positions before word 0 of bitmap level {}", place.level);
            return Err(StorageError::Length { what, found: rank.get(0), expected: 0 });
        }
        parallel::first(words.len(), wrong).map_or(Ok(()), Err)?;
        self.positions(level, parents).ok_or_else(overflow)
    }

    fn spread(&self, segments: &Segments, place: Place) -> Result<Spread, StorageError> {
        let each = place.size().div_ceil(BITS) as usize;
        let words = segments.parents().checked_mul(each).ok_or_else(|| StorageError::overflow("a bitmap"))?;
        let mut bits = Array::<u64>::zeroed(words)?;
        let mut places = Array::zeroed(segments.total())?;
        let mut count = 0;
        for parent in 0..segments.parents() {
            for (coordinate, position) in segments.under(parent) {
                bits[parent * each + (coordinate / BITS) as usize] |= 1 << (coordinate % BITS);
                places[count] = position;
                count += 1;
            }
        }
        let mut rank = Array::<u64>::zeroed(words + 1)?;
        for word in 0..words {
            rank[word + 1] = rank[word] + u64::from(bits[word].count_ones());
        }
        let arrays = vec![Buffer::from_array(bits), numbers(&rank, place.positions())?];
        Ok(Spread { level: LevelStorage::new(self.kind(), place.size(), arrays), places })
    }

    fn visit(&self, level: &LevelStorage, parent: u64, each: &mut dyn FnMut(u64, u64)) {
        let (words, rank) = (level.numbers(0), level.numbers(1));
        let count = level.size().div_ceil(BITS);
        for word in 0..count {
            let number = (parent * count + word) as usize;
            let mut bits = words.get(number);
            for position in rank.get(number)..rank.get(number + 1) {
                each(word * BITS + u64::from(bits.trailing_zeros()), position);
                bits &= bits.wrapping_sub(1);
            }
        }
    }
}
