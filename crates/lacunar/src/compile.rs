//! The pipeline of a program on one page: every arrow is one call, every stage is timed and can be printed.
//!
//! ```text
//! text --check--> program --plan--> concrete notation --lower--> imperative IR --verify--> --optimize--> --back end--> code
//! ```

mod stages;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use lacunar_backend_c::{COptions, print};
use lacunar_base::{Category, Diagnostic, Trace};
use lacunar_compiler::algebra::{infer_fills, keep_fills, selected, with_pruned_mask};
use lacunar_compiler::comparisons::with_patterns;
use lacunar_compiler::lower::{self, Binding, Interface, Lowered, Phase};
use lacunar_compiler::plan::{Copied, Memory, Plan, Request, Search, over_stored_dimensions, plan, unknown_pattern};
use lacunar_compiler::{structure, swaps};
use lacunar_formats::{DType, Format, IndexWidth};
use lacunar_front::stur::translate;
use lacunar_front::{Declarations, Language};
use lacunar_imp::{Function, Param, Verified, optimize, verify};
use lacunar_machine::Machine;
use lacunar_notation::concrete::{Assign, Kernel};
use lacunar_notation::index::read_by;
use lacunar_notation::schedule::{Assembly, Schedule};
use lacunar_notation::{Action, Assignment, Program, Role, TensorId};
use lacunar_runtime::load::SharedKernel;
use lacunar_runtime::storage::LevelStorage;
use lacunar_runtime::{StorageError, Tensor};

use crate::error::Error;
use crate::generate::{CodeOptions, Wanted, generate};
use crate::givens::Givens;
use crate::machine::machine;
use crate::options::Options;
use crate::store::{self, Tuned};
use crate::warnings;
#[cfg(feature = "llvm")]
use stages::emit_llvm;
use stages::{definitions, nodes, print_plan, structures};

/// A back end, which turns the imperative IR into something that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// Native code in this process, through LLVM. There with the feature `llvm`.
    Llvm,
    /// C, through the system's compiler.
    C,
    /// The reference interpreter.
    Interpreter,
}

impl Default for Backend {
    /// LLVM where it was built in, else C.
    fn default() -> Backend {
        if cfg!(feature = "llvm") { Backend::Llvm } else { Backend::C }
    }
}

impl Backend {
    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Backend::Llvm => "llvm",
            Backend::C => "c",
            Backend::Interpreter => "interp",
        }
    }
}

/// A stage that can be printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage(pub &'static str);

impl Stage {
    /// All stages, in order.
    pub const ALL: [Stage; 15] = [
        Stage("program"),
        Stage("structure"),
        Stage("nodes"),
        Stage("notation"),
        Stage("schedule"),
        Stage("concrete"),
        Stage("provenance"),
        Stage("graph"),
        Stage("lattice"),
        Stage("loops"),
        Stage("passes"),
        Stage("imp"),
        Stage("c"),
        Stage("llvm"),
        Stage("asm"),
    ];
}

/// Something that runs.
#[derive(Debug)]
pub(crate) enum Code {
    #[cfg(feature = "llvm")]
    Llvm(Arc<lacunar_backend_llvm::JitKernel>),
    C(Arc<SharedKernel>),
    Interpreter,
    /// None: the processor does not have the instructions of the machine that is named.
    #[cfg(feature = "llvm")]
    Foreign(String),
    /// A conversion instead of a kernel, whichever back end was asked for.
    Conversion(Copied, Backend),
}

/// A compiled statement, or one of its two phases.
///
/// The accessors are for code that shows a kernel (the command's drawings) and for code that calls it by other ways
/// than [`crate::Kernel::run`] (tests of shipped code).
#[derive(Debug)]
pub struct Step {
    statement: usize,
    plan: Plan,
    interface: Interface,
    function: Verified<Function>,
    /// The part of assembling and computing that the function does.
    phase: Phase,
    /// The options of its lowering.
    lowering: lower::Options,
    code: Code,
    /// The arrays of the packed result of the last run.
    packed: Mutex<Option<PackedArrays>>,
}

/// The arrays of a packed tensor, which follow from its sizes.
#[derive(Debug)]
struct PackedArrays {
    dims: Vec<u64>,
    format: Format,
    levels: Vec<LevelStorage>,
    /// The number of values.
    count: u64,
}

