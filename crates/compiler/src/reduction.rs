//! Implicit summation made explicit.
//!
//! On entry: a checked statement. On exit: the same statement in *reduction notation*: every variable on the right is
//! bound by the left-hand side or by a [`ExprKind::Reduce`], and no variable is bound twice on one path.
//!
//! The rule is per additive term. A variable `v` that does not occur on the left is summed over the smallest
//! subexpression that contains all its uses: the search starts at the whole right-hand side and goes
//! - into *each* operand of `+` and `-` that uses `v` (every term gets its own sum),
//! - through negation, `prune`, and through a conversion to a type that values are only stored in: a sum is rounded once,
//! - into the one factor of a product, or the numerator of a quotient, that alone uses `v`,
//!
//! and stops at anything else: a product of which both sides use `v`, a function call, an explicit sum.
//!
//! ```text
//! a(i) = b(i) + A(i,j) * c(j)            ->  a(i) = b(i) + sum(j, A(i,j) * c(j))
//! a(i) = 2 * ((B(i,j) + C(i,j)) * d(j))  ->  a(i) = 2 * sum(j, (B(i,j) + C(i,j)) * d(j))
//! ```
//!
//! Paper: Kjolstad et al. 2017, §3; the third reading, in which a sum goes around the whole right-hand side, would
//! count `b(i)` once for every `j`.

use lacunar_base::Arena;
use lacunar_notation::{Assignment, BinaryFn, Expr, ExprKind, IndexVar, UnaryFn, VarId};

/// Inserts the sums that a statement implies. Fresh variables go into `vars` where a sum reuses a bound name.
pub fn make_explicit(statement: &Assignment, vars: &mut Arena<IndexVar>) -> Assignment {
    let mut summed: Vec<VarId> = statement.rhs.free_vars();
    summed.retain(|var| !statement.lhs.vars.contains(var));
    let rhs = sum_over(statement.rhs.clone(), &summed).cast(statement.rhs.dtype);
    let rhs = rename_bound(rhs, &mut statement.lhs.vars.clone(), vars);
    Assignment { rhs, ..statement.clone() }
}

fn uses(expr: &Expr, var: VarId) -> bool {
    expr.free_vars().contains(&var)
}

/// The expression summed over those of `vars` that it uses, each as far inside as it goes.
fn sum_over(expr: Expr, vars: &[VarId]) -> Expr {
    let goes_inside = |var: VarId| match &expr.kind {
        ExprKind::Unary(UnaryFn::Neg | UnaryFn::Prune, _) => true,
        ExprKind::Cast(_) => expr.dtype.is_storage(),
        ExprKind::Binary(BinaryFn::Add | BinaryFn::Sub, ..) => true,
        ExprKind::Binary(BinaryFn::Mul, a, b) => uses(a, var) != uses(b, var),
        ExprKind::Binary(BinaryFn::Div, _, b) => !uses(b, var),
        _ => false,
    };
    let used: Vec<VarId> = vars.iter().copied().filter(|var| uses(&expr, *var)).collect();
    let (inside, here): (Vec<VarId>, Vec<VarId>) = used.into_iter().partition(|var| goes_inside(*var));
    let expr = if inside.is_empty() { expr } else { expr.map_children(&mut |child| sum_over(child, &inside)) };
    if here.is_empty() {
        return expr;
    }
    Expr::sum(here, expr)
}

/// Gives a summed variable a fresh name where an outer binder has the same one.
fn rename_bound(expr: Expr, bound: &mut Vec<VarId>, vars: &mut Arena<IndexVar>) -> Expr {
    let ExprKind::Reduce(op, mut reduced, body) = expr.kind else {
        return expr.map_children(&mut |child| rename_bound(child, bound, vars));
    };
    let mut body = *body;
    for var in &mut reduced {
        if bound.contains(var) {
            let base = vars[*var].clone();
            let fresh = vars.push(IndexVar { name: fresh_name(vars, &base.name), ..base });
            body = substitute_var(body, *var, fresh);
            *var = fresh;
        }
    }
    let depth = bound.len();
    bound.extend(&reduced);
    let body = rename_bound(body, bound, vars);
    bound.truncate(depth);
    Expr { kind: ExprKind::Reduce(op, reduced, Box::new(body)), ..expr }
}

/// A variable name with the given beginning that no variable has.
pub(crate) fn fresh_name(vars: &Arena<IndexVar>, base: &str) -> String {
    (2..)
        .map(|count| format!("{base}{count}"))
        .find(|name| vars.iter().all(|(_, var)| var.name != *name))
        .unwrap_or_else(|| base.to_string())
}

/// The expression with one variable in the place of another, where that is free.
pub(crate) fn substitute_var(expr: Expr, from: VarId, to: VarId) -> Expr {
    match expr.kind {
        ExprKind::Access(mut access) => {
            access.vars.iter_mut().filter(|var| **var == from).for_each(|var| *var = to);
            Expr { kind: ExprKind::Access(access), ..expr }
        }
        ExprKind::Reduce(op, reduced, body) if reduced.contains(&from) => {
            Expr { kind: ExprKind::Reduce(op, reduced, body), ..expr }
        }
        _ => expr.map_children(&mut |child| substitute_var(child, from, to)),
    }
}
