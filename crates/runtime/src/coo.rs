//! Coordinate lists: files are read into them, and packing consumes them.
//!
//! One array per dimension and one of values, all of the same length. Coordinates count from 0 and are below the
//! dimension's size. The order of entries is free and a coordinate may repeat (packing sorts and sums).

use lacunar_formats::{DType, Format};

use crate::dispatch::{with_element, with_values};
use crate::error::StorageError;
use crate::fits::{check_sizes, check_type};
use crate::parallel::{self, GRAIN, fill_chunks};
use crate::ranking;
use crate::remap;
use crate::tensor::Tensor;
use crate::values::{Element, Values};

/// The coordinates of one dimension.
#[derive(Clone, Debug, PartialEq)]
pub enum Coordinates {
    /// The size of the dimension is at most 2^32.
    U32(Vec<u32>),
    /// Any size.
    U64(Vec<u64>),
}

impl Coordinates {
    /// An empty array of the width that a dimension of `size` needs.
    pub fn for_size(size: u64) -> Coordinates {
        if size <= 1 << 32 { Coordinates::U32(Vec::new()) } else { Coordinates::U64(Vec::new()) }
    }

    /// The number of coordinates.
    pub fn len(&self) -> usize {
        match self {
            Coordinates::U32(v) => v.len(),
            Coordinates::U64(v) => v.len(),
        }
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Leaves the first `len`, at most.
    pub fn truncate(&mut self, len: usize) {
        match self {
            Coordinates::U32(v) => v.truncate(len),
            Coordinates::U64(v) => v.truncate(len),
        }
    }

    /// The coordinate of entry `k`; `None` past the end.
    pub fn get(&self, k: usize) -> Option<u64> {
        match self {
            Coordinates::U32(v) => v.get(k).map(|&c| u64::from(c)),
            Coordinates::U64(v) => v.get(k).copied(),
        }
    }

    /// The coordinates that are `kept`, in an array for a dimension of a size, below which they all are.
    pub(crate) fn kept(mut self, kept: &[bool], size: u64) -> Coordinates {
        match &mut self {
            Coordinates::U32(v) => retain(v, kept),
            Coordinates::U64(v) => retain(v, kept),
        }
        match (Coordinates::for_size(size), self) {
            (Coordinates::U32(_), Coordinates::U64(v)) => Coordinates::U32(v.into_iter().map(|c| c as u32).collect()),
            (_, fitting) => fitting,
        }
    }

    /// Puts another coordinate of the same dimension in the place of each.
    pub(crate) fn renumber(&mut self, other: impl Fn(u64) -> u64 + Sync) {
        match self {
            Coordinates::U32(v) => {
                fill_chunks(v, GRAIN, |_, chunk| chunk.iter_mut().for_each(|c| *c = other(u64::from(*c)) as u32));
            }
            Coordinates::U64(v) => {
                fill_chunks(v, GRAIN, |_, chunk| chunk.iter_mut().for_each(|c| *c = other(*c)));
            }
        }
    }

    /// Appends a coordinate; all become wider where it needs that.
    ///
    /// ```
    /// use lacunar_runtime::Coordinates;
    /// let mut coordinates = Coordinates::for_size(10);
    /// coordinates.push(3);
    /// coordinates.push(1 << 40);
    /// assert_eq!(coordinates, Coordinates::U64(vec![3, 1 << 40]));
    /// ```
    pub fn push(&mut self, coordinate: u64) {
        match self {
            Coordinates::U32(v) => match u32::try_from(coordinate) {
                Ok(coordinate) => v.push(coordinate),
                Err(_) => {
                    let wide = v.iter().map(|&coordinate| u64::from(coordinate)).chain([coordinate]);
                    *self = Coordinates::U64(wide.collect());
                }
            },
            Coordinates::U64(v) => v.push(coordinate),
        }
    }
}

/// A tensor as a list of coordinates and values.
#[derive(Clone, Debug, PartialEq)]
pub struct Coo {
    /// The size of each dimension.
    pub dims: Vec<u64>,
    /// One array per dimension, each as long as `values`. Empty for order 0.
    pub coords: Vec<Coordinates>,
    /// The value of each entry.
    pub values: Values,
}

impl Coo {
    /// A list without entries.
    pub fn empty(dims: Vec<u64>, dtype: DType) -> Coo {
        let coords = dims.iter().map(|&size| Coordinates::for_size(size)).collect();
        Coo { dims, coords, values: Values::empty(dtype) }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Checks a list that is to be stored in a format.
    ///
    /// # Errors
    /// The list contradicts itself, or does not fit the format.
    pub(crate) fn check(&self, format: &Format) -> Result<(), StorageError> {
        let order = self.dims.len();
        if format.order() != order {
            return Err(StorageError::Order { format: format.clone(), levels: format.order(), order });
        }
        let length = |what: String, found: usize, expected: usize| match found == expected {
            true => Ok(()),
            false => Err(StorageError::Length { what, found: found as u64, expected: expected as u64 }),
        };
        check_type(self.values.dtype(), format)?;
        check_sizes(&self.dims)?;
        length("the list of coordinate arrays".into(), self.coords.len(), order)?;
        for (dimension, (column, &size)) in self.coords.iter().zip(&self.dims).enumerate() {
            length(format!("the coordinates of dimension {dimension}"), column.len(), self.len())?;
            let outside = match column {
                Coordinates::U32(v) => parallel::find(v, |&c| u64::from(c) >= size),
                Coordinates::U64(v) => parallel::find(v, |&c| c >= size),
            };
            if let Some(entry) = outside {
                let coordinate = column.get(entry).unwrap_or_default();
                return Err(StorageError::OutOfRange { dimension, entry: entry as u64, coordinate, size });
            }
        }
        Ok(())
    }
}

impl Tensor {
    /// All stored entries in the order of storage; the coordinates are in the order of dimensions. The fill values that
    /// dense levels store are entries like others. For a packed tensor, the list has all elements that are not 0, including those
    /// that follow from others.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn to_coo(&self) -> Result<Coo, StorageError> {
        if self.format().packing().is_some() {
            let list = Format::coo(self.order()).with_mode_order(self.format().mode_order().to_vec());
            let list = list.map_err(|_| StorageError::overflow("the number of dimensions"))?;
            return entries(&self.convert(&list)?, false);
        }
        entries(self, false)
    }

