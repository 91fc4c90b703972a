//! The schedule that the planner chooses: the loops that threads share, and those that run in vector lanes.
//!
//! The outermost loop of every nest is shared if that is safe: if its variable tells where the result is written, or if each chunk
//! can have a copy of the values that chunks write together. (The kernel makes no more chunks than its work is worth copies, when
//! it is run.) A sparse result is assembled in pieces by chunks of the loop over its first level.
//!
//! ```text
//! y(i) = A(i,j) * x(j)      parallelize(i, cpu, none)
//! a = A(i,j) * B(i,j)       parallelize(i, cpu, temporary)
//! ```
//!
//! Lanes run innermost loops that add up in a variable, those whose values all fit the registers, and those that add to neighbors
//! in a dense row or set them: a row of a large result is stored past the caches then.
//!
//! Paper: Senanayake et al. 2020, §7, leaves the choice to the user.

use std::collections::BTreeSet;

use lacunar_base::Diagnostic;
use lacunar_formats::LevelKind;
use lacunar_notation::concrete::{Assign, Kernel, Stmt};
use lacunar_notation::schedule::{Command, CommandKind, Race, Unit};
use lacunar_notation::{Access, AssignOp, Role, TensorId, VarId, WorkspaceKind};

use super::commands::{command, name};
use super::storage::is_in_no_order;
use crate::concretize::fits_registers;
use crate::iterate::iterators::{AccessKey, Iterator, level_var};
use crate::iterate::lattice::{Lattice, Point, advances_by_words, is_single};
use crate::iterate::races::written_together;
use crate::levels::nodes::has_blocks;
use crate::schedule::apply;

/// Adds the planner's commands to a kernel; gives these commands.
pub(super) fn schedule(kernel: &mut Kernel, grain: u64, notes: &mut Vec<String>) -> Vec<Command> {
    let mut chosen = Vec::new();
    let sparse_result =
        kernel.tensors.iter().any(|(_, tensor)| tensor.role == Role::Result && !tensor.format.is_dense());
    if is_small(kernel, grain) {
        notes.push("one thread runs all loops: packed tensors of these sizes have few elements".to_string());
    } else {
        share(kernel, &kernel.stmt, sparse_result, &mut chosen);
    }
    // A race strategy applies to all loops over a variable.
    chosen.retain_mut(|(var, race)| match race_everywhere(kernel, &kernel.stmt, *var) {
        Some(Race::None) => true,
        Some(other) => {
            *race = other;
            true
        }
        None => false,
    });
    // Lanes inside of a loop that threads share are worth more than threads for a loop over the same variable elsewhere.
    let lanes = in_lanes(kernel);
    let shared: Vec<VarId> = chosen.iter().map(|(var, _)| *var).collect();
    chosen.retain(|(var, _)| !lanes.contains(var) || !is_inside(&kernel.stmt, *var, &shared));
    let mut commands = Vec::new();
    // A command applies to all loops over a variable: if one of them cannot be shared, none is.
    for (var, race) in chosen {
        if let Ok(command) = parallelize(kernel, var, Unit::CpuThread, race) {
            notes.extend(said(&command));
            commands.push(command);
        }
    }
    for var in in_lanes(kernel) {
        if let Ok(command) = parallelize(kernel, var, Unit::CpuVector, Race::Ignore) {
            notes.extend(said(&command));
            commands.push(command);
        }
    }
    for var in scattered_beside(&kernel.stmt) {
        if scatters_to_neighbors(kernel, &kernel.stmt, var)
            && let Ok(command) = parallelize(kernel, var, Unit::CpuVector, Race::Ignore)
        {
            notes.extend(said(&command));
            commands.push(command);
            continue;
        }
        let command = command(CommandKind::Unroll { var: name(kernel, var), times: SCATTERED_AT_ONCE });
        if let Ok((made, _)) = apply(kernel, &command) {
            *kernel = made;
            commands.push(command);
        }
    }
    commands
}

/// True if the sizes of packed tensors tell that a kernel comes to so few places that it would make one chunk for threads.
fn is_small(kernel: &Kernel, grain: u64) -> bool {
    let mut work = Some(0.0);
    let mut is_told = false;
    kernel.stmt.visit_assigns(&mut |assign| {
        let (own, is_packed) = places(kernel, assign).map_or((None, false), |(places, told)| (Some(places), told));
        work = work.zip(own).map(|(work, own)| work + own);
        is_told |= is_packed;
    });
    is_told && work.is_some_and(|work| work < 2.0 * grain as f64)
}

