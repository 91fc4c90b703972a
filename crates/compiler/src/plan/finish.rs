//! The last step after all commands of a schedule: the way in which computed values reach the result.
//!
//! A sum for one place goes through a variable. A sparse result that would be scattered into, or appended to out of order, gets a
//! workspace, which is read in order:
//!
//! ```text
//! forall(i0, forall(i1, forall(j, y(i) += A(i,j) * x(j))))
//!   ->  forall(i0, forall(i1, where(y(i) = t, forall(j, t += A(i,j) * x(j)))))
//! forall(j0, forall(i, forall(j1, C(i,j) = A(i,j) + B(i,j))))            C: csr
//!   ->  where(forall(i, forall(j0, forall(j1, C(i,j) = w(i,j)))), forall(j0, forall(i, forall(j1, w(i,j) = ..))))
//! ```
//!
//! Loops meet the coordinates of a result *in order* if they come in the order of its levels: first those that derive from
//! the variable of its first level, the outer part of a split one before the inner part, then those from the second, and so
//! on. Papers: Kjolstad et al. 2019, §4 (when a workspace is needed); Chou et al. 2018, §5.3 (appending demands order).

use lacunar_base::{Diagnostic, Span};
use lacunar_formats::Scalar;
use lacunar_notation::concrete::{Assign, Kernel, Stmt};
use lacunar_notation::provenance::{Provenance, Relation};
use lacunar_notation::schedule::{CommandKind, Race, Schedule};
use lacunar_notation::{Access, AssignOp, Expr, ExprKind, Monoid, Role, Tensor, TensorId, VarId, WorkspaceKind};

use crate::concretize::is_in_block;
use crate::iterate::in_order::is_appended;
use crate::iterate::iterators::{AccessKey, level_var};
use crate::iterate::position_space::replaced_by;
use crate::iterate::position_space::{driver, pos_levels};
use crate::schedule::check_shared;

use super::given::known_orders;
use super::lists;
use super::storage::can_be_walked;

/// Gives a flat nest the variable or the workspace that it needs.
///
/// # Errors
/// A sparse result cannot be assembled by these loops; the place is that of the command in `schedule` that made them.
pub(super) fn finish(kernel: &mut Kernel, schedule: &Schedule) -> Result<(), Diagnostic> {
    let (loops, inner) = chain(&kernel.stmt);
    let Stmt::Assign(assign) = inner else { return Ok(()) };
    let assign = assign.clone();
    let summed = |var: &VarId| is_summed(kernel, &assign, *var);
    let dense = kernel.tensors[assign.lhs.tensor].format.is_dense();
    if appends(kernel, &assign, &loops) {
        kernel.stmt = Stmt::foralls(&loops, Stmt::Assign(Assign { op: AssignOp::Set, ..assign }));
        return Ok(());
    }
    let first_summed = loops.iter().position(summed);
    let disordered = if dense { None } else { first_disordered(kernel, &assign.lhs, &loops) };
    let Some(cut) = first_summed.into_iter().chain(disordered).min() else { return Ok(()) };
    // Indivisible additions go to the result; before them, each iteration has a variable of its own.
    let atomic = loops.iter().position(|var| matches!(kernel.provenance.parallel(*var), Some((_, Race::Atomics))));
    let partial = atomic.is_some_and(|atomic| atomic >= cut);
    let cut = atomic.map_or(cut, |atomic| cut.max(atomic + 1));
    let (outside, inside) = loops.split_at(cut);
    let scattered: Vec<VarId> =
        assign.lhs.vars.iter().copied().filter(|var| !kernel.provenance.is_known(*var, outside)).collect();
    if dense && (!scattered.is_empty() || inside.is_empty()) {
        return Ok(());
    }
    let consumer: Vec<VarId> = in_order(kernel, &stored(kernel, &assign.lhs), &loops)
        .into_iter()
        .filter(|var| inside.contains(var) && !summed(var))
        .collect();
    let reached = [outside, consumer.as_slice()].concat();
    let needed = positioned(kernel, &consumer);
    let unknown = scattered.iter().chain(&needed).copied().find(|var| !kernel.provenance.is_known(*var, &reached));
    if unknown.is_some() || first_disordered(kernel, &assign.lhs, &reached).is_some() {
        return Err(unassembled(kernel, &assign.lhs, unknown, schedule));
    }
    let Some(fill) = assign.op.monoid().unwrap_or(Monoid::SUM).identity(assign.rhs.dtype.arithmetic()) else {
        return Ok(());
    };
    let workspace = workspace(kernel, &scattered, fill, assign.rhs.span);
    let access = Access { tensor: workspace, vars: scattered, span: assign.rhs.span };
    let (stored, span) = (assign.rhs.dtype, assign.rhs.span);
    let dtype = stored.arithmetic();
    let read = Expr { kind: ExprKind::Access(access.clone()), dtype, span }.cast(stored);
    let op = if kernel.updates || partial { assign.op } else { AssignOp::Set };
    let producer = Assign { lhs: access, op: assign.op, rhs: assign.rhs.cast(dtype) };
    let made = Stmt::Where {
        consumer: Box::new(Stmt::foralls(&consumer, Stmt::Assign(Assign { lhs: assign.lhs, op, rhs: read }))),
        producer: Box::new(Stmt::foralls(inside, Stmt::Assign(producer))),
    };
    kernel.stmt = Stmt::foralls(outside, made);
    lists::arrange(kernel);
    Ok(())
}