impl Step {
    /// The arrays of a packed result of these sizes, and the number of its values; those of the last run, if its result was as large.
    pub(crate) fn packed_arrays(
        &self,
        dims: &[u64],
        wanted: &Format,
    ) -> Result<(Format, Vec<LevelStorage>, u64), StorageError> {
        let mut last = self.packed.lock().unwrap_or_else(PoisonError::into_inner);
        let made = match last.take().filter(|last| last.dims == dims) {
            Some(last) => last,
            None => {
                let (format, levels, count) = Tensor::packed_levels(dims, wanted)?;
                PackedArrays { dims: dims.to_vec(), format, levels, count }
            }
        };
        // They are shared: no array is copied.
        let levels = made.levels.iter().map(LevelStorage::try_clone).collect::<Result<_, _>>()?;
        let given = (made.format.clone(), levels, made.count);
        *last = Some(made);
        Ok(given)
    }

    /// The number of the statement in the program, from 0.
    pub fn statement(&self) -> usize {
        self.statement
    }

    /// The plan: the statement, the loops, the conversions before and behind them, and the reasons.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The loops that were lowered, with their variables and tensors.
    pub fn kernel(&self) -> &Kernel {
        &self.plan.kernel
    }

    /// The tensor that the kernel assigns to.
    pub fn result(&self) -> TensorId {
        self.plan.result
    }

    /// The imperative IR that the code was made of.
    pub fn function(&self) -> &Verified<Function> {
        &self.function
    }

    /// The function's parameters in their order, each with the size, the array or the count that it takes.
    pub fn parameters(&self) -> impl Iterator<Item = (&Param, Binding)> {
        self.function.params.iter().zip(self.interface.bindings.iter().copied())
    }

    /// Takes a function that says the same.
    pub(crate) fn replace_function(&mut self, function: Verified<Function>) {
        self.function = function;
    }

    /// The function with checks of its arguments, which is shipped: its callers may be wrong. The parameters are the same.
    ///
    /// # Errors
    /// An internal error if an invariant does not hold.
    pub fn checked_function(&self) -> Result<Verified<Function>, Error> {
        let malformed = |error: &dyn std::fmt::Display| {
            let message = format!("the imperative IR is not well-formed: {error}");
            Error::program("", vec![Diagnostic::internal(message)])
        };
        let options = lower::Options { checked: true, ..self.lowering.clone() };
        let lowered =
            lower::lower(self.kernel(), &options).map_err(|diagnostic| Error::program("", vec![diagnostic]))?;
        if lowered.interface != self.interface {
            return Err(malformed(&"checks have changed the parameters"));
        }
        let function = verify(lowered.function).map_err(|error| malformed(&error))?;
        optimize(function, &mut Trace::default()).map_err(|error| malformed(&error))
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    pub(crate) fn code(&self) -> &Code {
        &self.code
    }

    pub(crate) fn code_mut(&mut self) -> &mut Code {
        &mut self.code
    }

    /// True if a conversion takes the function's place.
    pub(crate) fn is_conversion(&self) -> bool {
        matches!(self.code, Code::Conversion(..))
    }
}

/// A compiled program: its statements in order, some of them in two phases.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub program: Program,
    pub steps: Vec<Step>,
    pub trace: Trace,
    /// The machine that it is for.
    pub machine: Arc<Machine>,
    /// The form in which structured tensors are given.
    pub givens: Givens,
}

/// A schedule that is chosen neither by the user nor by the planner.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// It decides everything that the schedule leaves open.
    pub search: Search,
    /// The commands; where there is none, the loops as they are.
    pub schedule: Schedule,
}

/// The source of each statement's schedule.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Choices<'a> {
    /// The user; else the schedule that tuning has stored; else the planner.
    Usual,
    /// The caller, by the number of the statement; the planner where there is none.
    Given(&'a [Option<Choice>]),
}

/// Lets statements without a schedule that repeat another be copies of it; their numbers, each with a note. Sums whose order is fixed are not
/// those of another statement.
fn shared(program: &mut Program, schedules: &[Schedule], options: &Options) -> Vec<(usize, String)> {
    if options.phase != Phase::Fused || options.strict {
        return Vec::new();
    }
    structure::share(program, |number| schedules[number].commands.is_empty())
}

