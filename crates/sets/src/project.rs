//! Projection: the points that have a partner.
//!
//! Dimensions that go are unknowns, and so are divisions of them. They are solved for one after the other:
//!
//! ```text
//! equality with a factor of 1       x = e                    replaced everywhere
//! equality with one unknown         3 x = e                  x = floor(e/3), and e - 3 floor(e/3) = 0
//! equality with several unknowns    4 x + 6 y = e            x = z - y: 4 z + 2 y = e, and so on (Euclid)
//! bounds, one with a factor of 1    e <= x, 3 x <= f         3 e <= f
//! bounds with other factors         e <= 2 x, 3 x <= f       ceil(e/2) <= floor(f/3)
//! ```
//!
//! The last line is exact because an integer lies between integers that are in order; it needs bounds without other unknowns. If no
//! unknown has such bounds, one is eliminated as Pugh does (1992, §2.3): there is a value of it where the dark shadow says so, or one
//! close to a lower bound, which is an equality. So a projection is exact, but may have several pieces, or be given up.

use crate::affine::{Affine, gcd};
use crate::piece::Piece;
use crate::set::{Set, Space};

/// Rows of more are given up.
const MOST_ROWS: usize = 400;

/// Projections of more steps are given up.
const MOST_STEPS: usize = 600;

/// Projections of more pieces are given up.
const MOST_PIECES: usize = 40;

/// A form in two parts: over columns of the piece that is left, and over unknowns.
#[derive(Clone, Debug)]
struct Row {
    known: Affine,
    unknown: Affine,
}

impl Row {
    fn combined(&self, a: i64, other: &Row, b: i64) -> Option<Row> {
        let (known, unknown) = (self.known.combined(a, &other.known, b)?, self.unknown.combined(a, &other.unknown, b)?);
        Some(Row { known, unknown })
    }

    /// The form over columns, each of which is a row.
    fn of(form: &Affine, columns: &[Row]) -> Option<Row> {
        let start = Row { known: Affine::constant(form.offset()), unknown: Affine::default() };
        form.terms().try_fold(start, |sum, (column, factor)| sum.combined(1, columns.get(column)?, factor))
    }

    fn substituted(&self, unknown: usize, by: &Row) -> Option<Row> {
        let factor = self.unknown.factor(unknown);
        if factor == 0 {
            return Some(self.clone());
        }
        Row { known: self.known.clone(), unknown: self.unknown.without(unknown) }.combined(1, by, factor)
    }

    /// True if an unknown is the only one in it.
    fn has_only(&self, unknown: usize) -> bool {
        self.unknown.terms().all(|(other, _)| other == unknown)
    }

    /// The inequality divided by the common divisor of its factors.
    fn divided(self) -> Row {
        let content = gcd(self.known.content(), self.unknown.content());
        Row { known: self.known.divided(content), unknown: self.unknown.divided(content) }
    }
}

#[derive(Clone)]
struct Elimination {
    /// The result so far: all constraints without unknowns.
    piece: Piece,
    equalities: Vec<Row>,
    inequalities: Vec<Row>,
    unknowns: usize,
}

impl Piece {
    /// The pieces without some dimensions: points that have a partner there. `None` if that can't be told.
    pub fn project_out(&self, dims: &[usize]) -> Option<Vec<Piece>> {
        let left = self.dims() - (0..self.dims()).filter(|dim| dims.contains(dim)).count();
        let Some(tidy) = self.tidied() else { return Some(Vec::new()) };
        let mut open = vec![Elimination::begin(&tidy, dims, left)?];
        let mut done: Vec<Piece> = Vec::new();
        for _ in 0..MOST_STEPS {
            let Some(mut elimination) = open.pop() else { return Some(done) };
            elimination.settle();
            if !elimination.is_done() {
                open.extend(elimination.step()?);
            } else if let Some(mut piece) = elimination.piece.tidied().filter(|piece| !piece.is_empty().is_yes()) {
                piece.compact(&mut []);
                done.push(piece);
            }
            if open.len() + done.len() > MOST_PIECES {
                return None;
            }
        }
        None
    }

    /// The same, if it is one piece.
    pub(crate) fn project_to_one(&self, space: &Space, dims: &[usize]) -> Option<Piece> {
        let mut pieces = self.project_out(dims)?;
        if pieces.len() > 1 {
            pieces = Set::of_pieces(space.clone(), pieces).coalesced().pieces().to_vec();
        }
        if pieces.len() > 1 {
            return None;
        }
        let nothing = || {
            let mut nothing = Piece::universe(space.params.len(), space.dims.len());
            nothing.at_least(Affine::constant(-1));
            nothing
        };
        Some(pieces.pop().unwrap_or_else(nothing))
    }
}

