//! The reach of the entries of a tensor, which tells the arguments of named structures.
//!
//! ```text
//! banded(below, above)     the largest i - j and j - i
//! arrow(width)             one more than the largest lesser coordinate off the diagonal
//! row(i), fixed(d, i)      the one coordinate of a dimension, if there is one
//! block_diagonal(size)     the least size by which no entry lies in two blocks
//! ```
//!
//! A band, blocks and an arrow are told only if they are narrow: every matrix has some.

use crate::Tensor as DynTensor;

use super::find::gathered;
use super::numbers::{elements, is_zero};

/// A band of so few diagonals is told of small matrices, too.
const NARROW: i64 = 3;

/// After so many tests of cut intervals, sizes of blocks are given up.
const TRIES: usize = 1 << 20;

/// The counts and extents of the entries that are not 0.
pub(super) struct Reach {
    dims: Vec<i64>,
    /// The number of entries.
    entries: u64,
    /// By dimension, the least and the largest coordinate.
    ranges: Vec<(i64, i64)>,
    /// The largest `i - j` and `j - i` of a matrix.
    below: i64,
    above: i64,
    /// The largest lesser coordinate off the diagonal; -1 without such entries.
    inward: i64,
    /// Coordinates from the first to the last one of a row and its diagonal element, where these differ.
    intervals: Vec<(i64, i64)>,
}

impl Reach {
    /// Looks at all entries.
    pub fn of(tensor: &DynTensor) -> Reach {
        let dims: Vec<i64> = tensor.dims().iter().map(|&size| size as i64).collect();
        let values = elements(tensor.values());
        let reaches = gathered(tensor, |part, parts| {
            let mut reach = Reach::nothing(dims.clone());
            let mut walk = tensor.part_of_walk(part, parts);
            while let Some((coordinates, position)) = walk.next_entry() {
                if !is_zero(values.number(position)) {
                    reach.add(coordinates);
                }
            }
            reach
        });
        let mut all = Reach::nothing(dims);
        reaches.into_iter().for_each(|reach| all.join(reach));
        all
    }

    fn nothing(dims: Vec<i64>) -> Reach {
        let ranges = vec![(i64::MAX, -1); dims.len()];
        Reach { dims, entries: 0, ranges, below: 0, above: 0, inward: -1, intervals: Vec::new() }
    }

    fn add(&mut self, coordinates: &[u64]) {
        self.entries += 1;
        for (range, &coordinate) in self.ranges.iter_mut().zip(coordinates) {
            *range = (range.0.min(coordinate as i64), range.1.max(coordinate as i64));
        }
        let &[i, j] = coordinates else { return };
        let (i, j) = (i as i64, j as i64);
        if i == j {
            return;
        }
        self.below = self.below.max(i - j);
        self.above = self.above.max(j - i);
        self.inward = self.inward.max(i.min(j));
        match self.intervals.last_mut() {
            // Entries of a row stand together.
            Some(interval) if interval.0 <= i && i <= interval.1 => {
                *interval = (interval.0.min(j), interval.1.max(j));
            }
            _ => self.intervals.push((i.min(j), i.max(j))),
        }
    }

    fn join(&mut self, other: Reach) {
        self.entries += other.entries;
        for (range, (low, high)) in self.ranges.iter_mut().zip(other.ranges) {
            *range = (range.0.min(low), range.1.max(high));
        }
        self.below = self.below.max(other.below);
        self.above = self.above.max(other.above);
        self.inward = self.inward.max(other.inward);
        self.intervals.extend(other.intervals);
    }

    /// The arguments with which a name may hold; `None` if it does not, or would not be worth telling.
    pub fn arguments(&self, name: &str) -> Option<Vec<i64>> {
        let only = |dim: usize| {
            let (low, high) = *self.ranges.get(dim)?;
            (low == high).then_some(low)
        };
        let matrix = |dim: usize| if self.dims.len() == 2 { only(dim) } else { None };
        match name {
            "onehot" if self.entries == 1 => (0..self.dims.len()).map(only).collect(),
            "row" => Some(vec![matrix(0)?]),
            "column" => Some(vec![matrix(1)?]),
            "fixed" if self.dims.len() > 2 => {
                let dim = (0..self.dims.len()).find(|&dim| only(dim).is_some())?;
                Some(vec![dim as i64, only(dim)?])
            }
            "banded" | "arrow" | "block_diagonal" => {
                let &[rows, columns] = self.dims.as_slice() else { return None };
                self.narrow(name, rows, columns)
            }
            _ => None,
        }
    }

    fn narrow(&self, name: &str, rows: i64, columns: i64) -> Option<Vec<i64>> {
        match name {
            "banded" => {
                let width = self.below.checked_add(self.above)?.checked_add(1)?;
                let narrow = width <= NARROW || width <= rows.max(columns) / 4;
                narrow.then(|| vec![self.below, self.above])
            }
            "arrow" => {
                let width = self.inward + 1;
                (width == 1 || (width > 1 && width <= rows.min(columns) / 8)).then(|| vec![width])
            }
            _ => self.block(rows.min(columns) / 2).map(|size| vec![size]),
        }
    }

    /// The least size of blocks, if it is at most `most`.
    fn block(&self, most: i64) -> Option<i64> {
        let mut sorted = self.intervals.clone();
        sorted.sort_unstable();
        let mut joined: Vec<(i64, i64)> = Vec::new();
        for (low, high) in sorted {
            match joined.last_mut() {
                Some(last) if low <= last.1 => last.1 = last.1.max(high),
                _ => joined.push((low, high)),
            }
        }
        let mut size = joined.iter().map(|(low, high)| high - low + 1).max()?;
        let mut tries = TRIES + 4 * joined.len();
        while size <= most {
            let cut = |(low, high): &&(i64, i64)| low / size != high / size;
            let Some(&(_, high)) = joined.iter().find(cut) else { return Some(size) };
            // A multiple of the size lies between: the next sizes with which it does, too, are passed over.
            let multiple = high / size;
            size = high / multiple + 1;
            tries = tries.checked_sub(joined.len())?;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_the_least_that_no_entry_is_cut_by() {
        let of = |intervals: &[(i64, i64)]| {
            let reach = Reach { intervals: intervals.to_vec(), ..Reach::nothing(vec![100, 100]) };
            let fits = |size: &i64| intervals.iter().all(|(low, high)| low / size == high / size);
            assert_eq!(reach.block(50), (2..=50).find(fits), "{intervals:?}");
        };
        of(&[(0, 1), (2, 3)]);
        of(&[(0, 1), (3, 4)]);
        of(&[(0, 2), (5, 6), (9, 10)]);
        of(&[(7, 9), (20, 29), (30, 33)]);
        of(&[(10, 90)]);
        of(&[(48, 49), (51, 52), (60, 63), (95, 99)]);
    }
}
