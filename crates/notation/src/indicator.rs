//! Indicators: tensors that are one where their coordinates are related in some way, and zero elsewhere.
//!
//! They are how indices that are no variables take part in a statement. Each such index gets a variable of its own, which an
//! indicator ties to those that it is made of: by an affine [`Equation`], or by the values of a tensor, which it [gathers](Gather). A
//! comparison of indices is an indicator as well: an equation, or an [`Inequality`].
//!
//! ```text
//! y(i) = x(i + 1)              y(i) = sum(d, [i - d + 1 == 0] * x(d))
//! y(i + k) += x(i) * w(k)      y(d) += sum(i, k, [i + k - d == 0] * x(i) * w(k))
//! B(j) = A(2, j)               B(j) = sum(d, [d - 2 == 0] * A(d, j))
//! y(i) = x(p(i))               y(i) = sum(d, [d == p(i)] * x(d))
//! y(i) = x(wrap(i + 1))        y(i) = sum(d, [d == (i + 1) mod n] * x(d))
//! y(i) = x(p(i) + 1)           y(i) = sum(d, e, [e - d + 1 == 0] * [e == p(i)] * x(d))
//! L(i,j) = A(i,j) * (j <= i)   L(i,j) = [i - j >= 0] * A(i,j)
//! ```
//!
//! Nothing is stored for an equation or an inequality: its levels are computed ([`Indicator::format`] says of which kinds they are). A
//! gather's only array is that of the values which it gathers. All the rest of a statement's compilation takes an indicator for a sparse
//! operand, so that windows, strides, shifts, gathers and scatters work over every format, in results as well as in operands. An index
//! outside of its dimension meets no coordinate there, and the element is absent.
//!
//! The bracket is Iverson's; Ghorbani et al. 2023, §4, write a contraction with such a tensor as a comparison in a rule.

use lacunar_base::Span;
use lacunar_formats::{DType, Format, Level, LevelKind};

use crate::gather::Gather;
use crate::index::{Role, Tensor};
use crate::inequality::Inequality;

/// The relation between the coordinates at which an indicator is one.
///
/// ```
/// use lacunar_notation::{Equation, Gather, Indicator, Source};
/// let next = Indicator::Equation(Equation { factors: vec![1, -1], constant: 1 }); // d == i + 1
/// assert!(next.tells(0) && next.tells(1));
/// let some = Indicator::Gather(Gather { source: Source::List(vec![3, 1, 3]), order: 2 }); // d == {3, 1, 3}(i)
/// assert!(some.tells(1) && !some.tells(0));
/// assert_eq!(some.inferred(&[None, None]), Some((0, 3)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Indicator {
    /// An affine equation holds.
    Equation(Equation),
    /// An affine inequality holds.
    Inequality(Inequality),
    /// The last coordinate is a value of a tensor, at the others.
    Gather(Gather),
}

/// The equation of an indicator: `constant` plus the sum of each coordinate times its factor is 0.
///
/// ```
/// use lacunar_notation::Equation;
/// let next = Equation { factors: vec![1, -1], constant: 1 }; // d == i + 1
/// assert!(next.holds(&[3, 4]) && !next.holds(&[4, 3]));
/// assert_eq!(next.determined_by(&[0]), Some(1));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equation {
    /// The factor of each dimension; none is 0.
    pub factors: Vec<i64>,
    /// The number that is added.
    pub constant: i64,
}

impl Equation {
    /// The largest magnitude of a factor and of the constant.
    pub const MOST: i64 = 1 << 31;

    /// True if the equation holds at a coordinate.
    pub fn holds(&self, coordinate: &[u64]) -> bool {
        self.value(coordinate) == 0
    }

    /// The sum at a coordinate.
    pub(crate) fn value(&self, coordinate: &[u64]) -> i128 {
        let terms = self.factors.iter().zip(coordinate).map(|(&factor, &at)| i128::from(factor) * i128::from(at));
        terms.sum::<i128>() + i128::from(self.constant)
    }

    /// The dimension whose coordinate follows from those of `known` dimensions, if it is the only one that is left.
    pub fn determined_by(&self, known: &[usize]) -> Option<usize> {
        let mut open = (0..self.factors.len()).filter(|dimension| !known.contains(dimension));
        open.next().filter(|_| open.next().is_none())
    }

