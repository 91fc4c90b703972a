//! Compressed levels: under each parent position a segment of coordinates.
//!
//! `crd[pos[p] .. pos[p + 1]]` are the coordinates under parent position `p`, ascending; the place in `crd` is the
//! position. A level that is not unique repeats a coordinate once for each position of the singleton levels below.
//!
//! ```text
//! parents 0 1 2:   pos  0   2 2 3
//!                  crd  0 2 | | 1
//! ```

use lacunar_formats::IndexWidth;

use super::{Bounds, LevelArrays, Offsets, Place, check_range, checked_indices};
use crate::array::{Array, Plain};
use crate::buffer::{Buffer, Indices};
use crate::error::{AllocError, StorageError};
use crate::keys::{Access, Entries, index_array, with_access};
use crate::parallel::{self, GRAIN};

/// A compressed level.
#[derive(Debug, PartialEq)]
pub struct Compressed {
    /// Where each parent's segment starts, and at the end the number of coordinates.
    pub pos: Buffer,
    /// The coordinates.
    pub crd: Buffer,
}

impl LevelArrays for Compressed {
    fn arrays(&self) -> Vec<(&'static str, &Buffer)> {
        vec![("pos", &self.pos), ("crd", &self.crd)]
    }

    fn try_map<E>(self, mut change: impl FnMut(&'static str, Buffer) -> Result<Buffer, E>) -> Result<Self, E> {
        Ok(Compressed { pos: change("pos", self.pos)?, crd: change("crd", self.crd)? })
    }

    fn try_clone(&self) -> Result<Self, AllocError> {
        Ok(Compressed { pos: self.pos.try_clone()?, crd: self.crd.try_clone()? })
    }

    fn positions(&self, _parents: u64) -> Option<u64> {
        Some(self.crd.len() as u64)
    }

    fn pack(entries: &mut Entries, parents: Bounds, place: Place) -> Result<(Self, Bounds), StorageError> {
        let (positions, coordinates) = (place.format.positions, place.format.coordinates);
        let last = place.distinguished_to();
        let each_entry = last + 1 == place.format.order() || matches!(parents, Bounds::Identity(_));
        let starts = if each_entry { None } else { with_access!(entries, entries => starts(entries, last)?) };
        let Some(starts) = starts else {
            let crd = entries.take_column(place.level, coordinates)?;
            return Ok((Compressed { pos: parents.into_pos(positions)?, crd }, Bounds::Identity(entries.len())));
        };
        let children = Bounds::Explicit(starts);
        let count = children.positions();
        let crd = with_access!(entries, entries => {
            let coordinate = entries.column(place.level);
            index_array(count, coordinates, |child| coordinate(children.start(child)))?
        });
        let rank = |entry: usize| partition(count, |child| children.start(child) < entry) as u64;
        let pos = index_array(parents.positions() + 1, positions, |p| rank(parents.start(p)))?;
        Ok((Compressed { pos, crd }, children))
    }

    fn check(&self, parents: u64, place: Place) -> Result<u64, StorageError> {
        let pos = checked_indices(&self.pos, place.format.positions, "pos", place)?;
        let crd = checked_indices(&self.crd, place.format.coordinates, "crd", place)?;
        let segments = parents.checked_add(1).ok_or_else(|| StorageError::overflow("the number of positions"))?;
        if pos.len() as u64 != segments {
            let what = format!("array pos of level {}", place.level);
            return Err(StorageError::Length { what, found: pos.len() as u64, expected: segments });
        }
        let wrong =
            |place_: usize, reason| StorageError::Positions { level: place.level, place: place_ as u64, reason };
        if pos.get(0) != 0 {
            return Err(wrong(0, "the first position is not 0"));
        }
        if let Some(k) = first_descent(pos) {
            return Err(wrong(k, "positions descend"));
        }
        if pos.get(pos.len() - 1) != crd.len() as u64 {
            return Err(wrong(pos.len() - 1, "the last position is not the number of coordinates"));
        }
        check_range(crd, place)?;
        Ok(crd.len() as u64)
    }

    fn check_order(&self, chain: &[Indices], place: Place) -> Result<(), StorageError> {
        let Some(pos) = self.pos.indices() else { return Ok(()) };
        let bad = match (pos, chain) {
            (Indices::U32(pos), [Indices::U32(crd)]) => first_disorder(pos, crd),
            (Indices::U64(pos), [Indices::U32(crd)]) => first_disorder(pos, crd),
            (Indices::U32(pos), [Indices::U64(crd)]) => first_disorder(pos, crd),
            (Indices::U64(pos), [Indices::U64(crd)]) => first_disorder(pos, crd),
            _ => first_disorder_of_chain(pos, chain),
        };
        let at = |k: usize| (place.level, k as u64);
        match bad {
            None => Ok(()),
            Some((k, true)) => Err(StorageError::Duplicate { level: at(k).0, place: at(k).1 }),
            Some((k, false)) => Err(StorageError::NotSorted { level: at(k).0, place: at(k).1 }),
        }
    }

    fn extend<T: Plain>(&self, parents: &[T], combine: impl Fn(T, u64) -> T + Sync) -> Result<Array<T>, AllocError> {
        let mut children = Array::zeroed(self.crd.len())?;
        match (self.pos.indices(), self.crd.indices()) {
            (Some(Indices::U32(pos)), Some(Indices::U32(crd))) => extend(pos, crd, parents, &mut children, combine),
            (Some(Indices::U64(pos)), Some(Indices::U32(crd))) => extend(pos, crd, parents, &mut children, combine),
            (Some(Indices::U32(pos)), Some(Indices::U64(crd))) => extend(pos, crd, parents, &mut children, combine),
            (Some(Indices::U64(pos)), Some(Indices::U64(crd))) => extend(pos, crd, parents, &mut children, combine),
            _ => {}
        }
        Ok(children)
    }
}

/// A number of an index array.
trait Index: Copy + PartialOrd + Sync {
    fn number(self) -> usize;
}
impl Index for u32 {
    #[inline(always)]
    fn number(self) -> usize {
        self as usize
    }
}
impl Index for u64 {
    #[inline(always)]
    fn number(self) -> usize {
        self as usize
    }
}

/// How many of `0 .. len` come before the first for which `below` is false.
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
    let chunk = |c: usize| c * GRAIN..len.min((c + 1) * GRAIN);
    let chunks = len.div_ceil(GRAIN);
    let counts: Vec<usize> = parallel::map(0..chunks, |_, c| chunk(c).filter(|&k| is_start(k)).count());
    let total = counts.iter().sum::<usize>();
    if total == len {
        return Ok(None);
    }
    /// Writes the starts of each chunk to the chunk's part of `offsets`.
    fn write<N: Send>(
        mut offsets: &mut [N],
        counts: &[usize],
        entries: impl Fn(usize) -> std::ops::Range<usize> + Sync,
        is_start: impl Fn(usize) -> bool + Sync,
        number: impl Fn(usize) -> N + Sync,
    ) {
        let mut parts = Vec::with_capacity(counts.len());
        for &count in counts {
            let (part, rest) = offsets.split_at_mut(count);
            parts.push(part);
            offsets = rest;
        }
        parallel::each(parts, |c, part| {
            for (slot, k) in part.iter_mut().zip(entries(c).filter(|&k| is_start(k))) {
                *slot = number(k);
            }
        });
    }
    Ok(Some(match IndexWidth::for_max(len as u64) {
        IndexWidth::W32 => {
            let mut offsets = Array::<u32>::zeroed(total + 1)?;
            write(&mut offsets[..total], &counts, chunk, &is_start, |k| k as u32);
            offsets[total] = len as u32;
            Offsets::U32(offsets)
        }
        IndexWidth::W64 => {
            let mut offsets = Array::<u64>::zeroed(total + 1)?;
            write(&mut offsets[..total], &counts, chunk, &is_start, |k| k as u64);
            offsets[total] = len as u64;
            Offsets::U64(offsets)
        }
    }))
}

