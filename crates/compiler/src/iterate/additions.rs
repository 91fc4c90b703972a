//! Producers of which it is cheap to say beforehand how much they add to a workspace.
//!
//! ```text
//! forall(j, forall(k, w(k) += A(i,j) * B(j,k)))     row i of A tells the rows of B that are added, and how long these are
//! ```
//!
//! The loops around the one over the workspace's variable go through the coordinates of one operand, or of none, so that going
//! through them once more costs little beside the additions.

use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::{TensorId, VarId};

use super::iterators::Mode;
use super::lattice::Lattice;

/// The variable whose loop adds to a workspace, if the loops around it inside of the producer are cheap to go through.
pub fn counted_over(kernel: &Kernel, producer: &Stmt, tensor: TensorId) -> Option<VarId> {
    let mut stmt = producer;
    let mut around = 0;
    loop {
        let Stmt::Forall(var, body) = stmt else { return None };
        let is_own = kernel.provenance.is_plain(*var) && !kernel.provenance.is_shared(*var);
        let is_filled =
            matches!(&**body, Stmt::Assign(assign) if assign.lhs.tensor == tensor && assign.lhs.vars == [*var]);
        if !is_own || is_filled {
            return Some(*var).filter(|_| is_own && around > 0);
        }
        let lattice = Lattice::build(kernel, body, *var).ok()?;
        if lattice.iterators.iter().filter(|it| it.mode == Mode::Coiterate).count() > 1 {
            return None;
        }
        around += 1;
        stmt = body;
    }
}
