//! The loops of the sort that keys and values go through together, compiled for each size of either: insertion, and counting by one
//! digit after the other.

#![allow(unsafe_code)]

use super::{DIGIT, Key};
use crate::array::Plain;

/// Sorts a few entries by the bits of the key from `low` up.
pub fn insert_sort<K: Key, V: Plain>(keys: &mut [K], values: &mut [V], low: u32) {
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

/// Sorts from the lowest digit up, to and fro between the entries and as much other memory, by bits `low .. high`.
pub fn sort_local<K: Key, V: Plain>(
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

/// Adds to `counts` how often each digit occurs.
pub fn count<K: Key>(keys: &[K], shift: u32, width: u32, counts: &mut [usize]) {
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
pub unsafe fn place<K: Key, V: Plain>(
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
