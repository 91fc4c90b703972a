//! Made-up tensors, which the command's `-g` names.
//!
//! | kind | gives |
//! |---|---|
//! | `rand`, `r` | every entry random |
//! | `ones` | every entry 1 |
//! | `arange`, `d` | every entry, counting from 0 in row-major order |
//! | `sparse(p)` | each entry is stored with probability `p`; `s` is `sparse(0.07)`, `h` is `sparse(0.005)` |
//! | `uniform(n)` | `n` random entries in each row (along the last dimension) |
//!
//! Random real numbers are uniform in [0, 1), or (0, 1] where only some entries are stored, so that none of them is 0;
//! integers are uniform in 1 to 9; booleans are a coin, or true where only some entries are stored.
//!
//! The same kind, sizes, type and seed give the same tensor, with any number of threads. The generator is SplitMix64 (Steele, Lea, Flood:
//! *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014).
//!
//! ```
//! use lacunar_formats::{DType, Format};
//! use lacunar_runtime::random::{Generator, generate};
//! let kind: Generator = "uniform(2)".parse().unwrap();
//! let matrix = generate(&kind, vec![10, 30], DType::F64, &Format::csr(), 42).unwrap();
//! assert_eq!(matrix.nnz(), 20);
//! ```

use lacunar_formats::{DType, Format, Kind, Scalar};
pub use lacunar_formats::{Generator, GeneratorError};
use rustc_hash::FxHashSet;

use crate::alloc::make_room;
use crate::array::Array;
use crate::buffer::Buffer;
use crate::cast::{Convert, Number};
use crate::coo::{Coo, Coordinates};
use crate::dispatch::with_element;
use crate::error::{AllocError, StorageError};
use crate::fits::positions;
use crate::tensor::Tensor;
use crate::values::Element;

/// Makes a tensor. In a packed format, each unique element gets a value.
///
/// # Errors
/// The format does not fit, sizes overflow, or memory is refused.
pub fn generate(
    kind: &Generator,
    dims: Vec<u64>,
    dtype: DType,
    format: &Format,
    seed: u64,
) -> Result<Tensor, StorageError> {
    if dtype == DType::Pattern {
        return generate(kind, dims, DType::Bool, format, seed)?.cast(dtype);
    }
    if format.packing().is_some() {
        let (format, levels, count) = Tensor::packed_levels(&dims, format)?;
        let (_, _, _, values) = generate(kind, vec![count], dtype, &Format::dense(1), seed)?.into_parts();
        return Tensor::from_parts(dims, &format, levels, values);
    }
    let mut random = SplitMix(seed);
    let (mut coo, entries) = match *kind {
        Generator::Rand => return dense(dims, dtype, format, |_| random.number(dtype, false)),
        Generator::Ones => return dense(dims, dtype, format, |_| Number::Unsigned(1)),
        Generator::Arange => return dense(dims, dtype, format, |k| Number::Unsigned(k as u64)),
        Generator::Sparse(density) => sparse(&mut random, dims, dtype, density)?,
        Generator::Uniform(count) => uniform(&mut random, dims, dtype, count)?,
    };
    coo.values = with_element!(dtype, T => {
        let mut values = Vec::new();
        let refused = |_| AllocError { bytes: (entries * dtype.size()) as u64 };
        make_room(&mut values, entries).map_err(refused)?;
        values.extend((0..entries).map(|_| T::from_number(random.number(dtype, true))));
        T::wrap(values)
    });
    Tensor::from_coo(coo, format)
}

/// Makes a tensor whose elements that are not stored have this value. Zeros that are made up are entries then. In a packed format, and
/// in one without dimensions, the tensor is as [`generate`] makes it.
///
/// ```
/// use lacunar_formats::{DType, Format};
/// use lacunar_runtime::random::{Generator, generate_filled};
/// use lacunar_runtime::scalar_of;
/// let format = Format::sv();
/// let vector = generate_filled(&Generator::Arange, vec![3], DType::F64, &format, scalar_of(2.0), 0).unwrap();
/// assert_eq!(vector.to_dense::<f64>().unwrap(), [0.0, 1.0, 2.0]);
/// ```
///
/// # Errors
/// The format does not fit, sizes overflow, the fill value is of another type, or memory is refused.
pub fn generate_filled(
    kind: &Generator,
    dims: Vec<u64>,
    dtype: DType,
    format: &Format,
    fill: Scalar,
    seed: u64,
) -> Result<Tensor, StorageError> {
    if dims.is_empty() || format.packing().is_some() || fill.is_zero() {
        return generate(kind, dims, dtype, format, seed);
    }
    // A format that stores all that is made up, so that no zero is left out that the fill value would take the place of.
    let made_up = kind.format(dims.len());
    generate(kind, dims, dtype, &made_up, seed)?.with_fill(fill)?.convert(format)
}

