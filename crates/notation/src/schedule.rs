//! Schedules: transformations of the iteration space, as data.
//!
//! A schedule is a list of commands, applied in order to a statement in concrete notation. New variables are named by the
//! command that makes them; tensors and expressions are those of the program.
//!
//! ```text
//! y(i) = A(i,j) * x(j)       split(i, i0, i1, 32), reorder(i0, i1, j), parallelize(i0, cpu, none)
//! ```
//!
//! Papers: Senanayake et al., *A Sparse Iteration Space Transformation Framework for Sparse Tensor Algebra* (OOPSLA 2020), §3
//! and §5; `precompute` from Kjolstad et al. 2019.

use std::fmt;

use lacunar_base::Span;

use crate::index::{Access, Expr, TensorId, WorkspaceKind};

/// Commands in the order of their application.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// The commands.
    pub commands: Vec<Command>,
}

/// A command, and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// The transformation.
    pub kind: CommandKind,
    /// Its place in the schedule's text.
    pub span: Span,
}

/// The name of an index variable, of the program or made by an earlier command.
#[derive(Clone, Debug)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Its place in the schedule's text.
    pub span: Span,
}

/// Names are equal if their texts are.
impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        self.text == other.text
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Name {
        Name { text: text.to_string(), span: Span::NONE }
    }
}

/// The transformations.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandKind {
    /// `reorder(a, b, ..)`: loops that are nested directly, in this order.
    Reorder(Vec<Name>),
    /// `fuse(outer, inner, fused)`: two loops nested directly become one.
    Fuse {
        /// The outer of the two.
        outer: Name,
        /// The inner one.
        inner: Name,
        /// The new variable, over all pairs in their order.
        fused: Name,
    },
    /// `split(var, outer, inner, size)`: strips of a constant size.
    Split {
        /// The variable that is split.
        var: Name,
        /// The new variable over the strips.
        outer: Name,
        /// The new variable inside a strip.
        inner: Name,
        /// Iterations of a strip; at least 1.
        size: u64,
    },
    /// `divide(var, outer, inner, parts)`: a given number of equal strips.
    Divide {
        /// The variable that is divided.
        var: Name,
        /// The new variable over the strips.
        outer: Name,
        /// The new variable inside a strip.
        inner: Name,
        /// The number of strips.
        parts: Parts,
    },
    /// `pos(var, position, A(i,j))`: a variable (or a fused one) is replaced by the positions of the level of a tensor that
    /// stores it.
    Pos {
        /// The coordinate variable.
        var: Name,
        /// The new variable over positions.
        position: Name,
        /// The tensor.
        access: Access,
    },
    /// `coord(position, coordinate)`: back to the coordinates that the positions hold.
    Coord {
        /// The position variable, or one that was split off it.
        position: Name,
        /// The new coordinate variable.
        coordinate: Name,
    },
    /// `parallelize(var, unit, race)`: iterations are shared out to a kind of parallel unit.
    Parallelize {
        /// The loop.
        var: Name,
        /// The kind of unit.
        unit: Unit,
        /// The treatment of iterations that write to the same place.
        race: Race,
    },
    /// `unroll(var, times)`.
    Unroll {
        /// The loop.
        var: Name,
        /// The number of times that the body is repeated; 0: for every iteration.
        times: u32,
    },
    /// `fission(a, b, ..)`: loops that are nested directly, around statements that stand one after the other, become loops over each of them.
    /// Of several loops, each statement has those of the dimensions of its result in the order in which that is stored.
    Fission(Vec<Name>),
    /// `bound(var, bounded, size, kind)`: a promise about the size of a dimension, checked when the kernel is run.
    Bound {
        /// The variable.
        var: Name,
        /// Its new name.
        bounded: Name,
        /// The size.
        size: u64,
        /// The kind of promise.
        kind: BoundKind,
    },
    /// `precompute(expression, vars, into, kind)`: a part of an expression is computed into a workspace first.
    Precompute {
        /// The part, over the variables of the program.
        expr: Expr,
        /// The variables of the loops from which it is taken out, which index the workspace.
        vars: Vec<Name>,
        /// Their names in the loops that fill the workspace; the same names, or new ones.
        into: Vec<Name>,
        /// The storage of the workspace. If nothing is said, the statements that fill and read it decide.
        kind: Option<WorkspaceKind>,
    },
    /// `assemble(C, insert)`: the way to assemble a sparse result.
    Assemble {
        /// The result.
        tensor: TensorId,
        /// The way of assembling.
        how: Assembly,
    },
    /// `mergeby(var, strategy)`: the way to merge the operands of a loop.
    Mergeby {
        /// The loop.
        var: Name,
        /// The way of merging.
        strategy: Merge,
    },
}

/// The number of strips that a `divide` makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// This number of strips.
    Count(u64),
    /// This number of strips for each thread that the kernel is run with. There are fewer if strips would be too small to be worth
    /// their cost. Written `4 threads`, or `threads`.
    PerThread(u64),
}