/// A program that checks, with the inferred structures and fill values.
struct Checked {
    program: Program,
    /// By the number of the statement.
    schedules: Vec<Schedule>,
    /// The statements that are copies of others, each with a note.
    shared: Vec<(usize, String)>,
    /// The operands that are read once by declaration, and whose other elements are made before after all, each with a note.
    completed: Vec<(TensorId, String)>,
}

/// Reads and checks a program and its schedule.
fn checked(source: &str, options: &Options, trace: &mut Trace) -> Result<Checked, Error> {
    let fault = |diagnostic: Diagnostic| Error::program(source, vec![diagnostic]);
    let mut program = trace
        .time("check", || lacunar_front::check(source, &options.declarations))
        .map_err(|diagnostics| Error::program(source, diagnostics))?;
    let schedules = trace
        .time("check", || check_schedule(options.schedule.text(), &program))
        .map_err(|diagnostics| scheduling(options, diagnostics))?;
    fit_widths(&mut program, &options.declarations);
    structure::check(&program).map_err(fault)?;
    trace.print("structure", || structures(&program));
    let shared = shared(&mut program, &schedules, options);
    keep_fills(&mut program);
    let completed = structure::settle(&mut program);
    infer_fills(&mut program);
    swaps::check(&program).map_err(fault)?;
    let schedules = schedules.into_iter().map(|schedule| with_patterns(&program, schedule)).collect();
    program.verify().map_err(|what| fault(Diagnostic::internal(format!("the program is not well-formed: {what}"))))?;
    if options.phase != Phase::Fused && !program.is_sequence() {
        return Err(Error::Argument(
            "only a program of statements alone is assembled and computed in two runs".to_string(),
        ));
    }
    let nodes = nodes(&program);
    if !nodes.is_empty() {
        trace.print("nodes", || nodes);
    }
    trace.print("program", || definitions(&program) + &program.actions_text());
    trace.print("notation", || program.to_string());
    Ok(Checked { program, schedules, shared, completed })
}

/// Mistakes of a schedule's text.
fn scheduling(options: &Options, diagnostics: Vec<Diagnostic>) -> Error {
    Error::Schedule { source_text: options.schedule.to_string(), diagnostics }
}

/// Compiles a program.
pub(crate) fn compile(source: &str, options: &Options, choices: Choices<'_>) -> Result<Compiled, Error> {
    let mut trace = Trace::wanting(options.emit.iter().cloned());
    let Checked { program, schedules, shared, completed } = checked(source, options, &mut trace)?;
    let tuned = trace.time("plan", || tuned(&program, options, choices));
    let asked = trace.time("plan", || asked(source, options, &program))?;
    let machine = machine(options)?;
    let code = CodeOptions::of(options, &machine);
    let tells = tells_by_values(&program);
    let mut compiling = Compiling { source, options, program: &program, machine: &machine, code, trace };
    let mut steps = Vec::new();
    for (number, schedule) in schedules.iter().enumerate() {
        let mut plan = compiling.plan(number, schedule, &tuned, asked.get(&number))?;
        if number == 0 {
            plan.notes.splice(0..0, completed.iter().map(|(_, note)| note.clone()));
        }
        if let Some((_, note)) = shared.iter().find(|(own, _)| *own == number) {
            plan.notes.push(note.clone());
            // A statement with commands of its own is computed by itself: those of the copy are not for it.
            plan.schedule = Schedule::default();
        }
        print_plan(&mut compiling.trace, &program, number, &plan);
        let needs_values = tells[number] || is_told_by_values(&program, &plan, number);
        let phases = phases_of(&plan, options.phase, needs_values);
        for &wanted in phases {
            steps.push(compiling.step(number, &plan, wanted, phases.len() > 1)?);
        }
    }
    let (trace, givens) = (
        compiling.trace,
        Givens { hold: options.structures_hold, completed: completed.into_iter().map(|(id, _)| id).collect() },
    );
    Ok(Compiled { program, steps, trace, machine, givens })
}

/// The state that is shared by the compilation of a program's statements.
struct Compiling<'a> {
    source: &'a str,
    options: &'a Options,
    program: &'a Program,
    machine: &'a Arc<Machine>,
    code: CodeOptions,
    trace: Trace,
}

