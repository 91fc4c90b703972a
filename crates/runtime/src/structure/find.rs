//! The named structures that a tensor has.
//!
//! A pass over the entries tells how far they reach, and so the arguments of names that take some. Names by which elements follow from
//! others are tried on a few entries, which drops most. A second pass drops all names by which an entry lies outside, and the
//! remaining ones are compared with all entries (`check.rs`). At last those go that say nothing at these sizes, and those that another
//! one implies (`implied.rs`).
//!
//! ```text
//! 2 1 . .      banded(1,1), symmetric, toeplitz hold, and hessenberg, persymmetric, centrosymmetric
//! 1 2 1 .      toeplitz implies persymmetric, banded(1,1) implies hessenberg
//! . 1 2 1      symmetric, banded(1,1), toeplitz and centrosymmetric are told
//! . . 1 2
//! ```

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::{Tensor as DynTensor, pool};
use lacunar_formats::DType;
use lacunar_formats::Structure;
use lacunar_formats::structure::Named;

use super::check::{check, load, may_have, parts};
use super::error::{StructureError, zero_elsewhere};
use super::implied::AtSizes;
use super::numbers::{elements, is_zero};
use super::points::{Place, Points};
use super::reach::Reach;
use super::table::Table;

/// A structure that a tensor has. It prints as `-p` takes it behind the tensor's name.
#[derive(Clone, Debug)]
pub struct FoundStructure {
    /// Its name.
    pub named: &'static Named,
    /// Its arguments.
    pub arguments: Vec<i64>,
    /// The structure that it names for tensors of this order.
    pub structure: Structure,
}

impl fmt::Display for FoundStructure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.named.name)?;
        if self.arguments.is_empty() {
            return Ok(());
        }
        write!(f, "({})", self.arguments.iter().map(i64::to_string).collect::<Vec<_>>().join(","))
    }
}

/// A structure that a tensor may have.
struct Candidate {
    found: FoundStructure,
    points: Points,
    alive: AtomicBool,
}

/// The answer to a question that may have none.
///
/// # Errors
/// Memory is refused.
fn seems(answer: Result<bool, StructureError>) -> Result<bool, StructureError> {
    match answer {
        Ok(holds) => Ok(holds),
        Err(StructureError::Storage(error)) => Err(error.into()),
        Err(_) => Ok(false),
    }
}

/// The named structures that a tensor has.
///
/// # Errors
/// Memory is refused, or a size is too large.
pub(super) fn find(tensor: &DynTensor) -> Result<Vec<FoundStructure>, StructureError> {
    let params = tensor.dims().iter().map(|&size| i64::try_from(size)).collect::<Result<Vec<i64>, _>>();
    let params = params.map_err(|_| StructureError::TooHard)?;
    zero_elsewhere(tensor)?;
    if tensor.order() == 0 {
        return Ok(Vec::new());
    }
    let table = Table::of(tensor)?;
    let tensor = table.tensor();
    let reach = Reach::of(tensor);
    let mut candidates: Vec<Candidate> = Vec::new();
    for (named, arguments) in names(tensor, &reach) {
        // Names of other orders are left out, and so are those of other sizes.
        let Ok(structure) = named.structure(tensor.order(), &arguments) else { continue };
        let Ok(points) = Points::new(&structure, &params, tensor.dims()) else { continue };
        if structure.is_without_redundancy() || seems(may_have(tensor, &points, &table))? {
            let found = FoundStructure { named, arguments, structure };
            candidates.push(Candidate { found, points, alive: AtomicBool::new(true) });
        }
    }
    drop_outside(tensor, &candidates);
    let mut held = Vec::new();
    for candidate in candidates.into_iter().filter(|candidate| candidate.alive.load(Ordering::Relaxed)) {
        let structure = &candidate.found.structure;
        let holds = structure.is_without_redundancy() || seems(check(tensor, structure, &params).map(|()| true))?;
        held.extend(holds.then_some(candidate.found));
    }
    Ok(telling(held, &params, tensor.order()))
}

/// The names to be tried, with arguments by which no entry lies outside.
fn names(tensor: &DynTensor, reach: &Reach) -> Vec<(&'static Named, Vec<i64>)> {
    let mut names = Vec::new();
    let conjugates = |name: &str| matches!(name, "hermitian" | "skew_hermitian");
    for named in Named::ALL {
        let arguments = match named.name {
            // Conjugated reals are the same.
            name if conjugates(name) && !tensor.dtype().is_complex() => None,
            // A pattern's elements have no sign.
            "skew" if matches!(tensor.dtype(), DType::Bool | DType::Pattern) => None,
            // The first says nothing; the second is `upper` by another name.
            "general" | "simplex" => None,
            _ if named.arguments.is_empty() => Some(Vec::new()),
            name => reach.arguments(name),
        };
        names.extend(arguments.map(|arguments| (named, arguments)));
    }
    names
}

/// Drops the candidates by which an entry lies outside.
fn drop_outside(tensor: &DynTensor, candidates: &[Candidate]) {
    let values = elements(tensor.values());
    let parts = parts(tensor);
    pool::run(0, parts as i64, &|part| {
        let mut columns: Vec<Vec<i64>> = candidates.iter().map(|candidate| candidate.points.scratch()).collect();
        let mut walk = tensor.part_of_walk(part as usize, parts);
        while let Some((coordinates, position)) = walk.next_entry() {
            if is_zero(values.number(position)) {
                continue;
            }
            for (candidate, columns) in candidates.iter().zip(&mut columns) {
                if candidate.alive.load(Ordering::Relaxed) {
                    load(columns, coordinates);
                    if candidate.points.place(columns) == Place::Outside {
                        candidate.alive.store(false, Ordering::Relaxed);
                    }
                }
            }
        }
        0
    });
}

/// The structures that say something at these sizes, and that no other one of them implies. If two say the same, the first stays.
fn telling(held: Vec<FoundStructure>, params: &[i64], order: usize) -> Vec<FoundStructure> {
    let general = Named::find("general").and_then(|named| named.structure(order, &[]).ok());
    let general = general.and_then(|structure| AtSizes::of(&structure, params));
    let sized: Vec<Option<AtSizes>> = held.iter().map(|found| AtSizes::of(&found.structure, params)).collect();
    let implies = |a: &Option<AtSizes>, b: &Option<AtSizes>| match (a, b) {
        (Some(a), Some(b)) => a.implies(b).is_yes(),
        _ => false,
    };
    let is_told = |(place, own): &(usize, &Option<AtSizes>)| {
        let stronger = |(other, one): (usize, &Option<AtSizes>)| {
            other != *place && implies(one, own) && (other < *place || !implies(own, one))
        };
        !implies(&general, own) && !sized.iter().enumerate().any(stronger)
    };
    let told: Vec<bool> = sized.iter().enumerate().map(|one| is_told(&one)).collect();
    held.into_iter().zip(told).filter_map(|(found, told)| told.then_some(found)).collect()
}

/// Works on the parts of a tensor's storage, and puts the results together.
pub(super) fn gathered<R: Send>(tensor: &DynTensor, work: impl Fn(usize, usize) -> R + Sync) -> Vec<R> {
    let parts = parts(tensor);
    let results = Mutex::new(Vec::new());
    pool::run(0, parts as i64, &|part| {
        let result = work(part as usize, parts);
        results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
        0
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
}
