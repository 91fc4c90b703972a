//! Dense levels: every coordinate of the dimension has a position, which is computed.
//!
//! ```text
//! size 3 under parents 0, 1:   positions 0 1 2 | 3 4 5      position = parent * 3 + coordinate
//! ```
//!
//! Nothing is stored and nothing is iterated: a loop over the dimension locates each coordinate.

use lacunar_imp::{BinaryOp, Builder, ExprId};

use super::{Arrays, At, LevelCode, Position};

/// The code of a level.
pub(super) fn make(Arrays { size, .. }: Arrays<'_>) -> Box<dyn LevelCode> {
    Box::new(Dense { size })
}

/// A dense level of a tensor.
#[derive(Debug)]
pub struct Dense {
    /// The size of the dimension.
    pub size: ExprId,
}

impl LevelCode for Dense {
    fn bounds(&self, b: &mut Builder, _parent: Position) -> (ExprId, ExprId) {
        (b.int(0), self.size)
    }

    fn span(&self, b: &mut Builder, first: ExprId, end: ExprId) -> (ExprId, ExprId) {
        (b.mul(first, self.size), b.mul(end, self.size))
    }

    fn parent(&self, b: &mut Builder, position: ExprId, _parents: ExprId) -> ExprId {
        b.binary(BinaryOp::Div, position, self.size)
    }

    fn seek(&self, b: &mut Builder, _parent: ExprId, begin: ExprId, _end: ExprId, coordinate: ExprId) -> ExprId {
        b.add(begin, coordinate)
    }

    fn coordinate(&self, _b: &mut Builder, _name: &str, at: At) -> ExprId {
        at.position
    }

    fn locate(&self, b: &mut Builder, parent: ExprId, coordinate: ExprId) -> Option<ExprId> {
        let first = b.mul(parent, self.size);
        Some(b.add(first, coordinate))
    }

    fn factor(&self, size: ExprId) -> Option<ExprId> {
        Some(size)
    }

    fn count_positions(&self, b: &mut Builder, parents: ExprId, size: ExprId) -> ExprId {
        b.mul(parents, size)
    }
}
