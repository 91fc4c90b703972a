//! Shrinking: the smallest program, near one that fails, that still fails.
//!
//! Greedy: of all single cuts (a statement less, an operand in place of its user, a smaller size, a dense format, type
//! `f64`, no stored zeros) the first that still fails is taken, until none does.

use lacunar_formats::{DType, Format, IndexWidth};

use crate::instance::Instance;
use crate::setup::Setup;
use crate::sketch::{Form, Sketch, Tree};

/// Cuts a failing sketch as far as it goes, in at most `budget` runs of `fails`.
pub fn shrink(sketch: Sketch, budget: usize, fails: impl Fn(&Instance) -> bool) -> Sketch {
    let mut smallest = sketch;
    let mut left = budget;
    'again: loop {
        for cut in cuts(&smallest) {
            let Ok(instance) = cut.instance() else { continue };
            if left == 0 {
                return smallest;
            }
            left -= 1;
            if fails(&instance) {
                smallest = cut;
                continue 'again;
            }
        }
        return smallest;
    }
}

/// Drops commands of a failing instance's schedule, one by one, as far as it goes.
pub fn shrink_schedule(instance: Instance, fails: impl Fn(&Instance) -> bool) -> Instance {
    let mut smallest = instance;
    let mut at = 0;
    while at < smallest.setup.schedule.len() {
        let mut cut = smallest.clone();
        cut.setup.schedule.remove(at);
        if fails(&cut) {
            (smallest, at) = (cut, 0);
        } else {
            at += 1;
        }
    }
    smallest
}

/// All sketches that are one step simpler.
fn cuts(sketch: &Sketch) -> Vec<Sketch> {
    let mut found = setups(sketch);
    if sketch.rounds.is_some() {
        found.push(Sketch { rounds: None, ..sketch.clone() });
    }
    if sketch.statements.len() > 1 {
        for place in 0..sketch.statements.len() {
            let mut cut = sketch.clone();
            cut.statements.remove(place);
            found.push(cut);
        }
    }
    for (place, statement) in sketch.statements.iter().enumerate() {
        for rhs in trees(&statement.rhs) {
            let mut cut = sketch.clone();
            cut.statements[place].rhs = rhs;
            found.push(cut);
        }
        if statement.combines.is_some() {
            let mut cut = sketch.clone();
            cut.statements[place].combines = None;
            cut.tensors[statement.result].given = false;
            found.push(cut);
        }
    }
    for (size, smaller) in sketch.sizes.iter().flat_map(|&size| [(size, 1), (size, size / 2), (size, size.max(1) - 1)])
    {
        if smaller < size {
            found.push(resized(sketch, size, smaller));
        }
    }
    for (place, tensor) in sketch.tensors.iter().enumerate() {
        let mut with = |change: &dyn Fn(&mut crate::sketch::Operand)| {
            let mut cut = sketch.clone();
            change(&mut cut.tensors[place]);
            found.push(cut);
        };
        let order = tensor.dims.len();
        if !tensor.format.is_natural_order() {
            let levels = tensor.format.levels().to_vec();
            with(&|t| t.format = Format::new(levels.clone(), (0..order).collect()).unwrap_or(Format::dense(order)));
        }
        for simple in [Format::dense(order), Format::csf(order)] {
            if tensor.format != simple && !tensor.format.is_dense() {
                with(&|t| t.format = simple.clone());
            }
        }
        if tensor.dtype.is_some_and(|dtype| dtype != DType::F64) {
            with(&|t| t.dtype = Some(DType::F64));
        }
        let usual = tensor.format.clone().with_widths(IndexWidth::W32, IndexWidth::W32);
        if tensor.format != usual {
            with(&|t| t.format = usual.clone());
        }
        for (dimension, form) in tensor.indices.iter().enumerate() {
            let Some(form) = *form else { continue };
            with(&|t| t.indices[dimension] = None);
            let simple = [
                Form { factor: 1, ..form },
                Form { plus: None, ..form },
                Form { constant: form.constant / 2, ..form },
                Form { through: None, ..form },
                Form { border: None, ..form },
            ];
            for simpler in simple.into_iter().filter(|simpler| *simpler != form) {
                with(&|t| t.indices[dimension] = Some(simpler));
            }
        }
        if let Some((text, is_unique)) = &tensor.structure {
            with(&|t| t.structure = None);
            if *is_unique {
                with(&|t| t.structure = Some((text.clone(), false)));
            }
        }
        if tensor.zeros {
            with(&|t| t.zeros = false);
        }
        if tensor.heavy.is_some() {
            with(&|t| t.heavy = None);
        }
        if tensor.density > 0.1 && tensor.density < 1.0 {
            with(&|t| t.density /= 2.0);
        }
    }
    found
}

