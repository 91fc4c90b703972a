//! The number of values that a format with a map stores: blocks and diagonals are filled up with zeros.
//!
//! ```text
//! bcsr(2,2)   (i/2, j/2, i%2, j%2)     blocks that have entries, times 4
//! dia         (j-i, i)                 diagonals that have entries, times the number of rows
//! ```
//!
//! On entry: dense and compressed levels without slots. The values under one position of the last compressed level are
//! dense; so only the positions of that level are counted, as the distinct coordinates that entries have there and
//! above. The format is not stored for that, because it may be too large.

use anyhow::{Context, Result, ensure};
use lacunar::{Coo, Format};
use lacunar_formats::{LevelKind, Term};

/// The number of values that a format with a map stores of the entries.
pub fn stored_values(format: &Format, entries: &Coo) -> Result<u64> {
    let map = format.map().context("the format has no map")?;
    let sizes = map.stored_dims(&entries.dims).and_then(|sizes| sizes.into_iter().collect::<Option<Vec<u64>>>());
    let sizes = sizes.context("the entries do not tell how much the format stores")?;
    let kinds = || format.levels().iter().map(|level| level.kind);
    ensure!(
        kinds().all(|kind| [LevelKind::DENSE, LevelKind::COMPRESSED].contains(&kind)),
        "its levels are of other kinds"
    );
    let above = kinds().rposition(|kind| kind == LevelKind::COMPRESSED).map_or(0, |level| level + 1);
    let product = |sizes: &[u64]| sizes.iter().try_fold(1u64, |product, &size| product.checked_mul(size));
    let below = product(&sizes[above..]).context("the dense levels are too large")?;
    product(&sizes[..above]).context("the sizes of the levels are too large")?;
    let terms: Vec<(Term, u64)> = map.terms()[..above].iter().copied().zip(sizes.iter().copied()).collect();
    let mut keys = vec![0u64; entries.len()];
    for (term, size) in terms {
        for (k, key) in keys.iter_mut().enumerate() {
            *key = *key * size + stored(term, entries, k).context("an entry has no coordinate")?;
        }
    }
    keys.sort_unstable();
    keys.dedup();
    (keys.len() as u64).checked_mul(below).context("the format stores too many values")
}

/// True if every block of a format lies inside a tensor of these sizes.
pub fn has_whole_blocks(format: &Format, dims: &[u64]) -> bool {
    let terms = format.map().map(|map| map.terms()).unwrap_or_default();
    terms.iter().all(|term| match *term {
        Term::Quotient(dimension, block) => dims.get(dimension).is_some_and(|size| size % u64::from(block) == 0),
        _ => true,
    })
}

/// The coordinate that a level stores of an entry.
fn stored(term: Term, entries: &Coo, k: usize) -> Option<u64> {
    let coordinate = |dimension: usize| entries.coords.get(dimension)?.get(k);
    match term {
        Term::Whole(d) => coordinate(d),
        Term::Quotient(d, block) => Some(coordinate(d)? / u64::from(block)),
        Term::Remainder(d, block) => Some(coordinate(d)? % u64::from(block)),
        Term::Difference(d, other) => Some(coordinate(d)? + (entries.dims[other] - 1 - coordinate(other)?)),
        Term::Ordinal(_) | Term::RankedOrdinal(..) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lacunar::{FormatSpec, Tensor};

    #[test]
    fn values_are_counted_as_they_are_stored() {
        let entries: [(&[u64], f64); 5] =
            [(&[0, 1], 1.0), (&[1, 0], 2.0), (&[1, 2], 3.0), (&[4, 5], 4.0), (&[5, 3], 5.0)];
        let tensor = Tensor::from_entries(&[6, 7], &entries, Format::csr()).expect("well-formed");
        let coo = tensor.as_dyn().to_coo().expect("small");
        for name in ["bcsr(3,3)", "bcsr(2,3)", "dia", "dsd:0/4,1,0%4", "ssss:0/2,1/2,0%2,1%2"] {
            let format = name.parse::<FormatSpec>().and_then(|spec| spec.resolve(2)).expect("well-formed");
            let converted = tensor.as_dyn().convert(&format).expect("small");
            assert_eq!(stored_values(&format, &coo).expect("small"), converted.values().len() as u64, "{name}");
        }
        let slots = Format::ell().expect("well-formed");
        assert!(stored_values(&slots, &coo).is_err() && stored_values(&Format::csr(), &coo).is_err());
    }

    #[test]
    fn blocks_are_whole_or_not() {
        let blocks = Format::bcsr(2, 3).expect("well-formed");
        assert!(has_whole_blocks(&blocks, &[4, 9]));
        assert!(!has_whole_blocks(&blocks, &[5, 9]) && !has_whole_blocks(&blocks, &[4, 8]));
        assert!(has_whole_blocks(&Format::csr(), &[5, 7]));
    }
}
