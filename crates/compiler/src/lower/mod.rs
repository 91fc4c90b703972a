//! Step 6: concrete notation to imperative IR.
//!
//! On entry: a verified [`Kernel`] whose loops visit every iterated level after the levels above it (the planner's work).
//! On exit: a function, and its [`Interface`]: what each of its parameters is.
//!
//! The recursion follows the statement. `forall` builds its merge lattice and emits loops (`forall`); at each lattice
//! point the residual statement is lowered with the coordinate and the positions of the point's iterators bound. `where`
//! makes its workspaces ready, lowers the producer, then the consumer (`workspace`). An assignment is evaluated and
//! stored (`compute`). Results whose pattern is found on the way are assembled by appending (`assemble`).
//!
//! ```text
//! forall(i, forall(j, y(i) += A(i,j) * x(j)))      A: csr
//!   ->  for i in 0 .. i_size { for p in A2_pos[i] .. A2_pos[i+1] { j = A2_crd[p]; y[i] += A[p] * x[j] } }
//! ```
//!
//! Papers: Kjolstad et al. 2017, §6 (code generation); Chou et al. 2018, §5; Kjolstad et al. 2019, §6.

mod assemble;
mod bitmap;
mod compute;
mod coverage;
mod forall;
mod lanes;
mod merge;
mod parallel;
mod pattern;
mod recovered;
mod runs;
mod segments;
mod shared;
mod sizes;
mod space;
mod union;
mod unpacked;
mod values;
mod words;
mod workspace;

use lacunar_base::Diagnostic;
use lacunar_formats::DType;
use lacunar_imp::{ArrayId, ArrayRole, Builder, ExprId, Function, VarId as ImpVar};
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::{Role, TensorId, VarId, WorkspaceKind};
use rustc_hash::FxHashMap;

use crate::iterate::iterators::AccessKey;
use crate::levels::{LevelCode, Part, Position, level_code};

use assemble::Appended;

/// What a kernel does about the pattern and the values of a sparse result.
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

/// How to lower.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of the function.
    pub name: String,
    /// Pattern, values or both.
    pub phase: Phase,
    /// Whoever gives the pattern of a result may be wrong: it is compared with that of the result on the way.
    pub compared: bool,
    /// No reassociation and no contraction of floating-point operations.
    pub strict: bool,
    /// Sizes that are known and small become constants: loops over a few columns then run in registers.
    pub specialize: bool,
    /// How many scalar iterations are worth handing to a thread ([`GRAIN`]).
    pub grain: u64,
}

/// The scalar iterations that take a few times as long as handing them to a thread, which costs some microseconds.
pub const GRAIN: u64 = 20_000;

/// The largest size that becomes a constant.
pub const SPECIALIZED_SIZE: u64 = 128;

/// What a parameter of a kernel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binding {
    /// The number of values of an index variable.
    Size(VarId),
    /// An index array of a level.
    Level(TensorId, usize, Part),
    /// The values of a tensor.
    Values(TensorId),
    /// How many values a result has whose pattern is given.
    Stored(TensorId),
    /// With how many threads the kernel is run; at least 1.
    Threads,
}

/// What the parameters of a kernel are, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// One for each parameter.
    pub bindings: Vec<Binding>,
}

/// A lowered kernel.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The code.
    pub function: Function,
    /// What its parameters are.
    pub interface: Interface,
    /// What it does: [`Phase::Fused`] instead of [`Phase::Compute`] where only the values tell what is stored, so that a
    /// pattern which was given has to be compared with that of the result.
    pub phase: Phase,
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
    let mut lowerer = Lowerer::new(kernel, options)?;
    lowerer.serial = lowerer.must_be_serial();
    lowerer.estimate_work();
    lowerer.declare_workspaces(None);
    lowerer.with_list(|lowerer| match &kernel.stmt {
        Stmt::Forall(var, body) if lowerer.assembles_in_parts(*var) => lowerer.assemble_in_parts(*var, body),
        Stmt::Forall(var, body) if pattern::placed_by(kernel, options.phase) == Some(*var) => {
            lowerer.compute_in_parts(*var, body)
        }
        stmt => {
            lowerer.begin_result()?;
            lowerer.stmt(stmt, &Scope::default())?;
            lowerer.finish_result()
        }
    })?;
    if lowerer.conditional && options.phase == Phase::Compute {
        return lower(kernel, &Options { phase: Phase::Fused, ..options.clone() });
    }
    Ok(Lowered { function: lowerer.b.finish(), interface: lowerer.interface, phase: options.phase })
}

