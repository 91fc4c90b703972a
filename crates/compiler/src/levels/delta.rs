//! Delta-coded levels: each coordinate is stored as its difference to the one before it.
//!
//! ```text
//! rows {0, 2, 3}, {}, {1}:   pos 0 3 3 4   delta 0 2 1 1
//! ```
//!
//! The variable beside the position holds the coordinate; advancing adds the next difference to it. In the middle of a segment
//! it is the sum of all differences from the beginning on.

use lacunar_imp::{ArrayId, Builder, CompareOp, ExprId, VarId};

use super::{Arrays, At, Demand, Length, LevelCode, Position, State, first_reaching, segment_bounds, segment_of};

/// The code of a level.
pub(super) fn make(Arrays { arrays, .. }: Arrays<'_>) -> Box<dyn LevelCode> {
    Box::new(Delta { pos: arrays[0], delta: arrays[1] })
}

/// A delta-coded level of a tensor.
#[derive(Debug)]
struct Delta {
    /// The position at which each parent's segment begins; one more than there are parents.
    pos: ArrayId,
    /// The difference of each coordinate to the one before it.
    delta: ArrayId,
}

impl Delta {
    /// A variable for the sum of the differences of a segment, from its beginning up to position `end`.
    fn sum(&self, b: &mut Builder, parent: ExprId, end: ExprId) -> VarId {
        let zero = b.int(0);
        let sum = b.declare("sum", zero);
        let begin = b.load_index("begin", self.pos, parent);
        b.for_loop("q", begin, end, |b, q| self.step(b, sum, q));
        sum
    }

    /// Adds the difference at a position.
    fn step(&self, b: &mut Builder, sum: VarId, position: ExprId) {
        let (so_far, step) = (b.var(sum), b.load_index("step", self.delta, position));
        let next = b.add(so_far, step);
        b.assign(sum, next);
    }
}

impl LevelCode for Delta {
    fn bounds(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId) {
        segment_bounds(b, self.pos, parent)
    }

    fn parent(&self, b: &mut Builder, position: ExprId, parents: ExprId) -> ExprId {
        segment_of(b, self.pos, position, parents)
    }

    fn seek(&self, b: &mut Builder, parent: ExprId, begin: ExprId, end: ExprId, coordinate: ExprId) -> ExprId {
        let sum = self.sum(b, parent, begin);
        first_reaching(b, begin, end, coordinate, |b, here| {
            self.step(b, sum, here);
            b.var(sum)
        })
    }

    fn coordinate(&self, b: &mut Builder, name: &str, at: At) -> ExprId {
        let own = match at.state {
            Some(state) => state.at,
            None => {
                let one = b.int(1);
                let end = b.add(at.position, one);
                self.sum(b, at.parent, end)
            }
        };
        let own = b.var(own);
        b.define(name, own)
    }

    fn is_contiguous(&self) -> bool {
        false
    }

    fn start(&self, b: &mut Builder, parent: ExprId, position: VarId, end: ExprId) -> Option<State> {
        let (zero, one, at) = (b.int(0), b.int(1), b.var(position));
        let coordinate = b.declare("at", zero);
        let some = b.compare(CompareOp::Lt, at, end);
        b.if_then(some, |b| {
            let behind = b.add(at, one);
            let sum = self.sum(b, parent, behind);
            let sum = b.var(sum);
            b.assign(coordinate, sum);
        });
        Some(State::one(coordinate))
    }

    fn advance(&self, b: &mut Builder, _parent: ExprId, position: VarId, end: ExprId, state: Option<State>) {
        let (at, one) = (b.var(position), b.int(1));
        let next = b.add(at, one);
        b.assign(position, next);
        let Some(State { at: coordinate, .. }) = state else { return };
        let some = b.compare(CompareOp::Lt, at, end);
        b.if_then(some, |b| self.step(b, coordinate, at));
    }

    fn lengths(&self, b: &mut Builder, parents: ExprId, demand: &mut Demand<'_>) {
        demand(b, self.pos, Length::edges(parents));
        let stored = b.load_index("stored", self.pos, parents);
        demand(b, self.delta, Length::of(stored));
    }

    fn count_positions(&self, b: &mut Builder, parents: ExprId, _size: ExprId) -> ExprId {
        b.load_index("stored", self.pos, parents)
    }
}
