//! The assumptions that LLVM may make about memory: no two arrays overlap, and storing elements changes no array's
//! header.
//!
//! This is said with *scoped noalias* metadata: the elements of each array are a scope, the header (pointer and capacity) of
//! each is one, and the argument words are one. Every load and store says which scope it is in and which it is not in.
//!
//! ```text
//! store double %v, ptr %p, !alias.scope !{elements of y}, !noalias !{all other scopes}
//! ```

use inkwell::context::Context;
use inkwell::values::{BasicValue, CallSiteValue, InstructionValue, MetadataValue, ValueKind};
use lacunar_imp::{ArrayId, Function};

use crate::LlvmError;

/// Memory that overlaps no other scope's.
#[derive(Clone, Copy)]
pub(super) enum Scope {
    /// The elements of an array.
    Elements(ArrayId),
    /// The header of an array.
    Header(ArrayId),
    /// Argument words that are no header.
    Words,
}

/// The metadata of a function's memory accesses.
pub(super) struct Aliasing<'ctx> {
    context: &'ctx Context,
    /// By scope: the list with it.
    own: Vec<MetadataValue<'ctx>>,
    /// By scope: the list of all others.
    others: Vec<MetadataValue<'ctx>>,
    /// By array: the list of all scopes but its elements and header.
    foreign: Vec<MetadataValue<'ctx>>,
    scope_kind: u32,
    noalias_kind: u32,
    invariant_kind: u32,
    profile_kind: u32,
}

impl<'ctx> Aliasing<'ctx> {
    /// The scopes of a function.
    pub(super) fn new(context: &'ctx Context, source: &Function) -> Aliasing<'ctx> {
        let domain = context.metadata_node(&[context.metadata_string("lacunar").into()]);
        let scope = |name: &str| context.metadata_node(&[context.metadata_string(name).into(), domain.into()]);
        let mut scopes = Vec::with_capacity(2 * source.arrays.len() + 1);
        for (_, array) in source.arrays.iter() {
            // The order of `Aliasing::index`.
            scopes.push(scope(&array.name));
            scopes.push(scope(&format!("{}.header", array.name)));
        }
        scopes.push(scope("words"));
        let all_but = |excluded: &[usize]| {
            let rest = scopes.iter().enumerate().filter(|(index, _)| !excluded.contains(index));
            context.metadata_node(&rest.map(|(_, &scope)| scope.into()).collect::<Vec<_>>())
        };
        Aliasing {
            context,
            own: scopes.iter().map(|&scope| context.metadata_node(&[scope.into()])).collect(),
            others: (0..scopes.len()).map(|index| all_but(&[index])).collect(),
            foreign: (0..source.arrays.len()).map(|array| all_but(&[2 * array, 2 * array + 1])).collect(),
            scope_kind: context.get_kind_id("alias.scope"),
            noalias_kind: context.get_kind_id("noalias"),
            invariant_kind: context.get_kind_id("invariant.load"),
            profile_kind: context.get_kind_id("prof"),
        }
    }

    fn index(&self, scope: Scope) -> usize {
        match scope {
            Scope::Elements(array) => 2 * array.index(),
            Scope::Header(array) => 2 * array.index() + 1,
            Scope::Words => self.own.len() - 1,
        }
    }

    /// Marks a load or store as touching only the memory of one scope.
    pub(super) fn mark(&self, access: InstructionValue<'ctx>, scope: Scope) -> Result<(), LlvmError> {
        let index = self.index(scope);
        set_metadata(access, self.own[index], self.scope_kind)?;
        set_metadata(access, self.others[index], self.noalias_kind)
    }

    /// Marks a call as touching no array but one. (It gets no scope of its own, so that calls stay in order.)
    pub(super) fn mark_call(&self, call: CallSiteValue<'ctx>, array: ArrayId) -> Result<(), LlvmError> {
        let instruction = match call.try_as_basic_value() {
            ValueKind::Basic(value) => value.as_instruction_value(),
            ValueKind::Instruction(instruction) => Some(instruction),
        };
        match instruction {
            Some(instruction) => set_metadata(instruction, self.foreign[array.index()], self.noalias_kind),
            None => Ok(()),
        }
    }

    /// Marks a load of memory that nothing writes while the kernel runs.
    pub(super) fn mark_invariant(&self, load: InstructionValue<'ctx>) -> Result<(), LlvmError> {
        set_metadata(load, self.context.metadata_node(&[]), self.invariant_kind)
    }

    /// Marks a conditional branch as hardly ever taking the second way.
    pub(super) fn mark_likely(&self, branch: InstructionValue<'ctx>) -> Result<(), LlvmError> {
        let weight = |weight| self.context.i32_type().const_int(weight, false).into();
        let weights = [self.context.metadata_string("branch_weights").into(), weight(1 << 20), weight(1)];
        set_metadata(branch, self.context.metadata_node(&weights), self.profile_kind)
    }
}

fn set_metadata<'ctx>(
    instruction: InstructionValue<'ctx>,
    node: MetadataValue<'ctx>,
    kind: u32,
) -> Result<(), LlvmError> {
    instruction.set_metadata(node, kind).map_err(|_| LlvmError::Malformed("metadata is a node"))
}
