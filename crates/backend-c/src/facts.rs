//! The facts that the printer needs about a function before it prints: types, uses, and the integers that are values.
//!
//! Everything is found in time linear in the function, without recursion over expressions (which may be deep).
//!
//! **Liveness.** A variable is live if a statement with an effect reads it, directly or through other variables. Dead
//! ones are not printed: a C compiler would warn of each, and expressions and loads have no effect.
//!
//! **Index or value.** The IR's `I64` is both the type of coordinates, positions and sizes and an element type. Integer
//! arithmetic wraps; in C signed arithmetic must not overflow. Indices do not: they are bounded by the sizes of arrays
//! that exist. They are printed as `p + 1`. Arithmetic on *values* is printed as `lac_add_i64(a, b)`, which wraps in
//! any C. Values come from an `I64` parameter array, from a signed or real number cast to `I64`, or from a constant
//! beyond 32 bits, and everything computed from a value is one:
//!
//! ```text
//! let v: i64 = A_vals[p];         A_vals is a parameter: v is a value
//! t = t + v;                      so t is one: t = lac_add_i64(t, v);
//! let k: i64 = i * n + j;         counters and sizes: const int64_t k = i * n + j;
//! ```

use lacunar_formats::{DType, Kind};
use lacunar_imp::{
    Arg, ArrayId, ArrayRole, Block, Callee, Const, Expr, ExprId, Function, LoopKind, Stmt, UnaryOp, VarId, loops,
};

use crate::known::known_values;
use crate::types::integer_value;

/// Facts about one function.
#[derive(Clone, Debug)]
pub struct Facts {
    types: Vec<DType>,
    sizes: Vec<usize>,
    depths: Vec<usize>,
    constant: Vec<bool>,
    reads_mutable: Vec<bool>,
    known: Vec<Option<Const>>,
    live: Vec<bool>,
    used: Vec<bool>,
    grown: Vec<bool>,
    private: Vec<bool>,
    value_expr: Vec<bool>,
    value_array: Vec<bool>,
}

impl Facts {
    /// Finds the facts of a function that the verifier has accepted.
    pub fn of(function: &Function) -> Facts {
        let mut facts = Facts {
            types: expression_types(function),
            sizes: Vec::new(),
            depths: Vec::new(),
            constant: Vec::new(),
            reads_mutable: Vec::new(),
            known: Vec::new(),
            live: vec![false; function.vars.len()],
            used: vec![false; function.arrays.len()],
            grown: vec![false; function.arrays.len()],
            private: vec![false; function.arrays.len()],
            value_expr: Vec::new(),
            value_array: Vec::new(),
        };
        facts.describe_expressions(function);
        facts.find_live(function);
        facts.find_values(function);
        facts
    }

    /// The type of an expression.
    pub fn type_of(&self, expr: ExprId) -> DType {
        self.types[expr.index()]
    }

    /// The number of nodes of the expression, written as a tree.
    pub fn tree_size(&self, expr: ExprId) -> usize {
        self.sizes[expr.index()]
    }

    /// The depth of the expression.
    pub fn depth(&self, expr: ExprId) -> usize {
        self.depths[expr.index()]
    }

    /// The value of an integer or `Bool` expression, if constants and types say it.
    pub fn known(&self, expr: ExprId) -> Option<Const> {
        self.known[expr.index()]
    }

    /// The operands that appear in the printed expression: none of one whose value is known, and one of two
    /// alternatives where it is known which.
    pub fn printed_operands(&self, function: &Function, expr: ExprId) -> Vec<ExprId> {
        match function.exprs[expr] {
            _ if self.known(expr).is_some() => Vec::new(),
            other => match self.chosen(other) {
                Some(chosen) => vec![chosen],
                None => other.operands().collect(),
            },
        }
    }

    /// The alternative that a selection gives, where that is known.
    pub fn chosen(&self, expr: Expr) -> Option<ExprId> {
        match expr {
            Expr::Select(_, a, b) if a == b => Some(a),
            Expr::Select(condition, a, b) => self.known(condition).map(|holds| if holds.bits != 0 { a } else { b }),
            _ => None,
        }
    }

    /// True if the expression reads no variable.
    pub fn is_constant(&self, expr: ExprId) -> bool {
        self.constant[expr.index()]
    }

