//! From a function of the imperative IR to an LLVM module: one function for the kernel, one for the body of each
//! parallel loop.
//!
//! Each starts with a block `entry`, which unpacks its arguments and makes room for mutable variables and small arrays
//! (`alloca`s, which LLVM's `sroa` turns into registers) and for the headers of local arrays. Its body follows. Every
//! way out leads to one block `exit`, which releases its local arrays and returns the status.
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
mod atomic;
mod calls;
mod capture;
mod cast;
mod complex;
mod expr;
mod fill;
mod frame;
mod grow;
mod half;
mod hints;
pub(crate) use hints::{Needs, silence};
mod math;
mod memory;
mod parallel;
mod parts;
mod runtime;
pub(crate) use runtime::{RUNTIME_FUNCTIONS, Table};
mod stack;
mod stmt;
pub(crate) mod strided;
mod tiles;
mod turns;
mod unpack;
mod value;
mod vector;

use std::cell::Cell;

use inkwell::AddressSpace;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::module::{Linkage, Module};
use inkwell::targets::TargetMachine;
use inkwell::values::{FastMathFlags, FunctionValue, InstructionOpcode};
use lacunar_imp::{ArrayRole, ExprId, Function, Param, VarId};
use lacunar_machine::Tuning;

use self::alias::Aliasing;
use self::frame::{Frame, Place};
use self::hints::Vectors;
use self::value::Value;
use crate::LlvmError;

/// The state of emitting one module.
struct Emitter<'ctx, 'f> {
    context: &'ctx Context,
    module: &'f Module<'ctx>,
    builder: Builder<'ctx>,
    source: &'f Function,
    kernel: FunctionValue<'ctx>,
    /// The function being emitted.
    frame: Frame<'ctx>,
    aliasing: Aliasing<'ctx>,
    /// By array: the number of its elements if it lives on the stack.
    stack: Vec<Option<u32>>,
    /// The function that gets memory for arrays that grow, once there is one.
    grow_array: Option<FunctionValue<'ctx>>,
    /// By expression: its value if the current statement has needed it already.
    memo: Vec<Option<Value<'ctx>>>,
    memoized: Vec<usize>,
    /// The expressions that have values in all statements of the current loop.
    given: Vec<(ExprId, Value<'ctx>)>,
    vectors: Vectors,
    needs: Needs,
    /// By function of the runtime table: true if there is a call of it.
    called: [Cell<bool>; RUNTIME_FUNCTIONS.len()],
}

/// The module of a function.
pub(crate) struct Emitted<'ctx> {
    pub(crate) module: Module<'ctx>,
    pub(crate) needs: Needs,
    /// The functions of the runtime table that it calls.
    pub(crate) called: [bool; RUNTIME_FUNCTIONS.len()],
}

/// Emits `source` as an LLVM function called `symbol`, for a machine.
pub(crate) fn emit<'ctx>(
    context: &'ctx Context,
    source: &Function,
    symbol: &str,
    (machine, tuning): (&TargetMachine, Tuning),
    table: Table,
) -> Result<Emitted<'ctx>, LlvmError> {
    let module = context.create_module(&source.name);
    // Before anything is emitted: loads and stores take their alignment from the layout.
    module.set_triple(&machine.get_triple());
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    let pointer = context.ptr_type(AddressSpace::default());
    let kernel_type = context.i32_type().fn_type(&[pointer.into()], false);
    let kernel = module.add_function(symbol, kernel_type, Some(Linkage::External));
    let builder = context.create_builder();
    let frame = Frame::new(context, &builder, kernel, source)?;

    let mut emitter = Emitter {
        context,
        module: &module,
        builder,
        source,
        kernel,
        frame,
        aliasing: Aliasing::new(context, source),
        stack: stack::small_arrays(source),
        grow_array: None,
        memo: vec![None; source.exprs.len()],
        memoized: Vec::new(),
        given: Vec::new(),
        vectors: Vectors::of(machine, tuning),
        needs: Needs {
            loops: source.vars.iter().any(|(_, var)| var.ty.is_complex()),
            scalars: hints::converts_computed(source),
        },
        called: Default::default(),
    };
    emitter.unpack_arguments()?;
    let own = match table {
        Table::Given => None,
        Table::OwnUnlessGiven { threads } => emitter.own_unless_given(threads)?,
    };
    for (var, data) in source.vars.iter() {
        if data.mutable {
            emitter.reserve_variable(var)?;
        }
    }
    emitter.fill_frame(&source.body)?;
    let (called, needs) = (emitter.called.map(Cell::into_inner), emitter.needs);
    if let Some(own) = own.filter(|_| !called.contains(&true)) {
        own.erase_from_basic_block();
    }
    drop(emitter.builder);
    if !source.strict {
        for function in module.get_functions() {
            allow_reassociation(function)?;
        }
    }
    module.verify().map_err(|error| LlvmError::Module(error.to_string()))?;
    Ok(Emitted { module, needs, called })
}

impl<'ctx> Emitter<'ctx, '_> {
    /// Loads the kernel's argument words and makes the places of its arrays.
    fn unpack_arguments(&mut self) -> Result<(), LlvmError> {
        self.frame.table = self.load_word(0, true)?.into_pointer_value();
        let mut next = 1;
        for &param in &self.source.params {
            match param {
                Param::Array(array) => {
                    self.frame.arrays[array.index()] = Some(self.parameter(array, next)?);
                    next += 2;
                }
                Param::Scalar(var) => {
                    let value = self.load_word(next, false)?.into_int_value();
                    self.frame.places[var.index()] = Some(Place::Value(Value::Int(value)));
                    next += 1;
                }
            }
        }
        let private = parallel::private_arrays(self.source);
        for (array, data) in self.source.arrays.iter() {
            if matches!(data.role, ArrayRole::Local | ArrayRole::Parts) && !private[array.index()] {
                self.own_array(array)?;
            }
        }
        Ok(())
    }

    /// Makes stack slots for a mutable variable.
    fn reserve_variable(&mut self, var: VarId) -> Result<(), LlvmError> {
        let data = &self.source.vars[var];
        let ty = value::register_type(self.context, data.ty);
        let first = self.builder.build_alloca(ty, &data.name)?;
        let second = if data.ty.is_complex() { Some(self.builder.build_alloca(ty, &data.name)?) } else { None };
        self.frame.places[var.index()] = Some(Place::Slots(first, second));
        Ok(())
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