/// True if loops append the sums of a statement to a sparse result as they come.
fn appends(kernel: &Kernel, assign: &Assign, loops: &[VarId]) -> bool {
    let tensor = &kernel.tensors[assign.lhs.tensor];
    let is_plain = loops.iter().all(|var| kernel.provenance.is_plain(*var));
    let combines = assign.op.monoid().is_none_or(|monoid| monoid.compared().is_none());
    tensor.role == Role::Result
        && !tensor.format.is_dense()
        && is_plain
        && combines
        && !kernel.updates
        && is_appended(&kernel.tensors, &assign.lhs, &assign.rhs, loops)
}

/// Assigns values that are appended as they come: there is no value at their place that they could be combined with.
pub(super) fn assign_appended(kernel: &mut Kernel) {
    fn assigned(kernel: &Kernel, stmt: Stmt, loops: &mut Vec<VarId>) -> Stmt {
        match stmt {
            Stmt::Assign(assign) if appends(kernel, &assign, loops) => {
                Stmt::Assign(Assign { op: AssignOp::Set, ..assign })
            }
            Stmt::Assign(_) => stmt,
            Stmt::Forall(var, body) => {
                loops.push(var);
                let body = assigned(kernel, *body, loops);
                loops.pop();
                Stmt::Forall(var, Box::new(body))
            }
            Stmt::Where { consumer, producer } => Stmt::Where {
                consumer: Box::new(assigned(kernel, *consumer, loops)),
                producer: Box::new(assigned(kernel, *producer, loops)),
            },
            Stmt::Sequence(stmts) => {
                Stmt::Sequence(stmts.into_iter().map(|stmt| assigned(kernel, stmt, loops)).collect())
            }
        }
    }
    let stmt = std::mem::take(&mut kernel.stmt);
    kernel.stmt = assigned(kernel, stmt, &mut Vec::new());
}

/// Checks a schedule that is carried out: every operand is reached from its outermost level inwards, every sparse result is
/// appended to in the order of its levels and once at each place, and threads share only loops that they can share.
///
/// # Errors
/// The condition that does not hold.
pub(super) fn check(kernel: &Kernel, schedule: &Schedule) -> Result<(), Diagnostic> {
    for (assign, order) in known_orders(kernel) {
        let accesses = assign.rhs.accesses().into_iter().map(AccessKey::from);
        if let Some(key) = accesses.into_iter().find(|key| !can_be_walked(kernel, key, &order)) {
            return Err(contradicted(kernel, key.tensor, schedule));
        }
        check_lists(kernel, &assign, schedule)?;
    }
    check_assembly(kernel, &kernel.stmt, &mut Vec::new(), schedule)?;
    check_fill(kernel, schedule)?;
    check_workspaces(kernel, schedule)?;
    let shares =
        |kind: &CommandKind, loop_of: &str| matches!(kind, CommandKind::Parallelize { var, .. } if var.text == loop_of);
    check_shared(kernel, |loop_of| {
        let command = schedule.commands.iter().rfind(|command| shares(&command.kind, loop_of));
        command.map_or_else(|| span_of(schedule), |command| command.span)
    })
}

