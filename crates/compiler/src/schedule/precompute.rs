//! `precompute(e, {i}, {iw}, kind)`: a part of an expression is computed into a workspace first.
//!
//! Demands: `e` is a part of the right-hand side of one assignment (of a product or a sum: some of its operands), and the loops
//! over the named variables stand around it. Relation: rename, where the workspace's loops have new names.
//!
//! ```text
//! forall(i, forall(j, y(i) += A(i,j) * x(j)))
//!   ->  forall(i, where(y(i) = t, forall(j, t += A(i,j) * x(j))))                      precompute(A(i,j) * x(j), {}, {})
//! forall(i, y(i) = b(i) * c(i))
//!   ->  where(forall(i, y(i) = w(i)), forall(iw, w(iw) = b(iw) * c(iw)))               precompute(b(i) * c(i), i, iw)
//! ```
//!
//! Loops of sums that only the part needs move into the producer, if the part is a factor of what is summed up (`exp(A(i,j))`
//! is not the same of a sum). The producer stands outside of loops that it does not depend on, and inside of those that the
//! part and the rest both depend on and that the workspace is not over.
//! Papers: Kjolstad et al. 2019, §4; Senanayake et al. 2020, §5.1.

use lacunar_base::{Diagnostic, Span};
use lacunar_formats::Format;
use lacunar_notation::concrete::{Assign, Kernel, Stmt};
use lacunar_notation::provenance::Relation;
use lacunar_notation::schedule::Name;
use lacunar_notation::{
    Access, AssignOp, BinaryFn, Expr, ExprKind, ReduceOp, Role, Tensor, TensorId, UnaryFn, VarId, WorkspaceKind,
};

use crate::iterate::iterators::AccessKey;
use crate::iterate::space::pos_levels;

use super::{leaf, new_var, refuse};

