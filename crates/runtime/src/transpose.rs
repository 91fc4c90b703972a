//! Conversion by counting: the way between storage orders where the levels to sort by are few and small enough.
//!
//! The target's levels from some level on are in the order of the source already; only those before, the *prefix*,
//! are sorted by, in one pass ([`crate::counting`]) with a counter for each combination of their coordinates:
//!
//! ```text
//! csr to csc:                    prefix (j)       rows and values go straight to where the result has them
//! (i, j, k) to (j, i, k):        prefix (j)       (j, i, k) as one number, and values
//! (i, j, k) to (k, j, i):        prefix (k, j)
//! dense to csr:                  prefix (i)       in order already, but zeros are left out
//! ```
//!
//! If one compressed level is left below the prefix, its coordinates and the values are the result's own arrays, and
//! the counters become positions. Besides the result, there are only the counters of threads and the sums that the
//! levels above the source's innermost one contribute, which take less than the source. In other formats keys are
//! sorted, and the levels are built as in packing.
//!
//! Paper: Chou et al., *Automatic Generation of Efficient Sparse Tensor Format Conversion Routines* (PLDI 2020).

use lacunar_formats::{Format, IndexWidth, LevelKind};

use crate::array::Array;
use crate::buffer::Buffer;
use crate::coo::Coordinates;
use crate::counting::{self, Above, Parts, Sorted};
use crate::error::{AllocError, StorageError};
use crate::fits::{level_sizes, widen};
use crate::forms::Form;
use crate::index_array::of_width;
use crate::keys::{Column, Columns, Entries, Keyed, Layout};
use crate::pack::build;
use crate::parallel;
use crate::runs::{self, AnyRuns, with_runs};
use crate::sort::{self, Key};
use crate::storage::{Bounds, LevelStorage, Offsets, Place};
use crate::tensor::Tensor;
use crate::values::Element;

/// The target's outer levels, whose coordinates make the bin.
#[derive(Debug)]
pub struct Prefix {
    /// Bins from one coordinate of each level to the next, outermost first.
    strides: Vec<u32>,
    /// The number of bins.
    bins: usize,
}

impl Prefix {
    /// The first `levels` levels of a target; `None` if there is no counting so many coordinates.
    pub fn new(dims: &[u64], format: &Format, levels: usize) -> Option<Prefix> {
        let sizes = level_sizes(dims, format);
        let mut bins = 1u32;
        let mut strides = vec![0; levels];
        for (stride, &size) in strides.iter_mut().zip(sizes.get(..levels)?).rev() {
            *stride = bins;
            bins = bins.checked_mul(u32::try_from(size).ok()?)?;
        }
        (bins < u32::MAX).then_some(Prefix { strides, bins: bins as usize })
    }

    /// True if a counter for each of the coordinates takes less memory than the source, which has so many entries and
    /// bytes, or is in the result anyway.
    pub fn pays(&self, format: &Format, entries: u64, bytes: u64) -> bool {
        let kept = format.levels()[..self.levels()].iter().all(|level| level.kind == LevelKind::DENSE);
        let fits = kept || 4 * self.bins as u64 <= bytes.max(SMALL);
        fits && u32::try_from(entries).is_ok()
    }

    /// Bins from one coordinate of each level to the next, outermost first.
    pub fn strides(&self) -> &[u32] {
        &self.strides
    }

    /// The number of bins.
    pub fn bins(&self) -> usize {
        self.bins
    }

    /// The number of levels.
    fn levels(&self) -> usize {
        self.strides.len()
    }
}

/// The bytes of counters that are always allowed.
const SMALL: u64 = 1 << 12;

