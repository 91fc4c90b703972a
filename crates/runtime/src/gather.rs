//! Tensors whose values are coordinates of another dimension: the check that they lie in it, and the pattern that they are.
//!
//! ```text
//! p = [2, 0, 2], a dimension of size 3:    the pattern (0,2) (1,0) (2,2)
//! of size 2:                               the value 2 at 0 lies outside
//! ```

use lacunar_formats::{DType, Format, One, Scalar};

use crate::coo::{Coo, Coordinates};
use crate::dispatch::with_values;
use crate::error::StorageError;
use crate::fill::scalar_of;
use crate::parallel;
use crate::tensor::Tensor;
use crate::values::{Element, Values};

/// A value that is no coordinate of a dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Outside {
    /// The value.
    pub value: Scalar,
    /// Its place; none, if elements that are not stored have it.
    pub place: Option<Vec<u64>>,
}

/// An expression over values of integers, of whatever width. A number that is negative becomes larger than every coordinate.
macro_rules! with_coordinates {
    ($dtype:expr, $T:ident => $body:expr, $otherwise:expr) => {{
        macro_rules! of {
            ($ty:ty) => {{
                type $T = $ty;
                $body
            }};
        }
        match $dtype {
            DType::I8 => of!(i8),
            DType::I16 => of!(i16),
            DType::I32 => of!(i32),
            DType::I64 => of!(i64),
            DType::U8 => of!(u8),
            DType::U16 => of!(u16),
            DType::U32 => of!(u32),
            DType::U64 => of!(u64),
            _ => $otherwise,
        }
    }};
}

/// The values of a list of integers as coordinates.
fn coordinates(values: &Values) -> Vec<u64> {
    with_coordinates!(values.dtype(), T => {
        T::unwrap(values).into_iter().flatten().map(|&value| value as i64 as u64).collect()
    }, Vec::new())
}

impl Tensor {
    /// A value of a tensor of integers that is no coordinate of a dimension of this size, if there is one.
    ///
    /// ```
    /// use lacunar_formats::Format;
    /// use lacunar_runtime::{Buffer, Tensor};
    /// let tensor = Tensor::from_dense(vec![3], Buffer::from_vec(vec![2i64, -1, 0]), &Format::dense(1)).unwrap();
    /// let outside = tensor.outside_of(3).unwrap().unwrap();
    /// assert_eq!((outside.value.to_string(), outside.place), ("-1".to_string(), Some(vec![1])));
    /// ```
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn outside_of(&self, size: u64) -> Result<Option<Outside>, StorageError> {
        let values = self.values();
        let found = with_coordinates!(self.dtype(), T => {
            parallel::find(values.as_slice::<T>().unwrap_or_default(), |&value| value as i64 as u64 >= size).is_some()
        }, false);
        if found {
            let coo = self.to_coo()?;
            let first = coordinates(&coo.values).into_iter().position(|value| value >= size);
            if let Some(entry) = first {
                let place = coo.coords.iter().filter_map(|column| column.get(entry)).collect();
                let value = with_values!(&coo.values, values => scalar_of(values[entry]));
                return Ok(Some(Outside { value, place: Some(place) }));
            }
        }
        let volume = self.dims().iter().try_fold(1u64, |volume, size| volume.checked_mul(*size));
        let has_gaps = !self.format().is_dense() && volume != Some(self.nnz());
        let fill = self.fill();
        Ok((has_gaps && fill.bits >= size).then_some(Outside { value: fill, place: None }))
    }

    /// The pattern that has an entry for each element of a tensor of integers: its coordinates, and behind them its value, a coordinate of a
    /// dimension of this size.
    ///
    /// # Errors
    /// A value lies outside of the dimension, or the system refused the memory.
    pub fn gathered(&self, size: u64, format: &Format) -> Result<Tensor, StorageError> {
        if !self.format().is_dense() {
            return self.convert(&Format::dense(self.order()))?.gathered(size, format);
        }
        let Coo { mut dims, mut coords, values } = self.to_coo()?;
        let mut last = Coordinates::for_size(size);
        coordinates(&values).into_iter().for_each(|coordinate| last.push(coordinate));
        let entries = last.len();
        dims.push(size);
        coords.push(last);
        Tensor::from_coo(Coo { dims, coords, values: Values::Pattern(vec![One; entries]) }, format)
    }

    /// The values of a tensor of integers as coordinates, in order and each once. An element that is not stored has the fill value.
    ///
    /// # Errors
    /// The system refused the memory.
    ///
    /// ```
    /// use lacunar_formats::Format;
    /// use lacunar_runtime::{Coo, Coordinates, Tensor, Values};
    /// let coords = vec![Coordinates::U32(vec![0, 2, 3])];
    /// let list = Coo { dims: vec![4], coords, values: Values::I64(vec![7, 5, 7]) };
    /// assert_eq!(Tensor::from_coo(list, &Format::dense(1))?.distinct_coordinates()?, [0, 5, 7]);
    /// # Ok::<(), lacunar_runtime::StorageError>(())
    /// ```
    pub fn distinct_coordinates(&self) -> Result<Vec<u64>, StorageError> {
        if !self.format().is_dense() {
            return self.convert(&Format::dense(self.order()))?.distinct_coordinates();
        }
        let mut found = coordinates(&self.to_coo()?.values);
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }
}
