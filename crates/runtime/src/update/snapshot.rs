//! A tensor as it is now, whatever is changed later.
//!
//! A snapshot shares the arrays of the tensor. Neither tensor is copied before one of the two is written to, and then only the arrays that
//! are; if the other one is gone by then, nothing is. So readers on other threads keep a snapshot while a writer goes on, and memory goes
//! back with the last of them. The copy is made into memory whose versions share pages (`pages/`): after the next snapshot, only the pages
//! are copied that have been changed, and those that are written to.
//!
//! ```text
//! graph     root node values  --snapshot-->  root node values     the same memory
//! graph.insert(..)                           a copy of the level's arrays and of the values for the graph
//! graph.insert(..)                           nothing more is copied
//! graph     root node values  --snapshot-->  root node values     the same memory
//! graph.insert(..)                           a copy of the pages that were changed, and of those that the insertion changes
//! ```

use crate::error::StorageError;
use crate::tensor::Tensor;

impl Tensor {
    /// A tensor of the same content, which no later change of this one touches. Its time does not grow with the stored entries; the first
    /// change after it copies the arrays that it writes to. Until then, [`ValuesMut::into_slice`](crate::tensor::ValuesMut::into_slice)
    /// gives nothing: [`ValuesMut::make_owned`](crate::tensor::ValuesMut::make_owned) is such a change.
    ///
    /// # Errors
    /// Memory is refused, for arrays that are lent ([`crate::Lent`]).
    ///
    /// ```
    /// use lacunar_formats::{DType, FormatSpec};
    /// use lacunar_runtime::Tensor;
    /// let format = "d{blist<16>}".parse::<FormatSpec>().unwrap().resolve(2).unwrap();
    /// let mut graph = Tensor::zeros(vec![3, 4], &format, DType::F64).unwrap();
    /// graph.insert(&[1, 3], 5.0).unwrap();
    /// let before = graph.snapshot().unwrap();
    /// graph.insert(&[2, 2], 6.0).unwrap();
    /// assert_eq!((before.entries(), graph.entries()), (1, 2));
    /// ```
    pub fn snapshot(&mut self) -> Result<Tensor, StorageError> {
        let fill = self.fill();
        let (dims, format, levels, values) = self.parts_mut();
        let levels = levels.iter_mut().map(|level| level.share()).collect::<Result<_, _>>()?;
        Ok(Tensor::assemble(dims.to_vec(), format.clone(), levels, values.share()?).filled(fill))
    }
}
