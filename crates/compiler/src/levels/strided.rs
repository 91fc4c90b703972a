//! Levels of views: a dimension of a dense tensor that several variables walk through together.
//!
//! ```text
//! x(4 j0 + j1)      level of j0: position = parent * size + 4 j0      level of j1: position = parent + j1
//! ```
//!
//! The last of them may come to a coordinate by its rank, through an array:
//!
//! ```text
//! y(ranking[4 i0 + i1])     level of i0: position = parent * size + 4 i0
//!                           level of i1: position = parent - rank + ranking[rank + i1], where rank = parent % size
//! ```
//!
//! Views only; no tensor of a user is stored so. The positions of the outer levels of a dimension are those of its first coordinate
//! under them, which may lie outside of the dimension if the loops inside begin later.

use lacunar_imp::{ArrayId, BinaryOp, Builder, ExprId};

use super::{At, LevelCode, Position};

/// A level that walks through a dimension, or through the rest of it.
#[derive(Debug)]
pub struct Strided {
    /// The number of positions from one parent to the next: the size of the dimension, or 1 for a level that is not the
    /// first in it.
    pub size: ExprId,
    /// The distance between neighboring coordinates.
    pub stride: ExprId,
    /// The place of coordinate 0.
    pub shift: ExprId,
    /// The array by which ranks become coordinates, if they do at this level.
    pub through: Option<Through>,
}

/// The array through which a level goes from ranks to coordinates.
#[derive(Clone, Copy, Debug)]
pub struct Through {
    /// The coordinate of each rank.
    pub ranking: ArrayId,
    /// The meaning of a parent's position for ranks.
    pub parent: Parent,
}

/// A parent position of a level that goes from ranks to coordinates.
#[derive(Clone, Copy, Debug)]
pub enum Parent {
    /// It is outside of the dimension: the level is all that walks through it.
    Outside,
    /// It is the first rank.
    Rank,
    /// It is the first rank, behind whole dimensions of a size.
    Inside(ExprId),
}

impl LevelCode for Strided {
    fn bounds(&self, b: &mut Builder, _parent: Position) -> (ExprId, ExprId) {
        (b.int(0), self.size)
    }

    fn span(&self, b: &mut Builder, first: ExprId, end: ExprId) -> (ExprId, ExprId) {
        (b.mul(first, self.size), b.mul(end, self.size))
    }

    fn parent(&self, b: &mut Builder, position: ExprId, _parents: ExprId) -> ExprId {
        b.binary(BinaryOp::Div, position, self.size)
    }

    fn coordinate(&self, _b: &mut Builder, _name: &str, at: At) -> ExprId {
        at.position
    }

    fn locate(&self, b: &mut Builder, parent: ExprId, coordinate: ExprId) -> Option<ExprId> {
        let first = b.mul(parent, self.size);
        let first = b.add(first, self.shift);
        let inside = b.mul(coordinate, self.stride);
        let Some(Through { ranking, parent: kind }) = self.through else { return Some(b.add(first, inside)) };
        let before = match kind {
            Parent::Outside => first,
            Parent::Rank => b.int(0),
            Parent::Inside(size) => {
                let dimensions = b.binary(BinaryOp::Div, parent, size);
                b.mul(dimensions, size)
            }
        };
        let begun = b.sub(first, before);
        let rank = b.add(begun, inside);
        let coordinate = b.load_index("ranked", ranking, rank);
        Some(b.add(before, coordinate))
    }

    fn factor(&self, _size: ExprId) -> Option<ExprId> {
        Some(self.size)
    }

    fn count_positions(&self, b: &mut Builder, parents: ExprId, _size: ExprId) -> ExprId {
        b.mul(parents, self.size)
    }
}
