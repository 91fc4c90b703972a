//! Writes a matrix, vector or tensor of linear finite elements on an irregular mesh of the L-shaped domain.
//!
//! ```text
//! cargo run -p lacunar-examples --bin fem -- stiffness --cells 14 --levels 3 > stiffness.mtx
//! cargo run -p lacunar-examples --bin fem -- convection --cells 3 --levels 2 > convection.tns
//! ```

use anyhow::Result;
use clap::Parser;
use lacunar_examples::fem::{Quantity, write_quantity};
use lacunar_examples::mesh::MeshSize;
use std::io::{BufWriter, Write, stdout};

/// Linear finite elements on an irregular mesh of the L-shaped domain.
#[derive(Parser)]
struct Arguments {
    /// The quantity to write: a matrix or vector as Matrix Market, or a tensor as FROSTT .tns.
    #[arg(value_enum)]
    quantity: Quantity,
    /// Spacings of the coarsest level along a quarter's side.
    #[arg(long, default_value_t = 14)]
    cells: u32,
    /// How often the spacing is halved towards the inner corner.
    #[arg(long, default_value_t = 3)]
    levels: u32,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let size = MeshSize { cells: arguments.cells, levels: arguments.levels };
    let mut out = BufWriter::new(stdout().lock());
    write_quantity(&mut out, arguments.quantity, size)?;
    Ok(out.flush()?)
}
