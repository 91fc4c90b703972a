//! Running machine code: the only place of this crate where memory safety rests on a promise.
//!
//! The promise is the compiler's: a kernel accesses arrays within the lengths that a validated tensor of its format
//! implies, replaces grown arrays only, and leaves those it has filled as its level kinds demand. It is checked, for every
//! kernel of the corpus, by running it on the interpreter, which checks every access.

#![allow(unsafe_code)]

use lacunar_compiler::lower::{Binding, Phase};
use lacunar_formats::{DType, External, Format, Scalar, Signature};
use lacunar_imp::{ArrayRole, Param};
use lacunar_notation::TensorId;
use lacunar_runtime::abi::{self, Args, Entry, Grown, KernelStatus, Word};
use lacunar_runtime::storage::LevelStorage;
use lacunar_runtime::tensor::ValuesMut;
use lacunar_runtime::{Buffer, Element, StorageError, Tensor, element_of, scalar_of};

use crate::bind::result_dims;
use crate::compile::{Code, Step};
use crate::error::Error;
use crate::operator::Operator;
use crate::tensor::Tensor as TypedTensor;

/// The call of a statement: one tensor for each input of the kernel, by handle, and the sizes of its variables.
pub(crate) struct Call<'a> {
    pub step: &'a Step,
    pub inputs: Vec<Option<&'a Tensor>>,
    pub sizes: &'a [u64],
    /// The result before: its values are updated, or its memory used again.
    pub before: Option<Tensor>,
    /// True if it is the first of two phases: nobody reads the result's values before the second has written them all.
    pub first_phase: bool,
}

/// The pattern of a result that is given.
#[derive(Clone, Copy)]
pub(crate) struct Pattern<'a> {
    pub levels: &'a [LevelStorage],
    /// The number of its values.
    pub stored: u64,
}

/// The argument for one of a kernel's parameters.
pub(crate) enum Argument<'a> {
    /// A size or a count.
    Word(i64),
    /// An array that is read only.
    Read(&'a Buffer),
    /// The values of the result, in memory that the caller has.
    Values,
    /// An array of these elements that the kernel makes.
    Grown(DType),
}

