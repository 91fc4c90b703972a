//! The vector loops that are written out, and the facts about them that are collected beforehand.
//!
//! The body consists of definitions, assignments, loads, stores and branches, on reals, integers and `Bool`s, with the
//! operations that vectors have, and of serial loops whose bounds are the same in all lanes. Short loops of constant length
//! are repeated, others run for all lanes together. It stores at indices that vary.

use std::ops::Range;

use lacunar_formats::{DType, Kind};
use lacunar_imp::{
    ArrayId, ArrayRole, BinaryOp, Block, Expr, ExprId, Function, LoopKind, Reduction, Stmt, UnaryOp, VarId, loops,
};

use lacunar_machine::Filling;

use super::words::tested_word;

/// Loops in the body are repeated up to so often.
const REPEATS: i64 = 16;

/// The facts about a vector loop.
pub(in super::super) struct Known {
    pub(super) counter: VarId,
    /// The variables from outside that it combines with values.
    pub(super) reductions: Vec<Reduction>,
    /// The bytes of the widest element, as it is computed with.
    pub(super) widest: usize,
    /// True if it loads elements that are no neighbors.
    pub(super) gathers: bool,
    /// True if there are branches that not all lanes take together.
    pub(super) branches: bool,
    /// True if some of them test the bits of a word.
    pub(super) tests_words: bool,
    /// True if a branch has loops inside, or loads of neighbors, which are masked loads.
    pub(super) masks_loads: bool,
    /// The stores inside branches: of an array, at an index, combined with the element or not.
    pub(super) branched_stores: Vec<(ArrayId, ExprId, bool)>,
    /// By variable: true if the body declares it, or it is the counter.
    pub(super) inner: Vec<bool>,
    /// By variable: its value, if the body defines it once and for all.
    values: Vec<Option<ExprId>>,
    /// By variable: true if it is an element of an input at one index, which all lanes load together.
    shared: Vec<bool>,
    /// The number of branches around the statement that is looked at.
    depth: usize,
    /// The width of the vectors, if they begin at multiples of it.
    pub(super) aligned: Option<u32>,
    /// True in the version of the loop whose stores go past the caches.
    pub(super) streams: bool,
    /// True if the loop names the number of iterations of its vectors: few are to be expected.
    pub(super) is_short: bool,
    /// True if it runs over segments of steady lengths.
    pub(super) is_steady: bool,
    /// True if the caches hold what it reads by its counter.
    pub(super) is_near: bool,
    /// The way to fill a vector with elements that lie apart.
    pub(super) filling: Filling,
    /// True if rows of any lengths are stored, by vectors of half of a line.
    pub(super) in_halves: bool,
}

impl Known {
    /// Describes a loop; `None` if it has to be left to LLVM.
    pub(in super::super) fn of(function: &Function, counter: VarId, body: &Block) -> Option<Known> {
        let reductions = loops::reductions(function, body)?;
        let widest = reductions.iter().map(|reduction| function.vars[reduction.var].ty.size()).max().unwrap_or(0);
        let inner = vec![false; function.vars.len()];
        let mut known = Known {
            counter,
            reductions,
            widest,
            gathers: false,
            branches: false,
            tests_words: false,
            masks_loads: false,
            branched_stores: Vec::new(),
            inner,
            values: vec![None; function.vars.len()],
            shared: vec![false; function.vars.len()],
            depth: 0,
            aligned: None,
            streams: false,
            is_short: false,
            is_steady: false,
            is_near: false,
            filling: Filling::default(),
            in_halves: false,
        };
        known.inner[counter.index()] = true;
        known.admits(function, body).then_some(known)
    }