impl Elimination {
    fn begin(piece: &Piece, dims: &[usize], left: usize) -> Option<Elimination> {
        let universe = Piece::universe(piece.params(), left);
        let mut this = Elimination { piece: universe, equalities: Vec::new(), inequalities: Vec::new(), unknowns: 0 };
        let mut columns: Vec<Row> = Vec::new();
        let mut kept = 0;
        for column in 0..piece.outer() {
            let goes = column.checked_sub(piece.params()).is_some_and(|dim| dims.contains(&dim));
            if goes {
                columns.push(this.fresh());
            } else {
                columns.push(Row { known: Affine::variable(kept), unknown: Affine::default() });
                kept += 1;
            }
        }
        for div in piece.divs() {
            let numerator = Row::of(&div.numerator, &columns)?;
            if numerator.unknown.is_constant() {
                let known = this.piece.floor(&numerator.known, div.denominator)?;
                columns.push(Row { known, unknown: Affine::default() });
                continue;
            }
            let quotient = this.fresh();
            let rest = numerator.combined(1, &quotient, div.denominator.checked_neg()?)?;
            let top = Row { known: Affine::constant(div.denominator - 1), unknown: Affine::default() };
            this.inequalities.push(top.combined(1, &rest, -1)?);
            this.inequalities.push(rest);
            columns.push(quotient);
        }
        for form in piece.equalities() {
            this.equalities.push(Row::of(form, &columns)?);
        }
        for form in piece.inequalities() {
            this.inequalities.push(Row::of(form, &columns)?);
        }
        Some(this)
    }

    fn fresh(&mut self) -> Row {
        self.unknowns += 1;
        Row { known: Affine::default(), unknown: Affine::variable(self.unknowns - 1) }
    }

    /// Gives rows without unknowns to the piece.
    fn settle(&mut self) {
        let is_known = |row: &Row| row.unknown.is_constant();
        for row in self.equalities.extract_if(.., |row| is_known(row)) {
            self.piece.equal(row.known);
        }
        for row in self.inequalities.extract_if(.., |row| is_known(row)) {
            self.piece.at_least(row.known);
        }
    }

    /// Takes a step on the way to solve an equality for an unknown.
    fn solve(&mut self) -> Option<()> {
        let smallest = |row: &Row| row.unknown.terms().map(|(_, factor)| factor.unsigned_abs()).min();
        let (place, _) = self.equalities.iter().enumerate().min_by_key(|(_, row)| smallest(row))?;
        let row = self.equalities[place].clone();
        let (unknown, factor) = row.unknown.terms().min_by_key(|(_, factor)| factor.unsigned_abs())?;
        let sign = factor.signum().checked_neg()?;
        if factor.unsigned_abs() == 1 {
            let rest = Row { known: row.known, unknown: row.unknown.without(unknown) };
            let value = rest.combined(sign, &rest, 0)?;
            self.equalities.remove(place);
            return self.replace(unknown, &value);
        }
        if row.has_only(unknown) {
            let numerator = row.known.times(sign)?;
            let quotient = self.piece.floor(&numerator, factor.checked_abs()?)?;
            self.piece.equal(numerator.combined(1, &quotient, factor.checked_abs()?.checked_neg()?)?);
            self.equalities.remove(place);
            return self.replace(unknown, &Row { known: quotient, unknown: Affine::default() });
        }
        // The new unknown is the old one, less quotients of the others' factors by its own: these become smaller.
        let quotients: Vec<i64> = row.unknown.factors().iter().map(|&other| other.div_euclid(factor)).collect();
        let others = Affine::new(quotients, 0).without(unknown).negated()?;
        let value = Row { known: Affine::default(), unknown: others.plus(&Affine::variable(unknown))? };
        self.replace(unknown, &value)
    }

    fn replace(&mut self, unknown: usize, by: &Row) -> Option<()> {
        for row in self.equalities.iter_mut().chain(&mut self.inequalities) {
            *row = row.substituted(unknown, by)?;
        }
        Some(())
    }

    fn is_done(&self) -> bool {
        self.equalities.is_empty() && self.inequalities.is_empty()
    }

