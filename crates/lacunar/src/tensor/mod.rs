//! Tensors with their element type in their type.
//!
//! ```
//! use lacunar::{Format, Tensor};
//! # fn main() -> Result<(), lacunar::Error> {
//! let a = Tensor::from_entries(&[2, 3], &[(&[1, 2], 5.0), (&[0, 1], 4.0)], Format::csr())?;
//! assert_eq!((a.dims(), a.order(), a.nnz(), a.get(&[1, 2])), (&[2, 3][..], 2, 2, Some(5.0)));
//! assert_eq!(a.to_string(), "[[0, 4, 0], [0, 0, 5]]");
//! assert_eq!(a.convert(&Format::csc())?.to_dense()?, [0.0, 4.0, 0.0, 0.0, 0.0, 5.0]);
//! # Ok(())
//! # }
//! ```
//!
//! `build` makes tensors of entries, `entries` finds them again, `view` gives parts and other orders of dimensions, `reduce`
//! sums and norms, `native` plain Rust values, `parts` their arrays.

mod build;
mod entries;
mod native;
mod parts;
mod reduce;
mod updates;
mod view;

use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use lacunar_formats::{Format, FormatSpec, Kind};
use lacunar_runtime::io::{self, Data, Integers, ReadOptions, WriteOptions};
use lacunar_runtime::{Buffer, Element, Route, StorageError, Tensor as DynTensor, element_of, scalar_of};

use crate::choose::{self, Demand, choose, restore};
use crate::error::Error;

pub use build::Builder;
pub use entries::Entries;
pub use view::Ranges;

