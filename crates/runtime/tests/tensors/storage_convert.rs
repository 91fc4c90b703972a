//! A converted tensor is the one that packing the same entries makes: for random formats, all element types, all orders
//! of dimensions, and any number of threads.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use lacunar_base::day::is_turn;
use lacunar_formats::{DType, Format, FormatSpec, IndexWidth, Level, LevelKind};
use lacunar_runtime::{Coo, StorageError, Tensor, Values, pool};
use proptest::prelude::*;

/// Distinct entries, none of them zero.
type Entries = BTreeMap<Vec<u64>, u8>;

fn coo(dims: &[u64], entries: &Entries) -> Coo {
    let mut coo = Coo::empty(dims.to_vec(), DType::U8);
    for coordinate in entries.keys() {
        coo.coords.iter_mut().zip(coordinate).for_each(|(column, &c)| column.push(c));
    }
    coo.values = Values::U8(entries.values().copied().collect());
    coo
}

/// Numbers that look random, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((u128::from(self.0) * u128::from(bound)) >> 64) as u64
    }
}

fn random(dims: &[u64], count: usize) -> Coo {
    let mut numbers = Numbers(dims.iter().sum());
    let entry = |_| {
        // Skewed: half of the entries are in the first tenth of each dimension.
        let narrow = numbers.below(2) == 0;
        let coordinate = |&size: &u64| numbers.below(if narrow { size.div_ceil(10) } else { size });
        let coordinate: Vec<u64> = dims.iter().map(coordinate).collect();
        (coordinate, 1 + numbers.below(200) as u8)
    };
    coo(dims, &(0..count).map(entry).collect())
}

/// Packs and converts, where the formats can hold the entries; otherwise conversion and packing both refuse.
fn check(coo: &Coo, from: &Format, to: &Format) {
    let Ok(source) = Tensor::from_coo(coo.clone(), from) else { return };
    let (converted, expected) = (source.convert(to), Tensor::from_coo(coo.clone(), to));
    match (converted, expected) {
        (Ok(converted), Ok(expected)) => assert_eq!(converted, expected, "{from} to {to}"),
        (Err(StorageError::NotRepresentable { .. }), Err(StorageError::NotRepresentable { .. })) => {}
        (converted, expected) => panic!("{from} to {to}: {converted:?} instead of {expected:?}"),
    }
}

fn permutations(order: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for mode in 0..order {
        let insert = |old: Vec<usize>| (0..=old.len()).map(move |at| [&old[..at], &[mode], &old[at..]].concat());
        all = all.into_iter().flat_map(insert).collect();
    }
    all
}

fn format(order: usize) -> impl Strategy<Value = Format> {
    let letters = prop::collection::vec(prop::sample::select(vec!['d', 's', 'u', 'q', 'c']), order);
    let modes = Just((0..order).collect::<Vec<_>>()).prop_shuffle();
    let positions = prop::sample::select(vec![IndexWidth::W32, IndexWidth::W64]);
    let widths = prop::collection::vec((positions, prop::sample::select(IndexWidth::ALL.to_vec())), order);
    (letters, modes, widths).prop_map(|(letters, modes, widths)| {
        let levels = letters.into_iter().map(|letter| Level::from_letter(letter).unwrap()).collect();
        widths.into_iter().enumerate().fold(Format::new(levels, modes).unwrap(), |format, (level, widths)| {
            format.with_positions(level, widths.0).with_coordinates(level, widths.1)
        })
    })
}

