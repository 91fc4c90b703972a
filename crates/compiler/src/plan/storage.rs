//! The storage that an order of loops needs: operands are visited from the outer level to the inner one, and results are appended
//! to in the order of their levels.

use lacunar_formats::{Format, IndexWidth, Level};
use lacunar_notation::concrete::{Assign, Kernel, Stmt};
use lacunar_notation::{Access, AssignOp, Expr, Role, Tensor, TensorId, VarId, WorkspaceKind};

use super::convert::rename;
use crate::concretize::turn;
use crate::iterate::iterators::{AccessKey, Iterator, Mode, level_var};
use crate::iterate::lattice::Lattice;
use crate::levels::{is_iterated, is_searched};

/// True if the loops reach every iterated level of an access after the levels above it.
pub(super) fn is_concordant(kernel: &Kernel, access: &AccessKey, order: &[VarId]) -> bool {
    let tensor = &kernel.tensors[access.tensor];
    if matches!(tensor.role, Role::Workspace(WorkspaceKind::Scalar | WorkspaceKind::Dense)) {
        return true;
    }
    let turns: Vec<usize> = tensor.format.mode_order().iter().map(|&mode| turn(order, access.vars[mode])).collect();
    tensor
        .format
        .levels()
        .iter()
        .enumerate()
        .all(|(level, kind)| kind.properties().full || turns[..level].iter().all(|above| *above <= turns[level]))
}

/// True if the loops reach all levels of a tensor that is walked through by stored dimensions in their order.
pub(super) fn is_walked_in_order(kernel: &Kernel, access: &AccessKey, order: &[VarId]) -> bool {
    let tensor = &kernel.tensors[access.tensor];
    let turns: Vec<usize> = tensor.format.mode_order().iter().map(|&mode| turn(order, access.vars[mode])).collect();
    !is_walked(kernel, access) || turns.is_sorted()
}

/// True if a tensor is walked through by the stored dimensions of a format with a map.
pub(super) fn is_walked(kernel: &Kernel, access: &AccessKey) -> bool {
    kernel.tensors[access.tensor].view.as_ref().is_some_and(|view| view.format.map().is_some())
}

/// The accesses that loops in an order cannot follow, each with a format that they can: those whose storage order they
/// contradict, and those with a level that they cannot walk through.
pub(super) fn discordant(kernel: &Kernel, lhs: &Access, rhs: &Expr, order: &[VarId]) -> Vec<(AccessKey, Format)> {
    let mut found: Vec<(AccessKey, Format)> = Vec::new();
    for access in rhs.accesses() {
        let key = AccessKey::from(access);
        if found.iter().any(|(known, _)| *known == key) {
            continue;
        }
        let format = &kernel.tensors[key.tensor].format;
        if !is_concordant(kernel, &key, order) {
            let format = concordant_format(kernel, &key, order);
            found.push((key, format));
        } else if !format.is_plain() && !is_followed(kernel, lhs, rhs, &key, order) {
            let format = format.plain();
            found.push((key, format));
        }
    }
    // An operand that is converted may have led the loop through all coordinates, at which another one was looked up.
    let is_settled = |access: &&Access| {
        kernel.tensors[access.tensor].format.is_plain() || found.iter().any(|(key, _)| *key == AccessKey::from(*access))
    };
    if !found.is_empty() && !rhs.accesses().iter().all(is_settled) {
        let (mut kernel, mut rhs) = (kernel.clone(), rhs.clone());
        for (key, format) in &found {
            let own = Tensor { format: format.clone(), ..kernel.tensors[key.tensor].clone() };
            let made = match own.is_in_any_order() {
                true => own,
                false => Tensor { role: Role::Input, indicator: None, ..own },
            };
            let made = kernel.tensors.push(made);
            rhs = rename(rhs, &|access| (AccessKey::from(access) == *key).then_some(made));
        }
        found.extend(discordant(&kernel, lhs, &rhs, order));
    }
    found
}

/// True if loops in an order can follow an access at all, be it by trying every coordinate of a dimension.
pub(super) fn can_be_walked(kernel: &Kernel, access: &AccessKey, order: &[VarId]) -> bool {
    let format = &kernel.tensors[access.tensor].format;
    let is_reached = |level: &Level| level.properties().full || level.capabilities().iterate() || is_searched(*level);
    is_concordant(kernel, access, order) && (format.is_plain() || format.levels().iter().all(is_reached))
}

