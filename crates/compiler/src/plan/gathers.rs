//! Tensors whose values are coordinates of an indicator: kernels read them where they lie, in dense levels.
//!
//! ```text
//! y(i) = x(p(i))      p: sv      p_by_order: `p`, dense: an absent value is the fill value
//! p(i) = p(p(i))                 p_old: `p` before the statement
//! ```
//!
//! On exit, each indicator of a statement that gathers values does so from a dense tensor of the kernel that the statement does not write,
//! and has its levels in the same order.

use lacunar_formats::Format;
use lacunar_notation::concrete::Kernel;
use lacunar_notation::{Expr, Gather, Indicator, Source, TensorId};

use super::Conversion;
use super::convert::{converted, old_values};

/// Redirects the indicators in the value of a statement to tensors that can be read so.
pub(super) fn read_values(
    kernel: &mut Kernel,
    (result, rhs): (TensorId, &Expr),
    conversions: &mut Vec<Conversion>,
    notes: &mut Vec<String>,
) {
    let mut gathers: Vec<TensorId> = rhs.accesses().iter().map(|access| access.tensor).collect();
    gathers.sort_unstable();
    gathers.dedup();
    for gather in gathers {
        let Some(of) = kernel.tensors[gather].gathered() else { continue };
        let mut read = if of == result { old_values(kernel, result, conversions) } else { of };
        let format = kernel.tensors[read].format.clone();
        if !format.is_dense() {
            let dense = Format::dense(kernel.tensors[of].order());
            let name = &kernel.tensors[of].name;
            notes.push(format!(
                "`{name}` ({format}) is converted to {dense}: its values are indices, every one of which is read"
            ));
            read = converted(kernel, read, &dense, conversions);
        }
        let like = &kernel.tensors[read].format;
        let order = like.order() + 1;
        let modes: Vec<usize> = like.mode_order().iter().copied().chain([like.order()]).collect();
        let indicator = Indicator::Gather(Gather { source: Source::Tensor(read), order });
        let tensor = &mut kernel.tensors[gather];
        tensor.format = indicator.format(modes);
        tensor.indicator = Some(Box::new(indicator));
    }
}
