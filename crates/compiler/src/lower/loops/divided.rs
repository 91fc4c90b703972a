//! Loops that are divided where a condition of coordinates begins to hold, or ends: in each part it is a constant.
//!
//! ```text
//! y(j) += select(j > i, A(i,j) * x(i), 0)      A: csr, whose coordinates ascend
//!   border = A2_pos[i]
//!   while border < A2_pos[i+1] { if A2_crd[border] > i { break }  border += 1 }   here the condition is false
//!   for p in border .. A2_pos[i+1] { y_vals[j] += A_vals[p] * x_vals[i] }         here it is true
//! ```
//!
//! The border of a loop over all coordinates of an interval is computed. Among positions, it is looked for from the end at which the condition is false, step by step, so that finding it takes no longer than the loop over
//! that part. A condition that ends to hold divides a loop from behind, and the part in which it is false is gone through in order
//! afterwards. If a tensor stores its unique elements alone, these may tell that the part has one element at most: then the loop over it is
//! a branch.
//!
//! ```text
//! y(i) = A(i,j) * x(j)      A: csr, symmetric, i <= j stored      if border < A2_pos[i+1] { if A2_crd[border] <= i { ..  border += 1 } }
//! ```
//!
//! ```text
//! C(j,i) += select(j > i, A(i,j) * x(i), 0)      A: dense, a loop over i      for i in 0 .. min(j, m) { C_vals[j * n + i] += .. }
//! ```
//!
//! On entry: an innermost serial loop over coordinates, or over an ordered level, led by its iterator alone. Conditions are comparisons of
//! sums of variables that select values.

use lacunar_base::{Arena, Diagnostic};
use lacunar_formats::DType;
use lacunar_imp::{BinaryOp, CompareOp, ExprId, LoopKind, UnaryOp};
use lacunar_notation::concrete::Stmt;
use lacunar_notation::{BinaryFn, Expr, ExprKind, Literal, Role, Tensor, VarId};

use super::here::Loop;
use crate::comparisons::{Sum, compared};
use crate::iterate::lattice::Point;
use crate::levels::At;
use crate::lower::compute::expr;
use crate::lower::derive::coordinate;
use crate::lower::scope::{Fact, Interval};
use crate::lower::storage::level;
use crate::lower::{Lowerer, iter, unique};

/// A condition that divides a loop.
pub(super) struct Division {
    condition: Expr,
    /// The sum that it says to be at least 0.
    sum: Sum,
    /// True if it holds from some coordinate on, false if up to one.
    rises: bool,
}

/// Positions at which it is known if the condition holds.
pub(super) enum Part {
    /// One.
    At(ExprId),
    /// All of an interval.
    Between(Interval),
}

/// Emits the loop, with another body, at some positions.
pub(super) type Emit<'e> = dyn FnMut(&mut Lowerer<'_>, &Loop<'_>, Part) -> Result<(), Diagnostic> + 'e;

/// The condition that a loop over the positions of iterator `k` is divided by, if there is one.
pub(super) fn division(cx: &Lowerer<'_>, l: &Loop<'_>, k: usize) -> Option<Division> {
    let iterator = &l.lattice.iterators[k];
    let tensor = &cx.kernel.tensors[iterator.access.tensor];
    let properties = tensor.format.levels().get(iterator.level)?.properties();
    let is_alone = l.lattice.points == [Point::of([k])];
    // The list of a workspace is sorted only where somebody demands that.
    let is_in_order = properties.ordered && !tensor.role.is_listed();
    (is_in_order && is_alone).then(|| of_loop(cx, l))?
}

/// The condition that a loop over coordinates is divided by, if there is one. Where it fails, the loop adds 0 to what is there: one that sets
/// values would have to set these as well.
pub(super) fn of_coordinates(cx: &Lowerer<'_>, l: &Loop<'_>) -> Option<Division> {
    let mut adds = true;
    l.body.visit_assigns(&mut |assign| {
        let dtype = assign.rhs.dtype;
        adds &= assign.op.monoid().is_some_and(|monoid| monoid.begins_at_zero(dtype));
    });
    of_loop(cx, l).filter(|division| adds && division.sum.factor_of(l.var).abs() == 1)
}

