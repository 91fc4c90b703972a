//! Hashed workspaces: the list of the coordinates that were given something, each once, with their values, and a table that finds the
//! place of a coordinate on the list.
//!
//! ```text
//! w_key1[0 .. w_n], ..    the coordinates, in the order in which they came
//! w[0 .. w_n]             their values
//! w_table[0 .. w_slots]   by the hash of the coordinates: the place on the list, -1 where there is none
//!
//! before the producer     if w_n * 16 < w_slots { w_slots /= 2 };  w_table[0 .. w_slots] = -1;  w_n = 0
//! w[j, k] += v            at = hash(j, k) & (w_slots - 1)
//!                         while true {
//!                             if w_table[at] < 0 { w_table[at] = w_n; w_key1[w_n] = j; w_key2[w_n] = k; w[w_n] = v; w_n += 1; break }
//!                             if that place has j and k { w[w_table[at]] += v; break }
//!                             at = (at + 1) & (w_slots - 1)
//!                         }
//! ```
//!
//! The memory is proportional to the number of values, not to the dimension, which may be of any size. The table is at most a quarter full, so
//! that a search mostly ends at the first slot. An insertion that makes it fuller doubles it; the next filling halves it if it was less than a
//! sixteenth full.
//!
//! On entry, all have memory for [`FIRST`] slots. Lists have room for a quarter of the slots, and one more.
//!
//! Paper: Nagasaka et al., *High-Performance Sparse Matrix-Matrix Products on Intel KNL and Multicore Architectures* (2018), for rows of
//! products; Zhang et al. 2024, for workspaces of several dimensions.

use lacunar_imp::{ArrayId, BinaryOp, CompareOp, ExprId, LoopKind, Stmt};
use lacunar_notation::{Monoid, TensorId};

use super::sorted::add_up;
use super::values::combine_at;
use super::workspace::Workspace;
use crate::levels::{hash, list_levels};
use crate::lower::{INDEX, Lowerer, MutableVar, TensorCode};

/// The slots of a table that was not used yet.
const FIRST: i64 = 64;
/// The slots of a table for each coordinate, at least and at most.
const LEAST: i64 = 4;
const MOST: i64 = 16;

/// The arrays and variables of a hashed workspace, beside its values.
#[derive(Clone, Debug)]
pub(in crate::lower) struct Hashed {
    keys: Vec<ArrayId>,
    table: ArrayId,
    slots: MutableVar,
    count: MutableVar,
}

/// Gives a workspace of some order its memory, with nothing on the list.
pub(super) fn declare(cx: &mut Lowerer<'_>, tensor: TensorId, order: usize) -> (Workspace, TensorCode) {
    let info = &cx.kernel.tensors[tensor];
    let name = |what: &str| format!("{}_{what}", info.name);
    let values = cx.b.local_array(&info.name, info.dtype);
    let keys: Vec<ArrayId> = (1..=order).map(|k| cx.b.local_array(&name(&format!("key{k}")), INDEX)).collect();
    let table = cx.b.local_array(&name("table"), INDEX);
    let (zero, first) = (cx.b.int(0), cx.b.int(FIRST));
    let slots = cx.b.declare(&name("slots"), first);
    let count = cx.b.declare(&name("n"), zero);
    let made = Hashed { keys, table, slots, count };
    made.make_room(cx, values);
    let levels = list_levels(&made.keys, count);
    (Workspace::Hashed(made), TensorCode { levels, values: Some(values) })
}

impl Hashed {
    /// Between the producer and a consumer that walks through the list: its coordinates ascend.
    pub(super) fn order(&self, cx: &mut Lowerer<'_>, values: ArrayId) {
        add_up(cx, &self.keys, self.count, values);
    }

    /// Room for the slots there are, and for as many entries as these take.
    fn make_room(&self, cx: &mut Lowerer<'_>, values: ArrayId) {
        let (slots, least, one) = (cx.b.var(self.slots), cx.b.int(LEAST), cx.b.int(1));
        cx.b.grow(self.table, slots, one, false);
        let entries = cx.b.binary(BinaryOp::Div, slots, least);
        let entries = cx.b.add(entries, one);
        for &array in self.keys.iter().chain([&values]) {
            cx.b.grow(array, entries, one, false);
        }
    }

    /// No slot has a place.
    fn empty(&self, cx: &mut Lowerer<'_>) {
        let (zero, slots, none) = (cx.b.int(0), cx.b.var(self.slots), cx.b.int(-1));
        cx.fill(self.table, (zero, slots), none);
    }

