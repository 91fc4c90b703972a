//! Loops that visit the points of a piece in lexicographic order.
//!
//! The bounds of the loop over a dimension are those of the piece's projection onto it and the dimensions before it. Conditions that
//! earlier loops have made sure of are left out. An inequality becomes a bound; an equality a lower and an upper one, which leave one value
//! or none; one with a division `i = e mod m` becomes a stride; all others are guards, tested for each value.
//!
//! ```text
//! { [i, j] : 0 <= i <= j < n }                      i from 0 to n - 1     j from i to n - 1
//! { [i, j] : 0 <= 3 j <= i < 9 }                    i from 0 to 8         j from 0 to floor(i/3)
//! { [i] : 0 <= i < 9 and i mod 2 = 1 }              i from 0 to 8, the remainder by 2 is that of 1
//! ```
//!
//! Paper: Ancourt and Irigoin, *Scanning polyhedra with DO loops* (PPoPP 1991).

use crate::affine::Affine;
use crate::piece::{Constraint, Div, Piece, Relation};
use crate::set::Space;

/// A rounded quotient of a form, `form / denominator`: rounded up as a lower bound, down as an upper one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bound {
    /// The form that is divided.
    pub form: Affine,
    /// The positive number that it is divided by.
    pub denominator: i64,
}

/// Values with one remainder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stride {
    /// The number that is divided by, at least 2.
    pub modulus: i64,
    /// A form that has the same remainder.
    pub offset: Affine,
}

/// The values of a dimension, for given ones of the parameters and the dimensions before it.
///
/// Columns are the parameters, the dimensions up to this one, then `divs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// The divisions that the forms use.
    pub divs: Vec<Div>,
    /// No value is below one of these.
    pub lower: Vec<Bound>,
    /// No value is above one of these.
    pub upper: Vec<Bound>,
    /// Every value has these remainders.
    pub strides: Vec<Stride>,
    /// The other conditions, of this dimension and those before.
    pub guards: Vec<Constraint>,
}

/// Loops over all dimensions of a piece, from the first to the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nest {
    /// The condition of the parameters: a piece without dimensions.
    pub condition: Piece,
    /// The loops.
    pub levels: Vec<Level>,
}

impl Piece {
    /// Loops that visit its points in order. `context` has the known conditions of the parameters: a piece without dimensions.
    /// `None` if a projection can't be told.
    ///
    /// ```
    /// use lacunar_sets::{Affine, Piece, Set};
    /// let triangle: Set = "[n] -> { [i, j] : 0 <= i <= j < n }".parse().unwrap();
    /// let nest = triangle.pieces()[0].nest(&Piece::universe(1, 0)).unwrap();
    /// assert_eq!(nest.levels[1].lower[0].form, Affine::variable(1)); // j from i
    /// ```
    pub fn nest(&self, context: &Piece) -> Option<Nest> {
        let mut projections = vec![self.simplified().unwrap_or_else(|| nothing(self))];
        for dim in (0..self.dims()).rev() {
            let inner = projections.last()?;
            let outer = inner.project_to_one(&Space::unnamed(self.params(), dim), &[dim])?;
            projections.push(outer.simplified().unwrap_or_else(|| nothing(&outer)));
        }
        projections.reverse();
        let condition = projections.first()?.gist(context);
        let mut levels = Vec::new();
        for (outer, inner) in projections.iter().zip(projections.iter().skip(1)) {
            let params: Vec<Affine> = (0..inner.params()).map(Affine::variable).collect();
            levels.push(inner.last_level(&context.pulled(outer, &params)?)?);
        }
        Some(Nest { condition, levels })
    }

    /// The bounds of the piece's last dimension, if `outer` is known of the others.
    pub(crate) fn last_level(&self, outer: &Piece) -> Option<Level> {
        let identity: Vec<Affine> = (0..outer.outer()).map(Affine::variable).collect();
        let known = outer.pulled(&Piece::universe(self.params(), self.dims()), &identity)?;
        Some(level(&self.gist(&known)))
    }
}

/// A piece like another that has no point.
fn nothing(like: &Piece) -> Piece {
    let mut piece = Piece::universe(like.params(), like.dims());
    piece.at_least(Affine::constant(-1));
    piece
}

