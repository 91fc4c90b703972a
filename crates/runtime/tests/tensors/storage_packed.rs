//! Packed tensors store unique elements alone, and are the whole ones: in conversions, in lists of entries, element by element. Tensors
//! that lack the structure are refused, and so are arrays that are not the structure's.

#![allow(clippy::unwrap_used)]

use lacunar_formats::structure::Named;
use lacunar_formats::{DType, Format, FormatSpec};
use lacunar_runtime::{Buffer, StorageError, StructureError, Structured, Tensor};

/// Structures of matrices that are packed, and the number of elements that one of 6 x 6 stores.
const PACKED: [(&str, u64); 16] = [
    ("symmetric", 21),
    ("skew", 15),
    ("lower", 21),
    ("strictly_upper", 15),
    ("diagonal", 6),
    ("banded(2,1)", 20),
    ("hessenberg", 26),
    ("block_diagonal(4)", 20),
    ("toeplitz", 11),
    ("hankel", 11),
    ("circulant", 6),
    ("persymmetric", 21),
    ("centrosymmetric", 18),
    ("identical_columns", 6),
    ("constant", 1),
    ("zero", 0),
];

fn numbers(count: u64) -> Buffer {
    Buffer::from_vec((0..count).map(|k| (1 + k * 7 % 11) as f64).collect::<Vec<f64>>())
}

/// A tensor that has a structure.
fn made(name: &str, dims: &[u64]) -> Tensor {
    let (name, arguments) = name.split_once('(').unwrap_or((name, ""));
    let arguments = arguments.trim_end_matches(')').split(',').filter_map(|word| word.parse().ok());
    let structure = Named::find(name).unwrap().structure(dims.len(), &arguments.collect::<Vec<i64>>()).unwrap();
    let any = Tensor::from_dense(dims.to_vec(), numbers(dims.iter().product()), &Format::dense(dims.len())).unwrap();
    let params: Vec<i64> = dims.iter().map(|size| *size as i64).collect();
    any.with_structure(&structure, &params).unwrap()
}

fn format(text: &str, order: usize) -> Format {
    text.parse::<FormatSpec>().unwrap().resolve(order).unwrap()
}

#[test]
fn from_every_format_and_back() {
    for (name, count) in PACKED {
        let whole = made(name, &[6, 6]);
        for modes in ["", ":1,0"] {
            let Ok(packed) = format!("packed({name}){modes}").parse::<FormatSpec>().unwrap().resolve(2) else {
                assert!(!modes.is_empty(), "{name}");
                continue;
            };
            for other in [
                "dense",
                "dense:1,0",
                "csr",
                "csc",
                "coo",
                "dk",
                "bcsr(2,2)",
                "dia",
                "sell(2)",
                "dh",
                "packed(general)",
            ] {
                let other = format(other, 2);
                let stored = whole.convert(&other).unwrap().convert(&packed).unwrap();
                stored.validate().unwrap();
                assert_eq!((stored.nnz(), stored.format()), (count, &packed), "{name}{modes} from {other}");
                let back = stored.convert(&other).unwrap();
                assert_eq!(
                    back.to_dense::<f64>().unwrap(),
                    whole.to_dense::<f64>().unwrap(),
                    "{name}{modes} to {other}"
                );
            }
            let stored = whole.convert(&packed).unwrap();
            assert_eq!(stored.to_string(), whole.to_string());
            let list = Tensor::from_coo(stored.to_coo().unwrap(), &packed).unwrap();
            assert_eq!(list, stored);
            assert_eq!(stored.structures().unwrap().len(), whole.structures().unwrap().len(), "{name}");
        }
    }
}

#[test]
fn cubes_and_higher_orders() {
    for (name, dims, count) in [
        ("symmetric", vec![4; 3], 20),
        ("symmetric", vec![3; 4], 15),
        ("symmetric", vec![2; 5], 6),
        ("lower", vec![3; 3], 10),
    ] {
        let whole = made(name, &dims);
        let packed = Format::packed(name, dims.len()).unwrap();
        let stored = whole.convert(&packed).unwrap();
        stored.validate().unwrap();
        assert_eq!(stored.nnz(), count, "{name} of {dims:?}");
        assert_eq!(stored.to_dense::<f64>().unwrap(), whole.to_dense::<f64>().unwrap());
    }
}

#[test]
fn sizes_of_which_nothing_is_left() {
    for dims in [[0, 0], [1, 1]] {
        for (name, _) in PACKED {
            let stored = made(name, &dims).convert(&Format::packed(name, 2).unwrap()).unwrap();
            stored.validate().unwrap();
            assert_eq!(stored.convert(&Format::dense(2)).unwrap(), made(name, &dims), "{name}");
        }
    }
    let empty = Tensor::zeros(vec![5, 5], &Format::packed("symmetric", 2).unwrap(), DType::I32).unwrap();
    assert_eq!((empty.nnz(), empty.bytes()), (15, 60 + 24 + 20));
}

#[test]
fn tensors_without_the_structure() {
    let any = Tensor::from_dense(vec![3, 3], numbers(9), &Format::csr()).unwrap();
    for name in ["symmetric", "lower", "diagonal", "toeplitz"] {
        let error = any.convert(&Format::packed(name, 2).unwrap()).unwrap_err();
        let StorageError::Structure(error) = error else { panic!("{error}") };
        assert!(matches!(*error, StructureError::Element(_)), "{name}: {error}");
    }
    let wide = Tensor::from_dense(vec![2, 3], numbers(6), &Format::csr()).unwrap();
    let error = wide.convert(&Format::packed("symmetric", 2).unwrap()).unwrap_err().to_string();
    assert!(error.starts_with("the structure is of tensors of other sizes than 2 x 3"), "{error}");
    let filled = Tensor::empty(vec![2, 2], &Format::csr(), lacunar_runtime::scalar_of(1.0)).unwrap();
    let error = filled.convert(&Format::packed("upper", 2).unwrap()).unwrap_err().to_string();
    assert!(error.contains("structures leave out zeros"), "{error}");
}

#[test]
fn arrays_of_another_structure() {
    let upper = made("upper", &[3, 3]).convert(&Format::packed("upper", 2).unwrap()).unwrap();
    let (dims, _, levels, values) = upper.into_parts();
    let error = Tensor::from_parts(dims, &Format::packed("lower", 2).unwrap(), levels, values).unwrap_err().to_string();
    assert!(error.contains("begins or ends a row elsewhere"), "{error}");
}
