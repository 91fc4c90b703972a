//! A counting sort in two steps, for many bins that neighboring entries are scattered over: bins that do not fit the caches are
//! divided into ranges that do.
//!
//! Entries go to their range of bins first, through a buffer for each range that holds a few cache lines, so that whole lines are
//! written and few places are open at a time. Then each range is sorted by itself: its bins are near enough to be counted and put
//! at once.
//!
//! ```text
//! bins 0 .. 8 in two ranges     entries 5 0 6 1 2 7     ranges  0 1 2 | 5 6 7     then each range by its bins
//! ```
//!
//! The order within a bin is that of the source, as in the sort in one step: within a range, entries of each thread are in order,
//! and those of the threads one behind the other.
//!
//! On entry: as for the sort in one step. On exit: the same result. Besides it, there are the bins of all entries, 4 bytes each.
//!
//! Papers: Balkesen et al., *Main-Memory Hash Joins on Multi-Core CPUs: Tuning to the Underlying Hardware* (ICDE 2013), §V (partitioning
//! through buffers of cache lines); Schuhknecht, Khanchandani and Dittrich, *On the Surprising Difficulty of Simple Things: the Case of
//! Radix Partitioning* (VLDB 2015); Wang et al., *Parallel Transposition of Sparse Data Structures* (ICS 2016).

#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ops::Range;

use super::{Entries, GRAIN, Sorted, direct};
use crate::array::Array;
use crate::dispatch::with_word;
use crate::error::AllocError;
use crate::moved::{Moved, Shared};
use crate::parallel;
use crate::runs::Runs;
use crate::sort::Key;
use crate::words::Word;

/// With fewer bins, or fewer entries a bin, one step is faster wherever the entries are.
const BINS: usize = 1 << 18;
const DENSITY: usize = 4;
/// About how many ranges bins are divided into.
const RANGES: usize = 1 << 10;
/// Entries of a buffer: whole cache lines of each array.
const LINE: usize = 16;
/// The number of entries that are looked at together, and the number of such samples. They go to half of the ranges where they are
/// scattered, and to two thirds or more if bins are random.
const SAMPLE: usize = 1 << 10;
const SAMPLES: usize = 8;

/// True if two steps are faster: there are many bins, and neighboring entries are in all of them.
pub fn pays<R: Runs, K: Key>(source: &Entries<R, K>, bins: usize) -> bool {
    let len = source.values.len();
    if bins < BINS || len < DENSITY * bins || source.values.dtype().size() > size_of::<u64>() {
        return false;
    }
    let shift = shift(bins);
    let mut seen = vec![usize::MAX; ranges(bins, shift)];
    let mut found = 0;
    for sample in 0..SAMPLES {
        let start = (len - SAMPLE) / SAMPLES * sample;
        with_word!(source.values.dtype(), V => {
            let values = source.values.as_words::<V>();
            direct::each(source, values, start..start + SAMPLE, |bin, _, _| {
                found += usize::from(std::mem::replace(&mut seen[bin >> shift], sample) != sample);
            });
        });
    }
    2 * found >= seen.len() * SAMPLES
}

/// The bits of a bin's number within its range.
fn shift(bins: usize) -> u32 {
    bins.div_ceil(RANGES).next_power_of_two().trailing_zeros()
}

/// The number of ranges.
fn ranges(bins: usize, shift: u32) -> usize {
    ((bins - 1) >> shift) + 1
}

/// Sorts the entries of a tensor by bin, of which there are `bins`.
///
/// # Errors
/// The system refused the memory.
pub fn sort<R: Runs, K: Key>(source: &Entries<R, K>, bins: usize) -> Result<Sorted<K>, AllocError> {
    with_word!(source.values.dtype(), V => sort_words::<R, K, V>(source, bins))
}

