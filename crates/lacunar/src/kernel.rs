//! Kernels: programs compiled once, to be run many times.
//!
//! ```
//! use lacunar::{Format, Kernel, Options, Tensor};
//! # fn main() -> Result<(), lacunar::Error> {
//! let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &Options::new().format("A", Format::csr()))?;
//! let a = Tensor::from_entries(&[2, 2], &[(&[0, 1], 2.0), (&[1, 0], 3.0)], Format::csr())?;
//! let x = Tensor::from_slice(&[2], &[1.0, 10.0])?;
//! let mut y = Tensor::<f64>::zeros(&[2], Format::dense(1))?;
//! kernel.run(&mut y, &[&a, &x])?;
//! assert_eq!(y.to_dense()?, [20.0, 3.0]);
//! # Ok(())
//! # }
//! ```

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lacunar_base::Trace;
use lacunar_compiler::lower::Phase;
use lacunar_imp::{parse, verify};
use lacunar_machine::Machine;
use lacunar_notation::provenance::Tag;
use lacunar_notation::{Action, Program, Role, Tensor as Declared, TensorId};
use lacunar_runtime::io::{self, IndexBase};
use lacunar_runtime::{Element, pool};

use crate::again::Again;
use crate::bind::Slot;
use crate::compile::{Backend, Choices, Compiled, Step, commands, compile};
use crate::error::Error;
use crate::evaluate::Times;
use crate::launch::Held;
use crate::options::{Optimization, Options};
use crate::run::run;
use crate::schedule::{Schedule, Unit};
use crate::store::processor;

/// A compiled program.
#[derive(Debug)]
pub struct Kernel {
    compiled: Compiled,
    phase: Phase,
    threads: Option<usize>,
    base: IndexBase,
    again: Again,
    /// The tensors that a caller has to give, as soon as somebody has asked.
    given: OnceLock<BTreeSet<TensorId>>,
}

impl Kernel {
    /// Compiles a program.
    ///
    /// # Errors
    /// Every mistake in the program, with its place; or the back end's failure.
    pub fn compile(source: &str, options: &Options) -> Result<Kernel, Error> {
        Kernel::chosen(source, options, Choices::Usual)
    }

    /// Compiles a program with schedules that are chosen so.
    pub(crate) fn chosen(source: &str, options: &Options, choices: Choices<'_>) -> Result<Kernel, Error> {
        let compiled = compile(source, options, choices)?;
        let (phase, threads, base) = (options.phase, options.threads, options.base);
        Ok(Kernel { compiled, phase, threads, base, again: Again::default(), given: OnceLock::new() })
    }

    /// The program without its prints, and without the files that it writes and does not read itself.
    pub(crate) fn silent(mut self) -> Kernel {
        let mut read = BTreeSet::new();
        Action::visit(&self.compiled.program.body, &mut |action| {
            if let Action::Read(_, file) | Action::Change { file, .. } = action {
                read.insert(io::place_of(Path::new(file)));
            }
        });
        Action::retain(&mut self.compiled.program.body, &|action| match action {
            Action::Print(_) | Action::Elapsed(_) => false,
            Action::Write(_, file) => read.contains(&io::place_of(Path::new(file))),
            _ => true,
        });
        self
    }

    /// The program with kernels that are read back from their own texts.
    ///
    /// # Errors
    /// A text is not read, or as another kernel: a fault of the compiler. The back end fails.
    pub fn reread(mut self) -> Result<Kernel, Error> {
        for step in self.steps_mut() {
            let text = step.function().to_string();
            let fault = |what: String| Error::Internal(format!("a kernel's text {what}\n{text}"));
            let function = parse(&text).map_err(|found| fault(format!("is not read: {}", found.message)))?;
            let function = verify(function).map_err(|error| fault(format!("is not well-formed: {error}")))?;
            if function.to_string() != text {
                return Err(fault(format!("is read as\n{}and not as", *function)));
            }
            step.replace_function(function);
        }
        if let Some(backend) = self.backend() {
            Kernel::regenerate(std::slice::from_mut(&mut self), backend, Optimization::default())?;
        }
        Ok(self)
    }

    /// The checked program.
    pub fn program(&self) -> &Program {
        &self.compiled.program
    }

    /// Its compiled statements; both steps of a statement in two phases.
    pub fn steps(&self) -> &[Step] {
        &self.compiled.steps
    }

    pub(crate) fn steps_mut(&mut self) -> &mut [Step] {
        self.again = Again::default();
        &mut self.compiled.steps
    }

    /// Its compiled statements, each once: its last phase.
    pub fn statements(&self) -> impl Iterator<Item = &Step> {
        let last = |number: usize, step: &Step| {
            self.steps().get(number + 1).is_none_or(|next| next.statement() != step.statement())
        };
        self.steps().iter().enumerate().filter(move |(number, step)| last(*number, step)).map(|(_, step)| step)
    }

    /// The machine that the program was compiled for.
    pub fn machine(&self) -> &Arc<Machine> {
        &self.compiled.machine
    }

    /// Times of the stages, and the texts of those that were asked for.
    pub fn trace(&self) -> &Trace {
        &self.compiled.trace
    }

