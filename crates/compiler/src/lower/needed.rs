//! Reductions that are skipped: a condition, known before the loops of a reduction, tells that its value changes nothing.
//!
//! ```text
//! y(j) = (v(j) == 0) * or(i, B(i,j) * f(i))      if v_vals[j] == 0 { the loop over i }
//! y(j) = select(v(j) > 1, sum(i, B(i,j)), 0)     if v_vals[j] > 1 { the loop over i }
//! ```
//!
//! On entry: the consumer and the workspace of a `where` of order 0, in the scope around it. The consumer is not changed: if the
//! condition fails, the workspace has its initial value, which a product with 0 and a selection of the other operand hide. A product
//! of real numbers might (0 times infinity), so only those of integers and truth values count. Only conditions that are cheap beside
//! a loop are looked at: comparisons and truth values of operands that have a place there.

use lacunar_base::Diagnostic;
use lacunar_formats::{DType, Scalar};
use lacunar_imp::{CompareOp, ExprId};
use lacunar_notation::concrete::{Assign, Stmt};
use lacunar_notation::{BinaryFn, Expr, ExprKind, Role, TensorId, UnaryFn};

use super::compute::expr;
use super::scope::Scope;
use super::{Lowerer, Phase};
use crate::algebra::selected;

/// The condition under which a consumer needs the value that a producer puts into a workspace; `None` if it always may.
///
/// # Errors
/// An operand of the condition has no place in the scope.
pub(super) fn condition(
    cx: &mut Lowerer<'_>,
    consumer: &Stmt,
    workspace: TensorId,
    scope: &Scope,
) -> Result<Option<ExprId>, Diagnostic> {
    match consumer {
        // A phase that finds the pattern alone computes no values.
        _ if cx.options.phase == Phase::Assemble => Ok(None),
        Stmt::Assign(assign)
            if cx.kernel.tensors[workspace].order() == 0 && !is_asked(cx, assign, workspace, scope) =>
        {
            of_expr(cx, &assign.rhs, workspace, scope)
        }
        _ => Ok(None),
    }
}

/// True if the result stores an element where the workspace was given something, whatever it was: that is known only when the loops have
/// been. A product that is stored where it is no zero does not show it.
fn is_asked(cx: &Lowerer<'_>, assign: &Assign, workspace: TensorId, scope: &Scope) -> bool {
    let target = &cx.kernel.tensors[assign.lhs.tensor];
    let mut chooses = false;
    assign.rhs.visit(&mut |part| chooses |= matches!(part.kind, ExprKind::Select(_)));
    let is_pruned = selected(&cx.kernel.tensors, assign).is_some() && target.fill().is_zero() && !chooses;
    scope.sink(workspace).and_then(|sink| sink.given()).is_some() && !is_pruned
}

fn of_expr(cx: &mut Lowerer<'_>, of: &Expr, workspace: TensorId, scope: &Scope) -> Result<Option<ExprId>, Diagnostic> {
    let reads = |part: &Expr| part.accesses().iter().any(|access| access.tensor == workspace);
    match &of.kind {
        ExprKind::Cast(a) | ExprKind::Unary(UnaryFn::Prune, a) => of_expr(cx, a, workspace, scope),
        ExprKind::Binary(BinaryFn::Mul, a, b) if of.dtype.is_integer() || of.dtype == DType::Bool => {
            let (inside, factor) = if reads(a) { (a, b) } else { (b, a) };
            let inner = of_expr(cx, inside, workspace, scope)?;
            if reads(factor) || !is_cheap(cx, factor) {
                return Ok(inner);
            }
            let value = expr(cx, factor, scope)?;
            let zero = cx.b.constant(Scalar::zero(cx.b.type_of(value)));
            let own = cx.b.compare(CompareOp::Ne, value, zero);
            Ok(Some(both(cx, own, inner)))
        }
        ExprKind::Select(operands) => {
            let [chosen, a, b] = &**operands;
            if reads(chosen) || reads(b) || !is_cheap(cx, chosen) {
                return Ok(None);
            }
            let inner = of_expr(cx, a, workspace, scope)?;
            let value = expr(cx, chosen, scope)?;
            let zero = cx.b.constant(Scalar::zero(cx.b.type_of(value)));
            let own = cx.b.compare(CompareOp::Ne, value, zero);
            Ok(Some(both(cx, own, inner)))
        }
        _ => Ok(None),
    }
}

fn both(cx: &mut Lowerer<'_>, own: ExprId, inner: Option<ExprId>) -> ExprId {
    inner.map_or(own, |inner| cx.b.and(own, inner))
}

/// True of a condition that takes a few instructions: a comparison or a truth value of dense operands and of numbers.
fn is_cheap(cx: &Lowerer<'_>, of: &Expr) -> bool {
    let is_placed = |tensor: TensorId| {
        let tensor = &cx.kernel.tensors[tensor];
        let is_operand = !matches!(tensor.role, Role::Workspace(_)) && tensor.indicator.is_none();
        is_operand && tensor.format.is_dense()
    };
    let accesses = of.accesses();
    tells(of) && !accesses.is_empty() && accesses.iter().all(|access| is_placed(access.tensor))
}

/// True of comparisons and accesses of truth values, and products of these.
fn tells(of: &Expr) -> bool {
    match &of.kind {
        ExprKind::Cast(a) => tells(a),
        ExprKind::Access(_) => of.dtype == DType::Bool,
        ExprKind::Unary(UnaryFn::Not, _) => true,
        ExprKind::Binary(function, a, b) => {
            function.is_comparison() || *function == BinaryFn::Mul && tells(a) && tells(b)
        }
        _ => false,
    }
}
