//! Constants, accesses and comparisons: the sources of structure.
//!
//! ```text
//! C(i,j) = A(i,j) * (i <= j)        upper: the comparison is 0 below the diagonal
//! ```
//!
//! An access `A(i,i)` with a variable in two places has the points of the diagonal; a point whose target does not lie there is its own.

use lacunar_formats::{DType, Kind};
use lacunar_notation::{Access, BinaryFn, Equation, Expr, ExprKind, Indicator, Literal, Role, Structure, VarId};
use lacunar_sets::{Affine, Coefficient, Map, MapPiece, Set};

use super::Context;
use super::closed::{Closed, whole};
use crate::comparisons;

/// A constant is a value without coordinates, which has no support if it is absent, or is 0 and values that are computed do not count
/// ([`Context::computed`]).
pub(super) fn constant(context: &Context<'_>, expr: &Expr) -> Option<Closed> {
    let ExprKind::Literal(literal) = expr.kind else { return None };
    let none = !context.computed;
    let is_zero = match literal {
        Literal::Bool(value) => none && !value,
        Literal::Int(value) => none && value == 0,
        Literal::Float(value) => none && value == 0.0,
        Literal::Absent => true,
        Literal::Fill(value) => value.is_zero(),
    };
    let mut closed = Closed::general(context, Vec::new())?;
    if is_zero {
        closed.support = Set::empty(context.space(&[]));
        closed.map = Map::empty(context.space(&[]), Vec::new());
    }
    Some(closed)
}

/// An access has the structure of its tensor, which is declared, or that of an equation or an inequality.
pub(super) fn access(context: &Context<'_>, expr: &Expr) -> Option<Closed> {
    let ExprKind::Access(access) = &expr.kind else { return None };
    let tensor = &context.tensors[access.tensor];
    if !tensor.fill().is_zero() {
        return None;
    }
    match (tensor.role, tensor.indicator.as_deref()) {
        (Role::Indicator, Some(Indicator::Equation(equation))) => return compared(context, access, equation, true),
        (Role::Indicator, Some(Indicator::Inequality(inequality))) => {
            return compared(context, access, &inequality.border, false);
        }
        _ => {}
    }
    let structure = context.structures.get(&access.tensor)?;
    (structure.order() == access.vars.len()).then_some(())?;
    structured(context, access, structure, tensor.dtype)
}

/// The points at which the sum of an equation is 0, or at least 0.
fn compared(context: &Context<'_>, access: &Access, equation: &Equation, equal: bool) -> Option<Closed> {
    let terms: Vec<(VarId, i64)> = access.vars.iter().copied().zip(equation.factors.iter().copied()).collect();
    let closed = Closed::general(context, access.vars.clone())?;
    let points = points_of(context, &closed, (&terms, equation.constant), equal)?;
    within(closed, &points)
}

/// A comparison of two sums of variables is 0 where it does not hold.
pub(super) fn comparison(context: &Context<'_>, expr: &Expr) -> Option<Closed> {
    let ExprKind::Binary(function, a, b) = &expr.kind else { return None };
    let closed = Closed::general(context, expr.free_vars())?;
    let of = |function: BinaryFn| {
        let (sum, equal) = comparisons::compared(context.tensors, function, a, b)?;
        points_of(context, &closed, sum.parts(), equal)
    };
    let points = match function {
        BinaryFn::Ne => of(BinaryFn::Lt)?.union(&of(BinaryFn::Gt)?)?,
        _ => of(*function)?,
    };
    within(closed, &points)
}

/// The points at which a sum of variables times numbers, and a number, is 0, if that is asked, or else at least 0.
fn points_of(
    context: &Context<'_>,
    closed: &Closed,
    (terms, constant): (&[(VarId, i64)], i64),
    equal: bool,
) -> Option<Set> {
    let mut form = Affine::constant(constant);
    for (var, factor) in terms {
        form = form.combined(1, &columns_of(context, closed, *var)?, *factor)?;
    }
    let space = context.space(&closed.vars);
    let mut piece = space.universe();
    if equal {
        piece.equal(form);
    } else {
        piece.at_least(form);
    }
    Some(Set::of_piece(space, piece))
}

/// A value that is 0 outside of a set, in which every element is its own.
fn within(mut closed: Closed, points: &Set) -> Option<Closed> {
    closed.support = closed.support.intersect(points)?;
    closed.map = Map::identity(&closed.support)?;
    Some(closed)
}

/// The column of a variable, as a form.
fn columns_of(context: &Context<'_>, closed: &Closed, var: VarId) -> Option<Affine> {
    let dim = closed.vars.iter().position(|other| *other == var)?;
    Some(Affine::variable(context.params.len() + dim))
}

fn structured(context: &Context<'_>, access: &Access, structure: &Structure, dtype: DType) -> Option<Closed> {
    let general = Closed::general(context, access.vars.clone())?;
    let vars = general.vars.clone();
    let space = context.space(&vars);
    let mut columns = Vec::new();
    for (param, name) in structure.space().params.iter().enumerate() {
        let number = match access.vars.get(param) {
            Some(var) => context.size(*var)?,
            None => context.params.iter().position(|other| other == name)?,
        };
        columns.push(Affine::variable(number));
    }
    for var in &access.vars {
        columns.push(columns_of(context, &general, *var)?);
    }
    let support = structure.support()?.preimage(space.clone(), &columns)?.intersect(&whole(context, &vars)?)?;
    let mut map = Map::empty(space.clone(), space.dims.clone());
    for piece in structure.redundancy().pieces() {
        let Some(coefficient) = usable(piece.coefficient, dtype) else { continue };
        let (mut domain, own) = piece.pulled(&space.universe(), &columns)?;
        let mut target: Vec<Option<Affine>> = vec![None; vars.len()];
        for (form, var) in own.iter().zip(&access.vars) {
            let slot = vars.iter().position(|other| other == var).and_then(|dim| target.get_mut(dim))?;
            match slot {
                Some(first) => domain.equal(first.minus(form)?),
                None => *slot = Some(form.clone()),
            }
        }
        map.add_apart(MapPiece { domain, target: target.into_iter().collect::<Option<_>>()?, coefficient })?;
    }
    Closed::new(vars, support.coalesced(), map.restricted(&whole(context, &general.vars)?)?)
}

/// A coefficient as values of a type have it: real numbers are their own conjugates, and truth values and natural numbers have no sign.
fn usable(coefficient: Coefficient, dtype: DType) -> Option<Coefficient> {
    let number = Coefficient::new(coefficient.numerator(), coefficient.denominator(), false)?;
    match dtype {
        _ if dtype.is_complex() => Some(coefficient),
        _ if dtype.is_float() || number.is_one() => Some(number),
        // An integer times a fraction would be rounded.
        _ if dtype.kind() == Kind::Signed => (number.denominator() == 1).then_some(number),
        _ => None,
    }
}
