//! Merges by words: 64 neighboring coordinates of each operand become the bits of a number, and the lattice becomes
//! operations on these numbers. Nothing is stored: the words are made on the way, by cursors like those of other merges.
//!
//! ```text
//! a(i) = b(i) * c(i), all compressed
//!   hb = first of b, or the largest number if there is none; hc likewise
//!   while (h = max(hb, hc)) is a coordinate {                 a union: min
//!     w = h / 64;  whoever is behind word w jumps there
//!     start = pb; bits = 0
//!     while hb / 64 == w { bits |= 1 << hb % 64; pb += 1; hb = next of b }      and c likewise
//!     left = bits of b & bits of c                            a union: |
//!     while left != 0 {
//!       t = zeros below the lowest 1 of left;  i = 64 w + t
//!       the positions: start + ones of bits below bit t
//!       case both ..                                          a union: / only b / only c
//!       left &= left - 1
//!     }
//!   }
//! ```
//!
//! For other lattices, `left` is the or of the points' ands, and `h` the least of the points' greatest. Where every coordinate
//! of the dimension is visited, a loop over all words and all bits takes the place of `h` and `left`. An operand that repeats
//! coordinates has one bit for all positions of a coordinate, so that counting ones does not find them: a second cursor
//! follows within the word.
//!
//! Where all operands store words, there is a simpler loop (`words.rs`).
//!
//! What it gains: coordinates that only one operand has cost an intersection no branch; what it costs: a pass over the
//! coordinates of its own. It pays where words have several coordinates.
//!
//! Paper: Henry et al. 2021, §6 names the strategy; the words are those of bitmap formats (Chou et al. 2018, §3).

use lacunar_base::Diagnostic;
use lacunar_formats::DType;
use lacunar_imp::{BinaryOp, CompareOp, ExprId, UnaryOp};
use lacunar_notation::VarId;
use lacunar_notation::concrete::Stmt;
use lacunar_notation::schedule::Merge;

use super::merge::Cursor;
use super::union::is_large;
use super::{Counter, INDEX, Lowerer, Reading, Scope, Uncertain};
use crate::iterate::lattice::{Lattice, Point};
use crate::levels::{Position, Word};

/// The type of a word.
const WORD: DType = Word::TYPE;
/// The number of bits of a word.
const BITS: i64 = Word::BITS;

/// An operand of a merge: its cursor and the coordinate it stands on, as a [`WORD`].
struct Operand {
    k: usize,
    cursor: Cursor,
    head: Counter,
}

/// The coordinates that an operand has in the window of one word.
pub(super) struct Window {
    pub k: usize,
    pub word: Word,
    /// Where coordinates repeat: the positions that are left.
    pub rest: Option<Cursor>,
}

/// The merge of a loop.
pub(super) struct WordMerge<'a> {
    pub var: VarId,
    pub body: &'a Stmt,
    pub lattice: &'a Lattice,
    /// The smallest sets of operands at which there is something to do; none where there is at every coordinate.
    pub points: Vec<Point>,
    /// Every operand.
    pub here: Point,
}

