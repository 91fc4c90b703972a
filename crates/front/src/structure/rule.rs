//! Rules: `A(i,j): A(j,i) = -A(i,j); i <= j + 2`.
//!
//! Parts of a rule have `;` between them. One may be a relation between two elements of the tensor; all others are conditions that hold of
//! every element that is not 0. If the partner of an element is 0, so is the element.

use lacunar_base::Span;
use lacunar_notation::Structure;
use lacunar_notation::structure::bounds;
use lacunar_sets::{Formula, Map, Piece, Set, Space};

use super::error::Error;
use super::relation::{self, Relation};
use super::{Part, is_name, orbits};

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
    Ok(within(&orbits, support))
}

/// The part of a structure in a support: elements that follow from an element outside are 0.
fn within(whole: &Structure, support: &Set) -> Option<Structure> {
    let redundancy = whole.redundancy().restricted(support)?;
    let redundancy = redundancy.restricted(&redundancy.preimage(support)?)?;
    let unique: Set = whole.unique().intersect(support)?;
    let targets: Map = redundancy;
    Structure::new(&unique, &targets, whole.context()).ok()
}
