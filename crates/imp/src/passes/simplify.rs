//! Evaluates constant expressions and drops statements without effect.
//!
//! ```text
//! let k: i64 = 2 + 1;                      let k: i64 = 3;
//! if k < 4 {                         ->    y[n] = -(x * 1.0);      (x * 1.0 is x: y[n] = -x;)
//!   y[n * 1 + 0] = -(x * 1.0);
//! }
//! ```
//!
//! Folding gives the same values as the interpreter. Identities hold for every value: `x * 1.0` is `x`, `x + 0.0` is not where
//! `x` is `-0.0`, but is where it can't be, as in `0.0 + max(1.0, y)`. An immutable variable that is defined as a constant or as
//! another immutable variable is replaced by it; its definition is left for `dce.rs`. A loop over one value, `p .. p + 1`, is its
//! body; one of fills that lie one behind the other is one fill; elements that are filled and then added to once are set, and those that are
//! copied are filled themselves (`fills.rs`).

use lacunar_formats::{DType, Kind};

use super::fills;
use crate::arith;
use crate::ir::{BinaryOp, Block, CompareOp, Const, Expr, ExprId, Function, LoopKind, Stmt, UnaryOp, WordOp};
use crate::loops::combination;
use crate::walk::{Rewriter, blocks_mut, leaves};

/// Folds constants, applies identities and drops dead branches.
pub fn simplify(mut function: Function) -> Function {
    loop {
        let body = std::mem::take(&mut function.body);
        let mut rewriter = Rewriter::default();
        function.body = block(&mut function, &mut rewriter, body, false);
        // Without such a fill, others may lie one behind the other.
        if !fills::drop_needless(&mut function) {
            return function;
        }
    }
}

/// Simplifies a block, which may be inside of a vector loop.
fn block(function: &mut Function, rewriter: &mut Rewriter, stmts: Block, in_vector: bool) -> Block {
    let mut kept = Block::with_capacity(stmts.len());
    for mut stmt in stmts {
        match stmt {
            // It stays a reduction, though `v & 0` is 0.
            Stmt::Assign { var, ref mut value } if in_vector => {
                *value = match combination(function, var, *value) {
                    Some((op, operand)) => {
                        let operand = rewriter.expr(function, operand, &rule);
                        let held = function.exprs.insert(Expr::Var(var));
                        function.exprs.insert(Expr::Binary(op, held, operand))
                    }
                    None => rewriter.expr(function, *value, &rule),
                };
            }
            _ => rewriter.stmt(function, &mut stmt, &rule),
        }
        let in_vector_around = in_vector;
        let in_vector = in_vector || matches!(stmt, Stmt::For { kind: LoopKind::Vector(_), .. });
        match stmt {
            Stmt::If { cond, then, otherwise } if truth(function, cond).is_some() => {
                let taken = if truth(function, cond) == Some(true) { then } else { otherwise };
                kept.extend(block(function, rewriter, taken, in_vector));
            }
            Stmt::While { cond, .. } if truth(function, cond) == Some(false) => {}
            Stmt::For { begin, end, .. } if is_empty(function, begin, end) => {}
            Stmt::Fill { begin, end, .. } if begin == end => {}
            Stmt::For { kind: LoopKind::Serial | LoopKind::Vector(_), var, begin, end, body, .. }
                if is_next(function, begin, end) && !leaves(&body) =>
            {
                let once = std::iter::once(Stmt::Define { var, value: begin }).chain(body).collect();
                kept.extend(block(function, rewriter, once, in_vector_around));
            }
            mut stmt => {
                if let Stmt::Define { var, value } = stmt
                    && !function.vars[var].mutable
                    && is_plain(function, value)
                {
                    rewriter.values.insert(var, value);
                }
                for inner in blocks_mut(&mut stmt) {
                    *inner = block(function, rewriter, std::mem::take(inner), in_vector);
                }
                fills::set_instead(function, &mut kept, &mut stmt);
                if let Some(fill) = fills::copied(function, &kept, &stmt) {
                    stmt = fill;
                }
                match fills::merged(function, &stmt) {
                    Some(fills) => kept.extend(fills),
                    None => kept.push(stmt),
                }
            }
        }
        if matches!(kept.last(), Some(Stmt::Break | Stmt::Fail(_))) {
            break;
        }
    }
    kept
}

