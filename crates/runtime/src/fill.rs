//! Fill values: the values of the elements that a tensor does not store.
//!
//! A tensor's fill value is 0 unless said otherwise. Padding (in blocks, slots, bands, dense levels below sparse ones)
//! holds it too, and is recognized by being equal to it, bit by bit.
//!
//! Packing and conversion know zeros only. If there is padding, the values of a tensor with another fill value are
//! *masked* on the way: each is combined with the fill value by exclusive or, which turns the fill value and nothing
//! else into zero bytes, and once more behind, which gives back the value.
//!
//! ```
//! use lacunar_formats::{DType, Format, One, Scalar};
//! use lacunar_runtime::{Buffer, Tensor};
//! let lengths = Buffer::from_vec(vec![f64::INFINITY, 3.0, 0.0, f64::INFINITY]);
//! let infinite = Scalar::real(DType::F64, f64::INFINITY);
//! let graph = Tensor::from_dense(vec![2, 2], lengths, &Format::dense(2)).unwrap().with_fill(infinite).unwrap();
//! let graph = graph.convert(&Format::csr()).unwrap();
//! assert_eq!(graph.values().as_slice::<f64>(), Some(&[3.0, 0.0][..]));
//! assert_eq!(graph.to_dense::<f64>().unwrap(), [f64::INFINITY, 3.0, 0.0, f64::INFINITY]);
//! ```
//!
//! Paper: Henry et al., *Compilation of Sparse Array Programming Models* (OOPSLA 2021), §3.

use lacunar_formats::{DType, Format, Scalar};

use crate::array::Array;
use crate::buffer::Buffer;
use crate::cast;
use crate::coo::Coo;
use crate::dispatch::{with_element, with_word};
use crate::error::{AllocError, StorageError};
use crate::fits::{check_type, positions};
use crate::parallel::{self, GRAIN};
use crate::storage::LevelStorage;
use crate::structure::StructureError;
use crate::tensor::Tensor;
use crate::values::Element;
use crate::words::Word;

impl Tensor {
    /// A tensor without entries; all zeros where levels are dense.
    ///
    /// # Errors
    /// The format has another order, cannot be empty, or memory is refused.
    pub fn zeros(dims: Vec<u64>, format: &Format, dtype: DType) -> Result<Tensor, StorageError> {
        Tensor::empty(dims, format, Scalar::zero(dtype))
    }

    /// A tensor without entries: every element is the fill value.
    ///
    /// # Errors
    /// The format has another order, cannot be empty, or memory is refused.
    pub fn empty(dims: Vec<u64>, format: &Format, fill: Scalar) -> Result<Tensor, StorageError> {
        Tensor::from_coo_filled(Coo::empty(dims, fill.ty), format, fill)
    }

    /// A tensor all of whose elements are a number, with a fill value of its type: sparse formats store nothing where both are the same.
    ///
    /// ```
    /// use lacunar_formats::{DType, Format, Scalar};
    /// use lacunar_runtime::Tensor;
    /// let [zero, two] = [0.0, 2.0].map(|value| Scalar::real(DType::F64, value));
    /// let full = Tensor::constant(vec![2, 3], &Format::csr(), two, zero).unwrap();
    /// assert_eq!((full.nnz(), full.to_dense::<f64>().unwrap()), (6, vec![2.0; 6]));
    /// assert_eq!(Tensor::constant(vec![2, 3], &Format::csr(), two, two).unwrap().nnz(), 0);
    /// ```
    ///
    /// # Errors
    /// The format has another order, sizes overflow, the fill value is of another type, or memory is refused.
    pub fn constant(dims: Vec<u64>, format: &Format, value: Scalar, fill: Scalar) -> Result<Tensor, StorageError> {
        // Sparse levels of any size are empty then; few formats always store something.
        if value == fill {
            match Tensor::empty(dims.clone(), format, fill) {
                Err(StorageError::NotRepresentable { .. }) => {}
                made => return made,
            }
        }
        let count =
            usize::try_from(positions(1, &dims)?).map_err(|_| StorageError::overflow("the number of values"))?;
        let values = with_element!(value.ty, T => {
            let mut values = Array::<T>::zeroed(count)?;
            values.fill(element_of::<T>(value));
            Buffer::from_array(values)
        });
        let order = dims.len();
        Tensor::from_dense(dims, values, &Format::dense(order))?.with_fill(fill)?.convert(format)
    }

    /// The same stored values with another fill value, which elements have that are not stored. Zeros of either sign are 0.
    ///
    /// # Errors
    /// The fill value is of another type than the elements, or not 0 in a packed format.
    pub fn with_fill(self, fill: Scalar) -> Result<Tensor, StorageError> {
        let fill = fill_of(fill, self.dtype(), self.format())?;
        Ok(self.filled(fill))
    }

