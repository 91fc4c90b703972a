//! List levels: the outermost level of a workspace that remembers its coordinates in a list whose length is a variable.
//!
//! Workspaces only; no tensor of a user is stored so. They are read after they are complete and in order.

use lacunar_imp::{ArrayId, Builder, ExprId, VarId};

use super::{LevelCode, Position};

/// The list of a workspace's coordinates.
#[derive(Debug)]
pub struct List {
    /// The coordinates, of the index type.
    pub keys: ArrayId,
    /// How many there are.
    pub count: VarId,
}

impl LevelCode for List {
    fn bounds(&self, b: &mut Builder, _parent: Position) -> (ExprId, ExprId) {
        (b.int(0), b.var(self.count))
    }

    fn coordinate(&self, b: &mut Builder, name: &str, position: ExprId) -> ExprId {
        b.load_index(name, self.keys, position)
    }

    fn count_positions(&self, b: &mut Builder, _parents: ExprId, _size: ExprId) -> ExprId {
        b.var(self.count)
    }
}
