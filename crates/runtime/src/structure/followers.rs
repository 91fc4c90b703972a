//! The redundant elements that follow from a unique one: the points that a part of a redundancy map sends to it.
//!
//! On entry: a part without parameters, which sends `x` to `f(x)`. With the unique element `u` as parameters, its followers are the points
//! of the piece `x in domain and f(x) = u`; the loops over these ([`Piece::nest`]) are compiled as tests of points are (`points.rs`).
//! They are in lexicographic order. If the part permutes coordinates, there is one follower at most, whose coordinates are those of the
//! unique element in another order. If the bounds of such loops can't be told, all points of a small tensor are listed by their unique
//! elements.
//!
//! ```text
//! [i, j] -> [j, i] : 0 <= j < i < 4           of (u, v)     i from v to v, j from u to u, if u < v
//! [i, j] -> [0, j - i] : 0 < i <= j < 4       of (u, v)     i from 1 to 3 - v, j from i + v to i + v, if u = 0
//! ```
//!
//! Paper: Ancourt and Irigoin, *Scanning polyhedra with DO loops* (PPoPP 1991).

use std::collections::BTreeMap;

use lacunar_sets::{Affine, Bound, Level, MapPiece, Piece, Relation};

use super::points::{Forms, Left, Quotients, Range, Region};

/// The most points that are gone through to list followers.
const MOST_LISTED: i64 = 1 << 20;

/// The points that a part sends to a point.
#[derive(Clone, Debug)]
pub(super) struct Followers {
    order: usize,
    way: Way,
    /// The number of columns that they take: those of the unique element, of a follower, and quotients.
    pub columns: usize,
}

/// The way to find followers.
#[derive(Clone, Debug)]
enum Way {
    /// A follower has the coordinates of the unique element, each in the dimension that is told, if it lies in the region; `None` if it never
    /// does.
    Permuted { to: Vec<usize>, region: Option<Region> },
    /// By loops, and the condition of the unique element; `None` if it never holds.
    Loops { condition: Option<Region>, loops: Vec<Loop> },
    /// From a list: by the coordinates of unique elements, those of their followers one behind the other.
    Listed(BTreeMap<Vec<i64>, Vec<i64>>),
}

/// Bounds of one dimension, over the columns of [`Followers`].
#[derive(Clone, Debug)]
struct Loop {
    range: Range,
    quotients: Quotients,
    lower: Forms,
    lower_by: Vec<i64>,
    upper: Forms,
    upper_by: Vec<i64>,
    offsets: Forms,
    moduli: Vec<i64>,
    zero: Forms,
    positive: Forms,
}

/// The values of one dimension: the first, the last, and the distance of neighbors.
struct Span {
    first: i64,
    last: i64,
    step: i64,
}

impl Followers {
    /// The followers of a part, in a tensor whose coordinates lie in `ranges`. `None` if they can't be told, or a number may not fit.
    pub fn of(part: &MapPiece, ranges: &[Range]) -> Option<Followers> {
        Followers::by_loops(part, ranges).or_else(|| Followers::listed(part, ranges))
    }

    fn listed(part: &MapPiece, ranges: &[Range]) -> Option<Followers> {
        let order = ranges.len();
        let sizes = ranges.iter().map(|(first, last)| last.checked_sub(*first)?.checked_add(1));
        let points =
            sizes.collect::<Option<Vec<i64>>>()?.into_iter().try_fold(1_i64, |all, size| all.checked_mul(size))?;
        let mut known = ranges.to_vec();
        let (region, mut lists) = (Region::of(&part.domain, &mut known)?, BTreeMap::<Vec<i64>, Vec<i64>>::new());
        let mut target = Forms::over(part.domain.columns());
        for form in &part.target {
            target.push(form, &known)?;
        }
        let mut columns = vec![0; part.domain.columns().max(order)];
        for (column, (first, _)) in columns.iter_mut().zip(ranges) {
            *column = *first;
        }
        for _ in 0..(points <= MOST_LISTED).then_some(points)? {
            if let Left::Region(region) = &region
                && region.contains(&mut columns)
            {
                let unique = (0..order).map(|dim| target.value(dim, &columns)).collect();
                lists.entry(unique).or_default().extend(&columns[..order]);
            }
            for (column, (first, last)) in columns.iter_mut().zip(ranges).rev() {
                *column += 1;
                if *column <= *last {
                    break;
                }
                *column = *first;
            }
        }
        Some(Followers { order, way: Way::Listed(lists), columns: 2 * order })
    }

