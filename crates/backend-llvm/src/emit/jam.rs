//! Sums in tiles that are more than the registers hold, for several products at a time.
//!
//! Each product would load and store all sums, which takes longer than the multiplications. So a loop over products takes some of them
//! together, part after part of the tile: its sums are loaded and stored once for all of them.
//!
//! ```text
//! for p in b .. e {                        for p in b, b + 4 .. {
//!   for k in 0 .. 128 vector {               w[0 .. 4] += A[p] * X[..]; .. w[0 .. 4] += A[p + 3] * X[..];
//!     w[k] += A[p] * X[crd[p] * 128 + k]     w[4 .. 8] += A[p] * X[..]; ..
//!   }                                ->      ..
//! }                                        }; the iterations that are left
//! ```
//!
//! On entry: the function is not strict. Each sum has its products in the order of the loop.
//!
//! Paper: Wolf and Lam, *A Data Locality Optimizing Algorithm* (PLDI 1991), §3: unroll and jam.

use inkwell::IntPredicate;
use inkwell::values::IntValue;
use lacunar_imp::{BinaryOp, Block, Expr, LoopKind, Stmt, VarId};

use super::Emitter;
use super::frame::Place;
use super::vector::Span;
use crate::LlvmError;

/// The products that are taken together.
const TOGETHER: i64 = 4;
/// The registers that other values than sums need.
const OTHERS: i64 = 4;
/// The most vectors of a tile: all of them are written out.
const MOST: i64 = 64;

/// A loop in a body, which adds to a tile.
struct Sums<'b> {
    counter: VarId,
    first: i64,
    last: i64,
    width: u32,
    body: &'b Block,
    /// The elements of a vector.
    step: i64,
}

impl<'ctx> Emitter<'ctx, '_> {
    /// Before a serial loop that adds to a large tile alone: runs as much of it as there are whole turns. Gives where the rest begins.
    pub(super) fn sum_together(
        &mut self,
        var: VarId,
        (begin, end): (IntValue<'ctx>, IntValue<'ctx>),
        body: &Block,
    ) -> Result<IntValue<'ctx>, LlvmError> {
        let Some(sums) = self.large_sums(body).filter(|_| !self.source.strict) else { return Ok(begin) };
        let before: Block = body.iter().filter(|stmt| !matches!(stmt, Stmt::For { .. })).cloned().collect();
        let step = self.index(TOGETHER);
        let last = self.builder.build_int_sub(end, step, "")?;
        // If the difference wraps around, there is no turn.
        let before_end = self.builder.build_int_compare(IntPredicate::SLT, last, end, "")?;
        let any = self.builder.build_int_compare(IntPredicate::SLE, begin, last, "")?;
        let enters = self.builder.build_and(before_end, any, "")?;
        self.stepped(
            begin,
            enters,
            step,
            |emitter, counter, next| {
                let mut places = Vec::new();
                for copy in 0..TOGETHER {
                    let counter = emitter.builder.build_int_nsw_add(counter, emitter.index(copy), "")?;
                    emitter.scalar_iteration(var, counter, &before)?;
                    places.push(emitter.frame.places.clone());
                }
                emitter.add_parts(&sums, &places)?;
                Ok(emitter.builder.build_int_compare(IntPredicate::SLE, next, last, "")?)
            },
            |_| Ok(()),
        )
    }

    /// The products of a turn, part after part of the tile. Each product has its own values of variables.
    fn add_parts(&mut self, sums: &Sums<'_>, places: &[Vec<Option<Place<'ctx>>>]) -> Result<(), LlvmError> {
        let mut first = sums.first;
        while first < sums.last {
            let last = sums.last.min(first + sums.step);
            for own in places {
                self.frame.places.clone_from(own);
                self.begin_statement();
                let span = Span { begin: self.index(first), end: self.index(last), loads: None };
                if !self.vector_loop(sums.counter, span, sums.width, sums.body)? {
                    (first..last).try_for_each(|k| self.scalar_iteration(sums.counter, self.index(k), sums.body))?;
                }
            }
            first = last;
        }
        Ok(())
    }

    /// The loop over a tile in a body that does nothing else but load, if the tile is more than the registers hold.
    fn large_sums<'b>(&self, body: &'b Block) -> Option<Sums<'b>> {
        let is_plain = |stmt: &Stmt| match *stmt {
            Stmt::Define { var, .. } => !self.source.vars[var].mutable,
            Stmt::Load { array, .. } => self.stack[array.index()].is_none(),
            Stmt::Prefetch { .. } | Stmt::Comment(_) => true,
            _ => false,
        };
        let constant = |expr| match self.source.exprs[expr] {
            Expr::Const(constant) => Some(constant.bits as i64),
            _ => None,
        };
        let mut loops = body.iter().filter(|stmt| !is_plain(stmt));
        let (Some(Stmt::For { var, begin, end, kind: LoopKind::Vector(width), body: inner, .. }), None) =
            (loops.next(), loops.next())
        else {
            return None;
        };
        let mut sizes = inner.iter().filter(|stmt| !is_plain(stmt)).map(|stmt| match *stmt {
            Stmt::Store { array, index, reduce: Some(BinaryOp::Add), .. } => {
                let direct = self.source.exprs[index] == Expr::Var(*var);
                let elem = self.source.arrays[array].elem;
                (direct && self.tile(array).is_some() && elem.is_real()).then(|| elem.size())
            }
            _ => None,
        });
        let (Some(Some(size)), None) = (sizes.next(), sizes.next()) else { return None };
        let (first, last) = (constant(*begin)?, constant(*end)?);
        let step = (self.vectors.bytes / size).max(1) as i64;
        let vectors = last.saturating_sub(first) / step;
        let registers = if self.vectors.masked { 32 } else { 16 };
        let is_large = vectors > registers - OTHERS && vectors <= MOST;
        is_large.then_some(Sums { counter: *var, first, last, width: *width, body: inner, step })
    }
}
