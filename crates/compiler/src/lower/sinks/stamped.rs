//! Stamped workspaces: values at their coordinates, the list of the coordinates as they came, and for each coordinate the number of
//! the filling in which it was given something last.
//!
//! ```text
//! w[0 .. n]           values
//! w_list[0 .. w_n]    the coordinates that have one, each once, in the order in which they came
//! w_stamps[0 .. n]    by coordinate: the filling that gave it a value last
//!
//! before the producer   w_stamp += 1; w_n = 0
//! w[k] += v             if w_stamps[k] == w_stamp { w[k] += v } else { w_stamps[k] = w_stamp; w_list[w_n] = k; w[k] = v; w_n += 1 }
//! ```
//!
//! Nothing is cleared behind the consumer: the next filling has another number. So this is cheaper than marks wherever the consumer takes
//! coordinates as they come. The place of a value follows from its coordinate alone, so it is fetched before the test if it is the first
//! one there. Places on a list, where values would lie closer together, would have to be loaded before. Forming A * A of `wave` takes
//! 0.7, of `cnr-2000` 0.6 and of a random matrix of a million columns 1.0 of the time with such places (Zen 3).
//!
//! On entry, `w_stamps` and `w_stamp` are 0. When the numbers run out, after 2^32 - 1 fillings, stamps are cleared and begin again.
//!
//! Paper: Briggs and Torczon, *An Efficient Representation for Sparse Sets* (1993), for sets that are emptied at once; Gustavson 1978
//! keeps the number of the row for each column of a product.

use lacunar_formats::DType;
use lacunar_imp::{ArrayId, CompareOp, ExprId};
use lacunar_notation::{Monoid, TensorId, VarId};

use super::values::combine_at;
use super::workspace::Workspace;
use crate::levels::list_levels;
use crate::lower::{INDEX, Lowerer, MutableVar, TensorCode};

/// The type of a stamp.
const STAMP: DType = DType::U32;
/// The last stamp.
const LAST: i64 = u32::MAX as i64;

/// The arrays and variables of a stamped workspace, beside its values.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower) struct Stamped {
    stamps: ArrayId,
    list: ArrayId,
    stamp: MutableVar,
    count: MutableVar,
    size: ExprId,
}

/// Gives a workspace its memory, with nothing on the list.
pub(super) fn declare(cx: &mut Lowerer<'_>, tensor: TensorId, var: VarId) -> (Workspace, TensorCode) {
    let info = &cx.kernel.tensors[tensor];
    let size = cx.size(var);
    let values = cx.b.local_array(&info.name, info.dtype);
    let list = cx.b.local_array(&format!("{}_list", info.name), INDEX);
    let stamps = cx.b.local_array(&format!("{}_stamps", info.name), STAMP);
    cx.b.alloc(values, size, false);
    cx.b.alloc(list, size, false);
    cx.b.alloc(stamps, size, true);
    let zero = cx.b.int(0);
    let unstamped = cx.b.cast(STAMP, zero);
    let stamp = cx.b.declare(&format!("{}_stamp", info.name), unstamped);
    let count = cx.b.declare(&format!("{}_n", info.name), zero);
    let levels = list_levels(&[list], count);
    (Workspace::Stamped(Stamped { stamps, list, stamp, count, size }), TensorCode { levels, values: Some(values) })
}

impl Stamped {
    /// Before the producer: no coordinate has this filling's number.
    pub(super) fn begin(&self, cx: &mut Lowerer<'_>) {
        let (zero, one, last) = (cx.b.int(0), cx.b.int(1), cx.b.int(LAST));
        let (none, last) = (cx.b.cast(STAMP, zero), cx.b.cast(STAMP, last));
        let stamp = cx.b.var(self.stamp);
        let is_over = cx.b.compare(CompareOp::Eq, stamp, last);
        cx.when(is_over, |cx| {
            cx.fill(self.stamps, (zero, self.size), none);
            cx.b.assign(self.stamp, none);
        });
        let number = cx.b.cast(INDEX, stamp);
        let next = cx.b.add(number, one);
        let next = cx.b.cast(STAMP, next);
        cx.b.assign(self.stamp, next);
        cx.b.assign(self.count, zero);
    }

    /// The condition that a coordinate has a value. Stamps are compared in 32 bits, as they are stored. A comparison in 64 bits needs one
    /// more register, and the innermost loop of a sparse matrix product has none left.
    pub(super) fn has(&self, cx: &mut Lowerer<'_>, coordinate: ExprId) -> ExprId {
        let stamp = cx.b.var(self.stamp);
        let found = cx.b.load("found", self.stamps, coordinate);
        cx.b.compare(CompareOp::Eq, found, stamp)
    }

    /// Takes a value for a coordinate.
    pub(super) fn add(&self, cx: &mut Lowerer<'_>, values: ArrayId, at: ExprId, (monoid, value): (Monoid, ExprId)) {
        let has = self.has(cx, at);
        let (then, ()) = cx.block(|cx| combine_at(&mut cx.b, values, at, monoid, value));
        let (otherwise, ()) = cx.block(|cx| {
            let (stamp, n, one) = (cx.b.var(self.stamp), cx.b.var(self.count), cx.b.int(1));
            cx.b.store(self.stamps, at, stamp);
            cx.b.store(self.list, n, at);
            cx.b.store(values, at, value);
            let next = cx.b.add(n, one);
            cx.b.assign(self.count, next);
        });
        cx.branch(has, then, otherwise);
    }
}
