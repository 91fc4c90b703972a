//! Results that have the pattern of an operand, and are stored as it is: the operand's levels are copied, and values are put in where its
//! own values lie.
//!
//! ```text
//! B(i,j) = A(i,j) * x(j)        A, B: d{btree}      the arrays of A, copied;  B_vals[p] = A_vals[p] * x[..] in the order of A's nodes
//! B(i,j) = A(i,j) + x(j)        B has entries where A has none
//! B(i,j) = A(i,j) * D(i,j)      D: csr, B has entries where both have; D: dense, those of A
//! ```
//!
//! Demands: levels of which each coordinate has a position of its own; a statement that sets the result, of which all other operands are
//! arrays, and whose loops visit only the stored entries of the operand. It spares the assembly of another format and a conversion, where
//! the result is of a format that loops do not append to. Paper: Chou and Amarasinghe, *Compilation of Dynamic Sparse Tensor Algebra*
//! (OOPSLA 2022), §4.4, copy such a tensor node by node.

use lacunar_formats::{DType, Format};
use lacunar_notation::concrete::{Assign, Kernel, Stmt};
use lacunar_notation::{Access, AssignOp, Expr, Role, TensorId};

use crate::algebra::{preserves_fill, selected};
use crate::iterate::iterators::{AccessKey, level_var};
use crate::iterate::lattice::Lattice;

/// Lets the result of an assignment have the levels of an input, if one has its pattern and is stored like it; returns true if it does.
pub(super) fn take(kernel: &mut Kernel, (lhs, op, rhs): (&Access, AssignOp, &Expr), notes: &mut Vec<String>) -> bool {
    let Some(same) = pattern(kernel, lhs, op, rhs) else { return false };
    let [own, other] = [lhs.tensor, same].map(|tensor| kernel.tensors[tensor].name.as_str());
    notes.push(format!("`{own}` has the pattern of `{other}`: it is copied, and values are put in"));
    kernel.pattern_of = Some(same);
    let result = &mut kernel.tensors[lhs.tensor];
    result.format = Format::dense(result.format.order());
    true
}

/// The input that has the pattern of a result and is stored like it, if one has.
fn pattern(kernel: &Kernel, lhs: &Access, op: AssignOp, rhs: &Expr) -> Option<TensorId> {
    let result = &kernel.tensors[lhs.tensor];
    let key = AccessKey::from(lhs);
    let is_like = |access: &&Access| {
        let tensor = &kernel.tensors[access.tensor];
        let is_own = AccessKey { tensor: key.tensor, ..AccessKey::from(*access) } == key;
        is_own && tensor.role == Role::Input && tensor.view.is_none() && tensor.format == result.format
    };
    let accesses = rhs.accesses();
    let found = accesses.iter().copied().find(is_like)?;
    let others = accesses.iter().filter(|access| AccessKey::from(**access) != AccessKey::from(found));
    let are_arrays = others.into_iter().all(|access| {
        let tensor = &kernel.tensors[access.tensor];
        tensor.role == Role::Index || tensor.role == Role::Input && tensor.view.is_none() && tensor.format.is_dense()
    });
    let assign = Assign { lhs: lhs.clone(), op, rhs: rhs.clone() };
    let is_simple = op == AssignOp::Set
        && result.view.is_none()
        && result.dtype != DType::Pattern
        // Coordinates of one value may come to several.
        && !result.format.levels().iter().any(|level| level.properties().shared)
        && kernel.stored.sizes.is_empty()
        && rhs.reduced_vars().is_empty()
        && selected(&kernel.tensors, &assign).is_none()
        && preserves_fill(&kernel.tensors, &assign);
    if !are_arrays || !is_simple {
        return None;
    }
    let (own, body) = (AccessKey::from(found), Stmt::Assign(assign));
    let is_followed = (0..own.vars.len()).all(|level| {
        let is_full = result.format.levels()[level].properties().full;
        is_full
            || Lattice::build(kernel, &body, level_var(kernel, &own, level)).is_ok_and(|lattice| !lattice.visits_all())
    });
    is_followed.then_some(found.tensor)
}
