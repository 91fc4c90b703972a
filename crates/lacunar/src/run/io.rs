//! The files and texts that a program prints, reads and writes.

use std::path::Path;

use lacunar_formats::{DType, Format};
use lacunar_notation::{Action, Program, Tensor as Declared, TensorId};
use lacunar_runtime::io::{self, Data, IndexBase, Integers, PatternValues, ReadOptions, WriteOptions};
use lacunar_runtime::{Buffer, StorageError, Tensor};

use super::Runner;
use crate::bind::{Slot, check_tensor};
use crate::error::Error;
use crate::givens::as_given;

impl Runner<'_, '_> {
    /// Prints a tensor with its name, on a line.
    pub(super) fn print(&mut self, tensor: TensorId) -> Result<(), Error> {
        let text = format!("{} = {}", self.program.tensors[tensor].name, self.tensor(tensor)?);
        self.line(&text)
    }

    /// Prints how long ago a clock was set.
    pub(super) fn elapsed(&mut self, clock: &str) -> Result<(), Error> {
        let seconds = self.clocks.get(clock).map_or(0.0, |start| start.elapsed().as_secs_f64());
        self.line(&format!("{clock}: {seconds:.6} s"))
    }

    fn line(&mut self, text: &str) -> Result<(), Error> {
        match writeln!(self.out, "{text}").and_then(|()| self.out.flush()) {
            // Nobody listens any more: the results may be wanted all the same.
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(Error::Argument(format!("what the program prints cannot be written: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// Reads a tensor from a file; or keeps that of the caller, who has read one in the place of the first file that the program reads for
    /// the tensor, until the program writes that.
    pub(super) fn read(&mut self, tensor: TensorId, file: &str) -> Result<(), Error> {
        let is_first = self.first_files.get(&tensor).is_some_and(|first| *first == file);
        let is_other = !is_first || self.written.contains(&io::place_of(Path::new(file)));
        match self.given.get(&tensor) {
            Some(Some(given)) if !is_other => {
                self.slots[tensor.index()] = Slot::Borrowed(given);
                return Ok(());
            }
            Some(None) if !is_other => {
                self.given.remove(&tensor);
                return Ok(());
            }
            _ => {}
        }
        let declared = &self.program.tensors[tensor];
        let dtype = declared.dtype;
        let options = reading(declared, self.base);
        let read = match io::read(Path::new(file), &options)? {
            Data::Coordinate(coo) => Tensor::from_coo(coo, &Format::coo(declared.order()))?,
            Data::Dense(dense) => {
                let format = Format::dense(dense.dims.len());
                Tensor::from_dense(dense.dims, Buffer::from_values(dense.values), &format)?
            }
        };
        if read.order() != declared.order() {
            let (name, order, found) = (&declared.name, declared.order(), read.order());
            let fault = format!("holds a tensor of {found} dimensions, but `{name}` has {order}");
            return Err(Error::Order { file: file.to_string(), fault });
        }
        let read = if read.dtype() == dtype {
            read
        } else {
            let converted = read.cast(dtype)?;
            check_exact(declared, file, read.values(), converted.values())?;
            converted
        };
        let has_size = |(own, size): (&Option<u64>, &u64)| own.is_none_or(|own| own == *size);
        if !declared.dims.iter().zip(read.dims()).all(has_size) {
            let sizes = |dims: &mut dyn Iterator<Item = String>| dims.collect::<Vec<_>>().join("x");
            let found = sizes(&mut read.dims().iter().map(u64::to_string));
            let own =
                sizes(&mut declared.dims.iter().map(|size| size.map_or("?".to_string(), |size| size.to_string())));
            let fault =
                format!("holds a tensor of sizes {found}, but `{}` has sizes {own} in the program", declared.name);
            return Err(Error::Sizes { file: file.to_string(), fault });
        }
        let read = read.with_fill(declared.fill())?;
        let read = if *read.format() == declared.format { read } else { read.convert(&declared.format)? };
        // Kernels were compiled for index arrays of certain widths.
        check_tensor(declared, &read, true)?;
        let read = as_given(declared, read)?;
        self.slots[tensor.index()] = Slot::Owned(read);
        Ok(())
    }

    /// Writes a tensor to a file; a dense one as an array where the file's format has arrays.
    pub(super) fn write(&mut self, tensor: TensorId, file: &str) -> Result<(), Error> {
        let tensor = self.tensor(tensor)?;
        let options =
            WriteOptions { format: Some(tensor.format().clone()), base: self.base, ..WriteOptions::default() };
        io::write(Path::new(file), &Data::of(tensor)?, &options)?;
        let place = io::place_of(Path::new(file));
        self.lists.retain(|(list, _), _| io::place_of(Path::new(list)) != place);
        self.written.insert(place);
        Ok(())
    }
}

/// Checks, before anything is computed, that the tensors which a program writes can be written to its files.
pub(super) fn check_writes(program: &Program) -> Result<(), Error> {
    let mut checked = Ok(());
    Action::visit(&program.body, &mut |action| {
        if let (Ok(()), Action::Write(tensor, file)) = (&checked, action) {
            let (declared, path) = (&program.tensors[*tensor], Path::new(file));
            checked = io::check_output(path, Some(declared.order()));
            if checked.is_ok() && !declared.format.is_dense() {
                checked = io::check_list(path);
            }
        }
    });
    Ok(checked?)
}

/// The options to read a tensor's file with.
pub(super) fn reading(declared: &Declared, base: IndexBase) -> ReadOptions {
    ReadOptions {
        dims: declared.dims.iter().copied().collect(),
        base,
        pattern: if declared.dtype == DType::Pattern { PatternValues::Places } else { PatternValues::Ones },
        integers: Integers::of(declared.dtype),
        progress: false,
    }
}

/// Asks that values of a file, converted to a tensor's type, are those of the file: real numbers may be rounded.
pub(super) fn check_exact(declared: &Declared, file: &str, read: &Buffer, converted: &Buffer) -> Result<(), Error> {
    let dtype = declared.dtype;
    let refused = |what| Err(Error::Inexact { what, file: file.to_string(), name: declared.name.clone(), dtype });
    if read.dtype().is_complex() && !dtype.is_complex() && dtype != DType::Pattern {
        return refused("the complex numbers".to_string());
    }
    let changed = if dtype.is_integer() { read.first_changed(converted).map_err(StorageError::from)? } else { None };
    changed.map_or(Ok(()), |value| refused(format!("the value {value}")))
}