pub(super) fn precompute(
    kernel: &mut Kernel,
    expr: &Expr,
    vars: &[Name],
    into: &[Name],
    kind: Option<WorkspaceKind>,
    span: Span,
) -> Result<(), Diagnostic> {
    let leaves = vars.iter().map(|name| leaf(kernel, name)).collect::<Result<Vec<_>, _>>()?;
    let Some(Found { assign, loops, around }) = find(&kernel.stmt, expr, &mut Path::default()) else {
        return Err(refuse("E1212", span, "the expression is no part of what is computed", "this")
            .hint("name operands of one sum or product as they stand in the statement"));
    };
    if let Some((name, _)) = vars.iter().zip(&leaves).find(|(_, var)| !loops.contains(var)) {
        return Err(refuse(
            "E1212",
            name.span,
            format!("the loop over `{name}` is not around the expression"),
            "not around",
        ));
    }
    let needs = |expr_vars: &[VarId], leaf: VarId| {
        kernel.provenance.originals(leaf).iter().any(|original| expr_vars.contains(original))
            || expr_vars.contains(&leaf)
    };
    let part_vars = expr.free_vars();
    let placeholder = Expr::zero(expr.dtype);
    let (rest, part) = match replace(&assign.rhs, expr, &placeholder) {
        Some((rest, part)) => (rest, part),
        None => return Err(Diagnostic::internal("the expression to precompute is lost")),
    };
    let mut other_vars = rest.free_vars();
    other_vars.extend(&assign.lhs.vars);
    // Outside stay the loops before the first that the workspace, or only the part, runs over.
    let sums = |leaf: VarId| needs(&part_vars, leaf) && !needs(&other_vars, leaf);
    let both = |leaf: VarId| needs(&part_vars, leaf) && needs(&other_vars, leaf);
    let mut place = loops.iter().position(|var| leaves.contains(var) || sums(*var)).unwrap_or(loops.len());
    let shared = loops.iter().rposition(|var| !leaves.contains(var) && both(*var));
    if let Some(shared) = shared.filter(|shared| *shared >= place) {
        if let Some(leaf) = loops[..shared].iter().find(|var| leaves.contains(var)) {
            let (name, leaf) = (&kernel.vars[loops[shared]].name, &kernel.vars[*leaf].name);
            return Err(refuse("E1212", span, format!("the expression and the rest both depend on `{name}`"), "this")
                .hint(format!(
                    "name `{name}` among the variables, or `reorder` its loop outside of that over `{leaf}`"
                )));
        }
        place = shared + 1;
    }
    // Loops that the part does not depend on would only repeat it.
    while place > 0 && !leaves.is_empty() && !needs(&part_vars, loops[place - 1]) {
        place -= 1;
    }
    let inside = &loops[place..];
    let consumer_loops: Vec<VarId> = inside
        .iter()
        .copied()
        .filter(|var| leaves.contains(var) || needs(&other_vars, *var) || !needs(&part_vars, *var))
        .collect();
    let producer_loops: Vec<VarId> =
        inside.iter().copied().filter(|var| leaves.contains(var) || needs(&part_vars, *var)).collect();
    if let Some(summed) = inside.iter().find(|var| !leaves.contains(var) && sums(**var))
        && !is_factor(&assign.rhs, expr)
    {
        let name = &kernel.vars[*summed].name;
        let message = format!("the expression is not a factor of what is summed up over `{name}`");
        return Err(
            refuse("E1212", span, message, "this").hint(format!("name `{name}` among the variables of the workspace"))
        );
    }
    if let Some((name, tensor)) =
        vars.iter().zip(&leaves).find_map(|(name, leaf)| Some((name, first_varies(kernel, *leaf)?)))
    {
        let message =
            format!("the first position `{name}` of `{}` is not the same everywhere", kernel.tensors[tensor].name);
        return Err(refuse("E1212", name.span, message, "positions under those of other loops")
            .hint("split the positions and name the inner part, or leave the loop over coordinates"));
    }
    let strip = leaves.iter().find(|leaf| {
        kernel.provenance.origin(**leaf).is_some_and(|relation| !matches!(relation, Relation::Rename { .. }))
    });
    let kind = match (kind, strip) {
        (Some(WorkspaceKind::Marked | WorkspaceKind::Sorted), Some(leaf)) => {
            let message = format!("`{}` counts iterations, all of which have a place", kernel.vars[*leaf].name);
            return Err(refuse("E1212", span, message, "not a list").hint("such a workspace is `dense`"));
        }
        (None, Some(_)) => Some(WorkspaceKind::Dense),
        _ => kind,
    };
    let reduces = producer_loops.iter().any(|var| !leaves.contains(var));
    let assign = assign.clone();
    let mut copies = leaves.clone();
    let mut part = part;
    let mut producer_vars = producer_loops.clone();
    for ((copy, &var), name) in copies.iter_mut().zip(&leaves).zip(into) {
        if name.text == kernel.vars[var].name {
            continue;
        }
        if kernel.provenance.origin(var).is_some() {
            let message = format!("`{}` derives from other variables and keeps its name", kernel.vars[var].name);
            return Err(refuse("E1212", name.span, message, "a new name"));
        }
        if let Some(tensor) = positions_under(kernel, var, &producer_loops) {
            let (var, tensor) = (&kernel.vars[var].name, &kernel.tensors[tensor].name);
            let message = format!("positions of `{tensor}` lie under a value of `{var}`, which keeps its name");
            return Err(refuse("E1212", name.span, message, "a new name"));
        }
        let size = kernel.vars[var].size;
        let renamed = new_var(kernel, name, size);
        kernel.provenance.relations.push(Relation::Rename { parent: var, copy: renamed });
        part = rename(part, var, renamed);
        producer_vars.iter_mut().filter(|own| **own == var).for_each(|own| *own = renamed);
        *copy = renamed;
    }
    let tensor = workspace(kernel, &leaves, kind, &part);
    if kind.is_some() {
        kernel.provenance.stored.push(tensor);
    }
    let read = Access { tensor, vars: leaves.clone(), span };
    let fill = Access { tensor, vars: copies, span };
    let dtype = part.dtype;
    let value = Expr { kind: ExprKind::Access(read), dtype, span };
    let rhs = replace(&assign.rhs, expr, &value).map_or_else(|| assign.rhs.clone(), |(rhs, _)| rhs);
    // Where no loop of the sum is left around the consumer, it assigns.
    let summed = |var: &VarId| {
        let originals = kernel.provenance.originals(*var);
        !originals.iter().all(|original| assign.lhs.vars.contains(original)) && !assign.lhs.vars.contains(var)
    };
    let left = consumer_loops.iter().chain(&around[..around.len() - inside.len()]).any(summed);
    let op = if left || kernel.updates { assign.op } else { AssignOp::Set };
    let consumer = Stmt::foralls(&consumer_loops, Stmt::Assign(Assign { lhs: assign.lhs.clone(), op, rhs }));
    let op = if reduces { AssignOp::Reduce(ReduceOp::Add) } else { AssignOp::Set };
    let producer = Stmt::foralls(&producer_vars, Stmt::Assign(Assign { lhs: fill, op, rhs: part }));
    let made = Stmt::Where { consumer: Box::new(consumer), producer: Box::new(producer) };
    let target = Stmt::foralls(inside, Stmt::Assign(assign));
    let stmt = std::mem::take(&mut kernel.stmt);
    kernel.stmt = substitute(stmt, &target, &made);
    Ok(())
}

