//! The format of each workspace.
//!
//! ```text
//! order 0                                            scalar
//! indices, with the values that they are of          dense
//! its consumer (for a dense result) or its producer
//! visits every coordinate of its variables anyway,
//! or it is as large as a dense result                dense
//! order 1, filled once, with few values beside its
//! dimension                                          sorted
//! filled again and again with sums, not looked up,
//! and of several dimensions, or of an enormous one   hashed
//! order 1, the dimension is not enormous, and its
//! consumer takes coordinates as they come            stamped
//! order 1, the dimension is not enormous, and it is
//! cheap to say beforehand how much is added, unless
//! it is filled once and begins with other than 0     bitmap
//! order 1, and the dimension is not enormous         marked
//! otherwise                                          sorted
//! ```
//!
//! Paper: Kjolstad et al. 2019, §5 (dense and coordinate-list workspaces); Zhang et al., *Compilation of Modular and
//! General Sparse Workspaces* (PLDI 2024), compare the kinds.

use lacunar_formats::Format;
use lacunar_notation::concrete::{Assign, Kernel, Stmt};
use lacunar_notation::{Access, AssignOp, Expr, ExprKind, Role, TensorId, UnaryFn, VarId, WorkspaceKind};

use crate::algebra::{Support, background, is_left_out, support};
use crate::iterate::additions::counted_over;
use crate::iterate::in_order::bounds_all;
use crate::iterate::iterators::{AccessKey, level_var, sparse_levels};
use crate::iterate::lattice::Lattice;
use crate::iterate::position_space::{original_loops, replaced_by};
use crate::iterate::reading::{is_read_as_it_comes, is_searched};

/// The largest dimension for which a workspace with something for each coordinate is made: up to 24 bytes.
pub(super) const MARKED_LIMIT: u64 = 1 << 27;
/// The most elements a dense workspace of known size may have.
const DENSE_LIMIT: u64 = 1 << 28;

/// A list that is sorted takes less than an array with a place for every coordinate, which is filled once, where it is so many
/// times shorter: bringing in the array's memory takes a nanosecond for 4 coordinates, an entry of the list some 10.
const SHORT: u64 = 32;

/// Chooses the kind and format of every workspace of a kernel.
pub(super) fn choose(kernel: &mut Kernel, notes: &mut Vec<String>) {
    let pending: Vec<TensorId> = kernel
        .tensors
        .iter()
        .filter(|(_, tensor)| tensor.role == Role::Workspace(WorkspaceKind::Sorted))
        .map(|(id, _)| id)
        .filter(|id| !kernel.provenance.stored.contains(id))
        .collect();
    for tensor in pending {
        let order = kernel.tensors[tensor].order();
        let elements = kernel.tensors[tensor].dims.iter().try_fold(1u64, |product, size| product.checked_mul((*size)?));
        let fits = |limit: u64| {
            kernel.tensors[tensor].dims.iter().any(Option::is_none) || elements.is_some_and(|n| n <= limit)
        };
        let visited = || visited_everywhere(kernel, &original_loops(kernel, &kernel.stmt), tensor);
        let known = || dense_result(kernel) || given_all_or_none(kernel, &kernel.stmt, tensor);
        let is_array = holds_pairs(kernel, tensor) || counts_iterations(kernel, tensor);
        let kind = if is_array || fits(DENSE_LIMIT) && (visited() && known() || is_whole_result(kernel, tensor)) {
            WorkspaceKind::Dense
        } else if is_hashed(kernel, tensor) {
            WorkspaceKind::Hashed
        } else if order == 1 && fits(MARKED_LIMIT) && !is_short(kernel, tensor) {
            match ends(&kernel.stmt, tensor) {
                Some((consumer, _)) if is_read_as_it_comes(kernel, &original_loops(kernel, consumer), tensor) => {
                    WorkspaceKind::Stamped
                }
                _ if is_counted(kernel, tensor)
                    && !(begins_with_values(kernel, tensor) && is_filled_once(kernel, tensor)) =>
                {
                    WorkspaceKind::Bitmap
                }
                _ => WorkspaceKind::Marked,
            }
        } else {
            WorkspaceKind::Sorted
        };
        let info = &mut kernel.tensors[tensor];
        info.role = Role::Workspace(kind);
        info.format = match kind {
            WorkspaceKind::Scalar | WorkspaceKind::Dense => Format::dense(order),
            WorkspaceKind::Marked | WorkspaceKind::Bitmap | WorkspaceKind::Stamped => Format::sv(),
            // In the order in which it is read.
            WorkspaceKind::Hashed | WorkspaceKind::Sorted => info.format.clone(),
        };
        let how = match kind {
            WorkspaceKind::Scalar => "a variable",
            WorkspaceKind::Dense => "a dense array: all of it is visited",
            WorkspaceKind::Marked => "a dense array with the list of its coordinates",
            WorkspaceKind::Bitmap => {
                "a dense array with marks that are read in order, or a list of its coordinates where few are added"
            }
            WorkspaceKind::Stamped => "a dense array with stamps, and the list of its coordinates as they come",
            WorkspaceKind::Hashed => "a list, with a table that finds the places of its coordinates",
            WorkspaceKind::Sorted => "a list that is sorted before it is read",
        };
        notes.push(format!("workspace `{}` is {how}", info.name));
    }
}

