//! Loops over the positions of one iterator, which tell its coordinates.
//!
//! ```text
//! y(i) = A(i,j) * x(j)      A: csr      for p in A2_pos[i] .. A2_pos[i+1] { j = A2_crd[p]; y_vals[i] += A_vals[p] * x_vals[j] }
//! ```

use lacunar_base::Diagnostic;
use lacunar_formats::DType;
use lacunar_imp::{CompareOp, ExprId, Lanes, LoopKind, Turns};
use lacunar_notation::Access;
use lacunar_notation::concrete::{Assign, Stmt};

use super::behind;
use super::cases::cases;
use super::divided::{self, Part};
use super::here::Loop;
use crate::iterate::iterators::{AccessKey, Iterator};
use crate::iterate::lattice::Point;
use crate::levels::{At, Only, Position};
use crate::lower::compute::read;
use crate::lower::scope::{Fact, Interval, Scope};
use crate::lower::sinks::bitmap::Walk;
use crate::lower::storage::level;
use crate::lower::{Lowerer, caches, iter};

/// The loop over the positions of iterator `k`.
pub(super) fn emit(cx: &mut Lowerer<'_>, l: &Loop<'_>, k: usize) -> Result<(), Diagnostic> {
    if let Some(walk) = Walk::of(l.lattice.iterators[k].access.tensor, l.scope) {
        let scope = l.entered(cx, &mut |cx| walk.most(cx));
        let l = &l.within(&scope);
        // Values lie at their coordinates, which are the positions.
        return walk.each(cx, l.scope, &mut |cx, coordinate| at_entry(cx, l, k, (coordinate, coordinate)));
    }
    let (begin, end) = iter::bounds(cx, &l.lattice.iterators[k], l.scope)?;
    let scope = l.entered(cx, &mut |cx| cx.b.sub(end, begin));
    between(cx, &l.within(&scope), k, (begin, end))
}

/// The loop over some positions of iterator `k`, in one piece or several.
fn between(cx: &mut Lowerer<'_>, l: &Loop<'_>, k: usize, positions: Interval) -> Result<(), Diagnostic> {
    if let Some(division) = divided::division(cx, l, k) {
        return divided::emit(cx, l, k, positions, &division, &mut |cx, l, part| match part {
            Part::At(position) => at_position(cx, l, k, position),
            Part::Between(positions) => between(cx, l, k, positions),
        });
    }
    let rows = match l.kind(cx) {
        LoopKind::Serial => caches::rows(cx, l.var, l.body, &l.lattice.iterators[k], l.scope),
        _ => Vec::new(),
    };
    if let Some(far) = rows.iter().map(|rows| rows.far).reduce(|all, far| cx.b.and(all, far)) {
        return far_and_near(cx, l, k, positions, (far, &rows));
    }
    let kind = match l.kind(cx) {
        LoopKind::VECTOR => LoopKind::Vector(lanes(cx, l, k)),
        LoopKind::Unrolled(turns) => LoopKind::Unrolled(Turns { near: is_near(cx, &l.lattice.iterators[k]), ..turns }),
        kind => kind,
    };
    over(cx, l, k, positions, kind)
}

/// The loop over some positions, in two versions: one prefetches rows that the next coordinates choose, where these are far.
fn far_and_near(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    k: usize,
    positions: Interval,
    (far, rows): (ExprId, &[caches::Rows]),
) -> Result<(), Diagnostic> {
    let iterator = &l.lattice.iterators[k];
    let parent = iter::parent(cx, iterator, l.scope)?;
    let name = iter::name(cx, iterator);
    let (then, outcome) = cx.block(|cx| {
        cx.each(LoopKind::Serial, &name, positions, |cx, p| {
            caches::prefetch(cx, (l.var, iterator), rows, (parent, p), l.scope)?;
            at_position(cx, l, k, p)
        })
    });
    outcome?;
    let (otherwise, outcome) = cx.block(|cx| over(cx, l, k, positions, LoopKind::Serial));
    cx.branch(far, then, otherwise);
    outcome
}

/// The lanes of vectors along the segments of a level: few where few coordinates are to be expected, else as many as there are.
/// On rows of 2.8 entries, 4 lanes take 0.77 of the time of 8; from 6 on they take more (an Intel processor with AVX-512).
fn lanes(cx: &Lowerer<'_>, l: &Loop<'_>, k: usize) -> Lanes {
    const FEW: u32 = 4;
    let iterator = &l.lattice.iterators[k];
    let tensor = &cx.kernel.tensors[iterator.access.tensor];
    let above = &tensor.format.mode_order()[..iterator.level];
    let are_full = tensor.format.levels()[..iterator.level].iter().all(|level| level.properties().full);
    let segments = above.iter().try_fold(1u64, |product, &mode| product.checked_mul(tensor.dims[mode]?));
    let width = match (tensor.nnz, segments) {
        (Some(stored), Some(segments)) if are_full && stored <= segments.saturating_mul(FEW.into()) => FEW,
        _ => 0,
    };
    let is_last = iterator.level + 1 == tensor.format.levels().len();
    let steady = is_last && tensor.steady == Some(true);
    Lanes { width, steady, near: is_near(cx, iterator), scattered: is_last && is_scattered(cx, l, k) }
}

/// True if the caches are known to hold the coordinates and values of a tensor, as far as a processor should not be asked for them ahead.
fn is_near(cx: &Lowerer<'_>, iterator: &Iterator) -> bool {
    streamed(cx, iterator).is_some_and(|bytes| bytes < cx.options.reach.asks_from)
}

