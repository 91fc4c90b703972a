//! Results of which half is computed: elements that follow from others are copied from these.
//!
//! ```text
//! C(i,j) = X(t,i) * X(t,j)         symmetric, whatever X is:      half of the sums
//! D(i,j,k) = X(t,i)*X(t,j)*X(t,k)  the same in six places:        a sixth of them
//! ```
//!
//! The structure is [inferred](super::infer()), of values that may be infinite or no numbers. It pays if an element is a sum, and all
//! operands store every element: then each element left out saves work, and a copy costs less.
//!
//! On entry: a statement in reduction notation that sets a dense result. On exit: conditions for the loops, and copies.
//! Paper: Ghorbani et al. 2023, §5.5 and §6.3.

use std::collections::BTreeMap;

use lacunar_base::Arena;
use lacunar_formats::Packing;
use lacunar_notation::follow::{Condition, Follower, Followers};
use lacunar_notation::structure::bounds;
use lacunar_notation::{AssignOp, Assignment, IndexVar, Role, Structure, Tensor, TensorId, VarId};
use lacunar_sets::{Constraint, Piece, Relation};

use super::infer::infer_computed;
use super::mirror::coordinate;

/// The elements of a statement's result that have to be computed, if others follow from these.
pub(crate) fn followers(tensors: &Arena<Tensor>, vars: &Arena<IndexVar>, statement: &Assignment) -> Option<Followers> {
    let result = &tensors[statement.lhs.tensor];
    let is_array = |tensor: &Tensor| tensor.format.is_dense() && tensor.format.map().is_none();
    let is_given = |tensor: &Tensor| matches!(tensor.role, Role::Input | Role::Result) && is_array(tensor);
    let accesses = statement.rhs.accesses();
    let once = |vars: &[VarId]| (1..vars.len()).all(|place| !vars[..place].contains(&vars[place]));
    let pays = statement.op == AssignOp::Set
        && result.order() > 1
        && is_array(result)
        && result.fill().is_zero()
        && !result.dtype.is_storage()
        && once(&statement.lhs.vars)
        && !statement.rhs.reduced_vars().is_empty()
        && accesses.iter().all(|access| is_given(&tensors[access.tensor]) && access.tensor != statement.lhs.tensor);
    if !pays || !may_follow(tensors, statement) {
        return None;
    }
    let known = accesses.iter().filter(|access| tensors[access.tensor].role == Role::Input);
    let known: BTreeMap<TensorId, Structure> = known
        .filter_map(|access| Some((access.tensor, tensors[access.tensor].structure.as_deref()?.clone())))
        .collect();
    of_structure(&infer_computed(statement, tensors, vars, &known)?)
}

/// The conditions of the elements that a packed format stores. `None` if they are not those of coordinates and sizes alone, or of several
/// parts.
pub(crate) fn packed(packing: Packing) -> Option<Followers> {
    let structure = packing.structure();
    let [unique] = structure.unique().pieces() else { return None };
    let context = bounds(structure.space(), structure.context())?;
    let [context] = context.pieces() else { return None };
    let computed = conditions(structure, unique, context)?;
    // Conditions of sizes alone confine no loop: with one of these, the others do not tell all.
    let is_told = unique.gist(context).constraints().count() == computed.len();
    is_told.then_some(Followers { computed, parts: Vec::new(), is_packed: true })
}

/// True if it is worth the time to ask: a tensor occurs several times, or something is known of one.
fn may_follow(tensors: &Arena<Tensor>, statement: &Assignment) -> bool {
    let read: Vec<TensorId> = statement.rhs.accesses().into_iter().map(|access| access.tensor).collect();
    let is_structured = |tensor: &TensorId| tensors[*tensor].structure.is_some();
    read.iter().any(is_structured) || (1..read.len()).any(|place| read[..place].contains(&read[place]))
}

/// The followers of a structure that permutes coordinates under conditions of these alone.
fn of_structure(structure: &Structure) -> Option<Followers> {
    let [unique] = structure.unique().pieces() else { return None };
    let context = bounds(structure.space(), structure.context())?;
    let [context] = context.pieces() else { return None };
    let computed = conditions(structure, unique, context)?;
    let sizes = structure.space().params.len();
    let parts = structure.redundancy().pieces().iter().map(|piece| {
        let from = piece.target.iter().map(|form| coordinate(form, sizes, structure.order()));
        let is_plain = matches!((piece.coefficient.numerator(), piece.coefficient.denominator()), (1 | -1, 1));
        Some(Follower {
            conditions: conditions(structure, &piece.domain, context)?,
            from: from.collect::<Option<_>>()?,
            coefficient: Some(piece.coefficient).filter(|_| is_plain)?,
        })
    });
    let parts = parts.collect::<Option<Vec<_>>>()?;
    let depends_on_sizes = |condition: &Condition| condition.sizes.iter().any(|factor| *factor != 0);
    let mut all = parts.iter().flat_map(|part| &part.conditions).chain(&computed);
    let is_plain = !parts.is_empty() && !computed.is_empty() && !all.any(depends_on_sizes);
    is_plain.then_some(Followers { computed, parts, is_packed: false })
}

/// The conditions of a part of a tensor's elements, besides those of all. Conditions of sizes alone say where everything is 0, and are left
/// away.
fn conditions(structure: &Structure, part: &Piece, context: &Piece) -> Option<Vec<Condition>> {
    let sizes = structure.space().params.len();
    let order = structure.order();
    let of = |constraint: Constraint| {
        let (mut factors, mut of_dims) = (vec![0; order], vec![0; order]);
        let (mut is_of_sizes, mut fits) = (true, true);
        for (column, factor) in constraint.form.terms() {
            match column.checked_sub(sizes) {
                Some(dim) if dim < order => {
                    factors[dim] = factor;
                    is_of_sizes = false;
                    fits &= factor.abs() == 1;
                }
                Some(_) => fits = false,
                None if column < order => of_dims[column] = factor,
                None => fits = false,
            }
        }
        let condition = Condition {
            factors,
            sizes: of_dims,
            constant: constraint.form.offset(),
            is_equation: constraint.relation == Relation::Equal,
        };
        match (is_of_sizes, fits) {
            (true, _) => Some(None),
            (false, true) => Some(Some(condition)),
            (false, false) => None,
        }
    };
    let found = part.gist(context).constraints().map(of).collect::<Option<Vec<_>>>()?;
    Some(found.into_iter().flatten().collect())
}
