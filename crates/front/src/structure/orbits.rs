//! The unique elements under a relation `T(x) = c T(g(x))`.
//!
//! An element is related to those that `g` leads to, one after the other. One of each such orbit is unique: the first in lexicographic
//! order, or the one that `g` ends at. Three kinds of `g` are understood:
//!
//! ```text
//! it leads back, g(g(x)) = x        A(j,i) = -A(i,j)       the lesser of x and g(x) is unique
//! it stays, g(g(x)) = g(x)          A(i,j) = A(0,j)        g(x) is
//! a constant distance, x + d        A(i+1,j+1) = A(i,j)    x - k d is, with the greatest k that leads to an element
//! ```
//!
//! Where a relation that leads back has the factor -1, elements that lead to themselves are 0; where it conjugates, they equal their
//! conjugates.

use lacunar_notation::Structure;
use lacunar_notation::structure::bounds;
use lacunar_sets::{Affine, Coefficient, Map, MapPiece, Piece, Set, Space};

use super::error::Error;
use super::relation::Relation;

/// The structure of all elements under a relation. `None` if that can't be told.
pub(super) fn of(relation: &Relation, space: &Space, context: Piece) -> Result<Option<Structure>, Error> {
    let identity = identity(space);
    let coefficient = relation.coefficient;
    let is_unit = coefficient.numerator().unsigned_abs() == 1 && coefficient.denominator() == 1;
    let wrong = || Error::Coefficient { span: relation.span, text: format!("the factor {coefficient}") };
    let kind = kind(relation, space, &identity)
        .ok_or(Error::Relation { span: relation.span, what: "a relation whose elements can't be followed" })?;
    match kind {
        Kind::Back if !is_unit => Err(wrong()),
        Kind::Stays | Kind::Distance(_) if !coefficient.is_one() => Err(wrong()),
        Kind::Back => Ok(back(relation, space, context, &identity)),
        Kind::Stays => Ok(stays(relation, space, context, &identity)),
        Kind::Distance(distance) => Ok(far(&distance, space, context)),
    }
}

/// Of a relation along lines, the element before each one on its line.
pub(super) fn step(relation: &Relation, space: &Space) -> Option<Vec<Affine>> {
    let identity = identity(space);
    let Kind::Distance(distance) = kind(relation, space, &identity)? else { return None };
    identity.iter().zip(distance).map(|(own, distance)| own.shifted(distance.checked_neg()?)).collect()
}

/// The dimensions of a space.
fn identity(space: &Space) -> Vec<Affine> {
    (0..space.dims.len()).map(|dim| Affine::variable(space.params.len() + dim)).collect()
}

/// The effect of following a relation.
enum Kind {
    Back,
    Stays,
    Distance(Vec<i64>),
}

fn kind(relation: &Relation, space: &Space, identity: &[Affine]) -> Option<Kind> {
    let columns: Vec<Affine> =
        (0..space.params.len()).map(Affine::variable).chain(relation.forms.iter().cloned()).collect();
    let twice = relation.forms.iter().map(|form| form.mapped(&columns)).collect::<Option<Vec<_>>>()?;
    if twice == identity {
        return Some(Kind::Back);
    }
    if twice == relation.forms {
        return Some(Kind::Stays);
    }
    let distance = relation.forms.iter().zip(identity).map(|(form, own)| {
        let difference = form.minus(own)?;
        difference.is_constant().then_some(difference.offset())
    });
    let distance = distance.collect::<Option<Vec<i64>>>()?;
    // There and back is the same line: it is followed so that the first coordinate that changes goes down.
    let leads_up = distance.iter().find(|&&step| step != 0).is_some_and(|&step| step > 0);
    let distance = distance.into_iter().map(|step| if leads_up { Some(step) } else { step.checked_neg() });
    distance.collect::<Option<Vec<i64>>>().map(Kind::Distance)
}

/// The elements at which a list of forms lies in the tensor.
fn inside(forms: &[Affine], space: &Space, whole: &Set) -> Option<Set> {
    let columns: Vec<Affine> = (0..space.params.len()).map(Affine::variable).chain(forms.iter().cloned()).collect();
    whole.preimage(space.clone(), &columns)?.intersect(whole)
}