fn truth(function: &Function, cond: ExprId) -> Option<bool> {
    constant(function, cond).map(|cond| cond.bits != 0)
}

fn is_empty(function: &Function, begin: ExprId, end: ExprId) -> bool {
    match (constant(function, begin), constant(function, end)) {
        (Some(begin), Some(end)) => begin.bits as i64 >= end.bits as i64,
        _ => begin == end,
    }
}

/// True if a range holds its first value alone.
pub(super) fn is_next(function: &Function, begin: ExprId, end: ExprId) -> bool {
    match function.exprs[end] {
        Expr::Binary(BinaryOp::Add, a, b) => a == begin && constant(function, b).is_some_and(|b| b == Const::one(b.ty)),
        _ => false,
    }
}

/// True if an expression can stand for a variable: it costs nothing, and its value does not change.
fn is_plain(function: &Function, value: ExprId) -> bool {
    match function.exprs[value] {
        Expr::Const(_) => true,
        Expr::Var(var) => !function.vars[var].mutable,
        _ => false,
    }
}

fn constant(function: &Function, expr: ExprId) -> Option<Const> {
    match function.exprs[expr] {
        Expr::Const(constant) => Some(constant),
        _ => None,
    }
}

/// An expression of simplified operands, simplified.
pub(super) fn rule(function: &mut Function, expr: Expr) -> ExprId {
    if let Some(value) = fold(function, expr) {
        return function.exprs.insert(Expr::Const(value));
    }
    match identity(function, expr) {
        Some(Same::Operand(operand)) => operand,
        // Each identity leaves less, so this ends.
        Some(Same::Expr(expr)) => rule(function, expr),
        None => function.exprs.insert(expr),
    }
}

/// The value of an operation on constants.
fn fold(function: &Function, expr: Expr) -> Option<Const> {
    let value = |operand| constant(function, operand);
    Some(match expr {
        Expr::Const(_) | Expr::Var(_) | Expr::Select(..) | Expr::Extern(..) => return None,
        Expr::Unary(op, a) => arith::unary(op, value(a)?),
        Expr::Binary(op, a, b) => arith::binary(op, value(a)?, value(b)?),
        Expr::Compare(op, a, b) => Const::bool(arith::compare(op, value(a)?, value(b)?)),
        Expr::Cast(ty, a) => arith::cast(ty, value(a)?),
        Expr::Word(op, word, place) => word_fold(op, value(word), value(place))?,
    })
}

/// The answer of a word: an empty one has no bits, and nothing is below the lowest place.
fn word_fold(op: WordOp, word: Option<Const>, place: Option<Const>) -> Option<Const> {
    match (op, word, place) {
        (_, Some(word), Some(place)) => Some(arith::word(op, word, place)),
        (_, Some(Const { bits: 0, .. }), _) => Some(Const::zero(op.result_type())),
        (WordOp::Rank, _, Some(Const { bits: 0, .. })) => Some(Const::zero(op.result_type())),
        _ => None,
    }
}

/// A simpler expression with the same value.
enum Same {
    Operand(ExprId),
    Expr(Expr),
}

fn identity(function: &mut Function, expr: Expr) -> Option<Same> {
    match expr {
        Expr::Const(_) | Expr::Var(_) => None,
        Expr::Unary(op, a) => unary_identity(function, op, a),
        Expr::Binary(op, a, b) => binary_identity(function, op, a, b),
        Expr::Compare(op, a, b) if a == b && !function.type_of(a).is_float() => {
            let holds = matches!(op, CompareOp::Eq | CompareOp::Le | CompareOp::Ge);
            Some(Same::Expr(Expr::Const(Const::bool(holds))))
        }
        Expr::Compare(..) => None,
        Expr::Select(_, a, b) if a == b => Some(Same::Operand(a)),
        Expr::Select(condition, a, b) => match (constant(function, condition), truth_pair(function, a, b)) {
            (Some(condition), _) => Some(Same::Operand(if condition.bits != 0 { a } else { b })),
            (None, Some((true, false))) => Some(Same::Operand(condition)),
            (None, Some((false, true))) => Some(Same::Expr(Expr::Unary(UnaryOp::Not, condition))),
            _ => None,
        },
        Expr::Cast(ty, a) if function.type_of(a) == ty => Some(Same::Operand(a)),
        Expr::Cast(ty, a) => match function.exprs[a] {
            Expr::Cast(middle, inner) if widens(function.type_of(inner), middle) => {
                Some(Same::Expr(Expr::Cast(ty, inner)))
            }
            _ => None,
        },
        Expr::Word(..) | Expr::Extern(..) => None,
    }
}

