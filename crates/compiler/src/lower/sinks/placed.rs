//! The place of a chunk in a pattern that is given: the positions of the coordinates that it has.
//!
//! ```text
//! C(i,k): csr, pos and crd given         a chunk has the rows first .. end
//! for chunk in 0 .. chunks parallel {
//!   C2_n = C2_pos[first]; until = C2_pos[end]
//!   for i in first .. end { ..; C_vals[C2_n] = ..; C2_n += 1 }
//!   fail unless C2_n is until               never beyond it on the way, so that chunks keep apart
//! }
//! ```
//!
//! If the first level is compressed, the chunk's first position is found by a search for its first coordinate. On entry: as for
//! results in pieces ([`super::piece`]), by which a pattern is found.

use std::rc::Rc;

use lacunar_base::Diagnostic;
use lacunar_imp::ExprId;

use super::{Append, begin_result};
use crate::levels::Position;
use crate::lower::Lowerer;
use crate::lower::scope::{Interval, Scope};
use crate::lower::storage::{extent, level};

/// The result of a chunk that computes the values of coordinates `first .. end` of the first level: its counters begin where the
/// pattern has these, and it ends where the pattern does.
pub(in crate::lower) fn begin(
    cx: &mut Lowerer<'_>,
    (first, end): Interval,
    scope: &Scope,
) -> Result<Scope, Diagnostic> {
    let mut scope = begin_result(cx, scope)?;
    let Some(append) = scope.appended().cloned() else { return Ok(scope) };
    let starts = positions_from(cx, &append, first, &scope)?;
    let ends = positions_from(cx, &append, end, &scope)?;
    for (group, start) in append.groups.iter().zip(starts) {
        cx.b.assign(group.counter, start);
    }
    if let (Some(&group), Some(&last)) = (append.groups.last(), ends.last()) {
        let block = append.block(cx, group, &scope);
        let values = cx.b.mul(last, block);
        let until = cx.b.define("until", values);
        let tensor = append.access.tensor;
        scope = scope.writing(tensor, Rc::new(Append { stored: Some(until), ..append }));
    }
    Ok(scope)
}

/// For each group of the result, its first position under coordinates of the first level that are `first` or more.
fn positions_from(
    cx: &mut Lowerer<'_>,
    append: &Append,
    first: ExprId,
    scope: &Scope,
) -> Result<Vec<ExprId>, Diagnostic> {
    let access = &append.access;
    let mut positions = Vec::new();
    let mut above = None;
    for group in &append.groups {
        let (begin, from) = above.unwrap_or((first, 1));
        let parents = extent(cx, access, from, group.head, scope);
        let code = level(cx, access, group.head, scope)?;
        let position = if group.head == 0 {
            let zero = cx.b.int(0);
            let (begin, end) = code.bounds(&mut cx.b, Position::One(zero));
            code.seek(&mut cx.b, zero, begin, end, first)
        } else {
            let parent = cx.b.mul(begin, parents);
            code.bounds(&mut cx.b, Position::Range(parent, parent)).0
        };
        let position = cx.b.define("place", position);
        positions.push(position);
        above = Some((position, group.tail + 1));
    }
    Ok(positions)
}