/// The arguments of a call, and those of them that the kernel makes.
type Called<'a> = (Args<'a>, Vec<(Binding, Grown)>);

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
        let result = &self.step.kernel().tensors[self.step.result()];
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
        let dtype = self.step.kernel().tensors[self.step.result()].dtype;
        let len = product(self.dims())?;
        if let Some(before) = self.before.take() {
            let (_, _, _, mut values) = before.into_parts();
            if values.dtype() == dtype && values.len() as u64 == len {
                values.make_owned().map_err(StorageError::from)?;
                return Ok(values);
            }
        }
        if self.step.kernel().updates {
            return self.unfilled(len);
        }
        // SAFETY: the kernel writes every element before any is read (coverage or clearing, see `lower/coverage.rs`);
        // if it fails, the buffer is dropped.
        Ok(unsafe { Buffer::uninitialized(dtype, len) }.map_err(StorageError::from)?)
    }

    /// The values of a dense result before anything is assigned.
    pub fn unfilled(&self, len: u64) -> Result<Buffer, Error> {
        let fill = self.step.kernel().tensors[self.step.result()].fill();
        let (_, _, _, values) = Tensor::empty(vec![len], &Format::dense(1), fill)?.into_parts();
        Ok(values)
    }

    /// Runs the statement's machine code.
    pub fn native(mut self) -> Result<Tensor, Error> {
        if let Some(of) = self.step.kernel().pattern_of {
            return self.alongside(of);
        }
        if self.format().is_dense() {
            return self.dense();
        }
        match self.step.phase() {
            Phase::Compute => self.computed(),
            Phase::Fused | Phase::Assemble => self.assembled(),
        }
    }

    /// A packed result before it is run: its arrays follow from its sizes, and are those of the result before where that is as large.
    pub fn packed(&mut self) -> Result<(Format, Vec<LevelStorage>, Buffer), Error> {
        let (wanted, dims) = (self.format().as_stored(), self.dims());
        let declared = &self.step.kernel().tensors[self.step.result()];
        let is_alike =
            |before: &Tensor| *before.format() == wanted && before.dims() == dims && before.dtype() == declared.dtype;
        if let Some(before) = self.before.take().filter(is_alike) {
            let (_, format, levels, mut values) = before.into_parts();
            values.make_owned().map_err(StorageError::from)?;
            return Ok((format, levels, values));
        }
        let (format, levels, count) = self.step.packed_arrays(&dims, &wanted)?;
        if format != wanted {
            let why = "whose index arrays are too narrow for its sizes; declare the sizes or wider arrays";
            let message = format!("the kernel was compiled to store `{}` as {wanted}, {why}", declared.name);
            return Err(Error::Argument(message));
        }
        if self.step.kernel().updates {
            let values = self.unfilled(count)?;
            return Ok((format, levels, values));
        }
        // SAFETY: as in `dense_values`: the kernel writes every element that the structure has.
        let values = unsafe { Buffer::uninitialized(declared.dtype, count) }.map_err(StorageError::from)?;
        Ok((format, levels, values))
    }

    /// A result that has the pattern of an input, before it is run: with a copy of the input's levels, and zeros.
    pub fn like(&self, of: TensorId) -> Result<Tensor, Error> {
        let (result, input) = (&self.step.kernel().tensors[self.step.result()], self.input(of)?);
        // SAFETY: every byte is written at once. Fresh memory that is zero costs more than a pass over memory that was used before.
        let values = unsafe {
            let mut values = Buffer::uninitialized(result.dtype, input.nnz()).map_err(StorageError::from)?;
            if let Some(start) = values.as_mut_ptr() {
                start.write_bytes(0, values.bytes() as usize);
            }
            values
        };
        Ok(input.revalued(values, result.fill())?)
    }

    /// Runs the machine code of a result that has the pattern of an input.
    fn alongside(&self, of: TensorId) -> Result<Tensor, Error> {
        let mut result = self.like(of)?;
        self.run(None, Some(result.split_mut().1))?;
        Ok(result)
    }

    /// Runs the machine code of a dense result.
    fn dense(&mut self) -> Result<Tensor, Error> {
        if self.format().packing().is_some() {
            let (format, levels, mut values) = self.packed()?;
            let stored = values.len() as u64;
            self.run(Some(Pattern { levels: &levels, stored }), Some((&mut values).into()))?;
            // SAFETY: the levels are those of the format and the sizes, and there are as many values as positions.
            return Ok(unsafe { Tensor::from_parts_unchecked(self.dims(), format, levels, values) });
        }
        let mut values = self.dense_values()?;
        self.run(None, Some((&mut values).into()))?;
        let (format, dims) = (self.format().clone(), self.dims());
        let levels = format.mode_order().iter().map(|&mode| LevelStorage::dense(dims[mode])).collect();
        // SAFETY: dense levels have no arrays, and there are as many values as positions.
        Ok(unsafe { Tensor::from_parts_unchecked(dims, format, levels, values) })
    }

    /// Runs the statement's machine code on the memory of a dense result, which has the statement's sizes, type and storage order.
    pub fn write_into(&self, result: &mut Tensor) -> Result<(), Error> {
        let stored = result.nnz();
        let (levels, mut values) = result.split_mut();
        values.make_owned().map_err(StorageError::from)?;
        let pattern = self.format().packing().map(|_| Pattern { levels, stored });
        self.run(pattern, Some(values)).map(|_| ())
    }

    /// Runs machine code that computes the values of the pattern that the result before has.
    fn computed(&mut self) -> Result<Tensor, Error> {
        let mut result = self.before.take().ok_or_else(missing_pattern)?;
        let stored = result.nnz();
        let (levels, values) = result.split_mut();
        self.run(Some(Pattern { levels, stored }), Some(values))?;
        Ok(result)
    }

    /// Runs machine code that finds the pattern of the result, and takes the arrays that it leaves.
    fn assembled(&self) -> Result<Tensor, Error> {
        let (mut args, grown) = self.run(None, None)?;
        let mut take = |wanted: Binding, len: u64| -> Result<Option<Buffer>, Error> {
            match grown.iter().find(|(binding, _)| *binding == wanted) {
                // SAFETY: the kernel returned 0, and `len` is the number of elements that it has written, by its own position arrays.
                Some((_, array)) => Ok(Some(unsafe { args.take(*array, len) }?)),
                None => Ok(None),
            }
        };
        let (levels, positions) = self.received(&mut take)?;
        let result = self.step.result();
        let dtype = self.step.kernel().tensors[result].dtype;
        let values = match take(Binding::Values(result), positions)? {
            Some(values) => values,
            // `Bool`s are looked at when a tensor is made, and not every byte is one.
            None if self.first_phase && dtype != DType::Bool => {
                // SAFETY: the second phase writes every value before any is read, or fails, and then the tensor is dropped
                // (`evaluate.rs`).
                unsafe { Buffer::uninitialized(dtype, positions) }.map_err(StorageError::from)?
            }
            // Only the pattern was asked for.
            None => Buffer::zeroed(dtype, positions).map_err(StorageError::from)?,
        };
        let (format, dims) = (self.format().clone(), self.dims());
        if cfg!(debug_assertions) {
            return Tensor::from_parts(dims, &format, levels, values).map_err(invalid);
        }
        // SAFETY: see the head of this module.
        Ok(unsafe { Tensor::from_parts_unchecked(dims, format, levels, values) })
    }

    /// Calls the machine code; with the arguments come the arrays that it has made.
    fn run<'a>(&'a self, pattern: Option<Pattern<'a>>, values: Option<ValuesMut<'a>>) -> Result<Called<'a>, Error> {
        let entry = entry(self.step)?;
        let (mut args, grown) = self.laid_out(pattern, values)?;
        // SAFETY: see the head of this module. The arguments were laid out by the interface that came with the code, all
        // inputs are tensors (validated when they were made) of the formats and types it was compiled for, whose
        // dimensions are `sizes`.
        unsafe { abi::call(entry, &mut args) }.map_err(|status| self.failure(status))?;
        Ok((args, grown))
    }

    /// The arguments in the order of the parameters. One parameter takes the result's values.
    fn laid_out<'a>(
        &'a self,
        pattern: Option<Pattern<'a>>,
        mut values: Option<ValuesMut<'a>>,
    ) -> Result<Called<'a>, Error> {
        let mut args = Args::new();
        let mut grown = Vec::new();
        for (param, binding) in self.step.parameters() {
            match self.argument(param, binding, pattern)? {
                Argument::Word(word) => args.scalar(word),
                Argument::Read(array) => args.read(array),
                Argument::Values => args.write(values.take().ok_or_else(missing_pattern)?)?,
                Argument::Grown(elem) => grown.push((binding, args.grown(elem))),
            }
        }
        Ok((args, grown))
    }

    /// The argument of a parameter, where the result has the pattern that is given, if it is.
    pub fn argument<'a>(
        &'a self,
        param: &Param,
        binding: Binding,
        pattern: Option<Pattern<'a>>,
    ) -> Result<Argument<'a>, Error> {
        let array = match param {
            Param::Array(array) => Some(&self.step.function().arrays[*array]),
            Param::Scalar(_) => None,
        };
        let result = self.step.result();
        Ok(match (binding, array) {
            (Binding::Size(var), _) => Argument::Word(size_word(self.sizes[var.index()])?),
            (Binding::Stored(_), _) => Argument::Word(size_word(pattern.map_or(0, |pattern| pattern.stored))?),
            (Binding::Threads, _) => Argument::Word(size_word(lacunar_runtime::pool::threads() as u64)?),
            (_, Some(array)) if array.role == ArrayRole::Grown => Argument::Grown(array.elem),
            (Binding::Values(tensor), Some(array)) if array.role == ArrayRole::Output && tensor == result => {
                Argument::Values
            }
            (Binding::Values(tensor), _) => Argument::Read(self.input(tensor)?.values()),
            (Binding::Level(tensor, level, part), _) => {
                let levels = match pattern {
                    Some(pattern) if tensor == result => pattern.levels,
                    _ if tensor == result => return Err(missing_pattern()),
                    _ => self.input(tensor)?.levels(),
                };
                let array = levels[level].array(part.name);
                Argument::Read(array.ok_or_else(|| Error::Argument("an index array is missing".to_string()))?)
            }
        })
    }

    /// The levels of a result that was assembled, and the number of its values. `take` gives its arrays, from their length.
    pub fn received(
        &self,
        take: &mut dyn FnMut(Binding, u64) -> Result<Option<Buffer>, Error>,
    ) -> Result<(Vec<LevelStorage>, u64), Error> {
        let (format, dims, result) = (self.format(), self.dims(), self.step.result());
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
        Ok((levels, positions))
    }

    /// The error for a kernel's status.
    pub fn failure(&self, status: KernelStatus) -> Error {
        failure(self.step, status)
    }

    fn input(&self, tensor: TensorId) -> Result<&Tensor, Error> {
        self.inputs
            .get(tensor.index())
            .copied()
            .flatten()
            .ok_or_else(|| Error::NoValue(format!("`{}` is not given", self.step.kernel().tensors[tensor].name)))
    }
}

