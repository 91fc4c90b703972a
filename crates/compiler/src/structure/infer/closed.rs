//! The known structure of an expression's value: its support, and the values that follow from others.
//!
//! The map is closed: every point of the support has a target, which is its own target; a value that follows from no other has itself.
//! Points have a coordinate for each variable that the expression uses, in the order of variables.

use lacunar_notation::VarId;
use lacunar_sets::{Affine, Coefficient, Map, MapPiece, Piece, Set, Space};

use super::Context;

/// A map with more pieces than these is dropped: it would say too little for its cost.
const MOST_PIECES: usize = 40;

/// The support of an expression's value, and its closed map.
#[derive(Clone, Debug)]
pub struct Closed {
    /// The variables that it uses, in order.
    pub vars: Vec<VarId>,
    /// The points at which it may be other than 0.
    pub support: Set,
    /// Each point of the support, with the point that its value follows from.
    pub map: Map,
}

impl Closed {
    /// Nothing is known: every point of the box may have a value of its own.
    pub fn general(context: &Context<'_>, mut vars: Vec<VarId>) -> Option<Closed> {
        vars.sort();
        vars.dedup();
        let support = whole(context, &vars)?;
        let map = Map::identity(&support)?;
        Some(Closed { vars, support, map })
    }

    /// The points of a support, of which some follow from others: all that have no target yet get themselves. With too many
    /// pieces to go on with, it forgets which points follow from others.
    pub fn new(vars: Vec<VarId>, support: Set, mut map: Map) -> Option<Closed> {
        let left = match map.pieces().len() {
            0..=MOST_PIECES => support.subtract(&map.domain()).map(|left| left.coalesced()),
            _ => None,
        };
        let left = left.filter(|left| left.pieces().len() <= MOST_PIECES).unwrap_or_else(|| {
            map = Map::empty(map.space().clone(), map.target_dims().to_vec());
            support.clone()
        });
        for piece in Map::identity(&left)?.pieces() {
            map.add_apart(piece.clone())?;
        }
        Some(Closed { vars, support, map })
    }

    /// The same with less known, if there are too many pieces to go on with.
    pub fn bounded(self, context: &Context<'_>) -> Option<Closed> {
        if self.support.pieces().len() > MOST_PIECES {
            return Closed::general(context, self.vars);
        }
        if self.map.pieces().len() > MOST_PIECES {
            let map = Map::identity(&self.support)?;
            return Some(Closed { map, ..self });
        }
        Some(self)
    }

    /// The forms of its parameters and dimensions in a space over other variables, which has its own.
    pub fn columns(&self, context: &Context<'_>, vars: &[VarId]) -> Option<Vec<Affine>> {
        let params = context.space(&[]).params.len();
        let place = |var: &VarId| vars.iter().position(|other| other == var).map(|dim| Affine::variable(params + dim));
        (0..params).map(Affine::variable).map(Some).chain(self.vars.iter().map(place)).collect()
    }

    /// The support in a space over more variables, of which the others have all values.
    pub fn support_over(&self, context: &Context<'_>, vars: &[VarId]) -> Option<Set> {
        let lifted = self.support.preimage(context.space(vars), &self.columns(context, vars)?)?;
        lifted.intersect(&whole(context, vars)?)
    }

    /// The map in a space over more variables, whose coordinates stay.
    pub fn map_over(&self, context: &Context<'_>, vars: &[VarId]) -> Option<Map> {
        let space = context.space(vars);
        let columns = self.columns(context, vars)?;
        let whole = whole(context, vars)?;
        let mut map = Map::empty(space.clone(), space.dims.clone());
        for piece in self.map.pieces() {
            for onto in whole.pieces() {
                let (domain, own) = piece.pulled(onto, &columns)?;
                let target = self.targets(&domain, &own, vars);
                map.add_apart(MapPiece { domain, target, coefficient: piece.coefficient })?;
            }
        }
        Some(map)
    }

    /// The target of every variable of a space; those that are not its own stay.
    fn targets(&self, domain: &Piece, own: &[Affine], vars: &[VarId]) -> Vec<Affine> {
        let target = |(dim, var): (usize, &VarId)| {
            let place = self.vars.iter().position(|other| other == var);
            place.and_then(|place| own.get(place).cloned()).unwrap_or_else(|| Affine::variable(domain.column(dim)))
        };
        vars.iter().enumerate().map(target).collect()
    }

    /// Support and map with the dimensions in another order and other parameters.
    pub fn arranged(&self, space: &Space, params: Vec<Affine>, vars: &[VarId]) -> Option<(Set, Map)> {
        let offset = space.params.len();
        let place = |var: &VarId| vars.iter().position(|other| other == var).map(|dim| Affine::variable(offset + dim));
        let columns =
            params.into_iter().map(Some).chain(self.vars.iter().map(place)).collect::<Option<Vec<Affine>>>()?;
        let support = self.support.preimage(space.clone(), &columns)?;
        let mut map = Map::empty(space.clone(), space.dims.clone());
        for piece in self.map.pieces() {
            let (domain, own) = piece.pulled(&space.universe(), &columns)?;
            let target = self.targets(&domain, &own, vars);
            map.add_apart(MapPiece { domain, target, coefficient: piece.coefficient })?;
        }
        Some((support, map))
    }

    /// The same with other coefficients; a point whose coefficient has none is its own target.
    pub fn with_coefficients(self, of: impl Fn(Coefficient) -> Option<Coefficient>) -> Option<Closed> {
        let mut map = Map::empty(self.map.space().clone(), self.map.target_dims().to_vec());
        for piece in self.map.pieces() {
            if let Some(coefficient) = of(piece.coefficient) {
                map.add_apart(MapPiece { coefficient, ..piece.clone() })?;
            }
        }
        Closed::new(self.vars, self.support, map)
    }
}

/// All points whose coordinates lie in their dimensions.
pub fn whole(context: &Context<'_>, vars: &[VarId]) -> Option<Set> {
    let space = context.space(vars);
    let mut piece = space.universe();
    for (dim, var) in vars.iter().enumerate() {
        let at = Affine::variable(piece.column(dim));
        piece.at_least(Affine::variable(context.size(*var)?).minus(&at)?.shifted(-1)?);
        piece.at_least(at);
    }
    Some(Set::of_piece(space, piece))
}

/// The variables of two expressions, in order.
pub fn together(a: &[VarId], b: &[VarId]) -> Vec<VarId> {
    let mut vars = [a, b].concat();
    vars.sort();
    vars.dedup();
    vars
}
