//! Memory between the nodes of a level that is going to grow: a new node lies near those of its row.
//!
//! Nodes that are laid out in the order of coordinates are read like an array. One that is put in later has no place among them, and at the
//! end of the array it would be far from its row: each walk would wait for it. So behind every stretch of trees there is room for as many
//! words as new nodes are likely to take, and for positions in proportion, and a new node takes the room that is nearest to the node which
//! it hangs below.
//!
//! ```text
//! trees of rows 0 .. 40   room   trees of rows 41 .. 87   room   ..       a node for row 50 goes into the second room
//! ```
//!
//! On entry: the first word and the first position of each tree as if there were no room between. On exit: the same with it, and a list.

/// A tensor that grows is laid out again when it has got three new elements for each four that it had (`update/compact.rs`).
#[inline]
pub(crate) fn is_due(inserted: u64, laid_out: u64) -> bool {
    inserted > laid_out / 4 * 3
}

/// The same as a part of the elements that it had.
const UNTIL_NEXT: f64 = 0.75;

/// The least and the most words of room behind a stretch of trees.
const LEAST: u64 = 1 << 8;
const MOST: u64 = LEAST * 3;
/// The least and the most words of a stretch. A level that would need longer stretches gets no room.
const STRETCH: u64 = 1 << 10;
const LONGEST: u64 = 1 << 16;

/// Room that is left behind a stretch of trees.
#[derive(Clone, Copy, Debug)]
struct Gap {
    /// The next word and the one behind the last.
    word: u32,
    end: u32,
    /// The next position and the one behind the last.
    slot: u32,
    slot_end: u32,
}

/// The room between the trees of a level, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gaps {
    all: Vec<Gap>,
    /// The words of a stretch with the room behind it.
    words: u64,
}

impl Gaps {
    /// Makes room between trees, of which the first words and positions are given, with those behind the last, for new nodes with `growth`
    /// words for each word of the trees. The first word of all lies at `first`.
    pub fn between(words: &mut [u64], slots: &mut [u64], first: u64, growth: f64) -> Gaps {
        let all = |edges: &[u64]| edges.last().copied().unwrap_or(0);
        let (all_words, all_slots) = (all(words), all(slots));
        // Multiples of all alignments of nodes.
        let own = ((STRETCH as f64 * growth) as u64).next_multiple_of(LEAST).clamp(LEAST, MOST);
        let stretch = ((own as f64 / growth) as u64).max(STRETCH);
        if stretch > LONGEST {
            return Gaps::default();
        }
        // Positions are as many for each word as they are among trees.
        let room = (all_slots * own).div_ceil(all_words.max(1));
        let count = all_words / stretch;
        let ends = first + all_words + count * own;
        if ends > u64::from(u32::MAX) || all_slots + count * room > u64::from(u32::MAX) {
            return Gaps::default();
        }
        let mut gaps = Vec::with_capacity(count as usize);
        for (word, slot) in words.iter_mut().zip(slots) {
            for number in gaps.len() as u64..*word / stretch {
                let (start, slot) = (first + *word + number * own, *slot + number * room);
                let (end, slot_end) = ((start + own) as u32, (slot + room) as u32);
                gaps.push(Gap { word: start as u32, end, slot: slot as u32, slot_end });
            }
            *slot += *word / stretch * room;
            *word += *word / stretch * own;
        }
        Gaps { all: gaps, words: stretch + own }
    }

    /// The same between the trees of a level of so many elements: the next of them may exceed the places that nodes have, whatever words came
    /// lately.
    pub fn of_growing((words, slots): (&mut [u64], &mut [u64]), first: u64, (elements, growth): (u64, f64)) -> Gaps {
        let filled = elements as f64 / slots.last().copied().unwrap_or(0).max(1) as f64;
        Gaps::between(words, slots, first, growth.max((1.0 + UNTIL_NEXT) * filled - 1.0))
    }

    /// Takes so many words and positions near a word, and gives the first of both; `None` if no room near it has as many.
    pub fn take(&mut self, near: u32, words: u64, slots: u64) -> Option<(u32, u32)> {
        let nearest = u64::from(near).checked_div(self.words)? as usize;
        for number in [nearest, nearest + 1, nearest.wrapping_sub(1)] {
            let Some(gap) = self.all.get_mut(number) else { continue };
            if u64::from(gap.end - gap.word) >= words && u64::from(gap.slot_end - gap.slot) >= slots {
                let taken = (gap.word, gap.slot);
                (gap.word, gap.slot) = (gap.word + words as u32, gap.slot + slots as u32);
                return Some(taken);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_and_room_share_the_words_and_positions() {
        let all_lengths = [vec![], vec![8; 1000], vec![0, 5000, 0, 4, 2000, 1024, 1024], vec![4096], vec![40; 9000]];
        let growths = [0.75, 0.3, 0.02, 5.0];
        for (lengths, growth) in all_lengths.iter().flat_map(|lengths| growths.map(|growth| (lengths, growth))) {
            let edges = |each: u64| -> Vec<u64> {
                let sums = lengths.iter().scan(0, |sum, length| {
                    *sum += length / each;
                    Some(*sum)
                });
                [0].into_iter().chain(sums).collect()
            };
            let (plain, plain_slots) = (edges(1), edges(4));
            let (mut words, mut slots) = (plain.clone(), plain_slots.clone());
            let mut gaps = Gaps::between(&mut words, &mut slots, 4, growth);
            // Each word and each position belongs to one tree or one gap.
            for (taken, edges, before, of) in [(0, &words, &plain, 4), (1, &slots, &plain_slots, 0)] {
                let trees = (0..lengths.len()).map(|k| (of + edges[k], of + edges[k] + before[k + 1] - before[k]));
                let rooms = gaps.all.iter().map(|gap| match taken {
                    0 => (u64::from(gap.word), u64::from(gap.end)),
                    _ => (u64::from(gap.slot), u64::from(gap.slot_end)),
                });
                let mut all: Vec<(u64, u64)> = trees.chain(rooms).filter(|(begin, end)| begin < end).collect();
                all.sort_unstable();
                assert!(all.windows(2).all(|pair| pair[0].1 == pair[1].0), "{lengths:?} {all:?}");
                assert_eq!(all.last().map_or(of, |last| last.1), of + edges[lengths.len()], "{lengths:?}");
            }
            // No word is taken twice.
            let mut taken = Vec::new();
            let far = words.last().copied().unwrap_or(0) as u32;
            for near in (0..far).step_by(64).chain(0..far) {
                taken.extend(gaps.take(near, 8, 2));
            }
            let count = taken.len();
            taken.sort_unstable();
            taken.dedup();
            assert_eq!(taken.len(), count);
            let stretch = (256.0 / growth) as u32;
            assert!(far < stretch.max(3000) || count > 0);
            // Two thirds of the words that the growth says, and no more than are allowed.
            let room = taken.len() as f64 * 8.0 / f64::from(far.max(1));
            assert!(far < 10 * stretch || room > growth.min(0.75) / 1.75 / 1.5, "{growth} {room}");
            assert!(room < growth.min(0.76), "{growth} {room}");
        }
    }

    #[test]
    fn without_growth_there_is_no_room() {
        for growth in [0.0, 1e-9, 0.003] {
            let (mut words, mut slots): (Vec<u64>, Vec<u64>) =
                ((0..5000).map(|k| 8 * k).collect(), (0..5000).collect());
            let before = (words.clone(), slots.clone());
            assert_eq!(Gaps::between(&mut words, &mut slots, 4, growth).take(64, 4, 1), None);
            assert_eq!((words, slots), before);
        }
    }
}
