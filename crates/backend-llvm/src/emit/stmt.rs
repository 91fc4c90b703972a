//! Statements and control flow.
//!
//! Loops are emitted in the form that LLVM's loop passes want: the condition is tested once before the loop and then at
//! its end. A `for` counts up to an end it has not reached, so its increment cannot wrap and says so (`nsw`).

use inkwell::IntPredicate;
use inkwell::values::IntValue;
use lacunar_imp::{ArrayId, BinaryOp, Block, ExprId, LoopKind, Stmt, Turns, VarId};

use super::Emitter;
use super::frame::Place;
use super::hints::{LoopHint, counts, may_be_treated};
use super::value::Value;
use super::vector::Span;
use crate::LlvmError;

/// Loops of constant length up to so many iterations are repeated here, if they ask for it; longer ones by LLVM, if at
/// all.
const REPEATED: i64 = 64;

impl<'ctx> Emitter<'ctx, '_> {
    /// Emits statements in order, up to one that control does not come back from.
    pub(super) fn block(&mut self, block: &Block) -> Result<(), LlvmError> {
        for stmt in block {
            if self.terminated() {
                break;
            }
            self.begin_statement();
            self.stmt(stmt)?;
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), LlvmError> {
        match *stmt {
            Stmt::Define { var, value } | Stmt::Assign { var, value } => self.assign(var, value),
            Stmt::Load { var, array, index } => {
                let index = self.eval_int(index)?;
                let value = self.load(array, index, &self.source.vars[var].name)?;
                self.frame.places[var.index()] = Some(Place::Value(value));
                Ok(())
            }
            Stmt::Store { array, index, value, reduce, .. } => self.store_stmt(array, index, value, reduce),
            Stmt::Prefetch { array, begin, end } => self.prefetch(array, begin, end),
            Stmt::For { var, begin, end, loads, kind, ref body } => self.for_loop(var, [begin, end], loads, kind, body),
            Stmt::While { cond, ref body } => self.while_loop(cond, body),
            Stmt::Break => {
                let target = self.frame.breaks.last().ok_or(LlvmError::Malformed("`break` outside of a loop"))?;
                self.builder.build_unconditional_branch(*target)?;
                Ok(())
            }
            Stmt::If { cond, ref then, ref otherwise } => self.branch(cond, then, otherwise),
            Stmt::Alloc { array, len, zeroed } => {
                let len = self.eval_int(len)?;
                self.alloc(array, len, zeroed)
            }
            Stmt::Grow { array, count, block, zeroed } => {
                let (count, block) = (self.eval_int(count)?, self.eval_int(block)?);
                self.grow(array, count, block, zeroed)
            }
            Stmt::Atomic { array, index, value, op } if self.frame.parallel => {
                let (index, value) = (self.eval_int(index)?, self.eval(value)?);
                self.atomic(array, index, value, op)
            }
            Stmt::Atomic { array, index, value, op } => self.store_stmt(array, index, value, Some(op)),
            Stmt::Deposit { parts, slot, array, len } => {
                let (slot, len) = (self.eval_int(slot)?, self.eval_int(len)?);
                self.deposit(parts, slot, array, len)
            }
            Stmt::Collect { array, at, parts, bias, result } => {
                let at = self.eval_int(at)?;
                self.collect(array, at, parts, bias, result)
            }
            Stmt::Fill { array, begin, end, value } => {
                let len = self.constant_length(begin, end);
                let (begin, end, value) = (self.eval_int(begin)?, self.eval_int(end)?, self.eval(value)?);
                self.fill(array, (begin, end), len, value)
            }
            Stmt::Call { callee, ref args, result } => self.call(callee, args, result),
            Stmt::Fail(status) => self.leave(Some(status)),
            Stmt::Comment(_) => Ok(()),
        }
    }

    fn assign(&mut self, var: VarId, value: ExprId) -> Result<(), LlvmError> {
        let value = self.eval(value)?;
        match self.frame.places[var.index()] {
            Some(Place::Slots(first, second)) => {
                let (first_value, second_value) = value.parts();
                let slots = [Some((first, first_value)), second.zip(second_value)];
                for (slot, value) in slots.into_iter().flatten() {
                    self.builder.build_store(slot, value)?;
                }
            }
            Some(Place::Value(_)) | None => self.frame.places[var.index()] = Some(Place::Value(value)),
        }
        Ok(())
    }

    fn store_stmt(
        &mut self,
        array: ArrayId,
        index: ExprId,
        value: ExprId,
        reduce: Option<BinaryOp>,
    ) -> Result<(), LlvmError> {
        let (index, value) = (self.eval_int(index)?, self.eval(value)?);
        let value = match reduce {
            Some(op) => {
                let old = self.load(array, index, "old")?;
                self.binary(op, self.source.arrays[array].elem, old, value)?
            }
            None => value,
        };
        self.store(array, index, value)
    }

    fn for_loop(
        &mut self,
        var: VarId,
        [begin, end]: [ExprId; 2],
        loads: Option<ExprId>,
        kind: LoopKind,
        body: &Block,
    ) -> Result<(), LlvmError> {
        let (begin, end) = (self.eval_int(begin)?, self.eval_int(end)?);
        if let LoopKind::Vector(lanes) = kind {
            let loads = loads.map(|loads| self.eval_int(loads)).transpose()?;
            if self.vector_loop(var, Span { begin, end, loads }, lanes, body)? {
                return Ok(());
            }
        }
        let known = begin.get_sign_extended_constant().zip(end.get_sign_extended_constant());
        if let (LoopKind::Unrolled(Turns { times: 0, .. }), Some((first, last))) = (kind, known)
            && last.saturating_sub(first) <= REPEATED
        {
            return (first..last).try_for_each(|k| self.scalar_iteration(var, self.index(k), body));
        }
        if kind == LoopKind::Serial && self.strided_loop(var, (begin, end), body)? {
            return Ok(());
        }
        let hint = match kind {
            LoopKind::Parallel => return self.parallel_loop(var, begin, end, body),
            LoopKind::Serial => LoopHint::for_body(self.source, body, self.vectors)
                .or_else(|| LoopHint::around(self.source, var, body, self.vectors)),
            LoopKind::Vector(_) if self.source.strict => None,
            LoopKind::Vector(lanes) => Some(LoopHint::vector(self.source, body, lanes.width, self.vectors)),
            LoopKind::Unrolled(Turns { times, .. }) => Some(LoopHint::unrolled(times)),
        };
        self.needs.loops |= known.is_some() || hint.is_some() || may_be_treated(self.source, body);
        let (begin, hint) = match kind {
            LoopKind::Serial => {
                let rest = self.sum_in_copies(var, begin, end, body)?;
                (self.sum_in_groups(var, rest, end, body)?, hint)
            }
            LoopKind::Unrolled(Turns { times, near }) => {
                if !near {
                    self.fetch_ahead_of_sums(var, (begin, end), body)?;
                }
                match self.sum_in_turns(var, (begin, end), times, body)? {
                    Some(rest) => (rest, Some(LoopHint::unrolled(1))),
                    None => (begin, hint),
                }
            }
            _ => (begin, hint),
        };
        let name = &self.source.vars[var].name;
        self.count(begin, end, name, hint, |emitter, counter| {
            emitter.frame.places[var.index()] = Some(Place::Value(Value::Int(counter)));
            emitter.block(body)
        })
    }

    /// A loop whose counter takes `begin, begin + 1, ..` below `end`.
    pub(super) fn count(
        &mut self,
        begin: IntValue<'ctx>,
        end: IntValue<'ctx>,
        name: &str,
        hint: Option<LoopHint>,
        body: impl FnOnce(&mut Self, IntValue<'ctx>) -> Result<(), LlvmError>,
    ) -> Result<(), LlvmError> {
        self.count_along((begin, end), &[], name, hint, |emitter, counter, _| {
            body(emitter, counter)?;
            Ok(Vec::new())
        })
    }

    /// The same with values that change from one iteration to the next, beginning with `first`: the body gives the next ones.
    pub(super) fn count_along(
        &mut self,
        (begin, end): (IntValue<'ctx>, IntValue<'ctx>),
        first: &[IntValue<'ctx>],
        name: &str,
        hint: Option<LoopHint>,
        body: impl FnOnce(&mut Self, IntValue<'ctx>, &[IntValue<'ctx>]) -> Result<Vec<IntValue<'ctx>>, LlvmError>,
    ) -> Result<(), LlvmError> {
        let before = self.current_block()?;
        let (inside, after) = (self.new_block("for"), self.new_block("end_for"));
        let any = self.builder.build_int_compare(IntPredicate::SLT, begin, end, "")?;
        self.builder.build_conditional_branch(any, inside, after)?;

        self.builder.position_at_end(inside);
        let counter = self.builder.build_phi(self.context.i64_type(), name)?;
        counter.add_incoming(&[(&begin, before)]);
        let value = counter.as_basic_value().into_int_value();
        let mut along = Vec::new();
        for first in first {
            let phi = self.builder.build_phi(first.get_type(), "at")?;
            phi.add_incoming(&[(first, before)]);
            along.push(phi);
        }
        let values: Vec<IntValue<'ctx>> = along.iter().map(|phi| phi.as_basic_value().into_int_value()).collect();
        self.frame.breaks.push(after);
        let next_values = body(self, value, &values)?;
        self.frame.breaks.pop();
        if !self.terminated() {
            let next = self.builder.build_int_nsw_add(value, self.index(1), "next")?;
            counter.add_incoming(&[(&next, self.current_block()?)]);
            for (phi, next) in along.iter().zip(&next_values) {
                phi.add_incoming(&[(next, self.current_block()?)]);
            }
            let more = self.builder.build_int_compare(IntPredicate::SLT, next, end, "")?;
            let latch = self.builder.build_conditional_branch(more, inside, after)?;
            if let Some(hint) = hint {
                hint.set(self.context, latch);
            }
        }
        self.builder.position_at_end(after);
        Ok(())
    }

    fn while_loop(&mut self, cond: ExprId, body: &Block) -> Result<(), LlvmError> {
        self.needs.loops |= counts(self.source, cond, body) && may_be_treated(self.source, body);
        let (inside, after) = (self.new_block("while"), self.new_block("end_while"));
        let first = self.eval_int(cond)?;
        self.builder.build_conditional_branch(first, inside, after)?;

        self.builder.position_at_end(inside);
        self.frame.breaks.push(after);
        self.block(body)?;
        self.frame.breaks.pop();
        if !self.terminated() {
            self.begin_statement();
            let again = self.eval_int(cond)?;
            self.builder.build_conditional_branch(again, inside, after)?;
        }
        self.builder.position_at_end(after);
        Ok(())
    }

    fn branch(&mut self, cond: ExprId, then: &Block, otherwise: &Block) -> Result<(), LlvmError> {
        let cond = self.eval_int(cond)?;
        let (yes, no, after) = (self.new_block("then"), self.new_block("else"), self.new_block("end_if"));
        self.builder.build_conditional_branch(cond, yes, no)?;
        for (block, start) in [(then, yes), (otherwise, no)] {
            self.builder.position_at_end(start);
            self.block(block)?;
            if !self.terminated() {
                self.builder.build_unconditional_branch(after)?;
            }
        }
        self.builder.position_at_end(after);
        Ok(())
    }
}
