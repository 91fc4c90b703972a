//! The values that variables and forms can have, narrowed by comparisons.
//!
//! Bounds are propagated: a comparison gives each of its variables a bound from those of the others, until nothing changes. The bounds
//! hold always, but need not be the tightest ones.
//!
//! ```text
//! 0 <= k <= j < n, n = 8      j in 0 .. 7, k in 0 .. 7
//! ```

use std::collections::BTreeMap;

use lacunar_base::Span;

use super::form::{Atom, Form};

/// Bounds are propagated so often at most.
const MOST_ROUNDS: usize = 64;

/// Larger values are not looked at: their sums could not be counted with.
const MOST: i128 = 1 << 52;

/// The comparison of a form with 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// It is not below 0.
    AtLeast,
    /// It is 0.
    Equal,
    /// It is not 0.
    Unequal,
}

/// A comparison of a form with 0.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Condition {
    pub form: Form,
    pub sign: Sign,
    pub span: Span,
}

/// The answer to the question if a comparison holds at all points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Always,
    Never,
    Sometimes,
}

/// The least and the greatest value, where one is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Range {
    pub low: Option<i64>,
    pub high: Option<i64>,
}

impl Range {
    /// The coordinates of a dimension.
    pub fn of_size(size: i64) -> Range {
        Range { low: Some(0), high: Some(size.saturating_sub(1)) }
    }

    /// The values in both.
    pub fn meet(self, other: Range) -> Range {
        Range { low: self.low.into_iter().chain(other.low).max(), high: self.high.into_iter().chain(other.high).min() }
    }

    /// True if no value is in it.
    pub fn is_empty(self) -> bool {
        self.low.zip(self.high).is_some_and(|(low, high)| low > high)
    }
}

/// The ranges of variables; of others nothing is known.
pub(super) type Ranges = BTreeMap<String, Range>;

/// Two numbers, where they are known.
type Bounds = (Option<i128>, Option<i128>);

impl Form {
    /// The least and the greatest value, where one is known.
    pub fn bounds(&self, ranges: &Ranges) -> Bounds {
        let mut sum = (Some(i128::from(self.constant)), Some(i128::from(self.constant)));
        for (atom, factor) in &self.terms {
            let (low, high) = scaled(atom.bounds(ranges), i128::from(*factor));
            sum = (added(sum.0, low), added(sum.1, high));
        }
        sum
    }

    /// Narrows the ranges of its variables to those at which its value lies between two bounds; true if a range has changed.
    fn confine(&self, (low, high): Bounds, ranges: &mut Ranges) -> bool {
        let mut changed = false;
        for (place, (atom, factor)) in self.terms.iter().enumerate() {
            let mut rest = self.clone();
            rest.terms.remove(place);
            let (least, most) = rest.bounds(ranges);
            // low - most <= term <= high - least
            let bounds = divided((added(low, negated(most)), added(high, negated(least))), i128::from(*factor));
            changed |= atom.confine(bounds, ranges);
        }
        changed
    }
}

impl Atom {
    /// The same for an atom.
    fn confine(&self, (low, high): Bounds, ranges: &mut Ranges) -> bool {
        match self {
            Atom::Name(name) => {
                let whole = |value: Option<i128>| value.and_then(|value| i64::try_from(value).ok());
                let own = ranges.entry(name.clone()).or_default();
                let met = own.meet(Range { low: whole(low), high: whole(high) });
                std::mem::replace(own, met) != met
            }
            // low <= inner / by, rounded down, says by * low <= inner.
            Atom::Quotient(inner, by) => {
                let by = i128::from(*by);
                let first = |quotient: Option<i128>| quotient.and_then(|quotient| small(quotient.checked_mul(by)?));
                let last = added(first(high), Some(by - 1));
                inner.confine((first(low), last), ranges)
            }
            Atom::Product(a, b) => a.confine(root(a, b, (low, high)), ranges),
            Atom::Remainder(..) => false,
        }
    }

