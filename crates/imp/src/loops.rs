//! Questions of back ends about loops: the arrays that each iteration of a parallel loop has for itself, the sums of the
//! iterations of a vector loop, and the variables that iterations hand on.
//!
//! ```
//! use lacunar_imp::{BinaryOp, Stmt, loops, parse};
//! let f = parse("kernel f(in a: f64[], n: i64) {
//!   var t: f64 = 0.0;
//!   for i in 0 .. n vector { let v: f64 = a[i]; t = t + v * v; }
//! }").unwrap();
//! let Stmt::For { body, .. } = &f.body[1] else { unreachable!() };
//! let reductions = loops::reductions(&f, body).unwrap();
//! assert_eq!((reductions.len(), reductions[0].op), (1, BinaryOp::Add));
//! ```

use crate::ir::{ArrayId, ArrayRole, BinaryOp, Block, Expr, ExprId, Function, Lanes, LoopKind, Stmt, VarId};
use crate::walk::{Changes, blocks, exprs, reads, visit};

/// The local arrays that each iteration of a parallel loop with this body has for itself: they get their memory in the
/// body, and not in a parallel loop in it, whose iterations have arrays of their own.
pub fn private_arrays(function: &Function, body: &[Stmt]) -> Vec<ArrayId> {
    let mut found = Vec::new();
    for stmt in body {
        match *stmt {
            Stmt::Alloc { array, .. } | Stmt::Grow { array, .. } | Stmt::Deposit { array, .. } => {
                if function.arrays[array].role == ArrayRole::Local {
                    found.push(array);
                }
            }
            Stmt::For { kind: LoopKind::Parallel, .. } => {}
            _ => blocks(stmt).for_each(|inner| found.extend(private_arrays(function, inner))),
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// A variable from outside of a vector loop that its body uses in statements `var = var op e` only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduction {
    /// The variable.
    pub var: VarId,
    /// The operation, which is associative.
    pub op: BinaryOp,
}

/// The reductions of a vector loop with this body, in the order of the text. `None` if the body uses a variable from
/// outside that it assigns to in another way.
pub fn reductions(function: &Function, body: &[Stmt]) -> Option<Vec<Reduction>> {
    let found = assigned_from_outside(body).map(|(var, value)| {
        let (op, _) = combination(function, var, value)?;
        Some(Reduction { var, op })
    });
    let mut reductions: Vec<Reduction> = Vec::new();
    for reduction in found {
        let reduction = reduction?;
        match reductions.iter().find(|known| known.var == reduction.var) {
            Some(known) if known.op != reduction.op => return None,
            Some(_) => {}
            None => reductions.push(reduction),
        }
    }
    let is_reduced = |var: VarId| reductions.iter().any(|reduction| reduction.var == var);
    let mut read_otherwise = false;
    for stmt in body {
        visit(stmt, &mut |stmt| {
            read_otherwise |= match *stmt {
                Stmt::Assign { var, value } if is_reduced(var) => {
                    combination(function, var, value).is_none_or(|(_, operand)| reads(function, operand, &is_reduced))
                }
                _ => exprs(stmt).into_iter().any(|expr| reads(function, expr, &is_reduced)),
            };
        });
    }
    (!read_otherwise).then_some(reductions)
}

/// True if a loop with this body may be a vector loop, as far as its statements and variables tell. The caller has to know the
/// effects of its iterations on arrays.
pub fn may_be_vector(function: &Function, body: &[Stmt]) -> bool {
    let mut fits = reductions(function, body).is_some();
    body.iter().for_each(|stmt| visit(stmt, &mut |inner| fits &= may_be_in_vector(inner)));
    fits
}

/// True if a statement may stand in a vector loop. (The blocks in it are looked at apart.)
pub(crate) fn may_be_in_vector(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Define { .. }
        | Stmt::Assign { .. }
        | Stmt::Load { .. }
        | Stmt::Store { .. }
        | Stmt::If { .. }
        | Stmt::Fill { .. }
        | Stmt::Prefetch { .. }
        | Stmt::Comment(_) => true,
        Stmt::For { kind, .. } => matches!(kind, LoopKind::Serial | LoopKind::Unrolled(_)),
        Stmt::While { .. }
        | Stmt::Break
        | Stmt::Alloc { .. }
        | Stmt::Grow { .. }
        | Stmt::Atomic { .. }
        | Stmt::Deposit { .. }
        | Stmt::Collect { .. }
        | Stmt::Call { .. }
        | Stmt::Fail(_) => false,
    }
}

/// Takes out of a body the flags that each of its iterations sets: assignments of constants, not in branches or loops, to variables
/// from outside that the body uses nowhere else. They can be set once, if the loop runs at all.
pub(crate) fn take_flags(function: &Function, body: &mut Vec<Stmt>) -> Vec<Stmt> {
    let mut ends_early = false;
    body.iter().for_each(|stmt| visit(stmt, &mut |inner| ends_early |= matches!(inner, Stmt::Break)));
    if ends_early {
        return Vec::new();
    }
    let outside: Vec<(VarId, ExprId)> = assigned_from_outside(body).collect();
    let is_flag = |stmt: &Stmt| match *stmt {
        Stmt::Assign { var, value } => {
            let uses = outside.iter().filter(|(own, _)| *own == var).count();
            let mut is_read = false;
            body.iter().for_each(|stmt| {
                visit(stmt, &mut |inner| {
                    is_read |= exprs(inner).into_iter().any(|expr| reads(function, expr, &|own| own == var));
                });
            });
            uses == 1 && !is_read && matches!(function.exprs[value], Expr::Const(_))
        }
        _ => false,
    };
    let flags: Vec<bool> = body.iter().map(is_flag).collect();
    let mut flags = flags.into_iter();
    body.extract_if(.., |_| flags.next().unwrap_or(false)).collect()
}

/// Assignments in a body to variables that it does not declare, each with its value.
pub fn assigned_from_outside(body: &[Stmt]) -> impl Iterator<Item = (VarId, ExprId)> {
    let (mut declared, mut assigned) = (rustc_hash::FxHashSet::default(), Vec::new());
    for stmt in body {
        visit(stmt, &mut |stmt| {
            declared.extend(stmt.definition());
            if let Stmt::Assign { var, value } = *stmt {
                assigned.push((var, value));
            }
        });
    }
    assigned.into_iter().filter(move |(var, _)| !declared.contains(var))
}

/// True if some vector loop of a function gathers scattered elements ([`Lanes::scattered`]).
pub fn gather_scattered(function: &Function) -> bool {
    any(function, |kind, _, _| matches!(kind, LoopKind::Vector(Lanes { scattered: true, .. })))
}

/// True if a condition on the kind, the counter and the body holds for some `for` loop of a function.
pub fn any(function: &Function, mut is_such: impl FnMut(LoopKind, VarId, &Block) -> bool) -> bool {
    let mut found = false;
    function.body.iter().for_each(|stmt| {
        visit(stmt, &mut |stmt| {
            if let Stmt::For { kind, var, body, .. } = stmt {
                found = found || is_such(*kind, *var, body);
            }
        });
    });
    found
}

/// The operation and operand of a value `var op operand`, if the operation is associative.
pub(crate) fn combination(function: &Function, var: VarId, value: ExprId) -> Option<(BinaryOp, ExprId)> {
    match function.exprs[value] {
        Expr::Binary(op, left, right) if op.is_associative() && function.exprs[left] == Expr::Var(var) => {
            Some((op, right))
        }
        _ => None,
    }
}

/// The elements that the iterations of a vector loop combine with: arrays stored with an associative operation at an
/// index that is the same throughout the loop, `stmt`.
pub fn reduced_elements(function: &Function, stmt: &Stmt) -> Vec<(ArrayId, ExprId, BinaryOp)> {
    let changes = Changes::of(function, stmt);
    let mut found = Vec::new();
    visit(stmt, &mut |inner| {
        if let Stmt::Store { array, index, reduce: Some(op), .. } = *inner
            && op.is_associative()
            && !changes.touch(function, index)
        {
            found.push((array, index, op));
        }
    });
    found
}
