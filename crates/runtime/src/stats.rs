//! Statistics of tensors for the planner's cost model, read off the arrays' lengths.

use crate::tensor::Tensor;

impl Tensor {
    /// The number of positions of each level, outermost first: how often a loop over the level's storage runs in all.
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
}
