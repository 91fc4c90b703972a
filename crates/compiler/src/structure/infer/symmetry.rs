//! Expressions that do not change when two variables are exchanged, up to a sign or conjugation.
//!
//! Terms and factors are compared without their order, as addition and multiplication are commutative. Where no operand has
//! redundancy of its own, the value follows from that at the exchanged coordinates; where an exchange changes the sign, it is 0 between
//! equal coordinates.
//!
//! ```text
//! A(i,j) + A(j,i)                symmetric, for any square A
//! A(i,j) - A(j,i)                skew
//! A(i,j) + conj(A(j,i))          Hermitian
//! A(i,j) * A(j,i)                symmetric
//! ```

use std::fmt::Write;

use lacunar_notation::{BinaryFn, Expr, ExprKind, UnaryFn, VarId};
use lacunar_sets::{Affine, Coefficient, Map, MapPiece, Set};

use super::Context;
use super::closed::Closed;
use super::{pointwise, product};

/// A sum or a product that does not change by an exchange.
pub(super) fn symmetry(context: &Context<'_>, expr: &Expr) -> Option<Closed> {
    let base = match expr.kind {
        ExprKind::Binary(BinaryFn::Add | BinaryFn::Sub, ..) => pointwise::sum(context, expr)?,
        ExprKind::Binary(BinaryFn::Mul, ..) => product::product(context, expr)?,
        _ => return None,
    };
    let moves = base.map.domain().subtract(&base.map.fixed()?)?;
    if !moves.pieces().is_empty() {
        return Some(base);
    }
    for (place, &first) in base.vars.iter().enumerate() {
        for &second in &base.vars[place + 1..] {
            if context.size(first) == context.size(second)
                && let Some(coefficient) = exchanged(expr, first, second)
            {
                return sorted(context, base, first, second, coefficient);
            }
        }
    }
    Some(base)
}

/// The value follows from that with two coordinates in ascending order.
fn sorted(
    context: &Context<'_>,
    base: Closed,
    first: VarId,
    second: VarId,
    coefficient: Coefficient,
) -> Option<Closed> {
    let space = context.space(&base.vars);
    let dim = |var: VarId| base.vars.iter().position(|other| *other == var);
    let (a, b) = (dim(first)?, dim(second)?);
    let form = |dim: usize| Affine::variable(space.params.len() + dim);
    let mut support = base.support;
    if !coefficient.conjugate && !coefficient.is_one() {
        let mut between = space.universe();
        between.equal(form(a).minus(&form(b))?);
        support = support.subtract(&Set::of_piece(space.clone(), between))?;
    }
    let mut descending = space.universe();
    descending.at_least(form(a).minus(&form(b))?.shifted(-1)?);
    let mut target: Vec<Affine> = (0..base.vars.len()).map(form).collect();
    target.swap(a, b);
    let mut map = Map::empty(space.clone(), space.dims.clone());
    map.add_apart(MapPiece { domain: descending, target, coefficient })?;
    let within = support.intersect(&map.preimage(&support)?)?;
    Closed::new(base.vars, support, map.restricted(&within)?)
}

/// What an expression is multiplied by when two variables are exchanged, if that is all that happens.
fn exchanged(expr: &Expr, first: VarId, second: VarId) -> Option<Coefficient> {
    let plain = key(expr, &|var| var, false, false);
    let swap = |var: VarId| match var {
        var if var == first => second,
        var if var == second => first,
        var => var,
    };
    let candidates = [(false, false), (true, false), (false, true), (true, true)];
    let found = candidates.into_iter().find(|&(negative, conjugate)| key(expr, &swap, negative, conjugate) == plain)?;
    Coefficient::new(if found.0 { -1 } else { 1 }, 1, found.1)
}

/// An expression with renamed variables, perhaps negated and conjugated, as a text that does not depend on the order of terms and factors.
fn key(expr: &Expr, rename: &impl Fn(VarId) -> VarId, negative: bool, conjugate: bool) -> String {
    let mut terms = Vec::new();
    add_terms(expr, rename, negative, conjugate, &mut terms);
    terms.sort();
    terms.join(" ")
}

/// Adds the terms of a sum, each with its sign.
fn add_terms(expr: &Expr, rename: &impl Fn(VarId) -> VarId, negative: bool, conjugate: bool, terms: &mut Vec<String>) {
    match &expr.kind {
        ExprKind::Binary(function @ (BinaryFn::Add | BinaryFn::Sub), a, b) => {
            add_terms(a, rename, negative, conjugate, terms);
            add_terms(b, rename, negative ^ (*function == BinaryFn::Sub), conjugate, terms);
        }
        ExprKind::Unary(UnaryFn::Neg, inner) => add_terms(inner, rename, !negative, conjugate, terms),
        ExprKind::Unary(UnaryFn::Conj, inner) => add_terms(inner, rename, negative, !conjugate, terms),
        _ => {
            let mut factors = Vec::new();
            let mut sign = negative;
            add_factors(expr, rename, &mut sign, conjugate, &mut factors);
            factors.sort();
            terms.push(format!("{}{}", if sign { "-" } else { "+" }, factors.join("*")));
        }
    }
}

/// Adds the factors of a product, of which signs are taken out.
fn add_factors(
    expr: &Expr,
    rename: &impl Fn(VarId) -> VarId,
    negative: &mut bool,
    conjugate: bool,
    factors: &mut Vec<String>,
) {
    match &expr.kind {
        ExprKind::Binary(BinaryFn::Mul, a, b) => {
            add_factors(a, rename, negative, conjugate, factors);
            add_factors(b, rename, negative, conjugate, factors);
        }
        ExprKind::Unary(UnaryFn::Neg, inner) => {
            *negative = !*negative;
            add_factors(inner, rename, negative, conjugate, factors);
        }
        ExprKind::Unary(UnaryFn::Conj, inner) => add_factors(inner, rename, negative, !conjugate, factors),
        ExprKind::Binary(BinaryFn::Add | BinaryFn::Sub, ..) => {
            factors.push(format!("({})", key(expr, rename, false, conjugate)));
        }
        ExprKind::Access(access) => {
            let mark = if conjugate && expr.dtype.is_complex() { "'" } else { "" };
            let vars: Vec<String> = access.vars.iter().map(|var| rename(*var).index().to_string()).collect();
            factors.push(format!("t{}{mark}[{}]", access.tensor.index(), vars.join(",")));
        }
        kind => {
            let mut text = String::from(if conjugate && expr.dtype.is_complex() { "conj " } else { "" });
            let named = match kind {
                ExprKind::Literal(literal) => write!(text, "{literal:?}"),
                ExprKind::Unary(function, _) => write!(text, "{function:?}"),
                ExprKind::Binary(function, ..) => write!(text, "{function:?}"),
                ExprKind::Apply(operator, _) => write!(text, "{operator:?}"),
                ExprKind::Reduce(monoid, vars, _) => write!(text, "{monoid:?} {vars:?}"),
                ExprKind::Cast(_) => write!(text, "cast {:?}", expr.dtype),
                ExprKind::Select(_) | ExprKind::Access(_) => write!(text, "select"),
            };
            debug_assert!(named.is_ok(), "texts grow");
            let operands: Vec<String> = expr.children().iter().map(|child| key(child, rename, false, false)).collect();
            factors.push(format!("{text}<{}>", operands.join(";")));
        }
    }
}
