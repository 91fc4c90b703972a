//! Checks of the arguments, for kernels that other programs call: Lacunar's own callers pass tensors, whose arrays were checked
//! when they were made.
//!
//! Each size has to be at least 0, and each array as long as the sizes and the arrays before it say. This is checked before
//! anything is written, once for each array. It reads only the last position of its numbers, which gives the length of the
//! arrays behind it.
//!
//! ```text
//! y(i) = A(i,j) * x(j)    A: csr, y and x: dense
//!
//! if i_size < 0 { fail wrong_size; }               and j_size
//! let A2_pos_length: i64 = length(A2_pos);         fails where it says another type, or is not there
//! if A2_pos_length <= i_size { fail too_short; }   an element more than there are rows
//! let stored: u32 = A2_pos[i_size];
//! if A2_crd_length < i64(stored) { fail too_short; }                A_vals likewise
//! if y_vals_length < i_size { fail too_short; }                     x_vals likewise
//! ```

use std::rc::Rc;

use lacunar_formats::{DType, IndexWidth};
use lacunar_imp::{Arg, ArrayId, ArrayRole, Builder, Callee, CompareOp, ExprId, Param, Status};
use lacunar_notation::gather::room_for;
use lacunar_notation::{Equation, Gather, Indicator, Source, TensorId, VarId};

use super::interface::dimension_vars;
use super::sizes::product;
use super::{Binding, Lowerer};
use crate::levels::{Length, Part};

/// Emits the checks of all parameters.
pub(super) fn check(cx: &mut Lowerer<'_>) {
    cx.b.comment("Sizes are none that cannot be, and arrays as long as they say.");
    sizes(cx);
    let vars = dimension_vars(cx.kernel);
    for (id, tensor) in cx.kernel.tensors.iter() {
        let sum = tensor.indicator.as_deref().and_then(Indicator::sum);
        if let (Some(equation), Some(vars)) = (sum, vars.get(&id)) {
            sums(cx, equation, vars);
        }
        let own = arrays_of(cx, id);
        let Some(vars) = vars.get(&id).filter(|_| !own.is_empty()) else { continue };
        let is_made = |array: &ArrayId| cx.b.function().arrays[*array].role == ArrayRole::Grown;
        if own.iter().any(is_made) {
            own.into_iter().for_each(|array| _ = length(&mut cx.b, array));
            continue;
        }
        let dims: Vec<Level> = (0..tensor.order())
            .map(|level| {
                let size = cx.size(vars[tensor.format.mode_order()[level]]);
                Level { size, positions: tensor.format.positions(level) }
            })
            .collect();
        tensor_arrays(cx, id, &dims);
    }
    rankings(cx);
    for (id, tensor) in cx.kernel.tensors.iter() {
        if let (Some(Indicator::Gather(gather)), Some(vars)) = (tensor.indicator.as_deref(), vars.get(&id)) {
            coordinates(cx, gather, vars);
        }
    }
}

/// Ends the kernel if a value that is an index lies outside of its dimension.
fn coordinates(cx: &mut Lowerer<'_>, gather: &Gather, vars: &[VarId]) {
    let Some((&last, others)) = vars.split_last() else { return };
    let size = cx.size(last);
    let values = match &gather.source {
        Source::List(list) => {
            let room = cx.b.int(i64::try_from(room_for(list)).unwrap_or(i64::MAX));
            let outside = cx.b.compare(CompareOp::Gt, room, size);
            return cx.b.if_then(outside, |b| b.fail(Status::OutOfRange));
        }
        Source::Border(_) => {
            // Every combination of the variables has a coordinate.
            let one = cx.b.int(1);
            let is_empty = cx.b.compare(CompareOp::Lt, size, one);
            let some = others.iter().fold(is_empty, |some, var| {
                let own = cx.size(*var);
                let has_values = cx.b.compare(CompareOp::Ge, own, one);
                cx.b.and(some, has_values)
            });
            return cx.b.if_then(some, |b| b.fail(Status::OutOfRange));
        }
        Source::Tensor(of) => cx.parameters.code[of.index()].values,
    };
    let Some(values) = values else { return };
    let sizes: Vec<ExprId> = others.iter().map(|var| cx.size(*var)).collect();
    let one = cx.b.int(1);
    let count = sizes.into_iter().fold(one, |count, size| product(&mut cx.b, count, size));
    let zero = cx.b.int(0);
    cx.b.for_loop("place", zero, count, |b, place| {
        let index = b.load_index("index", values, place);
        let (below, above) = (b.compare(CompareOp::Lt, index, zero), b.compare(CompareOp::Ge, index, size));
        let outside = b.or(below, above);
        b.if_then(outside, |b| b.fail(Status::OutOfRange));
    });
}

/// The parameters, each with its binding.
fn parameters(cx: &Lowerer<'_>) -> Vec<(Param, Binding)> {
    cx.b.function().params.iter().copied().zip(cx.interface.bindings.iter().copied()).collect()
}

