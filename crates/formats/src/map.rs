//! Dimension-to-level maps: the part of a tensor's coordinates that each level stores.
//!
//! A tensor of the user's dimensions is kept as another tensor, of *stored* dimensions, one a level. The map says how the
//! coordinates of the second follow from those of the first, and the first can be recovered from the second:
//!
//! ```text
//! bcsr(4,4)   (i, j) -> (i/4, j/4, i%4, j%4)    dense, compressed, dense, dense
//! dia         (i, j) -> (j-i, i)                compressed, dense
//! ell         (i, j) -> (#i, i, j)              slots, dense, optional
//! sell(4,8)   (i, j) -> (p/4, #i, p%4, j)       dense, ranked, dense, optional; p is the rank of row i
//! ```
//!
//! As text, a map is written in place of a format's mode order, with the dimensions' numbers: `dsdd:0/4,1/4,0%4,1%4`.
//!
//! A difference `j-i` is stored as `j - i + size(i) - 1`, which is never negative.
//!
//! Slots may be *ranked* (`#0~8`): the coordinates of the dimension whose entries they count are sorted, in windows of so many,
//! by their numbers of entries, the most first. The other terms of the dimension are then those of a coordinate's rank, its
//! place in that order, and the level of slots keeps the coordinate of each rank. So long and short rows do not share a slice:
//!
//! ```text
//! sell(2,4) of rows with 1, 3, 0, 3, 2 entries:   ranks 0 1 2 3 | 4      rows 1 3 0 2 | 4      slots 3, 1 and 2, not 3, 3 and 2
//! ```
//!
//! Papers: Chou et al., *Automatic Generation of Efficient Sparse Tensor Format Conversion Routines* (PLDI 2020), §4
//! (coordinate remapping); Kreutzer et al., *A Unified Sparse Matrix Data Format for Efficient General Sparse Matrix-Vector
//! Multiplication on Modern Processors with Wide SIMD Units* (SISC 2014), §3.2 (SELL-C-sigma).
//!
//! ```
//! use lacunar_formats::{Map, Term};
//! let map = Map::new(vec![Term::Quotient(0, 4), Term::Quotient(1, 4), Term::Remainder(0, 4), Term::Remainder(1, 4)]).unwrap();
//! assert_eq!(map.order(), 2);
//! assert_eq!(map.stored_dims(&[10, 8]), Some(vec![Some(3), Some(2), Some(4), Some(4)]));
//! assert_eq!(map.to_string(), "0/4,1/4,0%4,1%4");
//! ```

use std::fmt;
use std::str::FromStr;

use crate::map_error::{MapError, MapFault};

/// The part of a tensor's coordinates that one level stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Term {
    /// The coordinate of a dimension.
    Whole(usize),
    /// The coordinate of a dimension divided by a block's size, rounded down: the number of the block.
    Quotient(usize, u32),
    /// The rest of that division: the place inside the block.
    Remainder(usize, u32),
    /// The coordinate of the first dimension less that of the second: the number of the diagonal.
    Difference(usize, usize),
    /// The number of entries before it with the same coordinate of a dimension: the number of the slot.
    Ordinal(usize),
    /// The same; the dimension's other terms are those of ranks, among so many neighboring coordinates each.
    RankedOrdinal(usize, u32),
}

impl Term {
    /// The dimension it is made of, the first of two.
    pub const fn dimension(self) -> usize {
        match self {
            Term::Whole(d)
            | Term::Quotient(d, _)
            | Term::Remainder(d, _)
            | Term::Difference(d, _)
            | Term::Ordinal(d)
            | Term::RankedOrdinal(d, _) => d,
        }
    }

    /// The dimensions it is made of: one or two, or one twice.
    fn dimensions(self) -> [usize; 2] {
        match self {
            Term::Difference(d, other) => [d, other],
            term => [term.dimension(); 2],
        }
    }

    /// True if it is the number of a slot.
    pub const fn is_ordinal(self) -> bool {
        matches!(self, Term::Ordinal(_) | Term::RankedOrdinal(..))
    }

