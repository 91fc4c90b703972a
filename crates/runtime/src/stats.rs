//! Statistics of tensors for the planner's cost model, read off the arrays and their lengths.

use lacunar_formats::LevelKind;

use crate::nodes::{View, count, deepest};
use crate::tensor::Tensor;

impl Tensor {
    /// The number of positions of each level, outermost first: the number of iterations of a loop over the level's storage.
    ///
    /// A csr matrix of 10 rows with 25 entries has 10 and 25.
    pub fn level_counts(&self) -> Vec<u64> {
        self.levels()
            .iter()
            .scan(1u64, |parents, level| {
                *parents = level.positions(*parents).unwrap_or(u64::MAX);
                Some(*parents)
            })
            .collect()
    }

    /// The largest number of values under one coordinate of the outermost level: of a CSR matrix, the length of its longest row.
    /// For levels of nodes under a dense one, the number under that coordinate from which the way down to the first element is the
    /// longest. `None` where the storage does not tell without a look at every coordinate.
    ///
    /// ```
    /// use lacunar_formats::Format;
    /// use lacunar_runtime::{Buffer, Tensor};
    /// let entries = Buffer::from_vec(vec![0.0, 1.0, 2.0, 0.0, 3.0, 0.0]);
    /// let matrix = Tensor::from_dense(vec![2, 3], entries, &Format::csr()).unwrap();
    /// assert_eq!(matrix.heaviest(), Some(2));
    /// ```
    pub fn heaviest(&self) -> Option<u64> {
        let kinds = self.format().levels();
        if let [rows, nodes] = self.levels()
            && rows.kind() == LevelKind::DENSE
            && let Some(view) = View::of(nodes)
        {
            return deepest(view).map_or(Some(0), |parent| Some(count(view, parent)));
        }
        if kinds.len() < 2 || !kinds[0].properties().unique || !self.format().is_plain() {
            return None;
        }
        // A dimension may be enormous where another has size 0.
        if self.values().is_empty() {
            return Some(0);
        }
        let first = self.levels()[0].positions(1)?;
        let under = |position: u64| {
            let mut segment = (position, position + 1);
            for level in &self.levels()[1..] {
                segment = match level.pos() {
                    Some(edges) => {
                        let edges = edges.indices()?;
                        (edges.get(usize::try_from(segment.0).ok()?), edges.get(usize::try_from(segment.1).ok()?))
                    }
                    None => (level.positions(segment.0)?, level.positions(segment.1)?),
                };
            }
            Some(segment.1 - segment.0)
        };
        // Without edges there are as many values under one coordinate as under another.
        let different = if self.levels()[1..].iter().any(|level| level.pos().is_some()) { first } else { first.min(1) };
        (0..different).map(under).try_fold(0, |most, here| Some(most.max(here?)))
    }

    /// True if the lengths of the innermost segments, such as the rows of a CSR matrix, are steady: they repeat in such a way that a processor
    /// foresees two thirds or more of the branches on them. `None` without such segments.
    ///
    /// A branch on whether a length is `1 .. 4` more than a multiple of eight stands for all: that is where vectors of four end. A [`Predictor`]
    /// of four outcomes predicts it. A thousand segments are looked at, or all.
    ///
    /// ```
    /// use lacunar_formats::Format;
    /// use lacunar_runtime::{Buffer, Tensor};
    /// let grid = Buffer::from_vec(vec![1.0; 600]);
    /// assert_eq!(Tensor::from_dense(vec![100, 6], grid, &Format::csr()).unwrap().is_steady(), Some(true));
    /// ```
    pub fn is_steady(&self) -> Option<bool> {
        let edges = self.levels().last()?.pos()?.indices()?;
        let segments = edges.len().checked_sub(1)?;
        let apart = (segments.saturating_sub(RUN) / (RUNS - 1)).max(RUN);
        let (mut met, mut missed, mut predictor) = (0, 0, Predictor::<16>::new(2));
        for first in (0..segments).step_by(apart) {
            let mut begin = edges.get(first);
            for segment in first..segments.min(first + RUN) {
                let end = edges.get(segment + 1);
                // A segment without elements has no vectors that may end.
                if let Some(last) = end.saturating_sub(begin).checked_sub(1) {
                    met += 1;
                    missed += usize::from(predictor.misses(usize::from(last & 7 < 4)));
                }
                begin = end;
            }
        }
        Some(missed * 3 <= met)
    }

