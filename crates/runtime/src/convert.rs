//! Conversion between formats, and between element types.
//!
//! A tensor's entries are enumerated in the order of its storage, each as a key with the coordinates in the order of
//! the target's levels ([`crate::keys`]). They are already sorted by the target's inner levels where those follow each
//! other in the source too; so only the bits of the levels before are sorted by, and the sort is stable:
//!
//! ```text
//! csr (i, j) to csc (j, i):        sort by j; i is in order under each j
//! (i, j, k) to (j, i, k):          sort by j; (i, k) is in order
//! (i, j, k) to (k, j, i):          sort by (k, j)
//! csr to coo, to dcsr, to dense:   no sort
//! ```
//!
//! Then the levels are built as in packing. A target of dense levels needs no sort: each value goes to its place.
//!
//! Zeros with which dense levels of the source filled up (all bytes zero) are left out, unless the target is dense
//! throughout. Zeros that a compressed format stores are entries, and stay. A tensor with another fill value than 0 is
//! masked on the way ([`crate::fill`]).
//!
//! Paper: Chou et al., *Automatic Generation of Efficient Sparse Tensor Format Conversion Routines* (PLDI 2020).

use lacunar_formats::{DType, Format, Map, Recovery, Scalar, Term};

use crate::array::{Array, Plain};
use crate::buffer::Buffer;
use crate::cast;
use crate::error::StorageError;
use crate::fill::cast_scalar;
use crate::forms::Form;
use crate::keys::{Column, Columns, Entries, Keyed, Layout};
use crate::moved::{BLOCK, Moved};
use crate::outside;
use crate::pack::{build, level_sizes, plain_format, positions, strides, widen};
use crate::placed;
use crate::ranking;
use crate::remap;
use crate::segments::NOWHERE;
use crate::sort::{self, Key};
use crate::storage::LevelStorage;
use crate::tensor::Tensor;
use crate::transpose::{self, Prefix};

impl Tensor {
    /// The same tensor in another format.
    ///
    /// # Errors
    /// The format has another order, cannot hold the entries, or memory is refused.
    pub fn convert(&self, format: &Format) -> Result<Tensor, StorageError> {
        if format.order() != self.order() {
            let (levels, order) = (format.order(), self.order());
            return Err(StorageError::Order { format: format.clone(), levels, order });
        }
        let sizes = format.map().map_or(Some(Vec::new()), |map| map.stored_dims(self.dims()));
        sizes.ok_or_else(|| StorageError::overflow("the number of diagonals"))?;
        Ok(self.converted(format)?.made())
    }

    /// [`Tensor::convert`] to a format of the tensor's order.
    fn converted(&self, format: &Format) -> Result<Tensor, StorageError> {
        let wide = widen(format, self.dims(), self.nnz());
        if wide == *self.format() {
            return Ok(self.try_clone()?);
        }
        check_type(self.dtype(), format)?;
        if !self.fill().is_zero() {
            return self.convert_filled(format);
        }
        if let Some(ranking) = ranking::of(self) {
            return ranking::unranked(self, ranking, format);
        }
        if let Some(ranked) = format.map().and_then(Map::ranked) {
            return ranking::ranked(self, format, ranked);
        }
        let padded = self.format().is_padded();
        if let Some(rows) = placed::rows(self, None)? {
            return rows.into_format(format);
        }
        if !self.format().is_plain() {
            let plain = self.to_plain()?;
            let is_made = *plain.format() == wide && padded == wide.is_padded();
            return if is_made { Ok(plain) } else { plain.convert_from_plain(format, padded) };
        }
        self.convert_from_plain(format, padded)
    }

    /// [`Tensor::convert`] of a tensor that is not needed any more.
    pub(crate) fn into_format(self, format: &Format) -> Result<Tensor, StorageError> {
        let is_made = widen(format, self.dims(), self.nnz()) == *self.format();
        if is_made { Ok(self) } else { self.convert(format) }
    }

    /// Conversion of a tensor of plain levels. `padded` says that stored zeros only fill up.
    fn convert_from_plain(&self, format: &Format, padded: bool) -> Result<Tensor, StorageError> {
        if format.map().is_none() && format.is_plain() {
            return self.convert_plain(format, padded);
        }
        if self.format().map().is_some() {
            // What both store is related to the tensor's own coordinates only.
            let between = plain_format(self.dims(), self.nnz());
            return self.convert_plain(&between, padded)?.convert(format);
        }
        if let Some(result) = placed::convert(self, format, padded)? {
            return Ok(result);
        }
        match format.map() {
            Some(map) => self.convert_mapped(format, map, padded),
            None => {
                let plain = format.plain();
                let is_plain = widen(&plain, self.dims(), self.nnz()) == *self.format() && padded == plain.is_padded();
                if is_plain { self.to_spread(format) } else { self.convert_plain(&plain, padded)?.spread(format) }
            }
        }
    }

