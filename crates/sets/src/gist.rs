//! Constraints that say nothing new.
//!
//! The *gist* of a piece in a context is the constraints that it adds to the context (Pugh and Wonnacott, *Going beyond integer
//! programming with the Omega test*, 1993). A constraint that cannot be told to follow stays, so that the meaning never changes.
//!
//! ```text
//! { 0 <= i <= j < n } given { 0 <= i < n, 0 <= j < n }      { i <= j }
//! ```

use crate::affine::Affine;
use crate::piece::{Constraint, Piece};
use crate::set::Set;

impl Piece {
    /// The constraints that do not follow from a context and each other: in the context, the points are the same.
    ///
    /// ```
    /// use lacunar_sets::Set;
    /// let of = |text: &str| text.parse::<Set>().unwrap();
    /// let triangle = of("[n] -> { [i, j] : 0 <= i <= j < n }");
    /// let square = of("[n] -> { [i, j] : 0 <= i < n and 0 <= j < n }");
    /// assert_eq!(triangle.gist(&square).to_string(), "[n] -> { [i, j] : i <= j }");
    /// ```
    pub fn gist(&self, context: &Piece) -> Piece {
        let identity: Vec<Affine> = (0..self.outer()).map(Affine::variable).collect();
        let Some(base) = context.pulled(&self.unconstrained(), &identity) else { return self.clone() };
        let mut kept: Vec<Constraint> = self.constraints().collect();
        // If either of two constraints says the same together with the others, the one with fewer divisions stays.
        kept.sort_by_key(|constraint| constraint.form.terms().filter(|(column, _)| *column >= self.outer()).count());
        for place in (0..kept.len()).rev() {
            let mut others = base.clone();
            for (_, constraint) in kept.iter().enumerate().filter(|&(other, _)| other != place) {
                others.constrain(constraint.clone());
            }
            if others.implies(&kept[place]).is_yes() {
                kept.remove(place);
            }
        }
        let mut gist = self.unconstrained();
        kept.into_iter().for_each(|constraint| gist.constrain(constraint));
        gist.compact(&mut []);
        gist
    }

    /// The same points by fewer and simpler constraints; `None` if there is none for certain.
    pub fn simplified(&self) -> Option<Piece> {
        let tidy = self.tidied().filter(|piece| !piece.is_empty().is_yes())?;
        Some(tidy.gist(&Piece::universe(self.params(), self.dims())))
    }
}

impl Set {
    /// The constraints of each piece besides those of a context of one piece. A context of several is too weak to leave
    /// anything out. The points may differ outside of the context, and pieces may meet there.
    pub fn gist(&self, context: &Set) -> Set {
        let [only] = context.pieces() else { return self.clone() };
        if !self.space().is_like(context.space()) {
            return self.clone();
        }
        self.with_pieces(self.pieces().iter().map(|piece| piece.gist(only)).collect())
    }

    /// The same points, each piece by fewer and simpler constraints, without those that have no point.
    pub fn simplified(&self) -> Set {
        let pieces = self.pieces().iter().filter_map(Piece::simplified).collect();
        self.with_pieces(pieces)
    }
}
