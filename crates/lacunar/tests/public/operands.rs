//! The operands of expressions, and the types that their results become.

#![allow(clippy::unwrap_used)] // A failure is what a test is for.

use std::rc::Rc;
use std::sync::Arc;

use lacunar::{DynTensor, Error, Format, Kernel, Operand, Options, Tensor, einsum};
use ndarray::{Array1, Array2, Axis, ShapeBuilder, array, s};
use sprs::{CsMatI, TriMatI};

fn matrix() -> Tensor<f64> {
    Tensor::from_triplets([2, 3], &[0, 1, 1], &[1, 0, 2], &[2.0, 3.0, 4.0], Format::csr()).unwrap()
}

#[test]
fn numbers_slices_and_pointers_are_operands() -> Result<(), Error> {
    let (a, x) = (matrix(), vec![1.0, 10.0, 100.0]);
    let expected = [20.0, 403.0];
    let y = einsum!("y(i) = A(i,j) * x(j)", A = &a, x = &x -> Vec<f64>)?;
    assert_eq!(y, expected);
    let y = einsum!("y(i) = A(i,j) * x(j)", A = a.as_dyn(), x = &x[..] -> Vec<f64>)?;
    assert_eq!(y, expected);
    let y = einsum!("y(i) = A(i,j) * x(j)", A = Rc::new(a.clone()), x = [1.0, 10.0, 100.0] -> Vec<f64>)?;
    assert_eq!(y, expected);
    let (shared, boxed): (Arc<DynTensor>, Box<dyn Operand>) = (Arc::new(a.clone().into_dyn()), Box::new(x.clone()));
    let y = einsum!("y(i) = c * A(i,j) * x(j)", A = shared, x = boxed, c = 2.0 -> Vec<f64>)?;
    assert_eq!(y, [40.0, 806.0]);
    let scaled: f64 = einsum!("s = x(i) * k", x = &x, k = 3 -> f64)?;
    assert_eq!(scaled, 333.0);
    Ok(())
}

#[test]
fn results_have_the_type_that_is_asked_for() -> Result<(), Error> {
    let x = [3.0, 4.0];
    assert_eq!(einsum!("s = x(i) * x(i)", x = &x -> f64)?, 25.0);
    let y = einsum!("y(i) = 2 * x(i)", x = &x, -> Tensor<f64>)?;
    assert_eq!(y.values(), [6.0, 8.0]);
    let y: DynTensor = einsum!("y(i) = 2 * x(i)", x = &x)?;
    assert_eq!(Vec::<f64>::try_from(y)?, [6.0, 8.0]);
    let wrong = einsum!("s = x(i) * x(i)", x = &x -> f32).unwrap_err().to_string();
    assert!(wrong.contains("are of type f64, not f32; convert what is assigned, as in `f32(A(i,j))`"), "{wrong}");
    let wrong = einsum!("y(i) = x(i)", x = &x -> f64).unwrap_err().to_string();
    assert!(wrong.contains("this one is of order 1"), "{wrong}");
    let wrong = einsum!("s = x(i) * x(i)", x = &x -> Vec<f64>).unwrap_err().to_string();
    assert!(wrong.contains("this one is of order 0"), "{wrong}");
    Ok(())
}

