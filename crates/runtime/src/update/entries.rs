//! Batches of entries whose type is known at run time: those of files.

use std::ops::Range;

use super::Updated;
use super::batch::{Change, Places};
use crate::buffer::Buffer;
use crate::coo::Coordinates;
use crate::dispatch::with_word;
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
        let range = range.start.min(values.len())..range.end.min(values.len());
        let (mut places, mut at) = (Places::new(columns.len()), vec![0; columns.len()]);
        for number in range.clone() {
            at.iter_mut().zip(columns).for_each(|(at, column)| *at = column.get(number).unwrap_or(u64::MAX));
            places.push(&at);
        }
        self.check_places(&places, self.dtype())?;
        with_word!(self.dtype(), V => {
            let words = values.as_words::<V>();
            let change = |number: usize| if removes { Change::Remove } else { Change::Set(words[number]) };
            self.carry_out(&places, &range.map(change).collect::<Vec<_>>())
        })
    }
}
