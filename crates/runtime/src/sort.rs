//! Stable radix sort of keys with values, on all threads: the heart of packing and conversion.
//!
//! The coordinates of an entry are packed into one integer (see [`crate::keys`]), so sorting entries is sorting
//! integers. The largest digit comes first (MSD): one pass scatters all entries into up to 2,048 buckets by the
//! highest bits that differ at all. Buckets are independent, so threads share them; one that fits the second-level
//! cache is finished there from the lowest digit up (LSD), and one that does not is split again. Values travel with
//! their keys: a gather at the end would miss the cache once per entry.
//!
//! Every pass is stable, so equal keys keep their order and a sum of duplicates does not depend on the number of
//! threads.
//!
//! Example, digits of one decimal: keys 31 12 30 11 are scattered to `12 11 | 31 30`; each bucket is then sorted by the
//! last digit: `11 12 | 30 31`.

#![allow(unsafe_code)]

use std::sync::{Mutex, PoisonError};

use crate::array::{Array, Plain};
use crate::error::AllocError;
use crate::parallel::{self, GRAIN};

/// An integer that holds the packed coordinates of an entry.
pub trait Key: Plain + Ord + std::fmt::Debug {
    /// Zero.
    const ZERO: Self;
    /// The lowest bits of `self >> shift`, as many as `mask` has ones.
    fn digit(self, shift: u32, mask: u64) -> u64;
    /// `self`, with the bits of `coordinate` put in at `shift`.
    fn with(self, coordinate: u64, shift: u32) -> Self;
    /// `self >> shift`; 0 if nothing is left.
    fn above(self, shift: u32) -> Self;
    /// The bits that differ.
    fn difference(self, other: Self) -> Self;
    /// The bits that are set in either.
    fn union(self, other: Self) -> Self;
    /// The number of bits up to the highest that is set.
    fn width(self) -> u32;
    /// The sum, which wraps.
    fn plus(self, other: Self) -> Self;
    /// The product, which wraps.
    fn times(self, number: u64) -> Self;
    /// What added to `self` gives 0.
    fn negative(self) -> Self;
}

macro_rules! keys {
    ($($ty:ty),*) => { $(
        impl Key for $ty {
            const ZERO: $ty = 0;
            #[inline(always)]
            fn digit(self, shift: u32, mask: u64) -> u64 {
                (self >> shift) as u64 & mask
            }
            #[inline(always)]
            fn with(self, coordinate: u64, shift: u32) -> Self {
                self | (coordinate as $ty) << shift
            }
            #[inline(always)]
            fn above(self, shift: u32) -> Self {
                self.checked_shr(shift).unwrap_or(0)
            }
            #[inline(always)]
            fn difference(self, other: Self) -> Self {
                self ^ other
            }
            #[inline(always)]
            fn union(self, other: Self) -> Self {
                self | other
            }
            fn width(self) -> u32 {
                <$ty>::BITS - self.leading_zeros()
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn times(self, number: u64) -> Self {
                self.wrapping_mul(number as $ty)
            }
            #[inline(always)]
            fn negative(self) -> Self {
                self.wrapping_neg()
            }
        }
    )* };
}
keys!(u32, u64, u128);

/// How the keys are ordered, from one pass over them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan<K> {
    /// Keys never descend.
    pub sorted: bool,
    /// A key equals the one before it. Says all only if the keys are sorted.
    pub repeats: bool,
    /// The bits in which keys differ.
    pub varying: K,
}

/// Looks at every pair of neighbours, ignoring the lowest `low` bits for the order.
pub fn scan<K: Key>(keys: &[K], low: u32) -> Scan<K> {
    let Some(&first) = keys.first() else { return Scan { sorted: true, repeats: false, varying: K::ZERO } };
    let part = |start: usize, chunk: &[K]| {
        let mut previous = if start == 0 { None } else { Some(keys[start - 1]) };
        let mut result = Scan { sorted: true, repeats: false, varying: K::ZERO };
        for &key in chunk {
            if let Some(previous) = previous {
                result.sorted &= previous.above(low) <= key.above(low);
                result.repeats |= previous == key;
            }
            result.varying = result.varying.union(key.difference(first));
            previous = Some(key);
        }
        result
    };
    let join = |a: Scan<K>, b: Scan<K>| Scan {
        sorted: a.sorted && b.sorted,
        repeats: a.repeats || b.repeats,
        varying: a.varying.union(b.varying),
    };
    let start = Scan { sorted: true, repeats: false, varying: K::ZERO };
    parallel::map(keys.chunks(GRAIN), |c, chunk| part(c * GRAIN, chunk)).into_iter().fold(start, join)
}

