//! Tensors that store every element, made to have a structure: each place gets its own value, that of its unique element, or 0.
//!
//! Places are visited in the order of storage by counting their coordinates up, several threads at once, and no list of entries is made.
//!
//! ```text
//! symmetric of     1 2      place 0 from 0, 1 from 1, 2 from 1, 3 from 3      1 2
//!                  3 4                                                        2 4
//! ```
//!
//! If forms of coordinates tell the kind of an element, the kind changes at a few coordinates of a row only: a packed tensor is completed
//! by copies of the ranges between them, of unique elements first, and of others from these.

use std::ops::Range;

use crate::{StorageError, Tensor as DynTensor};
use lacunar_sets::Coefficient;

use super::numbers::elements;
use super::packed::position_of_unique;
use super::points::{Place, Points};
use super::table::strides;
use crate::fits::positions;

/// The origin of a value: its position, and its coefficient; `None` for 0.
pub(super) type Source = Option<(usize, Coefficient)>;

/// Places of a tensor that stores all of them, with their values.
pub(super) struct Places<'a> {
    points: &'a Points,
    /// The number of places.
    pub len: usize,
    /// The tensor that values are of, if it stores unique elements alone.
    packed: Option<&'a DynTensor>,
    /// Sizes and dimensions, in the order of storage.
    sizes: Vec<(i64, usize)>,
    /// By dimension, the distance of neighbors in storage.
    strides: Vec<usize>,
    /// True if redundant elements get a value too.
    all: bool,
}

/// A dense tensor with other values: those of unique elements, and of redundant ones if `all` are wanted.
///
/// # Errors
/// Memory is refused.
pub(super) fn remade(tensor: &DynTensor, points: &Points, all: bool) -> Result<DynTensor, StorageError> {
    let sizes = tensor.format().mode_order().iter().map(|&dim| (tensor.dims()[dim] as i64, dim));
    let strides = strides(tensor).into_iter().map(|stride| stride as usize).collect();
    let places = Places { points, len: tensor.values().len(), packed: None, sizes: sizes.collect(), strides, all };
    let values = elements(tensor.values()).remade(&places)?;
    tensor.revalued(values, tensor.fill())
}

