//! Converting a tensor from one named format to another, for many pairs.
//!
//! A tensor is packed into every format; the stored entries must be those it was packed from. Then each is converted to
//! others; the result must be the same as by packing, or at least hold the same entries. Zeros are no matter: those that
//! fill up blocks cannot be told from others.
//!
//! A conversion that would take more memory than a test should is counted as refused; [`places`] tells before it is
//! tried.

use std::collections::HashMap;

use lacunar_formats::{DType, Format, Term};
use lacunar_runtime::coo::Coo;
use lacunar_runtime::{Buffer, StorageError, Tensor};

use super::Named;
use super::table::{Outcome, Table};

/// The pairs of formats that are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// All.
    All,
    /// The pairs from and to the format of this number.
    Around(usize),
}

/// Values at row-major numbers of coordinates, both as numbers, ascending, without zeros.
type Numbered = Vec<(u128, u128)>;

/// Converts a tensor through pairs of formats, as long as neither has more places than `most`; counts the outcomes.
///
/// # Errors
/// The first results that are not right, in words.
pub fn convert(coo: &Coo, formats: &[Named], pairs: Pairs, most: u64, table: &Table) -> Result<(), String> {
    // Entries of the same coordinate are added up.
    let merged = Tensor::from_coo(coo.clone(), &Format::coo(coo.dims.len()))
        .and_then(|list| list.to_coo())
        .map_err(|error| error.to_string())?;
    let truth = numbered(&merged)?;
    let mut packed = Vec::new();
    for named in formats {
        let format = named.format(coo.dims.len())?;
        packed.push(match places(&merged, &format) {
            _ if merged.values.dtype() == DType::Pattern && !format.tells_entries() => {
                Err("without values, entries could not be told from what fills up")
            }
            Some(places) if places <= most => {
                let tensor = Tensor::from_coo(merged.clone(), &format);
                let tensor = tensor.map_err(|error| format!("packed as {}: {error}", named.name))?;
                holds(&tensor, &truth).map_err(|fault| format!("packed as {}: {fault}", named.name))?;
                Ok((format, tensor))
            }
            _ => Err("more places than the test has memory for"),
        });
    }
    let mut faults = Vec::new();
    for (row, source) in packed.iter().enumerate() {
        for (column, target) in packed.iter().enumerate() {
            if matches!(pairs, Pairs::Around(center) if row != center && column != center) {
                continue;
            }
            let outcome = match (source, target) {
                (Ok((_, source)), Ok((format, target))) => converted(source, format, target, &truth),
                (Err(reason), _) | (_, Err(reason)) => Ok(Outcome::Refused(reason.to_string())),
            };
            match outcome {
                Ok(outcome) => table.count((row, column), outcome),
                Err(fault) => {
                    faults.push(format!("from {} to {}: {fault}", formats[row].text, formats[column].text));
                }
            }
        }
    }
    faults.truncate(5);
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// Converts one tensor, which packed gives `expected`.
fn converted(source: &Tensor, format: &Format, expected: &Tensor, truth: &Numbered) -> Result<Outcome, String> {
    match source.convert(format) {
        Ok(result) if result == *expected => Ok(Outcome::Right),
        Ok(result) => holds(&result, truth).map(|()| Outcome::Right),
        Err(error @ StorageError::Alloc(_)) => Ok(Outcome::Refused(error.to_string())),
        Err(error) => Err(error.to_string()),
    }
}

/// An error unless a tensor holds these entries.
fn holds(tensor: &Tensor, truth: &Numbered) -> Result<(), String> {
    let found = numbered(&tensor.to_coo().map_err(|error| error.to_string())?)?;
    if found == *truth {
        return Ok(());
    }
    let place = found.iter().zip(truth).position(|(a, b)| a != b).unwrap_or(found.len().min(truth.len()));
    let at = |list: &Numbered| list.get(place).map(|(number, value)| format!("{number}: {value:#x}"));
    let (found_there, wanted) = (at(&found), at(truth));
    Err(format!(
        "{} entries instead of {}; the first that differs is {found_there:?} instead of {wanted:?}",
        found.len(),
        truth.len()
    ))
}

/// The entries of a list.
///
/// # Errors
/// A coordinate is outside, or occurs twice.
fn numbered(coo: &Coo) -> Result<Numbered, String> {
    let dtype = coo.values.dtype();
    let (size, part, floats) = (dtype.size(), dtype.part().size(), dtype.part().is_float());
    let buffer = Buffer::from_values(coo.values.clone());
    let mut found = Vec::with_capacity(coo.len());
    for k in 0..coo.len() {
        let bytes = &buffer.as_bytes()[k * size..(k + 1) * size];
        let mut number = 0u128;
        for (column, &dim) in coo.coords.iter().zip(&coo.dims) {
            let c = column.get(k).filter(|c| *c < dim).ok_or_else(|| format!("entry {k} lies outside"))?;
            number = number.checked_mul(u128::from(dim)).ok_or("too many coordinates for a test")? + u128::from(c);
        }
        if size == 0 {
            // A pattern has the value 1 at each stored place.
            found.push((number, 1));
            continue;
        }
        // A negative zero that is added to a place of dense levels is a zero.
        let parts =
            bytes.chunks(part).map(|part| if floats && is_negative_zero(part) { 0 } else { little_endian(part) });
        found.push((number, parts.fold(0u128, |value, part| value.rotate_left(64) | part)));
    }
    found.sort_unstable();
    if let Some(pair) = found.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(format!("coordinate {} is stored twice", pair[0].0));
    }
    found.retain(|(_, value)| *value != 0);
    Ok(found)
}

