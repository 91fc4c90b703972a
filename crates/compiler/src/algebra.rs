//! What expressions do to absent entries: the algebra that decides between intersection and union.
//!
//! An entry that is not stored is *absent*: a structural zero ([`Literal::Absent`](lacunar_notation::Literal::Absent)).
//! [`without`] is the residual of an expression when some of its accesses are known to be absent; where the residual is
//! absent itself, nothing needs to be visited.
//!
//! ```text
//! (A + B) * C  without A  =  B * C
//! (A + B) * C  without C  =  absent
//! exp(A)       without A  =  exp(0)
//! ```
//!
//! Paper: Kjolstad et al. 2017, §5.1 (rules for `+` and `*`); Henry et al. 2021, §4 (any operator, by annihilators and
//! identities).

use lacunar_notation::{Access, BinaryFn, Expr, ExprKind, UnaryFn};

/// The expression with every access that `absent` names replaced by a structural zero, simplified.
pub fn without(expr: &Expr, absent: &impl Fn(&Access) -> bool) -> Expr {
    let gone = || Expr { span: expr.span, ..Expr::absent(expr.dtype) };
    let rebuild = |kind| Expr { kind, dtype: expr.dtype, span: expr.span };
    match &expr.kind {
        ExprKind::Access(access) if absent(access) => gone(),
        ExprKind::Literal(_) | ExprKind::Access(_) => expr.clone(),
        ExprKind::Cast(a) => match without(a, absent) {
            a if a.is_absent() => gone(),
            a => rebuild(ExprKind::Cast(Box::new(a))),
        },
        ExprKind::Unary(function, a) => match without(a, absent) {
            a if a.is_absent() && function.keeps_zero() => gone(),
            a => rebuild(ExprKind::Unary(*function, Box::new(a))),
        },
        ExprKind::Reduce(op, vars, a) => match without(a, absent) {
            a if a.is_absent() => gone(),
            a => rebuild(ExprKind::Reduce(*op, vars.clone(), Box::new(a))),
        },
        ExprKind::Binary(function, left, right) => {
            let (a, b) = (without(left, absent), without(right, absent));
            let (no_a, no_b) = (a.is_absent(), b.is_absent());
            let (kills_a, kills_b) = function.annihilates();
            match function {
                _ if (no_a && kills_a) || (no_b && kills_b) => gone(),
                _ if no_a && no_b && function.keeps_zero() => gone(),
                BinaryFn::Add if no_a => b,
                BinaryFn::Add | BinaryFn::Sub if no_b => a,
                BinaryFn::Sub if no_a => rebuild(ExprKind::Unary(UnaryFn::Neg, Box::new(b))),
                _ => rebuild(ExprKind::Binary(*function, Box::new(a), Box::new(b))),
            }
        }
    }
}
