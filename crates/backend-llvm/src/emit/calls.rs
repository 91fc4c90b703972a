//! Calls of the IR's runtime functions. `lower_bound` and `unpack` are small and hot and become code in line; the sorts go
//! through the runtime table.

use inkwell::values::IntValue;
use inkwell::{AddressSpace, IntPredicate};
use lacunar_formats::DType;
use lacunar_imp::{Arg, Array, ArrayId, ArrayRole, Callee, ExprId, LENGTH_BITS, Param, Status, VarId, type_code};

use super::Emitter;
use super::frame::Place;
use super::runtime::RuntimeFn;
use super::value::Value;
use crate::LlvmError;

const WRONG_ARGUMENTS: LlvmError = LlvmError::Malformed("a call has the wrong arguments");

impl<'ctx> Emitter<'ctx, '_> {
    /// A call statement.
    pub(super) fn call(&mut self, callee: Callee, args: &[Arg], result: Option<VarId>) -> Result<(), LlvmError> {
        let value = match (callee, args) {
            (Callee::LowerBound, &[Arg::Array(array), Arg::Scalar(begin), Arg::Scalar(end), Arg::Scalar(key)]) => {
                Some(self.lower_bound(array, begin, end, key)?)
            }
            (Callee::SortMarked, &[Arg::Array(list), Arg::Scalar(n), Arg::Array(marks), Arg::Scalar(size)]) => {
                self.sort_marked(list, n, marks, size)?;
                None
            }
            (Callee::SortCombine, &[Arg::Scalar(n), Arg::Array(values), ref keys @ ..]) => {
                Some(self.sort_combine(n, values, keys)?)
            }
            (Callee::Unpack, &[Arg::Array(list), Arg::Scalar(at), Arg::Scalar(word), Arg::Scalar(base)]) => {
                Some(self.unpack(list, at, word, base)?)
            }
            (Callee::Marks, &[Arg::Array(array), Arg::Scalar(at)]) => Some(self.marks(array, at)?),
            (Callee::Take, &[Arg::Array(next)]) => Some(self.take(next)?),
            (Callee::Raised, &[Arg::Array(flag)]) => Some(self.raised(flag)?),
            (Callee::Length, &[Arg::Array(array)]) => Some(self.length(array)?),
            _ => return Err(WRONG_ARGUMENTS),
        };
        if let (Some(var), Some(value)) = (result, value) {
            self.frame.places[var.index()] = Some(Place::Value(Value::Int(value)));
        }
        Ok(())
    }

    /// Binary search that halves a range without branching on the keys:
    ///
    /// ```text
    /// while size > 0 {
    ///   half = size / 2;
    ///   if a[first + half] < key { first += half + 1; size -= half + 1; } else { size = half; }
    /// }
    /// ```
    fn lower_bound(
        &mut self,
        array: ArrayId,
        begin: ExprId,
        end: ExprId,
        key: ExprId,
    ) -> Result<IntValue<'ctx>, LlvmError> {
        let (begin, end, key) = (self.eval_int(begin)?, self.eval_int(end)?, self.eval_int(key)?);
        let (long, zero, one) = (self.context.i64_type(), self.index(0), self.index(1));
        let count = self.builder.build_int_sub(end, begin, "")?;
        let any = self.builder.build_int_compare(IntPredicate::SGT, count, zero, "")?;
        let before = self.current_block()?;
        let (body, done) = (self.new_block("search"), self.new_block("found"));
        self.builder.build_conditional_branch(any, body, done)?;

        self.builder.position_at_end(body);
        let first = self.builder.build_phi(long, "first")?;
        let size = self.builder.build_phi(long, "size")?;
        let (first_value, size_value) =
            (first.as_basic_value().into_int_value(), size.as_basic_value().into_int_value());
        let half = self.builder.build_right_shift(size_value, one, false, "")?;
        let middle = self.builder.build_int_add(first_value, half, "")?;
        let elem = self.source.arrays[array].elem;
        let coordinate = self.load(array, middle, "coordinate")?;
        let coordinate = self.cast(elem, DType::I64, coordinate)?.int()?;
        let below = self.builder.build_int_compare(IntPredicate::SLT, coordinate, key, "")?;
        let after = self.builder.build_int_add(middle, one, "")?;
        let rest = self.builder.build_int_sub(size_value, half, "")?;
        let rest = self.builder.build_int_sub(rest, one, "")?;
        let next_first = self.builder.build_select(below, after, first_value, "")?.into_int_value();
        let next_size = self.builder.build_select(below, rest, half, "")?.into_int_value();
        let body_end = self.current_block()?;
        first.add_incoming(&[(&begin, before), (&next_first, body_end)]);
        size.add_incoming(&[(&count, before), (&next_size, body_end)]);
        let more = self.builder.build_int_compare(IntPredicate::SGT, next_size, zero, "")?;
        self.builder.build_conditional_branch(more, body, done)?;

        self.builder.position_at_end(done);
        let found = self.builder.build_phi(long, "found")?;
        found.add_incoming(&[(&begin, before), (&next_first, body_end)]);
        Ok(found.as_basic_value().into_int_value())
    }

    /// The length that the caller gives an array, in its second argument word: without the type that it says, which has to be
    /// the right one. There is memory, unless it is 0.
    ///
    /// ```text
    /// length = word < code << 56 ? word : word - (code << 56);     fails unless length < 1 << 56
    /// ```
    fn length(&mut self, array: ArrayId) -> Result<IntValue<'ctx>, LlvmError> {
        let word = self.argument_word(array).ok_or(WRONG_ARGUMENTS)?;
        let data = self.load_word(word, true)?.into_pointer_value();
        let given = self.load_word(word + 1, false)?.into_int_value();
        let long = self.context.i64_type();
        let Array { role, elem, .. } = self.source.arrays[array];
        // The caller gives no type code for arrays that the kernel makes.
        let code = if role == ArrayRole::Grown { 0 } else { u64::from(type_code(elem)) };
        let said = long.const_int(code << LENGTH_BITS, false);
        let rest = self.builder.build_int_sub(given, said, "")?;
        let is_said = self.builder.build_int_compare(IntPredicate::UGE, given, said, "")?;
        let length = self.builder.build_select(is_said, rest, given, "length")?.into_int_value();
        let most = long.const_int(1 << LENGTH_BITS, false);
        let right = self.builder.build_int_compare(IntPredicate::ULT, length, most, "")?;
        self.fail_unless(right, Status::WrongType)?;
        let (there, none) = (
            self.builder.build_is_not_null(data, "")?,
            self.builder.build_int_compare(IntPredicate::EQ, length, self.index(0), "")?,
        );
        let there = self.builder.build_or(there, none, "")?;
        self.fail_unless(there, Status::TooShort)?;
        Ok(length)
    }

    /// The number of the first argument word of an array.
    fn argument_word(&self, array: ArrayId) -> Option<u64> {
        let mut next = 1;
        for param in &self.source.params {
            match *param {
                Param::Array(other) if other == array => return Some(next),
                Param::Array(_) => next += 2,
                Param::Scalar(_) => next += 1,
            }
        }
        None
    }

    fn sort_marked(&mut self, list: ArrayId, n: ExprId, marks: ArrayId, size: ExprId) -> Result<(), LlvmError> {
        let (n, size) = (self.eval_int(n)?, self.eval_int(size)?);
        let (list, marks) = (self.array_data(list)?, self.array_data(marks)?);
        self.call_runtime(
            self.frame.table,
            RuntimeFn::SortMarked,
            &[list.into(), n.into(), marks.into(), size.into()],
        )?;
        Ok(())
    }

    fn sort_combine(&mut self, n: ExprId, values: ArrayId, keys: &[Arg]) -> Result<IntValue<'ctx>, LlvmError> {
        let n = self.eval_int(n)?;
        let pointers = self.key_pointers(keys)?;
        let count = self.index(keys.len() as i64);
        let dtype = self.context.i32_type().const_int(dtype_index(self.source.arrays[values].elem), false);
        let values = self.array_data(values)?;
        let args = [pointers.into(), count.into(), values.into(), dtype.into(), n.into()];
        let left = self.call_runtime(self.frame.table, RuntimeFn::SortCombine, &args)?.try_as_basic_value().basic();
        let left = left.ok_or(LlvmError::Malformed("a call gives a value"))?.into_int_value();
        let good = self.builder.build_int_compare(IntPredicate::SGE, left, self.index(0), "")?;
        self.fail_unless(good, Status::OutOfMemory)?;
        Ok(left)
    }

    /// An array on the stack with the pointers to the key arrays.
    fn key_pointers(&mut self, keys: &[Arg]) -> Result<inkwell::values::PointerValue<'ctx>, LlvmError> {
        let pointer = self.context.ptr_type(AddressSpace::default());
        let row = pointer.array_type(u32::try_from(keys.len()).map_err(|_| WRONG_ARGUMENTS)?);
        let here = self.current_block()?;
        self.builder.position_before(&self.frame.entry_end);
        let pointers = self.builder.build_alloca(row, "keys")?;
        self.builder.position_at_end(here);
        for (index, key) in keys.iter().enumerate() {
            let Arg::Array(array) = *key else { return Err(WRONG_ARGUMENTS) };
            let slot = self.slot_address(row, pointers, index as i64)?;
            self.builder.build_store(slot, self.array_data(array)?)?;
        }
        Ok(pointers)
    }
}

/// The place of a type in [`DType::ALL`].
pub(super) fn dtype_index(ty: DType) -> u64 {
    debug_assert_eq!(DType::ALL[ty as usize], ty, "types are declared in the order of the list");
    ty as u64
}
