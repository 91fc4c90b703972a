//! Levels of indicators that are equations or inequalities: the coordinates that they leave, computed from those above.
//!
//! ```text
//! i + k - d + 1 == 0        in the order i, k, d
//!   level of i    begin .. end = 1 .. 1 + min(n_i, n_d - 1)          position = 1 + i
//!   level of k    begin .. end = 1 + i .. min(1 + i + n_k, n_d)      position = 1 + i + k
//!   level of d    d = 1 + i + k                                      position = that of the level above
//! ```
//!
//! The position of a level is the *partial sum* of the equation, constant and terms so far, with the sign that makes positions ascend
//! with coordinates. So a position tells a level all that it has to know of those above, and neighboring coordinates have
//! neighboring positions if the factor is 1. An interval holds the coordinates from which the levels below can still reach 0; of
//! the last level there is at most one.
//!
//! An inequality has intervals only: those of coordinates from which the levels below can reach 0 or more. They are open on one side.
//!
//! ```text
//! i - j >= 0                in the order i, j
//!   level of i    every coordinate                                   position = i
//!   level of j    begin .. end = -i .. -i + min(n_j, i + 1)          position = j - i
//! ```
//!
//! Nothing is stored, and the parent of a position is never needed: loops over positions alone, which a schedule may demand, are loops
//! over stored tensors.

use std::rc::Rc;

use lacunar_formats::DType;
use lacunar_imp::{BinaryOp, Builder, CompareOp, ExprId, VarId};
use lacunar_notation::{Equation, Inequality};

use super::{At, LevelCode, Only, Position, State};

/// The levels of an equation whose dimensions are in the order `modes`; `sizes` are those of its dimensions.
pub fn levels(b: &mut Builder, equation: &Equation, modes: &[usize], sizes: &[ExprId]) -> Vec<Rc<dyn LevelCode>> {
    levels_of(b, (equation, false), modes, sizes)
}

/// The levels of an inequality, as those of an equation.
pub fn levels_on_one_side(
    b: &mut Builder,
    inequality: &Inequality,
    modes: &[usize],
    sizes: &[ExprId],
) -> Vec<Rc<dyn LevelCode>> {
    levels_of(b, (&inequality.border, true), modes, sizes)
}

/// The levels of an equation, or of the inequality whose border it is.
fn levels_of(
    b: &mut Builder,
    (equation, is_border): (&Equation, bool),
    modes: &[usize],
    sizes: &[ExprId],
) -> Vec<Rc<dyn LevelCode>> {
    let mut levels: Vec<Rc<dyn LevelCode>> = Vec::new();
    // From the innermost: the least and the greatest sum of the terms below.
    let zero = b.int(0);
    let (mut least, mut greatest) = (zero, zero);
    for (level, &mode) in modes.iter().enumerate().rev() {
        let factor = equation.factors[mode];
        let above = level.checked_sub(1).map(|above| equation.factors[modes[above]].signum());
        let term = Term { factor, above, constant: equation.constant, size: sizes[mode] };
        if level + 1 == modes.len() && !is_border {
            let always = level > 0 && factor.abs() == 1;
            levels.push(Rc::new(Solution { term, always }));
        } else {
            levels.push(Rc::new(Interval { term, least: (!is_border).then_some(least), greatest }));
        }
        let one = b.int(1);
        let last = b.sub(sizes[mode], one);
        let most = term.moved(b, zero, last);
        match factor > 0 {
            true => greatest = b.add(greatest, most),
            false => least = b.sub(least, most),
        }
    }
    levels.reverse();
    levels
}

/// The term of a level, beside the constant and the terms above.
#[derive(Clone, Copy, Debug)]
struct Term {
    factor: i64,
    /// The sign of the factor of the level above; of the outermost level there is none, and the constant is all that is above.
    above: Option<i64>,
    constant: i64,
    /// The size of the dimension.
    size: ExprId,
}

impl Term {
    /// The sum above, with the sign of the own positions: the number that a coordinate, times the factor's magnitude, is added to.
    fn base(&self, b: &mut Builder, parent: ExprId) -> ExprId {
        let sign = self.factor.signum();
        match self.above {
            None => b.int(sign * self.constant),
            Some(above) if above == sign => parent,
            Some(_) => negated(b, parent),
        }
    }

