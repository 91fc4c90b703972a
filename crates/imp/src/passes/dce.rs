//! Removes statements that nothing depends on (dead code elimination).
//!
//! ```text
//! let x: f64 = a[i];
//! let z: f64 = x * x;          ->    y[i] = 1.0;
//! for j in 0 .. n { }
//! y[i] = 1.0;
//! ```
//!
//! A variable lives if a store, a bound, a condition, a size or a call reads it, or a definition, assignment or load of a variable
//! that lives. Statements that give a value to other variables go; so do counted loops and branches without a statement in them. A
//! `while` stays, for it may be there to never end.

use crate::ir::{Block, Callee, Expr, ExprId, Function, Stmt, VarId};
use crate::walk::{blocks, blocks_mut, exprs};

/// Removes unused definitions, assignments and loads, and empty loops and branches.
pub fn remove_dead(mut function: Function) -> Function {
    let mut body = std::mem::take(&mut function.body);
    // A branch that goes may take the last reader of a variable with it.
    while sweep(&function, &mut body) {}
    function.body = body;
    function
}

/// Removes dead statements; true if there were any.
fn sweep(function: &Function, body: &mut Block) -> bool {
    let mut liveness =
        Liveness { function, live: vec![false; function.vars.len()], feeds: vec![Vec::new(); function.vars.len()] };
    let mut roots = Vec::new();
    liveness.collect(body, &mut roots);
    liveness.mark(roots);
    remove(body, &liveness.live)
}

struct Liveness<'a> {
    function: &'a Function,
    /// By variable.
    live: Vec<bool>,
    /// By variable: the expressions that its value comes from.
    feeds: Vec<Vec<ExprId>>,
}

impl Liveness<'_> {
    /// Sorts expressions into those that feed a variable and those that something else depends on.
    fn collect(&mut self, block: &Block, roots: &mut Vec<ExprId>) {
        for stmt in block {
            match fed(stmt) {
                Some(var) => self.feeds[var.index()].extend(exprs(stmt)),
                None => roots.extend(exprs(stmt)),
            }
            blocks(stmt).for_each(|inner| self.collect(inner, roots));
        }
    }

    /// Marks the variables in expressions, and those that feed them.
    fn mark(&mut self, mut rest: Vec<ExprId>) {
        let mut seen = vec![false; self.function.exprs.len()];
        while let Some(expr) = rest.pop() {
            if std::mem::replace(&mut seen[expr.index()], true) {
                continue;
            }
            match self.function.exprs[expr] {
                Expr::Var(var) => {
                    self.live[var.index()] = true;
                    rest.append(&mut self.feeds[var.index()]);
                }
                inner => rest.extend(inner.operands()),
            }
        }
    }
}

/// The variable that a statement gives a value, if that is all it does.
fn fed(stmt: &Stmt) -> Option<VarId> {
    match *stmt {
        Stmt::Define { var, .. } | Stmt::Assign { var, .. } | Stmt::Load { var, .. } => Some(var),
        Stmt::Call { callee: Callee::LowerBound, result, .. } => result,
        _ => None,
    }
}

fn remove(block: &mut Block, live: &[bool]) -> bool {
    let before = block.len();
    let mut changed = false;
    block.retain_mut(|stmt| {
        for inner in blocks_mut(stmt) {
            changed |= remove(inner, live);
        }
        match stmt {
            Stmt::For { body, .. } => !is_empty(body),
            Stmt::If { then, otherwise, .. } => !(is_empty(then) && is_empty(otherwise)),
            Stmt::Call { callee: Callee::LowerBound, result: None, .. } => false,
            stmt => fed(stmt).is_none_or(|var| live[var.index()]),
        }
    });
    changed || block.len() != before
}

/// True if a block holds remarks at most.
fn is_empty(block: &Block) -> bool {
    block.iter().all(|stmt| matches!(stmt, Stmt::Comment(_)))
}
