//! Loops over the positions of one iterator, which tell its coordinates.
//!
//! ```text
//! y(i) = A(i,j) * x(j)      A: csr      for p in A2_pos[i] .. A2_pos[i+1] { j = A2_crd[p]; y_vals[i] += A_vals[p] * x_vals[j] }
//! ```

use lacunar_base::Diagnostic;
use lacunar_imp::{CompareOp, ExprId, LoopKind};

use super::cases::cases;
use super::here::Loop;
use crate::iterate::lattice::Point;
use crate::levels::{At, Position};
use crate::lower::scope::{Fact, Interval};
use crate::lower::storage::level;
use crate::lower::{Lowerer, iter};

/// The loop over the positions of iterator `k`.
pub(super) fn emit(cx: &mut Lowerer<'_>, l: &Loop<'_>, k: usize) -> Result<(), Diagnostic> {
    let (begin, end) = iter::bounds(cx, &l.lattice.iterators[k], l.scope)?;
    let scope = l.entered(cx, &mut |cx| cx.b.sub(end, begin));
    let kind = l.kind(cx);
    over(cx, &l.within(&scope), k, (begin, end), kind)
}

/// The loop over some positions of iterator `k`.
pub(super) fn over(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    k: usize,
    positions: Interval,
    kind: LoopKind,
) -> Result<(), Diagnostic> {
    let name = iter::name(cx, &l.lattice.iterators[k]);
    cx.each(kind, &name, positions, |cx, p| at_position(cx, l, k, p))
}

/// The body at the position of iterator `k`, if it has one.
pub(super) fn emit_one(cx: &mut Lowerer<'_>, l: &Loop<'_>, k: usize) -> Result<(), Diagnostic> {
    let iterator = &l.lattice.iterators[k];
    let only = iter::only(cx, iterator, l.scope)?;
    let (begin, end) = match only {
        Some(only) => only.range(&mut cx.b),
        None => iter::bounds(cx, iterator, l.scope)?,
    };
    let scope = l.entered(cx, &mut |cx| cx.b.sub(end, begin));
    let some = only.map_or_else(|| cx.b.compare(CompareOp::Lt, begin, end), |only| only.present);
    cx.when(some, |cx| at_position(cx, &l.within(&scope), k, begin))
}

/// The body at one position of iterator `k`.
pub(super) fn at_position(cx: &mut Lowerer<'_>, l: &Loop<'_>, k: usize, position: ExprId) -> Result<(), Diagnostic> {
    let iterator = &l.lattice.iterators[k];
    let at = At { parent: iter::parent(cx, iterator, l.scope)?, position, state: None };
    let code = level(cx, &iterator.access, iterator.level, l.scope)?;
    let coordinate = code.coordinate(&mut cx.b, &cx.kernel.vars[l.var].name, at);
    at_entry(cx, l, k, (position, coordinate))
}

/// The body at a position of iterator `k`, which has this coordinate.
pub(super) fn at_entry(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    k: usize,
    (position, coordinate): (ExprId, ExprId),
) -> Result<(), Diagnostic> {
    let iterator = &l.lattice.iterators[k];
    let mut inner = l.scope.with(Fact::Value(l.var, coordinate));
    inner.bind(&iterator.access, iterator.level, Position::One(position));
    cases(cx, l, Point::of([k]), &[], &inner)
}
