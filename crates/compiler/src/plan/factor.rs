//! Factored sums: common factors of a product over the innermost loops are multiplied once, behind them.
//!
//! ```text
//! sum(k, l, B(i,k,l) * C(k,j) * D(l,j))   ->   sum(k, C(k,j) * sum(l, B(i,k,l) * D(l,j)))        order i, k, l, j
//! sum(k, A(i,j) * D(i,k) * E(j,k))        ->   A(i,j) * sum(k, D(i,k) * E(j,k))
//! ```
//!
//! SPLATT does the first for MTTKRP (Smith et al., *SPLATT: Efficient and Parallel Sparse Tensor-Matrix Multiplication*, IPDPS
//! 2015, §III). Multiplication distributes over the sum up to rounding (so not in strict kernels), for finite values, and an absent
//! factor makes either form absent. If something is added to the product, or a function of it taken, an inner sum over nothing
//! would be a 0 that meets the other factor, which may be NaN: there, nothing is factored ([`may_factor`]).

use lacunar_notation::concrete::{Assign, Kernel};
use lacunar_notation::{Access, AssignOp, Expr, ExprKind, VarId};

use crate::algebra::preserves_fill;
use crate::concretize::turn;

/// True if the sums of an expression that is assigned may be factored: nothing is computed where an operand of them is absent.
pub(super) fn may_factor(kernel: &Kernel, lhs: &Access, rhs: &Expr) -> bool {
    preserves_fill(&kernel.tensors, &Assign { lhs: lhs.clone(), op: AssignOp::Set, rhs: rhs.clone() })
}

/// The expression with sums of products factored for loops in an order, innermost variables first.
pub(super) fn factor(expr: Expr, order: &[VarId]) -> Expr {
    let expr = expr.map_children(&mut |child| factor(child, order));
    let (dtype, span) = (expr.dtype, expr.span);
    let ExprKind::Reduce(monoid, mut vars, body) = expr.kind else { return expr };
    let Some(product) = monoid.product(dtype) else {
        return Expr { kind: ExprKind::Reduce(monoid, vars, body), dtype, span };
    };
    let multiply = |a: Expr, b: Expr| Expr::binary(product, a, b, dtype);
    let factors = body.operands(product);
    // A quotient may be infinite, and infinity times a sum is not the sum of infinity times its terms.
    let plain = |factor: &&Expr| match &factor.kind {
        ExprKind::Cast(a) => matches!(a.kind, ExprKind::Access(_)),
        kind => matches!(kind, ExprKind::Access(_) | ExprKind::Literal(_)),
    };
    if !factors.iter().all(plain) {
        return Expr { kind: ExprKind::Reduce(monoid, vars, body), dtype, span };
    }
    let mut factors: Vec<Expr> = factors.into_iter().cloned().collect();
    vars.sort_by_key(|var| turn(order, *var));
    let mut pending: Vec<VarId> = Vec::new();
    while let Some(var) = vars.pop() {
        pending.push(var);
        let depends = |factor: &Expr| pending.iter().any(|var| factor.free_vars().contains(var));
        let next = vars.last().copied();
        // A factor leaves the loops over the pending variables if some further loop has it, or none.
        let leaves = factors.iter().any(|factor| !depends(factor));
        if !leaves && next.is_some() {
            continue;
        }
        let (inside, outside): (Vec<Expr>, Vec<Expr>) = factors.into_iter().partition(|factor| depends(factor));
        let mut summed = std::mem::take(&mut pending);
        summed.reverse();
        factors = outside;
        if let Some(product) = inside.into_iter().reduce(multiply) {
            let kind = ExprKind::Reduce(monoid, summed, Box::new(product));
            factors.push(Expr { kind, dtype, span });
        } else {
            // Nothing depends on these variables: their loops only repeat the value.
            let one = factors.pop();
            factors.extend(one.map(|one| Expr { kind: ExprKind::Reduce(monoid, summed, Box::new(one)), dtype, span }));
        }
    }
    factors.into_iter().reduce(multiply).unwrap_or_else(|| Expr::absent(dtype))
}
