//! Inputs with a declared structure: files are compared with it, made-up values get it, and elements that follow from others are
//! dropped if the program reads each element once.
//!
//! On entry: inputs as they were read or made up. On exit: those of structured tensors have their structures ([`apply`]); once all formats are
//! known, the declarations tell of which the unique elements alone are left ([`keep_unique`]).

use lacunar::inside::compiler::structure::settle;
use lacunar::inside::notation::{self, Structure};
use lacunar::{Category, Diagnostic, DynTensor, StructureError, Structured};
use lacunar_front::{Declarations, Language, check};

use crate::failure::Failure;
use crate::inputs::{Input, tensor_of};
use crate::prepare::declare;
use crate::program::Program;
use crate::request::{Origin, Request};

/// Gives inputs their structures.
///
/// # Errors
/// An element of a file contradicts; the structure does not fit the tensor; memory is refused.
pub fn apply(
    program: &Program,
    request: &Request,
    declarations: &mut Declarations,
    inputs: &mut [Input],
) -> Result<(), Failure> {
    if declarations.structures.is_empty() && program.language == Language::Statements {
        return Ok(());
    }
    let checked = check(&program.text, declarations).map_err(|mistakes| program.mistakes(mistakes))?;
    for input in inputs.iter_mut() {
        let Some(structure) = structure_of(&checked, &input.name) else { continue };
        if input.tensor.format().packing().is_some() {
            // Compared, or made so, when it was stored.
            continue;
        }
        let given = request.givens.get(&input.name);
        let made = given.filter(|given| matches!(given.origin, Origin::Generated(_)));
        let params = sizes(&input.tensor);
        match made {
            Some(_) => input.tensor = of_library(&input.name, input.tensor.with_structure(&structure, &params))?,
            None => {
                let checked = input.tensor.check_structure(&structure, &params);
                checked.map_err(|error| contradicted(&input.name, &input.origin, error))?;
            }
        }
        declare(declarations, input);
    }
    Ok(())
}

/// Drops the elements that follow from others, of the inputs that the program reads once.
///
/// # Errors
/// Memory is refused.
pub fn keep_unique(program: &Program, declarations: &mut Declarations, inputs: &mut [Input]) -> Result<(), Failure> {
    if declarations.structures.is_empty() && program.language == Language::Statements {
        return Ok(());
    }
    let checked = check(&program.text, declarations).map_err(|mistakes| program.mistakes(mistakes))?;
    let structured = inputs.iter().filter(|input| structure_of(&checked, &input.name).is_some());
    declarations.unique = structured.map(|input| input.name.clone()).collect();
    let mut checked = check(&program.text, declarations).map_err(|mistakes| program.mistakes(mistakes))?;
    let whole = settle(&mut checked);
    let has_followers = |tensor: &notation::Tensor| {
        tensor.structure.as_deref().is_some_and(|structure| !structure.is_without_redundancy())
    };
    for (id, note) in whole.into_iter().filter(|(id, _)| has_followers(&checked.tensors[*id])) {
        let name = &checked.tensors[id].name;
        inputs.iter_mut().filter(|input| input.name == *name).for_each(|input| input.whole = Some(note.clone()));
    }
    declarations
        .unique
        .retain(|name| tensor_of(&checked, name).is_some_and(|tensor| tensor.is_unique && has_followers(tensor)));
    for input in inputs.iter_mut() {
        let is_unique = declarations.unique.contains(&input.name);
        let Some(structure) = structure_of(&checked, &input.name).filter(|_| is_unique) else { continue };
        let unique = input.tensor.keep_unique(&structure, &sizes(&input.tensor));
        input.tensor = of_library(&input.name, unique)?;
        input.unique_of = Some(structure);
        declare(declarations, input);
    }
    Ok(())
}

impl Input {
    /// The tensor with all that follows from its elements, if these are the unique ones alone.
    ///
    /// # Errors
    /// Memory is refused.
    pub fn completed(&self) -> Result<Option<DynTensor>, Failure> {
        let Some(structure) = &self.unique_of else { return Ok(None) };
        of_library(&self.name, self.tensor.with_structure(structure, &sizes(&self.tensor))).map(Some)
    }
}

fn structure_of(checked: &notation::Program, name: &str) -> Option<Structure> {
    tensor_of(checked, name)?.structure.as_deref().cloned()
}

/// The values of the parameters of a tensor's structure.
fn sizes(tensor: &DynTensor) -> Vec<i64> {
    tensor.dims().iter().map(|size| i64::try_from(*size).unwrap_or(i64::MAX)).collect()
}

fn of_library(name: &str, found: Result<DynTensor, StructureError>) -> Result<DynTensor, Failure> {
    found.map_err(|error| Failure::Library(lacunar::Error::structure(name, error)))
}

/// The mistake of an input, which comes from somewhere, whose elements contradict its structure.
pub fn contradicted(name: &str, origin: &str, error: StructureError) -> Failure {
    match error {
        StructureError::Element(found) => {
            let message = format!("{origin} does not have the structure that is declared of `{name}`: {found}");
            let hint = "leave `-p` or the packed format away, or give a file that has the structure; `lacunar info` names those that it has";
            Failure::plain(Diagnostic::error("E1308", message).category(Category::File).hint(hint))
        }
        error => Failure::Library(lacunar::Error::structure(name, error)),
    }
}
