//! Makes a list of entries, or an array of all values, from levels of arrays.
//!
//! First the arrays are read, outermost first, and the length of each is compared with the number of positions above it: so
//! levels whose sizes are only announced take no memory. Then coordinates are repeated for the positions below them:
//!
//! ```text
//! CSR of 2 x 3        dense         rows 0 1
//! pointers_to_1 0 2 3 sparse        rows 0 0 1   columns 0 2 2
//! indices_1     0 2 2
//! ```
//!
//! Entries may stand in any order, though the specification wants them sorted; an entry that occurs twice is an error. If a
//! matrix has a structure, the other triangle is added. A fill value other than 0 is refused, unless all levels are dense.

use std::cmp::Ordering;
use std::path::Path;

use lacunar_formats::{DType, Format, One};

use super::arrays::Arrays;
use super::descriptor::{Descriptor, Level};
use super::group;
use super::types::ValueType;
use crate::alloc::make_room;
use crate::buffer::Buffer;
use crate::coo::{Coo, Coordinates};
use crate::dispatch::{with_element, with_values};
use crate::error::StorageError;
use crate::io::error::{IoError, Place};
use crate::io::mirror::{Mirror, expected_on_diagonal};
use crate::io::progress::Progress;
use crate::io::{Data, Dense, FieldKind, FileFormat, Metadata, PatternValues, ReadOptions, Symmetry};
use crate::tensor::Tensor;
use crate::values::{Element, Values};

/// The most positions of dense levels that one value may stand for.
const MOST_REPEATED: u64 = 1 << 26;

/// Reads the tensor in a group of a file: the named one, or the only one.
pub(in crate::io) fn read_file(
    path: &Path,
    group: Option<&str>,
    options: &ReadOptions,
) -> Result<(Data, Metadata), IoError> {
    let (opened, text) = group::open(path, group, options.progress)?;
    let place = Place::new(path, group::ATTRIBUTE);
    let descriptor = Descriptor::read(&text, &place)?;
    let label = format!("reading {}", path.file_name().unwrap_or_default().to_string_lossy());
    let mut arrays = Arrays {
        group: &opened.group,
        file_bytes: opened.bytes,
        descriptor: &descriptor,
        place: Place::new(path, "array"),
        progress: Progress::start(label, opened.bytes, options.progress),
    };
    let (levels, positions) = read_levels(&mut arrays, &descriptor)?;
    if positions != descriptor.stored {
        let expected = format!("{positions}, as there are so many values");
        return Err(place.within("number_of_stored_values").invalid(expected, descriptor.stored.to_string()));
    }
    let (values, field) = read_values(&mut arrays, &levels, positions, options.pattern)?;
    let metadata = Metadata {
        format: FileFormat::Binsparse,
        compression: opened.compression,
        field,
        symmetry: descriptor.symmetry,
        stored: descriptor.stored,
    };
    let data = if levels.iter().all(|level| matches!(level, Stored::Dense(_))) {
        Data::Dense(dense(&descriptor, values, &place)?)
    } else {
        check_fill(&mut arrays)?;
        Data::Coordinate(list(&descriptor, &levels, values, positions, &place)?)
    };
    Ok((data, metadata))
}

/// A level with its arrays.
enum Stored {
    /// Every coordinate of a dimension of this size.
    Dense(u64),
    /// The start of the entries under each position, unless there is one position only, and the coordinates.
    Sparse(Option<Vec<u64>>, Vec<Coordinates>),
}

/// Reads all levels, and counts the positions of the innermost.
fn read_levels(arrays: &mut Arrays<'_>, descriptor: &Descriptor) -> Result<(Vec<Stored>, u64), IoError> {
    let (mut levels, mut positions, mut depth) = (Vec::new(), 1u64, 0);
    for level in &descriptor.levels {
        let sizes: Vec<u64> = descriptor.order[depth..].iter().map(|&dimension| descriptor.shape[dimension]).collect();
        match level {
            Level::Dense => {
                let below = if positions == 0 || sizes[0] == 0 { Some(0) } else { positions.checked_mul(sizes[0]) };
                let too_large = || arrays.place.too_large("the places of its dense levels do not fit into 64 bits");
                positions = below.ok_or_else(too_large)?;
                levels.push(Stored::Dense(sizes[0]));
                depth += 1;
            }
            Level::Sparse(rank) => {
                let starts = if depth == 0 { None } else { Some(starts(arrays, depth, positions)?) };
                let mut count = starts.as_ref().map(|starts| starts.last().copied().unwrap_or(0));
                let mut columns = Vec::with_capacity(*rank);
                for (place, &size) in sizes.iter().enumerate().take(*rank) {
                    let numbers = arrays.numbers(&format!("indices_{}", depth + place), count)?;
                    count = Some(numbers.len() as u64);
                    columns.push(coordinates(arrays, numbers, size, depth + place)?);
                }
                positions = count.unwrap_or(0);
                levels.push(Stored::Sparse(starts, columns));
                depth += rank;
            }
        }
    }
    Ok((levels, positions))
}

