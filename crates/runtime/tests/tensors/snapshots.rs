//! Snapshots of tensors whose arrays are large, so that versions share pages: no version sees writes to another.

#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicBool, Ordering};

use lacunar_base::random::{Draw, SplitMix};
use lacunar_formats::DType;
use lacunar_runtime::{Batch, Tensor};

use super::updates::{Map, format, stored};

/// A tensor of random entries, and a map of the same.
fn filled(text: &str, dims: [u64; 2], count: usize, rng: &mut SplitMix) -> (Tensor, Map) {
    let mut tensor = Tensor::zeros(dims.to_vec(), &format(text, 2), DType::F64).unwrap();
    let mut map = Map::new();
    let mut batch = Batch::new(2);
    for number in 1..=count {
        let at = vec![rng.below(dims[0]), rng.below(dims[1])];
        batch.set(&at, number as f64);
        map.insert(at, number as f64);
    }
    tensor.update(&batch).unwrap();
    (tensor, map)
}

/// Changes a tensor and a map of it: one entry, or some.
fn change(tensor: &mut Tensor, map: &mut Map, dims: [u64; 2], rng: &mut SplitMix) {
    let mut batch = Batch::new(2);
    let count = [1, 30, 3000][rng.below(3) as usize];
    for _ in 0..count {
        let (at, value) = (vec![rng.below(dims[0]), rng.below(dims[1])], 1.0 + rng.below(9) as f64);
        if rng.below(3) == 0 {
            batch.remove(&at);
            map.remove(&at);
        } else {
            batch.set(&at, value);
            map.insert(at, value);
        }
    }
    tensor.update(&batch).unwrap();
}

#[test]
fn versions_of_large_tensors_are_changed_and_dropped_in_any_order() {
    let dims = [1 << 14, 1 << 10];
    for (seed, text) in [(1, "d{btree}"), (2, "{bst}{ctree}"), (3, "d{blist<16>}"), (4, "{ttree}{list}")] {
        let mut rng = SplitMix(seed);
        let mut versions = vec![filled(text, dims, 60_000, &mut rng)];
        for step in 0..60 {
            let number = rng.below(versions.len() as u64) as usize;
            match rng.below(8) {
                0..3 => {
                    let (tensor, map) = &mut versions[number];
                    let snapshot = (tensor.snapshot().unwrap(), map.clone());
                    versions.push(snapshot);
                }
                3 if versions.len() > 1 => drop(versions.swap_remove(number)),
                4 if step % 3 == 0 => versions[number].0.compact().unwrap(),
                _ => {
                    let (tensor, map) = &mut versions[number];
                    change(tensor, map, dims, &mut rng);
                }
            }
            if versions.len() > 5 {
                drop(versions.swap_remove(0));
            }
            if step % 20 == 19 {
                for (tensor, map) in &versions {
                    tensor.validate().unwrap();
                    assert!(stored(tensor) == *map, "{text}: step {step}");
                }
            }
        }
    }
}

#[test]
fn a_reader_is_unharmed_by_a_million_insertions() {
    let (dims, mut rng) = ([1 << 16, 1 << 16], SplitMix(9));
    let (mut tensor, map) = filled("d{btree}", dims, 100_000, &mut rng);
    // The second snapshot is of memory that shares pages.
    let first = tensor.snapshot().unwrap();
    tensor.insert(&[0, 0], 0.5).unwrap();
    let (reader, before) = (tensor.snapshot().unwrap(), tensor.entries());
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                assert_eq!(reader.entries(), before);
                let sum: f64 = stored(&reader).values().sum();
                let expected = map.values().sum::<f64>() + 0.5 - map.get(&vec![0, 0]).unwrap_or(&0.0);
                assert!((sum - expected).abs() < 1e-3, "{sum} instead of {expected}");
            }
        });
        let mut batch = Batch::new(2);
        for number in 0..1_000_000u32 {
            let at = [rng.below(dims[0]), rng.below(dims[1])];
            match number % 2 {
                0 => drop(tensor.insert(&at, 1.0).unwrap()),
                _ => drop(batch.set(&at, 2.0)),
            }
            if batch.len() == 1000 {
                tensor.update(&batch).unwrap();
                batch = Batch::new(2);
            }
        }
        is_done.store(true, Ordering::Relaxed);
    });
    tensor.validate().unwrap();
    reader.validate().unwrap();
    assert_eq!(stored(&first), map);
}
