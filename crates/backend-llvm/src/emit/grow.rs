//! `grow`: a comparison in line, and one function a module that gets the memory.
//!
//! Kernels that append contain many `grow`s, so the part that is hardly ever taken is kept small: it calls
//!
//! ```text
//! {data, room} = grow_array(table, data, room, needed, size, limit, zeroed)
//! ```
//!
//! which reallocates to `max(needed, 2 room)` elements (at most `limit`) of `size` bytes. It gives null data and a status in
//! place of the room where it fails; the array is then as it was.

use inkwell::AddressSpace;
use inkwell::IntPredicate;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::module::Linkage;
use inkwell::values::{BasicValueEnum, FunctionValue, IntValue};
use lacunar_imp::{ArrayId, Status};

use super::Emitter;
use super::memory::max_elements;
use super::runtime::RuntimeFn;
use crate::LlvmError;

impl<'ctx> Emitter<'ctx, '_> {
    /// Makes sure that an array has room for `count * block` elements.
    pub(super) fn grow(
        &mut self,
        array: ArrayId,
        count: IntValue<'ctx>,
        block: IntValue<'ctx>,
        zeroed: bool,
    ) -> Result<(), LlvmError> {
        let (pointer, capacity) = self.growing(array)?;
        let needed = self.checked_product(count, block)?;
        let room = self.load_capacity(capacity)?;
        let fits = self.builder.build_int_compare(IntPredicate::ULE, needed, room, "fits")?;
        let (slow, done) = (self.new_block("grow"), self.new_block("grown"));
        self.branch_likely(fits, done, slow)?;

        self.builder.position_at_end(slow);
        let elem = self.source.arrays[array].elem;
        let args = [
            self.table.into(),
            self.load_pointer(pointer)?.into(),
            room.into(),
            needed.into(),
            self.index(elem.size() as i64).into(),
            self.index(max_elements(elem)).into(),
            self.context.bool_type().const_int(u64::from(zeroed), false).into(),
        ];
        let grow_array = self.grow_array()?;
        let call = self.builder.build_call(grow_array, &args, "")?;
        self.mark_array_call(call, array)?;
        let outcome = call.try_as_basic_value().basic().ok_or(LlvmError::Malformed("a call gives a value"))?;
        let outcome = outcome.into_struct_value();
        let data = self.builder.build_extract_value(outcome, 0, "")?.into_pointer_value();
        let room = self.builder.build_extract_value(outcome, 1, "")?.into_int_value();
        let status = self.builder.build_int_truncate(room, self.context.i32_type(), "")?;
        let got = self.builder.build_is_not_null(data, "")?;
        self.leave_unless(got, status)?;
        self.replace(array, data, room)?;
        self.builder.build_unconditional_branch(done)?;
        self.builder.position_at_end(done);
        Ok(())
    }

    /// A product, or -1 if it overflows or a factor is negative: more, as an unsigned number, than there can be.
    fn checked_product(&self, count: IntValue<'ctx>, block: IntValue<'ctx>) -> Result<IntValue<'ctx>, LlvmError> {
        if block.get_zero_extended_constant() == Some(1) {
            return Ok(count);
        }
        let builder = &self.builder;
        let ty = self.context.i64_type().into();
        let pair = self.intrinsic("llvm.smul.with.overflow", &[ty], &[count.into(), block.into()])?.into_struct_value();
        let product = builder.build_extract_value(pair, 0, "")?.into_int_value();
        let overflow = builder.build_extract_value(pair, 1, "")?.into_int_value();
        let signs = builder.build_or(count, block, "")?;
        let negative = builder.build_int_compare(IntPredicate::SLT, signs, self.index(0), "")?;
        let wrong = builder.build_or(overflow, negative, "")?;
        Ok(builder.build_select(wrong, self.index(-1), product, "")?.into_int_value())
    }

    /// The function that gets memory for arrays, emitted when it is first asked for.
    fn grow_array(&mut self) -> Result<FunctionValue<'ctx>, LlvmError> {
        if let Some(function) = self.grow_array {
            return Ok(function);
        }
        let (pointer, long) = (self.context.ptr_type(AddressSpace::default()), self.context.i64_type());
        let outcome = self.context.struct_type(&[pointer.into(), long.into()], false);
        let (ptr, word, flag) = (pointer.into(), long.into(), self.context.bool_type().into());
        let ty = outcome.fn_type(&[ptr, ptr, word, word, word, word, flag], false);
        let function = self.module.add_function("grow_array", ty, Some(Linkage::Internal));
        for attribute in ["nounwind", "cold", "noinline"] {
            let kind = Attribute::get_named_enum_kind_id(attribute);
            function.add_attribute(AttributeLoc::Function, self.context.create_enum_attribute(kind, 0));
        }
        let here = self.current_block()?;
        self.fill_grow_array(function)?;
        self.builder.position_at_end(here);
        self.grow_array = Some(function);
        Ok(function)
    }

    fn fill_grow_array(&self, function: FunctionValue<'ctx>) -> Result<(), LlvmError> {
        let [
            BasicValueEnum::PointerValue(table),
            BasicValueEnum::PointerValue(old),
            BasicValueEnum::IntValue(room),
            BasicValueEnum::IntValue(needed),
            BasicValueEnum::IntValue(size),
            BasicValueEnum::IntValue(limit),
            BasicValueEnum::IntValue(zeroed),
        ] = function.get_params()[..]
        else {
            return Err(LlvmError::Malformed("a function has the parameters it was given"));
        };
        let builder = &self.builder;
        let block = |name| self.context.append_basic_block(function, name);
        let (entry, sane, done) = (block("entry"), block("sane"), block("done"));
        builder.position_at_end(entry);
        let small = builder.build_int_compare(IntPredicate::ULE, needed, limit, "")?;
        builder.build_conditional_branch(small, sane, done)?;

        builder.position_at_end(sane);
        // Twice a capacity is below 2^64, so unsigned comparisons are right.
        let twice = builder.build_left_shift(room, self.index(1), "")?;
        let twice = self.unsigned_extreme(IntPredicate::ULT, twice, limit)?;
        let new_room = self.unsigned_extreme(IntPredicate::UGT, needed, twice)?;
        let old_bytes = builder.build_int_mul(room, size, "")?;
        let new_bytes = builder.build_int_mul(new_room, size, "")?;
        let zero_from = builder.build_select(zeroed, old_bytes, self.index(-1), "")?.into_int_value();
        let args = [old.into(), old_bytes.into(), new_bytes.into(), zero_from.into()];
        let call = self.call_runtime(table, RuntimeFn::Reallocate, &args)?;
        let data = call.try_as_basic_value().basic().ok_or(LlvmError::Malformed("a call gives a value"))?;
        let data = data.into_pointer_value();
        let got = builder.build_is_not_null(data, "")?;
        let result = builder.build_select(got, new_room, self.index(Status::OutOfMemory as i64), "")?;
        builder.build_unconditional_branch(done)?;

        builder.position_at_end(done);
        let null = self.context.ptr_type(AddressSpace::default()).const_null();
        let data_out = builder.build_phi(null.get_type(), "data")?;
        data_out.add_incoming(&[(&null, entry), (&data, sane)]);
        let room_out = builder.build_phi(self.context.i64_type(), "room")?;
        room_out.add_incoming(&[(&self.index(Status::SizeOverflow as i64), entry), (&result, sane)]);
        builder.build_aggregate_return(&[data_out.as_basic_value(), room_out.as_basic_value()])?;
        Ok(())
    }

    fn unsigned_extreme(
        &self,
        predicate: IntPredicate,
        a: IntValue<'ctx>,
        b: IntValue<'ctx>,
    ) -> Result<IntValue<'ctx>, LlvmError> {
        let first = self.builder.build_int_compare(predicate, a, b, "")?;
        Ok(self.builder.build_select(first, a, b, "")?.into_int_value())
    }
}