    /// True if the coordinates of the innermost segments lie scattered: most of them choose a line of an array of reals that no other near
    /// them chooses, so that whole lines are read for one element each. Two thousand coordinates are looked at, in stretches of neighbors. `None`
    /// without coordinates, and for so few that it does not matter.
    ///
    /// ```
    /// use lacunar_formats::Format;
    /// use lacunar_runtime::{Buffer, Tensor};
    /// let grid = Buffer::from_vec(vec![1.0; 300_000]);
    /// assert_eq!(Tensor::from_dense(vec![50_000, 6], grid, &Format::csr()).unwrap().is_scattered(), Some(false));
    /// ```
    pub fn is_scattered(&self) -> Option<bool> {
        const LINE: u64 = 8;
        let level = self.levels().last()?;
        let coordinates = level.pos().and(level.crd())?.indices()?;
        let count = coordinates.len();
        if count < FEW {
            return None;
        }
        let mut lines = 0;
        for first in (0..STRETCHES).map(|stretch| (count - NEIGHBORS) / (STRETCHES - 1) * stretch) {
            let mut chosen: [u64; NEIGHBORS] = std::array::from_fn(|k| coordinates.get(first + k) / LINE);
            chosen.sort_unstable();
            lines += 1 + chosen.windows(2).filter(|pair| pair[0] != pair[1]).count();
        }
        Some(lines * 2 > STRETCHES * NEIGHBORS)
    }

    /// True if a stored value has only bits that are 0: a zero that nothing would tell from padding.
    ///
    /// ```
    /// use lacunar_formats::Format;
    /// use lacunar_runtime::{Buffer, Tensor};
    /// let vector = |values: Vec<f64>| Tensor::from_dense(vec![2], Buffer::from_vec(values), &Format::dense(1)).unwrap();
    /// assert!(vector(vec![1.0, 0.0]).stores_zeros() && !vector(vec![1.0, -0.0]).stores_zeros());
    /// ```
    pub fn stores_zeros(&self) -> bool {
        let size = self.dtype().size();
        size > 0 && self.values().as_bytes().chunks_exact(size).any(|value| value.iter().all(|byte| *byte == 0))
    }
}

/// A two-level branch predictor: it expects what came last after the same outcomes, as processors do (T.-Y. Yeh and Y. N. Patt, *Two-level
/// adaptive training branch prediction*, MICRO 1991).
///
/// ```
/// use lacunar_runtime::Predictor;
/// let mut predictor = Predictor::<16>::new(2);
/// let missed = (0..100).filter(|k| predictor.misses(k % 2)).count();
/// assert!(missed < 5);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Predictor<const HISTORIES: usize> {
    /// By history, the outcome that followed last.
    expected: [usize; HISTORIES],
    /// The last outcomes, as the digits of a number.
    history: usize,
    /// The number of outcomes that a branch may have.
    outcomes: usize,
}

impl<const HISTORIES: usize> Predictor<HISTORIES> {
    /// A predictor of branches with so many outcomes, of which the number of histories is a power.
    pub const fn new(outcomes: usize) -> Predictor<HISTORIES> {
        Predictor { expected: [0; HISTORIES], history: 0, outcomes }
    }

    /// Learns an outcome; true if another one was expected.
    pub fn misses(&mut self, outcome: usize) -> bool {
        let was_missed = std::mem::replace(&mut self.expected[self.history], outcome) != outcome;
        self.history = (self.history * self.outcomes + outcome) % HISTORIES;
        was_missed
    }
}

/// The segments that are looked at: so many runs of so many neighbors.
const RUNS: usize = 16;
const RUN: usize = 64;

