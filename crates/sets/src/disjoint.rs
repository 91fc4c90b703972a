//! A union as pieces of which no two have a point in common, so that each can be a loop nest of its own.
//!
//! ```text
//! { 0 <= i < 6 } or { 4 <= i < 9 }      { 0 <= i < 6 },  { 4 <= i < 9, i >= 6 }
//! ```

use crate::piece::Piece;
use crate::set::Set;

impl Set {
    /// The same points, each in one piece. `None` if that can't be told, or needs too many pieces.
    ///
    /// ```
    /// use lacunar_sets::Set;
    /// let set: Set = "{ [i] : 0 <= i < 6 or 4 <= i < 9 }".parse().unwrap();
    /// let pieces = set.disjoint().unwrap();
    /// let holding = |at: i64| pieces.pieces().iter().filter(|piece| piece.contains(&[], &[at]) == Some(true)).count();
    /// assert_eq!((holding(5), holding(8), holding(9)), (1, 1, 0));
    /// ```
    pub fn disjoint(&self) -> Option<Set> {
        if self.is_disjoint() {
            return Some(self.clone());
        }
        let mut done: Vec<Piece> = Vec::new();
        for piece in self.pieces() {
            done.extend(without(vec![piece.clone()], &done.clone())?);
        }
        Some(Set::of_disjoint(self.space().clone(), done).simplified())
    }
}

/// A difference of more pieces is not taken: each of them would be compared with all that follow.
const MOST_PARTS: usize = 256;

/// The points of pieces that are in none of others. Pieces that have no point in common stay so. `None` if that takes too many pieces, or
/// a number does not fit.
pub(crate) fn without(mut pieces: Vec<Piece>, others: &[Piece]) -> Option<Vec<Piece>> {
    for other in others {
        let mut left = Vec::with_capacity(pieces.len());
        for piece in pieces {
            left.extend(piece.subtract(other)?);
        }
        pieces = left;
        if pieces.len() > MOST_PARTS {
            return None;
        }
    }
    Some(pieces)
}
