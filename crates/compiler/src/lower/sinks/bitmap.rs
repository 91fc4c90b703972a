//! Bitmap workspaces: their coordinates are read off marks, in order, and not sorted.
//!
//! ```text
//! w[0 .. n]           values, the identity of the reduction where nothing was added
//! w_marks[0 .. n]     set where something was added
//! w_groups[0 .. n/64] set where one of 64 neighboring marks is
//! w_list[0 .. w_n]    the coordinates, once they were read off
//! ```
//!
//! An addition stores marks and adds to the value without a test if it is the first one: such a branch is predicted badly, and costs
//! more than the stores. It tests only if the filling before added five times or more to each of its coordinates on average: then the
//! branch is predicted well, and there are fewer stores (A * A of `bcsstk33` takes 0.65 of the time, of `rgg_n_2_15`, with four, 1.4
//! times as long; Zen 3). The rest depends on the number of additions at most and on where they can lie, which [`count`] finds out first
//! if that is cheap:
//!
//! ```text
//! few, or many fewer than groups     coordinates are put on the list, which is sorted                    listed
//! an eighth of those between         marks are set, and all between the least and the greatest are read  scanned
//! otherwise                          marks and groups are set; groups are read, and marks of those set   grouped
//! ```
//!
//! A consumer that only looks coordinates up (a mask's) needs no order: the list is taken as it comes, to take marks back.
//!
//! A consumer that is one loop over the coordinates, and whose additions were counted, is emitted where marks are read off, once for each
//! way ([`Walk`]). Then no list is made of them, and each value is the identity again as soon as it was read.
//!
//! ```text
//! C(i,j) = w(j)       scanned:  for each 64 marks, each that is set: { C gets w[j] at j; w[j] = 0 }
//! ```
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
use crate::iterate::iterators::Mode;
use crate::iterate::lattice::Lattice;
use crate::iterate::position_space::original_loops;
use crate::iterate::reading::{is_read_in_order, is_searched};
use crate::levels::{Word, list_levels};
use crate::lower::count::{self, Additions};
use crate::lower::scope::{Fact, Interval, Scope};
use crate::lower::sizes::{ceil_div, constant, product};
use crate::lower::storage::code;
use crate::lower::{INDEX, Lowerer, MutableVar, TensorCode, statement};

/// The groups of 64 words (4096 coordinates) for each addition that are not read, but for which the list is sorted.
const SPARSE: i64 = 1;
/// The coordinates for each addition between the least and the greatest of which all marks are read.
const DENSE: i64 = 8;
/// The least average of additions to a coordinate at which the branch predictor learns that an addition is not the first one.
const REPEATED: i64 = 5;

/// The arrays and variables of a bitmap workspace.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower) struct Bitmap {
    marks: ArrayId,
    groups: ArrayId,
    list: ArrayId,
    count: MutableVar,
    /// Coordinates were added to often in the filling before.
    repeated: MutableVar,
    size: ExprId,
    filling: Filling,
    /// True if additions ask whether they are the first ones.
    is_tested: bool,
    /// True if the consumer looks marks up, so that they stay until it ends.
    is_searched: bool,
    /// True if the consumer goes through the coordinates in order.
    is_ordered: bool,
}

/// The way to note additions: see the head of the file.
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

    /// Takes a value for a coordinate, which is stored there if there is no monoid.
    pub(super) fn add(&self, cx: &mut Lowerer<'_>, (values, at): (ArrayId, ExprId), by: (Option<Monoid>, ExprId)) {
        self.note(cx, at);
        match by {
            (Some(monoid), value) => combine_at(&mut cx.b, values, at, monoid, value),
            (None, value) => cx.b.store(values, at, value),
        }
    }

    /// Notes that a coordinate is given a value.
    fn note(&self, cx: &mut Lowerer<'_>, at: ExprId) {
        if self.is_tested {
            let (marked, no) = (cx.b.load("marked", self.marks, at), cx.b.bool(false));
            let is_first = cx.b.compare(CompareOp::Eq, marked, no);
            return cx.when(is_first, |cx| self.mark(cx, at));
        }
        if self.filling == Filling::Listed {
            let marked = cx.b.load("marked", self.marks, at);
            let (n, one) = (cx.b.var(self.count), cx.b.int(1));
            cx.b.store(self.list, n, at);
            let marked = cx.b.cast(INDEX, marked);
            let more = cx.b.sub(one, marked);
            let next = cx.b.add(n, more);
            cx.b.assign(self.count, next);
        }
        self.mark(cx, at);
    }

    /// Sets the marks of a coordinate.
    fn mark(&self, cx: &mut Lowerer<'_>, at: ExprId) {
        let yes = cx.b.bool(true);
        if self.filling == Filling::Grouped {
            let group = Word::number(&mut cx.b, at);
            cx.b.store(self.groups, group, yes);
        }
        cx.b.store(self.marks, at, yes);
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
    let no = cx.b.bool(false);
    let repeated = cx.b.declare(&format!("{}_repeated", cx.name(tensor)), no);
    let made = Bitmap {
        marks,
        groups,
        list,
        count,
        repeated,
        size,
        filling: Filling::Grouped,
        is_tested: false,
        is_searched: false,
        is_ordered: true,
    };
    (Workspace::Bitmap(made), TensorCode { levels, values: Some(values) })
}

