//! A stable counting sort of a tensor's entries, straight from the tensor's own arrays.
//!
//! An entry's *bin* is what it is sorted by: the coordinates of the target's outer levels, as one number. Entries are
//! met in the order of their storage, counted by bin, and put at the next place of their bin, as a key (the
//! coordinates that are still needed, packed) and a value. Nothing lies in between.
//!
//! ```text
//! csr  [ 5 . 6 ]   bins: columns   keys: rows     counts 1 1 1, so bins start at 0 1 2, and
//!      [ . 7 . ]                                  5 at 0, 6 at 2, 7 at 1:    keys 0 1 0, values 5 7 6
//! ```
//!
//! Each thread counts and puts the entries of a range of positions, with counters of its own. Where these would take
//! more memory than the tensor itself, threads share a range of positions and divide the bins among them instead. The
//! order within a bin is that of the source, so the result does not depend on the number of threads.
//!
//! The last range's counters are the array of offsets itself: where the next entry of a bin would go when all are put,
//! the next bin starts.
//!
//! Paper: Gustavson, *Two Fast Algorithms for Sparse Matrices: Multiplication and Permuted Transposition* (TOMS 1978).

#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::array::{Array, Plain};
use crate::buffer::Number;
use crate::error::AllocError;
use crate::parallel;
use crate::runs::{Runs, walk};
use crate::sort::{Key, Shared};

/// How many entries are worth a thread.
const GRAIN: usize = 1 << 14;

/// How a coordinate goes into bin and key.
#[derive(Clone, Copy, Debug)]
pub struct Share<K> {
    /// What it adds to the bin for each 1; 0 if it is not sorted by.
    pub bin: u32,
    /// What it adds to the key for each 1; 0 if it is not in the key.
    pub key: K,
}

impl<K: Key> Share<K> {
    /// What the coordinate adds to the bin.
    #[inline(always)]
    fn bin(self, coordinate: u64) -> u32 {
        (coordinate as u32).wrapping_mul(self.bin)
    }

    /// What it adds to the key.
    #[inline(always)]
    fn key(self, coordinate: u64) -> K {
        self.key.times(coordinate)
    }
}

/// What the levels above the innermost one contribute.
#[derive(Clone, Copy)]
pub enum Parents<'a, K: Key> {
    /// There is one level, and it is dense: a parent position is its coordinate.
    Numbered(Share<K>),
    /// Bins and keys by parent position. What is missing is zero throughout.
    Stored(Option<&'a [u32]>, Option<&'a [K]>),
}

impl<K: Key> Parents<'_, K> {
    /// The bin and the key at a parent position.
    #[inline(always)]
    fn at(&self, parent: usize) -> (u32, K) {
        match self {
            Parents::Numbered(share) => (share.bin(parent as u64), share.key(parent as u64)),
            Parents::Stored(bins, keys) => {
                (bins.map_or(0, |bins| bins[parent]), keys.map_or(K::ZERO, |keys| keys[parent]))
            }
        }
    }

    /// Whether they do not contribute to bins.
    fn are_binless(&self) -> bool {
        match self {
            Parents::Numbered(share) => share.bin == 0,
            Parents::Stored(bins, _) => bins.is_none(),
        }
    }
}

/// The entries of a tensor, or of a coordinate list, as they are to be sorted.
pub struct Entries<'a, R: Runs, K: Key, V: Plain> {
    /// The innermost level.
    pub runs: &'a R,
    /// What the levels above contribute.
    pub parents: Parents<'a, K>,
    /// What the innermost level contributes.
    pub innermost: Share<K>,
    /// One for each position; at most `u32::MAX`.
    pub values: &'a [V],
    /// Values of which all bytes are zero only fill up, and are left out.
    pub padded: bool,
}

