//! Products: `T(x) = M(y) V(z)`, where `y` and `z` may share variables.
//!
//! A point has a value where both have one, as an absent factor annihilates. If both maps send the shared variables to the same
//! coordinates, the product follows from that of the targets, with the product of the coefficients; if not, it is unique (Ghorbani
//! et al. 2023, Fig. 10, corrected: their rule does not compare shared variables). Both or neither have to conjugate.
//!
//! ```text
//! S(i,j) * T(i,j), both symmetric          (i,j) -> (j,i)
//! S(i,k) * T(k,j), both symmetric          nothing: the maps move k unlike each other
//! S(i,j) * c, c a constant                 as S
//! ```

use lacunar_notation::{BinaryFn, Expr, ExprKind, VarId};
use lacunar_sets::{Affine, Coefficient, Map, MapPiece};

use super::Context;
use super::closed::{Closed, together, whole};

/// The product of two expressions.
pub(super) fn product(context: &Context<'_>, expr: &Expr) -> Option<Closed> {
    let ExprKind::Binary(BinaryFn::Mul, a, b) = &expr.kind else { return None };
    multiplied(context, &context.infer(a)?, &context.infer(b)?)
}

/// The product of two values.
pub(super) fn multiplied(context: &Context<'_>, m: &Closed, v: &Closed) -> Option<Closed> {
    let vars = together(&m.vars, &v.vars);
    let support = m.support_over(context, &vars)?.intersect(&v.support_over(context, &vars)?)?;
    let map = joined(context, m, v, |a, b| {
        let conjugate = a.conjugate;
        let product = a.times(b).filter(|_| a.conjugate == b.conjugate)?;
        // Both conjugate or none does; then so does the product.
        Coefficient::new(product.numerator(), product.denominator(), conjugate)
    })?;
    Closed::new(vars, support, map)
}

/// The points that both of two maps know, whose targets have the same coordinates of shared variables, with a coefficient that comes of
/// both, if one does.
pub(super) fn joined(
    context: &Context<'_>,
    m: &Closed,
    v: &Closed,
    coefficient: impl Fn(Coefficient, Coefficient) -> Option<Coefficient>,
) -> Option<Map> {
    let vars = together(&m.vars, &v.vars);
    let space = context.space(&vars);
    let (m_columns, v_columns) = (m.columns(context, &vars)?, v.columns(context, &vars)?);
    let shared: Vec<VarId> = m.vars.iter().copied().filter(|var| v.vars.contains(var)).collect();
    let mut map = Map::empty(space.clone(), space.dims.clone());
    for a in m.map.pieces() {
        for b in v.map.pieces() {
            let Some(coefficient) = coefficient(a.coefficient, b.coefficient) else { continue };
            let (domain, a_target) = a.pulled(&space.universe(), &m_columns)?;
            let (mut domain, b_target) = b.pulled(&domain, &v_columns)?;
            let of = |closed: &Closed, target: &[Affine], var: VarId| {
                closed.vars.iter().position(|other| *other == var).and_then(|place| target.get(place).cloned())
            };
            for &var in &shared {
                domain.equal(of(m, &a_target, var)?.minus(&of(v, &b_target, var)?)?);
            }
            let target = vars.iter().map(|&var| of(m, &a_target, var).or_else(|| of(v, &b_target, var)));
            map.add_apart(MapPiece { domain, target: target.collect::<Option<_>>()?, coefficient })?;
        }
    }
    map.restricted(&whole(context, &vars)?)
}
