//! Loops over derived variables: the values that they take, and the recovery of original coordinates.
//!
//! A loop over a leaf of the provenance graph is one of two things. If other leaves of the same original variable are still to
//! come, it is a plain *counter*. The last of them *finishes*: an interval of an original variable, or of positions, is left, and
//! the loop becomes the ordinary one over that variable, confined to the interval:
//!
//! ```text
//! split(i, i0, i1, 32)      for i0 in 0 .. ceil(n / 32)                          a counter
//!                             for i in 32 i0 .. min(32 i0 + 32, n)               i1 finishes i
//! ```
//!
//! If a constant length is worth it (lanes, small arrays), the whole strips and the last one each get code of their own:
//!
//! ```text
//! for i0 in 0 .. n / 32 { for i1 in 0 .. 32 { .. 32 i0 + i1 .. } }
//! if n % 32 > 0 { for i in 32 (n / 32) .. n { .. } }
//! ```
//!
//! A dense loop takes the interval as its bounds. Iterators are confined by a search for its ends among their coordinates, so that
//! merges of any kind work inside a strip as they do without one ([`super::region`]). An interval of a fused variable is a nest of
//! two loops, whose inner one is confined by the outer one's value. An interval of positions is a nest over the levels above, from
//! the ancestor of its first position to that of its last:
//!
//! ```text
//! fuse(i, j, f), pos(f, fp, A(i,j)), split(fp, c, p, 1000)         A: csr
//!   for c in 0 .. ceil(nnz / 1000)
//!     lo, hi = 1000 c, min(1000 c + 1000, nnz)
//!     for i in row of lo ..= row of hi - 1
//!       for p in max(lo, pos[i]) .. min(hi, pos[i + 1])
//! ```
//!
//! Fused strips (`fuse(i0, j0, f)`) are counted in pairs, and each is a strip of one value.
//!
//! If the strip's number comes last (`reorder(i1, i0)`), every value is an interval of length one.
//!
//! On entry: a kernel whose provenance passed the checks of `schedule/`. On exit: the coordinates of all original
//! variables are bound where the assignment is reached.
//!
//! Paper: Senanayake et al. 2020, §6.1-6.2 (coordinate recovery and bounds); the confined loops take the place of its
//! guards and while loops with tracked variables.

use lacunar_base::Diagnostic;
use lacunar_imp::{BinaryOp, CompareOp, ExprId, LoopKind};
use lacunar_notation::concrete::Stmt;
use lacunar_notation::provenance::Relation;
use lacunar_notation::{Access, Role, VarId, WorkspaceKind};

use super::derive::{coordinate, first, is_bound, is_settled, range, strip, width};
use super::scope::{Fact, InStrip, Interval, Scope};
use super::sinks::{carried, leave, workspace};
use super::sizes::{constant, divides};
use super::storage::ancestors;
use super::{Lowerer, SPECIALIZED_SIZE, loops, region, statement, strategy};
use crate::iterate::iterators::AccessKey;
use crate::iterate::lattice::Lattice;
use crate::iterate::position_space::pos_levels;
use crate::schedule::nest::each_loop;

/// The loop that remains to be emitted, inside a loop that has taken its place.
#[derive(Clone, Debug)]
pub(super) enum Pending {
    /// The variable itself, within the windows of the scope.
    Direct,
    /// The inner variable of a fused pair: its values for which `outer * size + inner` is in an interval.
    Fused { outer: VarId, size: ExprId, interval: Interval },
    /// One value of a variable that is half of a pair.
    Half(ExprId),
}

/// The kind of loop that a leaf needs.
enum Leaf {
    /// Other leaves are to come.
    Counter,
    /// The rest of the variable that it derives from is an interval.
    Finishes,
    /// It counts the strips of a variable whose place inside the strip is known.
    Strides(Relation),
    /// It counts pairs of two variables, not both of which are intervals when their turn comes.
    Pairs { fused: VarId, outer: VarId, inner: VarId },
}

