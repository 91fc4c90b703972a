//! Slots: a counted run of coordinates 0, 1, 2, .. under each parent position.
//!
//! ```text
//! counts 2, 0, 3:   pos 0 2 2 5      parent p owns positions pos[p] .. pos[p+1], coordinate = position - pos[p]
//! ```

use lacunar_imp::{ArrayId, BinaryOp, Builder, ExprId};

use super::{Arrays, At, Demand, Length, LevelCode, Position, segment_bounds, segment_of};

/// The code of a level.
pub(super) fn make(Arrays { arrays, .. }: Arrays<'_>) -> Box<dyn LevelCode> {
    Box::new(Slots { pos: arrays[0] })
}

/// A level of slots.
#[derive(Debug)]
pub(super) struct Slots {
    /// The position at which each parent's slots begin; one more than there are parents.
    pub(super) pos: ArrayId,
}

impl LevelCode for Slots {
    fn bounds(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId) {
        segment_bounds(b, self.pos, parent)
    }

    fn parent(&self, b: &mut Builder, position: ExprId, parents: ExprId) -> ExprId {
        segment_of(b, self.pos, position, parents)
    }

    fn seek(&self, b: &mut Builder, parent: ExprId, begin: ExprId, end: ExprId, coordinate: ExprId) -> ExprId {
        let first = b.load_index("slots", self.pos, parent);
        let at = b.add(first, coordinate);
        let at = b.binary(BinaryOp::Max, at, begin);
        b.binary(BinaryOp::Min, at, end)
    }

    fn coordinate(&self, b: &mut Builder, name: &str, at: At) -> ExprId {
        let first = b.load_index("slots", self.pos, at.parent);
        let coordinate = b.sub(at.position, first);
        b.define(name, coordinate)
    }

    fn lengths(&self, b: &mut Builder, parents: ExprId, demand: &mut Demand<'_>) {
        demand(b, self.pos, Length::edges(parents));
    }

    fn count_positions(&self, b: &mut Builder, parents: ExprId, _size: ExprId) -> ExprId {
        b.load_index("stored", self.pos, parents)
    }
}
