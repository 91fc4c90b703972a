//! `fuse(i, j, f)`: two loops nested directly become one over all pairs.
//!
//! Demands: the loop over `j` is all that the loop over `i` holds, neither is over positions already, and a fused variable is not
//! fused with another part of its variables. Relation: fuse.
//!
//! ```text
//! forall(i, forall(j, body))  ->  forall(f, body)
//! ```
//!
//! Paper: Senanayake et al. 2020, §5.1 (there `collapse`).

use lacunar_base::Span;
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::provenance::Relation;
use lacunar_notation::schedule::Name;

use super::nest::{each_loop, replace_loops};
use super::{Forward, Transformed, new_var, refuse, replaceable};
use crate::iterate::position_space::driver;

pub(super) fn fuse(kernel: &Kernel, outer_name: &Name, inner_name: &Name, fused: &Name, span: Span) -> Transformed {
    let (outer, inner) = (replaceable(kernel, outer_name)?, replaceable(kernel, inner_name)?);
    let mut direct = true;
    each_loop(&kernel.stmt, outer, &mut |body, _| direct &= matches!(body, Stmt::Forall(var, _) if *var == inner));
    each_loop(&kernel.stmt, inner, &mut |_, around| direct &= around.last() == Some(&outer));
    if !direct {
        let message =
            format!("the loop over `{inner_name}` is not directly inside that over `{outer_name}` everywhere");
        return Err(refuse("E1202", span, message, "these").hint("`reorder` them first"));
    }
    for (var, name) in [(outer, outer_name), (inner, inner_name)] {
        if driver(kernel, var).is_some() {
            let message = format!("`{name}` runs over positions, which depend on the loops around them");
            return Err(refuse("E1205", name.span, message, "not a loop over coordinates")
                .hint("fuse the coordinate variables first and take the positions of the fused one"));
        }
    }
    // Two parts of one variable make pairs; a part of pairs and a part of one of their variables do not.
    let [of_outer, of_inner] = [outer, inner].map(|var| kernel.provenance.originals(var));
    if let Some(common) = of_outer.iter().find(|var| of_inner.contains(var))
        && of_outer.len() + of_inner.len() > 2
    {
        let common = &kernel.vars[*common].name;
        let message =
            format!("`{outer_name}` and `{inner_name}` are both parts of `{common}`, and one is fused already");
        return Err(refuse("E1205", span, message, "these").hint("fuse first, and split what was fused"));
    }
    let size = kernel.vars[outer].size.zip(kernel.vars[inner].size).and_then(|(a, b)| a.checked_mul(b));
    let mut made = kernel.clone();
    let fused = new_var(&mut made, fused, size);
    made.provenance.relations.push(Relation::Fuse { outer, inner, fused });
    made.stmt = replace_loops(made.stmt, outer, &mut |body| match body {
        Stmt::Forall(_, body) => Stmt::Forall(fused, body),
        other => other,
    });
    Ok((made, Forward::default().replaced(outer, [fused]).replaced(inner, [fused])))
}
