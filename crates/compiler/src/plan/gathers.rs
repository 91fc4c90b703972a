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
use lacunar_notation::{Expr, Gather, Indicator, Role, Source, Tensor, TensorId};

use super::Conversion;
use super::convert::{free_name, old_values};

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
        let Tensor { format, view, .. } = &kernel.tensors[read];
        let order = kernel.tensors[gather].order();
        if !format.is_dense() || view.is_some() {
            let dense = Format::dense(order - 1);
            let (name, stored) = (&kernel.tensors[of].name, view.as_ref().map_or(format, |view| &view.format));
            notes.push(format!(
                "`{name}` ({stored}) is converted to {dense}: its values are indices, all of which are read"
            ));
            read = densely(kernel, (read, gather), dense, conversions);
        }
        let modes: Vec<usize> = kernel.tensors[read].format.mode_order().iter().copied().chain([order - 1]).collect();
        let indicator = Indicator::Gather(Gather { source: Source::Tensor(read), order });
        let tensor = &mut kernel.tensors[gather];
        tensor.format = indicator.format(modes);
        tensor.indicator = Some(Box::new(indicator));
    }
}

/// A tensor of the kernel for the one that an indicator gathers the values of, over the user's dimensions.
fn densely(
    kernel: &mut Kernel,
    (of, gather): (TensorId, TensorId),
    format: Format,
    conversions: &mut Vec<Conversion>,
) -> TensorId {
    let source = conversions.iter().find(|conversion| conversion.tensor == of).map_or(of, |made| made.source);
    let is_made = |made: &&Conversion| {
        let tensor = &kernel.tensors[made.tensor];
        made.source == source && tensor.format == format && tensor.view.is_none()
    };
    if let Some(known) = conversions.iter().find(is_made) {
        return known.tensor;
    }
    let like = &kernel.tensors[of];
    let dims = kernel.tensors[gather].dims.iter().take(format.order()).copied().collect();
    let name = free_name(&kernel.tensors, &format!("{}_by_order", like.name));
    let tensor = Tensor { name, format, dims, view: None, role: Role::Input, ..like.clone() };
    let tensor = kernel.tensors.push(tensor);
    conversions.push(Conversion { tensor, source });
    tensor
}
