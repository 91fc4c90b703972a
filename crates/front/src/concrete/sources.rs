//! Tensors of a kernel that are made of others, read as these.
//!
//! A printed kernel reads converted operands and the result before the statement under names of their own, and a line for each names the
//! tensor that it is made of. Whoever gives tensors to the text has the others: so these are read instead, and planning converts them
//! again.
//!
//! ```text
//! C(i,j) = A(i,j) + B_by_order(i,j)     B_by_order: f64 csr input 4x4 of B     C(i,j) = A(i,j) + B(i,j)
//! C(i,j) = C_old(i,j) * A(i,j)          C_old: f64 csr input 4x4 of C          C(i,j) *= A(i,j)
//! ```
//!
//! On entry: a statement as it is read. On exit: no name of it is one of those lines.

use indexmap::IndexMap;
use lacunar_notation::{AssignOp, BinaryFn, Monoid};

use super::ast::{Nest, RelationKind, Stmt};
use crate::einsum::{BinaryOp, Bracket, Callee, Expr, ExprKind, Statement};

/// Replaces the names of tensors by those of the tensors they are made of, also in the relations that a text has so far.
pub(super) fn replace(nest: &mut Nest, relations: &mut IndexMap<String, Bracket>, sources: &IndexMap<String, String>) {
    if sources.is_empty() {
        return;
    }
    for relation in &mut nest.relations {
        if let RelationKind::Pos { tensor, .. } = &mut relation.kind {
            rename(&mut tensor.text, sources);
        }
    }
    for bracket in nest.brackets.values_mut().chain(relations.values_mut()) {
        in_expression(&mut bracket.right, sources);
    }
    nest.updates = in_statement(&mut nest.body, sources);
}

/// The same in a statement without loops, which is one of index notation: it may read its own result.
pub(crate) fn read_sources(statement: &mut Statement, sources: &IndexMap<String, String>) {
    in_expression(&mut statement.rhs, sources);
}

/// Replaces the names in loops. Returns true if an assignment combines the value before with a new one.
fn in_statement(stmt: &mut Stmt, sources: &IndexMap<String, String>) -> bool {
    match stmt {
        Stmt::Assign(statement) => {
            let combines = combine(statement, sources);
            in_expression(&mut statement.rhs, sources);
            combines
        }
        Stmt::Forall { body, .. } => in_statement(body, sources),
        Stmt::Where { consumer, producer } => in_statement(producer, sources) | in_statement(consumer, sources),
        Stmt::Sequence(stmts) => stmts.iter_mut().fold(false, |combines, stmt| in_statement(stmt, sources) | combines),
    }
}

/// Turns `R = f(R_old, value)` into `R f= value`; false for any other statement.
fn combine(statement: &mut Statement, sources: &IndexMap<String, String>) -> bool {
    let is_before = |expr: &Expr| {
        let expr = unconverted(expr);
        let (name, indices): (&str, &[Expr]) = match &expr.kind {
            ExprKind::Name(name) => (name, &[]),
            ExprKind::Apply { name, args, .. } => (&name.text, args),
            _ => return false,
        };
        let is_own = sources.get(name).is_some_and(|source| *source == statement.name.text);
        is_own && indices.iter().map(Expr::variable).eq(statement.indices.iter().map(Expr::variable))
    };
    let function = match &statement.rhs.kind {
        ExprKind::Binary(BinaryOp::Add, ..) => Some(BinaryFn::Add),
        ExprKind::Binary(BinaryOp::Mul, ..) => Some(BinaryFn::Mul),
        ExprKind::Apply { callee: Callee::Operator(operator), .. } => Some(BinaryFn::User(*operator)),
        ExprKind::Apply { name, .. } => Monoid::parse(&name.text).map(Monoid::function),
        _ => None,
    };
    let operands: Vec<&Expr> = match &statement.rhs.kind {
        ExprKind::Binary(_, before, value) => vec![before, value],
        ExprKind::Apply { args, .. } => args.iter().collect(),
        _ => Vec::new(),
    };
    if let ([before, value], AssignOp::Set, Some(monoid)) =
        (operands.as_slice(), statement.op, function.and_then(Monoid::of))
        && is_before(before)
    {
        statement.op = AssignOp::Reduce(monoid);
        statement.rhs = (*value).clone();
        return true;
    }
    false
}

/// The operand of conversions.
fn unconverted(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Cast { operand, .. } => unconverted(operand),
        // A type's name converts one operand.
        ExprKind::Apply { name, args, callee: Callee::Named } => match args.as_slice() {
            [operand] if lacunar_formats::DType::parse(&name.text).is_some() => unconverted(operand),
            _ => expr,
        },
        _ => expr,
    }
}

fn in_expression(expr: &mut Expr, sources: &IndexMap<String, String>) {
    match &mut expr.kind {
        ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Identity(_) => {}
        ExprKind::Name(name) => rename(name, sources),
        ExprKind::List { index, .. } => index.iter_mut().for_each(|index| in_expression(index, sources)),
        ExprKind::Apply { name, args, .. } => {
            rename(&mut name.text, sources);
            args.iter_mut().for_each(|arg| in_expression(arg, sources));
        }
        ExprKind::Cast { operand, .. } | ExprKind::Neg(operand) => in_expression(operand, sources),
        ExprKind::Binary(_, left, right) => {
            in_expression(left, sources);
            in_expression(right, sources);
        }
    }
}

fn rename(name: &mut String, sources: &IndexMap<String, String>) {
    if let Some(source) = sources.get(name) {
        name.clone_from(source);
    }
}
