//! Singleton levels: one coordinate for each parent position, at the position of the same number.
//!
//! ```text
//! coordinate list (1,4) (1,5) (3,0):   level 1 crd 1 1 3     level 2 (singleton) crd 4 5 0
//! ```

use lacunar_imp::{ArrayId, Builder, ExprId};

use super::{Arrays, At, Demand, Length, LevelCode, Part, Position, Slot};

/// The code of a level.
pub(super) fn make(Arrays { arrays, .. }: Arrays<'_>) -> Box<dyn LevelCode> {
    Box::new(Singleton { crd: arrays[0] })
}

/// A singleton level of a tensor.
#[derive(Debug)]
pub struct Singleton {
    /// The coordinate of each position.
    pub crd: ArrayId,
}

impl LevelCode for Singleton {
    fn array(&self, part: Part) -> Option<ArrayId> {
        (part == Part::COORDINATES).then_some(self.crd)
    }

    fn bounds(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId) {
        parent.range(b)
    }

    fn span(&self, _b: &mut Builder, first: ExprId, end: ExprId) -> (ExprId, ExprId) {
        (first, end)
    }

    fn parent(&self, _b: &mut Builder, position: ExprId, _parents: ExprId) -> ExprId {
        position
    }

    fn seek(&self, b: &mut Builder, _parent: ExprId, begin: ExprId, end: ExprId, coordinate: ExprId) -> ExprId {
        b.lower_bound(self.crd, begin, end, coordinate)
    }

    fn coordinate(&self, b: &mut Builder, name: &str, at: At) -> ExprId {
        b.load_index(name, self.crd, at.position)
    }

    fn append_reserve(&self, b: &mut Builder, count: ExprId) {
        let one = b.int(1);
        b.grow(self.crd, count, one, false);
    }

    fn append_coordinate(&self, b: &mut Builder, slot: Slot, coordinate: ExprId) {
        b.store_index(self.crd, slot.position, coordinate);
    }

    fn lengths(&self, b: &mut Builder, parents: ExprId, demand: &mut Demand<'_>) {
        demand(b, self.crd, Length::of(parents));
    }

    fn count_positions(&self, _b: &mut Builder, parents: ExprId, _size: ExprId) -> ExprId {
        parents
    }
}
