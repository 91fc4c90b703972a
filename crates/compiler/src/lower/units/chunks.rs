//! The shares of a loop's work, and the chunks that threads take.
//!
//! ```text
//! shares = the work of the kernel / what is worth a thread's while, at most eight for each thread
//! ```
//!
//! A chunk is one share. Shares of a loop over the first level of an operand have equally many of its values, others equally many values of
//! the variable.
//!
//! On entry: the scope knows what the work is worth ([`super::work`]).

use lacunar_base::Diagnostic;
use lacunar_imp::{BinaryOp, CompareOp, ExprId};
use lacunar_notation::VarId;
use lacunar_notation::concrete::Stmt;
use lacunar_notation::provenance::Relation;
use lacunar_notation::schedule::Parts;

use super::balance::{balanced_by, first_of};
use crate::iterate::iterators::AccessKey;
use crate::lower::Lowerer;
use crate::lower::scope::{Interval, Scope};
use crate::lower::storage::count_positions;

/// Shares of the work for each thread, so that threads that are done early find more to do.
const SHARES_PER_THREAD: i64 = 8;

/// The shares of a loop over an interval, and where each begins.
pub(super) struct Cuts {
    /// The number of shares.
    pub shares: ExprId,
    pub interval: Interval,
    by: By,
}

/// A way to cut an interval into shares.
enum By {
    /// The strips of a loop that was divided for threads are shares already.
    Strips,
    /// A share has as many values of an operand, counted by its level of that number, as others.
    Stored { key: AccessKey, level: usize, stored: ExprId },
    /// Every share has so many values of the variable, and each of the first ones has one of those that are left over.
    Equal { each: ExprId, over: ExprId },
}

impl Cuts {
    pub fn new(
        cx: &mut Lowerer<'_>,
        var: VarId,
        interval: Interval,
        shares: ExprId,
        body: &Stmt,
        scope: &Scope,
    ) -> Cuts {
        let length = cx.b.sub(interval.1, interval.0);
        if shares == length {
            return Cuts { shares, interval, by: By::Strips };
        }
        let balanced = balanced_by(cx.kernel, var, body)
            .and_then(|(key, level)| count_positions(cx, &key, level, scope).map(|stored| (key, level, stored)));
        let by = match balanced {
            Some((key, level, stored)) => By::Stored { key, level, stored },
            None => {
                let each = cx.b.binary(BinaryOp::Div, length, shares);
                let over = cx.b.binary(BinaryOp::Rem, length, shares);
                By::Equal { each: cx.b.define("each", each), over: cx.b.define("over", over) }
            }
        };
        Cuts { shares, interval, by }
    }

    /// True if the shares are strips, which are taken as they are.
    pub fn is_ready(&self) -> bool {
        matches!(self.by, By::Strips)
    }

    /// The first value of a share.
    pub fn begin_of(&self, cx: &mut Lowerer<'_>, share: ExprId, scope: &Scope) -> Result<ExprId, Diagnostic> {
        self.edge(cx, share, self.interval.0, scope)
    }

    /// The value behind a share.
    pub fn end_of(&self, cx: &mut Lowerer<'_>, share: ExprId, scope: &Scope) -> Result<ExprId, Diagnostic> {
        let one = cx.b.int(1);
        let next = cx.b.add(share, one);
        self.edge(cx, next, self.interval.1, scope)
    }

    /// The value at which a share begins; where the interval begins or ends, it is `outermost`.
    fn edge(
        &self,
        cx: &mut Lowerer<'_>,
        share: ExprId,
        outermost: ExprId,
        scope: &Scope,
    ) -> Result<ExprId, Diagnostic> {
        let before = match &self.by {
            By::Strips => share,
            By::Stored { key, level, stored } => {
                return first_of(cx, key, *level, (share, self.shares, *stored), outermost, scope);
            }
            By::Equal { each, over } => {
                let before = cx.b.mul(share, *each);
                let more = cx.b.binary(BinaryOp::Min, share, *over);
                cx.b.add(before, more)
            }
        };
        Ok(cx.b.add(self.interval.0, before))
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