impl<R: Runs, K: Key, V: Plain + PartialEq + Default> Entries<'_, R, K, V> {
    /// Calls `entry(bin, key, value)` for the entries of a range of positions.
    #[inline(always)]
    fn each(&self, positions: Range<usize>, mut entry: impl FnMut(usize, K, V)) {
        let (share, stored) = (self.innermost, self.runs.stored());
        walk(self.runs, positions, |parent, run| {
            let (bin, key) = self.parents.at(parent);
            let bin = |coordinate: u64| bin.wrapping_add(share.bin(coordinate)) as usize;
            if R::STORED && !self.padded && share.key == K::ZERO {
                // Runs are short often, so nothing is prepared for one that an entry can do without.
                for position in run {
                    entry(bin(stored[position].get()), key, self.values[position]);
                }
                return;
            }
            let coordinates = self.runs.coordinates(parent, run.clone());
            for (coordinate, &value) in coordinates.zip(&self.values[run]) {
                if !self.padded || value != V::default() {
                    entry(bin(coordinate), key.plus(share.key(coordinate)), value);
                }
            }
        });
    }

    /// Adds to `counts`, which are those of the bins from `first` on, the entries of a range of positions.
    fn count(&self, positions: Range<usize>, first: usize, counts: &mut [u32]) {
        // A task that does not have all bins leaves the others to others.
        let mut count = |bin: usize| {
            if let Some(count) = counts.get_mut(bin.wrapping_sub(first)) {
                *count += 1;
            }
        };
        if R::STORED && self.parents.are_binless() && !self.padded {
            // The coordinates alone tell the bins: runs, where they are short, would cost more than counting.
            let share = self.innermost;
            self.runs.coordinates(0, positions).for_each(|coordinate| count(share.bin(coordinate) as usize));
        } else {
            self.each(positions, |bin, _, _| count(bin));
        }
    }

    /// Puts the entries of a range of positions each to the next place of its bin.
    ///
    /// # Safety
    /// `next` are the next places of the bins from `first` on: starts of ranges of the target that are as long as
    /// [`Self::count`] counts for these positions, and that nobody else touches.
    unsafe fn put(&self, positions: Range<usize>, first: usize, next: &mut [u32], (keys, values): (*mut K, *mut V)) {
        self.each(positions, |bin, key, value| {
            if let Some(next) = next.get_mut(bin.wrapping_sub(first)) {
                let place = *next as usize;
                *next += 1;
                // SAFETY: by the caller's promise, the place is in the target, and nobody else's.
                unsafe {
                    keys.add(place).write(key);
                    values.add(place).write(value);
                }
            }
        });
    }

    /// Whether coordinates alone tell the bins, and what is above alone the keys.
    fn is_separate(&self) -> bool {
        R::STORED && self.parents.are_binless() && self.innermost.key == K::ZERO && !self.padded
    }

    /// [`Self::put`] for entries that are [separate](Self::is_separate).
    ///
    /// # Safety
    /// As for [`Self::put`], where `next` are those of all bins, of which each entry of the source has one.
    unsafe fn put_separate(&self, positions: Range<usize>, next: &mut [u32], (keys, values): (*mut K, *mut V)) {
        let (share, runs) = (self.innermost, self.runs);
        let (stored, from) = (&runs.stored()[..positions.end], &self.values[..positions.end]);
        let next = next.as_mut_ptr();
        // SAFETY: each position has a coordinate, and that a bin, by the caller's promise.
        let next_of = |position: usize| unsafe {
            let coordinate = stored.get_unchecked(position).get();
            next.add(share.bin(coordinate) as usize)
        };
        let put = |position: usize, key: K| {
            // SAFETY: by the caller's promise, the place is in the target, and nobody else's.
            unsafe {
                let next = next_of(position);
                let place = *next as usize;
                *next += 1;
                keys.add(place).write(key);
                values.add(place).write(*from.get_unchecked(position));
            }
        };
        let ahead = positions.end.saturating_sub(AHEAD).max(positions.start);
        walk(runs, positions.start..ahead, |parent, run| {
            let (_, key) = self.parents.at(parent);
            for position in run {
                // SAFETY: so many positions follow.
                let soon = unsafe { *next_of(position + AHEAD) } as usize;
                fetch(keys.wrapping_add(soon));
                fetch(values.wrapping_add(soon));
                put(position, key);
            }
        });
        walk(runs, ahead..positions.end, |parent, run| {
            let (_, key) = self.parents.at(parent);
            run.for_each(|position| put(position, key));
        });
    }
}

/// How many entries ahead the cache lines are fetched that will be written to.
const AHEAD: usize = 32;

