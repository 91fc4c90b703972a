//! Unordered levels: compressed ones whose coordinates are in no order, and whose positions are gone through as they are.
//!
//! ```text
//! rows {4, 1}, {}, {0}:   pos 0 2 2 3      crd 4 1 0
//!                              parent p owns positions pos[p] .. pos[p+1]
//! ```
//!
//! A result appends coordinates as they come: a workspace need not be sorted for it. A coordinate is looked up by going through
//! all positions under its parent; the planner has tensors converted before it comes to that, but for schedules that cut a loop.

use lacunar_imp::{ArrayId, Builder, CompareOp, ExprId};

use super::compressed::Compressed;
use super::{Arrays, At, Demand, LevelCode, Part, Position, Slot, step_until};

/// The code of a level.
pub(super) fn make(Arrays { arrays, whole, .. }: Arrays<'_>) -> Box<dyn LevelCode> {
    Box::new(Unordered(Compressed { pos: arrays[0], crd: arrays[1], first: i64::from(whole) }))
}

/// An unordered level of a tensor, which has the arrays of a compressed one.
#[derive(Debug)]
struct Unordered(Compressed);

impl LevelCode for Unordered {
    fn array(&self, part: Part) -> Option<ArrayId> {
        self.0.array(part)
    }

    fn bounds(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId) {
        self.0.bounds(b, parent)
    }

    fn parent(&self, b: &mut Builder, position: ExprId, parents: ExprId) -> ExprId {
        self.0.parent(b, position, parents)
    }

    fn coordinate(&self, b: &mut Builder, name: &str, at: At) -> ExprId {
        self.0.coordinate(b, name, at)
    }

    fn find(
        &self,
        b: &mut Builder,
        parent: ExprId,
        (begin, end): (ExprId, ExprId),
        coordinate: ExprId,
    ) -> (ExprId, ExprId) {
        let (position, one) = (b.declare("position", begin), b.int(1));
        step_until(b, position, end, |b, at| {
            let own = self.0.coordinate(b, "own", At { parent, position: at, state: None });
            b.compare(CompareOp::Eq, own, coordinate)
        });
        let at = b.var(position);
        let found = b.define("found_at", at);
        let behind = b.add(found, one);
        let is_there = b.compare(CompareOp::Lt, found, end);
        let last = b.select(is_there, behind, found);
        (found, last)
    }

    fn append_init(&self, b: &mut Builder, parents: Option<ExprId>) {
        self.0.append_init(b, parents);
    }

    fn append_reserve(&self, b: &mut Builder, count: ExprId) {
        self.0.append_reserve(b, count);
    }

    fn append_coordinate(&self, b: &mut Builder, slot: Slot, coordinate: ExprId) {
        self.0.append_coordinate(b, slot, coordinate);
    }

    fn append_edge(&self, b: &mut Builder, parent: ExprId, end: ExprId, fixed: bool) {
        self.0.append_edge(b, parent, end, fixed);
    }

    fn append_finish(&self, b: &mut Builder, parents: ExprId, start: ExprId, complete: bool) {
        self.0.append_finish(b, parents, start, complete);
    }

    fn lengths(&self, b: &mut Builder, parents: ExprId, demand: &mut Demand<'_>) {
        self.0.lengths(b, parents, demand);
    }

    fn count_positions(&self, b: &mut Builder, parents: ExprId, size: ExprId) -> ExprId {
        self.0.count_positions(b, parents, size)
    }
}