/// Sorts keys with their values, stably, by the bits of the key from `low` up; `varying` are the bits in which keys
/// differ (from [`scan`]).
///
/// # Errors
/// The system refused the memory.
pub fn sort<K: Key, V: Plain>(
    keys: Array<K>,
    values: &[V],
    low: u32,
    varying: K,
) -> Result<(Array<K>, Array<V>), AllocError> {
    let high = varying.width();
    let width = digit_width(keys.len(), low, high);
    if keys.len() <= LOCAL || width == 0 {
        let mut keys = keys;
        let mut sorted = Array::copy_of(values)?;
        if high > low {
            sort_in_place(&mut keys, &mut sorted, low, high, &mut Scratch::default())?;
        }
        return Ok((keys, sorted));
    }
    let mut sorted_keys = Array::zeroed(keys.len())?;
    let mut sorted_values = Array::zeroed(keys.len())?;
    let buckets = scatter((&keys, values), (&mut sorted_keys, &mut sorted_values), high - width, width)?;
    drop(keys);
    sort_buckets(&mut sorted_keys, &mut sorted_values, &buckets, low, high - width)?;
    Ok((sorted_keys, sorted_values))
}

/// Up to this many entries are sorted within the cache, by one thread.
const LOCAL: usize = 1 << 14;
/// Up to this many entries are sorted by insertion.
const TINY: usize = 24;
/// The widest digit: a bucket's next free place for each digit must fit the first-level cache.
const DIGIT: u32 = 11;

/// Memory of one thread for sorting buckets: it grows to the largest bucket.
struct Scratch<K: Key, V: Plain> {
    keys: Option<Array<K>>,
    values: Option<Array<V>>,
    counts: Vec<usize>,
}

impl<K: Key, V: Plain> Default for Scratch<K, V> {
    fn default() -> Self {
        Scratch { keys: None, values: None, counts: Vec::new() }
    }
}

impl<K: Key, V: Plain> Scratch<K, V> {
    /// Memory for `len` entries.
    fn reserve(&mut self, len: usize) -> Result<(), AllocError> {
        if self.keys.as_ref().is_none_or(|keys| keys.len() < len) {
            self.keys = Some(Array::zeroed(len.max(1024))?);
        }
        if self.values.as_ref().is_none_or(|values| values.len() < len) {
            self.values = Some(Array::zeroed(len.max(1024))?);
        }
        Ok(())
    }
}

/// The width of the first digit for `len` keys that differ in bits `low .. high`: buckets come out near half of
/// [`LOCAL`].
fn digit_width(len: usize, low: u32, high: u32) -> u32 {
    let wanted = (len / (LOCAL / 2)).max(2).ilog2() + 1;
    wanted.min(DIGIT).min(high.saturating_sub(low))
}

/// Sorts consecutive buckets, each by bits `low .. high`. `ends` are where the buckets end.
fn sort_buckets<K: Key, V: Plain>(
    keys: &mut [K],
    values: &mut [V],
    ends: &[usize],
    low: u32,
    high: u32,
) -> Result<(), AllocError> {
    if high <= low {
        return Ok(());
    }
    let mut buckets = Vec::with_capacity(ends.len());
    let (mut keys, mut values, mut start) = (keys, values, 0);
    for &end in ends {
        let (bucket_keys, rest_keys) = keys.split_at_mut(end - start);
        let (bucket_values, rest_values) = values.split_at_mut(end - start);
        if bucket_keys.len() > 1 {
            buckets.push((bucket_keys, bucket_values));
        }
        (keys, values, start) = (rest_keys, rest_values, end);
    }
    // As many as there are threads at work; a bucket takes whichever is free.
    let scratches = Mutex::new(Vec::new());
    let free = || scratches.lock().unwrap_or_else(PoisonError::into_inner);
    let sorted = parallel::map(buckets, |_, (keys, values)| {
        let mut scratch = free().pop().unwrap_or_default();
        let sorted = sort_in_place(keys, values, low, high, &mut scratch);
        free().push(scratch);
        sorted
    });
    sorted.into_iter().collect()
}

/// Sorts by bits `low .. high`; all higher bits are equal.
fn sort_in_place<K: Key, V: Plain>(
    keys: &mut [K],
    values: &mut [V],
    low: u32,
    high: u32,
    scratch: &mut Scratch<K, V>,
) -> Result<(), AllocError> {
    if keys.len() <= TINY {
        insert_sort(keys, values, low);
        return Ok(());
    }
    if keys.len() <= LOCAL {
        scratch.reserve(keys.len())?;
        if let Scratch { keys: Some(other_keys), values: Some(other_values), counts } = scratch {
            let len = keys.len();
            sort_local((keys, values), (&mut other_keys[..len], &mut other_values[..len]), counts, low, high);
        }
        return Ok(());
    }
    let width = digit_width(keys.len(), low, high);
    let ends = {
        let mut split_keys = Array::zeroed(keys.len())?;
        let mut split_values = Array::zeroed(keys.len())?;
        let ends = scatter((keys, values), (&mut split_keys, &mut split_values), high - width, width)?;
        parallel::copy(&split_keys, keys);
        parallel::copy(&split_values, values);
        ends
    };
    sort_buckets(keys, values, &ends, low, high - width)
}

