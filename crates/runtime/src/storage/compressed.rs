//! Compressed levels: under each parent position a segment of coordinates.
//!
//! `crd[pos[p] .. pos[p + 1]]` are the coordinates under parent position `p`, ascending; the place in `crd` is the
//! position. A level that is not unique repeats a coordinate once for each position of the singleton levels below.
//!
//! ```text
//! parents 0 1 2:   pos  0   2 2 3
//!                  crd  0 2 | | 1
//! ```

#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ops::Range;

use super::{
    Assembly, Bounds, LevelArrays, LevelStorage, Offsets, Place, Segments, Spread, check_edges, check_range,
    checked_indices, length, stored_at,
};
use crate::array::{Array, Plain};
use crate::buffer::{Indices, Number, with_indices};
use crate::error::{AllocError, StorageError};
use crate::index_array::index_array;
use crate::keys::{Access, Entries, with_access};
use crate::parallel::{self, GRAIN};

/// Compressed levels.
pub(super) struct Compressed;

impl LevelArrays for Compressed {
    fn check(&self, level: &LevelStorage, parents: u64, place: Place) -> Result<u64, StorageError> {
        let crd = checked_indices(level, 1, place)?;
        check_edges(level, 0, parents, crd.len() as u64, place)?;
        check_range(crd, place)?;
        Ok(crd.len() as u64)
    }

    fn assembly(&self) -> Assembly {
        Assembly::Distinct
    }

    fn spread(&self, segments: &Segments, place: Place) -> Result<Spread, StorageError> {
        let (level, places) = segments.copied(place)?;
        Ok(Spread { level, places })
    }

    fn count(&self, level: &LevelStorage, parent: u64) -> u64 {
        length(level.numbers(0), parent)
    }

    fn find(&self, level: &LevelStorage, parent: u64, coordinate: u64) -> Option<u64> {
        let (pos, crd) = (level.numbers(0), level.numbers(1));
        let (begin, end) = (pos.get(parent as usize), pos.get(parent as usize + 1));
        stored_at(crd, begin..end, coordinate)
    }

    fn visit(&self, level: &LevelStorage, parent: u64, each: &mut dyn FnMut(u64, u64)) {
        let (pos, crd) = (level.numbers(0), level.numbers(1));
        let (begin, end) = (pos.get(parent as usize), pos.get(parent as usize + 1));
        (begin..end).for_each(|position| each(crd.get(position as usize), position));
    }
}

/// Packs one level: see [`LevelStorage::pack`].
pub fn pack(entries: &mut Entries, parents: Bounds, place: Place) -> Result<(LevelStorage, Bounds), StorageError> {
    let (positions, coordinates) = (place.positions(), place.coordinates());
    let last = place.distinguished_to();
    let each_entry = last + 1 == place.format.order() || matches!(parents, Bounds::Identity(_));
    let starts = if each_entry { None } else { with_access!(entries, entries => starts(entries, last)?) };
    let Some(starts) = starts else {
        let crd = entries.take_column(place.level, coordinates)?;
        return Ok((LevelStorage::compressed(parents.into_pos(positions)?, crd), Bounds::Identity(entries.len())));
    };
    let children = Bounds::Explicit(starts);
    let count = children.positions();
    let crd = with_access!(entries, entries => {
        let coordinate = entries.column(place.level);
        index_array(count, coordinates, |child| coordinate(children.start(child)))?
    });
    let rank = |entry: usize| partition(count, |child| children.start(child) < entry) as u64;
    let pos = index_array(parents.positions() + 1, positions, |p| rank(parents.start(p)))?;
    Ok((LevelStorage::compressed(pos, crd), children))
}

/// Checks that coordinates ascend: see [`LevelStorage::check_order`].
pub fn check_order(level: &LevelStorage, chain: &[Indices], place: Place) -> Result<(), StorageError> {
    let pos = level.numbers(0);
    let bad = match (pos, chain) {
        (Indices::U32(pos), [crd]) => with_indices!(crd, crd => first_disorder(pos, crd)),
        (Indices::U64(pos), [crd]) => with_indices!(crd, crd => first_disorder(pos, crd)),
        _ => first_disorder_of_chain(pos, chain),
    };
    let at = |k: usize| (place.level, k as u64);
    match bad {
        None => Ok(()),
        Some((k, true)) => Err(StorageError::Duplicate { level: at(k).0, place: at(k).1 }),
        Some((k, false)) => Err(StorageError::NotSorted { level: at(k).0, place: at(k).1 }),
    }
}

