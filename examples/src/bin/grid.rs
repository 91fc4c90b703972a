//! Writes a matrix of any size for measurements: a grid Laplacian or a uniformly random pattern.
//!
//! ```text
//! cargo run --release -p lacunar-examples --bin grid -- laplace2d --size 1000 > laplace2d.mtx
//! cargo run --release -p lacunar-examples --bin grid -- random --size 1000000 --per-row 10 > random.mtx
//! ```

use anyhow::Result;
use clap::Parser;
use lacunar_examples::grid::{Kind, write_grid};
use std::io::{BufWriter, Write, stdout};

/// A matrix of any size, as Matrix Market on standard output.
#[derive(Parser)]
enum Arguments {
    /// 5-point Laplacian of a square grid.
    Laplace2d {
        /// Points on a side.
        #[arg(long)]
        size: u64,
    },
    /// 27-point operator of a cubic grid.
    Laplace3d {
        /// Points on a side.
        #[arg(long)]
        size: u64,
    },
    /// A square matrix with the same number of entries in every row, at random columns.
    Random {
        /// Rows and columns.
        #[arg(long)]
        size: u64,
        /// Entries in each row.
        #[arg(long, default_value_t = 10)]
        per_row: u64,
        /// Seed of the random numbers.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}

fn main() -> Result<()> {
    let kind = match Arguments::parse() {
        Arguments::Laplace2d { size } => Kind::Laplace2d(size),
        Arguments::Laplace3d { size } => Kind::Laplace3d(size),
        Arguments::Random { size, per_row, seed } => Kind::Random { size, per_row, seed },
    };
    let mut out = BufWriter::new(stdout().lock());
    write_grid(&mut out, kind)?;
    Ok(out.flush()?)
}
