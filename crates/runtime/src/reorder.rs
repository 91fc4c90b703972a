//! From plain levels to plain levels in another order, by keys that are sorted.
//!
//! A tensor's entries are enumerated in the order of its storage, each as a key with the coordinates in the order of
//! the target's levels ([`crate::keys`]). They are already sorted by the target's inner levels if these follow each
//! other in the source too; so only the bits of the levels before are sorted by, and the sort is stable:
//!
//! ```text
//! csr (i, j) to csc (j, i):        sort by j; i is in order under each j
//! (i, j, k) to (j, i, k):          sort by j; (i, k) is in order
//! (i, j, k) to (k, j, i):          sort by (k, j)
//! csr to coo, to dcsr:             no sort
//! ```
//!
//! Then the levels are built as in packing. Keys may as well be made of the coordinates that a map stores. All entries are in the
//! dimensions, and `drop` says that zeros only fill up and are left out.
//!
//! Paper: Chou et al., *Automatic Generation of Efficient Sparse Tensor Format Conversion Routines* (PLDI 2020).

use lacunar_formats::{Format, Map, Recovery, Term};

use crate::array::{Array, Plain};
use crate::buffer::Buffer;
use crate::error::StorageError;
use crate::fits::{has_slots, level_sizes, widen};
use crate::forms::Form;
use crate::keys::{Column, Columns, Entries, Keyed, Layout};
use crate::moved::{BLOCK, Moved};
use crate::pack::build;
use crate::segments::NOWHERE;
use crate::sort::{self, Key};
use crate::tensor::Tensor;

/// The tensor in a format of the same order of storage, whose levels are made of columns.
///
/// # Errors
/// The format cannot hold the entries, or memory is refused.
pub fn by_columns(tensor: &Tensor, format: &Format) -> Result<Tensor, StorageError> {
    let format = widen(format, tensor.dims(), tensor.nnz());
    let entries = Entries::Columns(columns(tensor, &format)?);
    build(tensor.dims().to_vec(), format, entries, tensor.values().try_clone()?)
}

/// The tensor in a format of any order of storage, whose coordinates fit into keys.
///
/// # Errors
/// The format cannot hold the entries, or memory is refused.
pub fn by_keys(tensor: &Tensor, format: &Format, drop: bool) -> Result<Tensor, StorageError> {
    let format = widen(format, tensor.dims(), tensor.nnz());
    let layout = Layout::new(&level_sizes(tensor.dims(), &format));
    match layout.bits() {
        0..=32 => convert_keyed(tensor, (format, drop), layout, Entries::Keys32),
        33..=64 => convert_keyed(tensor, (format, drop), layout, Entries::Keys64),
        _ => convert_keyed(tensor, (format, drop), layout, Entries::Keys128),
    }
}

/// The tensor of the coordinates that a format with a map stores of a tensor without one, in plain levels; the stored dimensions
/// are of these sizes, and coordinates fit into keys.
///
/// # Errors
/// The format cannot hold the entries, or memory is refused.
pub fn by_stored_keys(tensor: &Tensor, format: &Format, sizes: &[u64], drop: bool) -> Result<Tensor, StorageError> {
    let layout = Layout::new(sizes);
    let target = (widen(&format.stored().plain(), sizes, tensor.nnz()), sizes.to_vec(), drop);
    let terms = format.map().map_or(&[][..], Map::terms);
    match layout.bits() {
        0..=32 => pack_mapped(tensor, target, terms, layout, Entries::Keys32),
        33..=64 => pack_mapped(tensor, target, terms, layout, Entries::Keys64),
        _ => pack_mapped(tensor, target, terms, layout, Entries::Keys128),
    }
}

/// The entries of a tensor of plain levels, by level of a format in which they are in the same order.
fn columns<'a>(tensor: &'a Tensor, format: &Format) -> Result<Columns<'a>, StorageError> {
    let stored_once =
        |level: usize| tensor.format().levels()[level..].iter().all(|level| level.properties().branchless);
    let column = |&dimension: &usize| -> Result<Column<'a>, StorageError> {
        let level = tensor.format().level_of(dimension).unwrap_or(0);
        // A level above others that have one position for each of its own has the coordinates of all entries.
        match tensor.levels()[level].crd().and_then(Buffer::indices) {
            Some(crd) if stored_once(level + 1) => Ok(Column::Borrowed(crd)),
            _ => tensor.column(level).map(Column::Owned),
        }
    };
    let columns = format.mode_order().iter().map(column).collect::<Result<_, _>>()?;
    Ok(Columns { len: tensor.values().len(), columns })
}

/// The number of outer levels of the target that have to be sorted by: its levels from some level on are in order
/// already if they follow each other in the source as well.
pub fn unsorted_levels(source: &Format, target: &Format) -> usize {
    let mut first = target.order().saturating_sub(1);
    if let Some(map) = source.map() {
        let Some((&innermost, outer)) = target.mode_order().split_last() else { return 0 };
        return if ascends(map, innermost, outer) { first } else { target.order() };
    }
    let at = |level: usize| source.level_of(target.mode_order()[level]);
    while first > 0 && at(first - 1) < at(first) {
        first -= 1;
    }
    first
}

