//! Statements that compute the same as another one, with dimensions and operands in another order: compilers copy it.

use fastrand::Rng;
use lacunar_base::random::Draw;
use lacunar_notation::BinaryFn;

use super::FAR;
use crate::sketch::{Operand, Sketch, Statement, Tree};

/// Now and then, a program whose last statement is there twice. It is drawn apart, so that other programs stay the same.
pub(super) fn with_last_again(mut sketch: Sketch) -> Sketch {
    let mut rng = Rng::with_seed(sketch.seed.rotate_left(17) ^ 0xa6a1);
    let Some(last) = sketch.statements.last().cloned() else { return sketch };
    let result = sketch.tensors[last.result].clone();
    let is_plain = last.combines.is_none() && result.indices.is_empty() && !result.given;
    if !is_plain || sketch.sizes.iter().any(|&size| size >= FAR) || !rng.percent(12) {
        return sketch;
    }
    let mut order: Vec<usize> = (0..last.vars.len()).collect();
    rng.shuffle(&mut order);
    let name = format!("R{}", sketch.statements.len());
    let dims = order.iter().map(|&dimension| result.dims[dimension]).collect();
    sketch.tensors.push(Operand { name, dims, ..result });
    let vars = order.iter().map(|&dimension| last.vars[dimension]).collect();
    let rhs = exchanged(&mut rng, last.rhs);
    sketch.statements.push(Statement { result: sketch.tensors.len() - 1, vars, combines: None, rhs });
    sketch
}

/// An expression with the operands of some of its sums and products exchanged.
fn exchanged(rng: &mut Rng, tree: Tree) -> Tree {
    match tree {
        Tree::Binary(function @ (BinaryFn::Mul | BinaryFn::Add), a, b) => {
            let [a, b] = [*a, *b].map(|operand| Box::new(exchanged(rng, operand)));
            if rng.bool() { Tree::Binary(function, b, a) } else { Tree::Binary(function, a, b) }
        }
        other => other,
    }
}
