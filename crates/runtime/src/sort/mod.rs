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

mod key;
mod local;

use std::sync::{Mutex, PoisonError};

use lacunar_formats::DType;

use crate::array::Array;
use crate::buffer::Buffer;
use crate::dispatch::with_word;
use crate::error::AllocError;
use crate::moved::Shared;
use crate::parallel::{self, GRAIN};
use crate::span::Span;
pub use key::Key;
use local::{count, insert_sort, place, sort_local};

/// The order of the keys, from one pass over them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan<K> {
    /// True if keys never descend.
    pub sorted: bool,
    /// True if a key equals the one before it. This finds all repeats only if the keys are sorted.
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
pub fn sort<K: Key>(keys: Array<K>, values: &Buffer, low: u32, varying: K) -> Result<(Array<K>, Buffer), AllocError> {
    let high = varying.width();
    let width = digit_width(keys.len(), low, high);
    if keys.len() <= LOCAL || width == 0 {
        let mut keys = keys;
        let mut sorted = values.deep_copy()?;
        if high > low {
            sort_in_place(&mut keys, Span::of(&mut sorted), low, high, &mut Scratch::default())?;
        }
        return Ok((keys, sorted));
    }
    let mut sorted_keys = Array::zeroed(keys.len())?;
    let mut sorted = Buffer::zeroed(values.dtype(), keys.len() as u64)?;
    let buckets = scatter((&keys, values), (&mut sorted_keys, Span::of(&mut sorted)), high - width, width)?;
    drop(keys);
    sort_buckets(&mut sorted_keys, Span::of(&mut sorted), &buckets, low, high - width)?;
    Ok((sorted_keys, sorted))
}

/// Up to this many entries are sorted within the cache, by one thread.
const LOCAL: usize = 1 << 14;
/// Up to this many entries are sorted by insertion.
const TINY: usize = 24;
/// The widest digit: a bucket's next free place for each digit must fit the first-level cache.
const DIGIT: u32 = 11;

/// Memory of one thread for sorting buckets: it grows to the largest bucket.
struct Scratch<K: Key> {
    keys: Option<Array<K>>,
    values: Option<Buffer>,
    counts: Vec<usize>,
}

impl<K: Key> Default for Scratch<K> {
    fn default() -> Self {
        Scratch { keys: None, values: None, counts: Vec::new() }
    }
}

