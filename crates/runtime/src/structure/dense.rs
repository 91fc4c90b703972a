//! Tensors that store every element, made to have a structure: each place gets its own value, that of its unique element, or 0.
//!
//! Places are visited in the order of storage by counting their coordinates up, several threads at once, and no list of entries is made.
//!
//! ```text
//! symmetric of     1 2      place 0 from 0, 1 from 1, 2 from 1, 3 from 3      1 2
//!                  3 4                                                        2 4
//! ```

use std::ops::Range;

use crate::{StorageError, Tensor as DynTensor};
use lacunar_sets::Coefficient;

use super::numbers::elements;
use super::packed::position_of_unique;
use super::points::{Place, Points};
use super::table::strides;
use crate::fits::positions;

/// The origin of a value: its position, and what it is multiplied by; `None` for 0.
pub(super) type Source = Option<(usize, Coefficient)>;

/// Places of a tensor that stores all of them, with what they get.
pub(super) struct Places<'a> {
    points: &'a Points,
    /// How many there are.
    pub len: usize,
    /// The tensor that values are of, if it stores unique elements alone.
    packed: Option<&'a DynTensor>,
    /// Sizes and dimensions, in the order of storage.
    sizes: Vec<(i64, usize)>,
    /// By dimension, the distance of neighbors in storage.
    strides: Vec<usize>,
    /// Redundant elements get a value too.
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
}