/// What is known at a place of the nest: the coordinate of each bound variable, and the position of each iterated level
/// that has one.
#[derive(Clone, Debug, Default)]
struct Scope {
    coordinates: FxHashMap<VarId, ExprId>,
    positions: FxHashMap<(AccessKey, usize), Position>,
    /// Accesses of which it is not known whether they are present, with the condition under which they are.
    uncertain: FxHashMap<AccessKey, Uncertain>,
    /// The values that variables of the provenance graph take here, where these are known.
    ranges: FxHashMap<VarId, space::Interval>,
    /// The part of its values that the loop over an original variable is confined to.
    confined: FxHashMap<VarId, space::Interval>,
    /// The positions that iterators are confined to.
    windows: FxHashMap<(AccessKey, usize), space::Interval>,
    /// By how many values of the inner variable of a fused pair the outer one advances: fixed where the first loop over the pairs,
    /// or a part of them, begins.
    widths: FxHashMap<VarId, ExprId>,
    /// The size of the strips that a variable is divided into, fixed likewise.
    strips: FxHashMap<VarId, ExprId>,
    /// Variables whose loops stand for those over what derives from them.
    pending: FxHashMap<VarId, space::Pending>,
    /// The leaves that finish original variables: what is said of their loops holds for those over the variables.
    leaves: FxHashMap<VarId, VarId>,
    /// Original variables whose first loop is around this place.
    started: Vec<VarId>,
    /// Recovered variables of whose blocks this one is known to lie inside of the dimension.
    whole_blocks: Vec<VarId>,
    /// This is the last block of some recovered variable, of which a part may lie outside.
    last_block: bool,
    /// How many loops over original variables are around.
    depth: usize,
    /// How often what is added here is added.
    times: Option<ExprId>,
}

/// An access that is present where a condition holds.
#[derive(Clone, Copy, Debug)]
struct Uncertain {
    present: ExprId,
    reading: Reading,
}

/// How the value of an access is read that may be absent.
#[derive(Clone, Copy, Debug)]
enum Reading {
    /// Its position exists even where it is absent (a cursor on another coordinate): it is read and then ignored.
    Ignored,
    /// Where it is present.
    Guarded,
    /// It was read, or is the fill value.
    Done(ExprId),
}

impl Scope {
    /// The variables that have a value.
    fn bound(&self) -> Vec<VarId> {
        self.coordinates.keys().copied().collect()
    }

    /// An iterator stands on the coordinate of its loop.
    fn bind(&mut self, access: &AccessKey, level: usize, position: Position) {
        self.positions.insert((access.clone(), level), position);
        self.uncertain.remove(access);
    }
}

/// The arrays and variables of one tensor.
#[derive(Debug, Default)]
struct TensorCode {
    levels: Vec<Box<dyn LevelCode>>,
    values: Option<ArrayId>,
    workspace: Option<workspace::Workspace>,
}

