//! A tensor as its stored entries: a map from coordinates to values, which the oracle reads and writes.
//!
//! An entry that is in the map is *present*, also if its value is the fill value; any other is absent, and has the fill
//! value.

use std::collections::BTreeMap;

use half::{bf16, f16};
use lacunar_formats::{DType, Format, Level, LevelKind, One};
use lacunar_notation::BinaryFn;
use lacunar_runtime::Tensor;
use lacunar_runtime::coo::{Coo, Coordinates};
use lacunar_runtime::values::Values;
use num_complex::Complex;

use crate::scalar::Scalar;

/// The present entries of a tensor, in order of their coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct Entries {
    /// The size of each dimension.
    pub dims: Vec<u64>,
    /// The type of the values.
    pub dtype: DType,
    /// Coordinates and values.
    pub values: BTreeMap<Vec<u64>, Scalar>,
    /// The value of all other elements.
    pub fill: Scalar,
}

/// The largest number of entries that is made if every coordinate of a tensor has one.
pub const MAX_DENSE: u64 = 1 << 24;

impl Entries {
    /// No entries.
    pub fn empty(dims: Vec<u64>, dtype: DType) -> Entries {
        Entries { dims, dtype, values: BTreeMap::new(), fill: Scalar::zero(dtype) }
    }

    /// The same entries with another fill value.
    pub fn with_fill(self, fill: Scalar) -> Entries {
        Entries { fill, ..self }
    }

    /// The entries as a tensor.
    ///
    /// # Errors
    /// The format cannot hold them.
    pub fn packed(&self, format: &Format) -> Result<Tensor, lacunar_runtime::StorageError> {
        Tensor::from_coo_filled(self.to_coo(), format, self.fill.fill(self.dtype))
    }

    /// The entries of a coordinate list; values of one coordinate are added up, as packing does.
    ///
    /// # Errors
    /// A coordinate that is missing or not below its dimension's size.
    pub fn from_coo(coo: &Coo) -> Result<Entries, String> {
        let dtype = coo.values.dtype();
        let mut entries = Entries::empty(coo.dims.clone(), dtype);
        for (place, value) in scalars(&coo.values).into_iter().enumerate() {
            let coordinate = coordinate(coo, place)?;
            entries
                .values
                .entry(coordinate)
                .and_modify(|old| *old = old.binary(BinaryFn::Add, value, dtype))
                .or_insert(value);
        }
        Ok(entries)
    }

    /// A coordinate list of the entries, sorted.
    pub fn to_coo(&self) -> Coo {
        let mut coo = Coo::empty(self.dims.clone(), self.dtype);
        coo.coords = self.dims.iter().map(|&size| Coordinates::for_size(size)).collect();
        for (coordinate, value) in &self.values {
            for (column, &c) in coo.coords.iter_mut().zip(coordinate) {
                column.push(c);
            }
            push(&mut coo.values, *value);
        }
        coo
    }

    /// The same tensor with the entries that a format stores besides: all, if every level is dense; otherwise whole blocks of the
    /// dense levels below the last level that is not, and the padding of other levels: all between the first and the last entry, or
    /// from coordinate 0 on, as the packed tensor says.
    ///
    /// # Errors
    /// More than [`MAX_DENSE`] entries.
    pub fn stored_in(&self, format: &Format) -> Result<Entries, String> {
        let order = format.order();
        // With a map, padding is no entry.
        if format.map().is_some() {
            return Ok(self.clone());
        }
        let padded = |level: &Level| level.kind != LevelKind::DENSE && level.properties().padded;
        if format.levels().iter().any(padded) {
            let packed = self.packed(format).and_then(|tensor| tensor.to_coo());
            let stored = Entries::from_coo(&packed.map_err(|error| error.to_string())?)?;
            return Ok(stored.with_fill(self.fill));
        }
        let sparse = format.levels().iter().rposition(|level| level.kind != LevelKind::DENSE);
        let kept = sparse.map_or(0, |level| level + 1);
        if kept == order && order > 0 {
            return Ok(self.clone());
        }
        let filled = &format.mode_order()[kept..];
        let sizes: Vec<u64> = filled.iter().map(|&dimension| self.dims[dimension]).collect();
        let mut prefixes: Vec<Vec<u64>> = match sparse {
            None => vec![vec![0; order]],
            Some(_) => self.values.keys().map(|c| cleared(c, filled)).collect(),
        };
        prefixes.dedup();
        prefixes.sort();
        prefixes.dedup();
        let block = sizes.iter().try_fold(1u64, |product, &size| product.checked_mul(size));
        let total = block.and_then(|block| block.checked_mul(prefixes.len() as u64));
        if total.is_none_or(|total| total > MAX_DENSE) {
            return Err("too many entries for a test".to_string());
        }
        let mut stored = self.clone();
        for prefix in prefixes {
            for inner in coordinates(&sizes) {
                let mut coordinate = prefix.clone();
                for (&dimension, c) in filled.iter().zip(inner) {
                    coordinate[dimension] = c;
                }
                stored.values.entry(coordinate).or_insert(self.fill);
            }
        }
        Ok(stored)
    }
}