/// Reads the start of the coordinates under each of `positions` positions.
fn starts(arrays: &mut Arrays<'_>, depth: usize, positions: u64) -> Result<Vec<u64>, IoError> {
    let name = format!("pointers_to_{depth}");
    let starts = arrays.numbers(&name, positions.checked_add(1))?;
    if starts.first() != Some(&0) || !starts.is_sorted() {
        return Err(arrays.place.within(&name).invalid("numbers that begin with 0 and do not descend", "others"));
    }
    Ok(starts)
}

/// Makes coordinates of numbers, each of which has to be below the size of the dimension.
fn coordinates(arrays: &Arrays<'_>, numbers: Vec<u64>, size: u64, depth: usize) -> Result<Coordinates, IoError> {
    if let Some(outside) = numbers.iter().find(|&&number| number >= size) {
        let place = arrays.place.within(&format!("indices_{depth}"));
        let expected = match size {
            0 => "no coordinate, as the dimension has size 0".to_string(),
            size => format!("coordinates from 0 to {}", size - 1),
        };
        return Err(place.invalid(expected, outside.to_string()));
    }
    Ok(match Coordinates::for_size(size) {
        Coordinates::U32(_) => Coordinates::U32(numbers.into_iter().map(|number| number as u32).collect()),
        Coordinates::U64(_) => Coordinates::U64(numbers),
    })
}

/// Reads the values, one for each position, and tells their kind in the file. Other programs write a pattern as one `true` that
/// stands for all; if the caller asks for places, one 1 of any type is a pattern as well.
fn read_values(
    arrays: &mut Arrays<'_>,
    levels: &[Stored],
    positions: u64,
    pattern: PatternValues,
) -> Result<(Values, FieldKind), IoError> {
    let (values, ValueType { iso, .. }) = arrays.values("values", positions)?;
    let kind = FieldKind::of(values.dtype());
    if !iso {
        return Ok((values, kind));
    }
    let place = arrays.place.within("values");
    // Positions of dense levels are only announced, unless coordinates are below them.
    if matches!(levels.last(), None | Some(Stored::Dense(_))) && positions > MOST_REPEATED {
        return Err(place.too_large(&format!("one value for {positions} places")));
    }
    let is_sparse = levels.iter().any(|level| matches!(level, Stored::Sparse(..)));
    let (value, kind) = match (is_sparse && is_one(&values), pattern, values.dtype()) {
        (true, PatternValues::Places, _) => (Values::Pattern(vec![One]), FieldKind::Pattern),
        (true, PatternValues::Ones, DType::Bool) => (Values::F64(vec![1.0]), FieldKind::Pattern),
        (true, PatternValues::True, DType::Bool) => (values, FieldKind::Pattern),
        _ => (values, kind),
    };
    let all = with_values!(value, value => filled(&value, positions))
        .ok_or_else(|| place.too_large("no memory for its values"));
    Ok((all?, kind))
}

/// `count` copies of a value.
fn filled<T: Element>(value: &[T], count: u64) -> Option<Values> {
    let count = usize::try_from(count).ok()?;
    let mut all = Vec::new();
    make_room(&mut all, count).ok()?;
    all.resize(count, value.first().copied().unwrap_or_default());
    Some(T::wrap(all))
}

/// True if there is one value, and it is 1 or true.
fn is_one(values: &Values) -> bool {
    match values {
        Values::Bool(values) => values == &[true],
        Values::I8(values) => values == &[1],
        Values::I16(values) => values == &[1],
        Values::I32(values) => values == &[1],
        Values::I64(values) => values == &[1],
        Values::U8(values) => values == &[1],
        Values::U16(values) => values == &[1],
        Values::U32(values) => values == &[1],
        Values::U64(values) => values == &[1],
        Values::F32(values) => values == &[1.0],
        Values::F64(values) => values == &[1.0],
        _ => false,
    }
}

