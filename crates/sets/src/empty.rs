//! Tells if a piece has a point: the Omega test of Pugh (CACM 1992).
//!
//! Parameters, dimensions and divisions are all unknowns here; a division `q = floor(e/c)` is the two inequalities
//! `0 <= e - c q < c`. Equalities are solved first, each for an unknown, if need be by a new one (§2.2 of the paper). Then unknowns are
//! eliminated from inequalities, by Fourier and Motzkin: if all lower or all upper bounds of an unknown have the factor 1, that is exact.
//! Elsewhere the *real shadow* tells that there is no point, the *dark shadow* that there is one, and between the two the *gray* one is
//! searched, plane by plane (§2.3).
//!
//! ```text
//! 2 x = 1                      no: 2 does not divide 1
//! i <= j <= k < i              no: by transitivity
//! 3 x >= 4, 3 x <= 5           no: real shadow 4 <= 5, dark shadow empty, planes 3 x = 4 and 3 x = 5 empty
//! ```
//!
//! The work is bounded; a question that takes too long, or has too large numbers, is [`Answer::Unknown`].

use crate::affine::Affine;
use crate::answer::Answer;
use crate::piece::{Constraint, Piece};
use crate::rows;

/// The number of rows that one question may make.
const MOST_WORK: usize = 20_000;

/// The depth to which gray shadows are searched inside each other.
const MOST_DEPTH: usize = 12;

impl Piece {
    /// Yes if it has no point, for any value of the parameters.
    ///
    /// ```
    /// use lacunar_sets::{Affine, Answer, Piece};
    /// let mut odd = Piece::universe(0, 2);
    /// odd.equal(Affine::new([2, -4], 1)); // 2 i - 4 j + 1 = 0
    /// assert_eq!(odd.is_empty(), Answer::Yes);
    /// ```
    pub fn is_empty(&self) -> Answer {
        match System::of(self) {
            Some(system) => system.has_point(&mut Work { left: MOST_WORK, depth: 0 }).opposite(),
            None => Answer::Unknown,
        }
    }

    /// Yes if a constraint over its columns holds at all of its points.
    pub fn implies(&self, constraint: &Constraint) -> Answer {
        let Some(opposites) = constraint.opposites() else { return Answer::Unknown };
        Answer::all(opposites.into_iter().map(|opposite| {
            let mut without = self.clone();
            without.constrain(opposite);
            without.is_empty()
        }))
    }
}

/// The rest of the work that a question may take.
struct Work {
    left: usize,
    depth: usize,
}

impl Work {
    /// Takes some of it. False if there is not so much left.
    fn take(&mut self, amount: usize) -> bool {
        let enough = amount <= self.left;
        self.left = self.left.saturating_sub(amount);
        enough
    }
}

/// Constraints over unknowns.
#[derive(Clone)]
struct System {
    /// The number of unknowns.
    width: usize,
    equalities: Vec<Affine>,
    inequalities: Vec<Affine>,
}

/// The next step with the unknowns.
enum Choice {
    /// One is bounded on one side at most.
    Drop(usize),
    /// One is eliminated exactly by Fourier and Motzkin.
    Exact(usize),
    /// No unknown can be; this one makes the fewest rows.
    Inexact(usize),
}

impl System {
    fn of(piece: &Piece) -> Option<System> {
        let mut inequalities = piece.inequalities().to_vec();
        for (place, div) in piece.divs().iter().enumerate() {
            let rest =
                div.numerator.combined(1, &Affine::variable(piece.outer() + place), div.denominator.checked_neg()?)?;
            inequalities.push(rest.negated()?.shifted(div.denominator - 1)?);
            inequalities.push(rest);
        }
        Some(System { width: piece.columns(), equalities: piece.equalities().to_vec(), inequalities })
    }

    /// Yes if the constraints hold for some integers.
    fn has_point(mut self, work: &mut Work) -> Answer {
        loop {
            if !rows::tidy(&mut self.equalities, &mut self.inequalities) {
                return Answer::No;
            }
            if !work.take(1 + self.equalities.len() + self.inequalities.len()) {
                return Answer::Unknown;
            }
            if let Some(row) = self.equalities.pop() {
                if self.solve(row).is_none() {
                    return Answer::Unknown;
                }
                continue;
            }
            let next = match self.choose() {
                None => return Answer::Yes,
                Some(Choice::Drop(column)) => {
                    self.inequalities.retain(|row| !row.uses(column));
                    continue;
                }
                Some(Choice::Exact(column)) => self.shadow(column, false, work),
                Some(Choice::Inexact(column)) => return self.search(column, work),
            };
            match next {
                Some(next) => self = next,
                None => return Answer::Unknown,
            }
        }
    }

