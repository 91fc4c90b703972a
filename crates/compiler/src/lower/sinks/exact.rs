//! Results of which operands tell exactly how much each row gets: every value that is stored in a row of one of them becomes a value of the
//! result. Then threads know their places beforehand, and write into the arrays of the whole ([`super::piece`]).
//!
//! ```text
//! C(i,j) = A(i,j) * x(j)             rows 0 .. r of C have A2_pos[r] values
//! C(i,j) = A(i,j) + B(i-100,j)       A has 100 rows: rows 0 .. r have A2_pos[min(r, 100)] + B2_pos[max(r - 100, 0)]
//! C(i,j) = A(i,j) + B(i,j)           not told: a coordinate may be stored in both
//! ```
//!
//! On entry: the outermost loop is over the rows of a result, which are compressed. The proof goes by its lattice: at each point one
//! operand is copied, and no two points are met at one coordinate, as the places where both would be are left out
//! ([`Lattice`]). All that is multiplied with the operand is there everywhere.

use lacunar_formats::{Level, LevelKind};
use lacunar_imp::{BinaryOp, ExprId};
use lacunar_notation::concrete::Stmt;
use lacunar_notation::{Access, AssignOp, Expr, ExprKind, Role, Tensor, VarId};

use super::most::{count_here, shifted_by};
use super::piece::{Slab, make_room};
use crate::algebra::{preserves_fill, selected, without};
use crate::iterate::iterators::{AccessKey, level_var};
use crate::iterate::lattice::{Lattice, Point};
use crate::iterate::residual::nest;
use crate::lower::Lowerer;
use crate::lower::scope::{Fact, Scope};

/// Makes room for all values of a result, and gives the operands whose stored values become them, one each, in the loop over its rows;
/// `None`, and no room, if that is not known.
pub(in crate::lower) fn with_room(
    cx: &mut Lowerer<'_>,
    rows: VarId,
    body: &Stmt,
    result: &AccessKey,
    scope: &Scope,
) -> Option<Vec<AccessKey>> {
    let operands = copied(cx, rows, body, result)?;
    let size = cx.size(rows);
    let total = count_before(cx, result, &operands, size, scope)?;
    let total = cx.b.define("total", total);
    make_room(cx, result.tensor, total, scope);
    Some(operands)
}

/// The operands whose stored values become those of a result.
fn copied(cx: &Lowerer<'_>, rows: VarId, body: &Stmt, result: &AccessKey) -> Option<Vec<AccessKey>> {
    let kernel = cx.kernel;
    let is_plain =
        kernel.provenance.is_plain(rows) && kernel.pattern_of.is_none() && level_var(kernel, result, 0) == rows;
    if !is_plain || !has_rows(&kernel.tensors[result.tensor]) {
        return None;
    }
    let lattice = Lattice::build(kernel, body, rows).ok()?;
    let is_single = |point: &Point| point.0.count_ones() == 1;
    let is_apart = lattice.points == [Point::ALL] || lattice.points.iter().all(is_single);
    if lattice.is_coarse || !is_apart {
        return None;
    }
    let of = |point: &Point| copied_by(cx, rows, &lattice.residual(kernel, body, *point)?, result);
    lattice.points.iter().map(of).collect()
}

/// The operand whose rows a statement copies into those of the result.
fn copied_by(cx: &Lowerer<'_>, rows: VarId, stmt: &Stmt, result: &AccessKey) -> Option<AccessKey> {
    let (kernel, tensors) = (cx.kernel, &cx.kernel.tensors);
    let (loops, assign) = nest(stmt)?;
    let is_copy = assign.lhs.tensor == result.tensor
        && assign.op == AssignOp::Set
        && is_product(&assign.rhs)
        && preserves_fill(tensors, assign)
        && selected(tensors, assign).is_none();
    if !is_copy {
        return None;
    }
    let accesses = assign.rhs.accesses();
    let is_stored = |tensor: &Tensor| tensor.role == Role::Input && has_rows(tensor);
    let (stored, others): (Vec<_>, Vec<_>) =
        accesses.into_iter().partition(|access| is_stored(&tensors[access.tensor]));
    let [operand] = stored[..] else { return None };
    let key = AccessKey::from(operand);
    let (own, column) = (level_var(kernel, &key, 0), level_var(kernel, &key, 1));
    let is_tie = |tensor: &Tensor| tensor.role == Role::Indicator;
    let (ties, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|access| is_tie(&tensors[access.tensor]));
    let is_everywhere =
        |tensor: &Tensor| tensor.role == Role::Input && tensor.format.is_dense() && tensor.indicator.is_none();
    let is_shifted = match ties.as_slice() {
        [] => own == rows,
        [tie] => tie.vars == [rows, own] && shifted_by(kernel, own, rows).is_some(),
        _ => false,
    };
    let expected = if own == rows { vec![column] } else { vec![own, column] };
    let is_needed =
        |access: &Access| without(tensors, &assign.rhs, &|other: &Access| other.is_same_element(access)).is_absent();
    let is_exact = is_shifted
        && loops == expected
        && own != column
        && column == level_var(kernel, result, 1)
        && others.iter().all(|access| is_everywhere(&tensors[access.tensor]))
        && is_needed(operand)
        && ties.iter().all(|tie| is_needed(tie));
    is_exact.then_some(key)
}

/// True for a product of accesses and numbers, with signs and conversions.
fn is_product(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::Access(_) => true,
        ExprKind::Cast(a) | ExprKind::Unary(_, a) => is_product(a),
        ExprKind::Binary(_, a, b) => is_product(a) && is_product(b),
        ExprKind::Reduce(..) | ExprKind::Select(_) | ExprKind::Apply(..) => false,
    }
}

/// True for a matrix of compressed rows, all of whose coordinates are stored once.
fn has_rows(tensor: &Tensor) -> bool {
    let format = &tensor.format;
    let kinds: Vec<LevelKind> = format.levels().iter().map(|level| level.kind).collect();
    let is_unique = |level: &Level| level.properties().unique;
    format.map().is_none()
        && format.packing().is_none()
        && tensor.view.is_none()
        && kinds == [LevelKind::DENSE, LevelKind::COMPRESSED]
        && format.levels().iter().all(is_unique)
}

/// The number of values of the rows of a result before `end`, of which each is a copy of one of `operands`.
pub(in crate::lower) fn count_before(
    cx: &mut Lowerer<'_>,
    result: &AccessKey,
    operands: &[AccessKey],
    end: ExprId,
    scope: &Scope,
) -> Option<ExprId> {
    let zero = cx.b.int(0);
    let end = cx.b.binary(BinaryOp::Max, end, zero);
    let slab = Slab { tensor: result.tensor, first: zero, len: end, start: None };
    let scope = scope.with(Fact::Slab(slab));
    let mut all = zero;
    for operand in operands {
        let own = count_here(cx, result, operand, 1, &scope)?;
        all = cx.b.add(all, own);
    }
    Some(all)
}