/// The loop over a leaf that derives from other variables.
pub(super) fn derived_loop(cx: &mut Lowerer<'_>, var: VarId, body: &Stmt, scope: &Scope) -> Result<(), Diagnostic> {
    let mut scope = scope.clone();
    // Edges of the variables behind the first are those of loops inside.
    let originals = cx.kernel.provenance.originals(var);
    let first = originals.first().copied().filter(|var| !scope.is_started(*var));
    scope.start(originals);
    let interval = range(cx, var, &mut scope)?;
    leaf_loop(cx, var, interval, body, &scope)?;
    match first {
        Some(first) => leave(cx, first, body, &scope),
        None => Ok(()),
    }
}

/// The loop over a leaf, within an interval of its values.
pub(super) fn leaf_loop(
    cx: &mut Lowerer<'_>,
    var: VarId,
    interval: Interval,
    body: &Stmt,
    scope: &Scope,
) -> Result<(), Diagnostic> {
    let what = leaf(cx, var, &scope.bound());
    let interval = region::computed::strips(cx, var, interval, scope)?;
    if let Leaf::Finishes = what {
        let mut inner = scope.clone();
        if let Some(&last) = cx.kernel.provenance.originals(var).last() {
            inner.know(Fact::Leaf(last, var));
        }
        return finish(cx, var, interval, body, &inner);
    }
    if let (Leaf::Counter, Some(split)) = (&what, whole_strips(cx, var, body, scope)) {
        return strips(cx, &split, interval, body, scope);
    }
    let mut scope = scope.clone();
    let pairs = match what {
        Leaf::Pairs { inner, .. } => Some(width(cx, inner, &mut scope.clone())?),
        _ => None,
    };
    cx.say(&scope, &format!("{}: counter", cx.var_name(var)));
    let kind = cx.loop_kind(var, &scope);
    cx.each(kind, cx.var_name(var), interval, |cx, value| {
        scope.know(Fact::Value(var, value));
        match (what, pairs) {
            (Leaf::Strides(relation), _) => stride(cx, &relation, body, &mut scope),
            (Leaf::Pairs { fused, outer, inner }, Some(size)) => {
                pair(cx, fused, (outer, inner), size, body, &mut scope)
            }
            _ => counted(cx, var, value, body, &scope),
        }
    })
}

/// One value of a counter.
fn counted(cx: &mut Lowerer<'_>, var: VarId, value: ExprId, body: &Stmt, scope: &Scope) -> Result<(), Diagnostic> {
    if let Some(result) = scope.result() {
        result.enter_strip(cx, var, value, scope)?;
    }
    statement(cx, body, scope).map(|_| ())
}

/// A variable in strips, the whole ones of which are worth code of their own.
struct WholeStrips {
    parent: VarId,
    number: VarId,
    place: VarId,
    size: u64,
}

/// The strips that a counter counts, if loops of a constant length are worth more inside of them: dense ones that run in lanes, are
/// unrolled, or walk over an array of the strip's size. Inside of a last strip there are no such copies again.
fn whole_strips(cx: &Lowerer<'_>, var: VarId, body: &Stmt, scope: &Scope) -> Option<WholeStrips> {
    let Some(&Relation::Split { parent, outer, inner, size }) = cx.kernel.provenance.origin(var) else { return None };
    let is_short = var == outer && (2..=SPECIALIZED_SIZE).contains(&size);
    // A loop inside may change the number of whole strips, if the variable that is split is a place in a strip that this loop counts.
    if !is_short
        || scope.is_last_strip()
        || is_bound(cx, inner, &scope.bound())
        || !is_settled(cx, parent, &scope.bound())
    {
        return None;
    }
    let &[original] = cx.kernel.provenance.originals(inner).as_slice() else { return None };
    let (mut is_dense, mut is_worth) = (true, strategy::loop_kind(cx.kernel, inner) != LoopKind::Serial);
    each_loop(body, inner, &mut |body, _| {
        is_dense &= Lattice::build(cx.kernel, body, original).is_ok_and(|lattice| lattice.iterators.is_empty());
    });
    body.visit_assigns(&mut |assign| {
        let is_array = cx.kernel.tensors[assign.lhs.tensor].role == Role::Workspace(WorkspaceKind::Dense);
        is_worth |= is_array && assign.lhs.vars.contains(&inner);
    });
    (is_dense && is_worth).then_some(WholeStrips { parent, number: outer, place: inner, size })
}

