//! Conversions from and to the matrices of `faer`, dense and sparse.
//!
//! ```
//! use lacunar::{Format, Tensor};
//! # fn main() -> Result<(), lacunar::Error> {
//! let a = Tensor::from_entries(&[2, 2], &[(&[0, 1], 2.0), (&[1, 0], 3.0)], Format::csc())?;
//! let view = a.as_faer_csc::<u32>()?;
//! assert_eq!(view.row_idx_of_col(0).collect::<Vec<_>>(), [1]);
//! let x = Tensor::from_faer_mat(faer::Mat::<f64>::identity(2, 2).as_ref())?;
//! assert_eq!(x.to_dense()?, [1.0, 0.0, 0.0, 1.0]);
//! # Ok(())
//! # }
//! ```

use faer::sparse::{
    SparseColMat, SparseColMatRef, SparseRowMat, SparseRowMatRef, SymbolicSparseColMatRef, SymbolicSparseRowMatRef,
};
use faer::{Index, MatRef};
use lacunar_formats::Format;
use lacunar_runtime::{Buffer, Element, Tensor as DynTensor};

use super::compressed;
use crate::error::Error;
use crate::tensor::Tensor;

impl<T: Element> Tensor<T> {
    /// Takes a matrix of sparse columns as csc; without a copy if it is compressed, as most are.
    ///
    /// # Errors
    /// The rows of a column are not sorted, or occur twice.
    pub fn from_faer_csc<I: Index>(matrix: SparseColMat<I, T>) -> Result<Tensor<T>, Error> {
        let dims = [matrix.nrows(), matrix.ncols()];
        let (symbolic, values) = matrix.into_parts();
        let (_, _, pos, counts, crd) = symbolic.into_parts();
        take(dims, Format::csc(), pos, counts, crd, values)
    }

    /// Takes a matrix of sparse rows as csr; without a copy if it is compressed, as most are.
    ///
    /// # Errors
    /// The columns of a row are not sorted, or occur twice.
    pub fn from_faer_csr<I: Index>(matrix: SparseRowMat<I, T>) -> Result<Tensor<T>, Error> {
        let dims = [matrix.nrows(), matrix.ncols()];
        let (symbolic, values) = matrix.into_parts();
        let (_, _, pos, counts, crd) = symbolic.into_parts();
        take(dims, Format::csr(), pos, counts, crd, values)
    }

    /// A copy of a dense matrix.
    ///
    /// # Errors
    /// The number of elements overflows.
    pub fn from_faer_mat(matrix: MatRef<'_, T>) -> Result<Tensor<T>, Error> {
        let dims = vec![matrix.nrows() as u64, matrix.ncols() as u64];
        let elements = (0..matrix.nrows()).flat_map(|i| (0..matrix.ncols()).map(move |j| matrix[(i, j)]));
        Tensor::try_from(DynTensor::from_dense(dims, Buffer::from_vec(elements.collect()), &Format::dense(2))?)
    }

