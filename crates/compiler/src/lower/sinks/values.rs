//! The values of results: their assignment, and their values before.
//!
//! An accumulator of indices (`argmin`) has beside it the values that they are of, in a variable or an array:
//!
//! ```text
//! t argmin= x(k)      if x_v < t_least || x_v == t_least && u64(k) < u64(t) { t_least = x_v; t = k }
//! ```
//!
//! It begins with -1, which is the greatest number without a sign, and the identity of `min`: NaN never wins, and of equal values
//! the first does, in whatever order they come.

use lacunar_base::Diagnostic;
use lacunar_formats::{DType, Scalar};
use lacunar_imp::{ArrayId, Builder, CompareOp, ExprId};
use lacunar_notation::concrete::Kernel;
use lacunar_notation::{AssignOp, BinaryFn, ExprKind, Monoid, TensorId};

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
    let &Addition { ref key, op, value, .. } = addition;
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

/// The values beside the indices of an accumulator.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower) enum Beside {
    /// The value beside a single index.
    Variable(MutableVar),
    /// The values beside the indices in an array, at the same places.
    Array(ArrayId),
}

/// An index, and the value that it is of.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub index: ExprId,
    pub value: ExprId,
}

/// The condition under which a pair takes the place of one that is held.
fn wins(b: &mut Builder, compared: Monoid, new: Pair, held: Pair) -> ExprId {
    let op = if compared.function() == BinaryFn::Max { CompareOp::Gt } else { CompareOp::Lt };
    let better = b.compare(op, new.value, held.value);
    let same = b.compare(CompareOp::Eq, new.value, held.value);
    let (index, before) = (b.cast(DType::U64, new.index), b.cast(DType::U64, held.index));
    let first = b.compare(CompareOp::Lt, index, before);
    let tie = b.and(same, first);
    let wins = b.or(better, tie);
    b.define("wins", wins)
}

/// Combines an index in a variable, and its value in another, with a pair.
pub(super) fn combine_pair(b: &mut Builder, (index, value): (MutableVar, MutableVar), compared: Monoid, new: Pair) {
    let new = Pair { value: b.define("candidate", new.value), ..new };
    let held = Pair { index: b.var(index), value: b.var(value) };
    let wins = wins(b, compared, new, held);
    b.if_then(wins, |b| {
        b.assign(value, new.value);
        b.assign(index, new.index);
    });
}

/// Combines an index in an array, and its value in another, with a pair.
pub(super) fn combine_pair_at(
    b: &mut Builder,
    (indices, values): (ArrayId, ArrayId),
    at: ExprId,
    compared: Monoid,
    new: Pair,
) {
    let new = Pair { value: b.define("candidate", new.value), ..new };
    let held = Pair { index: b.load("before", indices, at), value: b.load("least", values, at) };
    let wins = wins(b, compared, new, held);
    b.if_then(wins, |b| {
        b.store(values, at, new.value);
        b.store(indices, at, new.index);
    });
}

/// The type of the values beside the indices that are combined in a tensor, if it has any, and the monoid by which they are
/// compared.
pub(super) fn compared_in(kernel: &Kernel, tensor: TensorId) -> Option<(DType, Monoid)> {
    let (compared, mut found) = (monoid_of(kernel, tensor).compared()?, None);
    kernel.stmt.visit_assigns(&mut |assign| {
        if assign.lhs.tensor == tensor && found.is_none() {
            found = match (&assign.rhs.kind, assign.rhs.as_at()) {
                (_, Some((value, _))) => Some(value.dtype),
                (ExprKind::Access(read), _) if read.tensor != tensor => {
                    compared_in(kernel, read.tensor).map(|(ty, _)| ty)
                }
                _ => None,
            };
        }
    });
    found.map(|ty| (ty, compared))
}

/// The value beside an index before anything is combined with it.
pub(super) fn first_beside(cx: &mut Lowerer<'_>, (ty, compared): (DType, Monoid)) -> ExprId {
    cx.b.constant(compared.identity(ty).unwrap_or(Scalar::zero(ty)))
}

/// The name of the values beside the indices of a tensor.
pub(super) fn beside_name(cx: &Lowerer<'_>, tensor: TensorId, compared: Monoid) -> String {
    let word = if compared.function() == BinaryFn::Max { "greatest" } else { "least" };
    format!("{}_{word}", cx.name(tensor))
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
