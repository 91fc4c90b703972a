//! Schedules that are given: the statement that their commands apply to, and the steps after them.
//!
//! `reorder`s of the statement's own variables, before these are replaced, fix the order that the plan is made for. The later
//! commands apply to the planned statement, with its workspaces. Commands that need a nest of loops and nothing else (`fuse`,
//! `pos`, `coord`, `precompute`, a `reorder` of derived variables) apply to the *flat nest* instead, if the statement is one sum:
//!
//! ```text
//! y(i) = A(i,j) * x(j)      forall(i, forall(j, y(i) += A(i,j) * x(j)))
//! ```
//!
//! Afterwards, operands that contradict the order in which coordinates become known are converted, and [`super::finish`]
//! settles how the result is reached.
//!
//! Paper: Senanayake et al. 2020, §5 and §6.

use lacunar_base::Diagnostic;
use lacunar_notation::concrete::{Assign, Kernel, Stmt};
use lacunar_notation::provenance::Relation;
use lacunar_notation::schedule::{Command, CommandKind, Name, Schedule};
use lacunar_notation::{Access, AssignOp, Expr, ExprKind, TensorId, VarId};

use super::Conversion;
use super::convert::rename;
use super::storage::distinct_accesses;
use crate::concretize::has_no_sum;
use crate::iterate::iterators::AccessKey;

/// True if a schedule's commands apply to the flat nest of a statement.
pub(super) fn wants_flat_nest(schedule: &Schedule) -> bool {
    let mut derived: Vec<&Name> = Vec::new();
    schedule.commands.iter().any(|command| match &command.kind {
        CommandKind::Fuse { .. }
        | CommandKind::Pos { .. }
        | CommandKind::Coord { .. }
        | CommandKind::Precompute { .. } => true,
        CommandKind::Split { outer, inner, .. } | CommandKind::Divide { outer, inner, .. } => {
            derived.extend([outer, inner]);
            false
        }
        CommandKind::Bound { bounded, .. } => {
            derived.push(bounded);
            false
        }
        CommandKind::Reorder(names) => !derived.is_empty() && names.iter().any(|name| derived.contains(&name)),
        _ => false,
    })
}

/// True if a schedule's commands leave every loop one over a variable of the statement.
pub(super) fn keeps_loops(schedule: &Schedule) -> bool {
    let is_kept = |command: &Command| matches!(command.kind, CommandKind::Reorder(_) | CommandKind::Parallelize { .. });
    schedule.commands.iter().all(is_kept)
}

/// Redirects a command about tensors to those that an expression reads in their place.
pub(super) fn redirect(command: &mut CommandKind, rhs: &Expr, conversions: &[Conversion]) {
    let read: Vec<AccessKey> = distinct_accesses(rhs);
    let to = |access: &Access| {
        let made = conversions.iter().filter(|conversion| conversion.source == access.tensor);
        made.map(|conversion| conversion.tensor)
            .find(|&tensor| read.contains(&AccessKey { tensor, vars: access.vars.clone() }))
    };
    rename_in(command, &to);
}

/// A command with its accesses redirected to the tensors that `to` gives.
pub(super) fn rename_in(command: &mut CommandKind, to: &impl Fn(&Access) -> Option<TensorId>) {
    match command {
        CommandKind::Pos { access, .. } => access.tensor = to(access).unwrap_or(access.tensor),
        CommandKind::Precompute { expr, .. } => *expr = rename(expr.clone(), to),
        _ => {}
    }
}

/// A schedule's commands in two parts: those that reorder variables of the statement before any is replaced, and the others.
pub(super) fn orders_first(schedule: &Schedule) -> (Vec<&Command>, Vec<&Command>) {
    let replaces = |command: &&Command| {
        !matches!(
            command.kind,
            CommandKind::Reorder(_)
                | CommandKind::Parallelize { .. }
                | CommandKind::Unroll { .. }
                | CommandKind::Mergeby { .. }
                | CommandKind::Assemble { .. }
        )
    };
    let (before, after) =
        schedule.commands.split_at(schedule.commands.iter().take_while(|command| !replaces(command)).count());
    let (orders, mut others): (Vec<&Command>, Vec<&Command>) =
        before.iter().partition(|command| matches!(command.kind, CommandKind::Reorder(_)));
    others.extend(after);
    (orders, others)
}

