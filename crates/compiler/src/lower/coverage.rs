//! The places of a result that a statement is certain to write.
//!
//! Statements are those with loops over original variables ([`crate::iterate::position_space::original_loops`]).
//!
//! A dense result that is written everywhere needs no clearing first; an index array whose every edge is written needs no repair at
//! the end. Both follow from the lattices. A loop visits every coordinate if its lattice has the point without iterators. A place
//! that is written at this point is written at every other point, where more is present. Loops over variables that a schedule
//! derives visit all values, for their bounds do not wrap around ([`super::sizes`]); a region that leaves coordinates out says so
//! ([`super::region`]).

use lacunar_formats::Level;
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::{Access, AssignOp, Indicator, Role, TensorId, VarId};

use super::scope::Scope;
use super::{Lowerer, region};
use crate::iterate::iterators::{AccessKey, Iterator, result_of};
use crate::iterate::lattice::{Lattice, Point};
use crate::iterate::position_space::replaced_by;

/// True if `stmt` assigns to `tensor` (with `=`) at every combination of values of `vars`.
pub(super) fn writes_all(kernel: &Kernel, stmt: &Stmt, tensor: TensorId, vars: &[VarId]) -> bool {
    match stmt {
        Stmt::Assign(assign) => assign.lhs.tensor == tensor && assign.op == AssignOp::Set && vars.is_empty(),
        Stmt::Where { consumer, .. } => writes_all(kernel, consumer, tensor, vars),
        Stmt::Sequence(stmts) => stmts.iter().any(|stmt| writes_all(kernel, stmt, tensor, vars)),
        Stmt::Forall(var, body) if !vars.contains(var) && meets_one(kernel, *var, body) => {
            writes_all(kernel, body, tensor, vars)
        }
        Stmt::Forall(var, body) => {
            vars.contains(var)
                && at_every(kernel, *var, body, |rest| writes_all(kernel, rest, tensor, &drop(vars, *var)))
        }
    }
}

/// The loop over the first of `vars`, if it comes to an interval of its values, and `stmt` assigns to `tensor` (with `=`) at every combination of
/// these and all values of the others.
pub(super) fn writes_interval(
    kernel: &Kernel,
    stmt: &Stmt,
    tensor: TensorId,
    vars: &[VarId],
) -> Option<(VarId, Lattice)> {
    let Stmt::Forall(var, body) = stmt else { return None };
    let is_first = vars.first() == Some(var) && replaced_by(kernel, *var).is_none();
    let fits = is_first && !region::leaves_places_out(kernel, *var);
    let lattice = Lattice::build(kernel, body, *var).ok().filter(|lattice| fits && lattice.has_rest())?;
    let rest = lattice.residual(kernel, body, Point::ALL)?;
    writes_all(kernel, &rest, tensor, &drop(vars, *var)).then_some((*var, lattice))
}

/// True if `stmt` reaches the loop inside those over `vars` at every combination of their values.
pub(super) fn reaches_all(kernel: &Kernel, stmt: &Stmt, vars: &[VarId]) -> bool {
    if vars.is_empty() {
        return reaches_result(kernel, stmt);
    }
    match stmt {
        Stmt::Assign(_) => false,
        Stmt::Where { consumer, .. } => reaches_all(kernel, consumer, vars),
        Stmt::Sequence(stmts) => stmts.iter().any(|stmt| reaches_all(kernel, stmt, vars)),
        Stmt::Forall(var, body) => {
            vars.contains(var) && at_every(kernel, *var, body, |rest| reaches_all(kernel, rest, &drop(vars, *var)))
        }
    }
}

