//! Unroll and jam of sums in tiles that do not fit the registers: a group of iterations of the loop around a tile adds to one vector of the
//! tile after the other, so that each vector is loaded and stored once a group, and not once an iteration.
//!
//! ```text
//! for p in b .. e {                          while p + 4 <= e {
//!   let j = crd[p];                            let j0 = crd[p]; ..; let j3 = crd[p + 3];
//!   for k in 0 .. 128 vector {                 for k in 0 .. 128 vector {
//!     w[k] += A[p] * X[j * 128 + k]     ->       w[k] += A[p] * X[j0 * 128 + k]; ..; w[k] += A[p + 3] * X[j3 * 128 + k]
//!   }                                          }
//! }                                            p += 4
//!                                            }
//!                                            for p in p .. e { .. }
//! ```
//!
//! Strips of a tile that fit the registers load and store less, but if rows of `X` are a power of two long, strips of these rows share a
//! part of the first cache's sets. (128 columns of doubles, 16 registers of 32 bytes, `bcsstk33`: 13.8 ms turn by turn, 20 to 25 in strips
//! of 32 columns, 10 in groups of four; Zen 3.)
//!
//! On entry: a tile is an array on the stack that the loop does nothing with but add to it (`tiles.rs`). Each element is added to in the
//! same order as turn by turn.
//!
//! Paper: Callahan, Carr and Kennedy, *Improving Register Allocation for Subscripted Variables* (PLDI 1990), §5 (unroll and jam).

use inkwell::IntPredicate;
use inkwell::values::IntValue;
use lacunar_imp::{Block, LoopKind, Stmt, VarId};

use super::super::Emitter;
use super::super::frame::Place;
use super::super::hints::LoopHint;
use super::known::Known;
use super::straight::{constants, vectors_of};
use crate::LlvmError;

/// The turns that are taken together. Two take 1.3 times as long as four (see above), and eight as long as four.
const TURNS: i64 = 4;
/// The registers that a turn needs besides those of its tiles: a factor, and what is multiplied with it.
const OTHERS: u64 = 3;

/// The vectors of a tile in each iteration of the loop over it. The loop is not unrolled further: in straight code LLVM puts the additions
/// of each turn together again and spills the tile from the registers.
const VECTORS: i64 = 4;

/// A vector loop in the body.
struct Inner<'a> {
    known: Known,
    first: i64,
    /// The lanes of whole vectors.
    width: u32,
    /// The number of times that so many as [`VECTORS`] of them are taken, from the first on.
    repeated: i64,
    /// The vectors that are left: the first iteration of each, and its lanes.
    rest: Vec<(i64, u32)>,
    body: &'a Block,
}