#[test]
fn results_go_into_memory_that_is_there() -> Result<(), Error> {
    let (a, x) = (matrix(), [1.0, 10.0, 100.0]);
    let mut y = Tensor::<f64>::zeros(&[2], Format::dense(1))?;
    einsum!("y(i) = A(i,j) * x(j)", A = &a, x = &x, y = &mut y)?;
    let memory = y.values().as_ptr();
    einsum!("y(i) = 2 * A(i,j) * x(j)", A = &a, x = &x, y = &mut y)?;
    assert_eq!((y.values(), y.values().as_ptr()), (&[40.0, 806.0][..], memory));
    einsum!("y(i) += A(i,j) * x(j)", A = &a, x = &x, y = &mut y)?;
    assert_eq!((y.values(), y.values().as_ptr()), (&[60.0, 1209.0][..], memory));
    // The format is that of the tensor.
    let mut columns = Tensor::<f64>::zeros(&[2, 3], Format::csc())?;
    einsum!("B(i,j) = 2 * A(i,j)", A = &a, B = &mut columns)?;
    assert_eq!((columns.format(), columns.get(&[1, 2])), (&Format::csc(), Some(8.0)));
    einsum!("B(i,j) += A(i,j)", A = &a, B = &mut columns)?;
    assert_eq!((columns.format(), columns.get(&[1, 2])), (&Format::csc(), Some(12.0)));
    // An earlier result, too; the last one is given back.
    let mut t = Tensor::<f64>::zeros(&[2], Format::dense(1))?;
    let s = einsum!("t(i) = A(i,j) * x(j); s = t(i) * t(i)", A = &a, x = &x, t = &mut t -> f64)?;
    assert_eq!((s, t.values()), (400.0 + 403.0 * 403.0, &[20.0, 403.0][..]));
    let mut dynamic = DynTensor::from(vec![0.0; 2]);
    einsum!("y(i) = A(i,j) * x(j)", A = &a, x = &x, y = &mut dynamic)?;
    assert_eq!(dynamic.to_dense::<f64>()?, [20.0, 403.0]);
    Ok(())
}

#[test]
fn what_a_result_cannot_go_into_is_left_as_it_is() -> Result<(), Error> {
    let (a, x) = (matrix(), [1.0, 10.0, 100.0]);
    let mut single = Tensor::from(vec![7.0f32]);
    let wrong = einsum!("y(i) = A(i,j) * x(j)", A = &a, x = &x, y = &mut single).unwrap_err().to_string();
    assert!(wrong.starts_with("`y` is of type f64, not f32; convert what is assigned"), "{wrong}");
    assert_eq!(single.values(), [7.0f32]);
    let mut short = Tensor::from(vec![7.0]);
    assert!(einsum!("y(i) += A(i,j) * x(j)", A = &a, x = &x, y = &mut short).is_err());
    assert_eq!(short.values(), [7.0]);
    Ok(())
}

#[test]
fn sums_may_still_be_given_their_result() -> Result<(), Error> {
    let (x, y) = (Tensor::from(vec![1.0, 2.0]), Tensor::from(vec![10.0, 20.0]));
    assert_eq!(einsum!("y(i) += x(i)", y = &y, x = &x -> Vec<f64>)?, [11.0, 22.0]);
    assert_eq!(y.values(), [10.0, 20.0]);
    assert_eq!(einsum!("y(i) += x(i)", x = &x -> Vec<f64>)?, [1.0, 2.0]);
    Ok(())
}

#[test]
fn kernels_are_called_by_name() -> Result<(), Error> {
    // It has another name than in tests that count compilations: code is taken again in a process.
    let kernel = Kernel::compile("b(i) = M(i,j) * v(j)", &Options::new().format("M", Format::csr()))?;
    let (a, x) = (matrix(), vec![1.0, 10.0, 100.0]);
    let y: Tensor<f64> = kernel.call(&[("M", &a), ("v", &x)])?;
    assert_eq!(y.values(), [20.0, 403.0]);
    let y: Vec<f64> = kernel.call(&[("v", &array![1.0, 10.0, 100.0]), ("M", &a)])?;
    assert_eq!(y, [20.0, 403.0]);
    let wrong = kernel.call::<DynTensor>(&[("M", &a), ("z", &x)]).unwrap_err().to_string();
    assert_eq!(wrong, "the program has no tensor `z`");
    assert_eq!(kernel.call::<DynTensor>(&[("M", &a)]).unwrap_err().to_string(), "`v` is not given");
    // In their order, operands of any types.
    let mut y = Tensor::<f64>::zeros(&[2], Format::dense(1))?;
    kernel.run(&mut y, &[&a as &dyn Operand, &x])?;
    assert_eq!(y.values(), [20.0, 403.0]);
    Ok(())
}

