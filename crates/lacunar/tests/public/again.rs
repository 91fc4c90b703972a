//! Kernels that are run again, into memory that is there.

use lacunar::{Error, Format, Kernel, Options, Tensor};

fn matrix(rows: &[&[f64]], format: Format) -> Tensor<f64> {
    let entries: Vec<(usize, usize, f64)> = rows
        .iter()
        .enumerate()
        .flat_map(|(i, row)| row.iter().enumerate().map(move |(j, value)| (i, j, *value)))
        .filter(|(_, _, value)| *value != 0.0)
        .collect();
    let coordinates: Vec<[u64; 2]> = entries.iter().map(|(i, j, _)| [*i as u64, *j as u64]).collect();
    let list: Vec<(&[u64], f64)> =
        coordinates.iter().zip(&entries).map(|(at, (_, _, value))| (at.as_slice(), *value)).collect();
    Tensor::from_entries(&[rows.len() as u64, rows[0].len() as u64], &list, format).expect("the entries fit")
}

#[test]
fn other_values_and_other_sizes_are_read() {
    let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &Options::new().format("A", Format::csr())).unwrap();
    let x = Tensor::from_slice(&[2], &[1.0, 10.0]).unwrap();
    let mut y = Tensor::<f64>::zeros(&[2], Format::dense(1)).unwrap();
    for factor in [1.0, 2.0, 3.0] {
        let a = matrix(&[&[0.0, 2.0 * factor], &[3.0, 0.0]], Format::csr());
        kernel.run(&mut y, &[&a, &x]).unwrap();
        assert_eq!(y.to_dense().unwrap(), [20.0 * factor, 3.0]);
    }
    let high = matrix(&[&[1.0, 0.0], &[0.0, 1.0], &[1.0, 1.0]], Format::csr());
    kernel.run(&mut y, &[&high, &x]).unwrap();
    assert_eq!(y.to_dense().unwrap(), [1.0, 10.0, 11.0]);
    let low = matrix(&[&[4.0, 5.0]], Format::csr());
    kernel.run(&mut y, &[&low, &x]).unwrap();
    assert_eq!(y.to_dense().unwrap(), [54.0]);
}

#[test]
fn what_does_not_fit_is_refused_again() {
    let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &Options::new().format("A", Format::csr())).unwrap();
    let (a, x) = (matrix(&[&[1.0, 2.0]], Format::csr()), Tensor::from_slice(&[2], &[1.0, 10.0]).unwrap());
    let mut y = Tensor::<f64>::zeros(&[1], Format::dense(1)).unwrap();
    for _ in 0..2 {
        kernel.run(&mut y, &[&a, &x]).unwrap();
    }
    let columns = matrix(&[&[1.0, 2.0]], Format::csc());
    assert!(matches!(kernel.run(&mut y, &[&columns, &x]), Err(Error::Argument(_))));
    let long = Tensor::from_slice(&[3], &[1.0, 10.0, 100.0]).unwrap();
    assert!(matches!(kernel.run(&mut y, &[&a, &long]), Err(Error::Argument(_))));
    kernel.run(&mut y, &[&a, &x]).unwrap();
    assert_eq!(y.to_dense().unwrap(), [21.0]);
}

#[test]
fn structures_that_formats_do_not_tell_are_compared_every_time() {
    let options = Options::new().format("A", Format::csr()).structure("A:lower").unwrap();
    let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &options).unwrap();
    let x = Tensor::from_slice(&[2], &[1.0, 10.0]).unwrap();
    let mut y = Tensor::<f64>::zeros(&[2], Format::dense(1)).unwrap();
    let lower = matrix(&[&[1.0, 0.0], &[2.0, 3.0]], Format::csr());
    for _ in 0..2 {
        kernel.run(&mut y, &[&lower, &x]).unwrap();
        assert_eq!(y.to_dense().unwrap(), [1.0, 32.0]);
    }
    assert!(kernel.run(&mut y, &[&matrix(&[&[1.0, 5.0], &[2.0, 3.0]], Format::csr()), &x]).is_err());
}

#[test]
fn results_are_added_to_again() {
    let kernel = Kernel::compile("y(i) += x(i)", &Options::new()).unwrap();
    let x = Tensor::from_slice(&[2], &[1.0, 10.0]).unwrap();
    let mut y = Tensor::<f64>::zeros(&[2], Format::dense(1)).unwrap();
    for round in 1..4 {
        kernel.run(&mut y, &[&x]).unwrap();
        assert_eq!(y.to_dense().unwrap(), [f64::from(round), 10.0 * f64::from(round)]);
    }
}
