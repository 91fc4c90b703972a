//! Reductions: `T(x)` is the sum, or another reduction, of `M(x, s)` over `s`.
//!
//! `T(x) = c T(x')` holds if the row of `x` has an element wherever the row of `x'` has one, and each follows from the one of the same `s`,
//! with the coefficient `c` (Ghorbani et al. 2023, Fig. 9, corrected). If no row has more than one element, the reduction renames: then the
//! elements may have different `s`. Other reductions than sums know no coefficients, and the indices that `argmin` and `argmax` find are not 0
//! where there are none.
//!
//! ```text
//! sum(t, X(t,i) * X(t,j))        (i,j) -> (j,i): for every t
//! sum(j, S(i,j))                 nothing: S(i,j) follows from S(j,i), which is in another row
//! sum(d, [d == i + 1] * x(d))    x, shifted
//! ```

use lacunar_notation::{Expr, ExprKind, Monoid, VarId};
use lacunar_sets::{Affine, Coefficient, Map, MapPiece, Piece, Set};

use super::Context;
use super::closed::{Closed, whole};

/// A reduction over variables, one after the other.
pub(super) fn projection(context: &Context<'_>, expr: &Expr) -> Option<Closed> {
    let ExprKind::Reduce(monoid, vars, term) = &expr.kind else { return None };
    let mut closed = context.infer(term)?;
    if *monoid != Monoid::SUM {
        closed = closed.with_coefficients(|coefficient| coefficient.is_one().then_some(coefficient))?;
    }
    for var in vars {
        closed = reduced(context, closed, *var)?.bounded(context)?;
    }
    if monoid.compared().is_some() {
        // The index of nothing is -1.
        let support = whole(context, &closed.vars)?;
        return Closed::new(closed.vars, support, closed.map);
    }
    Some(closed)
}

/// A target for every variable but one, and a coefficient: a map by which rows may follow from others.
#[derive(Clone, PartialEq)]
struct Candidate {
    target: Vec<Affine>,
    coefficient: Coefficient,
}

fn reduced(context: &Context<'_>, closed: Closed, var: VarId) -> Option<Closed> {
    let Some(dim) = closed.vars.iter().position(|other| *other == var) else { return Some(closed) };
    let vars: Vec<VarId> = closed.vars.iter().copied().filter(|other| *other != var).collect();
    let space = context.space(&vars);
    let rows = closed.support.project_out(&[dim])?.coalesced();
    let column = context.params.len() + dim;
    let behind = |form: &Affine| form.renumbered(|other| if other > column { other - 1 } else { other });
    let mut map = Map::empty(space.clone(), space.dims.clone());
    let single = is_single(context, &closed, dim)?;
    for candidate in candidates(&closed.map, dim) {
        let domain = if single {
            alike(&closed.map, dim, &candidate, true)?.project_out(&[dim])?
        } else {
            followers(&closed, dim, &candidate, &rows)?
        };
        let target: Vec<Affine> = candidate.target.iter().map(behind).collect::<Option<_>>()?;
        for piece in domain.pieces() {
            let part = MapPiece { domain: piece.clone(), target: target.clone(), coefficient: candidate.coefficient };
            map.add(part)?;
        }
    }
    Closed::new(vars, rows, map)
}

/// The effects of the map's pieces on all variables but one, for pieces whose targets do not need that one; the identity is left out.
fn candidates(map: &Map, dim: usize) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    for piece in map.pieces() {
        let column = piece.domain.column(dim);
        let others = piece.target.iter().enumerate().filter(|(other, _)| *other != dim);
        let target: Option<Vec<Affine>> = others.map(|(_, form)| without(form, &piece.domain, column)).collect();
        let Some(target) = target else { continue };
        let dims = (0..piece.domain.dims()).filter(|other| *other != dim);
        let stays = dims.zip(&target).all(|(other, form)| *form == Affine::variable(piece.domain.column(other)));
        let candidate = Candidate { target, coefficient: piece.coefficient };
        if !stays && !found.contains(&candidate) {
            found.push(candidate);
        }
    }
    found
}

/// A form over parameters and dimensions without a column, for which an equality of the domain may stand.
fn without(form: &Affine, domain: &Piece, column: usize) -> Option<Affine> {
    let is_good = |form: &Affine| form.factors().len() <= domain.outer() && !form.uses(column);
    if is_good(form) {
        return Some(form.clone());
    }
    let solved = domain.equalities().iter().filter(|equality| equality.factor(column).unsigned_abs() == 1).filter_map(
        |equality| {
            let value = equality.without(column).times(equality.factor(column).checked_neg()?)?;
            form.substituted(column, &value)
        },
    );
    solved.into_iter().find(is_good)
}

/// The elements that follow from the element of a candidate's row, with the same value of the reduced variable unless `anywhere`.
fn alike(map: &Map, dim: usize, candidate: &Candidate, anywhere: bool) -> Option<Set> {
    let mut found = Vec::new();
    for piece in map.pieces().iter().filter(|piece| piece.coefficient == candidate.coefficient) {
        let mut domain = piece.domain.clone();
        let others = piece.target.iter().enumerate().filter(|(other, _)| *other != dim);
        for ((_, form), wanted) in others.zip(&candidate.target) {
            domain.equal(form.minus(wanted)?);
        }
        if !anywhere {
            let at = Affine::variable(domain.column(dim));
            domain.equal(piece.target.get(dim)?.minus(&at)?);
        }
        found.push(domain);
    }
    Some(Set::of_pieces(map.space().clone(), found))
}

/// The rows that follow from a candidate's: every element does, and that row has no others.
fn followers(closed: &Closed, dim: usize, candidate: &Candidate, rows: &Set) -> Option<Set> {
    let alike = alike(&closed.map, dim, candidate, false)?;
    let unlike = closed.support.subtract(&alike)?.project_out(&[dim])?;
    let space = closed.support.space();
    let mut target = candidate.target.clone();
    target.insert(dim, Affine::variable(space.params.len() + dim));
    let columns: Vec<Affine> = (0..space.params.len()).map(Affine::variable).chain(target).collect();
    let at_target = closed.support.preimage(space.clone(), &columns)?;
    let further = at_target.subtract(&closed.support)?.project_out(&[dim])?;
    rows.subtract(&unlike)?.subtract(&further)
}

/// True if no row has two elements, for certain.
fn is_single(context: &Context<'_>, closed: &Closed, dim: usize) -> Option<bool> {
    let params = context.params.len();
    let mut space = closed.support.space().clone();
    space.dims.push("another".to_string());
    let other = Affine::variable(params + closed.vars.len());
    let identity = (0..params + closed.vars.len()).map(Affine::variable);
    let first: Vec<Affine> = identity.clone().collect();
    let second: Vec<Affine> =
        identity.enumerate().map(|(column, form)| if column == params + dim { other.clone() } else { form }).collect();
    let mut apart = space.universe();
    apart.at_least(other.minus(&Affine::variable(params + dim))?.shifted(-1)?);
    let apart = Set::of_piece(space.clone(), apart);
    let both = closed.support.preimage(space.clone(), &first)?.intersect(&closed.support.preimage(space, &second)?)?;
    Some(both.intersect(&apart)?.is_empty().is_yes())
}
