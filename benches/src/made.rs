//! Random matrices by rows, made in memory: of rows that are alike, or of rows whose lengths follow Zipf's law.
//!
//! ```text
//! skew 1      every row has as many entries as the mean
//! skew 100    row k of the longest first has about 1/k^s of the first one's, and s is such that it has 100 times the mean
//! ```
//!
//! Rows of different lengths stand in random order. Columns are uniformly random, distinct in a row, and ascend.

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use lacunar::{DynTensor, Tensor};

const SEED: u64 = 42;

/// A random matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Its rows.
    pub rows: u64,
    /// Its columns.
    pub columns: u64,
    /// Its entries, about.
    pub entries: u64,
    /// The length of the longest row, in means.
    pub skew: f64,
}

/// Makes the matrix, by rows, with values in [0, 1).
///
/// # Errors
/// Rows would be longer than there are columns, or indices do not fit into 32 bits.
pub fn make(shape: &Shape) -> Result<DynTensor> {
    let mut random = Rng::with_seed(SEED);
    let lengths = lengths(shape, &mut random);
    let columns = u32::try_from(shape.columns).context("too many columns")?;
    ensure!(lengths.iter().all(|&length| length <= shape.columns), "a row is longer than there are columns");
    let total: u64 = lengths.iter().sum();
    u32::try_from(total).context("too many entries")?;
    let (mut pos, mut crd) = (Vec::with_capacity(lengths.len() + 1), Vec::with_capacity(total as usize));
    pos.push(0u32);
    for length in lengths {
        push_row(&mut crd, length as usize, columns, &mut random);
        pos.push(crd.len() as u32);
    }
    let values: Vec<f64> = crd.iter().map(|_| random.f64()).collect();
    Ok(Tensor::from_csr([shape.rows, shape.columns], pos, crd, values)?.into_dyn())
}

/// The number of entries of each row.
fn lengths(shape: &Shape, random: &mut Rng) -> Vec<u64> {
    let rows = shape.rows.max(1);
    let exponent = exponent(rows, shape.skew);
    let weights: Vec<f64> = (1..=rows).map(|row| (row as f64).powf(-exponent)).collect();
    let scale = shape.entries as f64 / weights.iter().sum::<f64>();
    // Rounding gives the next row the entry that it takes from one.
    let (mut wanted, mut given) = (0.0, 0u64);
    let mut lengths: Vec<u64> = Vec::with_capacity(weights.len());
    for weight in weights {
        wanted += weight * scale;
        let length = (wanted.round() as u64).saturating_sub(given);
        lengths.push(length);
        given += length;
    }
    if shape.skew > 1.0 {
        random.shuffle(&mut lengths);
    }
    lengths
}

/// The exponent of Zipf's law at which the first of so many has `skew` times the mean, by bisection.
fn exponent(rows: u64, skew: f64) -> f64 {
    let of = |exponent: f64| rows as f64 / (1..=rows).map(|row| (row as f64).powf(-exponent)).sum::<f64>();
    let (mut low, mut high) = (0.0, 3.0);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if of(middle) < skew { low = middle } else { high = middle }
    }
    if skew > 1.0 { low } else { 0.0 }
}

/// Appends a row of so many random columns.
fn push_row(crd: &mut Vec<u32>, length: usize, columns: u32, random: &mut Rng) {
    let begin = crd.len();
    if length * 8 > columns as usize {
        // Each of many columns is taken with the probability that the missing number asks for (Knuth, The Art of
        // Computer Programming 2, 3.4.2, algorithm S).
        let mut missing = length;
        for column in 0..columns {
            if missing > 0 && random.usize(..(columns - column) as usize) < missing {
                crd.push(column);
                missing -= 1;
            }
        }
        return;
    }
    while crd.len() - begin < length {
        let missing = length - (crd.len() - begin);
        crd.extend((0..missing).map(|_| random.u32(..columns)));
        crd[begin..].sort_unstable();
        let mut kept = begin;
        for k in begin..crd.len() {
            if k == begin || crd[k] != crd[kept - 1] {
                crd[kept] = crd[k];
                kept += 1;
            }
        }
        crd.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row_lengths(matrix: &DynTensor) -> Vec<u32> {
        let pos = matrix.levels()[1].pos().and_then(|pos| pos.as_slice::<u32>()).expect("rows");
        pos.windows(2).map(|ends| ends[1] - ends[0]).collect()
    }

    #[test]
    fn rows_are_alike_or_follow_the_law() {
        let shape = Shape { rows: 1000, columns: 3000, entries: 20_000, skew: 1.0 };
        assert!(row_lengths(&make(&shape).expect("small")).iter().all(|&length| length == 20));
        let skewed = row_lengths(&make(&Shape { skew: 50.0, ..shape }).expect("small"));
        assert_eq!(skewed.iter().sum::<u32>(), 20_000);
        let longest = skewed.iter().max().copied().unwrap_or_default();
        assert!((990..1010).contains(&longest), "{longest}");
    }

    #[test]
    fn dense_rows_are_made_too() {
        let shape = Shape { rows: 3, columns: 10, entries: 27, skew: 1.0 };
        assert_eq!(row_lengths(&make(&shape).expect("small")), [9, 9, 9]);
        assert!(make(&Shape { entries: 60, ..shape }).is_err());
    }
}
