//! Structures of operands: some inputs of a program get one, and some of these are given by their unique elements alone, or in a packed
//! format; so are some results that have one, by their operands or by a mask: `C(i,j) = A(i,j) * (i <= j)`.

use fastrand::Rng;
use lacunar::inside::compiler::structure::check;
use lacunar_formats::{DType, Format, Kind};
use lacunar_front::structure;
use lacunar_notation::BinaryFn;
use lacunar_oracle::entries::fitting;

use super::MOST_PLACES;
use super::far::{can_be_run, is_far};
use crate::instance::Instance;
use crate::sketch::{Operand, Sketch, Tree};
use crate::structured::structured;

/// One input in so many has a structure.
const ONE_IN: usize = 5;
/// One structured input in so many is in a packed format.
const PACKED_IN: usize = 2;
/// Structures of results.
const RESULTS: [&str; 4] = ["symmetric", "lower", "upper", "diagonal"];
/// Structures that masks make, by a comparison of neighboring variables.
const MASKS: [(&str, BinaryFn); 5] = [
    ("upper", BinaryFn::Le),
    ("lower", BinaryFn::Ge),
    ("strictly_upper", BinaryFn::Lt),
    ("strictly_lower", BinaryFn::Gt),
    ("diagonal", BinaryFn::Eq),
];
/// The largest size of a dimension: every point is gone through.
const MOST_SIZE: u64 = 40;
/// Structures of matrices of any sizes, of square ones, and of cubes.
const ANY: [&str; 13] = [
    ":lower",
    ":strictly_upper",
    ":banded(1,2)",
    ":chess",
    ":arrow(1)",
    ":zero",
    ":leslie",
    ":diagonal",
    ":onehot(1,2)",
    ":identical_rows",
    ":identical_columns",
    "(i,j): i + j <= 4",
    "(i,j): 2 i <= 3 j + 1",
];
const SQUARE: [&str; 7] = [
    ":symmetric",
    ":skew",
    ":persymmetric",
    ":toeplitz",
    ":circulant",
    ":block_diagonal(3)",
    "(i,j): X(j,i) = X(i,j); i - j <= 2",
];
const COMPLEX: [&str; 2] = [":hermitian", ":skew_hermitian"];
const CUBE: [&str; 6] =
    [":simplex", ":symmetric", ":fixed(0,1,1,2)", ":constant", "(i,j,k): X(j,i,k) = X(i,j,k)", "(i,j,k): i <= k"];

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
        let packed = name.strip_prefix(':').filter(|_| rng.usize(..PACKED_IN) == 0);
        if let Some(format) = packed.and_then(|name| Format::packed(name, operand.dims.len()).ok()) {
            operand.format = format;
            continue;
        }
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
    let (made, found) = match made.instance() {
        Ok(found) => (made, found),
        Err(_) => (sketch, instance),
    };
    if rng.usize(..ONE_IN) == 0
        && let Some(masked) = with_masked_result(rng, &made)
    {
        return masked;
    }
    with_packed_results(rng, &made).unwrap_or((made, found))
}

/// True if a tensor can be stored whole: a packed format has a place for each element and each row, whatever the element is.
fn has_few_places(operand: &Operand) -> bool {
    let places = operand.dims.iter().try_fold(1u64, |product, size| product.checked_mul((*size).max(1)));
    places.is_some_and(|places| places <= MOST_PLACES)
}

/// The sketch with a mask in one of its statements, whose result is declared to have the structure, or packed.
fn with_masked_result(rng: &mut Rng, sketch: &Sketch) -> Option<(Sketch, Instance)> {
    let mut made = sketch.clone();
    let number = rng.usize(..made.statements.len().max(1));
    let is_only = |result: usize| made.statements.iter().filter(|other| other.result == result).count() == 1;
    let is_only = made.statements.get(number).is_some_and(|statement| is_only(statement.result));
    let statement = made.statements.get_mut(number).filter(|own| is_only && own.combines.is_none())?;
    let (vars, operand) = (statement.vars.clone(), made.tensors.get_mut(statement.result)?);
    let is_once = (1..vars.len()).all(|place| !vars[..place].contains(&vars[place]));
    // Sums of two indices have to stay below 2^62.
    let may_be_compared = operand.dims.iter().all(|size| *size < 1 << 61);
    if operand.given || operand.fill.is_some() || !is_once || !may_be_compared || !(2..4).contains(&vars.len()) {
        return None;
    }
    let (name, comparison) = MASKS[rng.usize(..MASKS.len())];
    let compared =
        |pair: &[usize]| Tree::Binary(comparison, Box::new(Tree::Index(pair[0])), Box::new(Tree::Index(pair[1])));
    let product = |a: Tree, b: Tree| Tree::Binary(BinaryFn::Mul, Box::new(a), Box::new(b));
    let mask = vars.windows(2).map(compared).reduce(product)?;
    let value = statement.rhs.clone();
    statement.rhs = if rng.bool() { product(value, mask) } else { product(mask, value) };
    if rng.bool() && has_few_places(operand) {
        operand.format = Format::packed(name, vars.len()).ok()?;
    } else {
        operand.structure = Some((format!(":{name}"), false));
    }
    let found = made.instance().ok()?;
    check(&found.program).ok()?;
    (!is_far(&made.sizes) || can_be_run(&made)).then_some((made, found))
}

/// The sketch with some results in packed formats, if the structures of operands tell that they have the structures.
fn with_packed_results(rng: &mut Rng, sketch: &Sketch) -> Option<(Sketch, Instance)> {
    let mut made = sketch.clone();
    for operand in made.tensors.iter_mut().filter(|operand| !operand.given && operand.fill.is_none()) {
        let is_square = operand.dims.windows(2).all(|pair| pair[0] == pair[1]);
        let may_be_packed = (2..4).contains(&operand.dims.len()) && is_square && has_few_places(operand);
        if may_be_packed && rng.usize(..PACKED_IN) == 0 {
            let name = RESULTS[rng.usize(..RESULTS.len())];
            operand.format = Format::packed(name, operand.dims.len()).ok()?;
        }
    }
    let is_packed = made.tensors.iter().any(|operand| !operand.given && operand.format.packing().is_some());
    let found = made.instance().ok().filter(|_| is_packed)?;
    check(&found.program).ok()?;
    Some((made, found))
}