impl Compiling<'_> {
    fn fault(&self, diagnostic: Diagnostic) -> Error {
        Error::program(self.source, vec![diagnostic])
    }

    fn malformed(&self, error: &dyn std::fmt::Display) -> Error {
        self.fault(Diagnostic::internal(format!("the imperative IR is not well-formed: {error}")))
    }

    /// Plans a statement: with a schedule of its own, with the order that its rules ask for, or as tuning and the planner choose.
    fn plan(
        &mut self,
        number: usize,
        schedule: &Schedule,
        tuned: &Tuned,
        order: Option<&Schedule>,
    ) -> Result<Plan, Error> {
        let (program, options) = (self.program, self.options);
        let given = (!schedule.commands.is_empty()).then_some(schedule);
        let memory = Memory::of(self.machine);
        let grain = options.grain.unwrap_or_else(|| self.machine.grain());
        let Options { search, strict, alone, .. } = *options;
        let request = Request { search, strict, schedule: given, memory, grain, alone };
        let plan = self.trace.time("plan", || match order {
            Some(order) => ordered(program, number, &request, tuned, order),
            None => planned(program, number, &request, tuned),
        });
        // Only loops that are written are refused; another mistake of the user can only be in the schedule.
        let is_written = given.is_none() && program.loops.iter().any(|(written, _)| *written == number);
        let mut plan = plan.map_err(|diagnostic| match diagnostic.category {
            Category::User if !is_written => scheduling(options, vec![diagnostic]),
            _ => self.fault(diagnostic),
        })?;
        let target = &program.tensors[program.statements[number].lhs.tensor].name;
        let is_declared = options.declarations.dtypes.contains_key(target);
        plan.warnings.extend(warnings::of_statement(program, number, &plan.statement, is_declared));
        Ok(plan)
    }

    /// Lowers a plan, or one phase of two, and makes code of it.
    fn step(&mut self, number: usize, plan: &Plan, wanted: Phase, is_one_of_two: bool) -> Result<Step, Error> {
        let (program, options, statement) = (self.program, self.options, &self.program.statements[number]);
        let lowering = lower::Options {
            name: function_name(program, statement, number, is_one_of_two && wanted == Phase::Assemble),
            phase: wanted,
            // The pattern of a first phase is right, and is not compared.
            compared: !is_one_of_two,
            strict: options.strict,
            specialize: options.specialize,
            grain: options.grain.unwrap_or_else(|| self.machine.grain()),
            reach: options.reach.unwrap_or_else(|| self.machine.reach()),
            // Tensors were checked when they were made.
            checked: false,
        };
        let lowered = self.trace.time("lower", || lower::lower(&plan.kernel, &lowering));
        let Lowered { function, interface, phase, loops, notes } =
            lowered.map_err(|diagnostic| self.fault(diagnostic))?;
        if is_one_of_two && phase != wanted {
            return Err(scheduling(options, vec![unknown_pattern(plan)]));
        }
        self.trace.print("loops", || loops);
        let function = self.trace.time("verify", || verify(function)).map_err(|error| self.malformed(&error))?;
        let function = optimize(function, &mut self.trace).map_err(|error| self.malformed(&error))?;
        self.trace.print("imp", || function.to_string());
        self.trace.print("c", || print(&function, &COptions::default()).single_file());
        #[cfg(feature = "llvm")]
        emit_llvm(&mut self.trace, &function, self.machine);
        let code = match &plan.copied {
            Some(copied) if options.phase == Phase::Fused => Code::Conversion(copied.clone(), options.backend),
            _ => {
                let wanted = [Wanted::new(&function, program, number, wanted)];
                let codes = self.trace.time("generate", || generate(&wanted, options.backend, &self.code))?;
                codes.into_iter().next().ok_or_else(|| Error::Internal("a function got no code".to_string()))?
            }
        };
        let mut plan = plan.clone();
        plan.notes.extend(notes);
        plan.notes.extend(left_early(&function));
        let packed = Mutex::new(None);
        Ok(Step { statement: number, plan, interface, function, phase, lowering, code, packed })
    }
}

/// The note on the loops of a function that end before their last iteration.
fn left_early(function: &Function) -> Option<String> {
    let left = lacunar_imp::passes::left_early(function);
    let names: Vec<String> = left.into_iter().map(|var| format!("`{}`", function.vars[var].name)).collect();
    (!names.is_empty()).then(|| format!("loops are left as soon as nothing changes {} any more", names.join(", ")))
}