/// True if the coordinates of a dimension ascend in the order of storage while those of the others are `fixed`: nothing
/// varies but levels that it is recovered from, the one that weighs more outside. Slots vary with it.
fn ascends(map: &Map, dimension: usize, fixed: &[usize]) -> bool {
    let levels = |dimension: usize| match map.recovery(dimension) {
        Some(Recovery::Whole(level)) => vec![level],
        Some(Recovery::Block { quotient, remainder, .. }) => vec![quotient, remainder],
        Some(Recovery::Diagonal { difference, other, reverse: false }) if fixed.contains(&other) => vec![difference],
        _ => Vec::new(),
    };
    let own = levels(dimension);
    let known: Vec<usize> = fixed.iter().flat_map(|dimension| levels(*dimension)).collect();
    let slots = |level: usize| matches!(map.terms()[level], Term::Ordinal(counted) if fixed.contains(&counted));
    let varies = |level: &usize| !known.contains(level) && !slots(*level);
    !own.is_empty() && own.is_sorted() && (0..map.terms().len()).filter(varies).all(|level| own.contains(&level))
}

fn convert_keyed<K: Key>(
    source: &Tensor,
    (format, drop): (Format, bool),
    layout: Layout,
    wrap: fn(Keyed<K>) -> Entries<'static>,
) -> Result<Tensor, StorageError> {
    let mut form = Form::<K>::zero(source.levels().len());
    for (level, &dimension) in format.mode_order().iter().enumerate() {
        form.add_dimension(dimension, layout.unit(level), (source.format(), source.dims()));
    }
    let slots = has_slots(source.format());
    let low = match unsorted_levels(source.format(), &format) {
        _ if slots => 0,
        0 => layout.bits(),
        levels => layout.shift(levels - 1),
    };
    let dims = source.dims().to_vec();
    pack_form(source, &form, drop, (dims, format), (low, layout, wrap))
}

/// Packs the entries of a plain tensor with the coordinates that a map makes of theirs. The target's dimensions are the stored
/// ones, of these sizes.
fn pack_mapped<K: Key>(
    source: &Tensor,
    (target, sizes, drop): (Format, Vec<u64>, bool),
    terms: &[Term],
    layout: Layout,
    wrap: fn(Keyed<K>) -> Entries<'static>,
) -> Result<Tensor, StorageError> {
    let mut form = Form::<K>::zero(source.levels().len());
    for (level, &term) in terms.iter().enumerate() {
        form.add_term(term, layout.unit(level), (source.format(), source.dims()));
    }
    pack_form(source, &form, drop, (sizes, target), (0, layout, wrap))
}

/// Builds the levels of a target from a source's entries, each with its key; the bits of keys below `low` are in order.
fn pack_form<K: Key>(
    source: &Tensor,
    form: &Form<K>,
    drop: bool,
    (dims, format): (Vec<u64>, Format),
    (low, layout, wrap): (u32, Layout, fn(Keyed<K>) -> Entries<'static>),
) -> Result<Tensor, StorageError> {
    let mut keys = form.at_positions(source, source.levels().len())?;
    let kept = match drop {
        true => {
            let (nonzero_keys, nonzero) = drop_zeros(&keys, source.values())?;
            keys = nonzero_keys;
            Some(nonzero)
        }
        false => None,
    };
    let scan = sort::scan(&keys, low);
    let (keys, values) = if scan.sorted {
        (keys, kept.map_or_else(|| source.values().try_clone(), Ok)?)
    } else {
        sort::sort(keys, kept.as_ref().unwrap_or(source.values()), low, scan.varying)?
    };
    build(dims, format, wrap(Keyed { keys, layout }), values)
}

/// The entries whose value has a byte that is not zero.
fn drop_zeros<T: Plain>(keys: &[T], values: &Buffer) -> Result<(Array<T>, Buffer), StorageError> {
    let mut nonzero = [false; BLOCK];
    let mut count = 0;
    for (number, keys) in keys.chunks(BLOCK).enumerate() {
        Moved::nonzero(values, number * BLOCK, &mut nonzero[..keys.len()]);
        count += nonzero[..keys.len()].iter().filter(|nonzero| **nonzero).count();
    }
    let mut moved = Moved::into(values, Buffer::zeroed(values.dtype(), count as u64)?);
    let (mut kept, mut next, mut places) = (Array::zeroed(count)?, 0, [NOWHERE; BLOCK]);
    for (number, keys) in keys.chunks(BLOCK).enumerate() {
        Moved::nonzero(values, number * BLOCK, &mut nonzero[..keys.len()]);
        for ((place, nonzero), key) in places.iter_mut().zip(nonzero).zip(keys) {
            *place = if nonzero { next as u64 } else { NOWHERE };
            if nonzero {
                kept[next] = *key;
                next += 1;
            }
        }
        moved.put_alone(number * BLOCK, &places[..keys.len()]);
    }
    Ok((kept, moved.into_buffer()))
}
