//! Implicit reductions made explicit.
//!
//! On entry: a checked statement. On exit: the same statement in *reduction notation*: every variable on the right is
//! bound by the left-hand side or by a [`ExprKind::Reduce`], and no variable is bound twice on one path.
//!
//! The rule is per additive term. A variable `v` that does not occur on the left is summed over the smallest
//! subexpression that contains all its uses: the search starts at the whole right-hand side and goes
//! - into *each* operand of `+` and `-` that uses `v` (every term gets its own sum),
//! - through negation, `prune`, and a conversion to a type that is only for storage: a sum is rounded once,
//! - through another conversion if it comes to a `+` or `-` there of which one operand does not use `v`: that is no part of the sum,
//! - into the one factor of a product, or the numerator of a quotient, that alone uses `v`,
//!
//! and stops at anything else: a product of which both sides use `v`, a function call, an explicit reduction.
//!
//! An assignment that combines by another monoid than the sum (`min=`) reduces its whole right-hand side by that: the rule for
//! terms is one for sums.
//!
//! ```text
//! a(i) = b(i) + A(i,j) * c(j)            ->  a(i) = b(i) + sum(j, A(i,j) * c(j))
//! a(i) = 2 * ((B(i,j) + C(i,j)) * d(j))  ->  a(i) = 2 * sum(j, (B(i,j) + C(i,j)) * d(j))
//! d(j) min= A(i,j) + s(i)                ->  d(j) min= min(i, A(i,j) + s(i))
//! r(i) = f32(b(i) - A(i,j) * x(j))       ->  r(i) = f32(b(i) - sum(j, A(i,j) * x(j)))
//! t(i) = f32(A(i,j) * x(j))              ->  t(i) = sum(j, f32(A(i,j) * x(j)))
//! ```
//!
//! Paper: Kjolstad et al. 2017, §3; the third reading, in which a sum goes around the whole right-hand side, would
//! count `b(i)` once for every `j`.

use lacunar_base::Arena;
use lacunar_formats::{DType, Scalar};
use lacunar_notation::{
    AssignOp, Assignment, BinaryFn, Expr, ExprKind, IndexVar, Literal, Monoid, Role, Tensor, UnaryFn, VarId,
};

use crate::algebra::{Background, Support, background_where, choice, gathered, is_kept, support_of};
use crate::operators::visited;

/// Inserts the reductions that a statement implies. If one reuses a bound name, it gets a fresh variable, which is added to `vars`.
pub fn make_explicit(statement: &Assignment, vars: &mut Arena<IndexVar>) -> Assignment {
    let mut summed: Vec<VarId> = statement.rhs.free_vars();
    summed.retain(|var| !statement.lhs.vars.contains(var));
    let rhs = match statement.op {
        AssignOp::Set | AssignOp::Reduce(Monoid::SUM) => sum_over(statement.rhs.clone(), &summed),
        AssignOp::Reduce(_) if summed.is_empty() => statement.rhs.clone(),
        AssignOp::Reduce(monoid) => reduce_whole(monoid, statement.rhs.clone(), summed),
    };
    let rhs = rhs.cast(statement.rhs.dtype);
    let rhs = rename_bound(rhs, &mut statement.lhs.vars.clone(), vars);
    Assignment { rhs, ..statement.clone() }
}

fn uses(expr: &Expr, var: VarId) -> bool {
    expr.free_vars().contains(&var)
}

/// True if the sum over a variable that an expression uses goes into its operands.
fn goes_inside(expr: &Expr, var: VarId) -> bool {
    match &expr.kind {
        ExprKind::Unary(UnaryFn::Neg | UnaryFn::Prune, _) => true,
        ExprKind::Cast(of) => expr.dtype.is_storage() || leaves_terms(of, var),
        ExprKind::Binary(BinaryFn::Add | BinaryFn::Sub, ..) => true,
        ExprKind::Binary(BinaryFn::Mul, a, b) => uses(a, var) != uses(b, var),
        ExprKind::Binary(BinaryFn::Div, _, b) => !uses(b, var),
        _ => false,
    }
}

/// True if the sum over a variable, at its place, leaves out operands of `+` or `-`, or if it is the operand of `prune`.
fn leaves_terms(expr: &Expr, var: VarId) -> bool {
    if matches!(expr.kind, ExprKind::Unary(UnaryFn::Prune, _)) {
        return true;
    }
    let is_sum = matches!(expr.kind, ExprKind::Binary(BinaryFn::Add | BinaryFn::Sub, ..));
    let operands = expr.children();
    goes_inside(expr, var)
        && (is_sum && operands.iter().any(|operand| !uses(operand, var))
            || operands.iter().any(|operand| uses(operand, var) && leaves_terms(operand, var)))
}

