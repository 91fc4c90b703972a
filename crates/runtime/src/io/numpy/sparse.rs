//! The arrays of a sparse matrix of SciPy, as a list of entries.
//!
//! | format      | arrays besides `data`, `shape`, `format`                                       |
//! |-------------|--------------------------------------------------------------------------------|
//! | `csr` `csc` | `indptr`: where rows (columns) begin in `indices`, their columns (rows)         |
//! | `bsr`       | the same of blocks, which are the first dimension of `data`                     |
//! | `dia`       | `offsets`: that of each row of `data`, whose column `j` is that of the matrix   |
//! | `coo`       | `row` and `col`, or `coords`, which has a row for each dimension                |
//!
//! PyData's `sparse` writes `coords` and no format. Zeros in blocks and along diagonals only fill up and are left out.

use std::collections::BTreeSet;

use super::archive::Archive;
use crate::coo::{Coo, Coordinates};
use crate::dispatch::with_values;
use crate::io::Dense;
use crate::io::error::IoError;
use crate::values::{Element, Values};

/// Reads the arrays, of which `data` and `shape` are there.
pub(super) fn read(archive: &mut Archive<'_>, names: &BTreeSet<String>) -> Result<Coo, IoError> {
    let dims = numbers(archive, "shape", None)?;
    let data = archive.array("data")?;
    let word = if names.contains("format") { archive.word("format")? } else { b"coo".to_vec() };
    if names.contains("fill_value") {
        let fill = archive.array("fill_value")?.values;
        if with_values!(&fill, values => values.iter().any(|value| !is_zero(value))) {
            return Err(archive.place("fill_value").invalid("0", "another value"));
        }
    }
    let order = dims.len();
    let mut list = List::new(dims);
    match word.as_slice() {
        b"coo" if names.contains("coords") => coords(archive, &mut list, &data)?,
        b"coo" if order == 2 => row_and_col(archive, &mut list, &data)?,
        b"csr" if order == 2 => compressed(archive, &mut list, &data, [0, 1])?,
        b"csc" if order == 2 => compressed(archive, &mut list, &data, [1, 0])?,
        b"bsr" if order == 2 => blocks(archive, &mut list, &data)?,
        b"dia" if order == 2 => diagonals(archive, &mut list, &data)?,
        _ => {
            let found = format!("'{}' of order {order}", word.escape_ascii());
            return Err(archive.place("format").invalid("csr, csc, bsr, dia or coo, of matrices", found));
        }
    }
    let places = list.places.as_deref();
    let values = match places {
        None => data.values,
        Some(places) => with_values!(&data.values, from => {
            Element::wrap(places.iter().map(|&place| from[place]).collect::<Vec<_>>())
        }),
    };
    Ok(Coo { dims: list.dims, coords: list.coords, values })
}

/// Entries of a tensor.
struct List {
    dims: Vec<u64>,
    coords: Vec<Coordinates>,
    /// The places of the values that stay; `None` if all do, in their order.
    places: Option<Vec<usize>>,
}

impl List {
    fn new(dims: Vec<u64>) -> List {
        let coords = dims.iter().map(|&size| Coordinates::for_size(size)).collect();
        List { dims, coords, places: None }
    }

    /// Adds a coordinate of dimension `dimension`, if it is one.
    fn push(&mut self, dimension: usize, coordinate: u64) -> Result<(), String> {
        let size = self.dims[dimension];
        if coordinate >= size {
            return Err(coordinate.to_string());
        }
        self.coords[dimension].push(coordinate);
        Ok(())
    }
}

/// Whole numbers from 0, so many if it is said.
fn numbers(archive: &mut Archive<'_>, name: &str, count: Option<usize>) -> Result<Vec<u64>, IoError> {
    let Dense { dims, values } = archive.array(name)?;
    if dims.len() != 1 || count.is_some_and(|count| count != values.len()) {
        let expected =
            count.map_or("whole numbers in one dimension".to_string(), |count| format!("{count} whole numbers"));
        return Err(archive.place(name).invalid(expected, format!("an array of sizes {dims:?}")));
    }
    signed(archive, name, &values)?
        .into_iter()
        .map(|number| {
            u64::try_from(number).map_err(|_| archive.place(name).invalid("whole numbers from 0", number.to_string()))
        })
        .collect()
}

