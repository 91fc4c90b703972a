//! Loops that load or store elements at a distance: their indices are counted up, and each element is taken by itself.
//!
//! ```text
//! for i in b .. e { C[i] = A[i] * B[(i * n + i) * n + i] }     at = (b * n + b) * n + b
//!                                                              for i in b .. e { C[i] = A[i] * B[at];  at += (n + 1) * n + 1 }
//! ```
//!
//! LLVM's vectorizer would gather such elements, and multiply for the address of each. No processor gathers faster than it loads one after
//! the other, and here nothing else is to be had from vectors, as little is computed. (An Intel processor with AVX-512, the loop above with
//! n = 250: 190 ns gathered, 110 in this way.) LLVM puts neighboring results into vectors, which loads fill; it would gather there, too, but for
//! [`are_all`], by which the target machine is chosen: 106 ns and 98.
//!
//! On entry: a serial loop that only loads, computes a little and stores. A distance of a few elements is left to the vectorizer, which
//! loads all of them, and chooses.

use inkwell::IntPredicate;
use inkwell::values::IntValue;
use lacunar_imp::{BinaryOp, Block, Expr, ExprId, Function, LoopKind, Stmt, VarId, loops};

use super::Emitter;
use super::frame::Place;
use super::hints::LoopHint;
use super::value::Value;
use crate::LlvmError;

/// The least distance of elements that are far from each other.
const FAR: u64 = 8;
/// The operations for each such element that are little.
const LITTLE: usize = 3;
/// The iterations of a group.
const COPIES: i64 = 4;

