//! Maps: partial functions from points to points of the same parameters, with a coefficient.
//!
//! A map is a list of pieces, each with an affine form for every dimension of the target. No two pieces have a point in common, so that a
//! point has one target ([`Map::new`] sees to it: the earlier piece has it).
//!
//! ```
//! use lacunar_sets::{Answer, Map, Set};
//! let swap: Map = "[n] -> { [i, j] -> [j, i] : 0 <= j < i < n }".parse().unwrap();
//! assert_eq!(swap.at(&[5], &[3, 1]).unwrap().unwrap().0, vec![1, 3]);
//! assert_eq!(swap.at(&[5], &[1, 3]), Some(None));
//! let upper: Set = "[n] -> { [i, j] : 0 <= i < j < n }".parse().unwrap();
//! assert_eq!(swap.image(&swap.domain()).unwrap().equals(&upper), Answer::Yes);
//! ```

use crate::affine::Affine;
use crate::answer::Answer;
use crate::coefficient::Coefficient;
use crate::disjoint::without;
use crate::piece::Piece;
use crate::set::{Set, Space};

/// A map of more pieces takes no piece whose points may have targets: it would be compared with each of them.
const MOST_COMPARED: usize = 128;

/// Points, with their targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapPiece {
    /// The points.
    pub domain: Piece,
    /// The target's dimensions, as forms over the columns of the domain.
    pub target: Vec<Affine>,
    /// The factor of the value at the target.
    pub coefficient: Coefficient,
}

/// A target, and the factor of the value there.
pub type Target = (Vec<i64>, Coefficient);

/// A partial function from points to points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    space: Space,
    /// Names of the target's dimensions.
    target: Vec<String>,
    pieces: Vec<MapPiece>,
}

impl MapPiece {
    /// The same map by simpler constraints; `None` if it has no point for certain.
    fn simplified(mut self) -> Option<MapPiece> {
        self.domain = self.domain.tidied().filter(|piece| !piece.is_empty().is_yes())?;
        self.domain.compact(&mut self.target);
        Some(self)
    }

    /// The forms of parameters and target over the domain's columns: the columns of a piece at the target.
    fn columns(&self) -> Vec<Affine> {
        (0..self.domain.params()).map(Affine::variable).chain(self.target.iter().cloned()).collect()
    }

    /// The map with fewer points.
    fn confined(&self, to: &Piece) -> Option<MapPiece> {
        Some(MapPiece { domain: self.domain.intersect(to)?, ..self.clone() })
    }
}

impl Map {
    /// A map without points.
    pub fn empty(space: Space, target: Vec<String>) -> Map {
        Map { space, target, pieces: Vec::new() }
    }

    /// The map of these pieces; a point that several have belongs to the first. `None` if that can't be told.
    pub fn new(space: Space, target: Vec<String>, pieces: Vec<MapPiece>) -> Option<Map> {
        let mut map = Map::empty(space, target);
        for piece in pieces {
            map.add(piece)?;
        }
        Some(map)
    }

    /// Every point of a set, mapped to itself.
    pub fn identity(set: &Set) -> Option<Map> {
        let dims = |piece: &Piece| (0..piece.dims()).map(|dim| Affine::variable(piece.column(dim))).collect();
        let of = |piece: &Piece| MapPiece { domain: piece.clone(), target: dims(piece), coefficient: Coefficient::ONE };
        let pieces = set.pieces().iter().map(of).collect();
        Map::new(set.space().clone(), set.space().dims.clone(), pieces)
    }

    /// Adds a piece's points that have no target yet. `None` if that can't be told.
    pub fn add(&mut self, piece: MapPiece) -> Option<()> {
        let Some(piece) = piece.simplified() else { return Some(()) };
        let earlier: Vec<Piece> = self.pieces.iter().map(|piece| piece.domain.clone()).collect();
        if piece.target.len() != self.target.len() {
            return None;
        }
        let mut left = vec![piece.clone()];
        for other in &earlier {
            // A difference keeps the columns of its first operand, but for divisions that are left out: so these are taken in again.
            let mut next = Vec::new();
            for part in left {
                for domain in without(vec![part.domain.clone()], std::slice::from_ref(other))? {
                    next.push(part.confined(&domain)?);
                }
            }
            left = next;
            if self.pieces.len() + left.len() > MOST_COMPARED {
                return None;
            }
        }
        let left = left.into_iter().filter_map(MapPiece::simplified);
        self.pieces.extend(left);
        (self.pieces.len() <= MOST_COMPARED).then_some(())
    }