fn truth_pair(function: &Function, a: ExprId, b: ExprId) -> Option<(bool, bool)> {
    let (a, b) = (constant(function, a)?, constant(function, b)?);
    (a.ty == DType::Bool).then_some((a.bits != 0, b.bits != 0))
}

/// True if an integer type holds every value of another.
fn widens(from: DType, to: DType) -> bool {
    match (from.kind(), to.kind()) {
        (Kind::Bool, Kind::Signed | Kind::Unsigned) => true,
        (Kind::Signed, Kind::Signed) | (Kind::Unsigned, Kind::Unsigned) => from.size() <= to.size(),
        (Kind::Unsigned, Kind::Signed) => from.size() < to.size(),
        _ => false,
    }
}

fn unary_identity(function: &Function, op: UnaryOp, a: ExprId) -> Option<Same> {
    match (op, function.exprs[a]) {
        (UnaryOp::Neg, Expr::Unary(UnaryOp::Neg, inner)) | (UnaryOp::Not, Expr::Unary(UnaryOp::Not, inner)) => {
            Some(Same::Operand(inner))
        }
        (UnaryOp::Not, Expr::Compare(op, x, y)) => {
            // On floating point `!(x < y)` holds for NaN, and `x >= y` does not.
            let exact = !function.type_of(x).is_float() || matches!(op, CompareOp::Eq | CompareOp::Ne);
            exact.then_some(Same::Expr(Expr::Compare(opposite(op), x, y)))
        }
        _ => None,
    }
}

fn opposite(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Eq => CompareOp::Ne,
        CompareOp::Ne => CompareOp::Eq,
        CompareOp::Lt => CompareOp::Ge,
        CompareOp::Ge => CompareOp::Lt,
        CompareOp::Le => CompareOp::Gt,
        CompareOp::Gt => CompareOp::Le,
    }
}

fn binary_identity(function: &mut Function, op: BinaryOp, a: ExprId, b: ExprId) -> Option<Same> {
    let ty = function.type_of(a);
    let (left, right) = (constant(function, a), constant(function, b));
    if right.is_some_and(|right| is_right_neutral(op, right)) {
        return Some(Same::Operand(a));
    }
    if left.is_some_and(|left| commutes(op) && is_right_neutral(op, left)) {
        return Some(Same::Operand(b));
    }
    if ty.kind() == Kind::Real && op == BinaryOp::Add {
        let zero = Const::zero(ty);
        if left == Some(zero) && never_negative_zero(function, b, DEPTH) {
            return Some(Same::Operand(b));
        }
        if right == Some(zero) && never_negative_zero(function, a, DEPTH) {
            return Some(Same::Operand(a));
        }
    }
    if ty.is_float() {
        let same = a == b && matches!(op, BinaryOp::Min | BinaryOp::Max);
        return same.then_some(Same::Operand(a));
    }
    if left.is_some_and(|left| absorbs(op, left)) {
        return Some(Same::Operand(a));
    }
    if right.is_some_and(|right| absorbs(op, right)) {
        return Some(Same::Operand(b));
    }
    if a == b {
        return equal_operands(op, a, ty);
    }
    // (x + 1) + 2
    match (op, function.exprs[a], right) {
        (BinaryOp::Add, Expr::Binary(BinaryOp::Add, x, inner), Some(outer)) if ty != DType::Bool => {
            let sum = arith::binary(BinaryOp::Add, constant(function, inner)?, outer);
            let sum = function.exprs.insert(Expr::Const(sum));
            Some(Same::Expr(Expr::Binary(BinaryOp::Add, x, sum)))
        }
        _ => None,
    }
}