/// Enumerates the positions: see [`LevelStorage::extend`].
pub fn extend<T: Plain>(
    level: &LevelStorage,
    parents: &[T],
    combine: impl Fn(T, u64) -> T + Sync,
) -> Result<Array<T>, AllocError> {
    let (pos, crd) = (level.numbers(0), level.numbers(1));
    let mut children = Array::uninitialized(crd.len())?;
    match (pos, crd) {
        (Indices::U32(pos), Indices::U32(crd)) => {
            fill(pos.len(), |p| pos[p] as usize, crd, parents, &mut children, combine)
        }
        (pos, crd) => with_indices!(crd, crd => {
            fill(pos.len(), |p| pos.get(p) as usize, crd, parents, &mut children, combine)
        }),
    }
    // SAFETY: `fill` writes every element; zero bytes are a value of `T`.
    Ok(unsafe { children.assume_init() })
}

/// The number of places of `0 .. len` before the first for which `below` is false.
fn partition(len: usize, below: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low + (high - low) / 2;
        if below(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// The entries at which a coordinate of the levels up to `last` changes, and the number of entries; `None` if that is
/// so at every entry.
fn starts(entries: &impl Access, last: usize) -> Result<Option<Offsets>, AllocError> {
    let len = entries.len();
    let is_start = entries.starts(last);
    let chunks: Vec<Range<usize>> = parallel::chunks(len, GRAIN).collect();
    let mut counts = parallel::map(&chunks, |_, chunk| chunk.clone().filter(|&k| is_start(k)).count());
    let total = counts.iter().sum::<usize>();
    if total == len {
        return Ok(None);
    }
    counts.push(1);
    let starts = |c: usize| chunks.get(c).cloned().unwrap_or(0..0).filter(|&k| is_start(k));
    let ends = |c: usize| (c == chunks.len()).then_some(len);
    Ok(Some(match u32::try_from(len) {
        Ok(_) => Offsets::U32(Array::in_parts(&counts, &|c, mut room| {
            starts(c).chain(ends(c)).for_each(|k| room.put(k as u32));
            room
        })?),
        Err(_) => Offsets::U64(Array::in_parts(&counts, &|c, mut room| {
            starts(c).chain(ends(c)).for_each(|k| room.put(k as u64));
            room
        })?),
    }))
}

/// The first coordinate that does not ascend within its segment, and a flag that is true if it repeats the one before it.
fn first_disorder<P: Number, C: Number>(pos: &[P], crd: &[C]) -> Option<(usize, bool)> {
    let segment = |p: usize| {
        let (start, end) = (pos[p].get() as usize, pos[p + 1].get() as usize);
        let segment = &crd[start..end];
        if segment.windows(2).all(|pair| pair[0] < pair[1]) {
            return None;
        }
        let k = segment.windows(2).position(|pair| pair[0] >= pair[1])?;
        Some((start + k + 1, segment[k] <= segment[k + 1]))
    };
    if pos.len() == 2 {
        // One segment: split by coordinates, not by parents.
        let bad = |k: usize| (k > 0 && crd[k - 1] >= crd[k]).then(|| (k, crd[k - 1] <= crd[k]));
        return parallel::first(crd.len(), bad);
    }
    parallel::first(pos.len() - 1, segment)
}

/// The same for the tuples of several levels, the first of which has the segments.
fn first_disorder_of_chain(pos: Indices, chain: &[Indices]) -> Option<(usize, bool)> {
    let len = chain.first().map_or(0, Indices::len);
    let bad = |k: usize| {
        let order = chain
            .iter()
            .map(|crd| crd.get(k - 1).cmp(&crd.get(k)))
            .find(|o| o.is_ne())
            .unwrap_or(std::cmp::Ordering::Equal);
        (order.is_ge()).then(|| (k, order.is_eq()))
    };
    let starts_segment = |k: usize| {
        let segment = partition(pos.len(), |p| pos.get(p) < k as u64);
        pos.get(segment) == k as u64
    };
    parallel::first(len, |k| if k == 0 { None } else { bad(k).filter(|_| !starts_segment(k)) })
}

/// Writes `combine(parent, coordinate)` for every position. The arrays have been checked; `edge` gives the segments' edges.
fn fill<C: Number, T: Plain>(
    edges: usize,
    edge: impl Fn(usize) -> usize + Sync,
    crd: &[C],
    parents: &[T],
    children: &mut [MaybeUninit<T>],
    combine: impl Fn(T, u64) -> T + Sync,
) {
    parallel::fill_chunks(children, GRAIN, |start, chunk| {
        let mut parent = partition(edges, |p| edge(p) <= start).saturating_sub(1);
        let end = start + chunk.len();
        let mut from = start;
        while from < end && parent + 1 < edges {
            let to = edge(parent + 1).min(end);
            let value = parents[parent];
            for (child, coordinate) in chunk[from - start..to - start].iter_mut().zip(&crd[from..to]) {
                child.write(combine(value, coordinate.get()));
            }
            from = to;
            parent += 1;
        }
        // Segments cover all; were one to fall short, nothing would be left of any content.
        chunk[from - start..].iter_mut().for_each(|child| *child = MaybeUninit::zeroed());
    });
}
