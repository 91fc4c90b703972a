//! Sets: unions of pieces over the same parameters and dimensions.
//!
//! Names of parameters and dimensions are for texts only; sets go together if they have as many of each.
//!
//! ```
//! use lacunar_sets::{Answer, Set};
//! let of = |text: &str| text.parse::<Set>().unwrap();
//! let band = of("[n] -> { [i, j] : 0 <= i < n and 0 <= j < n and i - 1 <= j <= i + 1 }");
//! let upper = of("[n] -> { [i, j] : 0 <= i <= j < n }");
//! let below = band.subtract(&upper).unwrap();
//! assert_eq!(below.equals(&of("[n] -> { [i, j] : j = i - 1 and 1 <= i < n }")), Answer::Yes);
//! assert_eq!(below.is_subset(&band), Answer::Yes);
//! ```

use crate::affine::Affine;
use crate::answer::Answer;
use crate::disjoint::without;
use crate::piece::Piece;

/// The names of parameters and dimensions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Space {
    /// The names of the parameters.
    pub params: Vec<String>,
    /// The names of the dimensions.
    pub dims: Vec<String>,
}

impl Space {
    /// A space with these names.
    pub fn new<P: Into<String>, D: Into<String>>(
        params: impl IntoIterator<Item = P>,
        dims: impl IntoIterator<Item = D>,
    ) -> Space {
        Space { params: params.into_iter().map(Into::into).collect(), dims: dims.into_iter().map(Into::into).collect() }
    }

    /// A space whose names do not matter.
    pub(crate) fn unnamed(params: usize, dims: usize) -> Space {
        let names = |count: usize| (0..count).map(|number| format!("c{number}")).collect();
        Space { params: names(params), dims: names(dims) }
    }

    /// True if another space has as many parameters and dimensions.
    pub fn is_like(&self, other: &Space) -> bool {
        (self.params.len(), self.dims.len()) == (other.params.len(), other.dims.len())
    }

    /// The forms of all parameters and dimensions, in order.
    pub fn identity(&self) -> Vec<Affine> {
        (0..self.params.len() + self.dims.len()).map(Affine::variable).collect()
    }

    /// All points of it, as a piece.
    pub fn universe(&self) -> Piece {
        Piece::universe(self.params.len(), self.dims.len())
    }
}

/// A union of pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    space: Space,
    pieces: Vec<Piece>,
    disjoint: bool,
}

impl Set {
    /// Operations that would make more pieces are given up.
    pub const MOST_PIECES: usize = 2_000;

    /// No point.
    pub fn empty(space: Space) -> Set {
        Set { space, pieces: Vec::new(), disjoint: true }
    }

    /// All points.
    pub fn universe(space: Space) -> Set {
        let piece = space.universe();
        Set { space, pieces: vec![piece], disjoint: true }
    }

    /// The points of one piece.
    pub fn of_piece(space: Space, piece: Piece) -> Set {
        Set::empty(space).filled(vec![piece], true)
    }

    /// The points of pieces, which may meet.
    pub fn of_pieces(space: Space, pieces: Vec<Piece>) -> Set {
        Set::empty(space).filled(pieces, false)
    }

    /// The points of pieces of which no two meet.
    pub(crate) fn of_disjoint(space: Space, pieces: Vec<Piece>) -> Set {
        Set::empty(space).filled(pieces, true)
    }

    /// The names of parameters and dimensions.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The same points by other names; a space with other numbers of them changes nothing.
    pub fn renamed(mut self, space: Space) -> Set {
        if self.space.is_like(&space) {
            self.space = space;
        }
        self
    }

    /// The pieces.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// True if no two pieces have a point in common, as far as is known without looking.
    pub fn is_disjoint(&self) -> bool {
        self.disjoint
    }

    /// Takes pieces; those that have no point for certain are left out.
    fn filled(mut self, pieces: Vec<Piece>, disjoint: bool) -> Set {
        let has_points = |piece: Piece| piece.tidied().filter(|piece| !piece.is_empty().is_yes());
        self.pieces = pieces.into_iter().filter_map(has_points).collect();
        self.disjoint = disjoint || self.pieces.len() < 2;
        self
    }

    /// The set with other pieces, which meet where its own do.
    pub(crate) fn with_pieces(&self, pieces: Vec<Piece>) -> Set {
        Set { space: self.space.clone(), disjoint: self.disjoint || pieces.len() < 2, pieces }
    }

    /// Yes if it has no point, for any value of the parameters.
    pub fn is_empty(&self) -> Answer {
        Answer::all(self.pieces.iter().map(Piece::is_empty))
    }

