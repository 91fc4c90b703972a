//! Bitmap workspaces: their coordinates are read off marks, in order, and not sorted.
//!
//! ```text
//! w[0 .. n]           values, the identity of the reduction where nothing was added
//! w_marks[0 .. n]     set where something was added
//! w_groups[0 .. n/64] set where one of 64 neighboring marks is
//! w_list[0 .. w_n]    the coordinates, once they were read off
//! ```
//!
//! An addition stores marks and adds to the value without asking whether it is the first one: a branch on that is foreseen badly,
//! and costs more than the stores. What is done beside that depends on how many additions come at most and on where they can
//! lie, which [`count`] finds out first if that is cheap:
//!
//! ```text
//! few, or many fewer than groups     coordinates are put on the list, which is sorted                    listed
//! an eighth of those between         marks are set, and all between the least and the greatest are read  scanned
//! otherwise                          marks and groups are set; groups are read, and marks of those set   grouped
//! ```
//!
//! A consumer that only looks coordinates up (a mask's) needs no order: the list is taken as it comes, to take marks back.
//!
//! A row of a product thus costs nothing that is proportional to the dimension, and nothing is compared with anything.
//!
//! Paper: Gustavson 1978 (the dense array); a bit for each word of bits is the van Emde Boas layout of two levels.

use std::rc::Rc;

use lacunar_base::Diagnostic;
use lacunar_formats::DType;
use lacunar_imp::{Arg, ArrayId, BinaryOp, Callee, CompareOp, ExprId, LoopKind, UnaryOp};
use lacunar_notation::concrete::Stmt;
use lacunar_notation::{Monoid, TensorId, VarId};

use super::values::combine_at;
use super::workspace::Workspace;
use crate::iterate::additions::counted_over;
use crate::levels::{Word, list_levels};
use crate::lower::count::{self, Additions};
use crate::lower::scope::{Fact, Interval, Scope};
use crate::lower::sizes::{ceil_div, product};
use crate::lower::storage::code;
use crate::lower::{INDEX, Lowerer, MutableVar, TensorCode, statement};

/// So many additions at most are put on a list: sorting them by insertion takes no longer than reading a few words.
const FEW: i64 = 24;
/// The groups of 64 words (4096 coordinates) for each addition that are not read, but for which the list is sorted.
const SPARSE: i64 = 1;
/// The coordinates for each addition between the least and the greatest of which all marks are read.
const DENSE: i64 = 8;

/// The arrays and variables of a bitmap workspace.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower) struct Bitmap {
    marks: ArrayId,
    groups: ArrayId,
    list: ArrayId,
    count: MutableVar,
    size: ExprId,
    filling: Filling,
    /// The consumer looks marks up, so that they stay until it ends.
    is_searched: bool,
    /// The consumer goes through the coordinates in order.
    is_ordered: bool,
}

/// How additions are noted: see the head of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filling {
    Listed,
    Scanned,
    Grouped,
}

impl Bitmap {
    /// The marks, by which coordinates are looked up.
    pub(super) fn marks(&self) -> ArrayId {
        self.marks
    }

    /// The number of coordinates on the list.
    pub(super) fn count(&self) -> MutableVar {
        self.count
    }

    /// Takes a value for a coordinate.
    pub(super) fn add(&self, cx: &mut Lowerer<'_>, values: ArrayId, at: ExprId, (monoid, value): (Monoid, ExprId)) {
        let yes = cx.b.bool(true);
        match self.filling {
            Filling::Listed => {
                let marked = cx.b.load("marked", self.marks, at);
                let (n, one) = (cx.b.var(self.count), cx.b.int(1));
                cx.b.store(self.list, n, at);
                let marked = cx.b.cast(INDEX, marked);
                let more = cx.b.sub(one, marked);
                let next = cx.b.add(n, more);
                cx.b.assign(self.count, next);
            }
            Filling::Scanned => {}
            Filling::Grouped => {
                let group = Word::number(&mut cx.b, at);
                cx.b.store(self.groups, group, yes);
            }
        }
        cx.b.store(self.marks, at, yes);
        combine_at(&mut cx.b, values, at, monoid, value);
    }
}

/// The bitmap that a workspace is.
fn bitmap(tensor: TensorId, scope: &Scope) -> Option<Bitmap> {
    match scope.sink(tensor).as_ref().and_then(|sink| sink.as_workspace()) {
        Some(&Workspace::Bitmap(bitmap)) => Some(bitmap),
        _ => None,
    }
}

