//! The traffic of a loop nest: the number of cache lines of dense tensors that it brings in.
//!
//! The inner loops whose lines fit in a cache together bring each of them in once, every time that they are entered. A tensor that
//! does not depend on the loop around them stays there from one iteration to the next, and so does one of which all lines take no more than
//! half of the cache. Lines of a tensor that exceeds the third level come from memory, and count several times.
//!
//! ```text
//! C(i,k) = A(i,j) * B(j,k), 10,000 x 30 x 30 doubles, 8 in a line:
//!   i, j, k    (j, k) fit: 4 lines of A and C for each i, B's 120 once       about 120,000 lines
//!   j, i, k    (k) fits: 4 lines of C for each j and i, and one of A        about 2,700,000 lines
//! ```
//!
//! Sparse tensors are left out: the loops over them say how often they are walked through.
//!
//! Source: Wolf and Lam, *A Data Locality Optimizing Algorithm* (PLDI 1991), count lines in this way.

use lacunar_machine::Machine;
use lacunar_notation::VarId;
use lacunar_notation::concrete::Kernel;

use super::storage::is_sparse;
use crate::iterate::iterators::AccessKey;

/// The bytes of a line.
const LINE: f64 = 64.0;

/// The cost of cache lines on a machine, and the room that registers have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// The lines that stay in the cache of a thread.
    pub near: f64,
    /// The bytes that stay in the cache that threads share.
    pub shared: f64,
    /// The work of bringing another one in, in scalar iterations.
    pub line: f64,
    /// A tile of sums that stays in the registers: its rows, and the bytes of each.
    pub tile: (u64, u64),
}

impl Memory {
    /// The memory of a machine.
    pub fn of(machine: &Machine) -> Memory {
        Memory {
            near: machine.near_lines(),
            shared: machine.shared_bytes(),
            line: machine.line_work(),
            tile: machine.tile(),
        }
    }

    /// The bytes that are near.
    pub(super) fn near_bytes(&self) -> f64 {
        self.near * LINE_BYTES as f64
    }

    /// The price of a byte of data of a size that loops read again and again: nothing where it is near, 1 from the third level.
    pub(super) fn price(&self, bytes: f64) -> f64 {
        match bytes {
            _ if bytes <= self.near_bytes() => 0.0,
            _ if bytes <= self.shared => 1.0,
            _ => FROM_MEMORY,
        }
    }
}

impl Default for Memory {
    /// The memory of the generic machine: 256 KiB, and a level-3 cache.
    fn default() -> Memory {
        Memory::of(&Machine::generic())
    }
}

/// The price of a byte from beyond the third level, where one from there costs 1.
const FROM_MEMORY: f64 = 3.0;

/// The bytes of a cache line.
pub(super) const LINE_BYTES: u64 = 64;

/// A loop of a nest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trip {
    /// The variable it is over.
    pub(super) var: VarId,
    /// Its iterations, each time that it is entered.
    pub(super) iterations: f64,
    /// The size of its dimension.
    pub(super) size: f64,
}

impl Trip {
    /// A loop over the whole dimension.
    fn whole(&self) -> Trip {
        Trip { iterations: self.size, ..*self }
    }
}

/// The number of lines that a nest moves, from its outermost loop to the innermost, for the dense ones of the tensors that it reads
/// and of the one that it adds to. The latter's are brought in and written back.
pub(super) fn lines(
    kernel: &Kernel,
    memory: &Memory,
    reads: &[AccessKey],
    adds_to: Option<AccessKey>,
    nest: &[Trip],
) -> f64 {
    let near = memory.near;
    let moved = reads.iter().map(|access| (access, 1.0)).chain(adds_to.iter().map(|access| (access, 2.0)));
    let dense: Vec<(&AccessKey, f64)> = moved.filter(|(access, _)| !is_sparse(kernel, access.tensor)).collect();
    let in_loops = |access: &AccessKey, first: usize| lines_of(kernel, access, &nest[first..]);
    let fits = |first: usize| dense.iter().map(|(access, _)| in_loops(access, first)).sum::<f64>() <= near;
    let first = (0..nest.len()).find(|&first| fits(first)).unwrap_or(nest.len());
    let (around, entered) = match nest[..first].split_last() {
        None => (None, 1.0),
        Some((around, outer)) => (Some(around), outer.iter().map(|trip| trip.iterations).product::<f64>()),
    };
    let moved = |(access, times): &(&AccessKey, f64)| {
        // Sparse loops come to other coordinates each time.
        let differs = |trip: &Trip| trip.iterations < trip.size && access.vars.contains(&trip.var);
        let again = match around {
            None => 1.0,
            Some(around) if access.vars.contains(&around.var) => lines_of(kernel, access, &[*around]),
            Some(around) if nest[first..].iter().any(differs) => around.iterations,
            Some(_) => 1.0,
        };
        let all = lines_of(kernel, access, &nest.iter().map(Trip::whole).collect::<Vec<_>>());
        let moved = in_loops(access, first) * again * entered;
        let moved = if all <= near / 2.0 { moved.min(all) } else { moved };
        moved * times * memory.price(all * LINE).max(1.0)
    };
    dense.iter().map(moved).sum()
}

/// The different lines that loops touch of a dense tensor.
fn lines_of(kernel: &Kernel, access: &AccessKey, nest: &[Trip]) -> f64 {
    let tensor = &kernel.tensors[access.tensor];
    // Neighbors in a line are those of the last dimension.
    let in_line = LINE / tensor.dtype.size() as f64;
    let last = tensor.format.mode_order().last().map(|&mode| access.vars[mode]);
    let mut lines = 1.0;
    for (depth, trip) in nest.iter().enumerate().filter(|(_, trip)| access.vars.contains(&trip.var)) {
        // Another part of the coordinates may be visited each time that the loops around are entered.
        let visited: f64 = nest[..=depth].iter().map(|trip| trip.iterations).product();
        let different = if trip.iterations < trip.size { visited.min(trip.size) } else { trip.size };
        let whole = (trip.size / in_line).max(1.0);
        lines *= if last == Some(trip.var) { different.min(whole) } else { different };
    }
    lines
}