/// True if a workspace may be an array whatever it is given: its elements are not known to be too many, and the result has a place for each.
pub(super) fn may_be_array(kernel: &Kernel, tensor: TensorId) -> bool {
    let dims = &kernel.tensors[tensor].dims;
    let elements = dims.iter().try_fold(1u64, |product, size| product.checked_mul(size.unwrap_or(1)));
    dense_result(kernel) && elements.is_some_and(|elements| elements <= DENSE_LIMIT)
}

/// True if a table serves a workspace best: a loop fills it again and again, nobody looks its coordinates up, and an array cannot hold a
/// place for each of them. (An array takes half the time of a table for a million coordinates, and the same time for ten million.)
fn is_hashed(kernel: &Kernel, tensor: TensorId) -> bool {
    let Some((consumer, producer)) = ends(&kernel.stmt, tensor) else { return false };
    let info = &kernel.tensors[tensor];
    let is_large = match info.dims[..] {
        [] => false,
        [size] => size.is_some_and(|size| size > MARKED_LIMIT),
        _ => true,
    };
    let mut is_sum = false;
    producer.visit_assigns(&mut |assign| is_sum |= assign.lhs.tensor == tensor && assign.op != AssignOp::Set);
    is_large
        && is_sum
        && !is_filled_once(kernel, tensor)
        && !is_searched(kernel, &original_loops(kernel, consumer), tensor)
}

/// True if a workspace begins with values other than 0, which are written for every coordinate before it is filled.
fn begins_with_values(kernel: &Kernel, tensor: TensorId) -> bool {
    !kernel.tensors[tensor].fill().is_zero()
}

/// True if a workspace is filled once, outside of all loops.
fn is_filled_once(kernel: &Kernel, tensor: TensorId) -> bool {
    matches!(&kernel.stmt, Stmt::Where { producer, .. } if producer.writes().contains(&tensor))
}

/// True if a workspace is filled once, with so few values that a list of them is less work than its coordinates.
fn is_short(kernel: &Kernel, tensor: TensorId) -> bool {
    let (Some(size), Stmt::Where { producer, .. }) = (kernel.tensors[tensor].dims[0], &kernel.stmt) else {
        return false;
    };
    let mut most: Option<u64> = Some(0);
    producer.visit_assigns(&mut |assign| {
        let own = if assign.lhs.tensor == tensor { most_added(kernel, assign) } else { None };
        most = most.zip(own).and_then(|(sum, own)| sum.checked_add(own));
    });
    most.is_some_and(|most| most.saturating_mul(SHORT) <= size)
}

/// The most values that an assignment gives a workspace: those of an operand without which there are none, whose coordinates tell
/// all variables.
fn most_added(kernel: &Kernel, assign: &Assign) -> Option<u64> {
    let accesses = assign.rhs.accesses();
    let all = [assign.rhs.free_vars(), assign.lhs.vars.clone()].concat();
    let bounds = accesses.iter().filter(|by| bounds_all(&kernel.tensors, &assign.rhs, by, &all));
    bounds.filter_map(|by| kernel.tensors[by.tensor].nnz).min()
}

/// True if a workspace holds indices with the values that they are of.
fn holds_pairs(kernel: &Kernel, tensor: TensorId) -> bool {
    let mut holds = false;
    kernel.stmt.visit_assigns(&mut |assign| {
        let monoid = assign.op.monoid().filter(|_| assign.lhs.tensor == tensor);
        holds |= monoid.is_some_and(|monoid| monoid.compared().is_some());
    });
    holds
}

/// True if a workspace is over a variable that counts iterations, all of which have a place: of a strip, or of positions.
fn counts_iterations(kernel: &Kernel, tensor: TensorId) -> bool {
    let counts = |var: &VarId| kernel.provenance.is_made(*var);
    let mut found = false;
    kernel.stmt.visit_assigns(&mut |assign| found |= assign.lhs.tensor == tensor && assign.lhs.vars.iter().any(counts));
    found
}

