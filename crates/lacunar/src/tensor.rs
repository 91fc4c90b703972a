//! Tensors with their element type in their type.
//!
//! ```
//! use lacunar::{Format, Tensor};
//! # fn main() -> Result<(), lacunar::Error> {
//! let a = Tensor::from_entries(&[2, 3], &[(&[1, 2], 5.0), (&[0, 1], 4.0)], Format::csr())?;
//! assert_eq!(a.as_dyn().nnz(), 2);
//! assert_eq!(a.convert(&Format::csc())?.to_dense()?, [0.0, 4.0, 0.0, 0.0, 0.0, 5.0]);
//! # Ok(())
//! # }
//! ```

use std::marker::PhantomData;
use std::path::Path;

use lacunar_formats::{Format, FormatSpec, Kind};
use lacunar_runtime::coo::{Coo, Coordinates};
use lacunar_runtime::io::{self, Data, Integers, ReadOptions, WriteOptions};
use lacunar_runtime::{Buffer, Element, Route, StorageError, Tensor as DynTensor, element_of, scalar_of};

use crate::error::Error;

/// A tensor of elements of type `T`, of any order and format.
#[derive(Debug, PartialEq)]
pub struct Tensor<T: Element> {
    inner: DynTensor,
    element: PhantomData<T>,
}

impl<T: Element> Tensor<T> {
    fn of(inner: DynTensor) -> Tensor<T> {
        Tensor { inner, element: PhantomData }
    }

    /// A tensor of the given sizes without entries (all zeros, where levels are dense).
    ///
    /// # Errors
    /// The format has another order, or memory is refused.
    pub fn zeros(dims: &[u64], format: impl Into<FormatSpec>) -> Result<Tensor<T>, Error> {
        let format = resolve(format, dims.len())?;
        Ok(Tensor::of(DynTensor::zeros(dims.to_vec(), &format, T::DTYPE)?))
    }

    /// A dense tensor of values in row-major order.
    ///
    /// # Errors
    /// The number of values is not the product of the sizes, or memory is refused.
    pub fn from_slice(dims: &[u64], values: &[T]) -> Result<Tensor<T>, Error> {
        let values = Buffer::from_vec(values.to_vec());
        Ok(Tensor::of(DynTensor::from_dense(dims.to_vec(), values, &Format::dense(dims.len()))?))
    }

    /// A tensor of order 0.
    pub fn scalar(value: T) -> Tensor<T> {
        Tensor::of(DynTensor::scalar(value))
    }

    /// Packs entries, each a coordinate (from 0, one number a dimension) and a value; equal coordinates are added up.
    ///
    /// # Errors
    /// A coordinate outside of the sizes, a format that does not fit, or memory is refused.
    pub fn from_entries(
        dims: &[u64],
        entries: &[(&[u64], T)],
        format: impl Into<FormatSpec>,
    ) -> Result<Tensor<T>, Error> {
        let format = resolve(format, dims.len())?;
        let mut coords: Vec<Coordinates> = dims.iter().map(|&size| Coordinates::for_size(size)).collect();
        for (place, (coordinate, _)) in entries.iter().enumerate() {
            if coordinate.len() != dims.len() {
                let (found, order) = (coordinate.len(), dims.len());
                return Err(Error::Argument(format!(
                    "entry {place} has {found} coordinates, but the order is {order}"
                )));
            }
            for ((dimension, array), (&c, &size)) in coords.iter_mut().enumerate().zip(coordinate.iter().zip(dims)) {
                if c >= size {
                    let entry = place as u64;
                    return Err(StorageError::OutOfRange { dimension, entry, coordinate: c, size }.into());
                }
                array.push(c);
            }
        }
        let values = T::wrap(entries.iter().map(|(_, value)| *value).collect());
        Tensor::from_coo(Coo { dims: dims.to_vec(), coords, values }, format)
    }

    /// Packs a coordinate list, whose values are converted to `T`.
    ///
    /// # Errors
    /// The list contradicts itself, its values are complex and `T` is not, the format does not fit, or memory is refused.
    pub fn from_coo(coo: Coo, format: impl Into<FormatSpec>) -> Result<Tensor<T>, Error> {
        let format = resolve(format, coo.dims.len())?;
        Tensor::converted(DynTensor::from_coo(coo, &format)?)
    }

    /// A tensor of any type, with values of `T`.
    fn converted(tensor: DynTensor) -> Result<Tensor<T>, Error> {
        let (found, wanted) = (tensor.dtype(), T::DTYPE);
        if found.kind() == Kind::Complex && wanted.kind() != Kind::Complex {
            let message = format!("the values are complex ({found}), and {wanted} would drop their imaginary parts");
            return Err(Error::Argument(message));
        }
        Ok(Tensor::of(if found == wanted { tensor } else { tensor.cast(wanted)? }))
    }

    /// Reads a file (`.mtx`, `.tns`, `.rb`, ..., also compressed) and packs it; values are converted to `T`.
    ///
    /// # Errors
    /// The file can't be read or is malformed (with its line), its values are complex and `T` is not, the format does not fit, or
    /// memory is refused.
    pub fn read(path: impl AsRef<Path>, format: impl Into<FormatSpec>) -> Result<Tensor<T>, Error> {
        let options = ReadOptions { integers: Integers::of(T::DTYPE), ..ReadOptions::default() };
        match io::read(path.as_ref(), &options)? {
            Data::Coordinate(coo) => Tensor::from_coo(coo, format),
            Data::Dense(dense) => {
                let format = resolve(format, dense.dims.len())?;
                Tensor::converted(DynTensor::from_dense(dense.dims, Buffer::from_values(dense.values), &format)?)
            }
        }
    }

