//! Skewed operands: if one row holds so much that chunks of rows cannot be balanced, threads share positions instead.
//!
//! ```text
//! y(i) = A(i,j) * x(j)      A: csr, its longest row an eighth of all values or more
//!   fuse(i, j, i_j), pos(i_j, at, A(i,j)), divide(at, chunk, place, 8 threads), parallelize(chunk, cpu, temporary)
//! ```
//!
//! Every chunk has equally many values, and a row that is cut is put together behind the loop. Paper: Senanayake et al.
//! 2020, §7.2 (position-split SpMV).
//!
//! Positions of nodes are in no order. There each thread goes through all rows, with a part of the coordinates of each: iterators begin by
//! a search.
//!
//! ```text
//! y(i) = A(i,j) * x(j)      A: d{bst}, a row that has much of it
//!   divide(j, chunk, place, 4 threads), reorder(chunk, i, place), parallelize(chunk, cpu, temporary)
//! ```

use lacunar_notation::concrete::Kernel;
use lacunar_notation::schedule::{CommandKind, Parts, Race, Schedule, Unit};
use lacunar_notation::{Access, Expr, ExprKind, VarId};

use super::commands::{commands, fresh, name};
use crate::iterate::iterators::{AccessKey, level_var, sparse_levels};
use crate::levels::is_searched;

/// The share of a tensor's values from which on its heaviest row upsets the balance, as one in this many.
const HEAVY: u64 = 16;

/// The fewest values for which balance matters: fewer are one thread's work.
const MANY: u64 = 1 << 17;

/// The most parts for each thread into which the coordinates of a level of nodes are cut.
const PARTS: u64 = 4;

/// The number of values that have as much work as a few elements of a copy.
const COPIED: u64 = 4;

/// A schedule over positions for `lhs = flat`, if its only sparse operand is skewed.
pub(super) fn schedule(kernel: &Kernel, lhs: &Access, flat: &Expr) -> Option<Schedule> {
    let info = &kernel.tensors[only_sparse(kernel, flat)?.tensor];
    let heavy = info.nnz? >= MANY && info.heaviest?.saturating_mul(HEAVY) >= info.nnz?;
    if heavy { over_positions(kernel, lhs, flat).or_else(|| over_coordinates(kernel, lhs, flat)) } else { None }
}

/// The one access to a sparse operand, if there is one only.
pub(super) fn only_sparse<'e>(kernel: &Kernel, expr: &'e Expr) -> Option<&'e Access> {
    let mut sparse = expr.accesses().into_iter().filter(|access| sparse_levels(kernel, access.tensor).next().is_some());
    match (sparse.next(), sparse.next()) {
        (only, None) => only,
        _ => None,
    }
}

/// The variables of the levels of the one sparse operand of `lhs = flat`, if they begin with the result's.
fn vars_of<'e>(kernel: &Kernel, lhs: &Access, flat: &'e Expr) -> Option<(&'e Access, Vec<VarId>)> {
    let ExprKind::Reduce(_, summed, _) = &flat.kind else { return None };
    let format = &kernel.tensors[lhs.tensor].format;
    let access = only_sparse(kernel, flat)?;
    let key = AccessKey::from(access);
    let vars: Vec<VarId> = (0..key.vars.len()).map(|level| level_var(kernel, &key, level)).collect();
    // The result's variables come first, the summed ones last, and the result can be added to in place.
    let kept = vars.iter().take_while(|var| lhs.vars.contains(var)).count();
    let follows = kept > 0 && kept < vars.len() && vars[kept..].iter().all(|var| summed.contains(var));
    let whole = flat.free_vars().iter().chain(summed).all(|var| vars.contains(var) || lhs.vars.contains(var));
    if !follows || !whole || !format.is_dense() || lhs.vars.iter().any(|var| !flat.free_vars().contains(var)) {
        return None;
    }
    Some((access, vars))
}

/// A schedule over parts of the innermost coordinates for `lhs = flat`, if its one sparse operand has nodes there that can be searched.
fn over_coordinates(kernel: &Kernel, lhs: &Access, flat: &Expr) -> Option<Schedule> {
    let (access, vars) = vars_of(kernel, lhs, flat)?;
    let tensor = &kernel.tensors[access.tensor];
    let level = tensor.format.levels().last()?;
    if level.kind.schema().is_none() || !is_searched(*level) || lhs.vars.iter().any(|var| !vars.contains(var)) {
        return None;
    }
    let (last, above) = vars.split_last()?;
    // Each part has a copy of the result.
    let elements = lhs.vars.iter().try_fold(1u64, |all, var| all.checked_mul(kernel.vars[*var].size?))?;
    let parts = (tensor.nnz? / elements.max(1) / COPIED).clamp(1, PARTS);
    let named = |var: VarId| name(kernel, var);
    let (chunk, place) = (fresh(kernel, "chunk"), fresh(kernel, "place"));
    let order = [chunk.clone()].into_iter().chain(above.iter().copied().map(named)).chain([place.clone()]);
    let kinds = [
        CommandKind::Reorder(vars.iter().copied().map(named).collect()),
        CommandKind::Divide { var: named(*last), outer: chunk.clone(), inner: place, parts: Parts::PerThread(parts) },
        CommandKind::Reorder(order.collect()),
        CommandKind::Parallelize { var: chunk, unit: Unit::CpuThread, race: Race::Temporary },
    ];
    Some(Schedule { commands: commands(kinds) })
}

/// A schedule over positions for `lhs = flat`, if it has one sparse operand whose levels begin with the result's variables.
pub(super) fn over_positions(kernel: &Kernel, lhs: &Access, flat: &Expr) -> Option<Schedule> {
    let (access, vars) = vars_of(kernel, lhs, flat)?;
    if kernel.tensors[access.tensor].format.levels().iter().any(|level| level.kind.schema().is_some()) {
        return None;
    }
    let named = |var: VarId| name(kernel, var);
    let inner: Vec<VarId> = lhs.vars.iter().copied().filter(|var| !vars.contains(var)).collect();
    let mut kinds = vec![CommandKind::Reorder(vars.iter().chain(&inner).copied().map(named).collect())];
    let mut fused = named(vars[0]);
    for &var in &vars[1..] {
        let joined = fresh(kernel, &format!("{}_{}", fused.text, kernel.vars[var].name));
        kinds.push(CommandKind::Fuse { outer: fused, inner: named(var), fused: joined.clone() });
        fused = joined;
    }
    let (at, chunk, place) = (fresh(kernel, "at"), fresh(kernel, "chunk"), fresh(kernel, "place"));
    kinds.push(CommandKind::Pos { var: fused, position: at.clone(), access: access.clone() });
    kinds.push(CommandKind::Divide { var: at, outer: chunk.clone(), inner: place.clone(), parts: Parts::PerThread(8) });
    kinds.push(CommandKind::Parallelize { var: chunk, unit: Unit::CpuThread, race: Race::Temporary });
    // The positions of a row are added up in a variable, by lanes.
    let has_rows = kernel.tensors[access.tensor].format.levels().last().is_some_and(|level| !level.properties().single);
    if inner.is_empty() && has_rows {
        kinds.push(CommandKind::Parallelize { var: place, unit: Unit::CpuVector, race: Race::Ignore });
    }
    Some(Schedule { commands: commands(kinds) })
}
