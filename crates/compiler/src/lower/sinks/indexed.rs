//! Indexed workspaces: a list of values as they came, and for each coordinate its place on the list.
//!
//! ```text
//! w[0 .. w_n]         values
//! w_list[0 .. w_n]    their coordinates, each once, in the order in which they came
//! w_places[0 .. n]    by coordinate: its place on the list + w_base; less than w_base if it is not there
//!
//! w[k] += v           place = w_places[k] - w_base
//!                     if place >= 0 { w[place] += v } else { w_places[k] = w_base + w_n; w_list[w_n] = k; w[w_n] = v; w_n += 1 }
//! ```
//!
//! Values lie together, where sums over few coordinates stay in the nearest cache, and the consumer reads them one after the other.
//! Nothing is cleared: behind the consumer, `w_base` is one more than all places so far. So this is cheaper than marks wherever
//! the consumer takes coordinates as they come; where it takes them in order, the list is sorted with its values.
//!
//! On entry, `w_places` is 0 and `w_base` is 1. Places do not run out: they have 63 bits.
//!
//! Paper: Briggs and Torczon, *An Efficient Representation for Sparse Sets* (1993); Gustavson 1978 keeps such a place for each
//! column of a product's row.

use lacunar_imp::{Arg, ArrayId, Callee, CompareOp, ExprId};
use lacunar_notation::{Monoid, TensorId, VarId};

use super::values::combine_at;
use super::workspace::Workspace;
use crate::levels::list_levels;
use crate::lower::{INDEX, Lowerer, MutableVar, TensorCode};

/// The arrays and variables of an indexed workspace, beside its values.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower) struct Indexed {
    places: ArrayId,
    list: ArrayId,
    base: MutableVar,
    pub(super) count: MutableVar,
}

/// Gives a workspace its memory, with nothing on the list.
pub(super) fn declare(cx: &mut Lowerer<'_>, tensor: TensorId, var: VarId) -> (Workspace, TensorCode) {
    let info = &cx.kernel.tensors[tensor];
    let size = cx.size(var);
    let values = cx.b.local_array(&info.name, info.dtype);
    let list = cx.b.local_array(&format!("{}_list", info.name), INDEX);
    let places = cx.b.local_array(&format!("{}_places", info.name), INDEX);
    cx.b.alloc(values, size, false);
    cx.b.alloc(list, size, false);
    cx.b.alloc(places, size, true);
    let (zero, one) = (cx.b.int(0), cx.b.int(1));
    let base = cx.b.declare(&format!("{}_base", info.name), one);
    let count = cx.b.declare(&format!("{}_n", info.name), zero);
    let levels = list_levels(&[list], count);
    (Workspace::Indexed(Indexed { places, list, base, count }), TensorCode { levels, values: Some(values) })
}

impl Indexed {
    /// Takes a value for a coordinate.
    pub(super) fn add(
        &self,
        cx: &mut Lowerer<'_>,
        values: ArrayId,
        coordinate: ExprId,
        (monoid, value): (Monoid, ExprId),
    ) {
        let (base, n, zero, one) = (cx.b.var(self.base), cx.b.var(self.count), cx.b.int(0), cx.b.int(1));
        let found = cx.b.load("found", self.places, coordinate);
        let place = cx.b.sub(found, base);
        let is_known = cx.b.compare(CompareOp::Ge, place, zero);
        let (then, ()) = cx.block(|cx| combine_at(&mut cx.b, values, place, monoid, value));
        let (otherwise, ()) = cx.block(|cx| {
            let own = cx.b.add(base, n);
            cx.b.store(self.places, coordinate, own);
            cx.b.store(self.list, n, coordinate);
            cx.b.store(values, n, value);
            let next = cx.b.add(n, one);
            cx.b.assign(self.count, next);
        });
        cx.branch(is_known, then, otherwise);
    }

    /// Sorts the list, with its values.
    pub(super) fn order(&self, cx: &mut Lowerer<'_>, values: ArrayId) {
        let n = cx.b.var(self.count);
        let args = vec![Arg::Scalar(n), Arg::Array(values), Arg::Array(self.list)];
        cx.b.call_value("combined", Callee::SortCombine, args);
    }

    /// Behind the consumer: no place on the list is anybody's.
    pub(super) fn end(&self, cx: &mut Lowerer<'_>) {
        let (base, n) = (cx.b.var(self.base), cx.b.var(self.count));
        let next = cx.b.add(base, n);
        cx.b.assign(self.base, next);
    }
}
