//! Results to each place of which one term of a sum adds a value, once: it is set, and need not be 0 before.
//!
//! ```text
//! X(t,i) = F(t,i) + G(p(t),i - 4)      F of 4 columns, G of 3, X of 7
//!   forall(t, forall(i_at, forall(i, X(t,i) += [i_at == i] * F(t,i_at))))                              columns 0 .. 4
//!   forall(i_at2, forall(t, forall(p_at, forall(i, X(t,i) += [p_at == p(t)] * [i_at2 == i - 4] * ..))))   columns 4 .. 7
//! ```
//!
//! Each term goes through whole dimensions of the result, but for one, of which an equation with a variable that is summed over leaves an
//! interval, and to each place of it once. Other variables that are summed over have one value each, which a gather tells.
//!
//! On entry: loops over variables of the statement, or strips of them, with sizes of the kernel that are numbers.

use lacunar_notation::concrete::{Assign, Kernel, Stmt};
use lacunar_notation::provenance::Relation;
use lacunar_notation::schedule::{Race, Unit};
use lacunar_notation::{Access, BinaryFn, Expr, ExprKind, Indicator, VarId};

use super::{Lowerer, region};
use crate::iterate::iterators::AccessKey;
use crate::iterate::lattice::Lattice;
use crate::iterate::position_space::original_loops;

/// The loops around an assignment, with their bodies.
type Loops<'s> = Vec<(VarId, &'s Stmt)>;

/// A part of a result: all of it, but for an interval of one of its variables.
type Part = (VarId, (u64, u64));

/// True if the assignments of a kernel go to each place of its result once together.
pub(super) fn writes_once(cx: &Lowerer<'_>, result: &AccessKey) -> bool {
    let kernel = cx.kernel;
    let mut parts = Vec::new();
    let is_cut = |relation: &Relation| matches!(relation, Relation::Split { .. } | Relation::Divide { .. });
    let is_plain = kernel.provenance.relations.iter().all(is_cut) && !has_copies(kernel);
    let loops = original_loops(kernel, &kernel.stmt);
    if !is_plain || !parts_of(cx, &loops, result, &mut Vec::new(), &mut parts) {
        return false;
    }
    parts.sort_by_key(|(_, interval)| *interval);
    let Some(&(var, _)) = parts.first() else { return false };
    let mut end = 0;
    for (own, (low, high)) in &parts {
        if *own != var || *low != end {
            return false;
        }
        end = *high;
    }
    parts.len() > 1 && Some(end) == size(cx, var)
}

/// True if threads add to copies of a result, which are added up in the end: each place is written more than once.
pub(super) fn has_copies(kernel: &Kernel) -> bool {
    let is_copied =
        |var: VarId| matches!(kernel.provenance.parallel(var), Some((Unit::CpuThread, race)) if race != Race::None);
    kernel.provenance.tags.iter().any(|(var, _)| is_copied(*var))
}

/// Collects the parts of a result that assignments write; false if one of them is not known, or comes to a place more than once.
fn parts_of<'s>(
    cx: &Lowerer<'_>,
    stmt: &'s Stmt,
    result: &AccessKey,
    around: &mut Loops<'s>,
    parts: &mut Vec<Part>,
) -> bool {
    match stmt {
        Stmt::Assign(assign) => {
            let part = part_of(cx, assign, around).filter(|_| AccessKey::from(&assign.lhs) == *result);
            parts.extend(part);
            part.is_some()
        }
        Stmt::Forall(var, body) => {
            around.push((*var, body));
            let are_known = parts_of(cx, body, result, around, parts);
            around.pop();
            are_known
        }
        Stmt::Where { .. } => false,
        Stmt::Sequence(stmts) => stmts.iter().all(|stmt| parts_of(cx, stmt, result, around, parts)),
    }
}

/// The part of a result that an assignment sets, each place of it once.
fn part_of(cx: &Lowerer<'_>, assign: &Assign, around: &Loops<'_>) -> Option<Part> {
    let kernel = cx.kernel;
    let vars = &assign.lhs.vars;
    let indicators = factors(kernel, &assign.rhs)?;
    let (mut tied, mut told) = (None, Vec::new());
    for (key, indicator) in &indicators {
        match indicator {
            Indicator::Equation(equation) => {
                let place = key.vars.iter().position(|var| vars.contains(var)).filter(|_| key.vars.len() == 2)?;
                let (own, other) = (key.vars[place], key.vars[1 - place]);
                let sizes = [size(cx, key.vars[0])?, size(cx, key.vars[1])?];
                let is_unit = equation.factors.iter().all(|factor| factor.abs() == 1);
                let is_first = tied.is_none() && is_unit && !vars.contains(&other);
                tied = Some((own, other, equation.solvable(place, &sizes)?)).filter(|_| is_first);
                tied?;
            }
            Indicator::Gather(gather) if gather.border().is_none() => told.push(*key.vars.last()?),
            Indicator::Gather(_) | Indicator::Inequality(_) => return None,
        }
    }
    let (own, other, interval) = tied?;
    let is_summed = |var: VarId| !vars.contains(&var) && var != other;
    let is_once = |var: &VarId| around.iter().filter(|(loop_var, _)| loop_var == var).count() == 1;
    let all = around.iter().all(|(var, body)| {
        let Ok(lattice) = Lattice::build(kernel, body, *var) else { return false };
        let mut iterators = lattice.iterators.iter().chain(&lattice.confining);
        let are_known = iterators.all(|it| indicators.iter().any(|(key, _)| *key == it.access));
        let is_one = !is_summed(*var) || told.iter().filter(|own| *own == var).count() == 1;
        are_known && lattice.points.len() == 1 && is_one && is_once(var) && !region::leaves_out(kernel, *var)
    });
    let has_all = vars.iter().chain([&other]).chain(&told).all(is_once);
    let is_apart = (1..vars.len()).all(|place| !vars[..place].contains(&vars[place]));
    // A variable that is told follows from those of the result.
    let is_told = indicators.iter().all(|(key, indicator)| {
        let Some((_, others)) = key.vars.split_last() else { return false };
        matches!(indicator, Indicator::Equation(_)) || others.iter().all(|var| vars.contains(var) && *var != own)
    });
    let adds = assign.op.monoid().is_none_or(|monoid| monoid.compared().is_none());
    (all && has_all && is_apart && is_told && adds).then_some((own, interval))
}

/// The indicators that are factors of a value, all other operands of which have a value everywhere. `None` if it is no product of such.
fn factors<'k>(kernel: &'k Kernel, expr: &Expr) -> Option<Vec<(AccessKey, &'k Indicator)>> {
    match &expr.kind {
        ExprKind::Binary(BinaryFn::Mul, a, b) => Some([factors(kernel, a)?, factors(kernel, b)?].concat()),
        ExprKind::Cast(inner) => factors(kernel, inner),
        ExprKind::Access(access) => match kernel.tensors[access.tensor].indicator.as_deref() {
            Some(indicator) => Some(vec![(AccessKey::from(access), indicator)]),
            None => Some(Vec::new()),
        },
        _ => {
            let is_dense = |access: &&Access| kernel.tensors[access.tensor].indicator.is_none();
            (expr.reduced_vars().is_empty() && expr.accesses().iter().all(is_dense)).then(Vec::new)
        }
    }
}

/// The size of a variable, if it is a number in the kernel.
fn size(cx: &Lowerer<'_>, var: VarId) -> Option<u64> {
    cx.b.as_const(cx.size(var)).map(|size| size.bits)
}
