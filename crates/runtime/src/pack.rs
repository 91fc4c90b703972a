//! Packing: from a coordinate list to a tensor of any format.
//!
//! 1. If the entries are sorted already, the list's own arrays are used. If the format allows it, they are sorted by
//!    counting ([`crate::pack_counted`]), and that is all.
//! 2. Else the coordinates of each entry are packed into a key ([`crate::keys`]), the keys are sorted with their values
//!    ([`crate::sort`]), and values of equal coordinates are added up, in the order of the list.
//! 3. Level after level takes its coordinates from the entries ([`crate::storage`]).
//!
//! A format of dense levels only needs no order: each value is added at its place. Nor does one level below dense ones that takes
//! coordinates as they come ([`crate::insert`]). Other levels that are not plain are made of plain ones.
//!
//! Memory, in bytes per entry of a matrix of doubles (coordinates 4 + 4, value 8; the input is 16): with keys 24; then
//! coordinates are freed: 16; with the target of the sort 32; the source's keys are freed: 24, its values: 16; and
//! with the columns of the result 20 to 24. The highest is 32, twice the input. Keys never take more than the
//! coordinates by more than a third (65 bits need three arrays of 4 bytes, and take 16), so the peak of sorting stays
//! below three times the input whatever the types. The largest result relative to its input is csf of booleans without
//! common prefixes (13 bytes in; the keys, value and result 37), which stays below as well.
//!
//! Example: the entries (1,0) 5, (0,2) 6, (1,0) 7 of a 2 x 3 matrix have keys `1 00`, `0 10`, `1 00`; sorted
//! `0 10`: 6, `1 00`: 5 + 7; as csr `pos 0 1 2`, `crd 2 0`, values `6 12`.
//!
//! Paper: Chou et al., *Automatic Generation of Efficient Sparse Tensor Format Conversion Routines* (PLDI 2020).

#![allow(unsafe_code)]

use lacunar_formats::{Format, Level, LevelKind};

use crate::array::Array;
use crate::buffer::Buffer;
use crate::convert::check_type;
use crate::coo::{Coo, Coordinates};
use crate::dispatch::with_word;
use crate::error::{AllocError, StorageError};
use crate::insert;
use crate::keys::{Access, Column, Columns, Entries, Keyed, Layout, with_access};
use crate::moved::{Moved, Puts};
use crate::pack_counted;
use crate::parallel::{self, GRAIN};
use crate::remap;
use crate::sort::{self, Key};
use crate::spread::gather;
use crate::storage::{Bounds, LevelStorage, Place};
use crate::sums::Sums;
use crate::tensor::Tensor;
use crate::words::Word;

/// Packs a coordinate list, whose entries may be in any order and repeat coordinates.
///
/// # Errors
/// The list contradicts itself, does not fit the format, or memory is refused.
pub fn pack(coo: Coo, format: &Format) -> Result<Tensor, StorageError> {
    check(&coo, format)?;
    Ok(pack_checked(coo, format)?.made())
}

/// The same of a list that does not contradict itself.
fn pack_checked(coo: Coo, format: &Format) -> Result<Tensor, StorageError> {
    if format.map().is_some() {
        let plain = plain_format(&coo.dims, coo.len() as u64);
        return pack(coo, &plain)?.convert(format);
    }
    if !format.is_plain() {
        let wide = widen(format, &coo.dims, coo.len() as u64);
        return match insert::pack(coo, &wide)? {
            Ok(tensor) => Ok(tensor),
            Err(coo) => pack(coo, &format.plain())?.spread(format),
        };
    }
    let format = widen(format, &coo.dims, coo.len() as u64);
    if format.is_dense() {
        return pack_dense(coo, format);
    }
    let Coo { dims, coords, values } = coo;
    let columns = in_level_order(coords, &format);
    let values = Buffer::from_values(values);
    if ascend(&columns, values.len()) {
        let columns = columns.into_iter().map(Column::from).collect();
        let entries = Entries::Columns(Columns { len: values.len(), columns });
        return build(dims, format, entries, values);
    }
    if let Some(prefix) = pack_counted::prefix(&dims, &columns, &values, &format) {
        return pack_counted::pack(dims, format, columns, values, &prefix);
    }
    let layout = Layout::new(&level_sizes(&dims, &format));
    let list = List { dims, format, columns, values };
    match layout.bits() {
        0..=32 => pack_keyed(list, layout, Entries::Keys32),
        33..=64 => pack_keyed(list, layout, Entries::Keys64),
        65..=128 => pack_keyed(list, layout, Entries::Keys128),
        _ => pack_columns(list),
    }
}

