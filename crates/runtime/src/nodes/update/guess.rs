//! Guesses the position of a node's values before the node itself has come from memory.
//!
//! A node has the position of its first value in a word of its own. So a search that ends in a node far away waits twice: for the node, and
//! then for its values. But nodes that were made one after the other have their values one after the other, and all nodes of a type without
//! arrays that have no bound are of one size. So the position follows from that of a node close by, of which each region of the array of
//! nodes keeps one that was met lately.
//!
//! ```text
//! nodes of 20 words and 16 positions      met: word 40, position 32
//!                                         word 100: 3 nodes behind it, position 32 + 3 * 16 = 80
//! ```
//!
//! A guess is right where nodes of one type lie side by side. Updates prefetch by it. A wrong guess changes no result: it fetches one line
//! of the cache that nobody reads.

use lacunar_formats::schema::Node;

/// The positions for each word of a type whose nodes are all of one size, in units of 2^-[`FRACTION`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate(i64);

impl Rate {
    /// `None` if a type has arrays without a bound.
    pub fn of(node: &Node) -> Option<Rate> {
        let layout = &node.layout;
        let rate = (i64::from(layout.slots) << FRACTION) / i64::from(layout.words.max(1));
        layout.unbounded.is_empty().then_some(Rate(rate))
    }
}

/// Nodes that were met lately, one for each region.
#[derive(Debug, Default)]
pub(crate) struct Guesses {
    met: Vec<Met>,
}

/// A node: its first word and its first position. The position of a node that nobody has met is [`NOBODY`].
#[derive(Clone, Copy, Debug)]
struct Met {
    base: u32,
    slot: u32,
}

impl Guesses {
    /// The first position of a node that begins at a word, if one of its region was met.
    #[inline]
    pub fn slot(&self, rate: Rate, base: u32) -> Option<u64> {
        let met = self.met.get((base >> REGION) as usize).filter(|met| met.slot != NOBODY)?;
        // Within a region the rate's own rounding is less than a half.
        let positions = (i64::from(base) - i64::from(met.base)) * rate.0 + (1 << (FRACTION - 1));
        u64::try_from(i64::from(met.slot) + (positions >> FRACTION)).ok()
    }

    /// Keeps a node that was met.
    #[inline]
    pub fn note(&mut self, base: u32, slot: u64) {
        let region = (base >> REGION) as usize;
        if region >= self.met.len() {
            // Without memory there are no guesses.
            if self.met.try_reserve(region + 1 - self.met.len()).is_err() {
                return;
            }
            self.met.resize(region + 1, Met { base: 0, slot: NOBODY });
        }
        self.met[region] = Met { base, slot: slot as u32 };
    }
}

/// The bits behind the point of a rate.
const FRACTION: u32 = 24;
/// The logarithm of the words of a region.
const REGION: u32 = 9;
/// The position of a node that nobody has met.
const NOBODY: u32 = u32::MAX;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use lacunar_formats::FormatSpec;

    use super::*;
    use crate::coo::{Coo, Coordinates};
    use crate::tensor::Tensor;
    use crate::values::Values;

    /// The right guesses among the positions of the root nodes of 2000 rows, when every 16th has been met.
    fn right(format: &str, elements: impl Fn(u32) -> u32) -> usize {
        let format = format.parse::<FormatSpec>().unwrap().resolve(2).unwrap();
        let entries: Vec<(u32, u32)> = (0..2000).flat_map(|i| (0..elements(i)).map(move |j| (i, j))).collect();
        let coords = vec![
            Coordinates::U32(entries.iter().map(|entry| entry.0).collect()),
            Coordinates::U32(entries.iter().map(|entry| entry.1).collect()),
        ];
        let values = Values::F64(vec![1.0; entries.len()]);
        let tensor = Tensor::from_coo(Coo { dims: vec![2000, 64], coords, values }, &format).unwrap();
        let level = tensor.levels().last().unwrap();
        let (schema, root, node) = level.nodes().unwrap();
        let (root, node) = (root.as_slice::<u32>().unwrap(), node.as_slice::<u32>().unwrap());
        let view = crate::nodes::View { schema, root, node };
        let places: Vec<(u32, usize)> =
            root.iter().map(|handle| view.follow(*handle, schema.entry()).unwrap()).collect();
        let mut guesses = Guesses::default();
        let guess = |guesses: &Guesses, (base, ty): &(u32, usize)| {
            Rate::of(&schema.nodes()[*ty]).and_then(|rate| guesses.slot(rate, *base))
        };
        assert!(places.iter().all(|place| guess(&guesses, place).is_none()));
        places
            .iter()
            .step_by(16)
            .chain(places.last())
            .for_each(|(base, ty)| guesses.note(*base, view.slot_of(*base, *ty)));
        let is_right = |place: &&(u32, usize)| guess(&guesses, place) == Some(view.slot_of(place.0, place.1));
        places.iter().filter(is_right).count()
    }

    #[test]
    fn nodes_of_one_size_are_guessed_right() {
        assert_eq!(right("d{btree}", |i| 1 + i % 16), 2000);
        assert_eq!(right("d{btree<5>}", |i| 1 + i % 5), 2000);
        assert_eq!(right("d{bst}", |i| 1 + i % 7), 2000);
        // Others are guessed from their neighbors, or not at all.
        assert!((1..2000).contains(&right("d{btree}", |i| if i % 100 == 99 { 40 } else { 3 })));
        assert_eq!(right("d{ctree}", |i| 1 + i % 7), 0);
    }

    #[test]
    fn what_is_far_outside_does_no_harm() {
        let schema = "d{btree}".parse::<FormatSpec>().unwrap().resolve(2).unwrap();
        let rate = Rate::of(&schema.levels()[1].kind.schema().unwrap().nodes()[0]).unwrap();
        let mut guesses = Guesses::default();
        guesses.note(0, u64::from(u32::MAX) - 1);
        assert_eq!(guesses.slot(rate, u32::MAX), None);
        guesses.note(511, 3);
        // The position would be below 0.
        assert_eq!(guesses.slot(rate, 0), None);
    }
}
