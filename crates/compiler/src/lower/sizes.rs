//! Arithmetic with sizes, none of which wraps around: sizes of dimensions go up to the greatest index, and numbers in
//! schedules beyond.
//!
//! ```text
//! constant(2^64 - 1)    2^63 - 1: no size exceeds it, so that strips of either length are the same
//! ceil_div(n, 32)       n / 32 + min(n % 32, 1)
//! product(a, b)         a * b, or 2^63 - 1 where that is more: no memory has as many elements
//! ```

use lacunar_imp::{BinaryOp, Builder, CompareOp, ExprId};

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

/// The size of strips that are cut from something of a size. Short ones stay constants, which loops are unrolled by.
pub(super) fn strip_of(b: &mut Builder, strip: ExprId, whole: ExprId) -> ExprId {
    match b.as_const(strip) {
        Some(constant) if constant.bits <= SPECIALIZED_SIZE => strip,
        _ => b.binary(BinaryOp::Min, strip, whole),
    }
}

/// Where strip number `number` begins in something of a size; at its end, where it has no such strip.
pub(super) fn strip_begin(b: &mut Builder, number: ExprId, strip: ExprId, whole: ExprId) -> ExprId {
    let full = b.binary(BinaryOp::Div, whole, strip);
    let inside = b.compare(CompareOp::Le, number, full);
    let begin = b.mul(number, strip);
    b.select(inside, begin, whole)
}

fn value(b: &Builder, expr: ExprId) -> Option<i64> {
    b.as_const(expr).map(|constant| constant.bits as i64)
}
