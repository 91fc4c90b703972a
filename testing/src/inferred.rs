//! The structures that are inferred for results, compared with the values that the oracle finds, point by point.
//!
//! ```text
//! C(i,j) = L(i,k) * M(k,j), L and M lower        inferred: lower        a fault, if the oracle's C(0, 1) is not 0
//! ```

use std::collections::BTreeMap;

use lacunar::inside::compiler::structure::{parameters, results};
use lacunar_notation::{Structure, TensorId};
use lacunar_oracle::{Outcome, compare};

use crate::entries::coordinates;
use crate::instance::Instance;
use crate::scalar::Scalar;
use crate::structured::times;

/// The largest number of points of a result that are compared.
const MOST_POINTS: u64 = 1 << 12;

/// The results that do not have the structures inferred for them, each with an element. Programs with actions besides statements, and tensors
/// that several statements assign, or that have values before, are left out.
pub fn faults(instance: &Instance, outcomes: &[Outcome]) -> Vec<String> {
    let program = &instance.program;
    if !program.is_sequence() {
        return Vec::new();
    }
    let mut inferred: BTreeMap<TensorId, Vec<Option<Structure>>> = BTreeMap::new();
    results(program).into_iter().for_each(|(id, structure)| inferred.entry(id).or_default().push(structure));
    let only = inferred.into_iter().filter_map(|(id, mut all)| Some((id, all.pop()??)).filter(|_| all.is_empty()));
    only.filter_map(|(id, structure)| {
        let name = &program.tensors[id].name;
        let outcome = outcomes.iter().find(|outcome| outcome.name == *name && !instance.given.contains_key(name))?;
        let at = contradiction(outcome, &structure, &parameters(program, id, &structure)?)?;
        Some(format!("`{name}` does not have its inferred structure at {at:?}: {structure}"))
    })
    .collect()
}

/// The first element whose value differs from the one that the structure tells. Results with more than [`MOST_POINTS`] elements, and those whose
/// fill value is not 0, are not compared.
fn contradiction(outcome: &Outcome, structure: &Structure, params: &[i64]) -> Option<Vec<u64>> {
    let entries = &outcome.entries;
    let count = entries.dims.iter().try_fold(1u64, |all, size| all.checked_mul(*size))?;
    if count > MOST_POINTS || !entries.fill.is_zero() {
        return None;
    }
    let value = |point: &[u64]| entries.values.get(point).copied().unwrap_or(entries.fill);
    coordinates(&entries.dims).find(|point| {
        let signed: Vec<i64> = point.iter().map(|at| *at as i64).collect();
        let Some(told) = structure.element(params, &signed) else { return false };
        let (source, expected) = match told {
            Some((source, by)) => {
                let source: Vec<u64> = source.iter().map(|at| *at as u64).collect();
                (source.clone(), times(value(&source), by))
            }
            None => (point.clone(), entries.fill),
        };
        // Structures tell of finite values: the difference of two infinities is no number.
        let is_number = !value(point).magnitude().is_nan();
        let is_moot = outcome.moot.contains(point) || outcome.moot.contains(&source);
        let scale = |point: &Vec<u64>| outcome.scale.get(point).copied().unwrap_or(0.0);
        let is_same = match (expected, value(point)) {
            // Integers wrap around.
            (Scalar::Int(a), Scalar::Int(b)) => (a - b).rem_euclid(1 << (8 * entries.dtype.size())) == 0,
            (a, b) => compare::close(a, b, scale(point).max(scale(&source)), entries.dtype),
        };
        !is_moot && is_number && !is_same
    })
}
