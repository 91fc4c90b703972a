//! `bound(i, ib, size, kind)`: a promise about the size of a dimension.
//!
//! Demands: a loop over `i`, and no known size that contradicts the promise. Relation: bound.
//!
//! ```text
//! forall(i, body)  ->  forall(ib, body)
//! ```
//!
//! A promise that turns out to be wrong when the kernel is run is an error, not a wrong result.
//! Paper: Senanayake et al. 2020, §5.1.

use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::provenance::Relation;
use lacunar_notation::schedule::{BoundKind, Name};

use super::nest::replace_loops;
use super::{Forward, Transformed, new_var, refuse, replaceable};

pub(super) fn bound(kernel: &Kernel, name: &Name, bounded: &Name, size: u64, kind: BoundKind) -> Transformed {
    let parent = replaceable(kernel, name)?;
    let known = kernel.vars[parent].size;
    let wrong = known.is_some_and(|known| match kind {
        BoundKind::MaxExact => known != size,
        BoundKind::MaxConstraint => known > size,
        BoundKind::MinExact | BoundKind::MinConstraint => size != 0,
    });
    if wrong || (known.is_none() && matches!(kind, BoundKind::MinExact | BoundKind::MinConstraint) && size != 0) {
        let message = match (kind, known) {
            (BoundKind::MinExact | BoundKind::MinConstraint, _) => format!("the loop over `{name}` begins at 0"),
            (_, Some(known)) => format!("`{name}` runs over {known} values"),
            (_, None) => format!("the size of `{name}` is not known"),
        };
        return Err(refuse("E1208", name.span, message, "a promise that does not hold").hint(
            "promise what is known: `maxexact` for the size, `maxconstraint` for a number that it does not exceed",
        ));
    }
    let known = if kind == BoundKind::MaxExact { Some(size) } else { known };
    let mut made = kernel.clone();
    let bounded = new_var(&mut made, bounded, known);
    made.provenance.relations.push(Relation::Bound { parent, bounded, size, kind });
    made.stmt = replace_loops(made.stmt, parent, &mut |body| Stmt::Forall(bounded, Box::new(body)));
    Ok((made, Forward::default().replaced(parent, [bounded])))
}
