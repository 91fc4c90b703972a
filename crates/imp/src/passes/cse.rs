//! Removes loads and definitions that repeat one whose value is at hand.
//!
//! ```text
//! let x: f64 = a[i];                 let x: f64 = a[i];
//! y[i] = x;                    ->    y[i] = x;
//! let z: f64 = a[i];                 w[i] = x;
//! w[i] = z;
//! ```
//!
//! A load is at hand as long as its variable is visible and neither the array nor a variable in the index has changed; a definition
//! as long as no variable in it has. A loop's body may come after itself, so facts about variables and arrays that change anywhere
//! in a loop are forgotten at its start.

use crate::ir::{ArrayId, Block, Expr, ExprId, Function, Stmt, VarId};
use crate::walk::{Changes, Rewriter, assigned, blocks_mut, reads, written};

/// Removes repeated loads and definitions.
pub fn remove_repeated(mut function: Function) -> Function {
    let body = std::mem::take(&mut function.body);
    let mut known = Known { function: &mut function, facts: Vec::new(), rewriter: Rewriter::default() };
    let body = known.block(body);
    function.body = body;
    function
}

/// The known source of a variable's value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Element(ArrayId, ExprId),
    Value(ExprId),
}

struct Known<'a> {
    function: &'a mut Function,
    /// The values at hand, in the order of the text.
    facts: Vec<(Source, VarId)>,
    rewriter: Rewriter,
}

impl Known<'_> {
    fn block(&mut self, stmts: Block) -> Block {
        let visible: Vec<(Source, VarId)> = self.facts.clone();
        let mut kept = Block::with_capacity(stmts.len());
        for mut stmt in stmts {
            if matches!(stmt, Stmt::For { .. } | Stmt::While { .. }) {
                let changes = Changes::of(self.function, &stmt);
                self.forget(|function, source| changed(function, &changes, source));
            }
            self.rewriter.stmt(self.function, &mut stmt, &|function, expr| function.exprs.insert(expr));
            if !self.replace(&stmt) {
                self.record(&stmt);
                for inner in blocks_mut(&mut stmt) {
                    *inner = self.block(std::mem::take(inner));
                }
                kept.push(stmt);
            }
        }
        // The facts about variables of the block end with it.
        self.facts.retain(|fact| visible.contains(fact));
        kept
    }

    /// True if a statement gives a value that a variable holds already; then that variable takes its place.
    fn replace(&mut self, stmt: &Stmt) -> bool {
        let Some((source, var)) = self.source(stmt) else { return false };
        let Some(&(_, first)) = self.facts.iter().find(|(known, _)| *known == source) else { return false };
        let value = self.function.exprs.insert(Expr::Var(first));
        self.rewriter.values.insert(var, value);
        true
    }

    /// Forgets the facts that a statement itself changes, and notes the one that it gives.
    fn record(&mut self, stmt: &Stmt) {
        let arrays = written(self.function, stmt);
        let var = assigned(stmt);
        if !arrays.is_empty() || var.is_some() {
            self.forget(|function, source| {
                let (array, expr) = parts(source);
                array.is_some_and(|array| arrays.contains(&array))
                    || var.is_some_and(|var| reads(function, expr, &|read| read == var))
            });
        }
        self.facts.extend(self.source(stmt));
    }

    /// The value that a statement puts into an immutable variable.
    fn source(&self, stmt: &Stmt) -> Option<(Source, VarId)> {
        match *stmt {
            Stmt::Load { var, array, index } => Some((Source::Element(array, index), var)),
            Stmt::Define { var, value } if !self.function.vars[var].mutable && !self.is_leaf(value) => {
                Some((Source::Value(value), var))
            }
            _ => None,
        }
    }

    /// Definitions as constants and variables are the business of `simplify.rs`.
    fn is_leaf(&self, value: ExprId) -> bool {
        matches!(self.function.exprs[value], Expr::Const(_) | Expr::Var(_))
    }

    fn forget(&mut self, gone: impl Fn(&Function, Source) -> bool) {
        let function = &*self.function;
        self.facts.retain(|&(source, _)| !gone(function, source));
    }
}

fn parts(source: Source) -> (Option<ArrayId>, ExprId) {
    match source {
        Source::Element(array, index) => (Some(array), index),
        Source::Value(value) => (None, value),
    }
}

fn changed(function: &Function, changes: &Changes, source: Source) -> bool {
    let (array, expr) = parts(source);
    array.is_some_and(|array| changes.arrays[array.index()]) || changes.touch(function, expr)
}
