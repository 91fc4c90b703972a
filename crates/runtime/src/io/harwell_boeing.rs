//! Reading Harwell-Boeing and Rutherford-Boeing files (Duff, Grimes, Lewis: "Users' Guide for the Harwell-Boeing Sparse
//! Matrix Collection", 1992; "The Rutherford-Boeing Sparse Matrix Collection", 1997).
//!
//! Both hold a matrix by columns, in lines of fixed-width fields behind a header of four lines (five in a
//! Harwell-Boeing file with right-hand sides, which are ignored):
//!
//! ```text
//! title                                                                   key
//!              5             1             1             3             0      numbers of lines
//! RUA                        5             5            11             0      type, rows, columns, entries
//! (26I3)          (26I3)          (5E12.4)                                    formats
//!   1  4  6  8 10 12                                                          where each column starts
//!   1  3  5  2  4  3  5  1  4  2  5                                           the row of each entry
//!   1.0000E+00  2.0000E+00  3.0000E+00  4.0000E+00  5.0000E+00 ...            the value of each entry
//! ```
//!
//! The type is three letters: real, complex, integer or pattern (`r c i p`, and `q`: pattern, values in another
//! file); unsymmetric, symmetric, Hermitian, skew or rectangular (`u s h z r`); assembled (`a`). Matrices of
//! unassembled elements (`e`) are refused by name. Rows need not be sorted in a column, but no row may occur twice; a
//! matrix with symmetry holds its lower triangle, which is expanded. The diagonal of a skew matrix holds zeros only, and that of a
//! Hermitian one real values.

use std::collections::BTreeSet;

use lacunar_formats::One;
use num_complex::Complex;

use super::entries::{Field, IntegerField};
use super::error::IoError;
use super::fortran::{Format, read_fields};
use super::matrix_market::LARGEST_SIZE;
use super::mirror::{Mirror, expected_on_diagonal};
use super::scan::{Cursor, quote};
use super::text::Text;
use super::{Data, FieldKind, FileFormat, Metadata, PatternValues, ReadOptions, Symmetry};
use crate::coo::{Coo, Coordinates};
use crate::values::Element;

/// The content of the header.
struct Header {
    field: FieldKind,
    symmetry: Symmetry,
    rows: u64,
    columns: u64,
    count: u64,
    pointers: Format,
    indices: Format,
    values: Option<Format>,
}

/// The places of a matrix's entries.
struct Places {
    rows: Vec<u64>,
    columns: Vec<u64>,
}

/// True if a text starts like a file of this family: its third line starts with a matrix type.
pub(super) fn sniff(text: &[u8]) -> bool {
    let third = text.split(|&byte| byte == b'\n').nth(2).unwrap_or_default();
    third.get(..4).is_some_and(|word| word[3] == b' ' && super::is_matrix_type(&word[..3].to_ascii_lowercase()))
}

/// Reads a file whose text is at its start.
pub(super) fn read(text: &mut Text, options: &ReadOptions) -> Result<(Data, Metadata), IoError> {
    let header = read_header(text)?;
    let places = read_places(text, &header)?;
    let coo = match (header.field, options.pattern, header.values) {
        (FieldKind::Real, _, Some(format)) => {
            let mut values = Vec::new();
            read_fields(text, format, header.count, "values", |_, field| {
                values.push(format.real(field).ok_or("a real number")?);
                check_diagonal(&header, &places, &values)
            })?;
            expand(text, &header, places, values)
        }
        (FieldKind::Integer, _, Some(format)) => {
            let mut values = Vec::new();
            read_fields(text, format, header.count, "values", |_, field| {
                values.push(Cursor::new(field).integer().ok_or(IntegerField::EXPECTED)?);
                check_diagonal(&header, &places, &values)
            })?;
            expand(text, &header, places, values)
        }
        (FieldKind::Complex, _, Some(format)) => {
            let mut values: Vec<Complex<f64>> = Vec::new();
            // The count was checked to leave room for twice itself.
            read_fields(text, format, 2 * header.count, "parts of complex values", |place, field| {
                let part = format.real(field).ok_or("a real number")?;
                match values.last_mut() {
                    Some(value) if place % 2 == 1 => value.im = part,
                    _ => values.push(Complex::new(part, 0.0)),
                }
                check_diagonal(&header, &places, &values)
            })?;
            expand(text, &header, places, values)
        }
        (_, PatternValues::Ones, _) => {
            let ones = vec![1.0; places.rows.len()];
            expand(text, &header, places, ones)
        }
        (_, PatternValues::True, _) => {
            let trues = vec![true; places.rows.len()];
            expand(text, &header, places, trues)
        }
        (_, PatternValues::Places, _) => {
            let ones = vec![One; places.rows.len()];
            expand(text, &header, places, ones)
        }
    }?;
    // The right-hand sides are not used, but a broken compressed stream shall not go unnoticed.
    while text.next_block()?.is_some() {}
    let metadata = Metadata {
        format: FileFormat::HarwellBoeing,
        compression: text.compression(),
        field: header.field,
        symmetry: header.symmetry,
        stored: header.count,
    };
    Ok((Data::Coordinate(coo), metadata))
}

