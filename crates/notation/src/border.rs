//! Borders: indices that stay inside of their dimension, whatever a sum of variables comes to.
//!
//! ```text
//!   i             -2 -1 | 0  1  2  3 | 4  5
//!   wrap(i)        2  3 | 0  1  2  3 | 0  1        the remainder of the division by the size
//!   clamp(i)       0  0 | 0  1  2  3 | 3  3        the nearest coordinate
//! ```
//!
//! Such an index gathers coordinates ([`crate::gather`]) from a tensor that nobody stores: every combination of the variables has one.
//!
//! On entry: the dimension has a coordinate. One without any is refused before a kernel is run.

use crate::indicator::Equation;

/// The coordinate that is taken in the place of one outside of its dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The remainder of the division by the size, which is at least 0: the dimension is a ring.
    Wrap,
    /// The first or the last coordinate, whichever is nearer.
    Clamp,
}

impl Rule {
    /// All rules.
    pub const ALL: [Rule; 2] = [Rule::Wrap, Rule::Clamp];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Wrap => "wrap",
            Rule::Clamp => "clamp",
        }
    }

    /// The rule of a word.
    ///
    /// ```
    /// use lacunar_notation::Rule;
    /// assert_eq!(Rule::parse("wrap"), Some(Rule::Wrap));
    /// assert_eq!(Rule::parse("mirror"), None);
    /// ```
    pub fn parse(name: &str) -> Option<Rule> {
        Rule::ALL.into_iter().find(|rule| rule.name() == name)
    }

    /// The coordinate of a dimension that a sum stands for; of a dimension without coordinates, 0.
    ///
    /// ```
    /// use lacunar_notation::Rule;
    /// assert_eq!([-1, 2, 4].map(|sum| Rule::Wrap.coordinate(sum, 4)), [3, 2, 0]);
    /// assert_eq!([-1, 2, 4].map(|sum| Rule::Clamp.coordinate(sum, 4)), [0, 2, 3]);
    /// ```
    pub fn coordinate(self, sum: i64, size: u64) -> u64 {
        let size = i64::try_from(size).unwrap_or(i64::MAX).max(1);
        match self {
            Rule::Wrap => sum.rem_euclid(size).unsigned_abs(),
            Rule::Clamp => sum.clamp(0, size - 1).unsigned_abs(),
        }
    }
}

/// An index that stays inside of its dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Border {
    /// The rule for places outside.
    pub rule: Rule,
    /// The sum, less the last coordinate, whose factor is -1: where it is 0, the index is inside.
    pub equation: Equation,
}

impl Border {
    /// The coordinate of the last dimension, of this size, for those of the others.
    ///
    /// ```
    /// use lacunar_notation::{Border, Equation, Rule};
    /// let next = Border { rule: Rule::Wrap, equation: Equation { factors: vec![1, -1], constant: 1 } }; // wrap(i + 1)
    /// assert_eq!([0, 1, 2].map(|i| next.coordinate(&[i], 3)), [1, 2, 0]);
    /// ```
    pub fn coordinate(&self, others: &[u64], size: u64) -> u64 {
        let terms = self.equation.factors.iter().zip(others).map(|(&factor, &at)| factor.saturating_mul(at as i64));
        let sum = terms.fold(self.equation.constant, i64::saturating_add);
        self.rule.coordinate(sum, size)
    }
}
