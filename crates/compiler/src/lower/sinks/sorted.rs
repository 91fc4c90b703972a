//! Sorted workspaces: a list of all contributions, which are sorted and combined before it is read.
//!
//! ```text
//! w_key1[0 .. w_n], ..    the coordinates, in the order in which they came, as often as they came
//! w[0 .. w_n]             their values
//!
//! w[j, k] += v            w_key1[w_n] = j; w_key2[w_n] = k; w[w_n] = v; w_n += 1
//! before the consumer     sorts by coordinates; adds up the values of equal ones
//! ```
//!
//! On entry, nothing has memory: lists grow with each contribution.
//!
//! Paper: Kjolstad et al. 2019, §5 (coordinate-list workspaces).

use lacunar_imp::{Arg, ArrayId, BinaryOp, Callee, CompareOp, ExprId, LoopKind};
use lacunar_notation::{Monoid, TensorId};

use super::values::{combine_at, monoid_of};
use super::workspace::Workspace;
use crate::levels::list_levels;
use crate::lower::{INDEX, Lowerer, MutableVar, TensorCode};

/// The arrays and variables of a sorted workspace, beside its values.
#[derive(Clone, Debug)]
pub(in crate::lower) struct Sorted {
    keys: Vec<ArrayId>,
    /// The numbers of the entries, where the runtime does not combine them.
    numbers: Option<ArrayId>,
    count: MutableVar,
}

/// Declares the arrays of a workspace of some order.
pub(super) fn declare(cx: &mut Lowerer<'_>, tensor: TensorId, order: usize) -> (Workspace, TensorCode) {
    let info = &cx.kernel.tensors[tensor];
    let values = cx.b.local_array(&info.name, info.dtype);
    let keys: Vec<ArrayId> =
        (0..order).map(|k| cx.b.local_array(&format!("{}_key{}", info.name, k + 1), INDEX)).collect();
    let zero = cx.b.int(0);
    let count = cx.b.declare(&format!("{}_n", info.name), zero);
    let levels = list_levels(&keys, count);
    let is_sum = monoid_of(cx.kernel, tensor) == Monoid::SUM;
    let numbers = (!is_sum).then(|| cx.b.local_array(&format!("{}_numbers", cx.name(tensor)), INDEX));
    (Workspace::Sorted(Sorted { keys, numbers, count }), TensorCode { levels, values: Some(values) })
}

impl Sorted {
    /// Before the producer: nothing is on the list.
    pub(super) fn begin(&self, cx: &mut Lowerer<'_>) {
        let none = cx.b.int(0);
        cx.b.assign(self.count, none);
    }

    /// Takes a value for coordinates.
    pub(super) fn add(&self, cx: &mut Lowerer<'_>, values: ArrayId, coordinates: &[ExprId], value: ExprId) {
        let (n, one) = (cx.b.var(self.count), cx.b.int(1));
        let next = cx.b.add(n, one);
        for (&list, &coordinate) in self.keys.iter().zip(coordinates) {
            cx.b.grow(list, next, one, false);
            cx.b.store(list, n, coordinate);
        }
        cx.b.grow(values, next, one, false);
        cx.b.store(values, n, value);
        cx.b.assign(self.count, next);
    }

    /// Between the producer and a consumer: the coordinates ascend, and none is repeated.
    pub(super) fn order(&self, cx: &mut Lowerer<'_>, tensor: TensorId, values: ArrayId) {
        match self.numbers {
            Some(numbers) => self.combine(cx, tensor, (numbers, values)),
            None => add_up(cx, &self.keys, self.count, values),
        }
    }

    /// Sorts entries and combines those of equal coordinates. The runtime adds up entries with equal keys: the number of an entry is the
    /// last of its keys, so that none are equal.
    ///
    /// ```text
    /// sort(keys, numbers; values);  left = 1
    /// for q in 1 .. n { if keys[left - 1] == keys[q] { values[left - 1] op= values[q] } else { move q to left; left += 1 } }
    /// ```
    fn combine(&self, cx: &mut Lowerer<'_>, tensor: TensorId, (numbers, values): (ArrayId, ArrayId)) {
        let (keys, count) = (&self.keys, self.count);
        let monoid = monoid_of(cx.kernel, tensor);
        let (zero, one, n) = (cx.b.int(0), cx.b.int(1), cx.b.var(count));
        let n = cx.b.define("entries", n);
        cx.b.grow(numbers, n, one, false);
        cx.b.for_loop("q", zero, n, |b, q| b.store(numbers, q, q));
        let mut args = vec![Arg::Scalar(n), Arg::Array(values)];
        args.extend(keys.iter().copied().chain([numbers]).map(Arg::Array));
        let sorted = cx.b.call_value("sorted", Callee::SortCombine, args);
        let first = cx.b.binary(BinaryOp::Min, sorted, one);
        cx.b.assign(count, first);
        cx.each(LoopKind::Serial, "q", (first, sorted), |cx, q| {
            let left = cx.b.var(count);
            let last = cx.b.sub(left, one);
            let mut is_repeated = cx.b.bool(true);
            for &key in keys {
                let (before, here) = (cx.b.load("before", key, last), cx.b.load("here", key, q));
                let equal = cx.b.compare(CompareOp::Eq, before, here);
                is_repeated = cx.b.and(is_repeated, equal);
            }
            let value = cx.b.load("value", values, q);
            let (then, ()) = cx.block(|cx| combine_at(&mut cx.b, values, last, monoid, value));
            let (otherwise, ()) = cx.block(|cx| {
                for &key in keys {
                    let here = cx.b.load("here", key, q);
                    cx.b.store(key, left, here);
                }
                cx.b.store(values, left, value);
                let next = cx.b.add(left, one);
                cx.b.assign(count, next);
            });
            cx.branch(is_repeated, then, otherwise);
        });
    }
}

/// Sorts entries, and adds up those of equal coordinates.
pub(super) fn add_up(cx: &mut Lowerer<'_>, keys: &[ArrayId], count: MutableVar, values: ArrayId) {
    let n = cx.b.var(count);
    let mut args = vec![Arg::Scalar(n), Arg::Array(values)];
    args.extend(keys.iter().copied().map(Arg::Array));
    let left = cx.b.call_value("combined", Callee::SortCombine, args);
    cx.b.assign(count, left);
}
