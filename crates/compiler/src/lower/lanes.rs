//! Vector lanes over levels that are tested: whether an operand has the coordinate of a lane is a bit, and its position a
//! number of bits, so that a lane needs no branch.
//!
//! Where no result is appended to, lanes run over all coordinates (of sums over a single operand that stores fewer than half of
//! them, over a list of those: `unpacked.rs`):
//!
//! ```text
//! y(i) = A(i,j) * x(j)            A: dense, bitmap
//!   for j in 0 .. size vector { w = word j / 64 of A; if bit j of w { t += A_vals[first of w + ones below j] * x[j] } }
//! ```
//!
//! What is appended goes word by word. A coordinate's position in the result follows from the bits as well:
//!
//! ```text
//! C(i,j) = A(i,j) + B(i,j)        all dense, bitmap
//!   for w in words {
//!     here = bits of A | bits of B
//!     for l in 0 .. 64 vector { a = (bit l of A ? A_vals[..] : 0); b = ..; if bit l of here { C_vals[C_n + ones below l] = a + b } }
//!     word w of C = here;  C_n += ones of here
//!   }
//! ```
//!
//! Each operand is read under its own bit, before what is done where all are known: in neighboring lanes are then
//! neighboring values (`emit/vector/words.rs` of the LLVM back end).

use lacunar_base::Diagnostic;
use lacunar_imp::{ExprId, LoopKind};
use lacunar_notation::concrete::{Assign, Stmt};
use lacunar_notation::{AssignOp, TensorId, VarId};

use super::assemble::Group;
use super::bitmap::WordMerge;
use super::{Lowerer, Reading, Scope, Uncertain};
use crate::algebra::rests;
use crate::iterate::iterators::{AccessKey, Mode};
use crate::iterate::lattice::{Lattice, Point, advances_by_words};
use crate::levels::{Position, Slot, Word};

