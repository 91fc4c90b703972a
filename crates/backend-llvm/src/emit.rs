//! From a function of the imperative IR to an LLVM module with one function.
//!
//! The function starts with a block `entry` that unpacks the arguments and makes room for mutable variables (`alloca`s, which
//! LLVM's `sroa` turns into registers) and for the headers of local arrays; its body follows; every way out leads to one block `exit` that releases local arrays and returns the status.
//!
//! ```text
//! define i32 @f(ptr %args) {
//! entry:  ...loads of the argument words, allocas...
//! body:   ...
//! exit:   %status = phi i32 [ 0, %body ], [ 1, %no_memory ]
//!         ...release...
//!         ret i32 %status
//! }
//! ```

mod alias;
mod arith;
mod calls;
mod cast;
mod complex;
mod expr;
mod grow;
mod hints;
pub(crate) use hints::silence;
mod math;
mod memory;
mod runtime;
mod stmt;
mod value;

use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::module::{Linkage, Module};
use inkwell::targets::TargetMachine;
use inkwell::values::{
    BasicValueEnum, FastMathFlags, FunctionValue, InstructionOpcode, InstructionValue, IntValue, PointerValue,
};
use inkwell::{AddressSpace, attributes};
use lacunar_imp::{Function, Param, Status};

use self::alias::Aliasing;
use self::memory::ArrayPlace;
use self::value::Value;
use crate::LlvmError;

/// Where a variable lives.
#[derive(Clone, Copy)]
enum Place<'ctx> {
    /// Immutable: its value.
    Value(Value<'ctx>),
    /// Mutable: its stack slots, two if complex.
    Slots(PointerValue<'ctx>, Option<PointerValue<'ctx>>),
}

/// The state of emitting one function.
struct Emitter<'ctx, 'f> {
    context: &'ctx Context,
    module: &'f Module<'ctx>,
    builder: Builder<'ctx>,
    source: &'f Function,
    kernel: FunctionValue<'ctx>,
    /// The argument words.
    args: PointerValue<'ctx>,
    /// The runtime table.
    table: PointerValue<'ctx>,
    /// The last instruction of the entry block; stack slots go before it.
    entry_end: InstructionValue<'ctx>,
    /// The block all ways out lead to, and the status each comes with.
    exit: BasicBlock<'ctx>,
    exits: Vec<(BasicBlock<'ctx>, IntValue<'ctx>)>,
    /// By variable; `None` before its definition is reached.
    places: Vec<Option<Place<'ctx>>>,
    arrays: Vec<ArrayPlace<'ctx>>,
    aliasing: Aliasing<'ctx>,
    /// The function that gets memory for arrays that grow, once there is one.
    grow_array: Option<FunctionValue<'ctx>>,
    /// By expression: its value where the current statement has needed it already.
    memo: Vec<Option<Value<'ctx>>>,
    memoized: Vec<usize>,
    /// Where `break` goes.
    breaks: Vec<BasicBlock<'ctx>>,
    /// Whether the processor has loads, gathers and arithmetic under a mask.
    masked_vectors: bool,
}

/// Emits `source` as an LLVM function called `symbol`, for a machine.
pub(crate) fn emit<'ctx>(
    context: &'ctx Context,
    source: &Function,
    symbol: &str,
    machine: &TargetMachine,
) -> Result<Module<'ctx>, LlvmError> {
    let module = context.create_module(&source.name);
    // Before anything is emitted: loads and stores take their alignment from the layout.
    module.set_triple(&machine.get_triple());
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    let pointer = context.ptr_type(AddressSpace::default());
    let kernel_type = context.i32_type().fn_type(&[pointer.into()], false);
    let kernel = module.add_function(symbol, kernel_type, Some(Linkage::External));
    let nounwind = attributes::Attribute::get_named_enum_kind_id("nounwind");
    kernel.add_attribute(attributes::AttributeLoc::Function, context.create_enum_attribute(nounwind, 0));

    let entry = context.append_basic_block(kernel, "entry");
    let body = context.append_basic_block(kernel, "body");
    let exit = context.append_basic_block(kernel, "exit");
    let builder = context.create_builder();
    builder.position_at_end(entry);
    let entry_end = builder.build_unconditional_branch(body)?;
    builder.position_before(&entry_end);
    let args = kernel.get_first_param().map(BasicValueEnum::into_pointer_value);
    let args = args.ok_or(LlvmError::Malformed("the kernel has an argument"))?;

    let mut emitter = Emitter {
        context,
        module: &module,
        builder,
        source,
        kernel,
        args,
        table: args,
        entry_end,
        exit,
        exits: Vec::new(),
        places: vec![None; source.vars.len()],
        arrays: Vec::with_capacity(source.arrays.len()),
        aliasing: Aliasing::new(context, source),
        grow_array: None,
        memo: vec![None; source.exprs.len()],
        memoized: Vec::new(),
        breaks: Vec::new(),
        masked_vectors: machine.get_feature_string().to_string_lossy().contains("+avx512vl"),
    };
    emitter.unpack_arguments()?;
    emitter.reserve_variables()?;
    emitter.builder.position_at_end(body);
    emitter.block(&source.body)?;
    if !emitter.terminated() {
        emitter.leave(None)?;
    }
    emitter.leave_block()?;
    if !source.strict {
        allow_reassociation(kernel)?;
    }
    drop(emitter);
    module.verify().map_err(|error| LlvmError::Module(error.to_string()))?;
    Ok(module)
}

