//! Sorting for kernels: the coordinates of a workspace's row, and entries collected out of order.
//!
//! A kernel that scatters into a workspace keeps a list of the coordinates it touched, and a mark per coordinate.
//! [`sort_marked`] brings the list in order, by whichever of four ways is estimated cheapest:
//!
//! - insertion, for a few;
//! - reading the marks between the least and the greatest coordinate, 32 at a time, where the list is dense in them;
//! - setting one bit for each coordinate, and one for each word that has some, and reading these, where it is sparse;
//! - a radix sort of the list (or the standard library's sort, where there are too few to pay for counting), where it is
//!   so sparse that words which tell of words are mostly zero.
//!
//! A kernel that collects entries instead passes them to [`sort_combine`], which sorts and adds up like packing.

#![allow(unsafe_code)]

use std::cell::RefCell;
use std::cmp::Ordering;
use std::ptr::NonNull;
use std::sync::Arc;

use lacunar_formats::{DType, Format};

use crate::array::Array;
use crate::buffer::Buffer;
use crate::coo::{Coo, Coordinates};
use crate::dispatch::{with_element, with_word};
use crate::error::StorageError;
use crate::keys::{Access, Keyed, Layout};
use crate::pack::combine_repeats;
use crate::sort::{self, Key};
use crate::tensor::Tensor;
use crate::values::Element;
use crate::words::Word;

/// Lists up to this length are sorted by insertion.
const FEW: usize = 12;
/// Entries up to this number are sorted by insertion.
const FEW_ENTRIES: usize = 24;
/// Lists up to this length go to the standard library's sort rather than to counting.
const MEDIUM: usize = 300;
/// Marks that one step of a scan reads.
const STEP: usize = 32;

/// Sorts `list`, which holds each coordinate `k` with `marks[k] == 1` once; all other marks are 0.
pub fn sort_marked(list: &mut [i64], marks: &[u8]) {
    if list.len() <= FEW {
        insert_sort(list);
        return;
    }
    let (least, greatest) = list.iter().fold((i64::MAX, i64::MIN), |(low, high), &k| (low.min(k), high.max(k)));
    if let (Ok(from), Ok(to)) = (usize::try_from(least), usize::try_from(greatest))
        && to < marks.len()
        && scan_is_cheaper(list.len(), to - from)
    {
        return read_marks(list, &marks[from..=to], least);
    }
    let span = greatest.wrapping_sub(least).cast_unsigned();
    if bits_are_cheaper(list.len(), span) && bit_sort(list, least, span as usize) {
        return;
    }
    if list.len() <= MEDIUM {
        list.sort_unstable();
    } else {
        radix_sort(list, least, span);
    }
}

/// Sorting takes some 2 ns per coordinate more than reading it off its mark; a step over marks without any, 1 ns.
fn scan_is_cheaper(coordinates: usize, span: usize) -> bool {
    span / STEP < coordinates * 2
}

/// Setting and reading a bit takes some 3 ns; passing a word of words that are zero, a fraction of one.
fn bits_are_cheaper(coordinates: usize, span: u64) -> bool {
    span >> (2 * WORD_BITS) < 4 * coordinates as u64
}

fn insert_sort(list: &mut [i64]) {
    for end in 1..list.len() {
        let key = list[end];
        let mut place = end;
        while place > 0 && list[place - 1] > key {
            list[place] = list[place - 1];
            place -= 1;
        }
        list[place] = key;
    }
}

/// Fills the list with the coordinates of marks, in order; `first` is the coordinate of the first mark.
fn read_marks(list: &mut [i64], marks: &[u8], first: i64) {
    let mut slots = list.iter_mut();
    // One bit per mark; the lowest byte is the first mark.
    let mut take = |bytes: [u8; 8], base: i64| {
        let mut bits = u64::from_le_bytes(bytes) & 0x0101_0101_0101_0101;
        while bits != 0 {
            if let Some(slot) = slots.next() {
                *slot = base + i64::from(bits.trailing_zeros() / 8);
            }
            bits &= bits - 1;
        }
    };
    let (steps, _) = marks.as_chunks::<STEP>();
    let mut base = first;
    for step in steps {
        let (words, _) = step.as_chunks::<8>();
        if words.iter().fold(0, |any, &word| any | u64::from_le_bytes(word)) != 0 {
            for (word, offset) in words.iter().zip((0i64..).step_by(8)) {
                take(*word, base + offset);
            }
        }
        base += STEP as i64;
    }
    for (eight, offset) in marks[steps.len() * STEP..].chunks(8).zip((0i64..).step_by(8)) {
        let mut bytes = [0; 8];
        bytes[..eight.len()].copy_from_slice(eight);
        take(bytes, base + offset);
    }
}

