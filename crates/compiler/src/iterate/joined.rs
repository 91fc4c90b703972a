//! Sums whose terms have intervals of a row to themselves: they are appended one behind the other, without workspaces.
//!
//! ```text
//! C(i,j) = A(i,j+0) + B(i,j-500)                   A has 500 columns
//! where(forall(j, C(i,j) = w(j) + v(j)),
//!       { forall(d, forall(j, w(j) += [d == j] * A(i,d)));  forall(e, forall(j, v(j) += [e == j - 500] * B(i,e))) })
//!   ->  { forall(d, forall(j, C(i,j) = [d == j] * A(i,d)));  forall(e, forall(j, C(i,j) = [e == j - 500] * B(i,e))) }
//! ```
//!
//! A term's interval follows from the equations that tie its place to variables of operands, whose sizes are known: so blocks that stand
//! side by side are copied in one pass over each row. Terms that overlap, or whose sizes are parameters, keep their workspaces.
//!
//! On entry: the residual of a `where` at a lattice point. On exit: a sequence of loops, each over places behind those of the one before.

use lacunar_base::Arena;
use lacunar_notation::concrete::{Assign, Stmt};
use lacunar_notation::{Access, AssignOp, BinaryFn, Expr, ExprKind, Role, Tensor, UnaryFn, VarId, WorkspaceKind};

use super::in_order::in_order;
use super::residual::{is_appended, nest};
use crate::algebra::{preserves_fill, without};

/// The producers of a sum of workspaces as statements of the result, if each has an interval of the innermost dimension to itself.
pub(super) fn joined(tensors: &Arena<Tensor>, consumer: &Stmt, producer: &Stmt) -> Option<Stmt> {
    let (places, sum) = nest(consumer)?;
    let ([place], Stmt::Sequence(producers)) = (places.as_slice(), producer) else { return None };
    if sum.op != AssignOp::Set || !is_appended(&tensors[sum.lhs.tensor]) || !is_sum(&sum.rhs) {
        return None;
    }
    let mut terms = producers.iter().map(|fill| term(tensors, sum, *place, fill)).collect::<Option<Vec<_>>>()?;
    let is_filled = |access: &&Access| terms.iter().any(|term| term.workspace == **access);
    if sum.rhs.accesses().len() != terms.len() || !sum.rhs.accesses().iter().all(is_filled) {
        return None;
    }
    terms.sort_by_key(|term| term.interval);
    let is_apart = terms.windows(2).all(|pair| pair[0].interval.1 <= pair[1].interval.0);
    is_apart.then(|| Stmt::Sequence(terms.into_iter().map(|term| term.stmt).collect()))
}

/// One of the terms.
struct Term {
    workspace: Access,
    /// The first place, and the one behind the last.
    interval: (u64, u64),
    stmt: Stmt,
}

/// The term that a workspace is filled with.
fn term(tensors: &Arena<Tensor>, sum: &Assign, place: VarId, fill: &Stmt) -> Option<Term> {
    let (loops, fill) = nest(fill)?;
    let workspace = sum.rhs.accesses().into_iter().find(|access| access.tensor == fill.lhs.tensor)?.clone();
    let is_whole = matches!(tensors[workspace.tensor].role, Role::Workspace(kind) if kind != WorkspaceKind::Scalar)
        && workspace.vars == [place]
        && fill.lhs.vars == workspace.vars
        && fill.rhs.dtype == tensors[workspace.tensor].dtype
        && matches!(fill.op, AssignOp::Reduce(monoid) if monoid.compared().is_none());
    if !is_whole || !in_order(tensors, &fill.rhs, &loops, &[place]) {
        return None;
    }
    let others = |access: &Access| *access != workspace;
    let rhs = in_place(without(tensors, &sum.rhs, &others), &workspace, &fill.rhs);
    let assign = Assign { lhs: sum.lhs.clone(), op: AssignOp::Set, rhs };
    if !preserves_fill(tensors, &assign) {
        return None;
    }
    let interval = interval(tensors, &fill.rhs, place)?;
    Some(Term { workspace, interval, stmt: Stmt::foralls(&loops, Stmt::Assign(assign)) })
}

/// True if an expression is a sum of accesses, with signs and conversions.
fn is_sum(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Access(_) => true,
        ExprKind::Unary(UnaryFn::Neg, a) | ExprKind::Cast(a) => is_sum(a),
        ExprKind::Binary(BinaryFn::Add | BinaryFn::Sub, a, b) => is_sum(a) && is_sum(b),
        _ => false,
    }
}

/// An expression with another one in place of an access.
fn in_place(expr: Expr, access: &Access, by: &Expr) -> Expr {
    match &expr.kind {
        ExprKind::Access(own) if own == access => by.clone(),
        _ => expr.map_children(&mut |child| in_place(child, access, by)),
    }
}

/// The places between which a term has values: the first, and the one behind the last. `None` if no equation bounds them.
fn interval(tensors: &Arena<Tensor>, expr: &Expr, place: VarId) -> Option<(u64, u64)> {
    let intervals = expr.accesses().into_iter().filter_map(|tie| {
        let tensor = &tensors[tie.tensor];
        let equation = tensor.indicator.as_deref()?.equation()?;
        let sizes: Vec<u64> = tensor.dims.iter().copied().collect::<Option<_>>()?;
        let at = tie.vars.iter().position(|var| *var == place)?;
        let is_factor = without(tensors, expr, &|other: &Access| other.is_same_element(tie)).is_absent();
        equation.solvable(at, &sizes).filter(|_| is_factor)
    });
    intervals.reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)))
}
