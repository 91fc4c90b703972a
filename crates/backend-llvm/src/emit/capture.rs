//! The captures of a block: the variables and arrays from outside that it uses, and the variables that it declares.

use lacunar_imp::{Arg, ArrayId, Block, Expr, ExprId, Function, Stmt, VarId};

/// The variables and arrays that a block uses, each in the order of the text and once.
pub(super) struct Uses {
    /// Variables that it reads or assigns to.
    pub(super) vars: Vec<VarId>,
    /// Variables that it declares, counters and results of loads and calls included.
    pub(super) declared: Vec<VarId>,
    pub(super) arrays: Vec<ArrayId>,
}

impl Uses {
    /// Collects the uses of a block.
    pub(super) fn of(function: &Function, block: &Block) -> Uses {
        let mut walk = Walk {
            function,
            exprs: vec![false; function.exprs.len()],
            vars: vec![false; function.vars.len()],
            arrays: vec![false; function.arrays.len()],
            uses: Uses { vars: Vec::new(), declared: Vec::new(), arrays: Vec::new() },
        };
        walk.block(block);
        walk.uses
    }

    /// The variables that come from outside.
    pub(super) fn captured(&self) -> impl Iterator<Item = VarId> {
        self.vars.iter().copied().filter(|var| !self.declared.contains(var))
    }
}

struct Walk<'f> {
    function: &'f Function,
    /// By expression, variable, array: true if it has been seen.
    exprs: Vec<bool>,
    vars: Vec<bool>,
    arrays: Vec<bool>,
    uses: Uses,
}

impl Walk<'_> {
    fn block(&mut self, block: &Block) {
        block.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match *stmt {
            Stmt::Define { var, value } => {
                self.uses.declared.push(var);
                self.exprs(&[value]);
            }
            Stmt::Assign { var, value } => {
                self.var(var);
                self.exprs(&[value]);
            }
            Stmt::Load { var, array, index } => {
                self.uses.declared.push(var);
                self.arrays(&[array]);
                self.exprs(&[index]);
            }
            Stmt::Store { array, index, value, past, .. } => {
                self.arrays(&[array]);
                self.exprs(&[index, value]);
                self.exprs(past.as_slice());
            }
            Stmt::Atomic { array, index, value, .. } => {
                self.arrays(&[array]);
                self.exprs(&[index, value]);
            }
            Stmt::Prefetch { array, begin, end } => {
                self.arrays(&[array]);
                self.exprs(&[begin, end]);
            }
            Stmt::For { var, begin, end, loads, ref body, .. } => {
                self.uses.declared.push(var);
                self.exprs(&[begin, end]);
                self.exprs(loads.as_slice());
                self.block(body);
            }
            Stmt::While { cond, ref body } => {
                self.exprs(&[cond]);
                self.block(body);
            }
            Stmt::If { cond, ref then, ref otherwise } => {
                self.exprs(&[cond]);
                self.block(then);
                self.block(otherwise);
            }
            Stmt::Alloc { array, len, .. } => {
                self.arrays(&[array]);
                self.exprs(&[len]);
            }
            Stmt::Grow { array, count, block, .. } => {
                self.arrays(&[array]);
                self.exprs(&[count, block]);
            }
            Stmt::Deposit { parts, slot, array, len } => {
                self.arrays(&[parts, array]);
                self.exprs(&[slot, len]);
            }
            Stmt::Collect { array, at, parts, bias, result } => {
                self.uses.declared.push(result);
                self.arrays(&[array, parts]);
                self.arrays(bias.as_slice());
                self.exprs(&[at]);
            }
            Stmt::Fill { array, begin, end, value } => {
                self.arrays(&[array]);
                self.exprs(&[begin, end, value]);
            }
            Stmt::Call { ref args, result, .. } => {
                self.uses.declared.extend(result);
                for &arg in args {
                    match arg {
                        Arg::Array(array) => self.arrays(&[array]),
                        Arg::Scalar(value) => self.exprs(&[value]),
                    }
                }
            }
            Stmt::Break | Stmt::Fail(_) | Stmt::Comment(_) => {}
        }
    }

    fn arrays(&mut self, arrays: &[ArrayId]) {
        for &array in arrays {
            if !std::mem::replace(&mut self.arrays[array.index()], true) {
                self.uses.arrays.push(array);
            }
        }
    }

    fn var(&mut self, var: VarId) {
        if !std::mem::replace(&mut self.vars[var.index()], true) {
            self.uses.vars.push(var);
        }
    }

    fn exprs(&mut self, exprs: &[ExprId]) {
        let mut pending = exprs.to_vec();
        while let Some(expr) = pending.pop() {
            if !std::mem::replace(&mut self.exprs[expr.index()], true) {
                match self.function.exprs[expr] {
                    Expr::Var(var) => self.var(var),
                    other => pending.extend(other.operands()),
                }
            }
        }
    }
}
