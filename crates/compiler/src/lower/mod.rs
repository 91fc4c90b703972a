//! Concrete notation to imperative IR.
//!
//! On entry: a verified [`Kernel`] whose loops visit every iterated level after the levels above it (the planner's work).
//! On exit: a function, and its [`Interface`], the meaning of each of its parameters.
//!
//! ```text
//! forall(i, forall(j, y(i) += A(i,j) * x(j)))      A: csr
//!   ->  for i in 0 .. i_size { for p in A2_pos[i] .. A2_pos[i+1] { j = A2_crd[p]; y[i] += A[p] * x[j] } }
//! ```
//!
//! The recursion follows the statement, and is the only one between the files of this folder: `statement` calls them, and is called
//! back for the statements inside: by `nest` and `loops/` for the body of a loop, by `producers` for both sides of a `where`. In
//! the order in which an expression meets them:
//!
//! | file | contents |
//! |---|---|
//! | `interface` | parameters: sizes, and the arrays of every tensor |
//! | `views` | the levels that tensors are walked through by, made of those that are stored |
//! | `arguments` | checks of the arguments that a shipped kernel is given |
//! | `scope` | the facts that are known at a place |
//! | `units/` | loops that threads share: the number of chunks, and the share of each |
//! | `producers` | a `where`: a producer fills workspaces, a consumer reads them |
//! | `nest` | loops over variables that a schedule derived: counters, and the last loop, which finishes an original variable |
//! | `derive` | the values of variables and the positions of levels, from those that are known |
//! | `region` | the part of its values that a loop takes |
//! | `strategy` | the way to run the loop over an original variable, from its lattice; pure, printed by `--emit loops` |
//! | `iter` | iterators: their beginning, their end, and their next step |
//! | `loops/` | the code of each strategy, and the cases at a coordinate |
//! | `compute` | values, and the conditions under which they are present |
//! | `sinks/` | the destinations of values: dense results, appended ones, given patterns, workspaces, copies of threads |
//! | `count` | the most additions of a producer, and the interval of their coordinates, before it runs |
//! | `coverage` | the places of a result that are certain to be written |
//! | `caches` | tensors that exceed the caches: results that are stored past them, operands that are prefetched |
//! | `ahead` | prefetches of nodes |
//! | `uncertain` | accesses that may be absent at a place |
//! | `room` | small arrays that loops ask for, made once where the loops of a thread begin |
//! | `storage` | the layout of the arrays of a tensor |
//! | `sizes` | arithmetic with sizes, none of which wraps around |
//!
//! A `Lowerer` holds facts that are true of the whole kernel; a `Scope` those that are true at a place of it. Nothing else is
//! carried along.
//!
//! Papers: Kjolstad et al. 2017, §6 (code generation); Chou et al. 2018, §5; Kjolstad et al. 2019, §6.

mod ahead;
mod arguments;
mod caches;
mod compute;
mod count;
mod coverage;
mod derive;
mod follow;
mod interface;
mod iter;
mod loops;
pub(crate) mod mirrored;
mod needed;
mod nest;
mod once;
mod producers;
mod region;
mod room;
mod scope;
mod sinks;
mod sizes;
mod storage;
mod strategy;
mod uncertain;
mod unique;
mod units;
mod views;

use std::rc::Rc;

use lacunar_base::Diagnostic;
use lacunar_formats::{DType, Holds};
use lacunar_imp::passes::{AddTo, abreast, flatten, in_turn, remove_dead};
use lacunar_imp::{ArrayId, BinaryOp, Block, Builder, ExprId, Function, LoopKind, Param, VarId as ImpVar};
use lacunar_machine::Reach;
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::schedule::Race;
use lacunar_notation::{Role, TensorId, VarId};

use crate::levels::LevelCode;
use room::with_room;
use scope::Scope;
use units::threads;

pub use interface::{Binding, Interface};

/// The part of the pattern and the values of a sparse result that a kernel finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Finds the pattern and computes the values.
    Fused,
    /// Finds the pattern only.
    Assemble,
    /// Computes the values of a pattern that is there.
    Compute,
}

impl Phase {
    fn assembles(self) -> bool {
        self != Phase::Compute
    }

    fn computes(self) -> bool {
        self != Phase::Assemble
    }
}

