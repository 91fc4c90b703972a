//! Formats whose levels store the terms of a map: packing, conversion from and to other formats, and arrays from
//! outside.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use lacunar_base::day::is_turn;
use lacunar_formats::{DType, Format, FormatSpec};
use lacunar_runtime::storage::LevelStorage;
use lacunar_runtime::{Buffer, Coo, Coordinates, StorageError, Tensor, Values, pool};
use proptest::prelude::*;

/// Formats of matrices.
const MATRICES: [&str; 33] = [
    "bcsr(2,2)",
    "bcsr(3,1)",
    "bcsr(4,4):1,0",
    "csb(4)",
    "hicoo(2)",
    "dia",
    "dia:1,0",
    "ss:1-0,0",
    "ssss:0/2,1/3,0%2,1%3",
    "uquq:0/2,1/2,0%2,1%2",
    "u8q16uq16:0/2,1/2,0%2,1%2",
    "hicoo(300)",
    "dsd:0/4,1,0%4",
    "s8d:1-0,0",
    "ds:1-0,1",
    "sd:1-0,1",
    "ss:0-1,0",
    "edp16:#0,0,1",
    "ell",
    "sell(3)",
    "sell(3,4)",
    "sell(4,2)",
    "sell(1,100)",
    "ndp:#0~3,0,1",
    "dn8dp:1/2,#1~5,1%2,0",
    "dnds:0/2,#0~7,0%2,1",
    "ddhb:0/2,1/2,0%2,1%2",
    "edp:#1,1,0",
    "ds:1,0",
    "ds16",
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
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

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
    let formats = MATRICES.into_iter().chain(["db", "dk", "de", "bd", "dhdd:0/2,1/2,0%2,1%2"]).enumerate();
    for (_, text) in formats.filter(|(number, _)| is_turn(*number, 3)) {
        let target = format(text, 2);
        let of = |threads: usize| pool::with_threads(threads, || csr.convert(&target)).unwrap();
        let (one, three) = (of(1), of(3));
        assert_eq!(one, three, "{text}");
        assert_eq!(one.to_dense::<u8>().unwrap(), dense, "{text}");
        assert_eq!(pool::with_threads(3, || one.convert(&Format::csr())).unwrap(), csr, "{text}");
    }
}