struct Lowerer<'k> {
    kernel: &'k Kernel,
    phase: Phase,
    b: Builder,
    interface: Interface,
    /// The size of each variable, by its index.
    sizes: Vec<ExprId>,
    /// The code of each tensor, by its index.
    tensors: Vec<TensorCode>,
    /// The result whose pattern is found by appending.
    appended: Option<Appended>,
    /// The pattern that is given is compared with that.
    compared: bool,
    /// How many values the result has, where its pattern is given.
    stored: Option<ExprId>,
    /// Room for what the innermost group of the result is given was made before the loops around this place.
    reserved: bool,
    /// The position in the innermost group of the result, where it is not the group's counter.
    slot: Option<ExprId>,
    /// What a result is given is known only where it is computed.
    conditional: bool,
    /// Whether the block of a result that is filled here was given anything.
    block_given: Option<Counter>,
    /// After how many loops the dense result has to be cleared.
    clear_at: Option<usize>,
    /// The loop over strips of the dense result that have to be cleared instead.
    clear_strip: Option<assemble::Strip>,
    /// With how many threads the kernel is run, where it asks.
    threads: Option<ExprId>,
    /// How many chunks the work of the kernel is worth, where loops are shared by threads.
    worth: Option<ExprId>,
    /// This place is inside a loop that threads share.
    in_parallel: bool,
    /// How many scalar iterations are worth handing to a thread.
    grain: u64,
    /// No loop is shared: the kernel does what threads cannot.
    serial: bool,
    /// Where additions to a tensor go instead of to its values.
    redirects: FxHashMap<TensorId, shared::Redirect>,
    /// Workspaces that a chunk's own ones have taken the place of.
    shadowed: Vec<(TensorId, Option<workspace::Workspace>)>,
    /// Where coordinates are listed, if this thread does that.
    list: Option<ArrayId>,
    /// What the chunk carries out.
    carry: Option<shared::Carry>,
    /// The part of the result that is assembled here, where it is assembled in parts.
    part: Option<segments::Part>,
}

/// Whether an assignment gave its result a value: always, or where a condition holds.
type Written = Option<ExprId>;