/// The first place of a position array that is below the one before it.
fn first_descent(pos: Indices) -> Option<usize> {
    fn find<N: Index>(pos: &[N]) -> Option<usize> {
        parallel::first(pos.len(), |k| (k > 0 && pos[k] < pos[k - 1]).then_some(k))
    }
    match pos {
        Indices::U32(pos) => find(pos),
        Indices::U64(pos) => find(pos),
    }
}

/// The first coordinate that does not ascend within its segment, and whether it repeats the one before it.
fn first_disorder<P: Index, C: Index>(pos: &[P], crd: &[C]) -> Option<(usize, bool)> {
    let segment = |p: usize| {
        let (start, end) = (pos[p].number(), pos[p + 1].number());
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

/// Writes `combine(parent, coordinate)` for every position. The arrays have been checked.
fn extend<P: Index, C: Index, T: Plain>(
    pos: &[P],
    crd: &[C],
    parents: &[T],
    children: &mut [T],
    combine: impl Fn(T, u64) -> T + Sync,
) {
    parallel::fill_chunks(children, GRAIN, |start, chunk| {
        let mut parent = partition(pos.len(), |p| pos[p].number() <= start).saturating_sub(1);
        let end = start + chunk.len();
        let mut from = start;
        while from < end && parent + 1 < pos.len() {
            let to = pos[parent + 1].number().min(end);
            let value = parents[parent];
            for (child, coordinate) in chunk[from - start..to - start].iter_mut().zip(&crd[from..to]) {
                *child = combine(value, coordinate.number() as u64);
            }
            from = to;
            parent += 1;
        }
    });
}
