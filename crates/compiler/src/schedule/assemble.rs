//! `assemble(C, append)`, `assemble(C, insert)`: the way to assemble a sparse result.
//!
//! Demands: `C` is the result, and sparse. `append` is how results are assembled unless something is said: at once, by threads in
//! pieces that are put one behind the other (`lower/sinks/piece.rs`). `insert` is two phases, *assemble* and *compute*: the first
//! finds the pattern, the second inserts the values at their places, which takes the memory of the result and no more
//! (`lower/sinks/placed.rs` for threads). `plan/insert.rs` checks the demands of the second phase on the statement.
//!
//! Paper: Chou et al. 2018, §5.3.

use lacunar_base::Span;
use lacunar_notation::concrete::Kernel;
use lacunar_notation::schedule::Assembly;
use lacunar_notation::{Role, TensorId};

use super::{Forward, Transformed, refuse};

pub(super) fn assemble(kernel: &Kernel, tensor: TensorId, how: Assembly, span: Span) -> Transformed {
    let info = &kernel.tensors[tensor];
    if info.role != Role::Result || info.format.is_dense() {
        let message = format!("`{}` is not a sparse result: nothing of it is assembled", info.name);
        return Err(refuse("E1211", span, message, "not this").hint(format!("`{}` is for sparse results", how.name())));
    }
    Ok((Kernel { assembly: how, ..kernel.clone() }, Forward::default()))
}
