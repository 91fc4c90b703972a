//! Leaves loops whose reductions have come to a value that nothing changes any more (early exit).
//!
//! ```text
//! for i in 0 .. n {                  for i in 0 .. n {
//!   for p in b .. e {                  for p in b .. e {
//!     let v: bool = a[p];                let v: bool = a[p];
//!     t = t | v;               ->        t = t | v;
//!   }                                    if t { break; }
//! }                                    }
//!                                      if t { break; }
//!                                    }
//! ```
//!
//! A *region* is a piece of a block, a loop and perhaps statements behind it, that does nothing but give values to variables. Some
//! of these, its *accumulators*, are read behind it; all others are not, and begin in its block. Each assignment to an accumulator in
//! the region leaves it as it is under one condition, which speaks of the accumulator alone: `t = t | v` under `t`, `t = select(t != 0,
//! t, v)` under `t != 0`, `t = 3` under `t == 3`. As soon as the conditions of all accumulators hold, the region is *done*: the rest of
//! it changes nothing. So its loops are left, and statements that stand behind a loop and read a variable that the loop would have
//! moved on are passed over:
//!
//! ```text
//! while p < p_end && q < q_end { .. t = t | v; p = p + 1; .. }      while p < p_end && q < q_end { ..  if t { break; } }
//! for r in p .. p_end { t = t | a[r]; }                        ->   if !t { for r in p .. p_end { ..  if t { break; } } }
//! ```
//!
//! A vector loop cannot be left. It is cut into strips, behind each of which there is a test, shorter ones where it gathers:
//!
//! ```text
//! for p in b .. e vector { .. }   ->   var p_at: i64 = b;
//!                                      while p_at < e {
//!                                        for p in p_at .. p_at + min(e - p_at, 1024) vector { .. }
//!                                        p_at = p_at + min(e - p_at, 1024);
//!                                        if t { break; }
//!                                      }
//! ```
//!
//! Loops of a few iterations keep their form, as do those whose terminal value is one of so many that it hardly comes: the greatest
//! number of 32 bits.
//!
//! Paper: Davis, *SuiteSparse:GraphBLAS* (TOMS 2019), §4.3 (terminal values of monoids).

use lacunar_formats::DType;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ir::{BinaryOp, Block, Callee, CompareOp, Const, Expr, ExprId, Function, LoopKind, Stmt, UnaryOp, VarId};
use crate::loops::{assigned_from_outside, combination};
use crate::verify::{MAX_EXPR_DEPTH, MAX_NESTING, expr_depths};
use crate::walk::{Names, blocks, blocks_mut, exprs, leaves, nesting, visit};

/// The iterations of a vector loop between two tests.
const STRIP: i64 = 1024;
/// The same of a loop that gathers, whose iterations take as long as many others.
const GATHERED: i64 = 64;
/// A loop of at most so many iterations is not left.
const FEW: i64 = 4;
/// The most accumulators that are asked together.
const MOST: usize = 8;

/// Leaves the loops of reductions as soon as these are done.
pub fn leave_early(mut function: Function) -> Function {
    // A strip makes two blocks more, and a condition a few operations; leave room for both.
    let too_deep = expr_depths(&function).into_iter().any(|depth| depth as usize + 2 * MOST > MAX_EXPR_DEPTH as usize);
    if too_deep || nesting(&function.body) * 3 > MAX_NESTING {
        return function;
    }
    let body = std::mem::take(&mut function.body);
    let mut reads = vec![0; function.vars.len()];
    body.iter().for_each(|stmt| count_reads(&function, stmt, &mut reads));
    let names = Names::of(&function);
    function.body = Leaver { function: &mut function, names, reads }.block(body);
    function
}

