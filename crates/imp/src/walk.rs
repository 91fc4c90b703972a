//! Shared functions of passes and checks: walking statements, rewriting expressions, and the changes of a block.
//!
//! In `for i in 0 .. n { t = t + i; y[i] += t; }` the block changes the variables `i` and `t` and the array `y`.

use lacunar_formats::DType;

use crate::ir::{Arg, ArrayId, ArrayRole, BinaryOp, Block, Callee, Expr, ExprId, Function, Stmt, Var, VarId};

/// The number of blocks inside each other in a block, itself included.
pub(crate) fn nesting(block: &Block) -> usize {
    block.iter().flat_map(blocks).map(nesting).max().unwrap_or(0) + 1
}

/// The names that are taken in a function.
pub(crate) struct Names(rustc_hash::FxHashSet<String>);

impl Names {
    /// The names of a function.
    pub(crate) fn of(function: &Function) -> Names {
        let names = function.arrays.iter().map(|(_, array)| array.name.clone());
        Names(names.chain(function.vars.iter().map(|(_, var)| var.name.clone())).collect())
    }

    /// A new variable, with a name as wanted or one like it.
    pub(crate) fn variable(&mut self, function: &mut Function, wanted: &str, ty: DType, mutable: bool) -> VarId {
        let mut name = wanted.to_string();
        let mut count = 1;
        while !self.0.insert(name.clone()) {
            count += 1;
            name = format!("{wanted}_{count}");
        }
        function.vars.push(Var { name, ty, mutable })
    }
}

/// The blocks directly in a statement.
pub(crate) fn blocks(stmt: &Stmt) -> impl Iterator<Item = &Block> {
    let blocks = match stmt {
        Stmt::For { body, .. } | Stmt::While { body, .. } => [Some(body), None],
        Stmt::If { then, otherwise, .. } => [Some(then), Some(otherwise)],
        _ => [None, None],
    };
    blocks.into_iter().flatten()
}

/// The blocks directly in a statement, to be changed.
pub(crate) fn blocks_mut(stmt: &mut Stmt) -> impl Iterator<Item = &mut Block> {
    let blocks = match stmt {
        Stmt::For { body, .. } | Stmt::While { body, .. } => [Some(body), None],
        Stmt::If { then, otherwise, .. } => [Some(then), Some(otherwise)],
        _ => [None, None],
    };
    blocks.into_iter().flatten()
}

/// True for a statement that has no others in it, and does no more than to compute, to load and to store.
pub(crate) fn is_straight(stmt: &Stmt) -> bool {
    matches!(
        stmt,
        Stmt::Define { .. } | Stmt::Assign { .. } | Stmt::Load { .. } | Stmt::Store { .. } | Stmt::Comment(_)
    )
}

/// Looks at a statement and all in it, in the order of the text.
pub(crate) fn visit(stmt: &Stmt, look: &mut impl FnMut(&Stmt)) {
    look(stmt);
    blocks(stmt).flatten().for_each(|inner| visit(inner, look));
}

/// True if a statement of a block may leave the loop that the block is the body of.
pub(crate) fn leaves(block: &[Stmt]) -> bool {
    block.iter().any(|stmt| match stmt {
        Stmt::Break => true,
        Stmt::If { then, otherwise, .. } => leaves(then) || leaves(otherwise),
        _ => false,
    })
}

/// The expressions of a statement itself, not of the blocks in it.
pub(crate) fn exprs_mut(stmt: &mut Stmt) -> Vec<&mut ExprId> {
    match stmt {
        Stmt::Define { value, .. } | Stmt::Assign { value, .. } => vec![value],
        Stmt::Load { index, .. } => vec![index],
        Stmt::Store { index, value, past, .. } => [index, value].into_iter().chain(past).collect(),
        Stmt::Prefetch { begin, end, .. } => vec![begin, end],
        Stmt::For { begin, end, loads, .. } => [begin, end].into_iter().chain(loads).collect(),
        Stmt::While { cond, .. } | Stmt::If { cond, .. } => vec![cond],
        Stmt::Alloc { len, .. } => vec![len],
        Stmt::Grow { count, block, .. } => vec![count, block],
        Stmt::Atomic { index, value, .. } => vec![index, value],
        Stmt::Deposit { slot, len, .. } => vec![slot, len],
        Stmt::Collect { at, .. } => vec![at],
        Stmt::Fill { begin, end, value, .. } => vec![begin, end, value],
        Stmt::Call { args, .. } => args
            .iter_mut()
            .filter_map(|arg| match arg {
                Arg::Scalar(value) => Some(value),
                Arg::Array(_) => None,
            })
            .collect(),
        Stmt::Break | Stmt::Fail(_) | Stmt::Comment(_) => Vec::new(),
    }
}

/// The expressions of a statement itself, not of the blocks in it.
pub(crate) fn exprs(stmt: &Stmt) -> Vec<ExprId> {
    // The blocks are the costly part of a statement, and not needed.
    let mut head = match stmt {
        Stmt::For { var, begin, end, loads, kind, .. } => {
            Stmt::For { var: *var, begin: *begin, end: *end, loads: *loads, kind: *kind, body: Block::new() }
        }
        Stmt::While { cond, .. } => Stmt::While { cond: *cond, body: Block::new() },
        Stmt::If { cond, .. } => Stmt::If { cond: *cond, then: Block::new(), otherwise: Block::new() },
        other => other.clone(),
    };
    exprs_mut(&mut head).into_iter().map(|expr| *expr).collect()
}