/// The combinations of coordinates that an assignment is met at, if all sizes are known; and if a packed tensor tells them. Those that are
/// packed alike have places in common.
fn places(kernel: &Kernel, assign: &Assign) -> Option<(f64, bool)> {
    let accesses: Vec<&Access> = assign.rhs.accesses().into_iter().chain([&assign.lhs]).collect();
    let vars: BTreeSet<VarId> = accesses.iter().flat_map(|access| &access.vars).copied().collect();
    let mut places = 1.0;
    for var in vars {
        places *= kernel.vars[var].size? as f64;
    }
    let mut told: Vec<BTreeSet<VarId>> = Vec::new();
    for access in accesses {
        let tensor = &kernel.tensors[access.tensor];
        // Redundant elements of others are met as well.
        let is_told = tensor.format.packing().is_some_and(|packing| packing.sources().is_none());
        let vars = access.vars.iter().copied().collect();
        if is_told && !told.contains(&vars) {
            let whole = tensor.dims.iter().map(|size| size.map(|size| size as f64)).product::<Option<f64>>()?;
            places *= tensor.packed_count()? as f64 / whole.max(1.0);
            told.push(vars);
        }
    }
    Some((places, !told.is_empty()))
}

/// The number of copies of the body of a loop that scatters beside a sum: the stores of one copy then do not wait for those of another.
const SCATTERED_AT_ONCE: u32 = 4;

/// The variables whose loops are innermost and have assignments to several places.
fn scattered_beside(stmt: &Stmt) -> Vec<VarId> {
    match stmt {
        Stmt::Assign(_) => Vec::new(),
        Stmt::Sequence(stmts) => stmts.iter().flat_map(scattered_beside).collect(),
        Stmt::Where { consumer, producer } => [scattered_beside(consumer), scattered_beside(producer)].concat(),
        Stmt::Forall(var, body) => match &**body {
            Stmt::Sequence(stmts) if stmts.iter().all(|stmt| matches!(stmt, Stmt::Assign(_))) => {
                let mut places = Vec::new();
                body.visit_assigns(&mut |assign| places.push(AccessKey::from(&assign.lhs)));
                if places.windows(2).any(|pair| pair[0] != pair[1]) { vec![*var] } else { Vec::new() }
            }
            body => scattered_beside(body),
        },
    }
}

/// True if the loops over a variable, of those that scatter beside a sum, come to neighbors one after the other: they add to a variable,
/// and to neighboring elements, so that no two iterations meet.
fn scatters_to_neighbors(kernel: &Kernel, stmt: &Stmt, var: VarId) -> bool {
    match stmt {
        Stmt::Assign(_) => true,
        Stmt::Sequence(stmts) => stmts.iter().all(|stmt| scatters_to_neighbors(kernel, stmt, var)),
        Stmt::Where { consumer, producer } => {
            scatters_to_neighbors(kernel, consumer, var) && scatters_to_neighbors(kernel, producer, var)
        }
        Stmt::Forall(own, body) if *own != var => scatters_to_neighbors(kernel, body, var),
        Stmt::Forall(_, body) => {
            let is_run =
                |it: &Iterator| kernel.tensors[it.access.tensor].format.levels()[it.level].kind == LevelKind::BANDED;
            let lattice = Lattice::build(kernel, body, var);
            let mut are_neighbors = lattice.is_ok_and(|lattice| {
                lattice.points.len() == 1 && lattice.iterators.len() < 2 && lattice.iterators.iter().all(is_run)
            });
            body.visit_assigns(&mut |assign| {
                let tensor = &kernel.tensors[assign.lhs.tensor];
                let inner = tensor.format.mode_order().last().and_then(|&mode| assign.lhs.vars.get(mode));
                let is_row = tensor.role == Role::Result && tensor.format.is_dense() && inner == Some(&var);
                let is_once = assign.lhs.vars.iter().filter(|own| **own == var).count() == 1;
                let is_variable = tensor.role == Role::Workspace(WorkspaceKind::Scalar);
                are_neighbors &= is_variable || (is_row && is_once);
            });
            are_neighbors
        }
    }
}

