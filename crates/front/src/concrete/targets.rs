//! Targets whose indices are no variables: each gets a loop of its own, and a relation that ties it to the variables of its sum.
//!
//! ```text
//! forall(j, R(j + 1) = x(j))          forall(j, forall(j_at, R(j_at) = [j_at == j + 1] * x(j)))
//! forall(j, R(j + 1) max= x(j))       forall(j, forall(j_at, R(j_at) max= select([j_at == j + 1], x(j), -inf)))
//! forall(i, R(p(i) - 1) += x(i))      forall(i, forall(p_at, forall(p_at_at, R(p_at_at) += [p_at_at == p_at - 1] * [p_at == p(i)] * x(i))))
//! ```
//!
//! On exit: loops as they could have been written, in which all indices of targets are variables.

use lacunar_notation::Rule;

use super::ast::Stmt;
use super::terms::built;
use crate::einsum::{Callee, Error, Expr, ExprKind, Meaning, Name, Parser, Statement, confined, meaning};

/// The loops with a variable for each index of a target that is none.
pub(super) fn expand(parser: &mut Parser<'_>, stmt: Stmt) -> Result<Stmt, Error> {
    Ok(match stmt {
        Stmt::Assign(statement) => target(parser, *statement)?,
        Stmt::Forall { var, tags, body } => Stmt::Forall { var, tags, body: Box::new(expand(parser, *body)?) },
        Stmt::Where { consumer, producer } => {
            let producer = Box::new(expand(parser, *producer)?);
            Stmt::Where { consumer: Box::new(expand(parser, *consumer)?), producer }
        }
        Stmt::Sequence(stmts) => {
            Stmt::Sequence(stmts.into_iter().map(|stmt| expand(parser, stmt)).collect::<Result<_, _>>()?)
        }
    })
}

/// An assignment in the loops that the indices of its target need.
fn target(parser: &mut Parser<'_>, mut statement: Statement) -> Result<Stmt, Error> {
    let mut tied = Vec::new();
    for index in &mut statement.indices {
        if index.variable().is_none() {
            *index = variable(parser, index, &mut tied)?;
        }
    }
    for (_, relation) in &tied {
        statement.rhs = confined(statement.rhs, relation, statement.op, &mut built);
    }
    let around = tied.into_iter().rev().map(|(var, _)| var);
    Ok(around.fold(Stmt::Assign(Box::new(statement)), |body, var| Stmt::Forall {
        var,
        tags: Vec::new(),
        body: Box::new(body),
    }))
}

/// A variable for an index that is none. The relation that ties it to others is added, behind those that its parts need.
fn variable(parser: &mut Parser<'_>, index: &Expr, tied: &mut Vec<(Name, Expr)>) -> Result<Expr, Error> {
    let parts = elements(parser, index, tied)?;
    // An element alone is a variable now.
    if parts.variable().is_some() {
        return Ok(parts);
    }
    tie(parser, &parts, tied)
}

/// An index with variables in the places of elements of tensors and lists.
fn elements(parser: &mut Parser<'_>, index: &Expr, tied: &mut Vec<(Name, Expr)>) -> Result<Expr, Error> {
    let span = index.span;
    let kind = match &index.kind {
        ExprKind::Apply { name, args, callee } => {
            let is_border = *callee == Callee::Named && Rule::parse(&name.text).is_some();
            let is_element = !is_border && matches!(meaning(&name.text, args, *callee), Meaning::Access);
            let mut inside = Vec::new();
            for arg in args {
                inside.push(match arg.variable() {
                    None if is_element => variable(parser, arg, tied)?,
                    None if is_border => elements(parser, arg, tied)?,
                    _ => arg.clone(),
                });
            }
            let whole = built(ExprKind::Apply { name: name.clone(), args: inside, callee: *callee }, span);
            return if is_element { tie(parser, &whole, tied) } else { Ok(whole) };
        }
        ExprKind::List { index: Some(_), .. } => return tie(parser, index, tied),
        ExprKind::Neg(a) => ExprKind::Neg(Box::new(elements(parser, a, tied)?)),
        ExprKind::Binary(op, a, b) => {
            let a = Box::new(elements(parser, a, tied)?);
            ExprKind::Binary(*op, a, Box::new(elements(parser, b, tied)?))
        }
        kind => kind.clone(),
    };
    Ok(built(kind, span))
}

/// A new variable, which a relation ties to those of an index.
fn tie(parser: &mut Parser<'_>, index: &Expr, tied: &mut Vec<(Name, Expr)>) -> Result<Expr, Error> {
    let span = index.span;
    let (var, tensor, vars) = parser.tie(index)?;
    let name = |text: String| Expr { kind: ExprKind::Name(text), span, height: 1 };
    let args = vars.into_iter().map(name).collect();
    let relation = built(ExprKind::Apply { name: Name { text: tensor, span }, args, callee: Callee::Tensor }, span);
    tied.push((Name { text: var.clone(), span }, relation));
    Ok(name(var))
}
