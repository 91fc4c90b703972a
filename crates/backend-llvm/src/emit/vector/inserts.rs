//! Vectors of elements that lie apart, filled by a load for each lane, and stored by a store for each: on processors where that costs
//! less than an instruction that gathers ([`Filling::Inserts`](lacunar_machine::Filling)), or scatters.
//!
//! Each lane computes its index as the serial loop would: a scalar load reads its coordinate. Lanes behind the end of the loop repeat
//! the last iteration. Their elements are in bounds, and the mask leaves them out of the result.
//!
//! If a branch leaves lanes out, there may be no lane whose element exists. Addresses are computed as vectors then, and the lanes that do
//! not run get that of a zero. Behind a short segment's end, where none may be left, the same is done; unless the index is loaded as it
//! is. Such a load gives 0 in the other lanes, and an array that any iteration reads has an element there.
//!
//! ```text
//! v[k] = x[crd[k]], k = 8 .. 12        [x[crd[8]], x[crd[9]], x[crd[10]], x[crd[11]]]
//! the same where the loop ends at 10   [x[crd[8]], x[crd[9]], x[crd[9]], x[crd[9]]]
//! if crd[k] != 9 { v[k] = x[crd[k]] }  [&x[8], &zero, &x[10], &x[11]], and a load from each
//! ```
//!
//! On entry: the first lane runs, unless a branch leaves lanes out or more are taken than are left; some iteration of the loop runs.

use inkwell::IntPredicate;
use inkwell::module::Linkage;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValue, BasicValueEnum, IntValue, PointerValue, VectorValue};
use lacunar_formats::DType;
use lacunar_imp::{ArrayId, ArrayRole, Expr, ExprId, VarId};

use super::super::Emitter;
use super::super::alias::Scope;
use super::super::frame::Place;
use super::super::value::{self, Value};
use super::VectorLoop;
use super::lanes::{Lanes, vector_of};
use crate::LlvmError;

