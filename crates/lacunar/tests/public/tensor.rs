//! Tensors without kernels: building, queries and conversions.

#![allow(clippy::unwrap_used)] // A failure is what a test is for.

use lacunar::{Builder, DynTensor, Error, Format, FormatSpec, IndexWidth, Tensor};

const FORMATS: [&str; 14] =
    ["csr", "csc", "coo", "dcsr", "dense", "dense:1,0", "bcsr(2,3)", "dia", "ell", "sell(2,4)", "db", "dh", "dl", "dr"];

fn format(text: &str) -> FormatSpec {
    text.parse().unwrap()
}

fn sample(text: &str) -> Tensor<f64> {
    Tensor::from_triplets([4, 5], &[3, 0, 0, 2], &[1, 4, 0, 3], &[1.5, -2.0, 3.0, 4.0], format(text)).unwrap()
}

const DENSE: [f64; 20] = [3., 0., 0., 0., -2., 0., 0., 0., 0., 0., 0., 0., 0., 4., 0., 0., 1.5, 0., 0., 0.];

#[test]
fn elements_entries_and_sums_are_the_same_in_every_format() {
    for text in FORMATS {
        let a = sample(text);
        let mut found = vec![0.0; 20];
        for ([i, j], value) in a.entries().unwrap() {
            found[(5 * i + j) as usize] += value;
        }
        assert_eq!(found, DENSE, "{text}");
        let got: Vec<f64> = (0..20).filter_map(|k| a.get(&[k / 5, k % 5])).collect();
        assert_eq!(got, DENSE, "{text}");
        assert_eq!((a.get(&[4, 0]), a.get(&[0]), a.get_stored(&[0, 5])), (None, None, None), "{text}");
        let count = if text.starts_with("dense") { 20 } else { 4 };
        assert_eq!((a.nnz(), a.entries::<2>().unwrap().count() as u64), (count, count), "{text}");
        assert_eq!((a.sum(), a.min(), a.max()), (6.5, Some(-2.0), Some(4.0)), "{text}");
        assert!((a.norm() - 31.25f64.sqrt()).abs() < 1e-15, "{text}");
        assert_eq!(a.clone().transpose().unwrap().get(&[1, 3]), Some(1.5), "{text}");
        assert_eq!(a.slice((1.., 1..=3)).unwrap().to_dense().unwrap(), [0., 0., 0., 0., 0., 4., 1.5, 0., 0.], "{text}");
        let less = a.map(|value| (value as f32) - 1.0).unwrap();
        assert_eq!((less.fill(), less.nnz()), (-1.0, count), "{text}");
        assert_eq!(less.sum(), 6.5 - 20.0, "{text}");
        let negative = a.map(|value| -value).unwrap();
        assert_eq!((negative.nnz(), negative.get(&[3, 1])), (count, Some(-1.5)), "{text}");
    }
}

#[test]
fn transposing_moves_no_values() {
    let a = sample("csr");
    let values = a.values().as_ptr();
    let a = a.transpose().unwrap();
    assert_eq!((a.values().as_ptr(), a.format()), (values, &Format::csc()));
    let cube = Tensor::from_entries(&[2, 3, 4], &[(&[1, 2, 3], 5.0)], Format::csf(3)).unwrap();
    let other = cube.permute(&[2, 0, 1]).unwrap();
    assert_eq!((other.dims(), other.get(&[3, 1, 2])), (&[4, 2, 3][..], Some(5.0)));
    assert!(other.permute(&[0, 0, 1]).is_err());
}

