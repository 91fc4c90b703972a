//! The type of the node at the root of a tree of so many elements.
//!
//! Among the types whose trees have that many elements, one without children comes first, then one with a child, then one with
//! several. A type that would hand on all elements to its only child comes behind all that take some: nodes of it could follow one
//! another forever. Among such types, one whose child soon takes an element is chosen; if no node ever would, there is no such
//! tree.
//!
//! ```text
//! supertype s    def block : s { e: elem[3]  n: s[2] }    def wrap : s { r: s }
//! 20 elements: a `block`, although a `wrap` has fewer children; it would hold a `wrap` again
//! ```

use lacunar_formats::schema::Target;

use super::shape::{Children, Choice, Shapes};

impl Shapes {
    /// The node at the root of a tree of so many elements, of the least height up to `height` that holds them; of levelled children of
    /// just this height.
    pub fn choose(&self, target: Target, count: u64, height: Option<usize>) -> Option<Choice> {
        let mut heights = match height {
            Some(height) if self.is_levelled(target) => height..height + 1,
            Some(height) => 0..height + 1,
            None => 0..self.heights(),
        };
        heights.find_map(|height| {
            let simplicity = |choice: Choice| {
                let it = &self.types[choice.number];
                Some(((self.hands_on(choice, count)?, it.children, it.bounds[0].most), choice))
            };
            let ending = self.fitting(target, count, height).filter_map(simplicity);
            ending.min_by_key(|(simplicity, _)| *simplicity).map(|(_, choice)| choice)
        })
    }

    /// The types whose trees of this height may have so many elements.
    fn fitting(&self, target: Target, count: u64, height: usize) -> impl Iterator<Item = Choice> {
        let types = self.schema.types(target).iter();
        let fitting = types.filter(move |number| self.types[**number].counts[height].holds(count));
        fitting.map(move |number| Choice { number: *number, height })
    }

    /// The number of nodes that hand on all elements before one takes some, where the first is of this type. `None` if none ever does.
    fn hands_on(&self, choice: Choice, count: u64) -> Option<usize> {
        let Some(target) = self.handed_to(choice, count) else { return Some(0) };
        let (mut seen, mut targets) = (vec![choice.number], vec![target]);
        for steps in 1.. {
            let mut next = Vec::new();
            for choice in targets.iter().flat_map(|target| self.fitting(*target, count, choice.height)) {
                if seen.contains(&choice.number) {
                    continue;
                }
                seen.push(choice.number);
                match self.handed_to(choice, count) {
                    None => return Some(steps),
                    Some(target) => next.push(target),
                }
            }
            if next.is_empty() {
                return None;
            }
            targets = next;
        }
        None
    }

    /// The type of the only child, if all elements go to it.
    fn handed_to(&self, choice: Choice, count: u64) -> Option<Target> {
        let it = &self.types[choice.number];
        if it.children != Children::One || it.own(|_| 0).least > 0 {
            return None;
        }
        let is_handed = self.deal(choice, count).is_none_or(|deal| deal.rest == count);
        is_handed.then(|| self.groups(choice.number, |_| 1).next().map(|group| group.to)).flatten()
    }
}
