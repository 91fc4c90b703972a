//! Tensors of a kernel that are made of tensors of the program: in other storage, or with the earlier values of a result.
//!
//! ```text
//! C(i,j) = A(i,j) + B(j,i)      B: csr      B_by_order: csc of `B`, read in its place
//! y(i) = y(i) + x(i)                        y_old: `y` before the statement
//! ```
//!
//! A tensor in one format is made once, however often it is read.

use lacunar_base::{Arena, Span};
use lacunar_formats::{DType, Format, Scalar};
use lacunar_notation::concrete::Kernel;
use lacunar_notation::{Access, Expr, ExprKind, Role, Tensor, TensorId};

use super::{Conversion, given};
use crate::iterate::iterators::AccessKey;

/// A tensor of the kernel for the earlier values of the result.
pub(super) fn old_values(kernel: &mut Kernel, result: TensorId, conversions: &mut Vec<Conversion>) -> TensorId {
    if let Some(known) = made_of(kernel, conversions, result, &kernel.tensors[result]) {
        return known;
    }
    let tensor = Tensor {
        name: free_name(&kernel.tensors, &format!("{}_old", kernel.tensors[result].name)),
        role: Role::Input,
        span: Span::NONE,
        ..kernel.tensors[result].clone()
    };
    let tensor = kernel.tensors.push(tensor);
    conversions.push(Conversion { tensor, source: result });
    tensor
}

/// The tensor of the kernel that is made of `source` and stored as another one is. Tensors of the user's dimensions and of stored
/// ones may have the same levels: their views tell them apart.
fn made_of(kernel: &Kernel, conversions: &[Conversion], source: TensorId, as_is: &Tensor) -> Option<TensorId> {
    let same =
        |tensor: &Tensor| (&tensor.format, &tensor.view, tensor.dtype) == (&as_is.format, &as_is.view, as_is.dtype);
    let made = conversions.iter().filter(|conversion| conversion.source == source).map(|conversion| conversion.tensor);
    made.into_iter().find(|tensor| same(&kernel.tensors[*tensor]))
}

/// The type of elements and the fill value in another format: patterns become truth values if nothing else would tell stored
/// elements from padding.
pub(super) fn stored_as(tensor: &Tensor, format: &Format) -> (DType, Option<Scalar>) {
    let as_values = tensor.dtype == DType::Pattern && format.is_padded();
    if as_values { (DType::Bool, None) } else { (tensor.dtype, tensor.fill) }
}

/// A tensor of the kernel for `source` in another format.
fn converted(kernel: &mut Kernel, source: TensorId, format: &Format, conversions: &mut Vec<Conversion>) -> TensorId {
    // The tensor that is converted may itself stand for the old values of the result.
    let origin = conversions.iter().find(|conversion| conversion.tensor == source).map_or(source, |c| c.source);
    let (dtype, fill) = stored_as(&kernel.tensors[source], format);
    let tensor = Tensor {
        name: free_name(&kernel.tensors, &format!("{}_by_order", kernel.tensors[source].name)),
        format: format.clone(),
        dtype,
        fill,
        // The entries of an indicator are stored then.
        role: Role::Input,
        indicator: None,
        ..kernel.tensors[source].clone()
    };
    if let Some(known) = made_of(kernel, conversions, origin, &tensor) {
        return known;
    }
    let tensor = kernel.tensors.push(tensor);
    conversions.push(Conversion { tensor, source: origin });
    tensor
}

/// A tensor of the kernel that is another one in a format, which a note tells.
pub(super) fn stored_otherwise(
    kernel: &mut Kernel,
    source: TensorId,
    format: &Format,
    why: &str,
    conversions: &mut Vec<Conversion>,
    notes: &mut Vec<String>,
) -> TensorId {
    let tensor = converted(kernel, source, format, conversions);
    let source = &kernel.tensors[source];
    let note = format!("`{}` ({}) is converted to {format}: {why}", source.name, source.format);
    if !notes.contains(&note) {
        notes.push(note);
    }
    tensor
}

/// The statement reads an access from a tensor of the kernel in another format, which is given.
pub(super) fn read_converted(
    kernel: &mut Kernel,
    key: &AccessKey,
    format: &Format,
    why: &str,
    conversions: &mut Vec<Conversion>,
    notes: &mut Vec<String>,
) -> TensorId {
    let tensor = stored_otherwise(kernel, key.tensor, format, why, conversions, notes);
    read_from(kernel, key, tensor);
    tensor
}

/// The statement reads an access from another tensor.
pub(super) fn read_from(kernel: &mut Kernel, key: &AccessKey, tensor: TensorId) {
    let redirect = |access: &Access| (AccessKey::from(access) == *key).then_some(tensor);
    let stmt = std::mem::take(&mut kernel.stmt);
    kernel.stmt = given::map_exprs(stmt, &mut |expr| rename(expr, &redirect));
}

/// A name that no tensor has yet.
pub(crate) fn free_name(tensors: &Arena<Tensor>, base: &str) -> String {
    let taken = |name: &str| tensors.iter().any(|(_, tensor)| tensor.name == name);
    let mut name = base.to_string();
    while taken(&name) {
        name.push('_');
    }
    name
}

/// The expression with accesses redirected to the tensors that `to` gives.
pub(crate) fn rename(expr: Expr, to: &impl Fn(&Access) -> Option<TensorId>) -> Expr {
    match expr.kind {
        ExprKind::Access(mut access) => {
            access.tensor = to(&access).unwrap_or(access.tensor);
            Expr { kind: ExprKind::Access(access), ..expr }
        }
        _ => expr.map_children(&mut |child| rename(child, to)),
    }
}
