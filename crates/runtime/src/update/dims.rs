//! Dimensions that grow, as those of a graph that gets new vertices.

use lacunar_formats::{Format, LevelKind};

use super::is_updated_in_place;
use crate::coo::Coo;
use crate::error::StorageError;
use crate::fits::{check_sizes, widen};
use crate::storage::LevelStorage;
use crate::tensor::Tensor;

impl Tensor {
    /// Lets dimensions have larger sizes. Stored entries keep their coordinates. Levels of nodes below one dense level take new rows
    /// in place; other formats are stored anew.
    ///
    /// # Errors
    /// There are too few or too many sizes, one is smaller than before ([`StorageError::Length`]), the format has no room for them, or
    /// memory is refused. The tensor is as it was then.
    ///
    /// ```
    /// use lacunar_formats::{DType, FormatSpec};
    /// use lacunar_runtime::Tensor;
    /// let format = "d{btree}".parse::<FormatSpec>().unwrap().resolve(2).unwrap();
    /// let mut graph = Tensor::zeros(vec![3, 3], &format, DType::F64).unwrap();
    /// graph.insert(&[2, 1], 5.0).unwrap();
    /// graph.grow_dims(&[10, 10]).unwrap();
    /// assert_eq!(graph.insert(&[9, 9], 1.0).unwrap(), None);
    /// assert_eq!(graph.insert(&[2, 1], 1.0).unwrap(), Some(5.0));
    /// ```
    pub fn grow_dims(&mut self, dims: &[u64]) -> Result<(), StorageError> {
        if dims.len() != self.order() {
            let (format, levels, order) = (self.format().clone(), self.order(), dims.len());
            return Err(StorageError::Order { format, levels, order });
        }
        check_sizes(dims)?;
        let smaller = dims.iter().zip(self.dims()).enumerate().find(|(_, (new, old))| new < old);
        if let Some((dimension, (&found, &expected))) = smaller {
            return Err(StorageError::Length { what: format!("dimension {dimension}"), found, expected });
        }
        match self.grow_in_place(dims)? {
            true => Ok(()),
            false => self.grow_anew(dims),
        }
    }

    /// The same if all arrays stay; false if they cannot.
    fn grow_in_place(&mut self, dims: &[u64]) -> Result<bool, StorageError> {
        let wider = widen(self.format(), dims, self.nnz());
        let has_nodes = |level: &LevelStorage| level.kind().schema().is_some();
        let fits = match self.levels() {
            [] => true,
            [first, others @ ..] => {
                (first.kind() == LevelKind::DENSE || has_nodes(first)) && others.iter().all(has_nodes)
            }
        };
        if !fits || !is_updated_in_place(self.format()) || !same_widths(&wider, self.format()) {
            return Ok(false);
        }
        let order = self.format().mode_order().to_vec();
        let (_, _, levels, _) = self.parts_mut();
        let sizes: Vec<u64> = order.iter().map(|mode| dims[*mode]).collect();
        let is_wide = |(level, size): (&LevelStorage, &u64)| has_nodes(level) && *size > u64::from(u32::MAX);
        if levels.iter().zip(&sizes).any(is_wide) {
            return Ok(false);
        }
        if let [first, next, ..] = levels.as_mut_slice()
            && first.kind() == LevelKind::DENSE
            && let Some((_, roots, _, _)) = next.nodes_mut()
        {
            roots.make_changeable(1)?;
            roots.resize(sizes[0])?;
        } else if levels.first().is_some_and(|first| first.kind() == LevelKind::DENSE) {
            return Ok(false);
        }
        levels.iter_mut().zip(&sizes).for_each(|(level, size)| level.resize(*size));
        self.set_dims(dims.to_vec(), wider);
        Ok(true)
    }

    /// The same by way of a list.
    fn grow_anew(&mut self, dims: &[u64]) -> Result<(), StorageError> {
        let (format, fill) = (self.format().clone(), self.fill());
        let mut list: Coo = self.convert(&Format::csf(self.order()))?.to_coo()?;
        for (column, size) in list.coords.iter_mut().zip(dims) {
            let mut wide = crate::coo::Coordinates::for_size(*size);
            (0..column.len()).filter_map(|k| column.get(k)).for_each(|coordinate| wide.push(coordinate));
            *column = wide;
        }
        list.dims = dims.to_vec();
        *self = Tensor::from_coo_filled(list, &format, fill)?;
        Ok(())
    }
}

/// True if the arrays of two formats are equally wide.
fn same_widths(one: &Format, other: &Format) -> bool {
    let levels = 0..one.order();
    levels.into_iter().all(|level| {
        (one.positions(level), one.coordinates(level)) == (other.positions(level), other.coordinates(level))
    })
}