/// Tensors, and the arguments that a kernel is called with on them: those lie in the tensors' arrays, which stay where they are.
#[derive(Debug)]
pub(crate) struct Held<'k, T: Element> {
    result: TypedTensor<T>,
    inputs: Vec<Tensor>,
    laid: Option<Laid<'k>>,
}

/// Arguments that were laid out.
#[derive(Debug)]
struct Laid<'k> {
    step: &'k Step,
    entry: Entry,
    words: Vec<Word>,
    /// The words that say how many threads there are.
    counts: Vec<usize>,
    /// The most threads that the kernel may have, if they differ from the others'.
    threads: Option<usize>,
}

impl<'k, T: Element> Held<'k, T> {
    /// The tensors, without arguments yet.
    pub fn new(result: TypedTensor<T>, inputs: Vec<Tensor>) -> Held<'k, T> {
        Held { result, inputs, laid: None }
    }

    /// The tensors, to be given to a kernel; arguments have to be laid out again.
    pub fn tensors(&mut self) -> (&mut TypedTensor<T>, &[Tensor]) {
        self.laid = None;
        (&mut self.result, &self.inputs)
    }

    pub fn result(&self) -> &TypedTensor<T> {
        &self.result
    }

    /// The values of the result, which stay where they are.
    pub fn result_mut(&mut self) -> ValuesMut<'_> {
        self.result.as_dyn_mut().values_mut()
    }

    /// The values of an input, which stay where they are.
    pub fn input_mut(&mut self, place: usize) -> Option<ValuesMut<'_>> {
        Some(self.inputs.get_mut(place)?.values_mut())
    }

    pub fn into_tensors(self) -> (TypedTensor<T>, Vec<Tensor>) {
        (self.result, self.inputs)
    }

    /// Lays out the arguments of a statement with a dense result whose variables have these sizes, on the tensors: the inputs are those of
    /// these handles. The kernel was compiled for them, and carries the statement out without more.
    ///
    /// # Errors
    /// Memory is refused where values are borrowed.
    pub fn lay_out(
        &mut self,
        step: &'k Step,
        sizes: &[u64],
        ids: &[TensorId],
        threads: Option<usize>,
    ) -> Result<(), Error> {
        for input in &mut self.inputs {
            input.values_mut().make_owned().map_err(StorageError::from)?;
        }
        let mut inputs = vec![None; step.kernel().tensors.len()];
        for (id, tensor) in ids.iter().zip(&self.inputs) {
            inputs[id.index()] = Some(tensor);
        }
        let call = Call { step, inputs, sizes, before: None, first_phase: false };
        let result = self.result.as_dyn_mut();
        let stored = result.nnz();
        let (levels, mut values) = result.split_mut();
        values.make_owned().map_err(StorageError::from)?;
        let pattern = call.format().packing().map(|_| Pattern { levels, stored });
        let (args, grown) = call.laid_out(pattern, Some(values))?;
        if !grown.is_empty() {
            return Ok(());
        }
        let (mut counts, mut at) = (Vec::new(), 1);
        for (param, binding) in step.parameters() {
            counts.extend((binding == Binding::Threads).then_some(at));
            at += if matches!(param, Param::Array(_)) { 2 } else { 1 };
        }
        let words = args.words().to_vec();
        self.laid = Some(Laid { step, entry: entry(step)?, words, counts, threads });
        Ok(())
    }

    /// Calls the kernel, if its arguments are laid out. An error of many words would take longer to hand on than a small kernel runs, so that
    /// [`Self::failure`] makes it.
    #[inline]
    pub fn run(&mut self) -> Option<Result<(), KernelStatus>> {
        let Laid { entry, words, counts, threads, .. } = self.laid.as_mut()?;
        let mut call = || {
            if !counts.is_empty() {
                let count = lacunar_runtime::pool::threads() as Word;
                counts.iter().for_each(|&at| words[at] = count);
            }
            // SAFETY: as for `Call::run`. The arrays belong to the tensors here, of which nobody has changed more than values: whoever
            // gets more has the arguments dropped.
            unsafe { abi::call_again(*entry, words) }
        };
        Some(match *threads {
            Some(threads) => lacunar_runtime::pool::with_threads(threads, call),
            None => call(),
        })
    }

    /// The error for the status of a run.
    pub fn failure(&self, status: KernelStatus) -> Error {
        self.laid.as_ref().map_or_else(|| status.into(), |laid| failure(laid.step, status))
    }
}

