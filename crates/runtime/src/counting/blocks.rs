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
        for coordinate in &runs.stored()[positions] {
            if let Some(count) = counts.get_mut(coordinate.get() as usize) {
                *count += 1;
            }
        }
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