/// The variables for whose sake loops of a function are left, in the order of the text.
///
/// ```
/// let f = lacunar_imp::parse("kernel f(in a: bool[], out y: bool[], n: i64) {
///   var t: bool = false;
///   for i in 0 .. n { let v: bool = a[i]; t = t | v; }
///   y[0] = t;
/// }").unwrap();
/// let f = lacunar_imp::optimize(lacunar_imp::verify(f).unwrap(), &mut Default::default()).unwrap();
/// let names: Vec<&str> = lacunar_imp::passes::left_early(&f).into_iter().map(|var| f.vars[var].name.as_str()).collect();
/// assert_eq!(names, ["t"]);
/// ```
pub fn left_early(function: &Function) -> Vec<VarId> {
    let mut tested: Vec<(Stmt, ExprId)> = Vec::new();
    for stmt in &function.body {
        visit(stmt, &mut |stmt| {
            let (Stmt::For { body, .. } | Stmt::While { body, .. }) = stmt else { return };
            if let Some(&Stmt::If { cond, ref then, .. }) = body.last()
                && then.as_slice() == [Stmt::Break]
            {
                tested.push((stmt.clone(), cond));
            }
        });
    }
    if tested.is_empty() {
        return Vec::new();
    }
    let (mut found, mut scratch, mut seen) = (Vec::new(), function.clone(), FxHashSet::default());
    for (stmt, cond) in tested {
        let kept = kept_values(&mut scratch, std::slice::from_ref(&stmt));
        let asked = variables(function, cond);
        if asked.iter().all(|var| matches!(kept.get(var), Some(Some(_)))) {
            found.extend(asked);
        }
    }
    found.retain(|var| seen.insert(*var));
    found
}

struct Leaver<'a> {
    function: &'a mut Function,
    names: Names,
    /// By variable: the number of statements of the function that read it.
    reads: Vec<u32>,
}

/// A region of a block.
struct Region {
    /// One past its last statement.
    end: usize,
    accumulators: FxHashSet<VarId>,
    /// True if nothing in it changes anything any more.
    done: ExprId,
}

