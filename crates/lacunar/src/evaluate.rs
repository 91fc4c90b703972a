//! Running a compiled statement, with the conversions it was planned with.

use std::ops::Range;
use std::time::{Duration, Instant};

use lacunar_compiler::lower::Phase;
use lacunar_compiler::plan::Copied;
use lacunar_formats::Format;
use lacunar_notation::{Access, AssignOp, Program, Role, TensorId, VarId};
use lacunar_runtime::Tensor;

use crate::bind::{Slot, check_tensor, keeps_ranks, own_format, result_dims, sizes, source};
use crate::compile::{Backend, Code, Step};
use crate::error::Error;
use crate::indices;
use crate::launch::{Call, missing_pattern, wrong_pattern};
use crate::memory;
use crate::promises;
use crate::ready::Ready;

/// The times of the parts of a run, and the number of times that each statement ran.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    /// Conversions of operands and of the result.
    pub convert: Duration,
    /// Kernels.
    pub kernel: Duration,
    /// The whole run.
    pub total: Duration,
    /// The number of times that each statement was carried out.
    pub counts: Vec<u64>,
}

/// Checks the tensors that are given, and that no input lacks.
pub(crate) fn check_given(program: &Program, slots: &[Slot<'_>]) -> Result<(), Error> {
    let needed = program.given();
    for (id, declared) in program.tensors.iter() {
        match slots.get(id.index()).and_then(Slot::get) {
            Some(tensor) => check_tensor(declared, tensor, is_read(program, id))?,
            None if needed.contains(&id) => return Err(not_given(program, id)),
            None => {}
        }
    }
    Ok(())
}

/// The statements of a program, to be carried out as often and in the order that somebody wants.
pub(crate) struct Evaluation<'r> {
    program: &'r Program,
    steps: &'r [Step],
    phase: Phase,
    /// For each tensor, memory of an earlier value: the next is made there if the statement reads the last one.
    spare: Vec<Option<Tensor>>,
    /// The steps that are ready to be carried out again.
    ready: Vec<Option<Ready>>,
    /// By step, the tensors that it has made of the caller's, which do not change.
    remade: Vec<Vec<Remade>>,
    /// The times of all runs so far.
    pub times: Times,
}

impl<'r> Evaluation<'r> {
    /// Nothing is carried out yet.
    pub fn new(program: &'r Program, steps: &'r [Step], phase: Phase) -> Evaluation<'r> {
        let spare = program.tensors.iter().map(|_| None).collect();
        let times = Times { counts: vec![0; program.statements.len()], ..Times::default() };
        let ready = steps.iter().map(|_| None).collect();
        let remade = steps.iter().map(|_| Vec::new()).collect();
        Evaluation { program, steps, phase, spare, ready, remade, times }
    }

    /// Carries out the statement of this number, of these steps. `slots` holds the program's tensors by handle.
    pub fn statement(&mut self, number: usize, steps: Range<usize>, slots: &mut [Slot<'_>]) -> Result<(), Error> {
        self.times.counts[number] += 1;
        let mut made = None;
        for place in steps {
            let step = &self.steps[place];
            if let Some(ready) = &self.ready[place]
                && let Some(time) = ready.run(self.program, step, slots, &mut self.spare[step.result().index()])?
            {
                self.times.kernel += time;
                continue;
            }
            let second_phase = made.is_some();
            let outcome = self.step((place, step), slots, &mut made);
            if second_phase && outcome.is_err() {
                // The first phase left a result without values.
                slots[step.result().index()] = Slot::Empty;
            }
            outcome?;
        }
        Ok(())
    }
}

