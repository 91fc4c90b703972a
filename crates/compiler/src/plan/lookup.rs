//! Intersections by look-up: an operand that stays the same while another one changes is entered into a workspace once, and
//! the coordinates of the other one are looked up there.
//!
//! ```text
//! t = L(i,j) * L(j,k) * L(i,k)      for each i, row i meets every row j it names
//!   reorder(i, j, k), precompute(L(i,k), k, k, marked), parallelize(i, cpu, temporary)
//!   ->  forall(i, where(forall(j, forall(k, t += L(i,j) * L(j,k) * w(k))), forall(k, w(k) = L(i,k))))
//! ```
//!
//! A two-finger merge walks through row i again for each j; this walks through it once. Hand-written triangle counts and masked
//! products work so (Davis, *Algorithm 1000: SuiteSparse:GraphBLAS*, TOMS 2019).

use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::schedule::{CommandKind, Race, Schedule, Unit};
use lacunar_notation::{Access, AssignOp, Expr, ExprKind, Role, WorkspaceKind};

use super::commands::{in_order, name};
use super::given::flat_nest;
use super::order::choose;
use super::traffic::Memory;
use super::{Search, storage};
use crate::iterate::iterators::{AccessKey, level_var, sparse_levels};
use crate::iterate::lattice::Lattice;

/// A schedule for `lhs = flat` that looks up the innermost coordinates, if there is such an intersection.
pub(super) fn schedule(kernel: &Kernel, lhs: &Access, flat: &Expr, memory: Memory) -> Option<Schedule> {
    let ExprKind::Reduce(monoid, _, body) = &flat.kind else { return None };
    if !kernel.tensors[lhs.tensor].format.is_dense() {
        return None;
    }
    let order = choose(kernel, lhs, flat, Search::Cost, memory).order;
    let (&innermost, outer) = order.split_last()?;
    let &changing = outer.last()?;
    if lhs.vars.contains(&innermost)
        || kernel.vars[innermost].size.is_some_and(|size| size > super::workspaces::MARKED_LIMIT)
    {
        return None;
    }
    // Nothing is converted: the tensor that is looked up is met in the order of its storage. Comparisons of coordinates are
    // evaluated wherever the loops stand.
    let is_computed = |access: &Access| kernel.tensors[access.tensor].role == Role::Indicator;
    let concordant = flat
        .accesses()
        .into_iter()
        .all(|access| is_computed(access) || storage::is_concordant(kernel, &AccessKey::from(access), &order));
    let Stmt::Forall(..) = flat_nest(lhs, AssignOp::Reduce(*monoid), flat, &order)? else { return None };
    let inner = Stmt::Assign(lacunar_notation::concrete::Assign {
        lhs: lhs.clone(),
        op: AssignOp::Reduce(*monoid),
        rhs: (**body).clone(),
    });
    let lattice = Lattice::build(kernel, &inner, innermost).ok()?;
    if !concordant || lattice.points.len() != 1 || lattice.iterators.len() < 2 {
        return None;
    }
    let deepest = |access: &Access| {
        let key = AccessKey::from(access);
        let last = sparse_levels(kernel, access.tensor).last().map(|(level, _)| level);
        let ends_inside = |last| last + 1 == key.vars.len() && level_var(kernel, &key, last) == innermost;
        !is_computed(access) && last.is_some_and(ends_inside)
    };
    let same = |access: &&Access| {
        kernel.tensors[access.tensor].role == Role::Input && deepest(access) && !access.vars.contains(&changing)
    };
    let accesses = body.accesses();
    let looked_up = accesses.iter().copied().find(same)?;
    let walked = accesses.iter().any(|access| deepest(access) && access.vars.contains(&changing));
    let dtype = kernel.tensors[looked_up.tensor].dtype;
    let part = Expr { kind: ExprKind::Access(looked_up.clone()), dtype, span: looked_up.span };
    let race = if lhs.vars.contains(&order[0]) { Race::None } else { Race::Temporary };
    let kinds = [
        CommandKind::Precompute {
            expr: part,
            vars: vec![name(kernel, innermost)],
            into: vec![name(kernel, innermost)],
            kind: Some(WorkspaceKind::Marked),
        },
        CommandKind::Parallelize { var: name(kernel, order[0]), unit: Unit::CpuThread, race },
    ];
    walked.then(|| in_order(kernel, &order, kinds))
}