/// An index of elements at a distance.
struct Run<'ctx> {
    index: ExprId,
    /// Its value in the first iteration.
    first: IntValue<'ctx>,
    /// The difference of its values in two neighboring iterations.
    stride: IntValue<'ctx>,
}

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
        let indices = far_indices(self.source, var, body);
        if indices.is_empty() {
            return Ok(false);
        }
        self.needs.loops = true;
        let second = self.builder.build_int_add(begin, self.index(1), "")?;
        let mut runs = Vec::new();
        for index in indices {
            let (first, next) = (self.index_at(var, begin, index)?, self.index_at(var, second, index)?);
            runs.push(Run { index, first, stride: self.builder.build_int_sub(next, first, "stride")? });
        }
        let after = self.iterations_side_by_side(var, (begin, end), &mut runs, body)?;
        self.iterations(var, (after, end), &runs, body)?;
        Ok(true)
    }

    /// Emits the iterations of whole groups, and gives the first that is left; the runs begin there then. Indices of a group are all counted from
    /// its first one. The processor would wait for each in turn if they were counted from one another.
    fn iterations_side_by_side(
        &mut self,
        var: VarId,
        (begin, end): (IntValue<'ctx>, IntValue<'ctx>),
        runs: &mut [Run<'ctx>],
        body: &Block,
    ) -> Result<IntValue<'ctx>, LlvmError> {
        let copies = self.index(COPIES);
        let (any, none) = (self.builder.build_int_compare(IntPredicate::SLT, begin, end, "")?, self.index(0));
        let count = self.builder.build_int_sub(end, begin, "")?;
        let count = self.builder.build_select(any, count, none, "")?.into_int_value();
        let groups = self.builder.build_int_unsigned_div(count, copies, "groups")?;
        let mut steps = Vec::new();
        for run in runs.iter() {
            let step = |copy| self.builder.build_int_mul(run.stride, self.index(copy), "");
            steps.push((0..=COPIES).map(step).collect::<Result<Vec<_>, _>>()?);
        }
        let firsts: Vec<IntValue<'ctx>> = runs.iter().map(|run| run.first).collect();
        let indices: Vec<ExprId> = runs.iter().map(|run| run.index).collect();
        let name = &self.source.vars[var].name;
        self.count_along((none, groups), &firsts, name, Some(LoopHint::kept()), |emitter, group, firsts| {
            let done = emitter.builder.build_int_nsw_mul(group, copies, "")?;
            let counter = emitter.builder.build_int_nsw_add(begin, done, "")?;
            for copy in 0..COPIES {
                let at = firsts
                    .iter()
                    .zip(&steps)
                    .map(|(first, steps)| emitter.builder.build_int_add(*first, steps[copy as usize], "at"));
                let at = at.collect::<Result<Vec<_>, _>>()?;
                let counter = emitter.builder.build_int_nsw_add(counter, emitter.index(copy), "")?;
                emitter.iteration_at(var, counter, indices.iter().copied().zip(at), body)?;
            }
            let next = |(first, steps): (&IntValue<'ctx>, &Vec<_>)| {
                emitter.builder.build_int_add(*first, steps[COPIES as usize], "at")
            };
            Ok(firsts.iter().zip(&steps).map(next).collect::<Result<_, _>>()?)
        })?;
        for (run, steps) in runs.iter_mut().zip(&steps) {
            let done = self.builder.build_int_mul(groups, steps[COPIES as usize], "")?;
            run.first = self.builder.build_int_add(run.first, done, "at")?;
        }
        let done = self.builder.build_int_mul(groups, copies, "")?;
        Ok(self.builder.build_int_add(begin, done, "")?)
    }

    /// Emits iterations one after the other.
    fn iterations(
        &mut self,
        var: VarId,
        range: (IntValue<'ctx>, IntValue<'ctx>),
        runs: &[Run<'ctx>],
        body: &Block,
    ) -> Result<(), LlvmError> {
        let firsts: Vec<IntValue<'ctx>> = runs.iter().map(|run| run.first).collect();
        let name = &self.source.vars[var].name;
        self.count_along(range, &firsts, name, Some(LoopHint::kept()), |emitter, counter, at| {
            emitter.iteration_at(var, counter, runs.iter().map(|run| run.index).zip(at.iter().copied()), body)?;
            let next = |(run, at): (&Run<'ctx>, &IntValue<'ctx>)| emitter.builder.build_int_add(*at, run.stride, "at");
            Ok(runs.iter().zip(at).map(next).collect::<Result<_, _>>()?)
        })
    }

    /// Emits an iteration in which indices have these values.
    fn iteration_at(
        &mut self,
        var: VarId,
        counter: IntValue<'ctx>,
        indices: impl Iterator<Item = (ExprId, IntValue<'ctx>)>,
        body: &Block,
    ) -> Result<(), LlvmError> {
        self.given = indices.map(|(index, at)| (index, Value::Int(at))).collect();
        self.scalar_iteration(var, counter, body)?;
        self.given.clear();
        Ok(())
    }

    /// An index where the counter of a loop has a value.
    fn index_at(&mut self, counter: VarId, value: IntValue<'ctx>, index: ExprId) -> Result<IntValue<'ctx>, LlvmError> {
        self.frame.places[counter.index()] = Some(Place::Value(Value::Int(value)));
        self.begin_statement();
        self.eval_int(index)
    }
}

/// True if a function has such loops, and no vector loop, which may gather elements that it does not find in this way.
pub(crate) fn are_all(function: &Function) -> bool {
    let is_strided = |kind, var, body: &Block| kind == LoopKind::Serial && !far_indices(function, var, body).is_empty();
    loops::any(function, is_strided) && !loops::any(function, |kind, _, _| matches!(kind, LoopKind::Vector(_)))
}

/// The indices in the body of a loop at which elements lie far from each other; none if it does more than [`Emitter::strided_loop`] says.
fn far_indices(source: &Function, counter: VarId, body: &Block) -> Vec<ExprId> {
    let own: Vec<VarId> = body.iter().filter_map(Stmt::definition).collect();
    let is_outside = |var: VarId| !own.contains(&var) && !source.vars[var].mutable;
    let (mut found, mut operations) = (Vec::new(), 0);
    for stmt in body {
        match *stmt {
            Stmt::Load { index, .. } | Stmt::Store { index, reduce: None, .. } => {
                match follows(source, counter, &is_outside, index) {
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
            let Some(own) = operations_of(source, value) else { return Vec::new() };
            operations += own;
        }
    }
    if operations <= LITTLE * found.len() { found } else { Vec::new() }
}

/// The number of operations of a value; `None` if one of them is a function.
fn operations_of(source: &Function, value: ExprId) -> Option<usize> {
    let mut count = 0;
    let mut pending = vec![value];
    while let Some(expr) = pending.pop() {
        let expr = &source.exprs[expr];
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
fn follows(source: &Function, counter: VarId, is_outside: &impl Fn(VarId) -> bool, index: ExprId) -> Follows {
    use Follows::{By, Not, Steadily};
    match source.exprs[index] {
        Expr::Const(_) => By(0),
        Expr::Var(var) if var == counter => By(1),
        Expr::Var(var) if is_outside(var) => By(0),
        Expr::Cast(_, a) if follows(source, counter, is_outside, a) == By(0) => By(0),
        Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), a, b) => {
            let constant = |expr: ExprId| match source.exprs[expr] {
                Expr::Const(constant) => i64::try_from(constant.bits).ok(),
                _ => None,
            };
            match (op, follows(source, counter, is_outside, a), follows(source, counter, is_outside, b)) {
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