    fn bounds(&self, ranges: &Ranges) -> Bounds {
        match self {
            Atom::Name(name) => {
                let Range { low, high } = ranges.get(name).copied().unwrap_or_default();
                (low.map(i128::from), high.map(i128::from))
            }
            Atom::Quotient(inner, by) => {
                let (low, high) = inner.bounds(ranges);
                let quotient = |value: Option<i128>| value.map(|value| value.div_euclid(i128::from(*by)));
                (quotient(low), quotient(high))
            }
            Atom::Remainder(_, by) => (Some(0), Some(i128::from(*by) - 1)),
            Atom::Product(a, b) => {
                let ((Some(a0), Some(a1)), (Some(b0), Some(b1))) = (a.bounds(ranges), b.bounds(ranges)) else {
                    return (None, None);
                };
                let corners = [(a0, b0), (a0, b1), (a1, b0), (a1, b1)];
                let products: Option<Vec<i128>> = corners.into_iter().map(|(a, b)| small(a.checked_mul(b)?)).collect();
                products
                    .map_or((None, None), |products| (products.iter().min().copied(), products.iter().max().copied()))
            }
        }
    }
}

fn small(value: i128) -> Option<i128> {
    (value.abs() <= MOST).then_some(value)
}

fn added(a: Option<i128>, b: Option<i128>) -> Option<i128> {
    small(a? + b?)
}

fn negated(value: Option<i128>) -> Option<i128> {
    value.map(|value| -value)
}

/// The bounds of so many times something.
fn scaled((low, high): Bounds, factor: i128) -> Bounds {
    let times = |value: Option<i128>| value.and_then(|value| small(value.checked_mul(factor)?));
    if factor < 0 { (times(high), times(low)) } else { (times(low), times(high)) }
}

/// The bounds of a form `a`, if the product `a * b` lies between two bounds and `b` is a multiple of `a`: the product is then a multiple of the
/// square of `a`. Otherwise none are known.
fn root(a: &Form, b: &Form, (low, high): Bounds) -> Bounds {
    let square = || {
        let (own, other) = (a.terms.first()?.1, b.terms.first()?.1);
        if a.times(other)? != b.times(own)? {
            return None;
        }
        // a * b = a * a * other / own
        let (own, other) = (i128::from(own), i128::from(other));
        let bound = if (own > 0) == (other > 0) { high? } else { low? };
        bound.checked_mul(own)?.checked_div_euclid(other)?.checked_isqrt()
    };
    let root = square();
    (root.map(|root| -root), root)
}

/// The bounds of a whole number `x`, if `factor * x` lies between two bounds.
fn divided((low, high): Bounds, factor: i128) -> Bounds {
    let ((low, high), factor) =
        if factor < 0 { ((negated(high), negated(low)), -factor) } else { ((low, high), factor) };
    let up = |value: i128| -(-value).div_euclid(factor);
    (low.map(up), high.map(|value| value.div_euclid(factor)))
}

impl Condition {
    /// Tells if it holds for all values in some ranges.
    pub fn holds(&self, ranges: &Ranges) -> Holds {
        let (low, high) = self.form.bounds(ranges);
        let (above, below) = (low.is_some_and(|low| low > 0), high.is_some_and(|high| high < 0));
        match self.sign {
            Sign::AtLeast if below => Holds::Never,
            Sign::AtLeast if low.is_some_and(|low| low >= 0) => Holds::Always,
            Sign::Equal if above || below => Holds::Never,
            Sign::Equal if (low, high) == (Some(0), Some(0)) => Holds::Always,
            Sign::Unequal if above || below => Holds::Always,
            Sign::Unequal if (low, high) == (Some(0), Some(0)) => Holds::Never,
            _ => Holds::Sometimes,
        }
    }

    /// Narrows the ranges of its variables; true if one has changed.
    fn narrow(&self, ranges: &mut Ranges) -> bool {
        match self.sign {
            Sign::AtLeast => self.form.confine((Some(0), None), ranges),
            Sign::Equal => self.form.confine((Some(0), Some(0)), ranges),
            Sign::Unequal => false,
        }
    }
}

/// Narrows ranges by comparisons.
pub(super) fn propagate(conditions: &[Condition], ranges: &mut Ranges) {
    for _ in 0..MOST_ROUNDS {
        let mut changed = false;
        for condition in conditions {
            changed |= condition.narrow(ranges);
        }
        if !changed || ranges.values().any(|range| range.is_empty()) {
            return;
        }
    }
}
