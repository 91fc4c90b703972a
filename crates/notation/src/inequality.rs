//! Inequalities of coordinates: half of a tensor, as a triangle, or one side of a band.
//!
//! A comparison of sums of index variables is a pattern that nobody stores: `i <= j` is one where it holds, and nothing is stored
//! elsewhere. So it confines loops as a sparse operand does, instead of being computed for each value:
//!
//! ```text
//! y(i) = A(i,j) * (j <= i) * x(j)        y(i) = sum(j, [i - j >= 0] * A(i,j) * x(j))       for j in 0 .. i + 1
//! ```
//!
//! Paper: Ghorbani et al. 2023, §4.1: comparisons in the rules of a structure.

use lacunar_formats::{Format, Level};

use crate::indicator::Equation;

/// The inequality of an indicator: the sum that an equation compares with 0 is at least 0.
///
/// ```
/// use lacunar_notation::{Equation, Inequality};
/// let lower = Inequality { border: Equation { factors: vec![1, -1], constant: 0 } }; // i >= j
/// assert!(lower.holds(&[3, 3]) && lower.holds(&[4, 3]) && !lower.holds(&[3, 4]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inequality {
    /// The equation that holds at the border.
    pub border: Equation,
}

impl Inequality {
    /// True if the inequality holds at a coordinate.
    pub fn holds(&self, coordinate: &[u64]) -> bool {
        self.border.value(coordinate) >= 0
    }

    /// The format of its levels in an order of its dimensions: an interval of coordinates under each parent. The outermost interval is
    /// known to be the whole dimension where any coordinate leaves a solution at the first ones of all others.
    pub(crate) fn format(&self, modes: Vec<usize>) -> Format {
        let mut levels = vec![Level::COMPRESSED; modes.len()];
        let rises = |mode: &usize| self.border.factors.get(*mode).is_some_and(|factor| *factor > 0);
        let falls = modes.iter().skip(1).all(|mode| !rises(mode));
        if let (Some(level), Some(outermost)) = (levels.first_mut(), modes.first())
            && rises(outermost)
            && falls
            && self.border.constant >= 0
            && self.border.factors.len() > 1
        {
            *level = Level::DENSE;
        }
        Format::new(levels, modes).unwrap_or_else(|_| Format::csf(self.border.factors.len()))
    }
}
