//! Tensors made of others element by element: other orders of dimensions, parts, other values.

use std::ops::{Bound, Range, RangeBounds};

use lacunar_formats::Format;
use lacunar_runtime::coo::{Coo, Coordinates};
use lacunar_runtime::{Buffer, Element, StorageError, Tensor as DynTensor, scalar_of};

use super::Tensor;
use crate::error::Error;

/// A range of coordinates for each dimension: a slice of `Range<u64>`, an array of ranges of one type, or a tuple of ranges
/// of any types, as `(1..3, ..)`.
pub trait Ranges {
    /// The first coordinate and the one behind the last, for each range, given the sizes; `None` where the ranges are fewer
    /// or more than the sizes.
    fn resolved(&self, dims: &[u64]) -> Option<Vec<Range<u64>>>;
}

fn resolved(range: &impl RangeBounds<u64>, size: u64) -> Range<u64> {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(last) => last.saturating_add(1),
        Bound::Excluded(end) => *end,
        Bound::Unbounded => size,
    };
    start..end
}

fn all<R: RangeBounds<u64>>(ranges: &[R], dims: &[u64]) -> Option<Vec<Range<u64>>> {
    let pairs = || ranges.iter().zip(dims).map(|(range, size)| resolved(range, *size)).collect();
    (ranges.len() == dims.len()).then(pairs)
}

impl<R: RangeBounds<u64>> Ranges for [R] {
    fn resolved(&self, dims: &[u64]) -> Option<Vec<Range<u64>>> {
        all(self, dims)
    }
}

impl<R: RangeBounds<u64>, const N: usize> Ranges for [R; N] {
    fn resolved(&self, dims: &[u64]) -> Option<Vec<Range<u64>>> {
        all(self, dims)
    }
}

impl<R: Ranges + ?Sized> Ranges for &R {
    fn resolved(&self, dims: &[u64]) -> Option<Vec<Range<u64>>> {
        (**self).resolved(dims)
    }
}

macro_rules! tuples {
    ($($($R:ident $range:ident $size:ident),+;)*) => { $(
        impl<$($R: RangeBounds<u64>),+> Ranges for ($($R,)+) {
            fn resolved(&self, dims: &[u64]) -> Option<Vec<Range<u64>>> {
                let ($($range,)+) = self;
                let &[$($size),+] = dims else { return None };
                Some(vec![$(resolved($range, $size)),+])
            }
        }
    )* };
}
tuples! {
    A a p;
    A a p, B b q;
    A a p, B b q, C c r;
    A a p, B b q, C c r, D d s;
    A a p, B b q, C c r, D d s, E e t;
}

impl<T: Element> Tensor<T> {
    /// The tensor in the same format, with those entries only that differ from its fill value. Stored zeros are entries until then.
    ///
    /// ```
    /// use lacunar::{Format, Tensor};
    /// # fn main() -> Result<(), lacunar::Error> {
    /// let a = Tensor::from_triplets([2, 3], &[0, 1], &[2, 0], &[5.0, 0.0], Format::csr())?;
    /// assert_eq!((a.nnz(), a.prune()?.nnz()), (2, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Memory is refused.
    pub fn prune(&self) -> Result<Tensor<T>, Error> {
        Ok(Tensor::of(self.inner.pruned()?))
    }

    /// The same tensor with its dimensions in another order: dimension `k` of the result is dimension `modes[k]` of
    /// this one. Nothing is copied or moved: a tensor in `csr` is in `csc` then. A packed one is dense then, as its
    /// structure is that of its dimensions in their order.
    ///
    /// # Errors
    /// `modes` does not name each dimension once; memory is refused.
    pub fn permute(self, modes: &[usize]) -> Result<Tensor<T>, Error> {
        Ok(Tensor::of(self.unpacked()?.unwrap_or(self).inner.with_modes(modes)?))
    }

    /// The tensor with a place for each element, if it is packed: a change of some of them does not keep the structure.
    fn unpacked(&self) -> Result<Option<Tensor<T>>, Error> {
        let is_packed = self.format().packing().is_some();
        is_packed.then(|| self.convert(Format::dense(self.order()))).transpose()
    }

