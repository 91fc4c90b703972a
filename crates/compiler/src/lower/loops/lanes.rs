//! Vector lanes over levels that are tested: a bit tells if an operand has the coordinate of a lane, and a count of bits
//! gives its position, so that a lane needs no branch.
//!
//! If no result is appended to, lanes run over all coordinates (of sums over a single operand that stores fewer than half of them,
//! over a list of those: `listed.rs`):
//!
//! ```text
//! y(i) = A(i,j) * x(j)            A: dense, bitmap
//!   for j in 0 .. size vector { w = word j / 64 of A; if bit j of w { t += A_vals[first of w + ones below j] * x[j] } }
//! ```
//!
//! Values are appended word by word. A coordinate's position in the result follows from the bits as well:
//!
//! ```text
//! C(i,j) = A(i,j) + B(i,j)        all dense, bitmap
//!   for w in words {
//!     here = bits of A | bits of B
//!     for l in 0 .. 64 vector { a = (bit l of A ? A_vals[..] : 0); b = ..; if bit l of here { C_vals[C2_n + ones below l] = a + b } }
//!     word w of C = here;  C2_n += ones of here
//!   }
//! ```
//!
//! Each operand is read under its own bit, before the code at the coordinates where all are known: neighboring lanes then have
//! neighboring values (`emit/vector/words.rs` of the LLVM back end).

use lacunar_base::Diagnostic;
use lacunar_imp::{ExprId, LoopKind};
use lacunar_notation::concrete::{Assign, Stmt};
use lacunar_notation::{AssignOp, TensorId};

use super::bits::Combined;
use super::cases::at_coordinate;
use super::dense;
use super::here::{Loop, circumstances};
use crate::algebra::{preserves_fill, selected};
use crate::iterate::iterators::{AccessKey, Mode, level_var};
use crate::iterate::lattice::Point;
use crate::levels::{Position, Slot, Word};
use crate::lower::compute::{may_be_over_nothing, read};
use crate::lower::derive::position;
use crate::lower::iter::word;
use crate::lower::scope::{Fact, Interval, Reading, Scope};
use crate::lower::sinks::append::Group;
use crate::lower::storage::code;
use crate::lower::strategy::can_test;
use crate::lower::{Lowerer, statement};

/// The loop over all coordinates of the region, in lanes.
pub(super) fn emit(cx: &mut Lowerer<'_>, l: &Loop<'_>) -> Result<(), Diagnostic> {
    let (interval, scope) = dense::enter(cx, l)?;
    over(cx, &l.within(&scope), interval)
}

/// The loop over an interval of coordinates, in lanes.
pub(super) fn over(cx: &mut Lowerer<'_>, l: &Loop<'_>, interval: Interval) -> Result<(), Diagnostic> {
    let kind = cx.loop_kind(l.var, l.scope);
    cx.each(kind, cx.var_name(l.var), interval, |cx, i| test(cx, l, i, &l.scope.with(Fact::Value(l.var, i))))
}

/// One coordinate of a loop over all.
fn test(cx: &mut Lowerer<'_>, l: &Loop<'_>, coordinate: ExprId, scope: &Scope) -> Result<(), Diagnostic> {
    let number = Word::number(&mut cx.b, coordinate);
    let mut operands = Vec::new();
    for (k, iterator) in l.lattice.iterators.iter().enumerate() {
        operands.push((k, word(cx, iterator, number, scope)?));
    }
    let mut inner = scope.deeper();
    let present = bind(cx, l, &operands, coordinate, &mut inner);
    let condition = somewhere(cx, l, &present);
    read_tested(cx, l, &present, condition.is_some(), &mut inner)?;
    let all = Point::of(operands.iter().map(|(k, _)| *k));
    let Some(residual) = l.lattice.residual(cx.kernel, l.body, all) else { return Ok(()) };
    cx.when_some(condition, |cx| at_coordinate(cx, l.var, &residual, &inner))
}

/// The group of the result that a loop over stored words can append to in lanes, if it can.
pub(super) fn appended_group(cx: &Lowerer<'_>, l: &Loop<'_>, combined: &Combined) -> Option<usize> {
    let appended = l.scope.appended()?;
    let number = appended.groups.len().checked_sub(1)?;
    let Group { head, tail, .. } = appended.groups[number];
    let Stmt::Assign(assign @ Assign { lhs, op: AssignOp::Set, .. }) = l.body else { return None };
    let is_innermost = head == tail && tail + 1 == appended.access.vars.len();
    let is_here = lhs.tensor == appended.access.tensor && level_var(cx.kernel, &appended.access, tail) == l.var;
    let is_advanced = l.lattice.iterators.iter().all(|iterator| iterator.mode == Mode::Coiterate);
    let can = !l.lattice.is_coarse
        && is_innermost
        && is_here
        && is_advanced
        && !l.scope.has_whole_blocks()
        && preserves_fill(&cx.kernel.tensors, assign)
        && !may_be_over_nothing(&assign.rhs, l.scope)
        && selected(&cx.kernel.tensors, assign).is_none();
    debug_assert!(combined.here.members().all(|k| l.traits[k].words));
    (can && can_test(l.traits, &circumstances(cx, l))).then_some(number)
}

