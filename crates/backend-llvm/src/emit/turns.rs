//! Sums of unrolled loops, taken in several variables in turn.
//!
//! An addition takes a few cycles until its result can be added to. A loop that has lanes takes its sums in vectors; one that cannot
//! have them, because it stores to scattered places, waits for each addition, unless its sums are taken in several variables:
//!
//! ```text
//! for p in b .. e unroll(4) {           t_1 = t_2 = t_3 = 0
//!   t = t + A[p] * x[crd[p]]              for p in b, b + 4 .. {
//!   y[crd[p]] += A[p] * z          ->       t += A[p] * x[crd[p]]        y[crd[p]] += A[p] * z
//! }                                         t_1 += A[p + 1] * x[crd[p + 1]]  ..
//!                                         }
//!                                         t += t_1 + t_2 + t_3;  the iterations that are left
//! ```
//!
//! On entry: the function is not strict, since sums are formed in another order.

use inkwell::IntPredicate;
use inkwell::values::IntValue;
use lacunar_imp::{BinaryOp, Block, Const, Reduction, Stmt, VarId, loops};

use super::Emitter;
use super::frame::Place;
use super::value;
use crate::LlvmError;

/// The most variables for a sum: additions take about four cycles.
const MOST: u32 = 4;

impl<'ctx> Emitter<'ctx, '_> {
    /// Before a loop that is unrolled `times` times: runs as much of it as there are whole turns. Gives where the rest begins; `None`
    /// if there are no sums.
    pub(super) fn sum_in_turns(
        &mut self,
        var: VarId,
        (begin, end): (IntValue<'ctx>, IntValue<'ctx>),
        times: u32,
        body: &Block,
    ) -> Result<Option<IntValue<'ctx>>, LlvmError> {
        let sums = self.sums(body);
        let copies = times.min(MOST);
        if self.source.strict || sums.is_empty() || copies < 2 {
            return Ok(None);
        }
        let own: Vec<_> = sums.iter().map(|sum| self.frame.places[sum.index()]).collect();
        let mut places = vec![own];
        for _ in 1..copies {
            places.push(sums.iter().map(|sum| self.empty_sum(*sum).map(Some)).collect::<Result<_, _>>()?);
        }
        let step = self.index(i64::from(copies));
        let last = self.builder.build_int_sub(end, step, "")?;
        // If the difference wraps around, there is no turn.
        let before_end = self.builder.build_int_compare(IntPredicate::SLT, last, end, "")?;
        let any = self.builder.build_int_compare(IntPredicate::SLE, begin, last, "")?;
        let enters = self.builder.build_and(before_end, any, "")?;
        let rest = self.stepped(
            begin,
            enters,
            step,
            |emitter, counter, next| {
                for (copy, places) in (0..).zip(&places) {
                    emitter.move_sums(&sums, places);
                    let counter = emitter.builder.build_int_nsw_add(counter, emitter.index(copy), "")?;
                    emitter.scalar_iteration(var, counter, body)?;
                }
                Ok(emitter.builder.build_int_compare(IntPredicate::SLE, next, last, "")?)
            },
            |emitter| {
                for (number, sum) in sums.iter().enumerate() {
                    let mut total = None;
                    for places in &places {
                        emitter.frame.places[sum.index()] = places[number];
                        let part = emitter.read(*sum)?;
                        total = Some(match total {
                            Some(total) => emitter.binary(BinaryOp::Add, emitter.source.vars[*sum].ty, total, part)?,
                            None => part,
                        });
                    }
                    emitter.frame.places[sum.index()] = places[0][number];
                    if let (Some(Place::Slots(slot, None)), Some(total)) = (places[0][number], total) {
                        emitter.builder.build_store(slot, total.parts().0)?;
                    }
                }
                Ok(())
            },
        )?;
        self.move_sums(&sums, &places[0]);
        Ok(Some(rest))
    }

    /// The variables of real numbers that a body adds to; none, if it does more than compute, load and store.
    fn sums(&self, body: &Block) -> Vec<VarId> {
        let is_plain = |stmt: &Stmt| {
            let kinds = matches!(stmt, Stmt::Define { .. } | Stmt::Assign { .. } | Stmt::Load { .. });
            kinds || matches!(stmt, Stmt::Store { .. } | Stmt::Prefetch { .. } | Stmt::Comment(_))
        };
        let reductions = loops::reductions(self.source, body).filter(|_| body.iter().all(is_plain));
        let is_sum = |reduction: &Reduction| {
            let place = self.frame.places[reduction.var.index()];
            let is_real = self.source.vars[reduction.var].ty.is_real();
            reduction.op == BinaryOp::Add && is_real && matches!(place, Some(Place::Slots(_, None)))
        };
        reductions.unwrap_or_default().iter().filter(|reduction| is_sum(reduction)).map(|sum| sum.var).collect()
    }

    /// A variable like another, to which nothing was added yet.
    fn empty_sum(&mut self, like: VarId) -> Result<Place<'ctx>, LlvmError> {
        let ty = self.source.vars[like].ty;
        let here = self.current_block()?;
        self.builder.position_before(&self.frame.entry_end);
        let slot = self.builder.build_alloca(value::register_type(self.context, ty), &self.source.vars[like].name)?;
        self.builder.position_at_end(here);
        // Added to -0, a sum of -0 stays -0.
        let zero = value::constant(self.context, Const::real(ty, -0.0));
        self.builder.build_store(slot, zero.parts().0)?;
        Ok(Place::Slots(slot, None))
    }

    /// Makes the code emitted next add to these places.
    fn move_sums(&mut self, sums: &[VarId], places: &[Option<Place<'ctx>>]) {
        for (sum, place) in sums.iter().zip(places) {
            self.frame.places[sum.index()] = *place;
        }
    }
}