/// True if a workspace is filled alone, and it is cheap to say beforehand how much is added to it.
fn is_counted(kernel: &Kernel, tensor: TensorId) -> bool {
    ends(&kernel.stmt, tensor)
        .is_some_and(|(_, producer)| fills_alone(producer, tensor) && counted_over(kernel, producer, tensor).is_some())
}

/// The consumer and the producer of a workspace: the innermost statement that fills it.
fn ends(stmt: &Stmt, tensor: TensorId) -> Option<(&Stmt, &Stmt)> {
    match stmt {
        Stmt::Assign(_) => None,
        Stmt::Forall(_, body) => ends(body, tensor),
        Stmt::Sequence(stmts) => stmts.iter().find_map(|stmt| ends(stmt, tensor)),
        Stmt::Where { consumer, producer } => {
            let here = || producer.writes().contains(&tensor).then_some((&**consumer, &**producer));
            ends(producer, tensor).or_else(|| ends(consumer, tensor)).or_else(here)
        }
    }
}

/// True if the consumer of a workspace visits every coordinate even if the workspace has nothing there, or its producer fills every
/// coordinate.
fn visited_everywhere(kernel: &Kernel, stmt: &Stmt, tensor: TensorId) -> bool {
    let Some((consumer, producer)) = ends(stmt, tensor) else { return false };
    let Some(vars) = workspace_vars(producer, tensor) else { return false };
    let loops_full = |stmt: &Stmt| vars.iter().all(|var| loop_is_full(kernel, stmt, *var));
    // If the result is appended to, it must be known which coordinates have a value: all, or none.
    (loops_full(consumer) && dense_result(kernel)) || (loops_full(producer) && fills_alone(producer, tensor))
}

/// True for a workspace of several dimensions that a dense result of the same dimensions is computed from. All of the result is
/// written in any case, and a list would be as long as it, and sorted.
fn is_whole_result(kernel: &Kernel, tensor: TensorId) -> bool {
    let Some((consumer, producer)) = ends(&kernel.stmt, tensor) else { return false };
    let Some(vars) = workspace_vars(producer, tensor) else { return false };
    let mut whole = vars.len() > 1;
    consumer.visit_assigns(&mut |assign| {
        let target = &kernel.tensors[assign.lhs.tensor];
        whole &= target.role == Role::Result && target.format.is_dense();
        whole &= vars.iter().all(|var| assign.lhs.vars.contains(var));
    });
    whole
}

fn workspace_vars(producer: &Stmt, tensor: TensorId) -> Option<Vec<VarId>> {
    let mut vars = None;
    producer.visit_assigns(&mut |assign| {
        if assign.lhs.tensor == tensor {
            vars = Some(assign.lhs.vars.clone());
        }
    });
    vars
}

fn dense_result(kernel: &Kernel) -> bool {
    kernel.tensors.iter().all(|(_, tensor)| tensor.role != Role::Result || tensor.format.is_dense())
}

/// True if a producer fills no other tensor.
fn fills_alone(producer: &Stmt, tensor: TensorId) -> bool {
    producer.writes() == [tensor]
}

/// True if the producer of a workspace, in the loops as they are, gives all coordinates a value if it gives any: it runs through
/// all of them, not only through strips that stand around.
fn given_all_or_none(kernel: &Kernel, stmt: &Stmt, tensor: TensorId) -> bool {
    let Some((_, producer)) = ends(stmt, tensor) else { return false };
    let Some(vars) = workspace_vars(producer, tensor) else { return false };
    let mut inside = Vec::new();
    loops(producer, &mut inside);
    vars.iter().all(|var| kernel.provenance.is_known(*var, &inside)) && all_or_none(kernel, producer, &vars, false)
}

/// The variables of all loops of a statement.
fn loops(stmt: &Stmt, found: &mut Vec<VarId>) {
    match stmt {
        Stmt::Assign(_) => {}
        Stmt::Forall(var, body) => {
            found.push(*var);
            loops(body, found);
        }
        Stmt::Where { consumer, producer } => {
            loops(consumer, found);
            loops(producer, found);
        }
        Stmt::Sequence(stmts) => stmts.iter().for_each(|stmt| loops(stmt, found)),
    }
}

