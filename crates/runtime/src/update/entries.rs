//! Batches of entries whose type is known at run time: those of files.

use std::ops::Range;

use super::{Batch, Updated};
use crate::buffer::Buffer;
use crate::coo::Coordinates;
use crate::dispatch::with_element;
use crate::error::StorageError;
use crate::tensor::Tensor;

impl Tensor {
    /// Stores entries of a list, or removes the entries at their coordinates: those with numbers of a range, all of them or none. If
    /// several have the same coordinates, the last counts.
    ///
    /// # Errors
    /// As [`Tensor::update`]; values are of another type than the tensor's.
    ///
    /// ```
    /// use lacunar_formats::{DType, FormatSpec};
    /// use lacunar_runtime::{Buffer, Coordinates, Tensor};
    /// let format = "d{bst}".parse::<FormatSpec>().unwrap().resolve(2).unwrap();
    /// let mut graph = Tensor::zeros(vec![3, 4], &format, DType::F64).unwrap();
    /// let columns = [Coordinates::U32(vec![0, 2]), Coordinates::U32(vec![1, 3])];
    /// let values = Buffer::from_vec(vec![1.0, 2.0]);
    /// assert_eq!(graph.update_entries(&columns, &values, 0..2, false).unwrap().inserted, 2);
    /// assert_eq!(graph.update_entries(&columns, &values, 1..2, true).unwrap().removed, 1);
    /// ```
    pub fn update_entries(
        &mut self,
        columns: &[Coordinates],
        values: &Buffer,
        range: Range<usize>,
        removes: bool,
    ) -> Result<Updated, StorageError> {
        if values.dtype() != self.dtype() {
            let (found, expected) = (values.dtype(), self.dtype().to_string());
            return Err(StorageError::Type { what: "the entries".to_string(), found, expected });
        }
        with_element!(self.dtype(), T => {
            let values = values.as_slice::<T>().unwrap_or_default();
            let mut batch = Batch::<T>::new(columns.len());
            let mut at = vec![0; columns.len()];
            for (number, value) in values.iter().enumerate().take(range.end).skip(range.start) {
                at.iter_mut().zip(columns).for_each(|(at, column)| *at = column.get(number).unwrap_or(u64::MAX));
                match removes {
                    true => batch.remove(&at),
                    false => batch.set(&at, *value),
                };
            }
            self.update(&batch)
        })
    }
}