/// The same places; most have the value of the one before, so that there are runs of one value.
pub fn repeating(mut entries: Entries) -> Entries {
    let mut before = None;
    for (place, value) in entries.values.values_mut().enumerate() {
        match before {
            Some(before) if place % 7 != 3 && place % 5 != 4 => *value = before,
            _ => before = Some(*value),
        }
    }
    entries
}

/// The entries that a format can hold: below a parent of a level that has room for one coordinate, only those of the first. For
/// formats in which equal values share a position, most values are those of their neighbors.
pub fn fitting(entries: Entries, format: &Format) -> Entries {
    let entries = if format.shares_positions() { repeating(entries) } else { entries };
    let (levels, modes) = (format.levels(), format.mode_order());
    let single = |level: usize| levels[level].properties().single && (level == 0 || levels[level - 1].unique);
    let singles: Vec<usize> = (0..format.order()).filter(|&level| single(level)).collect();
    if singles.is_empty() || format.map().is_some() {
        return entries;
    }
    let mut first: BTreeMap<Vec<u64>, u64> = BTreeMap::new();
    let mut kept = Entries::empty(entries.dims.clone(), entries.dtype).with_fill(entries.fill);
    for (coordinate, value) in entries.values {
        let fits = singles.iter().all(|&level| {
            let parent = modes[..level].iter().map(|&mode| coordinate[mode]).collect::<Vec<u64>>();
            let own = coordinate[modes[level]];
            *first.entry([vec![level as u64], parent].concat()).or_insert(own) == own
        });
        if fits {
            kept.values.insert(coordinate, value);
        }
    }
    kept
}

fn cleared(coordinate: &[u64], dimensions: &[usize]) -> Vec<u64> {
    let mut coordinate = coordinate.to_vec();
    for &dimension in dimensions {
        coordinate[dimension] = 0;
    }
    coordinate
}

/// All coordinates of a space with these sizes, the last one fastest; one, the empty one, if there are no dimensions.
pub fn coordinates(sizes: &[u64]) -> impl Iterator<Item = Vec<u64>> + use<> {
    let sizes = sizes.to_vec();
    let first = (!sizes.contains(&0)).then(|| vec![0; sizes.len()]);
    std::iter::successors(first, move |last| {
        let mut next = last.clone();
        for dimension in (0..sizes.len()).rev() {
            next[dimension] += 1;
            if next[dimension] < sizes[dimension] {
                return Some(next);
            }
            next[dimension] = 0;
        }
        None
    })
}

/// The coordinate of entry `place` of a list.
///
/// # Errors
/// A coordinate that is missing or not below its dimension's size.
pub fn coordinate(coo: &Coo, place: usize) -> Result<Vec<u64>, String> {
    if coo.coords.len() != coo.dims.len() {
        return Err(format!("{} coordinate arrays for {} dimensions", coo.coords.len(), coo.dims.len()));
    }
    let mut found = Vec::with_capacity(coo.dims.len());
    for (dimension, (column, &size)) in coo.coords.iter().zip(&coo.dims).enumerate() {
        match column.get(place) {
            Some(c) if c < size => found.push(c),
            Some(c) => return Err(format!("coordinate {c} of dimension {dimension} is not below {size}")),
            None => return Err(format!("entry {place} has no coordinate of dimension {dimension}")),
        }
    }
    Ok(found)
}

