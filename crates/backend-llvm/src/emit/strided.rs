//! Loops that load or store elements at a distance: their indices are counted up, and each element is taken by itself.
//!
//! ```text
//! for i in b .. e { C[i] = A[i] * B[(i * n + i) * n + i] }     at = (b * n + b) * n + b
//!                                                              for i in b .. e { C[i] = A[i] * B[at];  at += (n + 1) * n + 1 }
//! ```
//!
//! LLVM's vectorizer would gather such elements, and multiply for the address of each. No processor gathers faster than it loads one after
//! the other, and here nothing else is to be had from vectors, as little is computed. (An Intel processor with AVX-512, the loop above with
//! n = 250: 190 ns gathered, 110 in this way.)
//!
//! On entry: a serial loop that only loads, computes a little and stores. A distance of a few elements is left to the vectorizer, which
//! loads all of them, and chooses.

use inkwell::values::IntValue;
use lacunar_imp::{BinaryOp, Block, Expr, ExprId, Stmt, VarId};

use super::Emitter;
use super::frame::Place;
use super::hints::LoopHint;
use super::value::Value;
use crate::LlvmError;

/// The least distance of elements that are far from each other.
const FAR: u64 = 8;
/// The operations for each such element that are little.
const LITTLE: usize = 3;
/// The iterations that stand one after the other.
const COPIES: u32 = 4;

/// The way in which an index follows a counter.
#[derive(Clone, Copy, PartialEq)]
enum Follows {
    Not,
    /// It grows by this number in each iteration.
    By(i64),
    /// It grows by a number that is the same in all iterations, and known at run time.
    Steadily,
}

impl<'ctx> Emitter<'ctx, '_> {
    /// Emits a loop over `var` if it is one of those; false if not.
    pub(super) fn strided_loop(
        &mut self,
        var: VarId,
        (begin, end): (IntValue<'ctx>, IntValue<'ctx>),
        body: &Block,
    ) -> Result<bool, LlvmError> {
        let indices = self.far_indices(var, body);
        if indices.is_empty() {
            return Ok(false);
        }
        self.needs.loops = true;
        let second = self.builder.build_int_add(begin, self.index(1), "")?;
        let mut places = Vec::new();
        for index in indices {
            let (first, next) = (self.index_at(var, begin, index)?, self.index_at(var, second, index)?);
            places.push((index, first, self.builder.build_int_sub(next, first, "stride")?));
        }
        let firsts: Vec<IntValue<'ctx>> = places.iter().map(|(_, first, _)| *first).collect();
        let (name, hint) = (&self.source.vars[var].name, LoopHint::one_by_one(COPIES));
        self.count_along((begin, end), &firsts, name, Some(hint), |emitter, counter, at| {
            emitter.given = places.iter().zip(at).map(|((index, ..), at)| (*index, Value::Int(*at))).collect();
            emitter.scalar_iteration(var, counter, body)?;
            emitter.given.clear();
            let next = |((.., stride), at): (&(_, _, IntValue<'ctx>), &IntValue<'ctx>)| {
                Ok(emitter.builder.build_int_add(*at, *stride, "at")?)
            };
            places.iter().zip(at).map(next).collect()
        })?;
        Ok(true)
    }

    /// An index where the counter of a loop has a value.
    fn index_at(&mut self, counter: VarId, value: IntValue<'ctx>, index: ExprId) -> Result<IntValue<'ctx>, LlvmError> {
        self.frame.places[counter.index()] = Some(Place::Value(Value::Int(value)));
        self.begin_statement();
        self.eval_int(index)
    }

    /// The indices in the body of a loop at which elements lie far from each other; none if it does more than [`Self::strided_loop`] says.
    fn far_indices(&self, counter: VarId, body: &Block) -> Vec<ExprId> {
        let own: Vec<VarId> = body.iter().filter_map(Stmt::definition).collect();
        let is_outside = |var: VarId| !own.contains(&var) && !self.source.vars[var].mutable;
        let (mut found, mut operations) = (Vec::new(), 0);
        for stmt in body {
            match *stmt {
                Stmt::Load { index, .. } | Stmt::Store { index, reduce: None, .. } => {
                    match self.follows(counter, &is_outside, index) {
                        Follows::Not => return Vec::new(),
                        Follows::By(by) if by.unsigned_abs() < FAR => {}
                        Follows::By(_) | Follows::Steadily if found.contains(&index) => {}
                        Follows::By(_) | Follows::Steadily => found.push(index),
                    }
                }
                Stmt::Define { .. } | Stmt::Comment(_) => {}
                _ => return Vec::new(),
            }
            if let Stmt::Define { value, .. } | Stmt::Store { value, .. } = *stmt {
                let Some(own) = self.operations(value) else { return Vec::new() };
                operations += own;
            }
        }
        if operations <= LITTLE * found.len() { found } else { Vec::new() }
    }

    /// The number of operations of a value; `None` if one of them is a function.
    fn operations(&self, value: ExprId) -> Option<usize> {
        let mut count = 0;
        let mut pending = vec![value];
        while let Some(expr) = pending.pop() {
            let expr = &self.source.exprs[expr];
            match expr {
                Expr::Const(_) | Expr::Var(_) => {}
                Expr::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Min | BinaryOp::Max, ..)
                | Expr::Cast(..) => count += 1,
                _ => return None,
            }
            pending.extend(expr.operands());
            if count > LITTLE * LITTLE {
                return None;
            }
        }
        Some(count)
    }

    /// The way in which an index of variables from outside of a loop, and of its counter, follows the counter.
    fn follows(&self, counter: VarId, is_outside: &impl Fn(VarId) -> bool, index: ExprId) -> Follows {
        use Follows::{By, Not, Steadily};
        match self.source.exprs[index] {
            Expr::Const(_) => By(0),
            Expr::Var(var) if var == counter => By(1),
            Expr::Var(var) if is_outside(var) => By(0),
            Expr::Cast(_, a) if self.follows(counter, is_outside, a) == By(0) => By(0),
            Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), a, b) => {
                let constant = |expr: ExprId| match self.source.exprs[expr] {
                    Expr::Const(constant) => i64::try_from(constant.bits).ok(),
                    _ => None,
                };
                match (op, self.follows(counter, is_outside, a), self.follows(counter, is_outside, b)) {
                    (_, Not, _) | (_, _, Not) => Not,
                    (BinaryOp::Add, By(a), By(b)) => a.checked_add(b).map_or(Not, By),
                    (BinaryOp::Sub, By(a), By(b)) => a.checked_sub(b).map_or(Not, By),
                    (BinaryOp::Mul, By(0), By(0)) => By(0),
                    (BinaryOp::Mul, By(by), By(0)) => {
                        constant(b).map_or(Steadily, |times| by.checked_mul(times).map_or(Not, By))
                    }
                    (BinaryOp::Mul, By(0), By(by)) => {
                        constant(a).map_or(Steadily, |times| by.checked_mul(times).map_or(Not, By))
                    }
                    (BinaryOp::Mul, Steadily, By(0)) | (BinaryOp::Mul, By(0), Steadily) => Steadily,
                    (BinaryOp::Add | BinaryOp::Sub, ..) => Steadily,
                    _ => Not,
                }
            }
            _ => Not,
        }
    }
}
