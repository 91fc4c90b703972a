//! Unions without a case for every combination: an absent operand counts as its fill value, in these examples zero.
//!
//! There are three situations. The first two are merges at the innermost level that have a value at every coordinate they meet. A merge of
//! two operands has a branch for each combination, and each branch advances the cursors of its own operands. A step then waits for the step
//! before only where the processor mispredicts the branch. (Without branches it waits for a position, for the coordinate there, and for
//! their comparison. On Zen 5, sums of rows of 5 to 14 entries take 2.4 to 3.0 nanoseconds a coordinate so; by branches 1.1 where
//! patterns alternate, and 2.9 where they are random.)
//!
//! A merge of three operands or more has too many combinations. It reads each operand where its cursor stands, and drops the value unless
//! the cursor has the coordinate:
//!
//! ```text
//! a(i) = b(i) + c(i) + d(i)      while .. { i = min(ib, ic, id); a = (ib == i ? b : 0) + (ic == i ? c : 0) + (id == i ? d : 0) }
//! ```
//!
//! A union of many operands would also have a loop for each of their exponentially many combinations; instead there is one loop as long
//! as any has coordinates left, whose body knows each operand to be present under a condition.
//!
//! ```text
//! a(i) = b(i) + c(i) + d(i) + e(i)
//!   ib = first of b, or the largest number if there is none; ..
//!   while (i = min(ib, ic, id, ie)) is a coordinate { ..; advance those that have it }
//! ```

use lacunar_base::Diagnostic;
use lacunar_imp::{BinaryOp, CompareOp, ExprId, LoopKind};
use lacunar_notation::concrete::Stmt;

use super::cases::{at_coordinate, guarded};
use super::here::Loop;
use super::together::enter;
use crate::algebra::selected;
use crate::iterate::lattice::Point;
use crate::levels::Position;
use crate::lower::iter::Cursors;
use crate::lower::scope::{Fact, Reading, Scope};
use crate::lower::strategy::loops_of;
use crate::lower::{Lowerer, MutableVar, Written, region, statement};

/// More than any coordinate.
const NONE: i64 = i64::MAX;

/// Moves cursors on behind a coordinate: those of a point, which are known to have it, or those that have it.
pub(super) type MoveOn<'a> = &'a dyn Fn(&mut Lowerer<'_>, Option<Point>) -> Result<(), Diagnostic>;

/// The body of a plain union of two operands and the steps behind it, for coordinates of both, of the first, and of the second.
pub(super) fn one_or_both(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    present: &[(usize, ExprId)],
    move_on: MoveOn<'_>,
    scope: &Scope,
) -> Result<(), Diagnostic> {
    let &[(a, has_a), (b, has_b)] = present else {
        return Err(Diagnostic::internal("a union of two operands has not two"));
    };
    let case = |cx: &mut Lowerer<'_>, members: &[usize]| {
        let point = Point::of(members.iter().copied());
        let (block, outcome) = cx.block(|cx| {
            if let Some(residual) = l.lattice.residual(cx.kernel, l.body, point) {
                at_coordinate(cx, l.var, &residual, &scope.deeper())?;
            }
            move_on(cx, Some(point))
        });
        outcome.map(|()| block)
    };
    let [both, first, second] = [case(cx, &[a, b])?, case(cx, &[a])?, case(cx, &[b])?];
    let together = cx.b.and(has_a, has_b);
    let (one, ()) = cx.block(|cx| cx.branch(has_a, first, second));
    cx.branch(together, both, one);
    Ok(())
}

/// The body of a plain union and the steps behind it: once where all operands have the coordinate, which a processor
/// foresees where patterns are alike, so that it need not wait for coordinates to step on; and once for all other
/// combinations, without a branch.
pub(super) fn together_or_not(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    point: Point,
    present: &[(usize, ExprId)],
    move_on: MoveOn<'_>,
    scope: &Scope,
) -> Result<(), Diagnostic> {
    let yes = cx.b.bool(true);
    let together = present.iter().fold(yes, |all, (_, has)| cx.b.and(all, *has));
    let (then, outcome) = cx.block(|cx| {
        if let Some(residual) = l.lattice.residual(cx.kernel, l.body, point) {
            at_coordinate(cx, l.var, &residual, &scope.deeper())?;
        }
        move_on(cx, Some(point))
    });
    outcome?;
    let (otherwise, outcome) = cx.block(|cx| {
        select_present(cx, l, present, scope)?;
        move_on(cx, None)
    });
    outcome?;
    cx.branch(together, then, otherwise);
    Ok(())
}

