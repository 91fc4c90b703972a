//! Pieces: the integer points that satisfy affine constraints.
//!
//! The columns of a piece are numbered: first its parameters, then its dimensions, then its divisions ([`Div`]). The numerator of a
//! division uses columns before it alone, so that its value follows from a point, and a constraint may use it like any other column.
//! So `i mod 2 = 0` is `i - 2 q = 0` with the division `q = floor(i/2)`.
//!
//! Pieces are made by adding constraints, which are kept as they come; [`Piece::tidied`] simplifies them.
//!
//! ```
//! use lacunar_sets::{Affine, Piece};
//! // Of one parameter n (column 0) and a dimension i (column 1): 0 <= i < n, and i is even.
//! let mut even = Piece::universe(1, 1);
//! even.at_least(Affine::variable(1));
//! even.at_least(Affine::new([1, -1], -1));
//! let half = even.floor(&Affine::variable(1), 2).unwrap();
//! even.equal(Affine::variable(1).combined(1, &half, -2).unwrap());
//! assert_eq!(even.contains(&[5], &[4]), Some(true));
//! assert_eq!(even.contains(&[5], &[3]), Some(false));
//! ```

use crate::affine::{Affine, gcd};
use crate::rows;

/// A rounded quotient: `floor(numerator / denominator)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Div {
    /// The form that is divided, over columns before this one.
    pub numerator: Affine,
    /// The positive number that it is divided by.
    pub denominator: i64,
}

/// The comparison of a constraint's form with 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// It is 0.
    Equal,
    /// It is 0 or more.
    AtLeast,
}

/// One constraint of a piece.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Constraint {
    /// The comparison.
    pub relation: Relation,
    /// The form that is compared with 0.
    pub form: Affine,
}

impl Constraint {
    /// The constraints of which one holds where this one does not, and of which no two hold together. `None` if a number does not fit.
    pub fn opposites(&self) -> Option<Vec<Constraint>> {
        let at_least = |form: Affine| Constraint { relation: Relation::AtLeast, form };
        let below = at_least(self.form.negated()?.shifted(-1)?);
        Some(match self.relation {
            Relation::AtLeast => vec![below],
            Relation::Equal => vec![below, at_least(self.form.shifted(-1)?)],
        })
    }
}

/// The points of some dimensions that constraints leave, for each value of some parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    params: usize,
    dims: usize,
    divs: Vec<Div>,
    equalities: Vec<Affine>,
    inequalities: Vec<Affine>,
}

impl Piece {
    /// All points.
    pub fn universe(params: usize, dims: usize) -> Piece {
        Piece { params, dims, divs: Vec::new(), equalities: Vec::new(), inequalities: Vec::new() }
    }

    /// The number of parameters.
    pub fn params(&self) -> usize {
        self.params
    }

    /// The number of dimensions.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// The number of parameters and dimensions, which is the column of the first division.
    pub fn outer(&self) -> usize {
        self.params + self.dims
    }

    /// The number of all columns.
    pub fn columns(&self) -> usize {
        self.outer() + self.divs.len()
    }

    /// The column of a dimension.
    pub fn column(&self, dim: usize) -> usize {
        self.params + dim
    }

    /// The divisions, in the order of their columns.
    pub fn divs(&self) -> &[Div] {
        &self.divs
    }

    /// The forms that are 0.
    pub fn equalities(&self) -> &[Affine] {
        &self.equalities
    }

    /// The forms that are 0 or more.
    pub fn inequalities(&self) -> &[Affine] {
        &self.inequalities
    }