impl<'ctx> Emitter<'ctx, '_> {
    /// The elements of an array at an index that differs between lanes.
    pub(super) fn insert_lanes(
        &mut self,
        state: &VectorLoop<'ctx, '_>,
        array: ArrayId,
        index: ExprId,
    ) -> Result<VectorValue<'ctx>, LlvmError> {
        let part = value::memory_type(self.context, self.source.arrays[array].elem);
        let mut filled = vector_of(part, state.width)?.get_undef();
        for lane in 0..state.width {
            let counter = self.counter_in_lane(state, lane)?;
            let at = self.value_in_lane(state, index, lane, counter)?.int()?;
            let (place, _) = self.element(array, at)?;
            let loaded = self.load_element(array, part, place)?;
            filled = self.builder.build_insert_element(filled, loaded, self.index(lane.into()), "")?;
        }
        // Values that were computed for one lane hold for no other statement.
        self.begin_statement();
        Ok(filled)
    }

    /// The elements of an array at indices that were loaded, of the lanes that are left; the first element in the others.
    pub(super) fn insert_loaded(
        &mut self,
        state: &VectorLoop<'ctx, '_>,
        array: ArrayId,
        index: ExprId,
    ) -> Result<VectorValue<'ctx>, LlvmError> {
        let part = value::memory_type(self.context, self.source.arrays[array].elem);
        let indices = self.lanes(state, index)?;
        let indices = self.spread(indices, DType::I64, state.width)?;
        let mut filled = vector_of(part, state.width)?.get_undef();
        for lane in 0..state.width {
            let lane = self.index(lane.into());
            let at = self.builder.build_extract_element(indices, lane, "")?.into_int_value();
            let (place, _) = self.element(array, at)?;
            let loaded = self.load_element(array, part, place)?;
            filled = self.builder.build_insert_element(filled, loaded, lane, "")?;
        }
        Ok(filled)
    }

    /// The elements of an array at addresses, in the lanes of a mask; zeros in the others.
    pub(super) fn insert_places(
        &mut self,
        array: ArrayId,
        places: VectorValue<'ctx>,
        mask: VectorValue<'ctx>,
    ) -> Result<VectorValue<'ctx>, LlvmError> {
        let part = value::memory_type(self.context, self.source.arrays[array].elem);
        let width = places.get_type().get_size();
        let zero = self.splat(self.zero_in_memory(part).into(), width)?;
        let places = self.builder.build_select(mask, places, zero, "places")?.into_vector_value();
        let mut filled = vector_of(part, width)?.get_undef();
        for lane in 0..width {
            let lane = self.index(lane.into());
            let place = self.builder.build_extract_element(places, lane, "")?.into_pointer_value();
            let loaded = self.load_element(array, part, place)?;
            filled = self.builder.build_insert_element(filled, loaded, lane, "")?;
        }
        Ok(filled)
    }

    /// Stores the lanes of a vector at addresses, the first one first, as an instruction that scatters does.
    pub(super) fn store_places(
        &self,
        array: ArrayId,
        places: VectorValue<'ctx>,
        value: VectorValue<'ctx>,
    ) -> Result<(), LlvmError> {
        (0..places.get_type().get_size()).try_for_each(|lane| {
            let lane = self.index(lane.into());
            let place = self.builder.build_extract_element(places, lane, "")?.into_pointer_value();
            let store = self.builder.build_store(place, self.builder.build_extract_element(value, lane, "")?)?;
            self.aliasing.mark(store, Scope::Elements(array))
        })
    }

    /// An element of an array, or the zero that stands for one. Nothing is ever stored to that one, so that the facts about the array
    /// hold for it.
    fn load_element(
        &self,
        array: ArrayId,
        part: BasicTypeEnum<'ctx>,
        place: PointerValue<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let loaded = self.builder.build_load(part, place, "element")?;
        if let Some(load) = loaded.as_instruction_value() {
            self.aliasing.mark(load, Scope::Elements(array))?;
            if self.source.arrays[array].role == ArrayRole::Input {
                self.aliasing.mark_invariant(load)?;
            }
        }
        Ok(loaded)
    }

    /// The address of a zero of a type.
    fn zero_in_memory(&self, ty: BasicTypeEnum<'ctx>) -> PointerValue<'ctx> {
        let name = format!("zero_{}", ty.print_to_string().to_string());
        let zero = self.module.get_global(&name).unwrap_or_else(|| {
            let zero = self.module.add_global(ty, None, &name);
            zero.set_initializer(&ty.const_zero());
            zero.set_constant(true);
            zero.set_linkage(Linkage::Private);
            zero
        });
        zero.as_pointer_value()
    }

    /// The counter of a lane; that of the last iteration behind it.
    fn counter_in_lane(&self, state: &VectorLoop<'ctx, '_>, lane: u32) -> Result<IntValue<'ctx>, LlvmError> {
        if lane == 0 {
            return Ok(state.counter);
        }
        let counter = self.builder.build_int_nsw_add(state.counter, self.index(lane.into()), "")?;
        let Some(end) = state.end else { return Ok(counter) };
        let last = self.builder.build_int_nsw_sub(end, self.index(1), "")?;
        let is_within = self.builder.build_int_compare(IntPredicate::SLT, counter, last, "")?;
        Ok(self.builder.build_select(is_within, counter, last, "")?.into_int_value())
    }

    /// The value of an expression in one lane, whose counter is given.
    fn value_in_lane(
        &mut self,
        state: &VectorLoop<'ctx, '_>,
        expr: ExprId,
        lane: u32,
        counter: IntValue<'ctx>,
    ) -> Result<Value<'ctx>, LlvmError> {
        let mut vars = Vec::new();
        self.inner_vars(state, expr, &mut vars);
        let mut outer = Vec::with_capacity(vars.len());
        for var in vars {
            let value = if var == state.known.counter {
                Value::Int(counter)
            } else if let Some((array, index)) = state.loaded(var) {
                let at = self.value_in_lane(state, index, lane, counter)?.int()?;
                self.load(array, at, "coordinate")?
            } else {
                match state.get(var)? {
                    Lanes::Uniform(value) => value,
                    Lanes::Varying(vector) => {
                        match self.builder.build_extract_element(vector, self.index(lane.into()), "")? {
                            BasicValueEnum::IntValue(value) => Value::Int(value),
                            BasicValueEnum::FloatValue(value) => Value::Real(value),
                            _ => return Err(LlvmError::Malformed("lanes are numbers")),
                        }
                    }
                }
            };
            outer.push((var, self.frame.places[var.index()].replace(Place::Value(value))));
        }
        self.begin_statement();
        let value = self.eval(expr);
        for (var, place) in outer {
            self.frame.places[var.index()] = place;
        }
        value
    }

    /// The variables of the loop's body that an expression reads.
    fn inner_vars(&self, state: &VectorLoop<'ctx, '_>, expr: ExprId, vars: &mut Vec<VarId>) {
        match self.source.exprs[expr] {
            Expr::Var(var) if state.known.inner[var.index()] && !vars.contains(&var) => vars.push(var),
            expr => expr.operands().for_each(|operand| self.inner_vars(state, operand, vars)),
        }
    }
}