impl<'ctx> Emitter<'ctx, '_> {
    /// Loads the argument words and makes every array's place.
    fn unpack_arguments(&mut self) -> Result<(), LlvmError> {
        self.table = self.load_word(0, true)?.into_pointer_value();
        let mut words = vec![None; self.source.arrays.len()];
        let mut next = 1;
        for &param in &self.source.params {
            match param {
                Param::Array(array) => {
                    words[array.index()] = Some(next);
                    next += 2;
                }
                Param::Scalar(var) => {
                    let value = self.load_word(next, false)?.into_int_value();
                    self.places[var.index()] = Some(Place::Value(Value::Int(value)));
                    next += 1;
                }
            }
        }
        for (array, word) in self.source.arrays.handles().zip(words) {
            let place = self.array_place(array, word)?;
            self.arrays.push(place);
        }
        Ok(())
    }

    /// Makes stack slots for the mutable variables.
    fn reserve_variables(&mut self) -> Result<(), LlvmError> {
        for (handle, var) in self.source.vars.iter() {
            if var.mutable {
                let ty = value::register_type(self.context, var.ty);
                let first = self.builder.build_alloca(ty, &var.name)?;
                let second = if var.ty.is_complex() { Some(self.builder.build_alloca(ty, &var.name)?) } else { None };
                self.places[handle.index()] = Some(Place::Slots(first, second));
            }
        }
        Ok(())
    }

    /// Ends the current block by leaving the kernel.
    fn leave(&mut self, status: Option<Status>) -> Result<(), LlvmError> {
        let status = self.status(status);
        let block = self.current_block()?;
        self.builder.build_unconditional_branch(self.exit)?;
        self.exits.push((block, status));
        Ok(())
    }

    fn status(&self, status: Option<Status>) -> IntValue<'ctx> {
        self.context.i32_type().const_int(status.map_or(0, |status| status as u64), false)
    }

    /// Leaves the kernel with a status unless a condition holds, which it nearly always does.
    fn fail_unless(&mut self, condition: IntValue<'ctx>, status: Status) -> Result<(), LlvmError> {
        self.leave_unless(condition, self.status(Some(status)))
    }

    /// [`Emitter::fail_unless`] with a status that is known at run time only.
    fn leave_unless(&mut self, condition: IntValue<'ctx>, status: IntValue<'ctx>) -> Result<(), LlvmError> {
        let good = self.new_block("good");
        self.exits.push((self.current_block()?, status));
        self.branch_likely(condition, good, self.exit)?;
        self.builder.position_at_end(good);
        Ok(())
    }

    /// Emits the block that all ways out lead to.
    fn leave_block(&mut self) -> Result<(), LlvmError> {
        self.builder.position_at_end(self.exit);
        let status = self.builder.build_phi(self.context.i32_type(), "status")?;
        for (block, value) in &self.exits {
            status.add_incoming(&[(value, *block)]);
        }
        self.release_locals()?;
        self.builder.build_return(Some(&status.as_basic_value()))?;
        Ok(())
    }

    /// A new block at the end of the kernel.
    fn new_block(&self, name: &str) -> BasicBlock<'ctx> {
        self.context.append_basic_block(self.kernel, name)
    }

    /// The block being filled.
    fn current_block(&self) -> Result<BasicBlock<'ctx>, LlvmError> {
        self.builder.get_insert_block().ok_or(LlvmError::Malformed("code outside of a block"))
    }

    /// Whether the block being filled has ended.
    fn terminated(&self) -> bool {
        self.builder.get_insert_block().is_some_and(|block| block.get_terminator().is_some())
    }

    /// Branches to one of two blocks, the second of which is hardly ever taken.
    fn branch_likely(
        &self,
        condition: IntValue<'ctx>,
        likely: BasicBlock<'ctx>,
        unlikely: BasicBlock<'ctx>,
    ) -> Result<(), LlvmError> {
        let branch = self.builder.build_conditional_branch(condition, likely, unlikely)?;
        self.aliasing.mark_likely(branch)
    }
}

/// Lets LLVM regroup sums and fuse products with sums, and no more.
fn allow_reassociation(kernel: FunctionValue) -> Result<(), LlvmError> {
    let sums = FastMathFlags::AllowReassoc | FastMathFlags::AllowContract;
    for instruction in kernel.get_basic_block_iter().flat_map(|block| block.get_instructions()) {
        let flags = match instruction.get_opcode() {
            InstructionOpcode::FAdd | InstructionOpcode::FSub => sums,
            InstructionOpcode::FMul => FastMathFlags::AllowContract,
            _ => continue,
        };
        let set = instruction.set_fast_math_flags(flags);
        set.map_err(|_| LlvmError::Malformed("an arithmetic instruction takes no floating-point flags"))?;
    }
    Ok(())
}
