//! Formats whose levels store what a map says: packing, conversion from and to other formats, and arrays from outside.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use lacunar_formats::{DType, Format, FormatSpec};
use lacunar_runtime::storage::LevelStorage;
use lacunar_runtime::{Buffer, Coo, StorageError, Tensor, Values, pool};
use proptest::prelude::*;

/// Formats of matrices.
const MATRICES: [&str; 18] = [
    "bcsr(2,2)",
    "bcsr(3,1)",
    "bcsr(4,4):1,0",
    "csb(4)",
    "hicoo(2)",
    "dia",
    "dia:1,0",
    "ss:1-0,0",
    "ssss:0/2,1/3,0%2,1%3",
    "dsd:0/4,1,0%4",
    "ell",
    "sell(3)",
    "ddhb:0/2,1/2,0%2,1%2",
    "edp:#1,1,0",
    "ds:1,0",
    "csr",
    "coo",
    "dense",
];

fn format(text: &str, order: usize) -> Format {
    text.parse::<FormatSpec>().unwrap().resolve(order).unwrap()
}

fn coo(dims: &[u64], entries: &BTreeMap<Vec<u64>, u8>) -> Coo {
    let mut coo = Coo::empty(dims.to_vec(), DType::U8);
    for coordinate in entries.keys() {
        coo.coords.iter_mut().zip(coordinate).for_each(|(column, &c)| column.push(c));
    }
    coo.values = Values::U8(entries.values().copied().collect());
    coo
}

fn matrix() -> impl Strategy<Value = (Vec<u64>, BTreeMap<Vec<u64>, u8>)> {
    prop::collection::vec(prop::sample::select(vec![0u64, 1, 2, 5, 7, 12]), 2).prop_flat_map(|dims| {
        let coordinate: Vec<_> = dims.iter().map(|&size| 0..size.max(1)).collect();
        let most = if dims.contains(&0) { 0 } else { 20 };
        (Just(dims), prop::collection::btree_map(coordinate, 1..=255u8, 0..=most))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn all_pairs_of_formats_hold_the_same_matrix((dims, entries) in matrix()) {
        let list = coo(&dims, &entries);
        let dense = Tensor::from_coo(list.clone(), &Format::dense(2)).unwrap().to_dense::<u8>().unwrap();
        for from in MATRICES {
            let source = Tensor::from_coo(list.clone(), &format(from, 2)).unwrap();
            prop_assert_eq!(source.dims(), dims.as_slice());
            prop_assert_eq!(&source.to_dense::<u8>().unwrap(), &dense, "{}", from);
            for to in MATRICES {
                let target = format(to, 2);
                let converted = source.convert(&target).unwrap();
                prop_assert_eq!(&converted, &Tensor::from_coo(list.clone(), &target).unwrap(), "{} to {}", from, to);
            }
            // Its own arrays pass the checks of arrays from outside.
            let (dims, format, levels, values) = source.try_clone().unwrap().into_parts();
            prop_assert_eq!(&Tensor::from_parts(dims, &format, levels, values).unwrap(), &source);
        }
    }

    #[test]
    fn equal_coordinates_are_added_up((dims, entries) in matrix()) {
        let mut twice = coo(&dims, &entries);
        let again = twice.clone();
        for (column, more) in twice.coords.iter_mut().zip(&again.coords) {
            (0..more.len()).for_each(|k| column.push(more.get(k).unwrap()));
        }
        twice.values = Values::U8([entries.values(), entries.values()].into_iter().flatten().map(|v| v / 2).collect());
        for name in MATRICES {
            let tensor = Tensor::from_coo(twice.clone(), &format(name, 2)).unwrap();
            let expected = Tensor::from_coo(twice.clone(), &Format::dense(2)).unwrap();
            prop_assert_eq!(tensor.to_dense::<u8>().unwrap(), expected.to_dense::<u8>().unwrap(), "{}", name);
        }
    }
}

#[test]
fn several_threads_put_entries_where_one_does() {
    // Large enough for several tasks; neither dimension is a multiple of the blocks' sizes.
    let dims = [1501, 1303];
    let mut entries = BTreeMap::new();
    let mut state = 1u64;
    for _ in 0..100_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (i, j) = ((state >> 33) % dims[0], (state >> 13) % dims[1]);
        // Few rows have most entries, and some have none.
        entries.insert(vec![i * i / dims[0], j], (state >> 56) as u8 | 1);
    }
    let csr = Tensor::from_coo(coo(&dims, &entries), &Format::csr()).unwrap();
    let dense = csr.to_dense::<u8>().unwrap();
    for text in MATRICES.into_iter().chain(["db", "dk", "de", "bd", "dhdd:0/2,1/2,0%2,1%2"]) {
        let target = format(text, 2);
        let of = |threads: usize| pool::with_threads(threads, || csr.convert(&target)).unwrap();
        let (one, three) = (of(1), of(3));
        assert_eq!(one, three, "{text}");
        assert_eq!(one.to_dense::<u8>().unwrap(), dense, "{text}");
        assert_eq!(pool::with_threads(3, || one.convert(&Format::csr())).unwrap(), csr, "{text}");
    }
}

#[test]
fn blocks_are_filled_up() {
    let entries = BTreeMap::from([(vec![0, 1], 5), (vec![4, 4], 7)]);
    let blocks = Tensor::from_coo(coo(&[5, 5], &entries), &format("bcsr(2,2)", 2)).unwrap();
    assert_eq!(blocks.levels()[1].crd().unwrap().as_slice::<u32>(), Some(&[0, 2][..]));
    assert_eq!(blocks.values().as_slice::<u8>(), Some(&[0, 5, 0, 0, 7, 0, 0, 0][..]));
    assert_eq!(blocks.to_coo().unwrap().len(), 5);
}

#[test]
fn diagonals_are_counted_from_the_lower_left() {
    let entries = BTreeMap::from([(vec![2, 0], 1), (vec![0, 0], 2), (vec![1, 1], 3), (vec![0, 1], 4)]);
    let dia = Tensor::from_coo(coo(&[3, 2], &entries), &Format::dia()).unwrap();
    assert_eq!(dia.levels()[0].crd().unwrap().as_slice::<u32>(), Some(&[0, 2, 3][..]));
    assert_eq!(dia.values().as_slice::<u8>(), Some(&[0, 0, 1, 2, 3, 0, 4, 0, 0][..]));
}

#[test]
fn stored_coordinates_outside_the_matrix_are_refused() {
    let index = |v: Vec<u32>| Buffer::from_vec(v);
    // Block (1, 1) of a matrix of 3 x 3 has one place inside, (0, 0).
    let parts = |row: u32| {
        let levels = vec![
            LevelStorage::dense(2),
            LevelStorage::dense(2),
            LevelStorage::compressed(index(vec![0, 0, 0, 0, 1]), index(vec![row])),
            LevelStorage::singleton(index(vec![0])),
        ];
        Tensor::from_parts(vec![3, 3], &Format::csb(2).unwrap(), levels, Buffer::from_vec(vec![1u8]))
    };
    assert_eq!(parts(0).unwrap().to_coo().unwrap().len(), 1);
    let outside = parts(1).unwrap_err();
    assert!(matches!(outside, StorageError::OutOfRange { dimension: 0, coordinate: 3, size: 3, .. }), "{outside}");
}
