//! Iterators that are advanced together: opened, asked whether all have coordinates left, and for the coordinates they stand on.

use lacunar_base::Diagnostic;
use lacunar_imp::ExprId;

use super::here::Loop;
use crate::iterate::lattice::Point;
use crate::lower::Lowerer;
use crate::lower::iter::{Cursors, most_coordinates, most_visited, open_all};
use crate::lower::scope::Scope;

/// Opens the iterators of some loops that are advanced together; the scope inside, with room for all that they can visit.
pub(super) fn enter(cx: &mut Lowerer<'_>, l: &Loop<'_>, loops: &[Point]) -> Result<(Cursors, Scope), Diagnostic> {
    let cursors = open_all(cx, l.lattice, Point::union(loops), l.scope)?;
    let mut lengths = Vec::new();
    for (k, cursor) in &cursors.0 {
        let positions = cursor.left(&mut cx.b);
        lengths.push((*k, most_coordinates(cx, &l.lattice.iterators[*k], positions, l.scope)));
    }
    let size = cx.size(l.var);
    let scope = l.entered(cx, &mut |cx| most_visited(cx, l.lattice, size, loops, &lengths));
    Ok((cursors, scope))
}

/// The condition that all iterators of a point have coordinates left.
pub(super) fn all_valid(cx: &mut Lowerer<'_>, point: Point, cursors: &Cursors) -> Result<Option<ExprId>, Diagnostic> {
    let mut all = None;
    for k in point.members() {
        let valid = cursors.of(k)?.valid(&mut cx.b);
        all = Some(all.map_or(valid, |all| cx.b.and(all, valid)));
    }
    Ok(all)
}

/// The coordinates that the iterators of a point stand on.
pub(super) fn coordinates(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    point: Point,
    cursors: &Cursors,
) -> Result<Vec<(usize, ExprId)>, Diagnostic> {
    let mut all = Vec::new();
    for k in point.members() {
        let name = format!("{}_{}", cx.var_name(l.var), cx.name(l.lattice.iterators[k].access.tensor));
        all.push((k, cursors.of(k)?.coordinate(&mut cx.b, &name)));
    }
    Ok(all)
}