    /// Writes all stored entries to a file, by its extension. Nothing is left of it if that fails.
    ///
    /// # Errors
    /// The file can't be written, or its format can't hold the tensor.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        io::write(path.as_ref(), &Data::Coordinate(self.inner.to_coo()?), &WriteOptions::default())?;
        Ok(())
    }

    /// The value of every element that is not stored; 0 unless said otherwise.
    ///
    /// ```
    /// use lacunar::{Format, Tensor};
    /// # fn main() -> Result<(), lacunar::Error> {
    /// let lengths = Tensor::from_slice(&[2], &[f64::INFINITY, 3.0])?.with_fill(f64::INFINITY)?;
    /// let lengths = lengths.convert(&Format::sv())?;
    /// assert_eq!((lengths.fill(), lengths.values()), (f64::INFINITY, &[3.0][..]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn fill(&self) -> T {
        element_of(self.inner.fill())
    }

    /// The same stored values with another value for every element that is not stored.
    ///
    /// # Errors
    /// None that can occur: the fill value is of the type of the elements.
    pub fn with_fill(self, fill: T) -> Result<Tensor<T>, Error> {
        Ok(Tensor::of(self.inner.with_fill(scalar_of(fill))?))
    }

    /// The tensor without its element type in its type.
    pub fn as_dyn(&self) -> &DynTensor {
        &self.inner
    }

    /// The same tensor in another format.
    ///
    /// ```
    /// use lacunar::{Format, FormatSpec, Tensor};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let rows = Tensor::from_entries(&[2, 3], &[(&[0, 1], 1.0), (&[1, 2], 2.0)], Format::csr())?;
    /// let columns = rows.convert(Format::csc())?;
    /// let blocks = columns.convert("bcsr(2,3)".parse::<FormatSpec>()?)?;
    /// assert_eq!(blocks.to_dense()?, rows.to_dense()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The format does not fit, or memory is refused.
    pub fn convert(&self, format: impl Into<FormatSpec>) -> Result<Tensor<T>, Error> {
        Ok(Tensor::of(self.inner.convert(&resolve(format, self.inner.order())?)?))
    }

    /// How [`Tensor::convert`] gets to a format: sorted, counted, put in place. It prints as `lacunar convert --explain` does.
    ///
    /// ```
    /// use lacunar::{Format, Tensor};
    /// # fn main() -> Result<(), lacunar::Error> {
    /// let rows = Tensor::from_entries(&[2, 3], &[(&[0, 1], 1.0), (&[1, 2], 2.0)], Format::csr())?;
    /// println!("{}", rows.route(Format::csc())?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The format does not fit.
    pub fn route(&self, format: impl Into<FormatSpec>) -> Result<Route, Error> {
        Ok(self.inner.route(&resolve(format, self.inner.order())?)?)
    }

    /// The stored values, in the order of storage.
    pub fn values(&self) -> &[T] {
        self.inner.values().as_slice::<T>().unwrap_or_default()
    }

    /// The stored values, for writing.
    pub fn values_mut(&mut self) -> &mut [T] {
        self.inner.values_mut().into_slice::<T>().unwrap_or_default()
    }

    /// Stores a value at coordinates, and gives that which was stored there, if there was one. Below dense levels, a loose (`dl`) or
    /// hashed level (`dh`) takes it where it is, in a few steps; other formats are made anew where nothing is stored there yet.
    ///
    /// # Errors
    /// Coordinates are too many or too few, or outside; the format cannot hold the entry; memory is refused.
    ///
    /// ```
    /// use lacunar::Tensor;
    /// let mut counts = Tensor::<f64>::zeros(&[1000, 1000], "dh".parse::<lacunar::FormatSpec>()?)?;
    /// for (i, j) in [(3, 5), (999, 0), (3, 5)] {
    ///     let before = counts.insert(&[i, j], 1.0)?.unwrap_or(0.0);
    ///     counts.insert(&[i, j], before + 1.0)?;
    /// }
    /// assert_eq!(counts.insert(&[3, 5], 0.0)?, Some(2.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert(&mut self, coordinates: &[u64], value: T) -> Result<Option<T>, Error> {
        Ok(self.inner.insert(coordinates, value)?)
    }

    /// All elements in row-major order, the fill value where nothing is stored.
    ///
    /// # Errors
    /// Memory for that many is refused.
    pub fn to_dense(&self) -> Result<Vec<T>, Error> {
        Ok(self.inner.to_dense::<T>()?)
    }

    /// Takes the tensor, leaving one of order 0 with a zero.
    pub(crate) fn take(&mut self) -> DynTensor {
        std::mem::replace(&mut self.inner, DynTensor::scalar(T::default()))
    }
}

impl<T: Element> TryFrom<DynTensor> for Tensor<T> {
    type Error = Error;

    fn try_from(inner: DynTensor) -> Result<Tensor<T>, Error> {
        if inner.dtype() == T::DTYPE {
            Ok(Tensor::of(inner))
        } else {
            Err(Error::Argument(format!("the elements are of type {}, not {}", inner.dtype(), T::DTYPE)))
        }
    }
}

impl<T: Element> AsRef<DynTensor> for Tensor<T> {
    fn as_ref(&self) -> &DynTensor {
        &self.inner
    }
}

fn resolve(format: impl Into<FormatSpec>, order: usize) -> Result<Format, Error> {
    format.into().resolve(order).map_err(|error| Error::Argument(error.to_string()))
}
