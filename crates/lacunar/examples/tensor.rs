//! The matricized tensor times Khatri-Rao product, the heart of tensor factorization: `cargo run --example tensor`.
//!
//! The tensor of `examples/data` holds the integrals of `f_i * df_j/dx * f_k` over the hat functions of a mesh. Its
//! entries cancel along `j`, because the hat functions add up to one, whose derivative is zero: with `C` of ones, the
//! result is zero up to rounding.

use lacunar::{Error, Format, Tensor, einsum};

const RANK: u64 = 16;

fn main() -> Result<(), Error> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/convection.tns");
    let b = Tensor::<f64>::read(path, Format::csf(3))?;
    let dims = b.dims();
    println!("{} x {} x {}, {} entries", dims[0], dims[1], dims[2], b.nnz());
    let factor = |rows: u64, value: fn(u64) -> f64| -> Result<Tensor<f64>, Error> {
        let values: Vec<f64> = (0..rows * RANK).map(value).collect();
        Tensor::from_slice(&[rows, RANK], &values)
    };
    let linear = |place: u64| (place % 7) as f64 - 3.0;
    let d = factor(dims[2], linear)?;
    for (name, c) in [("varying", factor(dims[1], linear)?), ("constant", factor(dims[1], |_| 1.0)?)] {
        let a = einsum!("A(i,r) = B(i,j,k) * C(j,r) * D(k,r)", B = &b, C = &c, D = &d -> Tensor<f64>)?;
        let largest = a.values().iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
        println!("C {name}: largest element {largest:.1e}");
    }
    Ok(())
}
