//! Random programs that repeat: statements in a loop, statements that read their own results, and tensors that the program makes up.
//!
//! ```text
//! R0(i) = A(i,j) * x(j)      for round in 0 .. 2 {
//!                              R0(i) = A(i,j) * x(j) + R0(i)
//!                            }
//! ```
//!
//! The choices have random numbers of their own, so that other programs stay those of their seeds.

use fastrand::Rng;
use lacunar_base::random::Draw;
use lacunar_formats::{DType, Kind, Scalar};
use lacunar_notation::{BinaryFn, UnaryFn};

use crate::data;
use crate::entries::fitting;
use crate::sketch::{Operand, Sketch, Tree};

/// The most elements of a tensor that is made up.
const MOST_MADE: u64 = 1 << 12;

/// The program, or one that repeats it. It need not check.
pub fn repeated(mut sketch: Sketch) -> Sketch {
    let mut rng = Rng::with_seed(sketch.seed ^ 0x0072_6f75_6e64_7321);
    if rng.percent(15) {
        sketch.rounds = Some(rng.u8(1..=3));
    }
    if rng.percent(15) {
        let place = rng.usize(..sketch.statements.len());
        read_itself(
            &mut sketch,
            place,
            rng.pick(&[BinaryFn::Add, BinaryFn::Sub, BinaryFn::Max]).unwrap_or(BinaryFn::Add),
        );
    }
    if rng.percent(12) {
        make_up(&mut sketch, &mut rng);
    }
    sketch
}

/// Lets the program make up one of the tensors that are given, if its format holds all elements.
fn make_up(sketch: &mut Sketch, rng: &mut Rng) {
    let is_result = |place: usize| sketch.statements.iter().any(|statement| statement.result == place);
    let holds_all = |tensor: &Operand| {
        let all = data::entries(0, &tensor.dims, tensor.dtype.unwrap_or(DType::F64), 1.0, false);
        let count = all.values.len();
        fitting(all, &tensor.format).values.len() == count
    };
    let is_small =
        |tensor: &Operand| tensor.dims.iter().try_fold(1u64, |all, size| all.checked_mul(*size)) <= Some(MOST_MADE);
    let may_be = |(place, tensor): &(usize, &Operand)| {
        let is_plain = tensor.given && tensor.below.is_none() && tensor.structure.is_none() && !is_result(*place);
        is_plain && is_small(tensor) && holds_all(tensor)
    };
    let all: Vec<usize> = sketch.tensors.iter().enumerate().filter(may_be).map(|(place, _)| place).collect();
    let Some(place) = rng.pick(&all) else { return };
    let tensor = &mut sketch.tensors[place];
    tensor.given = false;
    let name = &tensor.name;
    let action = match rng.u8(..4) {
        0 => {
            let numbers = match tensor.dtype.unwrap_or(DType::F64).kind() {
                Kind::Bool => ["true", "false"].as_slice(),
                Kind::Unsigned => &["0", "3"],
                Kind::Signed => &["0", "3", "-2"],
                Kind::Real | Kind::Complex => &["0", "3", "-2", "1.5"],
            };
            format!("fill {name} {}", numbers[rng.usize(..numbers.len())])
        }
        1 => format!("random {name}"),
        2 => format!("random {name} uniform({}) seed {}", rng.u8(..3), rng.u8(..200)),
        _ => format!("random {name} sparse(0.{}) seed {}", rng.u8(1..9), rng.u8(..200)),
    };
    sketch.made.push((place, action));
}

/// Lets a statement combine its value with the old one, which is given.
fn read_itself(sketch: &mut Sketch, place: usize, function: BinaryFn) {
    let statement = &mut sketch.statements[place];
    if statement.combines.is_some() || matches!(statement.rhs, Tree::Unary(UnaryFn::Prune, _)) {
        return;
    }
    let old = Tree::Access(statement.result, statement.vars.clone());
    let value = std::mem::replace(&mut statement.rhs, Tree::Number("0"));
    statement.rhs = Tree::Binary(function, Box::new(value), Box::new(old));
    let tensor = &mut sketch.tensors[statement.result];
    let dtype = *tensor.dtype.get_or_insert(DType::F64);
    tensor.fill = tensor.fill.or(Some(Scalar::zero(dtype)));
    tensor.given = true;
}