impl<'ctx> Emitter<'ctx, '_> {
    /// Before a serial loop: runs as many groups of turns as there are, if its tiles are worth it. Gives where the rest begins.
    pub(in crate::emit) fn sum_in_groups(
        &mut self,
        var: VarId,
        begin: IntValue<'ctx>,
        end: IntValue<'ctx>,
        body: &Block,
    ) -> Result<IntValue<'ctx>, LlvmError> {
        let Some((_, vectors)) = self.summed_tiles(body) else { return Ok(begin) };
        let registers = if self.vectors.masked { 32 } else { 16 };
        if vectors + OTHERS <= registers {
            return Ok(begin);
        }
        let Some(inner) = self.inner_loops(body)? else { return Ok(begin) };
        let step = self.index(TURNS);
        let last = self.builder.build_int_sub(end, step, "")?;
        // If the difference wraps around, the loop is too short.
        let before_end = self.builder.build_int_compare(IntPredicate::SLE, last, end, "")?;
        let fits = self.builder.build_int_compare(IntPredicate::SLE, begin, last, "")?;
        let enters = self.builder.build_and(before_end, fits, "")?;
        self.stepped(
            begin,
            enters,
            step,
            |emitter, counter, next| {
                emitter.group(var, counter, body, &inner)?;
                Ok(emitter.builder.build_int_compare(IntPredicate::SLE, next, last, "")?)
            },
            |_| Ok(()),
        )
    }

    /// The vector loops of a body, in order; `None` if one of them is not written out, or if taking several turns of them together would
    /// change the order of sums that is asked for.
    fn inner_loops<'a>(&mut self, body: &'a Block) -> Result<Option<Vec<Inner<'a>>>, LlvmError> {
        // A place in memory would be the same for all turns.
        if body.iter().filter_map(variable_of).any(|var| self.source.vars[var].mutable) {
            return Ok(None);
        }
        let mut inner = Vec::new();
        for stmt in body {
            let &Stmt::For { var, begin, end, kind: LoopKind::Vector(lanes), ref body, .. } = stmt else { continue };
            let bounds = (self.eval_int(begin)?, self.eval_int(end)?);
            let Some((first, last)) = constants(bounds.0, bounds.1) else { return Ok(None) };
            let Some((known, _, width)) = self.known_loop(var, bounds, lanes, body) else { return Ok(None) };
            let count = last.saturating_sub(first);
            let is_nested = body.iter().any(|stmt| matches!(stmt, Stmt::For { .. }));
            if is_nested || !known.reductions.is_empty() {
                return Ok(None);
            }
            let step = VECTORS * i64::from(width);
            let repeated = count / step;
            let done = repeated * step;
            let rest = vectors_of(first + done, count - done, width);
            inner.push(Inner { known, first, width, repeated, rest, body });
        }
        // Additions that stand beside the loop come before it for all turns.
        let is_alone = inner.len() == 1 && !body.iter().any(|stmt| matches!(stmt, Stmt::Store { .. }));
        Ok(Some(inner).filter(|_| is_alone || !self.source.strict))
    }

    /// The turns of a group: all that stands before the vector loops for each of them, then each vector of the loops for all of them.
    fn group(
        &mut self,
        var: VarId,
        counter: IntValue<'ctx>,
        body: &Block,
        inner: &[Inner<'_>],
    ) -> Result<(), LlvmError> {
        let is_loop = |stmt: &Stmt| matches!(stmt, Stmt::For { .. });
        let outside: Block = body.iter().filter(|stmt| !is_loop(stmt)).cloned().collect();
        let defined: Vec<VarId> = outside.iter().filter_map(variable_of).collect();
        let mut turns: Vec<Vec<Option<Place<'ctx>>>> = Vec::new();
        for turn in 0..TURNS {
            let counter = self.builder.build_int_nsw_add(counter, self.index(turn), "")?;
            self.scalar_iteration(var, counter, &outside)?;
            let places = defined.iter().chain([&var]).map(|var| self.frame.places[var.index()]);
            turns.push(places.collect());
        }
        let add = |emitter: &mut Self, known: &Known, counter: IntValue<'ctx>, width: u32, body: &Block| {
            turns.iter().try_for_each(|places| {
                for (var, place) in defined.iter().chain([&var]).zip(places) {
                    emitter.frame.places[var.index()] = *place;
                }
                emitter.one_vector(known, counter, width, body)
            })
        };
        for Inner { known, first, width, repeated, rest, body } in inner {
            let hint = LoopHint::unrolled(1);
            let (zero, count, step) = (self.index(0), self.index(*repeated), self.index(VECTORS * i64::from(*width)));
            self.count(zero, count, "v", Some(hint), |emitter, number| {
                let begin = emitter.builder.build_int_nsw_mul(number, step, "")?;
                (0..VECTORS).try_for_each(|vector| {
                    let offset = emitter.index(first + vector * i64::from(*width));
                    let counter = emitter.builder.build_int_nsw_add(begin, offset, "")?;
                    add(emitter, known, counter, *width, body)
                })
            })?;
            for &(counter, width) in rest {
                let counter = self.index(counter);
                add(self, known, counter, width, body)?;
            }
        }
        Ok(())
    }
}

/// The variable that a statement gives a value.
fn variable_of(stmt: &Stmt) -> Option<VarId> {
    match *stmt {
        Stmt::Define { var, .. } | Stmt::Load { var, .. } => Some(var),
        _ => None,
    }
}
