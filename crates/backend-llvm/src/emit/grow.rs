//! `grow`: a comparison in line, and one function a module that gets the memory.
//!
//! Kernels that append contain many `grow`s, so the part that is hardly ever taken is kept small: it calls
//!
//! ```text
//! status = grow_array(table, header, needed, size, limit, zeroed)
//! ```
//!
//! The function reallocates to the larger of `needed` and twice the capacity (at most `limit`) elements of `size`
//! bytes. If it fails, the array is as it was.

use inkwell::AddressSpace;
use inkwell::IntPredicate;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::module::Linkage;
use inkwell::values::{BasicValueEnum, FunctionValue, IntValue};
use lacunar_imp::{ArrayId, Status};

use super::Emitter;
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
        let header = self.header(array)?;
        let needed = self.checked_product(count, block)?;
        let room = self.load_capacity(array)?;
        let fits = self.builder.build_int_compare(IntPredicate::ULE, needed, room, "fits")?;
        let (slow, done) = (self.new_block("grow"), self.new_block("grown"));
        self.branch_likely(fits, done, slow)?;

        self.builder.position_at_end(slow);
        let size = self.element_size(array);
        let args = [
            self.frame.table.into(),
            header.into(),
            needed.into(),
            self.index(size).into(),
            self.index(i64::MAX / size).into(),
            self.context.bool_type().const_int(u64::from(zeroed), false).into(),
        ];
        let grow_array = self.grow_array()?;
        let call = self.builder.build_call(grow_array, &args, "")?;
        self.aliasing.mark_call(call, array)?;
        let status = call.try_as_basic_value().basic().ok_or(LlvmError::Malformed("a call gives a value"))?;
        let status = status.into_int_value();
        let good = self.builder.build_int_compare(IntPredicate::EQ, status, self.status(None), "")?;
        self.leave_unless(good, status)?;
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
        let (ptr, word, flag) = (pointer.into(), long.into(), self.context.bool_type().into());
        let ty = self.context.i32_type().fn_type(&[ptr, ptr, word, word, word, flag], false);
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
            BasicValueEnum::PointerValue(header),
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
        let (entry, sane, got, done) = (block("entry"), block("sane"), block("got"), block("done"));
        builder.position_at_end(entry);
        let small = builder.build_int_compare(IntPredicate::ULE, needed, limit, "")?;
        builder.build_conditional_branch(small, sane, done)?;

        builder.position_at_end(sane);
        let capacity = self.capacity_address(header)?;
        let old = builder.build_load(self.context.ptr_type(AddressSpace::default()), header, "old")?;
        let room = builder.build_load(self.context.i64_type(), capacity, "room")?.into_int_value();
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
        builder.build_conditional_branch(builder.build_is_not_null(data, "")?, got, done)?;

        builder.position_at_end(got);
        builder.build_store(header, data)?;
        builder.build_store(capacity, new_room)?;
        builder.build_unconditional_branch(done)?;

        builder.position_at_end(done);
        let status = builder.build_phi(self.context.i32_type(), "status")?;
        let outcomes = [(entry, Some(Status::SizeOverflow)), (sane, Some(Status::OutOfMemory)), (got, None)];
        for (block, outcome) in outcomes {
            status.add_incoming(&[(&self.status(outcome), block)]);
        }
        builder.build_return(Some(&status.as_basic_value()))?;
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
