//! An entry that is taken out of a tensor.
//!
//! In levels of nodes and in loose ones the arrays stay where they are, and an outer coordinate of a level of nodes goes with its last
//! entry. The places of a dense level stay, and get the fill value. Other formats are made anew.

use lacunar_formats::{Format, LevelKind};

use super::{exchange, is_updated_in_place, payload_of};
use crate::coo::retain;
use crate::dispatch::with_values;
use crate::error::StorageError;
use crate::fill::element_of;
use crate::nodes::remove_quickly;
use crate::tensor::Tensor;
use crate::values::Element;

impl Tensor {
    /// Removes the entry at coordinates, and gives its value; `None` if none is stored there. An element of a dense innermost level
    /// becomes the fill value.
    ///
    /// # Errors
    /// There are too few or too many coordinates, one is not below the size of its dimension, the elements are of another type, or
    /// memory is refused. The tensor is as it was then.
    ///
    /// ```
    /// use lacunar_formats::{DType, FormatSpec};
    /// use lacunar_runtime::Tensor;
    /// let format = "d{btree}".parse::<FormatSpec>().unwrap().resolve(2).unwrap();
    /// let mut graph = Tensor::zeros(vec![3, 4], &format, DType::F64).unwrap();
    /// graph.insert(&[1, 3], 5.0).unwrap();
    /// assert_eq!(graph.remove::<f64>(&[1, 3]).unwrap(), Some(5.0));
    /// assert_eq!(graph.remove::<f64>(&[1, 3]).unwrap(), None);
    /// ```
    pub fn remove<T: Element>(&mut self, coordinates: &[u64]) -> Result<Option<T>, StorageError> {
        self.check_entry(coordinates, T::DTYPE)?;
        if self.format().packing().is_some() {
            return self.set_packed(coordinates, T::default());
        }
        let mut is_row_empty = false;
        let quick = self.change_row(coordinates, |level, values, (parent, own)| {
            let removed = remove_quickly(level, values, (parent, own));
            is_row_empty = level.numbers(0).get(parent as usize) == 0;
            removed
        });
        if let Some(before) = quick {
            return if is_row_empty { self.prune(coordinates).map(|()| before) } else { Ok(before) };
        }
        match self.remove_in_place(coordinates)? {
            Some(before) => Ok(before),
            None => self.remove_anew(coordinates),
        }
    }

    /// The same if the tensor need not be made anew; `None` if it must.
    pub(super) fn remove_in_place<T: Element>(
        &mut self,
        coordinates: &[u64],
    ) -> Result<Option<Option<T>>, StorageError> {
        if !is_updated_in_place(self.format()) {
            return Ok(None);
        }
        let Some(level) = self.levels().len().checked_sub(1) else { return Ok(None) };
        let at = self.find_some(coordinates);
        let (Some(&parent), Some(&position)) = (at.get(level), at.get(level + 1)) else { return Ok(Some(None)) };
        let (last, own) = (&self.levels()[level], coordinates[self.format().mode_order()[level]]);
        let value = self.values().as_slice::<T>().and_then(|values| values.get(position as usize).copied());
        if last.kind() == LevelKind::DENSE {
            let fill = element_of::<T>(self.fill());
            return Ok(Some(exchange(self.parts_mut().3, position, fill)?));
        }
        if !self.take_out(level, parent, own)? {
            return Ok(None);
        }
        let last = &self.levels()[level];
        if last.kind().schema().is_some() && last.numbers(0).get(parent as usize) == 0 {
            self.prune(coordinates)?;
        }
        Ok(Some(value))
    }

    /// Removes coordinates of outer levels of nodes that have nothing below, along the way to some entry.
    pub(super) fn prune(&mut self, coordinates: &[u64]) -> Result<(), StorageError> {
        let [.., above, _] = self.levels() else { return Ok(()) };
        if above.kind().schema().is_none() {
            return Ok(());
        }
        let mut parents = self.find_some(coordinates);
        parents.truncate(self.levels().len());
        for level in (0..parents.len().saturating_sub(1)).rev() {
            let below = &self.levels()[level + 1];
            let is_empty = below.kind().schema().is_some() && below.numbers(0).get(parents[level + 1] as usize) == 0;
            if self.levels()[level].kind().schema().is_none() || !self.moves(level) || !is_empty {
                break;
            }
            self.take_out(level, parents[level], coordinates[self.format().mode_order()[level]])?;
        }
        Ok(())
    }

    /// The parent position at each level of the entry at coordinates, and behind these the position of its value, as far as there is
    /// anything.
    fn find_some(&self, coordinates: &[u64]) -> Vec<u64> {
        let mut at = Vec::with_capacity(self.levels().len() + 1);
        at.push(0);
        for (storage, mode) in self.levels().iter().zip(self.format().mode_order()) {
            match storage.operations().find(storage, at[at.len() - 1], coordinates[*mode]) {
                Some(position) => at.push(position),
                None => break,
            }
        }
        at
    }

    /// Removes a coordinate of a level under a parent position; false if that cannot be done in place.
    pub(super) fn take_out(&mut self, level: usize, parent: u64, coordinate: u64) -> Result<bool, StorageError> {
        self.own(level, 1)?;
        let fill = self.fill();
        let (_, _, levels, values) = self.parts_mut();
        let (own, below) = levels.split_at_mut(level + 1);
        match (own.last_mut(), payload_of(below, values, fill)) {
            (Some(storage), Some(payload)) => storage.operations().remove(storage, parent, coordinate, payload),
            _ => Ok(false),
        }
    }

    /// The same by way of a list.
    fn remove_anew<T: Element>(&mut self, coordinates: &[u64]) -> Result<Option<T>, StorageError> {
        let mut list = self.convert(&Format::csf(self.order()))?.to_coo()?;
        let here = |k: &usize| list.coords.iter().zip(coordinates).all(|(column, own)| column.get(*k) == Some(*own));
        let Some(at) = (0..list.values.len()).find(here) else { return Ok(None) };
        let before = T::unwrap(&list.values).and_then(|values| values.get(at).copied());
        let kept: Vec<bool> = (0..list.values.len()).map(|k| k != at).collect();
        with_values!(&mut list.values, values => retain(values, &kept));
        let coords = list.coords.into_iter().zip(&list.dims).map(|(column, size)| column.kept(&kept, *size));
        list.coords = coords.collect();
        let (format, fill) = (self.format().clone(), self.fill());
        *self = Tensor::from_coo_filled(list, &format, fill)?;
        Ok(before)
    }
}