/// The variables whose loops are to run in lanes.
fn in_lanes(kernel: &Kernel) -> Vec<VarId> {
    let mut lanes = in_registers(kernel, &kernel.stmt);
    lanes.extend(summed_up(kernel, &kernel.stmt));
    let more: Vec<VarId> = tested(kernel, &kernel.stmt).into_iter().filter(|var| !lanes.contains(var)).collect();
    lanes.extend(more);
    let rows: Vec<VarId> = written_to(kernel, &kernel.stmt).into_iter().filter(|var| !lanes.contains(var)).collect();
    lanes.extend(rows);
    // Lanes of any loop over a variable are those of all: some would add to one place at once.
    let scattered = scattered_beside(&kernel.stmt);
    lanes.retain(|var| !scattered.contains(var));
    lanes
}

/// True if there is a loop over a variable inside of one over another of some variables.
fn is_inside(stmt: &Stmt, var: VarId, around: &[VarId]) -> bool {
    fn occurs(stmt: &Stmt, var: VarId) -> bool {
        match stmt {
            Stmt::Assign(_) => false,
            Stmt::Sequence(stmts) => stmts.iter().any(|stmt| occurs(stmt, var)),
            Stmt::Where { consumer, producer } => occurs(consumer, var) || occurs(producer, var),
            Stmt::Forall(own, body) => *own == var || occurs(body, var),
        }
    }
    match stmt {
        Stmt::Assign(_) => false,
        Stmt::Sequence(stmts) => stmts.iter().any(|stmt| is_inside(stmt, var, around)),
        Stmt::Where { consumer, producer } => is_inside(consumer, var, around) || is_inside(producer, var, around),
        Stmt::Forall(own, body) => {
            (*own != var && around.contains(own) && occurs(body, var)) || is_inside(body, var, around)
        }
    }
}

/// The note on a loop that a command gives to threads or lanes.
pub(super) fn said(command: &Command) -> Option<String> {
    let CommandKind::Parallelize { var, unit, race } = &command.kind else { return None };
    let var = &var.text;
    match (unit, race) {
        (Unit::CpuThread, Race::Temporary) => {
            Some(format!("threads share the loop over {var}; each chunk adds to a copy of its own"))
        }
        (Unit::CpuThread, _) => Some(format!("threads share the loop over {var}")),
        (Unit::CpuVector, _) => Some(format!("loops over {var} run in vector registers")),
        _ => None,
    }
}

/// Carries out a command, and gives it.
fn parallelize(kernel: &mut Kernel, var: VarId, unit: Unit, race: Race) -> Result<Command, Diagnostic> {
    let command = command(CommandKind::Parallelize { var: name(kernel, var), unit, race });
    *kernel = apply(kernel, &command)?.0;
    Ok(command)
}

/// The variables whose loops are innermost and add up, in a variable, the stored values of one tensor with values that are gathered
/// for them.
fn summed_up(kernel: &Kernel, stmt: &Stmt) -> Vec<VarId> {
    match stmt {
        Stmt::Assign(_) => Vec::new(),
        Stmt::Sequence(stmts) => stmts.iter().flat_map(|stmt| summed_up(kernel, stmt)).collect(),
        Stmt::Where { consumer, producer } => [summed_up(kernel, consumer), summed_up(kernel, producer)].concat(),
        Stmt::Forall(var, body) => match &**body {
            Stmt::Assign(assign) => {
                let variable = kernel.tensors[assign.lhs.tensor].role == Role::Workspace(WorkspaceKind::Scalar);
                let single = Lattice::build(kernel, body, *var).is_ok_and(|lattice| {
                    lattice.points.len() == 1
                        && lattice.points[0].0.count_ones() == 1
                        && lattice.searched() == Point::ALL
                        && !lattice.iterators.iter().any(|iterator| has_one_coordinate(kernel, iterator))
                        && lattice.iterators.iter().all(|iterator| {
                            has_neighbors(kernel, iterator)
                                && (!advances_by_words(kernel, iterator) || is_filled(kernel, iterator))
                        })
                });
                if variable && single { vec![*var] } else { Vec::new() }
            }
            _ => summed_up(kernel, body),
        },
    }
}

/// True if an iterator has at most one coordinate under each parent.
fn has_one_coordinate(kernel: &Kernel, iterator: &Iterator) -> bool {
    let levels = kernel.tensors[iterator.access.tensor].format.levels();
    let repeated = iterator.level.checked_sub(1).is_some_and(|above| !levels[above].properties().unique);
    levels[iterator.level].properties().single && !repeated
}

/// True if an iterator can come to several coordinates at once: to neighbors in a node, if it goes from node to node.
fn has_neighbors(kernel: &Kernel, iterator: &Iterator) -> bool {
    let level = kernel.tensors[iterator.access.tensor].format.levels()[iterator.level];
    level.kind.schema().is_none_or(has_blocks)
}

