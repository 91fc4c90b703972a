//! A sparse matrix times a vector: `cargo run --example spmv [FILE.mtx]`.
//!
//! Without a file, the stiffness matrix in `examples/data` is read. Its rows add up to zero, as constants solve the
//! homogeneous problem, so the product with a vector of ones is zero up to rounding.

use lacunar::{Error, Format, Tensor, einsum};

fn main() -> Result<(), Error> {
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/stiffness.mtx");
    let path = std::env::args().nth(1).unwrap_or_else(|| shipped.to_string());
    let a = Tensor::<f64>::read(&path, Format::csr())?;
    let (rows, columns) = (a.dims()[0], a.dims()[1]);
    println!("{rows} x {columns}, {} entries", a.nnz());
    let y = einsum!("y(i) = A(i,j) * x(j)", A = &a, x = vec![1.0; columns as usize] -> Vec<f64>)?;
    let largest = y.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
    println!("largest row sum: {largest:.1e}");
    Ok(())
}