    /// The eliminations that are left after an unknown is solved for or eliminated: the points of all of these.
    fn step(mut self) -> Option<Vec<Elimination>> {
        if !self.equalities.is_empty() {
            self.solve()?;
            return Some(vec![self]);
        }
        self.inequalities = std::mem::take(&mut self.inequalities).into_iter().map(Row::divided).collect();
        if self.inequalities.len() > MOST_ROWS {
            return None;
        }
        let unknowns =
            (0..self.unknowns).filter(|&unknown| self.inequalities.iter().any(|row| row.unknown.uses(unknown)));
        let cost = |&unknown: &usize| {
            let (lower, upper) = sides(&self.inequalities, unknown);
            (!is_exact(unknown, &lower, &upper), lower.len() * upper.len())
        };
        let unknown = unknowns.min_by_key(cost)?;
        let (lower, upper) = sides(&self.inequalities, unknown);
        if is_exact(unknown, &lower, &upper) {
            return Some(vec![self.clone().shadow(unknown, &lower, &upper, false)?]);
        }
        let mut found = self.planes(unknown, &lower, &upper)?;
        found.push(self.clone().shadow(unknown, &lower, &upper, true)?);
        Some(found)
    }

    /// The constraints that each pair of a lower and an upper bound of an unknown leaves; in the dark shadow, with room for an integer
    /// between.
    fn shadow(mut self, unknown: usize, lower: &[&Row], upper: &[&Row], dark: bool) -> Option<Elimination> {
        self.inequalities.retain(|row| !row.unknown.uses(unknown));
        for low in lower {
            for high in upper {
                let row = if dark { in_the_dark(unknown, low, high) } else { self.between(unknown, low, high) };
                self.inequalities.push(row?);
            }
        }
        Some(self)
    }

    /// The values of an unknown close to a lower bound, which the dark shadow may miss.
    fn planes(&self, unknown: usize, lower: &[&Row], upper: &[&Row]) -> Option<Vec<Elimination>> {
        let a = upper.iter().map(|row| i128::from(row.unknown.factor(unknown)).abs()).max()?;
        let mut found = Vec::new();
        for low in lower {
            let b = i128::from(low.unknown.factor(unknown));
            let last = (a * b - a - b).div_euclid(a);
            if last >= MOST_PIECES as i128 {
                return None;
            }
            for plane in 0..=i64::try_from(last).ok()? {
                let mut piece = self.clone();
                piece.equalities.push(Row { known: low.known.shifted(-plane)?, unknown: low.unknown.clone() });
                found.push(piece);
            }
        }
        Some(found)
    }

    /// The constraint that two bounds of an unknown leave on everything else.
    fn between(&mut self, unknown: usize, low: &Row, high: &Row) -> Option<Row> {
        let (b, a) = (low.unknown.factor(unknown), high.unknown.factor(unknown).checked_neg()?);
        if a == 1 || b == 1 {
            return low.combined(a, high, b);
        }
        // b x + e >= 0 and f - a x >= 0: x is -floor(e/b) or more, and floor(f/a) or less.
        let known = self.piece.floor(&low.known, b)?.plus(&self.piece.floor(&high.known, a)?)?;
        Some(Row { known, unknown: Affine::default() })
    }
}

/// The lower and upper bounds of an unknown.
fn sides(rows: &[Row], unknown: usize) -> (Vec<&Row>, Vec<&Row>) {
    rows.iter().filter(|row| row.unknown.uses(unknown)).partition(|row| row.unknown.factor(unknown) > 0)
}

/// Two bounds with room between them for an integer.
fn in_the_dark(unknown: usize, low: &Row, high: &Row) -> Option<Row> {
    let (b, a) = (low.unknown.factor(unknown), high.unknown.factor(unknown).checked_neg()?);
    let row = low.combined(a, high, b)?;
    let room = (a - 1).checked_mul(b - 1)?;
    Some(Row { known: row.known.shifted(room.checked_neg()?)?, unknown: row.unknown })
}

/// True if comparing every lower bound with every upper one is an exact elimination of an unknown: one of the two has the factor 1,
/// or neither has another unknown, so that quotients can be compared.
fn is_exact(unknown: usize, lower: &[&Row], upper: &[&Row]) -> bool {
    let is_unit = |row: &Row| row.unknown.factor(unknown).unsigned_abs() == 1;
    let pair =
        |low: &Row, high: &Row| is_unit(low) || is_unit(high) || (low.has_only(unknown) && high.has_only(unknown));
    lower.iter().all(|low| upper.iter().all(|high| pair(low, high)))
}