impl Evaluation<'_> {
    /// Runs a statement, or one phase of it. The tensors that the first of two phases converts are left in `made` for the
    /// second.
    fn step(
        &mut self,
        (number, step): (usize, &Step),
        slots: &mut [Slot<'_>],
        made: &mut Option<Vec<(TensorId, Tensor)>>,
    ) -> Result<(), Error> {
        let (program, plan) = (self.program, step.plan());
        let first_phase = self.phase == Phase::Fused && step.phase() == Phase::Assemble;
        let phase = if self.phase == Phase::Fused { step.phase() } else { self.phase };
        let is_dense = plan.kernel.tensors[plan.result].format.is_dense()
            && plan.convert_result.is_none()
            && plan.kernel.pattern_of.is_none();
        if phase == Phase::Compute && !is_dense {
            check_pattern(program, step)?;
        }
        let sizes = sizes(program, step, slots)?;
        promises::check(&plan.kernel, &sizes)?;
        indices::check(program, step, &sizes, slots)?;
        check_memory(program, step, &sizes)?;
        let start = Instant::now();
        if let (Code::Conversion(copied, _), Phase::Fused) = (step.code(), phase) {
            slots[plan.result.index()] = Slot::Owned(copy(program, copied, slots)?);
            // Here the conversion is the statement, not a step before it.
            self.times.kernel += start.elapsed();
            return Ok(());
        }
        let kept = kept(step, slots);
        let converted = match made.take() {
            Some(made) => made,
            None => conversions(program, step, &sizes, slots, kept, std::mem::take(&mut self.remade[number]))?,
        };
        self.times.convert += start.elapsed();
        let place = std::mem::replace(&mut slots[plan.result.index()], Slot::Empty);
        let (old, place) = match kept {
            Some(tensor) => {
                (Some((tensor, place)), self.spare[plan.result.index()].take().map_or(Slot::Empty, Slot::Owned))
            }
            None => (None, place),
        };
        let before = result_before(step, phase, is_dense, place, &sizes)?;
        // A pattern that the kernel does not walk through is compared with that of the result.
        let (pattern, before) = match before {
            before if phase != Phase::Compute || step.phase() == Phase::Compute => (None, before),
            Some(tensor) => (Some(tensor), None),
            None => return Err(missing_pattern()),
        };
        let mut inputs = inputs(program, step, slots, &converted)?;
        if let Some((tensor, old)) = &old {
            inputs[tensor.index()] = old.get();
        }
        let call = Call { step, inputs, sizes: &sizes, before, first_phase };
        check_widths(program, &call)?;
        let start = Instant::now();
        let result = match step.code() {
            Code::Interpreter => call.interpreted(),
            _ => call.native(),
        };
        self.times.kernel += start.elapsed();
        let start = Instant::now();
        let result = result?.with_fill(program.tensors[plan.result].fill())?;
        let result = if first_phase { result } else { finished(program, step, &sizes, result)? };
        self.times.convert += start.elapsed();
        if let Some(pattern) = pattern
            && !is_pattern_of(&pattern, &result)?
        {
            return Err(wrong_pattern());
        }
        slots[plan.result.index()] = Slot::Owned(result);
        if let Some((_, Slot::Owned(old))) = old {
            self.spare[plan.result.index()] = Some(old);
        }
        if first_phase {
            *made = Some(converted);
        } else if !self.program.is_sequence() {
            self.remade[number] = of_callers(step, converted, slots);
        }
        if !self.program.is_sequence() {
            self.ready[number] = Ready::of(program, step, (self.phase, kept), sizes, slots);
        }
        Ok(())
    }
}

/// Refuses to compute values for the pattern of a tensor that the statement also reads.
fn check_pattern(program: &Program, step: &Step) -> Result<(), Error> {
    let plan = step.plan();
    if plan.conversions.iter().all(|made| made.source != plan.result) {
        return Ok(());
    }
    Err(Error::Argument(format!(
        "`{}` is read by the statement that assigns to it, so it can't be given as a pattern to compute",
        program.tensors[plan.result].name
    )))
}

/// A tensor of a kernel that was made of one of the caller's, known by its address: it stays there while the program runs.
struct Remade {
    tensor: TensorId,
    source: usize,
    made: Tensor,
}