/// Checks that elements that are not stored are 0.
fn check_fill(arrays: &mut Arrays<'_>) -> Result<(), IoError> {
    if !arrays.descriptor.fill {
        return Ok(());
    }
    let (fill, _) = arrays.values("fill_value", 1)?;
    fn zeros<T: Element>(values: &[T]) -> bool {
        values.iter().all(|value| *value == T::default())
    }
    if with_values!(&fill, values => zeros(values)) {
        Ok(())
    } else {
        Err(arrays.place.within("fill_value").invalid("0", "another value"))
    }
}

/// An array of all values, the last dimension varying fastest.
fn dense(descriptor: &Descriptor, values: Values, place: &Place) -> Result<Dense, IoError> {
    let dims = descriptor.shape.clone();
    let natural = descriptor.order.is_sorted();
    let values = match natural || values.is_empty() {
        true => values,
        false => permuted(descriptor, values).map_err(|error| place.too_large(&error.to_string()))?,
    };
    let mut dense = Dense { dims, values };
    if let (false, &[rows, _]) = (descriptor.symmetry == Symmetry::General, dense.dims.as_slice()) {
        let rows = rows as usize;
        with_values!(&mut dense.values, values => mirror_array(values, rows, descriptor, &place.within("structure")))?;
    }
    Ok(dense)
}

/// The values in the order of the dimensions, from values that are stored in another order.
fn permuted(descriptor: &Descriptor, values: Values) -> Result<Values, StorageError> {
    let order = descriptor.order.len();
    let stored: Vec<u64> = descriptor.order.iter().map(|&dimension| descriptor.shape[dimension]).collect();
    let mut back = vec![0; order];
    for (place, &dimension) in descriptor.order.iter().enumerate() {
        back[dimension] = place;
    }
    // Dimension `back[d]` of the stored array is dimension `d`: stored in that order, it is the wanted array.
    let array = Tensor::from_dense(stored, Buffer::from_values(values), &Format::dense(order))?;
    let format = Format::dense(order).with_mode_order(back);
    let format = format.map_err(|_| StorageError::overflow("the order of the dimensions"))?;
    let array = array.convert(&format)?;
    with_element!(array.dtype(), T => {
        Ok(Element::wrap(array.values().as_slice::<T>().unwrap_or_default().to_vec()))
    })
}

/// Writes the mirror image of one triangle of a square array over the other.
fn mirror_array<T: Mirror>(
    values: &mut [T],
    rows: usize,
    descriptor: &Descriptor,
    place: &Place,
) -> Result<(), IoError> {
    let symmetry = check_hermitian::<T>(descriptor, place)?;
    for row in 0..rows {
        if !values[row * rows + row].fits_diagonal(symmetry) {
            return Err(place.invalid(expected_on_diagonal(symmetry), format!("another at ({row}, {row})")));
        }
        for column in 0..row {
            let (lower, upper) = (row * rows + column, column * rows + row);
            let (from, to) = if descriptor.upper { (upper, lower) } else { (lower, upper) };
            values[to] = values[from].mirror(symmetry).ok_or_else(|| no_negative(place))?;
        }
    }
    Ok(())
}

/// The symmetry; an error if the type of the values does not allow it.
fn check_hermitian<T: Element>(descriptor: &Descriptor, place: &Place) -> Result<Symmetry, IoError> {
    match descriptor.symmetry == Symmetry::Hermitian && !T::DTYPE.is_complex() {
        true => Err(place.invalid("complex values of a Hermitian matrix", format!("type {}", T::DTYPE))),
        false => Ok(descriptor.symmetry),
    }
}

fn no_negative(place: &Place) -> IoError {
    place.invalid("values whose negatives are of their type", "another")
}