/// The tensor whose positions a variable runs over where they do not begin at the root: they have no place in a workspace.
fn first_varies(kernel: &Kernel, leaf: VarId) -> Option<TensorId> {
    match kernel.provenance.origin(leaf)? {
        Relation::Pos { coordinate, access, .. } => {
            let levels = pos_levels(kernel, &AccessKey::from(access), &kernel.provenance.originals(*coordinate));
            (levels.start > 0).then_some(access.tensor)
        }
        _ => None,
    }
}

/// A tensor whose positions some of `loops` run over, under values of a variable.
fn positions_under(kernel: &Kernel, var: VarId, loops: &[VarId]) -> Option<TensorId> {
    kernel.provenance.relations.iter().find_map(|relation| match relation {
        Relation::Pos { position, access, .. } => {
            let run_over = loops.iter().any(|leaf| kernel.provenance.derives(*leaf, *position));
            (run_over && access.vars.contains(&var)).then_some(access.tensor)
        }
        _ => None,
    })
}

/// The assignment that computes an expression.
struct Found<'s> {
    assign: &'s Assign,
    /// The loops that stand around it without a workspace between.
    loops: Vec<VarId>,
    /// All loops around it since what it assigns to was empty; those of `loops` are the last.
    around: Vec<VarId>,
}

/// The loops on the way to an assignment.
#[derive(Default)]
struct Path {
    loops: Vec<VarId>,
    /// How many of them stand outside of the last workspace.
    outer: usize,
    /// Workspaces that are filled here, each with the number of loops outside.
    filled: Vec<(TensorId, usize)>,
}

fn find<'s>(stmt: &'s Stmt, expr: &Expr, path: &mut Path) -> Option<Found<'s>> {
    match stmt {
        Stmt::Assign(assign) => {
            replace(&assign.rhs, expr, &Expr::zero(expr.dtype))?;
            let empty = path.filled.iter().rev().find(|(tensor, _)| *tensor == assign.lhs.tensor);
            let around = path.loops[empty.map_or(0, |(_, depth)| *depth)..].to_vec();
            Some(Found { assign, loops: path.loops[path.outer..].to_vec(), around })
        }
        Stmt::Forall(var, body) => {
            path.loops.push(*var);
            let found = find(body, expr, path);
            path.loops.pop();
            found
        }
        Stmt::Where { consumer, producer } => {
            let (outer, depth) = (path.outer, path.loops.len());
            path.outer = depth;
            let found = find(consumer, expr, path).or_else(|| {
                let others = path.filled.len();
                path.filled.extend(producer.writes().into_iter().map(|tensor| (tensor, depth)));
                let found = find(producer, expr, path);
                path.filled.truncate(others);
                found
            });
            path.outer = outer;
            found
        }
        Stmt::Sequence(stmts) => {
            let outer = std::mem::replace(&mut path.outer, path.loops.len());
            let found = stmts.iter().find_map(|stmt| find(stmt, expr, path));
            path.outer = outer;
            found
        }
    }
}

/// Whether a part stands in an expression as a factor, so that a sum of the whole is the whole of the part's sum.
fn is_factor(within: &Expr, part: &Expr) -> bool {
    match &within.kind {
        _ if same(within, part) => true,
        ExprKind::Binary(BinaryFn::Mul, a, b) => {
            let (mut all, mut wanted) = (Vec::new(), Vec::new());
            operands(within, BinaryFn::Mul, &mut all);
            operands(part, BinaryFn::Mul, &mut wanted);
            wanted.iter().all(|want| all.iter().any(|have| same(have, want)))
                || is_factor(a, part)
                || is_factor(b, part)
        }
        ExprKind::Binary(BinaryFn::Div, a, _) | ExprKind::Unary(UnaryFn::Neg, a) => is_factor(a, part),
        _ => false,
    }
}

/// The statement with its first part that is `target` replaced.
fn substitute(stmt: Stmt, target: &Stmt, made: &Stmt) -> Stmt {
    if stmt == *target {
        return made.clone();
    }
    match stmt {
        Stmt::Assign(_) => stmt,
        Stmt::Forall(var, body) => Stmt::Forall(var, Box::new(substitute(*body, target, made))),
        Stmt::Where { consumer, producer } => Stmt::Where {
            consumer: Box::new(substitute(*consumer, target, made)),
            producer: Box::new(substitute(*producer, target, made)),
        },
        Stmt::Sequence(stmts) => Stmt::Sequence(stmts.into_iter().map(|stmt| substitute(stmt, target, made)).collect()),
    }
}