    /// Solves a tidy equality for an unknown, and replaces that everywhere.
    fn solve(&mut self, row: Affine) -> Option<()> {
        let (column, factor) = row.terms().min_by_key(|(_, factor)| factor.unsigned_abs())?;
        if factor.unsigned_abs() == 1 {
            // factor x + rest = 0, so x = -factor rest.
            let value = row.without(column).times(factor.checked_neg()?)?;
            return self.replace(column, &value);
        }
        // With m = |factor| + 1, the unknown s of m s = sum of (a mod^ m) x takes its place; the factors of the row become smaller.
        let modulus = factor.checked_abs()?.checked_add(1)?;
        let sign = factor.signum();
        let symmetric: Vec<i64> = row.factors().iter().map(|&a| centered(a, modulus)).collect();
        let rest = Affine::new(symmetric, centered(row.offset(), modulus)).without(column).times(sign)?;
        let fresh = Affine::term(self.width, modulus.checked_mul(sign)?.checked_neg()?);
        self.width += 1;
        let value = rest.plus(&fresh)?;
        self.equalities.push(row);
        self.replace(column, &value)
    }

    fn replace(&mut self, column: usize, value: &Affine) -> Option<()> {
        for row in self.equalities.iter_mut().chain(&mut self.inequalities) {
            *row = row.substituted(column, value)?;
        }
        Some(())
    }

    /// The unknown to be eliminated next; `None` if none is left.
    fn choose(&self) -> Option<Choice> {
        let mut best: Option<(bool, i128, usize)> = None;
        for column in 0..self.width {
            let factors = || self.inequalities.iter().map(|row| row.factor(column));
            let lower = factors().filter(|&factor| factor > 0).count();
            let upper = factors().filter(|&factor| factor < 0).count();
            if lower + upper == 0 {
                continue;
            }
            if lower == 0 || upper == 0 {
                return Some(Choice::Drop(column));
            }
            let exact = factors().all(|factor| factor <= 1) || factors().all(|factor| factor >= -1);
            let rows = (lower * upper) as i128 - (lower + upper) as i128;
            let candidate = (!exact, rows, column);
            if best.is_none_or(|best| candidate < best) {
                best = Some(candidate);
            }
        }
        best.map(|(inexact, _, column)| if inexact { Choice::Inexact(column) } else { Choice::Exact(column) })
    }

    /// The constraints without an unknown: each lower bound against each upper one. The dark shadow leaves room for an integer between.
    fn shadow(&self, column: usize, dark: bool, work: &mut Work) -> Option<System> {
        let mut next = System { inequalities: Vec::new(), ..self.clone() };
        let uses = |row: &&Affine| row.uses(column);
        next.inequalities.extend(self.inequalities.iter().filter(|row| !uses(row)).cloned());
        let (lower, upper): (Vec<&Affine>, Vec<&Affine>) =
            self.inequalities.iter().filter(uses).partition(|row| row.factor(column) > 0);
        if !work.take(lower.len() * upper.len()) {
            return None;
        }
        for low in &lower {
            for high in &upper {
                let (b, a) = (low.factor(column), high.factor(column).checked_neg()?);
                let row = low.combined(a, high, b)?;
                let room = if dark { (a - 1).checked_mul(b - 1)? } else { 0 };
                next.inequalities.push(row.shifted(room.checked_neg()?)?);
            }
        }
        Some(next)
    }

    /// Eliminates an unknown that has factors other than 1 on both sides.
    fn search(&self, column: usize, work: &mut Work) -> Answer {
        if work.depth >= MOST_DEPTH {
            return Answer::Unknown;
        }
        work.depth += 1;
        let answer = self.search_shadows(column, work);
        work.depth -= 1;
        answer
    }

    fn search_shadows(&self, column: usize, work: &mut Work) -> Answer {
        let real = self.shadow(column, false, work).map_or(Answer::Unknown, |system| system.has_point(work));
        if real.is_no() {
            return Answer::No;
        }
        let dark = self.shadow(column, true, work).map_or(Answer::Unknown, |system| system.has_point(work));
        if dark.is_yes() {
            return Answer::Yes;
        }
        let factors = || self.inequalities.iter().map(|row| i128::from(row.factor(column)));
        let Some(a) = factors().map(|factor| -factor).max() else { return Answer::Unknown };
        let mut found = dark;
        for low in self.inequalities.iter().filter(|row| row.factor(column) > 0) {
            let b = i128::from(low.factor(column));
            let planes = (a * b - a - b).div_euclid(a);
            for plane in 0..=planes {
                let row = i64::try_from(-plane).ok().and_then(|plane| low.shifted(plane));
                let Some(row) = row.filter(|_| work.take(1)) else { return Answer::Unknown };
                let mut system = self.clone();
                system.equalities.push(row);
                match system.has_point(work) {
                    Answer::Yes => return Answer::Yes,
                    Answer::Unknown => found = Answer::Unknown,
                    Answer::No => {}
                }
            }
        }
        found
    }
}

/// The rest of a division that is nearest to 0: `a - m floor(a/m + 1/2)`.
fn centered(a: i64, modulus: i64) -> i64 {
    let rest = a.rem_euclid(modulus);
    if rest > (modulus - 1) / 2 { rest - modulus } else { rest }
}