impl Lowerer<'_> {
    /// Whether a loop over all coordinates runs in lanes that test its operands.
    pub(super) fn tests_in_lanes(&self, var: VarId, body: &Stmt, lattice: &Lattice, scope: &Scope) -> bool {
        self.loop_kind(var, scope) == LoopKind::Vector(0) && self.reads_tested(body, lattice, scope)
    }

    /// Whether the body is an assignment, and all operands of the loop are tested and have their values right there.
    fn reads_tested(&self, body: &Stmt, lattice: &Lattice, scope: &Scope) -> bool {
        let here = |k: usize| {
            let iterator = &lattice.iterators[k];
            let last = iterator.level + 1 == self.kernel.tensors[iterator.access.tensor].order();
            last && advances_by_words(self.kernel, iterator) && !scope.uncertain.contains_key(&iterator.access)
        };
        matches!(body, Stmt::Assign(_)) && !lattice.iterators.is_empty() && (0..lattice.iterators.len()).all(here)
    }

    /// One coordinate of a loop over all.
    pub(super) fn test_in_lanes(
        &mut self,
        var: VarId,
        body: &Stmt,
        lattice: &Lattice,
        coordinate: ExprId,
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let number = Word::number(&mut self.b, coordinate);
        let mut operands = Vec::new();
        for k in 0..lattice.iterators.len() {
            operands.push((k, self.word_of(lattice, k, number, scope)?));
        }
        let mut inner = scope.clone();
        inner.depth += 1;
        let present = self.bind_tested(lattice, &operands, coordinate, &mut inner);
        let condition = self.somewhere(lattice, &present);
        self.read_tested(body, lattice, &present, condition.is_some(), &mut inner)?;
        let all = Point::of(operands.iter().map(|(k, _)| *k));
        let Some(residual) = lattice.residual(self.kernel, body, all) else { return Ok(()) };
        self.b.begin_block();
        let outcome = self.at_coordinate(var, &residual, &inner);
        let block = self.b.end_block();
        match condition {
            Some(cond) => self.b.push(lacunar_imp::Stmt::If { cond, then: block, otherwise: Vec::new() }),
            None => block.into_iter().for_each(|stmt| self.b.push(stmt)),
        }
        outcome
    }

    /// The group of the result that a loop over stored words can append to in lanes, if it can.
    pub(super) fn lanes_append(&self, merge: &WordMerge<'_>, scope: &Scope) -> Option<usize> {
        let appended = self.appended.as_ref()?;
        let place = appended.groups.len().checked_sub(1)?;
        let Group { head, last, .. } = appended.groups[place];
        let Stmt::Assign(assign @ Assign { lhs, op: AssignOp::Set, .. }) = merge.body else { return None };
        let innermost = head == last && last + 1 == appended.access.vars.len();
        let here = lhs.tensor == appended.access.tensor && self.level_var(&appended.access, last) == merge.var;
        let advanced = merge.lattice.iterators.iter().all(|iterator| iterator.mode == Mode::Coiterate);
        let lanes = self.loop_kind(merge.var, scope) == LoopKind::Vector(0) && scope.whole_blocks.is_empty();
        let rests = rests(&self.kernel.tensors, assign);
        let can = innermost && here && advanced && lanes && rests;
        (can && self.reads_tested(merge.body, merge.lattice, scope)).then_some(place)
    }

    /// The coordinates of a word whose bits in `here` are set: to the result, in lanes.
    pub(super) fn append_in_lanes(
        &mut self,
        place: usize,
        merge: &WordMerge<'_>,
        operands: &[(usize, Word)],
        (number, here): (ExprId, ExprId),
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let Some(appended) = &self.appended else { return Ok(()) };
        let (access, group) = (appended.access.clone(), appended.groups[place]);
        let count = Word::count(&mut self.b, here);
        if !self.reserved {
            self.reserve(place, count);
        }
        let first = self.b.var(group.counter);
        let first = self.b.define("slot", first);
        let parent = self.position(&access, group.head.checked_sub(1), scope)?.first();
        let slot = Slot { parent, position: first, fixed: self.is_fixed(&access, group) };
        // Words of coordinates are not compared with a pattern on the way.
        self.conditional |= self.compared;
        let code = self.tensors[access.tensor.index()].levels.get(group.head).filter(|_| self.phase.assembles());
        let one_by_one = code.is_some_and(|code| !code.takes_words());
        if let Some(code) = code {
            code.append_word(&mut self.b, slot, number, here);
        }
        let (zero, bits) = (self.b.int(0), self.b.int(Word::BITS));
        let base = self.b.mul(number, bits);
        let mut outcome = Ok(());
        if one_by_one || self.tensors[access.tensor.index()].values.is_some() {
            self.in_for_kind("lane", zero, bits, LoopKind::Vector(0), |this, lane| {
                let mut inner = scope.clone();
                inner.depth += 1;
                let coordinate = this.b.add(base, lane);
                inner.coordinates.insert(merge.var, coordinate);
                let word = Word { bits: here, first };
                let level = one_by_one.then_some((access.tensor, group.head));
                outcome = this.append_lane(merge, operands, (word, lane), (level, slot), inner);
            });
        }
        let next = self.b.add(first, count);
        self.b.assign(group.counter, next);
        outcome
    }

    /// One lane of those that append: the value at a coordinate of `word`, the result's, and the coordinate, if its level takes
    /// them one by one.
    fn append_lane(
        &mut self,
        merge: &WordMerge<'_>,
        operands: &[(usize, Word)],
        (word, lane): (Word, ExprId),
        (level, slot): (Option<(TensorId, usize)>, Slot),
        mut scope: Scope,
    ) -> Result<(), Diagnostic> {
        let position = word.position(&mut self.b, lane);
        let present = self.bind_tested(merge.lattice, operands, lane, &mut scope);
        self.read_tested(merge.body, merge.lattice, &present, true, &mut scope)?;
        let all = Point::of(operands.iter().map(|(k, _)| *k));
        let Some(residual) = merge.lattice.residual(self.kernel, merge.body, all) else { return Ok(()) };
        let cond = word.has(&mut self.b, lane);
        self.b.begin_block();
        self.slot = Some(position);
        // Something is there at every coordinate whose bit is set, so that it does not say where.
        let outcome = self.stmt(&residual, &scope).map(|_| ());
        self.slot = None;
        if let Some((tensor, level)) = level {
            let coordinate = scope.coordinates[&merge.var];
            let code = &self.tensors[tensor.index()].levels[level];
            code.append_coordinate(&mut self.b, Slot { position, ..slot }, coordinate);
        }
        let then = self.b.end_block();
        self.b.push(lacunar_imp::Stmt::If { cond, then, otherwise: Vec::new() });
        outcome
    }

    /// Binds the operands of a loop to a coordinate of their words; under which condition each has it.
    fn bind_tested(
        &mut self,
        lattice: &Lattice,
        operands: &[(usize, Word)],
        place: ExprId,
        scope: &mut Scope,
    ) -> Vec<(usize, ExprId)> {
        let mut present = Vec::new();
        for &(k, word) in operands {
            let iterator = &lattice.iterators[k];
            let position = word.position(&mut self.b, place);
            scope.bind(&iterator.access, iterator.level, Position::One(position));
            present.push((k, word.has(&mut self.b, place)));
        }
        present
    }

    /// Under which condition the coordinate is one of some point's; none if every one is.
    fn somewhere(&mut self, lattice: &Lattice, present: &[(usize, ExprId)]) -> Option<ExprId> {
        if lattice.is_full() {
            return None;
        }
        let mut some = None;
        for point in Point::smallest(&lattice.points) {
            let members = present.iter().filter(|(k, _)| point.has(*k)).map(|(_, has)| *has);
            let all = members.reduce(|a, b| self.b.and(a, b));
            some = match (some, all) {
                (Some(a), Some(b)) => Some(self.b.or(a, b)),
                (a, b) => a.or(b),
            };
        }
        some
    }

    /// Reads the values of operands that may be absent, each where it is present. A single one that is present wherever
    /// something is done is read there.
    fn read_tested(
        &mut self,
        body: &Stmt,
        lattice: &Lattice,
        present: &[(usize, ExprId)],
        conditional: bool,
        scope: &mut Scope,
    ) -> Result<(), Diagnostic> {
        if present.len() == 1 && conditional {
            return Ok(());
        }
        let Stmt::Assign(assign) = body else { return Ok(()) };
        let accesses = assign.rhs.accesses();
        for &(k, has) in present {
            let key = &lattice.iterators[k].access;
            let Some(access) = accesses.iter().find(|access| AccessKey::from(**access) == *key) else { continue };
            scope.uncertain.insert(key.clone(), Uncertain { present: has, reading: Reading::Guarded });
            let value = self.read(access, scope)?;
            scope.uncertain.insert(key.clone(), Uncertain { present: has, reading: Reading::Done(value) });
        }
        Ok(())
    }
}
