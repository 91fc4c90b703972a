//! Numbers that are made of a tensor's coordinates by adding up: bins, keys, positions, stored coordinates.
//!
//! A *form* gives the number that the coordinate `c` of each level of a tensor adds: `c` times a weight, and, if a
//! dimension is cut into blocks, `c / size` times another. So the place inside a block is a form as well: `c % size`
//! is `c - size * (c / size)`. Forms are added up over the levels from the outermost inwards, and wrap: a number that is
//! subtracted first is added later.
//!
//! ```text
//! csr (i, j) to bcsr(2,3):   row inside its block     i - 2 (i/2)
//!                            block's column           j/3
//! dia (d, i) to csr:         column                   d + i - (rows - 1)
//! ```
//!
//! Paper: Chou et al., *Automatic Generation of Efficient Sparse Tensor Format Conversion Routines* (PLDI 2020), §4
//! (coordinate remapping). The division by a constant: Lemire, Kaser and Kurz, *Faster Remainder by Direct Computation*
//! (Software: Practice and Experience, 2019).

use lacunar_formats::{Format, Map, Recovery, Term};

use crate::array::Array;
use crate::error::AllocError;
use crate::sort::Key;
use crate::tensor::Tensor;

/// Division of coordinates by a block's size.
#[derive(Clone, Copy, Debug)]
struct Divider {
    size: u64,
    /// `2^64 / size` rounded up, by which numbers of 32 bits are divided exactly; 0 for a size of 1.
    inverse: u64,
}

impl Divider {
    fn new(size: u32) -> Divider {
        let inverse = if size <= 1 { 0 } else { u64::MAX / u64::from(size) + 1 };
        Divider { size: u64::from(size).max(1), inverse }
    }

    #[inline(always)]
    fn quotient(self, coordinate: u64) -> u64 {
        if self.inverse == 0 {
            coordinate
        } else if coordinate <= u64::from(u32::MAX) {
            ((u128::from(coordinate) * u128::from(self.inverse)) >> 64) as u64
        } else {
            coordinate / self.size
        }
    }
}

/// The weight of one level's coordinate in a number.
#[derive(Clone, Copy, Debug)]
pub struct Weight<K> {
    divider: Divider,
    /// Times the number of the coordinate's block.
    quotient: K,
    /// Times the coordinate.
    whole: K,
}

impl<K: Key> Weight<K> {
    const NONE: Weight<K> = Weight { divider: Divider { size: 1, inverse: 0 }, quotient: K::ZERO, whole: K::ZERO };

    /// The number of times that the coordinate is added: the whole weight, if a dimension is recovered.
    pub fn whole(self) -> K {
        self.whole
    }

    /// The number that a coordinate adds.
    #[inline(always)]
    pub fn of(self, coordinate: u64) -> K {
        let whole = self.whole.times(coordinate);
        if self.quotient == K::ZERO {
            whole
        } else {
            whole.plus(self.quotient.times(self.divider.quotient(coordinate)))
        }
    }

    /// The size of blocks where coordinates of one block all add the same, which differs from block to block.
    pub fn block(self) -> Option<u64> {
        (self.whole == K::ZERO && self.quotient != K::ZERO).then_some(self.divider.size)
    }

    /// The number of a coordinate's block.
    #[inline(always)]
    pub fn block_of(self, coordinate: u64) -> u64 {
        self.divider.quotient(coordinate)
    }

    /// The factors of the block's number, for blocks of this size, and of the coordinate; `None` if blocks are of
    /// another size.
    pub fn factors(self, block: u64) -> Option<(K, K)> {
        (self.quotient == K::ZERO || self.divider.size == block).then_some((self.quotient, self.whole))
    }

    /// True if a coordinate adds nothing.
    pub fn is_none(self) -> bool {
        self.whole == K::ZERO && self.quotient == K::ZERO
    }
}

/// A number made of the coordinates of a tensor's levels.
#[derive(Clone, Debug)]
pub struct Form<K> {
    start: K,
    /// By level of the tensor, outermost first.
    weights: Vec<Weight<K>>,
}

impl<K: Key> Form<K> {
    /// Nothing, for a tensor with so many levels.
    pub fn zero(levels: usize) -> Form<K> {
        Form { start: K::ZERO, weights: vec![Weight::NONE; levels] }
    }

    /// The number before any coordinate is added.
    pub fn start(&self) -> K {
        self.start
    }

    /// The weight of a level.
    pub fn weight(&self, level: usize) -> Weight<K> {
        self.weights.get(level).copied().unwrap_or(Weight::NONE)
    }

    /// True if the outermost levels, so many, add nothing.
    pub fn is_none_of(&self, levels: usize) -> bool {
        self.start == K::ZERO && self.weights.iter().take(levels).all(|weight| weight.is_none())
    }