/// Checks workspaces: over variables of the statement they tell the coordinates of a sparse result, over parts of variables they do
/// not.
fn check_workspaces(kernel: &Kernel, schedule: &Schedule) -> Result<(), Diagnostic> {
    if kernel.tensors.iter().all(|(_, tensor)| tensor.role != Role::Result || tensor.format.is_dense()) {
        return Ok(());
    }
    let mut part = None;
    kernel.stmt.visit_assigns(&mut |assign| {
        if matches!(kernel.tensors[assign.lhs.tensor].role, Role::Workspace(_)) {
            part = part.or(assign.lhs.vars.iter().copied().find(|var| kernel.provenance.is_made(*var)));
        }
    });
    let Some(part) = part else { return Ok(()) };
    let message =
        format!("a workspace over `{}` does not tell which coordinates a sparse result has", kernel.vars[part].name);
    let hint = "let the workspace be over variables of the statement that are not split, fused or bounded, or store the result densely";
    Err(Diagnostic::error("E1214", message).label(span_of(schedule), "after this").hint(hint))
}

/// Checks statements one after the other: those that give a sparse result values have one of its blocks in common, which is there for all
/// of them. A place outside of blocks is appended once.
fn check_places(kernel: &Kernel, stmts: &[Stmt], loops: &[VarId], schedule: &Schedule) -> Result<(), Diagnostic> {
    let is_sparse = |tensor: &TensorId| {
        let tensor = &kernel.tensors[*tensor];
        tensor.role == Role::Result && !tensor.format.is_dense()
    };
    let given = |stmt: &Stmt| stmt.writes().into_iter().find(is_sparse);
    let mut results = stmts.iter().filter_map(given);
    let (Some(result), Some(_)) = (results.next(), results.next()) else { return Ok(()) };
    let mut accesses = Vec::new();
    stmts.iter().for_each(|stmt| {
        stmt.visit_assigns(&mut |assign| accesses.extend((assign.lhs.tensor == result).then_some(&assign.lhs)));
    });
    let has_block = |lhs: &&Access| {
        let (inside, outside): (Vec<VarId>, Vec<VarId>) =
            lhs.vars.iter().partition(|var| is_in_block(kernel, lhs, **var));
        !inside.is_empty() && outside.iter().all(|var| kernel.provenance.is_known(*var, loops))
    };
    if accesses.iter().all(has_block) {
        return Ok(());
    }
    let Tensor { name, format, .. } = &kernel.tensors[result];
    let message = format!("`{name}` ({format}) is sparse, and gets values at several places of the loops");
    let hint = format!(
        "store `{name}` densely, or let a workspace take the values: `where(.. = w(..), sequence(w(..) += .., w(..) += ..))`"
    );
    Err(Diagnostic::error("E1214", message).label(span_of(schedule), "after this").hint(hint))
}

/// Checks the fill value: values that are combined into a sparse result begin with the identity, which has to be the value of
/// elements that are not stored.
fn check_fill(kernel: &Kernel, schedule: &Schedule) -> Result<(), Diagnostic> {
    let mut added = None;
    kernel.stmt.visit_assigns(&mut |assign| {
        let tensor = &kernel.tensors[assign.lhs.tensor];
        let gaps = tensor.role == Role::Result && !tensor.format.is_dense();
        let identity = assign.op.monoid().map(|monoid| monoid.identity(tensor.dtype));
        if let Some(identity) = identity.filter(|identity| gaps && *identity != Some(tensor.fill())) {
            added = Some((tensor, identity));
        }
    });
    let Some((Tensor { name, .. }, identity)) = added else { return Ok(()) };
    let identity = identity.map_or_else(String::new, |identity| identity.to_string());
    let message =
        format!("values are combined into `{name}`, whose elements are not {identity} where nothing is stored");
    let hint = format!(
        "leave the summed loops inside of those over the blocks of `{name}`, or declare the fill value {identity} for it"
    );
    Err(Diagnostic::error("E1217", message).label(span_of(schedule), "after this").hint(hint))
}

/// A list is read from its beginning to its end, and not at the coordinates that the positions of another tensor hold.
fn check_lists(kernel: &Kernel, assign: &Assign, schedule: &Schedule) -> Result<(), Diagnostic> {
    for access in assign.rhs.accesses() {
        let tensor = &kernel.tensors[access.tensor];
        let listed = tensor.role.is_list();
        if let Some(var) = access.vars.iter().find(|var| listed && replaced_by(kernel, **var).is_some()) {
            let (name, var) = (&tensor.name, &kernel.vars[*var].name);
            let message = format!("workspace `{name}` is a list, which cannot be read at positions of `{var}`");
            let hint = "keep the loops over the result's variables in order, or leave them over coordinates";
            return Err(Diagnostic::error("E1214", message).label(span_of(schedule), "after this").hint(hint));
        }
    }
    Ok(())
}

