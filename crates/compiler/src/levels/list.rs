//! List levels: the outermost level of a workspace that remembers its coordinates in a list whose length is a variable.
//!
//! Workspaces only; no tensor of a user is stored so. They are read after they are complete and in order.

use lacunar_imp::{ArrayId, Builder, CompareOp, ExprId, Stmt, VarId};

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

    fn span(&self, b: &mut Builder, _first: ExprId, _end: ExprId) -> (ExprId, ExprId) {
        (b.int(0), b.var(self.count))
    }

    fn parent(&self, b: &mut Builder, _position: ExprId, _parents: ExprId) -> ExprId {
        b.int(0)
    }

    fn seek(&self, b: &mut Builder, begin: ExprId, end: ExprId, coordinate: ExprId) -> ExprId {
        let at = b.declare("at", begin);
        let here = b.var(at);
        let left = b.compare(CompareOp::Lt, here, end);
        let keys = self.keys;
        b.while_loop(left, |b| {
            let own = b.load_index("own", keys, here);
            let reached = b.compare(CompareOp::Ge, own, coordinate);
            b.if_then(reached, |b| b.push(Stmt::Break));
            let one = b.int(1);
            let next = b.add(here, one);
            b.assign(at, next);
        });
        here
    }

    fn coordinate(&self, b: &mut Builder, name: &str, position: ExprId) -> ExprId {
        b.load_index(name, self.keys, position)
    }

    fn count_positions(&self, b: &mut Builder, _parents: ExprId, _size: ExprId) -> ExprId {
        b.var(self.count)
    }
}