/// The coordinates of a word whose bits in `here` are set: to the result, in lanes.
pub(super) fn append(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    of: usize,
    operands: &[(usize, Word)],
    (number, here): (ExprId, ExprId),
) -> Result<(), Diagnostic> {
    let Some(appended) = l.scope.appended() else { return Ok(()) };
    let (access, group) = (&appended.access, appended.groups[of]);
    let count = Word::count(&mut cx.b, here);
    if !l.scope.is_reserved() {
        appended.reserve(cx, of, count, l.scope);
    }
    let first = cx.b.var(group.counter);
    let first = cx.b.define("slot", first);
    let parent = position(cx, access, group.head.checked_sub(1), l.scope)?.first();
    let slot = Slot { parent, position: first, fixed: appended.is_fixed(cx, group) };
    // Words of coordinates are not compared with a pattern on the way.
    cx.found.conditional |= cx.compares();
    let own = code(cx, access.tensor, l.scope);
    let level = own.levels.get(group.head).filter(|_| cx.options.phase.assembles());
    let one_by_one = level.is_some_and(|level| !level.takes_words());
    if let Some(level) = level {
        level.append_word(&mut cx.b, slot, number, here);
    }
    let (zero, bits) = (cx.b.int(0), cx.b.int(Word::BITS));
    let base = cx.b.mul(number, bits);
    if one_by_one || own.values.is_some() {
        cx.each(LoopKind::VECTOR, "lane", (zero, bits), |cx, lane| {
            let mut inner = l.scope.deeper();
            let coordinate = cx.b.add(base, lane);
            inner.know(Fact::Value(l.var, coordinate));
            let word = Word { bits: here, first };
            let level = one_by_one.then_some((access.tensor, group.head, coordinate));
            append_lane(cx, l, operands, (word, lane), (level, slot), inner)
        })?;
    }
    let next = cx.b.add(first, count);
    cx.b.assign(group.counter, next);
    Ok(())
}

/// One lane of those that append: the value at a coordinate of `word`, the result's, and the coordinate, if its level takes
/// them one by one.
fn append_lane(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    operands: &[(usize, Word)],
    (word, lane): (Word, ExprId),
    (level, slot): (Option<(TensorId, usize, ExprId)>, Slot),
    mut scope: Scope,
) -> Result<(), Diagnostic> {
    let position = word.position(&mut cx.b, lane);
    let present = bind(cx, l, operands, lane, &mut scope);
    read_tested(cx, l, &present, true, &mut scope)?;
    let all = Point::of(operands.iter().map(|(k, _)| *k));
    let Some(residual) = l.lattice.residual(cx.kernel, l.body, all) else { return Ok(()) };
    let cond = word.has(&mut cx.b, lane);
    cx.when(cond, |cx| {
        // Something is there at every coordinate whose bit is set, so that the statement need not tell.
        statement(cx, &residual, &scope.with(Fact::Slot(position)))?;
        if let Some((tensor, level, coordinate)) = level {
            let own = code(cx, tensor, &scope);
            own.levels[level].append_coordinate(&mut cx.b, Slot { position, ..slot }, coordinate);
        }
        Ok(())
    })
}

/// Binds the operands of a loop to a coordinate of their words; gives the condition under which each has it.
fn bind(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    operands: &[(usize, Word)],
    place: ExprId,
    scope: &mut Scope,
) -> Vec<(usize, ExprId)> {
    let mut present = Vec::new();
    for &(k, word) in operands {
        let iterator = &l.lattice.iterators[k];
        let position = word.position(&mut cx.b, place);
        scope.bind(&iterator.access, iterator.level, Position::One(position));
        present.push((k, word.has(&mut cx.b, place)));
    }
    present
}

/// The condition under which the coordinate is one of some point's; none if every one is.
fn somewhere(cx: &mut Lowerer<'_>, l: &Loop<'_>, present: &[(usize, ExprId)]) -> Option<ExprId> {
    if l.lattice.has_rest() {
        return None;
    }
    let mut some = None;
    for point in Point::smallest(&l.lattice.points) {
        let members = present.iter().filter(|(k, _)| point.has(*k)).map(|(_, has)| *has);
        let all = members.reduce(|a, b| cx.b.and(a, b));
        some = match (some, all) {
            (Some(a), Some(b)) => Some(cx.b.or(a, b)),
            (a, b) => a.or(b),
        };
    }
    some
}

/// Reads the values of operands that may be absent, each where it is present. A single one that is present wherever
/// something is done is read there.
fn read_tested(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    present: &[(usize, ExprId)],
    is_conditional: bool,
    scope: &mut Scope,
) -> Result<(), Diagnostic> {
    if present.len() == 1 && is_conditional {
        return Ok(());
    }
    let Stmt::Assign(assign) = l.body else { return Ok(()) };
    let accesses = assign.rhs.accesses();
    for &(k, has) in present {
        let key = &l.lattice.iterators[k].access;
        let Some(access) = accesses.iter().find(|access| AccessKey::from(**access) == *key) else { continue };
        scope.doubt(key, has, Reading::Guarded);
        let value = read(cx, access, scope)?;
        scope.doubt(key, has, Reading::Done(value));
    }
    Ok(())
}
