//! Stores past the caches: of a vector loop whose results nobody reads soon, there are two versions.
//!
//! A line that is stored whole need not be loaded first, and puts nothing else out of the caches. The processor demands that
//! vectors are aligned then, and it writes lines that are stored in part very slowly. So the streaming version runs where the
//! condition of the store holds and the first element begins a line; and a loop of constant length has to fill its lines.
//!
//! ```text
//! for k in 0 .. 32 vector { C[i * 32 + k] = w[k] past c; }     if c and &C[i * 32] % 64 = 0 { 4 streaming stores } else { 4 stores }
//! ```
//!
//! Such stores are not in order with others (Intel, *Software Developer's Manual*, volume 1, section 10.4.6.2): whoever has
//! streamed says so by a fence before it returns, so that those that wait for it see its stores.

use inkwell::IntPredicate;
use inkwell::values::{InstructionValue, IntValue};
use lacunar_imp::{ArrayId, Block, ExprId, Stmt};

use super::super::Emitter;
use super::super::frame::Place;
use super::super::value::Value;
use super::known::Known;
use crate::LlvmError;

/// The bytes of a line.
const LINE: i64 = 64;

/// A store that may go past the caches.
struct Streamed {
    array: ArrayId,
    index: ExprId,
    past: ExprId,
}

impl<'ctx> Emitter<'ctx, '_> {
    /// The condition that the stores of a loop that begins at `begin` may stream, if some may. `count` is the number of its
    /// iterations, where that is known.
    pub(super) fn may_stream(
        &mut self,
        known: &Known,
        begin: IntValue<'ctx>,
        count: Option<i64>,
        body: &Block,
    ) -> Result<Option<IntValue<'ctx>>, LlvmError> {
        let stores: Vec<Streamed> = body.iter().filter_map(|stmt| self.streamed(known, count, stmt)).collect();
        if stores.is_empty() {
            return Ok(None);
        }
        self.frame.places[known.counter.index()] = Some(Place::Value(Value::Int(begin)));
        self.begin_statement();
        let mut all: Option<IntValue<'ctx>> = None;
        for Streamed { array, index, past } in stores {
            let (past, index) = (self.eval_int(past)?, self.eval_int(index)?);
            let (first, _) = self.element(array, index)?;
            let address = self.builder.build_ptr_to_int(first, self.context.i64_type(), "")?;
            let place = self.builder.build_and(address, self.index(LINE - 1), "")?;
            let begins = self.builder.build_int_compare(IntPredicate::EQ, place, self.index(0), "begins_line")?;
            let may = self.builder.build_and(past, begins, "")?;
            all = Some(match all {
                Some(others) => self.builder.build_and(others, may, "")?,
                None => may,
            });
        }
        Ok(all)
    }

    /// A statement of the body as a store of whole lines in order, if it is one.
    fn streamed(&self, known: &Known, count: Option<i64>, stmt: &Stmt) -> Option<Streamed> {
        let Stmt::Store { array, index, past: Some(past), reduce: None, .. } = *stmt else { return None };
        let bytes = self.element_size(array);
        let fills = count.is_none_or(|count| count.checked_mul(bytes).is_some_and(|bytes| bytes % LINE == 0));
        let in_order = known.stride(self.source, index) == Some(1) && known.needs_counter_only(self.source, index);
        (fills && in_order && !known.varies(self.source, past) && self.stack[array.index()].is_none())
            .then_some(Streamed { array, index, past })
    }

    /// Emits two versions of something: one for where its stores may stream, and one for elsewhere.
    pub(super) fn twice(
        &mut self,
        streams: IntValue<'ctx>,
        mut version: impl FnMut(&mut Self, bool) -> Result<(), LlvmError>,
    ) -> Result<(), LlvmError> {
        let (past, plain, after) = (self.new_block("past"), self.new_block("plain"), self.new_block("stored"));
        self.builder.build_conditional_branch(streams, past, plain)?;
        for (block, is_streaming) in [(past, true), (plain, false)] {
            self.builder.position_at_end(block);
            self.begin_statement();
            version(self, is_streaming)?;
            self.builder.build_unconditional_branch(after)?;
        }
        self.frame.streams = true;
        self.builder.position_at_end(after);
        Ok(())
    }

    /// Says that a store goes past the caches; its vector begins at a multiple of its size, or of that of a line.
    pub(super) fn stream(&self, store: InstructionValue<'ctx>, bytes: usize) -> Result<(), LlvmError> {
        let one = self.context.metadata_node(&[self.context.i32_type().const_int(1, false).into()]);
        store
            .set_metadata(one, self.context.get_kind_id("nontemporal"))
            .map_err(|_| LlvmError::Malformed("metadata is a node"))?;
        store
            .set_alignment(bytes.min(LINE as usize) as u32)
            .map_err(|_| LlvmError::Malformed("an alignment is a power of two"))
    }

    /// Makes the stores of a function that has streamed visible to others, before it returns.
    pub(in super::super) fn end_streams(&self) -> Result<(), LlvmError> {
        // Elsewhere all stores are as free, and whoever ends a thread's work orders them.
        if self.frame.streams && cfg!(target_arch = "x86_64") {
            self.intrinsic_effect("llvm.x86.sse.sfence", &[], &[])?;
        }
        Ok(())
    }
}
