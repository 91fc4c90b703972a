//! Conversions from and to the sparse matrices of `sprs`.
//!
//! ```
//! use lacunar::{Format, Tensor};
//! # fn main() -> Result<(), lacunar::Error> {
//! let identity = Tensor::from_sprs(sprs::CsMat::<f64>::eye(3))?;
//! assert_eq!(identity.as_dyn().format().to_string(), "ds64@64");
//! let narrow = identity.convert(&Format::csr())?;
//! assert_eq!(narrow.as_sprs::<u32>()?.nnz(), 3);
//! # Ok(())
//! # }
//! ```

use std::borrow::Cow;
use std::ops::Deref;

use lacunar_formats::{Format, LevelKind};
use lacunar_runtime::{Element, Lent, LentArray, Tensor as DynTensor};
use sprs::{CsMatBase, CsMatI, CsMatViewI, SpIndex};

use super::compressed;
use crate::error::Error;
use crate::operand::{FromResult, Operand, TensorView};
use crate::tensor::Tensor;

impl<T: Element> Tensor<T> {
    /// Takes a matrix, as csr or csc. The memory of the values is used as it is, that of the indices where a number
    /// takes 4 or 8 bytes.
    ///
    /// # Errors
    /// The matrix is not one (it was made by `unsafe` means).
    pub fn from_sprs<I: SpIndex, P: SpIndex>(matrix: CsMatI<T, I, P>) -> Result<Tensor<T>, Error> {
        let format = if matrix.is_csr() { Format::csr() } else { Format::csc() };
        let dims = [matrix.rows(), matrix.cols()];
        // A part cut out of another matrix counts positions from where it began.
        let cut = match matrix.proper_indptr() {
            Cow::Owned(pos) => Some(pos),
            Cow::Borrowed(_) => None,
        };
        let (pos, crd, values) = matrix.into_raw_storage();
        let pos = compressed::indices(cut.unwrap_or(pos), SpIndex::index_unchecked);
        compressed::matrix(dims, format, pos, compressed::indices(crd, SpIndex::index_unchecked), values)
    }

    /// A matrix in csr or csc as one of `sprs`, without a copy: with `I = u32`, or where the format says so `u64` or `usize`.
    ///
    /// # Errors
    /// The tensor is stored otherwise, or has indices of another type.
    pub fn as_sprs<I: SpIndex + 'static>(&self) -> Result<CsMatViewI<'_, T, I>, Error> {
        let tensor = self.as_dyn();
        let no_view = || compressed::no_view::<I>(tensor, "csr and csc");
        let by_rows = is_by_rows(tensor.format()).ok_or_else(no_view)?;
        let dims = compressed::dims(tensor)?;
        let (pos, crd, _) = self.csr_parts::<I>().ok_or_else(no_view)?;
        let make = if by_rows { CsMatViewI::try_new } else { CsMatViewI::try_new_csc };
        make((dims[0], dims[1]), pos, crd, self.values()).map_err(|(.., error)| Error::Argument(error.to_string()))
    }

    /// A matrix as one of `sprs`: csc remains it, everything else becomes csr.
    ///
    /// # Errors
    /// The tensor is not of order 2, an index does not fit into `I`, or memory is refused.
    pub fn to_sprs<I: SpIndex>(&self) -> Result<CsMatI<T, I>, Error> {
        let tensor = self.as_dyn();
        let dims = compressed::dims(tensor)?;
        let Some(by_rows) = is_by_rows(tensor.format()) else {
            let format = tensor.format();
            return self.convert(Format::csr().with_widths_of(format))?.to_sprs();
        };
        let arrays = compressed::arrays(tensor).and_then(|(pos, crd)| pos.indices().zip(crd.indices()));
        let (pos, crd) = arrays.ok_or_else(|| compressed::no_view::<I>(tensor, "csr and csc"))?;
        let pos = compressed::numbers(pos, I::try_from_usize)?;
        let crd = compressed::numbers(crd, I::try_from_usize)?;
        let make = if by_rows { CsMatI::try_new } else { CsMatI::try_new_csc };
        let values = self.values().to_vec();
        make((dims[0], dims[1]), pos, crd, values).map_err(|(.., error)| Error::Argument(error.to_string()))
    }
}

/// A matrix of `sprs`, or a view of one. Its arrays are used as they are, where indices take 4 or 8 bytes (so `usize`, too);
/// positions that do not begin at 0, of a part of another matrix, are copied.
impl<T, I, P, IS, CS, VS> Operand for CsMatBase<T, I, IS, CS, VS, P>
where
    T: Element,
    I: SpIndex + 'static,
    P: SpIndex + 'static,
    IS: Deref<Target = [P]>,
    CS: Deref<Target = [I]>,
    VS: Deref<Target = [T]>,
{
    fn as_tensor(&self) -> Result<TensorView<'_>, Error> {
        let format = if self.is_csr() { Format::csr() } else { Format::csc() };
        let dims = vec![self.rows() as u64, self.cols() as u64];
        let pos = match self.proper_indptr() {
            Cow::Borrowed(pos) => lent(pos),
            Cow::Owned(pos) => LentArray::owned(compressed::indices(pos, SpIndex::index_unchecked)),
        };
        let crd = lent(self.indices());
        let format = format.with_widths(compressed::width::<P>(), compressed::width::<I>());
        let (outer, inner) = (dims[format.mode_order()[0]], dims[format.mode_order()[1]]);
        let levels = vec![(LevelKind::DENSE, outer, Vec::new()), (LevelKind::COMPRESSED, inner, vec![pos, crd])];
        Ok(Lent::from_parts(dims, &format, levels, LentArray::of(self.data()))?.into())
    }
}

/// Indices as they are, where they take as many bytes as ours; a copy of others.
fn lent<I: SpIndex + 'static>(indices: &[I]) -> LentArray<'_> {
    let ours = LentArray::indices(indices).filter(|_| size_of::<I>() >= size_of::<u32>());
    ours.unwrap_or_else(|| LentArray::owned(compressed::indices(indices.to_vec(), SpIndex::index_unchecked)))
}

/// A matrix by rows, or by columns where the result is stored so.
impl<T: Element, I: SpIndex> FromResult for CsMatI<T, I> {
    fn from_result(result: DynTensor) -> Result<CsMatI<T, I>, Error> {
        Tensor::<T>::try_from(result)?.to_sprs()
    }
}

/// True if a matrix is stored by rows (csr), false if by columns (csc); `None` if otherwise.
fn is_by_rows(format: &Format) -> Option<bool> {
    let is = |wanted: Format| wanted.with_widths_of(format) == *format;
    is(Format::csr()).then_some(true).or(is(Format::csc()).then_some(false))
}
