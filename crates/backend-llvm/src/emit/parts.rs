//! Lists of parts. A list's header is that of an array whose elements are themselves headers: pointer and length of
//! each part. The runtime appends the parts to one array.
#![allow(unsafe_code)]

use inkwell::values::IntValue;
use inkwell::{AddressSpace, IntPredicate};
use lacunar_imp::{ArrayId, VarId};

use super::Emitter;
use super::alias::Scope;
use super::calls::dtype_index;
use super::frame::Place;
use super::runtime::RuntimeFn;
use super::value::Value;
use crate::LlvmError;

impl<'ctx> Emitter<'ctx, '_> {
    /// Hands an array over as a part of a list.
    pub(super) fn deposit(
        &mut self,
        parts: ArrayId,
        slot: IntValue<'ctx>,
        array: ArrayId,
        len: IntValue<'ctx>,
    ) -> Result<(), LlvmError> {
        let (list, data) = (self.array_data(parts)?, self.array_data(array)?);
        let words = [self.context.ptr_type(AddressSpace::default()).into(), self.context.i64_type().into()];
        let header = self.context.struct_type(&words, false);
        // SAFETY: a slot that the list does not have is undefined behavior of the kernel, and excluded by the IR's meaning.
        let part = unsafe { self.builder.build_in_bounds_gep(header, list, &[slot], "part")? };
        let stores =
            [self.builder.build_store(part, data)?, self.builder.build_store(self.capacity_address(part)?, len)?];
        for store in stores {
            self.aliasing.mark(store, Scope::Elements(parts))?;
        }
        self.clear_header(self.header(array)?)
    }

    /// Appends the parts of a list to an array.
    pub(super) fn collect(
        &mut self,
        array: ArrayId,
        at: IntValue<'ctx>,
        parts: ArrayId,
        bias: Option<ArrayId>,
        result: VarId,
    ) -> Result<(), LlvmError> {
        let (header, list) = (self.header(array)?, self.header(parts)?);
        let nothing = self.context.ptr_type(AddressSpace::default()).const_null();
        let bias = bias.map_or(Ok(nothing), |bias| self.header(bias))?;
        let dtype = self.context.i32_type().const_int(dtype_index(self.source.arrays[array].elem), false);
        let args = [header.into(), at.into(), list.into(), bias.into(), dtype.into()];
        let call = self.call_runtime(self.frame.table, RuntimeFn::Collect, &args)?;
        let end = call.try_as_basic_value().basic().ok_or(LlvmError::Malformed("a call gives a value"))?;
        let end = end.into_int_value();
        let good = self.builder.build_int_compare(IntPredicate::SGE, end, self.index(0), "")?;
        let status = self.builder.build_int_neg(end, "")?;
        let status = self.builder.build_int_truncate(status, self.context.i32_type(), "")?;
        self.leave_unless(good, status)?;
        self.frame.places[result.index()] = Some(Place::Value(Value::Int(end)));
        Ok(())
    }
}
