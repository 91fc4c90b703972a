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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use lacunar_formats::Format;

    #[test]
    fn the_heaviest_row_of_enormous_arrays_is_known_at_once() {
        let rows = i64::MAX as u64;
        let empty = Tensor::from_dense(vec![rows, 0], Buffer::from_vec(Vec::<f64>::new()), &Format::dense(2));
        assert_eq!(empty.expect("a tensor").heaviest(), Some(0));
        let array = Tensor::from_dense(vec![2, 3], Buffer::from_vec(vec![1.0; 6]), &Format::dense(2));
        assert_eq!(array.expect("a tensor").heaviest(), Some(3));
    }
}
