//! Elements by their coordinates, in a few steps each.
//!
//! In a tensor that stores every element, the position is a sum. Formats whose levels are dense, or compressed with each coordinate once,
//! are searched as they are. The entries of others, of lists and slots among them, where a search may go through a row, are sorted into
//! compressed levels first.

use std::borrow::Cow;

use crate::{StorageError, Tensor as DynTensor};
use lacunar_formats::{Format, LevelKind};

/// A tensor that can be searched.
pub(super) struct Table<'a> {
    tensor: Cow<'a, DynTensor>,
    /// By dimension, the distance of neighbors in storage, if every element is stored.
    strides: Option<Vec<u64>>,
}

impl Table<'_> {
    /// The elements of a tensor.
    ///
    /// # Errors
    /// Memory is refused.
    pub fn of(tensor: &DynTensor) -> Result<Table<'_>, StorageError> {
        let strides = tensor.format().is_dense().then(|| strides(tensor));
        let tensor = match is_searched(tensor.format()) {
            true => Cow::Borrowed(tensor),
            false => Cow::Owned(tensor.convert(&Format::csf(tensor.order()))?),
        };
        Ok(Table { tensor, strides })
    }

    /// The tensor that is searched, which has the values.
    pub fn tensor(&self) -> &DynTensor {
        &self.tensor
    }

    /// The position of the entry at coordinates that lie in the tensor, if there is one.
    pub fn position(&self, coordinates: &[u64]) -> Option<usize> {
        match &self.strides {
            Some(strides) => {
                let position: u64 = coordinates.iter().zip(strides).map(|(&at, &stride)| at * stride).sum();
                Some(position as usize)
            }
            None => self.tensor.position_of(coordinates),
        }
    }
}

/// By dimension, the distance of neighbors in a tensor that stores every element, whose number is that of its values.
pub(super) fn strides(tensor: &DynTensor) -> Vec<u64> {
    let mut strides = vec![0; tensor.order()];
    let mut stride = 1_u64;
    for &dim in tensor.format().mode_order().iter().rev() {
        strides[dim] = stride;
        // Beside a dimension of size 0, the product of others may not fit; there is no element then.
        stride = stride.saturating_mul(tensor.dims()[dim]);
    }
    strides
}

fn is_searched(format: &Format) -> bool {
    let level = |kind: LevelKind| kind == LevelKind::DENSE || kind == LevelKind::COMPRESSED;
    let is_counted = format.map().is_some_and(|map| map.ordinal().is_some() || map.ranked().is_some());
    !is_counted && format.levels().iter().all(|one| one.unique && level(one.kind))
}