fn sort_words<R: Runs, K: Key, V: Word>(source: &Entries<R, K>, bins: usize) -> Result<Sorted<K>, AllocError> {
    let shift = shift(bins);
    let ranges = ranges(bins, shift);
    let threads = parallel::parts(source.values.len(), GRAIN);
    let len = source.values.len();
    let positions = |thread: usize| len * thread / threads..len * (thread + 1) / threads;
    let from = source.values.as_words::<V>();
    let mut counts = parallel::map(0..threads, |_, thread| {
        let mut counts = vec![0u32; ranges];
        direct::each(source, from, positions(thread), |bin, _, _| counts[bin >> shift] += 1);
        counts
    });
    let starts = starts(&mut counts, ranges);
    let total = starts[ranges] as usize;
    let mut offsets = Array::<u32>::zeroed(bins + 1)?;
    let mut numbers = Array::<MaybeUninit<u32>>::uninitialized(total)?;
    let mut keys = Array::<MaybeUninit<K>>::uninitialized(total)?;
    // SAFETY: every thread puts all that it has counted, so that `0 .. total` is filled.
    let values = unsafe { Moved::new(source.values, total)? };
    let places = Places {
        bins: Shared(numbers.as_mut_ptr().cast()),
        keys: Shared(keys.as_mut_ptr().cast()),
        values: Shared(values.words::<V>().1),
    };
    parallel::each(counts, |thread, next| {
        let mut buffers = Buffers::<K, V>::new(next);
        direct::each(source, from, positions(thread), |bin, key, value| {
            // SAFETY: the places of a range that a thread counted are its own, and as many as it puts.
            unsafe { buffers.put(bin >> shift, (bin as u32, key, value), &places) };
        });
        // SAFETY: as above.
        unsafe { buffers.flush(&places) };
    });
    let tasks = offsets[1..].chunks_mut(1 << shift).enumerate();
    parallel::each(tasks, |_, (range, ends)| {
        // SAFETY: the range's places are filled, and nobody else touches them.
        unsafe { sort_range(starts[range] as usize..starts[range + 1] as usize, (range << shift, ends), &places) };
    });
    // SAFETY: as for the values.
    let keys = unsafe { keys.assume_init() };
    Ok(Sorted { offsets, keys, values: values.into_buffer() })
}

/// Turns the counts of threads into the starts of their places, range after range; gives the starts of ranges, and the number of all.
fn starts(counts: &mut [Vec<u32>], ranges: usize) -> Vec<u32> {
    let mut starts = Vec::with_capacity(ranges + 1);
    let mut next = 0;
    for range in 0..ranges {
        starts.push(next);
        for thread in counts.iter_mut() {
            next += std::mem::replace(&mut thread[range], next);
        }
    }
    starts.push(next);
    starts
}

/// The arrays of entries that are in their ranges.
struct Places<K, V> {
    bins: Shared<u32>,
    keys: Shared<K>,
    values: Shared<V>,
}

/// The entries of a cache line or a few of a range, not yet written.
struct Line<K, V> {
    bins: [u32; LINE],
    keys: [K; LINE],
    values: [V; LINE],
}

/// A thread's buffers, one a range.
struct Buffers<K, V> {
    lines: Vec<Line<K, V>>,
    /// The first place of each range that is not written, and the place of the next entry.
    written: Vec<u32>,
    next: Vec<u32>,
}

impl<K: Key, V: Word> Buffers<K, V> {
    /// Empty buffers, given the first place of each range.
    fn new(next: Vec<u32>) -> Buffers<K, V> {
        let empty = || Line { bins: [0; LINE], keys: [K::ZERO; LINE], values: [V::default(); LINE] };
        Buffers { lines: next.iter().map(|_| empty()).collect(), written: next.clone(), next }
    }

    /// Puts an entry to the next place of a range.
    ///
    /// # Safety
    /// The place is in the arrays, and nobody else's.
    #[inline(always)]
    unsafe fn put(&mut self, range: usize, (bin, key, value): (u32, K, V), places: &Places<K, V>) {
        let place = self.next[range];
        let at = place as usize % LINE;
        let line = &mut self.lines[range];
        (line.bins[at], line.keys[at], line.values[at]) = (bin, key, value);
        self.next[range] = place + 1;
        if at == LINE - 1 {
            // SAFETY: by the caller's promise.
            unsafe { self.write(range, places) };
        }
    }

    /// Writes the contents of the buffers.
    ///
    /// # Safety
    /// As for [`Buffers::put`].
    unsafe fn flush(&mut self, places: &Places<K, V>) {
        for range in 0..self.next.len() {
            // SAFETY: by the caller's promise.
            unsafe { self.write(range, places) };
        }
    }

    /// Writes the contents of the buffer of a range, which lies in one line.
    ///
    /// # Safety
    /// As for [`Buffers::put`].
    #[inline(always)]
    unsafe fn write(&mut self, range: usize, places: &Places<K, V>) {
        let (from, end) = (self.written[range] as usize, self.next[range] as usize);
        let (line, at, count) = (&self.lines[range], from % LINE, end - from);
        // SAFETY: by the caller's promise, the places `from .. end` are this thread's; they are in the line from `at` on.
        unsafe {
            places.bins.get().add(from).copy_from_nonoverlapping(line.bins[at..at + count].as_ptr(), count);
            places.keys.get().add(from).copy_from_nonoverlapping(line.keys[at..at + count].as_ptr(), count);
            places.values.get().add(from).copy_from_nonoverlapping(line.values[at..at + count].as_ptr(), count);
        }
        self.written[range] = end as u32;
    }
}

