//! Sets of numbers of elements, as intervals: those that trees of one type and height have.
//!
//! ```text
//! pactree<64,32>    height 0: 1, 32 ..= 64        height 1: 1 ..= 3, 33 ..= 129
//! ```

use lacunar_formats::schema::Target;

use super::shape::{Children, Group, NONE, Shapes};

/// The most intervals of a set; beyond, those that are nearest to each other, the greatest of these, become one, with the numbers between
/// them.
const INTERVALS: usize = 64;

/// A set of numbers: intervals with both ends, ascending, with numbers between that are in none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts(Vec<(u64, u64)>);

impl Counts {
    /// The numbers between two, which are in the set.
    pub fn between(least: u64, most: u64) -> Counts {
        if least <= most { Counts(vec![(least, most)]) } else { Counts::default() }
    }

    fn of(mut intervals: Vec<(u64, u64)>) -> Counts {
        intervals.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::with_capacity(intervals.len());
        for (least, most) in intervals {
            match joined.last_mut() {
                Some((_, end)) if least <= end.saturating_add(1) => *end = most.max(*end),
                _ => joined.push((least, most)),
            }
        }
        while joined.len() > INTERVALS {
            let gap = |place: &usize| joined[place + 1].0 - joined[*place].1;
            let Some(place) = (0..joined.len() - 1).rev().min_by_key(gap) else { break };
            joined[place].1 = joined[place + 1].1;
            joined.remove(place + 1);
        }
        Counts(joined)
    }

    /// Adds the numbers from the greatest one on to another.
    pub fn extend(&mut self, most: u64) {
        if let Some(last) = self.0.last_mut() {
            last.1 = last.1.max(most);
        }
    }

    /// The numbers of either set.
    pub fn or(&self, other: &Counts) -> Counts {
        Counts::of([self.0.as_slice(), &other.0].concat())
    }

    /// The sums of a number of one set and a number of the other.
    pub fn plus(&self, other: &Counts) -> Counts {
        let sum = |a: &(u64, u64), b: &(u64, u64)| (a.0.saturating_add(b.0), a.1.saturating_add(b.1));
        Counts::of(self.0.iter().flat_map(|a| other.0.iter().map(move |b| sum(a, b))).collect())
    }

    /// The sums of so many numbers of the set.
    pub fn times(&self, count: u64) -> Counts {
        let (mut all, mut power, mut left) = (Counts::between(0, 0), self.clone(), count);
        while left > 0 {
            if left % 2 == 1 {
                all = all.plus(&power);
            }
            left /= 2;
            if left > 0 {
                power = power.plus(&power);
            }
        }
        all
    }

    /// True if numbers between the least and the greatest are missing.
    pub fn has_gaps(&self) -> bool {
        self.0.len() > 1
    }

    pub fn holds(&self, number: u64) -> bool {
        self.0.iter().any(|(least, most)| (*least..=*most).contains(&number))
    }

    /// True if all numbers between two are in the set.
    pub fn holds_between(&self, from: u64, to: u64) -> bool {
        self.0.iter().any(|(least, most)| *least <= from && to <= *most)
    }

    /// The least number of the set that is not below a number.
    pub fn from(&self, number: u64) -> Option<u64> {
        self.0.iter().find(|(_, most)| number <= *most).map(|(least, _)| number.max(*least))
    }

    /// The number of the set that is nearest to a wanted one, of those that leave a number of another set of `all`.
    pub fn nearest(&self, wanted: u64, all: u64, others: &Counts) -> Option<u64> {
        let common = |(least, most): &(u64, u64), (from, to): &(u64, u64)| {
            let low = all.saturating_sub(*to).max(*least);
            let high = all.checked_sub(*from)?.min(*most);
            (low <= high).then(|| wanted.clamp(low, high))
        };
        let pairs = self.0.iter().flat_map(|own| others.0.iter().filter_map(move |other| common(own, other)));
        pairs.min_by_key(|number| number.abs_diff(wanted))
    }
}

