//! Writes the graph of Zachary's karate club as a Matrix Market pattern.
//!
//! ```text
//! cargo run -p lacunar-examples --bin karate > karate.mtx
//! ```

use lacunar_examples::graph::write_karate;
use std::io::{BufWriter, Result, Write, stdout};

fn main() -> Result<()> {
    let mut out = BufWriter::new(stdout().lock());
    write_karate(&mut out)?;
    out.flush()
}
