//! Schedules as text, in the language that `front` reads them in.
//!
//! ```text
//! split(i, i0, i1, 32), reorder(i0, j, i1), parallelize(i0, cpu, none)
//! ```
//!
//! Arguments are left out if the language assumes them: a `parallelize` without a third argument is `auto`, an `unroll` without a
//! number is of every iteration, a list of one variable has no braces.

use super::Names;
use crate::concrete::Kernel;
use crate::index::{Access, Program, WorkspaceKind};
use crate::schedule::{Command, CommandKind, Name, Race, Schedule};

impl Program {
    /// A schedule of one of the statements as text.
    pub fn schedule_text(&self, schedule: &Schedule) -> String {
        let names = Names { in_loops: true, ..Names::new(&self.tensors, &self.vars) };
        let commands: Vec<String> = schedule.commands.iter().map(|command| names.command(&command.kind)).collect();
        commands.join(", ")
    }

    /// The relations of indices in the statements, each as text in brackets with the name of the tensor that stands for it.
    pub fn relations(&self) -> Vec<(String, String)> {
        let names = Names::new(&self.tensors, &self.vars);
        let accesses = self.statements.iter().flat_map(|statement| statement.rhs.accesses());
        let relation = |access: &Access| {
            let tensor = &self.tensors[access.tensor];
            Some((names.bracket_text(tensor.indicator.as_deref()?, &access.vars), tensor.name.clone()))
        };
        accesses.filter_map(relation).collect()
    }
}

impl Kernel {
    /// A command of the kernel's schedule as text.
    pub fn command_text(&self, command: &Command) -> String {
        Names::of_loops(self).command(&command.kind)
    }
}

impl WorkspaceKind {
    /// All kinds.
    pub const ALL: [WorkspaceKind; 7] = [
        WorkspaceKind::Scalar,
        WorkspaceKind::Dense,
        WorkspaceKind::Marked,
        WorkspaceKind::Bitmap,
        WorkspaceKind::Stamped,
        WorkspaceKind::Hashed,
        WorkspaceKind::Sorted,
    ];

    /// Its name in a schedule.
    pub const fn name(self) -> &'static str {
        match self {
            WorkspaceKind::Scalar => "scalar",
            WorkspaceKind::Dense => "dense",
            WorkspaceKind::Marked => "marked",
            WorkspaceKind::Bitmap => "bitmap",
            WorkspaceKind::Stamped => "stamped",
            WorkspaceKind::Hashed => "hashed",
            WorkspaceKind::Sorted => "sorted",
        }
    }
}

impl Names<'_> {
    fn command(self, kind: &CommandKind) -> String {
        match kind {
            CommandKind::Reorder(vars) => format!("reorder({})", list(vars)),
            CommandKind::Fuse { outer, inner, fused } => format!("fuse({outer}, {inner}, {fused})"),
            CommandKind::Split { var, outer, inner, size } => format!("split({var}, {outer}, {inner}, {size})"),
            CommandKind::Divide { var, outer, inner, parts } => format!("divide({var}, {outer}, {inner}, {parts})"),
            CommandKind::Pos { var, position, access } => {
                let mut text = format!("pos({var}, {position}, ");
                self.access(&mut text, access);
                text + ")"
            }
            CommandKind::Coord { position, coordinate } => format!("coord({position}, {coordinate})"),
            CommandKind::Parallelize { var, unit, race: Race::Auto } => format!("parallelize({var}, {})", unit.name()),
            CommandKind::Parallelize { var, unit, race } => {
                format!("parallelize({var}, {}, {})", unit.name(), race.name())
            }
            CommandKind::Unroll { var, times: 0 } => format!("unroll({var})"),
            CommandKind::Unroll { var, times } => format!("unroll({var}, {times})"),
            CommandKind::Fission(vars) => format!("fission({})", list(vars)),
            CommandKind::Bound { var, bounded, size, kind } => {
                format!("bound({var}, {bounded}, {size}, {})", kind.name())
            }
            CommandKind::Precompute { expr, vars, into, kind } => {
                let mut text = "precompute(".to_string();
                self.expr(&mut text, expr, 0);
                text += &format!(", {}, {}", braced(vars), braced(into));
                if let Some(kind) = kind {
                    text += &format!(", {}", kind.name());
                }
                text + ")"
            }
            CommandKind::Assemble { tensor, how } => {
                format!("assemble({}, {})", self.tensors[*tensor].name, how.name())
            }
            CommandKind::Mergeby { var, strategy } => format!("mergeby({var}, {})", strategy.name()),
        }
    }
}

fn list(names: &[Name]) -> String {
    names.iter().map(|name| name.text.as_str()).collect::<Vec<_>>().join(", ")
}

fn braced(names: &[Name]) -> String {
    match names {
        [name] => name.text.clone(),
        names => format!("{{{}}}", list(names)),
    }
}
