//! Bitmaps: a bit for each coordinate of the dimension says whether it is stored. Stored coordinates have positions one
//! after the other, as in compressed levels.
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

use super::{LevelArrays, LevelStorage, Place, Segments, Spread, check_length, checked_indices};
use crate::array::Array;
use crate::buffer::{Buffer, Number};
use crate::dispatch::with_width;
use crate::error::StorageError;
use crate::parallel;

/// Coordinates in a word.
const BITS: u64 = 64;
/// Words that one task fills.
const PART: usize = 1 << 12;

/// Bitmaps.
pub(super) struct Bitmap;

impl LevelArrays for Bitmap {
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
        let each = place.size().div_ceil(BITS);
        let words = (segments.parents() as u64).checked_mul(each).and_then(|words| usize::try_from(words).ok());
        let words = words.filter(|words| *words < usize::MAX).ok_or_else(|| StorageError::overflow("a bitmap"))?;
        let mut bits = Array::<u64>::zeroed(words)?;
        let rank = with_width!(place.positions(), N => {
            let mut rank = Array::<N>::zeroed(words + 1)?;
            let parts = bits.chunks_mut(PART).zip(rank[1..].chunks_mut(PART));
            parallel::each(parts, |part, (bits, rank)| mark(segments, each, part * PART, (bits, rank)));
            Buffer::from_array(rank)
        });
        let arrays = vec![Buffer::from_array(bits), rank];
        let level = LevelStorage::new(place.kind(), place.size(), arrays);
        Ok(Spread { level, places: segments.places()? })
    }

    fn count(&self, level: &LevelStorage, parent: u64) -> u64 {
        let (rank, each) = (level.numbers(1), level.size().div_ceil(BITS));
        rank.get(((parent + 1) * each) as usize) - rank.get((parent * each) as usize)
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

/// Sets the bits of coordinates in words from number `first` on, where each segment has `each` words, and behind each word how
/// many coordinates there are up to its end.
fn mark<N: Number>(segments: &Segments, each: u64, first: usize, (bits, rank): (&mut [u64], &mut [N])) {
    let (first, end) = (first as u64, (first + bits.len()) as u64);
    let start = (first / each) as usize;
    let mut from = segments.find(start, first % each * BITS);
    let mut count = segments.edge(start) + (from - segments.range(start).start);
    // Words that are passed have their rank.
    let mut passed = 0;
    for parent in start..end.div_ceil(each) as usize {
        let row = parent as u64 * each;
        let to = if row + each <= end { segments.range(parent).end } else { segments.find(parent, (end - row) * BITS) };
        segments.coordinates(from..to).for_each(|coordinate| {
            let word = (row + coordinate / BITS - first) as usize;
            if word > passed {
                rank[passed..word].fill(N::of(count));
                passed = word;
            }
            bits[word] |= 1 << (coordinate % BITS);
            count += 1;
        });
        from = if parent + 1 < segments.parents() { segments.range(parent + 1).start } else { to };
    }
    rank[passed..].fill(N::of(count));
}