/// Sorts the entries of a range by their bins, of which the first has a number, and gives each bin's end.
///
/// # Safety
/// The places of the range are filled, and nobody else touches them.
unsafe fn sort_range<K: Key, V: Word>(range: Range<usize>, (first, ends): (usize, &mut [u32]), places: &Places<K, V>) {
    let (len, start) = (range.len(), range.start);
    // SAFETY: by the caller's promise; the slice of bins is not written to.
    let (bins, keys, values) = unsafe {
        (
            std::slice::from_raw_parts(places.bins.get().add(start), len),
            std::slice::from_raw_parts_mut(places.keys.get().add(start), len),
            std::slice::from_raw_parts_mut(places.values.get().add(start), len),
        )
    };
    let (from_keys, from_values) = (keys.to_vec(), values.to_vec());
    bins.iter().for_each(|bin| ends[*bin as usize - first] += 1);
    let mut next = start as u32;
    for end in ends.iter_mut() {
        next += std::mem::replace(end, next);
    }
    for ((bin, key), value) in bins.iter().zip(&from_keys).zip(&from_values) {
        let place = &mut ends[*bin as usize - first];
        (keys[*place as usize - start], values[*place as usize - start]) = (*key, *value);
        *place += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Above, Parts, sort_at_once};
    use super::*;
    use crate::coo::{Coo, Coordinates};
    use crate::pool::with_threads;
    use crate::runs::{AnyRuns, with_runs};
    use crate::tensor::Tensor;
    use crate::values::Values;
    use lacunar_formats::Format;

    /// A matrix with so many entries in each row, in columns that this gives.
    fn matrix([rows, columns]: [u64; 2], each: u64, mut column: impl FnMut(u64) -> u64) -> Tensor {
        let mut entries: Vec<(u32, u32)> =
            (0..rows * each).map(|k| ((k / each) as u32, (column(k) % columns) as u32)).collect();
        entries.sort_unstable();
        entries.dedup();
        let (i, j): (Vec<u32>, Vec<u32>) = entries.into_iter().unzip();
        let values = Values::F64((0..i.len()).map(|k| k as f64).collect());
        let coords = vec![Coordinates::U32(i), Coordinates::U32(j)];
        Tensor::from_coo(Coo { dims: vec![rows, columns], coords, values }, &Format::csr()).expect("a matrix")
    }

    fn random() -> impl FnMut(u64) -> u64 {
        let mut state = 1u64;
        move |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        }
    }

    /// Calls `$work` with the entries of a matrix in rows, to be sorted by columns.
    macro_rules! with_entries {
        ($source:expr, $entries:ident => $work:expr) => {{
            let source = $source;
            let runs = AnyRuns::of(&source.levels()[1], None).expect("rows");
            with_runs!(&runs, runs => {
                let bins = Parts { above: Above::Numbered(0), innermost: 1 };
                let keys = Parts { above: Above::Numbered(1u32), innermost: 0 };
                let $entries = &Entries { runs, bins, keys, values: source.values(), padded: false };
                $work
            })
        }};
    }

    #[test]
    fn two_steps_do_what_one_does() {
        let columns = 300_000;
        let source = &matrix([70_000, columns], 18, random());
        with_entries!(source, entries => {
            assert!(pays(entries, columns as usize));
            let one = sort_at_once(entries, columns as usize, source.bytes()).expect("memory");
            for threads in [1, 3] {
                let two = with_threads(threads, || sort(entries, columns as usize)).expect("memory");
                assert!(one.offsets[..] == two.offsets[..] && one.keys[..] == two.keys[..] && one.values == two.values);
            }
        });
        let turned = source.convert(&Format::csc()).expect("its columns");
        assert_eq!(turned.convert(&Format::csr()).expect("its rows"), *source);
    }

    #[test]
    fn one_step_is_for_neighbors_and_for_few_bins() {
        let near = &matrix([300_000, 300_000], 5, |k| k / 5 + [0, 1, 2, 500, 1000][k as usize % 5]);
        with_entries!(near, entries => assert!(!pays(entries, 300_000)));
        let few = &matrix([70_000, 200_000], 18, random());
        with_entries!(few, entries => assert!(!pays(entries, 200_000)));
        let empty = &matrix([3, 3], 0, random());
        with_entries!(empty, entries => assert!(!pays(entries, 3)));
    }
}
