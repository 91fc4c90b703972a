//! Comparing the result of an engine with that of the oracle: values, then storage.
//!
//! *Values* (where they are not moot): an entry that is absent equals a stored fill value; NaN equals NaN; integers and truth
//! values are exact; reals may differ by rounding, judged by the largest number that occurred on the way to the value, because sums
//! may be taken in any order.
//!
//! *Storage*: stored coordinates are in range, ascend in the order of the format's levels and occur once. Every coordinate whose
//! value is not the fill value is stored, and none is stored that is not structurally present. There are three exceptions: rounding
//! decides if a pruned value is the fill value; the format stores whole blocks (a dense level below one that is not; a block may turn
//! out empty); or it fills up rows (padded levels, and a singleton below a level with unique coordinates). Under a schedule, fill values other than 0 may be stored as
//! well: workspaces are 0 where they hold nothing, which is then a value like others.

use std::collections::BTreeMap;

use lacunar_formats::{DType, Format, Kind, Level, LevelKind};
use lacunar_runtime::coo::Coo;

use crate::entries::{Entries, coordinate, scalars};
use crate::oracle::Outcome;
use crate::scalar::Scalar;

/// The largest distance that a value of a type may have from the true one, relative to the numbers it was computed from.
pub fn tolerance(dtype: DType) -> f64 {
    match dtype.part() {
        DType::BF16 => 2e-2,
        DType::F16 => 2e-3,
        DType::F32 => 1e-4,
        _ => 1e-9,
    }
}

/// True if two values of a type are the same but for rounding of numbers as large as `scale`.
pub fn close(a: Scalar, b: Scalar, scale: f64, dtype: DType) -> bool {
    let margin = |x: f64, y: f64| tolerance(dtype) * scale.max(x.abs()).max(y.abs());
    match (a, b) {
        (Scalar::Real(x), Scalar::Real(y)) => {
            x == y || (x.is_nan() && y.is_nan()) || (x.is_finite() && y.is_finite() && (x - y).abs() <= margin(x, y))
        }
        // A complex product of infinities may be NaN or infinite in either part (C99 leaves it to the implementation).
        (Scalar::Complex(x), Scalar::Complex(y)) => match (x.is_finite(), y.is_finite()) {
            (true, true) => (x - y).norm() <= margin(x.norm(), y.norm()),
            (left, right) => left == right,
        },
        (a, b) => a == b,
    }
}

/// True if two values are of a type that is rounded, and are [close].
pub fn near(a: Scalar, b: Scalar, scale: f64, dtype: DType) -> bool {
    matches!(dtype.kind(), Kind::Real | Kind::Complex) && close(a, b, scale, dtype)
}

/// Compares values with the oracle's.
///
/// # Errors
/// The first difference, in words.
pub fn values(expected: &Outcome, actual: &Coo) -> Result<(), String> {
    entries(expected, &Entries::from_coo(actual)?).map_err(|difference| format!("`{}`{difference}", expected.name))
}

fn entries(outcome: &Outcome, actual: &Entries) -> Result<(), String> {
    let expected = &outcome.entries;
    if expected.dims != actual.dims {
        return Err(format!(" should have dimensions {:?} and has {:?}", expected.dims, actual.dims));
    }
    if expected.dtype != actual.dtype {
        return Err(format!(" should have type {} and has {}", expected.dtype, actual.dtype));
    }
    let fill = expected.fill;
    let both: BTreeMap<&Vec<u64>, ()> =
        expected.values.keys().chain(actual.values.keys()).map(|coordinate| (coordinate, ())).collect();
    for coordinate in both.into_keys().filter(|coordinate| !outcome.moot.contains(*coordinate)) {
        let scale = outcome.scale.get(coordinate).copied().unwrap_or(0.0);
        let want = expected.values.get(coordinate).copied().unwrap_or(fill);
        let have = actual.values.get(coordinate).copied().unwrap_or(fill);
        if !close(want, have, scale, expected.dtype) {
            return Err(format!("{coordinate:?} should be {want:?} and is {have:?}"));
        }
    }
    Ok(())
}

/// Checks the stored coordinates of a result, given in the order they are stored in. `filled` says that fill values fill up the
/// storage of an operand, which a kernel computes with: then zeros, and the result's fill value, may be stored at places where the
/// result has no entry.
/// `scheduled` says that a schedule was given.
///
/// # Errors
/// The first fault, in words.
pub fn storage(
    expected: &Outcome,
    format: &Format,
    actual: &Coo,
    (filled, scheduled): (bool, bool),
) -> Result<(), String> {
    let mapped = format.map().is_some();
    let fills = scheduled && !expected.entries.fill.is_zero();
    let free = mapped || pads(format) || has_blocks(format) || fills || expected.is_loose;
    let allowed = if free { None } else { Some(expected.entries.stored_in(format)?) };
    let is_fill = |value: &Scalar| close(*value, expected.entries.fill, 0.0, expected.entries.dtype);
    let mut before: Option<Vec<u64>> = None;
    let mut stored: BTreeMap<Vec<u64>, ()> = BTreeMap::new();
    for (place, value) in scalars(&actual.values).into_iter().enumerate() {
        let at = coordinate(actual, place)?;
        // A map may store entries in any order.
        let key: Vec<u64> = match mapped {
            true => vec![place as u64],
            false => format.mode_order().iter().map(|&dimension| at[dimension]).collect(),
        };
        if before.as_ref().is_some_and(|before| *before >= key) {
            return Err(format!("`{}` stores {at:?} after an equal or larger coordinate", expected.name));
        }
        let filling = filled && (value.is_zero() || is_fill(&value));
        let moot = expected.moot.contains(&at) || (expected.uncertain.contains(&at) && value != expected.entries.fill);
        if !filling && !moot && allowed.as_ref().is_some_and(|allowed| !allowed.values.contains_key(&at)) {
            return Err(format!("`{}` stores {at:?}, where the result has no entry", expected.name));
        }
        before = Some(key);
        stored.insert(at, ());
    }
    let is_open = |at: &Vec<u64>| expected.moot.contains(at) || expected.uncertain.contains(at);
    let stray = |at: &&Vec<u64>| !stored.contains_key(*at) && !is_open(at);
    let missing = expected.entries.values.iter().find(|(at, value)| !is_fill(value) && stray(at));
    match missing {
        Some((at, value)) => Err(format!("`{}` does not store {at:?}, which is {value:?}", expected.name)),
        None => Ok(()),
    }
}

