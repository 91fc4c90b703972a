//! `split(i, i0, i1, size)` and `divide(i, i0, i1, parts)`: a loop becomes one over strips and one inside a strip.
//!
//! Demands: a loop over `i`. Relation: split, or divide.
//!
//! ```text
//! forall(i, body)  ->  forall(i0, forall(i1, body))        i = size * i0 + i1
//! ```
//!
//! Paper: Senanayake et al. 2020, §5.1.

use lacunar_notation::VarId;
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::provenance::Relation;
use lacunar_notation::schedule::{Name, Parts};

use super::nest::replace_loops;
use super::{Forward, Transformed, new_var, replaceable};

pub(super) fn split(kernel: &Kernel, var: &Name, outer: &Name, inner: &Name, size: u64) -> Transformed {
    let parent = replaceable(kernel, var)?;
    let mut made = kernel.clone();
    let (outer, inner) = (new_var(&mut made, outer, None), new_var(&mut made, inner, Some(size)));
    made.provenance.relations.push(Relation::Split { parent, outer, inner, size });
    Ok(replaced(made, parent, outer, inner))
}

pub(super) fn divide(kernel: &Kernel, var: &Name, outer: &Name, inner: &Name, parts: Parts) -> Transformed {
    let parent = replaceable(kernel, var)?;
    let count = match parts {
        Parts::Count(count) => Some(count),
        Parts::PerThread(_) => None,
    };
    let mut made = kernel.clone();
    let (outer, inner) = (new_var(&mut made, outer, count), new_var(&mut made, inner, None));
    made.provenance.relations.push(Relation::Divide { parent, outer, inner, parts });
    Ok(replaced(made, parent, outer, inner))
}

fn replaced(mut kernel: Kernel, parent: VarId, outer: VarId, inner: VarId) -> (Kernel, Forward) {
    kernel.stmt = replace_loops(kernel.stmt, parent, &mut |body| Stmt::foralls(&[outer, inner], body));
    (kernel, Forward::default().replaced(parent, [outer, inner]))
}
