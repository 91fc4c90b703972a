//! Points of merge lattices: sets of iterators, and the combinations of sets of such points.
//!
//! ```text
//! {b} both {c}       {b, c}               a product
//! {b} either {c}     {b, c}, {b}, {c}     a sum
//! ```
//!
//! A sum of n sparse operands has 2^n - 1 points. Lattices are built of all of them as long as they are few. If there are more, a
//! [`PointSet`] keeps those that contain no other, and the one that contains all, and is *coarse*. It still tells where something is done,
//! since a coordinate at which a point is present has one of the smallest present, but not which points lie in between. The loops over
//! coarse lattices test each operand by itself. So the work of a compilation grows with the number of operands, and not with that of their
//! combinations.
//!
//! ```text
//! {a} either {b} either .. either {h}      255 points     kept, coarse: {a}, {b}, .., {h}, and {a, b, .., h}
//! ```

/// A set of iterators of one loop, by their number in [`Lattice::iterators`](super::lattice::Lattice::iterators).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Point(pub u64);

impl Point {
    /// The point without iterators: every coordinate.
    pub const ALL: Point = Point(0);

    /// True if it has iterator `k`.
    pub fn has(self, k: usize) -> bool {
        self.0 >> k & 1 == 1
    }

    /// True if all iterators of `other` are in it.
    pub fn contains(self, other: Point) -> bool {
        self.0 & other.0 == other.0
    }

    /// The iterators with these numbers.
    pub fn of(members: impl IntoIterator<Item = usize>) -> Point {
        Point(members.into_iter().fold(0, |all, k| all | 1 << k))
    }

    /// All iterators of some points.
    pub fn union(points: &[Point]) -> Point {
        Point(points.iter().fold(0, |all, point| all | point.0))
    }

    /// The points of some that contain no other.
    pub fn smallest(points: &[Point]) -> Vec<Point> {
        let smallest = |point: &&Point| !points.iter().any(|other| other != *point && point.contains(*other));
        points.iter().filter(smallest).copied().collect()
    }

    /// The numbers of its iterators.
    pub fn members(self) -> impl std::iter::Iterator<Item = usize> {
        (0..64).filter(move |&k| self.has(k))
    }
}

/// The most points that are all kept.
const MOST_POINTS: usize = 64;
/// The most combinations of points of two sets that are gone through.
const MOST_COMBINATIONS: usize = 1 << 10;

/// Points at which something is done, in ascending order; if they are too many, the smallest and the largest.
#[derive(Clone, Debug)]
pub(super) struct PointSet {
    pub points: Vec<Point>,
    /// True if points between the smallest and the largest may be missing.
    pub is_coarse: bool,
}

impl PointSet {
    /// Nothing is done anywhere.
    pub fn none() -> PointSet {
        PointSet { points: Vec::new(), is_coarse: false }
    }

    /// One point.
    pub fn of(point: Point) -> PointSet {
        PointSet { points: vec![point], is_coarse: false }
    }

    /// The smallest points and the largest one.
    pub fn coarse(points: Vec<Point>) -> PointSet {
        PointSet::kept(points, true)
    }

    /// Some points, of which the smallest and the largest are kept if they are many, or some between are missing already.
    fn kept(mut points: Vec<Point>, is_coarse: bool) -> PointSet {
        points.sort();
        points.dedup();
        let is_coarse = is_coarse || points.len() > MOST_POINTS;
        if is_coarse && points.len() > 1 {
            let all = Point::union(&points);
            points = Point::smallest(&points);
            if !points.contains(&all) {
                points.push(all);
                points.sort();
            }
        }
        PointSet { points, is_coarse }
    }

    /// Points where both sides have a value. With too many combinations, only the points of one side are kept: they cover every coordinate
    /// at which something is done.
    pub fn both(&self, other: &PointSet) -> PointSet {
        let is_coarse = self.is_coarse || other.is_coarse;
        if self.points.len() * other.points.len() > MOST_COMBINATIONS {
            let fewer = if self.points.len() <= other.points.len() { self } else { other };
            let all = Point(Point::union(&self.points).0 | Point::union(&other.points).0);
            return PointSet::kept(fewer.points.iter().copied().chain([all]).collect(), true);
        }
        let with = |p: &Point| other.points.iter().map(|q| Point(p.0 | q.0)).collect::<Vec<_>>();
        PointSet::kept(self.points.iter().flat_map(with).collect(), is_coarse)
    }

    /// The points of either set.
    pub fn unite(mut self, other: &PointSet) -> PointSet {
        self.points.extend(&other.points);
        PointSet::kept(self.points, self.is_coarse || other.is_coarse)
    }

    /// Points where either side, or both, has a value.
    pub fn either(&self, other: &PointSet) -> PointSet {
        self.both(other).unite(self).unite(other)
    }

    /// Points where all operands of a set have a value, each with the others and without.
    pub fn with_all(points: &[PointSet], set: &[usize]) -> PointSet {
        points.iter().enumerate().fold(PointSet::of(Point::ALL), |found, (k, own)| {
            let with = found.both(own);
            if set.contains(&k) { with } else { with.unite(&found) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn singles(from: usize, to: usize) -> Vec<PointSet> {
        (from..to).map(|k| PointSet::of(Point::of([k]))).collect()
    }

    fn sum(of: &[PointSet]) -> PointSet {
        of.iter().fold(PointSet::none(), |all, one| all.either(one))
    }

    #[test]
    fn all_points_of_few_operands_are_kept() {
        let set = sum(&singles(0, 6));
        assert_eq!((set.points.len(), set.is_coarse), (63, false));
    }

    #[test]
    fn of_many_operands_the_smallest_and_the_largest_points_are_kept() {
        let set = sum(&singles(0, 40));
        assert!(set.is_coarse);
        assert_eq!(set.points.len(), 41);
        assert!((0..40).all(|k| set.points.contains(&Point::of([k]))));
        assert!(set.points.contains(&Point::of(0..40)));
        let product = set.both(&PointSet::of(Point::of([40])));
        assert_eq!(product.points.len(), 41);
        assert!(product.points.iter().all(|point| point.has(40)));
    }

    #[test]
    fn products_of_many_sums_have_a_bounded_number_of_points() {
        let pairs: Vec<PointSet> = (0..30).map(|k| sum(&singles(2 * k, 2 * k + 2))).collect();
        let product = pairs.iter().skip(1).fold(pairs[0].clone(), |all, one| all.both(one));
        assert!(product.is_coarse);
        assert!(product.points.len() <= MOST_COMBINATIONS);
        assert_eq!(Point::union(&product.points), Point::of(0..60));
        // If one operand of each pair is there, so is one of the points that are kept.
        let here = Point::of((0..30).map(|k| 2 * k + k % 2));
        assert!(product.points.iter().any(|point| here.contains(*point)));
    }
}
