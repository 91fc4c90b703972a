//! Threads that assemble a sparse result from shares of unequal work. One thread takes shares from the front, and the others take them from the
//! end. They stop when they meet.
//!
//! ```text
//! shares 0 .. 15      worker 0: 0, 1, 2, .. in one piece          workers 1 ..: 15, 14, 13, .., a piece each
//! ```
//!
//! The first piece begins where the result does. So its memory becomes the result's, and its values are not copied. Threads wait for each other
//! for one share at most, however much work each share has.
//!
//! ```text
//! for worker in 0 .. min(threads, shares) parallel {
//!   is_front = worker == 0;  share = 0;  goes_on = take(next) < shares
//!   while goes_on {
//!     if !is_front { share = shares - 1 - take(back) }
//!     room for what the share is likely to get, by its products and by the worker's last piece
//!     more = true
//!     while more {
//!       the loop over the values of the share
//!       goes_on = take(next) < shares;  more = goes_on & is_front
//!       if more { share += 1;  room for all shares, if those to come get as much as those so far }
//!     }
//!     deposit the piece
//!   }
//! }
//! ```
//!
//! `next` counts the shares that were taken from both ends, `back` those from the end: so none is taken twice.
//!
//! On entry: the outermost loop of a kernel assembles the result in pieces ([`piece`]), and its shares are not strips.

use lacunar_base::Diagnostic;
use lacunar_formats::DType;
use lacunar_imp::{ArrayId, BinaryOp, CompareOp, Const, ExprId, LoopKind, UnaryOp};
use lacunar_notation::concrete::Stmt;
use lacunar_notation::{TensorId, VarId};

use super::chunks::Cuts;
use crate::lower::derive::first_below;
use crate::lower::nest::leaf_loop;
use crate::lower::room::with_room;
use crate::lower::scope::{Fact, Scope};
use crate::lower::sinks::{Group, expected, piece, workspace};
use crate::lower::{INDEX, Lowerer, MutableVar};

/// The loop over a leaf, whose shares threads take from both ends; gives the groups of levels to which any piece is appended.
pub(super) fn in_pieces(
    cx: &mut Lowerer<'_>,
    var: VarId,
    cuts: &Cuts,
    body: &Stmt,
    (tensor, lists): (TensorId, &piece::Lists),
    scope: &Scope,
) -> Result<Option<Vec<Group>>, Diagnostic> {
    let (zero, one, threads) = (cx.b.int(0), cx.b.int(1), cx.threads());
    let (next, back) = (cx.b.local_array("next_share", INDEX), cx.b.local_array("next_from_end", INDEX));
    cx.b.alloc(next, one, true);
    cx.b.alloc(back, one, true);
    let workers = cx.b.binary(BinaryOp::Min, threads, cuts.shares);
    let inside = scope.with(Fact::Shared);
    cx.each(LoopKind::Parallel, "worker", (zero, workers), |cx, worker| {
        let is_front = cx.b.compare(CompareOp::Eq, worker, zero);
        let is_front = cx.b.define("is_front", is_front);
        let ends = Ends { var, cuts, body, tensor, lists, is_front, next, back };
        let is_any = ends.take(cx);
        cx.when(is_any, |cx| {
            with_room(cx, &inside, |cx, scope| {
                let scope = workspace::declare(cx, Some(var), scope);
                ends.pieces(cx, &scope)
            })
        })
    })
}

/// A loop whose shares threads take from both ends, as one of the threads sees it.
struct Ends<'a> {
    var: VarId,
    cuts: &'a Cuts,
    body: &'a Stmt,
    tensor: TensorId,
    lists: &'a piece::Lists,
    is_front: ExprId,
    /// The number of shares that were taken.
    next: ArrayId,
    /// The number of those that were taken from the end.
    back: ArrayId,
}