    /// The same tensor with its dimensions in reverse order, without a copy unless it is packed: a matrix transposed.
    ///
    /// ```
    /// use lacunar::{Format, Tensor};
    /// # fn main() -> Result<(), lacunar::Error> {
    /// let a = Tensor::from_triplets([2, 3], &[1], &[2], &[5.0], Format::csr())?;
    /// let transposed = a.clone().transpose()?;
    /// assert_eq!((transposed.dims(), transposed.format()), (&[3, 2][..], &Format::csc()));
    /// assert_eq!(transposed.get(&[2, 1]), Some(5.0));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The format has no form in which the dimensions are reversed; those that have a name do.
    pub fn transpose(self) -> Result<Tensor<T>, Error> {
        let modes: Vec<usize> = (0..self.order()).rev().collect();
        self.permute(&modes)
    }

    /// A new tensor of the elements in a range of coordinates for each dimension, which are counted from the beginning of
    /// the ranges there; in the same format, but dense of a packed tensor.
    ///
    /// ```
    /// use lacunar::{Format, Tensor};
    /// # fn main() -> Result<(), lacunar::Error> {
    /// let a = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).convert(Format::csr())?;
    /// assert_eq!(a.slice((1.., ..2))?.to_string(), "[[4, 5]]");
    /// assert_eq!(a.slice([0..2, 1..2])?.to_string(), "[[2], [5]]");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Ranges are too few or too many, end outside or before they begin; memory is refused.
    pub fn slice(&self, ranges: impl Ranges) -> Result<Tensor<T>, Error> {
        let order = self.order();
        let ranges = ranges.resolved(self.dims());
        let ranges =
            ranges.ok_or_else(|| Error::Argument(format!("a range is needed for each of {order} dimensions")))?;
        for (dimension, (Range { start, end }, size)) in ranges.iter().zip(self.dims()).enumerate() {
            if start > end || end > size {
                let message = format!("range {start}..{end} is outside dimension {dimension} of size {size}");
                return Err(Error::Argument(message));
            }
        }
        if let Some(whole) = self.unpacked()? {
            return whole.slice(ranges.as_slice());
        }
        let dims: Vec<u64> = ranges.iter().map(|range| range.end - range.start).collect();
        let mut coords: Vec<Coordinates> = dims.iter().map(|&size| Coordinates::for_size(size)).collect();
        let mut values = Vec::new();
        self.for_each_entry(|at, value| {
            if at.iter().zip(&ranges).all(|(coordinate, range)| range.contains(coordinate)) {
                let inside = at.iter().zip(&ranges).map(|(coordinate, range)| coordinate - range.start);
                coords.iter_mut().zip(inside).for_each(|(column, coordinate)| column.push(coordinate));
                values.push(value);
            }
        });
        let list = Coo { dims, coords, values: T::wrap(values) };
        Ok(Tensor::of(DynTensor::from_coo_filled(list, self.format(), self.inner.fill())?))
    }

    /// The tensor of a function of each element. The function is called with the stored values, and with the fill value, of
    /// which the new fill value is made: so elements that are not stored remain so. It is called with each element of a
    /// packed tensor, and the result is dense: functions of elements that follow from each other need not.
    ///
    /// ```
    /// use lacunar::{Format, Tensor};
    /// # fn main() -> Result<(), lacunar::Error> {
    /// let a = Tensor::from_triplets([2, 2], &[0, 1], &[1, 1], &[4.0, 9.0], Format::csr())?;
    /// assert_eq!(a.map(|value: f64| value.sqrt() as i32)?.to_dense()?, [0, 2, 0, 3]);
    /// assert_eq!(a.map(|value| value - 1.0)?.fill(), -1.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The format cannot store elements of the new type, or memory is refused.
    pub fn map<U: Element>(&self, function: impl Fn(T) -> U) -> Result<Tensor<U>, Error> {
        if let Some(whole) = self.unpacked()? {
            return whole.map(function);
        }
        let (fill, scalar) = (self.fill(), self.inner.fill());
        let new = Tensor::<U>::scalar(function(fill)).with_fill(function(fill))?.fill();
        // Padding is recognized by being the fill value.
        let filled = self.format().is_padded() && !self.format().is_dense();
        let is_fill = |value: T| filled && value == fill && scalar_of(value) == scalar;
        let mut values = Vec::new();
        values.try_reserve_exact(self.values().len()).map_err(|_| {
            StorageError::from(lacunar_runtime::AllocError { bytes: size_of_val(self.values()) as u64 })
        })?;
        values.extend(self.values().iter().map(|&value| if is_fill(value) { new } else { function(value) }));
        Ok(Tensor::of(self.inner.revalued(Buffer::from_vec(values), scalar_of(new))?))
    }
}