/// Whole numbers.
fn signed(archive: &Archive<'_>, name: &str, values: &Values) -> Result<Vec<i64>, IoError> {
    fn all<T: Copy + TryInto<i64>>(values: &[T]) -> Option<Vec<i64>> {
        values.iter().map(|&value| value.try_into().ok()).collect()
    }
    let numbers = match values {
        Values::I8(values) => all(values),
        Values::I16(values) => all(values),
        Values::I32(values) => all(values),
        Values::I64(values) => all(values),
        Values::U8(values) => all(values),
        Values::U16(values) => all(values),
        Values::U32(values) => all(values),
        Values::U64(values) => all(values),
        other if other.is_empty() => Some(Vec::new()),
        _ => None,
    };
    numbers.ok_or_else(|| {
        archive.place(name).invalid("whole numbers below 2^63", format!("values of type {}", values.dtype()))
    })
}

fn row_and_col(archive: &mut Archive<'_>, list: &mut List, data: &Dense) -> Result<(), IoError> {
    for (dimension, name) in ["row", "col"].into_iter().enumerate() {
        for number in numbers(archive, name, Some(data.values.len()))? {
            list.push(dimension, number).map_err(|found| outside(archive, name, list.dims[dimension], found))?;
        }
    }
    one_dimension(archive, data)
}

fn coords(archive: &mut Archive<'_>, list: &mut List, data: &Dense) -> Result<(), IoError> {
    let Dense { dims, values } = archive.array("coords")?;
    let (order, entries) = (list.dims.len() as u64, data.values.len() as u64);
    if dims != [order, entries] {
        let expected = format!("an array of sizes [{order}, {entries}]");
        return Err(archive.place("coords").invalid(expected, format!("one of sizes {dims:?}")));
    }
    let numbers = signed(archive, "coords", &values)?;
    for (dimension, numbers) in numbers.chunks_exact(data.values.len().max(1)).enumerate() {
        for &number in numbers {
            // Negative numbers are far outside of every dimension.
            list.push(dimension, number as u64)
                .map_err(|_| outside(archive, "coords", list.dims[dimension], number.to_string()))?;
        }
    }
    one_dimension(archive, data)
}

/// Asks that the values stand in one dimension.
fn one_dimension(archive: &Archive<'_>, data: &Dense) -> Result<(), IoError> {
    match data.dims.len() {
        1 => Ok(()),
        _ => {
            Err(archive.place("data").invalid("values in one dimension", format!("an array of sizes {:?}", data.dims)))
        }
    }
}

fn outside(archive: &Archive<'_>, name: &str, size: u64, found: String) -> IoError {
    archive.place(name).invalid(format!("coordinates from 0 to {}", size as i128 - 1), found)
}

/// The starts of segments, and the coordinates in them: of rows, or of other things of which there are `count`.
fn segments(archive: &mut Archive<'_>, count: u64, stored: usize) -> Result<(Vec<u64>, Vec<u64>), IoError> {
    let starts = numbers(archive, "indptr", None)?;
    let indices = numbers(archive, "indices", None)?;
    let place = archive.place("indptr");
    if starts.len() as u64 != count + 1 {
        return Err(
            place.invalid(format!("{} numbers, one more than there are segments", count + 1), starts.len().to_string())
        );
    }
    if starts.first() != Some(&0) || !starts.is_sorted() {
        return Err(place.invalid("numbers that begin with 0 and do not descend", "others"));
    }
    let last = starts.last().copied().unwrap_or(0);
    let most = indices.len().min(stored) as u64;
    if last > most {
        return Err(place.invalid(format!("at most {most} at the end, as there are so many entries"), last.to_string()));
    }
    Ok((starts, indices))
}