/// The logarithm of the number of bits of a word.
const WORD_BITS: u32 = u64::BITS.trailing_zeros();

thread_local! {
    /// A bit for each coordinate, and one for each word of these that is not zero: all zero between two sorts.
    static BITS: RefCell<(Vec<u64>, Vec<u64>)> = const { RefCell::new((Vec::new(), Vec::new())) };
    /// The other half of a radix sort: kept, because rows are many and short.
    static OTHER: RefCell<Vec<i64>> = const { RefCell::new(Vec::new()) };
}

/// Sorts different numbers by setting a bit for each. `span` is the greatest number less the least. Returns true if there
/// was memory for it.
fn bit_sort(list: &mut [i64], least: i64, span: usize) -> bool {
    BITS.with_borrow_mut(|(words, groups)| {
        for (bits, len) in [(&mut *words, (span >> WORD_BITS) + 1), (&mut *groups, (span >> (2 * WORD_BITS)) + 1)] {
            if bits.try_reserve(len.saturating_sub(bits.len())).is_err() {
                return false;
            }
            bits.resize(bits.len().max(len), 0);
        }
        for &key in &*list {
            let place = key.wrapping_sub(least).cast_unsigned() as usize;
            words[place >> WORD_BITS] |= 1 << (place % 64);
            groups[place >> (2 * WORD_BITS)] |= 1 << ((place >> WORD_BITS) % 64);
        }
        let mut slots = list.iter_mut();
        for (group, bits) in groups[..=span >> (2 * WORD_BITS)].iter_mut().enumerate() {
            for word in Ones(std::mem::take(bits)) {
                let word = (group << WORD_BITS) + word;
                let base = least + ((word << WORD_BITS) as i64);
                for bit in Ones(std::mem::take(&mut words[word])) {
                    if let Some(slot) = slots.next() {
                        *slot = base + bit as i64;
                    }
                }
            }
        }
        true
    })
}

/// The places of the bits of a word, the lowest first.
struct Ones(u64);

impl Iterator for Ones {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let place = (self.0 != 0).then(|| self.0.trailing_zeros() as usize)?;
        self.0 &= self.0 - 1;
        Some(place)
    }
}

/// Sorts from the lowest digit up. `span` is the greatest number less the least.
fn radix_sort(list: &mut [i64], least: i64, span: u64) {
    let bits = u64::BITS - span.leading_zeros();
    let widest = list.len().ilog2().clamp(8, 11);
    let passes = bits.div_ceil(widest);
    if passes > list.len().ilog2() / 2 || u32::try_from(list.len()).is_err() {
        list.sort_unstable();
        return;
    }
    let width = bits.div_ceil(passes.max(1)).max(1);
    OTHER.with_borrow_mut(|other| {
        other.clear();
        if other.try_reserve(list.len()).is_err() {
            list.sort_unstable();
            return;
        }
        other.resize(list.len(), 0);
        let mut counts = [0u32; 1 << 11];
        let digit =
            |key: i64, shift: u32| (key.wrapping_sub(least).cast_unsigned() >> shift) as usize & ((1 << width) - 1);
        let (mut from, mut to) = (&mut list[..], &mut other[..]);
        let mut swapped = false;
        for pass in 0..passes {
            let shift = pass * width;
            let counts = &mut counts[..1 << width];
            counts.fill(0);
            from.iter().for_each(|&key| counts[digit(key, shift)] += 1);
            let mut sum = 0;
            for count in counts.iter_mut() {
                sum += std::mem::replace(count, sum);
            }
            for &key in from.iter() {
                let place = &mut counts[digit(key, shift)];
                to[*place as usize] = key;
                *place += 1;
            }
            std::mem::swap(&mut from, &mut to);
            swapped = !swapped;
        }
        if swapped {
            to.copy_from_slice(from);
        }
    });
}

