//! Control flow that all lanes of a vector loop take together: serial loops whose bounds, and branches whose condition, are the same
//! in all lanes.
//!
//! ```text
//! for k in 0 .. n vector {        for each vector of lanes
//!   var t: f64 = 0.0;               t = (0, .., 0)
//!   for p in begin .. end {         one loop, with one counter for all lanes
//!     t = t + a[p] * b[k];            t += spread(a[p]) * b[k ..]
//!   }
//!   y[k] = t;                       y[k ..] = t
//! }
//! ```
//!
//! The variables of the body that such code assigns to live in memory while it runs, which LLVM turns into registers.

use inkwell::types::VectorType;
use inkwell::values::PointerValue;
use lacunar_imp::{Block, ExprId, VarId, loops};

use super::super::Emitter;
use super::super::frame::Place;
use super::super::hints::LoopHint;
use super::super::value::Value;
use super::VectorLoop;
use super::lanes::Lanes;
use crate::LlvmError;

/// A variable that is assigned to, the type of its lanes, and their place in memory.
struct Carried<'ctx> {
    var: VarId,
    ty: VectorType<'ctx>,
    place: PointerValue<'ctx>,
}

impl<'ctx> Emitter<'ctx, '_> {
    /// A serial loop, under the mask.
    pub(super) fn loop_together(
        &mut self,
        state: &mut VectorLoop<'ctx, '_>,
        counter: VarId,
        [begin, end]: [ExprId; 2],
        body: &Block,
    ) -> Result<(), LlvmError> {
        let (begin, end) = (self.eval_int(begin)?, self.eval_int(end)?);
        let carried = self.carry(state, &[body])?;
        self.count(begin, end, "k", Some(LoopHint::scalar()), |emitter, k| {
            emitter.frame.places[counter.index()] = Some(Place::Value(Value::Int(k)));
            emitter.block_together(state, &carried, body)
        })?;
        self.load_carried(state, &carried)
    }

    /// A branch, under the mask.
    pub(super) fn branch_together(
        &mut self,
        state: &mut VectorLoop<'ctx, '_>,
        cond: ExprId,
        blocks: [&Block; 2],
    ) -> Result<(), LlvmError> {
        let cond = self.eval_int(cond)?;
        let carried = self.carry(state, &blocks)?;
        let arms = [self.new_block("then"), self.new_block("otherwise")];
        let after = self.new_block("end_if");
        self.builder.build_conditional_branch(cond, arms[0], arms[1])?;
        for (block, arm) in blocks.into_iter().zip(arms) {
            self.builder.position_at_end(arm);
            self.block_together(state, &carried, block)?;
            self.builder.build_unconditional_branch(after)?;
        }
        self.builder.position_at_end(after);
        self.load_carried(state, &carried)
    }

    /// Puts the variables of the vector loop's body that blocks assign to into memory. (Its sums are there already.)
    fn carry(&mut self, state: &VectorLoop<'ctx, '_>, blocks: &[&Block]) -> Result<Vec<Carried<'ctx>>, LlvmError> {
        let mut carried: Vec<Carried> = Vec::new();
        for (var, _) in blocks.iter().flat_map(|block| loops::assigned_from_outside(block)) {
            if !state.known.inner[var.index()] || carried.iter().any(|known| known.var == var) {
                continue;
            }
            let value = self.spread(state.get(var)?, self.source.vars[var].ty, state.width)?;
            let place = self.vector_slot(value.get_type())?;
            self.builder.build_store(place, value)?;
            carried.push(Carried { var, ty: value.get_type(), place });
        }
        Ok(carried)
    }

    /// The statements of a block, from the variables in memory to them.
    fn block_together(
        &mut self,
        state: &mut VectorLoop<'ctx, '_>,
        carried: &[Carried<'ctx>],
        block: &Block,
    ) -> Result<(), LlvmError> {
        self.load_carried(state, carried)?;
        self.vector_block(state, block)?;
        for &Carried { var, place, .. } in carried {
            let value = self.spread(state.get(var)?, self.source.vars[var].ty, state.width)?;
            self.builder.build_store(place, value)?;
        }
        Ok(())
    }

    fn load_carried(&mut self, state: &mut VectorLoop<'ctx, '_>, carried: &[Carried<'ctx>]) -> Result<(), LlvmError> {
        for &Carried { var, ty, place } in carried {
            let value = self.builder.build_load(ty, place, "carried")?.into_vector_value();
            state.set(var, Lanes::Varying(value));
        }
        Ok(())
    }
}