    /// The same places with other values, as many as there are, and a fill value of their type. In padded formats, a
    /// value that is equal to the fill value bit by bit is no entry.
    ///
    /// # Errors
    /// The values are too few or too many, or of a type that the format cannot store; the fill value is of another type, or not 0 in a
    /// packed format; memory is refused.
    pub fn revalued(&self, values: Buffer, fill: Scalar) -> Result<Tensor, StorageError> {
        let (found, expected) = (values.len() as u64, self.nnz());
        if found != expected {
            return Err(StorageError::Length { what: "the array of values".into(), found, expected });
        }
        check_type(values.dtype(), self.format())?;
        let fill = fill_of(fill, values.dtype(), self.format())?;
        Ok(self.with_values(values, fill)?)
    }

    /// The same places with other values.
    pub(crate) fn with_values(&self, values: Buffer, fill: Scalar) -> Result<Tensor, AllocError> {
        let levels = self.levels().iter().map(LevelStorage::try_clone).collect::<Result<_, _>>()?;
        Ok(Tensor::assemble(self.dims().to_vec(), self.format().clone(), levels, values).filled(fill))
    }
}

impl Tensor {
    /// The number of stored values that are entries: places that a level leaves unused have none. If only values tell entries from
    /// padding, in blocks, along diagonals or in dense levels, these are the ones that differ from the fill value; otherwise all are,
    /// zeros too. A value that several places share is as many entries.
    ///
    /// ```
    /// use lacunar_formats::Format;
    /// use lacunar_runtime::{Buffer, Tensor};
    /// let values = Buffer::from_vec(vec![1.0, 0.0, 0.0, 2.0]);
    /// let tensor = Tensor::from_dense(vec![2, 2], values, &Format::bcsr(2, 2).unwrap()).unwrap();
    /// assert_eq!((tensor.entries(), tensor.nnz()), (2, 4));
    /// ```
    pub fn entries(&self) -> u64 {
        let format = self.format();
        let has_unused = format.levels().iter().any(|level| !level.properties().compact);
        if has_unused && format.map().is_none() && !format.is_padded() && !format.shares_positions() {
            // Without memory for the count, it returns the known bound: there are no more.
            return self.counted().unwrap_or(self.nnz());
        }
        if has_unused || format.shares_positions() {
            return self.count_entries();
        }
        if !format.is_padded() {
            return self.nnz();
        }
        with_word!(self.dtype(), V => {
            let (words, fill) = (self.values().as_words::<V>(), V::of(self.fill()));
            let count = |_, range: std::ops::Range<usize>| words[range].iter().filter(|word| **word != fill).count() as u64;
            parallel::map(parallel::chunks(words.len(), GRAIN), count).into_iter().sum()
        })
    }
}

/// A value as a scalar.
pub fn scalar_of<T: Element>(value: T) -> Scalar {
    value.to_scalar()
}

/// A scalar of type `T` as a value; zero, if it is of another type.
pub fn element_of<T: Element>(value: Scalar) -> T {
    if value.ty == T::DTYPE { T::from_scalar(value) } else { T::default() }
}

/// A buffer of one value.
fn buffer_of(value: Scalar) -> Result<Buffer, AllocError> {
    with_word!(value.ty, V => Ok(Buffer::from_words(Array::copy_of(&[V::of(value)])?, value.ty)))
}

/// A scalar as another type, converted as values are.
///
/// # Errors
/// The system refused the memory.
pub(crate) fn cast_scalar(value: Scalar, dtype: DType) -> Result<Scalar, AllocError> {
    Ok(first(&cast::cast(&buffer_of(value)?, dtype)?))
}

fn first(values: &Buffer) -> Scalar {
    let dtype = values.dtype();
    with_word!(dtype, V => values.as_words::<V>().first().map_or(Scalar::zero(dtype), |word| word.scalar(dtype)))
}

/// A fill value for elements of a type in a format; zeros of either sign are 0.
///
/// # Errors
/// It is of another type, or not 0 in a packed format.
pub(crate) fn fill_of(fill: Scalar, dtype: DType, format: &Format) -> Result<Scalar, StorageError> {
    if fill.ty != dtype {
        let (what, found, expected) = ("the fill value".to_string(), fill.ty, dtype.to_string());
        return Err(StorageError::Type { what, found, expected });
    }
    match format.packing() {
        _ if fill.is_zero() => Ok(Scalar::zero(dtype)),
        Some(_) => Err(StructureError::Fill { fill }.into()),
        None => Ok(fill),
    }
}

/// A tensor of order 0 whose element is the fill value.
///
/// # Errors
/// The system refused the memory.
pub(crate) fn filled_scalar(fill: Scalar) -> Result<Tensor, StorageError> {
    Ok(Tensor::assemble(Vec::new(), Format::dense(0), Vec::new(), buffer_of(fill)?).filled(fill))
}

/// The tensor with each value combined with the fill value by exclusive or.
///
/// # Errors
/// The system refused the memory.
pub(crate) fn mask(tensor: &Tensor, fill: Scalar) -> Result<Tensor, AllocError> {
    tensor.with_values(masked(tensor.values(), fill)?, Scalar::zero(fill.ty))
}

