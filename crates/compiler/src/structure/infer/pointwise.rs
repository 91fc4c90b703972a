//! Sums and other functions of values at a point: `T(x) = f(M(x), V(x))`.
//!
//! A point at which all operands that have a value send it to one target, with one coefficient, follows from that target, provided the
//! others have none there either. Along variables that an operand does not use, it has the same value everywhere. In sums and differences
//! any coefficient may stand before both; elsewhere it has to be 1.
//!
//! ```text
//! S(i,j) + D(i,j), symmetric and diagonal       (i,j) -> (j,i), as D has nothing at either
//! S(i,j) + U(i,j), symmetric and general        nothing
//! S(i,j) + c, symmetric and a number            (i,j) -> (j,i)
//! max(S(i,j), T(i,j)), both symmetric           (i,j) -> (j,i)
//! ```

use lacunar_notation::{BinaryFn, Expr, ExprKind};
use lacunar_sets::{Coefficient, Map, Set};

use super::Context;
use super::closed::{Closed, together, whole};
use super::product::joined;

/// A sum or a difference.
pub(super) fn sum(context: &Context<'_>, expr: &Expr) -> Option<Closed> {
    let ExprKind::Binary(BinaryFn::Add | BinaryFn::Sub, a, b) = &expr.kind else { return None };
    let (a, b) = (context.infer(a)?, context.infer(b)?);
    united(context, &a, &b)
}

/// Any function of several operands: the support is where one of them has a value, or all of the box if the function is not 0 at zeros.
pub(super) fn pointwise(context: &Context<'_>, expr: &Expr) -> Option<Closed> {
    let (operands, annihilates, keeps_zero): (Vec<&Expr>, (bool, bool), bool) = match &expr.kind {
        ExprKind::Binary(function, a, b) => (vec![a, b], function.annihilates(), keeps_zero(*function)),
        // The condition decides which of two values is taken, so that only both being 0 makes the result 0.
        ExprKind::Select(parts) => (parts.iter().collect(), (false, false), true),
        ExprKind::Apply(_, operands) => (operands.iter().collect(), (false, false), false),
        _ => return None,
    };
    let plain = |context: &Context<'_>, operand: &Expr| context.infer(operand)?.with_coefficients(only_one);
    let mut operands = operands.into_iter();
    // An absent dividend gives 0 whatever the divisor, a dividend that is computed as 0 does not where the divisor is 0.
    let divides = annihilates.0 && !annihilates.1;
    let mut found = plain(&Context { computed: context.computed || divides, ..context.clone() }, operands.next()?)?;
    for operand in operands {
        let next = plain(context, operand)?;
        let left = found.clone();
        found = united(context, &found, &next)?;
        for (annihilates, by) in [(annihilates.0, left), (annihilates.1, next)] {
            if annihilates {
                found = confined(found.clone(), &by.support_over(context, &found.vars)?)?;
            }
        }
    }
    if keeps_zero { Some(found) } else { everywhere(context, found) }
}

fn only_one(coefficient: Coefficient) -> Option<Coefficient> {
    coefficient.is_one().then_some(coefficient)
}

/// True if a function is 0 where both operands are.
fn keeps_zero(function: BinaryFn) -> bool {
    use BinaryFn as B;
    matches!(
        function,
        B::Add
            | B::Sub
            | B::Mul
            | B::Div
            | B::IntDiv
            | B::Rem
            | B::Min
            | B::Max
            | B::And
            | B::Or
            | B::Xor
            | B::Any
            | B::Ne
            | B::Lt
            | B::Gt
    )
}

/// A value with a smaller support; the elements that are taken away are 0, and the elements that followed from them follow from themselves.
fn confined(closed: Closed, to: &Set) -> Option<Closed> {
    let support = closed.support.intersect(to)?;
    let map = closed.map.restricted(&support)?;
    let map = map.restricted(&map.preimage(&support)?)?;
    Closed::new(closed.vars, support, map)
}

/// A value that is not 0 where its operands are 0: outside of their support it has one value, but its elements there are taken as
/// unique.
fn everywhere(context: &Context<'_>, closed: Closed) -> Option<Closed> {
    let support = whole(context, &closed.vars)?;
    Closed::new(closed.vars, support, closed.map)
}

/// The points of either operand.
fn united(context: &Context<'_>, m: &Closed, v: &Closed) -> Option<Closed> {
    let vars = together(&m.vars, &v.vars);
    let (m_support, v_support) = (m.support_over(context, &vars)?, v.support_over(context, &vars)?);
    let (m_map, v_map) = (m.map_over(context, &vars)?, v.map_over(context, &vars)?);
    let mut map = Map::empty(context.space(&vars), context.space(&vars).dims);
    let both = joined(context, m, v, |a, b| (a == b).then_some(a))?;
    let (only_m, only_v) = (alone(&m_map, &m_support, &v_support)?, alone(&v_map, &v_support, &m_support)?);
    for piece in both.pieces().iter().chain(only_m.pieces()).chain(only_v.pieces()) {
        map.add_apart(piece.clone())?;
    }
    let support = m_support.union(&v_support)?.coalesced();
    Closed::new(vars, support, map)
}

/// The map of one operand where the other has no value, at the point and at its target.
fn alone(map: &Map, own: &Set, other: &Set) -> Option<Map> {
    let map = map.restricted(&own.subtract(other)?)?;
    let into_other = map.preimage(other)?;
    map.restricted(&map.domain().subtract(&into_other)?)
}
