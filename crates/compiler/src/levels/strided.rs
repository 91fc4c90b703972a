//! Levels of views: a dimension of a dense tensor that several variables walk through together.
//!
//! ```text
//! x(4 j0 + j1)      level of j0: position = parent * size + 4 j0      level of j1: position = parent + j1
//! ```
//!
//! Views only; no tensor of a user is stored so. The positions of the outer levels of a dimension are those of its first
//! coordinate under them, which may lie outside of the dimension where the loops inside begin later.

use lacunar_imp::{BinaryOp, Builder, ExprId};

use super::{LevelCode, Position};

/// A level that walks through a dimension, or through what is left of it.
#[derive(Debug)]
pub struct Strided {
    /// How many positions lie between one parent and the next: the size of the dimension, or 1 for a level that is not the
    /// first in it.
    pub size: ExprId,
    /// How far apart coordinates are.
    pub stride: ExprId,
    /// The place of coordinate 0.
    pub shift: ExprId,
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

    fn seek(&self, _b: &mut Builder, begin: ExprId, _end: ExprId, _coordinate: ExprId) -> ExprId {
        begin
    }

    fn coordinate(&self, _b: &mut Builder, _name: &str, position: ExprId) -> ExprId {
        position
    }

    fn locate(&self, b: &mut Builder, parent: ExprId, coordinate: ExprId) -> Option<ExprId> {
        let first = b.mul(parent, self.size);
        let first = b.add(first, self.shift);
        let inside = b.mul(coordinate, self.stride);
        Some(b.add(first, inside))
    }

    fn count_positions(&self, b: &mut Builder, parents: ExprId, _size: ExprId) -> ExprId {
        b.mul(parents, self.size)
    }
}
