//! Step 4: the structures that are declared of tensors, which are resolved for their orders.
//!
//! On entry: tensors with types, fill values and formats. On exit: each with its structure, whose parameters are the sizes of its
//! dimensions alone; names besides have got the numbers that are declared as sizes. A packed format declares its structure.

use lacunar_formats::{DType, Kind};
use lacunar_notation::{Program, Role, Structure, Tensor};
use lacunar_sets::{Coefficient, Piece, Set, Space};

use super::super::declarations::Declarations;
use super::super::error::{Error, StructureMistake};
use crate::structure::StructureSpec;

/// Gives every tensor its structure.
pub(super) fn declare(program: &mut Program, declarations: &Declarations, errors: &mut Vec<Error>) {
    for (name, spec) in &declarations.structures {
        let found = program.tensors.iter().find(|(_, tensor)| tensor.name == *name).map(|(id, _)| id);
        let Some(id) = found.filter(|id| matches!(program.tensors[*id].role, Role::Input | Role::Result)) else {
            continue;
        };
        match resolved(&program.tensors[id], spec, declarations) {
            Ok(structure) => {
                let tensor = &mut program.tensors[id];
                tensor.is_unique = declarations.unique.contains(name) && tensor.role == Role::Input;
                tensor.structure = Some(Box::new(structure));
            }
            Err(error) => errors.push(error.into()),
        }
    }
    let packed: Vec<_> =
        program.tensors.iter().filter(|(_, tensor)| tensor.format.packing().is_some()).map(|(id, _)| id).collect();
    for id in packed {
        let tensor = &program.tensors[id];
        let Some(packing) = tensor.format.packing() else { continue };
        let declared = tensor.structure.as_deref();
        if declared.is_some_and(|declared| !declared.equals(packing.structure()).is_yes()) {
            let (span, tensor) = (tensor.span, tensor.name.clone());
            errors.push(StructureMistake::Packed { span, tensor, packed: packing.to_string() }.into());
            continue;
        }
        match fitting(tensor, packing.structure().clone()) {
            Ok(structure) => {
                let tensor = &mut program.tensors[id];
                // The format says how it is stored, and a tensor in it is the whole one.
                tensor.is_unique = false;
                tensor.structure = Some(Box::new(structure));
            }
            Err(error) => errors.push(error.into()),
        }
    }
}

/// The structure of a tensor.
fn resolved(tensor: &Tensor, spec: &StructureSpec, declarations: &Declarations) -> Result<Structure, StructureMistake> {
    let (name, span) = (tensor.name.clone(), tensor.span);
    let structure = spec.resolve_at(tensor.order(), span)?;
    let mut numbers = Vec::new();
    for parameter in structure.space().params.iter().skip(tensor.order()) {
        match number(parameter, declarations) {
            Some(number) => numbers.push(number),
            None => return Err(StructureMistake::Parameter { span, tensor: name, name: parameter.clone() }),
        }
    }
    let said = spec.with_numbers(&numbers);
    let structure = structure.with_parameters(&numbers).ok_or(StructureMistake::TooHard { span })?;
    fitting(tensor, structure.declared(&said, &tensor.name))
}

/// A structure, if it fits the elements and the sizes of a tensor.
fn fitting(tensor: &Tensor, structure: Structure) -> Result<Structure, StructureMistake> {
    let (name, span) = (tensor.name.clone(), tensor.span);
    if !tensor.fill().is_zero() {
        let what = format!("elements that are not stored are {}, but structures leave out zeros", tensor.fill());
        return Err(StructureMistake::Elements { span, tensor: name, what });
    }
    if let Some(what) = structure.coefficients().into_iter().find_map(|coefficient| unfit(coefficient, tensor.dtype)) {
        return Err(StructureMistake::Elements { span, tensor: name, what });
    }
    if let Some(dims) = tensor.dims.iter().copied().collect::<Option<Vec<u64>>>()
        && !fits(structure.context(), &dims)
    {
        let space = Space::new(structure.space().params.clone(), Vec::<String>::new());
        let text = Set::of_piece(space, structure.context().clone()).to_string();
        let condition = text.split_once(" : ").map(|(_, condition)| condition.trim_end_matches([' ', '}']));
        let context = condition.unwrap_or(&text).to_string();
        return Err(StructureMistake::Sizes { span, tensor: name, dims, context });
    }
    Ok(structure)
}

/// The number that is declared for a parameter, as a size is.
fn number(parameter: &str, declarations: &Declarations) -> Option<i64> {
    let listed = || declarations.dims.get(parameter).filter(|sizes| sizes.len() == 1)?.first().copied();
    i64::try_from(declarations.sizes.get(parameter).copied().or_else(listed)?).ok()
}

/// The reason why elements of a type can't be multiplied by a coefficient.
fn unfit(coefficient: Coefficient, dtype: DType) -> Option<String> {
    if coefficient.is_one() {
        return None;
    }
    let is_signed = !matches!(dtype.kind(), Kind::Bool | Kind::Unsigned);
    let is_whole = coefficient.denominator() == 1;
    let fits = if coefficient.number() == 1.0 { true } else { is_signed && (is_whole || !dtype.is_integer()) };
    (!fits).then(|| format!("elements of {dtype} are not {coefficient} times others"))
}

/// True if sizes meet a condition, as far as that can be told.
fn fits(context: &Piece, dims: &[u64]) -> bool {
    let params: Option<Vec<i64>> = dims.iter().map(|size| i64::try_from(*size).ok()).collect();
    params.and_then(|params| context.contains(&params, &[])).unwrap_or(true)
}
