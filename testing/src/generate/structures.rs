//! Structures of operands: some inputs of a program get one, and some of these are given by their unique elements alone.

use fastrand::Rng;
use lacunar_formats::{DType, Kind};
use lacunar_front::structure;
use lacunar_oracle::entries::fitting;

use crate::instance::Instance;
use crate::sketch::{Operand, Sketch};
use crate::structured::structured;

/// One input in so many has a structure.
const ONE_IN: usize = 5;
/// The largest size of a dimension: every point is gone through.
const MOST_SIZE: u64 = 40;
/// Structures of matrices of any sizes, of square ones, and of cubes.
const ANY: [&str; 8] = [
    ":lower",
    ":strictly_upper",
    ":banded(1,2)",
    ":chess",
    ":arrow(1)",
    ":zero",
    "(i,j): i + j <= 4",
    "(i,j): 2 i <= 3 j + 1",
];
const SQUARE: [&str; 6] =
    [":symmetric", ":skew", ":persymmetric", ":toeplitz", ":circulant", "(i,j): X(j,i) = X(i,j); i - j <= 2"];
const COMPLEX: [&str; 2] = [":hermitian", ":skew_hermitian"];
const CUBE: [&str; 4] = [":simplex", ":symmetric", "(i,j,k): X(j,i,k) = X(i,j,k)", "(i,j,k): i <= k"];

/// The sketch with structures, and its instance, if there are some that its operands can have.
pub(super) fn with_structures(rng: &mut Rng, sketch: Sketch, instance: Instance) -> (Sketch, Instance) {
    let mut made = sketch.clone();
    let is_small =
        |operand: &&mut Operand| operand.dims.iter().all(|size| *size <= MOST_SIZE) && operand.dims.len() < 4;
    let may_have = |operand: &&mut Operand| operand.given && operand.fill.is_none() && operand.below.is_none();
    for operand in made.tensors.iter_mut().filter(may_have).filter(is_small) {
        let is_square = operand.dims.windows(2).all(|pair| pair[0] == pair[1]);
        let dtype = operand.dtype.unwrap_or(DType::F64);
        let names: Vec<&str> = match operand.dims.len() {
            2 if is_square && dtype.kind() == Kind::Complex => [&SQUARE[..], &COMPLEX].concat(),
            2 if is_square => [&ANY[..], &SQUARE].concat(),
            2 => ANY.to_vec(),
            3 if is_square => CUBE.to_vec(),
            _ => continue,
        };
        let name = names[rng.usize(..names.len())];
        if rng.usize(..ONE_IN) > 0 || (name.ends_with("skew") && matches!(dtype.kind(), Kind::Bool | Kind::Unsigned)) {
            continue;
        }
        let text = name.replace('X', &operand.name);
        let spec = structure::parse(&format!("{}{text}", operand.name)).ok().map(|(_, spec)| spec);
        let Some(found) = spec.and_then(|spec| spec.resolve(operand.dims.len()).ok()) else { continue };
        operand.structure = Some((text, rng.bool()));
        // Levels that hold one coordinate have no room for more.
        let has_room = instance.given.get(&operand.name).is_some_and(|entries| {
            let entries = structured(entries, &found);
            fitting(entries.clone(), &operand.format) == entries
        });
        if !has_room {
            operand.structure = None;
        }
    }
    match made.instance() {
        Ok(found) => (made, found),
        Err(_) => (sketch, instance),
    }
}
