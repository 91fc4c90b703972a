//! An upper bound of the positions that are appended to a result, if operands tell one: room for them is made once.
//!
//! ```text
//! C(i,j) = A(i,j) * x(i)        as many as the rows have that are assembled: A2_pos[end] - A2_pos[begin]
//! C(i,j) = A(i,j) + B(i,j)      those of both
//! C(i,j) = A(i + 1,j)           those of the rows behind
//! ```
//!
//! On entry: a result, or a piece of it (`slab`), that loops append to. The bound holds for whatever order they are in.

use lacunar_formats::Properties;
use lacunar_imp::{BinaryOp, ExprId};
use lacunar_notation::concrete::Kernel;
use lacunar_notation::{Access, Expr, ExprKind, Indicator, Role, TensorId, VarId};

use super::append::Append;
use crate::algebra::{Support, choice, preserves_fill, support};
use crate::iterate::in_order::bounds_all;
use crate::iterate::iterators::{AccessKey, level_var};
use crate::lower::Lowerer;
use crate::lower::scope::Scope;
use crate::lower::storage::{code, count_positions, descend};
use crate::operators::visited;

/// The largest number of positions that the innermost group of a result can get, where the operands tell.
pub(super) fn most_appended(cx: &mut Lowerer<'_>, append: &Append, scope: &Scope) -> Option<ExprId> {
    let tail = append.groups.last()?.tail;
    let vars: Vec<VarId> = (0..=tail).map(|level| level_var(cx.kernel, &append.access, level)).collect();
    most_assigned(cx, append, append.access.tensor, &vars, scope)
}

/// The number of combinations of `vars` that a tensor can be given values at.
fn most_assigned(
    cx: &mut Lowerer<'_>,
    append: &Append,
    tensor: TensorId,
    vars: &[VarId],
    scope: &Scope,
) -> Option<ExprId> {
    let mut filled = None;
    cx.kernel.stmt.visit_assigns(&mut |assign| {
        if assign.lhs.tensor == tensor {
            filled = Some(assign);
        }
    });
    let filled = filled.filter(|assign| preserves_fill(&cx.kernel.tensors, assign))?;
    match most_told(cx, append, &filled.rhs, vars, scope) {
        Some(most) => Some(most),
        None => most_of(cx, append, &filled.rhs, vars, scope),
    }
}

/// The number of values of an operand whose coordinates tell all of `vars`, not all of which are its own.
fn most_told(cx: &mut Lowerer<'_>, append: &Append, expr: &Expr, vars: &[VarId], scope: &Scope) -> Option<ExprId> {
    let tensors = &cx.kernel.tensors;
    let tells = |access: &&&Access| {
        let tensor = &tensors[access.tensor];
        let is_stored = tensor.role == Role::Input && tensor.format.map().is_none();
        let is_sparse = tensor.format.levels().last().is_some_and(|level| {
            let Properties { full, compact, shared, .. } = level.properties();
            !full && compact && !shared
        });
        let is_own = vars.iter().all(|var| access.vars.contains(var));
        is_stored && is_sparse && !is_own && bounds_all(tensors, expr, access, vars)
    };
    let accesses = expr.accesses();
    let key = accesses.iter().find(tells).map(|access| AccessKey::from(*access))?;
    let innermost = key.vars.len().checked_sub(1)?;
    count_here(cx, &append.access, &key, innermost, scope)
}

