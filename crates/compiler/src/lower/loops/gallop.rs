//! Intersections in which iterators that lag jump to the coordinate of the one that leads.
//!
//! ```text
//! while pb < pb_end && pc < pc_end {
//!   i = max(b_crd[pb], c_crd[pc])
//!   if both have i { body; pb += 1; pc += 1 }
//!   else { pb = first of b at i or behind; pc = first of c at i or behind }      exponential search
//! }
//! ```
//!
//! It pays where one operand has far fewer coordinates than another. Paper: Henry et al. 2021, §6 names the strategy; the search is that
//! of Bentley and Yao, *An almost optimal algorithm for unbounded searching* (1976).

use lacunar_base::Diagnostic;
use lacunar_imp::{BinaryOp, CompareOp};

use super::cases::cases;
use super::here::Loop;
use super::together::{all_valid, coordinates, enter};
use crate::iterate::lattice::Point;
use crate::levels::Position;
use crate::lower::Lowerer;
use crate::lower::scope::Fact;

/// The loop while every iterator of `point` has coordinates left.
pub(super) fn emit(cx: &mut Lowerer<'_>, l: &Loop<'_>, point: Point) -> Result<(), Diagnostic> {
    let (cursors, scope) = enter(cx, l, &[point])?;
    let l = &l.within(&scope);
    let Some(valid) = all_valid(cx, point, &cursors)? else { return Ok(()) };
    cx.repeat(valid, |cx| {
        let own = coordinates(cx, l, point, &cursors)?;
        let greatest = own.iter().map(|(_, own)| *own).reduce(|a, b| cx.b.binary(BinaryOp::Max, a, b));
        let greatest = greatest.unwrap_or_else(|| cx.b.int(0));
        let coordinate = cx.b.define(&cx.kernel.vars[l.var].name, greatest);
        let mut all = cx.b.bool(true);
        for (_, own) in &own {
            let has = cx.b.compare(CompareOp::Eq, *own, coordinate);
            all = cx.b.and(all, has);
        }
        let (then, outcome) = cx.block(|cx| {
            let mut inner = l.scope.with(Fact::Value(l.var, coordinate));
            for (k, cursor) in &cursors.0 {
                let iterator = &l.lattice.iterators[*k];
                let at = cursor.position(&mut cx.b);
                inner.bind(&iterator.access, iterator.level, Position::One(at));
            }
            cases(cx, l, point, &[], &inner)?;
            for (_, cursor) in &cursors.0 {
                let (at, one) = (cursor.position(&mut cx.b), cx.b.int(1));
                let next = cx.b.add(at, one);
                cursor.set(&mut cx.b, next);
            }
            Ok::<(), Diagnostic>(())
        });
        outcome?;
        let (otherwise, ()) = cx.block(|cx| {
            for ((_, cursor), (_, own)) in cursors.0.iter().zip(&own) {
                let lags = cx.b.compare(CompareOp::Lt, *own, coordinate);
                cx.when(lags, |cx| cursor.jump(&mut cx.b, coordinate));
            }
        });
        cx.branch(all, then, otherwise);
        Ok(())
    })
}