fn dense(
    dims: Vec<u64>,
    dtype: DType,
    format: &Format,
    mut value: impl FnMut(usize) -> Number,
) -> Result<Tensor, StorageError> {
    let count = positions(1, &dims)?;
    let count = usize::try_from(count).map_err(|_| StorageError::overflow("the number of values"))?;
    let values = with_element!(dtype, T => {
        let mut values = Array::<T>::zeroed(count)?;
        for (k, slot) in values.iter_mut().enumerate() {
            *slot = T::from_number(value(k));
        }
        Buffer::from_array(values)
    });
    Tensor::from_dense(dims, values, format)
}

/// The coordinates of a list, and its number of entries.
type Pattern = (Coo, usize);

/// Goes over all coordinates in row-major order, from one stored entry straight to the next: the gaps between
/// successes of independent trials are distributed geometrically.
fn sparse(random: &mut SplitMix, dims: Vec<u64>, dtype: DType, density: f64) -> Result<Pattern, StorageError> {
    let total = positions(1, &dims)?;
    let expected = total as f64 * density;
    let mut coo = Coo::empty(dims, dtype);
    if density <= 0.0 {
        return Ok((coo, 0));
    }
    reserve(&mut coo, expected + 8.0 * expected.sqrt() + 8.0)?;
    let mut gap = || if density < 1.0 { ((-random.unit()).ln_1p() / (-density).ln_1p()) as u64 } else { 0 };
    let (mut place, mut entries) = (gap(), 0);
    while place < total {
        push(&mut coo, place);
        entries += 1;
        place = place.saturating_add(gap()).saturating_add(1);
    }
    Ok((coo, entries))
}

/// Draws the coordinates of each row without replacement (Floyd's method; Bentley, *Programming Pearls*, CACM 1987).
fn uniform(random: &mut SplitMix, dims: Vec<u64>, dtype: DType, count: u64) -> Result<Pattern, StorageError> {
    let columns = dims.last().copied().unwrap_or(1);
    let rows = positions(1, dims.split_last().map_or(&[], |(_, outer)| outer))?;
    positions(rows, &[columns])?;
    let count = count.min(columns);
    let mut coo = Coo::empty(dims, dtype);
    if count == 0 {
        return Ok((coo, 0));
    }
    reserve(&mut coo, rows as f64 * count as f64)?;
    let (mut drawn, mut row_entries, mut entries) = (FxHashSet::default(), Vec::new(), 0);
    for row in 0..rows {
        drawn.clear();
        for last in columns - count..columns {
            let pick = random.below(last + 1);
            if !drawn.insert(pick) {
                drawn.insert(last);
            }
        }
        row_entries.clear();
        row_entries.extend(drawn.iter().copied());
        row_entries.sort_unstable();
        for column in &row_entries {
            push(&mut coo, row * columns + column);
        }
        entries += row_entries.len();
    }
    Ok((coo, entries))
}

/// Makes room for about so many entries.
fn reserve(coo: &mut Coo, entries: f64) -> Result<(), AllocError> {
    let entries = entries as usize;
    let refused = |_| AllocError { bytes: (entries as u64).saturating_mul(8) };
    for column in &mut coo.coords {
        match column {
            Coordinates::U32(v) => make_room(v, entries).map_err(refused)?,
            Coordinates::U64(v) => make_room(v, entries).map_err(refused)?,
        }
    }
    Ok(())
}

/// Appends the coordinates of a place in row-major order.
fn push(coo: &mut Coo, place: u64) {
    let mut rest = place;
    for (column, &size) in coo.coords.iter_mut().zip(&coo.dims).rev() {
        column.push(rest % size);
        rest /= size;
    }
}