/// The same of a list.
///
/// # Errors
/// The system refused the memory.
pub(crate) fn mask_list(list: Coo, fill: Scalar) -> Result<Coo, StorageError> {
    let values = masked(&Buffer::from_values(list.values), fill)?.to_values()?;
    Ok(Coo { values, ..list })
}

fn masked(values: &Buffer, fill: Scalar) -> Result<Buffer, AllocError> {
    let dtype = values.dtype();
    with_word!(dtype, V => {
        let (from, with) = (values.as_words::<V>(), V::of(fill));
        Ok(Buffer::from_words(Array::of(from.len(), |k| from[k].xor(with))?, dtype))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use super::*;
    use crate::coo::Coordinates;
    use crate::values::Values;
    use num_complex::Complex;

    fn list(values: Values) -> Coo {
        let coords = vec![Coordinates::U32(vec![2, 0, 2]), Coordinates::U32(vec![1, 3, 1])];
        Coo { dims: vec![3, 4], coords, values }
    }

    fn formats() -> Vec<Format> {
        let words =
            ["csr", "csc", "coo", "dcsr", "dense", "sd", "ds:1,0", "dense:1,0", "bcsr(2,3)", "dia", "ell", "db", "dh"];
        let spec = |word: &str| word.parse::<lacunar_formats::FormatSpec>().unwrap().resolve(2);
        words.iter().filter_map(|word| spec(word).ok()).collect()
    }

    #[test]
    fn packed_formats_have_no_other_fill_value() {
        let packed = Format::packed("symmetric", 2).unwrap();
        for size in [0, 3] {
            let filled = Tensor::empty(vec![size, size], &packed, Scalar::real(DType::F64, 2.5));
            assert!(matches!(filled, Err(StorageError::Structure(_))), "{filled:?}");
        }
        let zeros = Tensor::zeros(vec![3, 3], &packed, DType::F64).unwrap();
        assert!(zeros.with_fill(Scalar::real(DType::F64, 2.5)).is_err());
    }

    #[test]
    fn elements_stay_the_same_in_every_format() {
        let fill = Scalar::real(DType::F64, 2.5);
        let coo = || list(Values::F64(vec![1.0, 2.5, 0.5]));
        let mut dense = [2.5; 12];
        (dense[9], dense[3]) = (1.5, 2.5);
        for from in formats() {
            let tensor = Tensor::from_coo_filled(coo(), &from, fill).unwrap();
            assert_eq!(tensor.to_dense::<f64>().unwrap(), dense, "{from}");
            for to in formats() {
                let converted = tensor.convert(&to).unwrap();
                assert_eq!(converted.fill(), fill, "{from} {to}");
                assert_eq!(converted.to_dense::<f64>().unwrap(), dense, "{from} {to}");
            }
        }
    }

    #[test]
    fn only_what_equals_the_fill_value_is_left_out() {
        let fill = Scalar::real(DType::F64, -1.0);
        let dense = Buffer::from_vec(vec![0.0, -1.0, -0.0, f64::NAN]);
        let tensor = Tensor::from_dense(vec![4], dense, &Format::dense(1)).unwrap().with_fill(fill).unwrap();
        assert_eq!(tensor.convert(&Format::sv()).unwrap().nnz(), 3);
    }

    #[test]
    fn a_scalar_without_entry_is_the_fill_value() {
        let scalar = Tensor::empty(vec![], &Format::dense(0), Scalar::int(DType::I32, 7)).unwrap();
        assert_eq!(scalar.values().as_slice::<i32>(), Some(&[7][..]));
    }

    #[test]
    fn casts_convert_it() {
        let tensor = Tensor::empty(vec![2], &Format::sv(), Scalar::real(DType::F64, -3.5)).unwrap();
        assert_eq!(tensor.cast(DType::I16).unwrap().fill(), Scalar::int(DType::I16, -3));
        assert_eq!(tensor.cast(DType::Bool).unwrap().to_dense::<bool>().unwrap(), [true; 2]);
        assert_eq!(tensor.cast(DType::C64).unwrap().fill(), scalar_of(Complex::new(-3.5f32, 0.0)));
    }

    #[test]
    fn it_is_of_the_type_of_the_elements_and_no_negative_zero() {
        let tensor = || Tensor::from_coo(list(Values::F64(vec![1.0; 3])), &Format::csr()).unwrap();
        assert!(tensor().with_fill(Scalar::int(DType::I64, 1)).is_err());
        assert_eq!(tensor().with_fill(Scalar::real(DType::F64, -0.0)).unwrap(), tensor());
    }

    #[test]
    fn scalars_of_all_types() {
        assert_eq!(scalar_of(-2i8), Scalar::int(DType::I8, -2));
        assert_eq!(scalar_of(u32::MAX), Scalar { ty: DType::U32, bits: u64::from(u32::MAX), imag: 0 });
        assert_eq!(scalar_of(Complex::new(1.0, -2.0)), Scalar::complex(DType::C128, 1.0, -2.0));
        assert_eq!(scalar_of(true), Scalar::bool(true));
        assert_eq!((element_of(scalar_of(-2i8)), element_of(scalar_of(1.5))), (-2i8, 1.5));
    }
}