/// Reads a schedule, whose names may be those of the stored dimensions of tensors, or those of the program.
pub(crate) fn check_schedule(text: &str, program: &Program) -> Result<Vec<Schedule>, Vec<Diagnostic>> {
    let stored = over_stored_dimensions(program).map(|stored| lacunar_front::schedule::check(text, &stored));
    match stored {
        Some(Ok(schedules)) => Ok(schedules),
        _ => lacunar_front::schedule::check(text, program),
    }
}

/// The phases that a statement is compiled in, where the user asks for `phase`.
fn phases_of(plan: &Plan, phase: Phase, needs_values: bool) -> &'static [Phase] {
    match phase {
        // There are no values to be computed behind it.
        Phase::Fused | Phase::Compute if plan.kernel.tensors[plan.result].dtype == DType::Pattern => &[Phase::Fused],
        Phase::Fused if plan.kernel.assembly == Assembly::Insert => &[Phase::Assemble, Phase::Compute],
        // A result that is stored otherwise than it is assembled does not tell the pattern that the kernel would walk.
        Phase::Compute if plan.convert_result.is_some() => &[Phase::Fused],
        Phase::Fused => &[Phase::Fused],
        // The values have to be there for the entries to be found.
        Phase::Assemble if needs_values => &[Phase::Fused],
        Phase::Assemble => &[Phase::Assemble],
        Phase::Compute => &[Phase::Compute],
    }
}

/// True if only the values of a statement's result tell its entries, and it is converted: to its own format, or for a
/// later statement that reads it. Zeros in the place of values that are not computed yet would be left out.
fn is_told_by_values(program: &Program, plan: &Plan, number: usize) -> bool {
    let result = plan.result;
    let format = &program.tensors[result].format;
    let converted = plan.convert_result.is_some() || readers(program, number).next().is_some();
    converted && !format.is_dense() && !format.tells_entries()
}

/// The later statements that read a statement's result, with their numbers.
fn readers(program: &Program, number: usize) -> impl Iterator<Item = (usize, &Assignment)> {
    let result = program.statements[number].lhs.tensor;
    // In a loop, an earlier one comes later as well.
    let first = if program.is_sequence() { number + 1 } else { 0 };
    let later = program.statements.iter().enumerate().skip(first);
    later.filter(move |(_, statement)| read_by(&program.tensors, &statement.rhs).contains(&result))
}

/// For each statement, true if a later one finds its entries by the values of its result: it stores only the values that
/// differ from the fill value, or has a format whose entries only values tell.
fn tells_by_values(program: &Program) -> Vec<bool> {
    let mut tells = vec![false; program.statements.len()];
    for number in (0..tells.len()).rev() {
        tells[number] = readers(program, number).any(|(later, statement)| {
            let Assignment { lhs, op, rhs, .. } = with_pruned_mask(&program.tensors, statement.clone());
            let format = &program.tensors[lhs.tensor].format;
            let is_padded = !format.is_dense() && !format.tells_entries();
            tells[later] || is_padded || selected(&program.tensors, &Assign { lhs, op, rhs }).is_some()
        });
    }
    tells
}

/// The schedules of tuning, now or earlier.
fn tuned(program: &Program, options: &Options, choices: Choices<'_>) -> Tuned {
    match choices {
        Choices::Given(choices) => Tuned { choices: choices.to_vec(), notes: Vec::new() },
        Choices::Usual if options.tuned && options.search == Search::Cost && options.schedule.is_empty() => {
            store::find(program, options)
        }
        Choices::Usual => Tuned::default(),
    }
}

/// The orders of loops that a program of rules asks for, for the statements of these numbers. A schedule of the user comes first.
fn asked(source: &str, options: &Options, program: &Program) -> Result<BTreeMap<usize, Schedule>, Error> {
    if options.declarations.language != Language::Rules || !options.schedule.is_empty() {
        return Ok(BTreeMap::new());
    }
    let translated = translate(source, &options.declarations).map_err(|found| Error::program(source, found))?;
    let mut asked = BTreeMap::new();
    for command in translated.orders {
        // One that has no meaning is refused as one that is not possible: without an order.
        let schedules = check_schedule(&command, program).unwrap_or_default();
        asked.extend(schedules.into_iter().enumerate().filter(|(_, schedule)| !schedule.commands.is_empty()));
    }
    Ok(asked)
}

