//! The runtime table: the functions that a kernel gets from its caller, as C function pointers in this order.
//!
//! ```c
//! struct RuntimeTable {
//!   void *(*allocate)(uint64_t bytes, uint32_t zeroed);
//!   void *(*reallocate)(void *old, uint64_t kept_bytes, uint64_t new_bytes, uint64_t zero_from /* UINT64_MAX: nothing */);
//!   void (*release)(void *memory);
//!   void (*sort_marked)(int64_t *list, int64_t n, const uint8_t *marks, int64_t size);
//!   int64_t (*sort_combine)(int64_t **keys, uint64_t nkeys, void *values, uint32_t dtype, int64_t n);
//!   int32_t (*parallel)(int32_t (*body)(const void *context, int64_t i), const void *context, int64_t begin, int64_t end);
//!   int64_t (*collect)(struct Header *array, int64_t at, struct Header *list, struct Header *bias, uint32_t dtype);
//!   void (*release_parts)(struct Header *parts, uint64_t n);
//!   void (*fill)(void *to, uint64_t count, const void *pattern, uint64_t pattern_bytes);
//! };
//! struct Header { void *data; uint64_t length; };
//! ```
//!
//! `allocate` and `reallocate` give null where there is no memory; `reallocate` then leaves the old memory alone. `release`
//! takes null. `sort_combine` gives the number of entries left, or a negative number where there is no memory. `parallel` gives 0
//! or the status of an iteration that failed, `collect` the end or the negative of a status.

use inkwell::AddressSpace;
use inkwell::types::{BasicMetadataTypeEnum, FunctionType};
use inkwell::values::{BasicMetadataValueEnum, BasicValue, CallSiteValue, InstructionValue, PointerValue};
use lacunar_imp::VarId;

use super::Emitter;
use super::frame::Place;
use super::value::Value;
use crate::LlvmError;

/// A function of the runtime table; the discriminant is its place there.
#[derive(Clone, Copy)]
pub(super) enum RuntimeFn {
    Allocate = 0,
    Reallocate = 1,
    Release = 2,
    SortMarked = 3,
    SortCombine = 4,
    Parallel = 5,
    Collect = 6,
    ReleaseParts = 7,
    Fill = 8,
}

/// By place in the table: the name of the function in `ship/runtime.ll`.
pub(crate) const RUNTIME_FUNCTIONS: [&str; 9] = [
    "lac.allocate",
    "lac.reallocate",
    "free",
    "lac.sort_marked",
    "lac.sort_combine",
    "lac.parallel",
    "lac.collect",
    "lac.release_parts",
    "lac.fill",
];

/// The origin of a kernel's runtime table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    /// The caller passes one.
    Given,
    /// The object has one of its own, for callers that pass none.
    OwnUnlessGiven {
        /// The parameter that says how many threads may share a loop.
        threads: Option<VarId>,
    },
}

/// Words of a table of the object's own: the functions, a number of threads, and a mark that is set while they are busy.
const OWN_WORDS: u32 = RUNTIME_FUNCTIONS.len() as u32 + 2;

impl<'ctx> Emitter<'ctx, '_> {
    /// Emits a call that asks the object for a table of its own if the caller gives none, and gives that call. The
    /// table lives on the kernel's stack, because it tells the threads of this call.
    pub(super) fn own_unless_given(
        &mut self,
        threads: Option<VarId>,
    ) -> Result<Option<InstructionValue<'ctx>>, LlvmError> {
        let (pointer, long) = (self.context.ptr_type(AddressSpace::default()), self.context.i64_type());
        let own = self.builder.build_alloca(long.array_type(OWN_WORDS), "own")?;
        let threads = match threads.and_then(|var| self.frame.places[var.index()]) {
            Some(Place::Value(Value::Int(threads))) => threads,
            _ => self.index(0),
        };
        let ty = pointer.fn_type(&[pointer.into(), pointer.into(), long.into()], false);
        let choose = self.module.add_function("lac.table", ty, None);
        let args = [self.frame.table.into(), own.into(), threads.into()];
        let call = self.builder.build_call(choose, &args, "table")?;
        let table = call.try_as_basic_value().basic().ok_or(LlvmError::Malformed("a call gives a value"))?;
        self.frame.table = table.into_pointer_value();
        Ok(table.as_instruction_value())
    }

    /// Calls a function of the runtime table.
    pub(super) fn call_runtime(
        &self,
        table: PointerValue<'ctx>,
        function: RuntimeFn,
        args: &[BasicMetadataValueEnum<'ctx>],
    ) -> Result<CallSiteValue<'ctx>, LlvmError> {
        self.called[function as usize].set(true);
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
            RuntimeFn::Parallel => self.context.i32_type().fn_type(&[ptr, ptr, long, long], false),
            RuntimeFn::Collect => self.context.i64_type().fn_type(&[ptr, long, ptr, ptr, int], false),
            RuntimeFn::ReleaseParts => self.context.void_type().fn_type(&[ptr, long], false),
            RuntimeFn::Fill => self.context.void_type().fn_type(&[ptr, long, ptr, long], false),
        }
    }
}