    /// Before the producer: nothing is on the list. Tables of small fillings become small again.
    pub(super) fn begin(&self, cx: &mut Lowerer<'_>) {
        let (slots, count) = (cx.b.var(self.slots), cx.b.var(self.count));
        let (first, most, two) = (cx.b.int(FIRST), cx.b.int(MOST), cx.b.int(2));
        let used = cx.b.mul(count, most);
        let is_loose = cx.b.compare(CompareOp::Lt, used, slots);
        let is_larger = cx.b.compare(CompareOp::Gt, slots, first);
        let is_loose = cx.b.and(is_loose, is_larger);
        cx.when(is_loose, |cx| {
            let half = cx.b.binary(BinaryOp::Div, slots, two);
            cx.b.assign(self.slots, half);
        });
        self.empty(cx);
        let zero = cx.b.int(0);
        cx.b.assign(self.count, zero);
    }

    /// Takes a value for coordinates.
    pub(super) fn add(
        &self,
        cx: &mut Lowerer<'_>,
        values: ArrayId,
        coordinates: &[ExprId],
        (monoid, value): (Monoid, ExprId),
    ) {
        let value = cx.b.define("added", value);
        self.probe(cx, coordinates, |cx, at, place| {
            let (zero, one) = (cx.b.int(0), cx.b.int(1));
            let is_new = cx.b.compare(CompareOp::Lt, place, zero);
            cx.when(is_new, |cx| {
                let n = cx.b.var(self.count);
                cx.b.store(self.table, at, n);
                for (&key, &coordinate) in self.keys.iter().zip(coordinates) {
                    cx.b.store(key, n, coordinate);
                }
                cx.b.store(values, n, value);
                let next = cx.b.add(n, one);
                cx.b.assign(self.count, next);
                self.keep_loose(cx, values);
                cx.b.push(Stmt::Break);
            });
            let mut is_same = cx.b.bool(true);
            for (&key, &coordinate) in self.keys.iter().zip(coordinates) {
                let own = cx.b.load("own", key, place);
                let equal = cx.b.compare(CompareOp::Eq, own, coordinate);
                is_same = cx.b.and(is_same, equal);
            }
            cx.when(is_same, |cx| {
                combine_at(&mut cx.b, values, place, monoid, value);
                cx.b.push(Stmt::Break);
            });
        });
    }

    /// Goes through the slots from that of the hash on until the body, which gets a slot and its place, leaves the loop.
    fn probe(&self, cx: &mut Lowerer<'_>, coordinates: &[ExprId], body: impl FnOnce(&mut Lowerer<'_>, ExprId, ExprId)) {
        let (slots, one) = (cx.b.var(self.slots), cx.b.int(1));
        let mask = cx.b.sub(slots, one);
        let hash = hash(&mut cx.b, coordinates);
        let first = cx.b.binary(BinaryOp::And, hash, mask);
        let slot = cx.b.declare("slot", first);
        let yes = cx.b.bool(true);
        cx.repeat(yes, |cx| {
            let at = cx.b.var(slot);
            let place = cx.b.load("place", self.table, at);
            body(cx, at, place);
            let next = cx.b.add(at, one);
            let next = cx.b.binary(BinaryOp::And, next, mask);
            cx.b.assign(slot, next);
        });
    }

    /// Doubles a table that is more than a quarter full, and puts all places into it again.
    fn keep_loose(&self, cx: &mut Lowerer<'_>, values: ArrayId) {
        let (slots, count) = (cx.b.var(self.slots), cx.b.var(self.count));
        let (least, two, zero) = (cx.b.int(LEAST), cx.b.int(2), cx.b.int(0));
        let used = cx.b.mul(count, least);
        let is_full = cx.b.compare(CompareOp::Gt, used, slots);
        cx.when(is_full, |cx| {
            let double = cx.b.mul(slots, two);
            cx.b.assign(self.slots, double);
            self.make_room(cx, values);
            self.empty(cx);
            cx.each(LoopKind::Serial, "q", (zero, count), |cx, q| {
                let own: Vec<ExprId> = self.keys.iter().map(|&key| cx.b.load("own", key, q)).collect();
                self.probe(cx, &own, |cx, at, place| {
                    let is_free = cx.b.compare(CompareOp::Lt, place, zero);
                    cx.when(is_free, |cx| {
                        cx.b.store(self.table, at, q);
                        cx.b.push(Stmt::Break);
                    });
                });
            });
        });
    }
}
