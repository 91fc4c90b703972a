//! The entries of a tensor under numbers, so that one is found by its coordinates at once.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::MANY;
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
        let mut lookup = Lookup { numbers, values: FxHashMap::default(), scales: FxHashMap::default() };
        for (at, &value) in &entries.values {
            if let Some(number) = lookup.number(at.iter().copied()) {
                lookup.values.insert(number, value);
            }
        }
        Ok(lookup)
    }

    /// The same, with the magnitudes that entries were computed from.
    pub(super) fn with_scales(mut self, scales: &BTreeMap<Vec<u64>, f64>) -> Lookup {
        let numbered = scales.iter().filter_map(|(at, &scale)| Some((self.number(at.iter().copied())?, scale)));
        self.scales = numbered.collect();
        self
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