/// The first condition that selects a value in a loop and changes once at most, if nothing else is inside of the loop.
fn of_loop(cx: &Lowerer<'_>, l: &Loop<'_>) -> Option<Division> {
    let is_serial = matches!(l.kind(cx), LoopKind::Serial | LoopKind::Unrolled(_));
    let is_innermost = match l.body {
        Stmt::Assign(_) => true,
        Stmt::Sequence(stmts) => stmts.iter().all(|stmt| matches!(stmt, Stmt::Assign(_))),
        _ => false,
    };
    if !(is_serial && is_innermost) {
        return None;
    }
    let mut found = None;
    l.body.visit_assigns(&mut |assign| {
        assign.rhs.visit(&mut |part| {
            if let ExprKind::Select(operands) = &part.kind {
                found = found.take().or_else(|| monotone(&cx.kernel.tensors, l.var, &operands[0]));
            }
        });
    });
    found
}

/// The first comparison of a condition that changes once at most as a variable goes up.
fn monotone(tensors: &Arena<Tensor>, var: VarId, condition: &Expr) -> Option<Division> {
    let ExprKind::Binary(function, a, b) = &condition.kind else { return None };
    if *function == BinaryFn::And {
        return monotone(tensors, var, a).or_else(|| monotone(tensors, var, b));
    }
    let (sum, is_equation) = compared(tensors, *function, a, b)?;
    let factor = sum.factor_of(var);
    (!is_equation && factor != 0).then(|| Division { condition: condition.clone(), sum, rises: factor > 0 })
}

/// The loop over an interval of coordinates, in two parts, which `emit` emits.
pub(super) fn over(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    (begin, end): Interval,
    division: &Division,
    emit: &mut impl FnMut(&mut Lowerer<'_>, &Loop<'_>, Interval) -> Result<(), Diagnostic>,
) -> Result<(), Diagnostic> {
    let (terms, constant) = division.sum.parts();
    let mut rest = cx.b.int(constant);
    for &(var, factor) in terms.iter().filter(|(var, _)| *var != l.var) {
        let (value, factor) = (coordinate(cx, var, l.scope)?, cx.b.int(factor));
        let term = cx.b.mul(value, factor);
        rest = cx.b.add(rest, term);
    }
    let (zero, one) = (cx.b.int(0), cx.b.int(1));
    let border = if division.rises { cx.b.sub(zero, rest) } else { cx.b.add(rest, one) };
    let border = cx.b.binary(BinaryOp::Max, border, begin);
    let border = cx.b.binary(BinaryOp::Min, border, end);
    let border = cx.b.define("border", border);
    let parts = [(division.rises, (border, end)), (!division.rises, (begin, border))];
    let [after, before] = parts
        .map(|(holds, interval)| (decided(&cx.kernel.tensors, l.body.clone(), &division.condition, holds), interval));
    for (body, interval) in [before, after] {
        if !is_nothing(&body) {
            emit(cx, &Loop { body: &body, ..*l }, interval)?;
        }
    }
    Ok(())
}

/// True if a statement does nothing.
fn is_nothing(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Sequence(stmts) if stmts.iter().all(is_nothing))
}

/// The loop over some positions, in two parts, which `emit` emits.
pub(super) fn emit(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    k: usize,
    (begin, end): Interval,
    division: &Division,
    emit: &mut Emit<'_>,
) -> Result<(), Diagnostic> {
    let how = if division.rises { "begins" } else { "ceases" };
    cx.say(l.scope, &format!("divided where a condition {how} to hold"));
    let one = cx.b.int(1);
    let with = |cx: &Lowerer<'_>, holds| decided(&cx.kernel.tensors, l.body.clone(), &division.condition, holds);
    let (failing, holding) = (with(cx, false), with(cx, true));
    let is_single = unique::fails_once(cx.kernel, &l.lattice.iterators[k].access, l.var, &division.sum);
    let border = cx.b.declare("border", if division.rises { begin } else { end });
    let here = cx.b.var(border);
    if division.rises {
        let is_left = cx.b.compare(CompareOp::Lt, here, end);
        while_failing(cx, l, k, (is_left, here), (division, is_single), |cx| {
            emit(cx, &Loop { body: &failing, ..*l }, Part::At(here))?;
            let next = cx.b.add(here, one);
            cx.b.assign(border, next);
            Ok(())
        })?;
        return emit(cx, &Loop { body: &holding, ..*l }, Part::Between((here, end)));
    }
    let is_left = cx.b.compare(CompareOp::Gt, here, begin);
    let before = cx.b.sub(here, one);
    while_failing(cx, l, k, (is_left, before), (division, is_single), |cx| {
        cx.b.assign(border, before);
        Ok(())
    })?;
    emit(cx, &Loop { body: &holding, ..*l }, Part::Between((begin, here)))?;
    emit(cx, &Loop { body: &failing, ..*l }, Part::Between((here, end)))
}