/// Elements whose partner comes before them follow from it.
fn back(relation: &Relation, space: &Space, context: Piece, identity: &[Affine]) -> Option<Structure> {
    let whole = bounds(space, &context)?;
    let partnered = inside(&relation.forms, space, &whole)?;
    let later = precedes(&relation.forms, identity, space)?.intersect(&partnered)?;
    let mut redundancy = Map::empty(space.clone(), space.dims.clone());
    for piece in later.disjoint()?.pieces() {
        let target = relation.forms.clone();
        redundancy.add(MapPiece { domain: piece.clone(), target, coefficient: relation.coefficient })?;
    }
    let mut unique = whole.subtract(&later)?;
    let own = still(&relation.forms, identity, space)?;
    if relation.coefficient == Coefficient::new(-1, 1, false)? {
        unique = unique.subtract(&own)?;
    }
    let structure = Structure::new(&unique, &redundancy, &square(&relation.forms, space, context)?).ok()?;
    Some(if relation.coefficient.conjugate { structure.with_tied(own, relation.coefficient) } else { structure })
}

/// The points that a list of forms leaves where they are.
fn still(forms: &[Affine], identity: &[Affine], space: &Space) -> Option<Set> {
    let mut own = space.universe();
    for (form, at) in forms.iter().zip(identity) {
        own.equal(form.minus(at)?);
    }
    Some(Set::of_piece(space.clone(), own))
}

/// The points at which a tuple of forms comes before another.
fn precedes(a: &[Affine], b: &[Affine], space: &Space) -> Option<Set> {
    let mut pieces = Vec::new();
    let mut equal = space.universe();
    for (left, right) in a.iter().zip(b) {
        let ahead = right.minus(left)?;
        let mut less = equal.clone();
        less.at_least(ahead.shifted(-1)?);
        pieces.push(less);
        equal.equal(ahead);
    }
    Some(Set::of_pieces(space.clone(), pieces))
}

/// A relation that exchanges dimensions is one of tensors in which these have one size.
fn square(forms: &[Affine], space: &Space, mut context: Piece) -> Option<Piece> {
    for (dim, form) in forms.iter().enumerate() {
        let other = (0..space.dims.len()).find(|other| *form == Affine::variable(space.params.len() + other));
        if let Some(other) = other.filter(|&other| other > dim) {
            context.equal(Affine::variable(dim).minus(&Affine::variable(other))?);
        }
    }
    Some(context)
}

/// Elements follow from the one that a relation ends at.
fn stays(relation: &Relation, space: &Space, context: Piece, identity: &[Affine]) -> Option<Structure> {
    let whole = bounds(space, &context)?;
    let ended = still(&relation.forms, identity, space)?;
    let moved = inside(&relation.forms, space, &whole)?.subtract(&ended)?;
    let mut redundancy = Map::empty(space.clone(), space.dims.clone());
    for piece in moved.disjoint()?.pieces() {
        let (domain, target) = (piece.clone(), relation.forms.clone());
        redundancy.add(MapPiece { domain, target, coefficient: Coefficient::ONE })?;
    }
    Structure::new(&whole.subtract(&moved)?, &redundancy, &context).ok()
}

/// Elements follow from the first on the line through them.
///
/// For each dimension along which the distance is not 0 it finds the number of steps back; the least of these numbers is taken.
fn far(distance: &[i64], space: &Space, context: Piece) -> Option<Structure> {
    let whole = bounds(space, &context)?;
    let moving: Vec<usize> = (0..distance.len()).filter(|&dim| distance[dim] != 0).collect();
    let mut redundancy = Map::empty(space.clone(), space.dims.clone());
    for &least in &moving {
        for piece in whole.pieces() {
            let mut domain = piece.clone();
            let mut steps = Vec::new();
            for &dim in &moving {
                let at = Affine::variable(domain.column(dim));
                let room = if distance[dim] > 0 { at } else { Affine::variable(dim).minus(&at)?.shifted(-1)? };
                steps.push(domain.floor(&room, distance[dim].checked_abs()?)?);
            }
            let chosen = steps.get(moving.iter().position(|&dim| dim == least)?)?.clone();
            domain.at_least(chosen.shifted(-1)?);
            for (&dim, other) in moving.iter().zip(&steps) {
                let ahead = other.minus(&chosen)?;
                domain.at_least(if dim < least { ahead.shifted(-1)? } else { ahead });
            }
            let at = |dim: usize| Affine::variable(domain.column(dim));
            let target = (0..distance.len()).map(|dim| at(dim).combined(1, &chosen, distance[dim].checked_neg()?));
            let target = target.collect::<Option<Vec<_>>>()?;
            redundancy.add_apart(MapPiece { domain, target, coefficient: Coefficient::ONE })?;
        }
    }
    let unique = whole.subtract(&redundancy.domain())?;
    Structure::new(&unique, &redundancy, &context).ok()
}
