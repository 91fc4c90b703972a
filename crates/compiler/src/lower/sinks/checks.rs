//! Checks of a kernel that is run: it ends with a status instead of a result whose positions do not fit, or for another pattern.

use lacunar_imp::{CompareOp, ExprId, Status};
use lacunar_notation::TensorId;

use crate::lower::Lowerer;

/// Ends the kernel where a number of positions of a level of a result does not fit its position array.
pub(super) fn fail_unless_fits(cx: &mut Lowerer<'_>, tensor: TensorId, level: usize, count: ExprId) {
    let widest = cx.kernel.tensors[tensor].format.positions(level).max();
    if let Ok(widest) = i64::try_from(widest) {
        let widest = cx.b.int(widest);
        fail_if(cx, CompareOp::Gt, count, widest);
    }
}

/// Ends the kernel where two numbers compare in a way that a size cannot.
pub(super) fn fail_if(cx: &mut Lowerer<'_>, op: CompareOp, a: ExprId, b: ExprId) {
    let wrong = cx.b.compare(op, a, b);
    cx.b.if_then(wrong, |b| b.fail(Status::SizeOverflow));
}
