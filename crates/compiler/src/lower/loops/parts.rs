//! Loops over coordinates in two parts: one in which more is known of what is inside, and the rest, before it and behind it.
//!
//! ```text
//! piece = begin
//! while piece < end {
//!   if low <= piece && piece < high { until = high;  for i in piece .. until { what is simple there } }
//!   else { until = low or end;  for i in piece .. until { what is right everywhere } }
//!   piece = until
//! }
//! ```
//!
//! Two things are known in parts: what rows of packed tensors store (`stretches`), and how many values a loop inside takes (`whole`).
//!
//! On entry: the loop visits every coordinate, and [`has`] found a part.

use lacunar_base::Diagnostic;
use lacunar_imp::{BinaryOp, CompareOp};
use lacunar_notation::VarId;
use lacunar_notation::concrete::{Kernel, Stmt};

use super::copies::{self, MOST_COPIES, size_of};
use super::here::Loop;
use super::{dense, stretches, whole};
use crate::lower::Lowerer;
use crate::lower::region::whole::Whole;
use crate::lower::scope::{Fact, Scope};

/// A part of a loop.
enum Part {
    Rows(stretches::Met),
    Whole(Whole),
}

/// True if a loop has a part in which more is known.
pub(super) fn has(kernel: &Kernel, var: VarId, body: &Stmt, scope: &Scope) -> bool {
    found(kernel, var, body, scope).is_some()
}

/// The part of a loop, if it may have two copies. A strip of a constant length stays in one piece.
fn found(kernel: &Kernel, var: VarId, body: &Stmt, scope: &Scope) -> Option<Part> {
    let copies = copies::around(scope).saturating_mul(2).saturating_mul(size_of(body));
    if copies > MOST_COPIES || scope.in_strip(var).is_some() {
        return None;
    }
    let whole = || whole::found(kernel, var, body, scope).map(Part::Whole);
    stretches::found(kernel, var, body, scope).map(Part::Rows).or_else(whole)
}

/// The loop over all coordinates of the region, in pieces.
pub(super) fn emit(cx: &mut Lowerer<'_>, l: &Loop<'_>) -> Result<(), Diagnostic> {
    let Some(part) = found(cx.kernel, l.var, l.body, l.scope) else { return dense::emit(cx, l) };
    let ((begin, end), scope) = dense::enter(cx, l)?;
    let scope = scope.with(Fact::Copies(copies::around(&scope).saturating_mul(2)));
    let l = &l.within(&scope);
    let (low, high) = match &part {
        Part::Rows(rows) => stretches::part(cx, rows, (begin, end)),
        Part::Whole(whole) => whole::part(cx, whole, (begin, end)),
    };
    let low = cx.b.binary(BinaryOp::Min, low, end);
    let high = cx.b.binary(BinaryOp::Max, high, low);
    let (low, high) = (cx.b.define("part_from", low), cx.b.define("part_to", high));
    let (inside, outside) = match &part {
        Part::Rows(rows) => (stretches::alike(cx, rows, low, &scope), stretches::empty(cx, rows, &scope)),
        Part::Whole(whole) => (Fact::Whole(*whole), None),
    };
    let inside = scope.with(inside);
    let outside = outside.map_or_else(|| scope.clone(), |fact| scope.with(fact));
    let piece = cx.b.declare("piece", begin);
    let at = cx.b.var(piece);
    let is_left = cx.b.compare(CompareOp::Lt, at, end);
    cx.repeat(is_left, |cx| {
        let from = cx.b.define("from", at);
        let is_behind = cx.b.compare(CompareOp::Ge, from, high);
        let is_before = cx.b.compare(CompareOp::Lt, from, low);
        let until = cx.b.select(is_before, low, high);
        let until = cx.b.select(is_behind, end, until);
        let until = cx.b.define("until", until);
        let is_outside = cx.b.or(is_behind, is_before);
        let (then, first) = cx.block(|cx| dense::over(cx, &l.within(&outside), (from, until)));
        let (otherwise, second) = cx.block(|cx| dense::over(cx, &l.within(&inside), (from, until)));
        first.and(second)?;
        cx.branch(is_outside, then, otherwise);
        cx.b.assign(piece, until);
        Ok(())
    })
}
