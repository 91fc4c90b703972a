//! The points of one piece that are not in another, as pieces of which no two have a point in common.
//!
//! The constraints of the other piece are taken one after the other: points that break it, and none before it, are a piece
//! (Verdoolaege, *isl*, ICMS 2010, §3). Divisions are functions of points, so that they are in both sides alike.
//!
//! ```text
//! { 0 <= i < 10 } - { 3 <= i <= 5 }      { 0 <= i < 10, i < 3 },  { 0 <= i < 10, 3 <= i, i > 5 }
//! ```

use crate::affine::Affine;
use crate::piece::Piece;

impl Piece {
    /// The points of this piece that are not in another. `None` if a number does not fit.
    pub fn subtract(&self, other: &Piece) -> Option<Vec<Piece>> {
        if (self.params(), self.dims()) != (other.params(), other.dims()) {
            return None;
        }
        let identity: Vec<Affine> = (0..self.outer()).map(Affine::variable).collect();
        let Some(taken) = other.pulled(&self.unconstrained(), &identity)?.tidied() else {
            return Some(vec![self.clone()]);
        };
        let mut rest = taken.unconstrained();
        self.constraints().for_each(|constraint| rest.constrain(constraint));
        let mut found = Vec::new();
        for constraint in taken.constraints() {
            for opposite in constraint.opposites()? {
                let mut part = rest.clone();
                part.constrain(opposite);
                if let Some(mut part) = part.tidied().filter(|part| !part.is_empty().is_yes()) {
                    part.compact(&mut []);
                    found.push(part);
                }
            }
            rest.constrain(constraint);
        }
        Some(found)
    }
}
