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

use lacunar_formats::{DType, Format, Level, Scalar};

use crate::array::{Array, Plain};
use crate::buffer::Buffer;
use crate::cast;
use crate::dispatch::with_word;
use crate::error::StorageError;
use crate::fill::cast_scalar;
use crate::keys::{Entries, Keyed, Layout};
use crate::pack::{build, level_sizes, positions, sort_with, strides, widen};
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
        let wide = widen(format, self.dims(), self.nnz());
        if wide == *self.format() {
            return Ok(self.try_clone()?);
        }
        if !self.fill().is_zero() {
            return self.convert_filled(format);
        }
        if format.map().is_some() || self.format().map().is_some() {
            return convert_columns(self, &wide, is_padded(self.format()));
        }
        match format.is_plain() && self.format().is_plain() {
            true => self.convert_plain(format, is_padded(self.format())),
            false => self.convert_spread(format),
        }
    }

    /// Conversion from and to levels of kinds that are not plain.
    fn convert_spread(&self, format: &Format) -> Result<Tensor, StorageError> {
        let made = if self.format().is_plain() { None } else { Some(self.to_plain()?) };
        let source = made.as_ref().unwrap_or(self);
        let plain = source.convert_plain(&format.plain(), is_padded(self.format()))?;
        if format.is_plain() { Ok(plain) } else { plain.spread(format) }
    }

    /// Conversion between formats of plain levels. `padded` says that stored zeros only fill up.
    fn convert_plain(&self, format: &Format, padded: bool) -> Result<Tensor, StorageError> {
        let format = widen(format, self.dims(), self.nnz());
        if format == *self.format() && padded == is_padded(&format) {
            return Ok(self.try_clone()?);
        }
        if format.is_dense() {
            return to_dense(self, format);
        }
        let unsorted = unsorted_levels(self.format(), &format);
        if unsorted > 0 || padded {
            // What is in order already needs no bins, but levels are made of them at little cost.
            let levels = unsorted.max(1).min(format.order() - 1);
            let prefix = Prefix::choose(self.dims(), &format, levels, (self.nnz(), self.bytes()));
            if let Some(result) = prefix.and_then(|prefix| transpose::convert(self, &format, prefix, padded)) {
                return result;
            }
        }
        let layout = Layout::new(&level_sizes(self.dims(), &format));
        match layout.bits() {
            0..=32 => convert_keyed(self, (format, padded), layout, Entries::Keys32),
            33..=64 => convert_keyed(self, (format, padded), layout, Entries::Keys64),
            65..=128 => convert_keyed(self, (format, padded), layout, Entries::Keys128),
            _ => convert_columns(self, &format, padded),
        }
    }

    /// The same tensor with values of another type, converted as `as` does: real numbers are truncated and saturate
    /// as integers, integers wrap; a complex number gives its real part; what is not zero is true.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn cast(&self, dtype: DType) -> Result<Tensor, StorageError> {
        let fill = cast_scalar(self.fill(), dtype)?;
        let fill = if fill.is_zero() { Scalar::zero(dtype) } else { fill };
        Ok(self.with_values(cast::cast(self.values(), dtype)?, fill)?)
    }
}

/// Whether some stored zeros only fill up: below dense levels, and others that are padded, positions exist whether or not
/// there are entries.
pub(crate) fn is_padded(format: &Format) -> bool {
    let exact = |level: &Level| !level.properties().padded && !level.properties().branchless;
    match format.levels().iter().rposition(exact) {
        Some(exact) => format.levels()[exact + 1..].iter().any(|level| level.properties().padded),
        None => format.order() > 0,
    }
}

/// How many outer levels of the target have to be sorted by: its levels from some level on are in order already if they
/// follow each other in the source as well.
fn unsorted_levels(source: &Format, target: &Format) -> usize {
    let at = |level: usize| source.level_of(target.mode_order()[level]);
    let mut first = target.order().saturating_sub(1);
    while first > 0 && at(first - 1) < at(first) {
        first -= 1;
    }
    first
}

fn convert_keyed<K: Key>(
    source: &Tensor,
    (format, padded): (Format, bool),
    layout: Layout,
    wrap: fn(Keyed<K>) -> Entries,
) -> Result<Tensor, StorageError> {
    let shifts: Vec<Option<u32>> = source
        .format()
        .mode_order()
        .iter()
        .map(|&dimension| format.level_of(dimension).filter(|&l| !layout.is_single(l)).map(|l| layout.shift(l)))
        .collect();
    let mut keys = source.enumerate(K::ZERO, |key, level, coordinate| match shifts[level] {
        Some(shift) => key.with(coordinate, shift),
        None => key,
    })?;
    let kept = match padded {
        true => {
            let (nonzero_keys, nonzero) = drop_zeros(&keys, source.values())?;
            keys = nonzero_keys;
            Some(nonzero)
        }
        false => None,
    };
    let low = match unsorted_levels(source.format(), &format) {
        0 => layout.bits(),
        levels => layout.shift(levels - 1),
    };
    let scan = sort::scan(&keys, low);
    let (keys, values) = if scan.sorted {
        (keys, kept.map_or_else(|| source.values().try_clone(), Ok)?)
    } else {
        sort_with(keys, kept.as_ref().unwrap_or(source.values()), low, scan.varying)?
    };
    build(source.dims().to_vec(), format, wrap(Keyed { keys, layout }), values)
}

/// The entries whose value has a byte that is not zero.
fn drop_zeros<T: Plain>(keys: &[T], values: &Buffer) -> Result<(Array<T>, Buffer), StorageError> {
    let dtype = values.dtype();
    with_word!(dtype, V => {
        let words = values.as_words::<V>();
        let zero = V::default();
        let count = words.iter().filter(|&&word| word != zero).count();
        let (mut kept_keys, mut kept) = (Array::zeroed(count)?, Array::<V>::zeroed(count)?);
        let nonzero = keys.iter().zip(words).filter(|&(_, word)| *word != zero);
        for ((to_key, to), (key, word)) in kept_keys.iter_mut().zip(kept.iter_mut()).zip(nonzero) {
            *to_key = *key;
            *to = *word;
        }
        Ok((kept_keys, Buffer::from_words(kept, dtype)))
    })
}

/// Converts by way of a coordinate list, where coordinates are too many for keys, or where a map lies between.
fn convert_columns(source: &Tensor, format: &Format, padded: bool) -> Result<Tensor, StorageError> {
    Tensor::from_coo(source.entries(padded)?, format)
}

/// Puts every value at its place.
fn to_dense(source: &Tensor, format: Format) -> Result<Tensor, StorageError> {
    let sizes = level_sizes(source.dims(), &format);
    let level_strides = strides(&sizes)?;
    let count = positions(1, &sizes)?;
    let by_level: Vec<u64> = source
        .format()
        .mode_order()
        .iter()
        .map(|&dimension| format.level_of(dimension).map_or(0, |level| level_strides[level]))
        .collect();
    let count = usize::try_from(count).map_err(|_| StorageError::overflow("the number of values"))?;
    let dtype = source.dtype();
    let values = with_word!(dtype, V => {
        let mut placed = Array::<V>::zeroed(count)?;
        let places = source.enumerate(0u64, |place, level, coordinate| place + coordinate * by_level[level])?;
        for (&place, &word) in places.iter().zip(source.values().as_words::<V>()) {
            placed[place as usize] = word;
        }
        Buffer::from_words(placed, dtype)
    });
    let levels = sizes.iter().map(|&size| LevelStorage::dense(size)).collect();
    Ok(Tensor::assemble(source.dims().to_vec(), format, levels, values))
}