/// Takes steps while some are left and the condition fails at a position of iterator `k`; one step, if it can fail once only.
fn while_failing(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    k: usize,
    (is_left, position): (ExprId, ExprId),
    (division, is_single): (&Division, bool),
    step: impl FnOnce(&mut Lowerer<'_>) -> Result<(), Diagnostic>,
) -> Result<(), Diagnostic> {
    if is_single {
        return cx.when(is_left, |cx| {
            let holds = holds_at(cx, l, k, position, division)?;
            let fails = cx.b.unary(UnaryOp::Not, holds);
            cx.when(fails, step)
        });
    }
    cx.repeat(is_left, |cx| {
        let holds = holds_at(cx, l, k, position, division)?;
        cx.when(holds, |cx| cx.b.push(lacunar_imp::Stmt::Break));
        step(cx)
    })
}

/// The condition at a position of iterator `k`.
fn holds_at(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    k: usize,
    position: ExprId,
    division: &Division,
) -> Result<ExprId, Diagnostic> {
    let iterator = &l.lattice.iterators[k];
    let at = At { parent: iter::parent(cx, iterator, l.scope)?, position, state: None };
    let code = level(cx, &iterator.access, iterator.level, l.scope)?;
    let coordinate = code.coordinate(&mut cx.b, &cx.kernel.vars[l.var].name, at);
    expr(cx, &division.condition, &l.scope.with(Fact::Value(l.var, coordinate)))
}

/// A statement where it is known if a condition holds, without additions of nothing to a dense result.
fn decided(tensors: &Arena<Tensor>, stmt: Stmt, condition: &Expr, holds: bool) -> Stmt {
    match stmt {
        Stmt::Sequence(stmts) => {
            Stmt::Sequence(stmts.into_iter().map(|stmt| decided(tensors, stmt, condition, holds)).collect())
        }
        Stmt::Assign(mut assign) => {
            assign.rhs = chosen(assign.rhs, condition, holds);
            let result = &tensors[assign.lhs.tensor];
            let is_dense = result.role == Role::Result && result.format.is_dense();
            let dtype = assign.rhs.dtype;
            let adds = assign.op.monoid().is_some_and(|monoid| monoid.begins_at_zero(dtype));
            let adds_nothing = adds && assign.rhs.kind == Expr::zero(dtype).kind;
            if is_dense && adds_nothing { Stmt::default() } else { Stmt::Assign(assign) }
        }
        stmt => stmt,
    }
}

/// An expression where it is known if a condition holds.
fn chosen(expr: Expr, condition: &Expr, holds: bool) -> Expr {
    if expr == *condition {
        return truth(holds);
    }
    let expr = expr.map_children(&mut |child| chosen(child, condition, holds));
    match expr.kind {
        ExprKind::Binary(BinaryFn::And, a, b) => match (truth_of(&a), truth_of(&b)) {
            (Some(true), _) => *b,
            (_, Some(true)) => *a,
            (Some(false), _) | (_, Some(false)) => truth(false),
            (None, None) => Expr { kind: ExprKind::Binary(BinaryFn::And, a, b), ..expr },
        },
        ExprKind::Select(operands) => match truth_of(&operands[0]) {
            Some(is_first) => {
                let [_, a, b] = *operands;
                if is_first { a } else { b }
            }
            None => Expr { kind: ExprKind::Select(operands), ..expr },
        },
        kind => Expr { kind, ..expr },
    }
}

fn truth(value: bool) -> Expr {
    Expr::new(ExprKind::Literal(Literal::Bool(value)), DType::Bool)
}

fn truth_of(expr: &Expr) -> Option<bool> {
    match expr.kind {
        ExprKind::Literal(Literal::Bool(value)) => Some(value),
        _ => None,
    }
}
