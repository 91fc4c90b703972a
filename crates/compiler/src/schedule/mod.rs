//! Scheduling transformations: functions from a kernel to a kernel that computes the same, in another order or by others.
//!
//! One transformation a file. Each states its demands (and refuses with the reason if they do not hold), its effect on the loops,
//! and the relation that it adds to the provenance graph. Accesses keep their variables; only loops change. Each takes a kernel and
//! gives another one with the forward of names ([`Forward`]), so that a refusal changes nothing.
//!
//! On entry: a kernel in concrete notation. On exit: one that passes [`lacunar_notation::concrete::verify`]. Later, `plan/given.rs`
//! settles the demands of the loops' order on storage and on workspaces.
//!
//! ```text
//! (forall(i, y(i) = x(i)), split(i, i0, i1, 32))  ->  (forall(i0, forall(i1, y(i) = x(i))), i -> i0, i1)
//! ```
//!
//! Paper: Senanayake et al. 2020, §5.

mod assemble;
mod bound;
mod coord;
mod copy;
mod fission;
mod forward;
mod fuse;
mod mergeby;
pub(crate) mod nest;
mod parallelize;
mod part;
mod pos;
mod precompute;
mod reorder;
mod split;
mod unroll;

pub use forward::Forward;
pub(crate) use parallelize::check_shared;
pub(crate) use precompute::stands_outside;

use lacunar_base::{Diagnostic, Span};
use lacunar_notation::concrete::{Kernel, verify};
use lacunar_notation::provenance::Tag;
use lacunar_notation::schedule::{Command, CommandKind, Name};
use lacunar_notation::{Access, IndexVar, VarId};

/// A kernel, and the forward of the names of the one that it was made of.
type Transformed = Result<(Kernel, Forward), Diagnostic>;

/// Carries out one command.
///
/// # Errors
/// The reason why the transformation does not keep the meaning, or cannot be done here, with the command's place.
pub fn apply(kernel: &Kernel, command: &Command) -> Result<(Kernel, Forward), Diagnostic> {
    let span = command.span;
    let (made, forward) = match &command.kind {
        CommandKind::Reorder(names) => reorder::reorder(kernel, names, span),
        CommandKind::Fuse { outer, inner, fused } => fuse::fuse(kernel, outer, inner, fused, span),
        CommandKind::Split { var, outer, inner, size } => split::split(kernel, var, outer, inner, *size),
        CommandKind::Divide { var, outer, inner, parts } => split::divide(kernel, var, outer, inner, *parts),
        CommandKind::Pos { var, position, access } => pos::pos(kernel, var, position, access, span),
        CommandKind::Coord { position, coordinate } => coord::coord(kernel, position, coordinate),
        CommandKind::Parallelize { var, unit, race } => parallelize::parallelize(kernel, var, *unit, *race, span),
        CommandKind::Unroll { var, times } => unroll::unroll(kernel, var, *times, span),
        CommandKind::Fission(names) => fission::fission(kernel, names, span),
        CommandKind::Bound { var, bounded, size, kind } => bound::bound(kernel, var, bounded, *size, *kind),
        CommandKind::Precompute { expr, vars, into, kind } => {
            precompute::precompute(kernel, expr, vars, into, *kind, span)
        }
        CommandKind::Assemble { tensor, how } => assemble::assemble(kernel, *tensor, *how, span),
        CommandKind::Mergeby { var, strategy } => mergeby::mergeby(kernel, var, *strategy),
    }?;
    if cfg!(debug_assertions) {
        let checked = verify(&made).and_then(|()| forward.check(kernel, &made));
        checked.map_err(|fault| {
            Diagnostic::internal(format!("`{}` breaks the kernel: {fault}", kernel.command_text(command)))
        })?;
    }
    Ok((made, forward))
}

/// Carries out commands one after the other.
///
/// # Errors
/// The first refusal. It notes the successors of names that the command uses and that earlier commands replaced.
pub fn apply_all<'c>(
    kernel: &Kernel,
    commands: impl IntoIterator<Item = &'c Command>,
) -> Result<(Kernel, Forward), Diagnostic> {
    let mut commands = commands.into_iter();
    commands.try_fold((kernel.clone(), Forward::default()), |(kernel, so_far), command| {
        let (made, forward) = apply(&kernel, command)
            .map_err(|refusal| so_far.gone(&kernel, &command.kind).into_iter().fold(refusal, Diagnostic::note))?;
        Ok((made, so_far.then(&forward)))
    })
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

/// The variables of names that have loops, each named once.
fn leaves(kernel: &Kernel, names: &[Name]) -> Result<Vec<VarId>, Diagnostic> {
    let vars = names.iter().map(|name| leaf(kernel, name)).collect::<Result<Vec<_>, _>>()?;
    match (1..vars.len()).find(|&place| vars[..place].contains(&vars[place])) {
        Some(again) => {
            let name = &names[again];
            Err(refuse("E1202", name.span, format!("`{name}` is named twice"), "again"))
        }
        None => Ok(vars),
    }
}

/// The variable of a name whose loop is to be replaced by others. The loop has no tags yet, which would be lost.
fn replaceable(kernel: &Kernel, name: &Name) -> Result<VarId, Diagnostic> {
    let var = leaf(kernel, name)?;
    if is_summand(kernel, var) {
        let message =
            format!("the values of `{name}` are summands of an index, of which nothing tells how many there are");
        return Err(refuse("E1220", name.span, message, "has no size")
            .hint("name the loop over the index that they are added to, or over the places that they are taken from"));
    }
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

/// True for a variable whose values are elements that are summands of an index, `p(i)` of `x(p(i) + 1)`: it is an index of
/// indicators alone, and as large as an index can be. Loops of strips of it would count all of these.
fn is_summand(kernel: &Kernel, var: VarId) -> bool {
    let mut accesses: Vec<Access> = Vec::new();
    kernel.stmt.visit_assigns(&mut |assign| {
        let own = assign.rhs.accesses().into_iter().chain([&assign.lhs]);
        accesses.extend(own.filter(|access| access.vars.contains(&var)).cloned());
    });
    let is_value =
        |access: &Access| access.vars.last() == Some(&var) && kernel.tensors[access.tensor].gathered().is_some();
    let is_tied = |access: &Access| kernel.tensors[access.tensor].indicator.is_some();
    accesses.iter().all(is_tied) && accesses.iter().any(is_value)
}

/// A new variable.
fn new_var(kernel: &mut Kernel, name: &Name, size: Option<u64>) -> VarId {
    let span = Span::NONE;
    kernel.vars.push(IndexVar { name: name.text.clone(), size, span })
}

/// The kernel with a tag on the loop over a variable.
fn tagged(kernel: &Kernel, var: VarId, tag: Tag) -> Kernel {
    let mut made = kernel.clone();
    made.provenance.tags.push((var, tag));
    made
}

/// The refusal of a command.
fn refuse(code: &'static str, span: Span, message: impl Into<String>, label: &str) -> Diagnostic {
    Diagnostic::error(code, message).label(span, label)
}
