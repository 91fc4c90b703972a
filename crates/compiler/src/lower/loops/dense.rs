//! Loops over coordinates: something is done at every one of them.
//!
//! ```text
//! y(i) = x(i) + 1, all dense      for i in 0 .. n { y_vals[i] = x_vals[i] + 1 }
//! ```

use lacunar_base::Diagnostic;

use super::cases::cases;
use super::here::Loop;
use crate::iterate::lattice::Point;
use crate::lower::scope::{Fact, Interval, Scope};
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
    let kind = cx.loop_kind(l.var, l.scope);
    cx.each(kind, cx.var_name(l.var), interval, |cx, i| {
        cases(cx, l, Point::ALL, &[], &l.scope.with(Fact::Value(l.var, i)))
    })
}