/// The loop over the numbers of strips: first over the whole ones, whose loops have a constant length, and then over the rest.
fn strips(
    cx: &mut Lowerer<'_>,
    of: &WholeStrips,
    (low, high): Interval,
    body: &Stmt,
    scope: &Scope,
) -> Result<(), Diagnostic> {
    let mut scope = scope.clone();
    let (first, last) = range(cx, of.parent, &mut scope)?;
    let length = cx.b.sub(last, first);
    let size = constant(&mut cx.b, of.size);
    let name = cx.var_name(of.number);
    let kind = cx.loop_kind(of.number, &scope);
    cx.say(&scope, &format!("{name}: counter of whole strips"));
    let whole = cx.b.binary(BinaryOp::Div, length, size);
    let whole = cx.b.binary(BinaryOp::Min, whole, high);
    let whole = cx.b.binary(BinaryOp::Max, whole, low);
    let whole = cx.b.define("whole", whole);
    let inside = scope.with(Fact::WholeStrip(of.place));
    cx.each(kind, name, (low, whole), |cx, value| {
        counted(cx, of.number, value, body, &inside.with(Fact::Value(of.number, value)))
    })?;
    if divides(&cx.b, size, length) {
        return Ok(());
    }
    cx.say(&scope, &format!("{name}: last strip"));
    let is_left = cx.b.compare(CompareOp::Lt, whole, high);
    cx.when(is_left, |cx| {
        let scope = workspace::declare_apart(cx, body, &scope.with(Fact::LastStrip));
        counted(cx, of.number, whole, body, &scope.with(Fact::Value(of.number, whole)))
    })
}

/// One pair of a fused variable: the loops over its halves, each of which takes one value.
fn pair(
    cx: &mut Lowerer<'_>,
    fused: VarId,
    (outer, inner): (VarId, VarId),
    size: ExprId,
    body: &Stmt,
    scope: &mut Scope,
) -> Result<(), Diagnostic> {
    let pair = coordinate(cx, fused, scope)?;
    let rest = cx.b.binary(BinaryOp::Rem, pair, size);
    let rest = cx.b.define(cx.kernel.vars[inner].name.as_str(), rest);
    scope.know(Fact::Width(inner, size));
    scope.know(Fact::Pending(inner, Some(Pending::Half(rest))));
    let value = cx.b.binary(BinaryOp::Div, pair, size);
    let nest = Stmt::Forall(inner, Box::new(body.clone()));
    half(cx, outer, value, &nest, scope)
}

/// The kind of loop that a leaf needs, once some variables have values.
fn leaf(cx: &Lowerer<'_>, var: VarId, bound: &[VarId]) -> Leaf {
    let is_known = |var: VarId| is_bound(cx, var, bound);
    match cx.kernel.provenance.origin(var) {
        Some(
            relation @ (Relation::Split { parent, outer, inner, .. } | Relation::Divide { parent, outer, inner, .. }),
        ) => {
            if var == *inner && is_known(*outer) {
                match leaf(cx, *parent, bound) {
                    Leaf::Strides(_) => Leaf::Strides(relation.clone()),
                    other => other,
                }
            } else if var == *outer && is_known(*inner) {
                Leaf::Strides(relation.clone())
            } else {
                Leaf::Counter
            }
        }
        Some(Relation::Bound { parent, .. }) => leaf(cx, *parent, bound),
        Some(Relation::Fuse { outer, inner, fused }) => {
            let later = [bound, &[*outer]].concat();
            match (leaf(cx, *outer, bound), leaf(cx, *inner, &later)) {
                (Leaf::Finishes, Leaf::Finishes) => Leaf::Finishes,
                _ => Leaf::Pairs { fused: *fused, outer: *outer, inner: *inner },
            }
        }
        _ => Leaf::Finishes,
    }
}