impl<'a> Places<'a> {
    /// All places of a packed tensor, row by row.
    ///
    /// # Errors
    /// There are too many.
    pub fn of_packed(tensor: &'a DynTensor, points: &'a Points) -> Result<Places<'a>, StorageError> {
        let dims = tensor.dims();
        let overflow = |_| StorageError::overflow("the number of values");
        let len = usize::try_from(positions(1, dims)?).map_err(overflow)?;
        let strides = crate::fits::strides(dims)?.into_iter().map(|stride| stride as usize).collect();
        let sizes = dims.iter().enumerate().map(|(dim, &size)| (size as i64, dim)).collect();
        Ok(Places { points, len, packed: Some(tensor), sizes, strides, all: true })
    }

    /// Calls a function with the origin of the value of each place.
    pub fn each(&self, places: Range<usize>, each: &mut dyn FnMut(Source)) {
        let order = self.strides.len();
        let mut columns = self.points.scratch();
        let mut target = vec![0; order];
        let mut rest = places.start;
        for &(_, dim) in &self.sizes {
            columns[dim] = (rest / self.strides[dim].max(1)) as i64;
            rest %= self.strides[dim].max(1);
        }
        for place in places {
            each(match self.points.place(&mut columns) {
                Place::Unique => match self.packed {
                    None => Some((place, Coefficient::ONE)),
                    Some(packed) => Some((position_of_unique(packed, |dim| columns[dim] as u64), Coefficient::ONE)),
                },
                Place::Redundant(number) if self.all => {
                    let part = &self.points.parts[number];
                    part.target(&columns, &mut target);
                    let from = match self.packed {
                        None => target.iter().zip(&self.strides).map(|(&at, &stride)| at as usize * stride).sum(),
                        Some(packed) => position_of_unique(packed, |dim| target[dim]),
                    };
                    Some((from, part.by))
                }
                Place::Redundant(_) | Place::Outside => None,
            });
            for &(size, dim) in self.sizes.iter().rev() {
                columns[dim] += 1;
                if columns[dim] < size {
                    break;
                }
                columns[dim] = 0;
            }
        }
    }

    /// Gives all places of a packed tensor their values, `times` a coefficient; false if only tests of each place tell these.
    pub fn complete<T: Copy>(&self, from: &[T], to: &mut [T], times: impl Fn(T, Coefficient) -> T) -> bool {
        let (Some(packed), Some((last, _))) = (self.packed, self.sizes.split_last()) else { return false };
        if !self.points.is_affine() {
            return false;
        }
        let (length, dim) = (last.0 as usize, last.1);
        let rows = to.len().checked_div(length).unwrap_or(0);
        let mut row = Row { places: self, columns: self.points.scratch(), breaks: Vec::new(), dim };
        let is_run = packed.format().mode_order().last() == Some(&dim);
        for number in 0..rows {
            let whole = &mut to[number * length..][..length];
            row.spans(number * length, 0..length, |place, columns, span| {
                if place != Place::Unique {
                    return;
                }
                if is_run {
                    let first = position_of_unique(packed, |dim| columns[dim] as u64);
                    whole[span.clone()].copy_from_slice(&from[first..first + span.len()]);
                    return;
                }
                for at in span {
                    columns[dim] = at as i64;
                    whole[at] = from[position_of_unique(packed, |dim| columns[dim] as u64)];
                }
            });
        }
        // Blocks of rows: elements that follow from a column are read while its lines are near.
        let mut target = vec![0; self.strides.len()];
        for first in (0..rows).step_by(BLOCK) {
            for begin in (0..length).step_by(BLOCK) {
                for number in first..rows.min(first + BLOCK) {
                    let start = number * length;
                    row.spans(start, begin..length.min(begin + BLOCK), |place, columns, span| {
                        let Place::Redundant(part) = place else { return };
                        let part = &self.points.parts[part];
                        let mut position = |at: usize| {
                            columns[dim] = at as i64;
                            part.target(columns, &mut target);
                            target.iter().zip(&self.strides).map(|(&at, &stride)| at as usize * stride).sum::<usize>()
                        };
                        let mut source = position(span.start);
                        let step = if span.len() > 1 { position(span.start + 1).wrapping_sub(source) } else { 0 };
                        if step == 1 && part.by.is_one() {
                            to.copy_within(source..source + span.len(), start + span.start);
                            return;
                        }
                        for at in span {
                            to[start + at] = times(to[source], part.by);
                            source = source.wrapping_add(step);
                        }
                    });
                }
            }
        }
        true
    }
}

/// The rows, and the elements of each, that are completed together.
const BLOCK: usize = 64;

/// A row of a tensor that is divided where elements become something else.
struct Row<'a> {
    places: &'a Places<'a>,
    columns: Vec<i64>,
    breaks: Vec<i64>,
    /// The dimension along it.
    dim: usize,
}

impl Row<'_> {
    /// Calls a function with the kind of the elements in each part of a range of the row that begins at a place, with the columns of the
    /// first of them.
    fn spans(&mut self, start: usize, range: Range<usize>, mut each: impl FnMut(Place, &mut [i64], Range<usize>)) {
        let Places { points, sizes, strides, .. } = self.places;
        let mut rest = start;
        for &(_, dim) in sizes {
            self.columns[dim] = (rest / strides[dim].max(1)) as i64;
            rest %= strides[dim].max(1);
        }
        points.breaks(&mut self.columns, self.dim, &mut self.breaks);
        let mut from = range.start;
        let ends = self.breaks.iter().map(|&at| usize::try_from(at).unwrap_or(0)).chain([range.end]);
        for end in ends {
            let end = end.min(range.end);
            if end > from {
                self.columns[self.dim] = from as i64;
                let place = points.place(&mut self.columns);
                each(place, &mut self.columns, from..end);
                from = end;
            }
        }
    }
}
