//! Entries are found one after the other, and each by its coordinates, in every format.

#![allow(clippy::unwrap_used)] // A failure is what a test is for.

use std::collections::BTreeMap;

use lacunar_base::random::{Draw, SplitMix};
use lacunar_formats::{DType, Format, FormatSpec, LevelKind, One, Scalar};
use lacunar_runtime::{Buffer, Coo, Lent, LentArray, Tensor, Values};

fn format(text: &str, order: usize) -> Format {
    text.parse::<FormatSpec>().unwrap().resolve(order).unwrap()
}

/// Formats of matrices: every kind below a dense level and below a compressed one, and formats with maps.
fn formats() -> Vec<String> {
    let named =
        ["dense", "dense:1,0", "csr", "csc", "coo", "dcsr", "sd", "bcsr(2,3)", "csb(4)", "hicoo(2)", "dia", "ell"];
    let other =
        ["sell(2)", "sell(2,4)", "dddd:0/2,1/3,0%2,1%3", "ds:1,0", "hh", "lh", "bb", "rr", "dsdd:1/2,0/3,1%2,0%3"];
    let letters = LevelKind::unmapped().into_iter().map(|kind| kind.info().letter);
    let levels = letters.flat_map(|letter| [format!("d{letter}"), format!("s{letter}")]);
    named.into_iter().chain(other).map(str::to_string).chain(levels).collect()
}

type Entries = BTreeMap<Vec<u64>, f64>;

/// Random entries of a matrix, a few of which store a zero.
fn entries(dims: [u64; 2], count: usize, seed: u64) -> Entries {
    let mut rng = SplitMix(seed);
    (0..count).map(|_| (dims.map(|size| rng.below(size)).to_vec(), rng.below(9) as f64 - 4.0)).collect()
}

fn list(dims: [u64; 2], entries: &Entries) -> Coo {
    let mut list = Coo::empty(dims.to_vec(), DType::F64);
    for at in entries.keys() {
        list.coords.iter_mut().zip(at).for_each(|(column, coordinate)| column.push(*coordinate));
    }
    list.values = Values::F64(entries.values().copied().collect());
    list
}

fn walked(tensor: &Tensor) -> Vec<(Vec<u64>, f64)> {
    let values = tensor.values().as_slice::<f64>().unwrap();
    let (mut walk, mut found) = (tensor.walk(), Vec::new());
    while let Some((at, position)) = walk.next_entry() {
        found.push((at.to_vec(), values[position]));
    }
    found
}

#[test]
fn a_walk_finds_each_entry_once_and_a_search_finds_them_too() {
    let mut tried = 0;
    for text in formats() {
        for (dims, count, seed) in [([7, 11], 30, 1), ([7, 11], 0, 2), ([1, 5], 4, 3), ([9, 2], 18, 4)] {
            let (format, entries) = (format(&text, 2), entries(dims, count, seed));
            // Kinds with one place under a position hold few matrices.
            let Ok(tensor) = Tensor::from_coo(list(dims, &entries), &format) else { continue };
            tried += 1;
            let found = walked(&tensor);
            assert_eq!(found.len() as u64, tensor.count_entries(), "{text}");
            // For dense tensors, `entries` counts the elements that differ from the fill value.
            assert!(format.is_dense() || tensor.entries() == tensor.count_entries(), "{text}: {}", tensor.entries());
            let as_map: Entries = found.iter().cloned().collect();
            assert_eq!(as_map.len(), found.len(), "{text}: an entry came twice");
            for i in 0..dims[0] {
                for j in 0..dims[1] {
                    let at = vec![i, j];
                    let (wanted, stored) = (entries.get(&at).copied(), as_map.get(&at).copied());
                    assert_eq!(stored.unwrap_or(0.0), wanted.unwrap_or(0.0), "{text} {at:?}");
                    let searched = tensor.position_of(&at).map(|position| value(&tensor, position));
                    assert_eq!(searched, stored, "{text} {at:?}");
                }
            }
            let exact = !format.is_padded();
            assert!(!exact || as_map.len() >= entries.values().filter(|value| **value != 0.0).count(), "{text}");
        }
    }
    assert!(tried > 80, "only {tried}");
}

fn value(tensor: &Tensor, position: usize) -> f64 {
    tensor.values().as_slice::<f64>().unwrap()[position]
}

#[test]
fn stored_zeros_are_entries_but_not_where_storage_is_filled_up() {
    let entries: Entries = [(vec![0, 1], 0.0), (vec![2, 3], 5.0)].into();
    let count = |text: &str| Tensor::from_coo(list([4, 4], &entries), &format(text, 2)).unwrap().count_entries();
    for (text, expected) in [("csr", 2), ("coo", 2), ("dh", 2), ("bcsr(2,2)", 1), ("dia", 1), ("dense", 16)] {
        assert_eq!(count(text), expected, "{text}");
    }
}