/// The loop over a variable that is half of a pair, and takes one value.
fn half(cx: &mut Lowerer<'_>, var: VarId, value: ExprId, body: &Stmt, scope: &Scope) -> Result<(), Diagnostic> {
    let mut scope = scope.clone();
    let (_, end) = range(cx, var, &mut scope)?;
    let one_value = one_value(cx, var, value, end);
    leaf_loop(cx, var, one_value, body, &scope)
}

/// The interval of one value, empty if that is not less than `end`.
fn one_value(cx: &mut Lowerer<'_>, var: VarId, value: ExprId, end: ExprId) -> Interval {
    let value = cx.b.define(cx.kernel.vars[var].name.as_str(), value);
    let one = cx.b.int(1);
    let next = cx.b.add(value, one);
    (value, cx.b.binary(BinaryOp::Min, next, end))
}

/// The one value of a variable whose strip and place in it are known.
fn stride(cx: &mut Lowerer<'_>, relation: &Relation, body: &Stmt, scope: &mut Scope) -> Result<(), Diagnostic> {
    let Some(&parent) = relation.parents().first() else { return Ok(()) };
    let (_, end) = range(cx, parent, scope)?;
    let value = coordinate(cx, parent, scope)?;
    let (value, last) = one_value(cx, parent, value, end);
    match leaf(cx, parent, &scope.bound()) {
        Leaf::Finishes => finish(cx, parent, (value, last), body, scope),
        Leaf::Pairs { .. } => leaf_loop(cx, parent, (value, last), body, scope),
        what @ (Leaf::Counter | Leaf::Strides(_)) => {
            // The rest of the way up is bound by other loops: the body, if the value is one of the variable's.
            let is_inside = cx.b.compare(CompareOp::Lt, value, end);
            let mut inner = scope.with(Fact::Value(parent, value));
            let outer = cx.kernel.provenance.origin(parent).filter(|_| matches!(what, Leaf::Strides(_)));
            cx.when(is_inside, |cx| match outer {
                Some(outer) => stride(cx, outer, body, &mut inner),
                None => statement(cx, body, &inner).map(|_| ()),
            })
        }
    }
}

/// The loops that a variable stands for, within an interval of its values.
fn finish(
    cx: &mut Lowerer<'_>,
    var: VarId,
    (low, high): Interval,
    body: &Stmt,
    scope: &Scope,
) -> Result<(), Diagnostic> {
    let mut scope = scope.clone();
    match cx.kernel.provenance.origin(var) {
        None | Some(Relation::Rename { .. }) => {
            region::narrow(cx, var, (low, high), &mut scope);
            loops::original(cx, var, body, &scope)
        }
        Some(Relation::Bound { parent, .. }) => finish(cx, *parent, (low, high), body, &scope),
        Some(relation @ (Relation::Split { parent, outer, .. } | Relation::Divide { parent, outer, .. })) => {
            let first = first(cx, *parent, &mut scope)?;
            let size = strip(cx, relation, &mut scope)?;
            let number = coordinate(cx, *outer, &scope)?;
            let begin = cx.b.mul(number, size);
            let begin = cx.b.add(first, begin);
            if scope.is_whole_strip(var) {
                scope.know(Fact::InStrip(*parent, InStrip { place: Some(var), begin, len: high }));
            }
            let (low, high) = (cx.b.add(begin, low), cx.b.add(begin, high));
            finish(cx, *parent, (low, high), body, &scope)
        }
        Some(&Relation::Fuse { outer, inner, .. }) => {
            let size = width(cx, inner, &mut scope)?;
            let (low, high) = (cx.b.define("low", low), cx.b.define("high", high));
            let one = cx.b.int(1);
            let first = cx.b.binary(BinaryOp::Div, low, size);
            let last = cx.b.sub(high, one);
            let last = cx.b.binary(BinaryOp::Div, last, size);
            let end = cx.b.add(last, one);
            // Nothing of nothing, though 0 / 0 is 0.
            let some = cx.b.compare(CompareOp::Lt, low, high);
            let end = cx.b.select(some, end, first);
            scope.know(Fact::Pending(inner, Some(Pending::Fused { outer, size, interval: (low, high) })));
            let nest = Stmt::Forall(inner, Box::new(body.clone()));
            finish(cx, outer, (first, end), &nest, &scope)
        }
        Some(Relation::Pos { coordinate, access, .. }) => {
            positions_nest(cx, *coordinate, access, (low, high), body, &scope)
        }
        Some(Relation::Coord { position, .. }) => {
            let original = cx.kernel.provenance.originals(*position).last().copied();
            let original = original.ok_or_else(|| Diagnostic::internal("positions of nothing"))?;
            region::narrow(cx, original, (low, high), &mut scope);
            loops::original(cx, original, body, &scope)
        }
    }
}

