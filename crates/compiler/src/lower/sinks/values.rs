//! The values of results: how they are assigned, and their values before.

use lacunar_base::Diagnostic;
use lacunar_formats::Scalar;
use lacunar_imp::{ArrayId, BinaryOp, ExprId};
use lacunar_notation::{AssignOp, ReduceOp, TensorId};

use super::Addition;
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
        AssignOp::Reduce(ReduceOp::Add) => cx.b.accumulate(array, at, BinaryOp::Add, value),
    }
    Ok(())
}

/// Says that something was given.
pub(super) fn set_given(cx: &mut Lowerer<'_>, given: Option<MutableVar>) {
    if let Some(given) = given {
        let yes = cx.b.bool(true);
        cx.b.assign(given, yes);
    }
}

/// The values of a result's elements before any is assigned: the fill value, or the value of an empty sum.
pub(super) fn cleared_value(cx: &mut Lowerer<'_>, tensor: TensorId) -> ExprId {
    let info = &cx.kernel.tensors[tensor];
    let mut is_set = false;
    cx.kernel.stmt.visit_assigns(&mut |assign| is_set |= assign.lhs.tensor == tensor && assign.op == AssignOp::Set);
    cx.b.constant(if is_set { info.fill() } else { Scalar::zero(info.dtype) })
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
