//! Unions by fewer pieces.
//!
//! The constraints of each of two pieces that hold of the other make a piece around both. If all of its points are in one of the two,
//! it takes their place (Verdoolaege, *Integer set coalescing*, IMPACT 2015, has the cases; here one difference decides all of them).
//!
//! ```text
//! { 0 <= i < j } or { i = j, i >= 0 }         { 0 <= i <= j }
//! { i mod 2 = 0 } or { i mod 2 = 1 }          { }
//! { 0 <= i < 9 } or { 2 <= i < 5 }            { 0 <= i < 9 }
//! ```

use crate::affine::Affine;
use crate::disjoint::without;
use crate::piece::{Constraint, Piece, Relation};
use crate::set::Set;

/// Unions of more pieces stay as they are: the work grows with the square of their number.
const MOST_PIECES: usize = 48;

impl Set {
    /// The same points by fewer pieces, if some are neighbors or lie in others.
    ///
    /// ```
    /// use lacunar_sets::Set;
    /// let set: Set = "{ [i, j] : 0 <= i < j or (i = j and i >= 0) }".parse().unwrap();
    /// assert_eq!(set.coalesced().to_string(), "{ [i, j] : 0 <= i <= j }");
    /// ```
    pub fn coalesced(&self) -> Set {
        let mut pieces = self.simplified().pieces().to_vec();
        let mut first = 0;
        while first < pieces.len() && pieces.len() <= MOST_PIECES {
            let joined =
                (first + 1..pieces.len()).find_map(|second| Some((second, join(&pieces[first], &pieces[second])?)));
            match joined {
                // A piece that grew may have new neighbors before it.
                Some((second, piece)) => {
                    pieces.remove(second);
                    pieces[first] = piece;
                    first = 0;
                }
                None => first += 1,
            }
        }
        // A join has the points of two pieces and no others, so that it meets the same pieces as those.
        self.with_pieces(pieces)
    }
}

/// The piece that has the points of both and no others, if there is one.
fn join(a: &Piece, b: &Piece) -> Option<Piece> {
    let identity: Vec<Affine> = (0..a.outer()).map(Affine::variable).collect();
    let second = b.pulled(&a.unconstrained(), &identity)?;
    let mut first = second.unconstrained();
    a.constraints().for_each(|constraint| first.constrain(constraint));
    let mut around = second.unconstrained();
    for (from, of) in [(&first, &second), (&second, &first)] {
        for constraint in from.constraints().flat_map(halves) {
            if of.implies(&constraint).is_yes() {
                around.constrain(constraint);
            }
        }
    }
    let around = around.simplified()?;
    let outside = without(vec![around.clone()], &[a.clone(), b.clone()])?;
    outside.iter().all(|piece| piece.is_empty().is_yes()).then_some(around)
}

/// An equality as two inequalities, of which one may hold of more points.
fn halves(constraint: Constraint) -> Vec<Constraint> {
    let at_least = |form: Affine| Constraint { relation: Relation::AtLeast, form };
    match (constraint.relation, constraint.form.negated()) {
        (Relation::Equal, Some(negated)) => vec![at_least(constraint.form), at_least(negated)],
        _ => vec![constraint],
    }
}
