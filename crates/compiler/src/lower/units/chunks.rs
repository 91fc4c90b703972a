//! The shares of a loop's work, and the chunks that threads take.
//!
//! ```text
//! shares = the work of the kernel / what is worth a thread's while, at most eight for each thread
//! ```
//!
//! A chunk is one share, except in a loop whose chunks assemble pieces of a result. There the pieces are copied behind each other at the
//! end, but the first need not be copied if it makes up a good part of the result: its memory becomes the result's. So the first chunk has
//! several shares, and enough chunks of one share remain for the threads to end at the same time, even if the first chunk has three times as
//! much work as it seems to have:
//!
//! ```text
//! two threads, 16 shares    chunk 0 has four shares, chunks 1 .. 13 have one each
//! ```
//!
//! On entry: the scope knows what the work is worth ([`super::work`]).

use lacunar_imp::{BinaryOp, CompareOp, ExprId};
use lacunar_notation::VarId;
use lacunar_notation::concrete::Stmt;
use lacunar_notation::provenance::Relation;
use lacunar_notation::schedule::Parts;

use super::balance::balanced_by;
use crate::lower::Lowerer;
use crate::lower::scope::{Interval, Scope};
use crate::lower::storage::count_positions;

/// Shares of the work for each thread, so that threads that are done early find more to do.
const SHARES_PER_THREAD: i64 = 8;
/// The shares that a large first chunk has of those of a thread.
const SHARES_OF_FIRST: i64 = 4;

/// The chunks of a loop: each has one or several equal shares of its work.
#[derive(Clone, Copy)]
pub(super) struct Chunks {
    pub count: ExprId,
    pub shares: ExprId,
    /// The number of shares that the first chunk has, if it may have several.
    first: Option<ExprId>,
}

impl Chunks {
    /// A chunk for each share.
    pub fn of_one(shares: ExprId) -> Chunks {
        Chunks { count: shares, shares, first: None }
    }

    /// A large chunk, and one for each share that is left.
    pub fn with_large_first(cx: &mut Lowerer<'_>, shares: ExprId) -> Chunks {
        let (threads, one) = (cx.threads(), cx.b.int(1));
        let (own, all) = (cx.b.int(SHARES_OF_FIRST), cx.b.int(SHARES_PER_THREAD));
        let own = cx.b.mul(shares, own);
        let all = cx.b.mul(threads, all);
        let first = cx.b.binary(BinaryOp::Div, own, all);
        let first = cx.b.binary(BinaryOp::Max, first, one);
        let first = cx.b.define("first_shares", first);
        let more = cx.b.sub(first, one);
        let count = cx.b.sub(shares, more);
        Chunks { count: cx.b.define("chunks", count), shares, first: Some(first) }
    }

    /// The number of shares before a chunk.
    pub fn first_share(&self, cx: &mut Lowerer<'_>, chunk: ExprId) -> ExprId {
        let Some(first) = self.first else { return chunk };
        let (zero, one) = (cx.b.int(0), cx.b.int(1));
        let more = cx.b.sub(first, one);
        let share = cx.b.add(chunk, more);
        let is_behind = cx.b.compare(CompareOp::Gt, chunk, zero);
        let share = cx.b.select(is_behind, share, zero);
        cx.b.define("share", share)
    }
}

/// The number of equal shares of the work that the loop over an interval of a variable's values is cut into; the code has it under a name.
pub(super) fn shares(
    cx: &mut Lowerer<'_>,
    var: VarId,
    (low, high): Interval,
    body: &Stmt,
    is_few: bool,
    scope: &Scope,
    name: &str,
) -> ExprId {
    let length = cx.b.sub(high, low);
    if let Some(Relation::Divide { outer, parts: Parts::PerThread(_), .. }) = cx.kernel.provenance.origin(var)
        && *outer == var
    {
        return length;
    }
    let per_thread = cx.b.int(if is_few { 1 } else { SHARES_PER_THREAD });
    let one = cx.b.int(1);
    let threads = cx.threads();
    let most = cx.b.mul(threads, per_thread);
    // A thread by itself has nobody to share with.
    let is_alone = cx.b.compare(CompareOp::Le, threads, one);
    let most = cx.b.select(is_alone, one, most);
    let worth = scope.most_chunks().unwrap_or_else(|| cx.b.int(i64::MAX));
    let shares = cx.b.binary(BinaryOp::Min, most, worth);
    let mut shares = cx.b.binary(BinaryOp::Min, shares, length);
    if let Some((key, deepest)) = balanced_by(cx.kernel, var, body)
        && let Some(stored) = count_positions(cx, &key, deepest, scope)
    {
        // Every share begins at a value.
        shares = cx.b.binary(BinaryOp::Min, shares, stored);
    }
    let shares = cx.b.binary(BinaryOp::Max, shares, one);
    cx.b.define(name, shares)
}