/// The options of lowering.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of the function.
    pub name: String,
    /// Pattern, values or both.
    pub phase: Phase,
    /// True if the given pattern of a result may be wrong: it is compared with that of the result on the way.
    pub compared: bool,
    /// True if whoever calls the kernel may be wrong: sizes and lengths of arrays are checked first.
    pub checked: bool,
    /// True if floating-point operations are neither reassociated nor contracted.
    pub strict: bool,
    /// True if sizes that are known and small become constants: loops over a few columns then run in registers.
    pub specialize: bool,
    /// The number of scalar iterations that are worth handing to a thread ([`GRAIN`]).
    pub grain: u64,
    /// The sizes from which on tensors exceed the caches.
    pub reach: Reach,
}

/// The scalar iterations that take a few times as long as handing them to a thread, which costs some microseconds.
pub const GRAIN: u64 = 20_000;

/// The largest size that becomes a constant.
pub const SPECIALIZED_SIZE: u64 = 128;

/// A lowered kernel.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The code.
    pub function: Function,
    /// The meaning of its parameters.
    pub interface: Interface,
    /// The part that it finds. This is [`Phase::Fused`] instead of [`Phase::Compute`] if only the values tell which entries are
    /// stored, so that a given pattern has to be compared with that of the result.
    pub phase: Phase,
    /// The strategy of each loop, one a line, indented as loops lie in each other (`--emit loops`).
    pub loops: String,
    /// Notes on streaming stores and prefetches, for `--explain`.
    pub notes: Vec<String>,
}

/// Lowers a kernel.
///
/// # Errors
/// An internal error if an invariant of the entry does not hold.
pub fn lower(kernel: &Kernel, options: &Options) -> Result<Lowered, Diagnostic> {
    let results = || kernel.tensors.iter().filter(|(_, tensor)| tensor.role == Role::Result);
    if options.phase != Phase::Assemble && results().any(|(_, tensor)| tensor.dtype == DType::Pattern) {
        // The pattern is all there is.
        let lowered = lower(kernel, &Options { phase: Phase::Assemble, ..options.clone() })?;
        return Ok(Lowered { phase: Phase::Fused, ..lowered });
    }
    let mut cx = interface::prepare(kernel, options)?;
    if options.checked {
        arguments::check(&mut cx);
    }
    let scope = units::work::estimate(&mut cx, &Scope::default());
    let scope = caches::judge(&mut cx, &scope);
    let scope = ahead::judge(&mut cx, &scope);
    let scope = sinks::workspace::declare(&mut cx, None, &scope);
    with_room(&mut cx, &scope, |cx, scope| match &kernel.stmt {
        Stmt::Forall(var, body) if threads::assembles_in_pieces(cx, *var) => {
            threads::assemble_in_pieces(cx, *var, body, scope)
        }
        Stmt::Forall(var, body) if sinks::given::placed_by(kernel, options.phase) == Some(*var) => {
            threads::compute_in_pieces(cx, *var, body, scope)
        }
        stmt => {
            let scope = sinks::begin_result(cx, scope)?;
            statement(cx, stmt, &scope)?;
            sinks::finish_result(cx, &scope);
            follow::copy(cx, &scope)
        }
    })?;
    if cx.found.conditional && options.phase == Phase::Compute {
        return lower(kernel, &Options { phase: Phase::Fused, ..options.clone() });
    }
    let Lowerer { b, interface, found, .. } = cx;
    let Found { loops, notes, .. } = found;
    let function = b.finish();
    let ascending = ascending(kernel, &function, &interface);
    // Nobody asks for the coordinates of some positions of a packed result.
    let is_packed = kernel.followers.as_ref().is_some_and(|followers| followers.is_packed);
    let function = if is_packed { remove_dead(function) } else { function };
    let function = flatten(function, &ascending);
    let function = if is_packed { abreast(function, AddTo::Elements) } else { function };
    let stores_runs = kernel.tensors.iter().any(|(_, tensor)| tensor.format.packing().is_some());
    let function = if stores_runs { abreast(function, AddTo::Row) } else { function };
    Ok(Lowered { function: in_turn(function), interface, phase: options.phase, loops, notes })
}