    fn step(&self, b: &mut Builder) -> ExprId {
        b.int(self.factor.abs())
    }

    /// `number / |factor|` of a number that is at least 0.
    fn divided(&self, b: &mut Builder, number: ExprId) -> ExprId {
        let step = self.step(b);
        if self.factor.abs() == 1 { number } else { b.binary(BinaryOp::Div, number, step) }
    }

    /// `position + |factor| * count`.
    fn moved(&self, b: &mut Builder, position: ExprId, count: ExprId) -> ExprId {
        let step = self.step(b);
        let by = if self.factor.abs() == 1 { count } else { b.mul(count, step) };
        b.add(position, by)
    }
}

fn negated(b: &mut Builder, number: ExprId) -> ExprId {
    let zero = b.int(0);
    b.sub(zero, number)
}

/// A level with an interval of coordinates under each parent.
#[derive(Debug)]
struct Interval {
    term: Term,
    /// The least sum of the terms below, where the whole must not be above 0.
    least: Option<ExprId>,
    /// The greatest sum of the terms below.
    greatest: ExprId,
}

impl Interval {
    /// The first coordinate, and the one behind the last.
    fn coordinates(&self, b: &mut Builder, base: ExprId) -> (ExprId, ExprId) {
        // The own term is between these, times the factor's sign, if the terms below can make up the rest.
        let (low, high) = match self.term.factor > 0 {
            true => (Some(negated(b, self.greatest)), self.least.map(|least| negated(b, least))),
            false => (self.least, Some(self.greatest)),
        };
        let (zero, step) = (b.int(0), self.term.step(b));
        let low = low.map_or(zero, |low| {
            let low = b.sub(low, base);
            let rounding = b.int(self.term.factor.abs() - 1);
            let low = b.binary(BinaryOp::Max, low, zero);
            let low = b.add(low, rounding);
            self.term.divided(b, low)
        });
        let high = high.map_or(self.term.size, |high| {
            let high = b.sub(high, base);
            let high = b.add(high, step);
            let high = b.binary(BinaryOp::Max, high, zero);
            let high = self.term.divided(b, high);
            b.binary(BinaryOp::Min, high, self.term.size)
        });
        // An interval that ends before it begins is empty.
        let low = if low == zero { zero } else { b.binary(BinaryOp::Min, low, high) };
        (low, high)
    }
}

impl LevelCode for Interval {
    fn bounds(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId) {
        let base = self.term.base(b, parent.first());
        let (low, high) = self.coordinates(b, base);
        let (begin, end) = (self.term.moved(b, base, low), self.term.moved(b, base, high));
        (b.define("begin", begin), b.define("end", end))
    }

    fn interval(&self, b: &mut Builder, parent: ExprId) -> Option<(ExprId, ExprId)> {
        let base = self.term.base(b, parent);
        Some(self.coordinates(b, base))
    }

    fn locate(&self, b: &mut Builder, parent: ExprId, coordinate: ExprId) -> Option<ExprId> {
        let base = self.term.base(b, parent);
        Some(self.term.moved(b, base, coordinate))
    }

    fn parent(&self, _b: &mut Builder, position: ExprId, _parents: ExprId) -> ExprId {
        position
    }

    fn seek(&self, b: &mut Builder, parent: ExprId, begin: ExprId, end: ExprId, coordinate: ExprId) -> ExprId {
        let base = self.term.base(b, parent);
        let at = self.term.moved(b, base, coordinate);
        let at = b.binary(BinaryOp::Max, at, begin);
        b.binary(BinaryOp::Min, at, end)
    }

    fn find(
        &self,
        b: &mut Builder,
        parent: ExprId,
        (begin, end): (ExprId, ExprId),
        coordinate: ExprId,
    ) -> (ExprId, ExprId) {
        // Every coordinate of the interval has a position, which is computed: two comparisons say if it is one of them.
        let base = self.term.base(b, parent);
        let at = self.term.moved(b, base, coordinate);
        let at = b.define("at", at);
        let (reached, before) = (b.compare(CompareOp::Ge, at, begin), b.compare(CompareOp::Lt, at, end));
        let inside = b.and(reached, before);
        let count = b.cast(DType::I64, inside);
        (at, b.add(at, count))
    }