/// Sorts entries lexicographically by their coordinate columns, and adds up the values of equal coordinates; the
/// columns and values then start with the remaining entries. Returns how many entries remain. On an error nothing has
/// changed.
///
/// # Errors
/// The system refused the memory.
pub(crate) fn sort_combine(columns: &mut [&mut [i64]], values: &mut Buffer) -> Result<usize, StorageError> {
    let len = values.len();
    if ascends(columns, len) {
        return Ok(len);
    }
    let least: Vec<i64> = columns.iter().map(|column| column.iter().copied().min().unwrap_or(0)).collect();
    let greatest = columns.iter().map(|column| column.iter().copied().max().unwrap_or(0));
    let sizes: Vec<u64> = least
        .iter()
        .zip(greatest)
        .map(|(&least, greatest)| greatest.wrapping_sub(least).cast_unsigned().saturating_add(1))
        .collect();
    let layout = Layout::new(&sizes);
    match layout.bits() {
        0..=32 => combine_keyed::<u32>(columns, values, &least, layout),
        33..=64 => combine_keyed::<u64>(columns, values, &least, layout),
        65..=128 => combine_keyed::<u128>(columns, values, &least, layout),
        _ => combine_columns(columns, values, &least, sizes),
    }
}

/// True if each entry's coordinates are greater than those of the one before.
fn ascends(columns: &[&mut [i64]], len: usize) -> bool {
    (1..len).all(|k| columns.iter().map(|c| c[k - 1].cmp(&c[k])).find(|o| o.is_ne()).is_some_and(|o| o.is_lt()))
}

/// The same for a few entries, which are sorted in place. Kernels sort many short rows, and allocating keys takes longer than sorting one.
fn combine_few<V: Copy>(columns: &mut [&mut [i64]], values: &mut [V], sum: impl Fn(V, V) -> V) -> usize {
    insert_entries(columns, values);
    let mut kept = 0;
    for k in 1..values.len() {
        if columns.iter().all(|column| column[k] == column[kept]) {
            values[kept] = sum(values[kept], values[k]);
        } else {
            kept += 1;
            columns.iter_mut().for_each(|column| column[kept] = column[k]);
            values[kept] = values[k];
        }
    }
    (kept + 1).min(values.len())
}

/// Sorts entries by insertion; those of equal coordinates stay in order.
fn insert_entries<T>(columns: &mut [&mut [i64]], values: &mut [T]) {
    let is_greater = |columns: &[&mut [i64]], a: usize, b: usize| {
        columns.iter().map(|column| column[a].cmp(&column[b])).find(|order| order.is_ne()).is_some_and(Ordering::is_gt)
    };
    for end in 1..values.len() {
        let place = (0..end).rfind(|&before| !is_greater(columns, before, end)).map_or(0, |before| before + 1);
        columns.iter_mut().for_each(|column| column[place..=end].rotate_right(1));
        values[place..=end].rotate_right(1);
    }
}

fn combine_keyed<K: Key>(
    columns: &mut [&mut [i64]],
    values: &mut Buffer,
    least: &[i64],
    layout: Layout,
) -> Result<usize, StorageError> {
    let mut keys = Array::<K>::zeroed(values.len())?;
    for (level, column) in columns.iter().enumerate().filter(|(level, _)| !layout.is_single(*level)) {
        let (shift, least) = (layout.shift(level), least[level]);
        for (key, &coordinate) in keys.iter_mut().zip(column.iter()) {
            *key = key.with(coordinate.wrapping_sub(least).cast_unsigned(), shift);
        }
    }
    let scan = sort::scan(&keys, 0);
    let (mut keys, mut sorted) = sort::sort(keys, values, 0, scan.varying)?;
    combine_repeats(&mut keys, &mut sorted);
    let entries = Keyed { keys, layout };
    for (level, column) in columns.iter_mut().enumerate() {
        let (coordinate, least) = (entries.column(level), least[level]);
        for (k, slot) in column[..entries.len()].iter_mut().enumerate() {
            *slot = least.wrapping_add_unsigned(coordinate(k));
        }
    }
    *values = sorted;
    Ok(entries.len())
}

