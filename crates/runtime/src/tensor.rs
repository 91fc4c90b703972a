//! Tensors at run time: dimensions, format, the arrays of each level, and the values.
//!
//! Holds of every tensor: the arrays of each level are those its kind keeps, of the widths the format names; positions
//! never descend and end at the number of coordinates; coordinates are below their dimension's size and ascend under
//! each parent, without repeats where the format says so; and there is one value for each position of the innermost
//! level. So a kernel or an enumeration that follows the arrays reads nothing out of bounds. In a format with a map, every entry lies
//! in the tensor's dimensions, and no two have the same coordinates; only places that fill up levels may lie outside,
//! and their values may be any. Sizes are signed numbers of 64 bits.
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

use lacunar_formats::{DType, Format, One, Scalar};

use crate::array::{Array, Plain};
use crate::buffer::{Buffer, Indices};
use crate::convert::check_type;
use crate::coo::{Coo, Coordinates, retain};
use crate::dispatch::with_values;
use crate::error::{AllocError, StorageError};
use crate::ranking;
use crate::remap::{self, Extra};
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

    /// A tensor without entries; all zeros where levels are dense.
    ///
    /// # Errors
    /// The format has another order, cannot be empty, or memory is refused.
    pub fn zeros(dims: Vec<u64>, format: &Format, dtype: DType) -> Result<Tensor, StorageError> {
        Tensor::from_coo(Coo::empty(dims, dtype), format)
    }

    /// Packs a coordinate list: sorts it, adds up values of equal coordinates, and builds the levels.
    ///
    /// Index arrays are wider than the format says where dimensions or the number of entries need it.
    ///
    /// # Errors
    /// The list contradicts itself, does not fit the format, or memory is refused.
    pub fn from_coo(coo: Coo, format: &Format) -> Result<Tensor, StorageError> {
        crate::pack::pack(coo, format)
    }

    /// A tensor of the given values, one for each coordinate in row-major order, in a format whose levels are all
    /// dense (in which they are used as they are if the mode order is natural) or any other (zeros are left out).
    ///
    /// # Errors
    /// The number of values is another, the format does not fit, or memory is refused.
    pub fn from_dense(dims: Vec<u64>, values: Buffer, format: &Format) -> Result<Tensor, StorageError> {
        if format.order() != dims.len() {
            let (levels, order) = (format.order(), dims.len());
            return Err(StorageError::Order { format: format.clone(), levels, order });
        }
        check_type(values.dtype(), &Format::dense(dims.len()))?;
        remap::check_sizes(&dims)?;
        let expected = crate::pack::positions(1, &dims)?;
        if values.len() as u64 != expected {
            let (what, found) = ("the array of values".into(), values.len() as u64);
            return Err(StorageError::Length { what, found, expected });
        }
        let levels = dims.iter().map(|&size| LevelStorage::dense(size)).collect();
        let natural = Format::dense(dims.len());
        let is_natural = natural == *format;
        let dense = Tensor::assemble(dims, natural, levels, values);
        if is_natural { Ok(dense) } else { dense.convert(format) }
    }

    /// The places of the tensor's values, without the values: each is one.
    ///
    /// # Errors
    /// Some places of the format only fill up, which without values nothing tells.
    ///
    /// ```
    /// use lacunar_formats::{DType, Format};
    /// use lacunar_runtime::{Buffer, Tensor};
    /// let entries = Buffer::from_vec(vec![0.0, 2.0, 3.0, 0.0]);
    /// let matrix = Tensor::from_dense(vec![2, 2], entries, &Format::csr()).unwrap();
    /// let pattern = matrix.into_pattern().unwrap();
    /// assert_eq!((pattern.dtype(), pattern.nnz(), pattern.values().bytes()), (DType::Pattern, 2, 0));
    /// let ones = pattern.cast(DType::F64).unwrap();
    /// assert_eq!(ones.values().as_slice::<f64>(), Some(&[1.0, 1.0][..]));
    /// assert!(pattern.convert(&Format::dense(2)).is_err());
    /// ```
    pub fn into_pattern(self) -> Result<Tensor, StorageError> {
        check_type(DType::Pattern, &self.format)?;
        let values = Buffer::from_vec(vec![One; self.values.len()]);
        Ok(Tensor { values, fill: Scalar::zero(DType::Pattern), ..self })
    }

    /// Puts together what has been checked or built to fit.
    pub(crate) fn assemble(dims: Vec<u64>, format: Format, levels: Vec<LevelStorage>, values: Buffer) -> Tensor {
        let fill = Scalar::zero(values.dtype());
        Tensor { dims, format, levels, values, fill }
    }

    /// The same tensor with a fill value of its type.
    pub(crate) fn filled(self, fill: Scalar) -> Tensor {
        Tensor { fill, ..self }
    }

    /// The size of each dimension.
    pub fn dims(&self) -> &[u64] {
        &self.dims
    }

    /// The number of dimensions.
    pub fn order(&self) -> usize {
        self.dims.len()
    }

    /// How the tensor is stored.
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

    /// The sizes and the format, and all arrays for writing. What is stored has to be what the format says.
    pub(crate) fn parts_mut(&mut self) -> (&[u64], &Format, &mut Vec<LevelStorage>, &mut Buffer) {
        (&self.dims, &self.format, &mut self.levels, &mut self.values)
    }

    /// The number of stored values, zeros of dense levels included.
    pub fn nnz(&self) -> u64 {
        self.values.len() as u64
    }

    /// The largest number of values under one coordinate of the outermost level: of a CSR matrix, the length of its longest row.
    /// `None` where the storage does not tell without a look at every coordinate.
    ///
    /// ```
    /// use lacunar_formats::Format;
    /// use lacunar_runtime::{Buffer, Tensor};
    /// let entries = Buffer::from_vec(vec![0.0, 1.0, 2.0, 0.0, 3.0, 0.0]);
    /// let matrix = Tensor::from_dense(vec![2, 3], entries, &Format::csr()).unwrap();
    /// assert_eq!(matrix.heaviest(), Some(2));
    /// ```
    pub fn heaviest(&self) -> Option<u64> {
        let kinds = self.format.levels();
        if kinds.len() < 2 || !kinds[0].properties().unique || !self.format.is_plain() {
            return None;
        }
        let first = self.levels[0].positions(1)?;
        let under = |position: u64| {
            let mut segment = (position, position + 1);
            for level in &self.levels[1..] {
                segment = match level.pos() {
                    Some(edges) => {
                        let edges = edges.indices()?;
                        (edges.get(usize::try_from(segment.0).ok()?), edges.get(usize::try_from(segment.1).ok()?))
                    }
                    None => (level.positions(segment.0)?, level.positions(segment.1)?),
                };
            }
            Some(segment.1 - segment.0)
        };
        (0..first).map(under).try_fold(0, |most, here| Some(most.max(here?)))
    }

    /// Bytes of all arrays.
    pub fn bytes(&self) -> u64 {
        let arrays = self.levels.iter().flat_map(LevelStorage::arrays);
        arrays.map(|(_, buffer)| buffer.bytes()).sum::<u64>() + self.values.bytes()
    }

    /// The same storage seen with its modes in another order: mode `k` of the result is mode `modes[k]` of this tensor.
    ///
    /// # Errors
    /// `modes` does not name each mode once.
    ///
    /// ```
    /// use lacunar_formats::Format;
    /// use lacunar_runtime::{Buffer, Tensor};
    /// let entries = Buffer::from_vec(vec![0.0, 1.0, 2.0, 0.0, 3.0, 0.0]);
    /// let matrix = Tensor::from_dense(vec![2, 3], entries, &Format::csr()).unwrap();
    /// let transposed = matrix.with_modes(&[1, 0]).unwrap();
    /// assert_eq!((transposed.dims(), transposed.format()), (&[3, 2][..], &Format::csc()));
    /// ```
    pub fn with_modes(self, modes: &[usize]) -> Result<Tensor, StorageError> {
        let places = |mode: usize| modes.iter().position(|other| *other == mode);
        let order: Option<Vec<usize>> = (0..self.order()).map(places).collect();
        let format = order
            .filter(|_| modes.len() == self.order())
            .and_then(|order| self.format.clone().with_dimensions(&order).ok())
            .ok_or_else(|| StorageError::Order {
                format: self.format.clone(),
                levels: self.order(),
                order: modes.len(),
            })?;
        let dims = modes.iter().map(|mode| self.dims[*mode]).collect();
        Ok(Tensor { dims, format, ..self })
    }

    /// The parts: dimensions, format, levels, values.
    pub fn into_parts(self) -> (Vec<u64>, Format, Vec<LevelStorage>, Buffer) {
        (self.dims, self.format, self.levels, self.values)
    }

    /// A second tensor of the same content: borrowed arrays are shared, owned ones copied.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn try_clone(&self) -> Result<Tensor, AllocError> {
        self.with_values(self.values.try_clone()?, self.fill)
    }

    /// All elements in row-major order, the fill value where nothing is stored.
    ///
    /// # Errors
    /// `T` is not the element type, or the system refused the memory.
    pub fn to_dense<T: Element>(&self) -> Result<Vec<T>, StorageError> {
        let dense = self.convert(&Format::dense(self.order()))?;
        let (what, found, expected) = ("the tensor".to_string(), self.dtype(), T::DTYPE.to_string());
        dense.values().as_slice::<T>().map(<[T]>::to_vec).ok_or(StorageError::Type { what, found, expected })
    }

    /// All stored entries in the order of storage; the coordinates are in the order of dimensions. The fill values that
    /// dense levels store are entries like others.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn to_coo(&self) -> Result<Coo, StorageError> {
        self.entries(false)
    }

    /// The stored entries; without those all bytes of whose value are zero, if it is `padded` with them (and the fill value
    /// is zero).
    pub(crate) fn entries(&self, padded: bool) -> Result<Coo, StorageError> {
        if !self.format.is_plain() {
            let mut entries = self.to_plain()?.entries(padded)?;
            if let Some((ranked, ranking)) = ranking::of(self) {
                entries.coords[ranked.dimension].renumber(|rank| ranking.get(rank as usize));
            }
            return Ok(entries);
        }
        let stored = self.stored_coordinates()?;
        let mut coords = match self.format.map() {
            Some(map) => remap::recover(&stored, map, &self.dims)?,
            None => {
                let mut coords = vec![Coordinates::U32(Vec::new()); self.order()];
                self.format.mode_order().iter().zip(stored).for_each(|(&d, column)| coords[d] = column);
                coords
            }
        };
        let (bytes, size) = (self.values.as_bytes(), self.dtype().size());
        let is_entry = |k: usize| {
            (!padded || bytes[k * size..(k + 1) * size].iter().any(|byte| *byte != 0))
                && coords.iter().zip(&self.dims).all(|(column, size)| column.get(k).is_some_and(|c| c < *size))
        };
        let kept = match padded || self.format.map().is_some() {
            true => Some((0..self.values.len()).map(is_entry).collect::<Vec<bool>>()),
            false => None,
        };
        let mut values = self.values.to_values()?;
        if let Some(kept) = kept {
            coords = coords.into_iter().zip(&self.dims).map(|(column, size)| column.kept(&kept, *size)).collect();
            with_values!(&mut values, v => retain(v, &kept));
        }
        Ok(Coo { dims: self.dims.clone(), coords, values })
    }

    /// The stored coordinates at every position of the innermost level, by level; ranks, where there are any.
    pub(crate) fn stored_coordinates(&self) -> Result<Vec<Coordinates>, StorageError> {
        if !self.format.is_plain() {
            return self.to_plain()?.stored_coordinates();
        }
        let columns = (0..self.levels.len()).map(|level| -> Result<Coordinates, StorageError> {
            let column = self.column(level)?;
            Ok(match column.indices() {
                Some(Indices::U32(v)) => Coordinates::U32(to_vec(v)?),
                Some(Indices::U64(v)) => Coordinates::U64(to_vec(v)?),
                // A column is as wide as its size needs, and 32 bits at least.
                Some(Indices::U8(_) | Indices::U16(_)) | None => Coordinates::U32(Vec::new()),
            })
        });
        columns.collect()
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

    /// The tensor of a format with a map that is stored as this one, whose dimensions are the stored ones.
    ///
    /// # Errors
    /// This is not how a tensor of these dimensions is stored in the format.
    ///
    /// ```
    /// use lacunar_formats::{DType, Format};
    /// use lacunar_runtime::Tensor;
    /// let stored = Tensor::zeros(vec![2, 2, 4, 4], &"dsdd".parse::<lacunar_formats::FormatSpec>().unwrap().resolve(4).unwrap(), DType::F64);
    /// let blocks = stored.unwrap().into_mapped(vec![7, 8], &Format::bcsr(4, 4).unwrap()).unwrap();
    /// assert_eq!(blocks.dims(), [7, 8]);
    /// ```
    pub fn into_mapped(self, dims: Vec<u64>, format: &Format) -> Result<Tensor, StorageError> {
        let format = format.clone().with_widths_of(&self.format);
        let fits = format.order() == dims.len()
            && format.stored() == self.format
            && remap::stored_dims(&format, &dims, &self.levels)? == self.dims;
        if !fits {
            let (levels, order) = (format.order(), dims.len());
            return Err(StorageError::Order { format, levels, order });
        }
        let tensor = Tensor { dims, format, ..self };
        let Some(map) = tensor.format.map() else { return Ok(tensor) };
        match remap::check(&tensor, map)? {
            Extra::None => Ok(tensor),
            Extra::Dropped => Tensor::from_coo_filled(tensor.to_coo()?, &tensor.format, tensor.fill),
        }
    }

    /// The coordinate of `level` at every position of the innermost level, in 32 bits where they are enough. All levels are plain.
    ///
    /// # Errors
    /// The system refused the memory, or a stored dimension does not fit into 64 bits.
    pub(crate) fn column(&self, level: usize) -> Result<Buffer, StorageError> {
        let size = self.stored_dims()?[self.format.mode_order()[level]];
        Ok(match size <= 1 << 32 {
            true => Buffer::from_array(self.column_of(level, |coordinate| coordinate as u32)?),
            false => Buffer::from_array(self.column_of(level, |coordinate| coordinate)?),
        })
    }

    fn column_of<T: Plain + Default>(
        &self,
        level: usize,
        of: impl Fn(u64) -> T + Sync,
    ) -> Result<Array<T>, AllocError> {
        self.enumerate(T::default(), |inherited, l, coordinate| if l == level { of(coordinate) } else { inherited })
    }

    /// Goes down the levels, which are plain: `combine(value at the parent position, level, coordinate)` at each position. Returns what
    /// it gave at the positions of the innermost level.
    pub(crate) fn enumerate<T: Plain>(
        &self,
        start: T,
        combine: impl Fn(T, usize, u64) -> T + Sync,
    ) -> Result<Array<T>, AllocError> {
        self.enumerate_outer(self.levels.len(), start, combine)
    }

    /// The same for the outermost levels only, as many as `levels`.
    pub(crate) fn enumerate_outer<T: Plain>(
        &self,
        levels: usize,
        start: T,
        combine: impl Fn(T, usize, u64) -> T + Sync,
    ) -> Result<Array<T>, AllocError> {
        let mut at = Array::zeroed(1)?;
        at[0] = start;
        for (level, storage) in self.levels[..levels].iter().enumerate() {
            at = storage.extend(&at, |inherited, coordinate| combine(inherited, level, coordinate))?;
        }
        Ok(at)
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

pub(crate) fn to_vec<T: Copy + Send + Sync + Default>(slice: &[T]) -> Result<Vec<T>, AllocError> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(slice.len()).map_err(|_| AllocError { bytes: size_of_val(slice) as u64 })?;
    vec.extend_from_slice(slice);
    Ok(vec)
}
