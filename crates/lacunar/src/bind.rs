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

/// The size of every variable of a statement, by its index; 0 for those it does not use.
pub(crate) fn sizes(program: &Program, step: &Step, slots: &[Slot]) -> Result<Vec<u64>, Error> {
    let kernel = &step.plan.kernel;
    let mut sizes: Vec<Option<(u64, String)>> = vec![None; kernel.vars.len()];
    let mut fault = None;
    let mut see = |tensor: TensorId, vars: &[lacunar_notation::VarId]| {
        let source = source(step, tensor);
        let Some(found) = slots.get(source.index()).and_then(Slot::get) else { return };
        let name = &program.tensors[source].name;
        for (dimension, (&var, &size)) in vars.iter().zip(found.dims()).enumerate() {
            let here = format!("dimension {dimension} of `{name}`");
            match &sizes[var.index()] {
                Some((known, there)) if *known != size && fault.is_none() => {
                    let var = &kernel.vars[var].name;
                    fault =
                        Some(format!("index variable `{var}` has two sizes: {here} is {size}, but {there} is {known}"));
                }
                Some(_) => {}
                None => sizes[var.index()] = Some((size, here)),
            }
        }
    };
    kernel.stmt.visit_assigns(&mut |assign| {
        let accesses = assign.rhs.accesses();
        for access in accesses {
            if !matches!(kernel.tensors[access.tensor].role, Role::Workspace(_)) {
                see(access.tensor, &access.vars);
            }
        }
    });
    if let Some(fault) = fault {
        return Err(Error::Argument(fault));
    }
    let from = |(var, size): (usize, Option<(u64, String)>)| {
        let declared = kernel.vars.iter().nth(var).and_then(|(_, info)| info.size);
        size.map(|(size, _)| size).or(declared).unwrap_or(0)
    };
    Ok(sizes.into_iter().enumerate().map(from).collect())
}

/// The tensor of the program that a tensor of the kernel is made of.
pub(crate) fn source(step: &Step, tensor: TensorId) -> TensorId {
    let made = step.plan.conversions.iter().find(|conversion| conversion.tensor == tensor);
    made.map_or(tensor, |conversion| conversion.source)
}
