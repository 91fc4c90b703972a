//! The runtime table: the functions that a kernel gets from its caller, as C function pointers in this order.
//!
//! ```c
//! struct RuntimeTable {
//!   void *(*allocate)(uint64_t bytes, uint32_t zeroed);
//!   void *(*reallocate)(void *old, uint64_t kept_bytes, uint64_t new_bytes, uint64_t zero_from /* UINT64_MAX: nothing */);
//!   void (*release)(void *memory);
//!   void (*sort_marked)(int64_t *list, int64_t n, const uint8_t *marks, int64_t size);
//!   int64_t (*sort_combine)(int64_t **keys, uint64_t nkeys, void *values, uint32_t dtype, int64_t n);
//! };
//! ```
//!
//! `allocate` and `reallocate` give null where there is no memory; `reallocate` then leaves the old memory alone. `release`
//! takes null. `sort_combine` gives the number of entries left, or a negative number where there is no memory.

use inkwell::AddressSpace;
use inkwell::types::{BasicMetadataTypeEnum, FunctionType};
use inkwell::values::{BasicMetadataValueEnum, CallSiteValue, PointerValue};

use super::Emitter;
use crate::LlvmError;

/// A function of the runtime table; the discriminant is its place there.
#[derive(Clone, Copy)]
pub(super) enum RuntimeFn {
    Allocate = 0,
    Reallocate = 1,
    Release = 2,
    SortMarked = 3,
    SortCombine = 4,
}

impl<'ctx> Emitter<'ctx, '_> {
    /// Calls a function of the runtime table.
    pub(super) fn call_runtime(
        &self,
        table: PointerValue<'ctx>,
        function: RuntimeFn,
        args: &[BasicMetadataValueEnum<'ctx>],
    ) -> Result<CallSiteValue<'ctx>, LlvmError> {
        let callee = self.load_table_entry(table, function as u64)?;
        Ok(self.builder.build_indirect_call(self.runtime_type(function), callee, args, "")?)
    }

    fn runtime_type(&self, function: RuntimeFn) -> FunctionType<'ctx> {
        let pointer = self.context.ptr_type(AddressSpace::default());
        let (ptr, long): (BasicMetadataTypeEnum, BasicMetadataTypeEnum) =
            (pointer.into(), self.context.i64_type().into());
        let int: BasicMetadataTypeEnum = self.context.i32_type().into();
        match function {
            RuntimeFn::Allocate => pointer.fn_type(&[long, int], false),
            RuntimeFn::Reallocate => pointer.fn_type(&[ptr, long, long, long], false),
            RuntimeFn::Release => self.context.void_type().fn_type(&[ptr], false),
            RuntimeFn::SortMarked => self.context.void_type().fn_type(&[ptr, long, ptr, long], false),
            RuntimeFn::SortCombine => self.context.i64_type().fn_type(&[ptr, long, ptr, int, long], false),
        }
    }
}