/// Gives a workspace its memory, with no mark set and all values the identity.
pub(super) fn declare(cx: &mut Lowerer<'_>, tensor: TensorId, var: VarId) -> (Workspace, TensorCode) {
    let info = &cx.kernel.tensors[tensor];
    let size = cx.size(var);
    let values = cx.b.local_array(&info.name, info.dtype);
    let marks = cx.b.local_array(&format!("{}_marks", info.name), DType::Bool);
    let groups = cx.b.local_array(&format!("{}_groups", info.name), DType::Bool);
    let list = cx.b.local_array(&format!("{}_list", info.name), INDEX);
    let fill = info.fill();
    cx.b.alloc(values, size, fill.is_zero());
    if !fill.is_zero() {
        let (zero, fill) = (cx.b.int(0), cx.b.constant(fill));
        cx.fill(values, (zero, size), fill);
    }
    // Marks are read 64 at a time. A coordinate is also put behind the others, before it is known whether it is new.
    let (bits, one) = (cx.b.int(Word::BITS), cx.b.int(1));
    let words = ceil_div(&mut cx.b, size, bits);
    let all_marks = product(&mut cx.b, words, bits);
    cx.b.alloc(marks, all_marks, true);
    let all_groups = ceil_div(&mut cx.b, words, bits);
    let all_groups = product(&mut cx.b, all_groups, bits);
    cx.b.alloc(groups, all_groups, true);
    let places = cx.b.add(size, one);
    cx.b.alloc(list, places, false);
    let zero = cx.b.int(0);
    let count = cx.b.declare(&format!("{}_n", info.name), zero);
    let levels = list_levels(&[list], count);
    let made =
        Bitmap { marks, groups, list, count, size, filling: Filling::Grouped, is_searched: false, is_ordered: true };
    (Workspace::Bitmap(made), TensorCode { levels, values: Some(values) })
}

/// Emits the producer of a workspace, with all that follows from how much it adds; the coordinates are on the list afterwards, in
/// order. `is_searched` says that the consumer looks them up as well; one that does nothing else (`is_ordered`) takes them on the list
/// as they come, as it is there only to take marks back. False if the workspace is no bitmap.
///
/// # Errors
/// A place is not known.
pub(in crate::lower) fn fill(
    cx: &mut Lowerer<'_>,
    tensor: TensorId,
    producer: &Stmt,
    (is_searched, is_ordered): (bool, bool),
    scope: &mut Scope,
) -> Result<bool, Diagnostic> {
    let Some(found) = bitmap(tensor, scope) else { return Ok(false) };
    let made = Bitmap { is_searched, is_ordered, ..found };
    scope.know(Fact::Sink(tensor, Rc::new(Workspace::Bitmap(made))));
    if is_searched && !is_ordered {
        let name = cx.name(tensor);
        cx.say(scope, &format!("{name}: listed as they come"));
        return fill_so(cx, tensor, producer, &made, (Filling::Listed, None), scope).map(|()| true);
    }
    let Some(var) = counted_over(cx.kernel, producer, tensor) else {
        return fill_so(cx, tensor, producer, &made, (Filling::Grouped, None), scope).map(|()| true);
    };
    let additions = count::additions(cx, producer, var, scope)?;
    let (is_listed, is_scanned) = conditions(cx, additions);
    let name = cx.name(tensor);
    cx.say(scope, &format!("{name}: listed, scanned or grouped, by how much is added at most and where"));
    let fill = |cx: &mut Lowerer<'_>, filling| {
        cx.block(|cx| fill_so(cx, tensor, producer, &made, (filling, Some(additions)), scope))
    };
    let (scan, scanned) = fill(cx, Filling::Scanned);
    let (rest, others) = fill(cx, Filling::Grouped);
    scanned.and(others)?;
    let (list, listed) = fill(cx, Filling::Listed);
    let (marks, ()) = cx.block(|cx| cx.branch(is_scanned, scan, rest));
    cx.branch(is_listed, list, marks);
    listed.map(|()| true)
}

/// The conditions that additions are put on a list that is sorted, and that all marks between are read.
fn conditions(cx: &mut Lowerer<'_>, additions: Additions) -> (ExprId, ExprId) {
    let between = additions.between(cx);
    let (few, most) = (cx.b.int(FEW), cx.b.var(additions.most));
    let is_few = cx.b.compare(CompareOp::Le, most, few);
    let per_group = cx.b.int(SPARSE * Word::BITS * Word::BITS);
    let groups = cx.b.binary(BinaryOp::Div, between, per_group);
    let is_sparse = cx.b.compare(CompareOp::Gt, groups, most);
    let is_listed = cx.b.or(is_few, is_sparse);
    let per_scan = cx.b.int(DENSE);
    let scanned = cx.b.binary(BinaryOp::Div, between, per_scan);
    (is_listed, cx.b.compare(CompareOp::Le, scanned, most))
}