/// What is packed: coordinates in arrays by level, outermost first.
struct List {
    dims: Vec<u64>,
    format: Format,
    columns: Vec<Coordinates>,
    values: Buffer,
}

/// Whether entries are sorted, none repeating the coordinates of another.
fn ascend(columns: &[Coordinates], len: usize) -> bool {
    let descends = |k: usize| {
        let order = |column: &Coordinates| match column {
            Coordinates::U32(v) => v[k - 1].cmp(&v[k]),
            Coordinates::U64(v) => v[k - 1].cmp(&v[k]),
        };
        columns.iter().map(order).find(|order| order.is_ne()).is_none_or(std::cmp::Ordering::is_gt)
    };
    parallel::first(len, |k| (k > 0 && descends(k)).then_some(())).is_none()
}

/// The sizes of the levels, outermost first.
pub(crate) fn level_sizes(dims: &[u64], format: &Format) -> Vec<u64> {
    format.mode_order().iter().map(|&dimension| dims[dimension]).collect()
}

/// The format with index arrays wide enough for the dimensions and the number of entries.
pub(crate) fn widen(format: &Format, dims: &[u64], entries: u64) -> Format {
    let dims: Vec<Option<u64>> = dims.iter().copied().map(Some).collect();
    format.fitted(&dims, entries)
}

/// A plain format for any tensor with so many entries: rows, or compressed levels where most rows would be empty.
pub(crate) fn plain_format(dims: &[u64], entries: u64) -> Format {
    let order = dims.len();
    let rows_fit = dims.first().is_some_and(|&rows| rows / ROWS <= entries);
    let level = |level: usize| if level == 0 && order > 1 && rows_fit { Level::DENSE } else { Level::COMPRESSED };
    let natural = (0..order).collect();
    Format::new((0..order).map(level).collect(), natural).unwrap_or_else(|_| Format::csf(order))
}

/// Rows without entries are as many as this for each entry, at most, where every row is written down.
const ROWS: u64 = 4;

fn check(coo: &Coo, format: &Format) -> Result<(), StorageError> {
    let order = coo.dims.len();
    if format.order() != order {
        return Err(StorageError::Order { format: format.clone(), levels: format.order(), order });
    }
    let length = |what: String, found: usize, expected: usize| match found == expected {
        true => Ok(()),
        false => Err(StorageError::Length { what, found: found as u64, expected: expected as u64 }),
    };
    check_type(coo.values.dtype(), format)?;
    remap::check_sizes(&coo.dims)?;
    length("the list of coordinate arrays".into(), coo.coords.len(), order)?;
    for (dimension, (column, &size)) in coo.coords.iter().zip(&coo.dims).enumerate() {
        length(format!("the coordinates of dimension {dimension}"), column.len(), coo.len())?;
        let outside = match column {
            Coordinates::U32(v) => parallel::find(v, |&c| u64::from(c) >= size),
            Coordinates::U64(v) => parallel::find(v, |&c| c >= size),
        };
        if let Some(entry) = outside {
            let coordinate = column.get(entry).unwrap_or_default();
            return Err(StorageError::OutOfRange { dimension, entry: entry as u64, coordinate, size });
        }
    }
    Ok(())
}

/// Adds every value at its place.
fn pack_dense(coo: Coo, format: Format) -> Result<Tensor, StorageError> {
    let Coo { dims, coords, values } = coo;
    let sizes = level_sizes(&dims, &format);
    let strides = strides(&sizes)?;
    let positions = positions(1, &sizes)?;
    let dtype = values.dtype();
    let values = Buffer::from_values(values);
    let mut placed = Buffer::zeroed(dtype, positions)?;
    let columns = in_level_order(coords, &format).into_iter().map(Column::from).collect();
    let entries = Columns { len: values.len(), columns };
    let columns: Vec<_> = (0..sizes.len()).map(|level| entries.column(level)).collect();
    let place = |k: usize| columns.iter().zip(&strides).map(|(column, stride)| column(k) * stride).sum::<u64>();
    with_word!(dtype, V => {
        let (sum, to) = (V::sum(dtype), placed.as_words_mut::<V>().unwrap_or_default());
        for (k, &value) in values.as_words::<V>().iter().enumerate() {
            let slot = &mut to[place(k) as usize];
            // What is added to nothing stays as it is, a negative zero too.
            *slot = if *slot == V::default() { value } else { sum(*slot, value) };
        }
    });
    let levels = sizes.iter().map(|&size| LevelStorage::dense(size)).collect();
    Ok(Tensor::assemble(dims, format, levels, placed))
}