/// The same if coordinates are too many for keys: packs a coordinate list.
fn combine_columns(
    columns: &mut [&mut [i64]],
    values: &mut Buffer,
    least: &[i64],
    dims: Vec<u64>,
) -> Result<usize, StorageError> {
    let coords = columns
        .iter()
        .zip(least)
        .map(|(column, &least)| {
            Coordinates::U64(column.iter().map(|&c| c.wrapping_sub(least).cast_unsigned()).collect())
        })
        .collect();
    let listed = with_element!(values.dtype(), T => T::wrap(values.as_slice::<T>().unwrap_or_default().to_vec()));
    let format = Format::coo(columns.len());
    let (_, _, levels, sorted) = Tensor::from_coo(Coo { dims, coords, values: listed }, &format)?.into_parts();
    for ((column, level), &least) in columns.iter_mut().zip(&levels).zip(least) {
        let Some(crd) = level.crd().and_then(Buffer::indices) else { continue };
        for (k, slot) in column[..sorted.len()].iter_mut().enumerate() {
            *slot = least.wrapping_add_unsigned(crd.get(k));
        }
    }
    *values = sorted;
    Ok(values.len())
}

/// [`sort_marked`] for kernels; see [`crate::abi::RuntimeTable`].
///
/// # Safety
/// `list` has `n` elements and `marks` has `size`.
pub(crate) unsafe extern "C" fn sort_marked_raw(list: *mut i64, n: i64, marks: *const u8, size: i64) {
    let (Ok(n), Ok(size)) = (usize::try_from(n), usize::try_from(size)) else { return };
    if n < 2 {
        return;
    }
    // SAFETY: by the caller's promise; neither is null, since there are two coordinates.
    unsafe { sort_marked(std::slice::from_raw_parts_mut(list, n), std::slice::from_raw_parts(marks, size)) };
}

