//! Cases: the code at one coordinate of a loop, for each lattice point that holds there.
//!
//! ```text
//! a(i) = b(i) + c(i)      inside of the loop over {b, c}:      if both { a = b + c } else if b { a = b } else { a = c }
//! a(i) = b(i) * c(i)      c searched:   inside of the loop over {b}:   if c is found at i { a = b * c }
//! ```
//!
//! On entry: the coordinate has a value, and the iterators that the loop advances stand somewhere. In each case the others count as
//! absent, and the statement is its residual ([`Lattice::residual`](crate::iterate::lattice::Lattice::residual)).

use lacunar_base::Diagnostic;
use lacunar_imp::{Block, CompareOp, ExprId};
use lacunar_notation::VarId;
use lacunar_notation::concrete::Stmt;

use super::here::Loop;
use crate::iterate::iterators::Iterator;
use crate::iterate::lattice::Point;
use crate::levels::Position;
use crate::lower::region::recovered::is_whole_block;
use crate::lower::scope::{Fact, Reading, Scope};
use crate::lower::sinks::Checkpoint;
use crate::lower::{Lowerer, iter, statement};

/// The most iterators of which all combinations are gone through.
const MOST_UNCERTAIN: usize = 6;

/// The body at one coordinate of a loop over the iterators of `here`: a case for each lattice point in it.
///
/// `present` names the condition under which each iterator of a merge has the coordinate. An iterator of `here` that is not named
/// is certain to have it.
pub(super) fn cases(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    here: Point,
    present: &[(usize, ExprId)],
    scope: &Scope,
) -> Result<(), Diagnostic> {
    if l.lattice.is_coarse {
        return guarded(cx, l, here, present, scope);
    }
    let searched = l.lattice.searched();
    let mut scope = scope.deeper();
    let mut present = present.to_vec();
    let is_here = |point: &Point| here.contains(Point(point.0 & !searched.0));
    let points: Vec<Point> = l.lattice.points.iter().copied().filter(is_here).collect();
    if points.iter().any(|point| point.0 & searched.0 != 0) {
        search(cx, l, here, &points, &mut present, &mut scope)?;
    }
    let mut branches: Vec<(ExprId, Block)> = Vec::new();
    let mut last = None;
    // The combinations of uncertain iterators that no earlier case has taken.
    let uncertain = Point::of(present.iter().map(|(k, _)| *k));
    let merging = here.0 & !searched.0;
    let needs_one = merging != 0 && !l.lattice.visits_all();
    let mut open = combinations(uncertain, merging, needs_one);
    for point in points {
        let taken = |set: &u64| Point(*set | !uncertain.0).contains(Point(point.0 & uncertain.0));
        if !open.is_empty() && !open.iter().any(taken) {
            continue;
        }
        let is_certain = !open.is_empty() && open.iter().all(taken);
        open.retain(|set| !taken(set));
        let (block, outcome) = cx.block(|cx| match l.lattice.residual(cx.kernel, l.body, point) {
            Some(residual) => at_coordinate(cx, l.var, &residual, &scope),
            None => Ok(()),
        });
        outcome?;
        let conditions = present.iter().filter(|(k, _)| point.has(*k)).map(|(_, condition)| *condition);
        match conditions.reduce(|all, condition| cx.b.and(all, condition)) {
            Some(condition) if !is_certain => branches.push((condition, block)),
            _ => {
                last = Some(block);
                break;
            }
        }
    }
    let chain = branches.into_iter().rev().fold(last.unwrap_or_default(), |otherwise, (cond, then)| {
        if then.is_empty() && otherwise.is_empty() {
            return otherwise;
        }
        vec![lacunar_imp::Stmt::If { cond, then, otherwise }]
    });
    cx.append(chain);
    Ok(())
}

/// The body at one coordinate of a loop, once for all lattice points: each iterator that is named in `present`, and each that is searched,
/// is there under a condition, and the others are certain to be.
pub(super) fn guarded(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    here: Point,
    present: &[(usize, ExprId)],
    scope: &Scope,
) -> Result<(), Diagnostic> {
    let (mut scope, mut present) = (scope.deeper(), present.to_vec());
    search(cx, l, here, &l.lattice.points, &mut present, &mut scope)?;
    for (k, present) in present {
        scope.doubt(&l.lattice.iterators[k].access, present, Reading::Guarded);
    }
    let all = Point::union(&l.lattice.points);
    if (0..l.lattice.iterators.len()).all(|k| all.has(k)) {
        return at_coordinate(cx, l.var, l.body, &scope);
    }
    match l.lattice.residual(cx.kernel, l.body, all) {
        Some(residual) => at_coordinate(cx, l.var, &residual, &scope),
        None => Ok(()),
    }
}

