//! Tensors in packed formats: their arrays follow from a structure and their sizes, and their values are those of unique elements.
//!
//! ```text
//! packed(symmetric) of     1 2 3      pos    0 3 5 6      values 1 2 3 | 5 6 | 9
//!                          2 5 6      first  0 1 2
//!                          3 6 9
//! ```
//!
//! A tensor gets into such a format by a comparison with the structure, unless somebody vouches for it, and a copy of the unique elements.
//! Out of it, elements that follow from others are put beside these, in storage that has a place for every element; a structure without
//! redundant elements is stored as a whole already.
//!
//! On entry: a tensor whose fill value is 0. On exit: the same elements.

use std::borrow::Cow;

use lacunar_formats::{DType, Format, Packing, Scalar, Structure};
use lacunar_sets::Coefficient;

use super::check::check;
use super::dense::Places;
use super::error::{StructureError, zero_elsewhere};
use super::numbers::elements;
use super::points::{Place, Points};
use crate::dispatch::with_word;
use crate::fits::widen;
use crate::spread::numbers;
use crate::storage::{LevelStorage, Place as LevelPlace};
use crate::{AllocError, Buffer, StorageError, Tensor};

/// A tensor beside a structure.
pub(super) enum Seen<'a> {
    /// Its format says that it has the structure.
    Alike,
    /// The whole tensor.
    Whole(Cow<'a, Tensor>),
}

/// A tensor as it is to be compared with a structure.
///
/// # Errors
/// Memory is refused.
pub(super) fn completed<'a>(tensor: &'a Tensor, structure: &Structure) -> Result<Seen<'a>, StorageError> {
    match tensor.format().packing() {
        Some(packing) if packing.structure() == structure => Ok(Seen::Alike),
        _ => seen_whole(tensor).map(Seen::Whole),
    }
}

/// A tensor in a format that stores all of it.
///
/// # Errors
/// Memory is refused.
pub(super) fn seen_whole(tensor: &Tensor) -> Result<Cow<'_, Tensor>, StorageError> {
    Ok(if tensor.format().packing().is_some() { Cow::Owned(whole(tensor)?) } else { Cow::Borrowed(tensor) })
}

/// A packed tensor in a format that stores all of it: every element, where some follow from others, else the same levels.
///
/// # Errors
/// Memory is refused.
pub(crate) fn whole(tensor: &Tensor) -> Result<Tensor, StorageError> {
    let Some(packing) = tensor.format().packing() else { return Ok(tensor.try_clone()?) };
    let structure = packing.structure();
    if structure.is_without_redundancy() {
        return tensor.as_unpacked();
    }
    let points = Points::new(structure, &sizes(tensor.dims())?, tensor.dims())?;
    let places = Places::of_packed(tensor, &points)?;
    let values = elements(tensor.values()).remade(&places)?;
    let levels = tensor.dims().iter().map(|&size| LevelStorage::dense(size)).collect();
    Ok(Tensor::assemble(tensor.dims().to_vec(), Format::dense(tensor.order()), levels, values))
}

/// The unique elements of a tensor in a packed format; `is_known` says that somebody vouches for the others.
///
/// # Errors
/// An element contradicts the structure, sizes do, or memory is refused.
pub(crate) fn keep(source: &Tensor, format: &Format, is_known: bool) -> Result<Tensor, StorageError> {
    let Some(packing) = format.packing() else { return Err(StorageError::Astray) };
    let (structure, params) = (packing.structure(), sizes(source.dims())?);
    zero_elsewhere(source)?;
    let points = Points::new(structure, &params, source.dims())?;
    if !is_known {
        check(source, structure, &params)?;
    }
    // Values take the most memory: their allocation is tried first.
    let counted = packing.count(source.dims()).map(|count| Buffer::zeroed(source.dtype(), count)).transpose()?;
    let Layout { format, levels, count } = Layout::of(packing, format, source.dims())?;
    let mut placed = match counted {
        Some(values) if values.len() as u64 == count => values,
        _ => Buffer::zeroed(source.dtype(), count)?,
    };
    with_word!(source.dtype(), V => {
        let (from, to) = (source.values().as_words::<V>(), placed.as_words_mut::<V>().unwrap_or_default());
        let mut columns = points.scratch();
        let mut walk = source.walk();
        while let Some((coordinates, position)) = walk.next_entry() {
            super::check::load(&mut columns, coordinates);
            if points.place(&mut columns) == Place::Unique
                && let Some(slot) = to.get_mut(position_of(&levels, format.mode_order(), |dim| coordinates[dim]))
            {
                *slot = from[position];
            }
        }
    });
    Ok(Tensor::assemble(source.dims().to_vec(), format, levels, placed))
}

/// The levels of a packed tensor.
struct Layout {
    /// The format, with arrays as wide as needed.
    format: Format,
    levels: Vec<LevelStorage>,
    /// The number of values.
    count: u64,
}

