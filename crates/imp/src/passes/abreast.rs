//! Takes neighboring iterations of a loop around lanes abreast, so that what they have in common is loaded and stored once.
//!
//! Sums of neighboring elements share what they load:
//!
//! ```text
//! for p in b .. e {                        if b < e {
//!   let j: i64 = p + f;                      for turn in 0 .. (e - b) / 4 {
//!   for t in u .. v vector {                   let p_2: i64 = b + turn * 4;
//!     let x: f64 = X[i * n + t];               let p_3: i64 = b + turn * 4 + 1;  ..
//!     let z: f64 = X[j * n + t];        ->     for t in u .. v vector {
//!     C[p] += x * z;                             let x: f64 = X[i * n + t];
//!   }                                            let z: f64 = X[j_2 * n + t];  now = now + x * z;
//! }                                              let z_2: f64 = X[j_3 * n + t];  now_2 = now_2 + x * z_2;  ..
//!                                              }
//!                                              C[p_2] = now;  C[p_3] = now_2;  ..
//!                                            }
//!                                            and the same for one, two or three elements that are left
//!                                          }
//! ```
//!
//! Iterations that add to one row of unknown length load and store it once:
//!
//! ```text
//! for p in b .. e {                        .. for t in u .. v vector {
//!   let k: i64 = p + f;                         let w_old: f64 = w[t];
//!   for t in u .. v vector {                    let w_now: f64 = w_old + a[p_2] * X[k_2 * n + t];
//!     w[t] += a[p] * X[k * n + t];       ->     let w_now_2: f64 = w_now + a[p_3] * X[k_3 * n + t];  ..
//!   }                                           w[t] = w_now_4;
//! }                                           }
//! ```
//!
//! A sum of products alone loads two numbers for each product, and processors load as few numbers in a cycle as they multiply. Each sum is
//! formed in its own order, and every value stays the same.
//!
//! On entry: loops over runs of packed tensors. These are no passes of [`PASSES`](super::PASSES), as other loops over rows of sums go through
//! longer rows, where the beginnings of so many at once would be read.

use lacunar_formats::DType;

use crate::ir::{ArrayId, BinaryOp, Block, CompareOp, Const, Expr, ExprId, Function, LoopKind, Stmt, VarId};
use crate::verify::{MAX_EXPR_DEPTH, MAX_NESTING, expr_depths};
use crate::walk::{Changes, Names, Rewriter, assigned, blocks_mut, exprs, nesting, reads};

/// The sums that are taken at once: with more, sums and what they load would not fit 16 registers.
const ABREAST: i64 = 4;
/// The operations that the place of an element takes, beside those of the first one.
const MORE_OPERATIONS: u32 = 4;

/// The elements that the iterations of a loop add to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddTo {
    /// Each iteration adds to one element of its own.
    Elements,
    /// All iterations add to the same row: to one element for each iteration of the inner loop.
    Row,
}

/// Takes neighboring iterations of loops that add in a certain way several at once.
pub fn abreast(mut function: Function, add_to: AddTo) -> Function {
    // Branches around the loops make more blocks, and places of elements more operations; leave room for both.
    let too_deep = expr_depths(&function).into_iter().any(|depth| depth + MORE_OPERATIONS > MAX_EXPR_DEPTH);
    if too_deep || nesting(&function.body) * 2 > MAX_NESTING {
        return function;
    }
    let body = std::mem::take(&mut function.body);
    let names = Names::of(&function);
    function.body = Maker { function: &mut function, names, add_to }.block(body);
    function
}

struct Maker<'a> {
    function: &'a mut Function,
    names: Names,
    add_to: AddTo,
}

/// A loop whose iterations add something, taken apart.
struct Sums {
    element: VarId,
    bounds: (ExprId, ExprId),
    /// The statements before the sum: those that are the same for all iterations, and the others.
    common: Block,
    own: Block,
    /// The loop that adds up, with a body without the addition; and in it, if a statement is the same for all iterations.
    inner: Stmt,
    is_common: Vec<bool>,
    /// The element and the addition.
    target: (ArrayId, ExprId),
    op: BinaryOp,
    value: ExprId,
}