impl Shapes {
    /// Finds the numbers of elements of nodes of a height. Lists follow from each other, node by node; one that is longer than those that
    /// are gone through has any number.
    pub fn count(&mut self, height: usize) {
        let numbers = 0..self.types.len();
        self.types.iter_mut().for_each(|it| it.counts.push(Counts::default()));
        for _ in 0..LINKS {
            let next: Vec<Counts> = numbers.clone().map(|number| self.counts_at(number, height)).collect();
            let is_known = self.types.iter().zip(&next).all(|(it, next)| it.counts[height] == *next);
            self.types.iter_mut().zip(next).for_each(|(it, next)| it.counts[height] = next);
            if is_known {
                return;
            }
        }
        for it in &mut self.types {
            it.counts[height].extend(it.bounds[height].most);
        }
    }

    /// The numbers of elements of a node of a height, as far as those of the nodes below are known. If a list's nodes may have one element,
    /// or lengths tell the number of children, no number between the bounds is left out.
    fn counts_at(&self, number: usize, height: usize) -> Counts {
        let (it, bounds) = (&self.types[number], self.types[number].bounds[height]);
        let own = it.own(|_| 0);
        let is_plain = match it.children {
            Children::Zero => true,
            Children::One => own.least <= 1,
            Children::Many => it.sizes.iter().any(|size| size.is_coupled),
        };
        if is_plain || bounds == NONE {
            return Counts::between(bounds.least, bounds.most);
        }
        let below = if it.children == Children::One { Some(height) } else { height.checked_sub(1) };
        let Some(below) = below else { return Counts::between(bounds.least, bounds.most) };
        let of = |group: Group| self.counts_below(group, below).times(group.count);
        self.groups(number, |_| 0).fold(Counts::between(own.least, own.most), |all, group| all.plus(&of(group)))
    }

    /// The numbers of elements of a child of a height at most, of which there are none where it is not.
    pub fn counts_below(&self, group: Group, height: usize) -> Counts {
        let counts = match &self.counts {
            Some(counts) => counts[self.place_of(group.to)][height].clone(),
            None => self.counts_of(group.to, height),
        };
        if group.nonempty { counts } else { counts.or(&Counts::between(0, 0)) }
    }

    /// The numbers of elements of a child; see [`Shapes::bounds`].
    pub fn counts_of(&self, target: Target, height: usize) -> Counts {
        let from = if self.is_levelled(target) { height } else { 0 };
        let of = |number: &usize| {
            self.types[*number].counts[from..=height].iter().fold(Counts::default(), |all, own| all.or(own))
        };
        self.schema.types(target).iter().map(of).fold(Counts::default(), |all, own| all.or(&own))
    }
}

/// The most nodes of a list that are gone through to find the numbers of its elements.
const LINKS: usize = 64;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_those_of_their_numbers() {
        let set = Counts::of(vec![(32, 64), (1, 1)]);
        let sums = set.plus(&set);
        let is_sum = |number: u64| (0..number).any(|one| set.holds(one) && set.holds(number - one));
        assert!((0..200).all(|number| sums.holds(number) == is_sum(number)));
        assert_eq!(sums, Counts::of(vec![(2, 2), (33, 65), (64, 128)]));
        assert_eq!((set.times(0), set.times(3)), (Counts::between(0, 0), sums.plus(&set)));
        assert_eq!((sums.from(3), sums.from(129), sums.has_gaps()), (Some(33), None, true));
        assert!(set.holds_between(33, 64) && !set.holds_between(1, 64));
        assert_eq!((set.nearest(64, 89, &set), set.nearest(64, 200, &set)), (Some(57), None));
        assert_eq!(set.or(&Counts::between(2, 31)), Counts::between(1, 64));
        let many = Counts::of((0..1000).map(|k| (k * k, k * k)).collect());
        assert!(many.0.len() <= INTERVALS && many.holds(999 * 999));
    }
}
