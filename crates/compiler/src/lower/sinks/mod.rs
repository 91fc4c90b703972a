//! Sinks: the targets of the values that assignments give a tensor.
//!
//! ```text
//! y: dense                   y_vals[i] += ..             cleared first where coverage is not certain      dense
//! C: csr                     C_vals[C2_n] = ..; C2_crd[C2_n] = k; C2_n += 1;  C2_pos[i + 1] = C2_n       append
//! C: csr, pattern given      C_vals[C2_n] = ..; fails unless C2_crd[C2_n] is k                            append, given
//! B: pattern of A            B_vals[p] = .., where A_vals[p] is                                           alongside
//! C: csr, threads            as append, to arrays of a chunk's own, put behind each other                 piece
//! t, w                       workspaces: a variable, an array, a list                                     workspace
//! y: dense, threads          to a chunk's copy; to its carried sum; indivisibly                           copies, carried, atomic
//! ```
//!
//! Sinks are a stack in the scope: inside of a loop that threads share, a copy hides the tensor that it is a copy of. An assignment
//! [adds](Sink::add) to the newest sink of its tensor. The progress of a nest's loops matters to the sink of the *result* only,
//! whatever hides it: loops say when they begin, come to a coordinate, leave it, and end.

pub(super) mod alongside;
pub(super) mod append;
pub(super) mod atomic;
pub(super) mod bitmap;
pub(super) mod carried;
mod checks;
pub(super) mod copies;
pub(super) mod dense;
pub(super) mod exact;
pub(super) mod expected;
pub(super) mod given;
pub(super) mod hashed;
mod most;
pub(super) mod piece;
pub(super) mod placed;
pub(super) mod sorted;
pub(super) mod stamped;
mod values;
pub(super) mod workspace;

use std::rc::Rc;

use lacunar_base::Diagnostic;
use lacunar_imp::ExprId;
use lacunar_notation::concrete::Stmt;
use lacunar_notation::{AssignOp, VarId};

use super::region::computed::guard;
use super::scope::Scope;
use super::{Lowerer, MutableVar, Written};
use crate::iterate::iterators::{AccessKey, result_of};

pub(super) use append::{Append, Group};
pub(super) use values::Beside;
pub(super) use workspace::Workspace;