/// The values of a list, one by one.
pub fn scalars(values: &Values) -> Vec<Scalar> {
    fn integers<T: Copy + Into<i128>>(v: &[T]) -> Vec<Scalar> {
        v.iter().map(|&x| Scalar::Int(x.into())).collect()
    }
    match values {
        Values::Bool(v) => v.iter().map(|&x| Scalar::Bool(x)).collect(),
        Values::Pattern(v) => vec![Scalar::Bool(true); v.len()],
        Values::I8(v) => integers(v),
        Values::I16(v) => integers(v),
        Values::I32(v) => integers(v),
        Values::I64(v) => integers(v),
        Values::U8(v) => integers(v),
        Values::U16(v) => integers(v),
        Values::U32(v) => integers(v),
        Values::U64(v) => integers(v),
        Values::F16(v) => v.iter().map(|&x| Scalar::Real(f64::from(x))).collect(),
        Values::BF16(v) => v.iter().map(|&x| Scalar::Real(f64::from(x))).collect(),
        Values::F32(v) => v.iter().map(|&x| Scalar::Real(f64::from(x))).collect(),
        Values::F64(v) => v.iter().map(|&x| Scalar::Real(x)).collect(),
        Values::C64(v) => v.iter().map(|&x| Scalar::Complex(Complex::new(f64::from(x.re), f64::from(x.im)))).collect(),
        Values::C128(v) => v.iter().map(|&x| Scalar::Complex(x)).collect(),
    }
}

/// Appends a value, converted to the list's type.
pub fn push(values: &mut Values, value: Scalar) {
    let cast = value.cast(values.dtype());
    let integer = if let Scalar::Int(value) = cast { value } else { 0 };
    let real = if let Scalar::Real(value) = cast { value } else { 0.0 };
    let complex = if let Scalar::Complex(value) = cast { value } else { Complex::new(0.0, 0.0) };
    match values {
        Values::Bool(v) => v.push(cast == Scalar::Bool(true)),
        Values::Pattern(v) => v.push(One),
        Values::I8(v) => v.push(integer as i8),
        Values::I16(v) => v.push(integer as i16),
        Values::I32(v) => v.push(integer as i32),
        Values::I64(v) => v.push(integer as i64),
        Values::U8(v) => v.push(integer as u8),
        Values::U16(v) => v.push(integer as u16),
        Values::U32(v) => v.push(integer as u32),
        Values::U64(v) => v.push(integer as u64),
        Values::F16(v) => v.push(f16::from_f32(real as f32)),
        Values::BF16(v) => v.push(bf16::from_f32(real as f32)),
        Values::F32(v) => v.push(real as f32),
        Values::F64(v) => v.push(real),
        Values::C64(v) => v.push(Complex::new(complex.re as f32, complex.im as f32)),
        Values::C128(v) => v.push(complex),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use super::*;

    fn one(dims: &[u64], at: &[u64]) -> Entries {
        let mut entries = Entries::empty(dims.to_vec(), DType::F64);
        entries.values.insert(at.to_vec(), Scalar::Real(5.0));
        entries
    }

    fn stored(entries: &Entries, format: &str) -> Vec<Vec<u64>> {
        let format = format.parse::<lacunar_formats::FormatSpec>().unwrap().resolve(entries.dims.len()).unwrap();
        entries.stored_in(&format).unwrap().values.into_keys().collect()
    }

    #[test]
    fn a_format_stores_whole_blocks_of_its_last_dense_levels() {
        let entries = one(&[2, 3], &[1, 2]);
        assert_eq!(stored(&entries, "csr"), [[1, 2]]);
        assert_eq!(stored(&entries, "sd"), [[1, 0], [1, 1], [1, 2]]);
        assert_eq!(stored(&entries, "sd:1,0"), [[0, 2], [1, 2]]);
        assert_eq!(stored(&entries, "dense").len(), 6);
        assert_eq!(stored(&one(&[2, 2, 2], &[0, 1, 1]), "sds"), [[0, 1, 1]]);
        assert_eq!(stored(&Entries::empty(vec![], DType::F64), ""), [Vec::<u64>::new()]);
    }

    #[test]
    fn lists_and_maps_hold_the_same() {
        let entries = one(&[2, 3], &[1, 2]);
        assert_eq!(Entries::from_coo(&entries.to_coo()), Ok(entries.clone()));
        let mut twice = entries.to_coo();
        twice.coords[0].push(1);
        twice.coords[1].push(2);
        push(&mut twice.values, Scalar::Real(1.5));
        assert_eq!(Entries::from_coo(&twice).unwrap().values[&vec![1, 2]], Scalar::Real(6.5));
        twice.dims[1] = 2;
        assert!(Entries::from_coo(&twice).is_err());
    }

    #[test]
    fn coordinates_of_an_empty_space() {
        assert_eq!(coordinates(&[3, 0]).count(), 0);
        assert_eq!(coordinates(&[]).count(), 1);
        assert_eq!(coordinates(&[2, 2]).collect::<Vec<_>>(), [[0, 0], [0, 1], [1, 0], [1, 1]]);
    }
}
