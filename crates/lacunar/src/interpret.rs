//! Running a statement on the reference interpreter: tensors are copied into its memory and the result is validated.

use lacunar_compiler::lower::{Binding, Phase};
use lacunar_formats::DType;
use lacunar_imp::{ArrayData, Limits, Memory, Status, interpret_within};
use lacunar_runtime::abi::KernelStatus;
use lacunar_runtime::{Buffer, StorageError, Tensor};

use crate::error::Error;
use crate::launch::{Argument, Call, Pattern, invalid, missing_pattern, product};

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

/// The arrays of the interpreter by their bindings, on the way in and out.
#[derive(Default)]
struct Arrays {
    /// The binding of each array, in the order of the memory.
    places: Vec<Binding>,
    memory: Memory,
}

impl Call<'_> {
    /// Runs the statement on the interpreter.
    pub fn interpreted(mut self) -> Result<Tensor, Error> {
        let pattern_of = self.step.kernel().pattern_of;
        let before = match self.format().packing() {
            _ if pattern_of.is_some() => pattern_of.map(|of| self.like(of)).transpose()?,
            Some(_) => {
                let (format, levels, values) = self.packed()?;
                Some(Tensor::from_parts(self.dims(), &format, levels, values).map_err(invalid)?)
            }
            None => self.before.take(),
        };
        let mut arrays = self.arrays(before.as_ref())?;
        // If an input has a position but no element, its pattern is not written.
        let is_blank = !self.step.kernel().updates && pattern_of.is_none();
        let limits = Limits { blank_outputs: is_blank, ..Limits::default() };
        let outcome = interpret_within(self.step.function(), &mut arrays.memory, limits)
            .map_err(|error| Error::Internal(format!("the interpreter stopped: {error}")))?;
        match outcome.status {
            None => {}
            Some(Status::OutOfMemory) => return Err(KernelStatus::OutOfMemory.into()),
            Some(Status::SizeOverflow) => return Err(self.failure(KernelStatus::SizeOverflow)),
            // Only shipped kernels check their arguments.
            Some(status @ (Status::TooShort | Status::WrongType | Status::WrongSize | Status::OutOfRange)) => {
                return Err(self.failure(KernelStatus::Internal(status.code())));
            }
        }
        let mut unwritten = None;
        let mut take = |wanted: Binding, len: u64| -> Result<Option<Buffer>, Error> {
            let Some(place) = arrays.places.iter().position(|binding| *binding == wanted) else { return Ok(None) };
            // On other back ends, elements that are not written keep the earlier contents of memory.
            let first = outcome.unwritten[place].filter(|first| (*first as u64) < len);
            unwritten = unwritten.or(first.map(|first| (wanted, first)));
            let data = std::mem::replace(&mut arrays.memory.arrays[place], ArrayData::empty(DType::Bool));
            Ok(Some(buffer(data, len as usize)))
        };
        let tensor = self.taken(before, &mut take)?;
        match unwritten {
            Some((array, place)) if !(self.first_phase && array == Binding::Values(self.step.result())) => {
                let message = format!("element {place} of {array:?} of the result was not written");
                Err(Error::Internal(format!("the interpreter stopped: {message}")))
            }
            _ => Ok(tensor),
        }
    }

    /// True if the levels of the result are there before the kernel runs.
    fn has_levels(&self) -> bool {
        self.format().packing().is_some() || self.step.kernel().pattern_of.is_some()
    }

    /// The memory of the interpreter before it runs.
    fn arrays(&self, before: Option<&Tensor>) -> Result<Arrays, Error> {
        let pattern = before.map(|before| Pattern { levels: before.levels(), stored: before.nnz() });
        let mut arrays = Arrays::default();
        for (param, binding) in self.step.parameters() {
            let data = match self.argument(param, binding, pattern)? {
                Argument::Word(word) => {
                    arrays.memory.scalars.push(word);
                    continue;
                }
                Argument::Grown(elem) => ArrayData::empty(elem),
                Argument::Values => self.values_before(before)?,
                Argument::Read(given) => array(given),
            };
            arrays.places.push(binding);
            arrays.memory.arrays.push(data);
        }
        Ok(arrays)
    }

    /// The values of the result before the kernel runs, of a dense result or of one whose pattern is given.
    fn values_before(&self, before: Option<&Tensor>) -> Result<ArrayData, Error> {
        let len = match before {
            Some(before) if self.has_levels() => before.values().len() as u64,
            _ if self.format().is_dense() => product(self.dims())?,
            Some(before) => before.nnz(),
            None => return Err(missing_pattern()),
        };
        let updates = self.step.kernel().updates;
        match before.filter(|old| updates && old.nnz() == len) {
            Some(old) => Ok(array(old.values())),
            None if updates => Ok(array(&self.unfilled(len)?)),
            None => {
                let dtype = self.step.kernel().tensors[self.step.result()].dtype;
                let zeros = ArrayData::zeros(dtype, len as usize);
                Ok(zeros.map_err(|_| StorageError::overflow("the memory of the interpreter"))?)
            }
        }
    }

    /// The result, of the arrays that `take` gives from their length.
    fn taken(
        &self,
        before: Option<Tensor>,
        take: &mut dyn FnMut(Binding, u64) -> Result<Option<Buffer>, Error>,
    ) -> Result<Tensor, Error> {
        let (format, result) = (self.format(), self.step.result());
        if self.has_levels() || (self.step.phase() == Phase::Compute && !format.is_dense()) {
            let (dims, format, levels, old) = before.ok_or_else(missing_pattern)?.into_parts();
            let values = match take(Binding::Values(result), old.len() as u64)? {
                Some(values) => values,
                // A first phase that has no pattern to find computes nothing.
                None if self.step.phase() == Phase::Assemble => old,
                None => return Err(missing_pattern()),
            };
            return Tensor::from_parts(dims, &format, levels, values).map_err(invalid);
        }
        let (levels, positions) = self.received(take)?;
        let values = match take(Binding::Values(result), positions)? {
            Some(values) => values,
            None => {
                let dtype = self.step.kernel().tensors[result].dtype;
                Buffer::zeroed(dtype, positions).map_err(StorageError::from)?
            }
        };
        Tensor::from_parts(self.dims(), format, levels, values).map_err(invalid)
    }
}