/// The arrays of a tensor among the parameters.
fn arrays_of(cx: &Lowerer<'_>, tensor: TensorId) -> Vec<ArrayId> {
    let own = |(param, binding)| match (param, binding) {
        (Param::Array(array), Binding::Level(of, ..) | Binding::Values(of)) if of == tensor => Some(array),
        _ => None,
    };
    parameters(cx).into_iter().filter_map(own).collect()
}

/// Ends the kernel if a size, or the number of values of a result, is negative.
fn sizes(cx: &mut Lowerer<'_>) {
    for (param, binding) in parameters(cx) {
        if let (Param::Scalar(var), Binding::Size(_) | Binding::Stored(_)) = (param, binding) {
            let (size, zero) = (cx.b.var(var), cx.b.int(0));
            let wrong = cx.b.compare(CompareOp::Lt, size, zero);
            cx.b.if_then(wrong, |b| b.fail(Status::WrongSize));
        }
    }
}

/// Ends the kernel if a sum of an indicator could wrap around, or a size is not the declared one, which may have told where it is met.
fn sums(cx: &mut Lowerer<'_>, equation: &Equation, vars: &[VarId]) {
    for (&var, &factor) in vars.iter().zip(&equation.factors) {
        let size = cx.size(var);
        // Each term may take an equal part of half of the range of an index.
        let part = (i64::MAX / 2 - equation.constant.abs()) / vars.len().max(1) as i64;
        let most = cx.b.int(part / factor.abs().max(1));
        let wrong = cx.b.compare(CompareOp::Gt, size, most);
        cx.b.if_then(wrong, |b| b.fail(Status::WrongSize));
        if let Some(declared) = cx.kernel.vars[var].size {
            let declared = cx.b.int(declared as i64);
            let differs = cx.b.compare(CompareOp::Ne, size, declared);
            cx.b.if_then(differs, |b| b.fail(Status::WrongSize));
        }
    }
}

/// A level of a tensor.
struct Level {
    /// The size of the dimension.
    size: ExprId,
    /// The width of positions.
    positions: IndexWidth,
}

/// Checks the arrays that a tensor has: those of its levels, from the outermost to the innermost, and its values.
fn tensor_arrays(cx: &mut Lowerer<'_>, id: TensorId, levels: &[Level]) {
    let code = Rc::clone(&cx.parameters.code[id.index()]);
    let stored = cx.parameters.stored;
    let b = &mut cx.b;
    let mut count = b.int(1);
    for (code, level) in code.levels.iter().zip(levels) {
        let is_wide = level.positions == IndexWidth::W64;
        code.lengths(b, count, &mut |b, array, least| demand(b, array, least, is_wide));
        count = match code.factor(level.size) {
            Some(factor) => product(b, count, factor),
            None => {
                let count = code.count_positions(b, count, level.size);
                if is_wide {
                    // The number is larger than the largest `i64`.
                    let zero = b.int(0);
                    fail_if(b, CompareOp::Lt, count, zero);
                }
                count
            }
        };
    }
    let Some(values) = code.values else { return };
    // If the pattern of a result is not read, the caller passes only the values.
    let is_whole = code.levels.len() == levels.len();
    if is_whole {
        demand(b, values, Length::of(count), false);
    }
    if let (ArrayRole::Output, Some(stored)) = (b.function().arrays[values].role, stored) {
        demand(b, values, Length::of(stored), false);
    }
}

/// Checks the arrays that keep the coordinate of each rank: the views of other tensors read them.
fn rankings(cx: &mut Lowerer<'_>) {
    for (param, binding) in parameters(cx) {
        let (Param::Array(array), Binding::Level(tensor, level, Part::RANKING)) = (param, binding) else { continue };
        let ranked = |ranked: Option<(TensorId, usize)>| ranked == Some((tensor, level));
        let by_rank = cx.kernel.stored.recovered.iter().find(|recovered| ranked(recovered.ranked));
        if let Some(recovered) = by_rank {
            let size = cx.size(recovered.var);
            demand(&mut cx.b, array, Length::of(size), false);
        }
    }
}

/// The number of elements that an array has according to the caller.
fn length(b: &mut Builder, array: ArrayId) -> ExprId {
    let name = format!("{}_length", b.function().arrays[array].name);
    b.call_value(&name, Callee::Length, vec![Arg::Array(array)])
}

/// Ends the kernel if an array is shorter than `least`. `is_wide` says that `least` may come from unsigned numbers of 64 bits, the
/// largest of which are negative here.
fn demand(b: &mut Builder, array: ArrayId, least: Length, is_wide: bool) {
    let mut length = length(b, array);
    let mut count = match least.each {
        Some(each) => product(b, least.of, each),
        None => least.of,
    };
    if is_wide {
        (length, count) = (b.cast(DType::U64, length), b.cast(DType::U64, count));
    }
    // Nothing is added to the count: it may be the largest number of its type.
    let op = if least.is_one_more { CompareOp::Le } else { CompareOp::Lt };
    fail_if(b, op, length, count);
}

fn fail_if(b: &mut Builder, op: CompareOp, a: ExprId, c: ExprId) {
    let short = b.compare(op, a, c);
    b.if_then(short, |b| b.fail(Status::TooShort));
}