/// True if kernels can walk through the levels of an access that are not plain: coordinates are enumerated in order, or they are
/// looked up and something else names them, so that no loop has to try every coordinate of the dimension. Coordinates that can
/// not be looked up are enumerated in no order, where nothing demands one.
fn is_followed(kernel: &Kernel, lhs: &Access, rhs: &Expr, key: &AccessKey, order: &[VarId]) -> bool {
    kernel.tensors[key.tensor].format.levels().iter().enumerate().all(|(level, &kind)| {
        if kind.properties().full || is_iterated(kind) {
            return kind.capabilities().iterate();
        }
        let var = level_var(kernel, key, level);
        if is_searched(kind) {
            let assign = Assign { lhs: lhs.clone(), op: AssignOp::Set, rhs: rhs.clone() };
            let lattice = Lattice::build(kernel, &Stmt::Assign(assign), var);
            return lattice.is_ok_and(|lattice| lattice.is_full() || !lattice.visits_all());
        }
        // Inside of a sum, values are scattered into a workspace, which has an order of its own.
        let is_scattered = order.iter().take_while(|other| **other != var).any(|other| !lhs.vars.contains(other));
        let vars = lhs.vars.iter().copied().filter(|own| !is_scattered || *own != var).collect();
        let lhs = Access { vars, ..lhs.clone() };
        let assign = Assign { lhs, op: AssignOp::Set, rhs: rhs.clone() };
        is_enumerated(kernel, &Stmt::Assign(assign), var, (key, level))
    })
}

/// True if the loop over a variable goes through the coordinates of a level one by one.
fn is_enumerated(kernel: &Kernel, body: &Stmt, var: VarId, (key, level): (&AccessKey, usize)) -> bool {
    Lattice::build(kernel, body, var).is_ok_and(|lattice| {
        let own = |it: &Iterator| it.access == *key && it.level == level && it.mode == Mode::Coiterate;
        lattice.iterators.iter().any(own)
    })
}

/// True if loops come to a level of an access by trying every coordinate of a dimension that has many more than are stored. A
/// schedule has then cut a loop that could only be enumerated in no order.
pub(super) fn is_tried(kernel: &Kernel, assign: &Assign, key: &AccessKey) -> bool {
    let body = Stmt::Assign(assign.clone());
    let levels = kernel.tensors[key.tensor].format.levels().iter().enumerate();
    levels.into_iter().any(|(level, &kind)| {
        let looked_up = !kind.properties().full && !is_iterated(kind);
        if looked_up && !is_searched(kind) {
            return !is_enumerated(kernel, &body, level_var(kernel, key, level), (key, level));
        }
        looked_up && is_spread_out(kernel, key, level) && {
            let lattice = Lattice::build(kernel, &body, level_var(kernel, key, level));
            lattice.is_ok_and(|lattice| lattice.visits_all() && !lattice.is_full())
        }
    })
}

/// True if a variable's loop goes through a level whose coordinates are in no order, and which has many times more places than are
/// stored: the loop would try all of these, if it were cut.
pub(super) fn is_in_no_order(kernel: &Kernel, body: &Stmt, var: VarId) -> bool {
    Lattice::build(kernel, body, var).is_ok_and(|lattice| {
        lattice.iterators.iter().any(|iterator| {
            let kind = kernel.tensors[iterator.access.tensor].format.levels()[iterator.level];
            iterator.mode == Mode::Coiterate
                && kernel.tensors[iterator.access.tensor].role == Role::Input
                && !is_iterated(kind)
                && (!is_searched(kind) || is_spread_out(kernel, &iterator.access, iterator.level))
        })
    })
}

/// True if a dimension is not known to be about as small as the number of values.
fn is_spread_out(kernel: &Kernel, key: &AccessKey, level: usize) -> bool {
    let tensor = &kernel.tensors[key.tensor];
    let size = kernel.vars[level_var(kernel, key, level)].size;
    !size.zip(tensor.nnz).is_some_and(|(size, nnz)| is_near(size, nnz))
}

/// True if a dimension is not much larger than the number of values, so that something can be done for each coordinate.
pub(super) fn is_near(size: u64, nnz: u64) -> bool {
    size <= nnz.saturating_mul(4).saturating_add(1 << 20)
}

/// The largest dimension that gets a place for each coordinate if the number of stored values is not known: the positions of that
/// many rows take a gigabyte.
const MOST_ROWS: u64 = 1 << 28;

/// True if a converted tensor may have a dense outermost level over a dimension: its positions take memory in proportion to the
/// size, not to the number of stored values. A size that is not known is taken as small enough.
pub(super) fn may_be_rows(size: Option<u64>, nnz: Option<u64>) -> bool {
    match (size, nnz) {
        (Some(size), Some(nnz)) => is_near(size, nnz),
        (Some(size), None) => size <= MOST_ROWS,
        (None, _) => true,
    }
}