impl Maker<'_> {
    fn block(&mut self, stmts: Block) -> Block {
        let mut kept = Block::with_capacity(stmts.len());
        for mut stmt in stmts {
            if let Some(sums) = self.sums(&stmt) {
                kept.push(self.abreast(sums));
                continue;
            }
            for inner in blocks_mut(&mut stmt) {
                *inner = self.block(std::mem::take(inner));
            }
            kept.push(stmt);
        }
        kept
    }

    /// A loop whose iterations add something, if it is one.
    fn sums(&self, stmt: &Stmt) -> Option<Sums> {
        let Stmt::For { var: element, begin, end, kind: LoopKind::Serial, body, .. } = stmt else { return None };
        let (Stmt::For { var: lane, begin: low, end: high, loads, kind: LoopKind::Vector(_), body: inner }, before) =
            body.split_last()?
        else {
            return None;
        };
        let (&Stmt::Store { array, index, value, reduce: Some(op), past: None }, rest) = inner.split_last()? else {
            return None;
        };
        let (changes, inside) = (Changes::of(self.function, stmt), Changes::of(self.function, body.last()?));
        let mut differing = vec![*element];
        let is_common = self.tell(&changes, before, &mut differing)?;
        let differs = |expr: ExprId| reads(self.function, expr, &|var| differing.contains(&var));
        let is_same = ![low, high].into_iter().chain(loads).any(|expr| differs(*expr));
        let is_added = match self.add_to {
            AddTo::Elements => {
                let are_neighbors = changes.step(self.function, *element, index) == Some(1);
                are_neighbors && !inside.touch(self.function, index) && op.is_associative()
            }
            // A row of constant length may stay in registers.
            AddTo::Row => {
                let is_constant = |expr: ExprId| matches!(self.function.exprs[expr], Expr::Const(_));
                let is_row = inside.step(self.function, *lane, index) == Some(1) && !differs(index);
                is_row && !(is_constant(*low) && is_constant(*high))
            }
        };
        if !(is_same && is_added) {
            return None;
        }
        let (common, own) = before.iter().zip(is_common).partition::<Vec<_>, _>(|(_, is_common)| *is_common);
        let stmts = |part: Vec<(&Stmt, bool)>| part.into_iter().map(|(stmt, _)| stmt.clone()).collect();
        let is_common = self.tell(&changes, rest, &mut differing)?;
        let mut sum = body.last()?.clone();
        blocks_mut(&mut sum).for_each(|block| {
            block.pop();
        });
        Some(Sums {
            element: *element,
            bounds: (*begin, *end),
            common: stmts(common),
            own: stmts(own),
            inner: sum,
            is_common,
            target: (array, index),
            op,
            value,
        })
    }

    /// Tells which statements are the same for all iterations, where some variables differ between them, and adds those that these
    /// give values to. `None` if they do more than to define and to load what nothing changes.
    fn tell(&self, changes: &Changes, stmts: &[Stmt], differing: &mut Vec<VarId>) -> Option<Vec<bool>> {
        let mut found = Vec::new();
        for stmt in stmts {
            let is_plain = match *stmt {
                Stmt::Define { var, .. } => !self.function.vars[var].mutable,
                Stmt::Load { array, .. } => !changes.arrays[array.index()],
                Stmt::Comment(_) => true,
                _ => false,
            };
            let differs =
                exprs(stmt).into_iter().any(|expr| reads(self.function, expr, &|var| differing.contains(&var)));
            differing.extend(assigned(stmt).filter(|_| differs));
            found.push(!differs);
            is_plain.then_some(())?;
        }
        Some(found)
    }

    /// The loop with its iterations several at once.
    fn abreast(&mut self, mut sums: Sums) -> Stmt {
        let (begin, end) = sums.bounds;
        let some = self.function.exprs.insert(Expr::Compare(CompareOp::Lt, begin, end));
        let count = self.binary(BinaryOp::Sub, end, begin);
        let (zero, four) = (self.int(0), self.int(ABREAST));
        let (turns, left) = (self.binary(BinaryOp::Div, count, four), self.binary(BinaryOp::Rem, count, four));
        let mut then = std::mem::take(&mut sums.common);
        let turn = self.names.variable(self.function, "turn", DType::I64, false);
        let number = self.function.exprs.insert(Expr::Var(turn));
        let by = self.binary(BinaryOp::Mul, number, four);
        let first = self.binary(BinaryOp::Add, begin, by);
        let body = self.copies(&sums, first, ABREAST);
        then.push(Stmt::For { var: turn, begin: zero, end: turns, loads: None, kind: LoopKind::Serial, body });
        let first = self.binary(BinaryOp::Sub, end, left);
        let mut otherwise = Block::new();
        for copies in (1..ABREAST).rev() {
            let number = self.int(copies);
            let cond = self.function.exprs.insert(Expr::Compare(CompareOp::Eq, left, number));
            let then = self.copies(&sums, first, copies);
            otherwise = vec![Stmt::If { cond, then, otherwise }];
        }
        then.append(&mut otherwise);
        Stmt::If { cond: some, then, otherwise: Block::new() }
    }

    /// The loop that takes `count` iterations at once, `first` and its neighbors.
    fn copies(&mut self, sums: &Sums, first: ExprId, count: i64) -> Block {
        let (mut before, mut inside, mut after) = (Block::new(), Block::new(), Block::new());
        let Stmt::For { var: counter, begin, end, loads, kind, body } = &sums.inner else { return before };
        let (array, index) = sums.target;
        let mut shared = Rewriter::default();
        let own_counter = self.like(*counter);
        shared.values.insert(*counter, self.function.exprs.insert(Expr::Var(own_counter)));
        let parts = || body.iter().zip(&sums.is_common);
        for (stmt, _) in parts().filter(|(_, is_common)| **is_common) {
            inside.push(self.copy(stmt, &mut shared));
        }
        let index_of_row = shared.expr(self.function, index, &insert);
        let mut so_far = (self.add_to == AddTo::Row).then(|| self.loaded(array, index_of_row, &mut inside));
        for copy in 0..count {
            let by = self.int(copy);
            let place = if copy == 0 { first } else { self.binary(BinaryOp::Add, first, by) };
            let element = self.like(sums.element);
            before.push(Stmt::Define { var: element, value: place });
            let mut own = Rewriter::default();
            own.values.clone_from(&shared.values);
            own.values.insert(sums.element, self.function.exprs.insert(Expr::Var(element)));
            for stmt in &sums.own {
                before.push(self.copy(stmt, &mut own));
            }
            let own_index = own.expr(self.function, index, &insert);
            let old = so_far.unwrap_or_else(|| self.loaded(array, own_index, &mut before));
            for (stmt, _) in parts().filter(|(_, is_common)| !**is_common) {
                inside.push(self.copy(stmt, &mut own));
            }
            let value = own.expr(self.function, sums.value, &insert);
            let is_sum = so_far.is_none();
            let now = self.now(array, is_sum);
            let now_value = self.function.exprs.insert(Expr::Var(now));
            if is_sum {
                before.push(Stmt::Define { var: now, value: old });
                inside.push(Stmt::Assign { var: now, value: self.binary(sums.op, now_value, value) });
                after.push(Stmt::Store { array, index: own_index, value: now_value, reduce: None, past: None });
            } else {
                inside.push(Stmt::Define { var: now, value: self.binary(sums.op, old, value) });
                so_far = Some(now_value);
            }
        }
        if let Some(value) = so_far {
            inside.push(Stmt::Store { array, index: index_of_row, value, reduce: None, past: None });
        }
        let (begin, end, loads, kind) = (*begin, *end, *loads, *kind);
        before.push(Stmt::For { var: own_counter, begin, end, loads, kind, body: inside });
        before.append(&mut after);
        before
    }

    /// An element before anything is added; it is loaded at the end of a block.
    fn loaded(&mut self, array: ArrayId, index: ExprId, block: &mut Block) -> ExprId {
        let (name, ty) = (format!("{}_old", self.function.arrays[array].name), self.function.arrays[array].elem);
        let old = self.names.variable(self.function, &name, ty, false);
        block.push(Stmt::Load { var: old, array, index });
        self.function.exprs.insert(Expr::Var(old))
    }

    /// A variable for an element with what was added so far.
    fn now(&mut self, array: ArrayId, mutable: bool) -> VarId {
        let (name, ty) = (format!("{}_now", self.function.arrays[array].name), self.function.arrays[array].elem);
        self.names.variable(self.function, &name, ty, mutable)
    }

    /// A statement of a copy, with a variable of its own.
    fn copy(&mut self, stmt: &Stmt, values: &mut Rewriter) -> Stmt {
        let mut stmt = stmt.clone();
        values.stmt(self.function, &mut stmt, &insert);
        if let Stmt::Define { var, .. } | Stmt::Load { var, .. } = &mut stmt {
            let own = self.like(*var);
            values.values.insert(*var, self.function.exprs.insert(Expr::Var(own)));
            *var = own;
        }
        stmt
    }

    /// A variable like another one.
    fn like(&mut self, var: VarId) -> VarId {
        let (name, ty) = (self.function.vars[var].name.clone(), self.function.vars[var].ty);
        self.names.variable(self.function, &name, ty, false)
    }

    fn binary(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> ExprId {
        self.function.exprs.insert(Expr::Binary(op, a, b))
    }

    fn int(&mut self, number: i64) -> ExprId {
        self.function.exprs.insert(Expr::Const(Const::int(DType::I64, number)))
    }
}

fn insert(function: &mut Function, expr: Expr) -> ExprId {
    function.exprs.insert(expr)
}
