//! Sums in register tiles, taken in several copies.
//!
//! An addition takes a few cycles until its result can be added to, and a machine begins two of them in each. A loop that
//! adds to a tile of a few vectors would wait; so a long one is run with several tiles in turn, which are added up behind it:
//!
//! ```text
//! for p in b .. e {                       if e - b is large {
//!   for k in 0 .. 16 vector {               other = 0
//!     w[k] += A[p] * X[crd[p] * 16 + k]     for p in b, b + 2 .. { w += A[p] * ..; other += A[p + 1] * .. }
//!   }                                ->     w += other; b = the first p that is left
//! }                                       }
//!                                         for p in b .. e { .. }
//! ```
//!
//! On entry: the function is not strict, since sums are formed in another order. A tile is an array on the stack (see
//! `stack.rs`), which becomes registers. All of a tile is added to, also the elements that the loop leaves alone; so it is the
//! thread's own, and not an array that other iterations of a parallel loop add to at the same time.

use inkwell::IntPredicate;
use inkwell::values::{BasicValue, BasicValueEnum, IntValue};
use lacunar_imp::{ArrayId, BinaryOp, Block, Const, Expr, LoopKind, Stmt, VarId};

use super::Emitter;
use super::alias::Scope;
use super::memory::ArrayPlace;
use super::value;
use super::vector::vector_of;
use crate::LlvmError;

/// The vector additions that are under way at once where none waits: two a cycle, four cycles each.
const UNDER_WAY: u64 = 8;
/// The most copies.
const MOST: u64 = 4;
/// The number of turns of all copies that makes a loop long: short loops overlap with the code behind them.
const LONG: i64 = 4;