    /// The same of other dimensions.
    fn relabeled(self, to: impl Fn(usize) -> usize) -> Term {
        match self {
            Term::Whole(d) => Term::Whole(to(d)),
            Term::Quotient(d, size) => Term::Quotient(to(d), size),
            Term::Remainder(d, size) => Term::Remainder(to(d), size),
            Term::Difference(d, other) => Term::Difference(to(d), to(other)),
            Term::Ordinal(d) => Term::Ordinal(to(d)),
            Term::RankedOrdinal(d, window) => Term::RankedOrdinal(to(d), window),
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Term::Whole(d) => write!(f, "{d}"),
            Term::Quotient(d, size) => write!(f, "{d}/{size}"),
            Term::Remainder(d, size) => write!(f, "{d}%{size}"),
            Term::Difference(d, other) => write!(f, "{d}-{other}"),
            Term::Ordinal(d) => write!(f, "#{d}"),
            Term::RankedOrdinal(d, window) => write!(f, "#{d}~{window}"),
        }
    }
}

impl FromStr for Term {
    type Err = MapFault;

    fn from_str(text: &str) -> Result<Term, MapFault> {
        let text = text.trim();
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let no_term = || MapFault::NoTerm(text.to_string());
        // A number that no `usize` holds is that of a dimension that no tensor has.
        let number = |digits: &str| match digits.trim() {
            digits if is_number(digits) => Ok(digits.parse::<usize>().unwrap_or(usize::MAX)),
            _ => Err(no_term()),
        };
        let size = |digits: &str| match digits.trim() {
            digits if is_number(digits) => {
                digits.parse::<u32>().ok().filter(|size| *size > 0).ok_or_else(|| MapFault::Size(text.to_string()))
            }
            _ => Err(no_term()),
        };
        if let Some(counted) = text.strip_prefix('#') {
            return Ok(match counted.split_once('~') {
                Some((dimension, window)) => Term::RankedOrdinal(number(dimension)?, size(window)?),
                None => Term::Ordinal(number(counted)?),
            });
        }
        match text.find(['/', '%', '-']).map(|at| (text.as_bytes()[at], &text[..at], &text[at + 1..])) {
            Some((b'/', dimension, block)) => Ok(Term::Quotient(number(dimension)?, size(block)?)),
            Some((b'%', dimension, block)) => Ok(Term::Remainder(number(dimension)?, size(block)?)),
            Some((_, dimension, other)) => Ok(Term::Difference(number(dimension)?, number(other)?)),
            None => Ok(Term::Whole(number(text)?)),
        }
    }
}

/// The recovery of one dimension's coordinate from stored ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// It is that of a level.
    Whole(usize),
    /// `quotient * size + remainder`, of two levels.
    Block {
        /// The level of the quotient.
        quotient: usize,
        /// The level of the remainder.
        remainder: usize,
        /// The block's size.
        size: u32,
    },
    /// The coordinate of a level plus that of another dimension, less that dimension's size and plus 1; or, in reverse, the
    /// coordinate of the other dimension plus this one's size, less 1 and the level's coordinate.
    Diagonal {
        /// The level of the difference.
        difference: usize,
        /// The other dimension.
        other: usize,
        /// True if the difference is the other dimension's coordinate less this one's.
        reverse: bool,
    },
}

/// A dimension that is stored by the ranks of its coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// The level of slots, which keeps the coordinate of each rank.
    pub level: usize,
    /// The dimension.
    pub dimension: usize,
    /// The number of neighboring coordinates that are sorted together. A coordinate's rank is in the same window.
    pub window: u32,
}

/// A map from dimensions to levels. Every dimension can be recovered from the levels.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Map {
    terms: Vec<Term>,
    order: usize,
}