/// The machine code of a statement.
fn entry(step: &Step) -> Result<Entry, Error> {
    match step.code() {
        #[cfg(feature = "llvm")]
        Code::Llvm(kernel) => Ok(kernel.entry()),
        #[cfg(feature = "llvm")]
        Code::Foreign(machine) => Err(Error::Foreign { name: machine.clone() }),
        Code::C(kernel) => Ok(kernel.entry()),
        Code::Interpreter | Code::Conversion(..) => {
            Err(Error::Internal("a statement without machine code was to be called".to_string()))
        }
    }
}

/// The error for a kernel's status.
fn failure(step: &Step, status: KernelStatus) -> Error {
    match (step.phase(), status) {
        (Phase::Compute, KernelStatus::SizeOverflow) => wrong_pattern(),
        _ => status.into(),
    }
}

/// A size as the kernel gets it.
pub(crate) fn size_word(size: u64) -> Result<i64, Error> {
    i64::try_from(size).map_err(|_| Error::Storage(StorageError::overflow("the size of a dimension")))
}

/// The error if the arrays that a kernel has made are no tensor: memory is refused, or its code is wrong.
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

/// A function that kernels can call: `extern "C" fn(f64) -> f64`, or one of two operands of one type; of `f64`, `f32`, and integers of 32
/// and 64 bits.
pub trait ExternalFunction: Copy + Send + Sync + 'static {
    /// Its types.
    #[doc(hidden)]
    const SIGNATURE: Signature;
    /// The place of its code.
    #[doc(hidden)]
    fn address(self) -> usize;
    /// Its value.
    #[doc(hidden)]
    fn value(self, operands: &[Scalar]) -> Scalar;
}

