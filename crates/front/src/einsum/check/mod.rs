//! Syntax tree to index notation: everything is resolved, sized, typed and given a format here, or refused.
//!
//! On exit the invariants of [`lacunar_notation::index`] hold. The steps, each of which needs the ones before it: `indices` (a
//! variable for each index), `names` (the meaning of each name, and the tensors that are inputs), `sizes` (one size for each
//! variable), `types` (conversions made explicit, fill values of the types of their tensors), `formats` (the storage of results),
//! `structures` (of elements), `gathers` (tensors whose values are indices), `actions` (between statements).
//!
//! ```text
//! y(i) = 2 * A(i,j) * x(j)    A: i32, x: f32
//! y(i) = f64(2 * A(i,j)) * f64(x(j))    y: f64 dense result
//! ```

mod actions;
mod formats;
mod gathers;
mod indices;
mod loops;
mod names;
mod sizes;
mod structures;
mod types;
mod values;

use std::collections::BTreeSet;

use lacunar_base::Diagnostic;
use lacunar_formats::{DType, Format};
use lacunar_notation::{Access, Assignment, Expr, IndexVar, Program, Role, Tensor, TensorId};

use super::ast;
use super::declarations::{Declarations, Language};
use super::error::Error;
use super::parser::{parse, parse_with};
use crate::concrete::Line;
use indices::Expanded;
pub(crate) use indices::{Relation, confined, tells};
pub(crate) use loops::Typing;
use names::Names;
pub(crate) use names::{Meaning, meaning};

/// Reads a program and checks it against its declarations.
///
/// # Errors
/// All mistakes that were found, in the order of the steps; spans are of `source`.
pub fn check(source: &str, declarations: &Declarations) -> Result<Program, Vec<Diagnostic>> {
    if declarations.language == Language::Rules {
        return crate::stur::check(source, declarations);
    }
    let (ast, errors) = parse_with(source, &declarations.operators, true);
    if errors.is_empty() { check_tree(ast, declarations) } else { Err(errors) }
}

/// Checks a program of statements that has been read.
///
/// # Errors
/// All mistakes that were found, in the order of the steps; spans are those of the tree.
pub(crate) fn check_tree(ast: ast::Ast, declarations: &Declarations) -> Result<Program, Vec<Diagnostic>> {
    let declarations = &Line::declare(&ast, declarations);
    let Expanded { ast, indicators, replaced } = indices::expand(ast, declarations, true).map_err(diagnostics)?;
    let mut names = names::resolve(&ast, indicators, declarations).map_err(diagnostics)?;
    names.arrange(ast.lines.iter().map(|line| line.name.as_str()));
    let declarations = &actions::shared(&ast, &names, declarations);
    let sizes = sizes::unify(&names, declarations).map_err(diagnostics)?;

    let operators = ast.operators.iter().map(|declared| declared.operator).collect();
    let mut program = Program { operators, ..Program::default() };
    for (tensor, (name, entry)) in names.tensors.iter().enumerate() {
        let dims = (0..entry.order).map(|dimension| sizes.of_dimension(tensor, dimension)).collect();
        if let Some(made) = names.indicators.get(name) {
            program.tensors.push(made.indicator(entry.order, &names).tensor(name.clone(), dims, entry.span));
            continue;
        }
        program.tensors.push(Tensor {
            name: name.clone(),
            // The formats of results are known at the end, the types of results after their statements.
            format: Format::dense(entry.order),
            dtype: types::of_entry(declarations, name, entry),
            fill: None,
            dims,
            role: entry.role,
            nnz: declarations.nnz.get(name).copied(),
            heaviest: declarations.heaviest.get(name).copied(),
            steady: declarations.steady.get(name).copied(),
            scattered: declarations.scattered.get(name).copied(),
            view: None,
            indicator: None,
            structure: None,
            is_unique: false,
            span: entry.span,
        });
    }
    for (var, (name, &span)) in names.vars.iter().enumerate() {
        program.vars.push(IndexVar { name: name.clone(), size: sizes.of_var(var), span });
    }
    let size = |name: &str| names.vars.get_index_of(name).and_then(|var| sizes.of_var(var));
    let mut errors: Vec<Error> = replaced.iter().filter_map(|replaced| replaced.check(&size).err()).collect();
    assign(&mut program, &ast, &names, declarations, &mut errors);
    types::fill(&mut program, declarations, &mut errors);
    formats::choose(&mut program, &names, declarations, &mut errors);
    structures::declare(&mut program, declarations, &mut errors);
    gathers::check(&mut program, &mut errors);
    program.body = actions::checked(&program, &ast.body, &mut errors);
    if errors.is_empty() {
        loops::resolve(&mut program, &ast, &mut errors);
    }
    if errors.is_empty() { Ok(program) } else { Err(diagnostics(errors)) }
}

