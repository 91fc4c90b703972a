//! Levels of packed tensors that are seen as arrays, in which elements at all coordinates follow from those at one.
//!
//! ```text
//! packed(identical_rows)      B(i,j) is at the place of B(0,j)      row 0 is located, whatever i is
//! ```
//!
//! On entry: the code of a level that locates.

use std::rc::Rc;

use lacunar_formats::Part;
use lacunar_imp::{ArrayId, Builder, ExprId};

use super::{At, Demand, LevelCode, Position};

/// A level in which every coordinate has the position of one.
#[derive(Debug)]
pub(super) struct Sourced {
    /// The level.
    pub level: Rc<dyn LevelCode>,
    /// The coordinate.
    pub source: i64,
}

impl LevelCode for Sourced {
    fn array(&self, part: Part) -> Option<ArrayId> {
        self.level.array(part)
    }

    fn bounds(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId) {
        self.level.bounds(b, parent)
    }

    fn parent(&self, b: &mut Builder, position: ExprId, parents: ExprId) -> ExprId {
        self.level.parent(b, position, parents)
    }

    fn locate(&self, b: &mut Builder, parent: ExprId, _coordinate: ExprId) -> Option<ExprId> {
        let source = b.int(self.source);
        self.level.locate(b, parent, source)
    }

    fn coordinate(&self, b: &mut Builder, name: &str, at: At) -> ExprId {
        self.level.coordinate(b, name, at)
    }

    fn lengths(&self, b: &mut Builder, parents: ExprId, demand: &mut Demand<'_>) {
        self.level.lengths(b, parents, demand);
    }

    fn factor(&self, size: ExprId) -> Option<ExprId> {
        self.level.factor(size)
    }

    fn count_positions(&self, b: &mut Builder, parents: ExprId, size: ExprId) -> ExprId {
        self.level.count_positions(b, parents, size)
    }
}