    fn by_loops(part: &MapPiece, ranges: &[Range]) -> Option<Followers> {
        let order = ranges.len();
        if let Some(to) = permutation(&part.target) {
            let region = match Region::of(&part.domain, &mut ranges.to_vec())? {
                Left::Region(region) => Some(region),
                Left::Nothing => None,
            };
            let columns = order + part.domain.columns();
            return Some(Followers { order, way: Way::Permuted { to, region }, columns });
        }
        let points: Vec<Affine> = (0..order).map(|dim| Affine::variable(order + dim)).collect();
        let (mut piece, target) = part.pulled(&Piece::universe(order, order), &points)?;
        for (dim, form) in target.iter().enumerate() {
            piece.equal(form.minus(&Affine::variable(dim))?);
        }
        let nest = piece.nest(&Piece::universe(order, 0))?;
        // The unique element's coordinates are parameters of the condition, and become dimensions.
        let columns: Vec<Affine> = (0..order).map(Affine::variable).collect();
        let condition = nest.condition.pulled(&Piece::universe(0, order), &columns)?;
        let mut spare = condition.columns();
        let condition = match Region::of(&condition, &mut ranges.to_vec())? {
            Left::Region(region) => Some(region),
            Left::Nothing => None,
        };
        let loops = nest.levels.iter().enumerate().map(|(dim, level)| Loop::of(level, dim, ranges));
        let loops = loops.collect::<Option<Vec<Loop>>>()?;
        for level in &loops {
            spare = spare.max(2 * order + level.quotients.len());
        }
        Some(Followers { order, way: Way::Loops { condition, loops }, columns: spare.max(2 * order) })
    }

    /// Calls a function with each follower of the point in the first columns, until it returns false. Returns whether it never did.
    pub fn each(&self, columns: &mut [i64], each: &mut dyn FnMut(&[i64]) -> bool) -> bool {
        match &self.way {
            Way::Permuted { to, region } => {
                !self.is_permuted(to, region.as_ref(), columns) || each(&columns[self.order..2 * self.order])
            }
            Way::Loops { condition, loops } => {
                !holds(condition.as_ref(), columns) || self.visit(loops, 0, columns, each)
            }
            Way::Listed(lists) => self.list(lists, columns).chunks_exact(self.order).all(each),
        }
    }

    /// The number of followers of the point in the first columns. It may stop at `limit`.
    pub fn count(&self, columns: &mut [i64], limit: u64) -> u64 {
        match &self.way {
            Way::Permuted { to, region } => u64::from(self.is_permuted(to, region.as_ref(), columns)),
            Way::Loops { condition, .. } if !holds(condition.as_ref(), columns) => 0,
            Way::Loops { loops, .. } => self.counted(loops, 0, columns, limit),
            Way::Listed(lists) => (self.list(lists, columns).len() / self.order) as u64,
        }
    }

    /// The followers of the point in the first columns.
    fn list<'a>(&self, lists: &'a BTreeMap<Vec<i64>, Vec<i64>>, columns: &[i64]) -> &'a [i64] {
        lists.get(&columns[..self.order]).map_or(&[], Vec::as_slice)
    }

    /// Sets the columns of the one follower that there may be. True if there is.
    fn is_permuted(&self, to: &[usize], region: Option<&Region>, columns: &mut [i64]) -> bool {
        for (dim, &other) in to.iter().enumerate() {
            columns[self.order + other] = columns[dim];
        }
        region.is_some_and(|region| region.contains(&mut columns[self.order..]))
    }

    fn visit(&self, loops: &[Loop], dim: usize, columns: &mut [i64], each: &mut dyn FnMut(&[i64]) -> bool) -> bool {
        let Some(level) = loops.get(dim) else { return each(&columns[self.order..2 * self.order]) };
        let Span { first, last, step } = level.span(self.order + dim, columns);
        let mut at = first;
        while at <= last {
            columns[self.order + dim] = at;
            if level.admits(self.order + dim, columns) && !self.visit(loops, dim + 1, columns, each) {
                return false;
            }
            let Some(next) = at.checked_add(step) else { break };
            at = next;
        }
        true
    }

    fn counted(&self, loops: &[Loop], dim: usize, columns: &mut [i64], limit: u64) -> u64 {
        let Some(level) = loops.get(dim) else { return 1 };
        let Span { first, last, step } = level.span(self.order + dim, columns);
        if dim + 1 == loops.len() && level.is_whole() {
            // Both lie in the tensor's sizes.
            return if first > last { 0 } else { ((last - first) / step) as u64 + 1 };
        }
        let (mut at, mut count) = (first, 0u64);
        while at <= last && count < limit {
            columns[self.order + dim] = at;
            if level.admits(self.order + dim, columns) {
                count = count.saturating_add(self.counted(loops, dim + 1, columns, limit - count));
            }
            let Some(next) = at.checked_add(step) else { break };
            at = next;
        }
        count
    }
}