    /// The coordinates of one of two dimensions at which the equation has a solution, which are neighbors: the first, and the one behind the
    /// last. `None` if there are other dimensions, or the other coordinate has a factor.
    ///
    /// ```
    /// use lacunar_notation::Equation;
    /// let shifted = Equation { factors: vec![1, -1], constant: -3 }; // d == i - 3
    /// assert_eq!(shifted.solvable(0, &[10, 5]), Some((3, 8)));
    /// assert_eq!(shifted.solvable(1, &[10, 5]), Some((0, 5)));
    /// ```
    pub fn solvable(&self, dimension: usize, sizes: &[u64]) -> Option<(u64, u64)> {
        let other = 1_usize.checked_sub(dimension).filter(|_| self.factors.len() == 2)?;
        let sign = -i128::from(*self.factors.get(other).filter(|factor| factor.abs() == 1)?);
        // The other coordinate is `step * coordinate + start`, from 0 to `last`.
        let (step, start) = (sign * i128::from(self.factors[dimension]), sign * i128::from(self.constant));
        let (size, last) = (i128::from(*sizes.get(dimension)?), i128::from(*sizes.get(other)?) - 1);
        let up = |a: i128, b: i128| -(-a).div_euclid(b);
        let (low, high) = match step > 0 {
            true => (up(-start, step), (last - start).div_euclid(step)),
            false => (up(start - last, -step), start.div_euclid(-step)),
        };
        let (low, high) = (low.clamp(0, size), (high + 1).clamp(0, size));
        Some((u64::try_from(low).ok()?, u64::try_from(high.max(low)).ok()?))
    }

    /// A dimension whose size is not known yet, and the size that follows from the others'. The equation is solved for the last
    /// dimension, which has room for all values of the others. A dimension of the others alone tells has as many coordinates as fit in
    /// the last, counted from 0, whatever is added to them.
    ///
    /// ```
    /// use lacunar_notation::Equation;
    /// let strided = Equation { factors: vec![2, -1], constant: 1 }; // d == 2 i + 1
    /// assert_eq!(strided.inferred(&[None, Some(7)]), Some((0, 4)));
    /// assert_eq!(strided.inferred(&[Some(3), None]), Some((1, 6)));
    /// ```
    pub fn inferred(&self, sizes: &[Option<u64>]) -> Option<(usize, u64)> {
        let (&last, others) = self.factors.split_last()?;
        let (&whole, parts) = sizes.split_last()?;
        if let Some(whole) = whole {
            let open = parts.iter().position(Option::is_none)?;
            return Some((open, whole.div_ceil(others[open].unsigned_abs())));
        }
        let most = |(&factor, &size): (&i64, &Option<u64>)| {
            let steps = i128::from(size?) - 1;
            Some((i128::from(factor) * -i128::from(last.signum())).max(0) * steps)
        };
        let terms = others.iter().zip(parts).map(most).sum::<Option<i128>>()?;
        let most = terms - i128::from(last.signum()) * i128::from(self.constant);
        let room = most.div_euclid(i128::from(last.abs())) + 1;
        let none = parts.contains(&Some(0));
        Some((others.len(), if none { 0 } else { u64::try_from(room.max(0)).unwrap_or(u64::MAX) }))
    }

    /// True if all sums of the equation fit an index, with dimensions of these sizes; those that are not known are taken as small.
    pub fn fits(&self, sizes: &[Option<u64>]) -> bool {
        let terms = self
            .factors
            .iter()
            .zip(sizes)
            .map(|(factor, size)| u128::from(factor.unsigned_abs()) * u128::from(size.unwrap_or(0)));
        terms.sum::<u128>() + u128::from(self.constant.unsigned_abs()) <= i64::MAX as u128 / 2
    }

    /// See [`Indicator::format`].
    fn format(&self, modes: Vec<usize>) -> Format {
        let last = modes.len().saturating_sub(1);
        let mut levels = vec![Level::COMPRESSED; modes.len()];
        if let (Some(level), Some(&mode)) = (levels.last_mut(), modes.last()) {
            // The interval above holds only coordinates that leave a solution for a factor of one.
            let always = last > 0 && self.factors.get(mode).is_some_and(|factor| factor.abs() == 1);
            *level = if always { Level::SINGLETON } else { optional() };
        }
        Format::new(levels, modes).unwrap_or_else(|_| Format::csf(self.factors.len()))
    }
}

