//! Step 4: the format of each tensor.
//!
//! Declared formats are resolved to the tensor's order. Undeclared inputs, scalars and vectors are dense. Any other
//! undeclared result is sparse //! (order 2: `csr`, higher: `csf`) if its entries are structurally absent wherever, along each of its
//! dimensions, the sparse operands that run along it are; else it is dense. `C(i,k) = A(i,j) * B(j,k)` is sparse if both
//! `A` and `B` are, and dense if only one is, for then a row or column of it is full.

use lacunar_formats::{Format, FormatError};
use lacunar_notation::{Assignment, Expr, ExprKind, Program, Role, TensorId, VarId};

use super::super::declarations::Declarations;
use super::super::error::Error;

/// Sets the format of every tensor.
pub(super) fn choose(program: &mut Program, declarations: &Declarations, errors: &mut Vec<Error>) {
    let mut open = Vec::new();
    for id in program.tensors.handles() {
        let tensor = &mut program.tensors[id];
        let order = tensor.order();
        match declarations.formats.get(&tensor.name).map(|spec| spec.resolve(order)) {
            Some(Ok(format)) => tensor.format = format,
            Some(Err(error)) => errors.push(wrong_order(&tensor.name, tensor.span, order, &error)),
            None if tensor.role == Role::Result && order >= 2 => {
                tensor.format = if order == 2 { Format::csr() } else { Format::csf(order) };
                open.push(id);
            }
            None => {}
        }
    }
    // The open results are taken as sparse; each that turns out dense can make others dense.
    while let Some(place) = open.iter().position(|&id| !is_sparse_result(program, id)) {
        let dense = &mut program.tensors[open.swap_remove(place)];
        dense.format = Format::dense(dense.order());
    }
}

fn wrong_order(name: &str, span: lacunar_base::Span, order: usize, error: &FormatError) -> Error {
    let message = match error {
        FormatError::Order { format, levels, .. } => {
            format!("format `{format}` stores {levels} dimensions, but `{name}` has {order}")
        }
        other => other.to_string(),
    };
    Error::FormatOrder { name: name.to_string(), span, message, order }
}

/// Whether every statement that assigns to a tensor leaves it sparse.
fn is_sparse_result(program: &Program, tensor: TensorId) -> bool {
    let sparse = |statement: &Assignment| statement.lhs.vars.iter().all(|&var| is_absent(program, &statement.rhs, var));
    program.statements.iter().filter(|statement| statement.lhs.tensor == tensor).all(sparse)
}

/// Whether the value of an expression is absent where the entries of all sparse operands along `var` are.
fn is_absent(program: &Program, expr: &Expr, var: VarId) -> bool {
    let absent = |expr: &Expr| is_absent(program, expr, var);
    match &expr.kind {
        // A zero that is written is a value, not an absence.
        ExprKind::Literal(_) => false,
        ExprKind::Access(access) => access.vars.contains(&var) && !program.tensors[access.tensor].format.is_dense(),
        ExprKind::Unary(function, operand) => function.keeps_zero() && absent(operand),
        ExprKind::Binary(function, left, right) => {
            let (by_left, by_right) = function.annihilates();
            let (left, right) = (absent(left), absent(right));
            (by_left && left) || (by_right && right) || (function.keeps_zero() && left && right)
        }
        ExprKind::Cast(operand) | ExprKind::Reduce(_, _, operand) => absent(operand),
    }
}
