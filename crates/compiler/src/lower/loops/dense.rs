//! Loops over coordinates: something is done at every one of them.
//!
//! ```text
//! y(i) = x(i) + 1, all dense      for i in 0 .. n { y_vals[i] = x_vals[i] + 1 }
//!   in whole strips of 8          for i1 in 0 .. 8 { y_vals[8 i0 + i1] = x_vals[8 i0 + i1] + 1 }
//! C(i,j) = A(i,j), both packed    for p in C2_pos[i] .. C2_pos[i + 1] { C_vals[p] = A_vals[p] }
//! ```
//!
//! If an equation leaves one coordinate at most, there is no loop. A loop over all coordinates of a run of a packed result
//! goes over its positions, which other tensors that are packed alike have, too.

use lacunar_base::Diagnostic;
use lacunar_imp::CompareOp;

use super::ahead::read_ahead;
use super::cases::cases;
use super::divided;
use super::here::Loop;
use crate::iterate::iterators::{AccessKey, level_var, result_of};
use crate::iterate::lattice::Point;
use crate::levels::{At, Position};
use crate::lower::derive::position;
use crate::lower::scope::{Fact, InStrip, Interval, Scope};
use crate::lower::storage::level;
use crate::lower::{Lowerer, region};

/// The loop over all coordinates of the region.
pub(super) fn emit(cx: &mut Lowerer<'_>, l: &Loop<'_>) -> Result<(), Diagnostic> {
    let (interval, scope) = enter(cx, l)?;
    over(cx, &l.within(&scope), interval)
}

/// The coordinates of the region, and the scope inside of a loop over them.
pub(super) fn enter(cx: &mut Lowerer<'_>, l: &Loop<'_>) -> Result<(Interval, Scope), Diagnostic> {
    let (begin, end) = region::coordinates(cx, l.var, l.scope)?;
    Ok(((begin, end), l.entered(cx, &mut |cx| cx.b.sub(end, begin))))
}

/// The loop over an interval of coordinates.
pub(super) fn over(cx: &mut Lowerer<'_>, l: &Loop<'_>, interval: Interval) -> Result<(), Diagnostic> {
    if let Some(is_there) = region::computed::single(l.var, interval, l.scope) {
        let (only, end) = interval;
        let scope = l.scope.with(Fact::Value(l.var, only));
        if is_there {
            return cases(cx, l, Point::ALL, &[], &scope);
        }
        let some = cx.b.compare(CompareOp::Lt, only, end);
        return cx.when(some, |cx| cases(cx, l, Point::ALL, &[], &scope));
    }
    if let Some(division) = divided::of_coordinates(cx, l) {
        return divided::over(cx, l, interval, &division, &mut |cx, l, part| over(cx, l, part));
    }
    let kind = l.kind(cx);
    if let Some((result, number)) = packed_run(cx, l, interval) {
        let run = (&result, number);
        if is_stored_above(&result, number, l.scope) {
            return over_run(cx, l, run);
        }
        // Loops in another order come to places above that are not stored: a run under one is empty, and is not asked for.
        let some = cx.b.compare(CompareOp::Lt, interval.0, interval.1);
        return cx.when(some, |cx| over_run(cx, l, run));
    }
    let Some(strip) = whole_strip(cx, l, interval) else {
        return cx.each(kind, cx.var_name(l.var), interval, |cx, i| {
            let inner = read_ahead(cx, l.body, l.scope.with(Fact::Value(l.var, i)))?;
            cases(cx, l, Point::ALL, &[], &inner)
        });
    };
    let zero = cx.b.int(0);
    let name = strip.place.map_or("place", |place| cx.var_name(place));
    cx.each(kind, name, (zero, strip.len), |cx, place| {
        let i = cx.b.add(strip.begin, place);
        let mut scope = l.scope.with(Fact::Value(l.var, i));
        if let Some(own) = strip.place {
            scope.know(Fact::Value(own, place));
        }
        cases(cx, l, Point::ALL, &[], &scope)
    })
}

/// The level of a packed result of which an interval is a run, if it is one.
fn packed_run(cx: &Lowerer<'_>, l: &Loop<'_>, interval: Interval) -> Option<(AccessKey, usize)> {
    region::computed::run(l.var, l.scope).filter(|run| *run == interval)?;
    let result = result_of(cx.kernel)?;
    // The coordinates of the first level are not stored.
    let var_of = |number: usize| level_var(cx.kernel, &result, number);
    let number = (1..result.vars.len()).find(|number| var_of(*number) == l.var)?;
    // A run is known under the levels above, and loops over levels below, if they are around, leave a part of it.
    let bound = l.scope.bound();
    let is_known = |other: usize| cx.kernel.provenance.is_known(var_of(other), &bound);
    let is_whole = (0..number).all(is_known) && !(number + 1..result.vars.len()).any(is_known);
    let dim = result.vars.iter().position(|var| *var == l.var)?;
    let is_found = is_stored_above(&result, number, l.scope) || region::computed::leads_to_run(cx.kernel, dim, l.scope);
    (is_whole && is_found).then_some((result, number))
}

/// True if a packed result stores the parent position of a level: it stores each coordinate of its first level, and each position of a loop
/// over a run.
fn is_stored_above(result: &AccessKey, number: usize, scope: &Scope) -> bool {
    number == 1 || scope.position(result, number - 1).is_some()
}

/// The loop over the positions of a run of a packed result.
fn over_run(cx: &mut Lowerer<'_>, l: &Loop<'_>, (result, number): (&AccessKey, usize)) -> Result<(), Diagnostic> {
    let parent = position(cx, result, Some(number - 1), l.scope)?.first();
    let code = level(cx, result, number, l.scope)?;
    let bounds = code.bounds(&mut cx.b, Position::One(parent));
    let name = format!("p{}{}", cx.name(result.tensor), number + 1);
    let kind = l.kind(cx);
    cx.each(kind, &name, bounds, |cx, p| {
        let at = At { parent, position: p, state: None };
        let coordinate = code.coordinate(&mut cx.b, &cx.kernel.vars[l.var].name, at);
        let mut inner = l.scope.with(Fact::Value(l.var, coordinate));
        inner.bind(result, number, Position::One(p));
        let inner = read_ahead(cx, l.body, inner)?;
        cases(cx, l, Point::ALL, &[], &inner)
    })
}

/// The whole strip that an interval is, if it is one: its loop counts from 0, by constants.
fn whole_strip(cx: &mut Lowerer<'_>, l: &Loop<'_>, (begin, end): Interval) -> Option<InStrip> {
    let strip = l.scope.in_strip(l.var)?;
    let last = cx.b.add(strip.begin, strip.len);
    (begin == strip.begin && end == last).then_some(strip)
}