/// The sketch with a command of the schedule less, or with less asked for.
fn setups(sketch: &Sketch) -> Vec<Sketch> {
    let mut found = Vec::new();
    for command in 0..sketch.setup.schedule.len() {
        let mut cut = sketch.clone();
        cut.setup.schedule.remove(command);
        found.push(cut);
    }
    let flags: [fn(&mut Setup) -> &mut bool; 3] = [|s| &mut s.strict, |s| &mut s.plain, |s| &mut s.phases];
    for flag in flags {
        let mut cut = sketch.clone();
        if std::mem::take(flag(&mut cut.setup)) {
            found.push(cut);
        }
    }
    found
}

/// The sketch with every variable and dimension of one size changed to another.
fn resized(sketch: &Sketch, from: u64, to: u64) -> Sketch {
    let mut cut = sketch.clone();
    let sizes = cut.sizes.iter_mut().chain(cut.tensors.iter_mut().flat_map(|tensor| &mut tensor.dims));
    sizes.filter(|size| **size == from).for_each(|size| *size = to);
    cut
}

/// All expressions with one node replaced by one of its operands.
fn trees(tree: &Tree) -> Vec<Tree> {
    let mut found: Vec<Tree> = tree.children().into_iter().cloned().collect();
    match tree {
        Tree::Access(..) | Tree::Index(_) | Tree::Number(_) => {}
        Tree::Unary(function, a) => {
            found.extend(trees(a).into_iter().map(|a| Tree::Unary(*function, Box::new(a))));
        }
        Tree::Cast(dtype, long, a) => {
            found.extend(trees(a).into_iter().map(|a| Tree::Cast(*dtype, *long, Box::new(a))));
        }
        Tree::Reduce(monoid, var, a) => {
            found.extend(trees(a).into_iter().map(|a| Tree::Reduce(*monoid, *var, Box::new(a))));
        }
        Tree::Select(operands) => {
            for (place, operand) in operands.iter().enumerate() {
                found.extend(trees(operand).into_iter().map(|smaller| {
                    let mut operands = operands.clone();
                    operands[place] = smaller;
                    Tree::Select(operands)
                }));
            }
        }
        Tree::Apply(operator, operands) => {
            for (place, operand) in operands.iter().enumerate() {
                found.extend(trees(operand).into_iter().map(|smaller| {
                    let mut operands = operands.clone();
                    operands[place] = smaller;
                    Tree::Apply(*operator, operands)
                }));
            }
        }
        Tree::Binary(function, a, b) => {
            found.extend(trees(a).into_iter().map(|a| Tree::Binary(*function, Box::new(a), b.clone())));
            found.extend(trees(b).into_iter().map(|b| Tree::Binary(*function, a.clone(), Box::new(b))));
        }
    }
    found
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use super::*;
    use crate::generate::generate;

    #[test]
    fn a_program_with_a_product_shrinks_to_the_product() {
        let fails = |instance: &Instance| instance.source.contains('*') && !instance.source.contains("op ");
        let mut shrunk = 0;
        for seed in 0..40 {
            let (sketch, instance) = generate(seed).expect("a program that checks");
            if fails(&instance) {
                let small = shrink(sketch, 2000, fails);
                assert_eq!(small.statements.len(), 1, "{}", small.text());
                assert_eq!(small.text().matches('*').count(), 1, "{}", small.text());
                assert!(small.text().len() < 60, "{}", small.text());
                shrunk += 1;
            }
        }
        assert!(shrunk > 5);
    }
}
