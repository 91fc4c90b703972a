//! Tells if every tensor that has one structure has another as well: a tridiagonal matrix is banded, a circulant one is Toeplitz.
//!
//! At given sizes, `S` implies `T` if every element that may be other than 0 by `S` may be so by `T`, and every element that follows
//! from another by `T` does by `S`. The latter is tested with the closed maps of `S`: an element that `T` sends to another one goes
//! to the same unique element as that other one, by the coefficient of `T` times its own; and it is 0 by `S` where that one is.
//!
//! For a symmetric structure, only the exchanges of neighboring dimensions are asked for; all others follow from them.
//!
//! ```text
//! circulant implies toeplitz       [i, j] and [0, j - i], j >= i > 0, both go to [0, j - i], times 1
//! ```
//!
//! Ghorbani et al. 2023, §4, for the closed map.

use lacunar_formats::Structure;
use lacunar_sets::{Affine, Answer, Map, MapPiece, Piece, Set, Space};

/// A structure at given sizes.
pub(super) struct AtSizes {
    support: Set,
    /// `None` of a map of too many pieces.
    closed: Option<Map>,
    relations: Vec<Map>,
}

/// Maps of more pieces are not compared with others.
const MOST_PARTS: usize = 120;

impl AtSizes {
    /// The structure where its parameters have these values. `None` if numbers do not fit.
    pub fn of(structure: &Structure, params: &[i64]) -> Option<AtSizes> {
        let space = Space::new(Vec::<String>::new(), structure.space().dims.clone());
        let constants = params.iter().map(|&number| Affine::constant(number));
        let columns: Vec<Affine> = constants.chain((0..structure.order()).map(Affine::variable)).collect();
        let placed = |map: &Map| -> Option<Map> {
            let mut found = Map::empty(space.clone(), space.dims.clone());
            let onto = Piece::universe(0, structure.order());
            for piece in map.pieces() {
                let (domain, target) = piece.pulled(&onto, &columns)?;
                found.add_apart(MapPiece { domain, target, coefficient: piece.coefficient })?;
            }
            Some(found)
        };
        let closed = if structure.parts() > MOST_PARTS { None } else { Some(placed(&structure.closed()?)?) };
        let relations = structure.relations()?.iter().map(placed).collect::<Option<_>>()?;
        let support = structure.support()?.preimage(space.clone(), &columns)?;
        Some(AtSizes { support, closed, relations })
    }

    /// Tells if every tensor with this structure has the other one too.
    pub fn implies(&self, other: &AtSizes) -> Answer {
        let inside = self.support.is_subset(&other.support);
        if !inside.is_yes() {
            return inside;
        }
        let Some(closed) = &self.closed else { return Answer::Unknown };
        Answer::all(other.relations.iter().map(|relation| {
            match (relation.then(closed), closed.restricted(&relation.domain())) {
                (Some(through), Some(own)) => through.equals(&own),
                _ => Answer::Unknown,
            }
        }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use lacunar_formats::structure::Named;

    #[test]
    fn smaller_structures_imply_larger_ones() {
        let of = |name: &str, arguments: &[i64]| {
            AtSizes::of(&Named::find(name).unwrap().structure(2, arguments).unwrap(), &[6, 6]).unwrap()
        };
        let implies = |a: (&str, &[i64]), b: (&str, &[i64])| of(a.0, a.1).implies(&of(b.0, b.1));
        let yes = [
            (("diagonal", &[][..]), ("symmetric", &[][..])),
            (("diagonal", &[]), ("banded", &[1, 1])),
            (("circulant", &[]), ("toeplitz", &[])),
            (("toeplitz", &[]), ("persymmetric", &[])),
            (("constant", &[]), ("symmetric", &[])),
            (("constant", &[]), ("centrosymmetric", &[])),
            (("banded", &[5, 0]), ("lower", &[])),
            (("lower", &[]), ("banded", &[5, 0])),
            (("zero", &[]), ("skew", &[])),
        ];
        for (a, b) in yes {
            assert_eq!(implies(a, b), Answer::Yes, "{a:?} {b:?}");
        }
        let no = [
            (("symmetric", &[][..]), ("diagonal", &[][..])),
            (("toeplitz", &[]), ("circulant", &[])),
            (("symmetric", &[]), ("skew", &[])),
            (("symmetric", &[]), ("hermitian", &[])),
            (("persymmetric", &[]), ("toeplitz", &[])),
        ];
        for (a, b) in no {
            assert_eq!(implies(a, b), Answer::No, "{a:?} {b:?}");
        }
    }
}
