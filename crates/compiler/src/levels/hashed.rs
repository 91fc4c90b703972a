//! Hashed levels: a table of coordinates with open addressing under each parent position. They are looked up, and iterated from
//! place to place if the order of coordinates does not matter.
//!
//! ```text
//! at = coordinate * FACTOR >> 32 & (capacity - 1)
//! while crd[pos[p] + at] is not the coordinate { if it is free { not found }; at = (at + 1) & (capacity - 1) }
//! ```

use lacunar_formats::DType;
use lacunar_imp::{ArrayId, BinaryOp, Builder, CompareOp, Const, ExprId, Stmt, VarId};

use super::{Arrays, At, Demand, Length, LevelCode, Position, State, none_in, segment_bounds, segment_of, step_until};

/// The code of a level.
pub(super) fn make(Arrays { arrays, .. }: Arrays<'_>) -> Box<dyn LevelCode> {
    Box::new(Hashed { pos: arrays[0], crd: arrays[1] })
}

/// 2^64 divided by the golden ratio, as the runtime packs tables.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// A number of up to 32 bits that differs between most coordinates, or lists of coordinates; for one as the runtime packs tables.
pub fn hash(b: &mut Builder, coordinates: &[ExprId]) -> ExprId {
    let word = |bits| Const { ty: DType::U64, bits, imag: 0 };
    let (factor, half) = (b.constant(word(FACTOR)), b.constant(word(32)));
    let mixed = coordinates.iter().fold(None, |before, &coordinate| {
        let own = b.cast(DType::U64, coordinate);
        let both = before.map_or(own, |before| b.add(before, own));
        Some(b.mul(both, factor))
    });
    let hash = mixed.unwrap_or(factor);
    let hash = b.binary(BinaryOp::Shr, hash, half);
    b.cast(DType::I64, hash)
}

/// A hashed level of a tensor.
#[derive(Debug)]
struct Hashed {
    /// The position at which each parent's table begins; one more than there are parents.
    pos: ArrayId,
    /// The coordinate of each place; the largest number where it is free.
    crd: ArrayId,
}

impl Hashed {
    /// Moves a position to the first place from there on that is not free.
    fn skip_free(&self, b: &mut Builder, position: VarId, end: ExprId) {
        step_until(b, position, end, |b, at| {
            let (own, none) = (b.load_index("own", self.crd, at), none_in(b, self.crd));
            b.compare(CompareOp::Ne, own, none)
        });
    }
}

impl LevelCode for Hashed {
    fn bounds(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId) {
        segment_bounds(b, self.pos, parent)
    }

    fn parent(&self, b: &mut Builder, position: ExprId, parents: ExprId) -> ExprId {
        segment_of(b, self.pos, position, parents)
    }

    fn coordinate(&self, b: &mut Builder, name: &str, at: At) -> ExprId {
        b.load_index(name, self.crd, at.position)
    }

    fn is_contiguous(&self) -> bool {
        false
    }

    fn start(&self, b: &mut Builder, _parent: ExprId, position: VarId, end: ExprId) -> Option<State> {
        self.skip_free(b, position, end);
        None
    }

    fn advance(&self, b: &mut Builder, _parent: ExprId, position: VarId, end: ExprId, _state: Option<State>) {
        let (at, one) = (b.var(position), b.int(1));
        let next = b.add(at, one);
        b.assign(position, next);
        self.skip_free(b, position, end);
    }

    fn find(
        &self,
        b: &mut Builder,
        _parent: ExprId,
        (begin, end): (ExprId, ExprId),
        coordinate: ExprId,
    ) -> (ExprId, ExprId) {
        let one = b.int(1);
        let capacity = b.sub(end, begin);
        let mask = b.sub(capacity, one);
        let mask = b.define("mask", mask);
        let hash = hash(b, &[coordinate]);
        let slot = b.binary(BinaryOp::And, hash, mask);
        let at = b.declare("slot", slot);
        let until = b.declare("found_end", begin);
        let (here, some) = (b.var(at), b.compare(CompareOp::Lt, begin, end));
        b.if_then(some, |b| {
            let yes = b.bool(true);
            b.while_loop(yes, |b| {
                let position = b.add(begin, here);
                let own = b.load_index("own", self.crd, position);
                let found = b.compare(CompareOp::Eq, own, coordinate);
                b.if_then(found, |b| {
                    let behind = b.add(position, one);
                    b.assign(until, behind);
                    b.push(Stmt::Break);
                });
                let none = none_in(b, self.crd);
                let free = b.compare(CompareOp::Eq, own, none);
                b.if_then(free, |b| {
                    b.assign(until, position);
                    b.push(Stmt::Break);
                });
                let next = b.add(here, one);
                let next = b.binary(BinaryOp::And, next, mask);
                b.assign(at, next);
            });
        });
        let zero = b.int(0);
        let first = b.add(begin, here);
        (b.select(some, first, zero), {
            let until = b.var(until);
            b.select(some, until, zero)
        })
    }

    fn lengths(&self, b: &mut Builder, parents: ExprId, demand: &mut Demand<'_>) {
        demand(b, self.pos, Length::edges(parents));
        let stored = b.load_index("stored", self.pos, parents);
        demand(b, self.crd, Length::of(stored));
    }

    fn count_positions(&self, b: &mut Builder, parents: ExprId, _size: ExprId) -> ExprId {
        b.load_index("places", self.pos, parents)
    }
}