/// True if enough places of a bitmap have a value, as far as is known. Lanes visit every place; a scalar loop skips words of marks that are 0.
fn is_filled(kernel: &Kernel, iterator: &Iterator) -> bool {
    /// The places that lanes come to in the time of one that is found among the marks.
    const PLACES: f64 = 16.0;
    let tensor = &kernel.tensors[iterator.access.tensor];
    let places = tensor.dims.iter().map(|size| size.map(|size| size as f64)).product::<Option<f64>>();
    places.zip(tensor.nnz).is_none_or(|(places, values)| values as f64 * PLACES >= places)
}

/// The variables whose loops are innermost and meet levels that are tested, and no others.
fn tested(kernel: &Kernel, stmt: &Stmt) -> Vec<VarId> {
    match stmt {
        Stmt::Assign(_) => Vec::new(),
        Stmt::Sequence(stmts) => stmts.iter().flat_map(|stmt| tested(kernel, stmt)).collect(),
        Stmt::Where { consumer, producer } => [tested(kernel, consumer), tested(kernel, producer)].concat(),
        Stmt::Forall(var, body) if matches!(**body, Stmt::Assign(_)) => {
            let all = Lattice::build(kernel, body, *var).is_ok_and(|lattice| {
                let is_tested = |it: &Iterator| advances_by_words(kernel, it) && is_filled(kernel, it);
                !lattice.iterators.is_empty() && lattice.iterators.iter().all(is_tested)
            });
            if all { vec![*var] } else { Vec::new() }
        }
        Stmt::Forall(_, body) => tested(kernel, body),
    }
}

/// The variables whose loops are innermost and dense and add to neighboring elements of a dense tensor, or set those of a result.
fn written_to(kernel: &Kernel, stmt: &Stmt) -> Vec<VarId> {
    let (mut found, mut walks) = (Vec::new(), Vec::new());
    stmt.visit_assigns(&mut |assign| {
        walks.extend(assign.rhs.accesses().into_iter().chain([&assign.lhs]).map(AccessKey::from));
        let tensor = &kernel.tensors[assign.lhs.tensor];
        let is_row =
            tensor.format.is_dense() && (matches!(assign.op, AssignOp::Reduce(_)) || tensor.role == Role::Result);
        let last = last_var(kernel, &AccessKey::from(&assign.lhs));
        found.extend(last.filter(|_| is_row));
    });
    found.retain(|var| {
        walks.iter().all(|key| !key.vars.contains(var) || last_var(kernel, key) == Some(*var))
            && innermost_and_dense(kernel, stmt, *var)
    });
    found
}

/// The variable of an access's innermost level, but for levels with at most one coordinate.
fn last_var(kernel: &Kernel, key: &AccessKey) -> Option<VarId> {
    let levels = kernel.tensors[key.tensor].format.levels();
    let last = levels.iter().rposition(|level| !level.properties().single);
    last.map(|last| level_var(kernel, key, last))
}

/// The variables whose loops are innermost and dense, so short that all their values fit the registers, and walk through
/// memory.
fn in_registers(kernel: &Kernel, stmt: &Stmt) -> Vec<VarId> {
    let mut found = Vec::new();
    let mut walks = Vec::new();
    stmt.visit_assigns(&mut |assign| {
        let accesses = assign.rhs.accesses().into_iter().chain([&assign.lhs]);
        walks.extend(accesses.map(AccessKey::from));
        for &var in assign.rhs.free_vars().iter().chain(&assign.lhs.vars) {
            if !found.contains(&var) && fits_registers(kernel, &[var], assign.rhs.dtype) {
                found.push(var);
            }
        }
    });
    found.retain(|var| {
        walks.iter().all(|key| !key.vars.contains(var) || last_var(kernel, key) == Some(*var))
            && innermost_and_dense(kernel, stmt, *var)
    });
    found
}

fn innermost_and_dense(kernel: &Kernel, stmt: &Stmt, var: VarId) -> bool {
    match stmt {
        Stmt::Assign(_) => true,
        Stmt::Sequence(stmts) => stmts.iter().all(|stmt| innermost_and_dense(kernel, stmt, var)),
        Stmt::Where { consumer, producer } => {
            innermost_and_dense(kernel, consumer, var) && innermost_and_dense(kernel, producer, var)
        }
        Stmt::Forall(own, body) if *own == var => {
            is_single(kernel, body) && Lattice::build(kernel, body, var).is_ok_and(|lattice| lattice.is_dense())
        }
        Stmt::Forall(_, body) => innermost_and_dense(kernel, body, var),
    }
}