    /// Conversion to plain levels. The source's levels are plain; it may have a map. `padded` says that stored zeros only fill
    /// up.
    pub(crate) fn convert_plain(&self, format: &Format, padded: bool) -> Result<Tensor, StorageError> {
        let format = widen(format, self.dims(), self.nnz());
        if format == *self.format() && padded == format.is_padded() {
            return Ok(self.try_clone()?);
        }
        let slots = has_slots(self.format());
        if padded && slots {
            // What fills up slots, if it is not zero, has the coordinate of others, and is added to them.
            return Tensor::from_coo(self.entries(padded)?, &format);
        }
        let cleared = if padded { outside::cleared(self)? } else { None };
        cleared.as_ref().unwrap_or(self).sorted(format, padded, slots)
    }

    /// The same of a tensor all of whose entries are in its dimensions, and which is stored in another way. `slots` says that it
    /// has some, which may have been filled in any order.
    fn sorted(&self, format: Format, padded: bool, slots: bool) -> Result<Tensor, StorageError> {
        if format.is_dense() {
            return to_dense(self, format, padded);
        }
        let unsorted = unsorted_levels(self.format(), &format);
        if unsorted > 0 || padded {
            // What is in order already needs no bins, but levels are made of them at little cost.
            let levels = unsorted.max(1).min(format.order() - 1);
            // Only where one level is left below are bins sorted.
            let is_sorted = !slots || transpose::ends_compressed(&format);
            let prefix = Some(levels).filter(|levels| *levels >= unsorted && is_sorted);
            let prefix =
                prefix.and_then(|levels| Prefix::choose(self.dims(), &format, levels, (self.nnz(), self.bytes())));
            if let Some(result) = prefix.and_then(|prefix| transpose::convert(self, &format, prefix, padded)) {
                return result;
            }
        }
        if unsorted == 0 && !padded && self.format().map().is_none() {
            let entries = Entries::Columns(self.columns(&format)?);
            return build(self.dims().to_vec(), format, entries, self.values().try_clone()?);
        }
        let layout = Layout::new(&level_sizes(self.dims(), &format));
        match layout.bits() {
            0..=32 => convert_keyed(self, (format, padded), layout, Entries::Keys32),
            33..=64 => convert_keyed(self, (format, padded), layout, Entries::Keys64),
            65..=128 => convert_keyed(self, (format, padded), layout, Entries::Keys128),
            _ => Tensor::from_coo(self.entries(padded)?, &format),
        }
    }

    /// The entries of a tensor of plain levels, by level of a format in which they are in the same order.
    fn columns(&self, format: &Format) -> Result<Columns<'_>, StorageError> {
        let stored_once =
            |level: usize| self.format().levels()[level..].iter().all(|level| level.properties().branchless);
        let column = |&dimension: &usize| -> Result<Column, StorageError> {
            let level = self.format().level_of(dimension).unwrap_or(0);
            // A level above others that have one position for each of its own has the coordinates of all entries.
            match self.levels()[level].crd().and_then(Buffer::indices) {
                Some(crd) if stored_once(level + 1) => Ok(Column::Borrowed(crd)),
                _ => self.column(level).map(Column::Owned),
            }
        };
        let columns = format.mode_order().iter().map(column).collect::<Result<_, _>>()?;
        Ok(Columns { len: self.values().len(), columns })
    }

    /// Conversion from plain levels without a map to a format with one.
    fn convert_mapped(&self, format: &Format, map: &Map, padded: bool) -> Result<Tensor, StorageError> {
        let sizes = map.stored_dims(self.dims()).unwrap_or_default();
        let layout = sizes.into_iter().collect::<Option<Vec<u64>>>().map(|sizes| (Layout::new(&sizes), sizes));
        let stored = match layout {
            Some((layout, sizes)) if !sizes.is_empty() && layout.bits() <= 128 => {
                // Other levels than those of the format may keep coordinates that it does not.
                let target = widen(&format.stored().plain(), &sizes, self.nnz());
                match layout.bits() {
                    0..=32 => pack_mapped(self, (target, sizes, padded), map, layout, Entries::Keys32),
                    33..=64 => pack_mapped(self, (target, sizes, padded), map, layout, Entries::Keys64),
                    _ => pack_mapped(self, (target, sizes, padded), map, layout, Entries::Keys128),
                }?
            }
            // Slots are counted, and what is too large for keys is sorted, as a list.
            _ => return remap::pack(self.entries(padded)?, format, map),
        };
        remap::restore(self.dims().to_vec(), stored, format)
    }

    /// The same tensor with values of another type, converted as `as` does: real numbers are truncated and saturate
    /// as integers, integers wrap; a complex number gives its real part; what is not zero is true. What a pattern stores is
    /// one, and becomes one where a pattern is made, whatever it is.
    ///
    /// # Errors
    /// A pattern cannot be stored in the format, or the system refused the memory.
    pub fn cast(&self, dtype: DType) -> Result<Tensor, StorageError> {
        check_type(dtype, self.format())?;
        let zero = Scalar::zero(dtype);
        // What a pattern does not store is nothing else.
        let fill =
            if self.fill().is_zero() || dtype == DType::Pattern { zero } else { cast_scalar(self.fill(), dtype)? };
        let fill = if fill.is_zero() { zero } else { fill };
        Ok(self.with_values(cast::cast(self.values(), dtype)?, fill)?)
    }
}