/// A level with at most one coordinate under each parent.
pub(crate) fn optional() -> Level {
    Level { kind: LevelKind::named("optional").unwrap_or(LevelKind::COMPRESSED), unique: true }
}

impl Indicator {
    /// The number of its dimensions.
    pub fn order(&self) -> usize {
        match self {
            Indicator::Equation(equation) => equation.factors.len(),
            Indicator::Inequality(inequality) => inequality.border.factors.len(),
            Indicator::Gather(gather) => gather.order,
        }
    }

    /// The equation, if it is one.
    pub fn equation(&self) -> Option<&Equation> {
        match self {
            Indicator::Equation(equation) => Some(equation),
            Indicator::Inequality(_) | Indicator::Gather(_) => None,
        }
    }

    /// The sum that is computed for it: an equation's, an inequality's, or that of a border.
    pub fn sum(&self) -> Option<&Equation> {
        match self {
            Indicator::Equation(equation) => Some(equation),
            Indicator::Inequality(inequality) => Some(&inequality.border),
            Indicator::Gather(gather) => gather.border().map(|border| &border.equation),
        }
    }

    /// True if its levels are computed in whatever order of its dimensions. The others can be stored in another order than theirs.
    pub fn is_in_any_order(&self) -> bool {
        self.gather().is_none_or(|gather| gather.list().is_some())
    }

    /// The gather, if it is one.
    pub fn gather(&self) -> Option<&Gather> {
        match self {
            Indicator::Equation(_) | Indicator::Inequality(_) => None,
            Indicator::Gather(gather) => Some(gather),
        }
    }

    /// True if its levels, in any order, hold all coordinates of an interval at this one.
    pub fn has_interval(&self, level: usize) -> bool {
        match self {
            Indicator::Equation(equation) => level + 1 < equation.factors.len(),
            Indicator::Inequality(_) => true,
            Indicator::Gather(_) => false,
        }
    }

    /// The factor of a dimension, if it is affine.
    pub fn factor(&self, dimension: usize) -> Option<i64> {
        match self {
            Indicator::Equation(equation) | Indicator::Inequality(Inequality { border: equation }) => {
                equation.factors.get(dimension).copied()
            }
            Indicator::Gather(_) => None,
        }
    }

    /// True if the coordinate of a dimension follows from all the others.
    pub fn tells(&self, dimension: usize) -> bool {
        match self {
            Indicator::Equation(_) => true,
            Indicator::Inequality(_) => false,
            Indicator::Gather(gather) => gather.tells(dimension),
        }
    }

    /// A dimension whose size is not known yet, and the size that follows: see [`Equation::inferred`] and [`Gather::inferred`].
    pub fn inferred(&self, sizes: &[Option<u64>]) -> Option<(usize, u64)> {
        match self {
            Indicator::Equation(equation) => equation.inferred(sizes),
            Indicator::Inequality(_) => None,
            Indicator::Gather(gather) => gather.inferred(sizes),
        }
    }

    /// True if all numbers that are computed for it fit an index: see [`Equation::fits`].
    pub fn fits(&self, sizes: &[Option<u64>]) -> bool {
        self.sum().is_none_or(|equation| equation.fits(sizes))
    }

    /// The format of an indicator's levels, in this order of its dimensions. An equation has an interval of coordinates under each
    /// parent, and in the last dimension at most the one coordinate that solves it; a gather has every coordinate of the gathered
    /// tensor, and under each the one that its value is. A gather of a tensor or of a border has that order only
    /// ([`Gather::is_ordered`]).
    pub fn format(&self, modes: Vec<usize>) -> Format {
        match self {
            Indicator::Equation(equation) => equation.format(modes),
            Indicator::Inequality(inequality) => inequality.format(modes),
            Indicator::Gather(gather) => gather.format(modes),
        }
    }

    /// The tensor of a program that is the indicator.
    pub fn tensor(self, name: String, dims: Vec<Option<u64>>, span: Span) -> Tensor {
        let format = self.format((0..self.order()).collect());
        let (role, dtype) = (Role::Indicator, DType::Pattern);
        let indicator = Some(Box::new(self));
        Tensor {
            name,
            format,
            dtype,
            fill: None,
            dims,
            role,
            nnz: None,
            heaviest: None,
            steady: None,
            scattered: None,
            view: None,
            indicator,
            structure: None,
            is_unique: false,
            span,
        }
    }
}