    /// All constraints, equalities first.
    pub fn constraints(&self) -> impl Iterator<Item = Constraint> + '_ {
        let equal = self.equalities.iter().map(|form| Constraint { relation: Relation::Equal, form: form.clone() });
        let rest = self.inequalities.iter().map(|form| Constraint { relation: Relation::AtLeast, form: form.clone() });
        equal.chain(rest)
    }

    /// Leaves points where a form is 0.
    pub fn equal(&mut self, form: Affine) {
        self.equalities.push(form);
    }

    /// Leaves points where a form is 0 or more.
    pub fn at_least(&mut self, form: Affine) {
        self.inequalities.push(form);
    }

    /// Leaves points where a constraint holds.
    pub fn constrain(&mut self, constraint: Constraint) {
        match constraint.relation {
            Relation::Equal => self.equal(constraint.form),
            Relation::AtLeast => self.at_least(constraint.form),
        }
    }

    /// A form that is `numerator / denominator`, rounded down. It has a new division where none has it yet. `None` if a number does not
    /// fit, or if the denominator is not positive.
    pub fn floor(&mut self, numerator: &Affine, denominator: i64) -> Option<Affine> {
        if denominator <= 0 {
            return None;
        }
        // Multiples of the denominator need not be rounded: floor((5 i + 7)/3) = i + 2 + floor((2 i + 1)/3).
        let part = |split: fn(i64, i64) -> i64| {
            let factors: Vec<i64> = numerator.factors().iter().map(|&factor| split(factor, denominator)).collect();
            Affine::new(factors, split(numerator.offset(), denominator))
        };
        let (whole, rest) = (part(i64::div_euclid), part(i64::rem_euclid));
        if rest.is_constant() {
            return Some(whole);
        }
        let common = gcd(rest.content(), denominator.unsigned_abs());
        let div = Div { numerator: rest.divided(common), denominator: denominator / i64::try_from(common).ok()? };
        if div.denominator == 1 {
            return whole.plus(&div.numerator);
        }
        let known = self.divs.iter().position(|other| *other == div);
        let place = known.unwrap_or_else(|| {
            self.divs.push(div);
            self.divs.len() - 1
        });
        whole.plus(&Affine::variable(self.outer() + place))
    }

    /// A form that is the remainder of another by a number: from 0 up to that number.
    pub fn modulo(&mut self, form: &Affine, by: i64) -> Option<Affine> {
        let quotient = self.floor(form, by)?;
        form.combined(1, &quotient, by.checked_neg()?)
    }

    /// The values of all columns at a point. `None` if a number does not fit, or if the point has other numbers of values.
    pub fn values(&self, params: &[i64], point: &[i64]) -> Option<Vec<i64>> {
        if params.len() != self.params || point.len() != self.dims {
            return None;
        }
        let mut values = [params, point].concat();
        for div in &self.divs {
            values.push(div.numerator.at(&values)?.div_euclid(div.denominator));
        }
        Some(values)
    }

    /// True if a point is in it. `None` if a number does not fit.
    pub fn contains(&self, params: &[i64], point: &[i64]) -> Option<bool> {
        let values = self.values(params, point)?;
        for form in &self.equalities {
            if form.at(&values)? != 0 {
                return Some(false);
            }
        }
        for form in &self.inequalities {
            if form.at(&values)? < 0 {
                return Some(false);
            }
        }
        Some(true)
    }

    /// The points of `onto` at which `columns` come to a point of this piece: it has a form over the columns of `onto` for each parameter
    /// and dimension of this piece. Divisions of `onto` keep their columns.
    ///
    /// ```
    /// use lacunar_sets::{Affine, Piece};
    /// let mut positive = Piece::universe(0, 1);
    /// positive.at_least(Affine::new([1], -1));
    /// let shifted = positive.pulled(&Piece::universe(0, 2), &[Affine::new([1, -1], 0)]).unwrap();
    /// assert_eq!(shifted.contains(&[], &[5, 4]), Some(true)); // i - j >= 1
    /// ```
    pub fn pulled(&self, onto: &Piece, columns: &[Affine]) -> Option<Piece> {
        if columns.len() != self.outer() {
            return None;
        }
        let mut result = onto.clone();
        let mut forms = columns.to_vec();
        for div in &self.divs {
            let numerator = div.numerator.mapped(&forms)?;
            forms.push(result.floor(&numerator, div.denominator)?);
        }
        for form in &self.equalities {
            result.equal(form.mapped(&forms)?);
        }
        for form in &self.inequalities {
            result.at_least(form.mapped(&forms)?);
        }
        Some(result)
    }

    /// The points of both. Columns of this piece keep their numbers.
    pub fn intersect(&self, other: &Piece) -> Option<Piece> {
        let identity: Vec<Affine> = (0..self.outer()).map(Affine::variable).collect();
        if (self.params, self.dims) != (other.params, other.dims) {
            return None;
        }
        other.pulled(self, &identity)
    }

    /// The same points with simpler constraints, and their columns; `None` if these can be seen never to hold.
    pub fn tidied(&self) -> Option<Piece> {
        let mut piece = self.clone();
        if !rows::tidy(&mut piece.equalities, &mut piece.inequalities) {
            return None;
        }
        let rounded =
            |form: &Affine| (self.outer()..self.columns()).any(|column| form.factor(column).unsigned_abs() == 1);
        if !piece.equalities.iter().chain(&piece.inequalities).any(rounded) {
            return Some(piece);
        }
        piece.unround();
        rows::tidy(&mut piece.equalities, &mut piece.inequalities).then_some(piece)
    }

    /// Writes constraints on a division by itself as constraints on its numerator: `floor(e/3) >= k` is `e >= 3 k`, and
    /// `floor(e/3) <= k` is `e <= 3 k + 2`. Constraints that would not fit stay.
    fn unround(&mut self) {
        for place in (0..self.divs.len()).rev() {
            let column = self.outer() + place;
            let (equal, equalities): (Vec<Affine>, Vec<Affine>) = std::mem::take(&mut self.equalities)
                .into_iter()
                .partition(|form| form.factor(column).unsigned_abs() == 1);
            self.equalities = equalities;
            for form in equal {
                match (self.unrounded(&form, place), form.negated().and_then(|form| self.unrounded(&form, place))) {
                    (Some(low), Some(high)) => self.inequalities.extend([low, high]),
                    _ => self.equalities.push(form),
                }
            }
            for at in 0..self.inequalities.len() {
                if let Some(form) = self.unrounded(&self.inequalities[at], place) {
                    self.inequalities[at] = form;
                }
            }
        }
    }

    /// The inequality `form >= 0` without a division that it has once.
    fn unrounded(&self, form: &Affine, place: usize) -> Option<Affine> {
        let (column, div) = (self.outer() + place, self.divs.get(place)?);
        let rest = form.without(column);
        match form.factor(column) {
            1 => div.numerator.combined(1, &rest, div.denominator),
            -1 => rest.combined(div.denominator, &div.numerator, -1)?.shifted(div.denominator - 1),
            _ => None,
        }
    }

    /// Leaves out divisions that neither a constraint nor one of `forms` uses, and renumbers the columns of all.
    pub fn compact(&mut self, forms: &mut [Affine]) {
        for place in (0..self.divs.len()).rev() {
            let column = self.outer() + place;
            let used = self.forms().chain(forms.iter()).any(|form| form.uses(column));
            if used {
                continue;
            }
            self.divs.remove(place);
            let numerators = self.divs.iter_mut().map(|div| &mut div.numerator);
            let rows = self.equalities.iter_mut().chain(&mut self.inequalities).chain(forms.iter_mut());
            for form in numerators.chain(rows) {
                if form.factors().len() > column {
                    let mut factors = form.factors().to_vec();
                    factors.remove(column);
                    *form = Affine::new(factors, form.offset());
                }
            }
        }
    }

    /// The same piece without constraints: all points, with the same divisions.
    pub(crate) fn unconstrained(&self) -> Piece {
        Piece { equalities: Vec::new(), inequalities: Vec::new(), ..self.clone() }
    }

    /// All forms that use columns: those of constraints and the numerators of divisions.
    fn forms(&self) -> impl Iterator<Item = &Affine> {
        let numerators = self.divs.iter().map(|div| &div.numerator);
        numerators.chain(&self.equalities).chain(&self.inequalities)
    }
}