fn check_assembly(kernel: &Kernel, stmt: &Stmt, loops: &mut Vec<VarId>, schedule: &Schedule) -> Result<(), Diagnostic> {
    match stmt {
        Stmt::Forall(var, body) => {
            loops.push(*var);
            let outcome = check_assembly(kernel, body, loops, schedule);
            loops.pop();
            outcome
        }
        Stmt::Where { consumer, producer } => {
            check_assembly(kernel, producer, loops, schedule)?;
            check_assembly(kernel, consumer, loops, schedule)
        }
        Stmt::Sequence(stmts) => {
            check_places(kernel, stmts, loops, schedule)?;
            stmts.iter().try_for_each(|stmt| check_assembly(kernel, stmt, loops, schedule))
        }
        Stmt::Assign(Assign { lhs, rhs, .. }) => {
            let tensor = &kernel.tensors[lhs.tensor];
            let is_direct = || is_appended(&kernel.tensors, lhs, rhs, loops);
            let appended = tensor.role == Role::Result && !tensor.format.is_dense() && !is_direct();
            let again = || {
                let block = lhs.vars.iter().any(|var| is_in_block(kernel, lhs, *var));
                !block && loops.iter().any(|leaf| derived(kernel, *leaf).all(|var| !lhs.vars.contains(&var)))
            };
            if appended && (first_disordered(kernel, lhs, loops).is_some() || again()) {
                return Err(unassembled(kernel, lhs, None, schedule));
            }
            Ok(())
        }
    }
}

/// True if the loop over a leaf, or a part of it, runs over a variable that an assignment sums over.
pub(super) fn is_summed(kernel: &Kernel, assign: &Assign, leaf: VarId) -> bool {
    derived(kernel, leaf).any(|var| !assign.lhs.vars.contains(&var))
}

fn derived(kernel: &Kernel, leaf: VarId) -> impl Iterator<Item = VarId> {
    kernel.provenance.originals(leaf).into_iter()
}

/// The variables of an access in the order of its levels.
fn stored(kernel: &Kernel, access: &Access) -> Vec<VarId> {
    let key = AccessKey::from(access);
    (0..key.vars.len()).map(|level| level_var(kernel, &key, level)).collect()
}

/// The depth of the first of some loops that leaves the order in which a sparse tensor is appended to. After the loops that tell
/// the coordinates of its sparse levels, any loop may follow.
fn first_disordered(kernel: &Kernel, lhs: &Access, loops: &[VarId]) -> Option<usize> {
    let levels = stored(kernel, lhs);
    let appended: Vec<VarId> = levels.iter().copied().filter(|var| !is_in_block(kernel, lhs, *var)).collect();
    let wanted = in_order(kernel, &appended, loops);
    // A strip of pairs that ends within a row begins the next one with the same row, which such a level has once.
    let format = &kernel.tensors[lhs.tensor].format;
    let once = |level: usize| {
        let properties = format.levels()[level].properties();
        !properties.full && properties.unique
    };
    let mut started = 0;
    for (depth, leaf) in loops.iter().enumerate() {
        if appended.iter().all(|var| kernel.provenance.is_known(*var, &loops[..depth])) {
            return None;
        }
        if wanted.get(depth) != Some(leaf) || strides_ahead(&kernel.provenance, *leaf, &loops[..depth]) {
            return Some(depth);
        }
        // The first of fused variables is the one whose level follows.
        let own: Vec<VarId> = derived(kernel, *leaf).collect();
        let begin = levels.iter().position(|var| Some(var) == own.first());
        match begin {
            Some(begin) if begin <= started && started <= begin + own.len() && levels[begin..].starts_with(&own) => {
                started = begin + own.len();
                if is_part(&kernel.provenance, *leaf) && (begin..started - 1).any(once) {
                    return Some(depth);
                }
            }
            _ => return Some(depth),
        }
    }
    None
}

/// True if a loop runs inside of strips while the loop over the strips follows: it is over the inner part of a split, or of a pair that
/// has one, and `before` does not tell the outer part.
fn strides_ahead(provenance: &Provenance, leaf: VarId, before: &[VarId]) -> bool {
    fn pairs(provenance: &Provenance, var: VarId, found: &mut Vec<VarId>) {
        match provenance.origin(var) {
            Some(Relation::Fuse { outer, inner, .. }) => {
                pairs(provenance, *outer, found);
                pairs(provenance, *inner, found);
            }
            _ => found.push(var),
        }
    }
    let mut parts = Vec::new();
    pairs(provenance, leaf, &mut parts);
    let known = [before, parts.as_slice()].concat();
    parts.iter().enumerate().any(|(number, part)| {
        let known = &known[..before.len() + number];
        std::iter::successors(Some(*part), |var| provenance.origin(*var)?.parents().first().copied()).any(|var| {
            match provenance.origin(var) {
                Some(Relation::Split { outer, inner, .. } | Relation::Divide { outer, inner, .. }) => {
                    var == *inner && !provenance.is_known(*outer, known)
                }
                _ => false,
            }
        })
    })
}

