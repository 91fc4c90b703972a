//! Running a statement on the reference interpreter: tensors are copied into its memory and the result is validated.

use lacunar_compiler::lower::{Binding, Phase};
use lacunar_formats::DType;
use lacunar_imp::{ArrayData, ArrayRole, Limits, Memory, Param, Status, interpret_within};
use lacunar_runtime::abi::KernelStatus;
use lacunar_runtime::storage::LevelStorage;
use lacunar_runtime::{Buffer, StorageError, Tensor};

use crate::error::Error;
use crate::launch::{Call, invalid, missing_pattern, product, size_word};

macro_rules! copies {
    ($($variant:ident $ty:ty),* $(,)?) => {
        /// The elements of a buffer as an array of the interpreter.
        fn array(buffer: &Buffer) -> ArrayData {
            match buffer.dtype() {
                $(DType::$variant => ArrayData::$variant(buffer.as_slice::<$ty>().unwrap_or_default().to_vec()),)*
            }
        }

        /// The first elements of an array of the interpreter as a buffer.
        fn buffer(array: ArrayData, len: usize) -> Buffer {
            match array {
                $(ArrayData::$variant(mut values) => {
                    values.truncate(len);
                    Buffer::from_vec(values)
                })*
            }
        }
    };
}

copies! {
    Bool bool, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F16 half::f16,
    BF16 half::bf16, F32 f32, F64 f64,
    C64 num_complex::Complex<f32>, C128 num_complex::Complex<f64>,
    Pattern lacunar_formats::One,
}

impl Call<'_> {
    /// Runs the statement on the interpreter.
    pub fn interpreted(mut self) -> Result<Tensor, Error> {
        let format = self.format().clone();
        let (dims, result) = (self.dims(), self.step.plan.result);
        let dtype = self.step.plan.kernel.tensors[result].dtype;
        let before = self.before.take();
        let mut memory = Memory::default();
        let mut places = Vec::new();
        for (&binding, param) in self.step.interface.bindings.iter().zip(&self.step.function.params) {
            let role = match param {
                Param::Array(array) => self.step.function.arrays[*array].role,
                Param::Scalar(_) => ArrayRole::Input,
            };
            let array = match (binding, role) {
                (Binding::Size(var), _) => {
                    memory.scalars.push(size_word(self.sizes[var.index()])?);
                    continue;
                }
                (Binding::Stored(_), _) => {
                    memory.scalars.push(size_word(before.as_ref().map_or(0, Tensor::nnz))?);
                    continue;
                }
                (Binding::Threads, _) => {
                    memory.scalars.push(size_word(lacunar_runtime::pool::threads() as u64)?);
                    continue;
                }
                (_, ArrayRole::Grown) => match param {
                    Param::Array(array) => ArrayData::empty(self.step.function.arrays[*array].elem),
                    Param::Scalar(_) => continue,
                },
                (Binding::Values(tensor), ArrayRole::Output) if tensor == result => {
                    let len = match (&before, format.is_dense()) {
                        (_, true) => product(dims.iter().copied())?,
                        (Some(before), false) => before.nnz(),
                        (None, false) => return Err(missing_pattern()),
                    };
                    let updates = self.step.plan.kernel.updates;
                    match before.as_ref().filter(|old| updates && old.nnz() == len) {
                        Some(old) => array(old.values()),
                        None if updates => array(&self.unfilled(len)?),
                        None => ArrayData::zeros(dtype, len as usize)
                            .map_err(|_| StorageError::overflow("the memory of the interpreter"))?,
                    }
                }
                (Binding::Values(tensor), _) => array(self.input(tensor)?.values()),
                (Binding::Level(tensor, level, part), _) => {
                    let given = match &before {
                        before if tensor == result => before.as_ref().ok_or_else(missing_pattern)?,
                        _ => self.input(tensor)?,
                    };
                    array(given.levels()[level].array(part.name).ok_or_else(missing_pattern)?)
                }
            };
            places.push(binding);
            memory.arrays.push(array);
        }
        let limits = Limits { blank_outputs: !self.step.plan.kernel.updates, ..Limits::default() };
        let outcome = interpret_within(&self.step.function, &mut memory, limits)
            .map_err(|error| Error::Internal(format!("the interpreter stopped: {error}")))?;
        match outcome.status {
            None => {}
            Some(Status::OutOfMemory) => return Err(KernelStatus::OutOfMemory.into()),
            Some(Status::SizeOverflow) => return Err(self.failure(KernelStatus::SizeOverflow)),
        }
        let mut unwritten = None;
        let mut take = |wanted: Binding, len: u64| -> Option<Buffer> {
            let place = places.iter().position(|binding| *binding == wanted)?;
            let data = std::mem::replace(&mut memory.arrays[place], ArrayData::empty(DType::Bool));
            // What was not written is what memory held before, on other back ends.
            let first = outcome.unwritten[place].filter(|first| (*first as u64) < len);
            unwritten = unwritten.or(first.map(|first| (wanted, first)));
            Some(buffer(data, len as usize))
        };
        let tensor = if let (Phase::Compute, false) = (self.step.phase, format.is_dense()) {
            let (dims, format, levels, old) = before.ok_or_else(missing_pattern)?.into_parts();
            let values = take(Binding::Values(result), old.len() as u64).ok_or_else(missing_pattern)?;
            Tensor::from_parts(dims, &format, levels, values).map_err(invalid)?
        } else {
            let mut levels = Vec::new();
            let mut positions = 1u64;
            for (level, kind) in format.levels().iter().enumerate() {
                let size = dims[format.mode_order()[level]];
                let mut take = |part, len| -> Result<Buffer, Error> {
                    take(Binding::Level(result, level, part), len).ok_or_else(missing_pattern)
                };
                let (storage, count) = LevelStorage::receive(kind.kind, size, positions, &mut take)?;
                levels.push(storage);
                positions = count;
            }
            let values = match take(Binding::Values(result), positions) {
                Some(values) => values,
                None => Buffer::zeroed(dtype, positions).map_err(StorageError::from)?,
            };
            Tensor::from_parts(dims, &format, levels, values).map_err(invalid)?
        };
        match unwritten {
            Some((array, place)) if !(self.first_pass && array == Binding::Values(result)) => {
                let message = format!("element {place} of {array:?} of the result was not written");
                Err(Error::Internal(format!("the interpreter stopped: {message}")))
            }
            _ => Ok(tensor),
        }
    }
}