impl Layout {
    /// The levels of a tensor of these sizes.
    fn of(packing: Packing, format: &Format, dims: &[u64]) -> Result<Layout, StorageError> {
        let order = dims.len();
        if let Some(count) = packing.count(dims) {
            // If there is no memory for the values, rows need not be gone through; a byte stands for each.
            drop(Buffer::zeroed(DType::U8, count)?);
        }
        let (mut edges, mut firsts) = (vec![vec![0_u64]; order], vec![Vec::new(); order]);
        let rows = format.mode_order().first().and_then(|&dim| usize::try_from(dims[dim]).ok());
        let rows = rows.ok_or_else(|| StorageError::overflow("the number of rows"))?;
        for array in edges.iter_mut().chain(&mut firsts).skip(1).step_by(order) {
            array.try_reserve_exact(rows).map_err(|_| AllocError { bytes: (rows as u64).saturating_mul(8) })?;
        }
        let mut refused = None;
        let found = packing.intervals(dims, &mut |level, interval| {
            let (edges, firsts) = (&mut edges[level], &mut firsts[level]);
            let bytes = 16 * (edges.len() as u64 + 1);
            if edges.try_reserve(1).is_err() || firsts.try_reserve(1).is_err() {
                refused = Some(AllocError { bytes });
                return;
            }
            let end = edges.last().copied().unwrap_or(0).saturating_add(interval.end - interval.start);
            edges.push(end);
            firsts.push(if interval.is_empty() { 0 } else { interval.start });
        });
        if let Some(refused) = refused {
            return Err(refused.into());
        }
        found.ok_or_else(|| StorageError::overflow("the number of stored elements"))?;
        let count = edges.last().and_then(|edges| edges.last()).copied().unwrap_or(0);
        let format = widen(&format.as_stored(), dims, count);
        let mut levels = Vec::new();
        for (level, stored) in format.levels().iter().enumerate() {
            let place = LevelPlace { format: &format, dims, level };
            levels.push(match level {
                0 => LevelStorage::dense(place.size()),
                _ => {
                    let first = numbers(&firsts[level], place.coordinates())?;
                    LevelStorage::new(
                        stored.kind,
                        place.size(),
                        vec![numbers(&edges[level], place.positions())?, first],
                    )
                }
            });
        }
        Ok(Layout { format, levels, count })
    }
}

/// The position of a unique element, whose coordinates are told by dimension.
fn position_of(levels: &[LevelStorage], modes: &[usize], coordinate: impl Fn(usize) -> u64) -> usize {
    let mut at = 0;
    for (level, &mode) in levels.iter().zip(modes) {
        at = match level.pos() {
            None => coordinate(mode),
            Some(_) => {
                let place = at as usize;
                (level.numbers(0).get(place) + coordinate(mode)).wrapping_sub(level.numbers(1).get(place))
            }
        };
    }
    at as usize
}

/// The position of a unique element of a packed tensor, whose coordinates are told by dimension.
pub(crate) fn position_of_unique(tensor: &Tensor, coordinate: impl Fn(usize) -> u64) -> usize {
    position_of(tensor.levels(), tensor.format().mode_order(), coordinate)
}

/// The position of the value of an element of a packed tensor, and its coefficient.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    /// It is 0, whatever is stored.
    Nowhere,
    /// A multiple of the value at a position.
    At(usize, Coefficient),
}

/// The origin of an element with these coordinates, which lie inside; `None` if numbers do not fit.
pub(crate) fn origin(tensor: &Tensor, coordinates: &[u64]) -> Option<Origin> {
    let structure = tensor.format().packing()?.structure();
    let point: Vec<i64> = coordinates.iter().map(|at| i64::try_from(*at).ok()).collect::<Option<_>>()?;
    Some(match structure.element(&sizes(tensor.dims()).ok()?, &point)? {
        None => Origin::Nowhere,
        Some((target, by)) => Origin::At(position_of_unique(tensor, |dim| target[dim] as u64), by),
    })
}

/// An element of a packed tensor; `None` if it is 0.
pub(crate) fn element(tensor: &Tensor, coordinates: &[u64]) -> Option<Scalar> {
    let Origin::At(position, by) = origin(tensor, coordinates)? else { return None };
    let values = elements(tensor.values());
    Some(values.scalar(values.times(values.number(position), by)))
}

/// Checks that arrays from outside are those that follow from the structure of a packed format.
///
/// # Errors
/// They are not, or the structure is not one of tensors of these sizes.
pub(crate) fn check_layout(tensor: &Tensor) -> Result<(), StorageError> {
    let Some(packing) = tensor.format().packing() else { return Ok(()) };
    let params = sizes(tensor.dims())?;
    Points::new(packing.structure(), &params, tensor.dims())?;
    zero_elsewhere(tensor)?;
    let Layout { levels, .. } = Layout::of(packing, tensor.format(), tensor.dims())?;
    for (level, (own, wanted)) in tensor.levels().iter().zip(&levels).enumerate().skip(1) {
        let parts = own.arrays().count();
        for part in 0..parts {
            let (found, expected) = (own.numbers(part), wanted.numbers(part));
            let differs = (0..expected.len()).find(|&place| found.get(place) != expected.get(place));
            if let Some(place) = differs {
                let reason = "the structure of the format begins or ends a row elsewhere";
                return Err(StorageError::Positions { level, place: place as u64, reason });
            }
        }
    }
    Ok(())
}

