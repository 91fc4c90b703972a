//! Tiles of what is written across rows: loops that set a row of a dense matrix and a column of it beside take a tile after the other, the
//! rows first.
//!
//! ```text
//! C(i,j) = A(i,j) * x(j)      A: packed(symmetric), read once
//!   forall(i, forall(j, { C(i,j) += A(i,j) * x(j);  C(j,i) += .. }))      each j is another row of C, and another line of memory
//!   split(i, i0, i1, 16), split(j, j0, j1, 256), reorder(i0, j0, i1, j1), fission(i1, j1)
//!   forall(i0, forall(j0, { forall(i1, forall(j1, C(i,j) += ..));  forall(j1, forall(i1, C(j,i) += ..)) }))
//! ```
//!
//! The second nest writes whole cache lines and reads a tile that is in the cache. Its inner loop reads a column of the operand, so the planner
//! treats the operand as an array, and conditions confine the loops to its stored elements. (An Intel processor with AVX-512,
//! a product by rows of 4000 x 4000, by hand in C: 40 ms in three passes, 45 to 60 in one nest of such tiles, 23 in two.)
//!
//! On entry: a statement that reads packed operands once, and sets a result that is more than what is near.
//!
//! Paper: Wolf and Lam, *A Data Locality Optimizing Algorithm* (PLDI 1991).

use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::schedule::{Command, CommandKind, Schedule};
use lacunar_notation::{Access, Assignment, Program, Role, Tensor, VarId};

use super::commands::{commands, name, part};
use super::packed::{self, Sight};
use super::traffic::Memory;
use super::{Plan, Request, Search, Source, plan_as_seen};
use crate::comparisons::Patterns;
use crate::iterate::iterators::{AccessKey, level_var};
use crate::iterate::lattice::Lattice;
use crate::lower::mirrored::elements;
use crate::schedule::apply_all;
use crate::structure::confined;

/// The rows of a tile. What a tile writes across rows is so many neighbors in each row of the result, which are one line or two.
const ROWS: u64 = 16;
/// The columns of a tile. The processor prefetches a piece of a row that is so long, and lines of so many rows stay in the first caches.
/// Squares of 32 took 1.2 to 1.6 times as long for results of 1000 to 4000 rows (Zen 3, `f64`; up to 2.4 times for `f32`).
const COLUMNS: u64 = 256;

/// A plan with tiles for a statement that reads packed operands once; `None` if it has none, or no tiles are worth it.
pub(super) fn plan(program: &Program, statement: &Assignment, request: &Request<'_>) -> Option<Plan> {
    let divides = |schedule: &Schedule| {
        schedule.commands.iter().any(|command| matches!(&command.kind, CommandKind::Fission(vars) if vars.len() > 1))
    };
    let may_divide = request.search == Search::Cost && request.schedule.is_none_or(divides);
    if !may_divide || !program.loops.is_empty() || !program.tensors[statement.lhs.tensor].is_array() {
        return None;
    }
    let mut settled = packed::settled(program, statement, Sight::Located).filter(|seen| !seen.located.is_empty())?;
    let rhs = confined(&mut settled.program, &mut Patterns::default(), statement, statement.rhs.clone());
    let of_elements = Assignment { rhs, ..statement.clone() };
    let mut plan = plan_as_seen(&settled.program, &of_elements, request).ok()?;
    // The conditions are no part of the statement.
    plan.statement = Source::new(program, statement, None).explicit(&mut program.vars.clone());
    (divides(&plan.schedule) && keeps_inside(&plan.kernel)).then(|| settled.planned(program, plan))
}

/// True for an operand that is read once, and seen as an array.
fn is_located(kernel: &Kernel, access: &Access) -> bool {
    let Tensor { is_unique, format, .. } = &kernel.tensors[access.tensor];
    *is_unique && format.packing().is_some() && format.is_dense()
}

/// True if conditions keep all loops to elements that such operands have.
fn keeps_inside(kernel: &Kernel) -> bool {
    let mut is_kept = true;
    kernel.stmt.visit_assigns(&mut |assign| {
        let accesses = assign.rhs.accesses();
        let mut located = accesses.iter().filter(|access| is_located(kernel, access));
        is_kept &= located.all(|access| elements(kernel, access, assign).is_some());
    });
    is_kept
}

/// Divides the loops of a kernel that writes across rows into tiles; gives the commands.
pub(super) fn tiles(kernel: &mut Kernel, memory: Memory, notes: &mut Vec<String>) -> Vec<Command> {
    let Some((row, column)) = written_across(kernel, memory) else { return Vec::new() };
    let [i0, i1, j0, j1] =
        [(row, 0), (row, 1), (column, 0), (column, 1)].map(|(var, number)| part(kernel, var, number));
    let kinds = [
        CommandKind::Split { var: name(kernel, row), outer: i0.clone(), inner: i1.clone(), size: ROWS },
        CommandKind::Split { var: name(kernel, column), outer: j0.clone(), inner: j1.clone(), size: COLUMNS },
        CommandKind::Reorder(vec![i0, j0, i1.clone(), j1.clone()]),
        CommandKind::Fission(vec![i1, j1]),
    ];
    let commands = commands(kinds);
    let Ok((made, _)) = apply_all(kernel, &commands) else { return Vec::new() };
    *kernel = made;
    notes.push("what is written across rows is written tile by tile, row by row".to_string());
    commands
}

/// The loops of a kernel, if some values go to a row of the outer one's and others to a column, from elements of an array that is read once.
fn written_across(kernel: &Kernel, memory: Memory) -> Option<(VarId, VarId)> {
    let Stmt::Forall(row, inner) = &kernel.stmt else { return None };
    let Stmt::Forall(column, body) = &**inner else { return None };
    let Stmt::Sequence(stmts) = &**body else { return None };
    let (mut along, mut across, mut are_located) = (false, false, true);
    for stmt in stmts {
        let Stmt::Assign(assign) = stmt else { return None };
        let (result, key) = (&kernel.tensors[assign.lhs.tensor], AccessKey::from(&assign.lhs));
        if result.role != Role::Result || !result.format.is_dense() || key.vars.len() != 2 {
            return None;
        }
        let bytes =
            result.dims.iter().try_fold(result.dtype.size() as f64, |bytes, size| Some(bytes * (*size)? as f64));
        if bytes.is_some_and(|bytes| bytes <= memory.near_bytes()) {
            return None;
        }
        let of_levels = [0, 1].map(|level| level_var(kernel, &key, level));
        along |= of_levels == [*row, *column];
        across |= of_levels == [*column, *row];
        are_located &= assign.rhs.accesses().iter().any(|access| is_located(kernel, access));
    }
    let is_array = |var: VarId, body: &Stmt| {
        Lattice::build(kernel, body, var).is_ok_and(|lattice| {
            let mut iterators = lattice.iterators.iter().chain(&lattice.confining);
            let is_condition = |access: &AccessKey| kernel.tensors[access.tensor].indicator.is_some();
            lattice.points.len() == 1 && iterators.all(|iterator| is_condition(&iterator.access))
        })
    };
    (along && across && are_located && is_array(*row, inner) && is_array(*column, body)).then_some((*row, *column))
}
