//! The iterations that the first part of a vector loop leaves, if the loop sums up gathered elements: its segments are often short, rows
//! for example, and each loop that ends otherwise than the last time costs as much as some vectors.
//!
//! The second part is no loop then, but as many vectors as a turn of the first part has, each under its mask. If the loop says that
//! iterations behind its end may load ([`Stmt::For`](lacunar_imp::Stmt::For)), the vectors are loaded whole, and lanes behind the end are
//! left out of the sums alone. Then neither loads nor indices wait for masks, and processors without masks do the same. The first part
//! leaves a turn to the second one even if it is a whole one, so that the second part runs for each segment, and only the number of whole
//! turns before it is to be foreseen.
//!
//! ```text
//! for k in begin .. end vector loads l { t = t + a[k] * x[c[k]]; }       two copies of four lanes
//!
//! while k + 8 < end { eight iterations; k += 8 }
//! if k < end { if k + 8 <= l { s[m] += a[k + m] * x[c[k + m]] where m < end - k, m = 0 .. 8 } else { the same under masks } }
//! ```
//!
//! Beside masked loads, that takes 0.5 to 0.9 of the time of a product with rows of 3 to 12 entries (Zen 5).
//!
//! Vectors whose masks are empty run as well, because a branch around them would often be mispredicted. If the loop says that the lengths of
//! segments are steady ([`Lanes`](lacunar_imp::Lanes)), the processor predicts that branch, and it skips them. On Zen 4, matrices of finite
//! elements, meshes and circuits take 0.86 to 0.98 of the time with the branch; `cond-mat-2005`, which is not steady, takes 1.25 times as long.
//!
//! On entry: the first part has run; on exit: nothing is left, or the iterations that [`Emitter::last_turn`] returns.

use inkwell::IntPredicate;
use inkwell::values::{IntValue, PointerValue};
use lacunar_imp::{Block, Stmt};

use super::super::Emitter;
use super::known::Known;
use super::{Running, Span};
use crate::LlvmError;

/// The end of a loop.
#[derive(Clone, Copy)]
pub(super) enum Ending<'ctx> {
    /// With as many vectors as a turn has. So many iterations may load.
    Turn(Option<IntValue<'ctx>>),
    /// With vectors under masks.
    Vectors,
    /// With single iterations.
    Scalar,
}

impl Ending<'_> {
    /// The comparison of the first iteration of a turn with that of the last turn which the first part may run.
    pub(super) fn within(self) -> IntPredicate {
        match self {
            Ending::Turn(Some(_)) => IntPredicate::SLT,
            _ => IntPredicate::SLE,
        }
    }
}

/// The iterations that are left: the first, one past the last, and a condition that there are some.
type Left<'ctx> = (IntValue<'ctx>, IntValue<'ctx>, IntValue<'ctx>);

