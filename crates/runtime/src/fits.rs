//! Formats and sizes: the tensors that a format can store, and the widths of its arrays.

use lacunar_formats::{DType, Format, Level};

use crate::error::StorageError;

/// Checks that elements of a type can be stored in a format: without values nothing tells padding.
///
/// # Errors
/// They cannot.
pub(crate) fn check_type(dtype: DType, format: &Format) -> Result<(), StorageError> {
    match dtype == DType::Pattern && format.is_padded() {
        true => Err(StorageError::PaddedPattern { format: Box::new(format.clone()) }),
        false => Ok(()),
    }
}

/// Checks that sizes of dimensions, and sums of two of them, can be computed with: they are signed numbers of 64 bits, as in kernels.
///
/// # Errors
/// One is not.
pub(crate) fn check_sizes(dims: &[u64]) -> Result<(), StorageError> {
    let large = dims.iter().enumerate().find(|(_, size)| i64::try_from(**size).is_err());
    large.map_or(Ok(()), |(dimension, size)| {
        Err(StorageError::overflow(format!("size {size} of dimension {dimension}, as a signed number,")))
    })
}

/// True if a format has slots: entries that differ in other coordinates may be in any of them.
pub(crate) fn has_slots(format: &Format) -> bool {
    format.map().is_some_and(|map| map.ordinal().is_some())
}

/// The sizes of the levels, outermost first.
pub(crate) fn level_sizes(dims: &[u64], format: &Format) -> Vec<u64> {
    format.mode_order().iter().map(|&dimension| dims[dimension]).collect()
}

/// The format with index arrays wide enough for the dimensions and the number of entries.
pub(crate) fn widen(format: &Format, dims: &[u64], entries: u64) -> Format {
    let dims: Vec<Option<u64>> = dims.iter().copied().map(Some).collect();
    format.fitted(&dims, entries)
}

/// A plain format for any tensor with so many entries: rows, or compressed levels where most rows would be empty.
pub(crate) fn plain_format(dims: &[u64], entries: u64) -> Format {
    let order = dims.len();
    let rows_fit = dims.first().is_some_and(|&rows| rows / ROWS <= entries);
    let level = |level: usize| if level == 0 && order > 1 && rows_fit { Level::DENSE } else { Level::COMPRESSED };
    let natural = (0..order).collect();
    Format::new((0..order).map(level).collect(), natural).unwrap_or_else(|_| Format::csf(order))
}

/// Rows without entries are as many as this for each entry, at most, where every row is written down.
const ROWS: u64 = 4;

/// The format of a dense level over a dimension, and compressed ones over the others.
///
/// # Errors
/// There are too many dimensions.
pub(crate) fn by_rows(order: usize, first: usize) -> Result<Format, StorageError> {
    let modes = std::iter::once(first).chain((0..order).filter(|d| *d != first)).collect();
    let levels = (0..order).map(|level| if level == 0 { Level::DENSE } else { Level::COMPRESSED }).collect();
    Format::new(levels, modes).map_err(|_| StorageError::overflow("the number of dimensions"))
}

/// The distance between neighbors of each level in row-major order.
pub(crate) fn strides(sizes: &[u64]) -> Result<Vec<u64>, StorageError> {
    let mut strides = vec![1u64; sizes.len()];
    for level in (1..sizes.len()).rev() {
        strides[level - 1] = positions(strides[level], &sizes[level..=level])?;
    }
    Ok(strides)
}

/// The number of positions of dense levels under `parents` positions.
pub(crate) fn positions(parents: u64, sizes: &[u64]) -> Result<u64, StorageError> {
    sizes
        .iter()
        .try_fold(parents, |product, &size| product.checked_mul(size))
        .ok_or_else(|| StorageError::overflow("the number of values"))
}
