//! The passes of a counting sort for sources, keys and values of any kind: places are computed for a block of entries at a time, and
//! the values follow ([`crate::moved`]).
//!
//! ```text
//! (i, j, k) to (j, i, k):    block: bins j, keys (i, k), places next[j]++     then keys to places, and values to places
//! ```

#![allow(unsafe_code)]

use std::ops::Range;

use super::{Entries, Parts, Target, Task};
use crate::buffer::{Buffer, Number};
use crate::moved::{self, BLOCK, Moved};
use crate::runs::{Runs, Walk};
use crate::segments::NOWHERE;
use crate::sort::Key;

/// The blocks that a range of positions is taken in.
fn blocks(positions: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    positions.clone().step_by(BLOCK).map(move |start| start..positions.end.min(start + BLOCK))
}

/// Adds the entries of a task to the counts of its bins. If values are given, those that are zero are padding and not
/// counted.
pub fn count<R: Runs>(runs: &R, bins: Parts<u32>, padded: Option<&Buffer>, (positions, first, counts): Task) {
    // A task that does not have all bins leaves the others to others.
    let mut count = |bin: u32, kept: u32| {
        if let Some(count) = counts.get_mut((bin as usize).wrapping_sub(first)) {
            *count += kept;
        }
    };
    let unit = bins.innermost;
    let mut walk = Walk::from(runs, &positions);
    if let Some(values) = padded {
        let mut kept = [true; BLOCK];
        for block in blocks(positions) {
            Moved::nonzero(values, block.start, &mut kept[..block.len()]);
            walk.on(block.end, |parent, run| {
                let bin = bins.above.at(parent);
                let kept = &kept[run.start - block.start..];
                for (coordinate, &kept) in runs.coordinates(parent, run).zip(kept) {
                    count(bin.wrapping_add(unit.times(coordinate)), u32::from(kept));
                }
            });
        }
    } else if R::STORED && bins.above.is_none() && unit == 1 && first == 0 {
        // Coordinates are the bins: with a product and a difference for each, counting takes twice as long (Zen 3).
        blocks(positions).for_each(|block| count_coordinates(&runs.stored()[block], counts));
    } else if R::STORED && bins.above.is_none() {
        // The coordinates alone tell the bins: runs, where they are short, would cost more than counting.
        runs.coordinates(0, positions).for_each(|coordinate| count(unit.times(coordinate), 1));
    } else {
        walk.on(positions.end, |parent, run| {
            let bin = bins.above.at(parent);
            for coordinate in runs.coordinates(parent, run) {
                count(bin.wrapping_add(unit.times(coordinate)), 1);
            }
        });
    }
}

/// Counts the coordinates of a block that have a bin.
///
/// One test compares all coordinates of the block with the number of bins, and four coordinates are loaded before the first counter is
/// incremented. A test for each coordinate, and loads between the increments, take 1.6 to 4 times as long (Zen 4).
fn count_coordinates<C: Number>(coordinates: &[C], counts: &mut [u32]) {
    const GROUP: usize = 4;
    if !all_below(coordinates, counts.len()) {
        for coordinate in coordinates {
            if let Some(count) = usize::try_from(coordinate.get()).ok().and_then(|bin| counts.get_mut(bin)) {
                *count += 1;
            }
        }
        return;
    }
    let first = counts.as_mut_ptr();
    // SAFETY: all coordinates are below the number of counts.
    let count = |bin: usize| unsafe { *first.add(bin) += 1 };
    let (groups, rest) = coordinates.as_chunks::<GROUP>();
    for group in groups {
        group.map(|coordinate| coordinate.get() as usize).into_iter().for_each(count);
    }
    rest.iter().for_each(|coordinate| count(coordinate.get() as usize));
}

/// True if numbers are below a limit. Numbers of 32 bits are not compared, which takes the oldest vector instructions several steps: the highest
/// bit tells that one is above the limit, or large.
fn all_below<C: Number>(numbers: &[C], limit: usize) -> bool {
    match (limit.checked_sub(1), i32::try_from(limit)) {
        (None, _) => numbers.is_empty(),
        (Some(last), Ok(_)) if size_of::<C>() <= size_of::<u32>() => {
            let beyond = |number: &C| number.get() as u32 | (last as u32).wrapping_sub(number.get() as u32);
            numbers.iter().fold(0, |all, number| all | beyond(number)) >> (u32::BITS - 1) == 0
        }
        (Some(last), _) => numbers.iter().all(|number| number.get() <= last as u64),
    }
}

