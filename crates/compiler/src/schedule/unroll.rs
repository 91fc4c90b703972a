//! `unroll(i, times)`: the body is repeated.
//!
//! Demands: a loop over `i`. It changes nothing but a tag. Paper: Senanayake et al. 2020, §5.1.

use lacunar_base::Diagnostic;
use lacunar_notation::concrete::Kernel;
use lacunar_notation::provenance::Tag;
use lacunar_notation::schedule::Name;

use super::leaf;

pub(super) fn unroll(kernel: &mut Kernel, var: &Name, times: u32) -> Result<(), Diagnostic> {
    let var = leaf(kernel, var)?;
    kernel.provenance.tags.push((var, Tag::Unroll(times)));
    Ok(())
}
