//! The statements of a vector loop: each for all lanes at once, under the mask.
//!
//! ```text
//! let v: f64 = a[k];            one vector, loaded
//! if v > 0.0 { y[k] = v; }      mask = v > 0; a masked store
//! t = t + v;                    the sums of this copy, added to where the mask holds
//! ```
//!
//! On entry: a body that [`super::known::Known`] admits. Variables of the body hold a vector, or a scalar that is the same in all
//! lanes; of a definition whose stride is known, the first lane's value is kept as well, for indices.

use lacunar_formats::DType;
use lacunar_imp::{ArrayId, ArrayRole, BinaryOp, Block, Expr, ExprId, Reduction, Stmt};

use super::super::Emitter;
use super::super::frame::Place;
use super::super::value::Value;
use super::VectorLoop;
use super::known::repeats;
use super::lanes::Lanes;
use crate::LlvmError;

impl<'ctx> Emitter<'ctx, '_> {
    /// The statements of a block, for all lanes.
    pub(super) fn vector_block(&mut self, state: &mut VectorLoop<'ctx, '_>, block: &Block) -> Result<(), LlvmError> {
        for stmt in block {
            self.begin_statement();
            self.vector_stmt(state, stmt)?;
        }
        Ok(())
    }

    fn vector_stmt(&mut self, state: &mut VectorLoop<'ctx, '_>, stmt: &Stmt) -> Result<(), LlvmError> {
        match *stmt {
            Stmt::Define { var, value } => {
                if !self.source.vars[var].mutable && state.known.stride(self.source, value).is_some() {
                    // The first lane's value of an index may be wanted.
                    self.frame.places[var.index()] = Some(Place::Value(self.eval(value)?));
                }
                let value = self.lanes(state, value)?;
                state.set(var, value);
                Ok(())
            }
            Stmt::Assign { var, value } => match state.known.reductions.iter().position(|r| r.var == var) {
                Some(number) => self.add_to_sums(state, number, value),
                None => {
                    let new = self.lanes(state, value)?;
                    let old = state.get(var)?;
                    let kept = self.under_mask(state, new, old, self.source.vars[var].ty)?;
                    state.set(var, kept);
                    Ok(())
                }
            },
            Stmt::Load { var, array, index } => {
                let value = self.load_lanes(state, array, index)?;
                if let (Lanes::Uniform(value), true) = (value, state.known.is_shared(var)) {
                    // Indices may be made of it.
                    self.frame.places[var.index()] = Some(Place::Value(value));
                }
                let is_input = self.source.arrays[array].role == ArrayRole::Input;
                if is_input && (!state.branched || state.left) && state.known.stride(self.source, index) == Some(1) {
                    state.loads.push((var, array, index));
                }
                state.set(var, value);
                Ok(())
            }
            Stmt::Store { array, index, value, reduce, past } => {
                state.streams = past.is_some() && state.known.streams;
                self.vector_store(state, (array, index), value, reduce)
            }
            Stmt::If { cond, ref then, ref otherwise } if !state.known.varies(self.source, cond) => {
                self.branch_together(state, cond, [then, otherwise])
            }
            Stmt::If { cond, ref then, ref otherwise } => self.vector_branch(state, cond, [then, otherwise]),
            Stmt::For { var, begin, end, ref body, .. } => {
                let Some(repeats) = repeats(self.source, begin, end) else {
                    return self.loop_together(state, var, [begin, end], body);
                };
                for k in repeats {
                    self.frame.places[var.index()] = Some(Place::Value(Value::Int(self.index(k))));
                    self.vector_block(state, body)?;
                }
                Ok(())
            }
            Stmt::Comment(_) | Stmt::Prefetch { .. } => Ok(()),
            _ => Err(LlvmError::Malformed("a statement that is not admitted")),
        }
    }

    /// `array[index] = value`, or the element combined with the value.
    fn vector_store(
        &mut self,
        state: &mut VectorLoop<'ctx, '_>,
        (array, index): (ArrayId, ExprId),
        value: ExprId,
        reduce: Option<BinaryOp>,
    ) -> Result<(), LlvmError> {
        let value = self.lanes(state, value)?;
        let elem = self.source.arrays[array].elem;
        if let Some(op) = reduce
            && self.holds_all_lanes(state, array, index)
        {
            // A masked store would keep the array in memory: all lanes are stored, some with their old value.
            let branch = state.mask.take();
            let old = self.load_lanes(state, array, index)?;
            let new = self.binary_lanes(state, op, elem, old, value)?;
            state.mask = branch;
            let kept = self.under_mask(state, new, old, elem)?;
            state.mask = None;
            self.store_lanes(state, array, index, kept)?;
            state.mask = branch;
            return Ok(());
        }
        let value = match reduce {
            Some(op) => {
                let old = self.load_lanes(state, array, index)?;
                self.binary_lanes(state, op, elem, old, value)?
            }
            None => value,
        };
        self.store_lanes(state, array, index, value)
    }

    /// A branch: its first block in the lanes where the condition holds, then the other block in the others.
    fn vector_branch(
        &mut self,
        state: &mut VectorLoop<'ctx, '_>,
        cond: ExprId,
        blocks: [&Block; 2],
    ) -> Result<(), LlvmError> {
        let word = self.word_of_lanes(state, cond).filter(|_| !state.branched);
        let cond = self.lanes(state, cond)?;
        let cond = self.spread(cond, DType::Bool, state.width)?;
        let tested = std::mem::replace(&mut state.bits, word);
        let (outer, branched) = (state.mask, std::mem::replace(&mut state.branched, true));
        let left = std::mem::take(&mut state.left);
        let opposite = self.builder.build_not(cond, "")?;
        for (block, cond) in blocks.into_iter().zip([cond, opposite]) {
            state.mask = Some(match outer {
                Some(mask) => self.builder.build_and(mask, cond, "")?,
                None => cond,
            });
            self.vector_block(state, block)?;
            state.bits = None;
        }
        (state.mask, state.branched, state.left, state.bits) = (outer, branched, left, tested);
        Ok(())
    }

    /// True if an array on the stack has an element for every lane, also for lanes that a branch leaves out.
    fn holds_all_lanes(&self, state: &VectorLoop<'ctx, '_>, array: ArrayId, index: ExprId) -> bool {
        let Some(len) = self.tile(array).map(i64::from) else { return false };
        let first = state.counter.get_sign_extended_constant();
        let direct = matches!(self.source.exprs[index], Expr::Var(var) if var == state.known.counter);
        let within = first.is_some_and(|first| first >= 0 && first + i64::from(state.width) <= len);
        state.branched && state.end.is_none() && direct && within
    }

    /// `v = v op e`.
    fn add_to_sums(&mut self, state: &VectorLoop<'ctx, '_>, number: usize, value: ExprId) -> Result<(), LlvmError> {
        let Reduction { var, op } = state.known.reductions[number];
        let Expr::Binary(_, _, operand) = self.source.exprs[value] else {
            return Err(LlvmError::Malformed("a reduction combines"));
        };
        let ty = self.source.vars[var].ty;
        let operand = self.lanes(state, operand)?;
        let vector = self.vector_type(ty, state.width)?;
        let old = Lanes::Varying(self.builder.build_load(vector, state.sums[number], "sums")?.into_vector_value());
        let new = self.binary_lanes(state, op, ty, old, operand)?;
        let new = self.under_mask(state, new, old, ty)?;
        let new = self.spread(new, ty, state.width)?;
        self.builder.build_store(state.sums[number], new)?;
        Ok(())
    }

    /// The new value in the lanes that run, the old one in others.
    fn under_mask(
        &mut self,
        state: &VectorLoop<'ctx, '_>,
        new: Lanes<'ctx>,
        old: Lanes<'ctx>,
        ty: DType,
    ) -> Result<Lanes<'ctx>, LlvmError> {
        let Some(mask) = state.mask else { return Ok(new) };
        let (new, old) = (self.spread(new, ty, state.width)?, self.spread(old, ty, state.width)?);
        Ok(Lanes::Varying(self.builder.build_select(mask, new, old, "")?.into_vector_value()))
    }
}