/// How far apart neighbours of each level are in row-major order.
pub(crate) fn strides(sizes: &[u64]) -> Result<Vec<u64>, StorageError> {
    let mut strides = vec![1u64; sizes.len()];
    for level in (1..sizes.len()).rev() {
        strides[level - 1] = positions(strides[level], &sizes[level..=level])?;
    }
    Ok(strides)
}

/// The number of positions of dense levels under `parents` positions.
pub(crate) fn positions(parents: u64, sizes: &[u64]) -> Result<u64, StorageError> {
    sizes
        .iter()
        .try_fold(parents, |product, &size| product.checked_mul(size))
        .ok_or_else(|| StorageError::overflow("the number of values"))
}

/// Arrays by dimension, in the order of the levels.
fn in_level_order(coords: Vec<Coordinates>, format: &Format) -> Vec<Coordinates> {
    let mut coords = coords;
    format.mode_order().iter().map(|&d| std::mem::replace(&mut coords[d], Coordinates::U32(Vec::new()))).collect()
}

fn pack_keyed<K: Key>(
    list: List,
    layout: Layout,
    wrap: fn(Keyed<K>) -> Entries<'static>,
) -> Result<Tensor, StorageError> {
    let List { dims, format, columns, values } = list;
    let mut keys = Array::<K>::zeroed(values.len())?;
    // Blocks of keys stay in the first-level cache while column after column is put in.
    parallel::fill_chunks(&mut keys, GRAIN, |start, chunk| {
        for (block, keys) in chunk.chunks_mut(1 << 11).enumerate() {
            let from = start + (block << 11);
            for (level, column) in columns.iter().enumerate() {
                let shift = layout.shift(level);
                match column {
                    _ if layout.is_single(level) => {}
                    Coordinates::U32(v) => {
                        keys.iter_mut().zip(&v[from..]).for_each(|(key, &c)| *key = key.with(u64::from(c), shift));
                    }
                    Coordinates::U64(v) => {
                        keys.iter_mut().zip(&v[from..]).for_each(|(key, &c)| *key = key.with(c, shift));
                    }
                }
            }
        }
    });
    let scan = sort::scan(&keys, 0);
    drop(columns);
    let (mut keys, mut values) = if scan.sorted {
        (keys, values)
    } else {
        let sorted = sort::sort(keys, &values, 0, scan.varying)?;
        drop(values);
        sorted
    };
    values.make_owned()?;
    combine_repeats(&mut keys, &mut values);
    build(dims, format, wrap(Keyed { keys, layout }), values)
}

/// Adds up the values of equal keys, which are neighbours, and keeps each key once.
pub(crate) fn combine_repeats<K: Key>(keys: &mut Array<K>, values: &mut Buffer) {
    let repeat = parallel::first(keys.len(), |k| (k > 0 && keys[k] == keys[k - 1]).then_some(k));
    let Some(repeat) = repeat else { return };
    let mut kept = repeat - 1;
    let mut sums = Sums::new(values, repeat, Some(kept));
    for k in repeat..keys.len() {
        if keys[k] != keys[kept] {
            kept += 1;
            keys[kept] = keys[k];
        }
        sums.push(kept);
    }
    sums.finish();
    keys.truncate(kept + 1);
    values.truncate(kept + 1);
}