impl<'ctx> Emitter<'ctx, '_> {
    /// The end of a loop.
    pub(super) fn ending(&self, known: &Known, span: Span<'ctx>, body: &Block) -> Ending<'ctx> {
        let is_plain = !known.reductions.is_empty() && !known.branches && !known.tests_words;
        let stores = || body.iter().any(|stmt| matches!(stmt, Stmt::Store { .. }));
        let loads = span.loads.filter(|_| is_plain && known.gathers && !stores());
        match self.vectors.masked {
            true if is_plain && known.gathers => Ending::Turn(loads),
            false if loads.is_some() => Ending::Turn(loads),
            true => Ending::Vectors,
            false => Ending::Scalar,
        }
    }

    /// At most one turn more, all at once. Without masks, iterations behind which none may load are still left; gives the first of them.
    pub(super) fn last_turn(
        &mut self,
        known: &Known,
        (rest, end, any): Left<'ctx>,
        loads: Option<IntValue<'ctx>>,
        (width, copies): (u32, u32),
        sums: &[PointerValue<'ctx>],
        body: &Block,
    ) -> Result<IntValue<'ctx>, LlvmError> {
        let before = self.current_block()?;
        let (some, done, after) = (self.new_block("some_left"), self.new_block("done"), self.new_block("none_left"));
        self.builder.build_conditional_branch(any, some, after)?;
        self.builder.position_at_end(some);
        let left = self.builder.build_int_sub(end, rest, "left")?;
        let mut skipped = vec![before];
        if let Some(loads) = loads {
            // Outside of the loop around this one, where `loads` stays; a number of elements is far from wrapping around.
            let turn = self.index(i64::from(copies * width));
            let last = self.builder.build_int_nsw_sub(loads, turn, "last")?;
            let fits = self.builder.build_int_compare(IntPredicate::SLE, rest, last, "fits")?;
            let (free, near) = (self.new_block("free"), self.new_block("near_end"));
            let branch = self.builder.build_conditional_branch(fits, free, near)?;
            self.aliasing.mark_likely(branch)?;
            self.builder.position_at_end(free);
            self.vectors_left(known, (rest, left), |first| Running::Summed(left, first), (width, copies), sums, body)?;
            self.builder.build_unconditional_branch(done)?;
            self.builder.position_at_end(near);
        }
        if self.vectors.masked {
            self.vectors_left(known, (rest, left), |first| Running::Left(left, first), (width, copies), sums, body)?;
            self.builder.build_unconditional_branch(done)?;
        } else {
            skipped.push(self.current_block()?);
            self.builder.build_unconditional_branch(after)?;
        }
        self.builder.position_at_end(done);
        self.builder.build_unconditional_branch(after)?;
        self.builder.position_at_end(after);
        self.begin_statement();
        let reached = self.builder.build_phi(self.context.i64_type(), "k")?;
        reached.add_incoming(&[(&end, done)]);
        skipped.iter().for_each(|&block| reached.add_incoming(&[(&rest, block)]));
        Ok(reached.as_basic_value().into_int_value())
    }

    /// The vectors of a turn, each under the mask of the iterations that are left. If the lengths of segments are steady, a branch skips
    /// the vectors whose masks are empty.
    fn vectors_left(
        &mut self,
        known: &Known,
        (rest, left): (IntValue<'ctx>, IntValue<'ctx>),
        running: impl Fn(u32) -> Running<'ctx>,
        (width, copies): (u32, u32),
        sums: &[PointerValue<'ctx>],
        body: &Block,
    ) -> Result<(), LlvmError> {
        let no_more = (known.is_steady && copies > 1).then(|| self.new_block("no_more"));
        for copy in 0..copies {
            let offset = self.index(i64::from(copy * width));
            if let (Some(no_more), 1..) = (no_more, copy) {
                let is_more = self.builder.build_int_compare(IntPredicate::SGT, left, offset, "is_more")?;
                let more = self.new_block("more");
                self.builder.build_conditional_branch(is_more, more, no_more)?;
                self.builder.position_at_end(more);
            }
            self.begin_statement();
            let counter = self.builder.build_int_add(rest, offset, "")?;
            self.vector_iteration(known, width, counter, running(copy * width), sums, body)?;
        }
        if let Some(no_more) = no_more {
            self.builder.build_unconditional_branch(no_more)?;
            self.builder.position_at_end(no_more);
            self.begin_statement();
        }
        Ok(())
    }

    /// Vectors under masks, up to the end. Gives the end.
    pub(super) fn last_vectors(
        &mut self,
        known: &Known,
        (rest, end, any): Left<'ctx>,
        width: u32,
        sums: &[PointerValue<'ctx>],
        body: &Block,
    ) -> Result<IntValue<'ctx>, LlvmError> {
        let step = self.index(i64::from(width));
        self.stepped(
            rest,
            any,
            step,
            |emitter, counter, next| {
                emitter.vector_iteration(known, width, counter, Running::Below(end), sums, body)?;
                let more = emitter.builder.build_int_compare(IntPredicate::SLT, next, end, "")?;
                // `next` may have wrapped around.
                let ascends = emitter.builder.build_int_compare(IntPredicate::SLT, counter, next, "")?;
                Ok(emitter.builder.build_and(more, ascends, "")?)
            },
            |_| Ok(()),
        )
    }
}