    /// Adds a piece none of whose points has a target yet, which is not looked after.
    pub fn add_apart(&mut self, piece: MapPiece) -> Option<()> {
        self.pieces.extend(piece.simplified());
        (self.pieces.len() <= Set::MOST_PIECES).then_some(())
    }

    /// Adds a piece with points, none of which has a target yet; neither is looked after.
    pub fn push_apart(&mut self, piece: MapPiece) {
        self.pieces.push(piece);
    }

    /// The names of parameters and dimensions of its points.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The names of the target's dimensions.
    pub fn target_dims(&self) -> &[String] {
        &self.target
    }

    /// The space of targets.
    pub fn target_space(&self) -> Space {
        Space { params: self.space.params.clone(), dims: self.target.clone() }
    }

    /// The pieces, of which no two have a point in common.
    pub fn pieces(&self) -> &[MapPiece] {
        &self.pieces
    }

    /// The points that have a target.
    pub fn domain(&self) -> Set {
        Set::of_disjoint(self.space.clone(), self.pieces.iter().map(|piece| piece.domain.clone()).collect())
    }

    /// The target of a point; `Some(None)` if it has none. `None` if a number does not fit.
    pub fn at(&self, params: &[i64], point: &[i64]) -> Option<Option<Target>> {
        for piece in &self.pieces {
            if piece.domain.contains(params, point)? {
                let values = piece.domain.values(params, point)?;
                let target = piece.target.iter().map(|form| form.at(&values)).collect::<Option<Vec<i64>>>()?;
                return Some(Some((target, piece.coefficient)));
            }
        }
        Some(None)
    }

    /// The map at the points of a set alone. `None` if that can't be told.
    pub fn restricted(&self, to: &Set) -> Option<Map> {
        let mut map = Map::empty(self.space.clone(), self.target.clone());
        // Pieces have no point in common, and neither have their parts in parts of the set that have none.
        let to = to.disjoint()?;
        for piece in &self.pieces {
            for part in to.pieces() {
                map.add_apart(piece.confined(part)?)?;
            }
        }
        Some(map)
    }

    /// The points whose target is in a set. `None` if that can't be told.
    pub fn preimage(&self, of: &Set) -> Option<Set> {
        let mut found = Vec::new();
        for piece in &self.pieces {
            found.extend(piece.parts_to(of)?);
        }
        Some(Set::of_pieces(self.space.clone(), found))
    }

    /// Yes if all targets are in a set.
    ///
    /// ```
    /// use lacunar_sets::{Answer, Map, Set};
    /// let next: Map = "{ [i] -> [i + 1] : i >= 0 }".parse().unwrap();
    /// let of = |text: &str| text.parse::<Set>().unwrap();
    /// assert_eq!((next.leads_to(&of("{ [i] : i > 0 }")), next.leads_to(&of("{ [i] : i > 1 }"))), (Answer::Yes, Answer::No));
    /// ```
    pub fn leads_to(&self, to: &Set) -> Answer {
        Answer::all(self.pieces.iter().map(|piece| {
            let Some(parts) = piece.parts_to(to) else { return Answer::Unknown };
            let domain = Set::of_piece(self.space.clone(), piece.domain.clone());
            domain.is_subset(&Set::of_pieces(self.space.clone(), parts))
        }))
    }

    /// The targets of the points of a set. `None` if that can't be told.
    pub fn image(&self, of: &Set) -> Option<Set> {
        let mut found = Vec::new();
        for piece in &self.pieces {
            for part in of.pieces() {
                found.extend(piece.confined(part)?.image()?);
            }
        }
        Some(Set::of_pieces(self.target_space(), found))
    }

    /// This map, then another from its targets on; points whose target has none there have none. `None` if that can't be told.
    ///
    /// ```
    /// use lacunar_sets::{Answer, Map};
    /// let of = |text: &str| text.parse::<Map>().unwrap();
    /// let negate = of("{ [i] -> -1 * [-i] : i < 0 }");
    /// let next = of("{ [i] -> -1 * [i + 1] : i > 2 }");
    /// assert_eq!(negate.then(&next).unwrap().equals(&of("{ [i] -> [1 - i] : i < -2 }")), Answer::Yes);
    /// ```
    pub fn then(&self, next: &Map) -> Option<Map> {
        let mut map = Map::empty(self.space.clone(), next.target.clone());
        for first in &self.pieces {
            for second in &next.pieces {
                let (domain, target) = second.pulled(&first.domain, &first.columns())?;
                map.add(MapPiece { domain, target, coefficient: first.coefficient.times(second.coefficient)? })?;
            }
        }
        Some(map)
    }

