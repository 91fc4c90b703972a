//! List levels: the outermost level of a workspace that remembers its coordinates in a list whose length is a variable.
//!
//! Workspaces only; no tensor of a user is stored so. They are read after they are complete and in order. The levels below are
//! [`ListedSingleton`]s.

use lacunar_imp::{ArrayId, Builder, ExprId, VarId};

use super::singleton::Singleton;
use super::{At, LevelCode, Position, first_reaching};

/// The list of a workspace's coordinates.
#[derive(Debug)]
pub struct List {
    /// The coordinates, of the index type.
    pub keys: ArrayId,
    /// The number of coordinates.
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

    fn seek(&self, b: &mut Builder, _parent: ExprId, begin: ExprId, end: ExprId, coordinate: ExprId) -> ExprId {
        seek(b, self.keys, begin, end, coordinate)
    }

    fn coordinate(&self, b: &mut Builder, name: &str, at: At) -> ExprId {
        b.load_index(name, self.keys, at.position)
    }

    fn count_positions(&self, b: &mut Builder, _parents: ExprId, _size: ExprId) -> ExprId {
        b.var(self.count)
    }
}

/// A level below the outermost of a workspace's list.
#[derive(Debug)]
pub struct ListedSingleton(pub Singleton);

impl LevelCode for ListedSingleton {
    fn bounds(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId) {
        self.0.bounds(b, parent)
    }

    fn span(&self, b: &mut Builder, first: ExprId, end: ExprId) -> (ExprId, ExprId) {
        self.0.span(b, first, end)
    }

    fn parent(&self, b: &mut Builder, position: ExprId, parents: ExprId) -> ExprId {
        self.0.parent(b, position, parents)
    }

    fn seek(&self, b: &mut Builder, _parent: ExprId, begin: ExprId, end: ExprId, coordinate: ExprId) -> ExprId {
        seek(b, self.0.crd, begin, end, coordinate)
    }

    fn coordinate(&self, b: &mut Builder, name: &str, at: At) -> ExprId {
        self.0.coordinate(b, name, at)
    }

    fn count_positions(&self, b: &mut Builder, parents: ExprId, size: ExprId) -> ExprId {
        self.0.count_positions(b, parents, size)
    }
}

/// The first position whose coordinate is `coordinate` or more. The coordinates of a list are signed, which the search of
/// [`Builder::lower_bound`] is not for.
fn seek(b: &mut Builder, keys: ArrayId, begin: ExprId, end: ExprId, coordinate: ExprId) -> ExprId {
    first_reaching(b, begin, end, coordinate, |b, here| b.load_index("own", keys, here))
}
