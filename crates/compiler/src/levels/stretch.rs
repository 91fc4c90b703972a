//! Banded levels in a part of their rows of which it is known what each stores: nothing is read to find it.
//!
//! ```text
//! leslie, rows 1 .. n        begin = base + (row - 1)        end = begin + 1        coordinate = row - 1
//! banded(2,1), rows 2 ..     begin = base + (row - 2) * 4    end = begin + 4        coordinate = row - 2 + (position - begin)
//! ```
//!
//! On entry: the code of the level, and rows of which [`lacunar_formats::Stretch`] says that they are alike, or empty.

use std::rc::Rc;

use lacunar_formats::Part;
use lacunar_imp::{ArrayId, Builder, ExprId};

use super::{At, Demand, LevelCode, Only, Position};

/// A linear form of the row: `factor` times it, plus `rest`.
#[derive(Clone, Copy, Debug)]
pub struct First {
    /// The factor of the row.
    pub factor: i64,
    /// The term that does not depend on the row.
    pub rest: ExprId,
}

/// A level in rows that are alike.
#[derive(Debug)]
pub struct Alike {
    /// The level in any row.
    pub level: Rc<dyn LevelCode>,
    /// A row, and the position at which it begins.
    pub base: (ExprId, ExprId),
    /// The number of coordinates of each row.
    pub length: i64,
    /// The first of them.
    pub first: First,
}

impl Alike {
    fn begin(&self, b: &mut Builder, row: ExprId) -> ExprId {
        let (base, begin) = self.base;
        let (rows, length) = (b.sub(row, base), b.int(self.length));
        let before = b.mul(rows, length);
        b.add(begin, before)
    }
}

impl LevelCode for Alike {
    fn array(&self, part: Part) -> Option<ArrayId> {
        self.level.array(part)
    }

    fn bounds(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId) {
        let (first, end) = parent.range(b);
        (self.begin(b, first), self.begin(b, end))
    }

    fn only(&self, b: &mut Builder, parent: Position) -> Option<Only> {
        let Position::One(row) = parent else { return None };
        self.is_single().then(|| Only { position: self.begin(b, row), present: b.bool(true) })
    }

    fn parent(&self, b: &mut Builder, position: ExprId, parents: ExprId) -> ExprId {
        self.level.parent(b, position, parents)
    }

    fn seek(&self, b: &mut Builder, parent: ExprId, begin: ExprId, end: ExprId, coordinate: ExprId) -> ExprId {
        self.level.seek(b, parent, begin, end, coordinate)
    }

    fn coordinate(&self, b: &mut Builder, name: &str, at: At) -> ExprId {
        let factor = b.int(self.first.factor);
        let term = b.mul(at.parent, factor);
        let mut coordinate = b.add(term, self.first.rest);
        if !self.is_single() {
            let begin = self.begin(b, at.parent);
            let inside = b.sub(at.position, begin);
            coordinate = b.add(coordinate, inside);
        }
        b.define(name, coordinate)
    }

    fn is_single(&self) -> bool {
        self.length == 1
    }

    fn is_gapless(&self) -> bool {
        true
    }

    fn lengths(&self, b: &mut Builder, parents: ExprId, demand: &mut Demand<'_>) {
        self.level.lengths(b, parents, demand);
    }

    fn count_positions(&self, b: &mut Builder, parents: ExprId, size: ExprId) -> ExprId {
        self.level.count_positions(b, parents, size)
    }
}

/// A level in rows that have no coordinate.
#[derive(Debug)]
pub struct Empty {
    /// The level in any row.
    pub level: Rc<dyn LevelCode>,
}

impl LevelCode for Empty {
    fn array(&self, part: Part) -> Option<ArrayId> {
        self.level.array(part)
    }

    fn bounds(&self, b: &mut Builder, _parent: Position) -> (ExprId, ExprId) {
        (b.int(0), b.int(0))
    }

    fn parent(&self, b: &mut Builder, position: ExprId, parents: ExprId) -> ExprId {
        self.level.parent(b, position, parents)
    }

    fn coordinate(&self, b: &mut Builder, name: &str, at: At) -> ExprId {
        self.level.coordinate(b, name, at)
    }

    fn is_gapless(&self) -> bool {
        true
    }

    fn lengths(&self, b: &mut Builder, parents: ExprId, demand: &mut Demand<'_>) {
        self.level.lengths(b, parents, demand);
    }

    fn count_positions(&self, b: &mut Builder, parents: ExprId, size: ExprId) -> ExprId {
        self.level.count_positions(b, parents, size)
    }
}
