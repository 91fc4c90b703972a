//! Makes one fill of a loop of fills that lie one behind the other, and no fill where a loop then adds to each element.
//!
//! ```text
//! for i in a .. b {
//!   fill y[(c + i) * n .. (c + i) * n + n] = 0.0;    ->    fill y[(c + min(a, b)) * n .. (c + b) * n] = 0.0;
//! }
//!
//! fill y[i * n .. i * n + n] = 0.0;
//! for k in 0 .. n vector {                                 for k in 0 .. n vector {
//!   let v: f64 = x[k];                               ->      let v: f64 = x[k];
//!   y[i * n + k] += v;                                       y[i * n + k] = 0.0 + v;
//! }                                                        }
//! ```
//!
//! A fill of many elements runs at the speed of memory, and short ones at that of calls. On entry: the fills are inside of their array, or
//! fail. On exit each element has the same value; where `a` is not below `b`, the fill is empty.

use super::simplify::rule;
use crate::ir::{BinaryOp, Block, Const, Expr, ExprId, Function, LoopKind, Stmt, VarId};
use crate::walk::{Rewriter, reads};

/// The fills in the place of a loop whose body has nothing but fills, each of which goes on where that of the iteration before ends.
pub(super) fn merged(function: &mut Function, stmt: &Stmt) -> Option<Vec<Stmt>> {
    let Stmt::For { kind: LoopKind::Serial, var, begin: first, end, ref body, .. } = *stmt else { return None };
    if body.is_empty() || !body.iter().all(|fill| goes_on(function, var, fill)) {
        return None;
    }
    let first = rule(function, Expr::Binary(BinaryOp::Min, first, end));
    let fills = body.iter().filter_map(|fill| match *fill {
        Stmt::Fill { array, begin, value, .. } => {
            let (begin, end) = (at(function, (var, first), begin), at(function, (var, end), begin));
            Some(Stmt::Fill { array, begin, end, value })
        }
        _ => None,
    });
    Some(fills.collect())
}

/// Lets a loop set the elements that it adds to, if the statements before it end with a fill of just these, which it makes needless.
pub(super) fn set_instead(function: &mut Function, before: &mut Block, stmt: &mut Stmt) {
    let Stmt::For { kind: LoopKind::Serial | LoopKind::Vector(_), var, begin, end, ref mut body, .. } = *stmt else {
        return;
    };
    let is_value = |stmt: &Stmt| matches!(stmt, Stmt::Define { .. } | Stmt::Load { .. } | Stmt::Comment(_));
    let reads_it = |stmt: &Stmt, own| matches!(*stmt, Stmt::Load { array, .. } if array == own);
    let mut others = body.iter().filter(|stmt| !is_value(stmt));
    let (Some(&Stmt::Store { array, index, value, reduce: Some(op), past }), None) = (others.next(), others.next())
    else {
        return;
    };
    let Some(place) = before.iter().rposition(|stmt| !is_value(stmt)) else { return };
    let Stmt::Fill { array: own, begin: low, end: high, value: filled } = before[place] else { return };
    let is_alone = own == array && !before[place..].iter().chain(&*body).any(|stmt| reads_it(stmt, own));
    if !is_alone || !matches!(function.exprs[filled], Expr::Const(_)) || step(function, var, index) != Some(None) {
        return;
    }
    if at(function, (var, begin), index) != low || at(function, (var, end), index) != high {
        return;
    }
    let value = rule(function, Expr::Binary(op, filled, value));
    if let Some(store) = body.iter_mut().find(|stmt| matches!(stmt, Stmt::Store { .. })) {
        *store = Stmt::Store { array, index, value, reduce: None, past };
        before.remove(place);
    }
}

/// An expression with a value in the place of a variable.
fn at(function: &mut Function, (var, value): (VarId, ExprId), expr: ExprId) -> ExprId {
    let mut rewriter = Rewriter::default();
    rewriter.values.insert(var, value);
    rewriter.expr(function, expr, &rule)
}

/// True if a statement fills so many elements in each iteration of a loop as it steps on in the next, all with one value.
fn goes_on(function: &Function, var: VarId, stmt: &Stmt) -> bool {
    let Stmt::Fill { begin, end, value, .. } = *stmt else { return false };
    let Some(step) = step(function, var, begin) else { return false };
    let one = |expr: ExprId| matches!(function.exprs[expr], Expr::Const(one) if one == Const::one(one.ty));
    let is_step = |expr: ExprId| step.map_or_else(|| one(expr), |step| step == expr);
    let is_next = match function.exprs[end] {
        Expr::Binary(BinaryOp::Add, a, b) => a == begin && is_step(b) || b == begin && is_step(a),
        _ => false,
    };
    is_next && !depends(function, var, value)
}

fn depends(function: &Function, var: VarId, expr: ExprId) -> bool {
    reads(function, expr, &|read| read == var)
}

/// The difference of an expression between one value of a variable and the next: nothing stands for 1.
fn step(function: &Function, var: VarId, expr: ExprId) -> Option<Option<ExprId>> {
    match function.exprs[expr] {
        Expr::Var(read) if read == var => Some(None),
        Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Mul), a, b) => {
            let (with, without) = match (depends(function, var, a), depends(function, var, b)) {
                (true, false) => (a, b),
                (false, true) => (b, a),
                _ => return None,
            };
            match (op, step(function, var, with)?) {
                (BinaryOp::Add, step) => Some(step),
                (_, None) => Some(Some(without)),
                (_, Some(_)) => None,
            }
        }
        _ => None,
    }
}
