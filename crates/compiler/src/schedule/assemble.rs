//! `assemble(C, append)`, `assemble(C, insert)`: how a sparse result comes into being.
//!
//! Demands: `C` is the result, and sparse. `append` is how results are assembled; by threads, in parts that are put one
//! behind the other. `insert` asks for the pattern to be counted before it is filled, which is what the phases *assemble* and
//! *compute* of a kernel do; in one kernel the parts take its place, as they need no second pass over the operands.
//!
//! Paper: Chou et al. 2018, §5.3; the parts are this compiler's (`lower/segments.rs`).

use lacunar_base::{Diagnostic, Span};
use lacunar_notation::concrete::Kernel;
use lacunar_notation::schedule::Assembly;
use lacunar_notation::{Role, TensorId};

use super::refuse;

pub(super) fn assemble(kernel: &mut Kernel, tensor: TensorId, how: Assembly, span: Span) -> Result<(), Diagnostic> {
    let info = &kernel.tensors[tensor];
    if info.role != Role::Result || info.format.is_dense() {
        let message = format!("`{}` is not a sparse result: nothing of it is assembled", info.name);
        return Err(refuse("E1211", span, message, "not this").hint(format!("`{}` is for sparse results", how.name())));
    }
    Ok(())
}
