//! The stored entries of a tensor, in order, and single elements.
//!
//! ```
//! use lacunar::{Format, Tensor};
//! # fn main() -> Result<(), lacunar::Error> {
//! let a = Tensor::from_triplets([2, 3], &[1, 0, 1], &[2, 1, 0], &[5.0, 4.0, 3.0], Format::csr())?;
//! for ([i, j], value) in a.entries()? {
//!     println!("A({i},{j}) = {value}");
//! }
//! let diagonal: f64 = a.entries()?.filter(|([i, j], _)| i == j).map(|(_, value)| value).sum();
//! assert_eq!(diagonal, 0.0);
//! # Ok(())
//! # }
//! ```

use lacunar_runtime::{Element, Walk};

use super::Tensor;
use crate::error::Error;

/// The entries of a tensor of order `N`: see [`Tensor::entries`].
pub struct Entries<'a, T: Element, const N: usize> {
    walk: Walk<'a>,
    values: &'a [T],
}

impl<T: Element, const N: usize> Iterator for Entries<'_, T, N> {
    type Item = ([u64; N], T);

    fn next(&mut self) -> Option<([u64; N], T)> {
        let (coordinates, position) = self.walk.next_entry()?;
        Some((<[u64; N]>::try_from(coordinates).ok()?, self.values[position]))
    }
}

impl<T: Element> Tensor<T> {
    /// The stored entries in the order of storage, each with its coordinates and its value; none takes memory of its
    /// own. `N` is the order, and follows from a pattern such as `[i, j]`. Zeros that are stored are entries, and so is
    /// every element of a dense tensor; padding of blocks, diagonals and slots is none. A packed tensor stores its
    /// unique elements alone. [`Tensor::for_each_entry`] does not need to know the order.
    ///
    /// ```
    /// use lacunar::{Format, Tensor};
    /// # fn main() -> Result<(), lacunar::Error> {
    /// let a = Tensor::from_triplets([2, 3], &[1, 0], &[2, 1], &[5.0, 4.0], Format::csc())?;
    /// let entries: Vec<([u64; 2], f64)> = a.entries()?.collect();
    /// assert_eq!(entries, [([0, 1], 4.0), ([1, 2], 5.0)]);
    /// assert!(a.entries::<3>().is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The tensor is not of order `N`.
    pub fn entries<const N: usize>(&self) -> Result<Entries<'_, T, N>, Error> {
        if self.order() != N {
            let order = self.order();
            return Err(Error::Argument(format!("entries with {N} coordinates of a tensor of order {order}")));
        }
        Ok(Entries { walk: self.inner.walk(), values: self.values() })
    }

    /// Calls a function with the coordinates and the value of each of [`Tensor::entries`], of a tensor of any order.
    ///
    /// ```
    /// use lacunar::Tensor;
    /// let mut weighted = 0.0;
    /// Tensor::from([[1.0, 2.0], [3.0, 4.0]]).for_each_entry(|at, value| weighted += at[1] as f64 * value);
    /// assert_eq!(weighted, 6.0);
    /// ```
    pub fn for_each_entry(&self, mut each: impl FnMut(&[u64], T)) {
        let (mut walk, values) = (self.inner.walk(), self.values());
        while let Some((coordinates, position)) = walk.next_entry() {
            each(coordinates, values[position]);
        }
    }

    /// The element at coordinates, one a dimension: the stored value, or else the fill value. `None` outside of the
    /// tensor, also where coordinates are too many or too few. All values of a pattern are one; [`Tensor::get_stored`]
    /// tells which are stored.
    ///
    /// ```
    /// use lacunar::{Format, Tensor};
    /// # fn main() -> Result<(), lacunar::Error> {
    /// let a = Tensor::from_triplets([2, 3], &[1], &[2], &[5.0], Format::csr())?;
    /// assert_eq!((a.get(&[1, 2]), a.get(&[0, 0]), a.get(&[2, 0])), (Some(5.0), Some(0.0), None));
    /// assert_eq!((a.get_stored(&[1, 2]), a.get_stored(&[0, 0])), (Some(5.0), None));
    /// # Ok(())
    /// # }
    /// ```
    pub fn get(&self, coordinates: &[u64]) -> Option<T> {
        let inside = coordinates.iter().zip(self.dims()).all(|(coordinate, size)| coordinate < size);
        (inside && coordinates.len() == self.order()).then(|| self.get_stored(coordinates).unwrap_or(self.fill()))
    }

    /// The value of the entry at coordinates; `None` if there is none. Every element of a packed tensor that is not 0 is an entry, stored
    /// or not. A format such as `csr` takes a search by halving in the row, `coo` one in each column of coordinates.
    pub fn get_stored(&self, coordinates: &[u64]) -> Option<T> {
        if self.inner.format().packing().is_some() {
            let element = self.inner.element(coordinates);
            return (!element.is_zero()).then(|| lacunar_runtime::element_of(element));
        }
        self.inner.position_of(coordinates).and_then(|position| self.values().get(position).copied())
    }
}