impl Leaver<'_> {
    /// Leaves the loops of a block, and of the blocks in it.
    fn block(&mut self, stmts: Block) -> Block {
        // The statements that a region becomes are not looked at again.
        let (mut kept, mut seen) = (stmts, 0);
        loop {
            let found = (seen..kept.len()).find_map(|at| self.region(&kept, at).map(|region| (at, region)));
            let Some((at, region)) = found else { break };
            let mut behind = kept.split_off(region.end);
            let stmts = kept.split_off(at);
            self.inside(&mut kept[seen..]);
            kept.append(&mut self.leave(stmts, &region).0);
            seen = kept.len();
            kept.append(&mut behind);
        }
        self.inside(&mut kept[seen..]);
        kept
    }

    /// Leaves the loops in the blocks of statements. Vector loops are left alone: all lanes do their work together.
    fn inside(&mut self, stmts: &mut [Stmt]) {
        for stmt in stmts.iter_mut().filter(|stmt| !matches!(stmt, Stmt::For { kind: LoopKind::Vector(_), .. })) {
            for inner in blocks_mut(stmt) {
                *inner = self.block(std::mem::take(inner));
            }
        }
    }

    /// The smallest region of a block that begins with the loop at `start`, if there is a loop.
    fn region(&mut self, block: &[Stmt], start: usize) -> Option<Region> {
        if !is_loop(&block[start]) {
            return None;
        }
        // Whoever reads one of the block's own variables before the region does not read it behind the region.
        let mut reads = vec![0; self.function.vars.len()];
        block[..start].iter().for_each(|stmt| count_reads(self.function, stmt, &mut reads));
        let mut here: FxHashSet<VarId> = block[..start].iter().filter_map(declared).collect();
        for (at, stmt) in block.iter().enumerate().skip(start) {
            if !is_pure(stmt) || leaves(std::slice::from_ref(stmt)) {
                return None;
            }
            count_reads(self.function, stmt, &mut reads);
            here.extend(declared(stmt));
            if let Some(region) = self.region_of(&block[start..=at], &reads, &here) {
                return Some(Region { end: at + 1, ..region });
            }
        }
        None
    }

    /// Statements as a region, if they are one. `reads` says how many of them, and of the statements before them in their
    /// block, read a variable, `here` which variables the block declares up to their end.
    fn region_of(&mut self, stmts: &[Stmt], reads: &[u32], here: &FxHashSet<VarId>) -> Option<Region> {
        let all = &self.reads;
        let is_read_behind = |var: VarId| reads[var.index()] < all[var.index()];
        if stmts.iter().filter_map(declared).any(is_read_behind) {
            return None;
        }
        let outside: FxHashSet<VarId> = assigned_from_outside(stmts).map(|(var, _)| var).collect();
        let accumulators: FxHashSet<VarId> =
            outside.into_iter().filter(|var| !here.contains(var) || is_read_behind(*var)).collect();
        let used = |stmt: &Stmt| assigns(stmt, &accumulators);
        if accumulators.len() > MOST || !stmts.first().is_some_and(used) {
            return None;
        }
        let values = kept_values(self.function, stmts);
        let mut sorted: Vec<VarId> = accumulators.iter().copied().collect();
        sorted.sort_unstable();
        let conditions: Option<Vec<ExprId>> = sorted.iter().map(|var| values.get(var).copied().flatten()).collect();
        let done = conditions?.into_iter().reduce(|a, b| self.expr(Expr::Binary(BinaryOp::And, a, b)))?;
        Some(Region { end: 0, accumulators, done })
    }

    fn expr(&mut self, expr: Expr) -> ExprId {
        self.function.exprs.insert(expr)
    }

    /// The condition that a region is not done.
    fn goes_on(&mut self, done: ExprId) -> ExprId {
        match self.function.exprs[done] {
            Expr::Unary(UnaryOp::Not, holds) => holds,
            _ => self.expr(Expr::Unary(UnaryOp::Not, done)),
        }
    }

    /// Statements of a region with their loops left, and the variables that such a loop does not move on to their ends.
    fn leave(&mut self, stmts: Block, region: &Region) -> (Block, FxHashSet<VarId>) {
        let (mut kept, mut loose) = (Block::with_capacity(stmts.len()), FxHashSet::default());
        let goes_on = self.goes_on(region.done);
        let mut rest = stmts.into_iter();
        while let Some(stmt) = rest.next() {
            loose.extend(self.leave_stmt(stmt, region, &mut kept));
            let behind = rest.as_slice();
            let is_guarded =
                matches!(behind, [Stmt::If { cond, otherwise, .. }] if *cond == goes_on && otherwise.is_empty());
            if !is_guarded && behind.iter().any(|stmt| reads_any(self.function, stmt, &loose)) {
                let (then, more) = self.leave(rest.collect(), region);
                loose.extend(more);
                kept.push(Stmt::If { cond: goes_on, then, otherwise: Block::new() });
                break;
            }
        }
        (kept, loose)
    }

    fn leave_stmt(&mut self, mut stmt: Stmt, region: &Region, kept: &mut Block) -> FxHashSet<VarId> {
        let mut loose = FxHashSet::default();
        match stmt {
            Stmt::If { ref mut then, ref mut otherwise, .. } => {
                for block in [then, otherwise] {
                    let (stmts, more) = self.leave(std::mem::take(block), region);
                    *block = stmts;
                    loose.extend(more);
                }
            }
            Stmt::For { kind: LoopKind::Vector(_), begin, end, ref body, .. } => {
                let strip = strip(self.function, body);
                if assigns(&stmt, &region.accumulators)
                    && most(self.function, begin, end).is_none_or(|most| most > strip)
                {
                    self.in_strips(stmt, strip, region.done, kept);
                    return loose;
                }
            }
            Stmt::For { kind: LoopKind::Serial, .. } | Stmt::While { .. } if self.is_left(&stmt, region) => {
                for body in blocks_mut(&mut stmt) {
                    let mut stmts = std::mem::take(body);
                    let test = Stmt::If { cond: region.done, then: vec![Stmt::Break], otherwise: Block::new() };
                    if stmts.last() == Some(&test) {
                        stmts.pop();
                    }
                    let outside = assigned_from_outside(&stmts).map(|(var, _)| var);
                    loose.extend(outside.filter(|var| !region.accumulators.contains(var)));
                    (*body, _) = self.leave(stmts, region);
                    body.push(test);
                }
            }
            _ => {}
        }
        kept.push(stmt);
        loose
    }

    /// True if a loop that may be left is worth the test: it has something to do with an accumulator, and more than a few iterations.
    fn is_left(&self, stmt: &Stmt, region: &Region) -> bool {
        let is_short = match stmt {
            Stmt::For { begin, end, body, .. } => {
                most(self.function, *begin, *end).is_some_and(|most| most <= FEW) && !body.iter().any(holds_loop)
            }
            _ => false,
        };
        !is_short && assigns(stmt, &region.accumulators)
    }

    /// A vector loop in strips, left behind the first at whose end the region is done.
    fn in_strips(&mut self, stmt: Stmt, strip: i64, done: ExprId, kept: &mut Block) {
        let Stmt::For { var, begin, mut end, loads, kind, body } = stmt else { return };
        let name = self.function.vars[var].name.clone();
        let is_constant = match self.function.exprs[end] {
            Expr::Const(_) => true,
            Expr::Var(var) => !self.function.vars[var].mutable,
            _ => false,
        };
        if !is_constant {
            let last = self.names.variable(self.function, &format!("{name}_end"), DType::I64, false);
            kept.push(Stmt::Define { var: last, value: end });
            end = self.expr(Expr::Var(last));
        }
        let at_var = self.names.variable(self.function, &format!("{name}_at"), DType::I64, true);
        kept.push(Stmt::Define { var: at_var, value: begin });
        let at = self.expr(Expr::Var(at_var));
        let strip = self.expr(Expr::Const(Const::int(DType::I64, strip)));
        let left = self.expr(Expr::Binary(BinaryOp::Sub, end, at));
        let len = self.expr(Expr::Binary(BinaryOp::Min, left, strip));
        let next = self.expr(Expr::Binary(BinaryOp::Add, at, len));
        let cond = self.expr(Expr::Compare(CompareOp::Lt, at, end));
        let body = vec![
            Stmt::For { var, begin: at, end: next, loads, kind, body },
            Stmt::Assign { var: at_var, value: next },
            Stmt::If { cond: done, then: vec![Stmt::Break], otherwise: Block::new() },
        ];
        kept.push(Stmt::While { cond, body });
    }
}