/// Puts the entries of a task each to the next place of its bin.
///
/// # Safety
/// The task has the next places of its bins: starts of ranges of the target that are as long as [`count`] counts for the same
/// positions, and that nobody else touches.
pub unsafe fn put<R: Runs, K: Key>(source: &Entries<R, K>, (positions, first, next): Task, to: &Target<K>) {
    let (mut places, mut kept) = ([NOWHERE; BLOCK], [true; BLOCK]);
    let (bins, keys, stored) = (source.bins, source.keys, source.runs.stored());
    let mut walk = Walk::from(source.runs, &positions);
    for block in blocks(positions) {
        if source.padded {
            Moved::nonzero(source.values, block.start, &mut kept[..block.len()]);
        }
        let places = &mut places[..block.len()];
        let mut entry = |offset: usize, bin: u32, key: K, coordinate: u64| {
            let bin = bin.wrapping_add(bins.innermost.times(coordinate)) as usize;
            places[offset] = match next.get_mut(bin.wrapping_sub(first)) {
                Some(next) if kept[offset] => {
                    let place = *next as usize;
                    *next += 1;
                    // SAFETY: by the caller's promise, the place is in the target, and nobody else's.
                    unsafe { to.keys.get().add(place).write(key.plus(keys.innermost.times(coordinate))) };
                    place as u64
                }
                _ => NOWHERE,
            };
        };
        walk.on(block.end, |parent, run| {
            let (bin, key) = (bins.above.at(parent), keys.above.at(parent));
            if R::STORED {
                // Runs are short often, so nothing is prepared for one that an entry can do without.
                run.for_each(|position| entry(position - block.start, bin, key, stored[position].get()));
            } else {
                let offsets = run.start - block.start..;
                offsets.zip(source.runs.coordinates(parent, run)).for_each(|(offset, c)| entry(offset, bin, key, c));
            }
        });
        // SAFETY: as above.
        unsafe { to.values.put(block.start, places) };
    }
}

/// [`put`] for entries whose bins are their coordinates, and whose keys depend on the levels above alone.
///
/// # Safety
/// As for [`put`]; the task has all bins, and each entry of the source has one of them.
pub unsafe fn put_separate<R: Runs, K: Key>(source: &Entries<R, K>, (positions, _, next): Task, to: &Target<K>) {
    let mut places = [NOWHERE; BLOCK];
    let (stored, next) = (source.runs.stored(), next.as_mut_ptr());
    let mut walk = Walk::from(source.runs, &positions);
    for block in blocks(positions) {
        let places = &mut places[..block.len()];
        for (place, coordinate) in places.iter_mut().zip(&stored[block.clone()]) {
            // SAFETY: each position has a coordinate, and that a bin, by the caller's promise.
            let next = unsafe { &mut *next.add(coordinate.get() as usize) };
            *place = u64::from(*next);
            *next += 1;
            // They are far from each other: all of a block are fetched at once.
            moved::fetch(to.keys.get().wrapping_add(*place as usize));
        }
        to.values.fetch(places);
        walk.on(block.end, |parent, run| {
            let key = source.keys.above.at(parent);
            for &place in &places[run.start - block.start..run.end - block.start] {
                // SAFETY: by the caller's promise, the place is in the target, and nobody else's.
                unsafe { to.keys.get().add(place as usize).write(key) };
            }
        });
        // SAFETY: as above.
        unsafe { to.values.put(block.start, places) };
    }
}

#[cfg(test)]
mod tests {
    use super::{all_below, count_coordinates};

    #[test]
    fn numbers_below_a_limit_are_told_from_others() {
        for limit in [0usize, 1, 7, 300, i32::MAX as usize, 1 << 31, u32::MAX as usize] {
            for number in [0u32, 1, 6, 7, 299, 300, i32::MAX as u32 - 1, i32::MAX as u32, 1 << 31, u32::MAX] {
                let expected = u64::from(number) < limit as u64;
                assert_eq!(all_below(&[0, number, 0], limit), expected, "{number} {limit}");
                assert_eq!(all_below(&[u64::from(number)], limit), expected, "{number} {limit}");
            }
        }
        assert!(all_below::<u32>(&[], 0) && all_below(&[200u8, 0], 201) && !all_below(&[200u8, 0], 200));
        assert!(!all_below(&[1u64 << 32], 5));
    }

    #[test]
    fn coordinates_without_a_bin_are_left_to_others() {
        let mut counts = [0; 4];
        count_coordinates(&[3u32, 0, 3, 1, 3, 2, 1], &mut counts);
        assert_eq!(counts, [1, 2, 1, 3]);
        count_coordinates(&[3u32, 4, u32::MAX, 0], &mut counts);
        assert_eq!(counts, [2, 2, 1, 4]);
    }
}