/// A loop over the values that [`finish`] left to a loop inside another one.
pub(super) fn pending_loop(
    cx: &mut Lowerer<'_>,
    var: VarId,
    pending: &Pending,
    body: &Stmt,
    scope: &Scope,
) -> Result<(), Diagnostic> {
    let mut scope = scope.with(Fact::Pending(var, None));
    match *pending {
        Pending::Direct => loops::original(cx, var, body, &scope)?,
        Pending::Fused { outer, size, interval: (low, high) } => {
            let value = coordinate(cx, outer, &scope)?;
            let begin = cx.b.mul(value, size);
            let zero = cx.b.int(0);
            let (from, to) = (cx.b.sub(low, begin), cx.b.sub(high, begin));
            let from = cx.b.binary(BinaryOp::Max, from, zero);
            let mut to = cx.b.binary(BinaryOp::Min, to, size);
            let (_, end) = range(cx, var, &mut scope)?;
            if end != size {
                to = cx.b.binary(BinaryOp::Min, to, end);
            }
            finish(cx, var, (from, to), body, &scope)?;
        }
        Pending::Half(value) => half(cx, var, value, body, &scope)?,
    }
    match cx.kernel.provenance.originals(var).first() {
        Some(&first) => leave(cx, first, body, &scope),
        None => Ok(()),
    }
}

/// Loops over the levels of an access, from the ancestors of an interval of positions down to it.
fn positions_nest(
    cx: &mut Lowerer<'_>,
    coordinate: VarId,
    access: &Access,
    interval: Interval,
    body: &Stmt,
    scope: &Scope,
) -> Result<(), Diagnostic> {
    if let Some(carry) = scope.carry() {
        return carried::nests(cx, &carry, interval, scope, &mut |cx, share, scope| {
            positions_nest(cx, coordinate, access, share, body, scope)
        });
    }
    let mut scope = scope.clone();
    let key = AccessKey::from(access);
    let originals = cx.kernel.provenance.originals(coordinate);
    let levels = pos_levels(cx.kernel, &key, &originals);
    let mut window = (cx.b.define("low", interval.0), cx.b.define("high", interval.1));
    for level in levels.clone().rev() {
        scope.know(Fact::Window(key.clone(), level, window));
        if level > levels.start {
            window = ancestors(cx, &key, level, window, &scope)?;
        }
    }
    let (Some(&first), rest) = (originals.first(), originals.get(1..).unwrap_or_default()) else {
        return Err(Diagnostic::internal("positions of nothing"));
    };
    for &var in rest {
        scope.know(Fact::Pending(var, Some(Pending::Direct)));
    }
    let nest = Stmt::foralls(rest, body.clone());
    loops::original(cx, first, &nest, &scope)
}
