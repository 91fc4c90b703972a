//! Step 5: the loops of statements in concrete notation, whose meaning has been checked.
//!
//! On exit the program has a kernel for each of them.

use lacunar_base::Arena;
use lacunar_formats::DType;
use lacunar_notation::{AssignOp, Expr, IndexVar, Program, Role, Tensor, TensorId};

use super::super::ast::{Ast, Statement};
use super::super::declarations::Declarations;
use super::super::error::Error;
use super::names::Names;
use super::types::Typer;
use crate::concrete::{self, LineRole, Mistake};

/// Adds the kernels of the statements whose loops are written out.
pub(super) fn resolve(program: &mut Program, ast: &Ast, errors: &mut Vec<Error>) {
    let made = |name: &str| ast.statements.iter().filter_map(|made| made.nest.as_ref()).any(|nest| nest.fills(name));
    for line in ast.lines.iter().filter(|line| matches!(line.role, LineRole::Workspace(_)) && !made(&line.name)) {
        errors.push(Mistake::NoWorkspace { span: line.span, name: line.name.clone() }.into());
    }
    let is_tensor = |name: &str| program.tensors.iter().any(|(_, tensor)| tensor.name == name);
    for line in ast.lines.iter().filter(|line| line.is_outside() && made(&line.name) && !is_tensor(&line.name)) {
        errors.push(Mistake::Filled { span: line.span, name: line.name.clone() }.into());
    }
    for (number, statement) in ast.statements.iter().enumerate() {
        let Some(nest) = &statement.nest else { continue };
        let clash = program.tensors.iter().map(|(_, tensor)| tensor).find(|tensor| nest.fills(&tensor.name));
        if let Some(tensor) = clash {
            errors.push(Mistake::Clash { span: statement.span, name: tensor.name.clone(), other: tensor.span }.into());
            continue;
        }
        match concrete::resolve(program, &program.statements[number], nest, &ast.lines) {
            Ok(kernel) => program.loops.push((number, kernel)),
            Err(found) => errors.extend(found),
        }
    }
}

/// Gives types to assignments over tensors and variables that are known; those of some tensors are decided on the way.
pub(crate) struct Typing {
    names: Names,
    declarations: Declarations,
    decided: Vec<(TensorId, DType)>,
}

impl Typing {
    /// Loops over these tensors and variables. The types of `open` are decided by their first assignments.
    pub fn new(tensors: &Arena<Tensor>, vars: &Arena<IndexVar>, open: Vec<TensorId>) -> Typing {
        let mut program = Program { tensors: tensors.clone(), vars: vars.clone(), ..Program::default() };
        let mut declarations = Declarations::new();
        for id in tensors.handles() {
            program.tensors[id].role = if open.contains(&id) { Role::Result } else { Role::Input };
            if !open.contains(&id) {
                declarations = declarations.dtype(&tensors[id].name, tensors[id].dtype);
            }
        }
        Typing { names: Names::of(&program), declarations, decided: Vec::new() }
    }

    /// The type of a tensor that was open.
    pub fn dtype(&self, tensor: TensorId) -> Option<DType> {
        self.decided.iter().find(|(known, _)| *known == tensor).map(|(_, dtype)| *dtype)
    }

    /// The value by which an assignment compares the places that its target holds.
    ///
    /// # Errors
    /// The mistakes in its types.
    pub fn place(&mut self, statement: &Statement, target: TensorId) -> Result<Expr, Vec<Error>> {
        let mut errors = Vec::new();
        let value = Typer::new(&self.names, &self.declarations, &mut errors).expression(&statement.rhs);
        if self.dtype(target).is_none() && !self.declarations.dtypes.contains_key(&statement.name.text) {
            self.declarations.dtypes.insert(statement.name.text.clone(), DType::I64);
            self.decided.push((target, DType::I64));
        }
        value.ok_or(errors)
    }

    /// The way and the right-hand side of an assignment.
    ///
    /// # Errors
    /// The mistakes in its types.
    pub fn value(&mut self, statement: &Statement, target: TensorId) -> Result<(AssignOp, Expr), Vec<Error>> {
        let mut errors = Vec::new();
        let mut typer = Typer::new(&self.names, &self.declarations, &mut errors);
        let value = typer.value(statement, target);
        let dtype = typer.dtype(target);
        if let (None, Some(dtype)) = (self.dtype(target), dtype) {
            let name = statement.name.text.clone();
            if !self.declarations.dtypes.contains_key(&name) {
                self.declarations.dtypes.insert(name, dtype);
                self.decided.push((target, dtype));
            }
        }
        value.ok_or(errors)
    }
}