impl Map {
    /// The map with a term for each level, outermost first.
    ///
    /// # Errors
    /// Some dimension is not stored, or stored twice, a size is 0, or the terms do not go together otherwise.
    pub fn new(terms: Vec<Term>) -> Result<Map, MapError> {
        let at = |place: usize, fault: fn(Term) -> MapFault| Err(MapError::new(place, fault(terms[place])));
        let empty =
            |term: &Term| matches!(term, Term::Quotient(_, 0) | Term::Remainder(_, 0) | Term::RankedOrdinal(_, 0));
        // Block sizes are sizes of stored dimensions.
        if let Some(place) = terms.iter().position(empty) {
            return at(place, |term| MapFault::Size(term.to_string()));
        }
        let named = |dimension: usize| terms.iter().any(|term| term.dimensions().contains(&dimension));
        // A term is made of two dimensions at most.
        let order = (0..=2 * terms.len()).find(|dimension| !named(*dimension)).unwrap_or(0);
        let beyond = terms.iter().any(|term| term.dimensions().iter().any(|dimension| *dimension >= order));
        if order == 0 || beyond {
            return Err(MapError::new(None, MapFault::Missing(order)));
        }
        let map = Map { terms: terms.clone(), order };
        if let Some(lost) = (0..order).find(|dimension| map.recovery(*dimension).is_none()) {
            let parts =
                |term: &Term| term.dimension() == lost && matches!(term, Term::Quotient(..) | Term::Remainder(..));
            let crosses = |term: &Term| matches!(term, Term::Difference(..)) && term.dimensions().contains(&lost);
            return match (terms.iter().position(parts), terms.iter().position(crosses)) {
                (Some(place), _) => at(place, MapFault::Unpaired),
                (None, Some(place)) => at(place, MapFault::Diagonal),
                (None, None) => Err(MapError::new(None, MapFault::Missing(lost))),
            };
        }
        let used = |level: usize| terms[level].is_ordinal() || (0..order).any(|d| map.levels_of(d).contains(&level));
        if let Some(place) = (0..terms.len()).find(|level| !used(*level)) {
            return at(place, MapFault::Redundant);
        }
        if let Some((place, _)) = terms.iter().enumerate().filter(|(_, term)| term.is_ordinal()).nth(1) {
            return at(place, MapFault::Slots);
        }
        if let Some(Ranked { dimension, level, .. }) = map.ranked() {
            if order == 1 {
                return Err(MapError::new(level, MapFault::RankedVector));
            }
            let crosses = |term: &Term| matches!(*term, Term::Difference(a, b) if [a, b].contains(&dimension));
            if let Some(place) = terms.iter().position(crosses) {
                return Err(MapError::new(place, MapFault::RankedDiagonal(dimension)));
            }
        }
        Ok(map)
    }

    fn levels_of(&self, dimension: usize) -> Vec<usize> {
        match self.recovery(dimension) {
            Some(Recovery::Whole(level)) => vec![level],
            Some(Recovery::Block { quotient, remainder, .. }) => vec![quotient, remainder],
            Some(Recovery::Diagonal { difference, .. }) => vec![difference],
            None => Vec::new(),
        }
    }

    /// The recovery of a dimension.
    pub fn recovery(&self, dimension: usize) -> Option<Recovery> {
        let find = |wanted: &dyn Fn(Term) -> bool| self.terms.iter().position(|term| wanted(*term));
        if let Some(level) = find(&|term| term == Term::Whole(dimension)) {
            return Some(Recovery::Whole(level));
        }
        if let Some(quotient) = find(&|term| matches!(term, Term::Quotient(d, _) if d == dimension)) {
            let Term::Quotient(_, size) = self.terms[quotient] else { return None };
            let remainder = find(&|term| term == Term::Remainder(dimension, size))?;
            return Some(Recovery::Block { quotient, remainder, size });
        }
        // The other one is stored as it is: two unknowns need two terms.
        self.terms.iter().enumerate().find_map(|(difference, term)| {
            let (other, reverse) = match *term {
                Term::Difference(d, other) if d == dimension => (other, false),
                Term::Difference(other, d) if d == dimension => (other, true),
                _ => return None,
            };
            let stored = other != dimension && self.terms.contains(&Term::Whole(other));
            stored.then_some(Recovery::Diagonal { difference, other, reverse })
        })
    }

    /// The number of dimensions.
    pub fn order(&self) -> usize {
        self.order
    }

    /// The part of the coordinates that each level stores.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The level of slots, and the dimension whose entries they count.
    pub fn ordinal(&self) -> Option<(usize, usize)> {
        let level = self.terms.iter().position(|term| term.is_ordinal())?;
        Some((level, self.terms[level].dimension()))
    }