fn little_endian(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u128::from(*byte))
}

/// True if these are the bytes of a floating-point number of which nothing but the sign is set.
fn is_negative_zero(bytes: &[u8]) -> bool {
    bytes.split_last().is_some_and(|(last, others)| *last == 0x80 && others.iter().all(|byte| *byte == 0))
}

/// The number of positions of a format's largest level, at most, for these entries; `None` if that overflows.
pub fn places(coo: &Coo, format: &Format) -> Option<u64> {
    let natural: Vec<Term> = format.mode_order().iter().map(|&d| Term::Whole(d)).collect();
    let terms = format.map().map_or(natural.as_slice(), |map| map.terms());
    let entries = coo.len() as u64;
    // For each entry, the number of the distinct prefix of stored coordinates that it has; and how many prefixes there
    // are.
    let mut prefixes = vec![0usize; coo.len()];
    let (mut positions, mut most) = (1u64, 1u64);
    for (level, term) in format.levels().iter().zip(terms) {
        let at = |d: usize, k: usize| coo.coords[d].get(k).unwrap_or(0);
        let mut counted: HashMap<u64, u64> = HashMap::new();
        let stored: Vec<u64> = (0..coo.len())
            .map(|k| match *term {
                Term::Whole(d) => at(d, k),
                Term::Quotient(d, block) => at(d, k) / u64::from(block),
                Term::Remainder(d, block) => at(d, k) % u64::from(block),
                Term::Difference(d, other) => at(d, k).wrapping_sub(at(other, k)),
                // Ranks are as good as coordinates, whose blocks may have fewer slots.
                Term::Ordinal(d) | Term::RankedOrdinal(d, _) => {
                    let next = counted.entry(at(d, k)).or_default();
                    *next += 1;
                    *next - 1
                }
            })
            .collect();
        let size = match *term {
            Term::Whole(d) => coo.dims[d],
            Term::Quotient(d, block) => coo.dims[d].div_ceil(u64::from(block)),
            Term::Remainder(_, block) => u64::from(block),
            Term::Difference(d, other) => coo.dims[d].checked_add(coo.dims[other])?,
            Term::Ordinal(_) | Term::RankedOrdinal(..) => counted.values().copied().max().unwrap_or(0),
        };
        let mut known: HashMap<(usize, u64), usize> = HashMap::new();
        for (prefix, coordinate) in prefixes.iter_mut().zip(stored) {
            let next = known.len();
            *prefix = *known.entry((*prefix, coordinate)).or_insert(next);
        }
        let (properties, capabilities) = (level.properties(), level.capabilities());
        positions = if properties.full || properties.padded {
            positions.checked_mul(size)?
        } else if properties.single {
            positions
        } else if properties.compact {
            if properties.unique { known.len() as u64 } else { entries }
        } else if !properties.ordered || capabilities.iterate_positions {
            // Room for more coordinates.
            positions.checked_add(entries.checked_mul(4)?)?
        } else {
            positions.checked_mul(size)?
        };
        most = most.max(positions);
    }
    Some(most)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use super::*;
    use crate::data;
    use lacunar_formats::DType;

    #[test]
    fn places_are_never_fewer_than_are_stored() {
        let coo = data::entries(3, &[13, 11], DType::F64, 0.1, false).to_coo();
        for named in super::super::matrices() {
            let format = named.format(2).unwrap();
            let stored = Tensor::from_coo(coo.clone(), &format).unwrap().nnz();
            let most = places(&coo, &format).unwrap();
            assert!(most >= stored, "{}: {most} {stored}", named.name);
        }
        assert_eq!(places(&coo, &Format::csr()), Some(coo.len().max(13) as u64));
    }

    #[test]
    fn other_entries_are_seen() {
        let coo = |seed| data::entries(seed, &[5, 4], DType::F64, 0.5, false).to_coo();
        let truth = numbered(&coo(1)).unwrap();
        let packed = |seed| Tensor::from_coo(coo(seed), &Format::csr()).unwrap();
        assert_eq!(holds(&packed(1), &truth), Ok(()));
        assert!(holds(&packed(2), &truth).is_err());
    }
}