/// Sorts the entries of each bin, where they are not sorted already, by the bits of the key below `high`. `offsets` are
/// where bins start, with the number of entries at the end. Returns whether a bin has a key more than once.
///
/// # Errors
/// The system refused the memory.
pub fn sort_bins<K: Key, V: Plain>(
    keys: &mut [K],
    values: &mut [V],
    offsets: &[u32],
    high: u32,
) -> Result<bool, AllocError> {
    // Ranges of bins that hold about equally many entries.
    let parts = parallel::parts(keys.len(), GRAIN) * 4;
    let (mut ranges, mut rest_keys, mut rest_values, mut begin) = (Vec::with_capacity(parts), keys, values, 0);
    for part in 1..=parts {
        let wanted = rest_keys.len() / (parts - part + 1) + offsets[begin] as usize;
        let end = match part == parts {
            true => offsets.len() - 1,
            false => begin + offsets[begin..offsets.len() - 1].partition_point(|&start| (start as usize) < wanted),
        };
        let len = (offsets[end] - offsets[begin]) as usize;
        let (range_keys, other_keys) = rest_keys.split_at_mut(len);
        let (range_values, other_values) = rest_values.split_at_mut(len);
        ranges.push((range_keys, range_values, &offsets[begin..=end]));
        (rest_keys, rest_values, begin) = (other_keys, other_values, end);
    }
    let repeats = parallel::map(ranges, |_, (keys, values, offsets)| {
        let (mut scratch, mut repeats) = (Scratch::default(), false);
        for bin in offsets.windows(2) {
            let range = (bin[0] - offsets[0]) as usize..(bin[1] - offsets[0]) as usize;
            let (keys, values) = (&mut keys[range.clone()], &mut values[range]);
            if !keys.is_sorted_by(|a, b| a < b) {
                if !keys.is_sorted() {
                    sort_in_place(keys, values, 0, high, &mut scratch)?;
                }
                repeats |= keys.windows(2).any(|pair| pair[0] == pair[1]);
            }
        }
        Ok(repeats)
    });
    repeats.into_iter().try_fold(false, |any, repeats| Ok(any | repeats?))
}

fn insert_sort<K: Key, V: Plain>(keys: &mut [K], values: &mut [V], low: u32) {
    for end in 1..keys.len() {
        let (key, value) = (keys[end], values[end]);
        let mut place = end;
        while place > 0 && keys[place - 1].above(low) > key.above(low) {
            keys[place] = keys[place - 1];
            values[place] = values[place - 1];
            place -= 1;
        }
        keys[place] = key;
        values[place] = value;
    }
}

/// Sorts from the lowest digit up, to and fro between the entries and as much other memory.
fn sort_local<K: Key, V: Plain>(
    (keys, values): (&mut [K], &mut [V]),
    (other_keys, other_values): (&mut [K], &mut [V]),
    counts: &mut Vec<usize>,
    low: u32,
    high: u32,
) {
    let widest = (keys.len().ilog2() - 1).clamp(4, DIGIT);
    let passes = (high - low).div_ceil(widest);
    let width = (high - low).div_ceil(passes.max(1));
    let mut from = (&mut *keys, &mut *values);
    let mut to = (other_keys, other_values);
    let mut shift = low;
    let mut swapped = false;
    while shift < high {
        let width = width.min(high - shift);
        counts.clear();
        counts.resize(1 << width, 0);
        count(from.0, shift, width, counts);
        if !counts.contains(&from.0.len()) {
            starts(counts);
            // SAFETY: `starts` gave each digit a range as long as its count in `from`, and ranges are disjoint.
            unsafe { place((from.0, from.1), to.0.as_mut_ptr(), to.1.as_mut_ptr(), shift, width, counts) };
            std::mem::swap(&mut from, &mut to);
            swapped = !swapped;
        }
        shift += width;
    }
    if swapped {
        to.0.copy_from_slice(from.0);
        to.1.copy_from_slice(from.1);
    }
}

fn count<K: Key>(keys: &[K], shift: u32, width: u32, counts: &mut [usize]) {
    let mask = (1u64 << width) - 1;
    for &key in keys {
        counts[key.digit(shift, mask) as usize] += 1;
    }
}

