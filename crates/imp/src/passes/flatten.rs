//! Makes one loop of the loops over segments that lie one behind the other.
//!
//! ```text
//! for i in a .. b {                              if a < b {
//!   let begin: u32 = pos[i];                       let first: u32 = pos[a];
//!   let end: u32 = pos[i + 1];                     let last: u32 = pos[b - 1 + 1];
//!   grow crd_2[n + (end - begin)];                 let n_before: i64 = n;
//!   for p in begin .. end {                        grow crd_2[n + (last - first)];
//!     let j: u32 = crd[p];                ->       for p in first .. last {
//!     crd_2[n] = j;                                  let j: u32 = crd[p];
//!     n = n + 1;                                     crd_2[n] = j;
//!   }                                                n = n + 1;
//!   pos_2[i + 1] = u32(n);                         }
//! }                                                for i in a .. b {
//!                                                    let end: u32 = pos[i + 1];
//!                                                    pos_2[i + 1] = u32(n_before + (end - first));
//!                                                  }
//!                                                }
//! ```
//!
//! Segments of segments are one segment: of nests in nests, the positions of the inner ones are looked up at the ends of the outer one.
//!
//! ```text
//! for p in i64(b) .. i64(e) {                    first = pos_2[i64(b)];
//!   begin = pos_2[p];                            last = pos_2[i64(e)];
//!   end = pos_2[p + 1];                   ->     for q in i64(first) .. i64(last) { x[q] = 0.0; }
//!   for q in i64(begin) .. i64(end) { x[q] = 0.0; }
//! }                                              b and e being the ends of a segment, b <= e
//! ```
//!
//! Short segments cost more than their elements: each loop over one begins and ends by branches that processors foresee badly. So an
//! operation on every element of a matrix, whatever its row, is done in one loop.
//!
//! On entry: the arrays that are named ascend, as the positions of a compressed level do; the code does not say so, and this is no pass of
//! [`PASSES`](super::PASSES) therefore. Elements of a segment are taken in the same order, and every value stays the same.

use lacunar_formats::DType;

use super::simplify::{is_next, simplify};
use crate::ir::{
    Array, ArrayId, BinaryOp, Block, Callee, CompareOp, Const, Expr, ExprId, Function, LoopKind, Stmt, VarId,
};
use crate::walk::{Changes, Names, Rewriter, blocks_mut, exprs, reads, visit};

/// Makes one loop of each nest over segments of arrays that ascend.
pub fn flatten(mut function: Function, ascending: &[ArrayId]) -> Function {
    if ascending.is_empty() {
        return function;
    }
    // A loop that has one iteration, over a level with one coordinate, stands in the way, and is none.
    if function.body.iter().any(|stmt| has_single(&function, stmt)) {
        function = simplify(function);
    }
    let body = std::mem::take(&mut function.body);
    let names = Names::of(&function);
    function.body = Flattener { function: &mut function, names, ascending }.block(body);
    function
}

/// True if a statement has a loop of one iteration in it.
fn has_single(function: &Function, stmt: &Stmt) -> bool {
    let mut found = false;
    visit(stmt, &mut |inner| {
        found |= matches!(*inner, Stmt::For { begin, end, .. } if is_next(function, begin, end));
    });
    found
}

struct Flattener<'a> {
    function: &'a mut Function,
    names: Names,
    ascending: &'a [ArrayId],
}

/// A loop over segments, taken apart.
struct Nest {
    outer: VarId,
    bounds: (ExprId, ExprId),
    /// The array of positions, and the index of a segment's beginning, in terms of `outer` and of unchanged values.
    positions: (ArrayId, ExprId),
    /// The arrays in which the ends of a segment are looked up again, one after the other.
    further: Vec<ArrayId>,
    /// The variables of the beginning and the end of a segment.
    segment: (VarId, VarId),
    grown: Vec<Stmt>,
    inner: Stmt,
    /// The stores of the number that is counted, behind each segment, and its variable.
    edges: Vec<Stmt>,
    counter: Option<VarId>,
}

impl Nest {
    /// True if there is nothing but the loop in it: nothing grows, and nothing is counted.
    fn is_plain(&self) -> bool {
        self.grown.is_empty() && self.edges.is_empty()
    }
}

