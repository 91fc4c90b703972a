//! Views: the levels that a kernel walks through a tensor by, made of those that are stored.
//!
//! ```text
//! A: csr                          the levels as they are stored
//! x: dense, seen as x(j0,j1)      j = 4 j0 + j1: two levels that walk through the one dimension together
//! ```
//!
//! A [`ViewStep`] for each level connects the two; a step is a case here and code in `levels/`.

use std::rc::Rc;

use lacunar_base::Diagnostic;
use lacunar_imp::{ArrayId, Builder, ExprId};
use lacunar_notation::concrete::Kernel;
use lacunar_notation::stored::{View, ViewStep};
use lacunar_notation::{Tensor, TensorId};

use crate::levels::{LevelCode, Parent, Strided, Through};

/// Gives the array that a level of a tensor keeps the coordinate of each rank in.
pub(super) type Ranking<'a> = &'a mut dyn FnMut(&mut Builder, TensorId, usize) -> ArrayId;

/// True if a level that a kernel walks through is stored in arrays of its own.
pub(super) fn is_stored(tensor: &Tensor, level: usize) -> bool {
    match step(tensor, level) {
        ViewStep::Whole => true,
        ViewStep::First(..) | ViewStep::Next(_) => false,
    }
}

/// The levels of a tensor as a kernel walks through them, from those that are stored. `sizes` are those of variables.
///
/// # Errors
/// A view of a tensor or variable that is not in the kernel.
pub(super) fn seen(
    b: &mut Builder,
    (kernel, tensor): (&Kernel, &Tensor),
    stored: Vec<Rc<dyn LevelCode>>,
    sizes: &[ExprId],
    ranking: Ranking<'_>,
) -> Result<Vec<Rc<dyn LevelCode>>, Diagnostic> {
    let Some(view) = &tensor.view else { return Ok(stored) };
    let mut stored = stored.into_iter();
    let mut levels: Vec<Rc<dyn LevelCode>> = Vec::new();
    for level in 0..tensor.order() {
        match step(tensor, level) {
            ViewStep::Whole => levels.extend(stored.next()),
            ViewStep::First(..) | ViewStep::Next(_) => {
                let code = strided(b, kernel, (view, level), sizes, ranking);
                let unseen = || Diagnostic::internal(format!("`{}` is seen through what is not there", tensor.name));
                levels.push(Rc::new(code.ok_or_else(unseen)?));
            }
        }
    }
    Ok(levels)
}

/// The step of a level of a tensor.
fn step(tensor: &Tensor, level: usize) -> ViewStep {
    let steps = tensor.view.as_ref().map(|view| view.steps.as_slice());
    steps.and_then(|steps| steps.get(level)).copied().unwrap_or(ViewStep::Whole)
}

/// A level that walks through the dimension of a recovered variable, by itself or together with others.
fn strided(
    b: &mut Builder,
    kernel: &Kernel,
    (view, level): (&View, usize),
    sizes: &[ExprId],
    ranking: Ranking<'_>,
) -> Option<Strided> {
    let steps = &view.steps;
    let dimension = steps[..=level].iter().rposition(|step| matches!(step, ViewStep::First(..)))?;
    let ViewStep::First(var, first_factor) = steps[dimension] else { return None };
    let recovered = kernel.stored.recovered.iter().find(|recovered| recovered.var == var)?;
    let (is_first, factor) = match steps[level] {
        ViewStep::Next(factor) => (false, factor),
        _ => (true, first_factor),
    };
    let is_last = !matches!(steps.get(level + 1), Some(ViewStep::Next(_)));
    let through = match recovered.ranked.filter(|_| is_last) {
        Some((tensor, level)) => {
            let parent = match (is_first, dimension) {
                (true, _) => Parent::Outside,
                (false, 0) => Parent::Rank,
                (false, _) => Parent::Inside(sizes[var.index()]),
            };
            Some(Through { ranking: ranking(b, tensor, level), parent })
        }
        None => None,
    };
    let less = recovered.less.filter(|_| is_first);
    let (zero, one) = (b.int(0), b.int(1));
    let shift = match less {
        Some(less) => b.sub(one, sizes[less.index()]),
        None => zero,
    };
    let size = if is_first { sizes[var.index()] } else { one };
    Some(Strided { size, stride: b.int(i64::from(factor)), shift, through })
}
