//! Arrays: where they are, loads and stores, memory for them.
//!
//! Input and output arrays are a pointer that never changes; grown and local arrays keep pointer and capacity in stack
//! slots, which become registers. That no two arrays share memory is told to LLVM by *alias scopes*: each array is a scope,
//! every access says which scope it is in and which others it is not in. A load of an input array is `!invariant.load`:
//! nothing writes that memory while the kernel runs.
#![allow(unsafe_code)]

use inkwell::context::Context;
use inkwell::types::{ArrayType, BasicType};
use inkwell::values::{
    BasicValue, BasicValueEnum, CallSiteValue, InstructionValue, IntValue, MetadataValue, PointerValue, ValueKind,
};
use inkwell::{AddressSpace, IntPredicate};
use lacunar_formats::DType;
use lacunar_imp::{ArrayId, ArrayRole, Function, Status};

use super::Emitter;
use super::runtime::RuntimeFn;
use super::value::{self, Value};
use crate::LlvmError;

const FIXED: LlvmError = LlvmError::Malformed("memory for an array that cannot grow");

/// Where an array is.
#[derive(Clone, Copy)]
pub(super) enum ArrayPlace<'ctx> {
    /// The caller's memory.
    Fixed(PointerValue<'ctx>),
    /// Memory of the kernel's own: the stack slots of pointer and capacity, and the first argument word of a grown array.
    Growing { pointer: PointerValue<'ctx>, capacity: PointerValue<'ctx>, word: Option<u64> },
}

/// The metadata that tells LLVM what memory accesses can not overlap.
pub(super) struct Aliasing<'ctx> {
    /// By array: the list with its scope.
    own: Vec<MetadataValue<'ctx>>,
    /// By array: the list of all other scopes.
    others: Vec<MetadataValue<'ctx>>,
    scope_kind: u32,
    noalias_kind: u32,
    invariant_kind: u32,
    profile_kind: u32,
}

impl<'ctx> Aliasing<'ctx> {
    /// Scopes for the arrays of a function and one more for the argument words.
    pub(super) fn new(context: &'ctx Context, source: &Function) -> Aliasing<'ctx> {
        let domain = context.metadata_node(&[context.metadata_string("lacunar arrays").into()]);
        let names = source.arrays.iter().map(|(_, array)| array.name.as_str()).chain(["argument words"]);
        let scopes: Vec<MetadataValue> =
            names.map(|name| context.metadata_node(&[context.metadata_string(name).into(), domain.into()])).collect();
        let own = scopes.iter().map(|&scope| context.metadata_node(&[scope.into()])).collect();
        let others = (0..scopes.len())
            .map(|own| {
                let others = scopes.iter().enumerate().filter(|&(other, _)| other != own);
                context.metadata_node(&others.map(|(_, &scope)| scope.into()).collect::<Vec<_>>())
            })
            .collect();
        Aliasing {
            own,
            others,
            scope_kind: context.get_kind_id("alias.scope"),
            noalias_kind: context.get_kind_id("noalias"),
            invariant_kind: context.get_kind_id("invariant.load"),
            profile_kind: context.get_kind_id("prof"),
        }
    }

    /// Marks a load, store or call as touching only the memory of one scope.
    fn mark(&self, instruction: InstructionValue<'ctx>, scope: usize) -> Result<(), LlvmError> {
        set_metadata(instruction, self.own[scope], self.scope_kind)?;
        set_metadata(instruction, self.others[scope], self.noalias_kind)
    }

    /// Marks a call as touching no other array than one. (It gets no scope of its own: calls stay in order.)
    fn mark_call(&self, call: CallSiteValue<'ctx>, scope: usize) -> Result<(), LlvmError> {
        let instruction = match call.try_as_basic_value() {
            ValueKind::Basic(value) => value.as_instruction_value(),
            ValueKind::Instruction(instruction) => Some(instruction),
        };
        match instruction {
            Some(instruction) => set_metadata(instruction, self.others[scope], self.noalias_kind),
            None => Ok(()),
        }
    }

    /// Marks a load of memory that nothing writes while the kernel runs.
    fn mark_invariant(&self, context: &'ctx Context, load: InstructionValue<'ctx>) -> Result<(), LlvmError> {
        set_metadata(load, context.metadata_node(&[]), self.invariant_kind)
    }

    /// Marks a conditional branch as hardly ever taking the second way.
    pub(super) fn mark_likely(&self, context: &'ctx Context, branch: InstructionValue<'ctx>) -> Result<(), LlvmError> {
        let weight = |weight| context.i32_type().const_int(weight, false).into();
        let weights = [context.metadata_string("branch_weights").into(), weight(1 << 20), weight(1)];
        set_metadata(branch, context.metadata_node(&weights), self.profile_kind)
    }

    /// The scope of the argument words.
    fn args_scope(&self) -> usize {
        self.own.len() - 1
    }
}

fn set_metadata<'ctx>(
    instruction: InstructionValue<'ctx>,
    node: MetadataValue<'ctx>,
    kind: u32,
) -> Result<(), LlvmError> {
    instruction.set_metadata(node, kind).map_err(|_| LlvmError::Malformed("metadata is a node"))
}