/// The bounds of a piece's last dimension.
fn level(piece: &Piece) -> Level {
    let column = piece.outer().saturating_sub(1);
    let mut level = Level {
        divs: piece.divs().to_vec(),
        lower: Vec::new(),
        upper: Vec::new(),
        strides: Vec::new(),
        guards: Vec::new(),
    };
    let depends = dependent(piece, column);
    for constraint in piece.constraints() {
        let through_div = constraint.form.terms().any(|(other, _)| other != column && depends[other]);
        let taken = if through_div {
            level.stride(piece, &constraint, column, &depends)
        } else {
            level.bound(&constraint, column)
        };
        if taken.is_none() {
            level.guards.push(constraint);
        }
    }
    if level.lower.is_empty() || level.upper.is_empty() {
        level.bounds_of_guards(piece, column, &depends);
    }
    level
}

/// For each column, true if its value follows from a dimension, among others.
fn dependent(piece: &Piece, column: usize) -> Vec<bool> {
    let mut depends: Vec<bool> = (0..piece.outer()).map(|other| other == column).collect();
    for div in piece.divs() {
        depends.push(div.numerator.terms().any(|(other, _)| depends[other]));
    }
    depends
}

/// An inequality without the divisions that depend on a dimension: `q = floor(e/c)` lies between `(e - c + 1)/c` and `e/c`.
fn relaxed(piece: &Piece, mut form: Affine, depends: &[bool]) -> Option<Affine> {
    for (place, div) in piece.divs().iter().enumerate().rev() {
        let column = piece.outer() + place;
        let factor = form.factor(column);
        if depends[column] && factor != 0 {
            let slack = if factor < 0 { 1 - div.denominator } else { 0 };
            form = form.without(column).combined(div.denominator, &div.numerator.shifted(slack)?, factor)?;
        }
    }
    Some(form)
}

impl Level {
    /// Takes a constraint as a bound, if it says something of the dimension.
    fn bound(&mut self, constraint: &Constraint, column: usize) -> Option<()> {
        let factor = constraint.form.factor(column);
        let rest = constraint.form.without(column);
        // factor x + rest >= 0
        let (form, denominator) = if factor > 0 { (rest.negated()?, factor) } else { (rest, factor.checked_neg()?) };
        if denominator == 0 {
            return None;
        }
        let bound = Bound { form, denominator };
        let is_equal = constraint.relation == Relation::Equal;
        if is_equal || factor > 0 {
            self.lower.push(bound.clone());
        }
        if is_equal || factor < 0 {
            self.upper.push(bound);
        }
        Some(())
    }

    /// Takes the bounds that guards would give the dimension without rounding: weaker ones, where there are no others.
    fn bounds_of_guards(&mut self, piece: &Piece, column: usize, depends: &[bool]) {
        for guard in self.guards.clone() {
            let sides = match guard.relation {
                Relation::AtLeast => vec![Some(guard.form)],
                Relation::Equal => vec![guard.form.negated(), Some(guard.form)],
            };
            for form in sides.into_iter().flatten() {
                if let Some(form) = relaxed(piece, form, depends) {
                    self.bound(&Constraint { relation: Relation::AtLeast, form }, column);
                }
            }
        }
    }

    /// Takes an equality as a stride, if it says of one division that nothing is rounded in it.
    fn stride(&mut self, piece: &Piece, constraint: &Constraint, column: usize, depends: &[bool]) -> Option<()> {
        let sign = constraint.form.factor(column);
        let mut through = constraint.form.terms().filter(|&(other, _)| other != column && depends[other]);
        let (div_column, factor) = through.next()?;
        if constraint.relation != Relation::Equal || sign.unsigned_abs() != 1 || through.next().is_some() {
            return None;
        }
        // x + rest = modulus q, up to signs, where q is floor((x + rest + slack)/modulus) with a slack that is rounded off.
        let form = constraint.form.times(sign)?;
        let modulus = factor.checked_abs()?;
        let div = piece.divs().get(div_column - piece.outer())?;
        let rest = form.without(div_column);
        let slack = div.numerator.minus(&rest)?;
        let rounds_off = slack.is_constant() && (0..modulus).contains(&slack.offset());
        if div.denominator != modulus || factor.signum() * sign != -1 || !rounds_off || modulus < 2 {
            return None;
        }
        self.strides.push(Stride { modulus, offset: rest.without(column).negated()? });
        Some(())
    }
}
