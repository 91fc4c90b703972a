//! Running machine code: the only place of this crate where memory safety rests on a promise.
//!
//! The promise is the compiler's: a kernel accesses arrays within the lengths that a validated tensor of its format
//! implies, replaces grown arrays only, and leaves those it has filled as its level kinds demand. It is checked, for every
//! kernel of the corpus, by running it on the interpreter, which checks every access.

#![allow(unsafe_code)]

use lacunar_compiler::lower::{Binding, Phase};
use lacunar_formats::{DType, Format};
use lacunar_imp::{ArrayRole, Param};
use lacunar_runtime::abi::{self, Args, Grown, Kernel as Entry, KernelStatus};
use lacunar_runtime::storage::LevelStorage;
use lacunar_runtime::{Buffer, StorageError, Tensor};

use crate::bind::result_dims;
use crate::compile::{Code, Step};
use crate::error::Error;

/// What a statement is run on: one tensor for each input of the kernel, by handle, and the sizes of its variables.
pub(crate) struct Call<'a> {
    pub step: &'a Step,
    pub inputs: Vec<Option<&'a Tensor>>,
    pub sizes: &'a [u64],
    /// The result before: its values are updated, or its memory used again.
    pub before: Option<Tensor>,
    /// It is the first of two passes: nobody reads the result's values before the second has written them all.
    pub first_pass: bool,
}

/// The product of sizes.
pub(crate) fn product(sizes: impl IntoIterator<Item = u64>) -> Result<u64, StorageError> {
    sizes
        .into_iter()
        .try_fold(1u64, u64::checked_mul)
        .filter(|product| *product <= i64::MAX as u64)
        .ok_or_else(|| StorageError::overflow("the size of the result"))
}

