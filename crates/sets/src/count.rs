//! The number of points of a set, as polynomials of its parameters.
//!
//! Dimensions are summed over from the last to the first. Each runs from one lower bound to one upper bound; where it has several, the
//! points before it are cut into cases, in each of which one of them is the greatest, or the least. The sum of a polynomial between affine
//! bounds is a polynomial again (Faulhaber). The projection of a piece has exactly those points before it for which the range is not empty,
//! so that an empty range never counts as negative.
//!
//! ```text
//! { [i, j] : 0 <= i <= j < n }       n^2/2 + n/2, for n >= 1
//! ```
//!
//! Bounds that are rounded are counted where they are numbers, and strides likewise; a set whose count would be no polynomial
//! (`floor(n/2)` points) has none here.

use crate::affine::Affine;
use crate::bounds::{Bound, Level};
use crate::piece::Piece;
use crate::polynomial::Polynomial;
use crate::set::{Set, Space};

/// The number of a set's points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// For each condition on parameters the number that is added where it holds. Conditions may overlap; where none holds there is no
    /// point.
    pub cases: Vec<(Piece, Polynomial)>,
}

impl Count {
    /// The number for given parameters. `None` if it does not fit.
    pub fn at(&self, params: &[i64]) -> Option<i128> {
        let mut sum: i128 = 0;
        for (condition, polynomial) in &self.cases {
            if condition.contains(params, &[])? {
                sum = sum.checked_add(polynomial.at(params)?)?;
            }
        }
        Some(sum)
    }
}

impl Set {
    /// The number of its points for each value of the parameters. `None` if a dimension has no end, or the number is no polynomial.
    ///
    /// ```
    /// use lacunar_sets::Set;
    /// let triangle: Set = "[n] -> { [i, j] : 0 <= i <= j < n }".parse().unwrap();
    /// let count = triangle.count().unwrap();
    /// assert_eq!(count.cases[0].1.text(&["n".to_string()]), "1/2 n^2 + 1/2 n");
    /// assert_eq!((count.at(&[4]), count.at(&[0])), (Some(10), Some(0)));
    /// ```
    pub fn count(&self) -> Option<Count> {
        let mut cases = Vec::new();
        for piece in self.disjoint()?.pieces() {
            sum(piece, Polynomial::constant(1), &mut cases)?;
        }
        Some(Count { cases: merged(cases)? })
    }
}

/// Adds up polynomials with the same condition.
fn merged(cases: Vec<(Piece, Polynomial)>) -> Option<Vec<(Piece, Polynomial)>> {
    let mut merged: Vec<(Piece, Polynomial)> = Vec::new();
    for (condition, polynomial) in cases {
        match merged.iter_mut().find(|(other, _)| *other == condition) {
            Some((_, sum)) => *sum = sum.plus(&polynomial)?,
            None => merged.push((condition, polynomial)),
        }
    }
    Some(merged)
}

/// The sum of a polynomial over the points of a piece.
fn sum(piece: &Piece, weight: Polynomial, cases: &mut Vec<(Piece, Polynomial)>) -> Option<()> {
    let Some(piece) = piece.simplified() else { return Some(()) };
    let Some(dim) = piece.dims().checked_sub(1) else {
        cases.push((piece, weight));
        return Some(());
    };
    let outer = Set::of_pieces(Space::unnamed(piece.params(), dim), piece.project_out(&[dim])?).disjoint()?;
    for outer in outer.pieces() {
        sum_last(&piece, outer, &weight, cases)?;
    }
    Some(())
}

/// The sum over the last dimension of a piece, then over those points of the others that are in `outer`, which have one.
fn sum_last(piece: &Piece, outer: &Piece, weight: &Polynomial, cases: &mut Vec<(Piece, Polynomial)>) -> Option<()> {
    let column = piece.outer() - 1;
    let level = piece.last_level(outer)?;
    if !level.guards.is_empty() {
        return None;
    }
    if let (Some(low), Some(high)) = (greatest(&level.lower), least(&level.upper)) {
        let weight = between_numbers(weight, column, low, high, &level)?;
        return sum(outer, weight, cases);
    }
    if !level.strides.is_empty() {
        return None;
    }
    let whole = |bound: &Bound| (bound.denominator == 1).then(|| bound.form.clone());
    let is_rounded = |bound: &Bound| bound.form.factors().len() > piece.outer();
    if level.lower.iter().chain(&level.upper).any(is_rounded) {
        return None;
    }
    let lower = level.lower.iter().map(whole).collect::<Option<Vec<_>>>()?;
    let upper = level.upper.iter().map(whole).collect::<Option<Vec<_>>>()?;
    for (low_place, low) in lower.iter().enumerate() {
        for (high_place, high) in upper.iter().enumerate() {
            let mut case = outer.clone();
            is_extreme(&mut case, low_place, &lower, false)?;
            is_extreme(&mut case, high_place, &upper, true)?;
            let weight = weight.summed(column, &Polynomial::of(low), &Polynomial::of(high))?;
            sum(&case, weight, cases)?;
        }
    }
    (!lower.is_empty() && !upper.is_empty()).then_some(())
}

/// The greatest of lower bounds, if all are numbers.
fn greatest(bounds: &[Bound]) -> Option<i64> {
    let rounded = |bound: &Bound| {
        let form = bound.form.is_constant().then_some(bound.form.offset())?;
        form.checked_neg()?.div_euclid(bound.denominator).checked_neg()
    };
    bounds.iter().map(rounded).collect::<Option<Vec<i64>>>()?.into_iter().max()
}

/// The least of upper bounds, if all are numbers.
fn least(bounds: &[Bound]) -> Option<i64> {
    let rounded = |bound: &Bound| bound.form.is_constant().then(|| bound.form.offset().div_euclid(bound.denominator));
    bounds.iter().map(rounded).collect::<Option<Vec<i64>>>()?.into_iter().min()
}

/// Leaves points at which a form is the greatest of several, or the least; the first of those that are alike.
fn is_extreme(case: &mut Piece, place: usize, forms: &[Affine], least: bool) -> Option<()> {
    let chosen = forms.get(place)?;
    for (other, form) in forms.iter().enumerate().filter(|&(other, _)| other != place) {
        let ahead = if least { form.minus(chosen)? } else { chosen.minus(form)? };
        case.at_least(if other < place { ahead.shifted(-1)? } else { ahead });
    }
    Some(())
}

/// The sum of a polynomial over the numbers from `low` to `high` that a level's strides leave.
fn between_numbers(weight: &Polynomial, column: usize, low: i64, high: i64, level: &Level) -> Option<Polynomial> {
    let stride = match level.strides.as_slice() {
        [] => None,
        [stride] if stride.offset.is_constant() => Some(stride),
        _ => return None,
    };
    let (modulus, offset) = stride.map_or((1, 0), |stride| (stride.modulus, stride.offset.offset()));
    let quotient = |bound: i64| bound.checked_sub(offset);
    let first = quotient(low)?.checked_neg()?.div_euclid(modulus).checked_neg()?;
    let last = quotient(high)?.div_euclid(modulus);
    if last < first {
        return Some(Polynomial::default());
    }
    let step = Polynomial::of(&Affine::term(column, modulus).shifted(offset)?);
    let by_step = weight.substituted(column, &step)?;
    by_step.summed(column, &Polynomial::constant(first.into()), &Polynomial::constant(last.into()))
}
