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
//! that lives. Statements that give a value to other variables go; so do counted loops and branches without a statement in them, and
//! the memory of local arrays that nothing else uses. A `while` stays, for it may be there to never end.

use crate::ir::{Arg, ArrayId, ArrayRole, Block, Callee, Expr, ExprId, Function, Stmt, VarId};
use crate::walk::{blocks, blocks_mut, exprs, visit};

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
    let mut used = vec![false; function.arrays.len()];
    body.iter().for_each(|stmt| visit(stmt, &mut |inner| arrays(inner).for_each(|array| used[array.index()] = true)));
    let is_unused = |array: &ArrayId| function.arrays[*array].role == ArrayRole::Local && !used[array.index()];
    let changed = remove(body, &|stmt| memory(stmt).is_some_and(|array| is_unused(&array)));
    let mut roots = Vec::new();
    liveness.collect(body, &mut roots);
    liveness.mark(roots);
    let is_dead = |stmt: &Stmt| match stmt {
        Stmt::For { body, .. } => is_empty(body),
        Stmt::If { then, otherwise, .. } => is_empty(then) && is_empty(otherwise),
        Stmt::Call { callee: Callee::LowerBound, result: None, .. } => true,
        stmt => fed(stmt).is_some_and(|var| !liveness.live[var.index()]),
    };
    remove(body, &is_dead) || changed
}

/// The array that a statement gives memory to, or fills, which matters to nobody if it is not used.
fn memory(stmt: &Stmt) -> Option<ArrayId> {
    match stmt {
        Stmt::Alloc { array, .. } | Stmt::Grow { array, .. } | Stmt::Fill { array, .. } => Some(*array),
        _ => None,
    }
}

/// The arrays that a statement itself uses, other than to give them memory.
pub(super) fn arrays(stmt: &Stmt) -> impl Iterator<Item = ArrayId> {
    let of_call = |arg: &Arg| match arg {
        Arg::Array(array) => Some(*array),
        Arg::Scalar(_) => None,
    };
    let used = match stmt {
        Stmt::Load { array, .. }
        | Stmt::Store { array, .. }
        | Stmt::Prefetch { array, .. }
        | Stmt::Atomic { array, .. } => vec![*array],
        Stmt::Deposit { array, parts, .. } => vec![*array, *parts],
        Stmt::Collect { array, parts, bias, .. } => [*array, *parts].into_iter().chain(*bias).collect(),
        Stmt::Call { args, .. } => args.iter().filter_map(of_call).collect(),
        _ => Vec::new(),
    };
    used.into_iter()
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

/// Removes the statements that are dead, from the innermost blocks; true if there were any.
fn remove(block: &mut Block, is_dead: &impl Fn(&Stmt) -> bool) -> bool {
    let before = block.len();
    let mut changed = false;
    block.retain_mut(|stmt| {
        for inner in blocks_mut(stmt) {
            changed |= remove(inner, is_dead);
        }
        !is_dead(stmt)
    });
    changed || block.len() != before
}

/// True if a block holds remarks at most.
fn is_empty(block: &Block) -> bool {
    block.iter().all(|stmt| matches!(stmt, Stmt::Comment(_)))
}