impl Lowerer<'_> {
    /// Whether the operands of a loop are to be merged by words: the schedule says so, something is
    /// merged, and all have a coordinate at every position, so that counting finds them.
    pub(super) fn merges_by_words(&self, var: VarId, lattice: &Lattice, loops: &[Point], scope: &Scope) -> bool {
        let leaf = scope.leaves.get(&var).copied().unwrap_or(var);
        let merged = Point::union(loops).0.count_ones();
        let others = 1 - u32::from(lattice.visits_all());
        let contiguous = |point: &Point| point.members().all(|k| self.is_contiguous(lattice, k));
        self.kernel.provenance.merge(leaf) == Merge::Bitmap && merged > others && loops.iter().all(contiguous)
    }

    /// The loop over the words.
    pub(super) fn word_loop(
        &mut self,
        var: VarId,
        body: &Stmt,
        lattice: &Lattice,
        loops: &[Point],
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let here = Point::union(loops);
        let cursors = self.cursors(lattice, here, scope)?;
        let lengths = self.lengths(lattice, &cursors);
        self.reserved |=
            self.reserve_ahead(var, body, scope, &mut |this| this.most_visited(var, lattice, loops, &lengths));
        let none = self.word(u64::MAX);
        let mut operands = Vec::new();
        for k in here.members() {
            let tensor = self.name(lattice.iterators[k].access.tensor).to_string();
            let head = self.b.declare(&format!("{}_{tensor}", self.var_name(var)), none);
            self.look(lattice, k, cursors[&k], head, none);
            operands.push(Operand { k, cursor: cursors[&k], head });
        }
        let mut merge = WordMerge { var, body, lattice, points: Vec::new(), here };
        if lattice.visits_all() {
            return self.all_words(&merge, &operands, scope);
        }
        merge.points = Point::smallest(loops);
        self.next_words(&merge, &operands, scope)
    }

    /// Every word of the dimension, and every coordinate of it.
    fn all_words(&mut self, merge: &WordMerge<'_>, operands: &[Operand], scope: &Scope) -> Result<(), Diagnostic> {
        let (begin, end) = self.dense_bounds(merge.var, scope)?;
        let bits = self.b.int(BITS);
        let (shift, round) = (self.log_bits(), self.word(BITS as u64 - 1));
        let first = self.b.cast(WORD, begin);
        let first = self.b.binary(BinaryOp::Shr, first, shift);
        // Nothing is visited where the end is before the beginning, which is not negative.
        let last = self.b.binary(BinaryOp::Max, begin, end);
        let last = self.b.cast(WORD, last);
        let last = self.b.add(last, round);
        let last = self.b.binary(BinaryOp::Shr, last, shift);
        let (first, last) = (self.b.cast(INDEX, first), self.b.cast(INDEX, last));
        let mut outcome = Ok(());
        self.in_for("word", first, last, |this, number| {
            let word = this.b.cast(WORD, number);
            let windows: Vec<Window> =
                operands.iter().map(|operand| this.window(merge.lattice, operand, word)).collect();
            let base = this.b.mul(number, bits);
            let low = this.b.binary(BinaryOp::Max, begin, base);
            let left = this.b.sub(end, base);
            let left = this.b.binary(BinaryOp::Min, left, bits);
            let high = this.b.add(base, left);
            let name = this.var_name(merge.var);
            this.in_for(&name, low, high, |this, coordinate| {
                outcome = this.at_bit(merge, &windows, coordinate, scope);
            });
        });
        outcome
    }

    /// The words in which some point of the lattice can have a coordinate.
    fn next_words(&mut self, merge: &WordMerge<'_>, operands: &[Operand], scope: &Scope) -> Result<(), Diagnostic> {
        let none = self.word(u64::MAX);
        let heads: Vec<(usize, ExprId)> = operands.iter().map(|op| (op.k, self.b.var(op.head))).collect();
        let next = self.over_points(&merge.points, &heads, BinaryOp::Max, BinaryOp::Min);
        let left = self.b.compare(CompareOp::Ne, next, none);
        self.b.begin_block();
        let shift = self.log_bits();
        let word = self.b.binary(BinaryOp::Shr, next, shift);
        let word = self.b.define("word", word);
        let base = self.b.binary(BinaryOp::Shl, word, shift);
        for operand in operands.iter().filter(|operand| !merge.points.contains(&Point(1 << operand.k))) {
            let head = self.b.var(operand.head);
            let lags = self.b.compare(CompareOp::Lt, head, base);
            self.b.begin_block();
            let coordinate = self.b.cast(INDEX, base);
            self.jump(merge.lattice, operand.k, operand.cursor, coordinate);
            self.look(merge.lattice, operand.k, operand.cursor, operand.head, none);
            let jump = self.b.end_block();
            self.b.push(lacunar_imp::Stmt::If { cond: lags, then: jump, otherwise: Vec::new() });
        }
        let windows: Vec<Window> = operands.iter().map(|operand| self.window(merge.lattice, operand, word)).collect();
        let bits: Vec<(usize, ExprId)> = windows.iter().map(|window| (window.k, window.word.bits)).collect();
        let combined = self.over_points(&merge.points, &bits, BinaryOp::And, BinaryOp::Or);
        let outcome = self.bit_by_bit(merge, &windows, base, combined, scope);
        let words = self.b.end_block();
        self.b.push(lacunar_imp::Stmt::While { cond: left, body: words });
        outcome
    }

    /// The coordinates of a word whose bits are set, lowest first. The word's first is `base`.
    pub(super) fn bit_by_bit(
        &mut self,
        merge: &WordMerge<'_>,
        windows: &[Window],
        base: ExprId,
        bits: ExprId,
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let rest = self.b.declare("left", bits);
        let (here, zero) = (self.b.var(rest), self.word(0));
        let some = self.b.compare(CompareOp::Ne, here, zero);
        self.b.begin_block();
        let bit = self.b.unary(UnaryOp::TrailingZeros, here);
        let coordinate = self.b.binary(BinaryOp::Or, base, bit);
        let coordinate = self.b.cast(INDEX, coordinate);
        let coordinate = self.b.define(&self.var_name(merge.var), coordinate);
        let outcome = self.at_bit(merge, windows, coordinate, scope);
        let fewer = Word::without_lowest(&mut self.b, here);
        self.b.assign(rest, fewer);
        let block = self.b.end_block();
        self.b.push(lacunar_imp::Stmt::While { cond: some, body: block });
        outcome
    }

    /// The values of operands combined as the lattice says: `both` within each point, `either` over all points.
    pub(super) fn over_points(
        &mut self,
        points: &[Point],
        values: &[(usize, ExprId)],
        both: BinaryOp,
        either: BinaryOp,
    ) -> ExprId {
        let mut all = None;
        for point in points {
            let members = values.iter().filter(|(k, _)| point.has(*k)).map(|(_, value)| *value);
            let together = members.reduce(|a, b| self.b.binary(both, a, b));
            all = match (all, together) {
                (Some(a), Some(b)) => Some(self.b.binary(either, a, b)),
                (a, b) => a.or(b),
            };
        }
        all.unwrap_or_else(|| self.word(0))
    }

    /// Moves a cursor over its coordinates in a word, which become bits.
    fn window(&mut self, lattice: &Lattice, operand: &Operand, word: ExprId) -> Window {
        let (k, cursor) = (operand.k, operand.cursor);
        let name = self.position_name(lattice, k);
        let (zero, one, none) = (self.word(0), self.word(1), self.word(u64::MAX));
        let at = self.b.var(cursor.position);
        let start = self.b.define(&format!("{name}_first"), at);
        let bits = self.b.declare(&format!("{name}_bits"), zero);
        let (head, so_far) = (self.b.var(operand.head), self.b.var(bits));
        let shift = self.log_bits();
        let number = self.b.binary(BinaryOp::Shr, head, shift);
        let inside = self.b.compare(CompareOp::Eq, number, word);
        self.b.begin_block();
        let bit = self.b.binary(BinaryOp::Shl, one, head);
        let more = self.b.binary(BinaryOp::Or, so_far, bit);
        self.b.assign(bits, more);
        let step = self.b.int(1);
        let next = self.b.add(at, step);
        self.b.assign(cursor.position, next);
        self.look(lattice, k, cursor, operand.head, none);
        let block = self.b.end_block();
        self.b.push(lacunar_imp::Stmt::While { cond: inside, body: block });
        let rest = self.repeats(lattice, k).then(|| {
            let position = self.b.declare(&name, start);
            Cursor { position, end: at, ..cursor }
        });
        Window { k, word: Word { bits: so_far, first: start }, rest }
    }

    /// One coordinate of a word: what is done with those operands that have its bit.
    fn at_bit(
        &mut self,
        merge: &WordMerge<'_>,
        windows: &[Window],
        coordinate: ExprId,
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let lattice = merge.lattice;
        let mut inner = scope.clone();
        inner.coordinates.insert(merge.var, coordinate);
        let mut present = Vec::new();
        let mut steps = Vec::new();
        for window in windows {
            let name = self.position_name(lattice, window.k);
            let certain = !merge.points.is_empty() && merge.points.iter().all(|point| point.has(window.k));
            if !certain {
                let has = window.word.has(&mut self.b, coordinate);
                present.push((window.k, self.b.define(&format!("at_{name}"), has)));
            }
            let position = match window.rest {
                None => {
                    let position = window.word.position(&mut self.b, coordinate);
                    Position::One(self.b.define(&name, position))
                }
                Some(rest) => {
                    self.skip(lattice, window.k, rest, coordinate);
                    let end = self.segment_end(lattice, window.k, rest, coordinate);
                    steps.push((rest.position, end));
                    Position::Range(self.b.var(rest.position), end)
                }
            };
            let iterator = &lattice.iterators[window.k];
            inner.bind(&iterator.access, iterator.level, position);
        }
        if is_large(lattice, merge.body) {
            inner.depth += 1;
            for (k, present) in present {
                let uncertain = Uncertain { present, reading: Reading::Guarded };
                inner.uncertain.insert(lattice.iterators[k].access.clone(), uncertain);
            }
            self.at_coordinate(merge.var, merge.body, &inner)?;
        } else {
            self.cases(merge.var, merge.body, lattice, merge.here, &present, &inner)?;
        }
        steps.into_iter().for_each(|(position, next)| self.b.assign(position, next));
        Ok(())
    }

    /// Moves a cursor to its first coordinate that is `coordinate` or more, one by one.
    fn skip(&mut self, lattice: &Lattice, k: usize, cursor: Cursor, coordinate: ExprId) {
        let iterator = &lattice.iterators[k];
        let at = self.b.var(cursor.position);
        let left = self.b.compare(CompareOp::Lt, at, cursor.end);
        self.b.begin_block();
        let code = &self.tensors[iterator.access.tensor.index()].levels[iterator.level];
        let own = code.coordinate(&mut self.b, "own", cursor.at(at));
        let reached = self.b.compare(CompareOp::Ge, own, coordinate);
        self.b.if_then(reached, |b| b.push(lacunar_imp::Stmt::Break));
        let one = self.b.int(1);
        let next = self.b.add(at, one);
        self.b.assign(cursor.position, next);
        let block = self.b.end_block();
        self.b.push(lacunar_imp::Stmt::While { cond: left, body: block });
    }

    /// A constant of the type of words.
    fn word(&mut self, value: u64) -> ExprId {
        Word::constant(&mut self.b, value)
    }

    /// Which power of two the bits of a word are.
    fn log_bits(&mut self) -> ExprId {
        self.word(BITS.trailing_zeros().into())
    }
}
