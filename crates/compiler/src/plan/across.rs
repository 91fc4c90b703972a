//! Tiles of what is written across rows: loops that add to a row of a dense matrix and to a column of it beside take a tile after the other.
//!
//! ```text
//! C(i,j) = A(i,j) * x(j)      A: packed(symmetric), read once
//!   forall(i, forall(j, { C(i,j) += A(i,j) * x(j);  C(j,i) += .. }))      each j is another row of C, and another line of memory
//!   split(i, i0, i1, 16), split(j, j0, j1, 256), reorder(i0, j0, i1, j1)  the lines of a tile are added to while they are near
//! ```
//!
//! Demands: two loops, the inner one through neighbors in a row, in which a strip costs nothing to find; a result that is more than what is near.
//!
//! Paper: Wolf and Lam, *A Data Locality Optimizing Algorithm* (PLDI 1991).

use lacunar_formats::LevelKind;
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::schedule::{Command, CommandKind};
use lacunar_notation::{Role, VarId};

use super::commands::{commands, name, part};
use super::traffic::Memory;
use crate::iterate::iterators::{AccessKey, level_var};
use crate::iterate::lattice::Lattice;
use crate::schedule::apply_all;

/// The rows of a tile. What a tile writes across rows is so many neighbors in each row of the result, which are one line or two.
const ROWS: u64 = 16;
/// The columns of a tile. The processor prefetches a piece of a row that is so long, and lines of so many rows stay in the first caches.
/// Squares of 32 took 1.2 to 1.6 times as long for results of 1000 to 4000 rows (Zen 3, `f64`; up to 2.4 times for `f32`).
const COLUMNS: u64 = 256;

/// Divides the loops of a kernel that writes across rows into tiles; gives the commands.
pub(super) fn tiles(kernel: &mut Kernel, memory: Memory, notes: &mut Vec<String>) -> Vec<Command> {
    let Some((row, column)) = written_across(kernel, memory) else { return Vec::new() };
    let [i0, i1, j0, j1] =
        [(row, 0), (row, 1), (column, 0), (column, 1)].map(|(var, number)| part(kernel, var, number));
    let kinds = [
        CommandKind::Split { var: name(kernel, row), outer: i0.clone(), inner: i1.clone(), size: ROWS },
        CommandKind::Split { var: name(kernel, column), outer: j0.clone(), inner: j1.clone(), size: COLUMNS },
        CommandKind::Reorder(vec![i0, j0, i1, j1]),
    ];
    let commands = commands(kinds);
    let Ok((made, _)) = apply_all(kernel, &commands) else { return Vec::new() };
    *kernel = made;
    notes.push("what is written across rows is written tile by tile".to_string());
    commands
}

/// The loops of a kernel, if the inner one goes through neighbors, and some values go to a row of the outer one's and others to a column.
fn written_across(kernel: &Kernel, memory: Memory) -> Option<(VarId, VarId)> {
    let Stmt::Forall(row, inner) = &kernel.stmt else { return None };
    let Stmt::Forall(column, body) = &**inner else { return None };
    let Stmt::Sequence(stmts) = &**body else { return None };
    let (mut along, mut across) = (false, false);
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
    }
    let lattice = Lattice::build(kernel, body, *column).ok()?;
    let is_run = lattice.iterators.iter().all(|iterator| {
        kernel.tensors[iterator.access.tensor].format.levels()[iterator.level].kind == LevelKind::BANDED
    });
    let is_plain = Lattice::build(kernel, inner, *row).is_ok_and(|lattice| lattice.is_dense());
    (along && across && is_plain && lattice.points.len() == 1 && is_run).then_some((*row, *column))
}
