//! Optional levels: at most one coordinate for each parent position, at the position of the same number.
//!
//! ```text
//! rows {1}, {}, {0}:   crd 1 - 0      parent p owns positions p .. p + (crd[p] is a coordinate)
//! ```

use lacunar_imp::{ArrayId, Builder, CompareOp, ExprId};

use super::{Arrays, At, Demand, Length, LevelCode, Only, Position, none_in};

/// The code of a level.
pub(super) fn make(Arrays { arrays, .. }: Arrays<'_>) -> Box<dyn LevelCode> {
    Box::new(Optional { crd: arrays[0] })
}

/// An optional level of a tensor.
#[derive(Debug)]
struct Optional {
    /// The coordinate of each position; the largest number if there is none.
    crd: ArrayId,
}

impl Optional {
    /// The position under one of the parent level.
    fn at(&self, b: &mut Builder, parent: Position) -> Only {
        let position = parent.first();
        let (coordinate, none) = (b.load_index("own", self.crd, position), none_in(b, self.crd));
        Only { position, present: b.compare(CompareOp::Ne, coordinate, none) }
    }
}

impl LevelCode for Optional {
    fn bounds(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId) {
        self.at(b, parent).range(b)
    }

    fn only(&self, b: &mut Builder, parent: Position) -> Option<Only> {
        Some(self.at(b, parent))
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

    fn lengths(&self, b: &mut Builder, parents: ExprId, demand: &mut Demand<'_>) {
        demand(b, self.crd, Length::of(parents));
    }

    fn count_positions(&self, _b: &mut Builder, parents: ExprId, _size: ExprId) -> ExprId {
        parents
    }
}