fn read_header(text: &mut Text) -> Result<Header, IoError> {
    header_line(text, "a title")?;
    let lines = header_line(text, "the numbers of lines")?;
    let mut cursor = Cursor::new(&lines);
    let line_counts: Vec<u64> = std::iter::from_fn(|| cursor.unsigned()).take(5).collect();
    if line_counts.len() < 4 {
        let found = cursor.fault("").found;
        return Err(text.malformed(2, "four or five numbers of lines", found));
    }
    let (field, symmetry, [rows, columns, count]) = read_type_and_sizes(text)?;
    let [pointers, indices, values] = read_formats(text, field)?;
    let (Some(pointers), Some(indices)) = (pointers, indices) else {
        return Err(text.malformed(4, "formats of column starts and rows", "no format"));
    };
    if line_counts.get(4).is_some_and(|&right_hand_sides| right_hand_sides > 0) {
        header_line(text, "the type of the right-hand sides")?;
    }
    Ok(Header { field, symmetry, rows, columns, count, pointers, indices, values })
}

/// Takes a line of the header.
fn header_line(text: &mut Text, expected: &str) -> Result<Vec<u8>, IoError> {
    match text.next_line()? {
        Some(line) => Ok(line.to_vec()),
        None => Err(text.ends(expected)),
    }
}

fn read_type_and_sizes(text: &mut Text) -> Result<(FieldKind, Symmetry, [u64; 3]), IoError> {
    let line = header_line(text, "the type of the matrix")?;
    let (letters, sizes) = line.split_at(line.len().min(3));
    let (field, symmetry) = match letters.to_ascii_lowercase().as_slice() {
        &[field, symmetry, b'a'] if super::is_matrix_type(&[field, symmetry, b'a']) => (field, symmetry),
        letters if super::is_matrix_type(letters) => {
            let expected = "an assembled matrix (type ..A); unassembled finite elements are not read";
            return Err(text.malformed(3, expected, quote(letters)));
        }
        letters => return Err(text.malformed(3, "a matrix type such as RUA", quote(letters))),
    };
    let field = match field {
        b'r' => FieldKind::Real,
        b'i' => FieldKind::Integer,
        b'c' => FieldKind::Complex,
        _ => FieldKind::Pattern,
    };
    let symmetry = match symmetry {
        b's' => Symmetry::Symmetric,
        b'z' => Symmetry::SkewSymmetric,
        b'h' => Symmetry::Hermitian,
        _ => Symmetry::General,
    };
    let mut cursor = Cursor::new(sizes);
    let mut sizes = [0; 3];
    for (size, name) in sizes.iter_mut().zip(["rows", "columns", "entries"]) {
        match cursor.unsigned() {
            Some(number) if number < LARGEST_SIZE => *size = number,
            _ => {
                let found = cursor.fault("").found;
                return Err(text.malformed(3, format!("the number of {name}, below 2^63-1"), found));
            }
        }
    }
    if symmetry != Symmetry::General && sizes[0] != sizes[1] {
        let expected = "as many rows as columns, for the symmetry of the type";
        return Err(text.malformed(3, expected, format!("{} x {}", sizes[0], sizes[1])));
    }
    Ok((field, symmetry, sizes))
}