/// The entries, with their mirror images.
fn list(
    descriptor: &Descriptor,
    levels: &[Stored],
    values: Values,
    positions: u64,
    place: &Place,
) -> Result<Coo, IoError> {
    let dims = descriptor.shape.clone();
    if positions == 0 {
        return Ok(Coo::empty(dims, values.dtype()));
    }
    let stored = expanded(levels);
    if let Some(entry) = repeated(&stored, values.len()) {
        let found = format!("({}) twice", entry.iter().map(u64::to_string).collect::<Vec<_>>().join(", "));
        return Err(place.invalid("every entry once", found));
    }
    let mut columns: Vec<Option<Coordinates>> = dims.iter().map(|_| None).collect();
    for (column, &dimension) in stored.into_iter().zip(&descriptor.order) {
        columns[dimension] = Some(column);
    }
    let coords = columns.into_iter().flatten().collect();
    let mut coo = Coo { dims, coords, values };
    if let (false, [rows, columns]) = (descriptor.symmetry == Symmetry::General, coo.coords.as_mut_slice()) {
        let place = place.within("structure");
        with_values!(&mut coo.values, values => mirror_list(values, rows, columns, descriptor, &place))?;
    }
    Ok(coo)
}

/// The coordinates of each dimension, in the order of the levels: outer coordinates are repeated for each position below them.
/// There is at least one position, so that no count is larger than the number of elements that were read.
fn expanded(levels: &[Stored]) -> Vec<Coordinates> {
    let (mut columns, mut count): (Vec<Coordinates>, usize) = (Vec::new(), 1);
    for level in levels {
        match level {
            Stored::Dense(size) => {
                for column in &mut columns {
                    *column = gathered(column, (0..count).flat_map(|place| (0..*size).map(move |_| place)));
                }
                let all = (0..count).flat_map(|_| 0..*size);
                columns.push(match Coordinates::for_size(*size) {
                    Coordinates::U32(_) => Coordinates::U32(all.map(|coordinate| coordinate as u32).collect()),
                    Coordinates::U64(_) => Coordinates::U64(all.collect()),
                });
                count *= *size as usize;
            }
            Stored::Sparse(starts, found) => {
                if let Some(starts) = starts {
                    for column in &mut columns {
                        let below = |(place, range): (usize, &[u64])| (range[0]..range[1]).map(move |_| place);
                        *column = gathered(column, starts.windows(2).enumerate().flat_map(below));
                    }
                }
                count = found.first().map_or(0, Coordinates::len);
                columns.extend(found.iter().cloned());
            }
        }
    }
    columns
}

/// The coordinates at some places.
fn gathered(column: &Coordinates, places: impl Iterator<Item = usize>) -> Coordinates {
    match column {
        Coordinates::U32(column) => Coordinates::U32(places.map(|place| column[place]).collect()),
        Coordinates::U64(column) => Coordinates::U64(places.map(|place| column[place]).collect()),
    }
}

/// An entry that occurs twice. If entries ascend, as they should, one look at each tells that there is none.
fn repeated(columns: &[Coordinates], count: usize) -> Option<Vec<u64>> {
    let entry = |place: usize| columns.iter().map(move |column| column.get(place).unwrap_or(0));
    let compare = |a: usize, b: usize| entry(a).cmp(entry(b));
    if (1..count).all(|place| compare(place - 1, place) == Ordering::Less) {
        return None;
    }
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_unstable_by(|&a, &b| compare(a, b));
    let twice = places.windows(2).find(|pair| compare(pair[0], pair[1]) == Ordering::Equal)?;
    Some(entry(twice[0]).collect())
}

/// Adds the mirror image of every entry off the diagonal.
fn mirror_list<T: Mirror>(
    values: &mut Vec<T>,
    rows: &mut Coordinates,
    columns: &mut Coordinates,
    descriptor: &Descriptor,
    place: &Place,
) -> Result<(), IoError> {
    let symmetry = check_hermitian::<T>(descriptor, place)?;
    for entry in 0..values.len() {
        let (row, column) = (rows.get(entry).unwrap_or(0), columns.get(entry).unwrap_or(0));
        let value = values[entry];
        if row == column {
            if !value.fits_diagonal(symmetry) {
                return Err(place.invalid(expected_on_diagonal(symmetry), format!("another at ({row}, {row})")));
            }
            continue;
        }
        if (row < column) != descriptor.upper {
            let triangle = if descriptor.upper { "upper" } else { "lower" };
            let expected = format!("entries of the {triangle} triangle only, which stand for the others");
            return Err(place.invalid(expected, format!("one at ({row}, {column})")));
        }
        values.push(value.mirror(symmetry).ok_or_else(|| no_negative(place))?);
        rows.push(column);
        columns.push(row);
    }
    Ok(())
}