/// The body of a plain union: once for all combinations.
fn select_present(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    present: &[(usize, ExprId)],
    scope: &Scope,
) -> Result<(), Diagnostic> {
    let mut scope = scope.deeper();
    for &(k, present) in present {
        scope.doubt(&l.lattice.iterators[k].access, present, Reading::Ignored);
    }
    let members = Point::of(present.iter().map(|(k, _)| *k));
    let Some(residual) = l.lattice.residual(cx.kernel, l.body, members) else { return Ok(()) };
    let Some(result) = scope.result() else { return statement(cx, &residual, &scope).map(|_| ()) };
    // One of them is present; but that does not tell if a value differs from the fill value.
    let selects = |stmt: &Stmt| matches!(stmt, Stmt::Assign(assign) if selected(&cx.kernel.tensors, assign).is_some());
    let is_selected = selects(&residual);
    if matches!(residual, Stmt::Assign(_)) && !is_selected {
        scope.know(Fact::Given);
    }
    let (checkpoint, inner) = result.before(cx, l.var, &residual, &scope)?;
    let written = statement(cx, &residual, &inner)?;
    let written = if is_selected { written } else { Written::Always };
    result.after(cx, l.var, checkpoint, written, &scope)
}

/// One loop for a union of many operands.
pub(super) fn emit(cx: &mut Lowerer<'_>, l: &Loop<'_>) -> Result<(), Diagnostic> {
    let (cursors, scope) = enter(cx, l, &loops_of(l.lattice))?;
    let l = &l.within(&scope);
    let none = cx.b.int(NONE);
    let heads = heads(cx, l, &cursors, none);
    if l.lattice.visits_all() {
        let interval = region::coordinates(cx, l.var, l.scope)?;
        return cx.each(LoopKind::Serial, cx.var_name(l.var), interval, |cx, coordinate| {
            at_least(cx, l, &heads, &cursors, coordinate)
        });
    }
    let own: Vec<ExprId> = heads.iter().map(|(_, head)| cx.b.var(*head)).collect();
    let least = own.into_iter().reduce(|a, b| cx.b.binary(BinaryOp::Min, a, b)).unwrap_or(none);
    let left = cx.b.compare(CompareOp::Lt, least, none);
    cx.repeat(left, |cx| {
        let here = cx.b.define(&cx.kernel.vars[l.var].name, least);
        at_least(cx, l, &heads, &cursors, here)
    })
}

/// A variable for the coordinate that each cursor stands on, of the type of `none`, which it is at the cursor's end.
pub(super) fn heads(cx: &mut Lowerer<'_>, l: &Loop<'_>, cursors: &Cursors, none: ExprId) -> Vec<(usize, MutableVar)> {
    let mut heads = Vec::new();
    for (k, cursor) in &cursors.0 {
        let name = format!("{}_{}", cx.var_name(l.var), cx.name(l.lattice.iterators[*k].access.tensor));
        let head = cx.b.declare(&name, none);
        cursor.look(&mut cx.b, head, none);
        heads.push((*k, head));
    }
    heads
}

/// The least coordinate: the body with each operand present where its cursor has the coordinate; then these are advanced.
fn at_least(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    heads: &[(usize, MutableVar)],
    cursors: &Cursors,
    coordinate: ExprId,
) -> Result<(), Diagnostic> {
    let mut inner = l.scope.deeper();
    inner.know(Fact::Value(l.var, coordinate));
    let none = cx.b.int(NONE);
    let (mut present, mut moves) = (Vec::new(), Vec::new());
    for &(k, head) in heads {
        let (iterator, cursor) = (&l.lattice.iterators[k], cursors.of(k)?);
        let own = cx.b.var(head);
        let has = cx.b.compare(CompareOp::Eq, own, coordinate);
        let has = cx.b.define(&format!("at_{}", cursor.name()), has);
        let at = cursor.position(&mut cx.b);
        let (position, next) = if l.traits[k].repeats {
            let end = cursor.segment_end(&mut cx.b, coordinate);
            (Position::Range(at, end), Some(end))
        } else if l.traits[k].contiguous {
            let one = cx.b.int(1);
            (Position::One(at), Some(cx.b.add(at, one)))
        } else {
            (Position::One(at), None)
        };
        inner.bind(&iterator.access, iterator.level, position);
        present.push((k, has));
        moves.push((cursor, head, has, next));
    }
    guarded(cx, l, Point::of(heads.iter().map(|(k, _)| *k)), &present, &inner)?;
    for (cursor, head, has, next) in moves {
        cx.when(has, |cx| {
            match next {
                Some(next) => cursor.set(&mut cx.b, next),
                None => cursor.advance(&mut cx.b),
            }
            cursor.look(&mut cx.b, head, none);
        });
    }
    Ok(())
}
