//! What [`einsum!`](crate::einsum!) expands to.

use lacunar_formats::Format;
use lacunar_runtime::Tensor as DynTensor;

use crate::cache;
use crate::error::Error;

/// A tensor of any kind as the argument of an expression.
pub fn declare(tensor: &impl AsRef<DynTensor>) -> &DynTensor {
    tensor.as_ref()
}

/// Evaluates a program, with its loops as the schedule says, on tensors given by name; `formats` are those of results. Gives the result of the last statement.
///
/// # Errors
/// Mistakes in the program with their places, tensors that do not fit, memory that is refused.
pub fn einsum(
    source: &str,
    schedule: &str,
    given: &[(&str, &DynTensor)],
    formats: &[(&str, Format)],
) -> Result<DynTensor, Error> {
    let kernel = cache::kernel(source, given, formats, schedule)?;
    let last = kernel.program().statements.last().map(|statement| statement.lhs.tensor);
    let name = last.map(|tensor| kernel.program().tensors[tensor].name.clone()).unwrap_or_default();
    let run = kernel.run_named(given)?;
    let found = run.results.into_iter().find(|(result, _)| *result == name).map(|(_, tensor)| tensor);
    found.ok_or_else(|| Error::Argument("the program has no statement".to_string()))
}
