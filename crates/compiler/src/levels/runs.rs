//! Levels of runs: coordinates that follow each other are stored as the first of them.
//!
//! ```text
//! rows {0, 1, 3, 4}, {}, {1}:   run 0 2 2 3   crd 0 3 1   start 0 2 4 5
//!                               run r owns positions start[r] .. start[r+1], coordinate = crd[r] + (position - start[r])
//! ```
//!
//! Alone, a loop goes from run to run, over neighbors in each; merged with others, the variable beside the position holds its run.

use lacunar_formats::DType;
use lacunar_imp::{ArrayId, BinaryOp, Builder, CompareOp, ExprId, VarId};

use super::{Arrays, At, Demand, Length, LevelCode, Neighbors, Position, Run, State, segment_of};

/// The code of a level.
pub(super) fn make(Arrays { arrays, .. }: Arrays<'_>) -> Box<dyn LevelCode> {
    Box::new(Runs { run: arrays[0], crd: arrays[1], start: arrays[2] })
}

/// A level of runs of a tensor.
#[derive(Debug)]
struct Runs {
    /// The number of the first run of each parent; one more than there are parents.
    run: ArrayId,
    /// The first coordinate of each run.
    crd: ArrayId,
    /// The first position of each run; one more than there are runs.
    start: ArrayId,
}

impl Runs {
    /// The runs under a parent position.
    fn under(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId) {
        let (first, end) = parent.range(b);
        (b.load_index("run", self.run, first), b.load_index("run_end", self.run, end))
    }

    /// The run of a position, which is one of a parent's.
    fn run_of(&self, b: &mut Builder, parent: ExprId, position: ExprId) -> ExprId {
        let (first, end) = self.under(b, Position::One(parent));
        let one = b.int(1);
        let behind = b.add(position, one);
        let next = b.lower_bound(self.start, first, end, behind);
        b.sub(next, one)
    }
}

impl LevelCode for Runs {
    fn bounds(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId) {
        let (first, end) = parent.range(b);
        self.span(b, first, end)
    }

    fn span(&self, b: &mut Builder, first: ExprId, end: ExprId) -> (ExprId, ExprId) {
        let (first, end) = (b.load_index("run", self.run, first), b.load_index("run_end", self.run, end));
        (b.load_index("begin", self.start, first), b.load_index("end", self.start, end))
    }

    fn parent(&self, b: &mut Builder, position: ExprId, parents: ExprId) -> ExprId {
        let runs = b.load_index("runs", self.run, parents);
        let run = segment_of(b, self.start, position, runs);
        segment_of(b, self.run, run, parents)
    }

    fn seek(&self, b: &mut Builder, parent: ExprId, begin: ExprId, end: ExprId, coordinate: ExprId) -> ExprId {
        let (first, last) = self.under(b, Position::One(parent));
        let next = b.lower_bound(self.crd, first, last, coordinate);
        // In the run before, which begins at less, or behind its end, which is the beginning of the next one.
        let found = b.declare("at", begin);
        let some = b.compare(CompareOp::Gt, next, first);
        b.if_then(some, |b| {
            let one = b.int(1);
            let run = b.sub(next, one);
            let (own, start) = (b.load_index("own", self.crd, run), b.load_index("start", self.start, run));
            let stop = b.load_index("stop", self.start, next);
            // The coordinate may be the size of the dimension, to which no position can be added.
            let (offset, length) = (b.sub(coordinate, own), b.sub(stop, start));
            let offset = b.binary(BinaryOp::Min, offset, length);
            let at = b.add(start, offset);
            let at = b.binary(BinaryOp::Max, at, begin);
            let at = b.binary(BinaryOp::Min, at, end);
            b.assign(found, at);
        });
        b.var(found)
    }

    fn coordinate(&self, b: &mut Builder, name: &str, at: At) -> ExprId {
        let run = match at.state {
            Some(state) => b.var(state.at),
            None => self.run_of(b, at.parent, at.position),
        };
        let (first, start) = (b.load_index("own", self.crd, run), b.load_index("start", self.start, run));
        let offset = b.sub(at.position, start);
        let coordinate = b.add(first, offset);
        b.define(name, coordinate)
    }

    fn is_contiguous(&self) -> bool {
        false
    }

