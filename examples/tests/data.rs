//! The shipped data files are those that the programs of this crate write today, and have the properties their comments
//! claim. To write them anew after a change of a program, run the command each file names in its comment.

use lacunar_examples::fem::{Quantity, write_quantity};
use lacunar_examples::graph::write_karate;
use lacunar_examples::mesh::MeshSize;
use std::collections::BTreeMap;

fn shipped(name: &str) -> String {
    let path = format!("{}/data/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn made(quantity: Quantity, cells: u32, levels: u32) -> String {
    let mut text = Vec::new();
    write_quantity(&mut text, quantity, MeshSize { cells, levels }).expect("the size is allowed");
    String::from_utf8(text).expect("the file is text")
}

/// The numbers of each line that is not a comment.
fn numbers(text: &str) -> Vec<Vec<f64>> {
    let is_data = |line: &&str| !line.starts_with(['%', '#']);
    let words = |line: &str| line.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    text.lines().filter(is_data).map(words).collect()
}

/// Fails without printing both files.
#[track_caller]
fn assert_same(shipped: &str, made: &str) {
    let difference = shipped.lines().zip(made.lines()).position(|(a, b)| a != b);
    assert!(shipped == made, "the shipped file differs from what its program writes, first in line {difference:?} + 1");
}

#[test]
fn files_are_what_the_programs_write() {
    assert_same(&shipped("stiffness.mtx"), &made(Quantity::Stiffness, 14, 3));
    assert_same(&shipped("convection.tns"), &made(Quantity::Convection, 3, 2));
    let mut karate = Vec::new();
    write_karate(&mut karate).expect("memory can be written");
    assert_same(&shipped("karate.mtx"), &String::from_utf8_lossy(&karate));
}

#[test]
fn stiffness_matrix_is_one() {
    let lines = numbers(&shipped("stiffness.mtx"));
    let (sizes, entries) = lines.split_first().expect("a line of sizes");
    let [rows, columns, stored] = sizes[..] else { panic!("the sizes are three numbers") };
    assert_eq!((rows, stored), (columns, entries.len() as f64));
    let mut sums = vec![0.0; rows as usize + 1];
    for entry in entries {
        let [row, column, value] = entry[..] else { panic!("an entry is three numbers") };
        assert!(1.0 <= column && column <= row && row <= rows, "the lower triangle is stored");
        sums[row as usize] += value;
        if row == column {
            assert!(value > 0.0, "the energy of a hat function is positive");
        } else {
            sums[column as usize] += value;
        }
    }
    assert!(sums.iter().all(|sum| sum.abs() < 1e-12), "constants have no energy");
}

#[test]
fn convection_tensor_is_symmetric_and_annihilates_constants() {
    let mut tensor = BTreeMap::new();
    let mut sums: BTreeMap<[u64; 2], f64> = BTreeMap::new();
    for entry in numbers(&shipped("convection.tns")) {
        let [i, j, k, value] = entry[..] else { panic!("an entry is four numbers") };
        let [i, j, k] = [i, j, k].map(|coordinate| coordinate as u64);
        assert!(tensor.insert([i, j, k], value).is_none(), "each entry is there once");
        *sums.entry([i, k]).or_default() += value;
    }
    assert!(tensor.iter().all(|(&[i, j, k], value)| tensor[&[k, j, i]] == *value));
    assert!(sums.values().all(|sum| sum.abs() < 1e-12), "the derivative of a constant is zero");
}