/// For each variable that statements assign to, the condition under which they all leave it as it is, if they share one.
fn kept_values(function: &mut Function, stmts: &[Stmt]) -> FxHashMap<VarId, Option<ExprId>> {
    let mut assigned = Vec::new();
    for stmt in stmts {
        visit(stmt, &mut |inner| {
            if let Stmt::Assign { var, value } = *inner {
                assigned.push((var, value));
            }
        });
    }
    let mut found: FxHashMap<VarId, Option<ExprId>> = FxHashMap::default();
    for (var, value) in assigned {
        let kept = kept_by(function, var, value);
        let known = found.entry(var).or_insert(kept);
        if *known != kept {
            *known = None;
        }
    }
    found
}

/// The condition, on a variable alone, under which an assignment leaves it as it is.
fn kept_by(function: &mut Function, var: VarId, value: ExprId) -> Option<ExprId> {
    let ty = function.vars[var].ty;
    if let Some((op, _)) = combination(function, var, value) {
        return op
            .terminal(ty)
            .filter(|&terminal| is_met(op, terminal))
            .map(|terminal| equals(function, var, terminal));
    }
    match function.exprs[value] {
        Expr::Const(constant) if !ty.is_float() => Some(equals(function, var, constant)),
        Expr::Select(cond, then, _) => {
            let keeps = function.exprs[then] == Expr::Var(var) && variables(function, cond) == [var];
            keeps.then_some(cond)
        }
        _ => None,
    }
}

/// True if an operation's values can be expected to come to the terminal one: it is none that only the least or greatest of many
/// numbers is.
fn is_met(op: BinaryOp, terminal: Const) -> bool {
    matches!(op, BinaryOp::And | BinaryOp::Or) || terminal.bits == 0 || terminal.ty.size() < 4
}

/// The condition that a variable has a value.
fn equals(function: &mut Function, var: VarId, value: Const) -> ExprId {
    let held = function.exprs.insert(Expr::Var(var));
    match value.ty {
        DType::Bool if value.bits != 0 => held,
        DType::Bool => function.exprs.insert(Expr::Unary(UnaryOp::Not, held)),
        _ => {
            let value = function.exprs.insert(Expr::Const(value));
            function.exprs.insert(Expr::Compare(CompareOp::Eq, held, value))
        }
    }
}