/// The value of an operation on one value twice, which is no floating-point number.
fn equal_operands(op: BinaryOp, a: ExprId, ty: DType) -> Option<Same> {
    match op {
        BinaryOp::And | BinaryOp::Or | BinaryOp::Min | BinaryOp::Max => Some(Same::Operand(a)),
        BinaryOp::Add | BinaryOp::Mul if ty == DType::Bool => Some(Same::Operand(a)),
        BinaryOp::Sub | BinaryOp::Xor | BinaryOp::Rem => Some(Same::Expr(Expr::Const(Const::zero(ty)))),
        _ => None,
    }
}

/// The depth to which an expression is looked into.
const DEPTH: u32 = 8;

/// True if a real number is another value than `-0.0` for certain.
fn never_negative_zero(function: &Function, expr: ExprId, depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let never = |expr| never_negative_zero(function, expr, depth);
    match function.exprs[expr] {
        Expr::Const(value) => value != Const::real(value.ty, -0.0),
        Expr::Cast(_, from) => !function.type_of(from).is_float(),
        // Rounding to the nearest, `-0.0` is the sum of two `-0.0` alone.
        Expr::Binary(BinaryOp::Add, a, b) => never(a) || never(b),
        Expr::Binary(BinaryOp::Max, a, b) => {
            is_positive(function, a, depth) || is_positive(function, b, depth) || never(a) && never(b)
        }
        Expr::Binary(BinaryOp::Min, a, b) => never(a) && never(b),
        _ => false,
    }
}

/// True if a real number is greater than zero for certain, and so not NaN.
fn is_positive(function: &Function, expr: ExprId, depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let positive = |expr| is_positive(function, expr, depth);
    match function.exprs[expr] {
        Expr::Const(value) => value.re() > 0.0,
        Expr::Binary(BinaryOp::Max, a, b) => {
            let is_number = |expr| {
                matches!(function.exprs[expr], Expr::Cast(_, from) if !function.type_of(from).is_float())
                    || positive(expr)
            };
            positive(a) && is_number(b) || positive(b) && is_number(a)
        }
        Expr::Binary(BinaryOp::Min, a, b) => positive(a) && positive(b),
        _ => false,
    }
}

fn commutes(op: BinaryOp) -> bool {
    !matches!(
        op,
        BinaryOp::Sub | BinaryOp::Div | BinaryOp::Rem | BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::Shl | BinaryOp::Shr
    )
}

/// True if `x op c` is `x` for every `x`.
fn is_right_neutral(op: BinaryOp, c: Const) -> bool {
    let (zero, one) = (c == Const::zero(c.ty), c == Const::one(c.ty));
    match (c.ty.kind(), op) {
        (Kind::Complex, _) => false,
        (Kind::Real, BinaryOp::Mul | BinaryOp::Div) => one,
        (Kind::Real, BinaryOp::Sub) => zero,
        (Kind::Real, BinaryOp::Add) => c == Const::real(c.ty, -0.0),
        (Kind::Real, _) => false,
        (Kind::Bool, BinaryOp::Max) => zero,
        (Kind::Bool, BinaryOp::Min) => one,
        (_, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr) => zero,
        (_, BinaryOp::Mul | BinaryOp::Div | BinaryOp::Pow) => one,
        (_, BinaryOp::And) => c == arith::wrap(c.ty, u64::MAX),
        _ => false,
    }
}

/// True if `x op c` and `c op x` are `c` for every `x`, which is no floating-point number.
fn absorbs(op: BinaryOp, c: Const) -> bool {
    match op {
        BinaryOp::Mul | BinaryOp::And => c == Const::zero(c.ty),
        BinaryOp::Min => c == Const::bool(false),
        BinaryOp::Add | BinaryOp::Or | BinaryOp::Max => c == Const::bool(true),
        _ => false,
    }
}
