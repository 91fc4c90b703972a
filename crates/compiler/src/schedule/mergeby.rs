//! `mergeby(i, strategy)`: the way to advance the operands that meet in a loop.
//!
//! Demands: a loop over `i`. It changes nothing but a tag. Paper: Henry et al. 2021, §6 (strategies).

use lacunar_notation::concrete::Kernel;
use lacunar_notation::provenance::Tag;
use lacunar_notation::schedule::{Merge, Name};

use super::{Forward, Transformed, leaf, tagged};

pub(super) fn mergeby(kernel: &Kernel, var: &Name, strategy: Merge) -> Transformed {
    let var = leaf(kernel, var)?;
    Ok((tagged(kernel, var, Tag::Merge(strategy)), Forward::default()))
}
