//! Atomic combinations: one instruction where the machine has one, otherwise a loop that tries again when another
//! thread was faster.
//!
//! ```text
//! again:  %old = phi i64 [ %first, %before ], [ %found, %again ]
//!         %new = ...
//!         { %found, %done } = cmpxchg ptr %p, i64 %old, i64 %new monotonic monotonic
//!         br i1 %done, label %end, label %again
//! ```

use inkwell::AtomicOrdering::Monotonic;
use inkwell::AtomicRMWBinOp;
use inkwell::values::{BasicValue, BasicValueEnum, FloatValue, IntValue, PointerValue};
use lacunar_formats::{DType, Kind};
use lacunar_imp::{ArrayId, BinaryOp};

use super::Emitter;
use super::alias::Scope;
use super::arith::NOT_ON_TYPE;
use super::value::{self, Value};
use crate::LlvmError;

impl<'ctx> Emitter<'ctx, '_> {
    /// Combines an element with a value, indivisibly (each part of a complex number for itself).
    pub(super) fn atomic(
        &mut self,
        array: ArrayId,
        index: IntValue<'ctx>,
        value: Value<'ctx>,
        op: BinaryOp,
    ) -> Result<(), LlvmError> {
        let elem = self.source.arrays[array].elem;
        let (first, second) = self.element(array, index)?;
        match value {
            Value::Int(bit) if elem == DType::Bool => {
                let byte = self.builder.build_int_z_extend(bit, self.context.i8_type(), "")?;
                self.atomic_int(array, first, byte, instruction(op, Kind::Bool)?).map(drop)
            }
            Value::Int(value) => self.atomic_int(array, first, value, instruction(op, elem.kind())?).map(drop),
            Value::Real(value) => self.atomic_real(array, first, value, op),
            Value::Complex(re, im) => {
                let second = second.filter(|_| op == BinaryOp::Add).ok_or(NOT_ON_TYPE)?;
                self.atomic_real(array, first, re, op)?;
                self.atomic_real(array, second, im, op)
            }
        }
    }

    /// Takes a number: the first element of an array, which is one more afterwards.
    pub(super) fn take(&mut self, next: ArrayId) -> Result<IntValue<'ctx>, LlvmError> {
        let (place, _) = self.element(next, self.index(0))?;
        self.atomic_int(next, place, self.index(1), AtomicRMWBinOp::Add)
    }

    /// True if a flag is raised: an element that other threads may set meanwhile.
    pub(super) fn raised(&mut self, flag: ArrayId) -> Result<IntValue<'ctx>, LlvmError> {
        let (place, _) = self.element(flag, self.index(0))?;
        let byte = self.builder.build_load(self.context.i8_type(), place, "raised")?;
        if let Some(load) = byte.as_instruction_value() {
            load.set_atomic_ordering(Monotonic).map_err(|_| LlvmError::Malformed("a load is atomic"))?;
            self.aliasing.mark(load, Scope::Elements(flag))?;
        }
        Ok(self.builder.build_int_z_extend(byte.into_int_value(), self.context.i64_type(), "")?)
    }

    /// Returns the earlier value.
    fn atomic_int(
        &self,
        array: ArrayId,
        place: PointerValue<'ctx>,
        value: IntValue<'ctx>,
        op: AtomicRMWBinOp,
    ) -> Result<IntValue<'ctx>, LlvmError> {
        let old = self.builder.build_atomicrmw(op, place, value, Monotonic)?;
        if let Some(instruction) = old.as_instruction_value() {
            self.aliasing.mark(instruction, Scope::Elements(array))?;
        }
        Ok(old)
    }

    fn atomic_real(
        &mut self,
        array: ArrayId,
        place: PointerValue<'ctx>,
        value: FloatValue<'ctx>,
        op: BinaryOp,
    ) -> Result<(), LlvmError> {
        let part = self.source.arrays[array].elem.part();
        let real = value::real_type(self.context, part);
        let bits = if part == DType::F32 { self.context.i32_type() } else { self.context.i64_type() };
        let first = self.builder.build_load(bits, place, "old")?;
        if let Some(load) = first.as_instruction_value() {
            load.set_atomic_ordering(Monotonic).map_err(|_| LlvmError::Malformed("a load is atomic"))?;
            self.aliasing.mark(load, Scope::Elements(array))?;
        }
        let (before, again, done) = (self.current_block()?, self.new_block("again"), self.new_block("combined"));
        self.builder.build_unconditional_branch(again)?;
        self.builder.position_at_end(again);
        let old = self.builder.build_phi(bits, "old")?;
        old.add_incoming(&[(&first, before)]);
        let old_bits = old.as_basic_value();
        let old_value = Value::from_parts(self.builder.build_bit_cast(old_bits, real, "")?, None);
        let new = self.binary(op, part, old_value, Value::Real(value))?.real()?;
        let new = self.builder.build_bit_cast(new, bits, "")?;
        let outcome =
            self.builder.build_cmpxchg(place, old_bits.into_int_value(), new.into_int_value(), Monotonic, Monotonic)?;
        if let Some(exchange) = outcome.as_instruction_value() {
            self.aliasing.mark(exchange, Scope::Elements(array))?;
        }
        let found: BasicValueEnum = self.builder.build_extract_value(outcome, 0, "")?;
        let exchanged = self.builder.build_extract_value(outcome, 1, "")?.into_int_value();
        old.add_incoming(&[(&found, self.current_block()?)]);
        self.builder.build_conditional_branch(exchanged, done, again)?;
        self.builder.position_at_end(done);
        Ok(())
    }
}

/// The instruction that combines integers or `Bool`s.
fn instruction(op: BinaryOp, kind: Kind) -> Result<AtomicRMWBinOp, LlvmError> {
    Ok(match (op, kind) {
        (BinaryOp::Or, _) | (BinaryOp::Add | BinaryOp::Max, Kind::Bool) => AtomicRMWBinOp::Or,
        (BinaryOp::And, _) | (BinaryOp::Min, Kind::Bool) => AtomicRMWBinOp::And,
        (BinaryOp::Xor, _) => AtomicRMWBinOp::Xor,
        (BinaryOp::Add, _) => AtomicRMWBinOp::Add,
        (BinaryOp::Min, Kind::Signed) => AtomicRMWBinOp::Min,
        (BinaryOp::Min, _) => AtomicRMWBinOp::UMin,
        (BinaryOp::Max, Kind::Signed) => AtomicRMWBinOp::Max,
        (BinaryOp::Max, _) => AtomicRMWBinOp::UMax,
        _ => return Err(NOT_ON_TYPE),
    })
}