/// The number of combinations of `vars` at which an expression can differ from its background, if these are restricted to stored
/// ones.
fn most_of(cx: &mut Lowerer<'_>, append: &Append, expr: &Expr, vars: &[VarId], scope: &Scope) -> Option<ExprId> {
    match &expr.kind {
        ExprKind::Literal(_) => Some(cx.b.int(0)),
        ExprKind::Cast(a) | ExprKind::Unary(_, a) | ExprKind::Reduce(_, _, a) => most_of(cx, append, a, vars, scope),
        ExprKind::Binary(function, a, b) => {
            let most = (most_of(cx, append, a, vars, scope), most_of(cx, append, b, vars, scope));
            match (support(&cx.kernel.tensors, *function, a, b), most.0, most.1) {
                (Support::Intersection, Some(a), Some(b)) => Some(cx.b.binary(BinaryOp::Min, a, b)),
                (Support::Intersection, one, other) => one.or(other),
                (Support::Left, one, _) | (Support::Right, _, one) => one,
                (Support::Union, Some(a), Some(b)) => Some(cx.b.add(a, b)),
                (Support::Union, ..) => None,
            }
        }
        ExprKind::Apply(operator, operands) => {
            let visited = visited(&cx.kernel.tensors, *operator, operands);
            let most: Vec<Option<ExprId>> =
                operands.iter().map(|operand| most_of(cx, append, operand, vars, scope)).collect();
            let mut sum = cx.b.int(0);
            for set in visited.demanded(operands.len()) {
                let known = set.into_iter().filter_map(|k| most[k]);
                let least = known.reduce(|a, b| cx.b.binary(BinaryOp::Min, a, b))?;
                sum = cx.b.add(sum, least);
            }
            Some(sum)
        }
        ExprKind::Select(operands) => {
            let (usual, other) = {
                let chosen = choice(&cx.kernel.tensors, operands);
                (chosen.usual, chosen.is_same.then_some(chosen.other))
            };
            let usual = most_of(cx, append, usual, vars, scope)?;
            let condition = most_of(cx, append, &operands[0], vars, scope);
            let other = match other {
                Some(other) => most_of(cx, append, other, vars, scope),
                None => None,
            };
            let other = match (condition, other) {
                (Some(a), Some(b)) => cx.b.binary(BinaryOp::Min, a, b),
                (one, other) => one.or(other)?,
            };
            Some(cx.b.add(usual, other))
        }
        ExprKind::Access(access) => {
            let key = AccessKey::from(access);
            if matches!(cx.kernel.tensors[access.tensor].role, Role::Workspace(_)) {
                return most_assigned(cx, append, access.tensor, vars, scope);
            }
            // For a relation with other variables, more places are computed than the result has.
            let is_computed = cx.kernel.tensors[access.tensor].role == Role::Indicator;
            if is_computed && !access.vars.iter().all(|var| vars.contains(var)) {
                return None;
            }
            let at = |var: &VarId| (0..key.vars.len()).find(|level| level_var(cx.kernel, &key, *level) == *var);
            let deepest = vars.iter().map(at).collect::<Option<Vec<usize>>>()?.into_iter().max()?;
            // More than the tensor has, if dense levels are among them.
            let levels = cx.kernel.tensors[access.tensor].format.levels();
            let is_sparse = |level: usize| {
                let Properties { full, compact, shared, .. } = levels[level].properties();
                !full && compact && !shared
            };
            let is_stored = is_sparse(deepest) && (1..deepest).all(is_sparse);
            is_stored.then(|| count_here(cx, &append.access, &key, deepest, scope)).flatten()
        }
    }
}

/// The number of positions of a level of an operand that belong to the result or piece assembled here: all of them, or those of the
/// rows of a slab. `None` if the slab says nothing of them.
pub(super) fn count_here(
    cx: &mut Lowerer<'_>,
    result: &AccessKey,
    access: &AccessKey,
    level: usize,
    scope: &Scope,
) -> Option<ExprId> {
    let Some(slab) = scope.slab() else { return count_positions(cx, access, level, scope) };
    let is_dense = |tensor: TensorId| cx.kernel.tensors[tensor].format.levels()[0].properties().full;
    let has_rows = code(cx, result.tensor, scope).levels.len() > 1 && level > 0;
    if !has_rows || !is_dense(access.tensor) || !is_dense(result.tensor) {
        return None;
    }
    let (row, own) = (level_var(cx.kernel, result, 0), level_var(cx.kernel, access, 0));
    let end = cx.b.add(slab.first, slab.len);
    let rows = match own == row {
        true => (slab.first, end),
        false => {
            let shift = shifted_by(cx.kernel, own, row)?;
            let (shift, zero, size) = (cx.b.int(shift), cx.b.int(0), cx.size(own));
            let mut inside = |row: ExprId| {
                let shifted = cx.b.add(row, shift);
                let least = cx.b.binary(BinaryOp::Max, shifted, zero);
                cx.b.binary(BinaryOp::Min, least, size)
            };
            (inside(slab.first), inside(end))
        }
    };
    let (begin, end) = descend(cx, access, 1..=level, rows, scope).ok()?;
    Some(cx.b.sub(end, begin))
}

/// The difference of a variable from another one, if an equation of the kernel fixes it.
pub(super) fn shifted_by(kernel: &Kernel, own: VarId, other: VarId) -> Option<i64> {
    let mut found = None;
    kernel.stmt.visit_assigns(&mut |assign| {
        for access in assign.rhs.accesses().into_iter().filter(|access| access.vars == [other, own]) {
            if let Some(Indicator::Equation(equation)) = kernel.tensors[access.tensor].indicator.as_deref()
                && equation.factors == [1, -1]
            {
                found = Some(equation.constant);
            }
        }
    });
    found
}