#[test]
fn builders_add_up_what_comes_twice_and_refuse_what_is_outside() -> Result<(), Error> {
    let mut builder = Builder::new(&[3, 4]);
    for (i, j, value) in [(2, 3, 1i64), (0, 0, 5), (2, 3, 10)] {
        builder.push(&[i, j], value)?;
    }
    let refused = builder.push(&[3, 0], 1).unwrap_err().to_string();
    assert!(refused.contains("coordinate 3 of entry 3 is outside dimension 0 of size 3"), "{refused}");
    assert!(builder.push(&[1], 1).unwrap_err().to_string().contains("1 coordinates, but the order is 2"));
    assert_eq!(builder.len(), 3);
    for text in FORMATS {
        let a = builder.clone().build(format(text))?;
        assert_eq!(a.to_dense()?, [5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11], "{text}");
    }
    let refused = Tensor::from_triplets([2, 2], &[0i32, -1], &[0, 1], &[1.0, 2.0], Format::csr()).unwrap_err();
    assert!(refused.to_string().contains("negative number at 1"), "{refused}");
    assert!(Tensor::from_triplets([2, 2], &[0], &[0, 1], &[1.0, 2.0], Format::csr()).is_err());
    assert!(Tensor::from_triplets([2, 2], &[0], &[2], &[1.0], Format::csr()).is_err());
    Ok(())
}

#[test]
fn adding_to_elements() -> Result<(), Error> {
    for text in FORMATS {
        let mut a = sample(text);
        a.add(&[3, 1], 0.5)?;
        a.add(&[1, 1], 7.0)?;
        a.add(&[1, 1], 1.0)?;
        assert_eq!((a.get(&[3, 1]), a.get(&[1, 1]), a.sum()), (Some(2.0), Some(8.0), 15.0), "{text}");
        assert!(a.add(&[4, 0], 1.0).is_err());
    }
    let mut shared = Tensor::from(vec![2u8, 2, 2, 2]).convert(format("r"))?;
    shared.add(&[1], 255)?;
    assert_eq!(shared.to_dense()?, [2, 1, 2, 2]);
    let mut infinite = Tensor::<f64>::zeros(&[3], Format::sv())?.with_fill(10.0)?;
    infinite.add(&[2], 1.0)?;
    assert_eq!(infinite.to_dense()?, [10.0, 10.0, 11.0]);
    Ok(())
}

#[test]
fn norms_of_numbers_whose_squares_are_none() -> Result<(), Error> {
    let norm = |values: &[f64]| Tensor::from(values.to_vec()).norm();
    for scale in [1.0, 1e200, 1e-200, 1e307, 1e-307] {
        let values: Vec<f64> = (0..100).map(|k| if k % 3 == 1 { scale } else { 0.0 }).collect();
        assert!((norm(&values) / scale / 33f64.sqrt() - 1.0).abs() < 1e-14, "{scale}");
    }
    let least = f64::from_bits(1);
    assert_eq!(norm(&[least; 4]), 2.0 * least);
    assert_eq!((norm(&[]), norm(&[0.0, -0.0])), (0.0, 0.0));
    assert_eq!(norm(&[3e-170, f64::NEG_INFINITY, 1e200]), f64::INFINITY);
    assert!(norm(&[f64::INFINITY, f64::NAN, 1.0]).is_nan() && norm(&[f64::NAN, 1e200]).is_nan());
    assert_eq!(Tensor::<f64>::zeros(&[2, 2], Format::csr())?.with_fill(1e200)?.norm(), 2e200);
    assert_eq!(Tensor::<f64>::zeros(&[0], Format::sv())?.with_fill(1e200)?.norm(), 0.0);
    assert_eq!(Tensor::from(vec![i64::MIN, 0]).norm(), 2f64.powi(63));
    let long: Vec<u8> = (0..1000).map(|k| k as u8).collect();
    assert_eq!(Tensor::from(long.clone()).sum(), long.iter().fold(0, |sum: u8, value| sum.wrapping_add(*value)));
    Ok(())
}

