//! Elements by their coordinates, in a few steps each.
//!
//! Formats whose levels are dense, or compressed with each coordinate once, are searched as they are. The entries of others, of lists
//! and slots among them, where a search may go through a row, are sorted into compressed levels first.

use std::borrow::Cow;

use lacunar_formats::{Format, LevelKind};
use lacunar_runtime::{StorageError, Tensor as DynTensor};

/// A tensor that can be searched.
pub(super) struct Table<'a> {
    tensor: Cow<'a, DynTensor>,
}

impl Table<'_> {
    /// The elements of a tensor.
    ///
    /// # Errors
    /// Memory is refused.
    pub fn of(tensor: &DynTensor) -> Result<Table<'_>, StorageError> {
        let tensor = match is_searched(tensor.format()) {
            true => Cow::Borrowed(tensor),
            false => Cow::Owned(tensor.convert(&Format::csf(tensor.order()))?),
        };
        Ok(Table { tensor })
    }

    /// The tensor that is searched, which has the values.
    pub fn tensor(&self) -> &DynTensor {
        &self.tensor
    }

    /// The position of the entry at coordinates, if there is one.
    pub fn position(&self, coordinates: &[u64]) -> Option<usize> {
        self.tensor.position_of(coordinates)
    }
}

fn is_searched(format: &Format) -> bool {
    let level = |kind: LevelKind| kind == LevelKind::DENSE || kind == LevelKind::COMPRESSED;
    let is_counted = format.map().is_some_and(|map| map.ordinal().is_some() || map.ranked().is_some());
    !is_counted && format.levels().iter().all(|one| one.unique && level(one.kind))
}