/// The parameters of a kernel that hold positions of operands, or of packed results, which ascend.
fn ascending(kernel: &Kernel, function: &Function, interface: &Interface) -> Vec<ArrayId> {
    let holds = |binding: &Binding| match *binding {
        Binding::Level(tensor, _, part) => {
            let tensor = &kernel.tensors[tensor];
            let is_given = tensor.role == Role::Input || tensor.format.packing().is_some();
            is_given && part.holds == Holds::Positions
        }
        _ => false,
    };
    let arrays = function.params.iter().zip(&interface.bindings).filter(|(_, binding)| holds(binding));
    arrays.filter_map(|(param, _)| if let Param::Array(array) = param { Some(*array) } else { None }).collect()
}

/// The arrays of one tensor, and the code that walks through them.
#[derive(Debug, Default)]
struct TensorCode {
    levels: Vec<Rc<dyn LevelCode>>,
    values: Option<ArrayId>,
}

/// A kernel that is being lowered: the facts about all of it, and the code so far.
struct Lowerer<'k> {
    kernel: &'k Kernel,
    options: &'k Options,
    /// True if no loop is shared: the kernel does something that threads cannot.
    serial: bool,
    parameters: Parameters,
    b: Builder,
    interface: Interface,
    /// The number of threads that the kernel is run with, once something asks for it.
    threads: Option<ExprId>,
    found: Found,
}

/// The parameters that a kernel is run with.
struct Parameters {
    /// The size of each variable, by its index.
    sizes: Vec<ExprId>,
    /// The arrays of each tensor, by its index.
    code: Vec<Rc<TensorCode>>,
    /// The number of values of the result, if its pattern is given.
    stored: Option<ExprId>,
}

/// The facts that lowering finds out about a kernel.
#[derive(Debug, Default)]
struct Found {
    /// True if only the computation tells which values a result is given.
    conditional: bool,
    /// The strategy of each loop, in words.
    loops: String,
    /// Notes on streaming stores and prefetches.
    notes: Vec<String>,
    /// The number of loops that take the coordinates of a workspace directly from its marks.
    walked: usize,
}

/// Tells if a statement gave the result a value.
#[derive(Clone, Copy, Debug)]
enum Written {
    /// It did.
    Always,
    /// It did if a condition holds.
    If(ExprId),
    /// The statement does not tell. It is a loop, and the sink of the result knows the appended entries; or it is an assignment to
    /// a workspace, which gives the result nothing.
    Untold,
}

impl Written {
    /// The condition under which it did, if there is one. If a statement does not tell and the sink has not counted, it did.
    fn condition(self) -> Option<ExprId> {
        match self {
            Written::If(condition) => Some(condition),
            Written::Always | Written::Untold => None,
        }
    }
}

/// The most threads that a kernel takes a caller's word for.
const MOST_THREADS: i64 = 1 << 16;

/// The type in which coordinates and positions are computed.
const INDEX: DType = DType::I64;

/// A mutable variable of the IR.
type MutableVar = ImpVar;

/// Lowers a statement where `scope` holds; says when the result got a value.
fn statement(cx: &mut Lowerer<'_>, stmt: &Stmt, scope: &Scope) -> Result<Written, Diagnostic> {
    match stmt {
        Stmt::Assign(assign) => compute::assign(cx, assign, scope),
        Stmt::Forall(var, body) => forall(cx, *var, body, scope).map(|()| Written::Untold),
        Stmt::Where { consumer, producer } => producers::lower(cx, consumer, producer, scope),
        Stmt::Sequence(stmts) => {
            let mut written = Written::Untold;
            for stmt in stmts {
                written = statement(cx, stmt, scope)?;
            }
            Ok(written)
        }
    }
}

/// The loop over a variable: the rest that an outer loop left of it, a loop that threads share, a loop over a derived variable, or
/// one over a variable of the statement.
fn forall(cx: &mut Lowerer<'_>, var: VarId, body: &Stmt, scope: &Scope) -> Result<(), Diagnostic> {
    if let Some(pending) = scope.pending(var) {
        return nest::pending_loop(cx, var, &pending, body, scope);
    }
    if count::count(cx, var, body, scope)? {
        return Ok(());
    }
    if let Some(race) = cx.race(var).filter(|_| !scope.is_shared()) {
        return threads::parallel_loop(cx, var, race, body, scope);
    }
    if !cx.kernel.provenance.is_plain(var) {
        return nest::derived_loop(cx, var, body, scope);
    }
    loops::original(cx, var, body, scope)?;
    sinks::leave(cx, var, body, scope)
}

impl<'k> Lowerer<'k> {
    fn size(&self, var: VarId) -> ExprId {
        self.parameters.sizes[var.index()]
    }