    /// The text of a stage that was asked for, of all statements.
    pub fn text(&self, stage: &str) -> Option<String> {
        let texts: Vec<&str> = self.trace().texts().filter(|(name, _)| *name == stage).map(|(_, text)| text).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    /// The planner's choices and their reasons, in words, each with the name of its result if there are several statements; a note if loops
    /// could be shared but only one thread is allowed, and the machine if it is not the one at hand; the [warnings](Kernel::warnings) last.
    ///
    /// ```
    /// use lacunar::{Format, Kernel, Options};
    /// let options = Options::new().format("A", Format::csr()).threads(1);
    /// let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &options).unwrap();
    /// assert!(kernel.explain().iter().any(|note| note.contains("runs on one thread")));
    /// ```
    pub fn explain(&self) -> Vec<String> {
        let of_several = self.statements().nth(1).is_some();
        let notes = self.statements().flat_map(|step| {
            let name = &self.program().tensors[step.result()].name;
            step.plan().notes.iter().map(move |note| if of_several { format!("{name}: {note}") } else { note.clone() })
        });
        let alone = self.shares_loops() && self.threads() == 1;
        let alone = alone.then(|| "the kernel runs on one thread: no more are allowed".to_string());
        let machine = (self.machine().name != processor()).then(|| self.machine().explain());
        notes.chain(alone).chain(machine).chain(self.warnings()).collect()
    }

    /// Possible surprises, in words: a sparse result that gets every element, and the reason.
    ///
    /// ```
    /// use lacunar::{Format, Kernel, Options};
    /// let options = Options::new().format("A", Format::csr()).format("C", Format::csr());
    /// let full = Kernel::compile("C(i,j) = A(i,j) + 1", &options).unwrap();
    /// assert!(full.warnings()[0].starts_with("`C` (csr) gets every element"));
    /// let sparse = Kernel::compile("C(i,j) = max(A(i,j), 0)", &options).unwrap();
    /// assert!(sparse.warnings().is_empty());
    /// ```
    pub fn warnings(&self) -> Vec<String> {
        self.statements().flat_map(|step| step.plan().warnings.clone()).collect()
    }

    /// The commands that transformed the loops, of all statements: as given, or as chosen.
    pub fn schedule(&self) -> Schedule {
        let all = self.statements().flat_map(|step| commands(self.program(), step.statement(), step.plan()));
        Schedule::from(all.collect::<Vec<_>>().join(", "))
    }

    /// The most threads that a run of the kernel may use: 1 if no loop is shared out among threads.
    pub fn threads(&self) -> usize {
        if self.shares_loops() { self.threads.unwrap_or_else(pool::threads) } else { 1 }
    }

    /// True if threads share a loop of a kernel.
    fn shares_loops(&self) -> bool {
        self.steps().iter().any(|step| {
            step.kernel().provenance.tags.iter().any(|(_, tag)| matches!(tag, Tag::Parallel(Unit::CpuThread, _)))
        })
    }

    /// The back end that made the code.
    pub fn backend(&self) -> Option<Backend> {
        self.steps().first().map(|step| step.code().backend())
    }

    /// The names of the inputs, in order of their first occurrence: the order in which [`Kernel::run`] takes them. A tensor in an index
    /// comes before the one that has the index: `q` before `x` in `x(q(i))`. Tensors that the program reads from files or makes up
    /// are none.
    ///
    /// ```
    /// use lacunar::{Kernel, Options};
    /// let kernel = Kernel::compile("fill w 0.5; y(i) = w(j) * A(i,j)", &Options::new())?;
    /// assert_eq!(kernel.inputs().collect::<Vec<_>>(), ["A"]);
    /// # Ok::<(), lacunar::Error>(())
    /// ```
    pub fn inputs(&self) -> impl Iterator<Item = &str> {
        self.wanted().map(|(_, tensor)| tensor.name.as_str())
    }

    /// The inputs that a caller has to give, in order of their first occurrence.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = (TensorId, &Declared)> {
        let given = self.given.get_or_init(|| self.program().given());
        self.declared(Role::Input).filter(move |(id, _)| given.contains(id))
    }

    /// The names of the results, in order of their first occurrence: of a program that says which are its outputs, of those.
    pub fn results(&self) -> impl Iterator<Item = &str> {
        self.outputs().map(|(_, tensor)| tensor.name.as_str())
    }

    /// The results that the program is for.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = (TensorId, &Declared)> {
        self.declared(Role::Result).filter(|(id, _)| self.program().is_output(*id))
    }

    /// True for a tensor that is given by its unique elements and completed at every run.
    pub(crate) fn completes(&self, tensor: TensorId) -> bool {
        self.compiled.givens.completed.contains(&tensor)
    }

    /// The tensors of a role, in order of their first occurrence.
    pub(crate) fn declared(&self, role: Role) -> impl Iterator<Item = (TensorId, &Declared)> {
        self.program().tensors.iter().filter(move |(_, tensor)| tensor.role == role)
    }

    /// Lays out the arguments of a kernel whose tensors it has just run on, if nothing else has to be done for the next run.
    pub(crate) fn hold<'k, T: Element>(&'k self, held: &mut Held<'k, T>) -> Result<(), Error> {
        let inputs: Vec<TensorId> = self.wanted().map(|(id, _)| id).collect();
        self.again.hold(&self.compiled, &inputs, self.threads, held)
    }

    /// Runs the program on its tensors by handle; its printed text goes to `out`.
    pub(crate) fn evaluate(&self, slots: &mut [Slot<'_>], out: &mut dyn Write) -> Result<Times, Error> {
        let mut run = || {
            if let Some(kernel) = self.again.run(&self.compiled, slots)? {
                return Ok(Times { convert: Duration::ZERO, kernel, total: kernel, counts: vec![1] });
            }
            let is_placed = self.outputs().any(|(id, _)| matches!(slots[id.index()], Slot::Owned(_)));
            self.compiled.givens.prepare(self.program(), slots)?;
            let times = run((self.program(), self.steps()), self.phase, self.base, slots, out)?;
            if is_placed {
                self.again.remember(&self.compiled, self.phase, slots);
            }
            Ok(times)
        };
        match self.threads {
            Some(threads) => pool::with_threads(threads, run),
            None => run(),
        }
    }
}
