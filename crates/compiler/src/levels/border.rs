//! Levels of borders: sums of the coordinates so far, and below them the coordinate that a sum is kept at.
//!
//! ```text
//! x(wrap(i - 1))        level of i    position = i - 1
//!                       level of d    d = position mod n               position = that of the level above
//! x(clamp(2*i + k))     level of i    position = 2 * i
//!                       level of k    position = 2 * i + k
//!                       level of d    d = min(max(position, 0), n - 1)
//! ```
//!
//! Every coordinate of the outer levels has a position, which is computed when all are known, and a position has one coordinate below it. In
//! part of a loop it is known how far it is from the position, so that it is computed by an addition ([`shifted`]).
//!
//! On entry: the last dimension has a coordinate, which is checked before a kernel is run.

use std::rc::Rc;

use lacunar_imp::{BinaryOp, Builder, CompareOp, ExprId};
use lacunar_notation::{Border, Rule};

use super::{At, LevelCode, Only, Position};

/// The levels of a border, whose variables are in the order `modes`, and then the last; `dims` are the sizes of its dimensions.
pub fn levels(b: &mut Builder, border: &Border, modes: &[usize], dims: &[ExprId]) -> Vec<Rc<dyn LevelCode>> {
    let Some((&last, parts)) = modes.split_last() else { return Vec::new() };
    let one = b.int(1);
    let size = b.binary(BinaryOp::Max, dims[last], one);
    let mut levels: Vec<Rc<dyn LevelCode>> = Vec::new();
    for (level, &mode) in parts.iter().enumerate() {
        let first = (level == 0).then_some(border.equation.constant);
        levels.push(Rc::new(Summed { factor: border.equation.factors[mode], first, size: dims[mode] }));
    }
    let alone = parts.is_empty().then_some(border.equation.constant);
    levels.push(Rc::new(Kept { way: Way::Rule(border.rule, size), alone }));
    levels
}

/// The levels of a border where its coordinates are known to lie this far from the sums.
pub fn shifted(levels: &[Rc<dyn LevelCode>], by: ExprId) -> Vec<Rc<dyn LevelCode>> {
    let mut made = levels.to_vec();
    if let Some(last) = made.last_mut() {
        *last = Rc::new(Kept { way: Way::Shift(by), alone: None });
    }
    made
}

/// The remainder of the division of a number by a size, at least 0.
pub fn remainder(b: &mut Builder, number: ExprId, size: ExprId) -> ExprId {
    let zero = b.int(0);
    let rest = b.binary(BinaryOp::Rem, number, size);
    let is_negative = b.compare(CompareOp::Lt, rest, zero);
    let moved = b.add(rest, size);
    b.select(is_negative, moved, rest)
}

/// A level of a variable in the sum.
#[derive(Debug)]
struct Summed {
    factor: i64,
    /// The constant of the sum, at the outermost level.
    first: Option<i64>,
    size: ExprId,
}

impl LevelCode for Summed {
    fn bounds(&self, b: &mut Builder, _parent: Position) -> (ExprId, ExprId) {
        (b.int(0), self.size)
    }

    fn parent(&self, _b: &mut Builder, position: ExprId, _parents: ExprId) -> ExprId {
        position
    }

    fn coordinate(&self, _b: &mut Builder, _name: &str, at: At) -> ExprId {
        at.position
    }

    fn locate(&self, b: &mut Builder, parent: ExprId, coordinate: ExprId) -> Option<ExprId> {
        let base = self.first.map_or(parent, |constant| b.int(constant));
        let factor = b.int(self.factor);
        let term = b.mul(coordinate, factor);
        Some(b.add(base, term))
    }

    fn factor(&self, size: ExprId) -> Option<ExprId> {
        Some(size)
    }

    fn count_positions(&self, b: &mut Builder, parents: ExprId, size: ExprId) -> ExprId {
        b.mul(parents, size)
    }
}

/// The way from the sum to the coordinate.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// By a rule, in a dimension of a size.
    Rule(Rule, ExprId),
    /// This is added.
    Shift(ExprId),
}

/// The last level: the coordinate that a sum is kept at.
#[derive(Debug)]
struct Kept {
    way: Way,
    /// The sum, where there is no level above.
    alone: Option<i64>,
}

impl LevelCode for Kept {
    fn bounds(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId) {
        parent.range(b)
    }

    fn only(&self, b: &mut Builder, parent: Position) -> Option<Only> {
        self.alone.map(|_| Only { position: parent.first(), present: b.bool(true) })
    }

    fn span(&self, _b: &mut Builder, first: ExprId, end: ExprId) -> (ExprId, ExprId) {
        (first, end)
    }

    fn parent(&self, _b: &mut Builder, position: ExprId, _parents: ExprId) -> ExprId {
        position
    }

    fn seek(&self, b: &mut Builder, parent: ExprId, begin: ExprId, end: ExprId, coordinate: ExprId) -> ExprId {
        let own = self.coordinate(b, "own", At { parent, position: parent, state: None });
        let reached = b.compare(CompareOp::Ge, own, coordinate);
        b.select(reached, begin, end)
    }

    fn coordinate(&self, b: &mut Builder, name: &str, at: At) -> ExprId {
        let sum = self.alone.map_or(at.position, |constant| b.int(constant));
        let coordinate = match self.way {
            Way::Rule(Rule::Wrap, size) => remainder(b, sum, size),
            Way::Rule(Rule::Clamp, size) => {
                let (zero, one) = (b.int(0), b.int(1));
                let last = b.sub(size, one);
                let raised = b.binary(BinaryOp::Max, sum, zero);
                b.binary(BinaryOp::Min, raised, last)
            }
            Way::Shift(by) => b.add(sum, by),
        };
        b.define(name, coordinate)
    }

    fn count_positions(&self, _b: &mut Builder, parents: ExprId, _size: ExprId) -> ExprId {
        parents
    }
}
