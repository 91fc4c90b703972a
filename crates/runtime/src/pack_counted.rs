//! Packing by counting: from a list in any order to formats whose innermost level alone is compressed below a prefix of
//! levels that can be counted by (csr, csc, dcsr, ...).
//!
//! The entries are put to the bin of their prefix ([`crate::counting`]) with the coordinate of the innermost level,
//! straight from the list's arrays to those of the result. Lists are seldom in no order at all: if one is by columns
//! and the result by rows, all bins come out sorted; and so they do for one triangle of a symmetric matrix with its
//! mirror image. Bins that are not sorted are sorted, and repeated coordinates are added up, in the order of the list.
//!
//! ```text
//! (1,0) 5  (0,2) 6  (1,0) 7     csr: bins are rows   offsets 0 1 3   columns 2 | 0 0   values 6 | 5 7
//!                               added up             offsets 0 1 2   columns 2 | 0     values 6 | 12
//! ```

use lacunar_formats::IndexWidth;

use crate::array::Array;
use crate::buffer::Buffer;
use crate::coo::Coordinates;
use crate::counting::{self, Above, Entries, Parts, Sorted};
use crate::error::{AllocError, StorageError};
use crate::pack;
use crate::parallel;
use crate::runs::{Runs, Singles};
use crate::sort::{self, Key};
use crate::sums::Sums;
use crate::tensor::Tensor;
use crate::transpose::Prefix;
use crate::values::Element;

/// Packs a list, whose coordinates are below the dimensions' sizes, into so many levels above a compressed one.
///
/// # Errors
/// The format cannot hold the entries, or memory is refused.
pub fn pack(list: pack::List, levels: usize) -> Result<Tensor, StorageError> {
    let pack::List { dims, format, columns, values } = list;
    let prefix = Prefix::new(&dims, &format, levels).ok_or(StorageError::Astray)?;
    let size = dims[format.mode_order()[levels]];
    let bits = u64::BITS - size.saturating_sub(1).leading_zeros();
    let list = List { columns: &columns, values: &values, prefix: &prefix, bits };
    let (offsets, crd, values) = match (format.coordinates(levels), &columns[levels]) {
        (IndexWidth::W64, Coordinates::U64(last)) => list.sorted(last)?,
        (IndexWidth::W64, Coordinates::U32(last)) => list.sorted(&converted(last, u64::from)?)?,
        (_, Coordinates::U32(last)) => list.sorted(last)?,
        (_, Coordinates::U64(last)) => list.sorted(&converted(last, |c| c as u32)?)?,
    };
    drop(columns);
    prefix.assemble(dims, format, offsets, (crd, values))
}

fn converted<C: Copy + Sync, K: Key>(column: &[C], convert: impl Fn(C) -> K + Sync) -> Result<Array<K>, AllocError> {
    Array::of(column.len(), |k| convert(column[k]))
}

/// A coordinate list, by level.
struct List<'a> {
    columns: &'a [Coordinates],
    values: &'a Buffer,
    prefix: &'a Prefix,
    /// The bits of a coordinate of the innermost level.
    bits: u32,
}

impl List<'_> {
    /// The entries in the order of the target, with distinct coordinates: the offsets of bins, the innermost
    /// coordinates, of which `last` are those of the list, and the values.
    fn sorted<K: Key + Element>(&self, last: &[K]) -> Result<(Array<u32>, Buffer, Buffer), StorageError> {
        let strides = self.prefix.strides();
        let (outer, counted) = self.columns[..strides.len()].split_at(strides.len() - 1);
        let mut bins = (!outer.is_empty()).then(|| Array::<u32>::zeroed(last.len())).transpose()?;
        if let Some(bins) = &mut bins {
            parallel::fill(bins, |k| {
                let coordinate = |column: &Coordinates| column.get(k).unwrap_or_default() as u32;
                outer.iter().zip(strides).map(|(column, stride)| coordinate(column) * stride).sum()
            });
        }
        let bins = Parts { above: Above::Stored(bins.as_deref()), innermost: 1 };
        let keys = Parts { above: Above::Stored(Some(last)), innermost: K::ZERO };
        match &counted[0] {
            Coordinates::U32(counted) => self.sorted_by(&Singles::new(counted), bins, keys),
            Coordinates::U64(counted) => self.sorted_by(&Singles::new(counted), bins, keys),
        }
    }

    fn sorted_by<K: Key + Element>(
        &self,
        runs: &impl Runs,
        bins: Parts<u32>,
        keys: Parts<K>,
    ) -> Result<(Array<u32>, Buffer, Buffer), StorageError> {
        let entries = Entries { runs, bins, keys, values: self.values, padded: false };
        let Sorted { mut offsets, mut keys, mut values } =
            counting::sort(&entries, self.prefix.bins(), self.values.bytes())?;
        if sort::sort_bins(&mut keys, &mut values, &offsets, self.bits)? {
            let kept = combine_repeats(&mut offsets, &mut keys, &mut values);
            keys.truncate(kept);
            values.truncate(kept);
        }
        Ok((offsets, Buffer::from_array(keys), values))
    }
}

/// Adds up the values of keys that a bin has more than once, and closes the gaps. Returns how many entries are left.
fn combine_repeats<K: Key>(offsets: &mut [u32], keys: &mut [K], values: &mut Buffer) -> usize {
    let (mut kept, mut start) = (0, 0);
    let mut sums = Sums::new(values, 0, None);
    for offset in offsets.iter_mut().skip(1) {
        let (first, end) = (kept, *offset as usize);
        for k in start..end {
            if kept == first || keys[kept - 1] != keys[k] {
                keys[kept] = keys[k];
                kept += 1;
            }
            sums.push(kept - 1);
        }
        *offset = kept as u32;
        start = end;
    }
    sums.finish();
    kept
}
