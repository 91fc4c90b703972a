//! Places outside of a tensor's dimensions, where a map stores more coordinates than the dimensions have.
//!
//! ```text
//! bcsr(2,2) of a 3 x 3 matrix:   place (1, 0, 1, 1) would be (3, 1)
//! dia of a 3 x 2 matrix:         diagonal 0, row 0 would be column -2
//! ```
//!
//! A value at such a place is no entry, whatever it is: kernels do not walk there, and the functions here keep entries
//! from coming out of there. In formats that are padded, such places have values, which may be any; a conversion takes
//! the tensor with these [`cleared`], so that they are left out with the zeros of padding. Other formats have no such
//! places: arrays from outside are searched for them ([`first`]).
//!
//! Coordinates of dimensions are forms ([`crate::forms`]). Under a position of the level above the innermost dense ones, all places
//! of a block follow from the form there, and those outside are found without a look at the others:
//!
//! ```text
//! dia: a diagonal's form of j is k = d - (rows - 1) before any row is added: outside are the rows below -k, and those from n - k on
//! ```

use std::mem::MaybeUninit;
use std::ops::Range;

use lacunar_formats::{Format, Level, LevelKind, Map, Recovery, Term};

use crate::array::Array;
use crate::error::StorageError;
use crate::forms::Form;
use crate::parallel;
use crate::tensor::Tensor;

/// A dimension whose coordinates are made of several levels' ones.
struct Recovered {
    size: i128,
    /// The sum that the levels above the blocks contribute to it, at each of their positions.
    bases: Array<u64>,
    /// By dense level of a block, outermost first.
    weights: Vec<i128>,
}

/// The places of a tensor of plain levels, in blocks of the innermost dense ones.
struct Blocks {
    dimensions: Vec<Recovered>,
    /// The sizes of the dense levels, and the distance of the places of neighbors.
    levels: Vec<(u64, u64)>,
    count: usize,
    /// The number of places in a block.
    len: u64,
}

impl Blocks {
    /// The blocks of a tensor, some of whose dimensions are `watched`; `None` if all of these are stored as they are.
    fn new(tensor: &Tensor, watched: impl Fn(usize) -> bool) -> Result<Option<Blocks>, StorageError> {
        let Some(map) = tensor.format().map() else { return Ok(None) };
        let is_dense = |level: &Level| level.kind == LevelKind::DENSE;
        let inner = tensor.format().levels().iter().rev().take_while(|level| is_dense(level)).count();
        let outer = tensor.levels().len() - inner;
        let mut len = 1u64;
        let mut levels: Vec<(u64, u64)> = Vec::with_capacity(inner);
        for level in tensor.levels()[outer..].iter().rev() {
            levels.push((level.size(), len));
            // Blocks that do not fit anywhere are none.
            let Some(longer) = len.checked_mul(level.size()) else { return Ok(None) };
            len = longer;
        }
        levels.reverse();
        let mut dimensions = Vec::new();
        let mut count = 0;
        for (dimension, &size) in tensor.dims().iter().enumerate() {
            if matches!(map.recovery(dimension), Some(Recovery::Whole(_))) || !watched(dimension) {
                continue;
            }
            let mut form = Form::<u64>::zero(tensor.levels().len());
            form.add_dimension(dimension, 1, (tensor.format(), tensor.dims()));
            let weight = |level: usize| i128::from(form.weight(level).whole() as i64);
            let weights = (outer..tensor.levels().len()).map(weight).collect();
            let bases = form.at_positions(tensor, outer)?;
            count = bases.len();
            dimensions.push(Recovered { size: i128::from(size), bases, weights });
        }
        Ok((!dimensions.is_empty() && len > 0).then_some(Blocks { dimensions, levels, count, len }))
    }

    /// Calls `each` with the ranges of places of a block that are outside, until it says that this is enough; returns true if it did.
    fn outside(&self, block: usize, each: &mut dyn FnMut(Range<u64>) -> bool) -> bool {
        let bases: Vec<i128> = self.dimensions.iter().map(|recovered| signed(recovered.bases[block])).collect();
        self.outside_below(0, block as u64 * self.len, &bases, each)
    }

