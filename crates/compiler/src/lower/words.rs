//! Loops over levels that store words: 64 coordinates at a time, which the lattice combines as numbers.
//!
//! ```text
//! a(i) = b(i) * c(i), both bitmaps
//!   for w in first .. last {
//!     here = bits of b & bits of c                            a union: |
//!     while here != 0 { i = 64 w + zeros below the lowest 1; ..; here &= here - 1 }
//!   }
//! ```
//!
//! Where the schedule says lanes and the result can be appended to in them, [`super::lanes`] does what is inside.
//!
//! On entry: every iterator that the loop advances is tested (`LevelCode::word`), and the loop does not visit all coordinates.

use lacunar_base::Diagnostic;
use lacunar_imp::{BinaryOp, ExprId};
use lacunar_notation::VarId;
use lacunar_notation::concrete::Stmt;
use rustc_hash::FxHashMap;

use super::bitmap::{Window, WordMerge};
use super::space::Interval;
use super::{Lowerer, Scope, Uncertain};
use crate::iterate::lattice::{Lattice, Point, advances_by_words};
use crate::levels::Word;

impl Lowerer<'_> {
    /// Whether all iterators that a loop advances store words.
    pub(super) fn stores_words(&self, lattice: &Lattice, loops: &[Point]) -> bool {
        let all = Point::union(loops);
        let stored = |k: usize| advances_by_words(self.kernel, &lattice.iterators[k]);
        all != Point::ALL && !loops.contains(&Point::ALL) && all.members().all(stored)
    }

    /// The loop over the words of operands that store them.
    pub(super) fn stored_words(
        &mut self,
        var: VarId,
        body: &Stmt,
        lattice: &Lattice,
        loops: &[Point],
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let here = Point::union(loops);
        let mut lengths = FxHashMap::default();
        for k in here.members() {
            let (begin, end) = self.bounds(lattice, k, scope)?;
            lengths.insert(k, self.b.sub(end, begin));
        }
        self.reserved |=
            self.reserve_ahead(var, body, scope, &mut |this| this.most_visited(var, lattice, loops, &lengths));
        let merge = WordMerge { var, body, lattice, points: Point::smallest(loops), here };
        let (begin, end) = self.dense_bounds(var, scope)?;
        let whole = !scope.confined.contains_key(&var) && end == self.size(var);
        let (bits, round) = (self.b.int(Word::BITS), self.b.int(Word::BITS - 1));
        // Nothing is visited where the end is before the beginning, which is not negative.
        let first = self.b.binary(BinaryOp::Div, begin, bits);
        let last = self.b.add(end, round);
        let last = self.b.binary(BinaryOp::Div, last, bits);
        let mut outcome = Ok(());
        self.in_for("number", first, last, |this, number| {
            outcome = this.stored_word(&merge, number, (!whole).then_some((begin, end)), scope);
        });
        outcome
    }

    /// What is done at the coordinates of one word, within an interval.
    fn stored_word(
        &mut self,
        merge: &WordMerge<'_>,
        number: ExprId,
        interval: Option<Interval>,
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let mut windows = Vec::new();
        for k in merge.here.members() {
            windows.push(Window { k, word: self.word_of(merge.lattice, k, number, scope)?, rest: None });
        }
        let words: Vec<(usize, ExprId)> = windows.iter().map(|window| (window.k, window.word.bits)).collect();
        let mut here = self.over_points(&merge.points, &words, BinaryOp::And, BinaryOp::Or);
        let bits = self.b.int(Word::BITS);
        let base = self.b.mul(number, bits);
        if let Some((begin, end)) = interval {
            let zero = self.b.int(0);
            let (before, until) = (self.b.sub(begin, base), self.b.sub(end, base));
            let before = self.b.binary(BinaryOp::Max, before, zero);
            let behind = self.b.sub(bits, until);
            let behind = self.b.binary(BinaryOp::Max, behind, zero);
            let (before, behind) = (self.b.cast(Word::TYPE, before), self.b.cast(Word::TYPE, behind));
            let ones = Word::constant(&mut self.b, u64::MAX);
            let from = self.b.binary(BinaryOp::Shl, ones, before);
            let to = self.b.binary(BinaryOp::Shr, ones, behind);
            here = self.b.binary(BinaryOp::And, here, from);
            here = self.b.binary(BinaryOp::And, here, to);
        }
        let here = self.b.define("here", here);
        if let Some(place) = self.lanes_append(merge, scope) {
            let operands: Vec<(usize, Word)> = windows.iter().map(|window| (window.k, window.word)).collect();
            return self.append_in_lanes(place, merge, &operands, (number, here), scope);
        }
        let base = self.b.cast(Word::TYPE, base);
        self.bit_by_bit(merge, &windows, base, here, scope)
    }

    /// The word of an iterator with a number, empty where its access is absent.
    pub(super) fn word_of(
        &mut self,
        lattice: &Lattice,
        k: usize,
        number: ExprId,
        scope: &Scope,
    ) -> Result<Word, Diagnostic> {
        let parent = self.parent_of(lattice, k, scope)?;
        let iterator = &lattice.iterators[k];
        let uncertain = scope.uncertain.get(&iterator.access).copied();
        let code = &self.tensors[iterator.access.tensor.index()].levels[iterator.level];
        let none = || Diagnostic::internal("a level that is tested has no words");
        let Some(Uncertain { present, .. }) = uncertain else {
            return code.word(&mut self.b, parent, number).ok_or_else(none);
        };
        let (empty, zero) = (Word::constant(&mut self.b, 0), self.b.int(0));
        let (bits, first) = (self.b.declare("word", empty), self.b.declare("first", zero));
        self.b.begin_block();
        let word = code.word(&mut self.b, parent, number);
        if let Some(word) = word {
            self.b.assign(bits, word.bits);
            self.b.assign(first, word.first);
        }
        let then = self.b.end_block();
        self.b.push(lacunar_imp::Stmt::If { cond: present, then, otherwise: Vec::new() });
        word.map(|_| Word { bits: self.b.var(bits), first: self.b.var(first) }).ok_or_else(none)
    }
}