/// The address of a tensor of the caller's in a slot.
fn address(slots: &[Slot<'_>], id: TensorId) -> Option<usize> {
    match slots.get(id.index()) {
        Some(Slot::Borrowed(tensor)) => Some(std::ptr::from_ref(*tensor).addr()),
        _ => None,
    }
}

/// The converted tensors that are made of the caller's: a program that carries the statement out again takes them again.
fn of_callers(step: &Step, converted: Vec<(TensorId, Tensor)>, slots: &[Slot<'_>]) -> Vec<Remade> {
    let remade = converted.into_iter().filter_map(|(tensor, made)| {
        let conversion = step.plan().conversions.iter().find(|conversion| conversion.tensor == tensor)?;
        // The entries of a relation follow from sizes, too.
        let is_stored = step.kernel().tensors[tensor].indicator.is_none();
        Some(Remade { tensor, source: address(slots, conversion.source).filter(|_| is_stored)?, made })
    });
    remade.collect()
}

/// The result of a statement that only stores a tensor otherwise.
fn copy(program: &Program, copied: &Copied, slots: &[Slot<'_>]) -> Result<Tensor, Error> {
    let source = slots.get(copied.source.index()).and_then(Slot::get);
    let source = source.ok_or_else(|| not_given(program, copied.source))?;
    Ok(source.convert(&copied.format)?.with_modes(&copied.modes)?)
}

/// The tensor of a kernel that is the old value of its result as it is: the kernel reads it in its place, and writes into other
/// memory.
fn kept(step: &Step, slots: &[Slot<'_>]) -> Option<TensorId> {
    let result = step.result();
    // A result that is added to is written in its own place. The first of two phases leaves nothing to read for the second.
    if step.kernel().updates || step.phase() != Phase::Fused {
        return None;
    }
    let old = slots.get(result.index()).and_then(Slot::get)?;
    let mut made = step.plan().conversions.iter().filter(|made| made.source == result);
    let is_same = |tensor: TensorId| {
        let declared = &step.kernel().tensors[tensor];
        *old.format() == own_format(declared) && old.dtype() == declared.dtype && old.fill() == declared.fill()
    };
    made.find(|made| is_same(made.tensor)).map(|made| made.tensor)
}

/// Checks that memory can hold a dense result, or a sparse one that gets every element, before its kernel fills all there is.
fn check_memory(program: &Program, step: &Step, sizes: &[u64]) -> Result<(), Error> {
    let declared = &program.tensors[step.plan().result];
    let is_full = step.plan().is_full || declared.format.is_dense();
    let Some(memory) = memory::installed().filter(|_| is_full) else { return Ok(()) };
    let size = declared.dtype.size() as u64;
    let elements = step.plan().statement.lhs.vars.iter().map(|var| sizes[var.index()]);
    let bytes = elements.fold(size, u64::saturating_mul);
    if bytes > memory { Err(Error::Full { name: declared.name.clone(), bytes, memory }) } else { Ok(()) }
}

/// Checks that the result of an earlier statement is stored as the kernels that read it were compiled for: if its sizes
/// were not known, its index arrays may have come out wider.
fn check_earlier(program: &Program, tensor: TensorId, slots: &[Slot<'_>]) -> Result<(), Error> {
    let Some(declared) = program.tensors.get(tensor).filter(|declared| declared.role == Role::Result) else {
        return Ok(());
    };
    slots.get(tensor.index()).and_then(Slot::get).map_or(Ok(()), |found| check_tensor(declared, found, true))
}

/// True if a tensor's values are read before any is assigned, or added to.
fn is_read(program: &Program, tensor: TensorId) -> bool {
    let adds = |op: AssignOp| op != AssignOp::Set;
    let first = program.statements.iter().find(|statement| statement.lhs.tensor == tensor);
    program.given().contains(&tensor) || first.is_none_or(|statement| adds(statement.op))
}

fn not_given(program: &Program, tensor: TensorId) -> Error {
    let name = &program.tensors[tensor].name;
    if !is_like_a_call(program, tensor) {
        return Error::NoValue(format!("`{name}` is not given"));
    }
    Error::NoValue(format!(
        "`{name}` is not given: there is no function `{name}`, so that `{name}(..)` is an element of a tensor whose index is a \
         value; give the tensor, or declare the operator, `op {name}(a) = ..`"
    ))
}

/// True if every access of a tensor looks like a call of a function: each of its indices is a value of another tensor.
fn is_like_a_call(program: &Program, tensor: TensorId) -> bool {
    let mut accesses = program.statements.iter().flat_map(|statement| {
        let all = statement.rhs.accesses();
        let own: Vec<&Access> = all.iter().copied().filter(|access| access.tensor == tensor).collect();
        own.into_iter().map(move |access| {
            let is_value = |var: &VarId| {
                let of_var = all.iter().filter(|other| other.vars.last() == Some(var));
                of_var.into_iter().any(|other| program.tensors[other.tensor].gathered().is_some())
            };
            !access.vars.is_empty() && access.vars.iter().all(is_value)
        })
    });
    accesses.next().is_some_and(|first| first && accesses.all(|other| other))
}

/// The result before, of its place: kept where something is made of it, else its memory is used again.
fn result_before(
    step: &Step,
    phase: Phase,
    is_dense: bool,
    place: Slot<'_>,
    sizes: &[u64],
) -> Result<Option<Tensor>, Error> {
    let before = match place {
        Slot::Owned(tensor) if phase == Phase::Compute || is_dense => Some(tensor),
        Slot::Borrowed(tensor) if step.kernel().updates || phase == Phase::Compute => {
            Some(tensor.try_clone().map_err(lacunar_runtime::StorageError::from)?)
        }
        _ => None,
    };
    let dims: Vec<u64> = step.plan().statement.lhs.vars.iter().map(|var| sizes[var.index()]).collect();
    Ok(before.filter(|tensor| tensor.dims() == dims || tensor.dims() == result_dims(step, sizes)))
}

/// The tensors that a kernel reads, by handle: those that were made for it, else the program's.
fn inputs<'t>(
    program: &Program,
    step: &Step,
    slots: &'t [Slot<'_>],
    converted: &'t [(TensorId, Tensor)],
) -> Result<Vec<Option<&'t Tensor>>, Error> {
    let mut inputs = vec![None; step.kernel().tensors.len()];
    for (id, _) in step.kernel().tensors.iter().filter(|(_, tensor)| tensor.role == Role::Input) {
        check_earlier(program, source(step, id), slots)?;
        let made = converted.iter().find(|(made, _)| *made == id).map(|(_, tensor)| tensor);
        inputs[id.index()] = made.or_else(|| slots.get(source(step, id).index()).and_then(Slot::get));
    }
    Ok(inputs)
}

/// The program's result, of a kernel's: converted, and with the user's dimensions.
fn finished(program: &Program, step: &Step, sizes: &[u64], result: Tensor) -> Result<Tensor, Error> {
    let plan = step.plan();
    let (wanted, view) = (&program.tensors[plan.result].format, &plan.kernel.tensors[plan.result].view);
    let mapped = view.as_ref().is_some_and(|view| view.format.map().is_some());
    let dtype = program.tensors[plan.result].dtype;
    let result = match &plan.convert_result {
        Some(_) if mapped => result.convert(&wanted.stored())?,
        // The result has the structure, which follows from the operands, but for numbers that were rounded.
        Some(_) if wanted.packing().is_some() => result.keep_packed(wanted)?,
        Some(_) => result.convert(wanted)?,
        None => result,
    };
    let result = if result.dtype() == dtype { result } else { result.cast(dtype)? };
    let dims = || plan.statement.lhs.vars.iter().map(|var| sizes[var.index()]).collect();
    // A pattern that was given has the user's dimensions.
    Ok(if mapped && result.format() != wanted { result.into_mapped(dims(), wanted)? } else { result })
}

/// True if two tensors of one format store the same places.
fn is_pattern_of(pattern: &Tensor, result: &Tensor) -> Result<bool, Error> {
    let format = result.format();
    if pattern.levels() == result.levels() || format.is_plain() {
        return Ok(pattern.levels() == result.levels());
    }
    // The values tell which places share a position, and the making of a tensor tells how much room its rows and tables
    // have.
    let plain = format.plain();
    Ok(pattern.convert(&plain)?.levels() == result.convert(&plain)?.levels())
}

/// Checks that the index arrays that a kernel was compiled to write hold the coordinates of its result.
fn check_widths(program: &Program, call: &Call<'_>) -> Result<(), Error> {
    let dims: Vec<Option<u64>> = call.dims().into_iter().map(Some).collect();
    if call.format().fitted(&dims, 0) == *call.format() {
        return Ok(());
    }
    Err(Error::Argument(format!(
        "the kernel was compiled to store `{}` as {}, whose index arrays are too narrow for the sizes {:?}; declare the sizes \
         or wider arrays",
        program.tensors[call.step.result()].name,
        call.format(),
        call.dims()
    )))
}

/// A tensor that was made of another, `name`, for a kernel, whose index arrays are as wide as the kernel was compiled for.
fn as_wide(tensor: Tensor, format: &Format, name: &str) -> Result<Tensor, Error> {
    if tensor.format() == format {
        return Ok(tensor);
    }
    Err(Error::Argument(format!(
        "`{name}` is converted to {}, but the kernel was compiled for {format}; declare its sizes or wider index arrays",
        tensor.format()
    )))
}

/// The inputs of a kernel that are made of other tensors, but for the one that is `kept` as it is. Inputs that were made of the caller's
/// tensors before are taken as they are.
fn conversions(
    program: &Program,
    step: &Step,
    sizes: &[u64],
    slots: &[Slot<'_>],
    kept: Option<TensorId>,
    mut remade: Vec<Remade>,
) -> Result<Vec<(TensorId, Tensor)>, Error> {
    let mut made = Vec::new();
    let others = step.plan().conversions.iter().filter(|conversion| Some(conversion.tensor) != kept);
    for conversion in others {
        let made_of = slots.get(conversion.source.index()).and_then(Slot::get);
        let declared = &step.kernel().tensors[conversion.tensor];
        let (format, dtype, fill) = (&own_format(declared), declared.dtype, declared.fill());
        // A tensor that the kernel only views otherwise is the caller's.
        if conversion.source != step.result() && made_of.is_some_and(|tensor| tensor.format() == format) {
            continue;
        }
        if let Some(tensor) = indices::entries((program, step), conversion, format, (sizes, slots))? {
            let name = &program.tensors[conversion.source].name;
            made.push((conversion.tensor, as_wide(tensor, format, name)?));
            continue;
        }
        let source = address(slots, conversion.source);
        let known = |own: &Remade| own.tensor == conversion.tensor && Some(own.source) == source;
        if let Some(place) = remade.iter().position(known) {
            made.push((conversion.tensor, remade.swap_remove(place).made));
            continue;
        }
        // The kernel reads the elements that are stored, and beside each those that follow from it.
        let unique = made_of.filter(|tensor| declared.is_unique && tensor.format().packing().is_some());
        let unique = unique.map(Tensor::as_unpacked).transpose()?;
        let made_of = unique.as_ref().or(made_of);
        let by_ranks = made_of.filter(|_| keeps_ranks(declared)).map(Tensor::by_ranks).transpose()?;
        let tensor = match by_ranks.as_ref().or(made_of) {
            Some(tensor) if tensor.dtype() != dtype => tensor.cast(dtype)?.with_fill(fill)?.convert(format)?,
            Some(tensor) if tensor.fill() == fill => tensor.convert(format)?,
            // Dense, and compiled for another fill value, which it had no use for.
            Some(tensor) => {
                let refilled = tensor.try_clone().map_err(lacunar_runtime::StorageError::from)?.with_fill(fill)?;
                refilled.convert(format)?
            }
            // A result that is added to before it has any value.
            None => {
                let dims = step.plan().statement.lhs.vars.iter().map(|var| sizes[var.index()]).collect();
                Tensor::empty(dims, format, fill)?
            }
        };
        let name = &program.tensors[conversion.source].name;
        made.push((conversion.tensor, as_wide(tensor, format, name)?));
    }
    Ok(made)
}

impl Code {
    /// The back end that made it.
    pub(crate) fn backend(&self) -> Backend {
        match self {
            #[cfg(feature = "llvm")]
            Code::Llvm(_) | Code::Foreign(_) => Backend::Llvm,
            Code::C(_) => Backend::C,
            Code::Interpreter => Backend::Interpreter,
            Code::Conversion(_, backend) => *backend,
        }
    }
}
