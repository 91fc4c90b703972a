//! Fill values in the public interface: kernels are made for those of their operands, and results have their own.

use lacunar::{Error, Format, Kernel, Options, Tensor, einsum};

fn vector(fill: f64, entries: &[(u64, f64)]) -> Result<Tensor<f64>, Error> {
    let places: Vec<[u64; 1]> = entries.iter().map(|(place, _)| [*place]).collect();
    let entries: Vec<(&[u64], f64)> =
        places.iter().zip(entries).map(|(at, (_, value))| (at.as_slice(), *value)).collect();
    Tensor::from_entries(&[4], &entries, Format::sv())?.with_fill(fill)
}

#[test]
fn a_shortest_path_step_stores_what_is_reached() -> Result<(), Error> {
    let (a, b) = (vector(f64::INFINITY, &[(0, 1.0), (2, 5.0)])?, vector(f64::INFINITY, &[(2, 2.0), (3, 9.0)])?);
    let options = Options::new().tensor("a", a.as_dyn()).tensor("b", b.as_dyn()).format("c", Format::sv());
    let both = Kernel::compile("c(i) = a(i) + b(i)", &options)?;
    let mut c = Tensor::<f64>::zeros(&[4], Format::sv())?;
    both.run(&mut c, &[a.as_dyn(), b.as_dyn()])?;
    assert_eq!((c.fill(), c.values()), (f64::INFINITY, &[7.0][..]));
    let either = Kernel::compile("c(i) = min(a(i), b(i))", &options)?;
    either.run(&mut c, &[a.as_dyn(), b.as_dyn()])?;
    assert_eq!(c.to_dense()?, [1.0, f64::INFINITY, 2.0, 9.0]);
    assert_eq!(c.values().len(), 3);
    Ok(())
}

#[test]
fn einsum_takes_the_fill_values_of_its_operands() -> Result<(), Error> {
    for fill in [0.0, 1.0, 2.5] {
        let (a, b) = (vector(fill, &[(1, 4.0)])?, vector(1.0, &[(1, 3.0), (2, 2.0)])?);
        let y = einsum!("y = a(i) * b(i)", a = &a, b = &b)?;
        assert_eq!(y.to_dense::<f64>()?, [12.0 + fill * (1.0 + 2.0 + 1.0)], "{fill}");
    }
    Ok(())
}

#[test]
fn other_fill_values_than_a_kernel_was_made_for_are_refused() -> Result<(), Error> {
    let options = Options::new().format("a", Format::sv()).fill("a", 1).dims("a", &[4]);
    let kernel = Kernel::compile("y(i) = a(i)", &options)?;
    let mut y = Tensor::<f64>::zeros(&[4], Format::dense(1))?;
    let refused = kernel.run(&mut y, &[vector(2.0, &[])?.as_dyn()]).unwrap_err();
    assert!(refused.to_string().contains("`a` has the fill value 2, but the kernel was compiled for 1"), "{refused}");
    kernel.run(&mut y, &[vector(1.0, &[(3, 7.0)])?.as_dyn()])?;
    assert_eq!(y.to_dense()?, [1.0, 1.0, 1.0, 7.0]);
    Ok(())
}
