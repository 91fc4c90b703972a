//! The LLVM function being emitted: the places of its variables and arrays, and its ways out.

use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::values::{BasicValueEnum, FunctionValue, InstructionValue, IntValue, PointerValue};
use lacunar_imp::{ArrayId, Block, Function, Status};

use super::Emitter;
use super::memory::ArrayPlace;
use super::value::Value;
use crate::LlvmError;

/// The place of a variable.
#[derive(Clone, Copy)]
pub(super) enum Place<'ctx> {
    /// Immutable: its value.
    Value(Value<'ctx>),
    /// Mutable: its stack slots, two if complex.
    Slots(PointerValue<'ctx>, Option<PointerValue<'ctx>>),
}

/// The state of emitting one LLVM function.
pub(super) struct Frame<'ctx> {
    pub(super) function: FunctionValue<'ctx>,
    /// Its first parameter: the argument words of a kernel, or the context of a loop's body.
    pub(super) args: PointerValue<'ctx>,
    /// The runtime table.
    pub(super) table: PointerValue<'ctx>,
    /// The last instruction of the entry block; stack slots go before it.
    pub(super) entry_end: InstructionValue<'ctx>,
    body: BasicBlock<'ctx>,
    /// The block all ways out lead to, and the status each comes with.
    exit: BasicBlock<'ctx>,
    exits: Vec<(BasicBlock<'ctx>, IntValue<'ctx>)>,
    /// By variable; `None` before its definition is reached.
    pub(super) places: Vec<Option<Place<'ctx>>>,
    /// By array; `None` for those that are another function's.
    pub(super) arrays: Vec<Option<ArrayPlace<'ctx>>>,
    /// The arrays that are released at the end.
    pub(super) locals: Vec<ArrayId>,
    /// The blocks to which `break` goes.
    pub(super) breaks: Vec<BasicBlock<'ctx>>,
    /// True if it is the body of a parallel loop.
    pub(super) parallel: bool,
    /// The arrays that other iterations of the parallel loop work on at the same time.
    pub(super) shared: Vec<ArrayId>,
    /// True if it may store past the caches.
    pub(super) streams: bool,
}

impl<'ctx> Frame<'ctx> {
    /// Starts a function of `source`; the builder stands where the entry block is to be filled.
    pub(super) fn new(
        context: &'ctx Context,
        builder: &Builder<'ctx>,
        function: FunctionValue<'ctx>,
        source: &Function,
    ) -> Result<Frame<'ctx>, LlvmError> {
        let nounwind = Attribute::get_named_enum_kind_id("nounwind");
        function.add_attribute(AttributeLoc::Function, context.create_enum_attribute(nounwind, 0));
        let entry = context.append_basic_block(function, "entry");
        let body = context.append_basic_block(function, "body");
        let exit = context.append_basic_block(function, "exit");
        builder.position_at_end(entry);
        let entry_end = builder.build_unconditional_branch(body)?;
        builder.position_before(&entry_end);
        let args = function.get_first_param().map(BasicValueEnum::into_pointer_value);
        let args = args.ok_or(LlvmError::Malformed("a function has an argument"))?;
        Ok(Frame {
            function,
            args,
            table: args,
            entry_end,
            body,
            exit,
            exits: Vec::new(),
            places: vec![None; source.vars.len()],
            arrays: vec![None; source.arrays.len()],
            locals: Vec::new(),
            breaks: Vec::new(),
            parallel: false,
            shared: Vec::new(),
            streams: false,
        })
    }
}

impl<'ctx> Emitter<'ctx, '_> {
    /// Ends the current block by leaving the function.
    pub(super) fn leave(&mut self, status: Option<Status>) -> Result<(), LlvmError> {
        let status = self.status(status);
        let block = self.current_block()?;
        self.builder.build_unconditional_branch(self.frame.exit)?;
        self.frame.exits.push((block, status));
        Ok(())
    }

    pub(super) fn status(&self, status: Option<Status>) -> IntValue<'ctx> {
        self.context.i32_type().const_int(status.map_or(0, |status| status as u64), false)
    }

    /// Leaves the function with a status unless a condition holds, which it nearly always does.
    pub(super) fn fail_unless(&mut self, condition: IntValue<'ctx>, status: Status) -> Result<(), LlvmError> {
        self.leave_unless(condition, self.status(Some(status)))
    }

    /// [`Emitter::fail_unless`] with a status that is known at run time only.
    pub(super) fn leave_unless(&mut self, condition: IntValue<'ctx>, status: IntValue<'ctx>) -> Result<(), LlvmError> {
        let good = self.new_block("good");
        self.frame.exits.push((self.current_block()?, status));
        self.branch_likely(condition, good, self.frame.exit)?;
        self.builder.position_at_end(good);
        Ok(())
    }

    /// Emits the body of the function, and the block that all ways out lead to.
    pub(super) fn fill_frame(&mut self, body: &Block) -> Result<(), LlvmError> {
        self.builder.position_at_end(self.frame.body);
        self.block(body)?;
        if !self.terminated() {
            self.leave(None)?;
        }
        self.leave_block()
    }

    /// Emits the block that all ways out lead to.
    pub(super) fn leave_block(&mut self) -> Result<(), LlvmError> {
        self.builder.position_at_end(self.frame.exit);
        let status = self.builder.build_phi(self.context.i32_type(), "status")?;
        for (block, value) in &self.frame.exits {
            status.add_incoming(&[(value, *block)]);
        }
        self.release_locals()?;
        self.end_streams()?;
        self.builder.build_return(Some(&status.as_basic_value()))?;
        Ok(())
    }

    /// A new block at the end of the function.
    pub(super) fn new_block(&self, name: &str) -> BasicBlock<'ctx> {
        self.context.append_basic_block(self.frame.function, name)
    }

    /// The block being filled.
    pub(super) fn current_block(&self) -> Result<BasicBlock<'ctx>, LlvmError> {
        self.builder.get_insert_block().ok_or(LlvmError::Malformed("code outside of a block"))
    }

    /// True if the block being filled has ended.
    pub(super) fn terminated(&self) -> bool {
        self.builder.get_insert_block().is_some_and(|block| block.get_terminator().is_some())
    }

    /// Branches to one of two blocks, the second of which is hardly ever taken.
    pub(super) fn branch_likely(
        &self,
        condition: IntValue<'ctx>,
        likely: BasicBlock<'ctx>,
        unlikely: BasicBlock<'ctx>,
    ) -> Result<(), LlvmError> {
        let branch = self.builder.build_conditional_branch(condition, likely, unlikely)?;
        self.aliasing.mark_likely(branch)
    }
}