#[test]
fn arrays_are_used_where_they_are() -> Result<(), Error> {
    let a = Array2::from_shape_fn((3, 4), |(i, j)| (10 * i + j) as f64);
    let mut columns = Array2::zeros((3, 4).f());
    columns.assign(&a);
    for array in [a.view(), columns.view(), a.slice(s![1.., ..]), columns.slice(s![.., 1..3])] {
        let tensor = array.as_tensor()?;
        assert_eq!(tensor.values().as_ptr(), array.as_ptr().cast(), "{array:?}");
        let same = einsum!("B(i,j) = A(i,j)", A = &array -> Array2<f64>)?;
        assert_eq!(same, array);
    }
    assert_eq!(columns.as_tensor()?.format().mode_order(), [1, 0]);
    let mut reversed = a.clone();
    reversed.invert_axis(Axis(0));
    for array in [reversed.view(), a.slice(s![.., ..;2]), a.slice(s![..0, ..]), a.slice(s![1..2, ..])] {
        assert_eq!(einsum!("B(i,j) = A(i,j)", A = array -> Array2<f64>)?, array, "{array:?}");
    }
    let y = einsum!("y(j) = A(i,j) * x(i)", A = &a, x = array![1.0, 0.0, 2.0] -> Array1<f64>)?;
    assert_eq!(y, array![40.0, 43.0, 46.0, 49.0]);
    assert!(einsum!("y(j) = A(i,j)", A = &a -> Array2<f64>).unwrap_err().to_string().contains("of order 1"));
    Ok(())
}

#[test]
fn sprs_matrices_are_used_where_they_are() -> Result<(), Error> {
    fn product<I: sprs::SpIndex + 'static>(shares: bool) -> Result<(), Error> {
        let index = I::from_usize;
        let (rows, columns) = ([0, 2, 2].map(index).to_vec(), [1, 0, 3].map(index).to_vec());
        let triplets = TriMatI::from_triplets((3, 4), rows, columns, vec![2.0, 3.0, 4.0]);
        for matrix in [triplets.to_csr::<I>(), triplets.to_csc::<I>()] {
            let tensor = matrix.as_tensor()?;
            assert_eq!(tensor.values().as_ptr(), matrix.data().as_ptr().cast());
            let crd = tensor.levels()[1].crd().map(lacunar::Buffer::as_ptr);
            assert_eq!(crd == Some(matrix.indices().as_ptr().cast()), shares);
            let y = einsum!("y(i) = A(i,j) * x(j)", A = &matrix, x = &[1.0, 10.0, 100.0, 1000.0] -> Vec<f64>)?;
            assert_eq!(y, [20.0, 0.0, 4003.0]);
            let y = einsum!("y(i) = A(i,j) * x(j)", A = matrix.view(), x = &[1.0; 4] -> Vec<f64>)?;
            assert_eq!(y, [2.0, 0.0, 7.0]);
        }
        // Positions of a part begin elsewhere.
        let rows = triplets.to_csr::<I>();
        let part = rows.slice_outer(1..3);
        assert_eq!(einsum!("y(i) = A(i,j) * x(j)", A = &part, x = &[1.0; 4] -> Vec<f64>)?, [0.0, 7.0]);
        Ok(())
    }
    product::<usize>(true)?;
    product::<u64>(true)?;
    product::<i32>(true)?;
    product::<u32>(true)?;
    product::<u16>(false)?;
    let a = matrix();
    let twice = einsum!("B(i,j) = 2 * A(i,j)", A = &a, B: Format::csr() -> CsMatI<f64, usize>)?;
    assert_eq!((twice.nnz(), twice.get(1, 2)), (3, Some(&8.0)));
    Ok(())
}