/// The producer, noting additions in one way, and the list made of them.
fn fill_so(
    cx: &mut Lowerer<'_>,
    tensor: TensorId,
    producer: &Stmt,
    made: &Bitmap,
    (filling, additions): (Filling, Option<Additions>),
    scope: &Scope,
) -> Result<(), Diagnostic> {
    let own = Bitmap { filling, ..*made };
    let inside = scope.with(Fact::Sink(tensor, Rc::new(Workspace::Bitmap(own)))).with(Fact::Serial);
    // The loops are the same each time: they are told once.
    let told = cx.found.loops.len();
    statement(cx, producer, &inside)?;
    if additions.is_some() && filling != Filling::Scanned {
        cx.found.loops.truncate(told);
    }
    let interval = match additions {
        Some(additions) => additions.interval(cx),
        None => (cx.b.int(0), own.size),
    };
    read(cx, &own, interval);
    Ok(())
}

/// Makes the list of the coordinates that were added to, which lie in an interval.
fn read(cx: &mut Lowerer<'_>, of: &Bitmap, (first, end): Interval) {
    match of.filling {
        Filling::Listed if !of.is_ordered => {}
        Filling::Listed => {
            let n = cx.b.var(of.count);
            let args = vec![Arg::Array(of.list), Arg::Scalar(n), Arg::Array(of.marks), Arg::Scalar(of.size)];
            cx.b.call(Callee::SortMarked, args);
        }
        Filling::Scanned => {
            let words = words_of(cx, (first, end));
            cx.each(LoopKind::Serial, "word", words, |cx, word| read_word(cx, of, word));
        }
        Filling::Grouped => {
            let words = words_of(cx, (first, end));
            let groups = words_of(cx, words);
            cx.each(LoopKind::Serial, "group", groups, |cx, group| {
                let bits = cx.b.int(Word::BITS);
                let at = cx.b.mul(group, bits);
                each_mark(cx, of.groups, at, true, |cx, word| read_word(cx, of, word));
            });
        }
    }
}

/// The numbers of the words that coordinates of an interval are in.
fn words_of(cx: &mut Lowerer<'_>, (first, end): Interval) -> Interval {
    let bits = cx.b.int(Word::BITS);
    (cx.b.binary(BinaryOp::Div, first, bits), ceil_div(&mut cx.b, end, bits))
}

/// Puts the coordinates of one word of marks on the list.
fn read_word(cx: &mut Lowerer<'_>, of: &Bitmap, word: ExprId) {
    let bits = cx.b.int(Word::BITS);
    let at = cx.b.mul(word, bits);
    each_mark(cx, of.marks, at, !of.is_searched, |cx, coordinate| {
        let (n, one) = (cx.b.var(of.count), cx.b.int(1));
        cx.b.store(of.list, n, coordinate);
        let next = cx.b.add(n, one);
        cx.b.assign(of.count, next);
    });
}

/// The places of the marks among 64 that are set, in order; the marks are taken back first, if that is asked for.
fn each_mark(
    cx: &mut Lowerer<'_>,
    marks: ArrayId,
    at: ExprId,
    takes_back: bool,
    build: impl FnOnce(&mut Lowerer<'_>, ExprId),
) {
    let at = cx.b.define("at", at);
    let bits = cx.b.marks(marks, at);
    let (left, none) = (cx.b.declare("left", bits), Word::constant(&mut cx.b, 0));
    let here = cx.b.var(left);
    let some = cx.b.compare(CompareOp::Ne, here, none);
    cx.when(some, |cx| {
        if takes_back {
            let (no, count) = (cx.b.bool(false), cx.b.int(Word::BITS));
            let end = cx.b.add(at, count);
            cx.fill(marks, (at, end), no);
        }
        cx.repeat(some, |cx| {
            let bit = cx.b.unary(UnaryOp::TrailingZeros, here);
            let bit = cx.b.cast(INDEX, bit);
            let place = cx.b.add(at, bit);
            let place = cx.b.define("place", place);
            build(cx, place);
            let fewer = Word::without_lowest(&mut cx.b, here);
            cx.b.assign(left, fewer);
        });
    });
}

/// Behind the consumer: all values are the identity again, and no mark is set.
pub(super) fn end(cx: &mut Lowerer<'_>, tensor: TensorId, of: &Bitmap, scope: &Scope) {
    let values = code(cx, tensor, scope).values;
    let value = cx.b.constant(cx.kernel.tensors[tensor].fill());
    let (zero, end) = (cx.b.int(0), cx.b.var(of.count));
    cx.b.for_loop("q", zero, end, |b, q| {
        let coordinate = b.load("listed", of.list, q);
        // Marks that were read off are taken back already: those of a list are not, nor any that are looked up.
        let no = b.bool(false);
        b.store(of.marks, coordinate, no);
        if let Some(values) = values {
            b.store(values, coordinate, value);
        }
    });
}
