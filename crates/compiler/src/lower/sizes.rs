//! Arithmetic with sizes, none of which wraps around: sizes of dimensions go up to the greatest index, and numbers in
//! schedules beyond.
//!
//! ```text
//! constant(2^64 - 1)    2^63 - 1: no size exceeds it, so that strips of either length are the same
//! ceil_div(n, 32)       n / 32 + min(n % 32, 1)
//! product(a, b)         a * b, or 2^63 - 1 where that is more: no memory has as many elements
//! ```

use lacunar_imp::{BinaryOp, Builder, CompareOp, ExprId};
use lacunar_notation::VarId;
use lacunar_notation::concrete::Kernel;
use lacunar_notation::provenance::Relation;
use lacunar_notation::schedule::{BoundKind, Parts};

use super::SPECIALIZED_SIZE;

/// A number of a schedule, or the greatest index where that is less.
pub(super) fn constant(b: &mut Builder, number: u64) -> ExprId {
    b.int(i64::try_from(number).unwrap_or(i64::MAX))
}

/// A size divided by a number from 1, rounded up; at most 0 where there is less than nothing to divide.
pub(super) fn ceil_div(b: &mut Builder, size: ExprId, divisor: ExprId) -> ExprId {
    let one = b.int(1);
    match (value(b, size), value(b, divisor)) {
        (_, Some(1)) => return size,
        (Some(size @ 0..), Some(divisor @ 1..)) => return b.int((size as u64).div_ceil(divisor as u64) as i64),
        _ => {}
    }
    let (whole, rest) = (b.binary(BinaryOp::Div, size, divisor), b.binary(BinaryOp::Rem, size, divisor));
    let last = b.binary(BinaryOp::Min, rest, one);
    b.add(whole, last)
}

/// The product of two sizes, or the greatest index.
pub(super) fn product(b: &mut Builder, a: ExprId, c: ExprId) -> ExprId {
    let most = b.int(i64::MAX);
    match (value(b, a), value(b, c)) {
        (Some(x @ 0..), Some(y @ 0..)) => return b.int(x.saturating_mul(y)),
        (Some(0 | 1), _) | (_, Some(0 | 1)) => return b.mul(a, c),
        _ => {}
    }
    let one = b.int(1);
    let divisor = b.binary(BinaryOp::Max, c, one);
    let limit = b.binary(BinaryOp::Div, most, divisor);
    let fits = b.compare(CompareOp::Le, a, limit);
    let product = b.mul(a, c);
    b.select(fits, product, most)
}

/// The size of strips that are cut from something of a given size. Short strips stay constants, by which loops are unrolled.
pub(super) fn strip_of(b: &mut Builder, strip: ExprId, whole: ExprId) -> ExprId {
    match b.as_const(strip) {
        Some(constant) if constant.bits <= SPECIALIZED_SIZE => strip,
        _ => b.binary(BinaryOp::Min, strip, whole),
    }
}

/// The first value of strip number `number` in something of size `whole`; the end of it, if there is no such strip.
pub(super) fn strip_begin(b: &mut Builder, number: ExprId, strip: ExprId, whole: ExprId) -> ExprId {
    let full = b.binary(BinaryOp::Div, whole, strip);
    let inside = b.compare(CompareOp::Le, number, full);
    let begin = b.mul(number, strip);
    b.select(inside, begin, whole)
}

/// The number of values of a derived variable, where it follows from the sizes of the variables made before it: strips of
/// positions have none that is known in advance. `None` for an original one.
pub(super) fn derived_size(b: &mut Builder, kernel: &Kernel, var: VarId, sizes: &[ExprId]) -> Option<ExprId> {
    let size = |var: VarId| sizes[var.index()];
    Some(match *kernel.provenance.origin(var)? {
        Relation::Rename { parent, .. } => size(parent),
        Relation::Bound { parent, size: number, kind, .. } => match kind {
            BoundKind::MaxExact => constant(b, number),
            _ => size(parent),
        },
        Relation::Split { parent, inner, size: strip, .. } => {
            let strip = constant(b, strip);
            if inner == var { strip_of(b, strip, size(parent)) } else { ceil_div(b, size(parent), strip) }
        }
        Relation::Divide { parent, outer, parts: Parts::Count(count), .. } if outer == var => {
            let count = constant(b, count);
            strip_of(b, count, size(parent))
        }
        Relation::Divide { parent, parts: Parts::Count(count), .. } => {
            let count = constant(b, count);
            ceil_div(b, size(parent), count)
        }
        Relation::Divide { parent, .. } => size(parent),
        Relation::Fuse { outer, inner, .. } => b.mul(size(outer), size(inner)),
        Relation::Pos { coordinate, .. } => size(coordinate),
        Relation::Coord { position, .. } => size(position),
    })
}

/// True if one constant divides another.
pub(super) fn divides(b: &Builder, a: ExprId, c: ExprId) -> bool {
    let (a, c) = (b.as_const(a), b.as_const(c));
    a.zip(c).is_some_and(|(a, c)| a.bits != 0 && c.bits % a.bits == 0)
}

fn value(b: &Builder, expr: ExprId) -> Option<i64> {
    b.as_const(expr).map(|constant| constant.bits as i64)
}
