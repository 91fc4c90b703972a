//! Tensors meet a compiled statement: sizes are read from them and checked against each other.
//!
//! On entry: the tensors of the program, by handle. On exit: a size for every variable of the statement, such that every
//! tensor has the dimensions that the kernel will walk through; formats and types are those it was compiled for.

use lacunar_notation::{Program, Role, Tensor as Declared, TensorId};
use lacunar_runtime::Tensor;

use crate::compile::Step;
use crate::error::Error;

/// What a program's tensors are at run time.
#[derive(Debug)]
pub(crate) enum Slot<'a> {
    /// Nothing yet.
    Empty,
    /// The caller's.
    Borrowed(&'a Tensor),
    /// Computed, or handed over by the caller.
    Owned(Tensor),
}

impl Slot<'_> {
    pub fn get(&self) -> Option<&Tensor> {
        match self {
            Slot::Empty => None,
            Slot::Borrowed(tensor) => Some(tensor),
            Slot::Owned(tensor) => Some(tensor),
        }
    }
}

/// Checks that a tensor is what a kernel was compiled for.
pub(crate) fn check_tensor(declared: &Declared, tensor: &Tensor) -> Result<(), Error> {
    let name = &declared.name;
    if tensor.format() != &declared.format {
        return Err(Error::Argument(format!(
            "`{name}` is stored as {}, but the kernel was compiled for {}; convert it, or declare its format",
            describe(tensor.format()),
            describe(&declared.format)
        )));
    }
    if tensor.dtype() != declared.dtype {
        let (found, expected) = (tensor.dtype(), declared.dtype);
        return Err(Error::Argument(format!(
            "`{name}` has elements of type {found}, but the kernel expects {expected}"
        )));
    }
    Ok(())
}

fn describe(format: &lacunar_formats::Format) -> String {
    let bits = |width| if width == lacunar_formats::IndexWidth::W32 { 32 } else { 64 };
    format!("{format} ({}-bit positions, {}-bit coordinates)", bits(format.positions), bits(format.coordinates))
}

/// A dimension of a tensor of the program, and its size.
#[derive(Clone, Copy)]
struct Dimension {
    tensor: TensorId,
    number: usize,
    size: u64,
}

/// The size of every variable of a statement, by its index; 0 for those it does not use.
pub(crate) fn sizes(program: &Program, step: &Step, slots: &[Slot]) -> Result<Vec<u64>, Error> {
    let kernel = &step.plan.kernel;
    let mut seen: Vec<Option<Dimension>> = vec![None; kernel.vars.len()];
    let mut fault = None;
    kernel.stmt.visit_assigns(&mut |assign| {
        for access in assign.rhs.accesses() {
            if matches!(kernel.tensors[access.tensor].role, Role::Workspace(_)) {
                continue;
            }
            let tensor = source(step, access.tensor);
            let Some(found) = slots.get(tensor.index()).and_then(Slot::get) else { continue };
            for (number, (&var, &size)) in access.vars.iter().zip(found.dims()).enumerate() {
                let here = Dimension { tensor, number, size };
                let there = *seen[var.index()].get_or_insert(here);
                if there.size != size && fault.is_none() {
                    fault = Some((var, here, there));
                }
            }
        }
    });
    if let Some((var, here, there)) = fault {
        let place = |at: Dimension| format!("dimension {} of `{}`", at.number, program.tensors[at.tensor].name);
        return Err(Error::Argument(format!(
            "index variable `{}` has two sizes: {} is {}, but {} is {}",
            kernel.vars[var].name,
            place(here),
            here.size,
            place(there),
            there.size
        )));
    }
    let differs = kernel.vars.iter().zip(&seen).find_map(|((_, info), seen)| {
        let (declared, found) = (info.size?, (*seen)?);
        (declared != found.size).then_some((info, declared, found))
    });
    if let Some((info, declared, found)) = differs {
        return Err(Error::Argument(format!(
            "the kernel was compiled for `{}` of size {declared}, but dimension {} of `{}` is {}",
            info.name, found.number, program.tensors[found.tensor].name, found.size
        )));
    }
    let declared = kernel.vars.iter().map(|(_, info)| info.size);
    Ok(seen.iter().zip(declared).map(|(seen, declared)| seen.map(|at| at.size).or(declared).unwrap_or(0)).collect())
}

/// The tensor of the program that a tensor of the kernel is made of.
pub(crate) fn source(step: &Step, tensor: TensorId) -> TensorId {
    let made = step.plan.conversions.iter().find(|conversion| conversion.tensor == tensor);
    made.map_or(tensor, |conversion| conversion.source)
}
