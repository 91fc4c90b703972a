//! Dense levels: every coordinate is stored, none is written down.
//!
//! Position = parent position * size + coordinate. There are no arrays. A dense level below a compressed one stores
//! whole blocks, filled up with zeros.
//!
//! ```text
//! size 3, two parents:   parent     0       1
//!                        position   0 1 2   3 4 5
//!                        coordinate 0 1 2   0 1 2
//! ```

#![allow(unsafe_code)]

use super::{Assembly, Bounds, LevelArrays, LevelStorage, Offsets, Place, Segments, Spread};
use crate::array::{Array, Plain};
use crate::error::{AllocError, StorageError};
use crate::keys::{Access, Entries, with_access};
use crate::parallel::{self, GRAIN};

/// Dense levels.
pub(super) struct Dense;

impl LevelArrays for Dense {
    fn length(&self, _part: usize, _parents: u64, _before: &LevelStorage) -> Option<u64> {
        None
    }

    fn positions(&self, level: &LevelStorage, parents: u64) -> Option<u64> {
        parents.checked_mul(level.size())
    }

    fn check(&self, level: &LevelStorage, parents: u64, place: Place) -> Result<u64, StorageError> {
        if level.size() != place.size() {
            let what = format!("dense level {}", place.level);
            return Err(StorageError::Length { what, found: level.size(), expected: place.size() });
        }
        self.positions(level, parents)
            .ok_or_else(|| StorageError::overflow(format!("the number of positions of level {}", place.level)))
    }

    fn assembly(&self) -> Assembly {
        Assembly::Full
    }

    fn spread(&self, segments: &Segments, place: Place) -> Result<Spread, StorageError> {
        let places = segments.by_coordinate(place)?;
        Ok(Spread { level: LevelStorage::dense(place.size()), places })
    }

    fn count(&self, level: &LevelStorage, _parent: u64) -> u64 {
        level.size()
    }

    fn find(&self, level: &LevelStorage, parent: u64, coordinate: u64) -> Option<u64> {
        Some(parent * level.size() + coordinate)
    }

    fn visit(&self, level: &LevelStorage, parent: u64, each: &mut dyn FnMut(u64, u64)) {
        (0..level.size()).for_each(|coordinate| each(coordinate, parent * level.size() + coordinate));
    }
}

/// Packs one level: see [`LevelStorage::pack`].
///
/// Only for a level with a compressed or singleton one below it; the innermost dense levels need no ranges, since
/// their values are placed directly.
pub fn pack(entries: &mut Entries, parents: Bounds, place: Place) -> Result<(LevelStorage, Bounds), StorageError> {
    let level = LevelStorage::dense(place.size());
    let positions = level
        .positions(parents.positions() as u64)
        .and_then(|positions| usize::try_from(positions).ok())
        .filter(|&positions| positions < usize::MAX)
        .ok_or_else(|| StorageError::overflow(format!("the number of positions of level {}", place.level)))?;
    let size = level.size() as usize;
    let offsets = with_access!(entries, entries => if let Ok(len) = u32::try_from(entries.len()) {
        let mut offsets = Array::<u32>::zeroed(positions + 1)?;
        fill_offsets(entries, &parents, size, place.level, &mut offsets[..positions], |k| k as u32);
        offsets[positions] = len;
        Offsets::U32(offsets)
    } else {
        let mut offsets = Array::<u64>::zeroed(positions + 1)?;
        fill_offsets(entries, &parents, size, place.level, &mut offsets[..positions], |k| k as u64);
        offsets[positions] = entries.len() as u64;
        Offsets::U64(offsets)
    });
    Ok((level, Bounds::Explicit(offsets)))
}

/// Enumerates the positions: see [`LevelStorage::extend`].
pub fn extend<T: Plain>(
    level: &LevelStorage,
    parents: &[T],
    combine: impl Fn(T, u64) -> T + Sync,
) -> Result<Array<T>, AllocError> {
    let too_many = AllocError { bytes: u64::MAX };
    let size = usize::try_from(level.size()).map_err(|_| too_many)?;
    let mut children = Array::uninitialized(parents.len().checked_mul(size).ok_or(too_many)?)?;
    parallel::fill_chunks(&mut children, GRAIN, |start, chunk| {
        let (mut parent, mut coordinate) = (start / size, start % size);
        for child in chunk {
            child.write(combine(parents[parent], coordinate as u64));
            coordinate += 1;
            if coordinate == size {
                (parent, coordinate) = (parent + 1, 0);
            }
        }
    });
    // SAFETY: every element has been written.
    Ok(unsafe { children.assume_init() })
}

/// Writes the first entry of each position, walking positions and entries side by side.
fn fill_offsets<N: Send>(
    entries: &impl Access,
    parents: &Bounds,
    size: usize,
    level: usize,
    offsets: &mut [N],
    number: impl Fn(usize) -> N + Sync,
) {
    let coordinate = entries.column(level);
    parallel::fill_chunks(offsets, GRAIN, |start, chunk| {
        let (mut parent, mut wanted) = (start / size, (start % size) as u64);
        let range = parents.range(parent);
        let mut entry = first_at_least(range.clone(), wanted, &coordinate);
        let mut end = range.end;
        for offset in chunk {
            while entry < end && coordinate(entry) < wanted {
                entry += 1;
            }
            *offset = number(entry);
            wanted += 1;
            if wanted == size as u64 {
                (parent, wanted) = (parent + 1, 0);
                entry = end;
                if parent < parents.positions() {
                    end = parents.start(parent + 1);
                }
            }
        }
    });
}

/// The first entry of a range, which ascends, whose coordinate is not below `wanted`.
fn first_at_least(range: std::ops::Range<usize>, wanted: u64, coordinate: impl Fn(usize) -> u64) -> usize {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if coordinate(middle) < wanted {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