/// The outermost loops that can be shared, with their race strategies.
fn share(kernel: &Kernel, stmt: &Stmt, sparse_result: bool, chosen: &mut Vec<(VarId, Race)>) {
    match stmt {
        Stmt::Assign(_) => {}
        Stmt::Sequence(stmts) => stmts.iter().for_each(|stmt| share(kernel, stmt, sparse_result, chosen)),
        Stmt::Where { consumer, producer } => {
            share(kernel, producer, sparse_result, chosen);
            share(kernel, consumer, sparse_result, chosen);
        }
        Stmt::Forall(var, body) => {
            if chosen.iter().any(|(known, _)| known == var) {
                return;
            }
            // Enumeration by one thread is faster than look-ups by many.
            if is_in_no_order(kernel, body, *var) {
                return;
            }
            let together = written_together(kernel, *var, body);
            if sparse_result && body.writes().iter().any(|tensor| kernel.tensors[*tensor].role == Role::Result) {
                // In parts, if this is the outermost loop of the kernel and over the result's first level.
                let whole = matches!(&kernel.stmt, Stmt::Forall(outermost, _) if outermost == var);
                if whole && together.is_empty() && first_level(kernel, body) == Some(*var) {
                    chosen.push((*var, Race::None));
                }
            } else if together.is_empty() {
                chosen.push((*var, Race::None));
            } else if together.iter().all(|tensor| can_be_copied(kernel, *tensor)) {
                chosen.push((*var, Race::Temporary));
            }
        }
    }
}

/// The race strategy that fits all loops over a variable; `None` if one of them cannot be shared.
fn race_everywhere(kernel: &Kernel, stmt: &Stmt, var: VarId) -> Option<Race> {
    match stmt {
        Stmt::Assign(_) => Some(Race::None),
        Stmt::Sequence(stmts) => {
            stmts.iter().try_fold(Race::None, |race, stmt| Some(harder(race, race_everywhere(kernel, stmt, var)?)))
        }
        Stmt::Where { consumer, producer } => {
            Some(harder(race_everywhere(kernel, consumer, var)?, race_everywhere(kernel, producer, var)?))
        }
        Stmt::Forall(own, body) if *own == var => {
            let together = written_together(kernel, var, body);
            match together.iter().all(|tensor| can_be_copied(kernel, *tensor)) {
                _ if together.is_empty() => Some(Race::None),
                true => Some(Race::Temporary),
                false => None,
            }
        }
        Stmt::Forall(_, body) => race_everywhere(kernel, body, var),
    }
}

fn harder(a: Race, b: Race) -> Race {
    if a == Race::None { b } else { a }
}

/// The variable of the first level of the result.
fn first_level(kernel: &Kernel, body: &Stmt) -> Option<VarId> {
    let mut found = None;
    body.visit_assigns(&mut |assign| {
        let tensor = &kernel.tensors[assign.lhs.tensor];
        if tensor.role == Role::Result {
            found = tensor.format.mode_order().first().map(|&mode| assign.lhs.vars[mode]);
        }
    });
    found
}

/// True if every chunk can have a copy of a tensor. A workspace with a list cannot be copied, as it has one list.
fn can_be_copied(kernel: &Kernel, tensor: TensorId) -> bool {
    !kernel.tensors[tensor].role.is_listed()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use lacunar_formats::Format;
    use lacunar_front::{Declarations, check};

    use crate::plan::{Request, plan};

    #[test]
    fn threads_share_what_sizes_of_packed_tensors_say_is_worth_it() {
        let is_shared = |format: &str, grain| {
            let mut declarations = Declarations::new();
            let format = if format == "dense" { Format::dense(3) } else { Format::packed(format, 3).unwrap() };
            declarations.formats.insert("A".to_string(), format.into());
            declarations.dims.insert("A".to_string(), vec![100; 3]);
            let program = check("C(i,j,k) = A(i,j,k) * B(i,j,k)", &declarations).unwrap();
            let planned = plan(&program, &program.statements[0], &Request { grain, ..Request::default() }).unwrap();
            planned.notes.iter().any(|note| note.starts_with("threads share"))
        };
        assert!(!is_shared("diagonal", 1000) && is_shared("diagonal", 50) && is_shared("diagonal", 0));
        assert!(is_shared("simplex", 50_000) && !is_shared("simplex", 100_000));
        assert!(is_shared("dense", 1 << 40));
    }
}
