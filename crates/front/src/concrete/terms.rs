//! Parts of expressions that loops are made of: accesses, the relations that they are multiplied by, other names for variables.

use indexmap::IndexMap;
use lacunar_base::Span;
use lacunar_notation::{BinaryFn, Function, Monoid};

use crate::einsum::{BinaryOp, Bracket, Callee, Expr, ExprKind, Meaning, Name, meaning};

/// The name of a variable, of an index that is one.
pub(super) fn index_name(index: &Expr) -> &str {
    match &index.kind {
        ExprKind::Name(name) => name,
        _ => "",
    }
}

/// The tensor and the indices of an expression that is an access.
pub(super) fn access(expr: &Expr) -> Option<(&str, &[Expr])> {
    match &expr.kind {
        ExprKind::Name(name) => Some((name, &[])),
        ExprKind::Apply { name, args, callee } if matches!(meaning(&name.text, args, *callee), Meaning::Access) => {
            Some((&name.text, args))
        }
        _ => None,
    }
}

/// The relations in brackets without which an expression has no value, each with its indices.
pub(super) fn factors<'e>(expr: &'e Expr, brackets: &'e IndexMap<String, Bracket>) -> Vec<(&'e Bracket, &'e [Expr])> {
    if let Some((name, args)) = access(expr) {
        return brackets.get(name).map(|bracket| (bracket, args)).into_iter().collect();
    }
    match &expr.kind {
        ExprKind::Binary(BinaryOp::Mul, left, right) => [factors(left, brackets), factors(right, brackets)].concat(),
        // Both terms have it.
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, left, right) => {
            let other = factors(right, brackets);
            let is_in_both = |(bracket, args): &(&Bracket, &[Expr])| {
                let names = |args: &[Expr]| args.iter().map(|arg| index_name(arg).to_string()).collect::<Vec<_>>();
                other.iter().any(|(own, found)| std::ptr::eq(*own, *bracket) && names(found) == names(args))
            };
            factors(left, brackets).into_iter().filter(is_in_both).collect()
        }
        ExprKind::Cast { operand, .. } | ExprKind::Neg(operand) => factors(operand, brackets),
        ExprKind::Apply { name, args, callee } => match (meaning(&name.text, args, *callee), args.as_slice()) {
            (Meaning::Cast(_), [operand]) => factors(operand, brackets),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Calls `f` on each access of an expression with its place.
pub(super) fn visit<'e>(expr: &'e Expr, f: &mut impl FnMut(&'e str, Span)) {
    if let Some((name, _)) = access(expr) {
        return f(name, expr.span);
    }
    match &expr.kind {
        ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Identity(_) | ExprKind::Name(_) => {}
        ExprKind::List { index, .. } => index.iter().for_each(|index| visit(index, f)),
        ExprKind::Apply { args, .. } => args.iter().for_each(|arg| visit(arg, f)),
        ExprKind::Cast { operand, .. } | ExprKind::Neg(operand) => visit(operand, f),
        ExprKind::Binary(_, left, right) => {
            visit(left, f);
            visit(right, f);
        }
    }
}

/// An expression with the height that its operands give it.
pub(super) fn built(kind: ExprKind, span: Span) -> Expr {
    let height = match &kind {
        ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Identity(_) | ExprKind::Name(_) => 1,
        ExprKind::List { index, .. } => index.as_ref().map_or(1, |index| index.height + 1),
        ExprKind::Apply { args, .. } => match args.iter().all(|arg| matches!(arg.kind, ExprKind::Name(_))) {
            true => 1,
            false => args.iter().map(|arg| arg.height).max().unwrap_or(0) + args.len(),
        },
        ExprKind::Cast { operand, .. } | ExprKind::Neg(operand) => operand.height + 1,
        ExprKind::Binary(_, left, right) => left.height.max(right.height) + 1,
    };
    Expr { kind, span, height }
}

/// `sum(j, value)`.
pub(super) fn reduction(monoid: Monoid, vars: &[String], value: Expr, span: Span) -> Expr {
    let name = Name { text: monoid.name().to_string(), span };
    let mut args: Vec<Expr> = vars.iter().map(|var| built(ExprKind::Name(var.clone()), span)).collect();
    args.push(value);
    built(ExprKind::Apply { name, args, callee: callee(monoid.function()) }, span)
}

/// The facts that are known of the name of a function.
fn callee(function: BinaryFn) -> Callee {
    match function {
        BinaryFn::User(operator) => Callee::Operator(operator.base()),
        _ => Callee::Named,
    }
}

pub(super) fn combined(monoid: Monoid, before: Expr, new: Expr, span: Span) -> Expr {
    let kind = match monoid.function() {
        BinaryFn::Add => ExprKind::Binary(BinaryOp::Add, Box::new(before), Box::new(new)),
        BinaryFn::Mul => ExprKind::Binary(BinaryOp::Mul, Box::new(before), Box::new(new)),
        function => {
            let name = Name { text: Function::Binary(function).name().to_string(), span };
            ExprKind::Apply { name, args: vec![before, new], callee: callee(function) }
        }
    };
    built(kind, span)
}

/// The new name of each that changes where some names become others, and these in turn names that are left; `None` if one would become two.
pub(super) fn exchange(from: &[String], to: &[String]) -> Option<IndexMap<String, String>> {
    let mut pairs: IndexMap<String, String> = IndexMap::new();
    for (old, new) in from.iter().zip(to) {
        let is_other = pairs.get(old).is_some_and(|known| known != new);
        let is_taken = pairs.iter().any(|(known, made)| known != old && made == new);
        if is_other || is_taken {
            return None;
        }
        pairs.insert(old.clone(), new.clone());
    }
    // A variable that is removed gives its own name back, along the chain that leads to it.
    for new in to {
        if !pairs.contains_key(new) {
            let mut first = new.clone();
            while let Some((old, _)) = pairs.iter().find(|(_, made)| **made == first) {
                first.clone_from(old);
            }
            pairs.insert(new.clone(), first);
        }
    }
    pairs.retain(|old, new| old != new);
    (from.len() == to.len()).then_some(pairs)
}

/// Gives variables other names, all at once; the number of operands.
pub(super) fn renamed(expr: &mut Expr, names: &IndexMap<String, String>) -> usize {
    match &mut expr.kind {
        ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Identity(_) => 1,
        ExprKind::Name(name) => {
            if let Some(new) = names.get(name) {
                name.clone_from(new);
            }
            1
        }
        ExprKind::List { index, .. } => 1 + index.as_mut().map_or(0, |index| renamed(index, names)),
        ExprKind::Apply { args, .. } => 1 + args.iter_mut().map(|arg| renamed(arg, names)).sum::<usize>(),
        ExprKind::Cast { operand, .. } | ExprKind::Neg(operand) => 1 + renamed(operand, names),
        ExprKind::Binary(_, left, right) => 1 + renamed(left, names) + renamed(right, names),
    }
}