/// The unit that runs the iterations of a parallel loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Threads of the processor.
    CpuThread,
    /// Lanes of vector registers.
    CpuVector,
    /// Blocks of a GPU's grid.
    GpuBlock,
    /// Warps of a GPU.
    GpuWarp,
    /// Threads of a GPU.
    GpuThread,
}

/// The treatment of parallel iterations that write to the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Race {
    /// The cheapest of the following that is right.
    Auto,
    /// There are none; refused where there are.
    None,
    /// Nothing, because every writer writes the same.
    Ignore,
    /// Updates are indivisible.
    Atomics,
    /// Each iteration has a place of its own, and they are added up afterwards.
    Temporary,
    /// The units reduce among themselves.
    ParallelReduction,
}

/// The promise of a `bound` about a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BoundKind {
    /// It is the number.
    MaxExact,
    /// It is at most the number.
    MaxConstraint,
    /// The loop begins at the number.
    MinExact,
    /// The loop begins at the number or later.
    MinConstraint,
}

/// The way to assemble a sparse result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Assembly {
    /// At once: coordinates and values are appended in order.
    #[default]
    Append,
    /// Two phases: the first finds the coordinates, the second inserts each value at its place.
    Insert,
}

/// The way to merge the operands of a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Merge {
    /// All are advanced step by step (two-finger merge).
    #[default]
    Coiterate,
    /// The one that lags jumps to the coordinate of the one that leads, by exponential search.
    Gallop,
    /// The coordinates are entered into bitmaps, which are combined by words.
    Bitmap,
}

impl From<u64> for Parts {
    fn from(count: u64) -> Parts {
        Parts::Count(count)
    }
}

impl Unit {
    /// Its name in a schedule.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::CpuThread => "cpu",
            Unit::CpuVector => "vector",
            Unit::GpuBlock => "gpublock",
            Unit::GpuWarp => "gpuwarp",
            Unit::GpuThread => "gputhread",
        }
    }
}

impl Race {
    /// Its name in a schedule.
    pub const fn name(self) -> &'static str {
        match self {
            Race::Auto => "auto",
            Race::None => "none",
            Race::Ignore => "ignore",
            Race::Atomics => "atomics",
            Race::Temporary => "temporary",
            Race::ParallelReduction => "reduction",
        }
    }
}

impl BoundKind {
    /// Its name in a schedule.
    pub const fn name(self) -> &'static str {
        match self {
            BoundKind::MaxExact => "maxexact",
            BoundKind::MaxConstraint => "maxconstraint",
            BoundKind::MinExact => "minexact",
            BoundKind::MinConstraint => "minconstraint",
        }
    }
}

impl Assembly {
    /// Its name in a schedule.
    pub const fn name(self) -> &'static str {
        match self {
            Assembly::Append => "append",
            Assembly::Insert => "insert",
        }
    }
}

impl Merge {
    /// Its name in a schedule.
    pub const fn name(self) -> &'static str {
        match self {
            Merge::Coiterate => "coiterate",
            Merge::Gallop => "gallop",
            Merge::Bitmap => "bitmap",
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Parts::Count(count) => write!(f, "{count}"),
            Parts::PerThread(1) => f.write_str("threads"),
            Parts::PerThread(count) => write!(f, "{count} threads"),
        }
    }
}

/// The effect of a command on variables.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect<'a> {
    /// It names these.
    pub uses: Vec<&'a Name>,
    /// True if they have no loops any more.
    pub replaces: bool,
    /// It makes these.
    pub makes: Vec<&'a Name>,
}

impl CommandKind {
    /// Its effect on variables.
    pub fn effect(&self) -> Effect<'_> {
        let replaces = |uses, makes| Effect { uses, replaces: true, makes };
        let keeps = |uses| Effect { uses, replaces: false, makes: Vec::new() };
        match self {
            CommandKind::Reorder(vars) | CommandKind::Fission(vars) => keeps(vars.iter().collect()),
            CommandKind::Fuse { outer, inner, fused } => replaces(vec![outer, inner], vec![fused]),
            CommandKind::Split { var, outer, inner, .. } | CommandKind::Divide { var, outer, inner, .. } => {
                replaces(vec![var], vec![outer, inner])
            }
            CommandKind::Pos { var, position, .. } => replaces(vec![var], vec![position]),
            CommandKind::Coord { position, coordinate } => replaces(vec![position], vec![coordinate]),
            CommandKind::Bound { var, bounded, .. } => replaces(vec![var], vec![bounded]),
            CommandKind::Parallelize { var, .. }
            | CommandKind::Unroll { var, .. }
            | CommandKind::Mergeby { var, .. } => keeps(vec![var]),
            CommandKind::Precompute { vars, into, .. } => {
                let renamed = vars.iter().zip(into).filter(|(var, into)| var != into).map(|(_, into)| into);
                Effect { makes: renamed.collect(), ..keeps(vars.iter().collect()) }
            }
            CommandKind::Assemble { .. } => keeps(Vec::new()),
        }
    }

    /// The operands that it names.
    pub fn accesses(&self) -> Vec<&Access> {
        match self {
            CommandKind::Pos { access, .. } => vec![access],
            CommandKind::Precompute { expr, .. } => expr.accesses(),
            _ => Vec::new(),
        }
    }
}