/// The expression summed over those of `vars` that it uses, each as far inside as it goes.
fn sum_over(expr: Expr, vars: &[VarId]) -> Expr {
    let used: Vec<VarId> = vars.iter().copied().filter(|var| uses(&expr, *var)).collect();
    let (inside, here): (Vec<VarId>, Vec<VarId>) = used.into_iter().partition(|var| goes_inside(&expr, *var));
    let expr = if inside.is_empty() { expr } else { expr.map_children(&mut |child| sum_over(child, &inside)) };
    if here.is_empty() {
        return expr;
    }
    Expr::sum(here, expr)
}

/// The reduction of a value over variables, which is rounded to a type for storage once.
fn reduce_whole(monoid: Monoid, expr: Expr, vars: Vec<VarId>) -> Expr {
    match expr.kind {
        ExprKind::Cast(_) if expr.dtype.is_storage() => {
            let reduced = |value: Expr| {
                let operand = monoid.operand(value.dtype);
                reduce_whole(monoid, value.cast(operand), vars.clone())
            };
            expr.map_children(&mut |value| reduced(value))
        }
        kind => Expr::reduce(monoid, vars, Expr { kind, ..expr }),
    }
}

/// Replaces the pattern of a sum by the sum of the terms' patterns: the value of a sum does not tell if it had terms.
///
/// ```text
/// f64(pattern(sum(k, A(i,k)) * 2))  ->  f64(sum(k, bool(pattern(A(i,k)))))
/// ```
pub fn with_patterns_of_terms(expr: Expr, tensors: &Arena<Tensor>) -> Expr {
    let dtype = expr.dtype;
    match expr.kind {
        ExprKind::Cast(of) if dtype == DType::Pattern && has_sum(&of) && sums_of_zeros(&of, tensors) => {
            presence(*of, tensors).cast(dtype)
        }
        // A conversion from the pattern takes the `bool` instead.
        ExprKind::Cast(of) if of.dtype == DType::Pattern => match with_patterns_of_terms(*of, tensors) {
            Expr { kind: ExprKind::Cast(of), dtype: DType::Pattern, .. } if of.dtype == DType::Bool && has_sum(&of) => {
                of.cast(dtype)
            }
            of => of.cast(dtype),
        },
        kind => Expr { kind, ..expr }.map_children(&mut |child| with_patterns_of_terms(child, tensors)),
    }
}

/// A `bool` that is true if the value of an expression does not come from fill values of tensors. Sums in it are of terms that are 0 where
/// nothing is stored, and other reductions may be of terms that are the identity there.
pub(crate) fn presence(expr: Expr, tensors: &Arena<Tensor>) -> Expr {
    presence_of(expr, tensors, true)
}

/// A `bool` that is true where something is stored of which the value of an expression is made.
pub(crate) fn presence_of_operands(expr: Expr, tensors: &Arena<Tensor>) -> Expr {
    presence_of(expr, tensors, false)
}