#[test]
fn sums_and_extremes_see_what_is_not_stored() -> Result<(), Error> {
    let lengths = Tensor::from_triplets([2, 2], &[0], &[1], &[3.0], Format::csr())?.with_fill(f64::INFINITY)?;
    assert_eq!((lengths.min(), lengths.max(), lengths.sum()), (Some(3.0), Some(f64::INFINITY), f64::INFINITY));
    let full = Tensor::from(vec![f64::NAN, 1.0]).with_fill(f64::INFINITY)?;
    assert_eq!((full.min(), full.max()), (Some(1.0), Some(1.0)));
    assert_eq!(Tensor::from(vec![200u8, 100]).sum(), 44);
    assert_eq!(Tensor::<f64>::from(vec![]).min(), None);
    assert!(Tensor::from(vec![false, true]).sum());
    Ok(())
}

#[test]
fn borrowed_values_are_copied_before_they_are_written() -> Result<(), Error> {
    let owner = std::sync::Arc::new(vec![1.0, 2.0]);
    let borrowed = lacunar::Buffer::borrow(owner.clone(), |owner| owner);
    let mut x = Tensor::<f64>::try_from(DynTensor::from_dense(vec![2], borrowed, &Format::dense(1))?)?;
    assert_eq!(x.values().as_ptr(), owner.as_ptr());
    x.values_mut()?[0] = 7.0;
    assert_eq!((x.values(), &owner[..]), (&[7.0, 2.0][..], &[1.0, 2.0][..]));
    let memory = x.values().as_ptr();
    assert_eq!(x.values_mut()?.as_ptr(), memory);
    Ok(())
}

#[test]
fn numbers_vectors_and_arrays() -> Result<(), Error> {
    let rows = Tensor::from([[1, 2, 3], [4, 5, 6]]);
    assert_eq!((rows.dims(), rows.get(&[1, 0])), (&[2, 3][..], Some(4)));
    assert_eq!(DynTensor::from(rows.clone()).dims(), [2, 3]);
    assert_eq!(Vec::try_from(Tensor::from(&[1.5f32, 2.5][..]))?, [1.5, 2.5]);
    assert!(Vec::try_from(rows.clone()).unwrap_err().to_string().contains("order 2"));
    assert_eq!(i32::try_from(Tensor::from(4))?, 4);
    assert!(i32::try_from(rows).is_err());
    assert_eq!(Tensor::from(2.5).order(), 0);
    Ok(())
}

#[test]
fn compressed_rows_from_arrays_and_back() -> Result<(), Error> {
    fn round_trip<I: lacunar::Element + Copy>(of: impl Fn(u8) -> I, width: IndexWidth) -> Result<Tensor<f64>, Error> {
        let (pos, crd) = ([0, 2, 2, 3].map(&of).to_vec(), [0, 2, 1].map(&of).to_vec());
        let memory = crd.as_ptr().cast::<u8>();
        let a = Tensor::from_csr([3, 3], pos, crd, vec![5.0, 6.0, 7.0])?;
        assert_eq!(a.to_dense()?, [5.0, 0.0, 6.0, 0.0, 0.0, 0.0, 0.0, 7.0, 0.0]);
        assert_eq!(a.format().coordinates(1), width);
        assert_eq!(a.as_dyn().levels()[1].crd().map(lacunar::Buffer::as_ptr), Some(memory));
        Ok(a)
    }
    let narrow = round_trip(u32::from, IndexWidth::W32)?;
    assert_eq!(narrow.csr_parts::<u32>().map(|(pos, _, _)| pos.to_vec()), Some(vec![0, 2, 2, 3]));
    assert!(narrow.csr_parts::<u64>().is_none() && narrow.csr_parts::<usize>().is_none());
    round_trip(i32::from, IndexWidth::W32)?;
    round_trip(i64::from, IndexWidth::W64)?;
    let wide = round_trip(u64::from, IndexWidth::W64)?;
    assert_eq!(wide.csr_parts::<usize>().map(|(_, crd, _)| crd.to_vec()), Some(vec![0, 2, 1]));
    assert_eq!(wide.as_sprs::<usize>()?.nnz(), 3);
    assert!(wide.convert(Format::coo(2))?.csr_parts::<u32>().is_none());
    assert!(Tensor::from_csr([1, 3], vec![0u32, 2], vec![2u32, 1], vec![1.0, 2.0]).is_err());
    Ok(())
}