/// The variables that an expression reads.
fn variables(function: &Function, expr: ExprId) -> Vec<VarId> {
    let (mut seen, mut found, mut pending) = (FxHashSet::default(), Vec::new(), vec![expr]);
    while let Some(expr) = pending.pop() {
        if seen.insert(expr) {
            match function.exprs[expr] {
                Expr::Var(var) => found.push(var),
                other => pending.extend(other.operands()),
            }
        }
    }
    found
}

/// The variable that a statement declares for the rest of its block.
fn declared(stmt: &Stmt) -> Option<VarId> {
    match stmt {
        Stmt::For { .. } => None,
        _ => stmt.definition(),
    }
}

/// Counts, by variable, the statements that read it, of a statement and those in it.
fn count_reads(function: &Function, stmt: &Stmt, reads: &mut [u32]) {
    visit(stmt, &mut |inner| {
        let mut own: Vec<VarId> = exprs(inner).into_iter().flat_map(|expr| variables(function, expr)).collect();
        own.sort_unstable();
        own.dedup();
        own.into_iter().for_each(|var| reads[var.index()] += 1);
    });
}

fn reads_any(function: &Function, stmt: &Stmt, vars: &FxHashSet<VarId>) -> bool {
    let mut found = false;
    visit(stmt, &mut |inner| {
        found |= exprs(inner).into_iter().flat_map(|expr| variables(function, expr)).any(|var| vars.contains(&var));
    });
    found
}

/// True if a statement, with all in it, does nothing but give values to variables.
fn is_pure(stmt: &Stmt) -> bool {
    let mut pure = true;
    visit(stmt, &mut |inner| {
        pure &= match inner {
            Stmt::Define { .. }
            | Stmt::Assign { .. }
            | Stmt::Load { .. }
            | Stmt::If { .. }
            | Stmt::While { .. }
            | Stmt::Break
            | Stmt::Prefetch { .. }
            | Stmt::Call { callee: Callee::LowerBound | Callee::Marks, .. }
            | Stmt::Comment(_) => true,
            Stmt::For { kind, .. } => *kind != LoopKind::Parallel,
            _ => false,
        };
    });
    pure
}

/// True if a statement, or one in it, assigns to one of some variables.
fn assigns(stmt: &Stmt, vars: &FxHashSet<VarId>) -> bool {
    let mut found = false;
    visit(stmt, &mut |inner| found |= matches!(inner, Stmt::Assign { var, .. } if vars.contains(var)));
    found
}

fn is_loop(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::For { kind: LoopKind::Serial | LoopKind::Vector(_), .. } | Stmt::While { .. })
}

fn holds_loop(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::For { .. } | Stmt::While { .. }) || blocks(stmt).flatten().any(holds_loop)
}

/// The iterations of a vector loop with this body between two tests.
fn strip(function: &Function, body: &Block) -> i64 {
    let (mut loaded, mut gathers) = (FxHashSet::default(), false);
    for stmt in body {
        visit(stmt, &mut |inner| {
            if let Stmt::Load { var, index, .. } = *inner {
                gathers |= variables(function, index).iter().any(|var| loaded.contains(var));
                loaded.insert(var);
            }
        });
    }
    if gathers { GATHERED } else { STRIP }
}

/// The most iterations that a loop with these bounds has, if they tell.
fn most(function: &Function, begin: ExprId, end: ExprId) -> Option<i64> {
    let constant = |expr| match function.exprs[expr] {
        Expr::Const(value) => Some(value.bits as i64),
        _ => None,
    };
    let at_most = |len: ExprId| match function.exprs[len] {
        Expr::Binary(BinaryOp::Min, a, b) => constant(a).or(constant(b)),
        _ => constant(len),
    };
    match (constant(begin), constant(end), function.exprs[end]) {
        (Some(begin), Some(end), _) => Some(end.saturating_sub(begin)),
        (_, _, Expr::Binary(BinaryOp::Add, first, len)) if first == begin => at_most(len),
        _ => None,
    }
}