/// The state of a workspace after its producer.
pub(in crate::lower) enum Filled {
    /// It is no bitmap, and not filled.
    Not,
    /// Its coordinates are on the list, in order if the consumer goes through them in order.
    Listed,
    /// The consumer was emitted too, and the workspace is empty again.
    Read,
}

/// Emits the producer of a workspace, with all that follows from how much it adds; and its consumer, if that is one loop over the
/// coordinates, which are on the list otherwise. A consumer that does nothing but look coordinates up takes them on the list as they
/// come, as it is there only to take marks back.
///
/// # Errors
/// A place is not known.
pub(in crate::lower) fn fill(
    cx: &mut Lowerer<'_>,
    tensor: TensorId,
    (producer, consumer): (&Stmt, &Stmt),
    scope: &mut Scope,
) -> Result<Filled, Diagnostic> {
    let Some(found) = bitmap(tensor, scope) else { return Ok(Filled::Not) };
    let reader = original_loops(cx.kernel, consumer);
    let is_searched = is_searched(cx.kernel, &reader, tensor);
    let is_ordered = is_read_in_order(cx.kernel, &reader, tensor);
    let made = Bitmap { is_searched, is_ordered, ..found };
    scope.know(Fact::Sink(tensor, Rc::new(Workspace::Bitmap(made))));
    let name = cx.name(tensor);
    if is_searched && !is_ordered {
        cx.say(scope, &format!("{name}: listed as they come"));
        fill_so(cx, tensor, (producer, None), &made, (Filling::Listed, None), scope)?;
        return Ok(Filled::Listed);
    }
    let Some(var) = counted_over(cx.kernel, producer, tensor) else {
        fill_so(cx, tensor, (producer, None), &made, (Filling::Grouped, None), scope)?;
        return Ok(Filled::Listed);
    };
    let walking = is_walked(cx, consumer, tensor, scope).then_some(consumer);
    let additions = count::additions(cx, producer, var, scope)?;
    let (is_listed, is_scanned) = conditions(cx, additions);
    cx.say(scope, &format!("{name}: listed, scanned or grouped, by how much is added at most and where"));
    let told = cx.found.loops.len();
    let one_way = |cx: &mut Lowerer<'_>, filling, is_tested| {
        // The loops are the same each time: they are told once.
        cx.found.loops.truncate(told);
        let made = Bitmap { is_tested, ..made };
        cx.block(|cx| fill_so(cx, tensor, (producer, walking), &made, (filling, Some(additions)), scope))
    };
    let by_marks = |cx: &mut Lowerer<'_>, filling| {
        let (asking, first) = one_way(cx, filling, true);
        let (storing, second) = one_way(cx, filling, false);
        let (both, ()) = cx.block(|cx| {
            let is_repeated = cx.b.var(made.repeated);
            cx.branch(is_repeated, asking, storing);
            let (most, count, times) = (cx.b.var(additions.most), cx.b.var(made.count), cx.b.int(REPEATED));
            let least = cx.b.mul(count, times);
            let many = cx.b.compare(CompareOp::Ge, most, least);
            cx.b.assign(made.repeated, many);
        });
        (both, first.and(second))
    };
    let (scan, scanned) = by_marks(cx, Filling::Scanned);
    let (rest, others) = by_marks(cx, Filling::Grouped);
    let (list, listed) = one_way(cx, Filling::Listed, false);
    scanned.and(others)?;
    let (marks, ()) = cx.block(|cx| cx.branch(is_scanned, scan, rest));
    cx.branch(is_listed, list, marks);
    listed.map(|()| if walking.is_some() { Filled::Read } else { Filled::Listed })
}