/// The tensors of a program, in the order in which they occur first, each with its role. The tensors in `given` have values;
/// without that list, any tensor may. Sizes, types and formats are not checked.
///
/// # Errors
/// All mistakes in what names mean, or those that keep the program from being read.
///
/// ```
/// use lacunar_front::einsum::tensors;
/// use lacunar_notation::Role;
/// let found = tensors("y(i) = A(i,j) * x(j)", None).unwrap();
/// assert_eq!(found[0], ("y".to_string(), Role::Result));
/// assert_eq!(found[2], ("x".to_string(), Role::Input));
/// assert!(tensors("y(i) = A(i,j) * x(j)", Some(&["A"])).is_err());
/// ```
pub fn tensors(source: &str, given: Option<&[&str]>) -> Result<Vec<(String, Role)>, Vec<Diagnostic>> {
    let (ast, errors) = parse(source);
    if !errors.is_empty() {
        return Err(errors);
    }
    let inputs = given.map(|given| given.iter().map(|name| (*name).to_string()).collect());
    let declarations = Declarations { inputs, ..Declarations::new() };
    let Expanded { ast, indicators, .. } = indices::expand(ast, &declarations, false).map_err(diagnostics)?;
    let names = names::resolve(&ast, indicators, &declarations).map_err(diagnostics)?;
    let tensors = names.tensors.into_iter().filter(|(_, entry)| !entry.role.is_computed());
    Ok(tensors.map(|(name, entry)| (name, entry.role)).collect())
}

/// The results of a program whose values are read before any is assigned, in the order in which they occur first: a caller gives
/// them.
///
/// # Errors
/// All mistakes in what names mean, or those that keep the program from being read.
///
/// ```
/// use lacunar_front::einsum::carried;
/// assert_eq!(carried("y(i) = A(i,j) * x(j); z(i) = z(i) + y(i)").unwrap(), ["z"]);
/// ```
pub fn carried(source: &str) -> Result<Vec<String>, Vec<Diagnostic>> {
    let (ast, errors) = parse(source);
    if !errors.is_empty() {
        return Err(errors);
    }
    let Expanded { ast, indicators, .. } = indices::expand(ast, &Declarations::new(), false).map_err(diagnostics)?;
    let names = names::resolve(&ast, indicators, &Declarations::new()).map_err(diagnostics)?;
    let carried = names.tensors.into_iter().filter(|(_, entry)| entry.role == Role::Result && entry.is_given);
    Ok(carried.map(|(name, _)| name).collect())
}

