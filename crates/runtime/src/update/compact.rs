//! Nodes in the order of coordinates, one behind the other, without unused ones between.
//!
//! Nodes that were made by updates lie where there was room, and walks through them fetch memory from everywhere. Compaction is a
//! conversion to plain levels and back: nodes are full and balanced then, as in a tensor that was packed, and free nodes are given
//! back.
//!
//! A tensor that grows is compacted on the way, each time that three quarters as many entries have been put in as there were before, if
//! some nodes lie far from their rows by then. Room is left between rows (`nodes/gaps.rs`), in which the nodes that come next lie near
//! them. So an entry costs about as much as the conversion of two or three besides, however many there are. Small trees that are full and
//! balanced enough are moved as they are, without a conversion (`nodes/relocate.rs`).
//!
//! ```text
//! entries       16384       28672       50176       87808   ..
//! compacted              at 28672    at 50176    at 87808
//! ```

use crate::error::StorageError;
use crate::nodes::{is_due, relocate};
use crate::storage::LevelStorage;
use crate::tensor::Tensor;

/// As many entries are near in any case.
const LEAST: u64 = 1 << 13;

/// One in so many words may belong to nodes that lie far from their rows.
const FAR: u64 = 32;

/// So much room is left for each word that new nodes took.
const MORE: f64 = 1.25;

impl Tensor {
    /// Compacts a tensor that has grown so much since that was done last that nodes lie far from their rows. If memory is refused, it stays as
    /// it is.
    #[inline]
    pub(super) fn tidy(&mut self) {
        let has_grown = |level: &LevelStorage| {
            let kept = level.kept();
            kept.inserted > LEAST && is_due(kept.inserted, kept.laid_out)
        };
        if self.levels().last().is_some_and(has_grown) {
            self.tidy_grown();
        }
    }

    /// The same, if as many entries as that have been put in.
    #[cold]
    fn tidy_grown(&mut self) {
        let words = |level: &LevelStorage| level.nodes().map_or(0, |(_, _, words)| words.len() as u64);
        let is_far = |level: &LevelStorage| level.kept().far_words > words(level) / FAR;
        // Nothing but the order of nodes is not as it was: whoever puts an entry in need not know.
        if self.levels().last().is_some_and(is_far) && self.put_in_order(&self.growths()).is_err() {
            // It is tried again when as many have been put in once more.
            self.parts_mut().2.iter_mut().for_each(LevelStorage::forget_inserted);
        }
    }

    /// Stores the tensor anew in its format, if updates have left unused places or an order of nodes that is not that of
    /// coordinates.
    ///
    /// # Errors
    /// Memory is refused. The tensor is as it was then.
    ///
    /// ```
    /// use lacunar_formats::{DType, FormatSpec};
    /// use lacunar_runtime::Tensor;
    /// let format = "{bst}".parse::<FormatSpec>().unwrap().resolve(1).unwrap();
    /// let mut vector = Tensor::zeros(vec![100], &format, DType::F64).unwrap();
    /// (0..100).for_each(|i| assert_eq!(vector.insert(&[i], 1.0).unwrap(), None));
    /// (50..100).for_each(|i| assert_eq!(vector.remove::<f64>(&[i]).unwrap(), Some(1.0)));
    /// vector.compact().unwrap();
    /// assert_eq!((vector.nnz(), vector.entries()), (50, 50));
    /// ```
    pub fn compact(&mut self) -> Result<(), StorageError> {
        let is_compact = self.format().levels().iter().all(|level| level.properties().compact);
        if is_compact || self.format().map().is_some() {
            return Ok(());
        }
        *self = self.laid_out(&[])?;
        Ok(())
    }

    /// The words that new nodes of each level have taken since it was laid out, for each word that was there, and some more: it may grow as
    /// much again.
    fn growths(&self) -> Vec<f64> {
        let growth = |level: &LevelStorage| {
            let (new, all) = (level.kept().new_words, level.nodes().map_or(0, |(_, _, words)| words.len() as u64));
            new as f64 / all.saturating_sub(new).max(1) as f64 * MORE
        };
        self.levels().iter().map(growth).collect()
    }

    /// Brings all nodes in order, with room for the growths of levels.
    ///
    /// # Errors
    /// Memory is refused. The tensor is as it was then.
    fn put_in_order(&mut self, growths: &[f64]) -> Result<(), StorageError> {
        let has_nodes = |level: &LevelStorage| level.nodes().is_some();
        let (_, format, levels, values) = self.parts_mut();
        if let [above @ .., last] = levels.as_mut_slice()
            && !above.iter().any(has_nodes)
            && format.map().is_none()
            && format.packing().is_none()
            && let Some((level, moved)) = relocate(last, values, growths.last().copied().unwrap_or_default())?
        {
            (*last, *values) = (level, moved);
            return Ok(());
        }
        *self = self.laid_out(growths)?;
        Ok(())
    }

    /// The same tensor with all nodes in order; with room for the growths of its levels, if it is going to get more entries.
    fn laid_out(&self, growths: &[f64]) -> Result<Tensor, StorageError> {
        let (format, plain) = (self.format(), self.to_plain()?);
        Ok(plain.spread_growing(format, growths)?.filled(self.fill()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use lacunar_formats::{DType, FormatSpec};

    use crate::random::SplitMix;
    use crate::tensor::Tensor;

    /// The words of the nodes of a tensor that has grown, for each word when it is compact.
    fn words_after_growth(format: &str) -> f64 {
        let format = format.parse::<FormatSpec>().unwrap().resolve(2).unwrap();
        let mut tensor = Tensor::zeros(vec![4000, 1000], &format, DType::F64).unwrap();
        let mut rng = SplitMix(5);
        // It is laid out when there are 8193 entries, and again when there are twice as many.
        for _ in 0..17_000 {
            tensor.insert(&[rng.below(4000), rng.below(1000)], 1.0).unwrap();
        }
        let words = |tensor: &Tensor| tensor.levels().last().unwrap().nodes().unwrap().2.len() as f64;
        let (grown, entries) = (words(&tensor), tensor.entries());
        tensor.compact().unwrap();
        assert_eq!(tensor.entries(), entries);
        grown / words(&tensor)
    }

    #[test]
    fn room_is_left_for_nodes_that_are_likely_to_come() {
        // A node for each entry; blocks that have places for all that come.
        let (single, blocks) = (words_after_growth("d{bst}"), words_after_growth("d{blist<64>}"));
        assert!((1.4..1.8).contains(&single), "{single}");
        assert!((1.0..1.3).contains(&blocks), "{blocks}");
    }
}