/// Checks that elements of a type can be stored in a format: without values nothing tells what only fills up.
///
/// # Errors
/// They cannot.
pub(crate) fn check_type(dtype: DType, format: &Format) -> Result<(), StorageError> {
    match dtype == DType::Pattern && format.is_padded() {
        true => Err(StorageError::PaddedPattern { format: Box::new(format.clone()) }),
        false => Ok(()),
    }
}

/// Whether a format has slots: entries that differ in other coordinates may be in any of them.
pub(crate) fn has_slots(format: &Format) -> bool {
    format.map().is_some_and(|map| map.ordinal().is_some())
}

/// How many outer levels of the target have to be sorted by: its levels from some level on are in order already if they
/// follow each other in the source as well.
fn unsorted_levels(source: &Format, target: &Format) -> usize {
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

/// Whether the coordinates of a dimension ascend in the order of storage where those of the others are `fixed`: nothing varies
/// but levels that it is recovered from, the one that weighs more outside. Slots vary with it.
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
    (format, padded): (Format, bool),
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
    pack_form(source, &form, padded, (dims, format), (low, layout, wrap))
}

/// Packs the entries of a plain tensor with the coordinates that a map makes of theirs. The target's dimensions are the stored
/// ones, of these sizes.
fn pack_mapped<K: Key>(
    source: &Tensor,
    (target, sizes, padded): (Format, Vec<u64>, bool),
    map: &Map,
    layout: Layout,
    wrap: fn(Keyed<K>) -> Entries<'static>,
) -> Result<Tensor, StorageError> {
    let mut form = Form::<K>::zero(source.levels().len());
    for (level, &term) in map.terms().iter().enumerate() {
        form.add_term(term, layout.unit(level), (source.format(), source.dims()));
    }
    pack_form(source, &form, padded, (sizes, target), (0, layout, wrap))
}

/// Builds the levels of a target from a source's entries, each with its key; the bits of keys below `low` are in order.
fn pack_form<K: Key>(
    source: &Tensor,
    form: &Form<K>,
    padded: bool,
    (dims, format): (Vec<u64>, Format),
    (low, layout, wrap): (u32, Layout, fn(Keyed<K>) -> Entries<'static>),
) -> Result<Tensor, StorageError> {
    let mut keys = form.at_positions(source, source.levels().len())?;
    let kept = match padded {
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

/// Puts every value at its place. `padded` says that stored zeros only fill up, and have none.
fn to_dense(source: &Tensor, format: Format, padded: bool) -> Result<Tensor, StorageError> {
    let sizes = level_sizes(source.dims(), &format);
    let level_strides = strides(&sizes)?;
    let count = positions(1, &sizes)?;
    let mut form = Form::<u64>::zero(source.levels().len());
    for (&dimension, &stride) in format.mode_order().iter().zip(&level_strides) {
        form.add_dimension(dimension, stride, (source.format(), source.dims()));
    }
    let count = usize::try_from(count).map_err(|_| StorageError::overflow("the number of values"))?;
    let mut moved = Moved::into(source.values(), Buffer::zeroed(source.dtype(), count as u64)?);
    let mut places = form.at_positions(source, source.levels().len())?;
    for (number, places) in places.chunks_mut(BLOCK).enumerate() {
        let mut nonzero = [true; BLOCK];
        if padded {
            Moved::nonzero(source.values(), number * BLOCK, &mut nonzero[..places.len()]);
        }
        places.iter_mut().zip(nonzero).filter(|(_, nonzero)| !nonzero).for_each(|(place, _)| *place = NOWHERE);
        moved.put_alone(number * BLOCK, places);
    }
    let values = moved.into_buffer();
    let levels = sizes.iter().map(|&size| LevelStorage::dense(size)).collect();
    Ok(Tensor::assemble(source.dims().to_vec(), format, levels, values))
}
