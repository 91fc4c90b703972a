//! Products: `T(x) = M(y) V(z)`, where `y` and `z` may share variables.
//!
//! A point has a value where both have one, as an absent factor annihilates. Where both maps send the shared variables to the same
//! coordinates, the product follows from that of the targets, with the product of the coefficients; where they do not, it is unique
//! (Ghorbani et al. 2023, Fig. 10, corrected: their rule does not compare shared variables). Both or neither have to conjugate.
//!
//! ```text
//! S(i,j) * T(i,j), both symmetric          (i,j) -> (j,i)
//! S(i,k) * T(k,j), both symmetric          nothing: the maps move k unlike each other
//! S(i,j) * c, c a constant                 as S
//! ```

use lacunar_notation::{BinaryFn, Expr, ExprKind, VarId};
use lacunar_sets::{Affine, Map, MapPiece};

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
    let space = context.space(&vars);
    let support = m.support_over(context, &vars)?.intersect(&v.support_over(context, &vars)?)?;
    let (m_columns, v_columns) = (m.columns(context, &vars)?, v.columns(context, &vars)?);
    let shared: Vec<VarId> = m.vars.iter().copied().filter(|var| v.vars.contains(var)).collect();
    let mut map = Map::empty(space.clone(), space.dims.clone());
    for a in m.map.pieces() {
        for b in v.map.pieces().iter().filter(|b| a.coefficient.conjugate == b.coefficient.conjugate) {
            let (domain, a_target) = a.pulled(&space.universe(), &m_columns)?;
            let (mut domain, b_target) = b.pulled(&domain, &v_columns)?;
            let of = |closed: &Closed, target: &[Affine], var: VarId| {
                closed.vars.iter().position(|other| *other == var).and_then(|place| target.get(place).cloned())
            };
            for &var in &shared {
                domain.equal(of(m, &a_target, var)?.minus(&of(v, &b_target, var)?)?);
            }
            let target = vars.iter().map(|&var| of(m, &a_target, var).or_else(|| of(v, &b_target, var)));
            let coefficient = a.coefficient.times(b.coefficient)?;
            // Both conjugate or none does; then so does the product.
            let conjugate = a.coefficient.conjugate;
            let coefficient =
                lacunar_sets::Coefficient::new(coefficient.numerator(), coefficient.denominator(), conjugate)?;
            map.add_apart(MapPiece { domain, target: target.collect::<Option<_>>()?, coefficient })?;
        }
    }
    Closed::new(vars.clone(), support, map.restricted(&whole(context, &vars)?)?)
}
