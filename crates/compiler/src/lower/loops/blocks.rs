//! Loops from node to node, and over the elements of each that are neighbors, which vector lanes take at once.
//!
//! ```text
//! y(i) = A(i,j) * x(j)       A: dense, btree
//!   node = root[i];  the first block
//!   while node != 0 {
//!     for p in begin .. end { j = node[p + offset]; t += A_vals[p] * x[j] }
//!     the next block
//!   }
//! ```
//!
//! Paper: Chou and Amarasinghe, *Compilation of Dynamic Sparse Tensor Algebra* (OOPSLA 2022), §4.2, as loops instead of functions.

use lacunar_base::Diagnostic;

use super::here::Loop;
use super::positions::at_entry;
use crate::lower::storage::level;
use crate::lower::{Lowerer, iter};

/// The loop over the blocks of iterator `k`.
pub(super) fn emit(cx: &mut Lowerer<'_>, l: &Loop<'_>, k: usize) -> Result<(), Diagnostic> {
    let iterator = &l.lattice.iterators[k];
    let code = level(cx, &iterator.access, iterator.level, l.scope)?;
    let none = || Diagnostic::internal("a level that has blocks has no nodes");
    let nodes = code.nodes().ok_or_else(none)?;
    let walk = iter::open_blocks(cx, iterator, (&*code, nodes), l.scope)?;
    let size = cx.size(l.var);
    let scope = l.entered(cx, &mut |_| size);
    let l = &l.within(&scope);
    let (name, kind, var) = (iter::name(cx, iterator), l.kind(cx), cx.var_name(l.var));
    let valid = nodes.is_valid(&mut cx.b, &walk);
    cx.repeat(valid, |cx| {
        let elements = nodes.elements(&mut cx.b, &walk);
        cx.each(kind, &name, (elements.begin, elements.end), |cx, at| {
            let (coordinate, is_used) = nodes.element(&mut cx.b, var, elements, at);
            cx.when_some(is_used, |cx| at_entry(cx, l, k, (at, coordinate)))
        })?;
        nodes.next_block(&mut cx.b, &walk);
        Ok(())
    })
}
