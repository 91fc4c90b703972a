//! Room in memory: every engine is a process with its own copy of the operands, so that of large inputs not all fit.
//!
//! Peers free a sparse result before another engine has its turn; ours and kernels written by hand keep its memory, up to twice
//! its size.

use crate::case::Case;
use crate::peers::Peers;

/// The memory in bytes that all engines of a case may take together.
const MEMORY: u64 = 12 << 30;

/// The engines that have room.
#[derive(Debug, PartialEq)]
pub struct Room {
    /// True if there is room for the peers.
    pub for_peers: bool,
    /// True if there is room for kernels written by hand besides.
    pub for_floor: bool,
    /// The number of programs that are left out.
    left_out: usize,
}

impl Room {
    /// The room of a case with so many values in its result.
    pub fn of(case: &Case, values: u64, peers: &Peers) -> Room {
        let result = if case.result_format.is_dense() { 0 } else { 2 * case.bytes_of_result(values) };
        Room::for_programs(case.memory(), result, peers.variants(case), peers.floor_variants(case))
    }

    /// For so many programs of peers and written by hand, each with so many bytes of operands and of a result that may be kept.
    fn for_programs(operands: u64, result: u64, peers: usize, floor: usize) -> Room {
        // Ours with its result, the peers, and a result of one of them.
        let of_peers = operands.saturating_mul(1 + peers as u64).saturating_add(2 * result);
        let of_floor = (operands + result).saturating_mul(floor as u64);
        let for_peers = of_peers <= MEMORY;
        let for_floor = for_peers && of_peers.saturating_add(of_floor) <= MEMORY;
        let left_out = if for_peers { 0 } else { peers } + if for_floor { 0 } else { floor };
        Room { for_peers, for_floor, left_out }
    }

    /// The engines that are left out, in words.
    pub fn words(&self) -> Option<String> {
        let which = if self.for_peers { "variants written by hand" } else { "other engines" };
        (self.left_out > 0).then(|| format!("no room in memory for {} {which}", self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_left_out() {
        const GIB: u64 = 1 << 30;
        assert_eq!(
            Room::for_programs(GIB / 4, GIB / 4, 10, 10),
            Room { for_peers: true, for_floor: true, left_out: 0 }
        );
        let few = Room::for_programs(GIB / 4, 4 * GIB, 10, 8);
        assert_eq!(few, Room { for_peers: true, for_floor: false, left_out: 8 });
        assert_eq!(few.words().as_deref(), Some("no room in memory for 8 variants written by hand"));
        let none = Room::for_programs(2 * GIB, 0, 10, 8);
        assert_eq!(none, Room { for_peers: false, for_floor: false, left_out: 18 });
        assert_eq!(Room::for_programs(2 * GIB, 0, 0, 0).words(), None);
    }
}