    /// The dimension that is stored by the ranks of its coordinates, if there is one.
    pub fn ranked(&self) -> Option<Ranked> {
        self.terms.iter().enumerate().find_map(|(level, term)| match *term {
            Term::RankedOrdinal(dimension, window) => Some(Ranked { level, dimension, window }),
            _ => None,
        })
    }

    /// The map that treats ranks as this one treats the coordinates that have them.
    pub fn of_ranks(&self) -> Map {
        let unranked = |term: &Term| match *term {
            Term::RankedOrdinal(d, _) => Term::Ordinal(d),
            term => term,
        };
        Map { terms: self.terms.iter().map(unranked).collect(), order: self.order }
    }

    /// The sizes of the stored dimensions, of a tensor of these sizes; `None` for slots, whose number depends on the
    /// entries. `None` for all if a size overflows.
    pub fn stored_dims(&self, dims: &[u64]) -> Option<Vec<Option<u64>>> {
        let known: Vec<Option<u64>> = dims.iter().copied().map(Some).collect();
        let size = |(level, term): (usize, &Term)| match (self.stored_size(level, &known), term) {
            (None, term) if term.is_ordinal() => Some(None),
            (size, _) => size.map(Some),
        };
        self.terms.iter().enumerate().map(size).collect()
    }

    /// The size of the stored dimension of a level, of a tensor of these sizes as far as they are known; `None` if they do not
    /// tell.
    pub fn stored_size(&self, level: usize, dims: &[Option<u64>]) -> Option<u64> {
        let size = |d: usize| dims.get(d).copied().flatten();
        match *self.terms.get(level)? {
            Term::Whole(d) => size(d),
            Term::Quotient(d, block) => Some(size(d)?.div_ceil(u64::from(block))),
            Term::Remainder(_, block) => Some(u64::from(block)),
            Term::Difference(d, other) => diagonals(size(d)?, size(other)?),
            Term::Ordinal(_) | Term::RankedOrdinal(..) => None,
        }
    }

    /// The number of different coordinates that the arrays of a level tell apart, of a tensor of these sizes as far as they are
    /// known: as many as the stored dimension has, or as there are ranks.
    pub(crate) fn kept_size(&self, level: usize, dims: &[Option<u64>]) -> Option<u64> {
        match *self.terms.get(level)? {
            Term::RankedOrdinal(d, _) => dims.get(d).copied().flatten(),
            _ => self.stored_size(level, dims),
        }
    }

    /// The same map for dimensions with other numbers.
    pub(crate) fn relabeled(&self, to: impl Fn(usize) -> usize) -> Map {
        Map { terms: self.terms.iter().map(|term| term.relabeled(&to)).collect(), order: self.order }
    }
}

/// The number of diagonals of a matrix with dimensions of these sizes; `None` if it is no signed number of 64 bits, as sizes are. A
/// matrix without entries has none.
///
/// ```
/// use lacunar_formats::diagonals;
/// assert_eq!((diagonals(3, 5), diagonals(3, 0), diagonals(u64::MAX, 2)), (Some(7), Some(0), None));
/// ```
pub fn diagonals(size: u64, other: u64) -> Option<u64> {
    match (size, other) {
        (0, _) | (_, 0) => Some(0),
        _ => size.checked_add(other - 1).filter(|count| i64::try_from(*count).is_ok()),
    }
}

