//! Merges of intervals: every iterator has neighboring coordinates, so that the region falls into pieces in which the same iterators
//! are present. Each piece is a plain loop.
//!
//! ```text
//! y(i) = x(i+1) - x(i-1)       intervals of i: 0 .. n-1 and 1 .. n
//!   i = 0
//!   while i < n {
//!     until = the next end or beginning of an interval behind i
//!     if both have i { for i in i .. until { y = x[i+1] - x[i-1] } } else if the first has .. else ..
//!     i = until
//!   }
//! ```
//!
//! A merge coordinate by coordinate does the same with a branch for each coordinate, and not in vector registers.
//!
//! On entry: no iterator is uncertain, and neighboring positions of each have neighboring coordinates
//! ([`LevelCode::is_gapless`](crate::levels::LevelCode::is_gapless)).

use lacunar_base::Diagnostic;
use lacunar_imp::{BinaryOp, Block, CompareOp, ExprId};

use super::cases::cases;
use super::here::Loop;
use super::together::enter;
use crate::iterate::lattice::Point;
use crate::levels::Position;
use crate::lower::scope::Fact;
use crate::lower::{Lowerer, region};

/// The interval of an iterator.
struct Interval {
    iterator: usize,
    /// The first coordinate, and the one behind the last.
    coordinates: (ExprId, ExprId),
    /// The position of the first coordinate.
    position: ExprId,
}

/// The loop over the pieces, in which the iterators of one of `points` are present: the largest sets first.
pub(super) fn emit(cx: &mut Lowerer<'_>, l: &Loop<'_>, points: &[Point]) -> Result<(), Diagnostic> {
    let (intervals, scope) = open(cx, l, points)?;
    let l = &l.within(&scope);
    let (begin, end) = extent(cx, l, &intervals)?;
    let here = cx.b.declare("piece", begin);
    let at = cx.b.var(here);
    let is_left = cx.b.compare(CompareOp::Lt, at, end);
    cx.repeat(is_left, |cx| {
        let at = cx.b.define("from", at);
        let mut until = end;
        let mut present = Vec::new();
        for interval in &intervals {
            let (low, high) = interval.coordinates;
            let ahead = cx.b.compare(CompareOp::Lt, at, low);
            let open = cx.b.compare(CompareOp::Lt, at, high);
            let behind = cx.b.select(open, high, end);
            let next = cx.b.select(ahead, low, behind);
            until = cx.b.binary(BinaryOp::Min, until, next);
            let reached = cx.b.compare(CompareOp::Ge, at, low);
            let has = cx.b.and(reached, open);
            present.push((interval.iterator, cx.b.define("has", has)));
        }
        let until = cx.b.define("until", until);
        branches(cx, l, points, &intervals, &present, (at, until))?;
        cx.b.assign(here, until);
        Ok(())
    })
}

/// Opens the iterators; the scope inside of the loop.
fn open(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    points: &[Point],
) -> Result<(Vec<Interval>, crate::lower::scope::Scope), Diagnostic> {
    let (cursors, scope) = enter(cx, l, points)?;
    let mut intervals = Vec::new();
    for (iterator, cursor) in &cursors.0 {
        let (first, behind) = cursor.rest(&mut cx.b);
        let position = cx.b.define("first", first);
        let low = cursor.coordinate(&mut cx.b, &format!("{}_from", cx.kernel.vars[l.var].name));
        let length = cx.b.sub(behind, position);
        let high = cx.b.add(low, length);
        let high = cx.b.define(&format!("{}_to", cx.kernel.vars[l.var].name), high);
        intervals.push(Interval { iterator: *iterator, coordinates: (low, high), position });
    }
    Ok((intervals, scope))
}

/// The coordinates that the pieces make up.
fn extent(cx: &mut Lowerer<'_>, l: &Loop<'_>, intervals: &[Interval]) -> Result<(ExprId, ExprId), Diagnostic> {
    let all = region::coordinates(cx, l.var, l.scope)?;
    if l.lattice.visits_all() {
        return Ok(all);
    }
    let (mut begin, mut end) = (all.1, all.0);
    for Interval { coordinates: (low, high), .. } in intervals {
        begin = cx.b.binary(BinaryOp::Min, begin, *low);
        end = cx.b.binary(BinaryOp::Max, end, *high);
    }
    Ok((cx.b.define("begin", begin), cx.b.define("end", end)))
}

/// A loop over a piece for every set of iterators that can be present in it.
fn branches(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    points: &[Point],
    intervals: &[Interval],
    present: &[(usize, ExprId)],
    piece: (ExprId, ExprId),
) -> Result<(), Diagnostic> {
    let mut chain: Vec<(Option<ExprId>, Block)> = Vec::new();
    for &point in points {
        let kind = l.kind(cx);
        let (block, outcome) = cx.block(|cx| {
            cx.each(kind, cx.var_name(l.var), piece, |cx, coordinate| {
                let mut inner = l.scope.with(Fact::Value(l.var, coordinate));
                for Interval { iterator, coordinates: (low, _), position } in intervals {
                    if point.has(*iterator) {
                        let of = &l.lattice.iterators[*iterator];
                        let offset = cx.b.sub(coordinate, *low);
                        let at = cx.b.add(*position, offset);
                        inner.bind(&of.access, of.level, Position::One(at));
                    }
                }
                cases(cx, l, point, &[], &inner)
            })
        });
        outcome?;
        let members = present.iter().filter(|(k, _)| point.has(*k)).map(|(_, has)| *has);
        chain.push((members.reduce(|all, has| cx.b.and(all, has)), block));
    }
    let chain = chain.into_iter().rev().fold(Block::default(), |otherwise, (cond, then)| match cond {
        Some(cond) => vec![lacunar_imp::Stmt::If { cond, then, otherwise }],
        None => then,
    });
    cx.append(chain);
    Ok(())
}
