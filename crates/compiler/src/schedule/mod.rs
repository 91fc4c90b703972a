//! Scheduling transformations: functions from a kernel to a kernel that computes the same, in another order or by others.
//!
//! One transformation a file. Each says what it demands (and refuses with the reason where that does not hold), what it does to
//! the loops, and which relation it adds to the provenance graph. Accesses keep their variables; only loops change.
//!
//! On entry: a kernel in concrete notation. On exit: one that passes [`lacunar_notation::concrete::verify`]. What the order
//! of loops demands of storage and of workspaces is settled afterwards, by `plan/given.rs`.
//!
//! Paper: Senanayake et al. 2020, §5.

mod assemble;
mod bound;
mod coord;
mod fuse;
mod mergeby;
mod nest;
mod parallelize;
mod pos;
mod precompute;
mod reorder;
mod split;
mod unroll;

pub(crate) use parallelize::check_shared;

use lacunar_base::{Diagnostic, Span};
use lacunar_notation::concrete::Kernel;
use lacunar_notation::schedule::{Command, CommandKind, Name};
use lacunar_notation::{IndexVar, VarId};

/// Carries out one command.
///
/// # Errors
/// Why the transformation is not one that keeps the meaning, or cannot be done here, with the command's place.
pub fn apply(kernel: &mut Kernel, command: &Command) -> Result<(), Diagnostic> {
    let span = command.span;
    match &command.kind {
        CommandKind::Reorder(names) => reorder::reorder(kernel, names, span),
        CommandKind::Fuse { outer, inner, fused } => fuse::fuse(kernel, outer, inner, fused, span),
        CommandKind::Split { var, outer, inner, size } => split::split(kernel, var, outer, inner, *size),
        CommandKind::Divide { var, outer, inner, parts } => split::divide(kernel, var, outer, inner, *parts),
        CommandKind::Pos { var, position, access } => pos::pos(kernel, var, position, access, span),
        CommandKind::Coord { position, coordinate } => coord::coord(kernel, position, coordinate),
        CommandKind::Parallelize { var, unit, race } => parallelize::parallelize(kernel, var, *unit, *race, span),
        CommandKind::Unroll { var, times } => unroll::unroll(kernel, var, *times, span),
        CommandKind::Bound { var, bounded, size, kind } => bound::bound(kernel, var, bounded, *size, *kind),
        CommandKind::Precompute { expr, vars, into, kind } => {
            precompute::precompute(kernel, expr, vars, into, *kind, span)
        }
        CommandKind::Assemble { tensor, how } => assemble::assemble(kernel, *tensor, *how, span),
        CommandKind::Mergeby { var, strategy } => mergeby::mergeby(kernel, var, *strategy),
    }
}

/// The variable of a name that has a loop.
fn leaf(kernel: &Kernel, name: &Name) -> Result<VarId, Diagnostic> {
    let loops = nest::loops(&kernel.stmt);
    let found = kernel.vars.iter().find(|(id, var)| var.name == name.text && loops.contains(id));
    found.map(|(id, _)| id).ok_or_else(|| {
        let there: Vec<String> = loops.iter().map(|var| format!("`{}`", kernel.vars[*var].name)).collect();
        refuse("E1201", name.span, format!("there is no loop over `{}`", name.text), "no such loop")
            .hint(format!("there are loops over {}", there.join(", ")))
    })
}

/// The variable of a name whose loop is to be replaced by others: nothing is said of it yet, which would be lost.
fn replaceable(kernel: &Kernel, name: &Name) -> Result<VarId, Diagnostic> {
    let var = leaf(kernel, name)?;
    match kernel.provenance.tags(var).next() {
        None => Ok(var),
        Some(_) => Err(refuse(
            "E1216",
            name.span,
            format!("what was said of the loop over `{name}` would be lost"),
            "replaced",
        )
        .hint("make the loops first, then say who runs them and how")),
    }
}

/// A new variable.
fn new_var(kernel: &mut Kernel, name: &Name, size: Option<u64>) -> VarId {
    let span = Span::NONE;
    kernel.vars.push(IndexVar { name: name.text.clone(), size, span })
}

/// The refusal of a command.
fn refuse(code: &'static str, span: Span, message: impl Into<String>, label: &str) -> Diagnostic {
    Diagnostic::error(code, message).label(span, label)
}