fn holds(condition: Option<&Region>, columns: &mut [i64]) -> bool {
    condition.is_some_and(|condition| condition.contains(columns))
}

/// The dimension of the point that each of the target is the coordinate of, if it permutes coordinates.
fn permutation(target: &[Affine]) -> Option<Vec<usize>> {
    let mut to = Vec::new();
    for form in target {
        let mut terms = form.terms();
        let (dim, factor) = terms.next()?;
        let is_plain = terms.next().is_none() && factor == 1 && form.offset() == 0;
        if !is_plain || dim >= target.len() || to.contains(&dim) {
            return None;
        }
        to.push(dim);
    }
    Some(to)
}

impl Loop {
    /// The loop over a dimension. The columns of `level` are the unique element's, the dimensions up to this one, and quotients; here
    /// quotients stand behind all dimensions.
    fn of(level: &Level, dim: usize, ranges: &[Range]) -> Option<Loop> {
        let order = ranges.len();
        let behind = order + dim + 1;
        let number = |column: usize| if column < behind { column } else { 2 * order + column - behind };
        let width = 2 * order + level.divs.len();
        let forms = || Forms::over(width);
        let mut columns = [ranges, ranges].concat();
        let mut quotients = Quotients::from(2 * order, width);
        for div in &level.divs {
            quotients.push(&div.numerator.renumbered(number)?, div.denominator, &mut columns)?;
        }
        let add = |to: &mut Forms, form: &Affine| to.push(&form.renumbered(number)?, &columns).map(drop);
        let (mut lower, mut upper, mut offsets) = (forms(), forms(), forms());
        let (mut zero, mut positive) = (forms(), forms());
        for Bound { form, .. } in &level.lower {
            add(&mut lower, form)?;
        }
        for Bound { form, .. } in &level.upper {
            add(&mut upper, form)?;
        }
        for stride in &level.strides {
            add(&mut offsets, &stride.offset)?;
        }
        for guard in &level.guards {
            match guard.relation {
                Relation::Equal => add(&mut zero, &guard.form)?,
                Relation::AtLeast => add(&mut positive, &guard.form)?,
            }
        }
        let denominators = |bounds: &[Bound]| bounds.iter().map(|bound| bound.denominator).collect();
        Some(Loop {
            range: ranges[dim],
            quotients,
            lower,
            lower_by: denominators(&level.lower),
            upper,
            upper_by: denominators(&level.upper),
            offsets,
            moduli: level.strides.iter().map(|stride| stride.modulus).collect(),
            zero,
            positive,
        })
    }

    /// The values that bounds and the first stride leave, where the columns before are set.
    fn span(&self, column: usize, columns: &mut [i64]) -> Span {
        columns[column] = 0;
        self.quotients.set(columns);
        let (mut first, mut last) = self.range;
        for (place, by) in self.lower_by.iter().enumerate() {
            // Rounded up; the negated quotient does not overflow, as its form is not the least number.
            first = first.max(-(-self.lower.value(place, columns)).div_euclid(*by));
        }
        for (place, by) in self.upper_by.iter().enumerate() {
            last = last.min(self.upper.value(place, columns).div_euclid(*by));
        }
        let step = self.moduli.first().copied().unwrap_or(1);
        if step > 1 && first <= last {
            let ahead = (self.offsets.value(0, columns).rem_euclid(step) - first.rem_euclid(step)).rem_euclid(step);
            first = first.saturating_add(ahead);
        }
        Span { first, last, step }
    }

    /// True if the bounds and one stride say everything.
    fn is_whole(&self) -> bool {
        self.zero.is_empty() && self.positive.is_empty() && self.moduli.len() < 2
    }

    /// True if the other conditions hold, where this dimension's column is set too.
    fn admits(&self, column: usize, columns: &mut [i64]) -> bool {
        if self.is_whole() {
            return true;
        }
        self.quotients.set(columns);
        let own = columns[column];
        (0..self.zero.len()).all(|place| self.zero.value(place, columns) == 0)
            && (0..self.positive.len()).all(|place| self.positive.value(place, columns) >= 0)
            && self.moduli.iter().enumerate().all(|(place, modulus)| {
                self.offsets.value(place, columns).rem_euclid(*modulus) == own.rem_euclid(*modulus)
            })
    }
}
