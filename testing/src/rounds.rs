//! Random programs that repeat: statements in a loop, and statements that read what they assign.
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
use lacunar_formats::{DType, Scalar};
use lacunar_notation::{BinaryFn, UnaryFn};

use crate::sketch::{Sketch, Tree};

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
    sketch
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
