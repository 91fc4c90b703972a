//! Code that was made before is taken.

#![allow(clippy::unwrap_used)] // A failure is what a test is for.

use std::fs;

use lacunar::{Backend, Format, Kernel, Options, Tensor};

const PRODUCT: &str = "y(i) = A(i,j) * x(j)";

/// A kernel for a matrix with a diagonal of ones, and its result for ones.
fn product(size: u64, options: &Options) -> Vec<f64> {
    let entries: Vec<(Vec<u64>, f64)> = (0..size).map(|i| (vec![i, i], 1.0)).collect();
    let entries: Vec<(&[u64], f64)> = entries.iter().map(|(at, value)| (at.as_slice(), *value)).collect();
    let a = Tensor::from_entries(&[size, size], &entries, Format::csr()).unwrap();
    let x = Tensor::from_slice(&[size], &vec![2.0; size as usize]).unwrap();
    let options = options.clone().tensor("A", a.as_dyn()).tensor("x", x.as_dyn());
    let kernel = Kernel::compile(PRODUCT, &options).unwrap();
    let mut y = Tensor::<f64>::zeros(&[size], Format::dense(1)).unwrap();
    kernel.run(&mut y, &[a.as_dyn(), x.as_dyn()]).unwrap();
    y.to_dense().unwrap()
}

#[test]
fn twenty_sizes_take_one_compilation() {
    if Backend::default() != Backend::Llvm {
        eprintln!("SKIPPED: only code by LLVM is kept in a folder");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let options = Options::new().cache(folder.path());
    for size in (1..=20).map(|k| 1000 + 37 * k) {
        assert_eq!(product(size, &options), vec![2.0; size as usize]);
    }
    let files = || fs::read_dir(folder.path().join("code")).unwrap().count();
    assert_eq!(files(), 1);
    // Small sizes are constants of a kernel.
    product(7, &options);
    assert_eq!(files(), 2);
}

#[test]
fn without_reuse_nothing_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(product(1500, &Options::new().cache(folder.path()).reuse(false)), vec![2.0; 1500]);
    assert!(!folder.path().join("code").exists());
}
