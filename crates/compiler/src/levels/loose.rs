//! Loose levels: a segment of ascending coordinates under each parent position, with unused places behind it.
//!
//! ```text
//! rows {0, 2}, {}, {1}:   pos 0 3 4 6   end 2 3 5   crd 0 2 - - 1 -      parent p owns positions pos[p] .. end[p]
//! ```

use lacunar_imp::{ArrayId, Builder, ExprId};

use super::{Arrays, At, Demand, Length, LevelCode, Position, segment_bounds, segment_of};

/// The code of a level.
pub(super) fn make(Arrays { arrays, .. }: Arrays<'_>) -> Box<dyn LevelCode> {
    Box::new(Loose { pos: arrays[0], end: arrays[1], crd: arrays[2] })
}

/// A loose level of a tensor.
#[derive(Debug)]
struct Loose {
    /// The position at which each parent's places begin; one more than there are parents.
    pos: ArrayId,
    /// The position at which each parent's segment ends.
    end: ArrayId,
    /// The coordinate of each position that is used.
    crd: ArrayId,
}

impl LevelCode for Loose {
    fn bounds(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId) {
        let parent = parent.first();
        (b.load_index("begin", self.pos, parent), b.load_index("end", self.end, parent))
    }

    fn span(&self, b: &mut Builder, first: ExprId, end: ExprId) -> (ExprId, ExprId) {
        segment_bounds(b, self.pos, Position::Range(first, end))
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

    fn lengths(&self, b: &mut Builder, parents: ExprId, demand: &mut Demand<'_>) {
        demand(b, self.pos, Length::edges(parents));
        demand(b, self.end, Length::of(parents));
        let stored = b.load_index("stored", self.pos, parents);
        demand(b, self.crd, Length::of(stored));
    }

    fn count_positions(&self, b: &mut Builder, parents: ExprId, _size: ExprId) -> ExprId {
        b.load_index("places", self.pos, parents)
    }
}