    /// True if a point is in it. `None` if a number does not fit, or if the point has other numbers of values.
    pub fn contains(&self, params: &[i64], point: &[i64]) -> Option<bool> {
        let mut found = false;
        for piece in &self.pieces {
            found |= piece.contains(params, point)?;
        }
        Some(found)
    }

    /// The points of either. `None` if the spaces differ, or the pieces are too many.
    pub fn union(&self, other: &Set) -> Option<Set> {
        let count = self.pieces.len() + other.pieces.len();
        if !self.space.is_like(&other.space) || count > Set::MOST_PIECES {
            return None;
        }
        let disjoint = match (self.pieces.is_empty(), other.pieces.is_empty()) {
            (true, _) => other.disjoint,
            (_, true) => self.disjoint,
            _ => false,
        };
        let mut pieces = self.pieces.clone();
        for piece in &other.pieces {
            if !pieces.contains(piece) {
                pieces.push(piece.clone());
            }
        }
        Some(Set { space: self.space.clone(), disjoint: disjoint || pieces.len() < 2, pieces })
    }

    /// The points of both. `None` if that can't be told.
    pub fn intersect(&self, other: &Set) -> Option<Set> {
        if !self.space.is_like(&other.space) || self.pieces.len() * other.pieces.len() > Set::MOST_PIECES {
            return None;
        }
        let mut pieces = Vec::new();
        for a in &self.pieces {
            for b in &other.pieces {
                pieces.push(a.intersect(b)?);
            }
        }
        Some(Set::empty(self.space.clone()).filled(pieces, self.disjoint && other.disjoint))
    }

    /// The points that are not in another. `None` if that can't be told.
    pub fn subtract(&self, other: &Set) -> Option<Set> {
        if !self.space.is_like(&other.space) {
            return None;
        }
        let pieces = without(self.pieces.clone(), &other.pieces)?;
        Some(Set { space: self.space.clone(), disjoint: self.disjoint || pieces.len() < 2, pieces })
    }

    /// Yes if all of its points are in another.
    pub fn is_subset(&self, other: &Set) -> Answer {
        self.subtract(other).map_or(Answer::Unknown, |outside| outside.is_empty())
    }

    /// Yes if two sets have the same points.
    pub fn equals(&self, other: &Set) -> Answer {
        self.is_subset(other).and(other.is_subset(self))
    }

    /// The points of a space at which `columns` come to a point of this set. It has a form over the new space's parameters and dimensions
    /// for each parameter, then each dimension, of this one. So dimensions are added, permuted, made equal and shifted.
    ///
    /// ```
    /// use lacunar_sets::{Affine, Set, Space};
    /// let upper: Set = "[n] -> { [i, j] : 0 <= i <= j < n }".parse().unwrap();
    /// let columns = [Affine::variable(0), Affine::variable(2), Affine::variable(1)];
    /// let lower = upper.preimage(upper.space().clone(), &columns).unwrap();
    /// assert_eq!(lower.contains(&[3], &[2, 1]), Some(true));
    /// assert_eq!(lower.contains(&[3], &[1, 2]), Some(false));
    /// ```
    pub fn preimage(&self, space: Space, columns: &[Affine]) -> Option<Set> {
        let universe = space.universe();
        let pieces = self.pieces.iter().map(|piece| piece.pulled(&universe, columns)).collect::<Option<Vec<_>>>()?;
        Some(Set::empty(space).filled(pieces, self.disjoint))
    }

    /// The set without some dimensions, whose numbers ascend: points that have a partner there. `None` if that can't be told.
    ///
    /// ```
    /// use lacunar_sets::{Answer, Set};
    /// let of = |text: &str| text.parse::<Set>().unwrap();
    /// let twice = of("{ [i, k] : i = 2 k and 0 <= k < 5 }");
    /// assert_eq!(twice.project_out(&[1]).unwrap().equals(&of("{ [i] : i mod 2 = 0 and 0 <= i < 10 }")), Answer::Yes);
    /// ```
    pub fn project_out(&self, dims: &[usize]) -> Option<Set> {
        let pieces = self.pieces.iter().map(|piece| piece.project_out(dims)).collect::<Option<Vec<_>>>()?.concat();
        let kept = |(dim, name): (usize, &String)| (!dims.contains(&dim)).then(|| name.clone());
        let names = self.space.dims.iter().enumerate().filter_map(kept);
        let space = Space::new(self.space.params.clone(), names);
        Some(Set::empty(space).filled(pieces, false))
    }
}