impl<K: Key> Scratch<K> {
    /// Memory for `len` entries with values of a type.
    fn reserve(&mut self, len: usize, dtype: DType) -> Result<(), AllocError> {
        if self.keys.as_ref().is_none_or(|keys| keys.len() < len) {
            self.keys = Some(Array::zeroed(len.max(1024))?);
        }
        if self.values.as_ref().is_none_or(|values| values.len() < len) {
            self.values = Some(Buffer::zeroed(dtype, len.max(1024) as u64)?);
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
fn sort_buckets<K: Key>(keys: &mut [K], values: Span, ends: &[usize], low: u32, high: u32) -> Result<(), AllocError> {
    if high <= low {
        return Ok(());
    }
    let mut buckets = Vec::with_capacity(ends.len());
    let (mut keys, mut values, mut start) = (keys, values, 0);
    for &end in ends {
        let (bucket_keys, rest_keys) = keys.split_at_mut(end - start);
        let (bucket_values, rest_values) = values.split_at(end - start);
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
fn sort_in_place<K: Key>(
    keys: &mut [K],
    mut values: Span,
    low: u32,
    high: u32,
    scratch: &mut Scratch<K>,
) -> Result<(), AllocError> {
    let (len, dtype) = (keys.len(), values.dtype());
    if len <= TINY {
        with_word!(dtype, V => insert_sort(keys, values.words::<V>(), low));
        return Ok(());
    }
    if len <= LOCAL {
        scratch.reserve(len, dtype)?;
        if let Scratch { keys: Some(other_keys), values: Some(other), counts } = scratch {
            with_word!(dtype, V => {
                let other = Span::of(other).split_at(len).0.into_words::<V>();
                sort_local((keys, values.words::<V>()), (&mut other_keys[..len], other), counts, low, high);
            });
        }
        return Ok(());
    }
    let width = digit_width(len, low, high);
    let (from_keys, from) = (Array::copy_of(keys)?, values.copied()?);
    let ends = scatter((&from_keys, &from), (keys, values.again()), high - width, width)?;
    drop((from_keys, from));
    sort_buckets(keys, values, &ends, low, high - width)
}

/// Sorts the entries of each bin, where they are not sorted already, by the bits of the key below `high`. `offsets` are
/// where bins start, with the number of entries at the end. Returns whether a bin has a key more than once.
///
/// # Errors
/// The system refused the memory.
pub fn sort_bins<K: Key>(keys: &mut [K], values: &mut Buffer, offsets: &[u32], high: u32) -> Result<bool, AllocError> {
    // Ranges of bins that hold about equally many entries.
    let parts = parallel::parts(keys.len(), GRAIN) * 4;
    let (mut ranges, mut rest_keys, mut begin) = (Vec::with_capacity(parts), keys, 0);
    let mut rest_values = Span::of(values);
    for part in 1..=parts {
        let wanted = rest_keys.len() / (parts - part + 1) + offsets[begin] as usize;
        let end = match part == parts {
            true => offsets.len() - 1,
            false => begin + offsets[begin..offsets.len() - 1].partition_point(|&start| (start as usize) < wanted),
        };
        let len = (offsets[end] - offsets[begin]) as usize;
        let (range_keys, other_keys) = rest_keys.split_at_mut(len);
        let (range_values, other_values) = rest_values.split_at(len);
        ranges.push((range_keys, range_values, &offsets[begin..=end]));
        (rest_keys, rest_values, begin) = (other_keys, other_values, end);
    }
    let repeats = parallel::map(ranges, |_, (keys, values, offsets)| {
        let (mut scratch, mut repeats, mut rest) = (Scratch::default(), false, values);
        for bin in offsets.windows(2) {
            let range = (bin[0] - offsets[0]) as usize..(bin[1] - offsets[0]) as usize;
            let (values, behind) = rest.split_at(range.len());
            rest = behind;
            let own = &mut keys[range];
            if !own.is_sorted_by(|a, b| a < b) {
                if !own.is_sorted() {
                    sort_in_place(own, values, 0, high, &mut scratch)?;
                }
                repeats |= own.windows(2).any(|pair| pair[0] == pair[1]);
            }
        }
        Ok(repeats)
    });
    repeats.into_iter().try_fold(false, |any, repeats| Ok(any | repeats?))
}

/// Moves all entries to the bucket of their digit, and returns where each bucket ends.
fn scatter<K: Key>(
    (keys, values): (&[K], &Buffer),
    (to_keys, to_values): (&mut [K], Span),
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
    let (to_keys, dtype) = (Shared(to_keys.as_mut_ptr()), values.dtype());
    let to_values = Shared(to_values.as_mut_ptr());
    parallel::each(counts.chunks_mut(buckets).zip(keys.chunks(grain)), |part, (next, keys)| {
        with_word!(dtype, V => {
            let from = &values.as_words::<V>()[part * grain..];
            // SAFETY: the ranges of all parts and digits are disjoint, each as long as its count, together `len`.
            unsafe { place((keys, from), to_keys.get(), to_values.get().cast::<V>(), shift, width, next) };
        });
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
        let values = Buffer::from_vec(values);
        let result = scan(keys, low);
        assert_eq!(result.sorted, keys.is_sorted_by_key(|key| key.above(low)));
        let (keys, values) = sort(Array::copy_of(keys).unwrap(), &values, low, result.varying).unwrap();
        let values = values.as_slice::<u32>().unwrap();
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
