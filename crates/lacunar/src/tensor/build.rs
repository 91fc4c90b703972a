//! Tensors from entries, and entries put into tensors.
//!
//! ```
//! use lacunar::{Builder, Format};
//! # fn main() -> Result<(), lacunar::Error> {
//! let mut mesh = Builder::new(&[3, 3]);
//! for (row, column, value) in [(2, 1, -1.0), (0, 0, 2.0), (2, 1, -0.5)] {
//!     mesh.push(&[row, column], value)?;
//! }
//! assert_eq!(mesh.build(Format::csr())?.to_string(), "[[2, 0, 0], [0, 0, 0], [0, -1.5, 0]]");
//! # Ok(())
//! # }
//! ```

use lacunar_formats::FormatSpec;
use lacunar_runtime::coo::{Coo, Coordinates};
use lacunar_runtime::{Convert, Element, StorageError};

use super::Tensor;
use crate::choose::store;
use crate::error::Error;

/// Entries in any order, of which a tensor is made: equal coordinates are added up. The cost is one packing, in
/// [`Builder::build`]; an entry that is pushed takes its memory and no more.
#[derive(Clone, Debug)]
pub struct Builder<T: Element> {
    dims: Vec<u64>,
    coordinates: Vec<Coordinates>,
    values: Vec<T>,
}

impl<T: Element> Builder<T> {
    /// No entries of a tensor of the given sizes.
    pub fn new(dims: &[u64]) -> Builder<T> {
        let coordinates = dims.iter().map(|&size| Coordinates::for_size(size)).collect();
        Builder { dims: dims.to_vec(), coordinates, values: Vec::new() }
    }

    /// Adds an entry: one coordinate a dimension, from 0, and its value.
    ///
    /// # Errors
    /// Coordinates are too many or too few, or outside of the sizes. Nothing is added then.
    pub fn push(&mut self, coordinates: &[u64], value: T) -> Result<(), Error> {
        let entry = self.values.len();
        if coordinates.len() != self.dims.len() {
            let (found, order) = (coordinates.len(), self.dims.len());
            return Err(Error::Argument(format!("entry {entry} has {found} coordinates, but the order is {order}")));
        }
        let outside = coordinates.iter().zip(&self.dims).position(|(coordinate, size)| coordinate >= size);
        if let Some(dimension) = outside {
            let (coordinate, size) = (coordinates[dimension], self.dims[dimension]);
            return Err(StorageError::OutOfRange { dimension, entry: entry as u64, coordinate, size }.into());
        }
        self.coordinates.iter_mut().zip(coordinates).for_each(|(column, coordinate)| column.push(*coordinate));
        self.values.push(value);
        Ok(())
    }

    /// The number of entries that were added.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True if none was.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The tensor of the entries.
    ///
    /// # Errors
    /// The format does not fit, or memory is refused.
    pub fn build(self, format: impl Into<FormatSpec>) -> Result<Tensor<T>, Error> {
        let Builder { dims, coordinates, values } = self;
        Tensor::from_coo(Coo { dims, coords: coordinates, values: T::wrap(values) }, format)
    }
}

impl<T: Element> Tensor<T> {
    /// Packs entries, each a coordinate (from 0, one number a dimension) and a value; equal coordinates are added up.
    ///
    /// # Errors
    /// A coordinate outside of the sizes, a format that does not fit, or memory is refused.
    pub fn from_entries(
        dims: &[u64],
        entries: &[(&[u64], T)],
        format: impl Into<FormatSpec>,
    ) -> Result<Tensor<T>, Error> {
        let mut builder = Builder::new(dims);
        entries.iter().try_for_each(|(coordinates, value)| builder.push(coordinates, *value))?;
        builder.build(format)
    }

    /// Packs the entries of a matrix with these numbers of rows and columns: their rows, their columns, from 0, and their values.
    /// Entries may come in any order; those of one place are added up.
    ///
    /// ```
    /// use lacunar::{Format, Tensor};
    /// # fn main() -> Result<(), lacunar::Error> {
    /// let (rows, columns) = ([1usize, 0, 1], [0usize, 2, 0]);
    /// let a = Tensor::from_triplets([2, 3], &rows, &columns, &[1.0, 2.0, 3.0], Format::csr())?;
    /// assert_eq!(a.to_dense()?, [0.0, 0.0, 2.0, 4.0, 0.0, 0.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The slices are not equally long, a row or a column is negative or outside, the format does not fit, or memory is refused.
    pub fn from_triplets<I: Copy + TryInto<u64>>(
        dims: [u64; 2],
        rows: &[I],
        columns: &[I],
        values: &[T],
        format: impl Into<FormatSpec>,
    ) -> Result<Tensor<T>, Error> {
        let column = |dimension: usize, numbers: &[I]| -> Result<Coordinates, Error> {
            let mut column = Coordinates::for_size(dims[dimension]);
            for (entry, &number) in numbers.iter().enumerate() {
                let negative = |_| {
                    let what = format!("the list of coordinates of dimension {dimension}");
                    StorageError::Negative { what, place: entry as u64 }
                };
                column.push(number.try_into().map_err(negative)?);
            }
            Ok(column)
        };
        let coords = vec![column(0, rows)?, column(1, columns)?];
        Tensor::from_coo(Coo { dims: dims.to_vec(), coords, values: T::wrap(values.to_vec()) }, format)
    }

    /// Packs a coordinate list, whose values are converted to `T`.
    ///
    /// # Errors
    /// The list contradicts itself, its values are complex and `T` is not, or not whole and `T` is, the format does not fit, or memory is
    /// refused.
    pub fn from_coo(coo: Coo, format: impl Into<FormatSpec>) -> Result<Tensor<T>, Error> {
        Tensor::converted(store(coo, &format.into(), None)?.0)
    }

    /// Stores a value at coordinates, and gives that which was stored there, if there was one. Levels of nodes (`d{btree}`), and below
    /// dense levels a loose (`dl`) or hashed level (`dh`), take it where they are, in a few steps; other formats are made anew where
    /// nothing is stored there yet.
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

    /// Adds to the element at coordinates: a value is stored there if none is yet, as [`Tensor::insert`] does. Integers wrap.
    ///
    /// # Errors
    /// As [`Tensor::insert`].
    ///
    /// ```
    /// use lacunar::Tensor;
    /// let mut counts = Tensor::<f64>::zeros(&[1000, 1000], "dh".parse::<lacunar::FormatSpec>()?)?;
    /// for (i, j) in [(3, 5), (999, 0), (3, 5)] {
    ///     counts.add(&[i, j], 1.0)?;
    /// }
    /// assert_eq!((counts.get(&[3, 5]), counts.nnz()), (Some(2.0), 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add(&mut self, coordinates: &[u64], value: T) -> Result<(), Error>
    where
        T: Convert,
    {
        let before = self.get(coordinates).unwrap_or(self.fill());
        let sum = T::from_number(before.number().plus(value.number()));
        // Below levels that share positions, another element may have the same one; of packed tensors, others follow from it.
        let is_own = !self.format().shares_positions() && self.format().packing().is_none();
        match self.inner.position_of(coordinates).filter(|_| is_own) {
            Some(position) => self.values_mut()?[position] = sum,
            None => drop(self.insert(coordinates, sum)?),
        }
        Ok(())
    }
}