    fn admits(&mut self, function: &Function, block: &Block) -> bool {
        block.iter().all(|stmt| match *stmt {
            Stmt::Define { var, value } => {
                self.inner[var.index()] = true;
                self.values[var.index()] = Some(value).filter(|_| !function.vars[var].mutable);
                self.simple(function, value)
            }
            Stmt::Assign { var, value } => {
                let ours = self.inner[var.index()] || self.reductions.iter().any(|r| r.var == var && reduces(r.op));
                ours && self.simple(function, value)
            }
            Stmt::Load { var, array, index } => {
                let stride = self.stride(function, index);
                let is_input = function.arrays[array].role == ArrayRole::Input;
                self.inner[var.index()] = true;
                self.shared[var.index()] = stride == Some(0) && is_input && self.depth == 0;
                self.widest = self.widest.max(function.arrays[array].elem.arithmetic().size());
                self.gathers |= stride.is_none_or(|stride| !matches!(stride, 0 | 1));
                self.masks_loads |= self.depth > 0 && stride == Some(1);
                !function.arrays[array].elem.is_complex() && self.simple(function, index)
            }
            Stmt::Store { array, index, value, reduce, .. } => {
                let elem = function.arrays[array].elem;
                self.widest = self.widest.max(elem.arithmetic().size());
                if self.depth > 0 {
                    self.branched_stores.push((array, index, reduce.is_some()));
                }
                let combines = reduce.is_none_or(|op| binary(op, elem));
                let fits =
                    !elem.is_complex() && combines && self.simple(function, index) && self.simple(function, value);
                fits && self.varies(function, index)
            }
            Stmt::If { cond, ref then, ref otherwise } => {
                self.branches |= self.varies(function, cond);
                self.tests_words |= tested_word(function, self, cond).is_some();
                self.depth += 1;
                let admits =
                    self.simple(function, cond) && self.admits(function, then) && self.admits(function, otherwise);
                self.depth -= 1;
                admits
            }
            Stmt::For { begin, end, kind: LoopKind::Serial | LoopKind::Unrolled(_), ref body, .. } => {
                self.masks_loads |= self.depth > 0;
                // Outside of the body nobody reads a counter that stays the same in all lanes.
                let together = [begin, end].into_iter().all(|bound| self.stride(function, bound) == Some(0));
                together && self.admits(function, body)
            }
            Stmt::Comment(_) | Stmt::Prefetch { .. } => true,
            _ => false,
        })
    }

    /// True if lanes load and store neighbors, or elements that they have in common, and take the same way.
    pub(in super::super) fn is_along(&self, function: &Function, body: &Block) -> bool {
        let stores_along = |stmt: &Stmt| match stmt {
            Stmt::Store { index, .. } => self.stride(function, *index) == Some(1),
            Stmt::For { body, .. } => body.iter().all(|stmt| !matches!(stmt, Stmt::Store { .. })),
            _ => true,
        };
        !self.gathers && !self.branches && self.reductions.is_empty() && body.iter().all(stores_along)
    }

    /// The bytes of the largest element that is loaded, stored or combined.
    pub(in super::super) fn widest(&self) -> usize {
        self.widest
    }

    /// True if a variable is an element of an input at one index, which all lanes load together.
    pub(super) fn is_shared(&self, var: VarId) -> bool {
        self.shared[var.index()]
    }

    /// True if an expression can differ between iterations.
    pub(super) fn varies(&self, function: &Function, expr: ExprId) -> bool {
        any(function, expr, &mut |expr| matches!(*expr, Expr::Var(var) if self.inner[var.index()]))
    }

    /// True if an expression can be evaluated before the first iteration, given the counter.
    pub(super) fn needs_counter_only(&self, function: &Function, expr: ExprId) -> bool {
        let ours = |var: VarId| self.inner[var.index()] && var != self.counter;
        !any(function, expr, &mut |expr| matches!(*expr, Expr::Var(var) if ours(var)))
    }

    /// The number by which an expression grows from one iteration to the next, if that is known: 0 if it stays.
    pub(super) fn stride(&self, function: &Function, expr: ExprId) -> Option<i64> {
        match function.exprs[expr] {
            Expr::Var(var) if var == self.counter => Some(1),
            Expr::Var(var) if self.shared[var.index()] => Some(0),
            Expr::Var(var) if self.inner[var.index()] => self.stride(function, self.values[var.index()]?),
            Expr::Binary(BinaryOp::Add, a, b) => self.stride(function, a)?.checked_add(self.stride(function, b)?),
            Expr::Binary(BinaryOp::Sub, a, b) => self.stride(function, a)?.checked_sub(self.stride(function, b)?),
            // The lanes of a vector that begins at a multiple of its width have the same number of blocks before them.
            Expr::Binary(BinaryOp::Shr, a, by) if self.is_counter(function, a) => match function.exprs[by] {
                Expr::Const(by) if by.bits < 64 => {
                    self.aligned.is_some_and(|width| u64::from(width) <= 1 << by.bits).then_some(0)
                }
                _ => None,
            },
            Expr::Cast(DType::I64, a) if self.stride(function, a) == Some(0) => Some(0),
            _ => (!self.varies(function, expr)).then_some(0),
        }
    }

