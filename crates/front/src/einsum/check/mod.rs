//! Syntax tree to index notation: everything is resolved, sized, typed and given a format here, or refused.
//!
//! On exit the invariants of [`lacunar_notation::index`] hold. The steps, each of which needs the ones before it:
//! `names` (what each name means, and which tensors are inputs), `sizes` (one size for each variable), `types`
//! (conversions made explicit, fill values of the types of their tensors), `formats` (how results are stored).
//!
//! ```text
//! y(i) = 2 * A(i,j) * x(j)    A: i32, x: f32
//! y(i) = f64(2 * A(i,j)) * f64(x(j))    y: f64 dense result
//! ```

mod formats;
mod names;
mod sizes;
mod types;

use lacunar_base::Diagnostic;
use lacunar_formats::Format;
use lacunar_notation::{Access, Assignment, Expr, IndexVar, Program, Role, Tensor};

use super::ast;
use super::declarations::Declarations;
use super::error::Error;
use super::parser::parse;
use names::Names;
pub(crate) use names::{Meaning, meaning};

/// Reads a program and checks it against its declarations.
///
/// # Errors
/// All mistakes that were found, in the order of the steps; spans are of `source`.
pub fn check(source: &str, declarations: &Declarations) -> Result<Program, Vec<Diagnostic>> {
    let (ast, errors) = parse(source);
    if !errors.is_empty() {
        return Err(errors);
    }
    let names = names::resolve(&ast, declarations).map_err(diagnostics)?;
    let sizes = sizes::unify(&names, declarations).map_err(diagnostics)?;

    let mut program = Program::default();
    for (tensor, (name, entry)) in names.tensors.iter().enumerate() {
        program.tensors.push(Tensor {
            name: name.clone(),
            // The formats of results are known at the end, the types of results after their statements.
            format: Format::dense(entry.order),
            dtype: types::declared(declarations, name),
            fill: None,
            dims: (0..entry.order).map(|dimension| sizes.of_dimension(tensor, dimension)).collect(),
            role: entry.role,
            nnz: declarations.nnz.get(name).copied(),
            heaviest: declarations.heaviest.get(name).copied(),
            view: None,
            span: entry.span,
        });
    }
    for (var, (name, &span)) in names.vars.iter().enumerate() {
        program.vars.push(IndexVar { name: name.clone(), size: sizes.of_var(var), span });
    }
    let mut errors = Vec::new();
    assign(&mut program, &ast, &names, declarations, &mut errors);
    types::fill(&mut program, declarations, &mut errors);
    formats::choose(&mut program, declarations, &mut errors);
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
    let names = names::resolve(&ast, &declarations).map_err(diagnostics)?;
    Ok(names.tensors.into_iter().map(|(name, entry)| (name, entry.role)).collect())
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

/// Adds the typed statements.
fn assign(program: &mut Program, ast: &ast::Ast, names: &Names, declarations: &Declarations, errors: &mut Vec<Error>) {
    let mut typer = types::Typer::new(names, declarations, errors);
    for statement in &ast.statements {
        let target = names.tensor(&statement.name.text);
        let Some(rhs) = typer.value(statement, target) else { continue };
        if let Some(dtype) = typer.dtype(target) {
            program.tensors[target].dtype = dtype;
        }
        let vars = names.indices(&statement.indices);
        let lhs = Access { tensor: target, vars, span: statement.lhs_span };
        program.statements.push(Assignment { lhs, op: statement.op, rhs, span: statement.span });
    }
    sizes::require(program, errors);
}

fn diagnostics(errors: Vec<Error>) -> Vec<Diagnostic> {
    errors.into_iter().map(Error::into_diagnostic).collect()
}