/// Sorts a tensor of plain levels by the outermost levels of a format, so many. The levels below are in the order of
/// the source, and coordinates fit into keys. `drop` says that stored zeros are padding.
///
/// # Errors
/// The format cannot hold the entries, or memory is refused.
pub fn convert(source: &Tensor, format: &Format, levels: usize, drop: bool) -> Result<Tensor, StorageError> {
    let format = &widen(format, source.dims(), source.nnz());
    let prefix = Prefix::new(source.dims(), format, levels).ok_or(StorageError::Astray)?;
    let order = Order { source, format, prefix, drop };
    let layout = Layout::new(&level_sizes(source.dims(), format));
    let wide = format.coordinates(levels) == IndexWidth::W64;
    match (is_straight(format, levels), wide, layout.bits()) {
        (true, false, _) => order.convert_straight::<u32>(),
        (true, true, _) => order.convert_straight::<u64>(),
        (false, _, 0..=32) => order.convert_keyed(layout, Entries::Keys32),
        (false, _, 33..=64) => order.convert_keyed(layout, Entries::Keys64),
        (false, _, _) => order.convert_keyed(layout, Entries::Keys128),
    }
}

/// True if sorted coordinates and values are the result's arrays: one compressed level is left below a prefix of so
/// many levels.
pub fn is_straight(format: &Format, levels: usize) -> bool {
    levels + 1 == format.order() && ends_compressed(format)
}

/// True if the innermost level is compressed.
pub fn ends_compressed(format: &Format) -> bool {
    format.levels().last().is_some_and(|level| level.kind == LevelKind::COMPRESSED)
}

/// A conversion: its source, its target, and its method.
struct Order<'a> {
    source: &'a Tensor,
    format: &'a Format,
    prefix: Prefix,
    drop: bool,
}

impl Order<'_> {
    fn convert_straight<K: Key + Element>(self) -> Result<Tensor, StorageError> {
        let last = self.prefix.levels();
        let unit = |level: usize| if level == last { K::ZERO.with(1, 0) } else { K::ZERO };
        let Sorted { offsets, mut keys, mut values } = self.sort::<K>(&unit)?;
        if self.source.format().map().is_some_and(|map| map.ordinal().is_some()) {
            // Slots may have been filled in any order.
            let size = self.source.dims()[self.format.mode_order()[last]];
            let bits = u64::BITS - size.saturating_sub(1).leading_zeros();
            sort::sort_bins(&mut keys, &mut values, &offsets, bits)?;
        }
        let arrays = (Buffer::from_array(keys), values);
        self.prefix.assemble(self.source.dims().to_vec(), self.format.clone(), offsets, arrays)
    }

    fn convert_keyed<K: Key>(
        self,
        layout: Layout,
        wrap: fn(Keyed<K>) -> Entries<'static>,
    ) -> Result<Tensor, StorageError> {
        let Sorted { offsets, keys, values } = self.sort::<K>(&|level| layout.unit(level))?;
        drop(offsets);
        build(self.source.dims().to_vec(), self.format.clone(), wrap(Keyed { keys, layout }), values)
    }

    /// Sorts the entries by bin; the source's order is not 0, as the target has a level that is not dense. `unit` gives
    /// the number that each 1 of a coordinate of a level of the target adds to a key.
    fn sort<K: Key>(&self, unit: &dyn Fn(usize) -> K) -> Result<Sorted<K>, StorageError> {
        let source = self.source;
        let (stored, described) = (source.levels().len(), (source.format(), source.dims()));
        let (mut bin, mut key) = (Form::<u32>::zero(stored), Form::<K>::zero(stored));
        for (level, &dimension) in self.format.mode_order().iter().enumerate() {
            bin.add_dimension(dimension, self.prefix.strides.get(level).copied().unwrap_or(0), described);
            key.add_dimension(dimension, unit(level), described);
        }
        let outer = stored - 1;
        let innermost = (bin.weight(outer).whole(), key.weight(outer).whole());
        let (added_to_bins, added_to_keys);
        let (bins, keys) = match source.format().levels()[0].kind {
            kind if outer == 1 && kind == LevelKind::DENSE && bin.start() == 0 && key.start() == K::ZERO => {
                (Above::Numbered(bin.weight(0).whole()), Above::Numbered(key.weight(0).whole()))
            }
            _ => {
                let (with_bins, with_keys) = (!bin.is_none_of(outer), !key.is_none_of(outer));
                added_to_bins = with_bins.then(|| bin.at_positions(source, outer)).transpose()?;
                added_to_keys = with_keys.then(|| key.at_positions(source, outer)).transpose()?;
                (Above::Stored(added_to_bins.as_deref()), Above::Stored(added_to_keys.as_deref()))
            }
        };
        let bins = Parts { above: bins, innermost: innermost.0 };
        let keys = Parts { above: keys, innermost: innermost.1 };
        let what = || StorageError::overflow("the size of a level");
        let widened = runs::widened(&source.levels()[outer])?;
        let runs = AnyRuns::of(&source.levels()[outer], widened.as_deref()).ok_or_else(what)?;
        with_runs!(&runs, runs => {
            let entries = counting::Entries { runs, bins, keys, values: source.values(), padded: self.drop };
            Ok(counting::sort(&entries, self.prefix.bins, source.bytes())?)
        })
    }
}

