//! Matrices of any size for measurements: grid Laplacians and uniformly random patterns.
//!
//! They are written as they are made, row by row, so their size is limited by the disk and not by memory. The
//! Laplacian of an `n` by `n` grid couples each point to its 4 neighbors, here for `n = 2`:
//!
//! ```text
//!    4 -1 -1  0
//!   -1  4  0 -1
//!   -1  0  4 -1
//!    0 -1 -1  4
//! ```
//!
//! In three dimensions each point is coupled to all 26 around it (diagonal 26, the rest -1), as in the benchmark HPCG
//! (Dongarra, Heroux and Luszczek, 2016).

use crate::files::write_head;
use crate::random::SplitMix64;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::io::Write;
use std::ops::Range;

/// The kinds of matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 5-point Laplacian of a square grid with this many points on a side.
    Laplace2d(u64),
    /// 27-point operator of a cubic grid with this many points on a side.
    Laplace3d(u64),
    /// A square matrix of `size` rows with `per_row` entries in each, at uniformly random columns.
    Random {
        /// Rows and columns.
        size: u64,
        /// Entries in each row.
        per_row: u64,
        /// Seed of the random numbers.
        seed: u64,
    },
}

/// Writes the matrix in Matrix Market format, general, by rows.
pub fn write_grid(out: &mut impl Write, kind: Kind) -> Result<()> {
    let (rows, entries) = count(kind)?;
    write_head(out, "coordinate real general", &format!("{kind:?}, made by the program grid of lacunar-examples"))?;
    writeln!(out, "{rows} {rows} {entries}")?;
    match kind {
        Kind::Laplace2d(n) => write_stencil(out, &Stencil { extent: [1, n, n], reach: 1, diagonal: 4 })?,
        Kind::Laplace3d(n) => write_stencil(out, &Stencil { extent: [n, n, n], reach: 3, diagonal: 26 })?,
        Kind::Random { size, per_row, seed } => write_random(out, size, per_row, seed)?,
    }
    Ok(())
}

/// Rows and entries of a matrix; an error where they do not fit in 64 bits or are impossible.
fn count(kind: Kind) -> Result<(u64, u64)> {
    let (rows, entries) = match kind {
        // Every point has 5 entries, less one for each of the 4n neighbors that the border lacks.
        Kind::Laplace2d(n) => {
            let rows = n.checked_pow(2);
            (rows, rows.and_then(|rows| rows.checked_mul(5)).map(|entries| entries - 4 * n))
        }
        // A line of n > 0 points has n entries on its diagonal and 2(n - 1) beside it; the cube is its third power.
        Kind::Laplace3d(n) => {
            let line = n.checked_mul(3).map(|entries| entries.saturating_sub(2));
            (n.checked_pow(3), line.and_then(|line| line.checked_pow(3)))
        }
        Kind::Random { size, per_row, .. } => {
            ensure!(per_row <= size, "{per_row} entries do not fit in a row of {size}");
            (Some(size), size.checked_mul(per_row))
        }
    };
    rows.zip(entries).context("the matrix is too large")
}

/// The couplings of the points of a grid.
struct Stencil {
    /// Points in directions z, y and x.
    extent: [u64; 3],
    /// Neighbors differ by 1 in at least one and at most this many directions.
    reach: usize,
    /// The coupling to itself; that to a neighbor is -1.
    diagonal: i32,
}

fn write_stencil(out: &mut impl Write, stencil: &Stencil) -> std::io::Result<()> {
    let [depth, height, width] = stencil.extent;
    let number = |[z, y, x]: [u64; 3]| (z * height + y) * width + x + 1;
    let around = |at: u64, end: u64| at.saturating_sub(1)..(at + 2).min(end);
    for [z, y, x] in points([0..depth, 0..height, 0..width]) {
        for [p, q, r] in points([around(z, depth), around(y, height), around(x, width)]) {
            let differing = usize::from(p != z) + usize::from(q != y) + usize::from(r != x);
            if differing <= stencil.reach {
                let value = if differing == 0 { stencil.diagonal } else { -1 };
                writeln!(out, "{} {} {value}", number([z, y, x]), number([p, q, r]))?;
            }
        }
    }
    Ok(())
}

/// The points of a box, the last coordinate fastest.
fn points([zs, ys, xs]: [Range<u64>; 3]) -> impl Iterator<Item = [u64; 3]> {
    zs.flat_map(move |z| {
        let xs = xs.clone();
        ys.clone().flat_map(move |y| xs.clone().map(move |x| [z, y, x]))
    })
}

