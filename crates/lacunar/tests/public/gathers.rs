//! Values that are indices: from Rust, in loops of programs, and where they lie outside.

#![allow(clippy::unwrap_used)] // A failure is what a test is for.

use lacunar::{Backend, DType, DynTensor, Error, Format, FormatSpec, Kernel, Options, Tensor, einsum};

fn indices(values: &[i64]) -> DynTensor {
    Tensor::from(values.to_vec()).into_dyn()
}

fn vector(values: &[f64]) -> DynTensor {
    Tensor::from(values.to_vec()).into_dyn()
}

#[test]
fn einsum_gathers_and_scatters() {
    let x: Tensor<f64> = vec![1.0, 2.0, 4.0].into();
    let p: Tensor<i64> = vec![2, 0, 2, 1].into();
    let y = einsum!("y(i) = x(p(i))", x = &x, p = &p -> Tensor<f64>).unwrap();
    assert_eq!(y.values(), [4.0, 1.0, 4.0, 2.0]);
    let mut counts: Tensor<f64> = vec![0.0; 3].into();
    einsum!("c(p(i)) += y(i)", y = &y, p = &p, c = &mut counts).unwrap();
    assert_eq!(counts.values(), [1.0, 2.0, 8.0]);
    let some = einsum!("y(i) = x({2, 0}(i))", x = &x -> Tensor<f64>).unwrap();
    assert_eq!(some.values(), [4.0, 1.0]);
}

#[test]
fn a_value_outside_has_its_place_and_a_code() {
    let options = Options::new().dtype("p", DType::I64);
    let kernel = Kernel::compile("y(i) = x(p(i))", &options).unwrap();
    let x = vector(&[1.0, 2.0]);
    for (values, told) in [
        (vec![1, 2], "`p(1)` is 2, which is no index of a dimension of size 2"),
        (vec![-1, 0], "`p(0)` is -1, which is no index of a dimension of size 2"),
    ] {
        let error = kernel.run_named(&[("x", &x), ("p", &indices(&values))]).unwrap_err();
        let told = format!("{told}, in `y(i) = x(p(i))`: confine it with `clamp` or `wrap`, or declare a larger size");
        assert_eq!((error.code(), error.to_string()), (Some("E1307"), told));
        assert!(matches!(error, Error::OutOfRange { .. }));
    }
}

#[test]
fn values_that_change_are_compared_again() {
    let source = "for k in 0 .. 3 { p(i) = p(i) + 1; y(i) = x(p(i)) }";
    let run = |size: usize| {
        let options = Options::new().dtype("p", DType::I64).format("y", Format::dense(1));
        let kernel = Kernel::compile(source, &options).unwrap();
        let x: Vec<f64> = (0..size).map(|number| number as f64).collect();
        let run = kernel.run_named(&[("x", &vector(&x)), ("p", &indices(&[0, 1]))])?;
        let (_, y) = run.results.into_iter().find(|(name, _)| name == "y").unwrap();
        Ok::<_, Error>(Tensor::<f64>::try_from(y).unwrap().values().to_vec())
    };
    assert_eq!(run(5).unwrap(), [3.0, 4.0]);
    assert_eq!(run(4).unwrap_err().code(), Some("E1307"));
}

#[test]
fn pointers_jump() {
    let source = "for k in 0 .. 3 { p(i) = p(p(i)) }";
    let kernel = Kernel::compile(source, &Options::new().dtype("p", DType::I64)).unwrap();
    let run = kernel.run_named(&[("p", &indices(&[1, 2, 3, 4, 5, 6, 7, 7]))]).unwrap();
    let (_, p) = run.results.iter().find(|(name, _)| name == "p").unwrap();
    assert_eq!(p.values().as_slice::<i64>(), Some(&[7; 8][..]));
}

/// Computed indices over operands with fill values need workspaces in each case of the loops around: copies for all cases would be 12,000
/// lines.
#[test]
fn computed_indices_beside_a_sparse_result_are_short_code() {
    let spec = |text: &str| text.parse::<FormatSpec>().unwrap();
    let options = Options::new()
        .format("R", spec("sss:2,0,1"))
        .format("T", spec("uqd:1,2-0,0"))
        .format("V", spec("ss"))
        .dims("R", &[3, 3, 3])
        .dims("T", &[3, 4, 3])
        .dims("U", &[3, 3, 3])
        .dims("V", &[3, 3])
        .fill("T", -0.5)
        .fill("V", -0.5)
        .fill("R", 1.0)
        .schedule("reorder(k,i,l)")
        .backend(Backend::Interpreter)
        .emit("imp");
    let source = "R(l,i,k) = T(l,{2, 1, 0}(k) + i + 5,i) + U(i,j,l) - T(j,{2, 1, 0}(k) + i + 5,i) + V(k,k) + R(l,i,k)";
    let lines = Kernel::compile(source, &options).unwrap().text("imp").unwrap().lines().count();
    assert!(lines < 2_500, "{lines} lines");
}
