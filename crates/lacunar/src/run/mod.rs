//! Running the actions of a compiled program: statements by their steps, loops and conditions around them, tensors exchanged.
//!
//! On entry the slots hold the tensors that the caller gives. Every action finds its tensors in their slots and leaves them there, so
//! that a swap exchanges two slots and copies nothing, and a statement that is carried out again writes into the memory of its
//! earlier result. On exit the slots hold the results.
//!
//! ```text
//! for k in 0 .. 2 {
//!   y(i) = A(i,j) * x(j)      A and x are read, y is written
//!   swap x, y                 the slots of x and y are exchanged
//! }
//! ```

mod control;
mod io;
mod made;
mod update;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Instant;

use lacunar_compiler::lower::Phase;
use lacunar_notation::{Action, Program, TensorId};
use lacunar_runtime::Tensor;
use lacunar_runtime::io::IndexBase;

use crate::bind::Slot;
use crate::compile::Step;
use crate::error::Error;
use crate::evaluate::{Evaluation, Times, check_given};
use update::List;

/// Runs a program by its steps. `slots` holds its tensors by handle: those that are given on entry, results too on exit. Prints go to
/// `out`; `base` is the first index of files that do not tell it.
pub(crate) fn run(
    (program, steps): (&Program, &[Step]),
    phase: Phase,
    base: IndexBase,
    slots: &mut [Slot<'_>],
    out: &mut dyn Write,
) -> Result<Times, Error> {
    let start = Instant::now();
    check_given(program, slots)?;
    io::check_writes(program)?;
    let mut statements = vec![0..0; program.statements.len()];
    for (number, step) in steps.iter().enumerate() {
        let range: &mut Range<usize> = &mut statements[step.statement()];
        *range = if range.start == range.end { number..number + 1 } else { range.start..number + 1 };
    }
    let given = program.tensors.handles().filter_map(|id| match slots[id.index()] {
        Slot::Borrowed(tensor) => Some((id, Some(tensor))),
        Slot::Owned(_) => Some((id, None)),
        Slot::Empty => None,
    });
    let given = given.collect();
    let evaluation = Evaluation::new(program, steps, phase);
    let mut first_files = BTreeMap::new();
    Action::visit(&program.body, &mut |action| {
        if let Action::Read(tensor, file) = action {
            first_files.entry(*tensor).or_insert(file.as_str());
        }
    });
    let (clocks, lists, written) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
    let mut runner =
        Runner { program, statements, slots, evaluation, base, given, first_files, clocks, lists, written, out };
    runner.actions(&program.body)?;
    let mut times = runner.evaluation.times;
    times.total = start.elapsed();
    Ok(times)
}

/// The state of a run.
struct Runner<'r, 's> {
    program: &'r Program,
    /// The steps of each statement.
    statements: Vec<Range<usize>>,
    slots: &'r mut [Slot<'s>],
    evaluation: Evaluation<'r>,
    base: IndexBase,
    /// The tensors that the caller gave, which take the place of files; of those that the program may write to, until they are read.
    given: BTreeMap<TensorId, Option<&'s Tensor>>,
    /// The first file that the program reads for each tensor.
    first_files: BTreeMap<TensorId, &'r str>,
    clocks: BTreeMap<&'r str, Instant>,
    /// The entries of files that tensors change by, which are read once.
    lists: BTreeMap<(&'r str, TensorId), List>,
    /// The files that the program has written: their contents differ from those that the caller read.
    written: BTreeSet<PathBuf>,
    out: &'r mut dyn Write,
}

impl<'r> Runner<'r, '_> {
    fn actions(&mut self, actions: &'r [Action]) -> Result<(), Error> {
        actions.iter().try_for_each(|action| self.action(action))
    }

    fn action(&mut self, action: &'r Action) -> Result<(), Error> {
        match action {
            Action::Assign(statement) => {
                let steps = self.statements[*statement].clone();
                self.evaluation.statement(*statement, steps, self.slots)?;
            }
            Action::Swap(a, b) => self.slots.swap(a.index(), b.index()),
            Action::Print(tensor) => self.print(*tensor)?,
            Action::Read(tensor, file) => self.read(*tensor, file)?,
            Action::Write(tensor, file) => self.write(*tensor, file)?,
            Action::Fill(tensor, value) => self.fill(*tensor, value)?,
            Action::Random { tensor, kind, seed } => self.random(*tensor, kind, seed)?,
            Action::Change { tensor, file, range, removes } => {
                let range = match range {
                    Some((from, to)) => Some((self.whole(from)?, self.whole(to)?)),
                    None => None,
                };
                self.change(*tensor, file, range, *removes)?;
            }
            Action::Snapshot(tensor, of) => self.snapshot(*tensor, *of)?,
            Action::Clock(name) => {
                self.clocks.insert(name, Instant::now());
            }
            Action::Elapsed(name) => self.elapsed(name)?,
            Action::For { counter, from, to, body } => {
                for number in self.whole(from)?..self.whole(to)? {
                    self.count(*counter, number);
                    self.actions(body)?;
                }
            }
            Action::While { condition, body } => {
                while self.holds(condition)? {
                    self.actions(body)?;
                }
            }
            Action::If { condition, then, otherwise } => {
                let body = if self.holds(condition)? { then } else { otherwise };
                self.actions(body)?;
            }
        }
        Ok(())
    }
}
