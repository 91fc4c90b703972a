//! The passes of a counting sort that are worth a loop for each size of values: nothing lies between the source and the target.
//!
//! ```text
//! csr to csc:      coordinates tell the bins, rows are the keys       for each entry: place = next[j]++, key i, value
//! dense to csr:    runs are rows; zeros only fill up                  for each value that is not zero: the same
//! (i, j, k) to (j, i, k):    runs are of one (i, j)                   for each entry: place = next[j]++, key (i, k), value
//! ```

#![allow(unsafe_code)]

use std::ops::Range;
use std::time::Instant;

use super::{Entries, Target, Task};
use crate::buffer::Number;
use crate::moved::fetch;
use crate::runs::{Runs, Walk};
use crate::sort::Key;
use crate::words::Word;

/// The number of entries ahead of which cache lines to write to are fetched. With 32 a transposition takes 1.05 to 1.1 times as long
/// (`wave`, `ego-Twitter`; Zen 5).
const AHEAD: usize = 64;
/// A target of more bytes than this does not fit the caches: a prefetch saves a quarter to a third of the time.
const BEYOND: usize = 8 << 20;
/// A target of at most so many bytes fits the second cache, and is not prefetched. Between the two limits trials decide: the processor, the
/// other users of the third cache and the part of the matrix do. A prefetch makes `bcsstk33` and `delaunay_n16` a third slower on Zen 5, and
/// twice as fast on Zen 3; for the first entries of `cvxbqp1` it is faster there, and slower for most others.
const NEAR: usize = 1 << 20;
/// The entries in each turn of a trial.
const TURN: usize = 2048;
/// The entries from one trial to the next. Fewer are not worth a trial.
const TRIED: usize = 32 * TURN;
/// The number of entries whose places are found before the first of them is written. Once a counter's load has met a store of the same
/// counter, a processor may let it wait until the addresses of all stores before it are known. Where an entry is written before the next
/// counter is loaded, each entry then waits for the one before: that takes 1.3 to 2.3 times as long, at some times, for matrices whose
/// neighboring rows have the same columns (`bcsstk17`, `bcsstk33`; Zen 3). Larger groups leave more of a row to single entries: with four, rows
/// of 5 to 40 entries take 1.1 to 1.45 times as long as with two on Zen 4.
const GROUP: usize = 2;

/// Puts the entries of a task, whose bins are their coordinates, and whose keys depend on the levels above alone.
///
/// # Safety
/// The task has all bins, of which each entry of the source has one, with starts of ranges of the target that are as long as there
/// are entries of each, and that nobody else touches. The source's values are of a type as large as `V`.
pub unsafe fn put_separate<R: Runs, K: Key, V: Word>(
    source: &Entries<R, K>,
    (positions, _, next): Task,
    to: &Target<K>,
) {
    let (above, (from, values)) = (source.keys.above, to.values.words::<V>());
    let (stored, from, keys) = (&source.runs.stored()[..positions.end], &from[..positions.end], to.keys.get());
    let next = next.as_mut_ptr();
    // SAFETY: each position has a coordinate, and that a bin, by the caller's promise.
    let next_of = |position: usize| unsafe { next.add(stored.get_unchecked(position).get() as usize) };
    let mut walk = Walk::from(source.runs, &positions);
    let last = positions.end.saturating_sub(AHEAD).max(positions.start);
    let mut put = |fetches: bool, end: usize| {
        if fetches {
            walk.on(end.min(last), |parent, run| {
                let look_ahead = |position: usize| {
                    // SAFETY: so many positions follow.
                    let soon = unsafe { *next_of(position + AHEAD) } as usize;
                    fetch(keys.wrapping_add(soon));
                    fetch(values.wrapping_add(soon));
                };
                // SAFETY: by the caller's promise.
                unsafe { put_run(from, run, (next_of, look_ahead), above.at(parent), (keys, values)) };
            });
        }
        walk.on(end, |parent, run| {
            // SAFETY: by the caller's promise.
            unsafe { put_run(from, run, (next_of, |_| ()), above.at(parent), (keys, values)) };
        });
    };
    let bytes = source.values.len() * (size_of::<K>() + size_of::<V>());
    let mut fetches = bytes > BEYOND;
    if !fetches && bytes > NEAR {
        for begin in positions.clone().step_by(TRIED).take_while(|begin| begin + TRIED <= positions.end) {
            fetches = is_faster(|fetches, turn| put(fetches, begin + (turn + 1) * TURN));
            put(fetches, begin + TRIED);
        }
    }
    put(fetches, positions.end);
}

