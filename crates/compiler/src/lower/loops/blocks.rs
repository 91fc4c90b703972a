//! Loops from node to node, and over the elements of each that are neighbors, which vector lanes take at once.
//!
//! ```text
//! y(i) = A(i,j) * x(j)       A: dense, btree
//!   node = root[i];  the first block
//!   while node != 0 {
//!     for w in begin .. end loads begin + 16 { j = node[w]; t += A_vals[w + shift] * x[j] }
//!     the next block
//!   }
//! ```
//!
//! The inner loop counts words, not positions: coordinates are loaded one by one, values by whole vectors, so that more addresses need
//! no sum.
//!
//! Paper: Chou and Amarasinghe, *Compilation of Dynamic Sparse Tensor Algebra* (OOPSLA 2022), §4.2, as loops instead of functions.

use lacunar_base::Diagnostic;
use lacunar_imp::BinaryOp;

use super::behind;
use super::here::Loop;
use super::positions::at_entry;
use crate::lower::storage::{count_positions, level};
use crate::lower::{Lowerer, iter};

/// The loop over the blocks of iterator `k`.
pub(super) fn emit(cx: &mut Lowerer<'_>, l: &Loop<'_>, k: usize) -> Result<(), Diagnostic> {
    let iterator = &l.lattice.iterators[k];
    let code = level(cx, &iterator.access, iterator.level, l.scope)?;
    let none = || Diagnostic::internal("a level that has blocks has no nodes");
    let nodes = code.nodes().ok_or_else(none)?;
    let walk = iter::open_blocks(cx, iterator, (&*code, nodes), l.scope)?;
    let start = cx.b.int(0);
    let scope = l.entered(cx, &mut |cx| code.most_between(&mut cx.b, start, start));
    let l = &l.within(&scope);
    let (name, kind, var) = (iter::name(cx, iterator), l.kind(cx), cx.var_name(l.var));
    let valid = nodes.is_valid(&mut cx.b, &walk);
    let stored = match behind::are_in_bounds(cx, l, k) {
        true => count_positions(cx, &iterator.access, iterator.level, l.scope),
        false => None,
    };
    cx.repeat(valid, |cx| {
        let elements = nodes.elements(&mut cx.b, &walk);
        let loads = stored.zip(elements.room_end).map(|(stored, end)| match elements.is_padded {
            true => {
                let stored = cx.b.sub(stored, elements.shift);
                cx.b.binary(BinaryOp::Min, end, stored)
            }
            false => end,
        });
        cx.each(kind, &name, (elements.begin, elements.end), |cx, word| {
            if let Some(loads) = loads {
                cx.b.loads_up_to(loads);
            }
            let (at, coordinate, is_used) = nodes.element(&mut cx.b, var, elements, word);
            cx.when_some(is_used, |cx| at_entry(cx, l, k, (at, coordinate)))
        })?;
        nodes.next_block(&mut cx.b, &walk);
        Ok(())
    })
}
