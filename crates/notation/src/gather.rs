//! Gathers: indicators whose last coordinate is a value of a tensor, or of a list, at the others.
//!
//! ```text
//! y(i) = x(p(i))               y(i) = sum(d, G(i,d) * x(d))        G(i,d) = [d == p(i)]
//! y(p(i)) += x(i)              y(d) += sum(i, G(i,d) * x(i))
//! B(i,j) = A({4, 1}(i), j)     B(i,j) = sum(d, G(i,d) * A(d,j))    G(i,d) = [d == {4, 1}(i)]
//! y(i) = x(wrap(i - 1))        y(i) = sum(d, G(i,d) * x(d))        G(i,d) = [d == (i - 1) mod n]
//! ```
//!
//! The levels of `G` are those of `p`, which is dense, and under them a singleton level whose coordinates are the values of `p`, which is
//! read where it lies. So a gather is a sparse matrix with one entry in each row that somebody has stored already. A list has its
//! coordinates in the kernel. The values are compared with the size of the last dimension before a kernel is run. The coordinates of a
//! [border](crate::border) are computed where they are asked for.

use lacunar_formats::{Format, Level};

use crate::border::Border;
use crate::index::TensorId;
use crate::indicator::optional;

/// The coordinates of the last dimension of an indicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gather {
    /// The place that they are in.
    pub source: Source,
    /// The number of dimensions: those of the source, and the last.
    pub order: usize,
}

/// The place that coordinates are gathered from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The values of a tensor of integers of the program or the kernel.
    Tensor(TensorId),
    /// Numbers, by one coordinate.
    List(Vec<u64>),
    /// Nothing: a sum of the coordinates, kept inside of the last dimension.
    Border(Border),
}

impl Gather {
    /// The most numbers of a list.
    pub const MOST: usize = 4096;

    /// The size of the dimension of values that are summands of an index: no tensor has it. Each term of the index may have a
    /// factor, and the sum of all has to fit an index.
    pub fn summand_size(factors: impl Iterator<Item = i64>) -> u64 {
        let sum = factors.fold(1u64, |sum, factor| sum.saturating_add(factor.unsigned_abs()));
        (1u64 << 60).checked_div(sum).unwrap_or(1).min(1 << 48)
    }

    /// The list, if the coordinates are one.
    pub fn list(&self) -> Option<&[u64]> {
        match &self.source {
            Source::Tensor(_) | Source::Border(_) => None,
            Source::List(values) => Some(values),
        }
    }

    /// The border, if the coordinates are those of one.
    pub fn border(&self) -> Option<&Border> {
        match &self.source {
            Source::Tensor(_) | Source::List(_) => None,
            Source::Border(border) => Some(border),
        }
    }

    /// The tensor, if the coordinates are its values.
    pub fn tensor(&self) -> Option<TensorId> {
        match self.source {
            Source::Tensor(tensor) => Some(tensor),
            Source::List(_) | Source::Border(_) => None,
        }
    }

    /// True if the coordinate of a dimension follows from all the others: that of the last, and of a list without repetitions the place
    /// on it.
    pub fn tells(&self, dimension: usize) -> bool {
        dimension + 1 == self.order || self.list().is_some_and(is_distinct)
    }

    /// A dimension whose size is not known yet, and the size that follows. A list tells its length, and that the last dimension has room
    /// for its numbers; a tensor has sizes of its own, and values that are not known. A border tells the size of a variable that nothing
    /// else tells as its sum does without it, and no size of the last dimension.
    pub fn inferred(&self, sizes: &[Option<u64>]) -> Option<(usize, u64)> {
        if let Some(border) = self.border() {
            return border.equation.inferred(sizes).filter(|(place, _)| place + 1 < self.order);
        }
        let list = self.list()?;
        match sizes {
            [None, _] => Some((0, list.len() as u64)),
            [_, None] => Some((1, room_for(list))),
            _ => None,
        }
    }

    /// True if the last dimension is behind all others in an order of the dimensions: the order in which values are coordinates as
    /// they are.
    pub fn is_ordered(&self, modes: &[usize]) -> bool {
        modes.last().is_some_and(|&last| last + 1 == self.order)
    }

    /// See [`Indicator::format`](crate::Indicator::format).
    pub(crate) fn format(&self, modes: Vec<usize>) -> Format {
        let mut levels = vec![if self.is_ordered(&modes) { Level::DENSE } else { Level::COMPRESSED }; self.order];
        if let Some(last) = levels.last_mut().filter(|_| self.is_ordered(&modes)) {
            *last = if self.order == 1 { optional() } else { Level::SINGLETON };
        }
        Format::new(levels, modes).unwrap_or_else(|_| Format::csf(self.order))
    }
}

/// The size of a dimension that has room for some numbers.
pub fn room_for(list: &[u64]) -> u64 {
    list.iter().max().map_or(0, |most| most.saturating_add(1))
}

/// True if no number of a list is there twice.
///
/// ```
/// use lacunar_notation::gather::is_distinct;
/// assert!(is_distinct(&[4, 1]) && !is_distinct(&[4, 1, 4]));
/// ```
pub fn is_distinct(list: &[u64]) -> bool {
    let mut sorted = list.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}