/// Compares two ways to do a part of a work, `false` and `true`, and returns true if `true` is faster. Turn 0 warms up the memory and is not
/// counted. The order of the others, false true true false, cancels a steady change of speed.
fn is_faster(mut work: impl FnMut(bool, usize)) -> bool {
    let mut time = |way: bool, turn: usize| {
        let start = Instant::now();
        work(way, turn);
        start.elapsed()
    };
    time(true, 0);
    let [first, second, third, fourth] =
        [(false, 1), (true, 2), (true, 3), (false, 4)].map(|(way, turn)| time(way, turn));
    second + third < first + fourth
}

/// Puts the entries of a run, which have one key, each to the next place of its bin, after a look ahead of it.
///
/// # Safety
/// The values have these positions, and the places are in the target, and nobody else's.
#[inline(always)]
unsafe fn put_run<K: Key, V: Word>(
    from: &[V],
    run: Range<usize>,
    (next_of, look_ahead): (impl Fn(usize) -> *mut u32, impl Fn(usize)),
    key: K,
    (keys, values): (*mut K, *mut V),
) {
    let place_of = |position: usize| {
        let next = next_of(position);
        // SAFETY: it is the next place of a bin.
        unsafe {
            let place = *next as usize;
            *next += 1;
            place
        }
    };
    let put = |place: usize, position: usize| {
        // SAFETY: by the caller's promise.
        unsafe {
            keys.add(place).write(key);
            values.add(place).write(*from.get_unchecked(position));
        }
    };
    let mut position = run.start;
    while position + GROUP <= run.end {
        let group = position..position + GROUP;
        group.for_each(&look_ahead);
        let places: [usize; GROUP] = std::array::from_fn(|k| place_of(position + k));
        places.into_iter().enumerate().for_each(|(k, place)| put(place, position + k));
        position += GROUP;
    }
    for position in position..run.end {
        look_ahead(position);
        put(place_of(position), position);
    }
}

/// Calls `entry(bin, key, value)` for the entries of a range of positions.
#[inline(always)]
pub fn each<R: Runs, K: Key, V: Word>(
    source: &Entries<R, K>,
    values: &[V],
    positions: Range<usize>,
    mut entry: impl FnMut(usize, K, V),
) {
    let (bins, keys, stored) = (source.bins, source.keys, source.runs.stored());
    Walk::from(source.runs, &positions).on(positions.end, |parent, run| {
        let (bin, key) = (bins.above.at(parent), keys.above.at(parent));
        let bin = |coordinate: u64| bin.wrapping_add(bins.innermost.times(coordinate)) as usize;
        if R::STORED && !source.padded && keys.innermost == K::ZERO {
            // Runs are short often, so nothing is prepared for one that an entry can do without.
            for position in run {
                entry(bin(stored[position].get()), key, values[position]);
            }
            return;
        }
        let coordinates = source.runs.coordinates(parent, run.clone());
        for (coordinate, &value) in coordinates.zip(&values[run]) {
            if !source.padded || value != V::default() {
                entry(bin(coordinate), key.plus(keys.innermost.times(coordinate)), value);
            }
        }
    });
}

/// Adds the entries of a task to the counts of its bins.
pub fn count<R: Runs, K: Key, V: Word>(source: &Entries<R, K>, (positions, first, counts): Task) {
    each(source, source.values.as_words::<V>(), positions, |bin, _, _| {
        // A task that does not have all bins leaves the others to others.
        if let Some(count) = counts.get_mut(bin.wrapping_sub(first)) {
            *count += 1;
        }
    });
}

/// Puts the entries of a task each to the next place of its bin.
///
/// # Safety
/// The task has the next places of its bins: starts of ranges of the target that are as long as [`count`] counts for the same
/// positions, and that nobody else touches. The source's values are of a type as large as `V`.
pub unsafe fn put<R: Runs, K: Key, V: Word>(source: &Entries<R, K>, (positions, first, next): Task, to: &Target<K>) {
    let (from, values) = to.values.words::<V>();
    each(source, from, positions, |bin, key, value| {
        if let Some(next) = next.get_mut(bin.wrapping_sub(first)) {
            let place = *next as usize;
            *next += 1;
            // SAFETY: by the caller's promise, the place is in the target, and nobody else's.
            unsafe {
                to.keys.get().add(place).write(key);
                values.add(place).write(value);
            }
        }
    });
}
