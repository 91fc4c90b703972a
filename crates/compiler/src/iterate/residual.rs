//! The residual of a statement if some accesses are absent: the rest of it that is to be done at a lattice point.
//!
//! ```text
//! a(i) = b(i) + c(i)                       without b  ->  a(i) = c(i)
//! where(y(i) = t + b(i), t += A(i,j)*x(j)) without A  ->  y(i) = b(i)
//! ```

use lacunar_base::Arena;
use lacunar_notation::concrete::{Assign, Stmt};
use lacunar_notation::{Access, AssignOp, ExprKind, Role, Tensor, TensorId, VarId, WorkspaceKind};

use super::in_order::{ends_compressed, in_order};
use super::joined::joined;
use crate::algebra::{preserves_fill, without};

/// The statement without the accesses that `absent` names; `None` if nothing is left to do.
pub fn residual(tensors: &Arena<Tensor>, stmt: &Stmt, absent: &dyn Fn(&Access) -> bool) -> Option<Stmt> {
    match stmt {
        Stmt::Assign(assign) => {
            let rhs = without(tensors, &assign.rhs, &|access: &Access| absent(access));
            let left = Assign { rhs, ..assign.clone() };
            let nothing = left.rhs.accesses().is_empty() && preserves_fill(tensors, &left);
            (!nothing).then_some(Stmt::Assign(left))
        }
        Stmt::Forall(var, body) => Some(Stmt::Forall(*var, Box::new(residual(tensors, body, absent)?))),
        Stmt::Sequence(stmts) => {
            let mut left: Vec<Stmt> = stmts.iter().filter_map(|stmt| residual(tensors, stmt, absent)).collect();
            match left.len() {
                0 => None,
                1 => left.pop(),
                _ => Some(Stmt::Sequence(left)),
            }
        }
        Stmt::Where { consumer, producer } => {
            let filled = producer.writes();
            let producer = residual(tensors, producer, absent);
            let left = producer.as_ref().map(Stmt::writes).unwrap_or_default();
            let empty = |access: &Access| filled.contains(&access.tensor) && !left.contains(&access.tensor);
            // A producer may add to a result as well, which stays whatever is left of the consumer.
            let is_result = |tensor: TensorId| tensors[tensor].role == Role::Result;
            let Some(consumer) = residual(tensors, consumer, &|access| absent(access) || empty(access)) else {
                return producer.and_then(|producer| keep_writes(producer, &is_result));
            };
            let read = consumer.reads();
            let is_wanted = |tensor: TensorId| read.contains(&tensor) || is_result(tensor);
            match producer.and_then(|producer| keep_writes(producer, &is_wanted)) {
                Some(producer) => Some(match at_once(tensors, &consumer, &producer) {
                    Some(stmt) => stmt,
                    None => Stmt::Where { consumer: Box::new(consumer), producer: Box::new(producer) },
                }),
                None => Some(consumer),
            }
        }
    }
}

/// A consumer and its producers as statements of a result without workspaces, if loops over the producers come to the places of the result in
/// order.
fn at_once(tensors: &Arena<Tensor>, consumer: &Stmt, producer: &Stmt) -> Option<Stmt> {
    direct(tensors, consumer, producer).or_else(|| joined(tensors, consumer, producer))
}

/// A producer whose workspace is nothing but copied into a result, as a statement of the result: if its loops come to the places in
/// order, each once. So a sum of shifted operands of which only one is left is appended as it is.
///
/// ```text
/// where(forall(j, C(i,j) = w(j)), forall(d, forall(j, w(j) += [d == i - 4] * B(d,j))))
///   ->  forall(d, forall(j, C(i,j) = [d == i - 4] * B(d,j)))
/// ```
fn direct(tensors: &Arena<Tensor>, consumer: &Stmt, producer: &Stmt) -> Option<Stmt> {
    let ((places, copy), (loops, fill)) = (nest(consumer)?, nest(producer)?);
    let ExprKind::Access(read) = &copy.rhs.kind else { return None };
    let target = &tensors[copy.lhs.tensor];
    let is_copy = copy.op == AssignOp::Set
        && is_appended(target)
        && matches!(tensors[read.tensor].role, Role::Workspace(kind) if kind != WorkspaceKind::Scalar)
        && fill.lhs.tensor == read.tensor
        && fill.lhs.vars == read.vars
        && places == read.vars
        && matches!(fill.op, AssignOp::Reduce(monoid) if monoid.compared().is_none())
        && fill.rhs.dtype == target.dtype;
    let assign = Assign { lhs: copy.lhs.clone(), op: AssignOp::Set, rhs: fill.rhs.clone() };
    // A place that the producer leaves out has to be one that the result may leave out.
    let is_direct = is_copy && preserves_fill(tensors, &assign) && in_order(tensors, &fill.rhs, &loops, &places);
    is_direct.then(|| Stmt::foralls(&loops, Stmt::Assign(assign)))
}

/// True for a result of dense and compressed levels, the last of which is appended to.
pub(super) fn is_appended(target: &Tensor) -> bool {
    target.role == Role::Result && ends_compressed(&target.format)
}

/// The loops around an assignment, if there is nothing else.
pub(crate) fn nest(mut stmt: &Stmt) -> Option<(Vec<VarId>, &Assign)> {
    let mut loops = Vec::new();
    loop {
        match stmt {
            Stmt::Forall(var, body) => {
                loops.push(*var);
                stmt = body;
            }
            Stmt::Assign(assign) => return Some((loops, assign)),
            _ => return None,
        }
    }
}

/// The part of a producer that fills tensors which are still read.
fn keep_writes(stmt: Stmt, wanted: &dyn Fn(TensorId) -> bool) -> Option<Stmt> {
    match stmt {
        Stmt::Sequence(stmts) => {
            let left: Vec<Stmt> = stmts.into_iter().filter_map(|stmt| keep_writes(stmt, wanted)).collect();
            (!left.is_empty()).then_some(Stmt::Sequence(left))
        }
        other => other.writes().iter().any(|&tensor| wanted(tensor)).then_some(other),
    }
}