impl<A: Element, R: Element> ExternalFunction for extern "C" fn(A) -> R {
    const SIGNATURE: Signature = Signature { operand: A::DTYPE, operands: 1, result: R::DTYPE };

    fn address(self) -> usize {
        self as usize
    }

    fn value(self, operands: &[Scalar]) -> Scalar {
        let operand = |k: usize| element_of::<A>(operands.get(k).copied().unwrap_or(Scalar::zero(A::DTYPE)));
        scalar_of(self(operand(0)))
    }
}

impl<A: Element, R: Element> ExternalFunction for extern "C" fn(A, A) -> R {
    const SIGNATURE: Signature = Signature { operand: A::DTYPE, operands: 2, result: R::DTYPE };

    fn address(self) -> usize {
        self as usize
    }

    fn value(self, operands: &[Scalar]) -> Scalar {
        let operand = |k: usize| element_of::<A>(operands.get(k).copied().unwrap_or(Scalar::zero(A::DTYPE)));
        scalar_of(self(operand(0), operand(1)))
    }
}

impl Operator {
    /// An operator that is a function of other code. Kernels call it for one value at a time, on several threads; nothing is known of it
    /// but its claims.
    ///
    /// Its name is that of the function in this process: another function cannot have it. Operands are converted to the function's type
    /// where that holds their values.
    ///
    /// ```
    /// use lacunar::{Kernel, Operator, Options};
    ///
    /// extern "C" fn longer(a: f64, b: f64) -> f64 {
    ///     a.hypot(b)
    /// }
    ///
    /// # fn main() -> Result<(), lacunar::Error> {
    /// // SAFETY: the length of a vector depends on nothing else, changes nothing, and does not panic.
    /// let longer = unsafe { Operator::external("longer", longer as extern "C" fn(f64, f64) -> f64) }?;
    /// let longer = longer.identity(0.0).commutative().associative();
    /// let kernel = Kernel::compile("s = longer(i, x(i))", &Options::new().operator(&longer)?)?;
    /// let s: f64 = kernel.call(&[("x", &[2.0, 3.0, 6.0])])?;
    /// assert_eq!(s, 7.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Safety
    /// The function gives the same value for the same operands, whenever and on whichever thread it is called; it changes nothing that
    /// others see, it returns, and it does not unwind. A kernel may call it more or less often than a program says, and counts on the
    /// values: a sparse result is counted first, and filled then.
    ///
    /// # Errors
    /// The name is that of another function, or the types are none of `f64`, `f32`, `i64`, `u64`, `i32` and `u32`.
    pub unsafe fn external<F: ExternalFunction>(name: &str, function: F) -> Result<Operator, Error> {
        let value = move |operands: &[Scalar]| function.value(operands);
        if External::register(name, F::SIGNATURE, function.address(), value).is_none() {
            let types = Signature::TYPES.map(DType::name).join(" ");
            return Err(Error::Argument(format!(
                "`{name}` is another function already, or its types are none of these: {types}"
            )));
        }
        let params: &[&str] = if F::SIGNATURE.operands == 1 { &["a"] } else { &["a", "b"] };
        Ok(Operator::of_function(name, params))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use super::*;
    use crate::{Backend, DynTensor, Kernel, Options, Shape, Tensor};

    fn backends() -> Vec<Backend> {
        let mut backends = vec![Backend::Interpreter, Backend::C];
        if cfg!(feature = "llvm") {
            backends.push(Backend::Llvm);
        }
        backends
    }

    /// The result of a program on two matrices, or on those of them that it has.
    fn result(source: &str, options: Options) -> String {
        let sparse = |rows: [[f64; 3]; 2]| Tensor::from(rows).convert(Format::csr()).unwrap().into_dyn();
        let [a, b]: [DynTensor; 2] =
            [sparse([[1.0, 2.0, 0.0], [0.0, -3.0, 0.0]]), sparse([[5.0, 0.0, 7.0], [0.0, 2.0, 0.0]])];
        let used = [("A", &a), ("B", &b)].into_iter().filter(|(name, _)| source.contains(&format!("{name}(i")));
        let used: Vec<(&str, &DynTensor)> = used.collect();
        let options = used.iter().fold(options, |options, (name, tensor)| options.tensor(name, tensor));
        let kernel = Kernel::compile(source, &options).unwrap();
        let results = kernel.run_named(&used).unwrap().results;
        let (_, found) = results.last().unwrap();
        found.convert(&Format::dense(found.order())).unwrap().to_string()
    }

    extern "C" fn longer(a: f64, b: f64) -> f64 {
        (a * a + b * b).sqrt()
    }

    extern "C" fn bits(a: i64) -> i64 {
        i64::from(a.count_ones())
    }

    /// The operators that are functions.
    fn functions() -> [Operator; 2] {
        // SAFETY: both give the same for the same operands, change nothing and do not panic.
        unsafe {
            [
                Operator::external("longer", longer as extern "C" fn(f64, f64) -> f64).unwrap(),
                Operator::external("bits", bits as extern "C" fn(i64) -> i64).unwrap(),
            ]
        }
    }

    #[test]
    fn functions_are_what_closures_are_on_every_back_end() {
        let traced = Operator::binary("longer", |a, b| (a.clone() * a + b.clone() * b).sqrt());
        let claimed = |operator: Operator| operator.identity(0.0).commutative().associative();
        let [longer, bits] = functions();
        assert_eq!(longer.text(), "op longer(a, b) = extern");
        let (longer, traced) = (claimed(longer), claimed(traced));
        for source in [
            "C(i,j) = longer(A(i,j), B(i,j))",
            "y(i) longer= A(i,j)",
            "s = longer(i, longer(j, A(i,j)))",
            "C(i,j) = prune(longer(A(i,j), B(i,j)) - 1)",
            "y(i) = longer(A(i,j), 2)",
        ] {
            for backend in backends() {
                for threads in [1, 2, 7] {
                    let [of_function, of_closure] = [&longer, &traced].map(|operator| {
                        let options = Options { backend, grain: Some(1), ..Options::new() }.threads(threads);
                        let options = if source.contains("C(i") { options.format("C", Format::csr()) } else { options };
                        result(source, options.operator(operator).unwrap())
                    });
                    assert_eq!(of_function, of_closure, "{source} on {backend:?}, {threads} threads");
                }
            }
        }
        // Integers are converted to the type of the function; numbers with fractions are rejected.
        let options = Options::new().operator(&bits).unwrap();
        let kernel = Kernel::compile("y(i) = bits(x(i))", &options.clone().dtype("x", DType::I32)).unwrap();
        let x: Tensor<i32> = Tensor::from(vec![7, 8, -1]);
        let y: Vec<i64> = kernel.call(&[("x", &x)]).unwrap();
        assert_eq!(y, [3, 1, 64]);
        let error = Kernel::compile("y(i) = bits(x(i))", &options).unwrap_err();
        assert!(error.to_string().contains("`bits` is not defined on f64"), "{error}");
    }

    #[test]
    fn functions_keep_their_names_and_are_not_shipped() {
        let [longer, _] = functions();
        let options = Options::new().operator(&longer).unwrap();
        let kernel = Kernel::compile("y(i) = longer(x(i), z(i))", &options).unwrap();
        assert!(kernel.ship("k", Shape::Source).unwrap_err().to_string().contains("a function of this process"));
        // The text names it.
        let again = Kernel::compile("op longer(a, b) = extern\ny(i) = longer(x(i), 4)", &Options::new()).unwrap();
        let y: Vec<f64> = again.call(&[("x", &[3.0, 0.0])]).unwrap();
        assert_eq!(y, [5.0, 4.0]);
        let unknown =
            Kernel::compile("op shorter(a, b) = extern; y(i) = shorter(x(i), 4)", &Options::new()).unwrap_err();
        assert_eq!(unknown.code(), Some("E0624"));
    }
}
