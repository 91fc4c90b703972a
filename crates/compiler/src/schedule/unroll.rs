//! `unroll(i, times)`: the body is repeated.
//!
//! Demands: a loop over `i`, and that loops which are unrolled together repeat no body more often than [`MOST_COPIES`], which is
//! already more than instruction caches hold and compilers take quickly. It changes nothing but a tag. Paper: Senanayake et al.
//! 2020, §5.1.

use lacunar_base::Span;
use lacunar_notation::VarId;
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::provenance::Tag;
use lacunar_notation::schedule::Name;

use super::{Forward, Transformed, leaf, refuse, tagged};
use crate::lower::SPECIALIZED_SIZE;

/// The most times that all loops around a body repeat it.
const MOST_COPIES: u64 = 128;

pub(super) fn unroll(kernel: &Kernel, name: &Name, times: u32, span: Span) -> Transformed {
    let var = leaf(kernel, name)?;
    let made = tagged(kernel, var, Tag::Unroll(times));
    let copies = most_copies(&made, &made.stmt);
    if copies > MOST_COPIES {
        let message = format!("the body of the loop over `{name}` would stand there {copies} times");
        return Err(refuse("E1218", span, message, "too often")
            .hint(format!("unroll so that it stands there {MOST_COPIES} times at most, by all loops together")));
    }
    Ok((made, Forward::default()))
}

/// The number of times that the loops of a statement repeat the body that they repeat most.
fn most_copies(kernel: &Kernel, stmt: &Stmt) -> u64 {
    match stmt {
        Stmt::Assign(_) => 1,
        Stmt::Forall(var, body) => times(kernel, *var).saturating_mul(most_copies(kernel, body)),
        Stmt::Where { consumer, producer } => most_copies(kernel, consumer).max(most_copies(kernel, producer)),
        Stmt::Sequence(stmts) => stmts.iter().map(|stmt| most_copies(kernel, stmt)).max().unwrap_or(1),
    }
}

/// The number of times that a loop repeats its body: one whose number of iterations is no constant is not unrolled as a whole.
fn times(kernel: &Kernel, var: VarId) -> u64 {
    let strips = kernel.provenance.origin(var).is_some();
    let constant = |size: &u64| strips || *size <= SPECIALIZED_SIZE;
    match kernel.provenance.unroll(var) {
        None => 1,
        Some(0) => kernel.vars[var].size.filter(constant).unwrap_or(1).max(1),
        Some(times) => u64::from(times),
    }
}
