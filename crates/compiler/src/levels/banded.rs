//! Banded levels: one contiguous run of coordinates under each parent position.
//!
//! ```text
//! rows {0, 1}, {1, 2, 3}:   pos 0 2 5   first 0 1      coordinate = first[p] + (position - pos[p])
//! ```
//!
//! If loops visit a packed tensor's own elements only, the tensor is an array for them: its coordinates are located, by the same
//! equation. If all runs have one length, the position of a parent tells that of its run, and nothing is read.

use lacunar_formats::Runs;
use lacunar_imp::{ArrayId, BinaryOp, Builder, ExprId};

use super::{Arrays, At, Demand, Length, LevelCode, Position, segment_bounds, segment_of};

/// The code of a level.
pub(super) fn make(Arrays { arrays, .. }: Arrays<'_>) -> Box<dyn LevelCode> {
    Box::new(Banded { pos: arrays[0], first: arrays[1], array: None })
}

/// The code of a level of a packed tensor that is seen as an array.
pub(super) fn make_array(Arrays { arrays, size, .. }: Arrays<'_>, runs: Option<Runs>) -> Box<dyn LevelCode> {
    Box::new(Banded { pos: arrays[0], first: arrays[1], array: Some(Located { runs, size }) })
}

/// A banded level of a tensor.
#[derive(Debug)]
struct Banded {
    /// The position at which each parent's run begins; one more than there are parents.
    pos: ArrayId,
    /// The first coordinate of each parent's run.
    first: ArrayId,
    /// Loops come to the coordinates of the runs alone, which are located.
    array: Option<Located>,
}

/// The values that positions are computed from.
#[derive(Debug)]
struct Located {
    runs: Option<Runs>,
    /// The size of the dimension.
    size: ExprId,
}

impl Banded {
    /// The distance from the position of an element to its coordinate, which is the same for all elements of a run.
    fn offset(&self, b: &mut Builder, parent: ExprId) -> ExprId {
        let first = b.load_index("first", self.first, parent);
        let begin = b.load_index("run", self.pos, parent);
        b.sub(first, begin)
    }
}

impl LevelCode for Banded {
    fn bounds(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId) {
        segment_bounds(b, self.pos, parent)
    }

    fn parent(&self, b: &mut Builder, position: ExprId, parents: ExprId) -> ExprId {
        segment_of(b, self.pos, position, parents)
    }

    fn seek(&self, b: &mut Builder, parent: ExprId, begin: ExprId, end: ExprId, coordinate: ExprId) -> ExprId {
        let first = b.load_index("first", self.first, parent);
        let run = b.load_index("run", self.pos, parent);
        // The coordinate may be the size of the dimension, to which no position can be added.
        let (inside, room) = (b.sub(coordinate, first), b.sub(end, run));
        let inside = b.binary(BinaryOp::Min, inside, room);
        let at = b.add(run, inside);
        b.binary(BinaryOp::Max, at, begin)
    }

    fn locate(&self, b: &mut Builder, parent: ExprId, coordinate: ExprId) -> Option<ExprId> {
        let Located { runs, size } = self.array.as_ref()?;
        if let Some(runs) = runs {
            let before = b.int(runs.parent);
            let parents = b.sub(parent, before);
            let (length, first) = (runs.length.map_or(*size, |length| b.int(length)), b.int(runs.first));
            let begin = b.mul(parents, length);
            return Some(match runs.length {
                Some(1) => begin,
                _ => {
                    let inside = b.sub(coordinate, first);
                    b.add(begin, inside)
                }
            });
        }
        let first = b.load_index("first", self.first, parent);
        let begin = b.load_index("run", self.pos, parent);
        let inside = b.sub(coordinate, first);
        Some(b.add(begin, inside))
    }

    fn coordinate(&self, b: &mut Builder, name: &str, at: At) -> ExprId {
        let offset = self.offset(b, at.parent);
        let coordinate = b.add(at.position, offset);
        b.define(name, coordinate)
    }

    fn is_gapless(&self) -> bool {
        true
    }

    fn lengths(&self, b: &mut Builder, parents: ExprId, demand: &mut Demand<'_>) {
        demand(b, self.pos, Length::edges(parents));
        demand(b, self.first, Length::of(parents));
    }

    fn count_positions(&self, b: &mut Builder, parents: ExprId, _size: ExprId) -> ExprId {
        b.load_index("stored", self.pos, parents)
    }
}
