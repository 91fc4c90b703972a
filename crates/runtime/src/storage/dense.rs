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

use lacunar_formats::IndexWidth;

use super::{Bounds, LevelArrays, Offsets, Place};
use crate::array::{Array, Plain};
use crate::buffer::{Buffer, Indices};
use crate::error::{AllocError, StorageError};
use crate::keys::{Access, Entries, with_access};
use crate::parallel::{self, GRAIN};

/// A dense level.
#[derive(Debug, PartialEq, Eq)]
pub struct Dense {
    /// The number of coordinates.
    pub size: u64,
}

impl LevelArrays for Dense {
    fn arrays(&self) -> Vec<(&'static str, &Buffer)> {
        Vec::new()
    }

    fn try_map<E>(self, _change: impl FnMut(&'static str, Buffer) -> Result<Buffer, E>) -> Result<Self, E> {
        Ok(self)
    }

    fn try_clone(&self) -> Result<Self, AllocError> {
        Ok(Dense { size: self.size })
    }

    fn positions(&self, parents: u64) -> Option<u64> {
        parents.checked_mul(self.size)
    }

    /// Only for a level with a compressed or singleton one below it; the innermost dense levels need no ranges, since
    /// their values are placed directly.
    fn pack(entries: &mut Entries, parents: Bounds, place: Place) -> Result<(Self, Bounds), StorageError> {
        let level = Dense { size: place.size() };
        let positions = level
            .positions(parents.positions() as u64)
            .and_then(|positions| usize::try_from(positions).ok())
            .filter(|&positions| positions < usize::MAX)
            .ok_or_else(|| StorageError::overflow(format!("the number of positions of level {}", place.level)))?;
        let size = level.size as usize;
        let offsets = with_access!(entries, entries => match IndexWidth::for_max(entries.len() as u64) {
            IndexWidth::W32 => {
                let mut offsets = Array::<u32>::zeroed(positions + 1)?;
                fill_offsets(entries, &parents, size, place.level, &mut offsets[..positions], |k| k as u32);
                offsets[positions] = entries.len() as u32;
                Offsets::U32(offsets)
            }
            IndexWidth::W64 => {
                let mut offsets = Array::<u64>::zeroed(positions + 1)?;
                fill_offsets(entries, &parents, size, place.level, &mut offsets[..positions], |k| k as u64);
                offsets[positions] = entries.len() as u64;
                Offsets::U64(offsets)
            }
        });
        Ok((level, Bounds::Explicit(offsets)))
    }

    fn check(&self, parents: u64, place: Place) -> Result<u64, StorageError> {
        if self.size != place.size() {
            let what = format!("dense level {}", place.level);
            return Err(StorageError::Length { what, found: self.size, expected: place.size() });
        }
        self.positions(parents)
            .ok_or_else(|| StorageError::overflow(format!("the number of positions of level {}", place.level)))
    }

    fn check_order(&self, _chain: &[Indices], _place: Place) -> Result<(), StorageError> {
        Ok(())
    }

    fn extend<T: Plain>(&self, parents: &[T], combine: impl Fn(T, u64) -> T + Sync) -> Result<Array<T>, AllocError> {
        let too_many = AllocError { bytes: u64::MAX };
        let size = usize::try_from(self.size).map_err(|_| too_many)?;
        let mut children = Array::zeroed(parents.len().checked_mul(size).ok_or(too_many)?)?;
        parallel::fill_chunks(&mut children, GRAIN, |start, chunk| {
            let (mut parent, mut coordinate) = (start / size, start % size);
            for child in chunk {
                *child = combine(parents[parent], coordinate as u64);
                coordinate += 1;
                if coordinate == size {
                    (parent, coordinate) = (parent + 1, 0);
                }
            }
        });
        Ok(children)
    }
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
