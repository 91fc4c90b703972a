//! Conjugate gradients on a stiffness matrix, with kernels that are compiled once and run in every iteration.
//!
//! The matrix of `examples/data` has the constants in its kernel; adding the identity, as a step of the implicit Euler
//! method for the heat equation does, makes it positive definite. So `(A + I) x = b` is solved, for a `b` with a known
//! solution.

use lacunar::{Error, Format, Kernel, Operand, Options, Tensor};

fn main() -> Result<(), Error> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/stiffness.mtx");
    let a = Tensor::<f64>::read(path, Format::csr())?;
    let n = a.dims()[0];
    let apply = Kernel::compile("q(i) = A(i,j) * p(j) + p(i)", &Options::new().format("A", Format::csr()))?;
    let dot = Kernel::compile("s = u(i) * v(i)", &Options::new())?;
    let axpy = Kernel::compile("y(i) += alpha * x(i)", &Options::new())?;
    let scale_and_add = Kernel::compile("z(i) = x(i) + beta * y(i)", &Options::new())?;

    let inner = |u: &Tensor<f64>, v: &Tensor<f64>| -> Result<f64, Error> { dot.call(&[("u", u), ("v", v)]) };
    let add = |y: &mut Tensor<f64>, alpha: f64, x: &Tensor<f64>| -> Result<(), Error> {
        axpy.run(y, &[&alpha as &dyn Operand, x])
    };

    let exact: Vec<f64> = (0..n).map(|i| (i as f64 * 0.01).sin()).collect();
    let exact = Tensor::from_slice(&[n], &exact)?;
    let mut x = Tensor::<f64>::zeros(&[n], Format::dense(1))?;
    let mut r = Tensor::<f64>::zeros(&[n], Format::dense(1))?;
    apply.run(&mut r, &[&a, &exact])?;
    let mut p = r.clone();
    let mut q = Tensor::<f64>::zeros(&[n], Format::dense(1))?;
    let mut next = Tensor::<f64>::zeros(&[n], Format::dense(1))?;

    let mut rr = inner(&r, &r)?;
    let target = 1e-24 * rr;
    let mut iterations = 0;
    while rr > target && iterations < 1000 {
        apply.run(&mut q, &[&a, &p])?;
        let alpha = rr / inner(&p, &q)?;
        add(&mut x, alpha, &p)?;
        add(&mut r, -alpha, &q)?;
        let before = std::mem::replace(&mut rr, inner(&r, &r)?);
        scale_and_add.run(&mut next, &[&r as &dyn Operand, &(rr / before), &p])?;
        std::mem::swap(&mut p, &mut next);
        iterations += 1;
    }
    let error = x.values().iter().zip(exact.values()).fold(0.0f64, |error, (x, y)| error.max((x - y).abs()));
    println!("{n} unknowns, {iterations} iterations, largest error {error:.1e}");
    Ok(())
}
