//! Levels of repeated values: a position for each run of coordinates that have the same value.
//!
//! ```text
//! rows {0, 1, 2, 4}, {}, {1}:   pos 0 2 2 3   crd 0 4 1   last 2 4 1
//! ```
//!
//! Alone, a loop goes from run to run, and over the coordinates of each, at which the value stays:
//!
//! ```text
//! for r in pos[i] .. pos[i+1] { for j in crd[r] .. last[r] + 1 { t += A_vals[r] * x[j] } }
//! ```
//!
//! Merged with others, the variable beside the position is the coordinate:
//!
//! ```text
//! if coordinate < last[r] { coordinate += 1 } else { r += 1; coordinate = crd[r] }
//! ```

use lacunar_imp::{ArrayId, BinaryOp, Builder, CompareOp, ExprId, VarId};

use super::{
    Arrays, At, Cursor, Demand, Length, LevelCode, Neighbors, Position, Run, State, segment_bounds, segment_of,
};

/// The code of a level.
pub(super) fn make(Arrays { arrays, .. }: Arrays<'_>) -> Box<dyn LevelCode> {
    Box::new(Repeated { pos: arrays[0], crd: arrays[1], last: arrays[2] })
}

/// A level of repeated values of a tensor.
#[derive(Debug)]
struct Repeated {
    /// The number of the first run of each parent; one more than there are parents.
    pos: ArrayId,
    /// The first coordinate of each run.
    crd: ArrayId,
    /// The last coordinate of each run.
    last: ArrayId,
}

impl LevelCode for Repeated {
    fn bounds(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId) {
        segment_bounds(b, self.pos, parent)
    }

    fn parent(&self, b: &mut Builder, position: ExprId, parents: ExprId) -> ExprId {
        segment_of(b, self.pos, position, parents)
    }

    fn seek(&self, b: &mut Builder, _parent: ExprId, begin: ExprId, end: ExprId, coordinate: ExprId) -> ExprId {
        b.lower_bound(self.last, begin, end, coordinate)
    }

    fn seek_end(&self, b: &mut Builder, _parent: ExprId, begin: ExprId, end: ExprId, coordinate: ExprId) -> ExprId {
        b.lower_bound(self.crd, begin, end, coordinate)
    }

    fn coordinate(&self, b: &mut Builder, name: &str, at: At) -> ExprId {
        let own = match at.state {
            Some(state) => b.var(state.at),
            None => b.load_index("own", self.crd, at.position),
        };
        b.define(name, own)
    }

    fn is_contiguous(&self) -> bool {
        false
    }

    fn start(&self, b: &mut Builder, _parent: ExprId, position: VarId, end: ExprId) -> Option<State> {
        let (zero, run) = (b.int(0), b.var(position));
        let coordinate = b.declare("at", zero);
        self.first(b, run, end, coordinate);
        Some(State::one(coordinate))
    }

    fn advance(&self, b: &mut Builder, _parent: ExprId, position: VarId, end: ExprId, state: Option<State>) {
        let Some(State { at: coordinate, .. }) = state else { return };
        let (run, here, one) = (b.var(position), b.var(coordinate), b.int(1));
        let last = b.load_index("last", self.last, run);
        // Before the coordinate is another.
        let over = b.compare(CompareOp::Ge, here, last);
        let over = b.define("over", over);
        let next = b.add(here, one);
        b.assign(coordinate, next);
        b.if_then(over, |b| {
            let next = b.add(run, one);
            b.assign(position, next);
            self.first(b, run, end, coordinate);
        });
    }

    fn stops_at_coordinates(&self) -> bool {
        true
    }

    fn enter(&self, b: &mut Builder, cursor: &Cursor, low: ExprId) {
        if let Some(State { at, .. }) = cursor.state() {
            let here = b.var(at);
            let here = b.binary(BinaryOp::Max, here, low);
            b.assign(at, here);
        }
    }

    fn has_runs(&self) -> bool {
        true
    }

    fn runs(&self, b: &mut Builder, parent: Position) -> Option<(ExprId, ExprId)> {
        Some(self.bounds(b, parent))
    }

    fn run(&self, b: &mut Builder, number: ExprId) -> Option<Run> {
        let one = b.int(1);
        let last = b.load_index("last", self.last, number);
        Some(Run {
            first: b.load_index("own", self.crd, number),
            end: b.add(last, one),
            position: number,
            neighbors: Neighbors::Shared,
        })
    }

    fn lengths(&self, b: &mut Builder, parents: ExprId, demand: &mut Demand<'_>) {
        demand(b, self.pos, Length::edges(parents));
        let stored = b.load_index("stored", self.pos, parents);
        demand(b, self.crd, Length::of(stored));
        demand(b, self.last, Length::of(stored));
    }

    fn count_positions(&self, b: &mut Builder, parents: ExprId, _size: ExprId) -> ExprId {
        b.load_index("stored", self.pos, parents)
    }
}

impl Repeated {
    /// The first coordinate of a run, if there is one before `end`.
    fn first(&self, b: &mut Builder, run: ExprId, end: ExprId, coordinate: VarId) {
        let some = b.compare(CompareOp::Lt, run, end);
        b.if_then(some, |b| {
            let own = b.load_index("own", self.crd, run);
            b.assign(coordinate, own);
        });
    }
}