    /// A matrix in csc as one of `faer`, without a copy: with `I = u32`, or `u64` where the format says so.
    ///
    /// # Errors
    /// The tensor is stored otherwise, has indices of another type, or sizes beyond what `faer` allows.
    pub fn as_faer_csc<I: Index + Element>(&self) -> Result<SparseColMatRef<'_, I, T>, Error> {
        let View { dims: [rows, columns], pos, crd } = view(self, &Format::csc())?;
        Ok(SparseColMatRef::new(SymbolicSparseColMatRef::new_checked(rows, columns, pos, None, crd), self.values()))
    }

    /// A matrix in csr as one of `faer`, without a copy: with `I = u32`, or `u64` where the format says so.
    ///
    /// # Errors
    /// As [`Tensor::as_faer_csc`].
    pub fn as_faer_csr<I: Index + Element>(&self) -> Result<SparseRowMatRef<'_, I, T>, Error> {
        let View { dims: [rows, columns], pos, crd } = view(self, &Format::csr())?;
        Ok(SparseRowMatRef::new(SymbolicSparseRowMatRef::new_checked(rows, columns, pos, None, crd), self.values()))
    }

    /// A dense matrix, by rows or by columns, as one of `faer`, without a copy.
    ///
    /// # Errors
    /// The tensor is of another order, or has a level that is not dense.
    pub fn as_faer_mat(&self) -> Result<MatRef<'_, T>, Error> {
        let tensor = self.as_dyn();
        let [rows, columns] = compressed::dims(tensor)?;
        match (tensor.format().is_dense(), tensor.format().is_natural_order()) {
            (true, true) => Ok(MatRef::from_row_major_slice(self.values(), rows, columns)),
            (true, false) => Ok(MatRef::from_column_major_slice(self.values(), rows, columns)),
            (false, _) => Err(Error::Argument(format!("the tensor is stored as {}, not dense", tensor.format()))),
        }
    }

    /// A matrix as one of sparse columns of `faer`.
    ///
    /// # Errors
    /// The tensor is not of order 2, an index or a size does not fit into `I`, or memory is refused.
    pub fn to_faer_csc<I: Index>(&self) -> Result<SparseColMat<I, T>, Error> {
        let format = self.as_dyn().format();
        let wide = Format::csc().with_widths_of(format);
        compressed::dims(self.as_dyn())?;
        if *format != wide {
            return self.convert(&wide)?.to_faer_csc();
        }
        let [rows, columns] = sizes::<I>(self.as_dyn())?;
        let arrays = compressed::arrays(self.as_dyn()).and_then(|(pos, crd)| pos.indices().zip(crd.indices()));
        let (pos, crd) = arrays.ok_or_else(|| compressed::no_view::<I>(self.as_dyn(), "csc"))?;
        let fits = |value: usize| (value <= limit::<I>()).then(|| I::truncate(value));
        let (pos, crd) = (compressed::numbers(pos, fits)?, compressed::numbers(crd, fits)?);
        let symbolic = faer::sparse::SymbolicSparseColMat::new_checked(rows, columns, pos, None, crd);
        Ok(SparseColMat::new(symbolic, self.values().to_vec()))
    }
}

/// The tensor of the given arrays. `counts`: the number of entries of each row or column, if there are gaps behind them.
fn take<I: Index, T: Element>(
    dims: [usize; 2],
    format: Format,
    mut pos: Vec<I>,
    counts: Option<Vec<I>>,
    mut crd: Vec<I>,
    mut values: Vec<T>,
) -> Result<Tensor<T>, Error> {
    if let Some(counts) = counts {
        let mut end = 0;
        for (outer, count) in counts.iter().enumerate() {
            let (start, count) = (pos[outer].zx(), count.zx());
            crd.copy_within(start..start + count, end);
            values.copy_within(start..start + count, end);
            pos[outer] = I::truncate(end);
            end += count;
        }
        pos[counts.len()] = I::truncate(end);
    }
    // There may be room behind the last entry.
    let end = pos.last().map_or(0, |end| end.zx());
    crd.truncate(end);
    values.truncate(end);
    compressed::matrix(dims, format, compressed::indices(pos, I::zx), compressed::indices(crd, I::zx), values)
}

/// A compressed matrix: its sizes, positions and coordinates.
struct View<'a, I> {
    dims: [usize; 2],
    pos: &'a [I],
    crd: &'a [I],
}

/// The sizes and arrays of a matrix that is stored as `wanted`, such that `faer` accepts them.
fn view<'a, I: Index + Element, T: Element>(tensor: &'a Tensor<T>, wanted: &Format) -> Result<View<'a, I>, Error> {
    let tensor = tensor.as_dyn();
    let no_view = || compressed::no_view::<I>(tensor, &wanted.to_string());
    if *tensor.format() != wanted.clone().with_widths_of(tensor.format()) {
        return Err(no_view());
    }
    let dims = sizes::<I>(tensor)?;
    let (pos, crd) = compressed::arrays(tensor).ok_or_else(no_view)?;
    let arrays = pos.as_slice::<I>().zip(crd.as_slice::<I>());
    let (pos, crd) = arrays.ok_or_else(no_view)?;
    Ok(View { dims, pos, crd })
}

/// The sizes of a matrix, which `faer` wants to fit into the signed kin of its indices.
fn sizes<I: Index>(tensor: &DynTensor) -> Result<[usize; 2], Error> {
    let dims = compressed::dims(tensor)?;
    match dims.iter().find(|size| **size > limit::<I>()) {
        Some(size) => {
            let name = std::any::type_name::<I>();
            Err(Error::Argument(format!("size {size} is too large for indices of type {name}")))
        }
        None => Ok(dims),
    }
}

/// The largest number of the signed type of the size of `I`.
fn limit<I: Index>() -> usize {
    I::MAX.zx() >> 1
}
