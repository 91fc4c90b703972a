//! A stable counting sort of a tensor's entries, straight from the tensor's own arrays.
//!
//! Entries are sorted by their *bin*: the coordinates of the target's outer levels, as one number. Entries are met in
//! the order of their storage, counted by bin, and put at the next place of their bin, as a key (the coordinates that
//! are still needed, packed) and a value. There is no array in between.
//!
//! ```text
//! csr  [ 5 . 6 ]   bins: columns   keys: rows     counts 1 1 1, so bins start at 0 1 2, and
//!      [ . 7 . ]                                  5 at 0, 6 at 2, 7 at 1:    keys 0 1 0, values 5 7 6
//! ```
//!
//! Each thread counts and puts the entries of a range of positions, with counters of its own. If these would take more
//! memory than the tensor itself, threads share a range of positions and divide the bins among them instead. The order
//! within a bin is that of the source, so the result does not depend on the number of threads.
//!
//! The last range's counters are the array of offsets itself: when all entries are put, the next place of a bin is the
//! start of the next bin.
//!
//! If there are many bins and neighboring entries are scattered over them, entries are first put into ranges of bins
//! (`binned.rs`).
//!
//! The loops are in two files. If coordinates have 32 bits and keys at most 64, entries go from array to array in loops
//! for each size of values; if coordinates have 64 bits, in one loop for values of 64 bits (`direct.rs`). The other
//! entries, which are seldom met, go in blocks, in loops that values have no part in (`blocks.rs`).
//!
//! Paper: Gustavson, *Two Fast Algorithms for Sparse Matrices: Multiplication and Permuted Transposition* (TOMS 1978).

#![allow(unsafe_code)]

mod binned;
mod blocks;
mod direct;

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::array::Array;
use crate::buffer::Buffer;
use crate::dispatch::with_word;
use crate::error::AllocError;
use crate::moved::{Moved, Shared};
use crate::parallel;
use crate::runs::Runs;
use crate::sort::Key;

/// The number of entries that are worth a thread.
const GRAIN: usize = 1 << 14;
/// Values of 64 bits, as they are moved.
type Wide = [u32; 2];

/// The numbers that the levels above the innermost one add to bins or keys.
#[derive(Clone, Copy)]
pub enum Above<'a, T: Key> {
    /// There is one level, and it is dense: a parent position is its coordinate, each 1 of which adds so much.
    Numbered(T),
    /// By parent position; nothing, if that is missing.
    Stored(Option<&'a [T]>),
}

impl<T: Key> Above<'_, T> {
    /// The number that is added at a parent position.
    #[inline(always)]
    fn at(&self, parent: usize) -> T {
        match self {
            Above::Numbered(unit) => unit.times(parent as u64),
            Above::Stored(added) => added.map_or(T::ZERO, |added| added[parent]),
        }
    }

    /// True if nothing is added anywhere.
    fn is_none(&self) -> bool {
        match self {
            Above::Numbered(unit) => *unit == T::ZERO,
            Above::Stored(added) => added.is_none(),
        }
    }
}

/// The numbers that coordinates of levels add to bins, or keys.
#[derive(Clone, Copy)]
pub struct Parts<'a, T: Key> {
    /// The numbers that the levels above the innermost one add.
    pub above: Above<'a, T>,
    /// The number that the innermost level adds for each 1 of its coordinate; 0 if it adds nothing.
    pub innermost: T,
}

/// The entries of a tensor, or of a coordinate list, as they are to be sorted.
pub struct Entries<'a, R: Runs, K: Key> {
    /// The innermost level.
    pub runs: &'a R,
    /// The bins that they are sorted by.
    pub bins: Parts<'a, u32>,
    /// The coordinates that are needed of them besides.
    pub keys: Parts<'a, K>,
    /// One for each position; at most `u32::MAX`.
    pub values: &'a Buffer,
    /// True if values of which all bytes are zero only fill up, and are left out.
    pub padded: bool,
}

