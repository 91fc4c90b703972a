//! Loops over runs: from run to run, and over the neighboring coordinates of each, which vector lanes take at once.
//!
//! ```text
//! y(i) = A(i,j) * x(j)       A: dense, runs           positions of their own
//!   for r in run[i] .. run[i+1] { for p in start[r] .. start[r+1] { j = crd[r] + (p - start[r]); t += A_vals[p] * x[j] } }
//!
//! y(i) = A(i,j) * x(j)       A: dense, repeated       one position, and one value
//!   for r in pos[i] .. pos[i+1] { for j in crd[r] .. last[r] + 1 { t += A_vals[r] * x[j] } }
//!
//! y(i) = 2 * A(i,j)          A: dense, repeated       the same at every coordinate: the run at once
//!   for r in pos[i] .. pos[i+1] { t += 2 * A_vals[r] * (last[r] + 1 - crd[r]) }
//! ```
//!
//! Paper: Donenfeld, Chou and Amarasinghe, *Unified Compilation for Lossless Compression and Sparse Computing* (CGO 2022), §5.

use lacunar_base::Diagnostic;
use lacunar_formats::Kind;
use lacunar_imp::{CompareOp, ExprId, LoopKind};
use lacunar_notation::concrete::{Assign, Stmt};
use lacunar_notation::{AssignOp, Monoid, VarId};

use super::here::Loop;
use super::positions::at_entry;
use crate::iterate::iterators::AccessKey;
use crate::levels::{Neighbors, Run};
use crate::lower::derive::position;
use crate::lower::region::clamped;
use crate::lower::scope::{Fact, Interval};
use crate::lower::storage::level;
use crate::lower::{Lowerer, iter};

/// The loop over the runs of iterator `k`.
pub(super) fn emit(cx: &mut Lowerer<'_>, l: &Loop<'_>, k: usize) -> Result<(), Diagnostic> {
    let iterator = &l.lattice.iterators[k];
    let parent = position(cx, &iterator.access, iterator.level.checked_sub(1), l.scope)?;
    let code = level(cx, &iterator.access, iterator.level, l.scope)?;
    let none = || Diagnostic::internal("a level that is made of runs has none");
    let all = code.runs(&mut cx.b, parent).ok_or_else(none)?;
    let bounds = iter::bounds(cx, iterator, l.scope)?;
    let length = cx.b.sub(bounds.1, bounds.0);
    let scope = l.entered(cx, &mut |cx| iter::most_coordinates(cx, iterator, length, l.scope));
    let l = &l.within(&scope);
    let region = scope.region(l.var);
    let is_confined = region.is_some() || scope.window(&iterator.access, iterator.level).is_some();
    let runs = if l.traits[k].shared { bounds } else { all };
    cx.each(LoopKind::Serial, "run", runs, |cx, number| {
        let Run { first, end, position, neighbors } = code.run(&mut cx.b, number).ok_or_else(none)?;
        if neighbors == Neighbors::Shared {
            let coordinates = clamped(cx, (first, end), region);
            return shared_run(cx, l, k, position, coordinates);
        }
        let length = cx.b.sub(end, first);
        let behind = cx.b.add(position, length);
        let positions = clamped(cx, (position, behind), is_confined.then_some(bounds));
        let (name, kind) = (iter::name(cx, iterator), l.kind(cx));
        cx.each(kind, &name, positions, |cx, at| {
            let offset = cx.b.sub(at, position);
            let coordinate = cx.b.add(first, offset);
            at_entry(cx, l, k, (at, coordinate))
        })
    })
}

/// The coordinates of an interval, which all have one position.
fn shared_run(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    k: usize,
    position: ExprId,
    (from, to): Interval,
) -> Result<(), Diagnostic> {
    if is_same_throughout(cx, l.var, l.body, &l.lattice.iterators[k].access) {
        let length = cx.b.sub(to, from);
        let length = cx.b.define("length", length);
        let zero = cx.b.int(0);
        let some = cx.b.compare(CompareOp::Gt, length, zero);
        let scope = l.scope.with(Fact::Times(length));
        return cx.when(some, |cx| at_entry(cx, &l.within(&scope), k, (position, from)));
    }
    let kind = l.kind(cx);
    cx.each(kind, cx.var_name(l.var), (from, to), |cx, coordinate| at_entry(cx, l, k, (position, coordinate)))
}

/// True if the body adds something to one place, or combines it so that repetitions do not count, and only `access` makes that depend on
/// the variable, so that it is the same over a run; and sums may be formed in any way.
fn is_same_throughout(cx: &Lowerer<'_>, var: VarId, body: &Stmt, access: &AccessKey) -> bool {
    let Stmt::Assign(Assign { lhs, op: AssignOp::Reduce(monoid), rhs }) = body else { return false };
    if !monoid.is_idempotent(rhs.dtype) && *monoid != Monoid::SUM {
        return false;
    }
    let others = rhs.accesses().into_iter().map(AccessKey::from).filter(|other| other != access);
    let is_fixed = !lhs.vars.contains(&var) && others.into_iter().all(|other| !other.vars.contains(&var));
    let is_exact = matches!(rhs.dtype.kind(), Kind::Bool | Kind::Signed | Kind::Unsigned);
    let any_way = is_exact || (rhs.dtype.kind() == Kind::Real && !cx.options.strict);
    let is_once = access.vars.iter().filter(|own| **own == var).count() == 1;
    is_fixed && any_way && is_once
}
