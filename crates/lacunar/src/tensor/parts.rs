//! Tensors from arrays as other programs have them, and their arrays for other programs.
//!
//! ```
//! use lacunar::Tensor;
//! # fn main() -> Result<(), lacunar::Error> {
//! // 5 . 6
//! // . . .
//! // . 7 .
//! let a = Tensor::from_csr([3, 3], vec![0u32, 2, 2, 3], vec![0u32, 2, 1], vec![5.0, 6.0, 7.0])?;
//! let (pos, crd, values) = a.csr_parts::<u32>().expect("csr");
//! assert_eq!((pos, crd, values), (&[0, 2, 2, 3][..], &[0, 2, 1][..], &[5.0, 6.0, 7.0][..]));
//! # Ok(())
//! # }
//! ```

use lacunar_formats::{Format, FormatSpec, IndexWidth};
use lacunar_runtime::lent::integers;
use lacunar_runtime::storage::LevelStorage;
use lacunar_runtime::{Buffer, Element, Tensor as DynTensor};

use super::{Tensor, resolve};
use crate::error::Error;

impl<T: Element> Tensor<T> {
    /// The tensor of the given arrays in a format; the arrays are checked. They are for each level those that its kind
    /// keeps, and the values, one for each position of the innermost level. Arrays of signed numbers will do. Nothing
    /// is copied.
    ///
    /// ```
    /// use lacunar::{Buffer, Format, LevelStorage, Tensor};
    /// # fn main() -> Result<(), lacunar::Error> {
    /// let entries = LevelStorage::compressed(Buffer::from_vec(vec![0u32, 2]), Buffer::from_vec(vec![3u32, 7]));
    /// let x = Tensor::from_parts(&[10], Format::sv(), vec![entries], vec![1.0, 2.0])?;
    /// assert_eq!(x.get(&[7]), Some(2.0));
    /// let (dims, format, levels, values) = x.into_parts();
    /// assert_eq!((dims, format), (vec![10], Format::sv()));
    /// assert_eq!(levels[0].crd().and_then(|crd| crd.as_slice::<u32>()), Some(&[3, 7][..]));
    /// assert_eq!(values.as_slice::<f64>(), Some(&[1.0, 2.0][..]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The first thing that is wrong with the arrays.
    pub fn from_parts(
        dims: &[u64],
        format: impl Into<FormatSpec>,
        levels: Vec<LevelStorage>,
        values: Vec<T>,
    ) -> Result<Tensor<T>, Error> {
        let format = resolve(format, dims.len())?;
        Ok(Tensor::of(DynTensor::from_parts(dims.to_vec(), &format, levels, Buffer::from_vec(values))?))
    }

    /// The arrays of the tensor: sizes, format, the levels from the outermost on, and the values.
    pub fn into_parts(self) -> (Vec<u64>, Format, Vec<LevelStorage>, Buffer) {
        self.inner.into_parts()
    }

    /// The matrix of compressed rows: the start of each row among the entries, and the end of the last one; the column
    /// and the value of each entry. The columns of a row ascend. Indices of 32 bits and of 64 bits are taken without a
    /// copy, signed ones too.
    ///
    /// # Errors
    /// The first thing that is wrong with the arrays.
    pub fn from_csr<I: Element>(dims: [u64; 2], pos: Vec<I>, crd: Vec<I>, values: Vec<T>) -> Result<Tensor<T>, Error> {
        let width = IndexWidth::of_bits(8 * size_of::<I>() as u32).unwrap_or(IndexWidth::W64);
        let format = Format::csr().with_widths(width, width);
        let rows = LevelStorage::compressed(Buffer::from_vec(pos), Buffer::from_vec(crd));
        Tensor::from_parts(&dims, format, vec![LevelStorage::dense(dims[0]), rows], values)
    }

    /// The start of each row, the column and the value of each entry, of a matrix in csr; of one in csc, the start of
    /// each column, and the rows. `None` in other formats, and if indices are not of type `I`: `u32`, or `u64` or
    /// `usize` if the format says so.
    pub fn csr_parts<I: Copy + 'static>(&self) -> Option<(&[I], &[I], &[T])> {
        let format = self.format();
        let is = |wanted: Format| wanted.with_widths_of(format) == *format;
        let compressed = self.inner.levels().get(1).filter(|_| is(Format::csr()) || is(Format::csc()))?;
        Some((integers(compressed.pos()?)?, integers(compressed.crd()?)?, self.values()))
    }
}
