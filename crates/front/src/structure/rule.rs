//! Rules: `A(i,j): A(j,i) = -A(i,j); i <= j + 2`.
//!
//! Parts of a rule have `;` between them. One may be a relation between two elements of the tensor; all others are conditions that hold of
//! every element that is not 0. The relation ties two elements only if both meet the conditions.

use lacunar_base::Span;
use lacunar_notation::Structure;
use lacunar_notation::structure::bounds;
use lacunar_sets::{Affine, Formula, Piece, Set, Space};

use super::error::Error;
use super::relation::{self, Relation};
use super::{Part, orbits};
use crate::words::is_name;

/// Rules with more dimensions and parameters are refused: bounds the time of all questions about them.
const MOST_NAMES: usize = 24;

/// Reads a rule: the tensor's name, and its structure.
pub(super) fn read(head: Part<'_>, value: Part<'_>) -> Result<(String, Structure), Error> {
    let (tensor, dims) = access(head)?;
    let mut conditions: Vec<(Formula, Part<'_>)> = Vec::new();
    let mut written: Option<(Part<'_>, Span)> = None;
    for part in value.split(';') {
        if relation::is_relation(part, tensor) {
            if let Some((_, first)) = written {
                return Err(Error::Several { first, span: part.span() });
            }
            written = Some((part, part.span()));
        } else {
            let formula = Formula::parse(part.text).map_err(|error| Error::Condition { start: part.start, error })?;
            conditions.push((formula, part));
        }
    }
    let space = space(&dims, &conditions);
    let too_hard = || Error::TooHard { span: value.span() };
    if space.params.len() > MOST_NAMES {
        return Err(too_hard());
    }
    let context = Piece::universe(space.params.len(), 0);
    let mut support = bounds(&space, &context).ok_or_else(too_hard)?;
    for (formula, part) in &conditions {
        let set = formula.set(&space).map_err(|error| Error::Condition { start: part.start, error })?;
        support = support.intersect(&set).ok_or_else(too_hard)?;
    }
    let relation = written.map(|(part, _)| Relation::parse(part, tensor, &space)).transpose()?;
    let structure = match relation {
        None => Structure::of_support(&support, &context).map_err(|_| too_hard())?,
        Some(relation) => related(&relation, &support, context)?.ok_or_else(too_hard)?,
    };
    Ok((tensor.to_string(), structure))
}

/// `A(i,j)`: a name, and names of its dimensions.
fn access(head: Part<'_>) -> Result<(&str, Vec<String>), Error> {
    let wrong = |what| Error::Head { span: head.span(), what };
    let inside = head.text.split_once('(').and_then(|(name, rest)| Some((name.trim_end(), rest.strip_suffix(')')?)));
    let (name, dims) =
        inside.filter(|(name, _)| is_name(name)).ok_or_else(|| wrong("expected a tensor with its dimensions"))?;
    let mut found: Vec<String> = Vec::new();
    for part in dims.split(',').map(str::trim) {
        if !is_name(part) || ["and", "or", "not", "mod", "exists", "floor", "ceil", "true", "false"].contains(&part) {
            return Err(wrong("a dimension without a name"));
        }
        if found.iter().any(|other| other == part) {
            return Err(wrong("two dimensions of one name"));
        }
        found.push(part.to_string());
    }
    Ok((name, found))
}

/// The space of the tensor: its sizes, and the names in conditions that are no dimensions.
fn space(dims: &[String], conditions: &[(Formula, Part<'_>)]) -> Space {
    let mut params: Vec<String> = dims.iter().map(|dim| format!("n_{dim}")).collect();
    for (name, _) in conditions.iter().flat_map(|(formula, _)| formula.names()) {
        if !dims.iter().chain(&params).any(|other| other == name) {
            params.push(name.to_string());
        }
    }
    Space { params, dims: dims.to_vec() }
}

/// The elements that a relation leaves unique in a support, and those that follow from them. `None` if that can't be told.
fn related(relation: &Relation, support: &Set, context: Piece) -> Result<Option<Structure>, Error> {
    let Some(orbits) = orbits::of(relation, support.space(), context)? else { return Ok(None) };
    Ok(within(&orbits, support, orbits::step(relation, support.space()).as_deref()))
}

/// The part of a structure in a support: an element whose unique one lies outside is unique itself. If elements follow each other by a
/// `step`, all from an element to its unique one have to lie inside; other supports are given up.
fn within(whole: &Structure, support: &Set, step: Option<&[Affine]>) -> Option<Structure> {
    let redundancy = whole.redundancy().restricted(support)?;
    let tied = redundancy.preimage(support)?;
    let untied = redundancy.domain().subtract(&tied)?;
    if let Some(step) = step {
        let columns: Vec<Affine> =
            (0..support.space().params.len()).map(Affine::variable).chain(step.iter().cloned()).collect();
        let before = support.preimage(support.space().clone(), &columns)?;
        if !untied.is_empty().is_yes() || !tied.subtract(&before)?.is_empty().is_yes() {
            return None;
        }
    }
    let unique = whole.unique().intersect(support)?.union(&untied)?;
    let structure = Structure::new(&unique, &redundancy.restricted(&tied)?, whole.context()).ok()?;
    Some(match whole.tied() {
        Some((elements, coefficient)) => structure.with_tied(elements.clone(), *coefficient),
        None => structure,
    })
}