fn case() -> impl Strategy<Value = (Vec<u64>, Entries, Format, Format)> {
    prop::collection::vec(prop::sample::select(vec![0u64, 1, 2, 3, 5, 9]), 1..=4).prop_flat_map(|dims| {
        let order = dims.len();
        let empty = dims.contains(&0);
        let coordinate: Vec<_> = dims.iter().map(|&size| 0..size.max(1)).collect();
        let entries = prop::collection::btree_map(coordinate, 1u8.., 0..if empty { 1 } else { 60 });
        (Just(dims), entries, format(order), format(order))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn conversion_makes_what_packing_makes((dims, entries, from, to) in case()) {
        check(&coo(&dims, &entries), &from, &to);
    }

    /// Dimensions of which some are too large to be counted by.
    #[test]
    fn so_it_does_in_large_dimensions(
        dims in prop::collection::vec(prop::sample::select(vec![3u64, 1000, 1 << 20, (1 << 32) + 9, i64::MAX as u64]), 3),
        picks in prop::collection::vec((prop::collection::vec(any::<u64>(), 3), 1u8..), 0..50),
        modes in prop::sample::select(permutations(3)),
        list in any::<bool>(),
    ) {
        let entry = |(pick, value): (Vec<u64>, u8)| (pick.iter().zip(&dims).map(|(p, size)| p % size).collect(), value);
        let entries: Entries = picks.into_iter().map(entry).collect();
        let to = if list { Format::coo(3) } else { Format::csf(3) };
        check(&coo(&dims, &entries), &Format::csf(3), &to.with_mode_order(modes).unwrap());
    }
}

#[test]
fn every_element_type_is_moved() {
    let list = random(&[40, 50], 300);
    let types = [
        DType::Bool,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F32,
        DType::F64,
        DType::C64,
        DType::C128,
    ];
    for from in [Format::csr(), Format::coo(2), Format::dense(2), Format::dcsc()] {
        let source = Tensor::from_coo(list.clone(), &from).unwrap();
        for to in [Format::csc(), Format::dcsr(), Format::coo(2), Format::dense(2)] {
            let expected = Tensor::from_coo(list.clone(), &to).unwrap();
            for dtype in types {
                assert_eq!(source.cast(dtype).unwrap().convert(&to).unwrap(), expected.cast(dtype).unwrap(), "{dtype}");
            }
        }
    }
}

/// A counting sort tries prefetches on its first entries if the result has 1 to 8 MB, and prefetches always if it has more (`c128`).
#[test]
fn large_transpositions_put_every_entry() {
    let list = random(&[900, 70_000], 450_000);
    let source = Tensor::from_coo(list.clone(), &Format::csr()).unwrap();
    let expected = Tensor::from_coo(list, &Format::csc()).unwrap();
    for dtype in [DType::F32, DType::F64, DType::C128] {
        let (source, expected) = (source.cast(dtype).unwrap(), expected.cast(dtype).unwrap());
        for threads in [1, 2] {
            let converted = pool::with_threads(threads, || source.convert(&Format::csc())).unwrap();
            assert_eq!(converted, expected, "{dtype}, {threads} threads");
        }
    }
}

#[test]
fn any_number_of_threads_comes_to_the_same() {
    let matrices = [vec![300, 5000], vec![60_000, 7], vec![5, 400_000], vec![1, 90_000]];
    let lists = matrices.iter().map(|dims| random(dims, 80_000)).chain([random(&[50, 60, 70], 80_000)]);
    for list in lists {
        let order = list.dims.len();
        let formats: Vec<Format> = permutations(order)
            .into_iter()
            .flat_map(|modes| {
                [Format::csf(order), Format::coo(order)].map(|f| f.with_mode_order(modes.clone()).unwrap())
            })
            .chain(
                ["ds", "ds:1,0", "ds16:1,0", "s16s8", "u8q16"]
                    .iter()
                    .filter(|_| order == 2)
                    .map(|f| f.parse::<FormatSpec>().unwrap().resolve(2).unwrap()),
            )
            .collect();
        let expected: Vec<Tensor> = formats.iter().map(|to| Tensor::from_coo(list.clone(), to).unwrap()).collect();
        for (number, (from, source)) in formats.iter().zip(&expected).enumerate() {
            let targets = formats.iter().zip(&expected).enumerate();
            for (_, (to, expected)) in targets.filter(|(place, _)| is_turn(number + place, 2)) {
                for threads in [1, 2, 4] {
                    let converted = pool::with_threads(threads, || source.convert(to)).unwrap();
                    assert!(converted == *expected, "{from} to {to} with {threads} threads, {:?}", list.dims);
                }
            }
        }
    }
}

/// Padding of dense levels is left out also if the order is right already.
#[test]
fn dense_tensors_are_compressed_in_any_order() {
    let list = random(&[17, 9, 33], 700);
    for from in permutations(3) {
        let dense = Tensor::from_coo(list.clone(), &Format::dense(3).with_mode_order(from).unwrap()).unwrap();
        for to in permutations(3) {
            for levels in [[LevelKind::COMPRESSED; 3], [LevelKind::DENSE, LevelKind::COMPRESSED, LevelKind::COMPRESSED]]
            {
                let level = |kind| if kind == LevelKind::DENSE { Level::DENSE } else { Level::COMPRESSED };
                let format = Format::new(levels.map(level).to_vec(), to.clone()).unwrap();
                assert_eq!(dense.convert(&format).unwrap(), Tensor::from_coo(list.clone(), &format).unwrap());
            }
        }
    }
}