    fn start(&self, b: &mut Builder, parent: ExprId, position: VarId, end: ExprId) -> Option<State> {
        let (zero, at) = (b.int(0), b.var(position));
        let run = b.declare("run", zero);
        let some = b.compare(CompareOp::Lt, at, end);
        b.if_then(some, |b| {
            let own = self.run_of(b, parent, at);
            b.assign(run, own);
        });
        Some(State::one(run))
    }

    fn advance(&self, b: &mut Builder, _parent: ExprId, position: VarId, _end: ExprId, state: Option<State>) {
        let (at, one) = (b.var(position), b.int(1));
        let next = b.add(at, one);
        b.assign(position, next);
        let Some(State { at: run, .. }) = state else { return };
        let own = b.var(run);
        let behind = b.add(own, one);
        let stop = b.load_index("stop", self.start, behind);
        let over = b.compare(CompareOp::Ge, at, stop);
        let step = b.cast(DType::I64, over);
        let own = b.add(own, step);
        b.assign(run, own);
    }

    fn has_runs(&self) -> bool {
        true
    }

    fn runs(&self, b: &mut Builder, parent: Position) -> Option<(ExprId, ExprId)> {
        Some(self.under(b, parent))
    }

    fn run(&self, b: &mut Builder, number: ExprId) -> Option<Run> {
        let one = b.int(1);
        let next = b.add(number, one);
        let (position, stop) = (b.load_index("start", self.start, number), b.load_index("stop", self.start, next));
        let first = b.load_index("own", self.crd, number);
        let length = b.sub(stop, position);
        Some(Run { first, end: b.add(first, length), position, neighbors: Neighbors::Apart })
    }

    fn lengths(&self, b: &mut Builder, parents: ExprId, demand: &mut Demand<'_>) {
        demand(b, self.run, Length::edges(parents));
        let runs = b.load_index("runs", self.run, parents);
        demand(b, self.crd, Length::of(runs));
        demand(b, self.start, Length::edges(runs));
    }

    fn count_positions(&self, b: &mut Builder, parents: ExprId, _size: ExprId) -> ExprId {
        let runs = b.load_index("runs", self.run, parents);
        b.load_index("stored", self.start, runs)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use lacunar_imp::{ArrayData, ArrayRole, Const, Memory, interpret, verify};

    use super::*;

    /// The coordinates 0 1 3 4 8, in runs, at positions 0 to 4.
    const COORDINATES: [i64; 5] = [0, 1, 3, 4, 8];

    #[test]
    fn a_search_finds_the_first_position_of_a_range_that_reaches_a_coordinate() {
        let mut b = Builder::new("seek");
        let arrays = ["run", "crd", "start"].map(|name| b.array_param(name, DType::U32, ArrayRole::Input));
        let out = b.array_param("out", DType::I64, ArrayRole::Output);
        let [begin, end, coordinate] = ["begin", "end", "coordinate"].map(|name| b.scalar_param(name));
        let level = Runs { run: arrays[0], crd: arrays[1], start: arrays[2] };
        let zero = b.int(0);
        let found = level.seek(&mut b, zero, begin, end, coordinate);
        b.store(out, zero, found);
        let function = verify(b.finish()).unwrap();
        let array = |dtype: DType, numbers: &[i64]| {
            let numbers: Vec<Const> = numbers.iter().map(|number| Const::int(dtype, *number)).collect();
            ArrayData::from_values(dtype, &numbers).unwrap()
        };
        let level = [&[0, 3][..], &[0, 3, 8], &[0, 2, 4, 5]].map(|numbers| array(DType::U32, numbers));
        for (begin, end) in (0..=5).flat_map(|begin| (begin..=5).map(move |end| (begin, end))) {
            for coordinate in 0..=9 {
                let arrays = level.iter().cloned().chain([array(DType::I64, &[0])]).collect();
                let mut memory = Memory { arrays, scalars: vec![begin, end, coordinate] };
                assert_eq!(interpret(&function, &mut memory).unwrap(), None);
                let reaches = |position: &i64| COORDINATES[*position as usize] >= coordinate;
                let expected = (begin..end).find(reaches).unwrap_or(end);
                assert_eq!(memory.arrays[3], array(DType::I64, &[expected]), "{coordinate} in {begin} .. {end}");
            }
        }
    }
}
