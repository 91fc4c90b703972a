//! Lists of stored coordinates: where fewer than half of the places of a level that is tested are stored, lanes run over those,
//! and not over all places with most lanes idle. How many are stored is known when the loop is reached.
//!
//! ```text
//! y(i) = A(i,j) * x(j)            A: dense, bitmap
//!   if 2 * (end - begin) < size {                                    positions begin .. end of row i
//!     for each 31 words {
//!       n = 0;  for each w of them { n += unpack(list, n, w, 64 * its number) }
//!       for q in 0 .. n vector { t += A_vals[position + q] * x[base + list[q]] }
//!       position += n
//!     }
//!   } else {
//!     for j in 0 .. size vector { if bit j .. }                      lanes.rs
//!   }
//! ```
//!
//! The list is one of the thread's, made where its loops begin.

use lacunar_base::Diagnostic;
use lacunar_formats::DType;
use lacunar_imp::{ArrayId, BinaryOp, CompareOp};
use lacunar_notation::VarId;
use lacunar_notation::concrete::Stmt;

use super::space::Interval;
use super::{Lowerer, Scope};
use crate::iterate::lattice::{Lattice, Point};
use crate::levels::{Position, Word};

/// Words that are unpacked before a list is gone through: a list of 4096 bytes, which lives on the stack.
const WORDS: i64 = 31;
/// The places of a list: those of the words, and room to store whole vectors.
const PLACES: i64 = (WORDS + 1) * Word::BITS;
/// The part of the places that has to be stored for lanes over all of them: measured at densities from 20 to 60%, they are as fast
/// from 45% on for matrices of a level-3 cache, from 65% for smaller ones, and from 25% for those that come from memory, where it
/// costs more to make lists in between.
const PART: i64 = 2;
const PART_OF_MANY: i64 = 4;
/// How many values come from memory.
const MANY: i64 = 4 << 20;

impl Lowerer<'_> {
    /// A loop in lanes over the coordinates of an interval, of which a single operand says where something is done.
    pub(super) fn tested_loop(
        &mut self,
        var: VarId,
        body: &Stmt,
        lattice: &Lattice,
        scope: &Scope,
        interval: Interval,
    ) -> Result<(), Diagnostic> {
        if !self.can_unpack(var, body, lattice, scope, interval) {
            return self.dense_loop(var, body, lattice, scope, interval);
        }
        let (begin, end) = self.bounds(lattice, 0, scope)?;
        let stored = self.b.sub(end, begin);
        let mut part = self.b.int(PART);
        let iterator = &lattice.iterators[0];
        if let Some(all) = self.count_positions(&iterator.access, iterator.level) {
            let (many, large) = (self.b.int(MANY), self.b.int(PART_OF_MANY));
            let is_large = self.b.compare(CompareOp::Gt, all, many);
            part = self.b.select(is_large, large, part);
        }
        let scaled = self.b.mul(stored, part);
        let few = self.b.compare(CompareOp::Lt, scaled, interval.1);
        self.b.begin_block();
        let listed = self.listed_loop(var, body, lattice, scope, (begin, interval.1));
        let then = self.b.end_block();
        self.b.begin_block();
        let all = self.dense_loop(var, body, lattice, scope, interval);
        let otherwise = self.b.end_block();
        self.b.push(lacunar_imp::Stmt::If { cond: few, then, otherwise });
        listed.and(all)
    }

    /// Whether the loop is over a whole dimension, runs in lanes, has one operand that is tested, and stores to no place that
    /// depends on the lane.
    fn can_unpack(&self, var: VarId, body: &Stmt, lattice: &Lattice, scope: &Scope, (begin, end): Interval) -> bool {
        let whole = self.b.as_const(begin).is_some_and(|begin| begin.bits == 0)
            && end == self.size(var)
            && !scope.confined.contains_key(&var);
        let reduces = matches!(body, Stmt::Assign(assign) if !assign.lhs.vars.contains(&var));
        let single = lattice.iterators.len() == 1 && lattice.points == [Point::of([0])];
        whole && reduces && single && self.tests_in_lanes(var, body, lattice, scope)
    }

    /// The loop over the coordinates that are stored at positions from `position` on, by way of a list.
    fn listed_loop(
        &mut self,
        var: VarId,
        body: &Stmt,
        lattice: &Lattice,
        scope: &Scope,
        (position, size): Interval,
    ) -> Result<(), Diagnostic> {
        let list = *self.list.get_or_insert_with(|| self.b.local_array("list", DType::U16));
        let (zero, bits, words_at_once) = (self.b.int(0), self.b.int(Word::BITS), self.b.int(WORDS));
        let words = self.ceil_div(size, bits);
        let segments = self.ceil_div(words, words_at_once);
        let next = self.b.declare("next", position);
        let mut outcome = Ok(());
        self.in_for("segment", zero, segments, |this, segment| {
            let first = this.b.mul(segment, words_at_once);
            let last = this.b.add(first, words_at_once);
            let last = this.b.binary(BinaryOp::Min, last, words);
            let count = this.b.declare("count", zero);
            this.in_for("number", first, last, |this, number| match this.word_of(lattice, 0, number, scope) {
                Ok(word) => {
                    let offset = this.b.sub(number, first);
                    let offset = this.b.mul(offset, bits);
                    let so_far = this.b.var(count);
                    let ones = this.b.unpack(list, so_far, word.bits, offset);
                    let so_far = this.b.add(so_far, ones);
                    this.b.assign(count, so_far);
                }
                Err(fault) => outcome = Err(fault),
            });
            let (position, listed) = (this.b.var(next), this.b.var(count));
            let (position, listed) = (this.b.define("position", position), this.b.define("listed", listed));
            let base = this.b.mul(first, bits);
            let kind = this.loop_kind(var, scope);
            this.in_for_kind("q", zero, listed, kind, |this, q| {
                let place = this.b.load("place", list, q);
                let place = this.b.cast(DType::I64, place);
                let coordinate = this.b.add(base, place);
                let coordinate = this.b.define(&this.kernel.vars[var].name, coordinate);
                let position = this.b.add(position, q);
                let iterator = &lattice.iterators[0];
                let mut inner = scope.clone();
                inner.depth += 1;
                inner.coordinates.insert(var, coordinate);
                inner.bind(&iterator.access, iterator.level, Position::One(position));
                if let Some(residual) = lattice.residual(this.kernel, body, Point::of([0])) {
                    let done = this.at_coordinate(var, &residual, &inner);
                    outcome = std::mem::replace(&mut outcome, Ok(())).and(done);
                }
            });
            let after = this.b.add(position, listed);
            this.b.assign(next, after);
        });
        outcome
    }

    /// What `build` emits, behind the allocation of the list of places if it uses one.
    pub(super) fn with_list(
        &mut self,
        build: impl FnOnce(&mut Self) -> Result<(), Diagnostic>,
    ) -> Result<(), Diagnostic> {
        let outer: Option<ArrayId> = self.list.take();
        self.b.begin_block();
        let outcome = build(self);
        let block = self.b.end_block();
        if let Some(list) = std::mem::replace(&mut self.list, outer) {
            let places = self.b.int(PLACES);
            self.b.alloc(list, places, false);
        }
        block.into_iter().for_each(|stmt| self.b.push(stmt));
        outcome
    }
}