/// The expression with a part replaced, and the part as it stands there.
fn replace(within: &Expr, part: &Expr, by: &Expr) -> Option<(Expr, Expr)> {
    let (stored, computed) = (within.dtype, within.dtype.arithmetic());
    if stored != computed && matches!(within.kind, ExprKind::Access(_)) && same(within, part) {
        let by = Expr { dtype: computed, ..by.clone() };
        return Some((by.cast(stored), within.clone().cast(computed)));
    }
    // What is converted in order to be stored is computed before.
    if stored == computed && same(within, part) {
        let by = if by.dtype == within.dtype { by.clone() } else { Expr { dtype: within.dtype, ..by.clone() } };
        return Some((by, within.clone()));
    }
    if let (ExprKind::Binary(op @ (BinaryFn::Mul | BinaryFn::Add), ..), ExprKind::Binary(other, ..)) =
        (&within.kind, &part.kind)
        && op == other
    {
        // Some operands of a longer product or sum.
        let (mut all, mut wanted) = (Vec::new(), Vec::new());
        operands(within, *op, &mut all);
        operands(part, *op, &mut wanted);
        let mut taken = Vec::new();
        let found = wanted.iter().all(|want| {
            let place = all.iter().position(|have| same(have, want));
            place.map(|place| taken.push(all.remove(place))).is_some()
        });
        if found {
            let join = |a: Expr, b: Expr| Expr::binary(*op, a, b, within.dtype);
            let taken = taken.into_iter().cloned().reduce(join)?;
            let by = Expr { dtype: taken.dtype, ..by.clone() };
            let rest = std::iter::once(by).chain(all.into_iter().cloned()).reduce(join)?;
            return Some((rest, taken));
        }
    }
    let mut found = None;
    let replaced = within.clone().map_children(&mut |child| match &found {
        None => match replace(&child, part, by) {
            Some((replaced, taken)) => {
                found = Some(taken);
                replaced
            }
            None => child,
        },
        Some(_) => child,
    });
    found.map(|taken| (replaced, taken))
}

fn operands<'e>(expr: &'e Expr, op: BinaryFn, found: &mut Vec<&'e Expr>) {
    match &expr.kind {
        ExprKind::Binary(own, a, b) if *own == op => {
            operands(a, op, found);
            operands(b, op, found);
        }
        _ => found.push(expr),
    }
}

/// Whether two expressions are the same, wherever they stand and whatever the types.
fn same(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Access(a), ExprKind::Access(b)) => a.tensor == b.tensor && a.vars == b.vars,
        (ExprKind::Literal(a), ExprKind::Literal(b)) => a == b,
        (ExprKind::Unary(f, a), ExprKind::Unary(g, b)) => f == g && same(a, b),
        (ExprKind::Binary(f, a, c), ExprKind::Binary(g, b, d)) => f == g && same(a, b) && same(c, d),
        (ExprKind::Reduce(f, v, a), ExprKind::Reduce(g, w, b)) => f == g && v == w && same(a, b),
        (ExprKind::Cast(a), ExprKind::Cast(b)) => same(a, b),
        (ExprKind::Cast(a), _) => same(a, b),
        (_, ExprKind::Cast(b)) => same(a, b),
        _ => false,
    }
}

fn rename(expr: Expr, from: VarId, to: VarId) -> Expr {
    match expr.kind {
        ExprKind::Access(mut access) => {
            access.vars.iter_mut().filter(|var| **var == from).for_each(|var| *var = to);
            Expr { kind: ExprKind::Access(access), ..expr }
        }
        _ => expr.map_children(&mut |child| rename(child, from, to)),
    }
}

/// A new workspace. Where its kind is not said, it is chosen when all commands are carried out.
fn workspace(kernel: &mut Kernel, vars: &[VarId], kind: Option<WorkspaceKind>, part: &Expr) -> TensorId {
    let order = vars.len();
    let kind = match (order, kind) {
        (0, _) => WorkspaceKind::Scalar,
        // A list of marks is for one variable.
        (1, Some(WorkspaceKind::Marked)) => WorkspaceKind::Marked,
        (_, Some(WorkspaceKind::Dense)) => WorkspaceKind::Dense,
        _ => WorkspaceKind::Sorted,
    };
    let base = if order == 0 { "t" } else { "w" };
    let mut number = 1;
    let name = loop {
        let name = if number == 1 { base.to_string() } else { format!("{base}{number}") };
        if !kernel.tensors.iter().any(|(_, tensor)| tensor.name == name) {
            break name;
        }
        number += 1;
    };
    let format = match kind {
        WorkspaceKind::Scalar | WorkspaceKind::Dense => Format::dense(order),
        WorkspaceKind::Marked => Format::sv(),
        WorkspaceKind::Sorted => Format::coo(order),
    };
    kernel.tensors.push(Tensor {
        name,
        format,
        dtype: part.dtype,
        dims: vars.iter().map(|var| kernel.vars[*var].size).collect(),
        role: Role::Workspace(kind),
        nnz: None,
        heaviest: None,
        view: None,
        fill: None,
        span: part.span,
    })
}
