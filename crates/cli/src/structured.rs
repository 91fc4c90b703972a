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
    let is_plain = declarations.structures.is_empty() && program.language == Language::Statements;
    if is_plain && request.unique.is_empty() {
        return Ok(());
    }
    let checked = check(&program.text, declarations).map_err(|mistakes| program.mistakes(mistakes))?;
    let without = request.unique.iter().find(|name| structure_of(&checked, name).is_none());
    if let Some(name) = without {
        return Err(without_structure(name));
    }
    for input in inputs.iter_mut() {
        let Some(structure) = structure_of(&checked, &input.name) else { continue };
        let given = request.givens.get(&input.name);
        let made = given.filter(|given| matches!(given.origin, Origin::Generated(_)));
        if made.is_none() && request.unique.contains(&input.name) {
            complete(input, &structure, declarations)?;
            declare(declarations, input);
            continue;
        }
        if input.tensor.format().packing().is_some() {
            // Compared, or made so, when it was stored.
            continue;
        }
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

/// Completes an input that has the unique elements of a structure and no others, and stores it in its declared format.
fn complete(input: &mut Input, structure: &Structure, declarations: &Declarations) -> Result<(), Failure> {
    let params = sizes(&input.tensor);
    let unique = Structure::of_support(structure.unique(), structure.context());
    let unique =
        unique.map_err(|_| Failure::Library(lacunar::Error::structure(&input.name, StructureError::TooHard)))?;
    if let Err(error) = input.tensor.check_structure(&unique, &params) {
        return Err(match error {
            StructureError::Element(found) => not_unique(&input.name, &input.origin, &found.to_string()),
            error => Failure::Library(lacunar::Error::structure(&input.name, error)),
        });
    }
    input.tensor = of_library(&input.name, input.tensor.with_structure(structure, &params))?;
    let declared = declarations.formats.get(&input.name).filter(|spec| spec.uses().is_none());
    if let Some(format) = declared.and_then(|spec| spec.resolve(input.tensor.order()).ok())
        && format != *input.tensor.format()
    {
        input.tensor = input.tensor.convert(&format)?;
    }
    Ok(())
}

fn without_structure(name: &str) -> Failure {
    let message = format!("`{name}` has no structure, of which elements would be unique");
    let hint = format!("declare it beside `--unique {name}`, for example `-p {name}:symmetric`");
    Failure::plain(Diagnostic::error("E1023", message).hint(hint))
}

fn not_unique(name: &str, origin: &str, found: &str) -> Failure {
    let message = format!("{origin} has more than the unique elements of `{name}`: {found}");
    let hint = format!(
        "leave `--unique {name}` away if it has all elements; of a symmetric matrix, those with i <= j are unique (exchange rows and \
         columns of the other half)"
    );
    Failure::plain(Diagnostic::error("E1308", message).category(Category::File).hint(hint))
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
            let hint = format!(
                "give a file that has the structure (`lacunar info` names those that it has), or leave `-p` or the packed format away; \
                 `--unique {name}` says that unique elements alone are given, and the header of a Matrix Market file of one half says \
                 `symmetric`"
            );
            Failure::plain(Diagnostic::error("E1308", message).category(Category::File).hint(hint))
        }
        error => Failure::Library(lacunar::Error::structure(name, error)),
    }
}
