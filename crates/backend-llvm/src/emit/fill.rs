//! Fills: a loop in line, and for large ranges the runtime with all threads.

use inkwell::IntPredicate;
use inkwell::values::{IntValue, PointerValue};
use lacunar_imp::{ArrayId, BinaryOp, Expr, ExprId};

use super::Emitter;
use super::alias::Scope;
use super::runtime::RuntimeFn;
use super::value::{self, Value};
use crate::LlvmError;

/// Fills of so many bytes and more are left to the runtime: half a level-2 cache of today.
const LARGE: i64 = 1 << 20;

impl<'ctx> Emitter<'ctx, '_> {
    /// The number of elements of `begin .. end`, if the end is written as so many behind the beginning. Nothing is filled beyond
    /// the greatest index, where the sum would wrap around.
    pub(super) fn constant_length(&self, begin: ExprId, end: ExprId) -> Option<i64> {
        let constant = |expr: ExprId| match self.source.exprs[expr] {
            Expr::Const(constant) => Some(constant.bits as i64),
            _ => None,
        };
        match self.source.exprs[end] {
            Expr::Binary(BinaryOp::Add, a, b) if a == begin => constant(b),
            Expr::Binary(BinaryOp::Add, a, b) if b == begin => constant(a),
            _ => None,
        }
    }

    /// Writes a value to elements `begin .. end`.
    pub(super) fn fill(
        &mut self,
        array: ArrayId,
        (begin, end): (IntValue<'ctx>, IntValue<'ctx>),
        len: Option<i64>,
        value: Value<'ctx>,
    ) -> Result<(), LlvmError> {
        let size = self.element_size(array);
        if let Some(len) = len.filter(|len| (1..LARGE / size).contains(len) && value.is_zero()) {
            return self.clear(array, begin, self.index(len));
        }
        let constant = |bound: IntValue<'ctx>| bound.get_sign_extended_constant();
        let known = constant(begin).zip(constant(end)).map(|(begin, end)| end.saturating_sub(begin));
        if let (true, Some(begin), Some(count)) = (self.stack[array.index()].is_some(), constant(begin), known) {
            return self.fill_straight(array, begin, count, value);
        }
        if known.is_some_and(|count| count < LARGE / size) || self.stack[array.index()].is_some() {
            return self.fill_in_line(array, begin, end, value);
        }
        let count = self.builder.build_int_sub(end, begin, "")?;
        let small = self.builder.build_int_compare(IntPredicate::SLT, count, self.index(LARGE / size), "")?;
        let (slow, fast, done) = (self.new_block("fill_large"), self.new_block("fill"), self.new_block("filled"));
        self.branch_likely(small, fast, slow)?;

        self.builder.position_at_end(slow);
        let pattern = self.pattern(array, value)?;
        let (first, _) = self.element(array, begin)?;
        let args = [first.into(), count.into(), pattern.into(), self.index(size).into()];
        let call = self.call_runtime(self.frame.table, RuntimeFn::Fill, &args)?;
        self.aliasing.mark_call(call, array)?;
        self.builder.build_unconditional_branch(done)?;

        self.builder.position_at_end(fast);
        self.fill_in_line(array, begin, end, value)?;
        self.builder.build_unconditional_branch(done)?;
        self.builder.position_at_end(done);
        Ok(())
    }

    /// Fills a part of an array on the stack without a loop, so that it can become registers: with zeros of no width, which
    /// registers of every width are made of, or in vectors.
    pub(super) fn fill_straight(
        &mut self,
        array: ArrayId,
        begin: i64,
        count: i64,
        value: Value<'ctx>,
    ) -> Result<(), LlvmError> {
        if value.is_zero() {
            return self.clear(array, self.index(begin), self.index(count.max(0)));
        }
        let (mut done, mut width) = (0, (self.vectors.bytes as i64 / self.element_size(array)).max(1));
        if self.source.arrays[array].elem.is_complex() {
            width = 1;
        }
        while done < count {
            while width > count - done {
                width /= 2;
            }
            let index = self.index(begin.wrapping_add(done));
            if width == 1 {
                self.store(array, index, value)?;
            } else {
                let (first, _) = self.element(array, index)?;
                let (element, _) = self.memory_value(array, value)?.parts();
                let store = self.builder.build_store(first, self.splat(element, width as u32)?)?;
                self.align(store, self.source.arrays[array].elem)?;
                self.aliasing.mark(store, Scope::Elements(array))?;
            }
            done += width;
        }
        Ok(())
    }

    fn fill_in_line(
        &mut self,
        array: ArrayId,
        begin: IntValue<'ctx>,
        end: IntValue<'ctx>,
        value: Value<'ctx>,
    ) -> Result<(), LlvmError> {
        if value.is_zero() {
            let count = self.builder.build_int_sub(end, begin, "")?;
            let none = self.builder.build_int_compare(IntPredicate::SLT, end, begin, "")?;
            let count = self.builder.build_select(none, self.index(0), count, "")?.into_int_value();
            return self.clear(array, begin, count);
        }
        self.needs.loops = true;
        self.count(begin, end, "k", None, |emitter, k| emitter.store(array, k, value))
    }

    /// A value as an element in memory, on the stack.
    fn pattern(&mut self, array: ArrayId, value: Value<'ctx>) -> Result<PointerValue<'ctx>, LlvmError> {
        let part = value::memory_type(self.context, self.source.arrays[array].elem);
        let (first, second) = self.memory_value(array, value)?.parts();
        let row = value::row_of(part, if second.is_some() { 2 } else { 1 });
        let here = self.current_block()?;
        self.builder.position_before(&self.frame.entry_end);
        let pattern = self.builder.build_alloca(row, "pattern")?;
        self.builder.position_at_end(here);
        for (index, value) in (0..).zip([Some(first), second].into_iter().flatten()) {
            let slot = self.slot_address(row, pattern, index)?;
            self.builder.build_store(slot, value)?;
        }
        Ok(pattern)
    }
}
