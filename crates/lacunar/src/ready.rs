//! Statements that are carried out again on tensors of the same sizes: the answers of the first time are kept.
//!
//! A statement with a dense result and without conversions is *ready* after it was carried out once. Then only the sizes of its
//! tensors are compared, and the kernel is called on the memory of its earlier result; or, where it reads the old value, on
//! memory of the value before that. All other checks depend on the program and on these sizes alone.
//!
//! ```text
//! for k in 0 .. 1000 { x(i) = 0.5 * x(i) }      the first round binds, the others exchange two blocks of memory
//! ```

use std::time::{Duration, Instant};

use lacunar_compiler::lower::Phase;
use lacunar_notation::index::read_by;
use lacunar_notation::{Program, Role, TensorId};
use lacunar_runtime::Tensor;

use crate::bind::{Slot, check_tensor};
use crate::compile::{Code, Step};
use crate::error::Error;
use crate::indices;
use crate::launch::Call;

/// The facts about a statement that hold as long as its tensors keep their sizes.
#[derive(Debug)]
pub(crate) struct Ready {
    /// The sizes of its variables.
    sizes: Vec<u64>,
    /// The tensors that it reads or writes, with their sizes.
    shapes: Vec<(TensorId, Vec<u64>)>,
    /// The tensors that the kernel reads, by its handles.
    inputs: Vec<TensorId>,
    /// The tensors that it reads whose arrays may come out otherwise.
    checked: Vec<TensorId>,
    /// The tensor of the kernel that is the old value of the result.
    kept: Option<TensorId>,
    /// True if it has values that are indices.
    has_gathers: bool,
}

impl Ready {
    /// The facts about a statement that has just been carried out with these sizes of its variables; `None` if more has to be done for it
    /// than to call its kernel.
    pub fn of(
        program: &Program,
        step: &Step,
        (phase, kept): (Phase, Option<TensorId>),
        sizes: Vec<u64>,
        slots: &[Slot<'_>],
    ) -> Option<Ready> {
        let (plan, kernel) = (step.plan(), step.kernel());
        let declared = &kernel.tensors[plan.result];
        let is_called = !matches!(step.code(), Code::Interpreter | Code::Conversion(..))
            && phase == Phase::Fused
            && step.phase() == Phase::Fused;
        let is_plain = declared.format.is_dense()
            && kernel.pattern_of.is_none()
            && declared.view.is_none()
            && plan.convert_result.is_none()
            && plan.conversions.iter().all(|made| Some(made.tensor) == kept)
            && kernel.stored.sizes.is_empty()
            && declared.dtype == program.tensors[plan.result].dtype;
        if !is_called || !is_plain {
            return None;
        }
        let is_stored = |id: &TensorId| !program.tensors[*id].role.is_computed();
        let mut read: Vec<TensorId> = read_by(&program.tensors, &plan.statement.rhs);
        read.retain(is_stored);
        // Without conversions, the kernel reads the program's tensors themselves, by the same handles.
        let inputs = read.iter().copied().filter(|id| *id != plan.result).collect();
        read.push(plan.result);
        read.sort_unstable();
        read.dedup();
        let shape = |id: &TensorId| Some((*id, slots[id.index()].get()?.dims().to_vec()));
        let shapes = read.iter().map(shape).collect::<Option<Vec<_>>>()?;
        let may_change = |id: &TensorId| {
            let tensor = &program.tensors[*id];
            tensor.role == Role::Result && !tensor.format.is_dense()
        };
        let checked = read.into_iter().filter(may_change).collect();
        Some(Ready { sizes, shapes, inputs, checked, kept, has_gathers: indices::has_gathers(program, step) })
    }

    /// The sizes of the variables of a statement that its kernel alone carries out, if its tensors and a result have these sizes, and nothing
    /// else has to be compared.
    pub fn sizes(&self, program: &Program, step: &Step, result: &Tensor, slots: &[Slot<'_>]) -> Option<&[u64]> {
        let place = step.result();
        let of = |id: TensorId| if id == place { Some(result) } else { slots[id.index()].get() };
        let fits = |(id, dims): &(TensorId, Vec<u64>)| of(*id).is_some_and(|found| has_sizes(found, dims));
        let is_own = |id: &TensorId| *id == place && check_tensor(&program.tensors[place], result, true).is_ok();
        let is_plain = self.kept.is_none() && self.checked.iter().all(is_own);
        (is_plain && self.shapes.iter().all(fits)).then_some(self.sizes.as_slice())
    }

    /// Carries the statement out, if its tensors have their sizes and the memory for its result is there. Returns how long the kernel
    /// took.
    pub fn run(
        &self,
        program: &Program,
        step: &Step,
        slots: &mut [Slot<'_>],
        spare: &mut Option<Tensor>,
    ) -> Result<Option<Duration>, Error> {
        let fits =
            |(id, dims): &(TensorId, Vec<u64>)| slots[id.index()].get().is_some_and(|found| has_sizes(found, dims));
        if !self.shapes.iter().all(fits) {
            return Ok(None);
        }
        for &id in &self.checked {
            slots[id.index()].get().map_or(Ok(()), |found| check_tensor(&program.tensors[id], found, true))?;
        }
        let place = step.result().index();
        if self.has_gathers {
            indices::check(program, step, &self.sizes, slots)?;
        }
        let mut result = match self.kept {
            Some(_) => match spare.take() {
                Some(tensor) if slots[place].get().is_some_and(|old| old.dims() == tensor.dims()) => tensor,
                _ => return Ok(None),
            },
            None => match std::mem::replace(&mut slots[place], Slot::Empty) {
                Slot::Owned(tensor) if tensor.dtype() == program.tensors[step.result()].dtype => tensor,
                other => {
                    slots[place] = other;
                    return Ok(None);
                }
            },
        };
        let mut inputs = vec![None; step.kernel().tensors.len()];
        for &id in &self.inputs {
            inputs[id.index()] = slots[id.index()].get();
        }
        if let Some(old) = self.kept {
            inputs[old.index()] = slots[place].get();
        }
        let start = Instant::now();
        let call = Call { step, inputs, sizes: &self.sizes, before: None, first_phase: false };
        call.write_into(&mut result)?;
        let time = start.elapsed();
        if let Slot::Owned(old) = std::mem::replace(&mut slots[place], Slot::Owned(result))
            && self.kept.is_some()
        {
            *spare = Some(old);
        }
        Ok(Some(time))
    }
}

/// True if a tensor has these sizes. They are few, so that comparing them one by one is cheaper than a call that compares memory.
fn has_sizes(tensor: &Tensor, dims: &[u64]) -> bool {
    tensor.dims().iter().eq(dims)
}
