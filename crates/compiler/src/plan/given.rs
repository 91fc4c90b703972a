//! Schedules that are given: which statement their commands apply to, and what is settled after them.
//!
//! Leading `reorder`s of the statement's own variables fix the order that the plan is made for; what follows applies to the
//! planned statement, with its workspaces. Commands that need a nest of loops and nothing else (`fuse`, `pos`, `coord`,
//! `precompute`, a `reorder` of derived variables) apply to the *flat nest* instead, if the statement is one sum:
//!
//! ```text
//! y(i) = A(i,j) * x(j)      forall(i, forall(j, y(i) += A(i,j) * x(j)))
//! ```
//!
//! Afterwards, operands that contradict the order in which coordinates become known are converted, and what is added up
//! goes through a variable or a workspace where the result cannot be added to in place:
//!
//! ```text
//! forall(i0, forall(i1, forall(j, y(i) += A(i,j) * x(j))))
//!   ->  forall(i0, forall(i1, where(y(i) = t, forall(j, t += A(i,j) * x(j)))))
//! ```
//!
//! Paper: Senanayake et al. 2020, §5 and §6; Kjolstad et al. 2019, §4.

use lacunar_base::{Diagnostic, Span};
use lacunar_formats::Format;
use lacunar_notation::concrete::{Assign, Kernel, Stmt};
use lacunar_notation::provenance::Relation;
use lacunar_notation::schedule::{Command, CommandKind, Name, Schedule};
use lacunar_notation::{Access, AssignOp, Expr, ExprKind, ReduceOp, Role, Tensor, TensorId, VarId, WorkspaceKind};

/// A command that says the order of the loops; none for a single loop.
pub(super) fn order_command(kernel: &Kernel, order: &[VarId]) -> Option<Command> {
    let name = |var: &VarId| Name { text: kernel.vars[*var].name.clone(), span: Span::NONE };
    let kind = CommandKind::Reorder(order.iter().map(name).collect());
    (order.len() > 1).then_some(Command { kind, span: Span::NONE })
}

/// Whether a schedule's commands apply to the flat nest of a statement.
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

/// How many of a schedule's commands come before all others and reorder variables of the statement.
pub(super) fn leading_reorders(schedule: &Schedule) -> usize {
    schedule.commands.iter().take_while(|command| matches!(command.kind, CommandKind::Reorder(_))).count()
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

/// The flat nest of a statement that is one sum, or has none; `None` for others.
pub(super) fn flat_nest(lhs: &Access, op: AssignOp, flat: &Expr, order: &[VarId]) -> Option<Stmt> {
    let (op, rhs) = match &flat.kind {
        ExprKind::Reduce(ReduceOp::Add, _, body) => (AssignOp::Reduce(ReduceOp::Add), (**body).clone()),
        _ => (op, flat.clone()),
    };
    rhs.reduced_vars().is_empty().then(|| Stmt::foralls(order, Stmt::Assign(Assign { lhs: lhs.clone(), op, rhs })))
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

/// What is added to the result goes through a variable where all of a sum is formed at one place, and through a workspace
/// where a sparse result would be scattered into.
pub(super) fn finish(kernel: &mut Kernel) -> Result<(), Diagnostic> {
    let (loops, inner) = chain(&kernel.stmt);
    let Stmt::Assign(assign) = inner else { return Ok(()) };
    if assign.op == AssignOp::Set {
        return Ok(());
    }
    let assign = assign.clone();
    let summed = |var: &VarId| kernel.provenance.originals(*var).iter().any(|own| !assign.lhs.vars.contains(own));
    let Some(first) = loops.iter().position(summed) else {
        return Ok(());
    };
    let (outside, inside) = loops.split_at(first);
    let scattered: Vec<VarId> =
        assign.lhs.vars.iter().copied().filter(|var| !kernel.provenance.is_known(*var, outside)).collect();
    let tensor = &kernel.tensors[assign.lhs.tensor];
    let dense = tensor.format.is_dense();
    if dense && !scattered.is_empty() {
        return Ok(());
    }
    // The consumer has the loops that only the scattered variables derive from.
    let consumer: Vec<VarId> = inside.iter().copied().filter(|var| !summed(var)).collect();
    let reached = [outside, consumer.as_slice()].concat();
    if let Some(cut) = scattered.iter().find(|var| !kernel.provenance.is_known(**var, &reached)) {
        let (name, result) = (&kernel.vars[*cut].name, &tensor.name);
        return Err(Diagnostic::error(
            "E1214",
            format!(
                "`{result}` ({}) is sparse, and `{name}` is known only together with what is summed over",
                tensor.format
            ),
        )
        .hint(format!("store `{result}` densely, or do not fuse `{name}` with a variable of the sum")));
    }
    let workspace = workspace(kernel, &scattered, &assign.rhs);
    let access = Access { tensor: workspace, vars: scattered, span: assign.rhs.span };
    let (dtype, span) = (assign.rhs.dtype, assign.rhs.span);
    let read = Expr { kind: ExprKind::Access(access.clone()), dtype, span };
    let op = if kernel.updates { assign.op } else { AssignOp::Set };
    let producer = Assign { lhs: access, op: assign.op, rhs: assign.rhs };
    let made = Stmt::Where {
        consumer: Box::new(Stmt::foralls(&consumer, Stmt::Assign(Assign { lhs: assign.lhs, op, rhs: read }))),
        producer: Box::new(Stmt::foralls(inside, Stmt::Assign(producer))),
    };
    kernel.stmt = Stmt::foralls(outside, made);
    Ok(())
}

fn chain(mut stmt: &Stmt) -> (Vec<VarId>, &Stmt) {
    let mut vars = Vec::new();
    while let Stmt::Forall(var, body) = stmt {
        vars.push(*var);
        stmt = body;
    }
    (vars, stmt)
}

fn workspace(kernel: &mut Kernel, vars: &[VarId], value: &Expr) -> TensorId {
    let order = vars.len();
    let (kind, format) = match order {
        0 => (WorkspaceKind::Scalar, Format::dense(0)),
        _ => (WorkspaceKind::Sorted, Format::coo(order)),
    };
    let name = super::free_name(kernel, if order == 0 { "t" } else { "w" });
    kernel.tensors.push(Tensor {
        name,
        format,
        dtype: value.dtype,
        dims: vars.iter().map(|var| kernel.vars[*var].size).collect(),
        role: Role::Workspace(kind),
        nnz: None,
        heaviest: None,
        span: value.span,
    })
}

/// Accesses whose positions a loop runs over keep their storage.
pub(super) fn is_positioned(kernel: &Kernel, tensor: TensorId, vars: &[VarId]) -> bool {
    kernel.provenance.relations.iter().any(
        |relation| matches!(relation, Relation::Pos { access, .. } if access.tensor == tensor && access.vars == vars),
    )
}
