//! Tells the names of an expression that are indices, and the calls that are reductions.

use lacunar_formats::DType;
use lacunar_front::einsum::{Callee, Expr, ExprKind};
use lacunar_notation::{BinaryFn, Function};

/// The operation of `name(k, .., body)`, if that is a reduction: the arguments before the last are indices in it.
pub(super) fn reduction(name: &str, args: &[Expr]) -> Option<BinaryFn> {
    let operation = match name {
        "sum" => return Some(BinaryFn::Add),
        "prod" => return Some(BinaryFn::Mul),
        "argmin" => return Some(BinaryFn::ArgMin),
        "argmax" => return Some(BinaryFn::ArgMax),
        "min" => BinaryFn::Min,
        "max" => BinaryFn::Max,
        "and" => BinaryFn::And,
        "or" => BinaryFn::Or,
        "xor" => BinaryFn::Xor,
        "any" => BinaryFn::Any,
        _ => return None,
    };
    binds(args).then_some(operation)
}

/// True if `name(k, .., body)` is a reduction.
pub(super) fn is_reduction(callee: Callee, name: &str, args: &[Expr]) -> bool {
    match callee {
        Callee::Tensor => false,
        Callee::Named => reduction(name, args).is_some(),
        Callee::Operator(operator) => operator.is_monoid() && binds(args),
    }
}

/// True if the arguments before the last one are indices in it.
pub(super) fn binds(args: &[Expr]) -> bool {
    let Some((body, vars)) = args.split_last() else { return false };
    let is_var = |var: &Expr| matches!(&var.kind, ExprKind::Name(name) if is_index(name, body));
    !vars.is_empty() && vars.iter().all(is_var)
}

/// True for the name of a reduction that is no function's.
pub(super) fn only_reduces(name: &str) -> bool {
    matches!(name, "sum" | "prod" | "argmin" | "argmax")
}

/// The names that are indices on the left, or in an expression: of elements, or bound by reductions.
pub(super) fn indices_of(left: &[Expr], expr: &Expr, found: &mut Vec<String>) {
    for index in left {
        terms(index, found);
        indices_of(&[], index, found);
    }
    match &expr.kind {
        ExprKind::Apply { name: applied, args, callee } => {
            let text = applied.text.as_str();
            let is_element = *callee == Callee::Tensor
                || (*callee == Callee::Named
                    && Function::parse(text).is_none()
                    && DType::parse(text).is_none()
                    && !only_reduces(text));
            let own = match args.split_last() {
                Some((_, vars)) if is_reduction(*callee, text, args) => vars,
                _ if is_element => args.as_slice(),
                _ => &[],
            };
            own.iter().for_each(|index| terms(index, found));
            args.iter().for_each(|arg| indices_of(&[], arg, found));
        }
        ExprKind::Neg(a) | ExprKind::Cast { operand: a, .. } => indices_of(&[], a, found),
        ExprKind::Binary(_, a, b) => {
            indices_of(&[], a, found);
            indices_of(&[], b, found);
        }
        ExprKind::List { index, .. } => {
            if let Some(index) = index {
                terms(index, found);
                indices_of(&[], index, found);
            }
        }
        ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Name(_) | ExprKind::Identity(_) => {}
    }
}

/// The names of which an index is a sum.
pub(super) fn terms(index: &Expr, found: &mut Vec<String>) {
    match &index.kind {
        ExprKind::Name(name) => found.push(name.clone()),
        ExprKind::Neg(a) => terms(a, found),
        ExprKind::Binary(_, a, b) => [a, b].into_iter().for_each(|term| terms(term, found)),
        _ => {}
    }
}

/// True if an element in an expression has an index of this name.
pub(super) fn is_index(name: &str, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Apply { name: applied, args, callee } => {
            let is_name = |arg: &Expr| occurs(name, arg);
            let is_call = Function::parse(applied.text.as_str()).is_some()
                || DType::parse(&applied.text).is_some()
                || only_reduces(&applied.text);
            let is_element = *callee == Callee::Tensor || (*callee == Callee::Named && !is_call);
            (is_element && args.iter().any(is_name)) || args.iter().any(|arg| is_index(name, arg))
        }
        ExprKind::Neg(a) | ExprKind::Cast { operand: a, .. } => is_index(name, a),
        ExprKind::Binary(_, a, b) => is_index(name, a) || is_index(name, b),
        ExprKind::List { index, .. } => {
            index.as_ref().is_some_and(|index| occurs(name, index) || is_index(name, index))
        }
        ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Name(_) | ExprKind::Identity(_) => false,
    }
}

/// True if a name is a term of an index.
pub(super) fn occurs(name: &str, index: &Expr) -> bool {
    match &index.kind {
        ExprKind::Name(own) => own == name,
        ExprKind::Neg(a) => occurs(name, a),
        ExprKind::Binary(_, a, b) => [a, b].into_iter().any(|term| occurs(name, term)),
        _ => false,
    }
}