/// The arrays that a statement itself may write.
pub(crate) fn written(function: &Function, stmt: &Stmt) -> Vec<ArrayId> {
    match stmt {
        Stmt::Store { array, .. }
        | Stmt::Alloc { array, .. }
        | Stmt::Fill { array, .. }
        | Stmt::Atomic { array, .. } => vec![*array],
        Stmt::Deposit { array, parts, .. } | Stmt::Collect { array, parts, .. } => vec![*array, *parts],
        Stmt::Call {
            callee: Callee::SortMarked | Callee::SortCombine | Callee::Unpack | Callee::Take, args, ..
        } => args
            .iter()
            .filter_map(|&arg| match arg {
                Arg::Array(array) if function.arrays[array].role != ArrayRole::Input => Some(array),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// The variable that a statement itself gives a value.
pub(crate) fn assigned(stmt: &Stmt) -> Option<VarId> {
    match stmt {
        Stmt::Assign { var, .. } => Some(*var),
        _ => stmt.definition(),
    }
}

/// A set of variables and arrays.
pub(crate) struct Changes {
    /// By variable.
    pub(crate) vars: Vec<bool>,
    /// By array.
    pub(crate) arrays: Vec<bool>,
}

impl Changes {
    /// The variables and arrays that a statement, with all in it, gives a value or writes.
    pub(crate) fn of(function: &Function, stmt: &Stmt) -> Changes {
        let mut changes =
            Changes { vars: vec![false; function.vars.len()], arrays: vec![false; function.arrays.len()] };
        visit(stmt, &mut |inner| {
            if let Some(var) = assigned(inner) {
                changes.vars[var.index()] = true;
            }
            for array in written(function, inner) {
                changes.arrays[array.index()] = true;
            }
        });
        changes
    }

    /// True if an expression reads a changed variable.
    pub(crate) fn touch(&self, function: &Function, expr: ExprId) -> bool {
        reads(function, expr, &|var| self.vars[var.index()])
    }

    /// The step of an index from one iteration of a loop over `outer`, which makes these changes, to the next, if it is always the same.
    pub(crate) fn step(&self, function: &Function, outer: VarId, expr: ExprId) -> Option<i64> {
        let step = |expr: ExprId| self.step(function, outer, expr);
        match function.exprs[expr] {
            Expr::Var(var) if var == outer => Some(1),
            _ if !self.touch(function, expr) => Some(0),
            Expr::Binary(BinaryOp::Add, a, b) => step(a)?.checked_add(step(b)?),
            Expr::Binary(BinaryOp::Sub, a, b) => step(a)?.checked_sub(step(b)?),
            _ => None,
        }
    }
}

/// True if an expression reads a variable that passes the test.
pub(crate) fn reads(function: &Function, expr: ExprId, test: &impl Fn(VarId) -> bool) -> bool {
    let mut seen = rustc_hash::FxHashSet::default();
    let mut rest = vec![expr];
    while let Some(id) = rest.pop() {
        match function.exprs[id] {
            Expr::Var(var) if test(var) => return true,
            inner => rest.extend(inner.operands().filter(|&operand| seen.insert(operand))),
        }
    }
    false
}

/// Rewrites expressions: puts values in the place of variables, and each expression made anew through a rule.
///
/// A variable is given a value before the first statement that reads it is rewritten, so that rewritten expressions stay right.
#[derive(Default)]
pub(crate) struct Rewriter {
    /// The expression in the place of a variable, rewritten already.
    pub(crate) values: rustc_hash::FxHashMap<VarId, ExprId>,
    done: rustc_hash::FxHashMap<ExprId, ExprId>,
}

impl Rewriter {
    /// Rewrites the expressions of a statement itself.
    pub(crate) fn stmt(
        &mut self,
        function: &mut Function,
        stmt: &mut Stmt,
        rule: &impl Fn(&mut Function, Expr) -> ExprId,
    ) {
        for expr in exprs_mut(stmt) {
            *expr = self.expr(function, *expr, rule);
        }
    }

    /// Rewrites an expression.
    pub(crate) fn expr(
        &mut self,
        function: &mut Function,
        id: ExprId,
        rule: &impl Fn(&mut Function, Expr) -> ExprId,
    ) -> ExprId {
        if let Some(&done) = self.done.get(&id) {
            return done;
        }
        let expr = match function.exprs[id] {
            Expr::Var(var) => {
                if let Some(&value) = self.values.get(&var) {
                    return value;
                }
                Expr::Var(var)
            }
            Expr::Const(constant) => Expr::Const(constant),
            Expr::Unary(op, a) => Expr::Unary(op, self.expr(function, a, rule)),
            Expr::Cast(ty, a) => Expr::Cast(ty, self.expr(function, a, rule)),
            Expr::Binary(op, a, b) => Expr::Binary(op, self.expr(function, a, rule), self.expr(function, b, rule)),
            Expr::Compare(op, a, b) => Expr::Compare(op, self.expr(function, a, rule), self.expr(function, b, rule)),
            Expr::Word(op, word, place) => {
                Expr::Word(op, self.expr(function, word, rule), self.expr(function, place, rule))
            }
            Expr::Extern(callee, a, b) => {
                let a = self.expr(function, a, rule);
                Expr::Extern(callee, a, b.map(|b| self.expr(function, b, rule)))
            }
            Expr::Select(condition, a, b) => Expr::Select(
                self.expr(function, condition, rule),
                self.expr(function, a, rule),
                self.expr(function, b, rule),
            ),
        };
        let done = rule(function, expr);
        self.done.insert(id, done);
        done
    }
}