/// True if a producer whose loops over `vars` are full gives each of their coordinates a value if it gives any: no sum is formed
/// inside of them, which may be over nothing at some, and no operand is stored at some of them only.
fn all_or_none(kernel: &Kernel, stmt: &Stmt, vars: &[VarId], inside: bool) -> bool {
    match stmt {
        Stmt::Assign(assign) => {
            let originals: Vec<VarId> = vars.iter().flat_map(|var| kernel.provenance.originals(*var)).collect();
            // A value that changes no sum is left out where nothing is stored, be it other than 0.
            let is_left_out = match assign.op {
                AssignOp::Set => false,
                AssignOp::Reduce(monoid) => background(&kernel.tensors, &assign.rhs)
                    .is_some_and(|found| found.absent && !found.value.is_zero() && is_left_out(monoid, found.value)),
            };
            let of_sparse = |access: &Access| !covers_access(kernel, access, &originals);
            covers(kernel, &assign.rhs, &originals)
                && !(is_left_out && assign.rhs.accesses().into_iter().any(of_sparse))
        }
        Stmt::Sequence(stmts) => stmts.iter().all(|stmt| all_or_none(kernel, stmt, vars, inside)),
        Stmt::Where { consumer, producer } => {
            all_or_none(kernel, consumer, vars, inside) && all_or_none(kernel, producer, vars, inside)
        }
        Stmt::Forall(leaf, body) => {
            let own = kernel.provenance.originals(*leaf).iter().all(|var| vars.contains(var));
            (own || !inside) && all_or_none(kernel, body, vars, inside || own)
        }
    }
}

/// True if an expression has a value at every coordinate of `vars` if it has one at any, whichever of its operands are stored at
/// the coordinates of the loops around: `A(i,j) * D(j,k)` in `k`, where `A` is sparse; not `A(i,j) + B(i,k)`.
fn covers(kernel: &Kernel, expr: &Expr, vars: &[VarId]) -> bool {
    // An expression that is present without its operands is never absent.
    let absent =
        |expr: &Expr| background(&kernel.tensors, expr).is_some_and(|found| found.absent && found.value.is_zero());
    match &expr.kind {
        ExprKind::Literal(_) => true,
        ExprKind::Access(access) => covers_access(kernel, access, vars),
        ExprKind::Cast(a) | ExprKind::Reduce(_, _, a) => covers(kernel, a, vars),
        // The values alone tell where something is.
        ExprKind::Unary(UnaryFn::Prune, _) => false,
        ExprKind::Unary(_, a) => !absent(expr) || covers(kernel, a, vars),
        ExprKind::Binary(function, a, b) => {
            let whole = (covers(kernel, a, vars), covers(kernel, b, vars));
            match support(&kernel.tensors, *function, a, b) {
                Support::Intersection => whole.0 && whole.1,
                Support::Left => whole.0,
                Support::Right => whole.1,
                Support::Union if absent(expr) || absent(a) || absent(b) => {
                    (whole.0 && (whole.1 || is_stored(kernel, a))) || (whole.1 && is_stored(kernel, b))
                }
                Support::Union => true,
            }
        }
        // The values alone tell which region it is.
        ExprKind::Apply(operator, _) if operator.omits() => false,
        ExprKind::Apply(_, operands) => operands.iter().all(|operand| covers(kernel, operand, vars)),
        ExprKind::Select(operands) => operands.iter().all(|operand| covers(kernel, operand, vars)),
    }
}

/// True if an operand is stored at every coordinate of `vars`.
fn covers_access(kernel: &Kernel, access: &Access, vars: &[VarId]) -> bool {
    let sparse = |(level, _)| vars.contains(&level_var(kernel, &AccessKey::from(access), level));
    !sparse_levels(kernel, access.tensor).any(sparse)
}

/// True if all operands of an expression are stored everywhere. Constants are, but for 0, which makes nothing present.
fn is_stored(kernel: &Kernel, expr: &Expr) -> bool {
    let accesses = expr.accesses();
    if accesses.is_empty() {
        return background(&kernel.tensors, expr).is_some_and(|found| !found.value.is_zero());
    }
    accesses.iter().all(|access| sparse_levels(kernel, access.tensor).next().is_none())
}

/// True if every loop over `var` in a statement visits every coordinate.
fn loop_is_full(kernel: &Kernel, stmt: &Stmt, var: VarId) -> bool {
    match stmt {
        Stmt::Assign(_) => true,
        Stmt::Sequence(stmts) => stmts.iter().all(|stmt| loop_is_full(kernel, stmt, var)),
        Stmt::Where { consumer, producer } => {
            loop_is_full(kernel, consumer, var) && loop_is_full(kernel, producer, var)
        }
        Stmt::Forall(other, body) if *other == var => {
            // Loops over the same positions fill and read the same places.
            replaced_by(kernel, var).is_some()
                || Lattice::build(kernel, body, var).is_ok_and(|lattice| lattice.is_full())
        }
        Stmt::Forall(_, body) => loop_is_full(kernel, body, var),
    }
}