/// The bytes of the coordinates and values of a tensor, if known.
fn streamed(cx: &Lowerer<'_>, iterator: &Iterator) -> Option<u64> {
    const COORDINATE: usize = 4;
    let tensor = &cx.kernel.tensors[iterator.access.tensor];
    tensor.nnz.map(|stored| stored.saturating_mul((COORDINATE + tensor.dtype.size()) as u64))
}

/// True if the coordinates and values of iterator `k` come from memory, and its coordinates are known to choose scattered elements of arrays
/// that the third level of caches holds.
fn is_scattered(cx: &Lowerer<'_>, l: &Loop<'_>, k: usize) -> bool {
    let iterator = &l.lattice.iterators[k];
    let reach = cx.options.reach;
    let is_chosen = |access: &&Access| access.vars.contains(&l.var) && access.tensor != iterator.access.tensor;
    let bytes = |access: &Access| {
        let tensor = &cx.kernel.tensors[access.tensor];
        let elements = tensor.dims.iter().try_fold(1u64, |product, size| product.checked_mul((*size)?));
        elements.filter(|_| tensor.is_array())?.checked_mul(tensor.dtype.size() as u64)
    };
    let Stmt::Assign(assign) = l.body else { return false };
    let chosen: Option<Vec<u64>> = assign.rhs.accesses().into_iter().filter(is_chosen).map(bytes).collect();
    cx.kernel.tensors[iterator.access.tensor].scattered == Some(true)
        && streamed(cx, iterator).is_some_and(|bytes| bytes >= reach.from_memory)
        && chosen.is_some_and(|all| {
            !all.is_empty() && all.iter().all(|bytes| (reach.scattered_from..=reach.scattered_to).contains(bytes))
        })
}

/// The loop over some positions of iterator `k`.
pub(super) fn over(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    k: usize,
    positions: Interval,
    kind: LoopKind,
) -> Result<(), Diagnostic> {
    let name = iter::name(cx, &l.lattice.iterators[k]);
    let loads = if matches!(kind, LoopKind::Vector(_)) { behind::loads(cx, l, k) } else { None };
    cx.each(kind, &name, positions, |cx, p| {
        if let Some(loads) = loads {
            cx.b.loads_up_to(loads);
        }
        at_position(cx, l, k, p)
    })
}

/// The body at the position of iterator `k`, if it has one.
pub(super) fn emit_one(cx: &mut Lowerer<'_>, l: &Loop<'_>, k: usize) -> Result<(), Diagnostic> {
    let iterator = &l.lattice.iterators[k];
    let only = iter::only(cx, iterator, l.scope)?;
    let (begin, end) = match only {
        Some(only) => only.range(&mut cx.b),
        None => iter::bounds(cx, iterator, l.scope)?,
    };
    let mut scope = l.entered(cx, &mut |cx| cx.b.sub(end, begin));
    let is_certain = only.and_then(|only| cx.b.as_const(only.present)).is_some_and(|present| present.bits != 0);
    if is_certain {
        return at_position(cx, &l.within(&scope), k, begin);
    }
    let some = only.map_or_else(|| cx.b.compare(CompareOp::Lt, begin, end), |only| only.present);
    if let (Some(only), Stmt::Assign(assign)) = (only, l.body) {
        read_ahead(cx, (iterator, only), assign, &mut scope)?;
    }
    cx.when(some, |cx| at_position(cx, &l.within(&scope), k, begin))
}

/// Reads the value at the only position of an iterator, if the statement reads it where the position has a coordinate. The value
/// exists in any case; lanes read neighbors at once then, and not under a mask, which processors foresee badly (on Zen 5, a product
/// with a matrix of slices takes twice as long with masks).
fn read_ahead(
    cx: &mut Lowerer<'_>,
    (iterator, only): (&Iterator, Only),
    assign: &Assign,
    scope: &mut Scope,
) -> Result<(), Diagnostic> {
    let key = &iterator.access;
    let accesses = assign.rhs.accesses();
    let access = accesses.into_iter().find(|access| AccessKey::from(*access) == *key);
    let tensor = &cx.kernel.tensors[key.tensor];
    let is_last = iterator.level + 1 == tensor.format.levels().len();
    if let Some(access) = access
        && is_last
        && tensor.dtype != DType::Pattern
        && cx.options.phase.computes()
    {
        let mut there = scope.deeper();
        there.bind(key, iterator.level, Position::One(only.position));
        let value = read(cx, access, &there)?;
        scope.know(Fact::Read(key.clone(), value));
    }
    Ok(())
}

/// The body at one position of iterator `k`.
pub(super) fn at_position(cx: &mut Lowerer<'_>, l: &Loop<'_>, k: usize, position: ExprId) -> Result<(), Diagnostic> {
    let iterator = &l.lattice.iterators[k];
    let at = At { parent: iter::parent(cx, iterator, l.scope)?, position, state: None };
    let code = level(cx, &iterator.access, iterator.level, l.scope)?;
    let coordinate = code.coordinate(&mut cx.b, &cx.kernel.vars[l.var].name, at);
    at_entry(cx, l, k, (position, coordinate))
}

/// The body at a position of iterator `k`, which has this coordinate.
pub(super) fn at_entry(
    cx: &mut Lowerer<'_>,
    l: &Loop<'_>,
    k: usize,
    (position, coordinate): (ExprId, ExprId),
) -> Result<(), Diagnostic> {
    let iterator = &l.lattice.iterators[k];
    let mut inner = l.scope.with(Fact::Value(l.var, coordinate));
    inner.bind(&iterator.access, iterator.level, Position::One(position));
    cases(cx, l, Point::of([k]), &[], &inner)
}
