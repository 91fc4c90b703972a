//! A number for each position of plain levels, made of the coordinates above it.
//!
//! ```text
//! csr, pos 0 2 2 3, crd 0 2 1:    column of level 0: 0 0 2    of level 1: 0 2 1    10 i + j: 0 2 21
//! ```

use crate::alloc::make_room;
use crate::array::{Array, Plain};
use crate::buffer::{Buffer, Indices};
use crate::coo::Coordinates;
use crate::error::{AllocError, StorageError};
use crate::tensor::Tensor;

impl Tensor {
    /// The stored coordinates at every position of the innermost level, by level. All levels are plain.
    pub(crate) fn stored_coordinates(&self) -> Result<Vec<Coordinates>, StorageError> {
        let columns = (0..self.levels().len()).map(|level| -> Result<Coordinates, StorageError> {
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

    /// The coordinate of `level` at every position of the innermost level, in 32 bits where they are enough. All levels are plain.
    ///
    /// # Errors
    /// The system refused the memory, or a stored dimension does not fit into 64 bits.
    pub(crate) fn column(&self, level: usize) -> Result<Buffer, StorageError> {
        let size = self.stored_dims()?[self.format().mode_order()[level]];
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

    /// Goes down the levels, which are plain: `combine(value at the parent position, level, coordinate)` at each
    /// position. Returns the results at the positions of the innermost level.
    pub(crate) fn enumerate<T: Plain>(
        &self,
        start: T,
        combine: impl Fn(T, usize, u64) -> T + Sync,
    ) -> Result<Array<T>, AllocError> {
        self.enumerate_outer(self.levels().len(), start, combine)
    }

    /// The same for the outermost levels only, as many as `levels`.
    pub(crate) fn enumerate_outer<T: Plain>(
        &self,
        levels: usize,
        start: T,
        combine: impl Fn(T, usize, u64) -> T + Sync,
    ) -> Result<Array<T>, AllocError> {
        if levels == self.levels().len() && self.values().is_empty() {
            // The levels above may be long.
            return Array::zeroed(0);
        }
        let mut at = Array::zeroed(1)?;
        at[0] = start;
        for (level, storage) in self.levels()[..levels].iter().enumerate() {
            at = storage.extend(&at, |inherited, coordinate| combine(inherited, level, coordinate))?;
        }
        Ok(at)
    }
}

pub(crate) fn to_vec<T: Copy + Send + Sync + Default>(slice: &[T]) -> Result<Vec<T>, AllocError> {
    let mut vec = Vec::new();
    make_room(&mut vec, slice.len()).map_err(|_| AllocError { bytes: size_of_val(slice) as u64 })?;
    vec.extend_from_slice(slice);
    Ok(vec)
}