/// An order with the named variables in another order, at the places that they have together.
pub(super) fn reordered(kernel: &Kernel, order: &[VarId], names: &[Name]) -> Result<Vec<VarId>, Diagnostic> {
    let mut wanted = Vec::new();
    for name in names {
        let found = order.iter().copied().find(|var| kernel.vars[*var].name == name.text);
        match found {
            Some(var) if !wanted.contains(&var) => wanted.push(var),
            Some(_) => {
                return Err(Diagnostic::error("E1202", format!("`{name}` is named twice")).label(name.span, "again"));
            }
            None => {
                let there: Vec<String> = order.iter().map(|var| format!("`{}`", kernel.vars[*var].name)).collect();
                return Err(Diagnostic::error("E1201", format!("there is no loop over `{name}`"))
                    .label(name.span, "no such loop")
                    .hint(format!("there are loops over {}", there.join(", "))));
            }
        }
    }
    let mut next = wanted.clone().into_iter();
    Ok(order.iter().map(|var| if wanted.contains(var) { next.next().unwrap_or(*var) } else { *var }).collect())
}

/// The term of a statement that is one reduction; the whole expression of others.
pub(super) fn summand(flat: &Expr) -> &Expr {
    match &flat.kind {
        ExprKind::Reduce(_, _, body) => body,
        _ => flat,
    }
}

/// The flat nest of a statement that is one reduction, or has none; `None` for others.
pub(super) fn flat_nest(lhs: &Access, op: AssignOp, flat: &Expr, order: &[VarId]) -> Option<Stmt> {
    let op = match (op, &flat.kind) {
        (AssignOp::Reduce(own), ExprKind::Reduce(monoid, ..)) if own != *monoid => return None,
        // A result has no room for the values beside indices.
        (_, ExprKind::Reduce(monoid, ..)) if monoid.compared().is_some() => return None,
        (_, ExprKind::Reduce(monoid, ..)) => AssignOp::Reduce(*monoid),
        (op, _) => op,
    };
    let rhs = summand(flat).clone();
    has_no_sum(&rhs).then(|| Stmt::foralls(order, Stmt::Assign(Assign { lhs: lhs.clone(), op, rhs })))
}

/// Each assignment of a statement, with the variables of accesses in the order in which the loops around it make them known.
pub(super) fn known_orders(kernel: &Kernel) -> Vec<(Assign, Vec<VarId>)> {
    fn walk(kernel: &Kernel, stmt: &Stmt, loops: &mut Vec<VarId>, found: &mut Vec<(Assign, Vec<VarId>)>) {
        match stmt {
            Stmt::Assign(assign) => found.push((assign.clone(), known(kernel, loops))),
            Stmt::Forall(leaf, body) => {
                loops.push(*leaf);
                walk(kernel, body, loops, found);
                loops.pop();
            }
            Stmt::Where { consumer, producer } => {
                walk(kernel, producer, loops, found);
                walk(kernel, consumer, loops, found);
            }
            Stmt::Sequence(stmts) => stmts.iter().for_each(|stmt| walk(kernel, stmt, loops, found)),
        }
    }
    let mut found = Vec::new();
    walk(kernel, &kernel.stmt, &mut Vec::new(), &mut found);
    found
}

/// The variables of accesses that loops make known, in that order.
fn known(kernel: &Kernel, loops: &[VarId]) -> Vec<VarId> {
    let mut found = Vec::new();
    for (depth, leaf) in loops.iter().enumerate() {
        for var in kernel.provenance.originals(*leaf) {
            if !found.contains(&var) && kernel.provenance.is_known(var, &loops[..=depth]) {
                found.push(var);
            }
        }
    }
    found
}

/// The statement with its expressions replaced.
pub(super) fn map_exprs(stmt: Stmt, f: &mut impl FnMut(Expr) -> Expr) -> Stmt {
    match stmt {
        Stmt::Assign(assign) => Stmt::Assign(Assign { rhs: f(assign.rhs), ..assign }),
        Stmt::Forall(var, body) => Stmt::Forall(var, Box::new(map_exprs(*body, f))),
        Stmt::Where { consumer, producer } => {
            Stmt::Where { consumer: Box::new(map_exprs(*consumer, f)), producer: Box::new(map_exprs(*producer, f)) }
        }
        Stmt::Sequence(stmts) => Stmt::Sequence(stmts.into_iter().map(|stmt| map_exprs(stmt, f)).collect()),
    }
}

/// True for an access whose positions a loop runs over: it keeps its storage.
pub(super) fn is_positioned(kernel: &Kernel, tensor: TensorId, vars: &[VarId]) -> bool {
    kernel.provenance.relations.iter().any(
        |relation| matches!(relation, Relation::Pos { access, .. } if access.tensor == tensor && access.vars == vars),
    )
}