/// Reads the entries of `csr`, or of `csc`: `[outer, inner]` are the dimensions.
fn compressed(
    archive: &mut Archive<'_>,
    list: &mut List,
    data: &Dense,
    [outer, inner]: [usize; 2],
) -> Result<(), IoError> {
    one_dimension(archive, data)?;
    let (starts, indices) = segments(archive, list.dims[outer], data.values.len())?;
    let entries = starts.last().copied().unwrap_or(0) as usize;
    for (segment, range) in starts.windows(2).enumerate() {
        for _ in range[0]..range[1] {
            list.coords[outer].push(segment as u64);
        }
    }
    for &index in &indices[..entries] {
        list.push(inner, index).map_err(|found| outside(archive, "indices", list.dims[inner], found))?;
    }
    if entries < data.values.len() {
        list.places = Some((0..entries).collect());
    }
    Ok(())
}

fn blocks(archive: &mut Archive<'_>, list: &mut List, data: &Dense) -> Result<(), IoError> {
    let &[count, rows, columns] = data.dims.as_slice() else {
        let found = format!("an array of sizes {:?}", data.dims);
        return Err(archive.place("data").invalid("blocks, which have three dimensions", found));
    };
    if rows == 0 || columns == 0 || !list.dims[0].is_multiple_of(rows) || !list.dims[1].is_multiple_of(columns) {
        let expected = format!("blocks whose sizes divide those of the matrix, {} x {}", list.dims[0], list.dims[1]);
        return Err(archive.place("data").invalid(expected, format!("{rows} x {columns}")));
    }
    let (starts, indices) = segments(archive, list.dims[0] / rows, count as usize)?;
    let present = nonzeros(&data.values);
    let mut places = Vec::new();
    for (block_row, range) in starts.windows(2).enumerate() {
        for block in range[0]..range[1] {
            let column = indices[block as usize];
            if column >= list.dims[1] / columns {
                return Err(outside(archive, "indices", list.dims[1] / columns, column.to_string()));
            }
            for within in 0..rows * columns {
                let place = (block * rows * columns + within) as usize;
                if present[place] {
                    list.coords[0].push(block_row as u64 * rows + within / columns);
                    list.coords[1].push(column * columns + within % columns);
                    places.push(place);
                }
            }
        }
    }
    list.places = Some(places);
    Ok(())
}

fn diagonals(archive: &mut Archive<'_>, list: &mut List, data: &Dense) -> Result<(), IoError> {
    let &[count, length] = data.dims.as_slice() else {
        let found = format!("an array of sizes {:?}", data.dims);
        return Err(archive.place("data").invalid("diagonals, which have two dimensions", found));
    };
    let offsets = archive.array("offsets")?;
    if offsets.dims != [count] {
        let expected = format!("{count} whole numbers");
        return Err(archive.place("offsets").invalid(expected, format!("an array of sizes {:?}", offsets.dims)));
    }
    let offsets = signed(archive, "offsets", &offsets.values)?;
    let present = nonzeros(&data.values);
    let mut places = Vec::new();
    for (diagonal, &offset) in offsets.iter().enumerate() {
        for column in 0..length.min(list.dims[1]) {
            let row = i128::from(column) - i128::from(offset);
            let place = diagonal * length as usize + column as usize;
            if (0..i128::from(list.dims[0])).contains(&row) && present[place] {
                list.coords[0].push(row as u64);
                list.coords[1].push(column);
                places.push(place);
            }
        }
    }
    list.places = Some(places);
    Ok(())
}

/// For each value, true if it is not zero.
fn nonzeros(values: &Values) -> Vec<bool> {
    with_values!(values, values => values.iter().map(|value| !is_zero(value)).collect())
}

/// True if a value is the zero of its type.
fn is_zero<T: Element>(value: &T) -> bool {
    *value == T::default()
}