/// True if a consumer is one loop over the coordinates of a workspace, one after the other, which reads the workspace at no other.
fn is_walked(cx: &Lowerer<'_>, consumer: &Stmt, tensor: TensorId, scope: &Scope) -> bool {
    let Stmt::Forall(var, body) = consumer else { return false };
    let is_plain = cx.kernel.provenance.is_plain(*var) && scope.pending(*var).is_none() && cx.race(*var).is_none();
    let is_single = |lattice: &Lattice| {
        let of_tensor = lattice.iterators.iter().all(|it| it.access.tensor == tensor && it.mode == Mode::Coiterate);
        of_tensor && lattice.iterators.len() == 1 && lattice.confining.is_empty() && !lattice.visits_all()
    };
    let mut is_here = true;
    body.visit_assigns(&mut |assign| {
        is_here &= assign.rhs.accesses().iter().all(|access| access.tensor != tensor || access.vars == [*var]);
    });
    is_plain
        && is_here
        && scope.region(*var).is_none()
        && matches!(cx.loop_kind(*var, scope), LoopKind::Serial)
        && Lattice::build(cx.kernel, body, *var).is_ok_and(|lattice| is_single(&lattice))
}

/// A workspace whose coordinates a loop takes where they are read off, and which is empty behind that.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower) struct Walk {
    tensor: TensorId,
    bitmap: Bitmap,
    additions: Additions,
}

impl Walk {
    /// The walk over a workspace, if a loop in this scope takes its coordinates as they are read off.
    pub fn of(tensor: TensorId, scope: &Scope) -> Option<Walk> {
        scope.facts().find_map(|fact| match fact {
            Fact::Walk(walk) if walk.tensor == tensor => Some(*walk),
            _ => None,
        })
    }

    /// An upper bound of the number of coordinates.
    pub fn most(&self, cx: &mut Lowerer<'_>) -> ExprId {
        if self.bitmap.filling == Filling::Listed {
            return cx.b.var(self.bitmap.count);
        }
        let (most, between) = (cx.b.var(self.additions.most), self.additions.between(cx));
        cx.b.binary(BinaryOp::Min, most, between)
    }

    /// The loop over the coordinates.
    ///
    /// # Errors
    /// The body's errors.
    pub fn each(&self, cx: &mut Lowerer<'_>, scope: &Scope, body: Body<'_>) -> Result<(), Diagnostic> {
        cx.found.walked += 1;
        let values = code(cx, self.tensor, scope).values;
        let value = cx.b.constant(cx.kernel.tensors[self.tensor].fill());
        let of = self.bitmap;
        if of.filling == Filling::Listed {
            let (zero, end) = (cx.b.int(0), cx.b.var(of.count));
            return cx.each(LoopKind::Serial, "q", (zero, end), |cx, q| {
                let coordinate = cx.b.load("listed", of.list, q);
                body(cx, coordinate)?;
                let no = cx.b.bool(false);
                cx.b.store(of.marks, coordinate, no);
                values.into_iter().for_each(|values| cx.b.store(values, coordinate, value));
                Ok(())
            });
        }
        let interval = self.additions.interval(cx);
        each_set(cx, &of, interval, &mut |cx, coordinate| {
            body(cx, coordinate)?;
            values.into_iter().for_each(|values| cx.b.store(values, coordinate, value));
            let (n, one) = (cx.b.var(of.count), cx.b.int(1));
            let next = cx.b.add(n, one);
            cx.b.assign(of.count, next);
            Ok(())
        })
    }
}