impl fmt::Display for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, term) in self.terms.iter().enumerate() {
            if place > 0 {
                f.write_str(",")?;
            }
            term.fmt(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(text: &str) -> Result<Map, MapError> {
        Map::new(text.split(',').map(|term| term.parse().unwrap()).collect())
    }

    #[test]
    fn every_dimension_is_recovered_or_refused() {
        for text in [
            "0",
            "1,0",
            "0/4,1/4,0%4,1%4",
            "1-0,0",
            "1-0,1",
            "2,0-1,0",
            "#0,0,1",
            "0/8,#0,0%8,1",
            "0/2,1,0%2",
            "0/8,#0~20,0%8,1",
            "#1~3,1,0",
        ] {
            let map = map(text).unwrap();
            assert_eq!(map.to_string(), text);
        }
        let [unpaired, diagonal] = [MapFault::Unpaired, MapFault::Diagonal];
        let redundant = |term: &str| MapFault::Redundant(term.parse().unwrap());
        for (text, term, fault) in [
            ("1", None, MapFault::Missing(0)),
            ("0,18446744073709551615/2", None, MapFault::Missing(1)),
            ("0,0,1", Some(1), redundant("0")),
            ("0/4,0%2", Some(0), unpaired(Term::Quotient(0, 4))),
            ("1,0%4", Some(1), unpaired(Term::Remainder(0, 4))),
            ("0/4,1", Some(0), unpaired(Term::Quotient(0, 4))),
            ("1-0,0-1", Some(0), diagonal(Term::Difference(1, 0))),
            ("1-0", Some(0), diagonal(Term::Difference(1, 0))),
            ("0-0", Some(0), diagonal(Term::Difference(0, 0))),
            ("1-0,0,1", Some(0), redundant("1-0")),
            ("1-0,0,0-1", Some(2), redundant("0-1")),
            ("0,#2,1", None, MapFault::Missing(2)),
            ("#0,#0,0", Some(1), MapFault::Slots(Term::Ordinal(0))),
            ("#0,1", None, MapFault::Missing(0)),
            ("0/4,0%4,0", Some(0), redundant("0/4")),
            ("#0~4,#0,0", Some(1), MapFault::Slots(Term::Ordinal(0))),
            ("#0~4,1,0-1", Some(2), MapFault::RankedDiagonal(0)),
            ("#0~4,0,1-0", Some(2), MapFault::RankedDiagonal(0)),
            ("#2~4,0,1", None, MapFault::Missing(2)),
            ("#0~4,0", Some(0), MapFault::RankedVector),
        ] {
            assert_eq!(map(text), Err(MapError { term, fault }), "{text}");
        }
        let fault = |text: &str| text.parse::<Term>().unwrap_err();
        for text in ["#0~", "#~4", "0~4", "#0~4~4", "#0~-1", "a", "0/", "", "+1", "-1", "0/4/2"] {
            assert_eq!(fault(text), MapFault::NoTerm(text.to_string()));
        }
        for text in ["#0~0", "#0~4294967296", "0/0", "0%0"] {
            assert_eq!(fault(text), MapFault::Size(text.to_string()));
        }
    }

    #[test]
    fn dimensions_are_recovered_from_either_end_of_a_difference() {
        let diagonal = |other, reverse| Some(Recovery::Diagonal { difference: 0, other, reverse });
        assert_eq!(map("1-0,0").unwrap().recovery(1), diagonal(0, false));
        assert_eq!(map("1-0,1").unwrap().recovery(0), diagonal(1, true));
    }

    #[test]
    fn ranks_are_of_one_dimension() {
        let sell = map("0/8,#0~20,0%8,1").unwrap();
        assert_eq!(sell.ranked(), Some(Ranked { level: 1, dimension: 0, window: 20 }));
        assert_eq!(sell.of_ranks(), map("0/8,#0,0%8,1").unwrap());
        assert_eq!((sell.ordinal(), sell.of_ranks().ranked()), (Some((1, 0)), None));
        assert_eq!(sell.stored_dims(&[17, 5]), Some(vec![Some(3), None, Some(8), Some(5)]));
        assert_eq!(sell.kept_size(1, &[Some(17), None]), Some(17));
        assert_eq!(sell.relabeled(|d| 1 - d).to_string(), "1/8,#1~20,1%8,0");
    }

    #[test]
    fn sizes_of_diagonals_do_not_wrap() {
        let dia = map("1-0,0").unwrap();
        assert_eq!(dia.stored_dims(&[3, 5]), Some(vec![Some(7), Some(3)]));
        assert_eq!(dia.stored_dims(&[0, 5]), Some(vec![Some(0), Some(0)]));
        assert_eq!(dia.stored_dims(&[u64::MAX, 5]), None);
        assert_eq!(dia.stored_dims(&[1 << 62, 1 << 62]), Some(vec![Some((1 << 63) - 1), Some(1 << 62)]));
        assert_eq!(dia.stored_dims(&[1 << 62, (1 << 62) + 1]), None);
    }
}
