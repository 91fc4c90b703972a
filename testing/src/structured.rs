//! Entries that have a structure, by its definition: point by point, without the library that is tested.
//!
//! ```
//! use lacunar_front::structure;
//! use lacunar_testing::{data, structured::{structured, unique}};
//! let (_, spec) = structure::parse("A:skew").unwrap();
//! let skew = spec.resolve(2).unwrap();
//! let all = structured(&data::entries(1, &[4, 4], lacunar_formats::DType::F64, 1.0, false), &skew);
//! assert_eq!((all.values.len(), unique(&all, &skew).values.len()), (12, 6));
//! ```

use lacunar_notation::Structure;
use lacunar_sets::Coefficient;
use num_complex::Complex;

use crate::entries::{Entries, coordinates};
use crate::scalar::Scalar;

/// The largest number of points that are gone through.
const MOST_POINTS: u64 = 1 << 17;

/// Entries with a structure: the unique ones of these, and all that follow from them. Entries of enormous tensors stay as they are.
pub fn structured(entries: &Entries, structure: &Structure) -> Entries {
    let Some(points) = points(entries) else { return entries.clone() };
    let params = params(entries);
    let mut made = Entries { values: Default::default(), ..entries.clone() };
    for point in points {
        let Some(Some((source, by))) = structure.element(&params, &signed(&point)) else { continue };
        let source: Vec<u64> = source.iter().map(|at| *at as u64).collect();
        if let Some(value) = entries.values.get(&source) {
            made.values.insert(point, times(settled(*value, structure, &params, &source), by));
        }
    }
    made
}

/// The value of a unique entry: of one that is known to equal a multiple of itself, half of the sum of the two.
fn settled(value: Scalar, structure: &Structure, params: &[i64], point: &[u64]) -> Scalar {
    let tied = structure.tied().filter(|(elements, _)| elements.contains(params, &signed(point)) == Some(true));
    match (value, tied.map(|(_, by)| times(value, *by))) {
        (Scalar::Int(own), Some(Scalar::Int(other))) => Scalar::Int((own + other) / 2),
        (Scalar::Real(own), Some(Scalar::Real(other))) => Scalar::Real((own + other) / 2.0),
        (Scalar::Complex(own), Some(Scalar::Complex(other))) => Scalar::Complex((own + other) / 2.0),
        (own, _) => own,
    }
}

/// The unique entries alone.
pub fn unique(entries: &Entries, structure: &Structure) -> Entries {
    let params = params(entries);
    let mut kept = entries.clone();
    kept.values.retain(|point, _| structure.unique().contains(&params, &signed(point)) == Some(true));
    kept
}

fn points(entries: &Entries) -> Option<impl Iterator<Item = Vec<u64>>> {
    let count = entries.dims.iter().try_fold(1u64, |all, size| all.checked_mul(*size))?;
    (count <= MOST_POINTS).then(|| coordinates(&entries.dims))
}

fn params(entries: &Entries) -> Vec<i64> {
    signed(&entries.dims)
}

fn signed(numbers: &[u64]) -> Vec<i64> {
    numbers.iter().map(|number| i64::try_from(*number).unwrap_or(i64::MAX)).collect()
}

pub(crate) fn times(value: Scalar, by: Coefficient) -> Scalar {
    let (numerator, denominator) = (by.numerator(), by.denominator());
    match value {
        Scalar::Bool(value) => Scalar::Bool(value && numerator != 0),
        Scalar::Int(value) => Scalar::Int(value * i128::from(numerator) / i128::from(denominator)),
        Scalar::Real(value) => Scalar::Real(value * by.number()),
        Scalar::Complex(value) => {
            let value = if by.conjugate { value.conj() } else { value };
            Scalar::Complex(Complex::new(value.re * by.number(), value.im * by.number()))
        }
    }
}