/// The largest number of coordinates that a loop can visit.
pub(super) type Most<'a> = &'a mut dyn FnMut(&mut Lowerer<'_>) -> ExprId;

/// A value and the place that an assignment names for it.
#[derive(Clone, Debug)]
pub(super) struct Addition {
    pub key: AccessKey,
    pub op: AssignOp,
    pub value: ExprId,
    /// The value that it is the index of, if it is one.
    pub of: Option<ExprId>,
}

/// The destination of the values of a tensor.
pub(super) trait Sink: std::fmt::Debug {
    /// Takes a value for the place that an assignment names.
    ///
    /// # Errors
    /// The place is not known.
    fn add(&self, cx: &mut Lowerer<'_>, addition: &Addition, scope: &Scope) -> Result<(), Diagnostic>;

    /// The sink that this one hides. Additions go to the newest sink, and values that are set to the hidden one.
    fn hidden(&self) -> Option<&Rc<dyn Sink>> {
        None
    }

    /// True if values go to elements of an array, so that threads can share it.
    fn is_array(&self) -> bool {
        false
    }

    /// True if elements are set by values that are added to nothing: one that a condition selects is taken where that holds alone.
    fn takes_selected(&self) -> bool {
        false
    }

    /// The variable that is all there is, of a scalar workspace.
    fn scalar(&self) -> Option<MutableVar> {
        None
    }

    /// The values beside the indices that are combined in it.
    fn beside(&self) -> Option<Beside> {
        None
    }

    /// A variable that says if anything was added, for a pattern that depends on it.
    fn given(&self) -> Option<MutableVar> {
        None
    }

    /// The condition that a coordinate of a workspace was given anything, where that is known of each by itself.
    fn has(&self, _cx: &mut Lowerer<'_>, _coordinate: ExprId) -> Option<ExprId> {
        None
    }

    /// The result as one that is appended to.
    fn as_append(&self) -> Option<&Append> {
        None
    }

    /// A workspace.
    fn as_workspace(&self) -> Option<&Workspace> {
        None
    }

    /// Result: loops over `var` around `body` come next; the scope inside.
    fn enter(&self, _cx: &mut Lowerer<'_>, _var: VarId, _body: &Stmt, _most: Most<'_>, scope: &Scope) -> Scope {
        scope.clone()
    }

    /// Result: strip number `number` of the loop over a leaf begins.
    ///
    /// # Errors
    /// The place is not known.
    fn enter_strip(
        &self,
        _cx: &mut Lowerer<'_>,
        _leaf: VarId,
        _number: ExprId,
        _scope: &Scope,
    ) -> Result<(), Diagnostic> {
        Ok(())
    }

    /// Result: before `body` at a coordinate of `var`; gives the state to remember until behind it, and the scope inside.
    ///
    /// # Errors
    /// The place is not known.
    fn before(
        &self,
        _cx: &mut Lowerer<'_>,
        _var: VarId,
        _body: &Stmt,
        scope: &Scope,
    ) -> Result<(Checkpoint, Scope), Diagnostic> {
        Ok((Checkpoint::default(), scope.clone()))
    }

    /// Result: behind the body at a coordinate of `var`, which gave the result a value (under a condition).
    ///
    /// # Errors
    /// The place is not known.
    fn after(
        &self,
        _cx: &mut Lowerer<'_>,
        _var: VarId,
        _checkpoint: Checkpoint,
        _written: Written,
        _scope: &Scope,
    ) -> Result<(), Diagnostic> {
        Ok(())
    }

    /// Result: behind all loops over `var` under one parent.
    ///
    /// # Errors
    /// The place is not known.
    fn leave(&self, _cx: &mut Lowerer<'_>, _var: VarId, _body: &Stmt, _scope: &Scope) -> Result<(), Diagnostic> {
        Ok(())
    }

    /// Result: everything is there.
    fn finish(&self, _cx: &mut Lowerer<'_>, _scope: &Scope) {}
}

/// The state to remember from before the body at a coordinate of a result.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Checkpoint {
    /// The group that ends with this variable.
    pub group: Option<usize>,
    /// The counter of the group below, before the body.
    pub below: Option<ExprId>,
    /// A variable that says if the body gave the block under the position anything, if that is not certain.
    pub given: Option<MutableVar>,
    /// True if a given pattern is asked for room by the value itself.
    pub is_late: bool,
}

/// Takes a value for the place that an assignment names.
///
/// # Errors
/// The tensor has no sink here, or the place is not known.
pub(super) fn add(cx: &mut Lowerer<'_>, addition: &Addition, scope: &Scope) -> Result<(), Diagnostic> {
    let tensor = addition.key.tensor;
    let unready = || Diagnostic::internal(format!("`{}` is assigned before it is made ready", cx.name(tensor)));
    let mut sink = scope.sink(tensor).ok_or_else(unready)?;
    while let (AssignOp::Set, Some(hidden)) = (addition.op, sink.hidden()) {
        sink = hidden.clone();
    }
    let has_place = guard(cx, &addition.key, scope)?;
    cx.when_some(has_place, |cx| sink.add(cx, addition, scope))
}

/// Makes the result ready: the scope in which it is written.
pub(super) fn begin_result(cx: &mut Lowerer<'_>, scope: &Scope) -> Result<Scope, Diagnostic> {
    let Some(access) = result_of(cx.kernel) else { return Ok(scope.clone()) };
    if let Some(of) = cx.kernel.pattern_of {
        return Ok(alongside::begin(access, of, scope));
    }
    if cx.kernel.tensors[access.tensor].format.is_dense() {
        return dense::begin(cx, access, scope);
    }
    Ok(append::begin(cx, access, scope))
}

/// Everything is assigned.
pub(super) fn finish_result(cx: &mut Lowerer<'_>, scope: &Scope) {
    if let Some(sink) = scope.result() {
        sink.finish(cx, scope);
    }
}

/// Loops over `var` around `body` come next; the scope inside.
pub(super) fn enter(cx: &mut Lowerer<'_>, var: VarId, body: &Stmt, scope: &Scope, most: Most<'_>) -> Scope {
    match scope.result() {
        Some(sink) => sink.enter(cx, var, body, most, scope),
        None => scope.clone(),
    }
}

/// Behind all loops over `var` under one parent.
pub(super) fn leave(cx: &mut Lowerer<'_>, var: VarId, body: &Stmt, scope: &Scope) -> Result<(), Diagnostic> {
    match scope.result() {
        Some(sink) => sink.leave(cx, var, body, scope),
        None => Ok(()),
    }
}