#[test]
fn a_last_block_of_rows_may_have_nearly_all_entries() {
    // Threads share entries: if the last rows have most of them, some threads have no rows.
    for (rows, heavy) in [(1, 0), (9, 8), (10, 9), (9, 0)] {
        let columns = 50_000u32;
        let light: Vec<u32> = (0..rows).filter(|row| *row != heavy).collect();
        let (mut i, mut j) = (vec![heavy; columns as usize], (0..columns).collect::<Vec<u32>>());
        i.extend(&light);
        j.extend(&light);
        let values = Values::U8((0..i.len()).map(|k| (k % 251) as u8 + 1).collect());
        let coords = vec![Coordinates::U32(i), Coordinates::U32(j)];
        let list = Coo { dims: vec![u64::from(rows), u64::from(columns)], coords, values };
        let csr = Tensor::from_coo(list, &Format::csr()).unwrap();
        let formats = [
            "bcsr(2,2)",
            "bcsr(4,4)",
            "csb(4)",
            "dsd:0/4,1,0%4",
            "ell",
            "sell(3)",
            "sell(3,4)",
            "ddhb:0/2,1/2,0%2,1%2",
        ];
        for (_, text) in formats.into_iter().enumerate().filter(|(number, _)| is_turn(*number, 3)) {
            let target = format(text, 2);
            let of = |threads: usize| pool::with_threads(threads, || csr.convert(&target)).unwrap();
            let one = of(1);
            for threads in [2, 3, 8] {
                assert_eq!(of(threads), one, "{text}, {rows} rows");
                let back = pool::with_threads(threads, || one.convert(&Format::csr())).unwrap();
                assert_eq!(back, csr, "{text}, {rows} rows");
            }
        }
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
    let parts = |row: u8| {
        let levels = vec![
            LevelStorage::dense(2),
            LevelStorage::dense(2),
            LevelStorage::compressed(index(vec![0, 0, 0, 0, 1]), Buffer::from_vec(vec![row])),
            LevelStorage::singleton(Buffer::from_vec(vec![0u8])),
        ];
        Tensor::from_parts(vec![3, 3], &Format::csb(2).unwrap(), levels, Buffer::from_vec(vec![1u8]))
    };
    assert_eq!(parts(0).unwrap().to_coo().unwrap().len(), 1);
    let outside = parts(1).unwrap_err();
    assert!(matches!(outside, StorageError::OutOfRange { dimension: 0, coordinate: 3, size: 3, .. }), "{outside}");
}

/// Rows with 1, 3, 0, 3, 2 entries in slices of two, sorted in windows of four.
#[test]
fn rows_are_sorted_by_their_entries() {
    let rows: [&[u64]; 5] = [&[1], &[0, 1, 3], &[], &[1, 2, 3], &[0, 2]];
    let at = |i: usize| rows[i].iter().map(move |&j| vec![i as u64, j]);
    let entries: BTreeMap<Vec<u64>, u8> = (0..5).flat_map(at).zip(1..).collect();
    let list = coo(&[5, 4], &entries);
    let stored = Tensor::from_coo(list.clone(), &Format::sell_sorted(2, 4).unwrap()).unwrap();
    let array = |name: &str| stored.levels()[1].array(name).unwrap().as_slice::<u32>().unwrap().to_vec();
    assert_eq!(array("ranking"), [1, 3, 0, 2, 4]);
    assert_eq!(array("pos"), [0, 3, 4, 6]);
    assert_eq!(stored.values().as_slice::<u8>(), Some(&[2, 5, 3, 6, 4, 7, 1, 0, 8, 0, 9, 0][..]));
    assert!(stored.bytes() < Tensor::from_coo(list.clone(), &Format::sell(2).unwrap()).unwrap().bytes() + 20);
    // Rankings from outside may be in any order inside of the windows.
    let given = |ranking: Vec<u32>| {
        let (dims, format, levels, values) = stored.try_clone().unwrap().into_parts();
        let mut ranking = Some(Buffer::from_vec(ranking));
        let levels = levels.into_iter().map(|level| {
            let replaced = level
                .try_map(|name, array| Ok::<_, ()>(if name == "ranking" { ranking.take().unwrap() } else { array }));
            replaced.unwrap()
        });
        Tensor::from_parts(dims, &format, levels.collect(), values)
    };
    assert_eq!(given(vec![1, 3, 0, 2, 4]).unwrap(), stored);
    let swapped = given(vec![3, 1, 0, 2, 4]).unwrap();
    let csr = swapped.convert(&Format::csr()).unwrap();
    assert_eq!(csr.values().as_slice::<u8>(), Some(&[1, 5, 6, 7, 2, 3, 4, 8, 9][..]));
    assert_eq!(swapped.to_coo().unwrap().len(), 9);
    assert!(matches!(given(vec![1, 3, 0, 2]), Err(StorageError::Length { found: 4, expected: 5, .. })));
    assert!(matches!(given(vec![1, 3, 0, 2, 5]), Err(StorageError::OutOfRange { coordinate: 5, size: 5, .. })));
    assert!(matches!(given(vec![1, 3, 0, 3, 4]), Err(StorageError::Duplicate { level: 1, place: 3 })));
    let elsewhere = given(vec![1, 3, 0, 4, 2]).unwrap_err();
    assert!(matches!(elsewhere, StorageError::Window { level: 1, place: 3, coordinate: 4, window: 4 }), "{elsewhere}");
}

/// Places inside blocks take a byte each, and two in blocks of more than 256.
#[test]
fn places_inside_blocks_are_narrow() {
    let entries: BTreeMap<Vec<u64>, u8> =
        (0..6000u64).map(|k| (vec![k % 1000, k * 7 % 900, k * 11 % 800], 1 + (k % 200) as u8)).collect();
    let list = coo(&[1000, 900, 800], &entries);
    let in_format = |text: &str| Tensor::from_coo(list.clone(), &format(text, 3)).unwrap();
    let (narrow, wide) = (in_format("hicoo(64)"), in_format("uccucq:0/64,1/64,2/64,0%64,1%64,2%64"));
    let blocks = wide.levels()[0].crd().unwrap().len() as u64;
    let count = entries.len() as u64;
    // Block numbers, edges of blocks, places and values.
    assert_eq!(wide.bytes(), 4 * (3 * blocks + 2) + 4 * (blocks + 1) + 12 * count + count);
    assert_eq!(narrow.bytes(), wide.bytes() - 9 * count);
    let middle = in_format("hicoo(512)");
    assert_eq!(middle.levels()[5].crd().unwrap().bytes(), 2 * count);
    for tensor in [&narrow, &wide, &middle] {
        assert_eq!(tensor.to_coo().unwrap().len(), entries.len());
        assert_eq!(&tensor.convert(narrow.format()).unwrap(), &narrow);
        assert_eq!(tensor.convert(&Format::csf(3)).unwrap(), in_format("csf"));
    }
}
