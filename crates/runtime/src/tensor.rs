//! Tensors at run time: dimensions, format, the arrays of each level, and the values.
//!
//! Every tensor has these properties: the arrays of each level are those its kind keeps, of the widths the format
//! names; positions never descend and end at the number of coordinates; coordinates are below their dimension's size
//! and ascend under each parent, without repeats if the format says so; and there is one value for each position of the
//! innermost level. So a kernel or an enumeration that follows the arrays reads nothing out of bounds. In a format with
//! a map, every entry lies in the tensor's dimensions, and no two have the same coordinates; only places that fill up
//! levels may lie outside, and their values may be any. Sizes are signed numbers of 64 bits.
//!
//! ```
//! use lacunar_formats::{DType, Format};
//! use lacunar_runtime::{coo::{Coo, Coordinates}, tensor::Tensor, values::Values};
//! let coo = Coo {
//!     dims: vec![2, 3],
//!     coords: vec![Coordinates::U32(vec![1, 0, 1]), Coordinates::U32(vec![0, 2, 0])],
//!     values: Values::F64(vec![5.0, 6.0, 7.0]),
//! };
//! let csr = Tensor::from_coo(coo, &Format::csr()).unwrap();
//! assert_eq!(csr.nnz(), 2);
//! assert_eq!(csr.levels()[1].crd().unwrap().as_slice::<u32>(), Some(&[2, 0][..]));
//! assert_eq!(csr.values().as_slice::<f64>(), Some(&[6.0, 12.0][..]));
//! ```

use std::alloc::{Layout, handle_alloc_error};

use lacunar_formats::{DType, Format, Scalar};

use crate::buffer::Buffer;
use crate::error::{AllocError, StorageError};
use crate::remap;
use crate::storage::LevelStorage;
use crate::values::Element;

/// A tensor of any order, format and element type.
#[derive(Debug, PartialEq)]
pub struct Tensor {
    dims: Vec<u64>,
    format: Format,
    levels: Vec<LevelStorage>,
    values: Buffer,
    fill: Scalar,
}

impl Tensor {
    /// A tensor of order 0.
    pub fn scalar<T: Element>(value: T) -> Tensor {
        Tensor::assemble(Vec::new(), Format::dense(0), Vec::new(), Buffer::from_vec(vec![value]))
    }

    /// Puts together parts that have been checked, or built to fit.
    pub(crate) fn assemble(dims: Vec<u64>, format: Format, levels: Vec<LevelStorage>, values: Buffer) -> Tensor {
        let fill = Scalar::zero(values.dtype());
        Tensor { dims, format, levels, values, fill }
    }

    /// The same tensor with a fill value of its type.
    pub(crate) fn filled(self, fill: Scalar) -> Tensor {
        Tensor { fill, ..self }
    }

    /// The same arrays seen as those of a tensor of other dimensions; they fit it in a format.
    pub(crate) fn seen_as(self, dims: Vec<u64>, format: Format) -> Tensor {
        Tensor { dims, format, ..self }
    }

    /// The size of each dimension.
    pub fn dims(&self) -> &[u64] {
        &self.dims
    }

    /// The number of dimensions.
    pub fn order(&self) -> usize {
        self.dims.len()
    }

    /// The format of the tensor.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.values.dtype()
    }

    /// The levels' arrays, outermost first.
    pub fn levels(&self) -> &[LevelStorage] {
        &self.levels
    }

    /// The values, one for each position of the innermost level.
    pub fn values(&self) -> &Buffer {
        &self.values
    }

    /// The value of every element that is not stored; 0 unless said otherwise ([`Tensor::with_fill`]).
    pub fn fill(&self) -> Scalar {
        self.fill
    }

    /// The values, for writing. Their number is fixed.
    pub fn values_mut(&mut self) -> ValuesMut<'_> {
        ValuesMut(&mut self.values)
    }

    /// The levels' arrays, outermost first, beside the values for writing.
    pub fn split_mut(&mut self) -> (&[LevelStorage], ValuesMut<'_>) {
        (&self.levels, ValuesMut(&mut self.values))
    }

    /// The sizes and the format, and all arrays for writing. The arrays have to stay such as the format describes.
    pub(crate) fn parts_mut(&mut self) -> (&[u64], &Format, &mut Vec<LevelStorage>, &mut Buffer) {
        (&self.dims, &self.format, &mut self.levels, &mut self.values)
    }

    /// Says that dimensions are larger, for which the arrays fit.
    pub(crate) fn set_dims(&mut self, dims: Vec<u64>, format: Format) {
        (self.dims, self.format) = (dims, format);
    }

    /// The number of stored values, zeros of dense levels included.
    pub fn nnz(&self) -> u64 {
        self.values.len() as u64
    }

    /// Bytes of all arrays.
    pub fn bytes(&self) -> u64 {
        let arrays = self.levels.iter().flat_map(LevelStorage::arrays);
        arrays.map(|(_, buffer)| buffer.bytes()).sum::<u64>() + self.values.bytes()
    }

    /// The parts: dimensions, format, levels, values.
    pub fn into_parts(self) -> (Vec<u64>, Format, Vec<LevelStorage>, Buffer) {
        (self.dims, self.format, self.levels, self.values)
    }

    /// A second tensor of the same content: borrowed arrays are shared, owned ones copied, and so are those that are lent
    /// ([`crate::Lent`]). [`Clone`] does the same.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn try_clone(&self) -> Result<Tensor, AllocError> {
        self.with_values(self.values.try_clone()?, self.fill)
    }

    /// The sizes of the stored dimensions: those of [`Tensor::dims`], or in a format with a map one for each level.
    ///
    /// # Errors
    /// One does not fit into 64 bits.
    ///
    /// ```
    /// use lacunar_formats::{DType, Format};
    /// use lacunar_runtime::Tensor;
    /// let blocks = Tensor::zeros(vec![10, 8], &Format::bcsr(4, 2).unwrap(), DType::F64).unwrap();
    /// assert_eq!(blocks.stored_dims().unwrap(), [3, 4, 4, 2]);
    /// ```
    pub fn stored_dims(&self) -> Result<Vec<u64>, StorageError> {
        remap::stored_dims(&self.format, &self.dims, &self.levels)
    }
}

/// Clones like [`Tensor::try_clone`]. If memory is refused, the process ends as it does for a `Vec`
/// ([`std::alloc::handle_alloc_error`]).
impl Clone for Tensor {
    fn clone(&self) -> Tensor {
        self.try_clone().unwrap_or_else(|AllocError { bytes }| {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(isize::MAX as usize);
            handle_alloc_error(Layout::array::<u8>(bytes).unwrap_or(Layout::new::<u8>()))
        })
    }
}

/// Write access to the values of a tensor: elements can be set, not added or removed.
#[derive(Debug)]
pub struct ValuesMut<'a>(&'a mut Buffer);

impl<'a> From<&'a mut Buffer> for ValuesMut<'a> {
    fn from(buffer: &'a mut Buffer) -> ValuesMut<'a> {
        ValuesMut(buffer)
    }
}

impl<'a> ValuesMut<'a> {
    /// The values, if they are of type `T` and not borrowed for reading.
    pub fn into_slice<T: Element>(self) -> Option<&'a mut [T]> {
        self.0.as_mut_slice()
    }

    /// The buffer itself, as an argument of a kernel. Nobody else gets hold of it: another one in its place could be shorter.
    pub(crate) fn into_buffer(self) -> &'a mut Buffer {
        self.0
    }

    /// Copies borrowed values, so that they can be written to.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn make_owned(&mut self) -> Result<(), AllocError> {
        self.0.make_owned()
    }
}
