//! Loads and stores of a vector loop: of neighboring elements, of one element for all lanes, or of an element for each
//! lane, which an instruction gathers or scatters unless `inserts.rs` takes them one by one.
#![allow(unsafe_code)]

use inkwell::IntPredicate;
use inkwell::llvm_sys::core::LLVMBuildInBoundsGEP2;
use inkwell::types::{AsTypeRef, BasicType, VectorType};
use inkwell::values::{AsValueRef, BasicMetadataValueEnum, BasicValue, PointerValue, VectorValue};
use lacunar_formats::DType;
use lacunar_imp::{ArrayId, ArrayRole, ExprId};
use lacunar_machine::Filling;

use super::super::Emitter;
use super::super::alias::Scope;
use super::super::value;
use super::VectorLoop;
use super::lanes::{Lanes, vector_of};
use crate::LlvmError;

impl<'ctx> Emitter<'ctx, '_> {
    /// Loads an element for each lane.
    pub(super) fn load_lanes(
        &mut self,
        state: &VectorLoop<'ctx, '_>,
        array: ArrayId,
        index: ExprId,
    ) -> Result<Lanes<'ctx>, LlvmError> {
        let data = &self.source.arrays[array];
        let stride = state.known.stride(self.source, index);
        // Under a branch there may be no lane that runs, and no element. One of the lanes that are left runs in some vector.
        if stride == Some(0) && (!state.branched || state.left) {
            let index = self.eval_int(index)?;
            return Ok(Lanes::Uniform(self.load(array, index, "uniform")?));
        }
        let part = value::memory_type(self.context, data.elem);
        let vector = vector_of(part, state.width)?;
        let loaded = if stride == Some(1) {
            let index = self.eval_int(index)?;
            let (first, _) = self.element(array, index)?;
            match state.loads_under() {
                None => {
                    let loaded = self.builder.build_load(vector, first, "lanes")?.into_vector_value();
                    if let Some(load) = loaded.as_instruction_value() {
                        self.align(load, data.elem)?;
                    }
                    loaded
                }
                Some(mask) => {
                    let args = [first.into(), self.alignment(data.elem), mask.into(), vector.const_zero().into()];
                    let types = [vector.as_basic_type_enum(), first.get_type().as_basic_type_enum()];
                    self.intrinsic("llvm.masked.load", &types, &args)?.into_vector_value()
                }
            }
        } else if let Some(expanded) = self.expand(state, array, index)? {
            expanded
        } else if state.known.filling == Filling::Inserts {
            let inserted = match state.loads_under().filter(|_| state.branched) {
                Some(_) if state.is_loaded(self.source, index) => self.insert_loaded(state, array, index)?,
                Some(mask) => {
                    let places = self.elements(state, array, index)?;
                    self.insert_places(array, places, mask)?
                }
                None => self.insert_lanes(state, array, index)?,
            };
            return self.lanes_in_registers(data.elem, inserted);
        } else {
            let places = self.elements(state, array, index)?;
            let mask = self.mask_or_all(state.loads_under(), state.width);
            let args = [places.into(), self.alignment(data.elem), mask.into(), vector.const_zero().into()];
            let types = [vector.as_basic_type_enum(), places.get_type().as_basic_type_enum()];
            self.intrinsic("llvm.masked.gather", &types, &args)?.into_vector_value()
        };
        if let Some(load) = loaded.as_instruction_value() {
            self.aliasing.mark(load, Scope::Elements(array))?;
            if data.role == ArrayRole::Input {
                self.aliasing.mark_invariant(load)?;
            }
        }
        self.lanes_in_registers(data.elem, loaded)
    }

    /// Elements as they are in memory, as they are computed with.
    fn lanes_in_registers(&self, elem: DType, loaded: VectorValue<'ctx>) -> Result<Lanes<'ctx>, LlvmError> {
        if elem != DType::Bool {
            return Ok(Lanes::Varying(loaded));
        }
        let zero = loaded.get_type().const_zero();
        Ok(Lanes::Varying(self.builder.build_int_compare(IntPredicate::NE, loaded, zero, "")?))
    }

    /// Stores an element for each lane.
    pub(super) fn store_lanes(
        &mut self,
        state: &VectorLoop<'ctx, '_>,
        array: ArrayId,
        index: ExprId,
        value: Lanes<'ctx>,
    ) -> Result<(), LlvmError> {
        let elem = self.source.arrays[array].elem;
        let value = self.spread(value, elem, state.width)?;
        let vector = vector_of(value::memory_type(self.context, elem), state.width)?;
        let value = if elem == DType::Bool { self.builder.build_int_z_extend(value, vector, "")? } else { value };
        if state.known.stride(self.source, index) == Some(1) {
            let index = self.eval_int(index)?;
            let (first, _) = self.element(array, index)?;
            let Some(mask) = state.mask else {
                let store = self.builder.build_store(first, value)?;
                match state.streams {
                    true => self.stream(store, elem.size() * state.width as usize)?,
                    false => self.align(store, elem)?,
                }
                return self.aliasing.mark(store, Scope::Elements(array));
            };
            let types = [vector.as_basic_type_enum(), first.get_type().as_basic_type_enum()];
            let args = [value.into(), first.into(), self.alignment(elem), mask.into()];
            return self.store_intrinsic("llvm.masked.store", array, &types, &args);
        }
        if self.compress(state, array, index, value)? {
            return Ok(());
        }
        let places = self.elements(state, array, index)?;
        if state.known.filling == Filling::Inserts && state.mask.is_none() {
            return self.store_places(array, places, value);
        }
        let mask = self.mask_or_all(state.mask, state.width);
        let types = [vector.as_basic_type_enum(), places.get_type().as_basic_type_enum()];
        let args = [value.into(), places.into(), self.alignment(elem), mask.into()];
        self.store_intrinsic("llvm.masked.scatter", array, &types, &args)
    }

    pub(super) fn store_intrinsic(
        &self,
        name: &str,
        array: ArrayId,
        types: &[inkwell::types::BasicTypeEnum<'ctx>],
        args: &[BasicMetadataValueEnum<'ctx>],
    ) -> Result<(), LlvmError> {
        match self.intrinsic_effect(name, types, args)? {
            Some(store) => self.aliasing.mark(store, Scope::Elements(array)),
            None => Ok(()),
        }
    }

    /// The addresses of an element for each lane.
    fn elements(
        &mut self,
        state: &VectorLoop<'ctx, '_>,
        array: ArrayId,
        index: ExprId,
    ) -> Result<VectorValue<'ctx>, LlvmError> {
        let index = self.lanes(state, index)?;
        let index = self.spread(index, DType::I64, state.width)?;
        let data: PointerValue = self.array_data(array)?;
        let part = value::memory_type(self.context, self.source.arrays[array].elem);
        let mut indices = [index.as_value_ref()];
        // SAFETY: a pointer and a vector of indices give a vector of pointers; the name is a C string. Indices out of bounds
        // are undefined behavior of the kernel, and excluded by the meaning of the IR, in the lanes of the mask; in
        // others the address is not used, and may be poison.
        unsafe {
            let (builder, ty) = (self.builder.as_mut_ptr(), part.as_type_ref());
            let places = LLVMBuildInBoundsGEP2(builder, ty, data.as_value_ref(), indices.as_mut_ptr(), 1, c"".as_ptr());
            Ok(VectorValue::new(places))
        }
    }

    fn mask_or_all(&self, mask: Option<VectorValue<'ctx>>, width: u32) -> VectorValue<'ctx> {
        let all = || VectorType::const_vector(&vec![self.context.bool_type().const_all_ones(); width as usize]);
        mask.unwrap_or_else(all)
    }

    /// The alignment of an element, as an argument of intrinsics.
    fn alignment(&self, elem: DType) -> BasicMetadataValueEnum<'ctx> {
        self.context.i32_type().const_int(elem.size() as u64, false).into()
    }

    /// Says that an access to a vector is aligned as its elements are.
    pub(in super::super) fn align(
        &self,
        access: inkwell::values::InstructionValue<'ctx>,
        elem: DType,
    ) -> Result<(), LlvmError> {
        let aligned = access.set_alignment(elem.size() as u32);
        aligned.map_err(|_| LlvmError::Malformed("an alignment is a power of two"))
    }
}