/// A tensor of elements of type `T`, of any order and format.
///
/// [`Clone`] copies all arrays; if memory for them is refused, the process ends, as it does for a `Vec`.
/// [`Tensor::try_clone`] gives an error then. Two tensors are equal if they store the same in the same way: their
/// formats and all arrays are compared.
#[derive(Clone, Debug, PartialEq)]
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

    /// A tensor of any type, with values of `T`.
    fn converted(tensor: DynTensor) -> Result<Tensor<T>, Error> {
        let (found, wanted) = (tensor.dtype(), T::DTYPE);
        if found.kind() == Kind::Complex && wanted.kind() != Kind::Complex {
            let message = format!("the values are complex ({found}), and {wanted} would drop their imaginary parts");
            return Err(Error::Argument(message));
        }
        if found == wanted {
            return Ok(Tensor::of(tensor));
        }
        let cast = tensor.cast(wanted)?;
        let changed = match wanted.is_integer() {
            true => tensor.values().first_changed(cast.values()).map_err(StorageError::from)?,
            false => None,
        };
        if let Some(value) = changed {
            let message = format!("the values are of type {found}, and {value} cannot be converted to {wanted}");
            return Err(Error::Argument(message));
        }
        Ok(Tensor::of(cast))
    }

    /// Reads a file (`.mtx`, `.tns`, `.rb`, ..., also compressed) and packs it; values are converted to `T`. [`Format::auto`] stands for
    /// the format that suits the entries.
    ///
    /// # Errors
    /// The file can't be read or is malformed (with its line), its values are complex and `T` is not, or not whole and `T` is, the format
    /// does not fit, or memory is refused.
    pub fn read(path: impl AsRef<Path>, format: impl Into<FormatSpec>) -> Result<Tensor<T>, Error> {
        let options = ReadOptions { integers: Integers::of(T::DTYPE), progress: false, ..ReadOptions::default() };
        match io::read(path.as_ref(), &options)? {
            Data::Coordinate(coo) => Tensor::from_coo(coo, format),
            Data::Dense(dense) => {
                let (order, format) = (dense.dims.len(), format.into());
                let array =
                    |stored: &Format| DynTensor::from_dense(dense.dims, Buffer::from_values(dense.values), stored);
                match format.uses() {
                    // It is chosen from entries.
                    Some(_) => Tensor::converted(restore(array(&Format::dense(order))?, &format, None)?.0),
                    None => Tensor::converted(array(&format.resolve(order)?)?),
                }
            }
        }
    }

    /// Writes all entries to a file, by its extension, without the padding of blocks and diagonals. Nothing is left of it if that fails.
    ///
    /// # Errors
    /// The file can't be written, or its format can't hold the tensor.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let format = Some(self.inner.format().clone());
        let options = WriteOptions { format, progress: false, ..WriteOptions::default() };
        io::write(path.as_ref(), &Data::of(&self.inner)?, &options)?;
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

    /// The size of each dimension.
    pub fn dims(&self) -> &[u64] {
        self.inner.dims()
    }

    /// The number of dimensions.
    pub fn order(&self) -> usize {
        self.inner.order()
    }

    /// The format of the tensor.
    pub fn format(&self) -> &Format {
        self.inner.format()
    }

    /// The number of stored values, padding included: the length of [`Tensor::values`].
    pub fn stored(&self) -> u64 {
        self.inner.nnz()
    }

    /// The number of stored entries: as many as [`Tensor::entries`] gives. Zeros that are stored count, also every
    /// element of a dense tensor; padding of blocks, diagonals and slots does not. It takes a moment for plain formats
    /// such as `csr`, and a pass over the values for others.
    ///
    /// ```
    /// use lacunar::{Format, Tensor};
    /// # fn main() -> Result<(), lacunar::Error> {
    /// let a = Tensor::from_triplets([4, 4], &[0, 3], &[1, 0], &[2.0, 3.0], Format::bcsr(2, 2)?)?;
    /// assert_eq!((a.nnz(), a.stored()), (2, 8));
    /// # Ok(())
    /// # }
    /// ```
    pub fn nnz(&self) -> u64 {
        self.inner.count_entries()
    }

    /// The tensor without its element type in its type.
    pub fn as_dyn(&self) -> &DynTensor {
        &self.inner
    }

    /// The tensor itself without its element type in its type.
    pub fn into_dyn(self) -> DynTensor {
        self.inner
    }

    /// A second tensor of the same content, as [`Clone`] makes it.
    ///
    /// # Errors
    /// Memory is refused.
    pub fn try_clone(&self) -> Result<Tensor<T>, Error> {
        Ok(Tensor::of(self.inner.try_clone().map_err(StorageError::from)?))
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
        match format.into() {
            FormatSpec::Auto(uses) => {
                Ok(Tensor::of(self.inner.convert(choose(&self.inner, &Demand::of(uses))?.format())?))
            }
            format => Ok(Tensor::of(self.inner.convert(&resolve(format, self.inner.order())?)?)),
        }
    }

    /// The route of [`Tensor::convert`] to a format: sorted, counted, put in place. It prints as `lacunar convert --explain` does.
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
        choose::route(&self.inner, &format.into())
    }

    /// The stored values, in the order of storage, one for each of [`Tensor::stored`]. Some may be padding, which
    /// [`Tensor::entries`] leaves out.
    pub fn values(&self) -> &[T] {
        self.inner.values().as_slice::<T>().unwrap_or_default()
    }

    /// The stored values, for writing. Values in borrowed memory are copied into memory of the tensor's own first.
    ///
    /// ```
    /// use lacunar::{Format, Tensor};
    /// # fn main() -> Result<(), lacunar::Error> {
    /// let mut a = Tensor::from_triplets([2, 2], &[0, 1], &[1, 0], &[2.0, 3.0], Format::csr())?;
    /// a.values_mut()?.iter_mut().for_each(|value| *value *= 10.0);
    /// assert_eq!(a.values(), [20.0, 30.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Memory for the copy is refused.
    pub fn values_mut(&mut self) -> Result<&mut [T], Error> {
        if self.inner.values().is_borrowed() {
            self.inner.values_mut().make_owned().map_err(StorageError::from)?;
        }
        Ok(self.inner.values_mut().into_slice::<T>().unwrap_or_default())
    }

    /// All elements in row-major order, the fill value where nothing is stored.
    ///
    /// # Errors
    /// Memory for that many is refused.
    pub fn to_dense(&self) -> Result<Vec<T>, Error> {
        Ok(self.inner.to_dense::<T>()?)
    }

    /// The tensor, of whose elements only the values may be changed.
    pub(crate) fn as_dyn_mut(&mut self) -> &mut DynTensor {
        &mut self.inner
    }

    /// Takes the tensor, leaving one of order 0 with a zero.
    pub(crate) fn take_dyn(&mut self) -> DynTensor {
        std::mem::replace(&mut self.inner, DynTensor::scalar(T::default()))
    }
}

/// Prints like [`DynTensor`]: all elements of a small tensor, and the first entries of a larger one.
impl<T: Element> fmt::Display for Tensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<T: Element> AsRef<DynTensor> for Tensor<T> {
    fn as_ref(&self) -> &DynTensor {
        &self.inner
    }
}

fn resolve(format: impl Into<FormatSpec>, order: usize) -> Result<Format, Error> {
    Ok(format.into().resolve(order)?)
}