/// True if zeros fill up the storage of a tensor whose format has a map, or is packed; they are no entries.
pub fn fills_up(format: &Format) -> bool {
    let is_padded = format.levels().iter().any(|level| level.properties().padded);
    format.packing().is_some() || (format.map().is_some() && is_padded)
}

/// True if a dense level is below one that is not.
fn has_blocks(format: &Format) -> bool {
    let mut levels = format.levels().iter().skip_while(|level| level.kind == LevelKind::DENSE);
    levels.any(|level| level.kind == LevelKind::DENSE)
}

/// True if the format has a place for a coordinate under each parent, even if there is none.
fn pads(format: &Format) -> bool {
    let levels = format.levels();
    let padded = |level: &Level| level.kind != LevelKind::DENSE && level.properties().padded;
    levels.iter().any(padded)
        || levels.windows(2).any(|pair| pair[1].kind == LevelKind::SINGLETON && pair[0].unique)
        || levels.first().is_some_and(|level| level.kind == LevelKind::SINGLETON)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use super::*;

    fn outcome(values: &[(u64, f64)]) -> Outcome {
        let mut entries = Entries::empty(vec![4], DType::F64);
        entries.values.extend(values.iter().map(|&(c, value)| (vec![c], Scalar::Real(value))));
        Outcome::known("y", entries)
    }

    fn check(expected: &[(u64, f64)], actual: &[(u64, f64)]) -> (bool, bool) {
        let (expected, actual) = (outcome(expected), outcome(actual).entries.to_coo());
        (values(&expected, &actual).is_ok(), storage(&expected, &Format::sv(), &actual, (false, false)).is_ok())
    }

    #[test]
    fn absent_equals_stored_zero_in_values_only() {
        assert_eq!(check(&[(1, 2.0)], &[(1, 2.0)]), (true, true));
        assert_eq!(check(&[(1, 2.0), (2, 0.0)], &[(1, 2.0)]), (true, true));
        assert_eq!(check(&[(1, 2.0)], &[(1, 2.0), (2, 0.0)]), (true, false));
        assert_eq!(check(&[(1, 2.0)], &[]), (false, false));
        assert_eq!(check(&[(1, f64::NAN)], &[(1, f64::NAN)]), (true, true));
        assert_eq!(check(&[(1, f64::INFINITY)], &[(1, f64::MAX)]), (false, true));
    }

    #[test]
    fn rounding_is_judged_by_the_numbers_on_the_way() {
        let mut expected = outcome(&[(0, 1e-12)]);
        let actual = outcome(&[(0, 3e-12)]).entries.to_coo();
        assert!(values(&expected, &actual).is_err());
        expected.scale.insert(vec![0], 1.0);
        assert!(values(&expected, &actual).is_ok());
    }

    #[test]
    fn pruned_values_near_the_fill_value_are_stored_or_not() {
        let stored = |expected: &Outcome, value: f64| {
            let actual = outcome(&[(0, value)]).entries.to_coo();
            (values(expected, &actual).is_ok(), storage(expected, &Format::sv(), &actual, (false, false)).is_ok())
        };
        let mut expected = outcome(&[]);
        expected.scale.insert(vec![0], 1.0);
        assert_eq!(stored(&expected, -2.5e-16), (true, false));
        expected.uncertain.insert(vec![0]);
        assert_eq!(stored(&expected, -2.5e-16), (true, true));
        assert_eq!(stored(&expected, 0.0), (true, false));
        assert_eq!(stored(&expected, 1.0), (false, true));
        expected.entries.values.insert(vec![0], Scalar::Real(-2.5e-16));
        let nothing = outcome(&[]).entries.to_coo();
        assert!(storage(&expected, &Format::sv(), &nothing, (false, false)).is_ok());
    }

    #[test]
    fn unsorted_and_repeated_coordinates_are_faults() {
        let expected = outcome(&[(0, 1.0), (1, 1.0)]);
        let mut list = expected.entries.to_coo();
        list.coords[0] = lacunar_runtime::coo::Coordinates::U32(vec![1, 0]);
        assert!(storage(&expected, &Format::sv(), &list, (false, false)).unwrap_err().contains("after"));
        list.coords[0] = lacunar_runtime::coo::Coordinates::U32(vec![1, 1]);
        assert!(storage(&expected, &Format::sv(), &list, (false, false)).unwrap_err().contains("after"));
        list.coords[0] = lacunar_runtime::coo::Coordinates::U32(vec![1, 4]);
        assert!(storage(&expected, &Format::sv(), &list, (false, false)).unwrap_err().contains("not below"));
    }
}