/// Asks for the cache line of a place that will be written to, if the processor can.
#[inline(always)]
pub fn fetch<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        // SAFETY: a hint, which changes no content and fails nowhere.
        unsafe { _mm_prefetch::<_MM_HINT_ET0>(place.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// Sorted entries.
pub struct Sorted<K: Key, V: Plain> {
    /// Where each bin starts, and the number of entries.
    pub offsets: Array<u32>,
    /// What is needed of the entries besides their bins.
    pub keys: Array<K>,
    /// Their values.
    pub values: Array<V>,
}

/// A task: the positions it walks through, its first bin, and for each of its bins a count or the next place.
type Task<'a> = (Range<usize>, usize, &'a mut [u32]);

/// How the work is divided: ranges of positions, each with counters for all bins, and ranges of bins.
struct Shares {
    len: usize,
    positions: usize,
    bins: usize,
}

impl Shares {
    /// For so many entries and bins, where counters may take `budget` bytes.
    fn new(len: usize, bins: usize, budget: u64) -> Shares {
        let threads = parallel::parts(len, GRAIN);
        let affordable = budget / (4 * bins as u64).max(1);
        let positions = usize::try_from(affordable).unwrap_or(threads).clamp(1, threads);
        Shares { len, positions, bins: threads.div_ceil(positions) }
    }

    /// The tasks, given the counters of all ranges of positions but the last, and those of the last.
    fn tasks<'a>(&self, first: &'a mut [u32], last: &'a mut [u32]) -> Vec<Task<'a>> {
        let bins = last.len();
        let width = bins.div_ceil(self.bins).max(1);
        let sets = first.chunks_mut(bins.max(1)).chain([last]);
        let each_bins = |(share, counters): (usize, &'a mut [u32])| {
            let positions = self.len * share / self.positions..self.len * (share + 1) / self.positions;
            let parts = counters.chunks_mut(width).enumerate();
            parts.map(move |(part, counters)| (positions.clone(), part * width, counters))
        };
        sets.enumerate().flat_map(each_bins).collect()
    }
}

/// Sorts the entries of a tensor by bin, of which there are `bins`. Besides the result, memory for about `budget` bytes
/// may be used.
///
/// # Errors
/// The system refused the memory.
pub fn sort<R: Runs, K: Key, V: Plain + PartialEq + Default>(
    source: &Entries<R, K, V>,
    bins: usize,
    budget: u64,
) -> Result<Sorted<K, V>, AllocError> {
    let shares = Shares::new(source.values.len(), bins, budget);
    let mut offsets = Array::<u32>::zeroed(bins + 1)?;
    let mut counters = Array::<u32>::zeroed(bins * (shares.positions - 1))?;
    parallel::each(shares.tasks(&mut counters, &mut offsets[1..]), |_, (positions, first, counts)| {
        source.count(positions, first, counts);
    });
    let total = starts(&mut counters, &mut offsets[1..]);
    let mut keys = Array::<MaybeUninit<K>>::uninitialized(total)?;
    let mut values = Array::<MaybeUninit<V>>::uninitialized(total)?;
    let (to_keys, to_values) = (Shared(keys.as_mut_ptr()), Shared(values.as_mut_ptr()));
    // Where every entry was counted, it has a bin.
    let separate = source.is_separate() && shares.bins == 1 && total == source.values.len();
    parallel::each(shares.tasks(&mut counters, &mut offsets[1..]), |_, (positions, first, next)| {
        let to = (to_keys.get().cast(), to_values.get().cast());
        // SAFETY: `starts` gave each bin of each task a range as long as what the same task counted, below `total`, one
        // behind the other. A task has all bins where they are not divided.
        unsafe {
            if separate { source.put_separate(positions, next, to) } else { source.put(positions, first, next, to) }
        };
    });
    // SAFETY: the ranges of all tasks and bins cover `0 .. total`, and each was filled.
    let (keys, values) = unsafe { (keys.assume_init(), values.assume_init()) };
    Ok(Sorted { offsets, keys, values })
}

/// Turns counts into where ranges start: bin after bin, and within a bin, share after share. `last` are the counts of
/// the last share, `first` those of the others. Returns the sum.
fn starts(first: &mut [u32], last: &mut [u32]) -> usize {
    let bins = last.len();
    let width = bins.div_ceil(parallel::parts(bins, parallel::GRAIN)).max(1);
    // By range of bins: the counters of every share.
    let mut ranges: Vec<Vec<&mut [u32]>> = (0..bins.div_ceil(width)).map(|_| Vec::new()).collect();
    for counters in first.chunks_mut(bins.max(1)).chain([last]) {
        ranges.iter_mut().zip(counters.chunks_mut(width)).for_each(|(range, part)| range.push(part));
    }
    let sums = parallel::map(ranges.iter(), |_, range| {
        range.iter().map(|part| part.iter().map(|&count| count as usize).sum::<usize>()).sum::<usize>()
    });
    let mut total = 0;
    let mut begins = Vec::with_capacity(sums.len());
    for sum in sums {
        begins.push(total);
        total += sum;
    }
    parallel::each(ranges.into_iter().zip(begins), |_, (mut range, begin)| {
        let mut start = begin as u32;
        match range.as_mut_slice() {
            [only] => {
                for count in only.iter_mut() {
                    start += std::mem::replace(count, start);
                }
            }
            shares => {
                let width = shares.first().map_or(0, |share| share.len());
                let mut places = [0; BLOCK];
                for first in (0..width).step_by(BLOCK) {
                    let block = first..width.min(first + BLOCK);
                    let places = &mut places[..block.len()];
                    places.fill(0);
                    for share in shares.iter() {
                        places.iter_mut().zip(&share[block.clone()]).for_each(|(place, count)| *place += count);
                    }
                    for place in places.iter_mut() {
                        start += std::mem::replace(place, start);
                    }
                    for share in shares.iter_mut() {
                        let counts = share[block.clone()].iter_mut();
                        places.iter_mut().zip(counts).for_each(|(place, count)| {
                            let next = *place + *count;
                            *count = std::mem::replace(place, next);
                        });
                    }
                }
            }
        }
    });
    total
}

/// How many bins [`starts`] takes through all shares at a time.
const BLOCK: usize = 64;