/// [`presence`], where a value of constants alone may be none: it is the identity of the reduction around it, and combines nothing.
fn presence_of(expr: Expr, tensors: &Arena<Tensor>, are_written_present: bool) -> Expr {
    let of = |expr: Expr| presence_of(expr, tensors, are_written_present);
    let join = |function, a: Expr, b: Expr| Expr::binary(function, of(a), of(b), DType::Bool);
    let is_written = are_written_present && rest(&expr, tensors).is_some_and(|background| !background.absent);
    match expr.kind {
        ExprKind::Reduce(monoid, vars, term) => {
            let combines = !rests_at_identity(monoid, &term, tensors);
            Expr::sum(vars, presence_of(*term, tensors, are_written_present && combines))
        }
        ExprKind::Access(_) => expr.cast(DType::Pattern).cast(DType::Bool),
        // The pattern of an expression that is not absent where its operands are is true.
        kind if is_written => Expr { kind, ..expr }.cast(DType::Pattern).cast(DType::Bool),
        ExprKind::Literal(_) => Expr { kind: ExprKind::Literal(Literal::Bool(false)), dtype: DType::Bool, ..expr },
        // Its value alone tells.
        ExprKind::Unary(UnaryFn::Prune, a) => a.cast(DType::Bool),
        ExprKind::Unary(_, a) | ExprKind::Cast(a) => of(*a),
        // An indicator says where an element lies: it is no value that multiplies the element.
        ExprKind::Binary(BinaryFn::Mul, a, b) if is_indicator(&a, tensors) => join(BinaryFn::Mul, *a, *b),
        ExprKind::Binary(function, a, b) => {
            let [left, right] = [&a, &b].map(|operand| rest(operand, tensors));
            match support_of(function, left, right).0 {
                Support::Intersection => join(BinaryFn::Mul, *a, *b),
                Support::Left => of(*a),
                Support::Right => of(*b),
                // A constant operand does not make a value present.
                Support::Union if a.accesses().is_empty() => of(*b),
                Support::Union if b.accesses().is_empty() => of(*a),
                Support::Union => join(BinaryFn::Add, *a, *b),
            }
        }
        ExprKind::Apply(operator, operands) => {
            let visited = visited(tensors, operator, &operands);
            let operand = |k: &usize| operands.get(*k).map(|operand| of(operand.clone()));
            let all = |set: &Vec<usize>| {
                let both = |a, b| Expr::binary(BinaryFn::Mul, a, b, DType::Bool);
                let always = Expr { kind: ExprKind::Literal(Literal::Bool(true)), dtype: DType::Bool, span: expr.span };
                set.iter().filter_map(operand).reduce(both).unwrap_or(always)
            };
            let demanded = visited.demanded(operands.len());
            let any = demanded.iter().map(all).reduce(|a, b| Expr::binary(BinaryFn::Add, a, b, DType::Bool));
            any.unwrap_or(Expr::zero(DType::Bool))
        }
        ExprKind::Select(operands) => {
            let chosen = choice(tensors, &operands);
            let (usual, other) = (chosen.usual.clone(), chosen.other.clone());
            let condition = of(operands[0].clone());
            let other = match chosen.is_same {
                true => Expr::binary(BinaryFn::Mul, condition, of(other), DType::Bool),
                false => condition,
            };
            Expr::binary(BinaryFn::Add, of(usual), other, DType::Bool)
        }
    }
}

fn is_indicator(expr: &Expr, tensors: &Arena<Tensor>) -> bool {
    match &expr.kind {
        ExprKind::Cast(a) => is_indicator(a, tensors),
        ExprKind::Access(access) => tensors[access.tensor].role == Role::Indicator,
        _ => false,
    }
}

fn has_sum(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Reduce(..)) || expr.children().into_iter().any(has_sum)
}

/// The value of an expression where its operands are not stored, dense ones as well: a sum over none of their elements is absent. An element
/// whose index is no variable has the fill value of its tensor.
fn rest(expr: &Expr, tensors: &Arena<Tensor>) -> Option<Background> {
    fn ungathered(expr: Expr, tensors: &Arena<Tensor>) -> Expr {
        match gathered(tensors, &expr) {
            Some((_, element)) => element.clone(),
            None => expr.map_children(&mut |child| ungathered(child, tensors)),
        }
    }
    background_where(tensors, &ungathered(expr.clone(), tensors), &|_| true)
}

/// True if the terms of every reduction in an expression combine nothing where nothing is stored. They are 0, which the reduction keeps
/// (those of tensors with other fill values are, if an index that is no variable confines them), or its identity.
pub(crate) fn sums_of_zeros(expr: &Expr, tensors: &Arena<Tensor>) -> bool {
    let is_zero = |term: &Expr| rest(term, tensors).is_some_and(|found| found.value.is_zero());
    let has_zero_fills = |expr: &Expr| expr.accesses().iter().all(|access| tensors[access.tensor].fill().is_zero());
    match &expr.kind {
        ExprKind::Reduce(..) if gathered(tensors, expr).is_some() => true,
        ExprKind::Unary(UnaryFn::Prune, a) => has_zero_fills(a),
        ExprKind::Reduce(monoid, _, term) if rests_at_identity(*monoid, term, tensors) => sums_of_zeros(term, tensors),
        // A product of zeros that are not stored is a value, though no term is present.
        ExprKind::Reduce(monoid, _, term) if !is_kept(*monoid, Scalar::zero(term.dtype)) => false,
        ExprKind::Reduce(_, _, term) if !has_zero_fills(term) && !is_zero(term) => false,
        _ => expr.children().into_iter().all(|child| sums_of_zeros(child, tensors)),
    }
}

/// True if a term is the identity of a reduction where nothing is stored, and not 0: then it is no term, be it absent or written.
///
/// ```text
/// prod(k, A(i,k) + 1)     absent in rows in which nothing is stored
/// ```
fn rests_at_identity(monoid: Monoid, term: &Expr, tensors: &Arena<Tensor>) -> bool {
    rest(term, tensors).is_some_and(|found| !found.value.is_zero() && monoid.identity(term.dtype) == Some(found.value))
}

/// Gives a summed variable a fresh name if an outer binder has the same one.
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

/// Replaces a variable by another where it is free.
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