/// The tensors of a program whose values are indices of others, as far as its text tells without types and sizes.
///
/// ```
/// use lacunar_front::{Declarations, einsum::index_tensors};
/// let found = index_tensors("y(i) += x(p(i))", &Declarations::new());
/// assert!(found.contains("p") && !found.contains("x"));
/// ```
pub fn index_tensors(source: &str, declarations: &Declarations) -> BTreeSet<String> {
    let (ast, _) = parse_with(source, &declarations.operators, false);
    let Ok(Expanded { ast, indicators, .. }) = indices::expand(ast, declarations, false) else {
        return BTreeSet::new();
    };
    let Ok(names) = names::resolve(&ast, indicators, declarations) else { return BTreeSet::new() };
    names.tensors.into_iter().filter(|(_, entry)| entry.is_index).map(|(name, _)| name).collect()
}

/// Checks an expression of which all tensors and variables are those of a checked program.
pub(crate) fn expression(program: &Program, expr: &ast::Expr) -> Result<Expr, Vec<Error>> {
    let tensors = program.tensors.iter();
    let declarations = tensors.fold(Declarations::new(), |known, (_, tensor)| known.dtype(&tensor.name, tensor.dtype));
    let names = names::resolve_expression(Names::of(program), &declarations, expr)?;
    let mut errors = Vec::new();
    let typed = types::Typer::new(&names, &declarations, &mut errors).expression(expr);
    typed.ok_or(errors)
}

/// The bodies of an operator whose operands are the tensors of `program`, in one type: that of all of them that are not constants, or
/// else one that constants have beside an operand.
pub(super) fn bodies(program: &Program, exprs: &[&ast::Expr], operand: DType) -> Result<Vec<Expr>, Vec<Error>> {
    let tensors = program.tensors.iter();
    let declarations = tensors.fold(Declarations::new(), |known, (_, tensor)| known.dtype(&tensor.name, tensor.dtype));
    let mut names = Names::of(program);
    for expr in exprs {
        names = names::resolve_expression(names, &declarations, expr)?;
    }
    let mut errors = Vec::new();
    let typed = types::Typer::new(&names, &declarations, &mut errors).bodies(exprs, operand);
    typed.ok_or(errors)
}

/// Adds the typed statements.
fn assign(program: &mut Program, ast: &ast::Ast, names: &Names, declarations: &Declarations, errors: &mut Vec<Error>) {
    let mut typer = types::Typer::new(names, declarations, errors);
    for statement in &ast.statements {
        let target = names.tensor(&statement.name.text);
        let Some((op, rhs)) = typer.value(statement, target) else { continue };
        if let Some(dtype) = typer.dtype(target) {
            program.tensors[target].dtype = dtype;
            // Tensors that take the tensor's value have its type, if nothing else tells one.
            for other in exchanged(names, target) {
                let Some((name, entry)) = names.tensors.get_index(other.index()) else { continue };
                let is_assigned = ast.statements.iter().any(|statement| statement.name.text == *name);
                let tells_itself = declarations.dtypes.contains_key(name) || (entry.is_open() && is_assigned);
                if !tells_itself {
                    typer.decide(other, dtype);
                    program.tensors[other].dtype = dtype;
                }
            }
        }
        let vars = names.indices(&statement.indices);
        let lhs = Access { tensor: target, vars, span: statement.lhs_span };
        program.statements.push(Assignment { lhs, op, rhs, span: statement.span });
    }
    sizes::require(program, declarations, errors);
}

/// The tensors that a tensor is swapped with, or that become snapshots of it, and so on.
fn exchanged(names: &Names, tensor: TensorId) -> Vec<TensorId> {
    let pairs = || names.swaps.iter().chain(&names.snapshots);
    let mut found = vec![tensor];
    let mut next = 0;
    while let Some(&from) = found.get(next) {
        for (a, b, _) in pairs() {
            let other = if *b == from.index() { *a } else { *b };
            let other = TensorId::from_index(other);
            if (*a == from.index() || *b == from.index()) && !found.contains(&other) {
                found.push(other);
            }
        }
        next += 1;
    }
    found.split_off(1)
}

fn diagnostics(errors: Vec<Error>) -> Vec<Diagnostic> {
    errors.into_iter().map(Error::into_diagnostic).collect()
}