/// True if a variable is a strip, or made of one.
fn is_part(provenance: &Provenance, var: VarId) -> bool {
    let cut = |var| matches!(provenance.origin(var), Some(Relation::Split { .. } | Relation::Divide { .. }));
    provenance.ancestors(var).into_iter().any(cut)
}

/// The variables under whose values the positions of some loops lie.
fn positioned(kernel: &Kernel, loops: &[VarId]) -> Vec<VarId> {
    let above = |leaf: &VarId| {
        let key = AccessKey::from(driver(kernel, *leaf)?);
        let originals: Vec<VarId> = derived(kernel, *leaf).collect();
        let first = pos_levels(kernel, &key, &originals).start;
        Some((0..first).map(|level| level_var(kernel, &key, level)).collect::<Vec<_>>())
    };
    loops.iter().filter_map(above).flatten().collect()
}

/// The loops that derive from variables, in the order in which they run through these variables' values.
fn in_order(kernel: &Kernel, vars: &[VarId], loops: &[VarId]) -> Vec<VarId> {
    fn collect(provenance: &Provenance, var: VarId, loops: &[VarId], found: &mut Vec<VarId>) {
        if loops.contains(&var) {
            if !found.contains(&var) {
                found.push(var);
            }
            return;
        }
        let parts = provenance.uses(var).find(|relation| {
            !matches!(relation, Relation::Rename { .. })
                && relation.children().into_iter().all(|child| provenance.is_known(child, loops))
        });
        for child in parts.into_iter().flat_map(Relation::children) {
            collect(provenance, child, loops, found);
        }
    }
    let mut found = Vec::new();
    vars.iter().for_each(|var| collect(&kernel.provenance, *var, loops, &mut found));
    found
}

fn unassembled(kernel: &Kernel, lhs: &Access, unknown: Option<VarId>, schedule: &Schedule) -> Diagnostic {
    let tensor = &kernel.tensors[lhs.tensor];
    let (name, format) = (&tensor.name, &tensor.format);
    let message = match unknown {
        Some(var) => {
            let var = &kernel.vars[var].name;
            format!("`{name}` ({format}) is sparse, and `{var}` is known only together with what is summed over")
        }
        None => format!("the loops do not append to `{name}` ({format}) in the order of its levels"),
    };
    let hint = format!("store `{name}` densely, or keep the loops over its variables in order");
    Diagnostic::error("E1214", message).label(span_of(schedule), "after this").hint(hint)
}

/// The refusal of loops that an operand's storage cannot follow, and that cannot be helped by converting it.
pub(super) fn contradicted(kernel: &Kernel, tensor: TensorId, schedule: &Schedule) -> Diagnostic {
    let name = &kernel.tensors[tensor].name;
    Diagnostic::error("E1213", format!("the order of the loops contradicts how `{name}` is stored"))
        .label(span_of(schedule), "after this")
        .hint(format!("keep the order of the levels of `{name}`, or take the positions of another operand"))
}

/// The last command that made loops.
fn span_of(schedule: &Schedule) -> Span {
    let says = |kind: &CommandKind| {
        matches!(
            kind,
            CommandKind::Parallelize { .. }
                | CommandKind::Unroll { .. }
                | CommandKind::Mergeby { .. }
                | CommandKind::Assemble { .. }
        )
    };
    schedule.commands.iter().rev().find(|command| !says(&command.kind)).map_or(Span::NONE, |command| command.span)
}

/// The loops of a nest, and the statement inside of all of them.
pub(super) fn chain(mut stmt: &Stmt) -> (Vec<VarId>, &Stmt) {
    let mut vars = Vec::new();
    while let Stmt::Forall(var, body) = stmt {
        vars.push(*var);
        stmt = body;
    }
    (vars, stmt)
}

fn workspace(kernel: &mut Kernel, vars: &[VarId], fill: Scalar, span: Span) -> TensorId {
    let (kind, base) = if vars.is_empty() { (WorkspaceKind::Scalar, "t") } else { (WorkspaceKind::Sorted, "w") };
    let name = super::convert::free_name(&kernel.tensors, base);
    let dims = vars.iter().map(|var| kernel.vars[*var].size).collect();
    kernel.tensors.push(Tensor::workspace(name, kind, dims, fill, span))
}
