//! Tensors that change: entries that go, many changes at once, dimensions that grow, and views that stay as they are.

use lacunar_runtime::{Batch, Updated};

use super::Tensor;
use crate::{Element, Error};

impl<T: Element> Tensor<T> {
    /// Removes the entry at coordinates, and gives its value; `None` if none is stored there. Levels of nodes and loose ones are changed in
    /// place, other formats are made anew; elements of a dense innermost level become the fill value.
    ///
    /// # Errors
    /// Coordinates are too many or too few, or outside; memory is refused. The tensor is as it was then.
    ///
    /// ```
    /// use lacunar::{FormatSpec, Tensor};
    /// let mut graph = Tensor::<f64>::zeros(&[1000, 1000], "d{btree}".parse::<FormatSpec>()?)?;
    /// graph.insert(&[3, 5], 1.0)?;
    /// assert_eq!((graph.remove(&[3, 5])?, graph.remove(&[3, 5])?), (Some(1.0), None));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove(&mut self, coordinates: &[u64]) -> Result<Option<T>, Error> {
        Ok(self.inner.remove(coordinates)?)
    }

    /// Carries out all changes of a batch, or none.
    ///
    /// # Errors
    /// As [`Tensor::insert`], for any of the changes. The tensor has the same entries as before then.
    ///
    /// ```
    /// use lacunar::{Batch, FormatSpec, Tensor};
    /// let mut graph = Tensor::<f64>::zeros(&[1000, 1000], "d{blist<16>}".parse::<FormatSpec>()?)?;
    /// let mut batch = Batch::new(2);
    /// batch.set(&[3, 5], 1.0).add(&[3, 5], 2.0).set(&[999, 0], 1.0).remove(&[0, 0]);
    /// assert_eq!(graph.update(&batch)?.inserted, 2);
    /// assert_eq!(graph.get(&[3, 5]), Some(3.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update(&mut self, batch: &Batch<T>) -> Result<Updated, Error> {
        Ok(self.inner.update(batch)?)
    }

    /// A tensor of the same content, which no later change of this one touches. Nothing is copied until one of the two is changed.
    ///
    /// # Errors
    /// Memory is refused, for arrays that are lent.
    ///
    /// ```
    /// use lacunar::{FormatSpec, Tensor};
    /// let mut graph = Tensor::<f64>::zeros(&[9, 9], "d{bst}".parse::<FormatSpec>()?)?;
    /// let before = graph.snapshot()?;
    /// graph.insert(&[3, 5], 1.0)?;
    /// assert_eq!((before.get(&[3, 5]), graph.get(&[3, 5])), (Some(0.0), Some(1.0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn snapshot(&mut self) -> Result<Tensor<T>, Error> {
        Tensor::converted(self.inner.snapshot()?)
    }

    /// Lets dimensions have larger sizes; stored entries keep their coordinates.
    ///
    /// # Errors
    /// Sizes are too many or too few, one is smaller than before, the format has no room for them, or memory is refused. The tensor is as
    /// it was then.
    ///
    /// ```
    /// use lacunar::{FormatSpec, Tensor};
    /// let mut graph = Tensor::<f64>::zeros(&[9, 9], "d{bst}".parse::<FormatSpec>()?)?;
    /// graph.grow_dims(&[20, 20])?;
    /// assert_eq!(graph.insert(&[19, 19], 1.0)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn grow_dims(&mut self, dims: &[u64]) -> Result<(), Error> {
        Ok(self.inner.grow_dims(dims)?)
    }

    /// Stores the tensor anew in its format, if updates have left unused places or an order that is not that of coordinates.
    ///
    /// # Errors
    /// Memory is refused. The tensor is as it was then.
    pub fn compact(&mut self) -> Result<(), Error> {
        Ok(self.inner.compact()?)
    }

    /// Checks the arrays of the tensor like those from outside, and nodes by the rules of their schema.
    ///
    /// # Errors
    /// The first thing that is wrong: a fault of whoever made the arrays.
    pub fn validate(&self) -> Result<(), Error> {
        Ok(self.inner.validate()?)
    }
}
