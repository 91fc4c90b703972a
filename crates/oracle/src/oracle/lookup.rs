//! The entries of a tensor under numbers, so that one is found by its coordinates at once.

use std::collections::BTreeSet;

use lacunar_formats::Format;
use rustc_hash::FxHashMap;

use super::{MANY, Outcome};
use crate::entries::Entries;
use crate::scalar::Scalar;

/// The entries of a tensor, under numbers: row-major ones, of the coordinates that occur where there would be too many.
#[derive(Clone)]
pub(super) struct Lookup {
    /// The numbers of the coordinates of each dimension.
    pub(super) numbers: Vec<Numbers>,
    pub(super) values: FxHashMap<u64, Scalar>,
    /// For entries that were computed: the largest magnitude that occurred on the way to them.
    pub(super) scales: FxHashMap<u64, f64>,
    /// True if fill values may be stored where there is no entry.
    pub(super) is_loose: bool,
}

#[derive(Clone)]
pub(super) enum Numbers {
    All(u64),
    Some(FxHashMap<u64, u64>),
}

impl Numbers {
    pub(super) fn count(&self) -> u64 {
        match self {
            Numbers::All(size) => *size,
            Numbers::Some(known) => known.len() as u64,
        }
    }

    pub(super) fn of(&self, coordinate: u64) -> Option<u64> {
        match self {
            Numbers::All(size) => (coordinate < *size).then_some(coordinate),
            Numbers::Some(known) => known.get(&coordinate).copied(),
        }
    }
}

impl Lookup {
    pub(super) fn new(entries: &Entries) -> Result<Lookup, String> {
        let numbered = |(dimension, &size): (usize, &u64)| {
            if size < MANY {
                return Numbers::All(size);
            }
            let known: BTreeSet<u64> = entries.values.keys().map(|at| at[dimension]).collect();
            Numbers::Some(known.into_iter().zip(0..).collect())
        };
        let numbers: Vec<Numbers> = entries.dims.iter().enumerate().map(numbered).collect();
        let volume = numbers.iter().try_fold(1u64, |product, numbers| product.checked_mul(numbers.count().max(1)));
        volume.ok_or("a tensor is too large for a test")?;
        let mut lookup =
            Lookup { numbers, values: FxHashMap::default(), scales: FxHashMap::default(), is_loose: false };
        for (at, &value) in &entries.values {
            if let Some(number) = lookup.number(at.iter().copied()) {
                lookup.values.insert(number, value);
            }
        }
        Ok(lookup)
    }

    /// The entries of a result, with what is known of how engines come to them, as a format stores them.
    pub(super) fn of_result(outcome: &Outcome, format: &Format) -> Result<Lookup, String> {
        let mut lookup = Lookup::new(&outcome.entries.stored_in(format)?)?;
        let numbered = |(at, &scale): (&Vec<u64>, &f64)| Some((lookup.number(at.iter().copied())?, scale));
        lookup.scales = outcome.scale.iter().filter_map(numbered).collect();
        lookup.is_loose = outcome.is_loose;
        Ok(lookup)
    }

    pub(super) fn number(&self, at: impl Iterator<Item = u64>) -> Option<u64> {
        at.zip(&self.numbers).try_fold(0, |number, (c, numbers)| Some(number * numbers.count() + numbers.of(c)?))
    }

    /// The value of an entry, and the largest magnitude on the way to it.
    pub(super) fn get(&self, at: impl Iterator<Item = u64>) -> Option<(Scalar, f64)> {
        let number = self.number(at)?;
        Some((*self.values.get(&number)?, self.scales.get(&number).copied().unwrap_or(0.0)))
    }
}