    /// The first entries, at most so many: of a dense tensor all values, of others all but padding. In a dense tensor
    /// whose dimensions are stored in their order, nothing else is looked at.
    ///
    /// ```
    /// use lacunar_formats::Format;
    /// use lacunar_runtime::{Buffer, Tensor};
    /// let values = Buffer::from_vec(vec![1.0, 0.0, 2.0, 3.0]);
    /// let tensor = Tensor::from_dense(vec![2, 2], values, &Format::dense(2)).unwrap();
    /// let head = tensor.head(3).unwrap();
    /// assert_eq!((head.len(), head.coords[0].get(2), head.coords[1].get(2)), (3, Some(1), Some(0)));
    /// ```
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn head(&self, count: usize) -> Result<Coo, StorageError> {
        if !(self.format().is_dense() && self.format().is_natural_order()) {
            let fills_up = self.format().is_padded() && !self.format().is_dense();
            let list = if fills_up { Some(self.convert(&Format::coo(self.order()))?) } else { None };
            let mut coo = list.as_ref().unwrap_or(self).to_coo()?;
            coo.coords.iter_mut().for_each(|column| column.truncate(count));
            with_values!(&mut coo.values, values => values.truncate(count));
            return Ok(coo);
        }
        let values = with_element!(self.dtype(), T => {
            T::wrap(self.values().as_slice::<T>().unwrap_or_default().iter().take(count).copied().collect())
        });
        let mut coords: Vec<Coordinates> = self.dims().iter().map(|&size| Coordinates::for_size(size)).collect();
        for place in 0..values.len() as u64 {
            let mut rest = place;
            for (column, &size) in coords.iter_mut().zip(self.dims()).rev() {
                column.push(rest % size);
                rest /= size;
            }
        }
        Ok(Coo { dims: self.dims().to_vec(), coords, values })
    }
}

/// The stored entries, in the tensor's dimensions. If `drop` says that zeros are padding, entries whose value has only
/// zero bytes are left out.
///
/// # Errors
/// The system refused the memory.
pub(crate) fn entries(tensor: &Tensor, drop: bool) -> Result<Coo, StorageError> {
    let plain = if tensor.format().is_plain() { None } else { Some(tensor.to_plain()?) };
    let mut entries = plain_entries(plain.as_ref().unwrap_or(tensor), drop)?;
    if let Some((ranked, ranking)) = ranking::of(tensor) {
        entries.coords[ranked.dimension].renumber(|rank| ranking.get(rank as usize));
    }
    Ok(entries)
}

/// The same of plain levels.
fn plain_entries(tensor: &Tensor, drop: bool) -> Result<Coo, StorageError> {
    let (dims, map) = (tensor.dims(), tensor.format().map());
    let stored = tensor.stored_coordinates()?;
    let mut coords = match map {
        Some(map) => remap::recover(&stored, map, dims)?,
        None => {
            let mut coords = vec![Coordinates::U32(Vec::new()); tensor.order()];
            tensor.format().mode_order().iter().zip(stored).for_each(|(&d, column)| coords[d] = column);
            coords
        }
    };
    let (bytes, size) = (tensor.values().as_bytes(), tensor.dtype().size());
    let is_entry = |k: usize| {
        (!drop || bytes[k * size..(k + 1) * size].iter().any(|byte| *byte != 0))
            && coords.iter().zip(dims).all(|(column, size)| column.get(k).is_some_and(|c| c < *size))
    };
    let kept = (drop || map.is_some()).then(|| (0..tensor.values().len()).map(is_entry).collect::<Vec<bool>>());
    let mut values = tensor.values().to_values()?;
    if let Some(kept) = kept {
        coords = coords.into_iter().zip(dims).map(|(column, size)| column.kept(&kept, *size)).collect();
        with_values!(&mut values, v => retain(v, &kept));
    }
    Ok(Coo { dims: dims.to_vec(), coords, values })
}

/// Keeps the elements of an array that are `kept`; there is one answer for each.
pub(crate) fn retain<T>(vec: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    vec.retain(|_| kept.next().copied().unwrap_or(false));
}
