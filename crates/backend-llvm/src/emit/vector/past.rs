//! Stores past the caches: of a vector loop whose results nobody reads soon, there are two versions.
//!
//! A line that is stored whole need not be loaded first, and puts nothing else out of the caches. The processor demands that
//! vectors are aligned then, and it writes lines that are stored in part very slowly. So the streaming version runs where the
//! condition of the store holds and the first element begins a line; and a loop of a small constant length has to fill its lines.
//! A longer loop with one such store runs the iterations before the first whole line by themselves, if there are many lines behind.
//!
//! ```text
//! for k in 0 .. 32 vector { C[i * 32 + k] = w[k] past c; }     if c and &C[i * 32] % 64 = 0 { 4 streaming stores } else { 4 stores }
//! for k in 0 .. n vector { C[i * n + k] = w[k] past c; }       if c and n is large { stores up to a line; streaming stores } else { stores }
//! ```
//!
//! Such stores are not in order with others (Intel, *Software Developer's Manual*, volume 1, section 10.4.6.2): whoever has
//! streamed says so by a fence before it returns, so that those that wait for it see its stores.

use inkwell::IntPredicate;
use inkwell::values::{InstructionValue, IntValue};
use lacunar_imp::{ArrayId, Block, ExprId, Stmt};

use super::super::Emitter;
use super::super::frame::Place;
use super::super::hints::LoopHint;
use super::super::value::Value;
use super::Span;
use super::known::Known;
use super::straight::constants;
use crate::LlvmError;

/// The bytes of a line.
const LINE: i64 = 64;
/// The bytes of a loop that is worth to be aligned.
const LEAST_ALIGNED: i64 = 1024;

/// A store that may go past the caches.
struct Streamed {
    array: ArrayId,
    index: ExprId,
    past: ExprId,
}

/// When the stores of a loop may stream.
pub(super) struct Streaming<'ctx> {
    /// The condition that they may.
    may: IntValue<'ctx>,
    /// The iterations before the first whole line, if there may be some.
    lead: Option<IntValue<'ctx>>,
}

impl<'ctx> Emitter<'ctx, '_> {
    /// The condition that the stores of a loop may stream, if some may. `is_long` says that the loop is no straight code.
    pub(super) fn may_stream(
        &mut self,
        known: &Known,
        (begin, end): (IntValue<'ctx>, IntValue<'ctx>),
        is_long: bool,
        body: &Block,
    ) -> Result<Option<Streaming<'ctx>>, LlvmError> {
        let count = constants(begin, end).map(|(begin, end)| end.saturating_sub(begin)).filter(|_| !is_long);
        let stores: Vec<Streamed> = body.iter().filter_map(|stmt| self.streamed(known, count, stmt)).collect();
        if stores.is_empty() {
            return Ok(None);
        }
        self.frame.places[known.counter.index()] = Some(Place::Value(Value::Int(begin)));
        self.begin_statement();
        if let ([only], true) = (stores.as_slice(), is_long && !known.tests_words) {
            return self.aligned(only, (begin, end)).map(Some);
        }
        let mut all: Option<IntValue<'ctx>> = None;
        for store in &stores {
            let (past, place) = (self.eval_int(store.past)?, self.place_in_line(store)?);
            let begins = self.builder.build_int_compare(IntPredicate::EQ, place, self.index(0), "begins_line")?;
            let may = self.builder.build_and(past, begins, "")?;
            all = Some(match all {
                Some(others) => self.builder.build_and(others, may, "")?,
                None => may,
            });
        }
        Ok(all.map(|may| Streaming { may, lead: None }))
    }

    /// The bytes of its line before the element that a store begins with.
    fn place_in_line(&mut self, &Streamed { array, index, .. }: &Streamed) -> Result<IntValue<'ctx>, LlvmError> {
        let index = self.eval_int(index)?;
        let (first, _) = self.element(array, index)?;
        let address = self.builder.build_ptr_to_int(first, self.context.i64_type(), "")?;
        Ok(self.builder.build_and(address, self.index(LINE - 1), "")?)
    }

    /// The iterations of a loop before the first whole line of its only store, and the condition that there is one, with many behind it.
    fn aligned(
        &mut self,
        store: &Streamed,
        (begin, end): (IntValue<'ctx>, IntValue<'ctx>),
    ) -> Result<Streaming<'ctx>, LlvmError> {
        let bytes = self.element_size(store.array);
        let (past, place) = (self.eval_int(store.past)?, self.place_in_line(store)?);
        let left = self.builder.build_int_sub(self.index(LINE), place, "")?;
        let left = self.builder.build_and(left, self.index(LINE - 1), "")?;
        let lead = self.builder.build_int_unsigned_div(left, self.index(bytes), "lead")?;
        let part = self.builder.build_and(place, self.index(bytes - 1), "")?;
        let is_whole = self.builder.build_int_compare(IntPredicate::EQ, part, self.index(0), "")?;
        // If the difference wraps around, the loop is empty, or as long as no array.
        let count = self.builder.build_int_sub(end, begin, "")?;
        let is_long =
            self.builder.build_int_compare(IntPredicate::SGE, count, self.index(LEAST_ALIGNED / bytes), "")?;
        let may = self.builder.build_and(past, is_whole, "")?;
        let may = self.builder.build_and(may, is_long, "")?;
        Ok(Streaming { may, lead: Some(lead) })
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

    /// Emits a loop twice, with vectors of `whole` lanes where its stores stream, and of `width` lanes elsewhere. Lines that go past the
    /// caches are stored whole.
    pub(super) fn both_versions(
        &mut self,
        known: &mut Known,
        Streaming { may, lead }: Streaming<'ctx>,
        span: Span<'ctx>,
        (whole, width): (u32, u32),
        body: &Block,
    ) -> Result<(), LlvmError> {
        let aligned = known.aligned;
        self.twice(may, |emitter, is_streaming| {
            known.streams = is_streaming;
            let Some(lead) = lead.filter(|_| is_streaming) else {
                known.aligned = aligned;
                return emitter.whole_loop(known, span, if is_streaming { whole } else { width }, body);
            };
            known.aligned = None;
            let first = emitter.builder.build_int_add(span.begin, lead, "first_line")?;
            emitter.count(span.begin, first, "k", Some(LoopHint::scalar()), |emitter, counter| {
                emitter.scalar_iteration(known.counter, counter, body)
            })?;
            emitter.long_loop(known, Span { begin: first, ..span }, whole, body)
        })
    }

    /// Emits two versions of something: one for where its stores may stream, and one for elsewhere.
    fn twice(
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
