//! Statements of many sparse operands: loops over lattices whose points are not all listed.
//!
//! ```text
//! R0(i,j) = T0(i,j) * 2     R0(i,j) = (T0(i,j) * 2 + (((T1(i,j) - T2(j)) + T3(i,j) * T4(i)) + ..))      7 to 10 more operands
//! ```

use fastrand::Rng;
use lacunar_base::random::Draw;
use lacunar_formats::DType;
use lacunar_notation::{BinaryFn, UnaryFn};

use super::{FAR, unpadded};
use crate::layouts;
use crate::sketch::{Operand, Sketch, Tree};

/// One program in so many has such a statement.
const ONE_IN: u32 = 40;
/// The most places of the statement's variables.
const MOST_PLACES: u64 = 600;

/// Now and then, a program of which a statement has many operands. It is drawn apart, so that other programs stay the same.
pub(super) fn with_many_operands(mut sketch: Sketch) -> Sketch {
    let mut rng = Rng::with_seed(sketch.seed.rotate_left(29) ^ 0x6d61_6e79);
    let place = rng.usize(..sketch.statements.len());
    let statement = &sketch.statements[place];
    let places = statement.vars.iter().try_fold(1u64, |all, &var| all.checked_mul(sketch.sizes[var]));
    let is_pruned = matches!(statement.rhs, Tree::Unary(UnaryFn::Prune, _));
    let is_far = sketch.sizes.iter().any(|&size| size >= FAR);
    if !rng.one_in(ONE_IN) || is_far || is_pruned || statement.vars.is_empty() || places > Some(MOST_PLACES) {
        return sketch;
    }
    let mut vars = statement.vars.clone();
    vars.sort_unstable();
    vars.dedup();
    let known = sketch.tensors.iter().find_map(|tensor| tensor.dtype);
    let dtype = known.unwrap_or(DType::F64);
    let mut operand = |rng: &mut Rng| {
        let mut own = vars.clone();
        rng.shuffle(&mut own);
        // Mostly by all variables, so that all meet in one loop.
        if rng.one_in(6) {
            own.truncate(1);
        }
        let format = layouts::format(rng, own.len(), false, 8);
        let dims = own.iter().map(|&var| sketch.sizes[var]).collect();
        let density = rng.pick(&[0.1, 0.2, 0.4]).unwrap_or(0.2);
        let dtype = if format.tells_entries() { dtype } else { unpadded(dtype) };
        sketch.tensors.push(Operand {
            name: format!("M{}", sketch.tensors.len()),
            format,
            dtype: Some(dtype),
            fill: None,
            dims,
            density,
            heavy: None,
            zeros: false,
            given: true,
            indices: Vec::new(),
            below: None,
            structure: None,
        });
        Tree::Access(sketch.tensors.len() - 1, own)
    };
    let mut terms: Vec<Tree> = (0..rng.usize(7..=10)).map(|_| operand(&mut rng)).collect();
    while terms.len() > 1 {
        let [a, b] = [0, 1].map(|_| Box::new(terms.swap_remove(rng.usize(..terms.len()))));
        let function = match rng.u8(..10) {
            0 | 1 => BinaryFn::Sub,
            2 if !dtype.is_complex() => BinaryFn::Max,
            3 => BinaryFn::Mul,
            _ => BinaryFn::Add,
        };
        terms.push(Tree::Binary(function, a, b));
    }
    let statement = &mut sketch.statements[place];
    let value = std::mem::replace(&mut statement.rhs, Tree::Number("0"));
    let many = terms.pop().map_or(Tree::Number("0"), |many| many);
    let function = if rng.one_in(4) { BinaryFn::Mul } else { BinaryFn::Add };
    statement.rhs = Tree::Binary(function, Box::new(value), Box::new(many));
    sketch
}
