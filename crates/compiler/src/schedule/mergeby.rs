//! `mergeby(i, strategy)`: how the operands that meet in a loop are advanced.
//!
//! Demands: a loop over `i`. It changes nothing but a tag. Paper: Henry et al. 2021, §6 (strategies).

use lacunar_base::Diagnostic;
use lacunar_notation::concrete::Kernel;
use lacunar_notation::provenance::Tag;
use lacunar_notation::schedule::{Merge, Name};

use super::leaf;

pub(super) fn mergeby(kernel: &mut Kernel, var: &Name, strategy: Merge) -> Result<(), Diagnostic> {
    let var = leaf(kernel, var)?;
    kernel.provenance.tags.push((var, Tag::Merge(strategy)));
    Ok(())
}
