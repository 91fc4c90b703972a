//! Expressions that do not change when two variables are exchanged, up to a sign or conjugation.
//!
//! Terms, factors and the operands of other commutative functions are compared without their order. If no operand has redundancy of its
//! own, the value follows from that at the exchanged coordinates; if an exchange changes the sign, it is 0 between equal coordinates, for
//! finite values. A result that is declared symmetric is so if it does not change by the exchange of any two neighboring variables, which
//! says it without the pieces of its map ([`is_symmetric`]).
//!
//! ```text
//! A(i,j) + A(j,i)                symmetric, for any square A
//! A(i,j) - A(j,i)                skew
//! A(i,j) + conj(A(j,i))          Hermitian
//! A(i,j) * A(j,i)                symmetric
//! max(A(i,j), A(j,i))            symmetric, if it is declared
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;

use lacunar_notation::{AssignOp, Assignment, BinaryFn, Expr, ExprKind, Monoid, Structure, TensorId, UnaryFn, VarId};
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
                && let Some(coefficient) = exchanged(expr, context.structures, first, second)
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
    if !context.computed && !coefficient.conjugate && !coefficient.is_one() {
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

/// True if the value of a statement has a declared structure in which all coordinates can be exchanged, by the structures of operands.
pub(in crate::structure) fn is_symmetric(
    statement: &Assignment,
    declared: &Structure,
    structures: &BTreeMap<TensorId, Structure>,
) -> bool {
    let vars = &statement.lhs.vars;
    let is_once = (1..vars.len()).all(|place| !vars[..place].contains(&vars[place]));
    let is_exchanged =
        |pair: &[VarId]| exchanged(&statement.rhs, structures, pair[0], pair[1]).is_some_and(Coefficient::is_one);
    declared.is_symmetric() && statement.op == AssignOp::Set && is_once && vars.windows(2).all(is_exchanged)
}

/// The factor that an exchange of two variables multiplies an expression by, if it does nothing else.
fn exchanged(
    expr: &Expr,
    structures: &BTreeMap<TensorId, Structure>,
    first: VarId,
    second: VarId,
) -> Option<Coefficient> {
    let plain = Keys { structures, rename: &|var| var }.key(expr, false, false);
    let swap = |var: VarId| match var {
        var if var == first => second,
        var if var == second => first,
        var => var,
    };
    let swapped = Keys { structures, rename: &swap };
    let candidates = [(false, false), (true, false), (false, true), (true, true)];
    let is_same = |&(negative, conjugate): &(bool, bool)| swapped.key(expr, negative, conjugate) == plain;
    let (negative, conjugate) = candidates.into_iter().find(is_same)?;
    Coefficient::new(if negative { -1 } else { 1 }, 1, conjugate)
}

/// Expressions as texts.
struct Keys<'a> {
    /// Indices of symmetric tensors have no order.
    structures: &'a BTreeMap<TensorId, Structure>,
    rename: &'a dyn Fn(VarId) -> VarId,
}

impl Keys<'_> {
    /// An expression with renamed variables, perhaps negated and conjugated, as a text that does not depend on the order of terms and factors.
    fn key(&self, expr: &Expr, negative: bool, conjugate: bool) -> String {
        let mut terms = Vec::new();
        self.add_terms(expr, negative, conjugate, &mut terms);
        terms.sort();
        terms.join(" ")
    }

    /// Adds the terms of a sum, each with its sign.
    fn add_terms(&self, expr: &Expr, negative: bool, conjugate: bool, terms: &mut Vec<String>) {
        match &expr.kind {
            ExprKind::Binary(function @ (BinaryFn::Add | BinaryFn::Sub), a, b) => {
                self.add_terms(a, negative, conjugate, terms);
                self.add_terms(b, negative ^ (*function == BinaryFn::Sub), conjugate, terms);
            }
            ExprKind::Unary(UnaryFn::Neg, inner) => self.add_terms(inner, !negative, conjugate, terms),
            ExprKind::Unary(UnaryFn::Conj, inner) => self.add_terms(inner, negative, !conjugate, terms),
            _ => {
                let mut factors = Vec::new();
                let mut sign = negative;
                self.add_factors(expr, &mut sign, conjugate, &mut factors);
                factors.sort();
                terms.push(format!("{}{}", if sign { "-" } else { "+" }, factors.join("*")));
            }
        }
    }

    /// Adds the factors of a product, of which signs are taken out.
    fn add_factors(&self, expr: &Expr, negative: &mut bool, conjugate: bool, factors: &mut Vec<String>) {
        match &expr.kind {
            ExprKind::Binary(BinaryFn::Mul, a, b) => {
                self.add_factors(a, negative, conjugate, factors);
                self.add_factors(b, negative, conjugate, factors);
            }
            ExprKind::Unary(UnaryFn::Neg, inner) => {
                *negative = !*negative;
                self.add_factors(inner, negative, conjugate, factors);
            }
            ExprKind::Unary(UnaryFn::Conj, inner) => self.add_factors(inner, negative, !conjugate, factors),
            ExprKind::Binary(BinaryFn::Add | BinaryFn::Sub, ..) => {
                factors.push(format!("({})", self.key(expr, false, conjugate)));
            }
            ExprKind::Access(access) => {
                let mark = if conjugate && expr.dtype.is_complex() { "'" } else { "" };
                let mut vars: Vec<usize> = access.vars.iter().map(|var| (self.rename)(*var).index()).collect();
                if self.structures.get(&access.tensor).is_some_and(Structure::is_symmetric) {
                    vars.sort_unstable();
                }
                let vars: Vec<String> = vars.iter().map(usize::to_string).collect();
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
                let mut operands: Vec<String> =
                    expr.children().iter().map(|child| self.key(child, false, false)).collect();
                if is_commutative(kind) {
                    operands.sort_unstable();
                }
                factors.push(format!("{text}<{}>", operands.join(";")));
            }
        }
    }
}

/// True if the operands of an expression may be exchanged. `any` gives one of them, whichever.
fn is_commutative(kind: &ExprKind) -> bool {
    let function = match kind {
        ExprKind::Binary(function, ..) => *function,
        ExprKind::Apply(operator, _) => BinaryFn::User(*operator),
        _ => return false,
    };
    let is_monoid = Monoid::of(function).is_some_and(|monoid| monoid.compared().is_none());
    matches!(function, BinaryFn::Eq | BinaryFn::Ne) || (is_monoid && function != BinaryFn::Any)
}