/// The body of a loop over coordinates.
pub(in crate::lower) type Body<'a> = &'a mut dyn FnMut(&mut Lowerer<'_>, ExprId) -> Result<(), Diagnostic>;

/// The conditions that additions are put on a list that is sorted, and that all marks between are read.
fn conditions(cx: &mut Lowerer<'_>, additions: Additions) -> (ExprId, ExprId) {
    let between = additions.between(cx);
    let (few, most) = (constant(&mut cx.b, cx.options.reach.listed), cx.b.var(additions.most));
    let is_few = cx.b.compare(CompareOp::Le, most, few);
    let per_group = cx.b.int(SPARSE * Word::BITS * Word::BITS);
    let groups = cx.b.binary(BinaryOp::Div, between, per_group);
    let is_sparse = cx.b.compare(CompareOp::Gt, groups, most);
    let is_listed = cx.b.or(is_few, is_sparse);
    let per_scan = cx.b.int(DENSE);
    let scanned = cx.b.binary(BinaryOp::Div, between, per_scan);
    (is_listed, cx.b.compare(CompareOp::Le, scanned, most))
}

/// The producer, noting additions in one way, and the list made of them, or a consumer that takes them as they are read off.
fn fill_so(
    cx: &mut Lowerer<'_>,
    tensor: TensorId,
    (producer, consumer): (&Stmt, Option<&Stmt>),
    made: &Bitmap,
    (filling, additions): (Filling, Option<Additions>),
    scope: &Scope,
) -> Result<(), Diagnostic> {
    let own = Bitmap { filling, ..*made };
    let inside = scope.with(Fact::Sink(tensor, Rc::new(Workspace::Bitmap(own)))).with(Fact::Serial);
    statement(cx, producer, &inside)?;
    match consumer.zip(additions) {
        Some((consumer, additions)) => read_by(cx, consumer, Walk { tensor, bitmap: own, additions }, scope)?,
        None => {
            let interval = match additions {
                Some(additions) => additions.interval(cx),
                None => (cx.b.int(0), own.size),
            };
            read(cx, &own, interval)?;
        }
    }
    Ok(())
}

/// The consumer, whose loop takes the coordinates as they are read off.
fn read_by(cx: &mut Lowerer<'_>, consumer: &Stmt, walk: Walk, scope: &Scope) -> Result<(), Diagnostic> {
    if walk.bitmap.filling == Filling::Listed && walk.bitmap.is_ordered {
        order(cx, &walk.bitmap);
    }
    // Other workspaces may be walked over in the consumer.
    let others = std::mem::take(&mut cx.found.walked);
    statement(cx, consumer, &scope.with(Fact::Walk(walk)))?;
    if std::mem::replace(&mut cx.found.walked, others) != 1 {
        let name = cx.name(walk.tensor);
        return Err(Diagnostic::internal(format!("the consumer of `{name}` is not one loop over its coordinates")));
    }
    Ok(())
}

/// Sorts the list.
fn order(cx: &mut Lowerer<'_>, of: &Bitmap) {
    let n = cx.b.var(of.count);
    let args = vec![Arg::Array(of.list), Arg::Scalar(n), Arg::Array(of.marks), Arg::Scalar(of.size)];
    cx.b.call(Callee::SortMarked, args);
}

/// Makes the list of the coordinates that were added to, which lie in an interval.
fn read(cx: &mut Lowerer<'_>, of: &Bitmap, interval: Interval) -> Result<(), Diagnostic> {
    if of.filling == Filling::Listed {
        if of.is_ordered {
            order(cx, of);
        }
        return Ok(());
    }
    each_set(cx, of, interval, &mut |cx, coordinate| {
        let (n, one) = (cx.b.var(of.count), cx.b.int(1));
        cx.b.store(of.list, n, coordinate);
        let next = cx.b.add(n, one);
        cx.b.assign(of.count, next);
        Ok(())
    })
}

/// The coordinates of an interval whose marks are set, in order.
fn each_set(cx: &mut Lowerer<'_>, of: &Bitmap, (first, end): Interval, body: Body<'_>) -> Result<(), Diagnostic> {
    let words = words_of(cx, (first, end));
    if of.filling == Filling::Scanned {
        return cx.each(LoopKind::Serial, "word", words, |cx, word| each_of_word(cx, of, word, body));
    }
    let groups = words_of(cx, words);
    cx.each(LoopKind::Serial, "group", groups, |cx, group| {
        let bits = cx.b.int(Word::BITS);
        let at = cx.b.mul(group, bits);
        each_mark(cx, of.groups, at, true, &mut |cx, word| each_of_word(cx, of, word, body))
    })
}

/// The numbers of the words that coordinates of an interval are in.
fn words_of(cx: &mut Lowerer<'_>, (first, end): Interval) -> Interval {
    let bits = cx.b.int(Word::BITS);
    (cx.b.binary(BinaryOp::Div, first, bits), ceil_div(&mut cx.b, end, bits))
}

/// The coordinates of one word of marks.
fn each_of_word(cx: &mut Lowerer<'_>, of: &Bitmap, word: ExprId, body: Body<'_>) -> Result<(), Diagnostic> {
    let bits = cx.b.int(Word::BITS);
    let at = cx.b.mul(word, bits);
    each_mark(cx, of.marks, at, !of.is_searched, body)
}

/// The places of the marks among 64 that are set, in order; the marks are taken back first, if that is asked for.
fn each_mark(
    cx: &mut Lowerer<'_>,
    marks: ArrayId,
    at: ExprId,
    takes_back: bool,
    body: Body<'_>,
) -> Result<(), Diagnostic> {
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
            body(cx, place)?;
            let fewer = Word::without_lowest(&mut cx.b, here);
            cx.b.assign(left, fewer);
            Ok(())
        })
    })
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