/// [`sort_combine`] for kernels; see [`crate::abi::RuntimeTable`].
///
/// # Safety
/// `keys` has `nkeys` pointers to `n` coordinates each, and `values` points to `n` values of the type. They do not
/// overlap.
pub(crate) unsafe extern "C" fn sort_combine_raw(
    keys: *const *mut i64,
    nkeys: u64,
    values: *mut u8,
    dtype: u32,
    n: i64,
) -> i64 {
    let known = DType::ALL.get(dtype as usize).filter(|dtype| dtype.size() > 0);
    let (Ok(len), Some(&dtype)) = (usize::try_from(n), known) else { return -1 };
    let Some(data) = NonNull::new(values).filter(|_| len > 1) else { return n };
    // SAFETY: by the caller's promise; the slices are used in this call only.
    let mut columns: Vec<&mut [i64]> = unsafe {
        let columns = std::slice::from_raw_parts(keys, nkeys as usize).iter();
        columns.map(|&column| std::slice::from_raw_parts_mut(column, len)).collect()
    };
    if len <= FEW_ENTRIES {
        return with_word!(dtype, V => {
            // SAFETY: as for the columns; a word of the size of a type is aligned no wider than it.
            let values = unsafe { std::slice::from_raw_parts_mut(data.as_ptr().cast::<V>(), len) };
            combine_few(&mut columns, values, V::sum(dtype)) as i64
        });
    }
    // SAFETY: as for the columns; the buffer is used in this call only, and the kernel's memory outlives it.
    let mut buffer = unsafe { Buffer::borrow_raw(data, len, dtype, Arc::new(())) };
    let sorted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sort_combine(&mut columns, &mut buffer)));
    let Ok(Ok(left)) = sorted else { return -1 };
    if buffer.as_ptr() != values {
        // SAFETY: `values` has room for `n` values, and at most as many are left, in memory of the buffer's own.
        unsafe { std::ptr::copy_nonoverlapping(buffer.as_ptr(), values, left * dtype.size()) };
    }
    left as i64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use num_complex::Complex;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn check_marked(coordinates: &[usize], size: usize) {
        let mut marks = vec![0u8; size];
        let mut list = Vec::new();
        for &k in coordinates {
            if std::mem::replace(&mut marks[k], 1) == 0 {
                list.push(k as i64);
            }
        }
        let mut expected = list.clone();
        expected.sort();
        sort_marked(&mut list, &marks);
        assert_eq!(list, expected);
    }

    proptest! {
        #[test]
        fn marked_coordinates_are_sorted(
            size in prop::sample::select(vec![1usize, 7, 100, 5000, 2_000_000]),
            picks in prop::collection::vec(any::<u32>(), 0..2000),
        ) {
            check_marked(&picks.iter().map(|&pick| pick as usize % size).collect::<Vec<_>>(), size);
        }

        #[test]
        fn entries_are_sorted_and_added_up(
            nkeys in 1usize..5,
            shift in prop::sample::select(vec![0u32, 20, 31, 60]),
            entries in prop::collection::vec((prop::collection::vec(0i64..4, 4), any::<i32>()), 0..200),
        ) {
            let mut sums = BTreeMap::new();
            let mut columns = vec![Vec::new(); nkeys];
            let mut values = Vec::new();
            for (coordinate, value) in &entries {
                let coordinate: Vec<i64> = coordinate[..nkeys].iter().map(|&c| c << shift).collect();
                columns.iter_mut().zip(&coordinate).for_each(|(column, &c)| column.push(c));
                values.push(*value);
                let sum = sums.entry(coordinate).or_insert(0i32);
                *sum = sum.wrapping_add(*value);
            }
            let pointers: Vec<*mut i64> = columns.iter_mut().map(|column| column.as_mut_ptr()).collect();
            let dtype = DType::ALL.iter().position(|&d| d == DType::I32).unwrap() as u32;
            // SAFETY: the arrays have as many elements as said.
            let left = unsafe {
                let values = values.as_mut_ptr().cast();
                sort_combine_raw(pointers.as_ptr(), nkeys as u64, values, dtype, entries.len() as i64)
            };
            prop_assert_eq!(left as usize, sums.len());
            for (k, (coordinate, value)) in sums.iter().enumerate() {
                let found: Vec<i64> = columns.iter().map(|column| column[k]).collect();
                prop_assert_eq!(&found, coordinate);
                prop_assert_eq!(values[k], *value);
            }
        }
    }

    #[test]
    fn booleans_or_and_complex_numbers_add() {
        let mut keys = [3i64, 1, 3];
        let mut values = Buffer::from_vec(vec![false, false, true]);
        assert_eq!(sort_combine(&mut [&mut keys], &mut values), Ok(2));
        assert_eq!((&keys[..2], values.as_slice::<bool>()), (&[1, 3][..], Some(&[false, true][..])));
        let mut keys = [2i64, 2];
        let mut values = Buffer::from_vec(vec![Complex::new(1f32, 2.0), Complex::new(3.0, 4.0)]);
        assert_eq!(sort_combine(&mut [&mut keys], &mut values), Ok(1));
        assert_eq!(values.as_slice(), Some(&[Complex::new(4f32, 6.0)][..]));
    }

    #[test]
    fn a_few_entries_of_any_size_are_added_up_where_they_are() {
        fn combined<T: Element + Copy>(mut keys: Vec<i64>, mut values: Vec<T>) -> (Vec<i64>, Vec<T>) {
            let dtype = DType::ALL.iter().position(|&known| known == T::DTYPE).unwrap() as u32;
            let (columns, len) = ([keys.as_mut_ptr()], keys.len() as i64);
            // SAFETY: the arrays have as many elements as said.
            let left =
                unsafe { sort_combine_raw(columns.as_ptr(), 1, values.as_mut_ptr().cast(), dtype, len) } as usize;
            keys.truncate(left);
            values.truncate(left);
            (keys, values)
        }
        assert_eq!(combined(vec![3, 1, 3], vec![false, false, true]), (vec![1, 3], vec![false, true]));
        assert_eq!(combined(vec![9, -1, 9, 4], vec![250u8, 1, 10, 2]), (vec![-1, 4, 9], vec![1, 2, 4]));
        assert_eq!(combined(vec![7, 7, 2], vec![1.5f64, 2.0, 0.5]), (vec![2, 7], vec![0.5, 3.5]));
        let complex = |re: f64, im: f64| Complex::new(re, im);
        let found = combined(vec![2, 2], vec![complex(1.0, 2.0), complex(3.0, 4.0)]);
        assert_eq!(found, (vec![2], vec![complex(4.0, 6.0)]));
    }

    #[test]
    fn impossible_arguments_are_refused() {
        // SAFETY: nothing is read where there are no entries, or no such type.
        unsafe {
            let (keys, values) = (std::ptr::null(), std::ptr::null_mut());
            assert_eq!(sort_combine_raw(keys, 0, values, 10, 0), 0);
            assert_eq!(sort_combine_raw(keys, 0, values, 99, 5), -1);
            assert_eq!(sort_combine_raw(keys, 0, values, 0, -5), -1);
            sort_marked_raw(std::ptr::null_mut(), 0, std::ptr::null(), 0);
        }
    }
}
