//! Terms that write into many rows at once: the loop around them is divided into strips, in which one term follows the other.
//!
//! ```text
//! X(t,i) = F(t,i + 0) + G(p(t),i - 4) + H(q(t),i - 7)      X: stored by columns, ten of them
//!   forall(t, { X(t,i) += F(t,i); X(t,i) += G(p(t),i - 4); .. })      each t writes to ten lines of memory, far from each other
//!   split(t, t0, t1, 1024), fission(t1)                               each term writes to three or four
//! ```
//!
//! Processors follow some streams at once; beyond them, each line that is written to comes late. (Zen 3, a join of 13 columns by keys, by hand
//! in C: 14 ms in one loop, 5.7 in a loop for each term, 5.0 in strips of 1024.) Demands: a dense result that is more than what is near, whose
//! rows are the last level.
//!
//! Source: Kennedy and McKinley, *Loop Distribution with Arbitrary Control Flow* (Supercomputing 1990).

use lacunar_notation::Role;
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::schedule::{Command, CommandKind};

use super::commands::{commands, name, part};
use super::traffic::Memory;
use crate::iterate::iterators::{AccessKey, level_var};
use crate::schedule::apply_all;

/// The iterations of a strip: what a term reads of it stays in the first caches.
const STRIP: u64 = 1024;
/// The least number of strips.
const LEAST_STRIPS: u64 = 4;
/// The rows of a result that are written at once without it.
const STREAMS: f64 = 4.0;
/// The rows beyond which each term alone writes to too many.
const MOST_ROWS: f64 = 64.0;

/// Divides the outermost loop of a kernel whose terms write so; gives the commands.
pub(super) fn apart(kernel: &mut Kernel, memory: Memory, notes: &mut Vec<String>) -> Vec<Command> {
    let Stmt::Forall(var, body) = &kernel.stmt else { return Vec::new() };
    let Stmt::Sequence(terms) = &**body else { return Vec::new() };
    let (mut across, mut count) = (true, 0);
    body.visit_assigns(&mut |assign| {
        let (result, key) = (&kernel.tensors[assign.lhs.tensor], AccessKey::from(&assign.lhs));
        let size = |size: &Option<u64>| size.map_or(f64::INFINITY, |size| size as f64);
        let elements = result.dims.iter().map(size).product::<f64>();
        let length = kernel.vars[*var].size.unwrap_or(0);
        let rows = elements / length as f64;
        let last = key.vars.len().checked_sub(1);
        across &= result.role == Role::Result
            && result.format.is_dense()
            && last.is_some_and(|last| level_var(kernel, &key, last) == *var)
            && length >= LEAST_STRIPS * STRIP
            && rows > STREAMS
            && rows <= MOST_ROWS
            && elements * result.dtype.size() as f64 > memory.near_bytes();
        count += 1;
    });
    if !across || count == 0 || terms.len() < 2 {
        return Vec::new();
    }
    let [strips, inside] = [0, 1].map(|number| part(kernel, *var, number));
    let kinds = [
        CommandKind::Split { var: name(kernel, *var), outer: strips, inner: inside.clone(), size: STRIP },
        CommandKind::Fission(vec![inside]),
    ];
    let commands = commands(kinds);
    let Ok((made, _)) = apply_all(kernel, &commands) else { return Vec::new() };
    *kernel = made;
    notes.push("terms that write to many rows are taken one after the other, strip by strip".to_string());
    commands
}