#[test]
fn threads_are_those_that_the_caller_says() {
    lacunar::with_threads(3, || assert_eq!(lacunar::threads(), 3));
}

#[test]
fn fractions_are_not_cut_silently() {
    let list = |values: Vec<f64>| lacunar::Coo {
        dims: vec![4],
        coords: vec![lacunar::inside::runtime::Coordinates::U32((0..values.len() as u32).collect())],
        values: lacunar::inside::runtime::values::Values::F64(values),
    };
    let whole = Tensor::<i32>::from_coo(list(vec![1.0, -0.0, 7.0]), Format::sv()).expect("whole numbers");
    assert_eq!(whole.values(), [1, 0, 7]);
    let error = Tensor::<i32>::from_coo(list(vec![1.5]), Format::sv()).expect_err("a fraction");
    assert_eq!(error.to_string(), "the values are of type f64, and 1.5 cannot be converted to i32");
    assert!(Tensor::<i8>::from_coo(list(vec![300.0]), Format::sv()).is_err());
    let integers = |value: i64| lacunar::Coo {
        values: lacunar::inside::runtime::values::Values::I64(vec![value]),
        ..list(vec![0.0])
    };
    assert_eq!(Tensor::<u8>::from_coo(integers(255), Format::sv()).expect("one that fits").values(), [255]);
    for result in [
        Tensor::<u8>::from_coo(integers(300), Format::sv()).map(|_| ()),
        Tensor::<u64>::from_coo(integers(-1), Format::sv()).map(|_| ()),
    ] {
        assert!(result.expect_err("an integer that would wrap").to_string().contains("cannot be converted to u"));
    }
}

#[test]
fn dense_tensors_are_written_as_arrays_of_numpy() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.npy");
    let a = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    a.write(&path).expect("an array");
    let read = Tensor::<f64>::read(&path, Format::dense(2)).expect("the same");
    assert_eq!((read.dims(), read.values()), (a.dims(), a.values()));
}

#[test]
fn an_operand_of_another_order_is_told_so() {
    let kernel = lacunar::Kernel::compile("y(i) = x(i)", &lacunar::Options::new()).expect("a kernel");
    let matrix = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    let error = kernel.run_named(&[("x", matrix.as_dyn())]).expect_err("a matrix for a vector");
    assert!(error.to_string().contains("2 dimensions, but 1 indices"), "{error}");
}

#[test]
fn elements_below_a_node_that_no_memory_holds_are_refused() {
    let format: FormatSpec = "{rbtree}d".parse().expect("a format");
    for size in [1u64 << 60, 1 << 61, (1 << 61) + 1, (1 << 63) - 1] {
        let mut tensor = Tensor::<f64>::zeros(&[2, size], format.clone()).expect("nothing is stored");
        assert_eq!(tensor.remove(&[0, 0]).ok().flatten(), None, "{size}");
        assert!(tensor.insert(&[0, 0], 1.0).is_err(), "{size}");
    }
}

#[test]
fn long_calls_and_names_that_are_none_are_refused() {
    let call = format!("y = min({})", vec!["x"; 10_000].join(","));
    let error = lacunar::Kernel::compile(&call, &lacunar::Options::new()).expect_err("a deep expression");
    assert_eq!(error.code(), Some("E0105"));
    for name in ["", "f(a) = a; x2(i) = x(i); op g"] {
        let operator = lacunar::Operator::unary(name, |a| a);
        assert!(lacunar::Options::new().operator(&operator).is_err(), "{name}");
    }
}

#[test]
fn a_tensor_is_given_once() {
    let kernel = lacunar::Kernel::compile("y(i) = x(i)", &lacunar::Options::new()).expect("a kernel");
    let x = Tensor::from(vec![1.0, 2.0]);
    let error = kernel.run_named(&[("x", x.as_dyn()), ("x", x.as_dyn())]).expect_err("given twice");
    assert!(error.to_string().contains("`x` is given twice"), "{error}");
}
