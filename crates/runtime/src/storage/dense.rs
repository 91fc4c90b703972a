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

/// Writes the first entry of each position.
fn fill_offsets<N: Copy + Ord + Send>(
    entries: &impl Access,
    parents: &Bounds,
    size: usize,
    level: usize,
    offsets: &mut [N],
    number: impl Fn(usize) -> N + Sync,
) {
    let coordinate = entries.column(level);
    parallel::fill_chunks(offsets, GRAIN, |mut start, mut chunk| {
        while !chunk.is_empty() {
            let (parent, first) = (start / size, start % size);
            let (own, others) = chunk.split_at_mut(chunk.len().min(size - first));
            fill_offsets_under(parents.range(parent), first as u64, own, &coordinate, &number);
            (start, chunk) = (start + own.len(), others);
        }
    });
}

/// The same for neighboring coordinates from `first` on, under a parent position that has a range of entries. Each entry writes the number of
/// the next one to the coordinate behind its own, and coordinates to which none has written take the number before: so no branch depends on
/// how many entries a coordinate has.
fn fill_offsets_under<N: Copy + Ord>(
    range: std::ops::Range<usize>,
    first: u64,
    offsets: &mut [N],
    coordinate: impl Fn(usize) -> u64,
    number: impl Fn(usize) -> N,
) {
    let begin = if first == 0 { range.start } else { first_at_least(range.clone(), first, &coordinate) };
    let mut before = number(begin);
    offsets.fill(before);
    for entry in begin..range.end {
        let Some(behind) = offsets.get_mut((coordinate(entry) - first) as usize + 1) else { break };
        *behind = number(entry + 1);
    }
    for offset in offsets {
        before = before.max(*offset);
        *offset = before;
    }
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use lacunar_formats::FormatSpec;

    use crate::coo::{Coo, Coordinates};
    use crate::pool::with_threads;
    use crate::random::SplitMix;
    use crate::tensor::Tensor;
    use crate::values::Values;

    #[test]
    fn offsets_are_those_of_counting_however_threads_share_them() {
        for (dims, entries) in
            [([1, 200_000, 4], 30_000), ([90, 1100, 7], 400_000), ([40_000, 3, 5], 60_000), ([2, 3, 4], 0)]
        {
            let mut rng = SplitMix(entries + dims[0]);
            let places: u64 = dims.iter().product();
            // Some neighboring rows have nothing, others all of theirs.
            let stored = |rng: &mut SplitMix, place: u64| rng.below(places) < entries * ((place >> 9) % 3);
            let places: Vec<u64> = (0..places).filter(|place| stored(&mut rng, *place)).collect();
            let column = |unit: u64, size: u64| {
                Coordinates::U32(places.iter().map(|place| (place / unit % size) as u32).collect())
            };
            let coords = vec![column(dims[1] * dims[2], dims[0]), column(dims[2], dims[1]), column(1, dims[2])];
            let mut expected = vec![0u32; (dims[0] * dims[1]) as usize + 1];
            places.iter().for_each(|place| expected[(place / dims[2]) as usize + 1] += 1);
            (1..expected.len()).for_each(|row| expected[row] += expected[row - 1]);
            for threads in [1, 2, 3] {
                let values = Values::F64(vec![1.0; places.len()]);
                let list = Coo { dims: dims.to_vec(), coords: coords.clone(), values };
                let format = "dds".parse::<FormatSpec>().unwrap().resolve(3).unwrap();
                let tensor = with_threads(threads, || Tensor::from_coo(list, &format)).unwrap();
                let (_, pos) = tensor.levels()[2].arrays().next().unwrap();
                assert_eq!(pos.as_slice::<u32>().unwrap(), expected, "{dims:?}");
            }
        }
    }
}
