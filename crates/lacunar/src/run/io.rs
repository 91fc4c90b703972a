//! The files and texts that a program prints, reads and writes.

use std::path::Path;

use lacunar_formats::{DType, Format};
use lacunar_notation::TensorId;
use lacunar_runtime::io::{self, Data, Integers, PatternValues, ReadOptions, WriteOptions};
use lacunar_runtime::{Buffer, Tensor};

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

    /// Reads a tensor from a file; or keeps that of the caller, who has read one in its place.
    pub(super) fn read(&mut self, tensor: TensorId, file: &str) -> Result<(), Error> {
        match self.given.get(&tensor) {
            Some(Some(given)) => {
                self.slots[tensor.index()] = Slot::Borrowed(given);
                return Ok(());
            }
            Some(None) => {
                self.given.remove(&tensor);
                return Ok(());
            }
            None => {}
        }
        let declared = &self.program.tensors[tensor];
        let dtype = declared.dtype;
        let options = ReadOptions {
            dims: declared.dims.iter().copied().collect(),
            pattern: if dtype == DType::Pattern { PatternValues::Places } else { PatternValues::Ones },
            integers: Integers::of(dtype),
            progress: false,
            ..ReadOptions::default()
        };
        let read = match io::read(Path::new(file), &options)? {
            Data::Coordinate(coo) => Tensor::from_coo(coo, &Format::coo(declared.order()))?,
            Data::Dense(dense) => {
                let format = Format::dense(dense.dims.len());
                Tensor::from_dense(dense.dims, Buffer::from_values(dense.values), &format)?
            }
        };
        if read.order() != declared.order() {
            let (name, order, found) = (&declared.name, declared.order(), read.order());
            return Err(Error::Argument(format!(
                "{file} holds a tensor of {found} dimensions, but `{name}` has {order}"
            )));
        }
        let read = if read.dtype() == dtype { read } else { read.cast(dtype)? };
        let read = read.with_fill(declared.fill())?;
        let read = if *read.format() == declared.format { read } else { read.convert(&declared.format)? };
        // Kernels were compiled for index arrays of certain widths.
        check_tensor(declared, &read, true)?;
        let read = as_given(declared, read)?;
        self.slots[tensor.index()] = Slot::Owned(read);
        Ok(())
    }

    /// Writes a tensor to a file; a dense one as an array where the file's format has arrays.
    pub(super) fn write(&self, tensor: TensorId, file: &str) -> Result<(), Error> {
        let tensor = self.tensor(tensor)?;
        let options = WriteOptions { format: Some(tensor.format().clone()), ..WriteOptions::default() };
        Ok(io::write(Path::new(file), &Data::of(tensor)?, &options)?)
    }
}