impl Flattener<'_> {
    fn block(&mut self, stmts: Block) -> Block {
        let mut kept = Block::with_capacity(stmts.len());
        for mut stmt in stmts {
            for inner in blocks_mut(&mut stmt) {
                *inner = self.block(std::mem::take(inner));
            }
            match self.nest(&stmt) {
                Some(nest) if nest.is_plain() && self.is_segment(&kept, nest.bounds) => kept.extend(self.flat(nest)),
                Some(nest) => {
                    let (low, high) = nest.bounds;
                    let cond = self.function.exprs.insert(Expr::Compare(CompareOp::Lt, low, high));
                    let then = self.flat(nest);
                    kept.push(Stmt::If { cond, then, otherwise: Block::new() });
                }
                None => kept.push(stmt),
            }
        }
        kept
    }

    /// A loop taken apart, if it is over segments that lie one behind the other, whose elements do not ask which one they are in.
    fn nest(&mut self, stmt: &Stmt) -> Option<Nest> {
        let Stmt::For { var: outer, begin, end, kind: LoopKind::Serial, body, .. } = stmt else { return None };
        let changes = Changes::of(self.function, stmt);
        if changes.touch(self.function, *begin) || changes.touch(self.function, *end) {
            return None;
        }
        let place = body.iter().position(|inner| matches!(inner, Stmt::For { .. }))?;
        let (before, inner, after) = (&body[..place], &body[place], &body[place + 1..]);
        let (mut defined, mut loaded, mut grown) = (Vec::new(), Vec::new(), Vec::new());
        for stmt in before {
            match *stmt {
                Stmt::Define { var, value } if !self.function.vars[var].mutable => {
                    let value = self.with(&defined, value);
                    defined.push((var, value));
                }
                Stmt::Load { var, array, index } if self.ascending.contains(&array) => {
                    let index = self.with(&defined, index);
                    loaded.push((var, array, index));
                }
                Stmt::Grow { .. } => grown.push(stmt.clone()),
                Stmt::Comment(_) => {}
                _ => return None,
            }
        }
        let [(first_begin, positions, at), (first_end, again, behind), ref others @ ..] = *loaded.as_slice() else {
            return None;
        };
        let one = self.int(1);
        let next = self.function.exprs.insert(Expr::Binary(BinaryOp::Add, at, one));
        let is_segment = positions == again && behind == next && changes.step(self.function, *outer, at) == Some(1);
        let (mut begin_var, mut end_var) = (first_begin, first_end);
        let mut further = Vec::new();
        for pair in others.chunks(2) {
            let &[(begin, array, from), (end, again, to)] = pair else { return None };
            if array != again || from != self.position(begin_var) || to != self.position(end_var) {
                return None;
            }
            (begin_var, end_var) = (begin, end);
            further.push(array);
        }
        if !is_segment || further.iter().chain([&positions]).any(|array| changes.arrays[array.index()]) {
            return None;
        }
        let loads = loaded.iter().map(|(var, ..)| *var);
        let own: Vec<VarId> = loads.chain([*outer]).chain(defined.iter().map(|(var, _)| *var)).collect();
        let counter = self.over_segment(inner, (begin_var, end_var), &own)?;
        let mut edges = Vec::new();
        for stmt in after {
            match *stmt {
                Stmt::Store { array, index, value, reduce: None, past: None } => {
                    let index = self.with(&defined, index);
                    let is_edge = self.counts(value, counter?) && changes.step(self.function, *outer, index).is_some();
                    if !is_edge || uses(inner, array) {
                        return None;
                    }
                    edges.push(Stmt::Store { array, index, value, reduce: None, past: None });
                }
                Stmt::Comment(_) => {}
                _ => return None,
            }
        }
        let grows = |stmt: &Stmt| self.grows_by(stmt, counter, (begin_var, end_var));
        if !grown.iter().all(grows) {
            return None;
        }
        let nest = Nest {
            outer: *outer,
            bounds: (*begin, *end),
            positions: (positions, at),
            further,
            segment: (begin_var, end_var),
            grown,
            inner: inner.clone(),
            edges,
            counter,
        };
        (nest.further.is_empty() || nest.is_plain()).then_some(nest)
    }

    /// True for a loop over a segment, `own` variables of the loop around being read nowhere else in it: the variable that it counts its
    /// elements by, if there is one.
    #[allow(clippy::option_option)] // No such loop; a loop that counts nothing.
    fn over_segment(&mut self, stmt: &Stmt, (begin, end): (VarId, VarId), own: &[VarId]) -> Option<Option<VarId>> {
        let Stmt::For { begin: from, end: to, kind, body, .. } = stmt else { return None };
        let [first, last] = [begin, end].map(|var| self.position(var));
        if *from != first || *to != last || *kind == LoopKind::Parallel {
            return None;
        }
        let mut is_free = true;
        for stmt in body {
            visit(stmt, &mut |inner| {
                let leaves = matches!(inner, Stmt::Break | Stmt::Fail(_) | Stmt::Grow { .. } | Stmt::Alloc { .. });
                let calls = matches!(inner, Stmt::Call { callee: Callee::Take | Callee::Length, .. });
                let own_read =
                    exprs(inner).into_iter().any(|expr| reads(self.function, expr, &|var| own.contains(&var)));
                is_free &= !leaves && !calls && !own_read;
            });
        }
        is_free.then(|| self.counter(body))
    }

    /// The variable to which every iteration of a body adds 1.
    fn counter(&self, body: &Block) -> Option<VarId> {
        let mut assigned = Vec::new();
        body.iter().for_each(|stmt| {
            visit(stmt, &mut |inner| {
                if let Stmt::Assign { var, .. } = inner {
                    assigned.push(*var);
                }
            });
        });
        body.iter().find_map(|stmt| {
            let Stmt::Assign { var, value } = *stmt else { return None };
            let Expr::Binary(BinaryOp::Add, old, step) = self.function.exprs[value] else { return None };
            let is_next = self.function.exprs[old] == Expr::Var(var) && self.is_int(step, 1);
            (is_next && assigned.iter().filter(|other| **other == var).count() == 1).then_some(var)
        })
    }

    /// True if a value is that of a variable, in some width.
    fn counts(&self, value: ExprId, counter: VarId) -> bool {
        match self.function.exprs[value] {
            Expr::Var(var) => var == counter,
            Expr::Cast(ty, value) => ty.is_integer() && self.counts(value, counter),
            _ => false,
        }
    }

    /// True for `grow a[n + (end - begin)]`, with the counted variable or one that stays the same.
    fn grows_by(&self, stmt: &Stmt, counter: Option<VarId>, (begin, end): (VarId, VarId)) -> bool {
        let Stmt::Grow { count, block, .. } = *stmt else { return false };
        let exprs = &self.function.exprs;
        let is_position = |expr: ExprId, var: VarId| match exprs[expr] {
            Expr::Cast(DType::I64, inner) => exprs[inner] == Expr::Var(var),
            found => found == Expr::Var(var),
        };
        let is_length = |expr: ExprId| matches!(exprs[expr], Expr::Binary(BinaryOp::Sub, to, from) if is_position(to, end) && is_position(from, begin));
        let is_count = |expr: ExprId| counter.is_some_and(|counter| exprs[expr] == Expr::Var(counter));
        matches!(exprs[count], Expr::Binary(BinaryOp::Add, a, b) if is_count(a) && is_length(b))
            && matches!(exprs[block], Expr::Const(_))
    }

    /// True if bounds are the ends of a segment, which statements before load: then the first is not behind the second.
    fn is_segment(&mut self, before: &Block, (low, high): (ExprId, ExprId)) -> bool {
        let one = self.int(1);
        let loads: Vec<(VarId, ArrayId, ExprId)> = before
            .iter()
            .filter_map(|stmt| match *stmt {
                Stmt::Load { var, array, index } if self.ascending.contains(&array) => Some((var, array, index)),
                _ => None,
            })
            .collect();
        loads.windows(2).any(|pair| {
            let [(begin, array, at), (end, again, behind)] = *pair else { return false };
            let next = self.function.exprs.insert(Expr::Binary(BinaryOp::Add, at, one));
            array == again && behind == next && low == self.position(begin) && high == self.position(end)
        })
    }

    /// One loop in the place of a nest, with the statements that it needs before and behind it.
    fn flat(&mut self, nest: Nest) -> Block {
        let (low, high) = nest.bounds;
        let (array, at) = nest.positions;
        let one = self.int(1);
        let from = self.with(&[(nest.outer, low)], at);
        let behind = if self.function.exprs[at] == Expr::Var(nest.outer) {
            high
        } else {
            let outermost = self.function.exprs.insert(Expr::Binary(BinaryOp::Sub, high, one));
            let last_at = self.with(&[(nest.outer, outermost)], at);
            self.function.exprs.insert(Expr::Binary(BinaryOp::Add, last_at, one))
        };
        let mut then = Block::new();
        let (mut first, mut last) = self.ends(array, (from, behind), &mut then);
        for array in nest.further {
            let ends = (self.position(first), self.position(last));
            (first, last) = self.ends(array, ends, &mut then);
        }
        let [first_value, last_value] = [first, last].map(|var| self.function.exprs.insert(Expr::Var(var)));
        let segment = [(nest.segment.0, first_value), (nest.segment.1, last_value)];
        let before = nest.counter.filter(|_| !nest.edges.is_empty()).map(|counter| {
            let name = format!("{}_before", self.function.vars[counter].name);
            let before = self.names.variable(self.function, &name, DType::I64, false);
            let value = self.function.exprs.insert(Expr::Var(counter));
            then.push(Stmt::Define { var: before, value });
            before
        });
        for mut stmt in nest.grown {
            if let Stmt::Grow { count, .. } = &mut stmt {
                *count = self.with(&segment, *count);
            }
            then.push(stmt);
        }
        let mut inner = nest.inner;
        if let Stmt::For { begin, end, .. } = &mut inner {
            (*begin, *end) = (self.position(first), self.position(last));
        }
        then.push(inner);
        if let (Some(before), Some(counter)) = (before, nest.counter) {
            let (_, end) = nest.segment;
            let index = self.function.exprs.insert(Expr::Binary(BinaryOp::Add, at, one));
            let mut body = vec![Stmt::Load { var: end, array, index }];
            let (start, position, first) =
                (self.function.exprs.insert(Expr::Var(before)), self.position(end), self.position(first));
            let length = self.function.exprs.insert(Expr::Binary(BinaryOp::Sub, position, first));
            let counted = self.function.exprs.insert(Expr::Binary(BinaryOp::Add, start, length));
            for mut stmt in nest.edges {
                if let Stmt::Store { value, .. } = &mut stmt {
                    *value = self.with(&[(counter, counted)], *value);
                }
                body.push(stmt);
            }
            then.push(Stmt::For { var: nest.outer, begin: low, end: high, loads: None, kind: LoopKind::Serial, body });
        }
        then
    }

    /// Loads the two ends of a segment: the variables that have them.
    fn ends(&mut self, array: ArrayId, (from, behind): (ExprId, ExprId), to: &mut Block) -> (VarId, VarId) {
        let Array { elem, .. } = self.function.arrays[array].clone();
        let first = self.names.variable(self.function, "first", elem, false);
        let last = self.names.variable(self.function, "last", elem, false);
        to.push(Stmt::Load { var: first, array, index: from });
        to.push(Stmt::Load { var: last, array, index: behind });
        (first, last)
    }

    /// A variable as a number of 64 bits.
    fn position(&mut self, var: VarId) -> ExprId {
        let value = self.function.exprs.insert(Expr::Var(var));
        match self.function.vars[var].ty {
            DType::I64 => value,
            _ => self.function.exprs.insert(Expr::Cast(DType::I64, value)),
        }
    }

    /// An expression with values in the place of variables.
    fn with(&mut self, values: &[(VarId, ExprId)], expr: ExprId) -> ExprId {
        let mut rewriter = Rewriter::default();
        rewriter.values.extend(values.iter().copied());
        rewriter.expr(self.function, expr, &|function, expr| function.exprs.insert(expr))
    }

    fn int(&mut self, number: i64) -> ExprId {
        self.function.exprs.insert(Expr::Const(Const::int(DType::I64, number)))
    }

    fn is_int(&self, expr: ExprId, number: i64) -> bool {
        self.function.exprs[expr] == Expr::Const(Const::int(DType::I64, number))
    }
}

/// True if a statement has to do with an array.
fn uses(stmt: &Stmt, array: ArrayId) -> bool {
    let mut used = false;
    visit(stmt, &mut |inner| {
        used |= match inner {
            Stmt::Load { array: own, .. } | Stmt::Store { array: own, .. } | Stmt::Atomic { array: own, .. } => {
                *own == array
            }
            Stmt::Fill { array: own, .. } | Stmt::Prefetch { array: own, .. } => *own == array,
            Stmt::Call { args, .. } => args.contains(&crate::ir::Arg::Array(array)),
            _ => false,
        };
    });
    used
}
