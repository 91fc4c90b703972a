//! Ranked slots: slots, with an array that has the coordinate of each rank beside them.
//!
//! ```text
//! sell(2,4)      for s in pos[i0] .. pos[i0 + 1] { for i1 in 0 .. 2 { .. y[ranking[2 i0 + i1]] .. } }
//! ```
//!
//! Loops walk through the slots. The array is read by the views of other tensors (`strided.rs`).

use lacunar_imp::{ArrayId, Builder, ExprId};

use super::slots::Slots;
use super::{Arrays, At, Demand, LevelCode, Part, Position};

/// The code of a level.
pub(super) fn make(Arrays { arrays, .. }: Arrays<'_>) -> Box<dyn LevelCode> {
    Box::new(Ranked { slots: Slots { pos: arrays[0] }, ranking: arrays[1] })
}

/// A level of ranked slots.
#[derive(Debug)]
struct Ranked {
    slots: Slots,
    /// The coordinate of each rank.
    ranking: ArrayId,
}

impl LevelCode for Ranked {
    fn array(&self, part: Part) -> Option<ArrayId> {
        (part == Part::RANKING).then_some(self.ranking)
    }

    fn bounds(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId) {
        self.slots.bounds(b, parent)
    }

    fn span(&self, b: &mut Builder, first: ExprId, end: ExprId) -> (ExprId, ExprId) {
        self.slots.span(b, first, end)
    }

    fn parent(&self, b: &mut Builder, position: ExprId, parents: ExprId) -> ExprId {
        self.slots.parent(b, position, parents)
    }

    fn seek(&self, b: &mut Builder, parent: ExprId, begin: ExprId, end: ExprId, coordinate: ExprId) -> ExprId {
        self.slots.seek(b, parent, begin, end, coordinate)
    }

    fn coordinate(&self, b: &mut Builder, name: &str, at: At) -> ExprId {
        self.slots.coordinate(b, name, at)
    }

    fn lengths(&self, b: &mut Builder, parents: ExprId, demand: &mut Demand<'_>) {
        // Views tell how long the ranking is.
        self.slots.lengths(b, parents, demand);
    }

    fn count_positions(&self, b: &mut Builder, parents: ExprId, size: ExprId) -> ExprId {
        self.slots.count_positions(b, parents, size)
    }
}
