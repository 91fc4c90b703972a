//! Counts the triangles of a graph in one fused kernel: `cargo run --example triangles`.
//!
//! `A` is the adjacency matrix of Zachary's karate club. Each triangle is found six times, once for each order of its
//! corners.

use lacunar::{Error, Format, Tensor, einsum};

fn main() -> Result<(), Error> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/karate.mtx");
    let a = Tensor::<i64>::read(path, Format::csr())?;
    let count = einsum!("t = A(i,j) * A(j,k) * A(i,k)", A = &a -> i64)?;
    println!("{} triangles", count / 6);
    Ok(())
}
