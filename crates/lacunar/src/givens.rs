//! Structured tensors that are given to a program: whole, or by their unique elements.
//!
//! On entry: the tensors of a run, as the caller stores them. On exit: each has the structure that is declared of it (unless the caller
//! vouches for that), and is whole if some statement reads it so:
//!
//! ```text
//! A:symmetric                       given whole     compared with its structure
//! A:symmetric, unique elements      y = A * x       given by i <= j, and read so
//!                                   B = A * A       given by i <= j, completed
//! ```
//!
//! Sizes are always compared: kernels write to places that follow from them.

use lacunar_notation::{Program, Role, Structure, Tensor as Declared, TensorId};
use lacunar_runtime::{StructureError, Structured, Tensor};

use crate::bind::Slot;
use crate::error::Error;

/// The form in which structured tensors are given to a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Givens {
    /// True if the caller vouches for structures.
    pub hold: bool,
    /// The tensors that are given by unique elements, and read whole.
    pub completed: Vec<TensorId>,
}

impl Givens {
    /// Compares the given tensors with their structures, and completes those that are read whole.
    ///
    /// # Errors
    /// An element contradicts its structure, or a size does; memory is refused.
    pub fn prepare(&self, program: &Program, slots: &mut [Slot<'_>]) -> Result<(), Error> {
        for (id, declared) in program.tensors.iter().filter(|(_, declared)| declared.role == Role::Input) {
            let Some(structure) = declared.structure.as_deref() else { continue };
            let Some(tensor) = slots.get(id.index()).and_then(Slot::get) else { continue };
            let is_completed = self.completed.contains(&id);
            check(declared, structure, tensor, (is_completed || declared.is_unique, self.hold))?;
            if is_completed {
                let whole = tensor.with_structure(structure, &sizes(tensor));
                let whole = whole.map_err(|error| contradicted(declared, error))?;
                if let Some(slot) = slots.get_mut(id.index()) {
                    *slot = Slot::Owned(whole);
                }
            }
        }
        Ok(())
    }
}

/// A tensor that a program has read, as its statements read it.
///
/// # Errors
/// As [`Givens::prepare`].
pub(crate) fn as_given(declared: &Declared, tensor: Tensor) -> Result<Tensor, Error> {
    let Some(structure) = declared.structure.as_deref() else { return Ok(tensor) };
    check(declared, structure, &tensor, (false, false))?;
    if !declared.is_unique {
        return Ok(tensor);
    }
    tensor.keep_unique(structure, &sizes(&tensor)).map_err(|error| contradicted(declared, error))
}

/// Compares a tensor, or its unique elements, with a structure; its sizes only, if somebody vouches for the elements.
fn check(
    declared: &Declared,
    structure: &Structure,
    tensor: &Tensor,
    (is_unique, holds): (bool, bool),
) -> Result<(), Error> {
    let params = sizes(tensor);
    let too_hard = || contradicted(declared, StructureError::TooHard);
    let fits = params.len() == structure.order() && structure.context().contains(&params, &[]).ok_or_else(too_hard)?;
    if holds && fits {
        return Ok(());
    }
    // A format by which a tensor has the structure was compared when the tensor was made.
    let is_known = tensor.format().packing().is_some_and(|packing| packing.structure() == structure);
    if is_known && fits {
        return Ok(());
    }
    let stored = match is_unique {
        true => Structure::of_support(structure.unique(), structure.context()).map_err(|_| too_hard())?,
        false => structure.clone(),
    };
    tensor.check_structure(&stored, &params).map_err(|error| contradicted(declared, error))
}

/// The values of the parameters of a tensor's structure.
fn sizes(tensor: &Tensor) -> Vec<i64> {
    tensor.dims().iter().map(|size| i64::try_from(*size).unwrap_or(i64::MAX)).collect()
}

fn contradicted(declared: &Declared, error: StructureError) -> Error {
    Error::structure(&declared.name, error)
}
