//! Makes one fill of a loop of fills that lie one behind the other, one of a fill that is copied, and none where a loop then adds to each
//! element.
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
//!
//! fill w[0 .. n] = 0.0;
//! for k in 0 .. n { let v: f64 = w[k]; y[m + k] = v; }     ->    fill y[m .. m + n] = 0.0;
//! ```
//!
//! A fill of many elements runs at the speed of memory, and short ones at that of calls. On entry: the fills are inside of their array, or
//! fail. On exit each element has the same value; where `a` is not below `b`, the fill is empty.

use super::dce::arrays;
use super::simplify::rule;
use crate::ir::{ArrayId, ArrayRole, BinaryOp, Block, Const, Expr, ExprId, Function, LoopKind, Stmt, VarId};
use crate::walk::{Rewriter, blocks, blocks_mut, reads, visit};

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

/// The fill in the place of a loop that copies what the statements before it end with a fill of.
pub(super) fn copied(function: &mut Function, before: &[Stmt], stmt: &Stmt) -> Option<Stmt> {
    let Stmt::For { kind: LoopKind::Serial | LoopKind::Vector(_), var, begin, end, ref body, .. } = *stmt else {
        return None;
    };
    let mut copying = body.iter().filter(|stmt| !matches!(stmt, Stmt::Comment(_)));
    let (Some(&Stmt::Load { var: value, array: from, index: own }), Some(store), None) =
        (copying.next(), copying.next(), copying.next())
    else {
        return None;
    };
    let Stmt::Store { array, index, value: stored, reduce: None, .. } = *store else { return None };
    let is_passed = |stmt: &&Stmt| matches!(stmt, Stmt::Define { .. } | Stmt::Load { .. } | Stmt::Comment(_));
    let Some(&Stmt::Fill { array: filled, begin: low, end: high, value: held }) =
        before.iter().rev().find(|stmt| !is_passed(stmt))
    else {
        return None;
    };
    let is_copy = filled == from
        && array != from
        && function.exprs[stored] == Expr::Var(value)
        && function.arrays[array].elem == function.arrays[from].elem
        && matches!(function.exprs[held], Expr::Const(_))
        && [own, index].into_iter().all(|index| step(function, var, index) == Some(None));
    if !is_copy || at(function, (var, begin), own) != low || at(function, (var, end), own) != high {
        return None;
    }
    let first = at(function, (var, begin), index);
    // A length that is told lets fills be merged.
    let is_zero = matches!(function.exprs[low], Expr::Const(low) if low.bits == 0);
    let last = match is_zero {
        true => rule(function, Expr::Binary(BinaryOp::Add, first, high)),
        false => at(function, (var, end), index),
    };
    Some(Stmt::Fill { array, begin: first, end: last, value: held })
}

/// Drops fills of local arrays of which nothing is read before another fill of the same elements; true if there were any.
pub(super) fn drop_needless(function: &mut Function) -> bool {
    let mut dropped = false;
    let locals: Vec<ArrayId> =
        function.arrays.iter().filter(|(_, array)| array.role == ArrayRole::Local).map(|(id, _)| id).collect();
    let mut body = std::mem::take(&mut function.body);
    // A range of variables from inside of loops is another one each time.
    let mut changing: Vec<bool> = function.vars.iter().map(|(_, var)| var.mutable).collect();
    body.iter().flat_map(blocks).flatten().for_each(|stmt| {
        visit(stmt, &mut |inner| {
            let own = inner.definition().into_iter().chain(counter(inner));
            own.for_each(|var| changing[var.index()] = true);
        });
    });
    body.iter().filter_map(counter).for_each(|var| changing[var.index()] = true);
    for array in locals {
        let (mut fills, mut grows) = (Vec::new(), false);
        body.iter().for_each(|stmt| {
            visit(stmt, &mut |inner| match *inner {
                Stmt::Fill { array: own, begin, end, .. } if own == array => fills.push((begin, end)),
                Stmt::Grow { array: own, .. } => grows |= own == array,
                _ => {}
            });
        });
        let is_steady = |expr: ExprId| !reads(function, expr, &|var| changing[var.index()]);
        // From the last on, so that the numbers of the others stay.
        for number in (0..fills.len()).rev() {
            let range = fills[number];
            let is_left = |left: usize| left > 1 && !grows && is_steady(range.0) && is_steady(range.1);
            if is_left(fills.len()) && !part(&body, (array, range), number, &mut 0).is_used {
                drop_fill(&mut body, array, number, &mut 0);
                fills.remove(number);
                dropped = true;
            }
        }
    }
    function.body = body;
    dropped
}

/// The variable that a loop counts up.
fn counter(stmt: &Stmt) -> Option<VarId> {
    match stmt {
        Stmt::For { var, .. } => Some(*var),
        _ => None,
    }
}

/// The part that a fill has in a block.
#[derive(Clone, Copy, Default)]
struct Part {
    /// True if the fill is in it.
    is_inside: bool,
    /// True if elements are used that the fill may have set, or that stand there before the block.
    is_used: bool,
}

/// The part of fill number `of` of a range of an array in a block.
fn part(block: &[Stmt], (array, range): (ArrayId, (ExprId, ExprId)), of: usize, met: &mut usize) -> Part {
    // All elements of the range were set by other fills.
    let (mut is_filled, mut found) = (false, Part::default());
    for stmt in block {
        if let Stmt::Fill { array: own, begin, end, .. } = *stmt {
            if own == array {
                found.is_inside |= *met == of;
                is_filled = *met != of && (is_filled || (begin, end) == range);
                *met += 1;
            }
            continue;
        }
        found.is_used |= !is_filled && arrays(stmt).any(|own| own == array);
        for inner in blocks(stmt) {
            let own = part(inner, (array, range), of, met);
            found.is_used |= own.is_used && (!is_filled || own.is_inside);
            found.is_inside |= own.is_inside;
            is_filled &= !own.is_inside;
        }
    }
    found
}

/// Drops a fill of an array by its number.
fn drop_fill(block: &mut Block, array: ArrayId, number: usize, met: &mut usize) {
    block.retain_mut(|stmt| {
        if matches!(*stmt, Stmt::Fill { array: own, .. } if own == array) {
            *met += 1;
            return *met - 1 != number;
        }
        blocks_mut(stmt).for_each(|inner| drop_fill(inner, array, number, met));
        true
    });
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