/// Reads the formats of column starts, rows and, unless the matrix is a pattern, values.
fn read_formats(text: &mut Text, field: FieldKind) -> Result<[Option<Format>; 3], IoError> {
    let line = header_line(text, "the formats")?;
    let wanted = if field == FieldKind::Pattern { 2 } else { 3 };
    let mut rest = line.as_slice();
    let mut formats = [None; 3];
    for format in &mut formats[..wanted] {
        let found = rest.trim_ascii_start();
        let end = closing(found).unwrap_or(found.len());
        let (own, after) = found.split_at(end);
        *format = Format::parse(own);
        if format.is_none() {
            let found = if own.is_empty() { "the end of the line".to_owned() } else { quote(own) };
            return Err(text.malformed(4, "a Fortran format such as (16I5)", found));
        }
        rest = after;
    }
    Ok(formats)
}

/// The length of the group in parentheses that starts a text.
fn closing(text: &[u8]) -> Option<usize> {
    let mut depth = 0i32;
    text.iter()
        .position(|byte| {
            depth += i32::from(*byte == b'(') - i32::from(*byte == b')');
            depth == 0
        })
        .map(|last| last + 1)
}

/// Reads where columns start and which row each entry is in, and checks them.
fn read_places(text: &mut Text, header: &Header) -> Result<Places, IoError> {
    let mut starts: Vec<u64> = Vec::new();
    let (count, columns) = (header.count, header.columns);
    read_fields(text, header.pointers, columns + 1, "column starts", |place, field| {
        // The first start is the first place, the last one is past the last place.
        let least = if place == columns { count + 1 } else { starts.last().copied().unwrap_or(1) };
        let most = if place == 0 { 1 } else { count + 1 };
        let start = Cursor::new(field).unsigned().filter(|start| (least..=most).contains(start));
        starts.push(start.ok_or_else(|| format!("the start of column {}, from {least} to {most}", place + 1))?);
        Ok(())
    })?;
    let mut places = Places { rows: Vec::new(), columns: Vec::new() };
    let mut column = 0usize;
    let mut column_rows = BTreeSet::new();
    read_fields(text, header.indices, count, "row indices", |place, field| {
        // The last start is past the last place, so a column is found.
        while starts[column + 1] <= place + 1 {
            column += 1;
            column_rows.clear();
        }
        let least = if header.symmetry == Symmetry::General { 1 } else { column as u64 + 1 };
        let row = Cursor::new(field).unsigned().filter(|row| (least..=header.rows).contains(row));
        let row = row.ok_or_else(|| format!("a row index from {least} to {}", header.rows))?;
        if !column_rows.insert(row) {
            return Err(format!("every row once in column {}", column + 1));
        }
        places.rows.push(row - 1);
        places.columns.push(column as u64);
        Ok(())
    })?;
    Ok(places)
}

/// Checks that the value read last is its own mirror image if it is on the diagonal of a matrix with symmetry; the
/// error tells the required value.
fn check_diagonal<T: Mirror>(header: &Header, places: &Places, values: &[T]) -> Result<(), String> {
    let last = values.len().wrapping_sub(1);
    match (values.last(), places.rows.get(last), places.columns.get(last)) {
        (Some(&value), Some(row), Some(column)) if row == column && !value.fits_diagonal(header.symmetry) => {
            Err(expected_on_diagonal(header.symmetry).to_string())
        }
        _ => Ok(()),
    }
}

/// Makes the coordinate list, with mirror images behind the entries.
fn expand<T: Mirror>(text: &Text, header: &Header, places: Places, mut values: Vec<T>) -> Result<Coo, IoError> {
    let Places { mut rows, mut columns } = places;
    // The ones of a pattern are places: the image of one is a place, too.
    let of_values = if header.field == FieldKind::Pattern { Symmetry::Symmetric } else { header.symmetry };
    if header.symmetry != Symmetry::General {
        for k in 0..values.len() {
            let (row, column) = (rows[k], columns[k]);
            if row != column {
                let Some(image) = values[k].mirror(of_values) else {
                    return Err(text.malformed(text.line(), "values whose negatives fit 64 bits", "-2^63"));
                };
                rows.push(column);
                columns.push(row);
                values.push(image);
            }
        }
    }
    let coords = vec![narrow(rows, header.rows), narrow(columns, header.columns)];
    Ok(Coo { dims: vec![header.rows, header.columns], coords, values: Element::wrap(values) })
}

/// Coordinates in the width that their dimension needs.
fn narrow(coords: Vec<u64>, size: u64) -> Coordinates {
    match Coordinates::for_size(size) {
        Coordinates::U32(_) => Coordinates::U32(coords.into_iter().map(|coordinate| coordinate as u32).collect()),
        Coordinates::U64(_) => Coordinates::U64(coords),
    }
}
