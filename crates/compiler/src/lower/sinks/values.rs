//! The values of results: how they are assigned, and their values before.

use lacunar_base::Diagnostic;
use lacunar_imp::{ArrayId, Builder, ExprId};
use lacunar_notation::concrete::Kernel;
use lacunar_notation::{AssignOp, Monoid, TensorId};

use super::Addition;
use crate::functions;
use crate::lower::derive::value_position;
use crate::lower::scope::{Interval, Scope};
use crate::lower::storage::values;
use crate::lower::{Lowerer, MutableVar};

/// Takes a value for an element of a result's own values; one that is set may be stored past the caches under a condition.
pub(super) fn add_to(
    cx: &mut Lowerer<'_>,
    addition: &Addition,
    past: Option<ExprId>,
    scope: &Scope,
) -> Result<(), Diagnostic> {
    let &Addition { ref key, op, value } = addition;
    let at = value_position(cx, key, scope)?;
    let array = values(cx, key.tensor, scope)?;
    match op {
        AssignOp::Set => cx.b.store_past(array, at, value, past),
        AssignOp::Reduce(monoid) => combine_at(&mut cx.b, array, at, monoid, value),
    }
    Ok(())
}

/// Combines an element of an array with a value.
pub(super) fn combine_at(b: &mut Builder, array: ArrayId, at: ExprId, monoid: Monoid, value: ExprId) {
    match functions::reduction(monoid) {
        Some(op) => b.accumulate(array, at, op, value),
        None => {
            let before = b.load("before", array, at);
            let value = functions::binary(b, monoid.function(), before, value);
            b.store(array, at, value);
        }
    }
}

/// Combines a variable with a value.
pub(super) fn combine_variable(b: &mut Builder, variable: MutableVar, monoid: Monoid, value: ExprId) {
    let before = b.var(variable);
    let value = functions::binary(b, monoid.function(), before, value);
    b.assign(variable, value);
}

/// The monoid by which values are combined in a tensor.
pub(super) fn monoid_of(kernel: &Kernel, tensor: TensorId) -> Monoid {
    let mut found = None;
    kernel.stmt.visit_assigns(&mut |assign| {
        if assign.lhs.tensor == tensor {
            found = found.or(assign.op.monoid());
        }
    });
    found.unwrap_or(Monoid::SUM)
}

/// The value of an accumulator for a tensor before anything is combined with it.
pub(super) fn identity_of(cx: &mut Lowerer<'_>, tensor: TensorId) -> ExprId {
    let info = &cx.kernel.tensors[tensor];
    let identity = monoid_of(cx.kernel, tensor).identity(info.dtype);
    cx.b.constant(identity.unwrap_or(info.fill()))
}

/// Says that something was given.
pub(super) fn set_given(cx: &mut Lowerer<'_>, given: Option<MutableVar>) {
    if let Some(given) = given {
        let yes = cx.b.bool(true);
        cx.b.assign(given, yes);
    }
}

/// The values of a result's elements before any is assigned: the fill value, or the value of an empty reduction.
pub(super) fn cleared_value(cx: &mut Lowerer<'_>, tensor: TensorId) -> ExprId {
    let info = &cx.kernel.tensors[tensor];
    let mut is_set = false;
    cx.kernel.stmt.visit_assigns(&mut |assign| is_set |= assign.lhs.tensor == tensor && assign.op == AssignOp::Set);
    if is_set { cx.b.constant(info.fill()) } else { identity_of(cx, tensor) }
}

/// Sets block number `number` of the values of a result to their values before any is assigned.
pub(super) fn clear_block(cx: &mut Lowerer<'_>, tensor: TensorId, array: ArrayId, number: ExprId, block: ExprId) {
    let begin = cx.b.mul(number, block);
    let value = cleared_value(cx, tensor);
    match cx.b.as_const(block) {
        Some(one) if one.bits == 1 => cx.b.store(array, begin, value),
        _ => {
            let all: Interval = (begin, cx.b.add(begin, block));
            cx.fill(array, all, value);
        }
    }
}
