//! Fetches the data of the segments behind the one at hand, for loops that sum up gathered elements.
//!
//! Such a loop runs over one segment, a row for example. The next segment begins in memory where this one ends. A processor fetches some
//! of it by itself, but late: it goes by the addresses that were read, and it does not foresee where a short segment ends. So each short
//! segment asks once for the elements of one that comes some segments later. Measured on SpMV with 3 to 30 entries in a row:
//!
//! | processor | time with the fetch over time without |
//! |---|---|
//! | Intel with AVX-512 | 0.95 to 0.98, the same for distances of 128 to 1024 elements |
//! | Zen 5 | 0.85 to 0.95, the less the shorter the distance |
//! | Zen 3 | 1.0 |
//! | Zen 4 | 0.8 to 1.0 from memory, 1.05 to 1.3 from caches |
//!
//! Loops over what caches hold do not ask on such a processor ([`Lanes::near`](lacunar_imp::Lanes::near)).
//!
//! A long segment would ask for one line of many, which makes the processor lose track of the others: SpMV takes 1.7 times as long with 64
//! entries in a row on Zen 4, and with 267 it takes 1.7 times there and 1.35 times on Zen 3. A long segment asks for its own first line
//! instead, which is read next.
//!
//! Loops that also store to the places that they gather from run one iteration at a time, and ask in the same way. With 4 to 14 entries in
//! a row, a product with half of a symmetric matrix takes 0.65 to 0.7 of the time.
//!
//! ```text
//! for p in pos[i] .. pos[i+1] { t += vals[p] * x[crd[p]] }      ahead = pos[i] + select(pos[i+1] - pos[i] <= 24, 512, 0)
//!                                                               prefetch &vals[ahead], &crd[ahead]
//! ```
//!
//! An address behind the end of an array does no harm: the fetched data are not read.
#![allow(unsafe_code)]

use inkwell::values::IntValue;
use inkwell::{AddressSpace, IntPredicate};
use lacunar_imp::{ArrayRole, Block, Expr, Stmt, VarId};

use super::super::Emitter;
use super::super::value;
use super::known::Known;
use crate::LlvmError;

/// The most elements of a short segment, and the distance of what it asks for from its first element.
const SHORT: i64 = 24;
const AHEAD: i64 = 512;

impl<'ctx> Emitter<'ctx, '_> {
    /// Asks for later elements, as [`Self::fetch_ahead`] does, before a loop that runs one iteration at a time, if it sums up gathered
    /// elements.
    pub(in crate::emit) fn fetch_ahead_of_sums(
        &mut self,
        counter: VarId,
        segment: (IntValue<'ctx>, IntValue<'ctx>),
        body: &Block,
    ) -> Result<(), LlvmError> {
        let gathers = |known: Known| known.gathers && !known.reductions.is_empty();
        if Known::of(self.source, counter, body).is_some_and(gathers) {
            self.fetch_ahead(counter, segment, body)?;
        }
        Ok(())
    }

    /// Asks for the elements of inputs that a loop over the positions `begin .. end`, or one soon after it, will read by its counter.
    pub(super) fn fetch_ahead(
        &mut self,
        counter: VarId,
        (begin, end): (IntValue<'ctx>, IntValue<'ctx>),
        body: &Block,
    ) -> Result<(), LlvmError> {
        if begin.is_const() {
            return Ok(());
        }
        let len = self.builder.build_int_sub(end, begin, "")?;
        let is_short = self.builder.build_int_compare(IntPredicate::SLE, len, self.index(SHORT), "")?;
        let distance =
            self.builder.build_select(is_short, self.index(AHEAD), self.index(0), "distance")?.into_int_value();
        let mut asked = Vec::new();
        for stmt in body {
            let Stmt::Load { array, index, .. } = *stmt else { continue };
            let is_neighbor = matches!(self.source.exprs[index], Expr::Var(var) if var == counter);
            if !is_neighbor || self.source.arrays[array].role != ArrayRole::Input || asked.contains(&array) {
                continue;
            }
            asked.push(array);
            let (first, _) = self.element(array, begin)?;
            let part = value::memory_type(self.context, self.source.arrays[array].elem);
            // SAFETY: this only computes an address, which need not be that of an element.
            let place = unsafe { self.builder.build_gep(part, first, &[distance], "ahead")? };
            let number = |value| self.context.i32_type().const_int(value, false).into();
            // For reading, to all caches, of data.
            let args = [place.into(), number(0), number(3), number(1)];
            let pointer = self.context.ptr_type(AddressSpace::default());
            self.intrinsic_effect("llvm.prefetch", &[pointer.into()], &args)?;
        }
        Ok(())
    }
}
