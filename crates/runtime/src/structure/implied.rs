//! Whether every tensor that has one structure has another as well: a tridiagonal matrix is banded, a circulant one is Toeplitz.
//!
//! At given sizes, `S` implies `T` if what may be other than 0 by `S` may be so by `T`, and what follows from others by `T` does by `S`:
//! with the closed maps of `S`, an element that `T` sends to another one goes to the same unique element as that other one, by
//! the coefficient of `T` times its own; and it is 0 by `S` where that one is.
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
    closed: Map,
    redundancy: Map,
}

impl AtSizes {
    /// The structure where its parameters have these values. `None` if numbers do not fit.
    pub fn of(structure: &Structure, params: &[i64]) -> Option<AtSizes> {
        let space = Space::new(Vec::<String>::new(), structure.space().dims.clone());
        let constants = params.iter().map(|&number| Affine::constant(number));
        let columns: Vec<Affine> = constants.chain((0..structure.order()).map(Affine::variable)).collect();
        let unique = structure.unique().preimage(space.clone(), &columns)?;
        let onto = Piece::universe(0, structure.order());
        let mut redundancy = Map::empty(space.clone(), space.dims.clone());
        for piece in structure.redundancy().pieces() {
            let (domain, target) = piece.pulled(&onto, &columns)?;
            redundancy.add_apart(MapPiece { domain, target, coefficient: piece.coefficient })?;
        }
        let mut closed = Map::identity(&unique)?;
        for piece in redundancy.pieces() {
            closed.add_apart(piece.clone())?;
        }
        Some(AtSizes { support: unique.union(&redundancy.domain())?, closed, redundancy })
    }

    /// Whether every tensor with this structure has the other one too.
    pub fn implies(&self, other: &AtSizes) -> Answer {
        let inside = self.support.is_subset(&other.support);
        if !inside.is_yes() {
            return inside;
        }
        let own = self.closed.restricted(&other.redundancy.domain());
        match (other.redundancy.then(&self.closed), own) {
            (Some(through), Some(own)) => through.equals(&own),
            _ => Answer::Unknown,
        }
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
