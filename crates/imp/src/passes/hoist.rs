//! Moves statements that do not change in loops out of them (loop-invariant code motion).
//!
//! ```text
//! for i in 0 .. n {                  let s: f64 = alpha[0];
//!   let s: f64 = alpha[0];           let base: i64 = m * 4;
//!   let base: i64 = m * 4;     ->    for i in 0 .. n {
//!   y[i + base] = s;                   y[i + base] = s;
//! }                                  }
//! ```
//!
//! Definitions have no effect and move whenever their variables are the same throughout the loop, out of branches too.
//! A loop may run not at all, and then a load in it must not be made: only loads that are certain to be inside their
//! array move, those of a constant index below the least length of an input array.

use crate::ir::{ArrayRole, Block, Expr, Function, Stmt};
use crate::walk::{Changes, blocks_mut};

/// Moves invariant definitions and loads out of loops.
pub fn hoist_invariant(mut function: Function) -> Function {
    let body = std::mem::take(&mut function.body);
    function.body = block(&function, body);
    function
}

/// Hoists in the loops of a block, the inner ones first, so that statements which leave them can go further.
fn block(function: &Function, stmts: Block) -> Block {
    let mut kept = Block::with_capacity(stmts.len());
    for mut stmt in stmts {
        for inner in blocks_mut(&mut stmt) {
            *inner = block(function, std::mem::take(inner));
        }
        let mut changes = match stmt {
            Stmt::For { .. } | Stmt::While { .. } => Changes::of(function, &stmt),
            _ => {
                kept.push(stmt);
                continue;
            }
        };
        for inner in blocks_mut(&mut stmt) {
            lift(function, &mut changes, inner, &mut kept);
        }
        kept.push(stmt);
    }
    kept
}

/// Moves invariant statements from a loop's body, and from branches in it, to the end of `before`.
fn lift(function: &Function, changes: &mut Changes, body: &mut Block, before: &mut Block) {
    let mut kept = Block::with_capacity(body.len());
    for mut stmt in std::mem::take(body) {
        if is_invariant(function, changes, &stmt) {
            // From here on the variable is one from outside of the loop.
            if let Some(var) = stmt.definition() {
                changes.vars[var.index()] = false;
            }
            before.push(stmt);
            continue;
        }
        if matches!(stmt, Stmt::If { .. }) {
            for inner in blocks_mut(&mut stmt) {
                lift(function, changes, inner, before);
            }
        }
        kept.push(stmt);
    }
    *body = kept;
}

fn is_invariant(function: &Function, changes: &Changes, stmt: &Stmt) -> bool {
    match *stmt {
        Stmt::Define { var, value } => !function.vars[var].mutable && !changes.touch(function, value),
        Stmt::Load { array, index, .. } => {
            let array = &function.arrays[array];
            let certain = matches!(function.exprs[index], Expr::Const(index) if index.bits < array.min_len);
            certain && array.role == ArrayRole::Input
        }
        _ => false,
    }
}