    /// True if vectors can compute an expression. Values that stay the same may be divided by constants.
    fn simple(&self, function: &Function, root: ExprId) -> bool {
        let nonzero = |by: ExprId| matches!(function.exprs[by], Expr::Const(by) if by.bits != 0);
        !any(function, root, &mut |expr| !match *expr {
            Expr::Const(constant) => !constant.ty.is_complex(),
            Expr::Var(var) => !function.vars[var].ty.is_complex(),
            Expr::Unary(op, a) => unary(op, function.type_of(a)),
            Expr::Binary(BinaryOp::Div, a, by) if !self.varies(function, a) => {
                nonzero(by) && !function.type_of(a).is_complex()
            }
            Expr::Binary(op, a, _) => binary(op, function.type_of(a)),
            Expr::Compare(_, a, _) => !function.type_of(a).is_complex(),
            Expr::Select(_, a, _) => !function.type_of(a).is_complex(),
            Expr::Cast(to, a) => !to.is_complex() && !function.type_of(a).is_complex(),
            Expr::Word(..) => true,
            // Code that nothing is known of takes one value at a time.
            Expr::Extern(..) => false,
        })
    }

    /// True for an expression that is the loop's counter as an unsigned number.
    fn is_counter(&self, function: &Function, expr: ExprId) -> bool {
        let Expr::Cast(DType::U64, counter) = function.exprs[expr] else { return false };
        matches!(function.exprs[counter], Expr::Var(var) if var == self.counter)
    }

    /// True if vectors begin at multiples of their width.
    pub(super) fn is_aligned(&self) -> bool {
        self.aligned.is_some()
    }
}

/// The iterations of a loop in the body, if they are few and known.
pub(super) fn repeats(function: &Function, begin: ExprId, end: ExprId) -> Option<Range<i64>> {
    let constant = |expr: ExprId| match function.exprs[expr] {
        Expr::Const(constant) => Some(constant.bits as i64),
        _ => None,
    };
    let range = constant(begin)?..constant(end)?;
    (range.end.saturating_sub(range.start) <= REPEATS).then_some(range)
}

/// True if an expression or one below it passes a test.
fn any(function: &Function, root: ExprId, test: &mut impl FnMut(&Expr) -> bool) -> bool {
    let (mut pending, mut seen) = (vec![root], vec![false; function.exprs.len()]);
    while let Some(expr) = pending.pop() {
        if !std::mem::replace(&mut seen[expr.index()], true) {
            let found = &function.exprs[expr];
            if test(found) {
                return true;
            }
            pending.extend(found.operands());
        }
    }
    false
}

fn unary(op: UnaryOp, ty: DType) -> bool {
    match ty.kind() {
        Kind::Bool => op == UnaryOp::Not,
        Kind::Signed => op == UnaryOp::Neg,
        Kind::Unsigned => matches!(op, UnaryOp::Neg | UnaryOp::CountOnes),
        Kind::Real => {
            matches!(op, UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Sqrt | UnaryOp::Floor | UnaryOp::Ceil)
        }
        Kind::Complex => false,
    }
}

fn binary(op: BinaryOp, ty: DType) -> bool {
    match ty.kind() {
        Kind::Bool => true,
        Kind::Signed => !matches!(op, BinaryOp::Div | BinaryOp::Rem | BinaryOp::Pow | BinaryOp::Shl | BinaryOp::Shr),
        Kind::Unsigned => !matches!(op, BinaryOp::Div | BinaryOp::Rem | BinaryOp::Pow),
        Kind::Real => {
            matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Min | BinaryOp::Max)
        }
        Kind::Complex => false,
    }
}

/// True if the lanes of a vector can be combined by an operation.
fn reduces(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::Add | BinaryOp::Mul | BinaryOp::Min | BinaryOp::Max | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor
    )
}
