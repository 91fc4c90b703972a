//! Fetches the data of the segments behind the one at hand, for loops that sum up gathered elements.
//!
//! Such a loop is over a segment, a row for example, and the next one begins where it ends: neighbors in memory, of which processors
//! fetch some ahead by themselves. They do so by what was asked for, and at the end of a short row, which no processor foresees, the
//! next rows are asked for late. So each segment asks once for the data of one some segments ahead, at a distance that depends on the
//! machine ([`lacunar_machine::Machine::ahead`]). With rows of 3 to 30 entries, SpMV takes 0.95 to 0.98 of the time on an Intel processor
//! with AVX-512, where all distances from 128 to 1024 elements are alike; on Zen 5, 0.85 to 0.95. With 70 entries it takes as long as
//! before.
//!
//! Loops that also store to the places that they gather from run one iteration at a time, and ask in the same way. A product with half of
//! a symmetric matrix takes 0.65 to 0.7 of the time so, with 4 to 14 entries in a row.
//!
//! ```text
//! for p in pos[i] .. pos[i+1] { t += vals[p] * x[crd[p]] }      prefetch &vals[pos[i] + 64], &crd[pos[i] + 64]
//! ```
//!
//! An address behind the end of an array does no harm: the fetched data are not read.
#![allow(unsafe_code)]

use inkwell::AddressSpace;
use inkwell::values::IntValue;
use lacunar_imp::{ArrayRole, Block, Expr, Stmt, VarId};

use super::super::Emitter;
use super::super::value;
use super::known::Known;
use crate::LlvmError;

impl<'ctx> Emitter<'ctx, '_> {
    /// The same before a loop that runs one iteration at a time, if it sums up gathered elements.
    pub(in crate::emit) fn fetch_ahead_of_sums(
        &mut self,
        counter: VarId,
        begin: IntValue<'ctx>,
        body: &Block,
    ) -> Result<(), LlvmError> {
        let gathers = |known: Known| known.gathers && !known.reductions.is_empty();
        if Known::of(self.source, counter, body).is_some_and(gathers) {
            self.fetch_ahead(counter, begin, body)?;
        }
        Ok(())
    }

    /// Asks for the elements of inputs that a loop over the positions from `begin` on, or one soon after it, will read by its counter.
    pub(super) fn fetch_ahead(&mut self, counter: VarId, begin: IntValue<'ctx>, body: &Block) -> Result<(), LlvmError> {
        if begin.is_const() {
            return Ok(());
        }
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
            let place =
                unsafe { self.builder.build_gep(part, first, &[self.index(self.vectors.ahead.into())], "ahead")? };
            let number = |value| self.context.i32_type().const_int(value, false).into();
            // For reading, to all caches, of data.
            let args = [place.into(), number(0), number(3), number(1)];
            let pointer = self.context.ptr_type(AddressSpace::default());
            self.intrinsic_effect("llvm.prefetch", &[pointer.into()], &args)?;
        }
        Ok(())
    }
}