    fn coordinate(&self, b: &mut Builder, name: &str, at: At) -> ExprId {
        let base = self.term.base(b, at.parent);
        let inside = b.sub(at.position, base);
        let coordinate = self.term.divided(b, inside);
        b.define(name, coordinate)
    }

    fn is_contiguous(&self) -> bool {
        self.term.factor.abs() == 1
    }

    fn is_gapless(&self) -> bool {
        self.is_contiguous()
    }

    fn start(&self, b: &mut Builder, parent: ExprId, position: VarId, _end: ExprId) -> Option<State> {
        if !self.is_contiguous() {
            let base = self.term.base(b, parent);
            let rounding = b.int(self.term.factor.abs() - 1);
            let here = b.var(position);
            let inside = b.sub(here, base);
            let inside = b.add(inside, rounding);
            let coordinate = self.term.divided(b, inside);
            let first = self.term.moved(b, base, coordinate);
            b.assign(position, first);
        }
        None
    }

    fn advance(&self, b: &mut Builder, _parent: ExprId, position: VarId, _end: ExprId, _state: Option<State>) {
        let (here, one) = (b.var(position), b.int(1));
        let next = self.term.moved(b, here, one);
        b.assign(position, next);
    }

    fn count_positions(&self, b: &mut Builder, parents: ExprId, size: ExprId) -> ExprId {
        b.mul(parents, size)
    }
}

/// The last level: the coordinate that solves the equation.
#[derive(Debug)]
struct Solution {
    term: Term,
    /// True if there is one under every parent, as the level above holds no others.
    always: bool,
}

impl Solution {
    /// The term that makes the sum 0, without its sign, and the coordinate in it.
    fn solved(&self, b: &mut Builder, parent: ExprId) -> (ExprId, ExprId) {
        let sign = self.term.factor.signum();
        let wanted = match self.term.above {
            None => b.int(-sign * self.term.constant),
            Some(above) if above == sign => negated(b, parent),
            Some(_) => parent,
        };
        (wanted, self.term.divided(b, wanted))
    }
}

impl LevelCode for Solution {
    fn bounds(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId) {
        match self.only(b, parent) {
            Some(only) => only.range(b),
            None => Position::One(parent.first()).range(b),
        }
    }

    fn only(&self, b: &mut Builder, parent: Position) -> Option<Only> {
        let position = parent.first();
        if self.always {
            return None;
        }
        let (wanted, coordinate) = self.solved(b, position);
        let zero = b.int(0);
        let reached = b.compare(CompareOp::Ge, wanted, zero);
        let inside = b.compare(CompareOp::Lt, coordinate, self.term.size);
        let mut present = b.and(reached, inside);
        if self.term.factor.abs() != 1 {
            let exact = self.term.moved(b, zero, coordinate);
            let divides = b.compare(CompareOp::Eq, exact, wanted);
            present = b.and(present, divides);
        }
        Some(Only { position, present })
    }

    fn span(&self, _b: &mut Builder, first: ExprId, end: ExprId) -> (ExprId, ExprId) {
        (first, end)
    }

    fn parent(&self, _b: &mut Builder, position: ExprId, _parents: ExprId) -> ExprId {
        position
    }

    fn seek(&self, b: &mut Builder, parent: ExprId, begin: ExprId, end: ExprId, coordinate: ExprId) -> ExprId {
        let (_, own) = self.solved(b, parent);
        let reached = b.compare(CompareOp::Ge, own, coordinate);
        b.select(reached, begin, end)
    }

    fn coordinate(&self, b: &mut Builder, name: &str, at: At) -> ExprId {
        let (_, coordinate) = self.solved(b, at.parent);
        b.define(name, coordinate)
    }

    fn count_positions(&self, _b: &mut Builder, parents: ExprId, _size: ExprId) -> ExprId {
        parents
    }
}