/// Plans a statement with loops in the order that a program asks for, where that is possible.
fn ordered(
    program: &Program,
    number: usize,
    request: &Request<'_>,
    tuned: &Tuned,
    order: &Schedule,
) -> Result<Plan, Diagnostic> {
    let statement = &program.statements[number];
    match plan(program, statement, &Request { schedule: Some(order), ..*request }) {
        Ok(plan) => Ok(plan),
        Err(refusal) => {
            let mut plan = planned(program, number, request, tuned)?;
            let name = &program.tensors[statement.lhs.tensor].name;
            plan.warnings
                .push(format!("the order of loops of `{name}` behind `iters:` is left out: {}", refusal.message));
            Ok(plan)
        }
    }
}

/// Plans a statement, as tuning found it best where that is possible.
fn planned(program: &Program, number: usize, request: &Request<'_>, tuned: &Tuned) -> Result<Plan, Diagnostic> {
    let statement = &program.statements[number];
    let mut notes = tuned.notes.clone();
    if let Some(Some(choice)) = tuned.choices.get(number) {
        let request = Request { search: choice.search, schedule: Some(&choice.schedule), ..*request };
        match plan(program, statement, &request) {
            Ok(mut plan) => {
                plan.notes.splice(0..0, notes);
                return Ok(plan);
            }
            Err(refusal) => notes.push(format!("it is refused, and the planner's choice taken: {}", refusal.message)),
        }
    }
    let mut plan = plan(program, statement, request)?;
    plan.notes.splice(0..0, notes);
    Ok(plan)
}

/// The commands of a statement's schedule as text: with the statement before each, where there are several statements.
pub(crate) fn commands(program: &Program, number: usize, plan: &Plan) -> Vec<String> {
    let result = program.statements[number].lhs.tensor;
    let prefix = match program.statements.iter().filter(|other| other.lhs.tensor == result).count() {
        _ if program.statements.len() == 1 => String::new(),
        1 => format!("{}: ", program.tensors[result].name),
        _ => format!("{}: ", number + 1),
    };
    plan.commands().into_iter().map(|command| prefix.clone() + &command).collect()
}

/// Index arrays: wide enough for the dimensions, as tensors of these sizes have them, and in results for as many values as the
/// operands may have, unless the result is given or read too, or takes the place of a tensor that is: it is stored as it is.
fn fit_widths(program: &mut Program, declarations: &Declarations) {
    let mut given = program.given();
    given.extend(
        program.tensors.iter().filter(|(_, tensor)| declarations.given.contains(&tensor.name)).map(|(id, _)| id),
    );
    let mut exchanged = Vec::new();
    Action::visit(&program.body, &mut |action| match action {
        Action::Read(tensor, _) => _ = given.insert(*tensor),
        Action::Swap(a, b) | Action::Snapshot(a, b) => exchanged.push([*a, *b]),
        _ => {}
    });
    let is_joined =
        |given: &BTreeSet<TensorId>, pair: &[TensorId; 2]| pair.iter().filter(|id| given.contains(id)).count() == 1;
    while let Some(pair) = exchanged.iter().find(|pair| is_joined(&given, pair)) {
        given.extend(*pair);
    }
    let widest = program.tensors.iter().map(|(_, tensor)| tensor.format.widest_positions()).max();
    let tensors: Vec<TensorId> = program.tensors.iter().map(|(id, _)| id).collect();
    for id in tensors {
        let tensor = &mut program.tensors[id];
        let values = widest.filter(|_| tensor.role == Role::Result && !given.contains(&id)).map_or(0, IndexWidth::max);
        // The number of values of a packed tensor follows from its sizes.
        let sizes = tensor.dims.iter().copied().collect::<Option<Vec<u64>>>();
        let packed = tensor.format.packing().zip(sizes).and_then(|(packing, sizes)| packing.count(&sizes));
        let values = values.max(packed.unwrap_or(0));
        tensor.format = tensor.format.fitted(&tensor.dims, values);
    }
}

/// An identifier of C for the kernel of a statement, or for its `first` phase of two.
fn function_name(program: &Program, statement: &Assignment, number: usize, first: bool) -> String {
    let tensor = &program.tensors[statement.lhs.tensor].name;
    let verb = if first { "assemble" } else { "compute" };
    if program.statements.len() == 1 { format!("{verb}_{tensor}") } else { format!("{verb}_{tensor}_{}", number + 1) }
}
