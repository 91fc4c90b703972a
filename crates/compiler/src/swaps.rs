//! Swapped tensors have one fill value: kernels are compiled for it.
//!
//! A tensor keeps its fill value when it is swapped, but the kernels that read it under its new name take that of the other one for its
//! elements that are not stored:
//!
//! ```text
//! x(i) *= w(i); y(i) = z(i); swap x, y      x sparse: it begins with 1, which is its fill value; that of y is 0: E0610
//! ```
//!
//! On entry: a program whose fill values are all known ([`infer_fills`](crate::algebra::infer_fills)). On exit: tensors that are swapped
//! have one fill value, or are dense, without elements that are not stored.

use lacunar_base::Diagnostic;
use lacunar_notation::{Action, Program};

/// Compares the fill values of tensors that are swapped.
///
/// # Errors
/// E0610 for the first two that have different ones.
pub fn check(program: &Program) -> Result<(), Diagnostic> {
    let mut differ = None;
    Action::visit(&program.body, &mut |action| {
        if let Action::Swap(a, b) = action {
            let (a, b) = (&program.tensors[*a], &program.tensors[*b]);
            if !a.format.is_dense() && a.fill() != b.fill() {
                differ.get_or_insert((a, b));
            }
        }
    });
    let Some((a, b)) = differ else { return Ok(()) };
    Err(Diagnostic::error("E0610", format!("`{}` and `{}` cannot be swapped", a.name, b.name))
        .label(a.span, format!("elements that are not stored are {} here, and {} in `{}`", a.fill(), b.fill(), b.name))
        .hint(format!("declare one fill value for both, as in `--fill {}:{}`", a.name, b.fill())))
}