/// Turns counts into where each digit's range starts.
fn starts(counts: &mut [usize]) {
    let mut sum = 0;
    for count in counts {
        sum += std::mem::replace(count, sum);
    }
}

/// Puts every entry at the next place of its digit.
///
/// # Safety
/// For every digit, `next` is the start of a range of the target that is as long as the digit occurs in `keys`, and
/// nobody else touches these ranges. `next` has `1 << width` elements.
unsafe fn place<K: Key, V: Plain>(
    (keys, values): (&[K], &[V]),
    to_keys: *mut K,
    to_values: *mut V,
    shift: u32,
    width: u32,
    next: &mut [usize],
) {
    let mask = (1u64 << width) - 1;
    for (&key, &value) in keys.iter().zip(values) {
        // SAFETY: a digit is below `1 << width`, and its range has room by the caller's promise.
        unsafe {
            let place = next.get_unchecked_mut(key.digit(shift, mask) as usize);
            to_keys.add(*place).write(key);
            to_values.add(*place).write(value);
            *place += 1;
        }
    }
}

/// A pointer that threads share; each writes to places of its own.
pub(crate) struct Shared<T>(pub(crate) *mut T);
// SAFETY: the pointer alone does nothing, and who writes through it answers for the places being disjoint.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// The pointer.
    pub(crate) fn get(&self) -> *mut T {
        self.0
    }
}

/// Moves all entries to the bucket of their digit, and returns where each bucket ends.
fn scatter<K: Key, V: Plain>(
    (keys, values): (&[K], &[V]),
    (to_keys, to_values): (&mut [K], &mut [V]),
    shift: u32,
    width: u32,
) -> Result<Vec<usize>, AllocError> {
    let len = keys.len();
    assert!(values.len() == len && to_keys.len() == len && to_values.len() == len, "arrays of one length");
    let buckets = 1usize << width;
    let grain = len.div_ceil(parallel::parts(len, GRAIN)).max(1);
    let mut counts = Array::<usize>::zeroed(buckets * len.div_ceil(grain))?;
    parallel::each(counts.chunks_mut(buckets).zip(keys.chunks(grain)), |_, (counts, keys)| {
        count(keys, shift, width, counts);
    });
    // Part after part within a bucket, bucket after bucket.
    let (mut ends, mut sum) = (Vec::with_capacity(buckets), 0);
    for bucket in 0..buckets {
        for part in counts.chunks_mut(buckets) {
            sum += std::mem::replace(&mut part[bucket], sum);
        }
        ends.push(sum);
    }
    let (to_keys, to_values) = (Shared(to_keys.as_mut_ptr()), Shared(to_values.as_mut_ptr()));
    let parts = keys.chunks(grain).zip(values.chunks(grain));
    parallel::each(counts.chunks_mut(buckets).zip(parts), |_, (next, part)| {
        // SAFETY: the ranges of all parts and digits are disjoint, each as long as its count, together `len`.
        unsafe { place(part, to_keys.get(), to_values.get(), shift, width, next) };
    });
    Ok(ends)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<K: Key>(keys: &[K], low: u32) {
        let values: Vec<u32> = (0..keys.len() as u32).collect();
        let mut expected: Vec<(K, u32)> = keys.iter().copied().zip(values.iter().copied()).collect();
        expected.sort_by_key(|&(key, _)| key.above(low));
        let result = scan(keys, low);
        assert_eq!(result.sorted, keys.is_sorted_by_key(|key| key.above(low)));
        let (keys, values) = sort(Array::copy_of(keys).unwrap(), &values, low, result.varying).unwrap();
        let found: Vec<(K, u32)> = keys.iter().copied().zip(values.iter().copied()).collect();
        assert_eq!(found, expected);
    }

    proptest! {
        #[test]
        fn sorts_as_std_does(
            keys in prop::collection::vec(any::<u128>(), 0..3000),
            bits in 0u32..=128,
            low in 0u32..40,
        ) {
            let mask = if bits == 128 { u128::MAX } else { (1 << bits) - 1 };
            let keys: Vec<u128> = keys.into_iter().map(|key| key & mask).collect();
            check(&keys, low);
            check(&keys.iter().map(|&key| key as u64).collect::<Vec<_>>(), low);
            check(&keys.iter().map(|&key| key as u32).collect::<Vec<_>>(), low.min(31));
        }
    }

    #[test]
    fn sorts_many_keys_skewed_or_not() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 20
        };
        let even: Vec<u64> = (0..300_000).map(|_| next()).collect();
        check(&even, 0);
        check(&even, 22);
        let skewed: Vec<u64> = even.iter().map(|&key| if key % 10 == 0 { key } else { key & 0xfffff }).collect();
        check(&skewed, 0);
        check(&vec![5u32; 200_000], 0);
    }
}
