//! Formats of dense levels only: every element has a place, which follows from its coordinates, and nothing is sorted.
//!
//! ```text
//! list (1,0) 5  (0,2) 6  (1,0) 7  of 2 x 3:    places 3 2 3    values . . 6 12 . .
//! ```

use lacunar_formats::Format;

use crate::buffer::Buffer;
use crate::coo::Coo;
use crate::dispatch::with_word;
use crate::error::StorageError;
use crate::fits::{check_sizes, check_type, level_sizes, positions, strides, widen};
use crate::forms::Form;
use crate::keys::{Access, Column, Columns};
use crate::moved::{BLOCK, Moved};
use crate::pack::in_level_order;
use crate::segments::NOWHERE;
use crate::storage::LevelStorage;
use crate::tensor::Tensor;
use crate::values::Element;
use crate::words::Word;

impl Tensor {
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
        check_sizes(&dims)?;
        let expected = positions(1, &dims)?;
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

    /// All elements in row-major order, the fill value where nothing is stored.
    ///
    /// # Errors
    /// `T` is not the element type, or the system refused the memory.
    pub fn to_dense<T: Element>(&self) -> Result<Vec<T>, StorageError> {
        let dense = self.convert(&Format::dense(self.order()))?;
        let (what, found, expected) = ("the tensor".to_string(), self.dtype(), T::DTYPE.to_string());
        dense.values().as_slice::<T>().map(<[T]>::to_vec).ok_or(StorageError::Type { what, found, expected })
    }
}

/// Adds every value of a list at its place.
///
/// # Errors
/// Places are too many, or memory is refused.
pub fn pack(coo: Coo, format: &Format) -> Result<Tensor, StorageError> {
    let Coo { dims, coords, values } = coo;
    let format = widen(format, &dims, values.len() as u64);
    let sizes = level_sizes(&dims, &format);
    let strides = strides(&sizes)?;
    let positions = positions(1, &sizes)?;
    let dtype = values.dtype();
    let values = Buffer::from_values(values);
    let mut placed = Buffer::zeroed(dtype, positions)?;
    let columns = in_level_order(coords, &format).into_iter().map(Column::from).collect();
    let entries = Columns { len: values.len(), columns };
    let columns: Vec<_> = (0..sizes.len()).map(|level| entries.column(level)).collect();
    let place = |k: usize| columns.iter().zip(&strides).map(|(column, stride)| column(k) * stride).sum::<u64>();
    with_word!(dtype, V => {
        let (sum, to) = (V::sum(dtype), placed.as_words_mut::<V>().unwrap_or_default());
        for (k, &value) in values.as_words::<V>().iter().enumerate() {
            let slot = &mut to[place(k) as usize];
            // The first value at a place stays as it is, a negative zero too.
            *slot = if *slot == V::default() { value } else { sum(*slot, value) };
        }
    });
    let levels = sizes.iter().map(|&size| LevelStorage::dense(size)).collect();
    Ok(Tensor::assemble(dims, format, levels, placed))
}

/// Puts every value of plain levels at its place. `drop` says that stored zeros only fill up, and have none.
///
/// # Errors
/// Places are too many, or memory is refused.
pub fn place(source: &Tensor, format: &Format, drop: bool) -> Result<Tensor, StorageError> {
    let format = widen(format, source.dims(), source.nnz());
    let sizes = level_sizes(source.dims(), &format);
    let level_strides = strides(&sizes)?;
    let count = positions(1, &sizes)?;
    let mut form = Form::<u64>::zero(source.levels().len());
    for (&dimension, &stride) in format.mode_order().iter().zip(&level_strides) {
        form.add_dimension(dimension, stride, (source.format(), source.dims()));
    }
    let count = usize::try_from(count).map_err(|_| StorageError::overflow("the number of values"))?;
    let mut moved = Moved::into(source.values(), Buffer::zeroed(source.dtype(), count as u64)?);
    let mut places = form.at_positions(source, source.levels().len())?;
    for (number, places) in places.chunks_mut(BLOCK).enumerate() {
        let mut nonzero = [true; BLOCK];
        if drop {
            Moved::nonzero(source.values(), number * BLOCK, &mut nonzero[..places.len()]);
        }
        places.iter_mut().zip(nonzero).filter(|(_, nonzero)| !nonzero).for_each(|(place, _)| *place = NOWHERE);
        moved.put_alone(number * BLOCK, places);
    }
    let values = moved.into_buffer();
    let levels = sizes.iter().map(|&size| LevelStorage::dense(size)).collect();
    Ok(Tensor::assemble(source.dims().to_vec(), format, levels, values))
}