impl Call<'_> {
    /// The format in which the kernel gives its result: of its stored dimensions, where it has some.
    pub fn format(&self) -> &Format {
        let result = &self.step.plan.kernel.tensors[self.step.plan.result];
        match &result.view {
            Some(view) if view.format.map().is_none() => &view.format,
            _ => &result.format,
        }
    }

    /// The sizes of the result's dimensions.
    pub fn dims(&self) -> Vec<u64> {
        result_dims(self.step, self.sizes)
    }

    /// The buffer for a dense result: that of the result before where it fits, else a new one.
    fn dense_values(&mut self) -> Result<Buffer, Error> {
        let dtype = self.step.plan.kernel.tensors[self.step.plan.result].dtype;
        let len = product(self.dims())?;
        if let Some(before) = self.before.take() {
            let (_, _, _, mut values) = before.into_parts();
            if values.dtype() == dtype && values.len() as u64 == len {
                values.make_owned().map_err(StorageError::from)?;
                return Ok(values);
            }
        }
        if self.step.plan.kernel.updates {
            return self.unfilled(len);
        }
        // SAFETY: the kernel writes every element before any is read (coverage or clearing, see `lower/coverage.rs`);
        // if it fails, the buffer is dropped.
        Ok(unsafe { Buffer::uninitialized(dtype, len) }.map_err(StorageError::from)?)
    }

    /// The values of a dense result before anything is assigned.
    pub fn unfilled(&self, len: u64) -> Result<Buffer, Error> {
        let fill = self.step.plan.kernel.tensors[self.step.plan.result].fill();
        let (_, _, _, values) = Tensor::empty(vec![len], &Format::dense(1), fill)?.into_parts();
        Ok(values)
    }

    /// Runs the statement's machine code.
    pub fn native(mut self) -> Result<Tensor, Error> {
        let entry: Entry = match &self.step.code {
            #[cfg(feature = "llvm")]
            Code::Llvm(kernel) => kernel.entry(),
            Code::C(kernel) => kernel.entry(),
            Code::Interpreter | Code::Conversion(..) => {
                return Err(Error::Internal("a statement without machine code was to be called".to_string()));
            }
        };
        let format = self.format().clone();
        let result = self.step.plan.result;
        let mut values = if format.is_dense() { Some(self.dense_values()?) } else { None };
        let mut fixed = self.before.take().filter(|_| self.step.phase == Phase::Compute);
        let mut grown: Vec<(Binding, Grown)> = Vec::new();
        let mut args = Args::new();
        let stored = fixed.as_ref().map_or(0, Tensor::nnz);
        // The result's values, which one parameter takes.
        let (pattern, mut own) = match (&mut values, &mut fixed) {
            (Some(values), _) => (None, Some(values.into())),
            (None, Some(fixed)) => {
                let (levels, values) = fixed.split_mut();
                (Some(levels), Some(values))
            }
            (None, None) => (None, None),
        };
        for (&binding, param) in self.step.interface.bindings.iter().zip(&self.step.function.params) {
            let role = match param {
                Param::Array(array) => Some(self.step.function.arrays[*array].role),
                Param::Scalar(_) => None,
            };
            match (binding, role) {
                (Binding::Size(var), _) => args.scalar(size_word(self.sizes[var.index()])?),
                (Binding::Values(tensor), Some(ArrayRole::Output)) if tensor == result => {
                    args.write(own.take().ok_or_else(missing_pattern)?)?;
                }
                (Binding::Stored(_), _) => args.scalar(size_word(stored)?),
                (Binding::Threads, _) => args.scalar(size_word(lacunar_runtime::pool::threads() as u64)?),
                (_, Some(ArrayRole::Grown)) => {
                    let Param::Array(array) = param else { continue };
                    grown.push((binding, args.grown(self.step.function.arrays[*array].elem)));
                }
                (Binding::Values(tensor), _) => args.read(self.input(tensor)?.values()),
                (Binding::Level(tensor, level, part), _) => {
                    let levels = match pattern {
                        Some(levels) if tensor == result => levels,
                        _ if tensor == result => return Err(missing_pattern()),
                        _ => self.input(tensor)?.levels(),
                    };
                    let array = levels[level].array(part.name);
                    args.read(array.ok_or_else(|| Error::Argument("an index array is missing".to_string()))?);
                }
            }
        }
        // SAFETY: see the head of this module. The arguments were laid out by the interface that came with the code, all
        // inputs are tensors (validated when they were made) of the formats and types it was compiled for, whose
        // dimensions are `sizes`.
        unsafe { abi::call(entry, &mut args) }.map_err(|status| self.failure(status))?;
        let dims = self.dims();
        if format.is_dense() {
            drop(args);
            let sizes = format.mode_order().iter().map(|&mode| LevelStorage::dense(dims[mode]));
            let levels = sizes.collect();
            let values = values.ok_or_else(missing_pattern)?;
            // SAFETY: dense levels have no arrays, and there are as many values as positions.
            return Ok(unsafe { Tensor::from_parts_unchecked(dims, format, levels, values) });
        }
        if let Phase::Compute = self.step.phase {
            drop(args);
            return fixed.ok_or_else(missing_pattern);
        }
        let mut take = |wanted: Binding, len: u64| -> Result<Option<Buffer>, Error> {
            match grown.iter().find(|(binding, _)| *binding == wanted) {
                // SAFETY: the kernel returned 0, and `len` is what its own position arrays say that it has written.
                Some((_, array)) => Ok(Some(unsafe { args.take(*array, len) }?)),
                None => Ok(None),
            }
        };
        let mut levels = Vec::new();
        let mut positions = 1u64;
        for (level, kind) in format.levels().iter().enumerate() {
            let size = dims[format.mode_order()[level]];
            let mut take = |part, len| -> Result<Buffer, Error> {
                take(Binding::Level(result, level, part), len)?.ok_or_else(missing_pattern)
            };
            let (storage, count) = LevelStorage::receive(kind.kind, size, positions, &mut take)?;
            levels.push(storage);
            positions = count;
        }
        let dtype = self.step.plan.kernel.tensors[result].dtype;
        let values = match take(Binding::Values(result), positions)? {
            Some(values) => values,
            // `Bool`s are looked at when a tensor is made, and not every byte is one.
            None if self.first_pass && dtype != DType::Bool => {
                // SAFETY: the second pass writes every value before any is read, or fails, and then the tensor is dropped
                // (`evaluate.rs`).
                unsafe { Buffer::uninitialized(dtype, positions) }.map_err(StorageError::from)?
            }
            // Only the pattern was asked for.
            None => Buffer::zeroed(dtype, positions).map_err(StorageError::from)?,
        };
        if cfg!(debug_assertions) {
            return Tensor::from_parts(dims, &format, levels, values).map_err(invalid);
        }
        // SAFETY: see the head of this module.
        Ok(unsafe { Tensor::from_parts_unchecked(dims, format, levels, values) })
    }

    /// What a kernel's status means here.
    pub fn failure(&self, status: KernelStatus) -> Error {
        match (self.step.phase, status) {
            (Phase::Compute, KernelStatus::SizeOverflow) => wrong_pattern(),
            _ => status.into(),
        }
    }

    pub fn input(&self, tensor: lacunar_notation::TensorId) -> Result<&Tensor, Error> {
        self.inputs
            .get(tensor.index())
            .copied()
            .flatten()
            .ok_or_else(|| Error::Argument(format!("`{}` is not given", self.step.plan.kernel.tensors[tensor].name)))
    }
}

/// A size as the kernel gets it.
pub(crate) fn size_word(size: u64) -> Result<i64, Error> {
    i64::try_from(size).map_err(|_| Error::Storage(StorageError::overflow("the size of a dimension")))
}

/// Why what a kernel has made is no tensor: for want of memory, or because its code is wrong.
pub(crate) fn invalid(error: StorageError) -> Error {
    match error {
        StorageError::Alloc(_) | StorageError::Overflow { .. } | StorageError::Width { .. } => error.into(),
        error => Error::Internal(format!("a kernel has made arrays that fit no tensor: {error}")),
    }
}

pub(crate) fn wrong_pattern() -> Error {
    Error::Argument("the pattern that was given is not that of the result".to_string())
}

pub(crate) fn missing_pattern() -> Error {
    Error::Argument("the result has no pattern to compute the values of; assemble it first".to_string())
}
