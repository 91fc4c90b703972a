//! The number of additions that a producer makes at most, and the interval of their coordinates, counted before it runs.
//!
//! ```text
//! forall(j, forall(k, w(k) += A(i,j) * B(j,k)))      for p in A2_pos[i] .. A2_pos[i+1] {
//!                                                      j = A2_crd[p];  begin, end = B2_pos[j], B2_pos[j+1]
//!                                                      most += end - begin
//!                                                      if begin < end { least, greatest of B2_crd[begin], B2_crd[end-1] } }
//! ```
//!
//! The loops around the one over the workspace's variable are emitted as they are; that one only tells the positions it would go
//! through. [`crate::iterate::additions`] says for which producers that is cheap.

use lacunar_base::Diagnostic;
use lacunar_imp::{BinaryOp, CompareOp, ExprId};
use lacunar_notation::VarId;
use lacunar_notation::concrete::Stmt;

use super::scope::{Fact, Interval, Scope};
use super::storage::level;
use super::{Lowerer, MutableVar, iter, region, statement};
use crate::iterate::iterators::Mode;
use crate::iterate::lattice::Lattice;
use crate::levels::At;

/// Variables that say how much is added, in the loop over a variable, and where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Additions {
    /// The variable whose loop adds.
    var: VarId,
    /// An upper bound of the number of additions.
    pub most: MutableVar,
    /// The least coordinate, and the greatest, that are added to if any is.
    least: MutableVar,
    greatest: MutableVar,
}

impl Additions {
    /// The coordinates that are added to lie in this interval.
    pub fn interval(self, cx: &mut Lowerer<'_>) -> Interval {
        let (least, greatest, one) = (cx.b.var(self.least), cx.b.var(self.greatest), cx.b.int(1));
        (least, cx.b.add(greatest, one))
    }

    /// The number of coordinates of the interval; less than 1 if nothing is added.
    pub fn between(self, cx: &mut Lowerer<'_>) -> ExprId {
        let (first, end) = self.interval(cx);
        cx.b.sub(end, first)
    }

    fn add(self, cx: &mut Lowerer<'_>, count: ExprId) {
        let so_far = cx.b.var(self.most);
        let most = cx.b.add(so_far, count);
        cx.b.assign(self.most, most);
    }

    fn reach(self, cx: &mut Lowerer<'_>, (least, greatest): Interval) {
        for (variable, value, op) in [(self.least, least, BinaryOp::Min), (self.greatest, greatest, BinaryOp::Max)] {
            let so_far = cx.b.var(variable);
            let now = cx.b.binary(op, so_far, value);
            cx.b.assign(variable, now);
        }
    }
}

/// Counts the additions of a producer, which are made in the loop over `var`.
///
/// # Errors
/// A place is not known.
pub(super) fn additions(
    cx: &mut Lowerer<'_>,
    producer: &Stmt,
    var: VarId,
    scope: &Scope,
) -> Result<Additions, Diagnostic> {
    let (none, size, one) = (cx.b.int(0), cx.size(var), cx.b.int(1));
    let before = cx.b.sub(none, one);
    let most = cx.b.declare("most", none);
    let least = cx.b.declare("least", size);
    let greatest = cx.b.declare("greatest", before);
    let counted = Additions { var, most, least, greatest };
    let told = cx.found.loops.len();
    statement(cx, producer, &scope.with(Fact::Counted(counted)))?;
    cx.found.loops.truncate(told);
    Ok(counted)
}

/// Counts the additions of the loop over `var`, if they are to be counted here. False if the loop is to be emitted.
pub(super) fn count(cx: &mut Lowerer<'_>, var: VarId, body: &Stmt, scope: &Scope) -> Result<bool, Diagnostic> {
    let Some(counted) = scope.counted().filter(|counted| counted.var == var) else { return Ok(false) };
    let lattice = Lattice::build(cx.kernel, body, var)
        .map_err(|_| Diagnostic::internal("a loop that was counted before has too many iterators"))?;
    let scope = &region::confine(cx, var, &lattice, scope)?;
    if lattice.visits_all() {
        let (first, end) = region::coordinates(cx, var, scope)?;
        let count = cx.b.sub(end, first);
        counted.add(cx, count);
        everywhere(cx, counted);
        return Ok(true);
    }
    for iterator in lattice.iterators.iter().filter(|it| it.mode == Mode::Coiterate) {
        let (begin, end) = iter::bounds(cx, iterator, scope)?;
        let (begin, end) = (cx.b.define("begin", begin), cx.b.define("end", end));
        let code = level(cx, &iterator.access, iterator.level, scope)?;
        let most = code.most_between(&mut cx.b, begin, end);
        let none = cx.b.int(0);
        let some = cx.b.compare(CompareOp::Gt, most, none);
        let kind = cx.kernel.tensors[iterator.access.tensor].format.levels()[iterator.level];
        let ascends =
            kind.properties().ordered && code.is_contiguous() && !code.has_runs() && !code.stops_at_coordinates();
        let parent = iter::parent(cx, iterator, scope)?;
        // A position that neighbors share is that of as many coordinates as there are.
        let most = if kind.properties().shared { cx.size(var) } else { most };
        cx.when(some, |cx| {
            counted.add(cx, most);
            if !ascends {
                return everywhere(cx, counted);
            }
            let one = cx.b.int(1);
            let last = cx.b.sub(end, one);
            let mut coordinate =
                |name, position| code.coordinate(&mut cx.b, name, At { parent, position, state: None });
            let ends = (coordinate("first", begin), coordinate("last", last));
            counted.reach(cx, ends);
        });
    }
    Ok(true)
}

/// Any coordinate may be added to.
fn everywhere(cx: &mut Lowerer<'_>, counted: Additions) {
    let (first, size, one) = (cx.b.int(0), cx.size(counted.var), cx.b.int(1));
    let last = cx.b.sub(size, one);
    counted.reach(cx, (first, last));
}
