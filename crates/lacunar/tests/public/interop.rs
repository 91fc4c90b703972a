//! Round trips through `ndarray` and `sprs`, and which of them copy.

use lacunar::{Error, Format, IndexWidth, Tensor, einsum};
use ndarray::{Array2, Array3, ArrayD, Axis, IxDyn, ShapeBuilder, array, s};
use sprs::{CsMatI, TriMatI};

#[test]
fn arrays_in_row_major_order_are_not_copied() -> Result<(), Error> {
    let array = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (100 * i + 10 * j + k) as f64);
    let (memory, copy) = (array.as_ptr(), array.clone());
    let tensor = Tensor::from_ndarray(array)?;
    assert_eq!(tensor.values().as_ptr(), memory);
    assert_eq!(tensor.as_dyn().dims(), [2, 3, 4]);
    let view = tensor.as_ndarray().expect("a dense tensor");
    assert_eq!(view.as_ptr(), memory);
    assert_eq!(view, copy.view().into_dyn());
    assert_eq!(tensor.to_ndarray()?, copy.into_dyn());
    Ok(())
}

#[test]
fn arrays_in_any_order_mean_the_same() -> Result<(), Error> {
    let array = Array2::from_shape_fn((3, 4), |(i, j)| (10 * i + j) as i64);
    let mut columns = Array2::zeros((3, 4).f());
    columns.assign(&array);
    let mut reversed = array.clone();
    reversed.invert_axis(Axis(0));
    let cut = array.clone().slice_move(s![1.., ..]);
    for other in [columns, reversed, cut, array.clone().reversed_axes(), Array2::zeros((0, 4))] {
        let expected = other.clone();
        assert_eq!(Tensor::from_ndarray(other)?.to_ndarray()?, expected.into_dyn());
    }
    let scalar = Tensor::from_ndarray(ArrayD::from_elem(IxDyn(&[]), 7.0f32))?;
    assert_eq!(scalar.to_dense()?, [7.0]);
    Ok(())
}

#[test]
fn columns_and_sparse_tensors_become_arrays() -> Result<(), Error> {
    let entries: [(&[u64], f64); 2] = [(&[0, 2], 5.0), (&[1, 0], 6.0)];
    let expected = array![[0.0, 0.0, 5.0], [6.0, 0.0, 0.0]].into_dyn();
    let csc = Tensor::from_entries(&[2, 3], &entries, Format::csc())?;
    assert_eq!(csc.as_ndarray(), None);
    assert_eq!(csc.to_ndarray()?, expected);
    let by_columns = csc.convert(Format::dense(2).with_mode_order(vec![1, 0]).expect("a format"))?;
    assert_eq!(by_columns.as_ndarray(), Some(expected.view()));
    Ok(())
}

/// The rows 0 1 2, with the entries (0,1) 2, (2,0) 3, (2,3) 4.
fn triplets<I: sprs::SpIndex>() -> TriMatI<f64, I> {
    let index = I::from_usize;
    let (rows, columns) = ([0, 2, 2].map(index).to_vec(), [1, 0, 3].map(index).to_vec());
    TriMatI::from_triplets((3, 4), rows, columns, vec![2.0, 3.0, 4.0])
}

const DENSE: [f64; 12] = [0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 4.0];

#[test]
fn sprs_gives_its_memory() -> Result<(), Error> {
    let matrix: CsMatI<f64, usize> = triplets().to_csr();
    let (crd, values) = (matrix.indices().as_ptr().cast::<u64>(), matrix.data().as_ptr());
    let tensor = Tensor::from_sprs(matrix)?;
    assert_eq!(tensor.values().as_ptr(), values);
    let indices = tensor.as_dyn().levels()[1].crd().and_then(|crd| crd.as_slice::<u64>());
    assert_eq!(indices.map(<[u64]>::as_ptr), Some(crd));
    assert_eq!(tensor.as_sprs::<u64>()?.data().as_ptr(), values);
    assert_eq!(tensor.to_dense()?, DENSE);
    Ok(())
}

#[test]
fn sprs_round_trips() -> Result<(), Error> {
    fn round_trip<I: sprs::SpIndex>(width: IndexWidth) -> Result<(), Error> {
        for matrix in [triplets::<I>().to_csr::<I>(), triplets::<I>().to_csc::<I>()] {
            let tensor = Tensor::from_sprs(matrix.clone())?;
            assert_eq!(tensor.as_dyn().format().coordinates(1), width);
            assert_eq!(tensor.to_dense()?, DENSE);
            assert_eq!(tensor.to_sprs::<I>()?, matrix);
        }
        Ok(())
    }
    round_trip::<i32>(IndexWidth::W32)?;
    round_trip::<u32>(IndexWidth::W32)?;
    round_trip::<u16>(IndexWidth::W32)?;
    round_trip::<i64>(IndexWidth::W64)?;
    round_trip::<u64>(IndexWidth::W64)?;
    round_trip::<usize>(IndexWidth::W64)
}

#[test]
fn sprs_of_other_formats_and_what_does_not_fit() -> Result<(), Error> {
    let matrix = triplets::<u32>().to_csr::<u32>();
    let tensor = Tensor::from_sprs(matrix.clone())?;
    for format in [Format::coo(2), Format::dcsc(), Format::dcsr()] {
        let other = tensor.convert(&format)?;
        assert_eq!(other.to_sprs::<u32>()?, matrix);
        let error = other.as_sprs::<u32>().expect_err("no view").to_string();
        assert!(error.contains("only csr and csc"), "{error}");
    }
    assert!(tensor.as_sprs::<u64>().expect_err("another width").to_string().contains("u32 coordinates"));
    let long = Tensor::from_entries(&[1, 70000], &[(&[0, 69999], 1.0)], Format::csr())?;
    assert!(long.to_sprs::<u16>().expect_err("too large").to_string().contains("does not fit into `u16`"));
    let vector = Tensor::from_slice(&[2], &[1.0, 2.0])?;
    assert!(vector.to_sprs::<usize>().expect_err("a vector").to_string().contains("order 1"));
    Ok(())
}

#[test]
fn sprs_in_an_expression() -> Result<(), Error> {
    let a = Tensor::from_sprs(triplets::<usize>().to_csr::<usize>())?;
    let x = Tensor::from_ndarray(array![1.0, 10.0, 100.0, 1000.0])?;
    let y: Tensor<f64> = einsum!("y(i) = A(i,j) * x(j)", A = &a, x = &x)?.try_into()?;
    assert_eq!(y.as_ndarray(), Some(array![20.0, 0.0, 4003.0].view().into_dyn()));
    Ok(())
}
