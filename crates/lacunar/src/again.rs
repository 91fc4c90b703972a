//! A kernel of one statement that is run again, on other tensors of the same formats and sizes: its machine code is called at once.
//!
//! ```text
//! kernel.run(&mut y, &[&a, &x])      sizes are told by the tensors, promises and memory are checked, the statement is carried out
//! kernel.run(&mut y, &[&b, &x])      formats, types, fill values and sizes are those of the run before: nothing else is asked
//! ```
//!
//! A product of small tensors takes less time than these questions. Questions about values are asked every time: the indices that
//! a statement gathers by are compared with sizes, and a kernel that reads a tensor with a structure that its format does not tell
//! is never run this way.
//!
//! On entry: slots with the tensors that the caller gives. On exit: the result is in its slot; or nothing was done, and the kernel is run
//! as it is the first time, which also reports operands that do not fit.

use std::sync::RwLock;
use std::time::Duration;

use lacunar_compiler::lower::Phase;
use lacunar_notation::{Program, Role, TensorId};
use lacunar_runtime::Element;

use crate::bind::{Slot, check_tensor, sizes};
use crate::compile::Compiled;
use crate::error::Error;
use crate::indices::has_gathers;
use crate::launch::Held;
use crate::ready::Ready;

/// The facts about the last run.
#[derive(Debug, Default)]
pub(crate) struct Again(RwLock<Option<Ready>>);

impl Again {
    /// Carries the statement of a program out, if its tensors are like those of the run before. Returns how long the kernel took.
    pub fn run(&self, compiled: &Compiled, slots: &mut [Slot<'_>]) -> Result<Option<Duration>, Error> {
        // Another thread may be writing its findings: then there is nothing to know yet.
        let Ok(known) = self.0.try_read() else { return Ok(None) };
        let (Some(ready), [step]) = (&*known, compiled.steps.as_slice()) else { return Ok(None) };
        if !are_alike(&compiled.program, slots) {
            return Ok(None);
        }
        ready.run(&compiled.program, step, slots, &mut None)
    }

    /// Lays out the arguments of the run before, whose inputs are those of these handles; not if values have to be compared at every run.
    pub fn hold<'k, T: Element>(
        &self,
        compiled: &'k Compiled,
        inputs: &[TensorId],
        threads: Option<usize>,
        held: &mut Held<'k, T>,
    ) -> Result<(), Error> {
        let Ok(known) = self.0.try_read() else { return Ok(()) };
        let (Some(ready), [step]) = (&*known, compiled.steps.as_slice()) else { return Ok(()) };
        if has_gathers(&compiled.program, step) {
            return Ok(());
        }
        let (result, given) = held.tensors();
        let mut slots: Vec<Slot<'_>> = compiled.program.tensors.iter().map(|_| Slot::Empty).collect();
        for (id, tensor) in inputs.iter().zip(given) {
            slots[id.index()] = Slot::Borrowed(tensor);
        }
        let program = &compiled.program;
        let sizes = || ready.sizes(program, step, result.as_dyn(), &slots);
        let found = are_alike(program, &slots).then(sizes).flatten();
        found.map_or(Ok(()), |sizes| held.lay_out(step, sizes, inputs, threads))
    }

    /// Remembers a run whose result is in its slot.
    pub fn remember(&self, compiled: &Compiled, phase: Phase, slots: &[Slot<'_>]) {
        let (program, [step]) = (&compiled.program, compiled.steps.as_slice()) else { return };
        if !program.is_sequence() || !tells_structures(compiled) {
            return;
        }
        let Ok(sizes) = sizes(program, step, slots) else { return };
        let found = Ready::of(program, step, (phase, None), sizes, slots);
        if let Ok(mut known) = self.0.try_write() {
            *known = found;
        }
    }
}

/// True if tensors are of the formats, the types and the fill values that are declared.
fn are_alike(program: &Program, slots: &[Slot<'_>]) -> bool {
    program.tensors.iter().all(|(id, declared)| {
        let Some(tensor) = slots.get(id.index()).and_then(Slot::get) else { return true };
        let has_fill = declared.role != Role::Result || tensor.fill() == declared.fill();
        has_fill && check_tensor(declared, tensor, true).is_ok()
    })
}

/// True if the formats of all operands tell the structures that are declared of them, so that values need not be compared.
fn tells_structures(compiled: &Compiled) -> bool {
    let operands = compiled.program.tensors.iter().filter(|(_, declared)| declared.role == Role::Input);
    let mut declared = operands.filter_map(|(_, tensor)| Some((tensor.structure.as_deref()?, tensor)));
    compiled.givens.completed.is_empty()
        && declared.all(|(structure, tensor)| {
            compiled.givens.hold || tensor.format.packing().is_some_and(|packing| packing.structure() == structure)
        })
}
