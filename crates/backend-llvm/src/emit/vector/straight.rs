//! Loops of constant length as straight code, so that a small array which they walk over becomes a few registers.
//!
//! ```text
//! for k in 0 .. 11 vector { .. }      lanes 0 .. 4, lanes 4 .. 8, lanes 8 .. 10, iteration 10
//! ```
//!
//! Sums are formed in copies, which are joined behind the last whole vector; single iterations add to what they come to.

use inkwell::values::IntValue;
use lacunar_imp::Block;

use super::known::Known;
use super::{COPIES_OF_SUMS, Running};
use crate::LlvmError;
use crate::emit::Emitter;

/// Loops of constant length up to so many vectors become straight code.
pub(super) const STRAIGHT: i64 = 32;

/// The bounds of a loop, if they are known.
pub(super) fn constants(begin: IntValue<'_>, end: IntValue<'_>) -> Option<(i64, i64)> {
    begin.get_sign_extended_constant().zip(end.get_sign_extended_constant())
}

/// True if a loop over an interval becomes straight code.
pub(super) fn is_straight((begin, end): (IntValue<'_>, IntValue<'_>), width: u32) -> bool {
    constants(begin, end).is_some_and(|(begin, end)| end.saturating_sub(begin) <= STRAIGHT * i64::from(width))
}

/// The vectors of so many iterations: the first iteration and the width of each, from the widest to single ones.
pub(super) fn vectors_of(begin: i64, count: i64, mut width: u32) -> Vec<(i64, u32)> {
    let (mut vectors, mut done) = (Vec::new(), 0);
    while done < count {
        while i64::from(width) > count - done {
            width /= 2;
        }
        vectors.push((begin.wrapping_add(done), width));
        done += i64::from(width);
    }
    vectors
}

impl<'ctx> Emitter<'ctx, '_> {
    /// A loop of constant length without reductions.
    pub(super) fn straight(&mut self, known: &Known, vectors: &[(i64, u32)], body: &Block) -> Result<(), LlvmError> {
        vectors.iter().try_for_each(|&(first, width)| {
            let counter = self.index(first);
            self.one_vector(known, counter, width, body)
        })
    }

    /// A vector of a loop without reductions, or a single iteration.
    pub(super) fn one_vector(
        &mut self,
        known: &Known,
        counter: IntValue<'ctx>,
        width: u32,
        body: &Block,
    ) -> Result<(), LlvmError> {
        match width {
            1 => self.scalar_iteration(known.counter, counter, body),
            _ => self.vector_iteration(known, width, counter, Running::All, &[], body),
        }
    }

    /// A loop of constant length with reductions: vectors, then single iterations.
    pub(super) fn straight_sums(
        &mut self,
        known: &Known,
        begin: i64,
        count: i64,
        width: u32,
        body: &Block,
    ) -> Result<(), LlvmError> {
        let step = i64::from(width);
        let vectors = count / step;
        if vectors > 0 {
            let sums = self.start_copies(known, width, vectors.min(i64::from(COPIES_OF_SUMS)))?;
            for (vector, sums) in (0..vectors).zip(sums.iter().cycle()) {
                let counter = self.index(begin.wrapping_add(vector * step));
                self.vector_iteration(known, width, counter, Running::All, sums, body)?;
            }
            self.join_sums(known, width, &sums)?;
            self.finish_sums(known, width, &sums[0])?;
        }
        (vectors * step..count).try_for_each(|done| {
            let counter = self.index(begin.wrapping_add(done));
            self.scalar_iteration(known.counter, counter, body)
        })
    }
}
