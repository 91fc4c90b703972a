//! Compressed levels: each parent position has a segment of ascending coordinates.
//!
//! ```text
//! rows {1, 4}, {}, {0}:   pos 0 2 2 3      crd 1 4 0
//!                              parent p owns positions pos[p] .. pos[p+1]
//! ```
//!
//! A result appends coordinates, and when a parent is done its edge `pos[parent + 1]` is set to the number of
//! coordinates so far. Parents that no loop visits are given the edge of the one before them at the end, so that `pos`
//! never has holes.

use lacunar_imp::{ArrayId, Builder, CompareOp, ExprId};

use super::{Arrays, At, Demand, Length, LevelCode, Part, Position, Slot, segment_bounds, segment_of};

/// The code of a level.
pub(super) fn make(Arrays { arrays, whole, .. }: Arrays<'_>) -> Box<dyn LevelCode> {
    Box::new(Compressed { pos: arrays[0], crd: arrays[1], first: i64::from(whole) })
}

/// A compressed level of a tensor.
#[derive(Debug)]
pub struct Compressed {
    /// The position at which each parent's segment begins; one more than there are parents.
    pub pos: ArrayId,
    /// The coordinate of each position.
    pub crd: ArrayId,
    /// The place in `pos` of the end of the first segment: 1, or 0 in a part of a result, which has no leading zero.
    pub first: i64,
}

impl LevelCode for Compressed {
    fn array(&self, part: Part) -> Option<ArrayId> {
        match part {
            Part::POSITIONS => Some(self.pos),
            Part::COORDINATES => Some(self.crd),
            _ => None,
        }
    }

    fn bounds(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId) {
        segment_bounds(b, self.pos, parent)
    }

    fn parent(&self, b: &mut Builder, position: ExprId, parents: ExprId) -> ExprId {
        segment_of(b, self.pos, position, parents)
    }

    fn seek(&self, b: &mut Builder, _parent: ExprId, begin: ExprId, end: ExprId, coordinate: ExprId) -> ExprId {
        b.lower_bound(self.crd, begin, end, coordinate)
    }

    fn coordinate(&self, b: &mut Builder, name: &str, at: At) -> ExprId {
        b.load_index(name, self.crd, at.position)
    }

    fn append_init(&self, b: &mut Builder, parents: Option<ExprId>) {
        let (zero, one, first) = (b.int(0), b.int(1), b.int(self.first));
        let edges = match parents {
            Some(parents) => b.add(parents, first),
            None => first,
        };
        b.grow(self.pos, edges, one, true);
        if self.first > 0 {
            b.store_index(self.pos, zero, zero);
        }
    }

    fn append_reserve(&self, b: &mut Builder, count: ExprId) {
        let one = b.int(1);
        b.grow(self.crd, count, one, false);
    }

    fn append_coordinate(&self, b: &mut Builder, slot: Slot, coordinate: ExprId) {
        b.store_index(self.crd, slot.position, coordinate);
    }

    fn append_edge(&self, b: &mut Builder, parent: ExprId, end: ExprId, fixed: bool) {
        let (one, first) = (b.int(1), b.int(self.first));
        let next = b.add(parent, first);
        if !fixed {
            let edges = b.add(next, one);
            b.grow(self.pos, edges, one, true);
        }
        b.store_index(self.pos, next, end);
    }

    fn append_finish(&self, b: &mut Builder, parents: ExprId, start: ExprId, complete: bool) {
        if complete {
            return;
        }
        let (one, first) = (b.int(1), b.int(self.first));
        let edges = b.add(parents, first);
        b.grow(self.pos, edges, one, true);
        let last = b.declare("edge", start);
        b.for_loop("q", first, edges, |b, q| {
            let edge = b.load_index("edge_q", self.pos, q);
            let so_far = b.var(last);
            let skipped = b.compare(CompareOp::Lt, edge, so_far);
            let edge = b.select(skipped, so_far, edge);
            b.assign(last, edge);
            let edge = b.var(last);
            b.store_index(self.pos, q, edge);
        });
    }

    fn lengths(&self, b: &mut Builder, parents: ExprId, demand: &mut Demand<'_>) {
        demand(b, self.pos, Length::edges(parents));
        let stored = b.load_index("stored", self.pos, parents);
        demand(b, self.crd, Length::of(stored));
    }

    fn count_positions(&self, b: &mut Builder, parents: ExprId, _size: ExprId) -> ExprId {
        b.load_index("stored", self.pos, parents)
    }
}
