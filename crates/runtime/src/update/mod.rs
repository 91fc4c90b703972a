//! Tensors that are changed: entries put in and taken out, one at a time or many at once.
//!
//! ```text
//! insert.rs      one entry is put in
//! remove.rs      one entry is taken out
//! batch.rs       many changes, all or none
//! sorted.rs      these in the order of levels
//! rows.rs        those of tensors of nodes, level by level and row after row
//! dims.rs        dimensions that grow
//! entries.rs     a batch of entries as a file has them
//! compact.rs     nodes in the order of coordinates, without unused ones
//! packed.rs      elements from which others follow
//! snapshot.rs    a tensor as it is now, whatever is changed later
//! ```
//!
//! A change that fails leaves the tensor as it was.

mod batch;
mod compact;
mod dims;
mod entries;
mod insert;
mod packed;
mod remove;
mod rows;
mod snapshot;
mod sorted;

use lacunar_formats::{DType, Format, LevelKind, Scalar};

pub use batch::{Batch, Updated};

use crate::buffer::Buffer;
use crate::dispatch::with_element;
use crate::error::{AllocError, StorageError};
use crate::fill::element_of;
use crate::nodes::Payload;
use crate::storage::LevelStorage;
use crate::tensor::Tensor;
use crate::values::Element;

impl Tensor {
    /// Checks that an entry of a type may be stored at coordinates.
    #[inline]
    fn check_entry(&self, coordinates: &[u64], dtype: DType) -> Result<(), StorageError> {
        let is_within = coordinates.iter().zip(self.dims()).all(|(coordinate, size)| coordinate < size);
        if is_within && coordinates.len() == self.order() && self.dtype() == dtype {
            return Ok(());
        }
        Err(self.refusal_of(coordinates, dtype))
    }

    /// The mistake in an entry that may not be stored.
    #[cold]
    fn refusal_of(&self, coordinates: &[u64], dtype: DType) -> StorageError {
        if coordinates.len() != self.order() {
            return StorageError::Coordinates { found: coordinates.len(), order: self.order() };
        }
        let outside = |&(_, (coordinate, size)): &(usize, (&u64, &u64))| coordinate >= size;
        if let Some((dimension, (&coordinate, &size))) = coordinates.iter().zip(self.dims()).enumerate().find(outside) {
            return StorageError::OutOfRange { dimension, entry: 0, coordinate, size };
        }
        StorageError::Type { what: "the value".to_string(), found: dtype, expected: self.dtype().to_string() }
    }

    /// True if positions of a level may be put in and moved, with all that lies below: levels of nodes, with dense ones between.
    fn moves(&self, level: usize) -> bool {
        let (own, below) = (&self.levels()[level], &self.levels()[level + 1..]);
        let is_dense = |level: &&LevelStorage| level.kind() == LevelKind::DENSE;
        let has_nodes = |level: &LevelStorage| level.kind().schema().is_some();
        below.is_empty() || has_nodes(own) && below.iter().all(|level| is_dense(&level) || has_nodes(level))
    }

    /// Changes the innermost level, if that has nodes and those above have the coordinates already: `change` is given the level, the values,
    /// and the parent position and the coordinate there. `None` elsewhere, or if it gives that.
    fn change_row<R>(
        &mut self,
        coordinates: &[u64],
        change: impl FnOnce(&mut LevelStorage, &mut Buffer, (u64, u64)) -> Option<R>,
    ) -> Option<R> {
        let (_, format, levels, values) = self.parts_mut();
        let (last, above) = levels.split_last_mut()?;
        if last.kind().schema().is_none() || format.map().is_some() || !format.levels().iter().all(|level| level.unique)
        {
            return None;
        }
        let order = format.mode_order();
        let mut parent = 0;
        for (storage, mode) in above.iter().zip(order) {
            parent = if storage.kind() == LevelKind::DENSE {
                parent * storage.size() + coordinates[*mode]
            } else {
                storage.kind().schema().and_then(|_| storage.operations().find(storage, parent, coordinates[*mode]))?
            };
        }
        change(last, values, (parent, coordinates[order[above.len()]]))
    }

    /// Copies the borrowed arrays of a level, and of the data at its positions, for so many changes.
    fn own(&mut self, level: usize, changes: usize) -> Result<(), AllocError> {
        let (_, _, levels, values) = self.parts_mut();
        let below = &mut levels[level..];
        let Some((own, below)) = below.split_first_mut() else { return values.make_changeable(changes) };
        own.make_changeable(changes)?;
        match below.iter_mut().find(|level| level.kind() != LevelKind::DENSE) {
            Some(next) => next.make_changeable(changes),
            None => values.make_changeable(changes),
        }
    }
}

/// True if the entries of a format can be told by their coordinates alone, level by level.
fn is_updated_in_place(format: &Format) -> bool {
    format.map().is_none() && format.levels().iter().all(|level| level.unique && !level.properties().shared)
}

/// The payload of the level above some, with the values of the last one; `None` if it cannot move.
fn payload_of<'a>(below: &'a mut [LevelStorage], values: &'a mut Buffer, fill: Scalar) -> Option<Payload<'a>> {
    let mut stride = 1usize;
    for level in below {
        if level.kind() == LevelKind::DENSE {
            stride = stride.checked_mul(usize::try_from(level.size()).ok()?)?;
            // As many bytes have to fit, too.
            stride.checked_mul(values.dtype().size().max(size_of::<u64>()))?;
        } else {
            let (_, roots, _, _) = level.nodes_mut()?;
            return Some(Payload::roots(roots, stride));
        }
    }
    if stride == 1 || fill.is_zero() {
        return Some(Payload::values(values, stride, &[]));
    }
    let fresh = with_element!(values.dtype(), T => Buffer::from_vec(vec![element_of::<T>(fill)]));
    Some(Payload::values(values, stride, fresh.as_bytes()))
}

/// Puts a value in the place of another of its type, which it gives.
fn exchange<T: Element>(values: &mut Buffer, at: u64, value: T) -> Result<Option<T>, StorageError> {
    values.make_changeable(1)?;
    let place = values.as_mut_slice::<T>().and_then(|values| values.get_mut(usize::try_from(at).ok()?));
    Ok(place.map(|place| std::mem::replace(place, value)))
}