    /// The points that two maps send to the same target, with the same coefficient. `None` if that can't be told.
    pub fn agreement(&self, other: &Map) -> Option<Set> {
        let mut found = Vec::new();
        for a in &self.pieces {
            for b in other.pieces.iter().filter(|b| a.coefficient == b.coefficient) {
                let (mut domain, target) = a.beside(b)?;
                for (ours, theirs) in a.target.iter().zip(&target) {
                    domain.equal(ours.minus(theirs)?);
                }
                found.push(domain);
            }
        }
        Some(Set::of_pieces(self.space.clone(), found))
    }

    /// Yes if two maps are the same: the same points, targets and coefficients.
    pub fn equals(&self, other: &Map) -> Answer {
        if !self.space.is_like(&other.space) || self.target.len() != other.target.len() {
            return Answer::No;
        }
        let Some(alike) = self.agreement(other) else { return Answer::Unknown };
        self.domain().is_subset(&alike).and(other.domain().is_subset(&alike))
    }

    /// The points that are their own target, with their own value.
    pub fn fixed(&self) -> Option<Set> {
        let mut found = Vec::new();
        for piece in self.pieces.iter().filter(|piece| piece.coefficient.is_one()) {
            let mut domain = piece.domain.clone();
            for (dim, form) in piece.target.iter().enumerate() {
                domain.equal(form.minus(&Affine::variable(domain.column(dim)))?);
            }
            found.push(domain);
        }
        Some(Set::of_pieces(self.space.clone(), found))
    }
}

impl MapPiece {
    /// The points of `onto` at which `columns` come to a point of this domain, as [`Piece::pulled`], and the target there.
    ///
    /// ```
    /// use lacunar_sets::{Affine, Map, Piece};
    /// let next: Map = "{ [i] -> [i + 1] : i >= 0 }".parse().unwrap();
    /// let (domain, target) = next.pieces()[0].pulled(&Piece::universe(0, 2), &[Affine::variable(1)]).unwrap();
    /// assert_eq!(domain.contains(&[], &[-7, 3]), Some(true));
    /// assert_eq!(target, [Affine::new([0, 1], 1)]);
    /// ```
    pub fn pulled(&self, onto: &Piece, columns: &[Affine]) -> Option<(Piece, Vec<Affine>)> {
        let mut domain = self.domain.pulled(onto, columns)?;
        let mut forms = columns.to_vec();
        for div in self.domain.divs() {
            let numerator = div.numerator.mapped(&forms)?;
            forms.push(domain.floor(&numerator, div.denominator)?);
        }
        let target = self.target.iter().map(|form| form.mapped(&forms)).collect::<Option<Vec<_>>>()?;
        Some((domain, target))
    }

    /// The points whose target is in a set, as pieces.
    fn parts_to(&self, of: &Set) -> Option<Vec<Piece>> {
        of.pieces().iter().map(|part| part.pulled(&self.domain, &self.columns())).collect()
    }

    /// The points of both domains, and the target of the other over their columns; those of this one keep their numbers.
    pub fn beside(&self, other: &MapPiece) -> Option<(Piece, Vec<Affine>)> {
        let columns: Vec<Affine> = (0..self.domain.outer()).map(Affine::variable).collect();
        other.pulled(&self.domain, &columns)
    }

    /// The targets.
    fn image(&self) -> Option<Vec<Piece>> {
        // Points and targets beside each other, of which the points go.
        let (params, dims, order) = (self.domain.params(), self.domain.dims(), self.target.len());
        let identity: Vec<Affine> = (0..self.domain.outer()).map(Affine::variable).collect();
        let (mut joint, target) = self.pulled(&Piece::universe(params, dims + order), &identity)?;
        for (place, form) in target.iter().enumerate() {
            let column = joint.column(dims + place);
            joint.equal(form.minus(&Affine::variable(column))?);
        }
        joint.project_out(&(0..dims).collect::<Vec<usize>>())
    }
}