    /// True if the expression reads a variable that can be assigned to.
    pub fn reads_mutable(&self, expr: ExprId) -> bool {
        self.reads_mutable[expr.index()]
    }

    /// True if anything depends on the variable.
    pub fn is_live(&self, var: VarId) -> bool {
        self.live[var.index()]
    }

    /// True if a printed statement accesses the array.
    pub fn is_used(&self, array: ArrayId) -> bool {
        self.used[array.index()]
    }

    /// True if each iteration of a parallel loop has an array of its own under this name.
    pub fn is_private(&self, array: ArrayId) -> bool {
        self.private[array.index()]
    }

    /// True if the array's capacity has to be known: a statement grows it, or it is a list of parts.
    pub fn is_grown(&self, array: ArrayId) -> bool {
        self.grown[array.index()]
    }

    /// True if an `I64` expression is a value, whose arithmetic may overflow.
    pub fn is_value(&self, expr: ExprId) -> bool {
        self.value_expr[expr.index()]
    }

    /// True if an `I64` array holds values.
    pub fn holds_values(&self, array: ArrayId) -> bool {
        self.value_array[array.index()]
    }

    fn describe_expressions(&mut self, function: &Function) {
        self.known = known_values(function, &self.types);
        for (id, expr) in function.exprs.iter() {
            let operands = self.printed_operands(function, id);
            let sum = operands.iter().fold(1_usize, |sum, &a| sum.saturating_add(self.tree_size(a)));
            let depth = operands.iter().map(|&a| self.depth(a)).max().unwrap_or(0) + 1;
            let is_var = matches!(expr, Expr::Var(_));
            let constant = !is_var && operands.iter().all(|&a| self.is_constant(a));
            let own_mutable = matches!(expr, Expr::Var(var) if function.vars[*var].mutable);
            let mutable = own_mutable || operands.iter().any(|&a| self.reads_mutable(a));
            self.sizes.push(sum);
            self.depths.push(depth);
            self.constant.push(constant);
            self.reads_mutable.push(mutable);
        }
    }

    fn find_live(&mut self, function: &Function) {
        let mut definitions: Vec<Vec<ExprId>> = vec![Vec::new(); function.vars.len()];
        let mut pending = Vec::new();
        visit(&function.body, &mut |stmt| {
            match stmt {
                Stmt::Define { var, value } | Stmt::Assign { var, value } => definitions[var.index()].push(*value),
                Stmt::Load { var, index, .. } => definitions[var.index()].push(*index),
                Stmt::Call { args, result: Some(var), .. } if is_pure(stmt) => {
                    definitions[var.index()].extend(args.iter().filter_map(scalar));
                }
                _ => pending.extend(effect_operands(stmt)),
            };
        });
        let mut seen = vec![false; function.exprs.len()];
        while let Some(expr) = pending.pop() {
            if std::mem::replace(&mut seen[expr.index()], true) {
                continue;
            }
            pending.extend(self.printed_operands(function, expr));
            if let Expr::Var(var) = function.exprs[expr] {
                self.live[var.index()] = true;
                pending.extend(&definitions[var.index()]);
            }
        }
        visit(&function.body, &mut |stmt| self.note_arrays(function, stmt));
    }

    fn note_arrays(&mut self, function: &Function, stmt: &Stmt) {
        match stmt {
            Stmt::Load { var, array, .. } if self.is_live(*var) => self.used[array.index()] = true,
            Stmt::Prefetch { array, .. }
            | Stmt::Store { array, .. }
            | Stmt::Fill { array, .. }
            | Stmt::Atomic { array, .. } => {
                self.used[array.index()] = true;
            }
            Stmt::Alloc { array, .. } => {
                self.used[array.index()] = true;
                self.grown[array.index()] |= function.arrays[*array].role == ArrayRole::Parts;
            }
            Stmt::Deposit { parts, array, .. } => {
                self.used[array.index()] = true;
                self.used[parts.index()] = true;
                self.grown[parts.index()] = true;
            }
            Stmt::Collect { array, parts, bias, .. } => {
                for array in [array, parts].into_iter().chain(bias) {
                    self.used[array.index()] = true;
                    self.grown[array.index()] = true;
                }
            }
            Stmt::For { kind: LoopKind::Parallel, body, .. } => {
                loops::private_arrays(function, body).iter().for_each(|array| self.private[array.index()] = true);
            }
            Stmt::Grow { array, .. } => {
                self.used[array.index()] = true;
                self.grown[array.index()] = true;
            }
            // It reads the caller's structure, and no element.
            Stmt::Call { callee: Callee::Length, .. } => {}
            Stmt::Call { args, result, .. } if !is_pure(stmt) || result.is_some_and(|var| self.is_live(var)) => {
                for arg in args {
                    if let Arg::Array(array) = arg {
                        self.used[array.index()] = true;
                    }
                }
            }
            _ => {}
        }
    }

