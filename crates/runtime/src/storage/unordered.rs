//! Unordered levels: as compressed ones, with the coordinates of each segment in any order.
//!
//! The coordinates under parent position `p` are `crd[pos[p] .. pos[p + 1]]`, each once. Conversions put them in order, and find
//! them in any: a segment is enumerated by its coordinates, so that tensors made of it do not tell the order. Kernels go through
//! positions as they are.
//!
//! ```text
//! [ 5 . 6 ]    dense, unordered:   pos 0   2 2 3
//! [ . . . ]                        crd 2 0 | | 1
//! [ . 7 . ]                     values 6 5     7
//! ```

use std::ops::Range;

use super::{LevelArrays, LevelStorage, Place, Segments, Spread, check_edges, check_range, checked_indices, length};
use crate::buffer::Indices;
use crate::error::StorageError;
use crate::parallel;

/// Segments up to this length are put in order on the stack.
const FEW: usize = 64;

/// Unordered levels.
pub(super) struct Unordered;

impl LevelArrays for Unordered {
    fn check(&self, level: &LevelStorage, parents: u64, place: Place) -> Result<u64, StorageError> {
        let crd = checked_indices(level, 1, place)?;
        check_edges(level, 0, parents, crd.len() as u64, place)?;
        check_range(crd, place)?;
        let pos = level.numbers(0);
        let repeated = |parent: usize| repeated(crd, pos.get(parent)..pos.get(parent + 1));
        match parallel::first(parents as usize, repeated) {
            Some(position) => Err(StorageError::Duplicate { level: place.level, place: position }),
            None => Ok(crd.len() as u64),
        }
    }

    fn spread(&self, segments: &Segments, place: Place) -> Result<Spread, StorageError> {
        let (level, places) = segments.copied(place)?;
        Ok(Spread { level: LevelStorage::new(place.kind(), place.size(), level.into_arrays()), places })
    }

    fn count(&self, level: &LevelStorage, parent: u64) -> u64 {
        length(level.numbers(0), parent)
    }

    fn find(&self, level: &LevelStorage, parent: u64, coordinate: u64) -> Option<u64> {
        let (pos, crd) = (level.numbers(0), level.numbers(1));
        let mut segment = pos.get(parent as usize)..pos.get(parent as usize + 1);
        segment.find(|&position| crd.get(position as usize) == coordinate)
    }

    fn visit(&self, level: &LevelStorage, parent: u64, each: &mut dyn FnMut(u64, u64)) {
        let (pos, crd) = (level.numbers(0), level.numbers(1));
        let segment = pos.get(parent as usize)..pos.get(parent as usize + 1);
        if ascends(crd, segment.clone()) {
            return segment.for_each(|position| each(crd.get(position as usize), position));
        }
        in_order(crd, segment, |stored| stored.iter().for_each(|&(coordinate, position)| each(coordinate, position)));
    }
}

/// True if each coordinate of a segment is greater than the one before.
fn ascends(crd: Indices, segment: Range<u64>) -> bool {
    let mut pairs = segment.clone().zip(segment.skip(1));
    pairs.all(|(before, after)| crd.get(before as usize) < crd.get(after as usize))
}

/// Calls `with` with the coordinates of a segment and their positions, in order. Most segments are short, and there are many.
fn in_order<T>(crd: Indices, segment: Range<u64>, with: impl FnOnce(&[(u64, u64)]) -> T) -> T {
    let count = segment.end.saturating_sub(segment.start) as usize;
    let (mut few, mut many) = ([(0, 0); FEW], Vec::new());
    let stored = match few.get_mut(..count) {
        Some(stored) => stored,
        None => {
            many.resize(count, (0, 0));
            many.as_mut_slice()
        }
    };
    stored.iter_mut().zip(segment).for_each(|(slot, position)| *slot = (crd.get(position as usize), position));
    stored.sort_unstable();
    with(stored)
}

/// The position of a coordinate of a segment that occurs before it as well.
fn repeated(crd: Indices, segment: Range<u64>) -> Option<u64> {
    if ascends(crd, segment.clone()) {
        return None;
    }
    in_order(crd, segment, |stored| stored.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1].1).min())
}