    /// The sum of the numbers that the first `levels` levels add, at every position of the last of them.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn at_positions(&self, tensor: &Tensor, levels: usize) -> Result<Array<K>, AllocError> {
        tensor.enumerate_outer(levels, self.start, |before, level, coordinate| {
            before.plus(self.weights[level].of(coordinate))
        })
    }

    fn add_whole(&mut self, level: Option<usize>, weight: K) {
        if let Some(added) = level.and_then(|level| self.weights.get_mut(level)) {
            added.whole = added.whole.plus(weight);
        }
    }

    fn add_quotient(&mut self, level: Option<usize>, size: u32, weight: K) {
        if let Some(added) = level.and_then(|level| self.weights.get_mut(level)) {
            added.divider = Divider::new(size);
            added.quotient = added.quotient.plus(weight);
        }
    }

    /// Adds, so many times, the coordinate that a term of a map stores; the tensor's levels store dimensions as they
    /// are. The number of a slot is no form, and adds nothing.
    pub fn add_term(&mut self, term: Term, weight: K, (source, dims): (&Format, &[u64])) {
        let level = |dimension: usize| source.level_of(dimension);
        match term {
            Term::Whole(d) => self.add_whole(level(d), weight),
            Term::Quotient(d, size) => self.add_quotient(level(d), size, weight),
            Term::Remainder(d, size) => {
                self.add_whole(level(d), weight);
                self.add_quotient(level(d), size, weight.times(u64::from(size)).negative());
            }
            Term::Difference(d, other) => {
                self.add_whole(level(d), weight);
                self.add_whole(level(other), weight.negative());
                let last = dims.get(other).map_or(0, |size| size.saturating_sub(1));
                self.start = self.start.plus(weight.times(last));
            }
            Term::Ordinal(_) | Term::RankedOrdinal(..) => {}
        }
    }

    /// Adds, so many times, the coordinate of a dimension, made of the coordinates that the levels of a tensor store.
    pub fn add_dimension(&mut self, dimension: usize, weight: K, (source, dims): (&Format, &[u64])) {
        match source.map() {
            None => self.add_whole(source.level_of(dimension), weight),
            Some(map) => self.add_recovered(dimension, weight, (map, dims)),
        }
    }

    fn add_recovered(&mut self, dimension: usize, weight: K, (map, dims): (&Map, &[u64])) {
        match map.recovery(dimension) {
            Some(Recovery::Whole(level)) => self.add_whole(Some(level), weight),
            Some(Recovery::Block { quotient, remainder, size }) => {
                self.add_whole(Some(quotient), weight.times(u64::from(size)));
                self.add_whole(Some(remainder), weight);
            }
            // A map's other dimensions are recovered without this one.
            Some(Recovery::Diagonal { difference, other, reverse }) => {
                let last = |d: usize| weight.times(dims.get(d).map_or(0, |size| size.saturating_sub(1)));
                let (along, shift) =
                    if reverse { (weight.negative(), last(dimension)) } else { (weight, last(other).negative()) };
                self.add_whole(Some(difference), along);
                self.add_recovered(other, weight, (map, dims));
                self.start = self.start.plus(shift);
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_is_exact() {
        for size in [1u32, 2, 3, 5, 7, 64, 641, 65_537, 4_294_967_291, u32::MAX] {
            let divider = Divider::new(size);
            let near = [0u64, 1, 2, 1000, u64::from(u32::MAX) - 1, u64::from(u32::MAX), 1 << 32, 1 << 40, u64::MAX];
            let around =
                (1..20u64).flat_map(|k| [k * u64::from(size) - 1, k * u64::from(size), k * u64::from(size) + 1]);
            for number in near.into_iter().chain(around) {
                assert_eq!(divider.quotient(number), number / u64::from(size), "{number} / {size}");
            }
        }
    }

    #[test]
    fn terms_are_forms_and_recovered_by_forms() {
        let (csr, dims) = (Format::csr(), [10u64, 9]);
        let number = |term: Term, i: u64, j: u64| {
            let mut form = Form::<u64>::zero(2);
            form.add_term(term, 1, (&csr, &dims));
            form.start().wrapping_add(form.weight(0).of(i)).wrapping_add(form.weight(1).of(j))
        };
        let dia = Format::dia();
        let mut column = Form::<u64>::zero(2);
        column.add_dimension(1, 1, (&dia, &dims));
        // Diagonals and columns: the row follows.
        let by_columns = Format::mapped(dia.levels().to_vec(), vec![Term::Difference(1, 0), Term::Whole(1)]).unwrap();
        let mut row = Form::<u64>::zero(2);
        row.add_dimension(0, 1, (&by_columns, &dims));
        for (i, j) in [(0, 0), (9, 8), (3, 7), (7, 3)] {
            assert_eq!(number(Term::Remainder(1, 4), i, j), j % 4);
            assert_eq!(number(Term::Quotient(0, 3), i, j), i / 3);
            let diagonal = number(Term::Difference(1, 0), i, j);
            assert_eq!(diagonal, j + 9 - i);
            let at = column.start().wrapping_add(column.weight(0).of(diagonal)).wrapping_add(column.weight(1).of(i));
            assert_eq!(at, j);
            let at = row.start().wrapping_add(row.weight(0).of(diagonal)).wrapping_add(row.weight(1).of(j));
            assert_eq!(at, i);
        }
    }
}