/// A format for the tensor of an access whose levels are in the order of the loops: compressed levels, under a dense one if the
/// tensor has a dense outermost level now and the dimension is not much larger than the number of values.
pub(super) fn concordant_format(kernel: &Kernel, access: &AccessKey, order: &[VarId]) -> Format {
    let tensor = &kernel.tensors[access.tensor];
    let mut modes: Vec<usize> = tensor.format.mode_order().to_vec();
    modes.sort_by_key(|&mode| turn(order, access.vars[mode]));
    if let Some(indicator) = tensor.indicator.as_deref().filter(|indicator| indicator.is_in_any_order()) {
        return indicator.format(modes);
    }
    let mut levels = vec![Level::COMPRESSED; modes.len()];
    let rows = modes.first().and_then(|&mode| tensor.dims[mode]);
    if tensor.format.levels().first() == Some(&Level::DENSE) && may_be_rows(rows, tensor.nnz) && levels.len() > 1 {
        levels[0] = Level::DENSE;
    }
    with_widths_of(tensor, levels, modes)
}

/// The format of these levels for the same tensor. A dimension's coordinates have the width that they have now, if a level keeps
/// them.
pub(super) fn with_widths_of(tensor: &Tensor, levels: Vec<Level>, modes: Vec<usize>) -> Format {
    let like = &tensor.format;
    if levels == like.levels() && modes == like.mode_order() {
        return like.clone();
    }
    // The modes are those of a format, in another order.
    let Ok(format) = Format::new(levels, modes) else { return like.clone() };
    let kept = |mode: usize| like.level_of(mode).filter(|&level| like.levels()[level].kind.has_coordinates());
    let format =
        (0..format.order()).fold(usual_widths(format, like), |format, level| match kept(format.mode_order()[level]) {
            Some(at) => format.with_coordinates(level, like.coordinates(at)),
            None => format,
        });
    format.fitted(&tensor.dims, 0)
}

/// A format for the same tensor as another, whose levels store other things: index arrays as wide as the widest there, and of
/// the usual width at least.
pub(super) fn usual_widths(format: Format, like: &Format) -> Format {
    let widest = (0..like.levels().len()).map(|level| like.coordinates(level)).fold(IndexWidth::W32, IndexWidth::wider);
    format.with_widths(like.widest_positions(), widest)
}

/// The format in which the result is assembled for an order; `None` if it is dense.
pub(super) fn assembled_format(kernel: &Kernel, lhs: &Access, order: &[VarId]) -> Option<Format> {
    let tensor = &kernel.tensors[lhs.tensor];
    let format = &tensor.format;
    if format.is_dense() {
        return None;
    }
    if appends_in(format, lhs, order) {
        let levels = format.levels();
        let levels = if levels.iter().all(|level| level.kind.is_plain() || level.capabilities().append) {
            levels.to_vec()
        } else {
            format.plain().levels().to_vec()
        };
        let appendable: Vec<Level> = (0..levels.len())
            .map(|level| match level.checked_sub(1).map(|above| levels[above]) {
                // The pieces of the outermost level are found by their coordinates.
                None if !levels[level].properties().ordered => Level::COMPRESSED,
                // Singletons are appended together with the repeated coordinates above them, or not at all.
                above if levels[level].properties().branchless => match above {
                    Some(above) if !above.properties().unique => levels[level],
                    _ => Level::COMPRESSED,
                },
                _ => levels[level],
            })
            .collect();
        return Some(with_widths_of(tensor, appendable, format.mode_order().to_vec()));
    }
    let mut modes = format.mode_order().to_vec();
    modes.sort_by_key(|&mode| turn(order, lhs.vars[mode]));
    Some(with_widths_of(tensor, vec![Level::COMPRESSED; modes.len()], modes))
}

/// True if loops in this order meet the coordinates of the result in the order of its levels, down to the last that is appended to.
pub(super) fn appends_in(format: &Format, lhs: &Access, order: &[VarId]) -> bool {
    let last = format.levels().iter().rposition(|level| !level.properties().full);
    let turns: Vec<usize> = format.mode_order().iter().map(|&mode| turn(order, lhs.vars[mode])).collect();
    match last {
        Some(last) => {
            let appended = &turns[..=last];
            appended.windows(2).all(|pair| pair[0] < pair[1])
                && turns[last + 1..].iter().all(|turn| appended.iter().all(|above| above < turn))
        }
        None => true,
    }
}

/// The tensors that an expression reads, each once, with the variables of its accesses.
pub(super) fn distinct_accesses(rhs: &Expr) -> Vec<AccessKey> {
    let mut found: Vec<AccessKey> = Vec::new();
    for access in rhs.accesses() {
        let key = AccessKey::from(access);
        if !found.contains(&key) {
            found.push(key);
        }
    }
    found
}

/// True if a tensor has a level that is iterated.
pub(super) fn is_sparse(kernel: &Kernel, tensor: TensorId) -> bool {
    !kernel.tensors[tensor].format.is_dense()
}