/// Packs entries whose coordinates need more than 128 bits: sorts their numbers by one column after the other, the innermost first.
fn pack_columns(list: List) -> Result<Tensor, StorageError> {
    let List { dims, format, mut columns, values } = list;
    let mut order = Buffer::from_array(Array::of(values.len(), |k| k as u64)?);
    for column in columns.iter().rev() {
        let numbers = order.as_slice::<u64>().unwrap_or_default();
        let keys = match column {
            Coordinates::U32(v) => Array::of(numbers.len(), |k| u64::from(v[numbers[k] as usize]))?,
            Coordinates::U64(v) => Array::of(numbers.len(), |k| v[numbers[k] as usize])?,
        };
        let scan = sort::scan(&keys, 0);
        if !scan.sorted {
            (_, order) = sort::sort(keys, &order, 0, scan.varying)?;
        }
    }
    let mut summed = gather(&values, &order)?;
    drop(values);
    let order = order.as_slice::<u64>().unwrap_or_default();
    // Entries that open a new coordinate, in order; the ones between two of them repeat the first's coordinate.
    let mut firsts = Vec::new();
    firsts.try_reserve(order.len()).map_err(|_| AllocError { bytes: 8 * order.len() as u64 })?;
    let differ = |a: u64, b: u64| columns.iter().any(|column| column.get(a as usize) != column.get(b as usize));
    let mut sums = Sums::new(&mut summed, 0, None);
    for (k, &entry) in order.iter().enumerate() {
        if k == 0 || differ(order[k - 1], entry) {
            firsts.push(entry);
        }
        sums.push(firsts.len() - 1);
    }
    sums.finish();
    summed.truncate(firsts.len());
    for column in &mut columns {
        match column {
            Coordinates::U32(v) => *v = firsts.iter().map(|&k| v[k as usize]).collect(),
            Coordinates::U64(v) => *v = firsts.iter().map(|&k| v[k as usize]).collect(),
        }
    }
    let columns = columns.into_iter().map(Column::from).collect();
    build(dims, format, Entries::Columns(Columns { len: firsts.len(), columns }), summed)
}

/// Builds the levels of sorted entries with distinct coordinates. The format's widths hold all numbers, and it has a
/// level that is not dense.
pub(crate) fn build(
    dims: Vec<u64>,
    format: Format,
    mut entries: Entries,
    values: Buffer,
) -> Result<Tensor, StorageError> {
    let dense_below = format.levels().iter().rev().take_while(|level| level.kind == LevelKind::DENSE).count();
    let outer = format.order() - dense_below;
    let mut bounds = Bounds::Root(entries.len());
    let mut levels = Vec::with_capacity(format.order());
    for level in 0..outer {
        let place = Place { format: &format, dims: &dims, level };
        let (storage, children) = LevelStorage::pack(&mut entries, bounds, place)?;
        levels.push(storage);
        bounds = children;
    }
    let blocks = &level_sizes(&dims, &format)[outer..];
    levels.extend(blocks.iter().map(|&size| LevelStorage::dense(size)));
    let values = match bounds {
        Bounds::Identity(_) if blocks.is_empty() => values,
        bounds => place_values(&entries, &bounds, &values, outer, blocks)?,
    };
    Ok(Tensor::assemble(dims, format, levels, values))
}

/// Puts values to the positions of the innermost level: into blocks of dense levels from level `outer` on.
fn place_values(
    entries: &Entries,
    bounds: &Bounds,
    values: &Buffer,
    outer: usize,
    blocks: &[u64],
) -> Result<Buffer, StorageError> {
    let strides = strides(blocks)?;
    let count = positions(bounds.positions() as u64, blocks)?;
    let count = usize::try_from(count).map_err(|_| StorageError::overflow("the number of values"))?;
    let block = if count == 0 { 1 } else { count / bounds.positions() };
    let placed = Moved::into(values, Buffer::zeroed(values.dtype(), count as u64)?);
    with_access!(entries, entries => {
        let columns: Vec<_> = (0..blocks.len()).map(|l| entries.column(outer + l)).collect();
        let offset = |k: usize| columns.iter().zip(&strides).map(|(c, stride)| c(k) * stride).sum::<u64>();
        parallel::each(parallel::chunks(bounds.positions(), (GRAIN / block).max(1)), |_, chunk| {
            // SAFETY: entries differ in their coordinates, which follow from their places: nobody else has one of these.
            let mut puts = unsafe { Puts::new(&placed, bounds.start(chunk.start)) };
            for position in chunk {
                bounds.range(position).for_each(|k| puts.push((position * block) as u64 + offset(k)));
            }
            puts.finish();
        });
    });
    Ok(placed.into_buffer())
}