#[test]
fn entries_of_other_fill_values_and_orders() {
    let scalar = Tensor::scalar(3.0);
    assert_eq!((walked(&scalar), scalar.position_of(&[])), (vec![(vec![], 3.0)], Some(0)));
    let elements = Buffer::from_vec(vec![f64::INFINITY, 3.0, 0.0, f64::INFINITY]);
    let infinite = Scalar::real(DType::F64, f64::INFINITY);
    let dense = Tensor::from_dense(vec![2, 2], elements, &Format::dense(2)).unwrap().with_fill(infinite).unwrap();
    let blocks = dense.convert(&format("bcsr(2,2)", 2)).unwrap();
    assert_eq!(walked(&blocks), [(vec![0, 1], 3.0), (vec![1, 0], 0.0)]);
    assert_eq!(blocks.position_of(&[0, 0]), None);
    assert_eq!((blocks.position_of(&[0]), blocks.position_of(&[0, 2])), (None, None));
    assert_eq!(Tensor::zeros(vec![0, 3], &Format::csr(), DType::F64).unwrap().count_entries(), 0);
}

#[test]
fn values_are_replaced_where_they_are() {
    let ones = Tensor::from_coo(list([2, 2], &[(vec![0, 1], 1.0), (vec![1, 1], 2.0)].into()), &Format::csr()).unwrap();
    let halves = ones.revalued(Buffer::from_vec(vec![0.5f32, 1.0]), Scalar::real(DType::F32, 7.0)).unwrap();
    assert_eq!(halves.to_dense::<f32>().unwrap(), [7.0, 0.5, 7.0, 1.0]);
    assert!(ones.revalued(Buffer::from_vec(vec![0.5f32]), Scalar::zero(DType::F32)).is_err());
    assert!(ones.revalued(Buffer::from_vec(vec![0.5f32, 1.0]), Scalar::zero(DType::F64)).is_err());
    let dense = Tensor::from(vec![1.0, 2.0]);
    assert!(dense.revalued(Buffer::from_vec(vec![One; 2]), Scalar::zero(DType::Pattern)).is_err());
}

#[test]
fn lent_arrays_are_read_where_they_are_and_never_shared() {
    let (pos, crd, values) = (vec![0usize, 2, 3], vec![0i32, 2, 1], vec![5.0, 6.0, 7.0]);
    let rows = vec![LentArray::indices(&pos).unwrap(), LentArray::indices(&crd).unwrap()];
    let levels = vec![(LevelKind::DENSE, 2, vec![]), (LevelKind::COMPRESSED, 3, rows)];
    let format = Format::csr().with_positions(1, lacunar_formats::IndexWidth::W64);
    let lent = Lent::from_parts(vec![2, 3], &format, levels, LentArray::of(&values)).unwrap();
    assert_eq!(lent.values().as_ptr(), values.as_ptr().cast());
    assert_eq!(lent.levels()[1].pos().unwrap().as_ptr(), pos.as_ptr().cast());
    for other in [lent.clone(), lent.convert(&format).unwrap(), lent.convert(&Format::csc()).unwrap()] {
        assert_ne!(other.values().as_ptr(), values.as_ptr().cast());
        assert!(!other.values().is_borrowed());
        assert_eq!(other.to_dense::<f64>().unwrap(), [5.0, 0.0, 6.0, 0.0, 7.0, 0.0]);
    }
    assert!(LentArray::indices(&[1.0]).is_none());
    assert!(Lent::dense(vec![2, 2], &Format::dense(2), &values).is_err());
    assert!(Lent::dense(vec![3], &Format::sv(), &values).is_err());
}

#[test]
fn tensors_print_for_people() {
    let complex = Tensor::from(vec![num_complex::Complex::new(1.0, 2.0), num_complex::Complex::new(-0.5, -0.0)]);
    assert_eq!(complex.to_string(), "[1+2i, -0.5+0i]");
    assert_eq!(Tensor::from([[-0.0, 1.5], [f64::NAN, -2.0]]).to_string(), "[[0, 1.5], [NaN, -2]]");
    assert_eq!(
        (Tensor::from(-7i8).to_string(), Tensor::from([true, false]).to_string()),
        ("-7".into(), "[true, false]".into())
    );
    assert_eq!(Tensor::zeros(vec![3, 0], &Format::dense(2), DType::F64).unwrap().to_string(), "[[], [], []]");
    let wide = Tensor::zeros(vec![1 << 40, 1 << 40], &format("ss", 2), DType::F32).unwrap();
    assert_eq!(wide.to_string(), "f32 s64s64 1099511627776x1099511627776, 0 entries");
    let empty = Tensor::zeros(vec![1 << 40, 0], &format("sd", 2), DType::F32).unwrap();
    assert!(empty.to_string().ends_with("1099511627776x0, 0 entries"), "{empty}");
}
