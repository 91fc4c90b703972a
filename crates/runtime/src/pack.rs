//! Packing: from a coordinate list to plain levels.
//!
//! 1. If the entries are sorted already, the list's own arrays are used. If the format allows it, they are sorted by
//!    counting ([`crate::pack_counted`]), and that is all.
//! 2. Else the coordinates of each entry are packed into a key ([`crate::keys`]), the keys are sorted with their values
//!    ([`crate::sort`]), and values of equal coordinates are added up, in the order of the list.
//! 3. Level after level takes its coordinates from the entries ([`crate::storage`]).
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

use lacunar_formats::{Format, LevelKind};

use crate::array::Array;
use crate::buffer::Buffer;
use crate::coo::{Coo, Coordinates};
use crate::error::{AllocError, StorageError};
use crate::fits::{level_sizes, positions, strides, widen};
use crate::keys::{Access, Column, Columns, Entries, Keyed, Layout, with_access};
use crate::moved::{Moved, Puts};
use crate::pack_counted;
use crate::parallel::{self, GRAIN};
use crate::route::Sorting;
use crate::sort::{self, Key};
use crate::spread::gather;
use crate::storage::{Bounds, LevelStorage, Place};
use crate::sums::Sums;
use crate::tensor::Tensor;

/// Packs a coordinate list, whose entries may be in any order and repeat coordinates, into plain levels without a map that are not
/// all dense.
///
/// # Errors
/// The format does not hold the entries, or memory is refused.
pub fn pack(coo: Coo, format: &Format, sorting: Sorting) -> Result<Tensor, StorageError> {
    let format = widen(format, &coo.dims, coo.len() as u64);
    let Coo { dims, coords, values } = coo;
    let columns = in_level_order(coords, &format);
    let values = Buffer::from_values(values);
    if ascend(&columns, values.len()) {
        let columns = columns.into_iter().map(Column::from).collect();
        let entries = Entries::Columns(Columns { len: values.len(), columns });
        // The vectors of the list become the tensor's arrays.
        let mut tensor = build(dims, format, entries, values)?;
        let (_, _, levels, values) = tensor.parts_mut();
        levels.iter_mut().flat_map(LevelStorage::arrays_mut).chain([values]).for_each(Buffer::move_to_huge_pages);
        return Ok(tensor);
    }
    let list = List { dims, format, columns, values };
    match sorting {
        Sorting::Count { levels } => pack_counted::pack(list, levels),
        Sorting::Keys { .. } => {
            let layout = Layout::new(&level_sizes(&list.dims, &list.format));
            match layout.bits() {
                0..=32 => pack_keyed(list, layout, Entries::Keys32),
                33..=64 => pack_keyed(list, layout, Entries::Keys64),
                _ => pack_keyed(list, layout, Entries::Keys128),
            }
        }
        Sorting::Columns => pack_columns(list),
    }
}

/// The list that is packed.
pub(crate) struct List {
    pub dims: Vec<u64>,
    pub format: Format,
    /// The coordinates by level, outermost first.
    pub columns: Vec<Coordinates>,
    pub values: Buffer,
}

/// True if entries are sorted, none repeating the coordinates of another.
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

/// Arrays by dimension, in the order of the levels.
pub(crate) fn in_level_order(coords: Vec<Coordinates>, format: &Format) -> Vec<Coordinates> {
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
