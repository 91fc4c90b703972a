//! The functions to which [`einsum!`](crate::einsum!) expands.
//!
//! Names are checked when a program is compiled. It does not compile where a tensor is missing, unknown or given twice:
//!
//! ```
//! # let x = [1.0, 2.0];
//! let s = lacunar::einsum!("s = x(i) * x(i)", x = &x -> f64)?;
//! # Ok::<(), lacunar::Error>(())
//! ```
//! ```compile_fail
//! let s = lacunar::einsum!("s = x(i) * x(i)" -> f64);
//! ```
//! ```compile_fail
//! # let x = [1.0, 2.0];
//! let s = lacunar::einsum!("s = x(i) * x(i)", x = &x, y = &x -> f64);
//! ```
//! ```compile_fail
//! # let x = [1.0, 2.0];
//! let s = lacunar::einsum!("s = x(i) * x(i)", x = &x, x = &x -> f64);
//! ```

use lacunar_formats::Format;
use lacunar_runtime::Tensor as DynTensor;

use crate::cache;
use crate::error::Error;
use crate::operand::{Destination, FromResult, Operand, views};

/// A program and its tensors.
pub struct Call<'a> {
    /// Its text.
    pub source: &'a str,
    /// The schedule of its loops.
    pub schedule: &'a str,
    /// Operands by name.
    pub given: &'a [(&'a str, &'a dyn Operand)],
    /// Formats of results by name.
    pub formats: &'a [(&'a str, Format)],
}

/// A result that is put into a tensor.
pub struct Target<'a> {
    /// Its name.
    pub name: &'a str,
    /// True if the program adds to the values that are there.
    pub adds: bool,
    /// The tensor.
    pub tensor: &'a mut dyn Destination,
}

/// Evaluates a program on operands given by name. Gives the result of the last statement, unless that is put into a tensor.
///
/// # Errors
/// Mistakes in the program with their places, operands that do not fit, memory that is refused.
pub fn evaluate<'a>(call: &Call<'_>, into: &'a mut [Target<'a>]) -> Result<Option<DynTensor>, Error> {
    let views = views(call.given)?;
    let given: Vec<(&str, &DynTensor)> = views.iter().map(|(name, view)| (*name, &**view)).collect();
    let mut formats = call.formats.to_vec();
    let kernel = {
        let mut known = given.clone();
        for Target { name, adds, tensor } in &*into {
            match adds {
                true => known.push((name, tensor.tensor())),
                false => formats.push((name, tensor.tensor().format().clone())),
            }
        }
        let kernel = |sizes: &[(&str, Vec<u64>)]| cache::kernel(call.source, &known, &formats, sizes, call.schedule);
        match kernel(&[]) {
            // A result is replaced by one of other sizes, so that its own count only where no operand tells them.
            Err(error) if lacks_size(&error) => {
                let put = into.iter().filter(|target| !target.adds);
                let sizes: Vec<_> = put.map(|target| (target.name, target.tensor.tensor().dims().to_vec())).collect();
                if sizes.is_empty() { Err(error) } else { kernel(&sizes) }
            }
            other => other,
        }?
    };
    let into: Vec<(&str, &mut dyn Destination)> =
        into.iter_mut().map(|target| (target.name, &mut *target.tensor)).collect();
    let run = kernel.run_into(&given, into)?;
    let last = kernel.program().statements.last().map(|statement| statement.lhs.tensor);
    let name = last.map(|tensor| kernel.program().tensors[tensor].name.as_str()).unwrap_or_default();
    Ok(run.results.into_iter().find(|(result, _)| *result == name).map(|(_, tensor)| tensor))
}

/// True if a program lacks nothing but the size of an index variable.
fn lacks_size(error: &Error) -> bool {
    matches!(error, Error::Program { diagnostics, .. } if diagnostics.iter().all(|found| found.code == "E0302"))
}

/// The result of [`evaluate`], where it is not put into a tensor.
///
/// # Errors
/// The errors of `evaluate`; the result cannot become an `R`.
pub fn result<'a, R: FromResult>(call: &Call<'_>, into: &'a mut [Target<'a>]) -> Result<R, Error> {
    let result = evaluate(call, into)?.ok_or_else(|| Error::Argument("the program has no statement".to_string()))?;
    R::from_result(result)
}