/// Writes rows whose columns are a uniformly random subset (Floyd's algorithm: Bentley and Floyd, "A sample of
/// brilliance", 1987) and whose values are uniform in `[0, 1)`.
fn write_random(out: &mut impl Write, size: u64, per_row: u64, seed: u64) -> std::io::Result<()> {
    let mut random = SplitMix64::new(seed);
    for row in 1..=size {
        let mut columns = BTreeSet::new();
        for last in size - per_row..size {
            let column = random.below(last + 1);
            if !columns.insert(column) {
                columns.insert(last);
            }
        }
        for column in columns {
            writeln!(out, "{row} {} {:?}", column + 1, random.unit())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of rows, and the entries, that are written.
    fn written(kind: Kind) -> (u64, Vec<(u64, u64, f64)>) {
        let mut text = Vec::new();
        write_grid(&mut text, kind).expect("the size fits");
        let text = String::from_utf8(text).expect("the file is text");
        let mut lines = text.lines().filter(|line| !line.starts_with('%')).map(|line| {
            let words: Vec<f64> = line.split(' ').map(|word| word.parse().expect("a number")).collect();
            (words[0] as u64, words[1] as u64, words[2])
        });
        let (rows, columns, entries) = lines.next().expect("a line of sizes");
        let found: Vec<_> = lines.collect();
        assert_eq!((rows, entries as usize), (columns, found.len()));
        assert!(found.is_sorted_by(|a, b| (a.0, a.1) < (b.0, b.1)));
        assert!(found.iter().all(|&(row, column, _)| (1..=rows).contains(&row) && (1..=rows).contains(&column)));
        (rows, found)
    }

    #[test]
    fn square_of_two() {
        let (rows, entries) = written(Kind::Laplace2d(2));
        let expected = [(1, 1, 4), (1, 2, -1), (1, 3, -1), (2, 1, -1), (2, 2, 4), (2, 4, -1), (3, 1, -1), (3, 3, 4)];
        assert_eq!(rows, 4);
        assert_eq!(entries[..8], expected.map(|(row, column, value)| (row, column, f64::from(value))));
    }

    #[test]
    fn grids_are_symmetric_with_zero_row_sums_inside() {
        for (kind, inner_row) in [(Kind::Laplace2d(5), 13), (Kind::Laplace3d(3), 14)] {
            let (_, entries) = written(kind);
            assert!(entries.iter().all(|&(row, column, value)| entries.contains(&(column, row, value))));
            assert_eq!(entries.iter().filter(|entry| entry.0 == inner_row).map(|entry| entry.2).sum::<f64>(), 0.0);
        }
    }

    #[test]
    fn small_and_empty_grids() {
        assert_eq!(written(Kind::Laplace2d(0)).1.len(), 0);
        assert_eq!(written(Kind::Laplace3d(0)).1.len(), 0);
        assert_eq!(written(Kind::Laplace2d(1)).1, [(1, 1, 4.0)]);
        assert_eq!(written(Kind::Laplace3d(2)).1.len(), 64);
    }

    #[test]
    fn random_rows_are_full() {
        let kind = Kind::Random { size: 50, per_row: 7, seed: 1 };
        let (rows, entries) = written(kind);
        assert!((1..=rows).all(|row| entries.iter().filter(|entry| entry.0 == row).count() == 7));
        assert_eq!(written(kind).1, entries, "the seed determines the matrix");
        assert_ne!(written(Kind::Random { size: 50, per_row: 7, seed: 2 }).1, entries);
        assert_eq!(written(Kind::Random { size: 9, per_row: 9, seed: 1 }).1.len(), 81);
    }

    #[test]
    fn impossible_sizes_are_refused() {
        for kind in [
            Kind::Laplace2d(u64::MAX),
            Kind::Laplace2d(3_000_000_000),
            Kind::Laplace3d(u64::MAX / 2),
            Kind::Laplace3d(2_000_000),
            Kind::Random { size: 3, per_row: 4, seed: 0 },
            Kind::Random { size: 1 << 40, per_row: 1 << 30, seed: 0 },
        ] {
            let mut nothing = Vec::new();
            assert!(write_grid(&mut nothing, kind).is_err());
            assert!(nothing.is_empty());
        }
    }
}
