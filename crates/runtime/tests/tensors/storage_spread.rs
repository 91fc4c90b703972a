//! Levels that are made of plain ones (bitmaps, delta-coded, hashed, loose, runs and repeated values; slots and bands) are the same for
//! any number of threads, whether they have many parents, few or one, and below levels whose positions are not those of the plain tensor.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use lacunar_base::day::is_turn;
use lacunar_formats::{Format, FormatSpec};
use lacunar_runtime::storage::LevelStorage;
use lacunar_runtime::{Buffer, Coo, Coordinates, Tensor, Values, pool};

/// Distinct entries of which some follow each other; so many that several threads take part.
fn entries(dims: &[u64], count: usize) -> Coo {
    let mut state = 1u64;
    let mut below = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(state) * u128::from(bound)) >> 64) as u64
    };
    let (last, outer) = dims.split_last().unwrap();
    let mut found = BTreeSet::new();
    while found.len() < count {
        // Half of the runs are in the first tenth, and some segments are empty.
        let narrow = below(2) == 0;
        let mut coordinates: Vec<u64> =
            outer.iter().map(|size| below(if narrow { size.div_ceil(10) } else { *size }) / 2 * 2 % size).collect();
        let (first, length) = (below(*last), 1 + below(5));
        coordinates.push(first);
        for coordinate in first..(first + length).min(*last) {
            coordinates[outer.len()] = coordinate;
            found.insert(coordinates.clone());
        }
    }
    let column = |d: usize| Coordinates::U32(found.iter().map(|entry| entry[d] as u32).collect());
    let values = (0..found.len()).map(|k| 1.0 + (k / 3) as f32).collect();
    Coo { dims: dims.to_vec(), coords: (0..dims.len()).map(column).collect(), values: Values::F32(values) }
}

fn format(text: &str, order: usize) -> Format {
    text.parse::<FormatSpec>().unwrap().resolve(order).unwrap()
}

fn array(level: &LevelStorage, name: &str) -> Vec<u64> {
    let numbers = level.array(name).unwrap().indices().unwrap();
    (0..numbers.len()).map(|k| numbers.get(k)).collect()
}

/// Converts to formats and back with one and with three threads; all arrays are right, as if they came from outside.
fn check(dims: &[u64], count: usize, formats: &[&str]) {
    let order = dims.len();
    let plain = if order == 2 { Format::csr() } else { Format::csf(order) };
    let source = Tensor::from_coo(entries(dims, count), &plain).unwrap();
    for (_, text) in formats.iter().enumerate().filter(|(number, _)| is_turn(*number, 3)) {
        let target = format(text, order);
        let of = |threads: usize| pool::with_threads(threads, || source.convert(&target)).unwrap();
        let (one, three) = (of(1), of(3));
        assert_eq!(one, three, "{text} of {dims:?}");
        for threads in [1, 3] {
            let back = pool::with_threads(threads, || three.convert(&plain)).unwrap();
            assert_eq!(back, source, "{text} of {dims:?} with {threads} threads");
        }
        let levels = one.levels().iter().map(|level| level.try_clone().unwrap()).collect();
        let values = Buffer::from_vec(one.values().as_slice::<f32>().unwrap().to_vec());
        assert_eq!(
            Tensor::from_parts(dims.to_vec(), one.format(), levels, values).unwrap(),
            three,
            "{text} of {dims:?}"
        );
    }
}

#[test]
fn under_many_parents() {
    let formats =
        ["db", "dt", "dl", "dr", "dh", "sb", "st", "sl", "sr", "sh", "dt16", "dr16@64", "dh@64", "dt:1,0", "dg", "sg"];
    check(&[70_000, 130], 150_000, &formats);
    check(&[700, 900], 150_000, &formats);
}

#[test]
fn under_few_parents_and_one() {
    check(
        &[1, 400_000],
        150_000,
        &["db", "dt", "dl", "dr", "dh", "tb", "bt", "rl", "lr", "hr", "rk", "te", "dg", "hg"],
    );
    check(
        &[3, 300_000],
        150_000,
        &["db", "dt", "dl", "dr", "dh", "tb", "bt", "rl", "lr", "hr", "hb", "lh", "lk", "he"],
    );
    check(
        &[400_000, 2],
        150_000,
        &["bs", "ts", "ls", "rs", "hs", "bd", "td", "ld", "rd", "hd", "lt", "hr", "rb", "lb", "gd", "lg"],
    );
    check(&[400_000], 150_000, &["b", "t", "l", "r", "h", "k", "e", "g"]);
}

#[test]
fn below_levels_of_all_kinds() {
    check(
        &[90, 80, 70],
        100_000,
        &["dhb", "hlr", "lht", "ddr", "bdl", "rhd", "ldb", "hdt", "drk", "lse", "hlg", "slh:2,0,1"],
    );
}

#[test]
fn in_slots_and_slots_of_ranks() {
    let formats =
        ["ell", "sell(8)", "sell(3,70)", "sell(8,1024)", "sell(4,200000)", "ndp:#0~64,0,1", "dn8dp:1/2,#1~64,1%2,0"];
    check(&[30_000, 130], 150_000, &formats);
    check(&[2_000, 9_000], 150_000, &formats);
}

#[test]
fn runs_are_as_long_as_they_can_be() {
    for dims in [[60_000, 40], [2, 300_000]] {
        let csr = Tensor::from_coo(entries(&dims, 150_000), &Format::csr()).unwrap();
        let runs = pool::with_threads(3, || csr.convert(&format("dr", 2))).unwrap();
        let (pos, crd) = (array(&csr.levels()[1], "pos"), array(&csr.levels()[1], "crd"));
        let (mut starts, mut edges) = (Vec::new(), vec![0]);
        for row in pos.windows(2) {
            let segment = row[0] as usize..row[1] as usize;
            let begins = |k: &usize| *k == segment.start || crd[*k] != crd[k - 1] + 1;
            starts.extend(segment.clone().filter(begins).map(|k| k as u64));
            edges.push(starts.len() as u64);
        }
        let coordinates: Vec<u64> = starts.iter().map(|start| crd[*start as usize]).collect();
        starts.push(crd.len() as u64);
        let level = &runs.levels()[1];
        assert_eq!((array(level, "run"), array(level, "crd"), array(level, "start")), (edges, coordinates, starts));
    }
}

/// A matrix of slots from outside may have a row's entries in any order, and empty slots between them.
#[test]
fn rows_come_out_of_slots_in_order() {
    let none = u32::MAX;
    let levels = vec![
        LevelStorage::dense(2),
        LevelStorage::new(format("sell(2)", 2).levels()[1].kind, 3, vec![Buffer::from_vec(vec![0u32, 3, 4])]),
        LevelStorage::dense(2),
        LevelStorage::new(
            format("sell(2)", 2).levels()[3].kind,
            5,
            vec![Buffer::from_vec(vec![4u32, none, none, 2, 1, 0, 3, none])],
        ),
    ];
    let values = Buffer::from_vec(vec![1.0, 0.0, 0.0, 2.0, 3.0, 4.0, 5.0, 0.0]);
    let slots = Tensor::from_parts(vec![3, 5], &format("sell(2)", 2), levels, values).unwrap();
    let csr = slots.convert(&Format::csr()).unwrap();
    assert_eq!(array(&csr.levels()[1], "pos"), [0, 2, 4, 5]);
    assert_eq!(array(&csr.levels()[1], "crd"), [1, 4, 0, 2, 3]);
    assert_eq!(csr.values().as_slice::<f64>(), Some(&[3.0, 1.0, 4.0, 2.0, 5.0][..]));
}