    /// Follows values from where they arise to all that is computed from them. Nodes: expressions, variables, arrays.
    fn find_values(&mut self, function: &Function) {
        let var_node = |var: VarId| function.exprs.len() + var.index();
        let array_node = |array: ArrayId| function.exprs.len() + function.vars.len() + array.index();
        let nodes = function.exprs.len() + function.vars.len() + function.arrays.len();
        let mut successors: Vec<Vec<usize>> = vec![Vec::new(); nodes];
        let mut pending = Vec::new();
        for (id, expr) in function.exprs.iter().filter(|(id, _)| self.type_of(*id) == DType::I64) {
            if self.is_source_of_values(id, expr) {
                pending.push(id.index());
            }
            if let Expr::Var(var) = *expr {
                successors[var_node(var)].push(id.index());
            }
            for operand in self.data_operands(function, id) {
                successors[operand.index()].push(id.index());
            }
        }
        visit(&function.body, &mut |stmt| match *stmt {
            Stmt::Define { var, value } | Stmt::Assign { var, value } => successors[value.index()].push(var_node(var)),
            Stmt::Load { var, array, .. } => successors[array_node(array)].push(var_node(var)),
            Stmt::Store { array, value, .. } | Stmt::Fill { array, value, .. } | Stmt::Atomic { array, value, .. } => {
                successors[value.index()].push(array_node(array));
            }
            Stmt::Deposit { parts, array, .. } => successors[array_node(array)].push(array_node(parts)),
            Stmt::Collect { array, parts, .. } => successors[array_node(parts)].push(array_node(array)),
            _ => {}
        });
        for (id, array) in function.arrays.iter() {
            if array.elem == DType::I64 && array.role.is_parameter() {
                pending.push(array_node(id));
            }
        }
        let mut reached = vec![false; nodes];
        while let Some(node) = pending.pop() {
            if !std::mem::replace(&mut reached[node], true) {
                pending.extend(&successors[node]);
            }
        }
        self.value_array = reached.split_off(function.exprs.len() + function.vars.len());
        reached.truncate(function.exprs.len());
        self.value_expr = reached;
    }

    fn is_source_of_values(&self, id: ExprId, expr: &Expr) -> bool {
        match (self.known(id), expr) {
            (Some(constant), _) => i32::try_from(integer_value(constant)).is_err(),
            (None, Expr::Cast(_, a)) => {
                let from = self.type_of(*a);
                from.is_float() || (from.kind() == Kind::Signed && from != DType::I64)
            }
            _ => false,
        }
    }

    /// The operands whose value becomes a part of the result; not the condition of a selection, nor the bits that are counted.
    fn data_operands(&self, function: &Function, id: ExprId) -> Vec<ExprId> {
        match function.exprs[id] {
            expr @ Expr::Select(_, a, b) if self.known(id).is_none() && self.chosen(expr).is_none() => vec![a, b],
            // No more than the number of bits.
            Expr::Word(..) | Expr::Extern(..) => Vec::new(),
            _ => self.printed_operands(function, id),
        }
    }
}

