//! Arrays: their places, loads and stores, memory for them.
//!
//! An input or output array is a pointer that is loaded once. A grown or local array has a *header*, pointer and
//! capacity: for a grown one the caller's argument words (so the caller always knows the memory to release), for a
//! local one a place on the stack. The header is read where it is needed; as no store to an array can change it (see
//! `alias.rs`), LLVM hoists it out of loops that do not grow the array.
#![allow(unsafe_code)]

use inkwell::types::{ArrayType, BasicType, BasicTypeEnum};
use inkwell::values::{BasicValue, BasicValueEnum, IntValue, PointerValue};
use inkwell::{AddressSpace, IntPredicate};
use lacunar_formats::DType;
use lacunar_imp::{Array, ArrayId, ArrayRole, ExprId, Status};

use super::Emitter;
use super::alias::Scope;
use super::runtime::RuntimeFn;
use super::value::{self, Value};
use crate::LlvmError;

/// The place of an array.
#[derive(Clone, Copy)]
pub(super) enum ArrayPlace<'ctx> {
    /// The caller's memory.
    Fixed(PointerValue<'ctx>),
    /// Memory of the kernel's own: the place of its header.
    Growing(PointerValue<'ctx>),
}

impl<'ctx> Emitter<'ctx, '_> {
    /// Loads an argument word, as a pointer or an integer.
    pub(super) fn load_word(&self, word: u64, pointer: bool) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let ty = if pointer {
            self.context.ptr_type(AddressSpace::default()).as_basic_type_enum()
        } else {
            self.context.i64_type().as_basic_type_enum()
        };
        self.load_word_as(word, ty)
    }

    /// Loads a value of a type from an argument word.
    pub(super) fn load_word_as(&self, word: u64, ty: BasicTypeEnum<'ctx>) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let value = self.builder.build_load(ty, self.word_address(word)?, "")?;
        self.mark_value(value, Scope::Words)?;
        Ok(value)
    }

    fn word_address(&self, word: u64) -> Result<PointerValue<'ctx>, LlvmError> {
        // SAFETY: inkwell calls this unsafe because of indices out of bounds, which are undefined behavior of the *kernel*;
        // the caller passes as many words as the kernel has parameters.
        Ok(unsafe {
            self.builder.build_in_bounds_gep(
                self.context.i64_type(),
                self.frame.args,
                &[self.index(word as i64)],
                "",
            )?
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
            self.aliasing.mark_invariant(load)?;
        }
        Ok(function.into_pointer_value())
    }

    /// The place of an array whose argument words start at `word`.
    pub(super) fn parameter(&self, array: ArrayId, word: u64) -> Result<ArrayPlace<'ctx>, LlvmError> {
        if self.source.arrays[array].role == ArrayRole::Grown {
            return Ok(ArrayPlace::Growing(self.word_address(word)?));
        }
        Ok(ArrayPlace::Fixed(self.load_word(word, true)?.into_pointer_value()))
    }

    /// Makes the place of an array that belongs to the function being emitted.
    pub(super) fn own_array(&mut self, array: ArrayId) -> Result<(), LlvmError> {
        let name = &self.source.arrays[array].name;
        let place = if let Some(place) = self.stack_place(array)? {
            place
        } else {
            let words = [self.context.ptr_type(AddressSpace::default()).into(), self.context.i64_type().into()];
            let header = self.builder.build_alloca(self.context.struct_type(&words, false), name)?;
            self.clear_header(header)?;
            self.frame.locals.push(array);
            ArrayPlace::Growing(header)
        };
        self.frame.arrays[array.index()] = Some(place);
        Ok(())
    }

    /// Makes a place on the stack for an array that lives there.
    pub(super) fn stack_place(&self, array: ArrayId) -> Result<Option<ArrayPlace<'ctx>>, LlvmError> {
        let Some(len) = self.stack[array.index()] else { return Ok(None) };
        let Array { name, elem, .. } = &self.source.arrays[array];
        let parts = if elem.is_complex() { 2 * len } else { len };
        let row = value::row_of(value::memory_type(self.context, *elem), parts);
        let slots = self.builder.build_alloca(row, name)?;
        if let Some(instruction) = slots.as_instruction() {
            let aligned = instruction.set_alignment(STACK_ALIGNMENT);
            aligned.map_err(|_| LlvmError::Malformed("an alignment is a power of two"))?;
        }
        Ok(Some(ArrayPlace::Fixed(slots)))
    }

    /// Makes a header that of an array without memory.
    pub(super) fn clear_header(&self, header: PointerValue<'ctx>) -> Result<(), LlvmError> {
        self.builder.build_store(header, self.context.ptr_type(AddressSpace::default()).const_null())?;
        self.builder.build_store(self.capacity_address(header)?, self.index(0))?;
        Ok(())
    }

    /// Releases local arrays, at the end of the function.
    pub(super) fn release_locals(&self) -> Result<(), LlvmError> {
        self.frame.locals.iter().try_for_each(|&array| self.release(array))
    }

    /// The header of an array that can get memory.
    pub(super) fn header(&self, array: ArrayId) -> Result<PointerValue<'ctx>, LlvmError> {
        match self.frame.arrays[array.index()] {
            Some(ArrayPlace::Growing(header)) => Ok(header),
            Some(ArrayPlace::Fixed(_)) | None => Err(LlvmError::Malformed("memory for an array that cannot grow")),
        }
    }

    /// The address of the capacity in a header.
    pub(super) fn capacity_address(&self, header: PointerValue<'ctx>) -> Result<PointerValue<'ctx>, LlvmError> {
        // SAFETY: a header is two words.
        Ok(unsafe { self.builder.build_in_bounds_gep(self.context.i64_type(), header, &[self.index(1)], "")? })
    }

    fn load_header<T: BasicType<'ctx>>(
        &self,
        array: ArrayId,
        ty: T,
        address: PointerValue<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let value = self.builder.build_load(ty, address, "")?;
        self.mark_value(value, Scope::Header(array))?;
        Ok(value)
    }

    /// The capacity of an array that can get memory.
    pub(super) fn load_capacity(&self, array: ArrayId) -> Result<IntValue<'ctx>, LlvmError> {
        let address = self.capacity_address(self.header(array)?)?;
        Ok(self.load_header(array, self.context.i64_type(), address)?.into_int_value())
    }

    /// The pointer to the first element of an array.
    pub(super) fn array_data(&self, array: ArrayId) -> Result<PointerValue<'ctx>, LlvmError> {
        match self.frame.arrays[array.index()] {
            None => Err(LlvmError::Malformed("an array is used outside of the loop that it belongs to")),
            Some(ArrayPlace::Fixed(data)) => Ok(data),
            Some(ArrayPlace::Growing(header)) => {
                let ty = self.context.ptr_type(AddressSpace::default());
                Ok(self.load_header(array, ty, header)?.into_pointer_value())
            }
        }
    }

    /// The addresses of an element: of its parts, if complex.
    pub(super) fn element(
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
            self.mark_value(value, Scope::Elements(array))?;
            if let (ArrayRole::Input, Some(load)) = (self.source.arrays[array].role, value.as_instruction_value()) {
                self.aliasing.mark_invariant(load)?;
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
        let (first_value, second_value) = self.memory_value(array, value)?.parts();
        let places = [Some((first, first_value)), second.zip(second_value)];
        for (address, value) in places.into_iter().flatten() {
            let store = self.builder.build_store(address, value)?;
            self.aliasing.mark(store, Scope::Elements(array))?;
        }
        Ok(())
    }

    /// Brings the lines of elements `begin .. end` near. They need not be there.
    pub(super) fn prefetch(&mut self, array: ArrayId, begin: ExprId, end: ExprId) -> Result<(), LlvmError> {
        let size = self.element_size(array);
        let length = self.constant_length(begin, end);
        let (begin, end) = (self.eval_int(begin)?, self.eval_int(end)?);
        if let Some(length) = length.filter(|length| (0..=LINES * LINE / size).contains(length)) {
            let lines = (0..length).step_by((LINE / size).max(1) as usize);
            return lines.map(|done| self.index(done)).try_for_each(|done| {
                let at = self.builder.build_int_add(begin, done, "")?;
                self.prefetch_line(array, at)
            });
        }
        self.count(begin, end, "k", None, |emitter, at| emitter.prefetch_line(array, at))
    }

    /// Brings the line of an element near, for reading, into all caches.
    fn prefetch_line(&self, array: ArrayId, index: IntValue<'ctx>) -> Result<(), LlvmError> {
        let offset = self.builder.build_int_mul(index, self.index(self.element_size(array)), "")?;
        let data = self.array_data(array)?;
        // SAFETY: the address is not that of an element for certain, and not said to be: it is computed in whole numbers.
        let place = unsafe { self.builder.build_gep(self.context.i8_type(), data, &[offset], "")? };
        let word = |number: u64| self.context.i32_type().const_int(number, false).into();
        let (read, near, data_cache) = (word(0), word(3), word(1));
        let args = [place.into(), read, near, data_cache];
        self.intrinsic_effect("llvm.prefetch", &[place.get_type().into()], &args).map(drop)
    }

    /// A value as it is in memory.
    pub(super) fn memory_value(&self, array: ArrayId, value: Value<'ctx>) -> Result<Value<'ctx>, LlvmError> {
        Ok(match value {
            Value::Int(bit) if self.source.arrays[array].elem == DType::Bool => {
                Value::Int(self.builder.build_int_z_extend(bit, self.context.i8_type(), "")?)
            }
            value => value,
        })
    }

    /// Gives a local array memory for `len` elements, or a list as many parts.
    pub(super) fn alloc(&mut self, array: ArrayId, len: IntValue<'ctx>, zeroed: bool) -> Result<(), LlvmError> {
        if self.stack[array.index()].is_some() {
            return if zeroed { self.clear(array, self.index(0), len) } else { Ok(()) };
        }
        let zeroed = zeroed || self.source.arrays[array].role == ArrayRole::Parts;
        let header = self.header(array)?;
        // A negative number is a huge one here.
        let limit = self.index(i64::MAX / self.element_size(array));
        let sane = self.builder.build_int_compare(IntPredicate::ULE, len, limit, "")?;
        self.fail_unless(sane, Status::SizeOverflow)?;

        self.release(array)?;
        self.clear_header(header)?;
        let bytes = self.bytes(array, len)?;
        let flag = self.context.i32_type().const_int(u64::from(zeroed), false);
        let call = self.call_runtime(self.frame.table, RuntimeFn::Allocate, &[bytes.into(), flag.into()])?;
        self.aliasing.mark_call(call, array)?;
        let data = call.try_as_basic_value().basic().ok_or(LlvmError::Malformed("a call gives a value"))?;
        let data = data.into_pointer_value();
        let got = self.builder.build_is_not_null(data, "")?;
        self.fail_unless(got, Status::OutOfMemory)?;
        self.builder.build_store(header, data)?;
        self.builder.build_store(self.capacity_address(header)?, len)?;
        Ok(())
    }

    /// Makes `count` elements of an array zero.
    pub(super) fn clear(&self, array: ArrayId, begin: IntValue<'ctx>, count: IntValue<'ctx>) -> Result<(), LlvmError> {
        let (first, _) = self.element(array, begin)?;
        let zero = self.context.i8_type().const_zero();
        let align = self.source.arrays[array].elem.size() as u32;
        let done = self
            .builder
            .build_memset(first, align, zero, self.bytes(array, count)?)
            .map_err(|_| LlvmError::Malformed("an alignment is a power of two"))?;
        match done.as_instruction() {
            Some(instruction) => self.aliasing.mark(instruction, Scope::Elements(array)),
            None => Ok(()),
        }
    }

    fn release(&self, array: ArrayId) -> Result<(), LlvmError> {
        let data = self.array_data(array)?.into();
        let call = if self.source.arrays[array].role == ArrayRole::Parts {
            let parts = self.load_capacity(array)?.into();
            self.call_runtime(self.frame.table, RuntimeFn::ReleaseParts, &[data, parts])?
        } else {
            self.call_runtime(self.frame.table, RuntimeFn::Release, &[data])?
        };
        self.aliasing.mark_call(call, array)
    }

    /// The size in bytes of so many elements, which fits.
    fn bytes(&self, array: ArrayId, count: IntValue<'ctx>) -> Result<IntValue<'ctx>, LlvmError> {
        Ok(self.builder.build_int_mul(count, self.index(self.element_size(array)), "")?)
    }

    /// The bytes of an element; of a list, of a part's header.
    pub(super) fn element_size(&self, array: ArrayId) -> i64 {
        let data = &self.source.arrays[array];
        if data.role == ArrayRole::Parts { 16 } else { data.elem.size() as i64 }
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

    fn mark_value(&self, value: BasicValueEnum<'ctx>, scope: Scope) -> Result<(), LlvmError> {
        match value.as_instruction_value() {
            Some(load) => self.aliasing.mark(load, scope),
            None => Ok(()),
        }
    }
}

/// The bytes of a cache line, and the most lines that are prefetched without a loop.
const LINE: i64 = 64;
const LINES: i64 = 64;

/// The alignment of arrays on the stack: that of all others.
const STACK_ALIGNMENT: u32 = 64;