    fn name(&self, tensor: TensorId) -> &'k str {
        &self.kernel.tensors[tensor].name
    }

    fn var_name(&self, var: VarId) -> &'k str {
        &self.kernel.vars[var].name
    }

    /// True if the kernel compares the pattern that it is given with that of its result.
    fn compares(&self) -> bool {
        self.options.compared && self.options.phase == Phase::Compute
    }

    /// The number of threads that the kernel is run with.
    fn threads(&mut self) -> ExprId {
        if let Some(threads) = self.threads {
            return threads;
        }
        if self.options.strict {
            return self.b.int(threads::STRICT_THREADS);
        }
        let given = self.b.scalar_param("threads");
        self.interface.bindings.push(Binding::Threads);
        let threads = if self.options.checked { self.some_threads(given) } else { given };
        self.threads = Some(threads);
        threads
    }

    /// A number of threads that there can be, the nearest to the one that a caller gives.
    fn some_threads(&mut self, given: ExprId) -> ExprId {
        let (one, most) = (self.b.int(1), self.b.int(MOST_THREADS));
        let threads = self.b.binary(BinaryOp::Min, given, most);
        self.b.binary(BinaryOp::Max, threads, one)
    }

    /// The treatment of races in the loop over a variable, if threads share it and no loop around it.
    fn race(&self, var: VarId) -> Option<Race> {
        threads::race(self.kernel, var).filter(|_| !self.serial)
    }

    /// The kind of the loop over a variable: in lanes, unrolled, or serial.
    fn loop_kind(&self, var: VarId, scope: &Scope) -> LoopKind {
        match strategy::loop_kind(self.kernel, scope.leaf(var)) {
            LoopKind::Vector(_) if scope.is_serial() => LoopKind::Serial,
            kind => kind,
        }
    }

    /// Says how a loop is run, under those around it.
    fn say(&mut self, scope: &Scope, how: &str) {
        let depth = scope.bound().len() + usize::from(scope.is_shared());
        self.found.loops += &format!("{}{how}\n", "  ".repeat(depth));
    }

    /// Says something that is done beyond the caches, once.
    fn note(&mut self, note: String) {
        if !self.found.notes.contains(&note) {
            self.found.notes.push(note);
        }
    }

    /// The statements that `build` emits, and its value.
    fn block<T>(&mut self, build: impl FnOnce(&mut Self) -> T) -> (Block, T) {
        self.b.begin_block();
        let value = build(self);
        (self.b.end_block(), value)
    }

    /// Puts statements here.
    fn append(&mut self, block: Block) {
        block.into_iter().for_each(|stmt| self.b.push(stmt));
    }

    /// `if cond { .. }`.
    fn when<T>(&mut self, cond: ExprId, build: impl FnOnce(&mut Self) -> T) -> T {
        let (then, value) = self.block(build);
        self.branch(cond, then, Block::default());
        value
    }

    /// `if cond { .. }`, or `..` if no condition is known.
    fn when_some<T>(&mut self, cond: Option<ExprId>, build: impl FnOnce(&mut Self) -> T) -> T {
        match cond {
            Some(cond) => self.when(cond, build),
            None => build(self),
        }
    }

    /// `if cond { then } else { otherwise }`.
    fn branch(&mut self, cond: ExprId, then: Block, otherwise: Block) {
        self.b.push(lacunar_imp::Stmt::If { cond, then, otherwise });
    }

    /// `while cond { .. }`.
    fn repeat<T>(&mut self, cond: ExprId, build: impl FnOnce(&mut Self) -> T) -> T {
        let (body, value) = self.block(build);
        self.b.push(lacunar_imp::Stmt::While { cond, body });
        value
    }

    /// `for name in begin .. end { .. }`, run in some way.
    fn each<T>(
        &mut self,
        kind: LoopKind,
        name: &str,
        (begin, end): scope::Interval,
        build: impl FnOnce(&mut Self, ExprId) -> T,
    ) -> T {
        let counter = self.b.begin_for_kind(kind, name, begin, end);
        let value = build(self, counter);
        self.b.end_for();
        value
    }

    /// Sets elements of an array.
    fn fill(&mut self, array: ArrayId, (begin, end): scope::Interval, value: ExprId) {
        self.b.push(lacunar_imp::Stmt::Fill { array, begin, end, value });
    }
}
