//! Unions without a case for every combination: an absent operand counts as its fill value, in these examples zero.
//!
//! Two situations. At the innermost level, a merge that has a value at every coordinate it meets needs no branches: each
//! operand is read where its cursor stands and dropped unless the cursor has the coordinate,
//!
//! ```text
//! a(i) = b(i) + c(i)      while .. { i = min(ib, ic); a = (ib == i ? b : 0) + (ic == i ? c : 0) }
//! ```
//!
//! which costs less than a branch that the processor cannot predict. And a union of many operands would have a loop for each
//! of their exponentially many combinations; instead there is one loop as long as any has coordinates left, whose
//! body knows each operand to be present under a condition.
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

/// Moves cursors on behind a coordinate, which all of them have, or only some.
pub(super) type MoveOn<'a> = &'a dyn Fn(&mut Lowerer<'_>, bool) -> Result<(), Diagnostic>;

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
        move_on(cx, true)
    });
    outcome?;
    let (otherwise, outcome) = cx.block(|cx| {
        select_present(cx, l, present, scope)?;
        move_on(cx, false)
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
