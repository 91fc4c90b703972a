//! Indices that are sums: variables, each times a whole number, and a whole number.

use indexmap::IndexMap;
use lacunar_notation::Equation;

use super::ast::{BinaryOp, Expr, ExprKind, Number};
use super::error::{AccessMistake, Error};

/// A sum of variables, each times a number, and a number.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Affine {
    pub terms: IndexMap<String, i64>,
    pub constant: i64,
}

/// An index as a sum; `None` if it has another form.
pub(crate) fn affine(index: &Expr) -> Option<Result<Affine, Error>> {
    let within = |number: &i64| number.abs() <= Equation::MOST;
    let mut affine = match form(index)? {
        Some(affine) => affine,
        None => return Some(Err(AccessMistake::LargeIndex { span: index.span }.into())),
    };
    affine.terms.retain(|_, factor| *factor != 0);
    let is_small = affine.terms.values().chain([&affine.constant]).all(within);
    Some(if is_small { Ok(affine) } else { Err(AccessMistake::LargeIndex { span: index.span }.into()) })
}

/// The same with factors that may be 0; inside, `None` if a number is too large.
fn form(index: &Expr) -> Option<Option<Affine>> {
    let combined = |a: Affine, b: Affine, times: i64| -> Option<Affine> {
        let mut sum = a;
        for (name, factor) in b.terms {
            let own = sum.terms.entry(name).or_insert(0);
            *own = own.checked_add(factor.checked_mul(times)?)?;
        }
        sum.constant = sum.constant.checked_add(b.constant.checked_mul(times)?)?;
        Some(sum)
    };
    Some(match &index.kind {
        ExprKind::Number(Number::Int(value)) => {
            i64::try_from(*value).ok().map(|constant| Affine { constant, ..Affine::default() })
        }
        ExprKind::Name(name) => Some(Affine { terms: IndexMap::from([(name.clone(), 1)]), constant: 0 }),
        ExprKind::Neg(a) => form(a)?.and_then(|a| combined(Affine::default(), a, -1)),
        ExprKind::Binary(op, a, b) => {
            let (a, b) = (form(a)?, form(b)?);
            let (Some(a), Some(b)) = (a, b) else { return Some(None) };
            match op {
                BinaryOp::Add => combined(a, b, 1),
                BinaryOp::Sub => combined(a, b, -1),
                BinaryOp::Mul if a.terms.is_empty() => combined(Affine::default(), b, a.constant),
                BinaryOp::Mul if b.terms.is_empty() => combined(Affine::default(), a, b.constant),
                _ => return None,
            }
        }
        _ => return None,
    })
}