impl<'ctx> Emitter<'ctx, '_> {
    /// Loads an argument word, as a pointer or an integer.
    pub(super) fn load_word(&self, word: u64, pointer: bool) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let ty = if pointer {
            self.context.ptr_type(AddressSpace::default()).as_basic_type_enum()
        } else {
            self.context.i64_type().as_basic_type_enum()
        };
        let value = self.builder.build_load(ty, self.word_address(word)?, "")?;
        self.mark_value(value, self.aliasing.args_scope())?;
        Ok(value)
    }

    fn word_address(&self, word: u64) -> Result<PointerValue<'ctx>, LlvmError> {
        // SAFETY: inkwell calls this unsafe because of indices out of bounds, which are undefined behavior of the *kernel*;
        // the caller passes as many words as the kernel has parameters.
        Ok(unsafe {
            self.builder.build_in_bounds_gep(self.context.i64_type(), self.args, &[self.index(word as i64)], "")?
        })
    }

    /// Loads a function pointer of the runtime table.
    pub(super) fn load_table_entry(
        &self,
        table: PointerValue<'ctx>,
        entry: u64,
    ) -> Result<PointerValue<'ctx>, LlvmError> {
        let ty = self.context.ptr_type(AddressSpace::default());
        // SAFETY: as above; `entry` is a place of the table, which the caller passes whole.
        let address = unsafe { self.builder.build_in_bounds_gep(ty, table, &[self.index(entry as i64)], "")? };
        let function = self.builder.build_load(ty, address, "")?;
        if let Some(load) = function.as_instruction_value() {
            self.aliasing.mark_invariant(self.context, load)?;
        }
        Ok(function.into_pointer_value())
    }

    /// Makes the place of an array whose argument words start at `word`.
    pub(super) fn array_place(&self, array: ArrayId, word: Option<u64>) -> Result<ArrayPlace<'ctx>, LlvmError> {
        let role = self.source.arrays[array].role;
        if matches!(role, ArrayRole::Input | ArrayRole::Output) {
            let word = word.ok_or(LlvmError::Malformed("an input or output array is a parameter"))?;
            return Ok(ArrayPlace::Fixed(self.load_word(word, true)?.into_pointer_value()));
        }
        let pointer_type = self.context.ptr_type(AddressSpace::default());
        let pointer = self.builder.build_alloca(pointer_type, &self.source.arrays[array].name)?;
        let capacity = self.builder.build_alloca(self.context.i64_type(), "capacity")?;
        let (data, room) = match word {
            Some(word) => {
                (self.load_word(word, true)?.into_pointer_value(), self.load_word(word + 1, false)?.into_int_value())
            }
            None => (pointer_type.const_null(), self.index(0)),
        };
        self.builder.build_store(pointer, data)?;
        self.builder.build_store(capacity, room)?;
        Ok(ArrayPlace::Growing { pointer, capacity, word })
    }

    /// Releases local arrays, at the end of the kernel.
    pub(super) fn release_locals(&self) -> Result<(), LlvmError> {
        for (index, &place) in self.arrays.iter().enumerate() {
            if let ArrayPlace::Growing { pointer, word: None, .. } = place {
                self.release(index, self.load_pointer(pointer)?)?;
            }
        }
        Ok(())
    }

    /// Gives an array new memory: in its stack slots and, for the caller, in its argument words.
    pub(super) fn replace(
        &self,
        array: ArrayId,
        data: PointerValue<'ctx>,
        room: IntValue<'ctx>,
    ) -> Result<(), LlvmError> {
        let ArrayPlace::Growing { pointer, capacity, word } = self.arrays[array.index()] else {
            return Err(FIXED);
        };
        self.builder.build_store(pointer, data)?;
        self.builder.build_store(capacity, room)?;
        let Some(word) = word else { return Ok(()) };
        for (word, value) in [(word, data.as_basic_value_enum()), (word + 1, room.as_basic_value_enum())] {
            let store = self.builder.build_store(self.word_address(word)?, value)?;
            self.aliasing.mark(store, self.aliasing.args_scope())?;
        }
        Ok(())
    }

    /// The pointer to the first element of an array.
    pub(super) fn array_data(&self, array: ArrayId) -> Result<PointerValue<'ctx>, LlvmError> {
        match self.arrays[array.index()] {
            ArrayPlace::Fixed(data) => Ok(data),
            ArrayPlace::Growing { pointer, .. } => self.load_pointer(pointer),
        }
    }

    pub(super) fn load_pointer(&self, slot: PointerValue<'ctx>) -> Result<PointerValue<'ctx>, LlvmError> {
        let ty = self.context.ptr_type(AddressSpace::default());
        Ok(self.builder.build_load(ty, slot, "")?.into_pointer_value())
    }

    pub(super) fn load_capacity(&self, slot: PointerValue<'ctx>) -> Result<IntValue<'ctx>, LlvmError> {
        Ok(self.builder.build_load(self.context.i64_type(), slot, "")?.into_int_value())
    }

    /// The addresses of an element: of its parts, if complex.
    fn element(
        &self,
        array: ArrayId,
        index: IntValue<'ctx>,
    ) -> Result<(PointerValue<'ctx>, Option<PointerValue<'ctx>>), LlvmError> {
        let elem = self.source.arrays[array].elem;
        let part = value::memory_type(self.context, elem);
        let data = self.array_data(array)?;
        if !elem.is_complex() {
            // SAFETY: an index out of bounds is undefined behavior of the kernel, and excluded by the meaning of the IR.
            return Ok((unsafe { self.builder.build_in_bounds_gep(part, data, &[index], "")? }, None));
        }
        let pair = part.array_type(2);
        let half = |which| {
            // SAFETY: as above; an element of a complex array is a pair.
            unsafe { self.builder.build_in_bounds_gep(pair, data, &[index, self.index(which)], "") }
        };
        Ok((half(0)?, Some(half(1)?)))
    }

    /// Loads an element.
    pub(super) fn load(&self, array: ArrayId, index: IntValue<'ctx>, name: &str) -> Result<Value<'ctx>, LlvmError> {
        let elem = self.source.arrays[array].elem;
        let (first, second) = self.element(array, index)?;
        let load = |address| -> Result<BasicValueEnum<'ctx>, LlvmError> {
            let value = self.builder.build_load(value::memory_type(self.context, elem), address, name)?;
            self.mark_value(value, array.index())?;
            if let (ArrayRole::Input, Some(load)) = (self.source.arrays[array].role, value.as_instruction_value()) {
                self.aliasing.mark_invariant(self.context, load)?;
            }
            Ok(value)
        };
        let value = Value::from_parts(load(first)?, second.map(load).transpose()?);
        if elem != DType::Bool {
            return Ok(value);
        }
        let byte = value.int()?;
        let set = self.builder.build_int_compare(IntPredicate::NE, byte, byte.get_type().const_zero(), "")?;
        Ok(Value::Int(set))
    }

    /// Stores an element.
    pub(super) fn store(&self, array: ArrayId, index: IntValue<'ctx>, value: Value<'ctx>) -> Result<(), LlvmError> {
        let (first, second) = self.element(array, index)?;
        let value = match value {
            Value::Int(bit) if self.source.arrays[array].elem == DType::Bool => {
                Value::Int(self.builder.build_int_z_extend(bit, self.context.i8_type(), "")?)
            }
            value => value,
        };
        let (first_value, second_value) = value.parts();
        let places = [Some((first, first_value)), second.zip(second_value)];
        for (address, value) in places.into_iter().flatten() {
            let store = self.builder.build_store(address, value)?;
            self.aliasing.mark(store, array.index())?;
        }
        Ok(())
    }

    /// Gives a local array memory for `len` elements.
    pub(super) fn alloc(&mut self, array: ArrayId, len: IntValue<'ctx>, zeroed: bool) -> Result<(), LlvmError> {
        let (pointer, _) = self.growing(array)?;
        // A negative number is a huge one here.
        let limit = self.index(max_elements(self.source.arrays[array].elem));
        let sane = self.builder.build_int_compare(IntPredicate::ULE, len, limit, "")?;
        self.fail_unless(sane, Status::SizeOverflow)?;

        self.release(array.index(), self.load_pointer(pointer)?)?;
        self.replace(array, self.context.ptr_type(AddressSpace::default()).const_null(), self.index(0))?;
        let bytes = self.bytes(array, len)?;
        let flag = self.context.i32_type().const_int(u64::from(zeroed), false);
        let call = self.call_runtime(self.table, RuntimeFn::Allocate, &[bytes.into(), flag.into()])?;
        self.mark_array_call(call, array)?;
        let data = call.try_as_basic_value().basic().ok_or(LlvmError::Malformed("a call gives a value"))?;
        let data = data.into_pointer_value();
        let got = self.builder.build_is_not_null(data, "")?;
        self.fail_unless(got, Status::OutOfMemory)?;
        self.replace(array, data, len)
    }

    /// Marks a call as touching no other array than one.
    pub(super) fn mark_array_call(&self, call: CallSiteValue<'ctx>, array: ArrayId) -> Result<(), LlvmError> {
        self.aliasing.mark_call(call, array.index())
    }

    fn release(&self, scope: usize, data: PointerValue<'ctx>) -> Result<(), LlvmError> {
        let call = self.call_runtime(self.table, RuntimeFn::Release, &[data.into()])?;
        self.aliasing.mark_call(call, scope)
    }

    /// The stack slots of an array that can get memory.
    pub(super) fn growing(&self, array: ArrayId) -> Result<(PointerValue<'ctx>, PointerValue<'ctx>), LlvmError> {
        match self.arrays[array.index()] {
            ArrayPlace::Growing { pointer, capacity, .. } => Ok((pointer, capacity)),
            ArrayPlace::Fixed(_) => Err(FIXED),
        }
    }

    /// The size in bytes of so many elements, at most [`max_elements`].
    fn bytes(&self, array: ArrayId, count: IntValue<'ctx>) -> Result<IntValue<'ctx>, LlvmError> {
        let size = self.index(self.source.arrays[array].elem.size() as i64);
        Ok(self.builder.build_int_mul(count, size, "")?)
    }

    /// The address of an element of an array on the stack.
    pub(super) fn slot_address(
        &self,
        row: ArrayType<'ctx>,
        slots: PointerValue<'ctx>,
        index: i64,
    ) -> Result<PointerValue<'ctx>, LlvmError> {
        // SAFETY: the caller's index is below the length of `row`.
        Ok(unsafe { self.builder.build_in_bounds_gep(row, slots, &[self.index(0), self.index(index)], "")? })
    }

    fn mark_value(&self, value: BasicValueEnum<'ctx>, scope: usize) -> Result<(), LlvmError> {
        match value.as_instruction_value() {
            Some(load) => self.aliasing.mark(load, scope),
            None => Ok(()),
        }
    }
}

/// As many elements as memory can ever hold.
pub(super) fn max_elements(elem: DType) -> i64 {
    i64::MAX / elem.size() as i64
}