/// The SplitMix64 generator.
pub(crate) struct SplitMix(pub(crate) u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1); a multiple of 2^-53.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in `0 .. bound`, up to a bias of `bound / 2^64`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// A value for an element type; none that is zero if `stored`.
    fn number(&mut self, dtype: DType, stored: bool) -> Number {
        match dtype.kind() {
            Kind::Bool => Number::Unsigned(if stored { 1 } else { self.next() >> 63 }),
            Kind::Unsigned | Kind::Signed => Number::Unsigned(1 + self.below(9)),
            Kind::Real => Number::Real(self.real(dtype, stored)),
            Kind::Complex => Number::Complex(self.real(dtype.part(), stored), self.real(dtype.part(), stored)),
        }
    }

    /// Uniform in [0, 1), or in (0, 1] if `stored`, and exact in the type.
    fn real(&mut self, dtype: DType, stored: bool) -> f64 {
        let bits = match dtype {
            DType::BF16 => 8,
            DType::F16 => 11,
            DType::F32 => 24,
            _ => 53,
        };
        let unit = (self.next() >> (64 - bits)) as f64 / (1u64 << bits) as f64;
        if stored { 1.0 - unit } else { unit }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_and_printed() {
        for text in ["rand", "ones", "arange", "sparse(0.25)", "uniform(12)"] {
            assert_eq!(text.parse::<Generator>().unwrap().to_string(), text);
        }
        for text in ["", "sparse", "sparse()", "sparse(2)", "sparse(nan)", "uniform(-1)", "uniform(1", "rand()", "x"] {
            assert!(text.parse::<Generator>().is_err(), "{text}");
        }
    }

    #[test]
    fn every_kind_gives_every_type_and_depends_on_the_seed_alone() {
        for dtype in DType::ALL {
            for kind in ["rand", "ones", "arange", "sparse(0.3)", "uniform(3)"] {
                let kind: Generator = kind.parse().unwrap();
                let make = |seed| generate(&kind, vec![20, 30], dtype, &Format::csr(), seed).unwrap();
                assert_eq!(make(1), make(1));
                assert_eq!(make(1).dtype(), dtype);
                assert!(make(1).nnz() > 0);
                if matches!(kind, Generator::Sparse(_) | Generator::Uniform(_)) {
                    assert_ne!(make(1), make(2));
                }
                if matches!(kind, Generator::Sparse(_) | Generator::Uniform(_)) && dtype != DType::Pattern {
                    let stored = make(1);
                    assert_eq!(stored.convert(&Format::dense(2)).unwrap().convert(&Format::csr()).unwrap(), stored);
                }
            }
        }
    }

    #[test]
    fn counts_are_as_asked() {
        let make = |kind: &str, dims: Vec<u64>| {
            let format = Format::coo(dims.len());
            generate(&kind.parse().unwrap(), dims, DType::F64, &format, 7).unwrap()
        };
        assert_eq!(make("uniform(5)", vec![100, 7]).nnz(), 500);
        assert_eq!(make("uniform(50)", vec![100, 7]).nnz(), 700);
        assert_eq!(make("uniform(2)", vec![4, 5, 6]).nnz(), 40);
        assert_eq!(make("sparse(1)", vec![9, 11]).nnz(), 99);
        assert_eq!(make("sparse(0)", vec![9, 11]).nnz(), 0);
        assert_eq!(make("sparse(0.5)", vec![0, 11]).nnz(), 0);
        let nnz = make("sparse(0.01)", vec![1000, 1000]).nnz();
        assert!((9_400..10_600).contains(&nnz), "{nnz}");
        assert!(make("sparse(1e-18)", vec![1 << 31, 1 << 31]).nnz() < 40);
    }

    #[test]
    fn arange_counts_in_row_major_order_whatever_the_format() {
        let csc = generate(&Generator::Arange, vec![2, 3], DType::I32, &Format::csc(), 0).unwrap();
        let dense = csc.convert(&Format::dense(2)).unwrap();
        assert_eq!(dense.values().as_slice::<i32>(), Some(&[0, 1, 2, 3, 4, 5][..]));
    }

    #[test]
    fn sizes_that_do_not_fit_are_errors() {
        let huge = |kind: &str| generate(&kind.parse().unwrap(), vec![u64::MAX, 3], DType::F64, &Format::csf(2), 0);
        for kind in ["rand", "sparse(0.1)", "uniform(1)"] {
            assert!(matches!(huge(kind), Err(StorageError::Overflow { .. })), "{kind}");
        }
        let large = generate(&Generator::Rand, vec![1 << 60], DType::F64, &Format::dense(1), 0);
        assert!(matches!(large, Err(StorageError::Alloc(_))));
    }
}