impl Ends<'_> {
    /// True if there was a share left, which is the thread's now.
    fn take(&self, cx: &mut Lowerer<'_>) -> ExprId {
        let taken = cx.b.take(self.next);
        cx.b.compare(CompareOp::Lt, taken, self.cuts.shares)
    }

    /// The pieces of a thread that has taken its first share.
    fn pieces(&self, cx: &mut Lowerer<'_>, scope: &Scope) -> Result<Option<Vec<Group>>, Diagnostic> {
        let (zero, yes) = (cx.b.int(0), cx.b.bool(true));
        let share = cx.b.declare("share", zero);
        let got = Got::declare(cx);
        let goes_on = cx.b.declare("goes_on", yes);
        let is_any = cx.b.var(goes_on);
        cx.repeat(is_any, |cx| {
            let is_behind = cx.b.unary(UnaryOp::Not, self.is_front);
            cx.when(is_behind, |cx| {
                let (one, taken) = (cx.b.int(1), cx.b.take(self.back));
                let behind = cx.b.add(taken, one);
                let own = cx.b.sub(self.cuts.shares, behind);
                cx.b.assign(share, own);
            });
            self.piece(cx, share, got, goes_on, scope)
        })
    }

    /// The piece that begins with a share. Afterwards, `share` is its last share, `got` tells what it got, and `goes_on` says if the thread has
    /// taken another share.
    fn piece(
        &self,
        cx: &mut Lowerer<'_>,
        share: MutableVar,
        got: Got,
        goes_on: MutableVar,
        scope: &Scope,
    ) -> Result<Option<Vec<Group>>, Diagnostic> {
        let (zero, one) = (cx.b.int(0), cx.b.int(1));
        let mut scope = scope.clone();
        let number = cx.b.var(share);
        let (low, high) = (self.cuts.begin_of(cx, number, &scope)?, self.cuts.end_of(cx, number, &scope)?);
        let (low, high) = (cx.b.declare("share_begin", low), cx.b.declare("share_end", high));
        let (begin, end) = (cx.b.var(low), cx.b.var(high));
        let first = first_below(cx, self.var, begin, &mut scope)?;
        let first = cx.b.define("first", first);
        // The first piece may get all shares.
        let most = cx.b.select(self.is_front, self.cuts.interval.1, end);
        let most = first_below(cx, self.var, most, &mut scope)?;
        let most = piece::length(cx, (first, most));
        let len = cx.b.declare("part_len", most);
        let len_so_far = cx.b.var(len);
        let own = piece::begin(cx, self.tensor, (first, len_so_far), None, self.lists, &scope)?;
        let Some(append) = own.scope.appended().cloned() else {
            return Err(Diagnostic::internal("pieces of what is not appended to"));
        };
        let share_end = first_below(cx, self.var, end, &mut scope)?;
        // The arrays of a single share grow into those that are left of earlier results.
        let is_one_of_many = cx.b.compare(CompareOp::Gt, self.cuts.shares, one);
        let share_end = cx.b.select(is_one_of_many, share_end, first);
        let products = expected::products(cx, &append, (first, share_end), &own.scope);
        let expected = got.expected(cx, products);
        append.reserve_ahead(cx, expected, &own.scope);

        let yes = cx.b.bool(true);
        let more = cx.b.declare("more", yes);
        let is_more = cx.b.var(more);
        cx.repeat(is_more, |cx| {
            let values = (cx.b.define("chunk_begin", begin), cx.b.define("chunk_end", end));
            leaf_loop(cx, self.var, values, self.body, &own.scope)?;
            let is_left = self.take(cx);
            cx.b.assign(goes_on, is_left);
            let is_left = cx.b.var(goes_on);
            let is_next = cx.b.and(is_left, self.is_front);
            cx.b.assign(more, is_next);
            cx.when(is_more, |cx| {
                let next = cx.b.add(number, one);
                cx.b.assign(share, next);
                cx.b.assign(low, end);
                let end = self.cuts.end_of(cx, number, &scope)?;
                cx.b.assign(high, end);
                // All shares are expected to get what those before have got on average.
                let left = cx.b.sub(self.cuts.shares, number);
                let so_far = append.count(cx);
                let expected = cx.b.mul(so_far, left);
                let expected = cx.b.binary(BinaryOp::Div, expected, number);
                append.reserve_ahead(cx, expected, &own.scope);
                Ok(())
            })
        })?;
        let behind = first_below(cx, self.var, end, &mut scope)?;
        let whole = piece::length(cx, (first, behind));
        cx.b.assign(len, whole);
        let slot = cx.b.select(self.is_front, zero, number);
        piece::end(cx, slot, &own, self.lists);
        let count = append.count(cx);
        got.note(cx, count, products);
        Ok(Some(append.groups.clone()))
    }
}

/// The size of a thread's last piece. The next one is expected to have as many positions, or as many for each product.
#[derive(Clone, Copy)]
struct Got {
    /// Its positions.
    count: MutableVar,
    /// Its positions for each of its products, where these are counted; 1 before there is a piece.
    each: MutableVar,
}

impl Got {
    fn declare(cx: &mut Lowerer<'_>) -> Got {
        let (zero, one) = (cx.b.int(0), cx.b.constant(Const::real(DType::F64, 1.0)));
        Got { count: cx.b.declare("last_got", zero), each: cx.b.declare("got_each", one) }
    }

    /// The positions that a piece of so many products is likely to get, and an eighth more.
    fn expected(self, cx: &mut Lowerer<'_>, products: Option<ExprId>) -> ExprId {
        let likely = match products {
            Some(products) => {
                let products = cx.b.cast(DType::F64, products);
                let each = cx.b.var(self.each);
                let likely = cx.b.mul(products, each);
                cx.b.cast(DType::I64, likely)
            }
            None => cx.b.var(self.count),
        };
        let likely = cx.b.define("likely", likely);
        let eighth = cx.b.int(8);
        let spare = cx.b.binary(BinaryOp::Div, likely, eighth);
        cx.b.add(likely, spare)
    }

    fn note(self, cx: &mut Lowerer<'_>, count: ExprId, products: Option<ExprId>) {
        cx.b.assign(self.count, count);
        if let Some(products) = products {
            let one = cx.b.int(1);
            let products = cx.b.binary(BinaryOp::Max, products, one);
            let (count, products) = (cx.b.cast(DType::F64, count), cx.b.cast(DType::F64, products));
            let each = cx.b.binary(BinaryOp::Div, count, products);
            cx.b.assign(self.each, each);
        }
    }
}