/// The types of all expressions, in the order of the arena.
pub fn expression_types(function: &Function) -> Vec<DType> {
    let mut types: Vec<DType> = Vec::with_capacity(function.exprs.len());
    for (_, expr) in function.exprs.iter() {
        types.push(match *expr {
            Expr::Const(c) => c.ty,
            Expr::Var(var) => function.vars[var].ty,
            Expr::Unary(UnaryOp::Abs | UnaryOp::Real | UnaryOp::Imag, a) => types[a.index()].part(),
            Expr::Unary(_, a) | Expr::Binary(_, a, _) | Expr::Select(_, a, _) => types[a.index()],
            Expr::Compare(..) => DType::Bool,
            Expr::Cast(ty, _) => ty,
            Expr::Word(op, ..) => op.result_type(),
            Expr::Extern(function, ..) => function.signature().result,
        });
    }
    types
}

/// True if a statement does nothing but define a variable.
pub fn is_pure(stmt: &Stmt) -> bool {
    matches!(
        stmt,
        Stmt::Define { .. } | Stmt::Assign { .. } | Stmt::Load { .. } | Stmt::Call { callee: Callee::LowerBound, .. }
    )
}

fn scalar(arg: &Arg) -> Option<ExprId> {
    match *arg {
        Arg::Scalar(expr) => Some(expr),
        Arg::Array(_) => None,
    }
}

/// The expressions that a statement with an effect evaluates itself (not in its blocks).
fn effect_operands(stmt: &Stmt) -> Vec<ExprId> {
    match *stmt {
        Stmt::Store { index, value, .. } => vec![index, value],
        Stmt::Prefetch { begin, end, .. } => vec![begin, end],
        Stmt::For { begin, end, .. } => vec![begin, end],
        Stmt::While { cond, .. } | Stmt::If { cond, .. } => vec![cond],
        Stmt::Alloc { len, .. } => vec![len],
        Stmt::Grow { count, block, .. } => vec![count, block],
        Stmt::Atomic { index, value, .. } => vec![index, value],
        Stmt::Deposit { slot, len, .. } => vec![slot, len],
        Stmt::Collect { at, .. } => vec![at],
        Stmt::Fill { begin, end, value, .. } => vec![begin, end, value],
        Stmt::Call { ref args, .. } if !is_pure(stmt) => args.iter().filter_map(scalar).collect(),
        _ => Vec::new(),
    }
}

/// Calls `see` on every statement, in the order of the text.
pub fn visit<'f>(block: &'f Block, see: &mut impl FnMut(&'f Stmt)) {
    for stmt in block {
        see(stmt);
        match stmt {
            Stmt::For { body, .. } | Stmt::While { body, .. } => visit(body, see),
            Stmt::If { then, otherwise, .. } => {
                visit(then, see);
                visit(otherwise, see);
            }
            _ => {}
        }
    }
}

/// The expressions among `roots` and below that are worth a variable of their own, operands first: those that occur
/// several times and are large, so that the text is not longer than the function; and those nested so deeply that C
/// compilers give up (some take no more than 256 parentheses).
pub fn shared_subexpressions(function: &Function, facts: &Facts, roots: &[ExprId]) -> Vec<ExprId> {
    const SMALL: usize = 12;
    const DEEP: usize = 40;
    let total = roots.iter().fold(0_usize, |sum, &root| sum.saturating_add(facts.tree_size(root)));
    if total <= 4 * SMALL {
        return Vec::new();
    }
    let mut uses = rustc_hash::FxHashMap::<ExprId, usize>::default();
    let mut pending = roots.to_vec();
    while let Some(expr) = pending.pop() {
        let count = uses.entry(expr).or_insert(0);
        *count += 1;
        if *count == 1 {
            pending.extend(facts.printed_operands(function, expr));
        }
    }
    let mut reached: Vec<ExprId> = uses.keys().copied().collect();
    reached.sort_unstable_by_key(|expr| expr.index());
    let mut shape = rustc_hash::FxHashMap::<ExprId, (usize, usize)>::default();
    let mut shared = Vec::new();
    for expr in reached {
        let below: Vec<(usize, usize)> = facts.printed_operands(function, expr).iter().map(|a| shape[a]).collect();
        let size = 1 + below.iter().map(|(size, _)| size).sum::<usize>();
        let depth = 1 + below.iter().map(|(_, depth)| *depth).max().unwrap_or(0);
        let named = (uses[&expr] > 1 && size > SMALL) || depth > DEEP;
        if named {
            shared.push(expr);
        }
        shape.insert(expr, if named { (1, 1) } else { (size, depth) });
    }
    shared
}