impl<'ctx> Emitter<'ctx, '_> {
    /// Before a serial loop: runs as much of it as its tiles are worth several copies for. Gives where the rest begins.
    pub(super) fn sum_in_copies(
        &mut self,
        var: VarId,
        begin: IntValue<'ctx>,
        end: IntValue<'ctx>,
        body: &Block,
    ) -> Result<IntValue<'ctx>, LlvmError> {
        let Some((tiles, vectors)) = self.summed_tiles(body).filter(|_| !self.source.strict) else { return Ok(begin) };
        let copies = (UNDER_WAY / vectors.max(1)).min(MOST);
        if copies < 2 {
            return Ok(begin);
        }
        let own = tiles.iter().map(|tile| self.frame.arrays[tile.index()]).collect();
        let mut places: Vec<Vec<Option<ArrayPlace<'ctx>>>> = vec![own];
        for _ in 1..copies {
            let here = self.current_block()?;
            self.builder.position_before(&self.frame.entry_end);
            let made = tiles.iter().map(|tile| self.stack_place(*tile)).collect::<Result<Vec<_>, _>>()?;
            self.builder.position_at_end(here);
            self.move_tiles(&tiles, &made);
            tiles.iter().try_for_each(|tile| self.clear_tile(*tile))?;
            places.push(made);
        }
        let step = self.index(copies as i64);
        let last = self.builder.build_int_sub(end, step, "")?;
        let many = self.builder.build_int_sub(end, self.index(LONG * copies as i64), "")?;
        // If the difference wraps around, the loop is too short.
        let before_end = self.builder.build_int_compare(IntPredicate::SLE, many, end, "")?;
        let long = self.builder.build_int_compare(IntPredicate::SLE, begin, many, "")?;
        let enters = self.builder.build_and(before_end, long, "")?;
        let rest = self.stepped(
            begin,
            enters,
            step,
            |emitter, counter, next| {
                for (copy, places) in (0..).zip(&places) {
                    emitter.move_tiles(&tiles, places);
                    let counter = emitter.builder.build_int_nsw_add(counter, emitter.index(copy), "")?;
                    emitter.scalar_iteration(var, counter, body)?;
                }
                Ok(emitter.builder.build_int_compare(IntPredicate::SLE, next, last, "")?)
            },
            |emitter| {
                let (own, others) = places.split_first().ok_or(LlvmError::Malformed("the first copy is the tile"))?;
                others.iter().try_for_each(|other| emitter.add_tiles(&tiles, own, other))
            },
        )?;
        self.move_tiles(&tiles, &places[0]);
        Ok(rest)
    }

    /// The tiles that a body adds to, and the vectors that they take, if it does nothing else.
    pub(super) fn summed_tiles(&self, body: &Block) -> Option<(Vec<ArrayId>, u64)> {
        let mut tiles = Vec::new();
        if !self.only_sums(body, &mut tiles) || tiles.is_empty() {
            return None;
        }
        let bytes: u64 = tiles.iter().map(|tile| self.tile_bytes(*tile)).sum();
        Some((tiles, bytes.div_ceil(self.vectors.bytes as u64)))
    }

    /// True if a body does nothing but load and add to tiles, in vector loops of constant length.
    fn only_sums(&self, body: &Block, tiles: &mut Vec<ArrayId>) -> bool {
        let constant = |expr| matches!(self.source.exprs[expr], Expr::Const(_));
        body.iter().all(|stmt| match *stmt {
            Stmt::Define { .. } | Stmt::Prefetch { .. } | Stmt::Comment(_) => true,
            Stmt::Load { array, .. } => self.stack[array.index()].is_none(),
            Stmt::Store { array, reduce: Some(BinaryOp::Add), .. } => {
                let elem = self.source.arrays[array].elem;
                if !tiles.contains(&array) {
                    tiles.push(array);
                }
                self.tile(array).is_some() && elem.is_real()
            }
            Stmt::For { begin, end, kind: LoopKind::Vector(_), ref body, .. } => {
                constant(begin) && constant(end) && self.only_sums(body, tiles)
            }
            _ => false,
        })
    }

    fn tile_bytes(&self, tile: ArrayId) -> u64 {
        u64::from(self.stack[tile.index()].unwrap_or(0)) * self.source.arrays[tile].elem.size() as u64
    }

    /// Makes the code emitted next work on these places.
    fn move_tiles(&mut self, tiles: &[ArrayId], places: &[Option<ArrayPlace<'ctx>>]) {
        for (tile, place) in tiles.iter().zip(places) {
            self.frame.arrays[tile.index()] = *place;
        }
    }

    fn clear_tile(&mut self, tile: ArrayId) -> Result<(), LlvmError> {
        let zero = value::constant(self.context, Const::zero(self.source.arrays[tile].elem));
        self.fill_straight(tile, 0, self.stack[tile.index()].unwrap_or(0).into(), zero)
    }

    /// Adds copies of tiles to the tiles, in vectors.
    fn add_tiles(
        &mut self,
        tiles: &[ArrayId],
        own: &[Option<ArrayPlace<'ctx>>],
        other: &[Option<ArrayPlace<'ctx>>],
    ) -> Result<(), LlvmError> {
        for tile in tiles {
            let elem = self.source.arrays[*tile].elem;
            let (mut done, len) = (0, i64::from(self.stack[tile.index()].unwrap_or(0)));
            let mut width = (self.vectors.bytes / elem.size()).max(1) as i64;
            while done < len {
                while width > len - done {
                    width /= 2;
                }
                let mut load = |places| -> Result<_, LlvmError> {
                    self.move_tiles(tiles, places);
                    let (first, _) = self.element(*tile, self.index(done))?;
                    let vector = vector_of(value::memory_type(self.context, elem), width as u32)?;
                    let loaded = self.builder.build_load(vector, first, "")?;
                    if let Some(access) = loaded.as_instruction_value() {
                        self.align(access, elem)?;
                        self.aliasing.mark(access, Scope::Elements(*tile))?;
                    }
                    Ok((first, loaded))
                };
                let ((_, more), (place, sum)) = (load(other)?, load(own)?);
                let (BasicValueEnum::VectorValue(sum), BasicValueEnum::VectorValue(more)) = (sum, more) else {
                    return Err(LlvmError::Malformed("a vector was loaded"));
                };
                let store = self.builder.build_store(place, self.builder.build_float_add(sum, more, "")?)?;
                self.align(store, elem)?;
                self.aliasing.mark(store, Scope::Elements(*tile))?;
                done += width;
            }
        }
        Ok(())
    }
}
