//! Tensors that change between statements: by entries of files, and snapshots of them.
//!
//! ```text
//! for k in 0 .. 10 {
//!   insert A "edges.tns" k * 1000 .. k * 1000 + 1000      the next entries of the file, which is read once
//!   y(i) = A(i,j) * x(j)
//! }
//! ```
//!
//! A tensor that has no value yet is empty before. A batch is carried out as a whole, or not at all.

use std::path::Path;

use lacunar_notation::TensorId;
use lacunar_runtime::io::{self, Data};
use lacunar_runtime::{Buffer, Coordinates, StorageError, Tensor};

use super::Runner;
use super::io::{check_exact, reading};
use crate::bind::Slot;
use crate::error::Error;

/// The entries of a file, in its order, with values of a tensor's type.
pub(super) struct List {
    columns: Vec<Coordinates>,
    values: Buffer,
    /// The fault of a value that cannot be converted to the tensor's type: only who takes entries out does not mind.
    converted: Result<(), Error>,
}

impl<'r> Runner<'r, '_> {
    /// Puts entries of a file into a tensor, or takes them out: those with numbers of a range, or all.
    pub(super) fn change(
        &mut self,
        tensor: TensorId,
        file: &'r str,
        range: Option<(i64, i64)>,
        removes: bool,
    ) -> Result<(), Error> {
        if self.slots[tensor.index()].get().is_none() {
            self.dims(tensor)?;
        }
        if !self.lists.contains_key(&(file, tensor)) {
            let list = self.list(tensor, file)?;
            self.lists.insert((file, tensor), list);
        }
        if !removes && let Some(list) = self.lists.get_mut(&(file, tensor)) {
            std::mem::replace(&mut list.converted, Ok(()))?;
        }
        if let Some((from, _)) = range.filter(|(from, _)| *from < 0) {
            return Err(Error::Entries(from));
        }
        let mut changing = self.own(tensor)?;
        let Some(list) = self.lists.get(&(file, tensor)) else { return Ok(()) };
        let count = list.values.len();
        let place = |number: i64| usize::try_from(number).unwrap_or(0).min(count);
        let range = range.map_or(0..count, |(from, to)| place(from)..place(to));
        let updated = changing.update_entries(&list.columns, &list.values, range, removes);
        self.slots[tensor.index()] = Slot::Owned(changing);
        updated.map(|_| ()).map_err(|error| match error {
            StorageError::OutOfRange { coordinate, dimension, size, .. } => {
                let name = &self.program.tensors[tensor].name;
                let fault = format!(
                    "has an entry with coordinate {coordinate}, counted from 0, in dimension {dimension} of `{name}`, whose size is {size}"
                );
                Error::Sizes { file: file.to_string(), fault }
            }
            error => error.into(),
        })
    }

    /// Makes a tensor a snapshot of another.
    pub(super) fn snapshot(&mut self, tensor: TensorId, of: TensorId) -> Result<(), Error> {
        let mut source = self.own(of)?;
        let taken = source.snapshot();
        self.slots[of.index()] = Slot::Owned(source);
        self.slots[tensor.index()] = Slot::Owned(taken?);
        Ok(())
    }

    /// Takes a tensor out of its slot, to change it; an empty one, if it has no value yet.
    fn own(&mut self, tensor: TensorId) -> Result<Tensor, Error> {
        let slot = &mut self.slots[tensor.index()];
        match std::mem::replace(slot, Slot::Empty) {
            Slot::Owned(tensor) => Ok(tensor),
            Slot::Borrowed(given) => {
                *slot = Slot::Borrowed(given);
                Ok(given.try_clone().map_err(StorageError::from)?)
            }
            Slot::Empty => {
                let declared = &self.program.tensors[tensor];
                let empty = Tensor::zeros(self.dims(tensor)?, &declared.format, declared.dtype)?;
                Ok(empty.with_fill(declared.fill())?)
            }
        }
    }

    /// Reads the entries of a file for a tensor.
    fn list(&self, tensor: TensorId, file: &str) -> Result<List, Error> {
        let declared = &self.program.tensors[tensor];
        let options = reading(declared, self.base);
        let refused = |fault: String| Error::Order { file: file.to_string(), fault };
        let Data::Coordinate(list) = io::read(Path::new(file), &options)? else {
            return Err(refused("is an array, which has no entries to insert or to remove".to_string()));
        };
        if list.dims.len() != declared.order() {
            let (name, order, found) = (&declared.name, declared.order(), list.dims.len());
            return Err(refused(format!("holds entries of {found} dimensions, but `{name}` has {order}")));
        }
        let values = Buffer::from_values(list.values);
        if values.dtype() == declared.dtype {
            return Ok(List { columns: list.coords, values, converted: Ok(()) });
        }
        let own = values.cast(declared.dtype).map_err(StorageError::from)?;
        let converted = check_exact(declared, file, &values, &own);
        Ok(List { columns: list.coords, values: own, converted })
    }
}
