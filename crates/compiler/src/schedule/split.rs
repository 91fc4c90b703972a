//! `split(i, i0, i1, size)` and `divide(i, i0, i1, parts)`: a loop becomes one over strips and one inside a strip.
//!
//! Demands: a loop over `i`. Relation: split, or divide.
//!
//! ```text
//! forall(i, body)  ->  forall(i0, forall(i1, body))        i = size * i0 + i1
//! ```
//!
//! Paper: Senanayake et al. 2020, §5.1.

use lacunar_base::Diagnostic;
use lacunar_notation::VarId;
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::provenance::Relation;
use lacunar_notation::schedule::{Name, Parts};

use super::nest::replace_loops;
use super::{new_var, replaceable};

pub(super) fn split(kernel: &mut Kernel, var: &Name, outer: &Name, inner: &Name, size: u64) -> Result<(), Diagnostic> {
    let parent = replaceable(kernel, var)?;
    let (outer, inner) = (new_var(kernel, outer, None), new_var(kernel, inner, Some(size)));
    kernel.provenance.relations.push(Relation::Split { parent, outer, inner, size });
    replace(kernel, parent, outer, inner);
    Ok(())
}

pub(super) fn divide(
    kernel: &mut Kernel,
    var: &Name,
    outer: &Name,
    inner: &Name,
    parts: Parts,
) -> Result<(), Diagnostic> {
    let parent = replaceable(kernel, var)?;
    let count = match parts {
        Parts::Count(count) => Some(count),
        Parts::PerThread(_) => None,
    };
    let (outer, inner) = (new_var(kernel, outer, count), new_var(kernel, inner, None));
    kernel.provenance.relations.push(Relation::Divide { parent, outer, inner, parts });
    replace(kernel, parent, outer, inner);
    Ok(())
}

fn replace(kernel: &mut Kernel, parent: VarId, outer: VarId, inner: VarId) {
    let stmt = std::mem::take(&mut kernel.stmt);
    kernel.stmt = replace_loops(stmt, parent, &mut |body| Stmt::foralls(&[outer, inner], body));
}
