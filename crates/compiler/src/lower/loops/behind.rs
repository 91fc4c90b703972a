//! Loads behind the end of a segment. A back end may load more in a vector loop over the positions of a compressed level than the
//! segment has: behind it lie those of other parents, up to the number of positions that the level has in all. The same holds for a
//! block of a node, up to the elements that it has room for.
//!
//! A coordinate of another segment is one of the same dimension, and so is a word behind the elements of a block, or it is 0. So the
//! loads there are in bounds if the operands are dense arrays of that dimension, and if nothing else depends on the position.
//!
//! ```text
//! y(i) = A(i,j) * x(j)      A: csr      for p in A2_pos[i] .. A2_pos[i+1] vector loads A2_pos[i_size] { .. A_vals[p] * x_vals[A2_crd[p]] }
//!                           A: d{blist<16>}      for w in begin .. begin + count vector loads begin + 16 { .. }
//! ```
//!
//! On entry: the loop over positions is about to be opened. On exit: a number of positions, all of which may be loaded from, if the
//! operands allow that. The builder forgets it where the body turns out to branch.

use lacunar_formats::LevelKind;
use lacunar_imp::ExprId;
use lacunar_notation::Role;
use lacunar_notation::concrete::Stmt;

use super::here::Loop;
use crate::iterate::iterators::AccessKey;
use crate::lower::Lowerer;
use crate::lower::storage::count_positions;

/// The number of positions of iterator `k` whose loads are in bounds, if more are than those of a segment.
pub(super) fn loads(cx: &mut Lowerer<'_>, l: &Loop<'_>, k: usize) -> Option<ExprId> {
    let iterator = &l.lattice.iterators[k];
    let tensor = &cx.kernel.tensors[iterator.access.tensor];
    let is_compressed = tensor.format.levels()[iterator.level].kind == LevelKind::COMPRESSED;
    if !is_compressed || !are_in_bounds(cx, l, k) {
        return None;
    }
    let stored = count_positions(cx, &iterator.access, iterator.level, l.scope)?;
    Some(stored)
}

/// True if operands have the loaded elements at any position of iterator `k` whose coordinate is one of the dimension.
pub(super) fn are_in_bounds(cx: &Lowerer<'_>, l: &Loop<'_>, k: usize) -> bool {
    let iterator = &l.lattice.iterators[k];
    let tensor = &cx.kernel.tensors[iterator.access.tensor];
    let is_last = iterator.level + 1 == tensor.format.levels().len();
    let Stmt::Assign(assign) = l.body else { return false };
    let fits = |access: &AccessKey| *access == iterator.access || is_in_bounds(cx, l, access);
    let all_fit = || assign.rhs.accesses().into_iter().map(AccessKey::from).all(|access| fits(&access));
    is_last && tensor.role == Role::Input && tensor.view.is_none() && all_fit()
}

/// True if an operand has an element at each coordinate of the loop's dimension, or does not ask for it.
fn is_in_bounds(cx: &Lowerer<'_>, l: &Loop<'_>, access: &AccessKey) -> bool {
    let tensor = &cx.kernel.tensors[access.tensor];
    let is_array = tensor.is_array() && tensor.view.is_none();
    !access.vars.contains(&l.var) || tensor.role == Role::Input && is_array
}
