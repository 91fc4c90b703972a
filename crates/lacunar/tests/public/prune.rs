//! The entries that are stored: zeros stay entries until they are pruned.

use lacunar::{DType, Format, FormatSpec, Kernel, Options, Tensor};

fn spec(text: &str) -> FormatSpec {
    text.parse().expect("a format")
}

/// A zero that is stored, a negative one, and two other values.
fn matrix(format: &str) -> Tensor<f64> {
    let entries: [(&[u64], f64); 4] = [(&[0, 0], 1.0), (&[0, 1], 0.0), (&[1, 0], -0.0), (&[1, 2], 3.0)];
    Tensor::from_entries(&[2, 3], &entries, spec(format)).expect("it is stored")
}

/// The number of values in the result of a program over `A`.
fn stored(source: &str, a: &Tensor<f64>, dtype: DType, format: &str) -> u64 {
    let options = Options::new().tensor("A", a.as_dyn()).format("C", spec(format)).dtype("C", dtype);
    let kernel = Kernel::compile(source, &options).expect("it compiles");
    let run = kernel.run_named(&[("A", a.as_dyn())]).expect("it runs");
    run.results[0].1.nnz()
}

#[test]
fn stored_zeros_are_entries() {
    for format in ["csr", "csc", "dcsr", "coo", "dh", "dl", "db"] {
        for target in ["csr", "csc", "dcsr", "coo"] {
            let a = matrix(format);
            assert_eq!(a.convert(spec(target)).unwrap().as_dyn().nnz(), 4, "{format} to {target}");
            assert_eq!(stored("C(i,j) = A(i,j)", &a, DType::F64, target), 4, "{format} to {target}");
            assert_eq!(stored("C(i,j) = 2 * A(i,j)", &a, DType::F64, target), 4, "{format} to {target}");
            assert_eq!(stored("C(i,j) = prune(A(i,j))", &a, DType::F64, target), 2, "{format} to {target}");
        }
    }
}

#[test]
fn zeros_of_places_that_are_always_there_are_none() {
    // A zero cannot be told from padding there; -0.0 can.
    for format in ["dense", "bcsr(2,2)", "dia"] {
        let a = matrix(format);
        assert_eq!(a.convert(Format::csr()).unwrap().as_dyn().nnz(), 3, "{format}");
        assert_eq!(stored("C(i,j) = A(i,j)", &a, DType::F64, "csr"), 3, "{format}");
        assert_eq!(stored("C(i,j) = prune(A(i,j))", &a, DType::F64, "csr"), 2, "{format}");
    }
}

#[test]
fn pruned_results_of_sums() {
    let a = matrix("csr");
    assert_eq!(stored("C(i,k) = A(i,j) * A(k,j)", &a, DType::F64, "csr"), 4);
    assert_eq!(stored("C(i,k) = prune(A(i,j) * A(k,j))", &a, DType::F64, "csr"), 2);
    assert_eq!(stored("C(i,j) = prune(A(i,j) - A(i,j))", &a, DType::F64, "csr"), 0);
}

#[test]
fn masks_store_what_is_true() {
    let a = matrix("csr");
    assert_eq!(stored("C(i,j) = gt(A(i,j), 2)", &a, DType::Bool, "csr"), 1);
    assert_eq!(stored("C(i,j) = gt(A(i,j), 2)", &a, DType::Bool, "db"), 1);
    assert_eq!(stored("C(i,j) = gt(A(i,j), 5)", &a, DType::Bool, "coo"), 0);
}

#[test]
#[cfg(target_os = "linux")]
fn what_memory_cannot_hold_is_told_before_it_is_filled() {
    let a = Tensor::<f64>::from_entries(&[4_000_000, 4_000_000], &[(&[1, 2], 1.0)], Format::csr()).expect("stored");
    let options = Options::new().tensor("A", a.as_dyn()).format("C", Format::csr());
    let kernel = Kernel::compile("C(i,j) = A(i,j) + 1", &options).expect("it compiles");
    let error = kernel.run_named(&[("A", a.as_dyn())]).expect_err("128 TB");
    assert!(error.to_string().starts_with("`C` gets every element, 128000000000000 bytes, and this machine has "));
}