    /// The same of the places from `place` on, under coordinates of the dense levels before `level`; `bases` are the
    /// sums for the dimensions so far.
    fn outside_below(
        &self,
        level: usize,
        place: u64,
        bases: &[i128],
        each: &mut dyn FnMut(Range<u64>) -> bool,
    ) -> bool {
        let of_dimensions = || self.dimensions.iter().zip(bases);
        // The least and the greatest coordinate of each dimension under here.
        let bounds = |(recovered, base): (&Recovered, &i128)| {
            let levels = self.levels[level..].iter().zip(&recovered.weights[level..]);
            levels.fold((*base, *base), |(least, most), ((size, _), weight)| {
                let last = weight * i128::from(size - 1);
                (least + last.min(0), most + last.max(0))
            })
        };
        let is_inside = |of: (&Recovered, &i128)| {
            let (least, most) = bounds(of);
            least >= 0 && most < of.0.size
        };
        let is_outside = |of: (&Recovered, &i128)| {
            let (least, most) = bounds(of);
            most < 0 || least >= of.0.size
        };
        if of_dimensions().all(is_inside) {
            return false;
        }
        let len = self.levels.get(level).map_or(1, |(size, stride)| size * stride);
        if of_dimensions().any(is_outside) {
            return each(place..place + len);
        }
        let Some(&(size, stride)) = self.levels.get(level) else { return false };
        if level + 1 < self.levels.len() {
            let mut own = bases.to_vec();
            return (0..size).any(|coordinate| {
                for ((own, base), recovered) in own.iter_mut().zip(bases).zip(&self.dimensions) {
                    *own = base + recovered.weights[level] * i128::from(coordinate);
                }
                self.outside_below(level + 1, place + coordinate * stride, &own, each)
            });
        }
        // The coordinates of the innermost level with which all dimensions' are inside.
        let (mut low, mut high) = (0, i128::from(size));
        for (recovered, base) in of_dimensions() {
            let (first, end) = match recovered.weights[level] {
                0 => continue,
                weight if weight > 0 => (ceil_div(-base, weight), ceil_div(recovered.size - base, weight)),
                weight => (ceil_div(base - recovered.size + 1, -weight), ceil_div(base + 1, -weight)),
            };
            (low, high) = (low.max(first), high.min(end));
        }
        let low = low.clamp(0, i128::from(size)) as u64;
        let high = (high.clamp(0, i128::from(size)) as u64).max(low);
        [place..place + low, place + high..place + size].into_iter().any(|range| !range.is_empty() && each(range))
    }

    /// The first place outside in a range of places that is `wanted`.
    fn first(&self, wanted: &(dyn Fn(Range<u64>) -> bool + Sync)) -> Option<u64> {
        parallel::first(self.count, |block| {
            let mut first = None;
            self.outside(block, &mut |places| {
                first = wanted(places.clone()).then_some(places.start);
                first.is_some()
            });
            first
        })
    }
}

/// A number that wrapped around 0. Numbers above 2^63 are outside of any dimension, as negative numbers are.
fn signed(number: u64) -> i128 {
    i128::from(number as i64)
}

/// A quotient rounded up; the divisor is positive.
fn ceil_div(number: i128, divisor: i128) -> i128 {
    number.div_euclid(divisor) + i128::from(number.rem_euclid(divisor) != 0)
}

/// True if levels are padded with coordinates from which a coordinate of the dimension may come out too large: the
/// innermost level that it is recovered from has coordinates without entries.
fn is_filled(format: &Format, map: &Map, dimension: usize) -> bool {
    let innermost = match map.recovery(dimension) {
        Some(Recovery::Whole(level)) => level,
        Some(Recovery::Block { quotient, remainder, .. }) => quotient.max(remainder),
        Some(Recovery::Diagonal { difference, other, .. }) => {
            let other = map.terms().iter().position(|term| *term == Term::Whole(other));
            other.map_or(difference, |other| other.max(difference))
        }
        None => return false,
    };
    let mut above = format.levels()[..=innermost].iter().rev().map(|level| level.properties());
    // A branchless level has one position below each of those above, and so the padding of those.
    above.find(|level| !level.branchless).is_none_or(|level| level.padded)
}

/// The first place outside of the dimensions of a tensor, whose levels are seen as `plain` ones. Looks either at the
/// dimensions for which levels are padded (`filled`), or at the others.
///
/// # Errors
/// Memory is refused.
pub(crate) fn first(tensor: &Tensor, plain: &Tensor, filled: bool) -> Result<Option<u64>, StorageError> {
    let Some(map) = tensor.format().map() else { return Ok(None) };
    let blocks = Blocks::new(plain, |dimension| is_filled(tensor.format(), map, dimension) == filled)?;
    Ok(blocks.and_then(|blocks| blocks.first(&|_| true)))
}

/// The tensor, which is of plain levels, with zeros at the places outside of its dimensions; `None` if it has only zeros there.
///
/// # Errors
/// Memory is refused.
pub(crate) fn cleared(tensor: &Tensor) -> Result<Option<Tensor>, StorageError> {
    let Some(blocks) = Blocks::new(tensor, |_| true)? else { return Ok(None) };
    let (bytes, size) = (tensor.values().as_bytes(), tensor.dtype().size());
    let bytes_of = |places: Range<u64>| places.start as usize * size..places.end as usize * size;
    let is_set = |places: Range<u64>| bytes[bytes_of(places)].iter().any(|byte| *byte != 0);
    if blocks.first(&is_set).is_none() {
        return Ok(None);
    }
    let mut values = tensor.values().try_clone()?;
    values.make_owned()?;
    let bytes = values.bytes_mut();
    for block in 0..blocks.count {
        blocks.outside(block, &mut |places| {
            bytes[bytes_of(places)].fill(MaybeUninit::new(0));
            false
        });
    }
    Ok(Some(tensor.with_values(values, tensor.fill())?))
}
