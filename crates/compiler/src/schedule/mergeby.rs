//! `mergeby(i, strategy)`: how the operands that meet in a loop are advanced.
//!
//! Demands: a loop over `i`. It changes nothing but a tag. Paper: Henry et al. 2021, §6 (strategies).

use lacunar_base::Diagnostic;
use lacunar_notation::concrete::Kernel;
use lacunar_notation::provenance::Tag;
use lacunar_notation::schedule::{Merge, Name};

use super::{leaf, refuse};

pub(super) fn mergeby(kernel: &mut Kernel, var: &Name, strategy: Merge) -> Result<(), Diagnostic> {
    let name = var;
    let var = leaf(kernel, name)?;
    if strategy == Merge::Bitmap {
        let message = "operands cannot be merged as bitmaps";
        return Err(refuse("E1215", name.span, message, "this loop")
            .hint("`precompute` one of them into a workspace, whose coordinates are looked up in constant time"));
    }
    kernel.provenance.tags.push((var, Tag::Merge(strategy)));
    Ok(())
}
