//! Merges: loops that advance several iterators together.
//!
//! ```text
//! a(i) = b(i) + c(i), all compressed
//!   while pb < pb_end && pc < pc_end {      { b, c }
//!     i = min(b_crd[pb], c_crd[pc])
//!     case both / only b / only c
//!     pb += b has i;  pc += c has i
//!   }
//!   for the rest of b ..                    { b }
//!   for the rest of c ..                    { c }
//! ```
//!
//! If every coordinate is visited, a counter takes the place of the minimum, and the last loop runs it to the end.
//!
//! Paper: Kjolstad et al. 2017, §4.3 and Figure 8.

use lacunar_base::Diagnostic;
use lacunar_imp::{BinaryOp, CompareOp, ExprId, LoopKind};

use super::cases::cases;
use super::here::Loop;
use super::together::{all_valid, coordinates, enter};
use super::{dense, positions, union};
use crate::iterate::lattice::Point;
use crate::levels::Position;
use crate::lower::iter::Cursors;
use crate::lower::scope::{Fact, Scope};
use crate::lower::strategy::{MergeKind, MergeLoop};
use crate::lower::{INDEX, Lowerer, MutableVar, region};

/// The loops of a merge, one after the other.
pub(super) fn emit(cx: &mut Lowerer<'_>, l: &Loop<'_>, loops: &[MergeLoop]) -> Result<(), Diagnostic> {
    let points: Vec<Point> = loops.iter().map(|of| of.point).collect();
    let (cursors, scope) = enter(cx, l, &points)?;
    let l = &l.within(&scope);
    let range = region::coordinates(cx, l.var, l.scope)?;
    let counter = l.lattice.visits_all().then(|| cx.b.declare(&cx.kernel.vars[l.var].name, range.0));
    for &MergeLoop { point, kind } in loops {
        match (kind, counter) {
            (MergeKind::RestOfDimension, Some(counter)) => {
                let begin = cx.b.var(counter);
                dense::over(cx, l, (begin, range.1))?;
            }
            (MergeKind::RestOfPositions, _) => {
                for k in point.members() {
                    let rest = cursors.of(k)?.rest(&mut cx.b);
                    positions::over(cx, l, k, rest, LoopKind::Serial)?;
                }
            }
            _ => together(cx, l, point, kind, &cursors, counter)?,
        }
    }
    Ok(())
}

/// The positions of the iterators of a loop at a coordinate, and the steps that move them on.
struct Steps {
    /// The condition under which an iterator has the coordinate, for those that may not have it.
    present: Vec<(usize, ExprId)>,
    /// The next positions of iterators.
    next: Vec<(usize, ExprId)>,
    /// Iterators that go on from coordinate to coordinate, where they have this one.
    advance: Vec<(usize, ExprId)>,
}

/// One loop while every iterator of `point` has coordinates left.
fn together(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    point: Point,
    kind: MergeKind,
    cursors: &Cursors,
    counter: Option<MutableVar>,
) -> Result<(), Diagnostic> {
    let Some(valid) = all_valid(cx, point, cursors)? else { return Ok(()) };
    cx.repeat(valid, |cx| {
        let own = coordinates(cx, l, point, cursors)?;
        let coordinate = match (counter, own.as_slice()) {
            (Some(counter), _) => cx.b.var(counter),
            (None, [(_, only)]) => *only,
            (None, several) => {
                let least = several.iter().map(|(_, own)| *own).reduce(|a, b| cx.b.binary(BinaryOp::Min, a, b));
                let least = least.unwrap_or_else(|| cx.b.int(0));
                cx.b.define(&cx.kernel.vars[l.var].name, least)
            }
        };
        let mut inner = l.scope.with(Fact::Value(l.var, coordinate));
        let steps = step(cx, l, cursors, &own, coordinate, &mut inner)?;
        let move_on: union::MoveOn<'_> = &|cx, moved| {
            for &(k, next) in &steps.next {
                let next = match moved {
                    None => next,
                    Some(point) if point.has(k) => next_position(cx, cursors, k)?,
                    Some(_) => continue,
                };
                cursors.of(k)?.set(&mut cx.b, next);
            }
            Ok(())
        };
        if kind == MergeKind::Branches {
            union::one_or_both(cx, l, &steps.present, move_on, &inner)?;
        } else if kind == MergeKind::Select {
            union::together_or_not(cx, l, point, &steps.present, move_on, &inner)?;
        } else {
            cases(cx, l, point, &steps.present, &inner)?;
            for &(k, next) in &steps.next {
                cursors.of(k)?.set(&mut cx.b, next);
            }
            for &(k, has) in &steps.advance {
                let cursor = cursors.of(k)?;
                let condition = Some(has).filter(|has| cx.b.as_const(*has).is_none());
                cx.when_some(condition, |cx| cursor.advance(&mut cx.b));
            }
        }
        if let Some(counter) = counter {
            let one = cx.b.int(1);
            let next = cx.b.add(coordinate, one);
            cx.b.assign(counter, next);
        }
        Ok(())
    })
}

fn next_position(cx: &mut Lowerer<'_>, cursors: &Cursors, k: usize) -> Result<ExprId, Diagnostic> {
    let one = cx.b.int(1);
    let at = cursors.of(k)?.position(&mut cx.b);
    Ok(cx.b.add(at, one))
}

/// Binds the iterators of a loop to a coordinate. Each of them stands on a coordinate of its own.
fn step(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    cursors: &Cursors,
    own: &[(usize, ExprId)],
    coordinate: ExprId,
    inner: &mut Scope,
) -> Result<Steps, Diagnostic> {
    let mut steps = Steps { present: Vec::new(), next: Vec::new(), advance: Vec::new() };
    for &(k, own) in own {
        let cursor = cursors.of(k)?;
        let at = cursor.position(&mut cx.b);
        let has = if own == coordinate {
            cx.b.bool(true)
        } else {
            let has = cx.b.compare(CompareOp::Eq, own, coordinate);
            let has = cx.b.define(&format!("at_{}", cursor.name()), has);
            steps.present.push((k, has));
            has
        };
        let position = if l.traits[k].repeats {
            let end = cursor.segment_end(&mut cx.b, coordinate);
            steps.next.push((k, end));
            Position::Range(at, end)
        } else if l.traits[k].contiguous {
            let step = cx.b.cast(INDEX, has);
            steps.next.push((k, cx.b.add(at, step)));
            Position::One(at)
        } else {
            steps.advance.push((k, has));
            Position::One(cx.b.define(&format!("{}_here", cursor.name()), at))
        };
        let iterator = &l.lattice.iterators[k];
        inner.bind(&iterator.access, iterator.level, position);
    }
    Ok(steps)
}
