//! The same arrays as another tensor: of other dimensions, or of the same in another order.

use crate::error::StorageError;
use crate::ranking;
use crate::remap::{self, Extra};
use crate::storage::LevelStorage;
use crate::tensor::Tensor;
use lacunar_formats::Format;

impl Tensor {
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
            .and_then(|order| self.format().clone().with_dimensions(&order).ok())
            .ok_or_else(|| StorageError::Order {
                format: self.format().clone(),
                levels: self.order(),
                order: modes.len(),
            })?;
        let dims = modes.iter().map(|mode| self.dims()[*mode]).collect();
        Ok(self.seen_as(dims, format))
    }

    /// The tensor of a format with a map that has these arrays; this tensor's dimensions are its stored ones.
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
        let format = format.clone().with_widths_of(self.format());
        let fits = format.order() == dims.len()
            && format.stored() == *self.format()
            && remap::stored_dims(&format, &dims, self.levels())? == self.dims();
        if !fits {
            let (levels, order) = (format.order(), dims.len());
            return Err(StorageError::Order { format, levels, order });
        }
        let tensor = self.seen_as(dims, format);
        let Some(map) = tensor.format().map() else { return Ok(tensor) };
        match remap::check(&tensor, map)? {
            Extra::None => Ok(tensor),
            Extra::Dropped => Tensor::from_coo_filled(tensor.to_coo()?, tensor.format(), tensor.fill()),
        }
    }

    /// The tensor of a dimension's ranks: its coordinate `k` has the entries of the coordinate of rank `k`. The same
    /// tensor, if no dimension is stored by ranks.
    ///
    /// # Errors
    /// The system refused the memory.
    ///
    /// ```
    /// use lacunar_formats::Format;
    /// use lacunar_runtime::{Buffer, Tensor};
    /// let entries = Buffer::from_vec(vec![0.0, 1.0, 2.0, 3.0]);
    /// let sorted = Tensor::from_dense(vec![2, 2], entries, &Format::sell_sorted(2, 2).unwrap()).unwrap();
    /// let rows = sorted.by_ranks().unwrap();
    /// assert_eq!(rows.format(), &Format::sell(2).unwrap());
    /// assert_eq!(rows.to_dense::<f64>().unwrap(), [2.0, 3.0, 0.0, 1.0]);
    /// ```
    pub fn by_ranks(&self) -> Result<Tensor, StorageError> {
        let same = self.try_clone()?;
        let Some((ranked, _)) = ranking::of(self) else { return Ok(same) };
        let format = self.format().of_ranks();
        let (dims, _, mut levels, values) = same.into_parts();
        if let Some(level) = levels.get_mut(ranked.level) {
            let slots = std::mem::replace(level, LevelStorage::dense(0));
            let (kind, size) = (format.levels()[ranked.level].kind, slots.size());
            let arrays = slots.into_arrays().into_iter().take(kind.info().parts.len()).collect();
            *level = LevelStorage::new(kind, size, arrays);
        }
        Ok(Tensor::assemble(dims, format, levels, values).filled(self.fill()))
    }
}