impl Prefix {
    /// The tensor with one level below the prefix, which is compressed and has these coordinates, in any width.
    /// `offsets` are the starts of the bins.
    ///
    /// # Errors
    /// A level of the prefix cannot hold the coordinates, or memory is refused.
    pub fn assemble(
        &self,
        dims: Vec<u64>,
        format: Format,
        offsets: Array<u32>,
        (crd, values): (Buffer, Buffer),
    ) -> Result<Tensor, StorageError> {
        let (mut levels, bounds) = self.pack(&dims, &format, offsets)?;
        let last = self.levels();
        let pos = bounds.into_pos(format.positions(last))?;
        levels.push(LevelStorage::compressed(pos, of_width(crd, format.coordinates(last))?));
        Ok(Tensor::assemble(dims, format, levels, values))
    }

    /// The prefix's levels, and the entries that each position of the innermost of them covers.
    fn pack(
        &self,
        dims: &[u64],
        format: &Format,
        offsets: Array<u32>,
    ) -> Result<(Vec<LevelStorage>, Bounds), StorageError> {
        let sizes = &level_sizes(dims, format)[..self.levels()];
        if format.levels()[..self.levels()].iter().all(|level| level.kind == LevelKind::DENSE) {
            let levels = sizes.iter().map(|&size| LevelStorage::dense(size)).collect();
            return Ok((levels, Bounds::Explicit(Offsets::U32(offsets))));
        }
        // The levels hold each bin that is not empty once: they are packed as if bins were entries.
        let (starts, mut bins) = self.occupied(sizes, &offsets)?;
        drop(offsets);
        let mut bounds = Bounds::Root(bins.len());
        let mut levels = Vec::with_capacity(format.order());
        for level in 0..self.levels() {
            let (storage, children) = LevelStorage::pack(&mut bins, bounds, Place { format, dims, level })?;
            levels.push(storage);
            bounds = children;
        }
        if let Bounds::Identity(_) = bounds {
            return Ok((levels, Bounds::Explicit(Offsets::U32(starts))));
        }
        let mut entries = Array::zeroed(bounds.positions() + 1)?;
        parallel::fill(&mut entries, |position| starts[bounds.start(position)]);
        Ok((levels, Bounds::Explicit(Offsets::U32(entries))))
    }

    /// The starts of the bins that are not empty, with the number of entries at the end, and their coordinates.
    fn occupied(&self, sizes: &[u64], offsets: &[u32]) -> Result<(Array<u32>, Entries<'static>), AllocError> {
        let is_occupied = |&bin: &usize| offsets[bin] < offsets[bin + 1];
        let len = (0..self.bins).filter(is_occupied).count();
        let mut starts = Array::zeroed(len + 1)?;
        for (start, bin) in starts.iter_mut().zip((0..self.bins).filter(is_occupied)) {
            *start = offsets[bin];
        }
        starts[len] = offsets[self.bins];
        let mut columns = Vec::with_capacity(sizes.len());
        for (&stride, &size) in self.strides.iter().zip(sizes) {
            let mut column = Vec::new();
            column.try_reserve_exact(len).map_err(|_| AllocError { bytes: 4 * len as u64 })?;
            column.extend((0..self.bins).filter(is_occupied).map(|bin| bin as u32 / stride % size as u32));
            columns.push(Column::from(Coordinates::U32(column)));
        }
        Ok((starts, Entries::Columns(Columns { len, columns })))
    }
}