impl Tensor {
    /// Calls a function with each element of a packed tensor that its structure does not make 0, row by row: the position of its value, and
    /// the element if it is another multiple of that. Elements that follow from others are among them; no memory is taken.
    ///
    /// ```
    /// use lacunar_formats::Format;
    /// use lacunar_runtime::{Buffer, Tensor};
    /// let matrix = Tensor::from_dense(vec![2, 2], Buffer::from_vec(vec![1.0, 2.0, 2.0, 3.0]), &Format::dense(2)).unwrap();
    /// let (half, mut positions) = (matrix.convert(&Format::packed("symmetric", 2).unwrap()).unwrap(), Vec::new());
    /// half.for_each_of_whole(&mut |position, _| positions.push(position));
    /// assert_eq!(positions, [0, 1, 1, 2]);
    /// ```
    pub fn for_each_of_whole(&self, each: &mut dyn FnMut(usize, Option<Scalar>)) {
        let Some(packing) = self.format().packing() else { return };
        let points = sizes(self.dims()).and_then(|params| Points::new(packing.structure(), &params, self.dims()));
        let values = elements(self.values());
        // A tensor has been made of its structure, and each of its elements has a place.
        if let Ok(points) = points
            && let Ok(places) = Places::of_packed(self, &points)
        {
            places.each(0..places.len, &mut |source| {
                if let Some((position, by)) = source {
                    let other = (!by.is_one()).then(|| values.scalar(values.times(values.number(position), by)));
                    each(position, other);
                }
            });
        }
    }

    /// A tensor without values yet in a packed format: the arrays of its levels, which copies share, and the number of values; for kernels, which
    /// write these.
    ///
    /// # Errors
    /// The structure is not one of tensors of these sizes, or memory is refused.
    ///
    /// ```
    /// use lacunar_formats::Format;
    /// use lacunar_runtime::Tensor;
    /// let (format, levels, count) = Tensor::packed_levels(&[3, 3], &Format::packed("upper", 2).unwrap()).unwrap();
    /// assert_eq!((format.to_string().as_str(), levels.len(), count), ("packed(upper)", 2, 6));
    /// ```
    pub fn packed_levels(dims: &[u64], format: &Format) -> Result<(Format, Vec<LevelStorage>, u64), StorageError> {
        let packing = format.packing().ok_or(StorageError::Astray)?;
        Points::new(packing.structure(), &sizes(dims)?, dims)?;
        let Layout { format, mut levels, count } = Layout::of(packing, format, dims)?;
        let levels = levels.iter_mut().map(LevelStorage::share).collect::<Result<_, _>>()?;
        Ok((format, levels, count))
    }

    /// The unique elements of a tensor of which somebody vouches that it has the structure of a packed format, as far as numbers that were
    /// rounded can.
    ///
    /// # Errors
    /// The format is none, or the structure is not one of tensors of these sizes; memory is refused.
    ///
    /// ```
    /// use lacunar_formats::Format;
    /// use lacunar_runtime::{Buffer, Tensor};
    /// let product = Tensor::from_dense(vec![2, 2], Buffer::from_vec(vec![1.0, 2.0, 2.0000001, 3.0]), &Format::dense(2)).unwrap();
    /// let half = product.keep_packed(&Format::packed("symmetric", 2).unwrap()).unwrap();
    /// assert_eq!(half.to_string(), "[[1, 2], [2, 3]]");
    /// ```
    pub fn keep_packed(&self, format: &Format) -> Result<Tensor, StorageError> {
        keep(self, format, true)
    }

    /// The stored elements of a packed tensor, as a tensor whose other elements are 0.
    ///
    /// # Errors
    /// Memory is refused.
    ///
    /// ```
    /// use lacunar_formats::Format;
    /// use lacunar_runtime::{Buffer, Tensor};
    /// let values = Buffer::from_vec(vec![1, 2, 2, 3]);
    /// let packed = Tensor::from_dense(vec![2, 2], values, &Format::packed("symmetric", 2).unwrap()).unwrap();
    /// assert_eq!(packed.as_unpacked().unwrap().to_string(), "[[1, 2], [0, 3]]");
    /// ```
    pub fn as_unpacked(&self) -> Result<Tensor, StorageError> {
        let (dims, format) = (self.dims().to_vec(), self.format().unpacked());
        Ok(self.try_clone()?.seen_as(dims, format))
    }
}

/// The values of the parameters of a tensor's structure.
fn sizes(dims: &[u64]) -> Result<Vec<i64>, StructureError> {
    dims.iter().map(|size| i64::try_from(*size).map_err(|_| StructureError::TooHard)).collect()
}
