//! Tensors to and from the types of other crates, each behind a feature of the crate's name.
//!
//! A value that comes in gives its memory, if the layouts agree. A tensor goes out as a view (`as_...`) of its arrays,
//! or as a copy (`to_...`), which converts whatever the tensor's format is.
//!
//! Indices: arrays of 4 bytes a number become 32-bit ones, those of 8 bytes (so `usize`, too) 64-bit ones, and the
//! tensor's format says so; [`crate::Tensor::convert`] narrows them.

#[cfg(feature = "faer")]
mod faer;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(feature = "sprs")]
mod sprs;

#[cfg(any(feature = "faer", feature = "sprs"))]
mod compressed {
    //! The common layout of libraries of sparse matrices: compressed rows or columns.

    use lacunar_formats::{Format, IndexWidth};
    use lacunar_runtime::buffer::Indices;
    use lacunar_runtime::storage::LevelStorage;
    use lacunar_runtime::{Buffer, Element, Tensor as DynTensor};

    use crate::error::Error;
    use crate::tensor::Tensor;

    /// The matrix of compressed rows (`format` csr) or columns (csc), whose arrays are checked.
    pub fn matrix<T: Element>(
        dims: [usize; 2],
        format: Format,
        pos: Buffer,
        crd: Buffer,
        values: Vec<T>,
    ) -> Result<Tensor<T>, Error> {
        let outer = dims[format.mode_order()[0]] as u64;
        let format = format.with_widths(width_of(&pos), width_of(&crd));
        let levels = vec![LevelStorage::dense(outer), LevelStorage::compressed(pos, crd)];
        let dims = dims.iter().map(|&size| size as u64).collect();
        Tensor::try_from(DynTensor::from_parts(dims, &format, levels, Buffer::from_vec(values))?)
    }

    fn width_of(array: &Buffer) -> IndexWidth {
        IndexWidth::of(array.dtype()).unwrap_or(IndexWidth::W32)
    }

    /// The width of an index array of ours that is made of numbers of a type ([`indices`]).
    #[cfg(feature = "sprs")]
    pub fn width<I>() -> IndexWidth {
        if size_of::<I>() == size_of::<u64>() { IndexWidth::W64 } else { IndexWidth::W32 }
    }

    /// An index array of ours. Its memory is the vector's, where numbers have the same size.
    pub fn indices<I>(numbers: Vec<I>, value: impl Fn(I) -> usize) -> Buffer {
        if size_of::<I>() == size_of::<u64>() {
            Buffer::from_vec(numbers.into_iter().map(|number| value(number) as u64).collect::<Vec<u64>>())
        } else {
            Buffer::from_vec(numbers.into_iter().map(|number| value(number) as u32).collect::<Vec<u32>>())
        }
    }

    /// An index array of another library's numbers.
    pub fn numbers<I>(array: Indices<'_>, number: impl Fn(usize) -> Option<I>) -> Result<Vec<I>, Error> {
        let number = |value: u64| usize::try_from(value).ok().and_then(&number);
        let numbers = match array {
            Indices::U32(array) => array.iter().map(|&value| number(u64::from(value))).collect(),
            Indices::U64(array) => array.iter().map(|&value| number(value)).collect(),
            narrow => (0..narrow.len()).map(|k| number(narrow.get(k))).collect::<Option<Vec<I>>>(),
        };
        let name = std::any::type_name::<I>();
        numbers.ok_or_else(|| Error::Argument(format!("an index of the matrix does not fit into `{name}`")))
    }

    /// The sizes of a matrix.
    pub fn dims(tensor: &DynTensor) -> Result<[usize; 2], Error> {
        let sizes: Vec<usize> = tensor.dims().iter().filter_map(|&size| usize::try_from(size).ok()).collect();
        let order = tensor.order();
        <[usize; 2]>::try_from(sizes)
            .map_err(|_| Error::Argument(format!("a matrix is needed, but the tensor is of order {order}")))
    }

    /// Position and coordinate array of a matrix in csr or csc.
    pub fn arrays(tensor: &DynTensor) -> Option<(&Buffer, &Buffer)> {
        let compressed = tensor.levels().get(1)?;
        Some((compressed.pos()?, compressed.crd()?))
    }

    /// The error for a tensor that has no view.
    pub fn no_view<I>(tensor: &DynTensor, wanted: &str) -> Error {
        let (format, name) = (tensor.format(), std::any::type_name::<I>());
        Error::Argument(format!(
            "only {wanted} with indices of type {name} can be viewed without a copy, but the tensor is stored as {format} \
             with {} positions and {} coordinates",
            format.positions(1).dtype(),
            format.coordinates(1).dtype()
        ))
    }
}
