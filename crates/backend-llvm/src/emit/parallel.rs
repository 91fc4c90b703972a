//! Parallel loops: the body becomes a function of its own, which the runtime calls for each iteration.
//!
//! The body gets its captures through a *context*, a row of words on the stack of the function around. The context has
//! the runtime table, the values that variables have now (the body does not change them), and pointers to the arrays'
//! elements (which stay where they are as long as the loop runs). The body loads them once, at its start.
//!
//! ```text
//! define internal i32 @f.parallel(ptr %context, i64 %i)    0, or the status that the iteration failed with
//!
//! %context = alloca [3 x i64]                              table, n, elements of y
//! %status = call i32 %parallel(ptr @f.parallel, ptr %context, i64 %begin, i64 %end)
//! ```

use inkwell::module::Linkage;
use inkwell::values::{BasicValueEnum, FunctionValue, IntValue, PointerValue};
use inkwell::{AddressSpace, IntPredicate};
use lacunar_imp::{ArrayId, Block, Function, LoopKind, Stmt, VarId, loops};

use super::Emitter;
use super::capture::Uses;
use super::frame::{Frame, Place};
use super::memory::ArrayPlace;
use super::runtime::RuntimeFn;
use super::value::Value;
use crate::LlvmError;

/// By array: true if it belongs to the iterations of a parallel loop.
pub(super) fn private_arrays(function: &Function) -> Vec<bool> {
    fn visit(function: &Function, block: &Block, private: &mut [bool]) {
        for stmt in block {
            match stmt {
                Stmt::For { kind, body, .. } => {
                    if *kind == LoopKind::Parallel {
                        loops::private_arrays(function, body)
                            .into_iter()
                            .for_each(|array| private[array.index()] = true);
                    }
                    visit(function, body, private);
                }
                Stmt::While { body, .. } => visit(function, body, private),
                Stmt::If { then, otherwise, .. } => {
                    visit(function, then, private);
                    visit(function, otherwise, private);
                }
                _ => {}
            }
        }
    }
    let mut private = vec![false; function.arrays.len()];
    visit(function, &function.body, &mut private);
    private
}

/// Something from outside, and its values there: those of a complex variable are two.
enum Captured<'ctx> {
    Var(VarId, Value<'ctx>),
    Array(ArrayId, PointerValue<'ctx>),
}

impl<'ctx> Emitter<'ctx, '_> {
    /// A loop whose iterations run on several threads.
    pub(super) fn parallel_loop(
        &mut self,
        counter: VarId,
        begin: IntValue<'ctx>,
        end: IntValue<'ctx>,
        body: &Block,
    ) -> Result<(), LlvmError> {
        let uses = Uses::of(self.source, body);
        let own = loops::private_arrays(self.source, body);
        let mut captured = Vec::new();
        for var in uses.captured().filter(|&var| var != counter) {
            captured.push(Captured::Var(var, self.read(var)?));
        }
        for &array in &uses.arrays {
            if !own.contains(&array) && self.frame.arrays[array.index()].is_some() {
                captured.push(Captured::Array(array, self.array_data(array)?));
            }
        }
        let context = self.store_context(&captured)?;
        let function = self.body_function(counter, body, &uses, &own, &captured)?;
        let function = function.as_global_value().as_pointer_value();
        let args = [function.into(), context.into(), begin.into(), end.into()];
        let call = self.call_runtime(self.frame.table, RuntimeFn::Parallel, &args)?;
        let status = call.try_as_basic_value().basic().ok_or(LlvmError::Malformed("a call gives a value"))?;
        let status = status.into_int_value();
        let good = self.builder.build_int_compare(IntPredicate::EQ, status, self.status(None), "")?;
        self.leave_unless(good, status)
    }

    /// Stores the captures of a body on the stack.
    fn store_context(&mut self, captured: &[Captured<'ctx>]) -> Result<PointerValue<'ctx>, LlvmError> {
        let mut values: Vec<BasicValueEnum> = vec![self.frame.table.into()];
        for item in captured {
            match *item {
                Captured::Var(_, value) => {
                    let (first, second) = value.parts();
                    values.extend([Some(first), second].into_iter().flatten());
                }
                Captured::Array(_, data) => values.push(data.into()),
            }
        }
        let words = u32::try_from(values.len()).map_err(|_| LlvmError::Malformed("a loop uses too much"))?;
        let row = self.context.i64_type().array_type(words);
        let here = self.current_block()?;
        self.builder.position_before(&self.frame.entry_end);
        let context = self.builder.build_alloca(row, "context")?;
        self.builder.position_at_end(here);
        for (index, value) in (0..).zip(values) {
            let slot = self.slot_address(row, context, index)?;
            self.builder.build_store(slot, value)?;
        }
        Ok(context)
    }

    /// Emits the function of a body; the builder then stands where it stood.
    fn body_function(
        &mut self,
        counter: VarId,
        body: &Block,
        uses: &Uses,
        own: &[ArrayId],
        captured: &[Captured<'ctx>],
    ) -> Result<FunctionValue<'ctx>, LlvmError> {
        let here = self.current_block()?;
        let (pointer, long) = (self.context.ptr_type(AddressSpace::default()), self.context.i64_type());
        let ty = self.context.i32_type().fn_type(&[pointer.into(), long.into()], false);
        let name = format!("{}.parallel", self.kernel.get_name().to_string_lossy());
        let function = self.module.add_function(&name, ty, Some(Linkage::Internal));
        let frame = Frame::new(self.context, &self.builder, function, self.source)?;
        let outer = std::mem::replace(&mut self.frame, frame);
        self.frame.parallel = true;
        self.frame.shared = uses.arrays.iter().copied().filter(|array| !own.contains(array)).collect();

        self.load_context(captured)?;
        let iteration = function.get_nth_param(1).map(BasicValueEnum::into_int_value);
        let iteration = iteration.ok_or(LlvmError::Malformed("a function has the parameters it was given"))?;
        self.frame.places[counter.index()] = Some(Place::Value(Value::Int(iteration)));
        for &array in own {
            self.own_array(array)?;
        }
        for &var in uses.declared.iter().filter(|&&var| self.source.vars[var].mutable) {
            self.reserve_variable(var)?;
        }
        self.fill_frame(body)?;

        self.frame = outer;
        self.builder.position_at_end(here);
        // Values of the body's last statement are of no use here.
        self.begin_statement();
        Ok(function)
    }

    /// Loads the captures from a context.
    fn load_context(&mut self, captured: &[Captured<'ctx>]) -> Result<(), LlvmError> {
        self.frame.table = self.load_word(0, true)?.into_pointer_value();
        let mut words = 1..;
        for item in captured {
            match *item {
                Captured::Var(var, value) => {
                    let (first, second) = value.parts();
                    let mut load = |like: BasicValueEnum<'ctx>| {
                        let word = words.next().unwrap_or_default();
                        self.load_word_as(word, like.get_type())
                    };
                    let value = Value::from_parts(load(first)?, second.map(load).transpose()?);
                    self.frame.places[var.index()] = Some(Place::Value(value));
                }
                Captured::Array(array, _) => {
                    let data = self.load_word(words.next().unwrap_or_default(), true)?.into_pointer_value();
                    self.frame.arrays[array.index()] = Some(ArrayPlace::Fixed(data));
                }
            }
        }
        Ok(())
    }
}