/// True if no loop over a summed variable stands before the next one over the result's, which might have nothing to visit.
fn reaches_result(kernel: &Kernel, stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Assign(_) => true,
        Stmt::Where { consumer, .. } => reaches_result(kernel, consumer),
        Stmt::Sequence(stmts) => stmts.iter().any(|stmt| reaches_result(kernel, stmt)),
        Stmt::Forall(var, body) => {
            result_of(kernel).is_none_or(|result| result.vars.contains(var))
                || meets_one(kernel, *var, body) && reaches_result(kernel, body)
        }
    }
}

/// True if the loop visits every coordinate, and `check` holds for the part of its body that runs where nothing is stored.
fn at_every(kernel: &Kernel, var: VarId, body: &Stmt, check: impl Fn(&Stmt) -> bool) -> bool {
    // A loop over positions skips coordinates without one, and a region leaves out the coordinates outside of it.
    replaced_by(kernel, var).is_none()
        && !region::leaves_places_out(kernel, var)
        && Lattice::build(kernel, body, var).is_ok_and(|lattice| {
            lattice.is_full() && lattice.residual(kernel, body, Point::ALL).is_some_and(|residual| check(&residual))
        })
}

/// True if a loop visits one coordinate, which a value that is an index tells, and nothing else has to be there.
fn meets_one(kernel: &Kernel, var: VarId, body: &Stmt) -> bool {
    let is_value = |it: &Iterator| {
        let tensor = &kernel.tensors[it.access.tensor];
        let is_gather = matches!(tensor.indicator.as_deref(), Some(Indicator::Gather(_)));
        is_gather && tensor.format.levels()[it.level] == Level::SINGLETON
    };
    let is_only = |lattice: Lattice| {
        lattice.points == [Point(1)] && matches!(lattice.iterators.as_slice(), [only] if is_value(only))
    };
    replaced_by(kernel, var).is_none()
        && !region::leaves_out(kernel, var)
        && kernel.provenance.is_plain(var)
        && Lattice::build(kernel, body, var).is_ok_and(is_only)
}

fn drop(vars: &[VarId], var: VarId) -> Vec<VarId> {
    vars.iter().copied().filter(|other| *other != var).collect()
}

/// True if a statement gives a tensor a value, whatever the operands hold. This takes loops over dimensions that are not empty
/// (unless that is `assumed`) and operands that are present.
pub(super) fn is_certain(cx: &Lowerer<'_>, stmt: &Stmt, tensor: TensorId, assumed: bool, scope: &Scope) -> bool {
    match stmt {
        Stmt::Assign(assign) => {
            let is_there = |access: &&Access| {
                let role = cx.kernel.tensors[access.tensor].role;
                scope.uncertain(&AccessKey::from(*access)).is_none() && !matches!(role, Role::Workspace(_))
            };
            assign.lhs.tensor == tensor && assign.rhs.accesses().iter().all(is_there)
        }
        Stmt::Forall(var, body) => {
            let is_whole = cx.kernel.provenance.is_plain(*var) && !region::leaves_out(cx.kernel, *var);
            let some = assumed || cx.b.as_const(cx.size(*var)).is_some_and(|size| size.bits > 0);
            let all = |lattice: Lattice| lattice.is_dense();
            let is_full = is_whole && some && Lattice::build(cx.kernel, body, *var).is_ok_and(all);
            is_full && is_certain(cx, body, tensor, assumed, scope)
        }
        Stmt::Where { .. } => false,
        Stmt::Sequence(stmts) => stmts.iter().any(|stmt| is_certain(cx, stmt, tensor, assumed, scope)),
    }
}

/// True if threads share a loop of a statement.
pub(super) fn has_shared_loop(cx: &Lowerer<'_>, stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Assign(_) => false,
        Stmt::Forall(var, body) => (!cx.serial && cx.kernel.provenance.is_shared(*var)) || has_shared_loop(cx, body),
        Stmt::Sequence(stmts) => stmts.iter().any(|stmt| has_shared_loop(cx, stmt)),
        Stmt::Where { consumer, producer } => has_shared_loop(cx, consumer) || has_shared_loop(cx, producer),
    }
}