/// One case: the residual body with the coordinate bound, and the result's code around it.
pub(super) fn at_coordinate(
    cx: &mut Lowerer<'_>,
    var: VarId,
    residual: &Stmt,
    scope: &Scope,
) -> Result<(), Diagnostic> {
    if let Some(whole) = is_whole_block(cx, var, scope)? {
        cx.say(scope, "whole blocks, then the last one:");
        let (then, outcome) = cx.block(|cx| at_coordinate(cx, var, residual, &scope.with(Fact::WholeBlock(whole.var))));
        outcome?;
        let (otherwise, outcome) = cx.block(|cx| at_coordinate(cx, var, residual, &scope.with(Fact::LastBlock)));
        cx.branch(whole.cond, then, otherwise);
        return outcome;
    }
    let Some(result) = scope.result() else { return statement(cx, residual, scope).map(|_| ()) };
    let (checkpoint, inner): (Checkpoint, Scope) = result.before(cx, var, residual, scope)?;
    let written = statement(cx, residual, &inner)?;
    result.after(cx, var, checkpoint, written, scope)
}

/// Looks the coordinate up in the levels that are searched.
fn search(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    here: Point,
    points: &[Point],
    present: &mut Vec<(usize, ExprId)>,
    scope: &mut Scope,
) -> Result<(), Diagnostic> {
    let searched = l.lattice.searched();
    let wanted = Point::union(points).0 & searched.0;
    for k in Point(wanted).members() {
        let iterator = &l.lattice.iterators[k];
        // Levels are searched only if the levels above have the coordinate.
        let above = Point::of((0..l.lattice.iterators.len()).filter(|&other| {
            let other = &l.lattice.iterators[other];
            other.access == iterator.access && other.level < iterator.level
        }));
        if above.members().any(|other| !here.has(other) && !searched.has(other)) {
            continue;
        }
        let mut conditions: Vec<ExprId> =
            present.iter().filter(|(other, _)| above.has(*other)).map(|(_, condition)| *condition).collect();
        conditions.extend(scope.uncertain(&iterator.access).map(|uncertain| uncertain.present));
        let coordinate = crate::lower::derive::coordinate(cx, l.var, scope)?;
        let workspace = scope.sink(iterator.access.tensor);
        if let Some(marked) = workspace.and_then(|workspace| workspace.has(cx, coordinate)) {
            let found = conditions.into_iter().fold(marked, |all, condition| cx.b.and(all, condition));
            scope.bind(&iterator.access, iterator.level, Position::One(coordinate));
            present.push((k, found));
            continue;
        }
        let (found, position) = find(cx, iterator, l.traits[k].repeats, coordinate, &conditions, scope)?;
        scope.bind(&iterator.access, iterator.level, position);
        present.push((k, found));
    }
    Ok(())
}

/// Finds a coordinate among the positions of an iterator, if some conditions hold: tells if it is there, and its position.
fn find(
    cx: &mut Lowerer<'_>,
    iterator: &Iterator,
    repeats: bool,
    coordinate: ExprId,
    conditions: &[ExprId],
    scope: &Scope,
) -> Result<(ExprId, Position), Diagnostic> {
    let name = iter::name(cx, iterator);
    let (no, zero) = (cx.b.bool(false), cx.b.int(0));
    let found = cx.b.declare("found", no);
    let at = cx.b.declare(&name, zero);
    let until = cx.b.declare(&format!("{name}_end"), zero);
    let condition = conditions.iter().copied().reduce(|all, condition| cx.b.and(all, condition));
    cx.when_some(condition, |cx| {
        let (p, q) = iter::find(cx, iterator, coordinate, scope)?;
        let hit = cx.b.compare(CompareOp::Lt, p, q);
        cx.b.assign(found, hit);
        cx.b.assign(at, p);
        cx.b.assign(until, q);
        Ok::<(), Diagnostic>(())
    })?;
    let (at, until, found) = (cx.b.var(at), cx.b.var(until), cx.b.var(found));
    Ok((found, if repeats { Position::Range(at, until) } else { Position::One(at) }))
}

/// The combinations in which uncertain iterators can be present; at least one of the merged ones, if some one is sure to be.
/// Nothing (no knowledge) if they would be too many.
fn combinations(uncertain: Point, merging: u64, needs_one: bool) -> Vec<u64> {
    let members: Vec<usize> = uncertain.members().collect();
    if members.len() > MOST_UNCERTAIN {
        return Vec::new();
    }
    let set =
        |bits: u64| members.iter().enumerate().filter(|(n, _)| bits >> n & 1 == 1).fold(0, |all, (_, k)| all | 1 << k);
    let is_any = merging & !uncertain.0 == 0;
    (0u64..1 << members.len()).map(set).filter(|set| !(needs_one && is_any) || set & merging != 0).collect()
}