impl<R: Runs, K: Key> Entries<'_, R, K> {
    /// True if these are worth a loop for each size of values.
    const IS_FREQUENT: bool = R::FREQUENT && K::FREQUENT;

    /// True if coordinates are the bins, and the levels above alone tell the keys.
    fn is_separate(&self) -> bool {
        let are_bins = self.bins.above.is_none() && self.bins.innermost == 1;
        R::STORED && are_bins && self.keys.innermost == K::ZERO && !self.padded
    }

    /// Adds the entries of a task to the counts of its bins.
    fn count(&self, task: Task) {
        if const { Self::IS_FREQUENT && !R::STORED } && self.padded {
            with_word!(self.values.dtype(), V => direct::count::<R, K, V>(self, task));
        } else {
            blocks::count(self.runs, self.bins, self.padded.then_some(self.values), task);
        }
    }

    /// Puts the entries of a task each to the next place of its bin. `separate` says that they are
    /// [separate](Self::is_separate), that the task has all bins, and that each entry of the source has one of them.
    ///
    /// # Safety
    /// The task has the next places of its bins: starts of ranges of the target that are as long as [`Self::count`]
    /// counts for the same positions, and that nobody else touches. The promise of `separate` is kept.
    unsafe fn put(&self, task: Task, to: &Target<K>, separate: bool) {
        // SAFETY: passed on.
        unsafe {
            if const { !Self::IS_FREQUENT } {
                // 64 bits of everything are the one other case that is often met.
                let wide = const { R::STORED && K::FREQUENT } && self.values.dtype().size() == size_of::<Wide>();
                match (separate, wide) {
                    (true, true) => direct::put_separate::<R, K, Wide>(self, task, to),
                    (true, false) => blocks::put_separate(self, task, to),
                    (false, true) => direct::put::<R, K, Wide>(self, task, to),
                    (false, false) => blocks::put(self, task, to),
                }
            } else if separate && const { R::STORED } {
                with_word!(self.values.dtype(), V => direct::put_separate::<R, K, V>(self, task, to));
            } else {
                with_word!(self.values.dtype(), V => direct::put::<R, K, V>(self, task, to));
            }
        }
    }
}

/// Sorted entries.
pub struct Sorted<K: Key> {
    /// The start of each bin, and the number of entries.
    pub offsets: Array<u32>,
    /// The coordinates that are needed of the entries besides their bins.
    pub keys: Array<K>,
    /// Their values.
    pub values: Buffer,
}

/// A task: the positions it walks through, its first bin, and for each of its bins a count or the next place.
type Task<'a> = (Range<usize>, usize, &'a mut [u32]);

/// The division of the work: ranges of positions, each with counters for all bins, and ranges of bins.
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
pub fn sort<R: Runs, K: Key>(source: &Entries<R, K>, bins: usize, budget: u64) -> Result<Sorted<K>, AllocError> {
    if const { Entries::<R, K>::IS_FREQUENT && R::STORED } && binned::pays(source, bins) {
        return binned::sort(source, bins);
    }
    sort_at_once(source, bins, budget)
}

/// Sorts like [`sort`], in one step.
fn sort_at_once<R: Runs, K: Key>(source: &Entries<R, K>, bins: usize, budget: u64) -> Result<Sorted<K>, AllocError> {
    let shares = Shares::new(source.values.len(), bins, budget);
    let mut offsets = Array::<u32>::zeroed(bins + 1)?;
    let mut counters = Array::<u32>::zeroed(bins * (shares.positions - 1))?;
    parallel::each(shares.tasks(&mut counters, &mut offsets[1..]), |_, task| source.count(task));
    let total = starts(&mut counters, &mut offsets[1..]);
    let mut keys = Array::<MaybeUninit<K>>::uninitialized(total)?;
    // SAFETY: the ranges of all tasks and bins cover `0 .. total`, and each is filled.
    let values = unsafe { Moved::new(source.values, total)? };
    let to = Target { keys: Shared(keys.as_mut_ptr().cast()), values: &values };
    // If every entry was counted, it has a bin.
    let separate = source.is_separate() && shares.bins == 1 && total == source.values.len();
    parallel::each(shares.tasks(&mut counters, &mut offsets[1..]), |_, task| {
        // SAFETY: `starts` gave each bin of each task a range as long as the same task's count, below `total`, one
        // behind the other. A task has all bins where they are not divided.
        unsafe { source.put(task, &to, separate) };
    });
    // SAFETY: as for the values.
    let keys = unsafe { keys.assume_init() };
    Ok(Sorted { offsets, keys, values: values.into_buffer() })
}

/// The arrays that entries go to.
struct Target<'a, K> {
    keys: Shared<K>,
    values: &'a Moved<'a>,
}

/// Turns counts into the starts of ranges: bin after bin, and within a bin, share after share. `last` are the counts of
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
                let mut places = [0; BINS];
                for first in (0..width).step_by(BINS) {
                    let block = first..width.min(first + BINS);
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

/// The number of bins that [`starts`] takes through all shares at a time.
const BINS: usize = 64;