/// The coordinates that are looked at: so many stretches of so many neighbors, those of a few dozen short segments.
const STRETCHES: usize = 4;
const NEIGHBORS: usize = 512;
/// Caches hold fewer coordinates with their values, and a look at them would take as long as many a kernel.
const FEW: usize = 1 << 18;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use crate::coo::{Coo, Coordinates};
    use crate::random::SplitMix;
    use crate::values::Values;
    use lacunar_formats::Format;

    #[test]
    fn the_heaviest_row_of_enormous_arrays_is_known_at_once() {
        let rows = i64::MAX as u64;
        let empty = Tensor::from_dense(vec![rows, 0], Buffer::from_vec(Vec::<f64>::new()), &Format::dense(2));
        assert_eq!(empty.expect("a tensor").heaviest(), Some(0));
        let array = Tensor::from_dense(vec![2, 3], Buffer::from_vec(vec![1.0; 6]), &Format::dense(2));
        assert_eq!(array.expect("a tensor").heaviest(), Some(3));
    }

    #[test]
    fn columns_at_random_are_scattered_and_those_of_neighboring_rows_are_not() {
        let scattered = |rows: u32, column: &mut dyn FnMut(u32, u32) -> u32| {
            let mut entries: Vec<(u32, u32)> = (0..rows)
                .flat_map(|row| [0, 1, 2, 3].map(|k| (row, k)))
                .map(|(row, k)| (row, column(row, k)))
                .collect();
            entries.sort_unstable();
            entries.dedup();
            let (rows, columns) = entries.iter().copied().unzip();
            let values = Values::F64(vec![1.0; entries.len()]);
            let coords = vec![Coordinates::U32(rows), Coordinates::U32(columns)];
            Tensor::from_coo(Coo { dims: vec![80_000; 2], coords, values }, &Format::csr())
                .expect("a tensor")
                .is_scattered()
        };
        let mut random = SplitMix(7);
        assert_eq!(scattered(80_000, &mut |_, _| random.below(80_000) as u32), Some(true));
        assert_eq!(scattered(80_000, &mut |row, k| (row + 100 * k) % 80_000), Some(false));
        // Few columns are chosen again and again.
        assert_eq!(scattered(80_000, &mut |_, _| random.below(100) as u32 * 150), Some(false));
        assert_eq!(scattered(100, &mut |_, _| random.below(80_000) as u32), None);
        let array = Tensor::from_dense(vec![2, 3], Buffer::from_vec(vec![1.0; 6]), &Format::dense(2));
        assert_eq!(array.expect("a tensor").is_scattered(), None);
    }

    #[test]
    fn lengths_that_repeat_are_steady_and_random_ones_are_not() {
        let steady = |rows: u32, length: &mut dyn FnMut(u32) -> u32| {
            let entries: Vec<(u32, u32)> = (0..rows).flat_map(|row| (0..length(row)).map(move |k| (row, k))).collect();
            let (rows, columns) = entries.iter().copied().unzip();
            let values = Values::F64(vec![1.0; entries.len()]);
            let list =
                Coo { dims: vec![5000, 64], coords: vec![Coordinates::U32(rows), Coordinates::U32(columns)], values };
            Tensor::from_coo(list, &Format::csr()).expect("a tensor").is_steady()
        };
        let mut random = SplitMix(7);
        assert_eq!(steady(5000, &mut |row| if row % 2 == 0 { 5 } else { 9 }), Some(true));
        assert_eq!(steady(5000, &mut |row| if row % 50 == 0 { 0 } else { 3 }), Some(true));
        assert_eq!(steady(5000, &mut |_| 1 + random.below(8) as u32), Some(false));
        assert_eq!(steady(0, &mut |_| 0), Some(true));
        let array = Tensor::from_dense(vec![2, 3], Buffer::from_vec(vec![1.0; 6]), &Format::dense(2));
        assert_eq!(array.expect("a tensor").is_steady(), None);
    }
}
