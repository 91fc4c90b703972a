//! Reductions over absent elements: an idempotent reduction combines their value once, instead of visiting each of them.
//!
//! ```text
//! y(i) = max(j, A(i,j) * x(j))     A: csr, fill value 0, n columns
//!   t = max(j, select(bool(pattern(A(i,j))), A(i,j) * x(j), -inf))      stored elements: others change no maximum
//!   y(i) = max(t, select(sum(j, i64(bool(pattern(A(i,j))))) < n, 0, -inf))
//! ```
//!
//! On entry: an expression in reduction notation. On exit: one of the same value, which visits what is stored where the first visited every
//! coordinate. The sizes of the reduced dimensions have to be known. A reduction whose terminal value is that
//! of absent elements stays as it is: `and` ends at the first of them.
//!
//! Henry et al. 2021, §4, visit every coordinate in this case. *Idempotent* is their word for operators of which `f(a, a)` is `a`.

use lacunar_base::Arena;
use lacunar_formats::{DType, Kind, Scalar};
use lacunar_imp::arith;
use lacunar_notation::{Assignment, BinaryFn, Expr, ExprKind, IndexVar, Literal, Monoid, Role, Tensor, VarId};

use crate::algebra::{background, is_left_out};
use crate::reduction::presence_of_operands;

/// The right side of a statement with reductions that combine the value of gaps once; `None` if it has none that can.
pub(crate) fn counted(statement: &Assignment, tensors: &Arena<Tensor>, vars: &Arena<IndexVar>) -> Option<Expr> {
    let is_dense = tensors[statement.lhs.tensor].format.is_dense();
    let mut is_changed = false;
    let changed = with_counted(statement.rhs.clone(), &mut |monoid, reduced, body| {
        // A sparse result stores a value that is written, such as that of `A(i,j) + 1`, wherever it is visited.
        let of_gaps = background(tensors, body).filter(|found| found.absent || is_dense)?.value;
        let counted = counted_once((monoid, reduced, body), of_gaps, tensors, vars);
        is_changed |= counted.is_some();
        counted
    });
    is_changed.then_some(changed)
}

/// An expression with the reductions replaced for which `counted` gives something.
fn with_counted(expr: Expr, counted: &mut impl FnMut(Monoid, &[VarId], &Expr) -> Option<Expr>) -> Expr {
    if let ExprKind::Reduce(monoid, reduced, body) = &expr.kind
        && let Some(counted) = counted(*monoid, reduced, body)
    {
        return Expr { span: expr.span, ..counted };
    }
    expr.map_children(&mut |child| with_counted(child, counted))
}

/// A reduction of which the value of gaps is combined once.
fn counted_once(
    (monoid, reduced, body): (Monoid, &[VarId], &Expr),
    of_gaps: Scalar,
    tensors: &Arena<Tensor>,
    vars: &Arena<IndexVar>,
) -> Option<Expr> {
    let is_plain = body.reduced_vars().is_empty()
        && body.accesses().iter().all(|access| {
            let tensor = &tensors[access.tensor];
            tensor.role != Role::Indicator && !tensor.is_unique
        });
    let is_repeated = monoid.is_idempotent(body.dtype) && monoid.compared().is_none();
    let ends = monoid.terminal(body.dtype).is_some_and(|terminal| terminal.equals(of_gaps));
    if !is_plain || !is_repeated || ends || is_left_out(monoid, of_gaps) {
        return None;
    }
    let sizes = reduced.iter().map(|var| vars[*var].size);
    let all = sizes.map(|size| size.map(i128::from)).try_fold(1_i128, |all, size| all.checked_mul(size?))?;
    i64::try_from(all).ok()?;
    let (identity, of_gaps) = (constant(monoid.identity(body.dtype)?)?, constant(of_gaps)?);
    let is_there = presence_of_operands(body.clone(), tensors);
    let count = Expr::sum(reduced.to_vec(), is_there.clone().cast(DType::I64));
    let all = Expr { kind: ExprKind::Literal(Literal::Int(all)), dtype: DType::I64, span: body.span };
    let has_gaps = Expr::binary(BinaryFn::Lt, count, all, DType::Bool);
    let stored = Expr::reduce(monoid, reduced.to_vec(), Expr::select(is_there, body.clone(), identity.clone()));
    let once = Expr::select(has_gaps, of_gaps, identity);
    Some(Expr::binary(monoid.function(), stored, once, body.dtype))
}

/// A constant of a value, if a text could have it.
fn constant(value: Scalar) -> Option<Expr> {
    let literal = match value.ty.kind() {
        Kind::Bool => Literal::Bool(!value.is_zero()),
        Kind::Signed => Literal::Int(i128::from(value.bits.cast_signed())),
        Kind::Unsigned => Literal::Int(i128::from(value.bits)),
        Kind::Real => Literal::Float(f64::from_bits(arith::cast(DType::F64, value).bits)),
        Kind::Complex => return None,
    };
    Some(Expr::new(ExprKind::Literal(literal), value.ty))
}