impl<'k> Lowerer<'k> {
    fn new(kernel: &'k Kernel, options: &Options) -> Result<Lowerer<'k>, Diagnostic> {
        let mut b = Builder::new(&options.name);
        b.set_strict(options.strict);
        let mut interface = Interface::default();
        let mut sizes = Vec::new();
        let used_vars: Vec<VarId> =
            used_vars(&kernel.stmt).into_iter().flat_map(|var| kernel.provenance.ancestors(var)).collect();
        let used_vars = recovered::with_sources(kernel, used_vars);
        for (var, info) in kernel.vars.iter() {
            let small = info.size.filter(|size| options.specialize && *size <= SPECIALIZED_SIZE);
            if let Some(size) = values::derived_size(&mut b, kernel, var, &sizes) {
                sizes.push(size);
            } else if let Some(size) = small {
                sizes.push(b.int(size as i64));
            } else if let (true, Some(size)) =
                (used_vars.contains(&var), recovered::stored_size(&mut b, kernel, var, &sizes))
            {
                sizes.push(size);
            } else if used_vars.contains(&var) {
                sizes.push(b.scalar_param(&format!("{}_size", info.name)));
                interface.bindings.push(Binding::Size(var));
            } else {
                sizes.push(b.int(0));
            }
        }
        let mut tensors: Vec<TensorCode> = Vec::new();
        let mut stored = None;
        let vars = dimension_vars(kernel);
        let used = [kernel.stmt.reads(), kernel.stmt.writes()].concat();
        for (id, tensor) in kernel.tensors.iter() {
            let mut code = TensorCode::default();
            if used.contains(&id) && !matches!(tensor.role, Role::Workspace(_)) {
                let role = match tensor.role {
                    Role::Input => ArrayRole::Input,
                    _ if tensor.format.is_dense() => ArrayRole::Output,
                    _ => ArrayRole::Grown,
                };
                let compared = options.compared && options.phase == Phase::Compute;
                let place = compared || pattern::placed_by(kernel, options.phase).is_some();
                let indices = role != ArrayRole::Grown || options.phase.assembles() || place;
                // A pattern that is given is only read.
                let index_role = if role == ArrayRole::Grown && place { ArrayRole::Input } else { role };
                for level in 0..tensor.order() {
                    let size = sizes[vars[&id][tensor.format.mode_order()[level]].index()];
                    if indices && !recovered::is_view_level(tensor, level) {
                        let mut array = |part, name: &str, width| {
                            interface.bindings.push(Binding::Level(id, level, part));
                            b.array_param(name, width, index_role)
                        };
                        code.levels.push(level_code(&tensor.name, &tensor.format, level, size, true, &mut array)?);
                    }
                }
                if tensor.dtype != DType::Pattern && (role == ArrayRole::Input || options.phase.computes()) {
                    let role = if options.phase == Phase::Compute && role == ArrayRole::Grown {
                        ArrayRole::Output
                    } else {
                        role
                    };
                    // A tensor of order 0 has exactly one value.
                    let at_least = u64::from(tensor.order() == 0);
                    let name = format!("{}_vals", tensor.name);
                    code.values = Some(b.array_param_with_len(&name, tensor.dtype, role, at_least));
                    interface.bindings.push(Binding::Values(id));
                    if options.phase == Phase::Compute && tensor.role == Role::Result && !tensor.format.is_dense() {
                        stored = Some(b.scalar_param(&format!("{}_stored", tensor.name)));
                        interface.bindings.push(Binding::Stored(id));
                    }
                }
            }
            tensors.push(code);
        }
        // Views may go through an array of another tensor, which is there even where that is read converted.
        let mut rankings: FxHashMap<TensorId, ArrayId> = FxHashMap::default();
        for (id, tensor) in kernel.tensors.iter().filter(|(id, _)| used.contains(id)) {
            for level in (0..tensor.order()).filter(|level| recovered::is_view_level(tensor, *level)) {
                let ranking = |b: &mut Builder, ranked: TensorId, level: usize| {
                    let own = tensors[ranked.index()].levels.get(level).and_then(|code| code.array(Part::RANKING));
                    own.unwrap_or_else(|| {
                        *rankings.entry(ranked).or_insert_with(|| {
                            let info = &kernel.tensors[ranked];
                            interface.bindings.push(Binding::Level(ranked, level, Part::RANKING));
                            let name = format!("{}{}_{}", info.name, level + 1, Part::RANKING.name);
                            b.array_param(&name, info.format.coordinates(level).dtype(), ArrayRole::Input)
                        })
                    })
                };
                let code = recovered::view_level(&mut b, kernel, (tensor, level), &sizes, ranking);
                let unseen = || Diagnostic::internal(format!("`{}` is seen through what is not there", tensor.name));
                tensors[id.index()].levels.insert(level, code.ok_or_else(unseen)?);
            }
        }
        let phase = options.phase;
        Ok(Lowerer {
            kernel,
            phase,
            b,
            interface,
            sizes,
            tensors,
            appended: None,
            stored,
            reserved: false,
            slot: None,
            compared: options.compared && options.phase == Phase::Compute,
            conditional: false,
            block_given: None,
            clear_at: None,
            clear_strip: None,
            threads: None,
            worth: None,
            in_parallel: false,
            grain: options.grain,
            serial: false,
            redirects: FxHashMap::default(),
            shadowed: Vec::new(),
            list: None,
            carry: None,
            part: None,
        })
    }

    /// Lowers a statement where `scope` holds; says when the result got a value.
    fn stmt(&mut self, stmt: &Stmt, scope: &Scope) -> Result<Written, Diagnostic> {
        match stmt {
            Stmt::Assign(assign) => self.assign(assign, scope),
            Stmt::Forall(var, body) => {
                self.forall(*var, body, scope)?;
                Ok(None)
            }
            Stmt::Where { consumer, producer } => self.lower_where(consumer, producer, scope),
            Stmt::Sequence(stmts) => {
                let mut written = None;
                for stmt in stmts {
                    written = self.stmt(stmt, scope)?;
                }
                Ok(written)
            }
        }
    }

    /// With how many threads the kernel is run.
    fn threads(&mut self) -> ExprId {
        if let Some(threads) = self.threads {
            return threads;
        }
        if self.b.function().strict {
            return self.b.int(parallel::STRICT_THREADS);
        }
        let threads = self.b.scalar_param("threads");
        self.interface.bindings.push(Binding::Threads);
        self.threads = Some(threads);
        threads
    }

    fn size(&self, var: VarId) -> ExprId {
        self.sizes[var.index()]
    }

    fn name(&self, tensor: TensorId) -> &str {
        &self.kernel.tensors[tensor].name
    }

    /// The position of an access at a level, counted from the root (level 0 is the outermost level; `None` the root).
    fn position(&mut self, access: &AccessKey, level: Option<usize>, scope: &Scope) -> Result<Position, Diagnostic> {
        let Some(level) = level else { return Ok(Position::One(self.b.int(0))) };
        if let Some(&position) = scope.positions.get(&(access.clone(), level)) {
            return Ok(position);
        }
        if let Some(position) = self.appended_position(access.tensor, level) {
            return Ok(Position::One(position));
        }
        let tensor = &self.kernel.tensors[access.tensor];
        let var = access.vars[tensor.format.mode_order()[level]];
        let mut coordinate = self.coordinate(var, scope)?;
        if let Some(part) = self.part.as_ref().filter(|part| part.tensor == access.tensor && level == 0) {
            coordinate = self.b.sub(coordinate, part.first);
        }
        let Position::One(parent) = self.position(access, level.checked_sub(1), scope)? else {
            return Err(Diagnostic::internal(format!("a dense level of `{}` under repeated coordinates", tensor.name)));
        };
        let located = if matches!(tensor.role, Role::Workspace(_)) {
            let first = self.b.mul(parent, self.sizes[var.index()]);
            Some(self.b.add(first, coordinate))
        } else {
            self.locate(access, level, parent, coordinate)
        };
        located.map(Position::One).ok_or_else(|| self.unbound(access, level))
    }

    /// The position of a coordinate in a level that locates. In a kernel that only computes, the result's levels have no
    /// code of their own unless threads look up their places in it, but its dense levels are located all the same.
    fn locate(&mut self, access: &AccessKey, level: usize, parent: ExprId, coordinate: ExprId) -> Option<ExprId> {
        match self.tensors[access.tensor.index()].levels.get(level) {
            Some(code) => code.locate(&mut self.b, parent, coordinate),
            None => {
                let tensor = &self.kernel.tensors[access.tensor];
                let size = self.sizes[access.vars[tensor.format.mode_order()[level]].index()];
                let first = self.b.mul(parent, size);
                Some(self.b.add(first, coordinate))
            }
        }
    }

    fn unbound(&self, access: &AccessKey, level: usize) -> Diagnostic {
        Diagnostic::internal(format!(
            "level {} of `{}` is reached before its position",
            level + 1,
            self.name(access.tensor)
        ))
    }
}

/// For each tensor, the variable of each dimension in one of its accesses (all have the same sizes).
fn dimension_vars(kernel: &Kernel) -> FxHashMap<TensorId, Vec<VarId>> {
    let mut vars = FxHashMap::default();
    kernel.stmt.visit_assigns(&mut |assign| {
        vars.entry(assign.lhs.tensor).or_insert_with(|| assign.lhs.vars.clone());
        for access in assign.rhs.accesses() {
            vars.entry(access.tensor).or_insert_with(|| access.vars.clone());
        }
    });
    vars
}

/// The variables that a statement has loops over.
fn used_vars(stmt: &Stmt) -> Vec<VarId> {
    match stmt {
        Stmt::Assign(_) => Vec::new(),
        Stmt::Forall(var, body) => [vec![*var], used_vars(body)].concat(),
        Stmt::Where { consumer, producer } => [used_vars(consumer), used_vars(producer)].concat(),
        Stmt::Sequence(stmts) => stmts.iter().flat_map(used_vars).collect(),
    }
}

/// The kind of workspace a tensor is.
fn workspace_kind(role: Role) -> Option<WorkspaceKind> {
    match role {
        Role::Workspace(kind) => Some(kind),
        _ => None,
    }
}

/// The type in which coordinates and positions are computed.
const INDEX: DType = DType::I64;

/// A mutable variable of the IR, as used by several files here.
type Counter = ImpVar;
