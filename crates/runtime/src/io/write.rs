//! Matrices and tensors as text.
//!
//! A coordinate list becomes a coordinate file, a dense array an array file:
//!
//! ```text
//! .mtx, coordinates                                .mtx, dense                              .tns
//! %%MatrixMarket matrix coordinate real general    %%MatrixMarket matrix array real general 1 1 1.5
//! 3 4 2                                            2 2                                      3 2 -2.0
//! 1 1 1.5                                          1.0
//! 3 2 -2.0                                         ...
//! ```
//!
//! Arrays of NumPy are written by `numpy`. Numbers are written with the fewest digits that read back to the same number. Matrix Market
//! has matrices only, so a vector is a matrix of one column, and a scalar a matrix of one cell. `.tns` takes any order; a scalar is a
//! line of its value. Of complex values it has both parts, and a comment that says so, as no reader could tell them from an index and a
//! value. Booleans are the integers 0 and 1, or a pattern on request. A dense array in `.tns` has an entry for each place.

use std::fmt::Write as _;
use std::path::Path;

use super::error::IoError;
use super::frostt::COMPLEX;
use super::output::{check_place, write_pieces};
use super::{Data, Dense, FieldKind, FileFormat, IndexBase, binsparse, numpy, split_name};
use crate::coo::{Coo, Coordinates};
use crate::values::Values;
use lacunar_formats::Format;

/// The entries that one task formats at a time.
const PIECE_ENTRIES: usize = 1 << 15;
/// About how many characters an entry takes, to set memory aside.
const ENTRY_BYTES: usize = 24;

/// The data to write, borrowed.
#[derive(Clone, Copy, Debug)]
pub enum DataRef<'a> {
    /// A coordinate list.
    Coordinate(&'a Coo),
    /// An array of all values.
    Dense(&'a Dense),
}

impl<'a> From<&'a Data> for DataRef<'a> {
    fn from(data: &'a Data) -> DataRef<'a> {
        match data {
            Data::Coordinate(coo) => DataRef::Coordinate(coo),
            Data::Dense(dense) => DataRef::Dense(dense),
        }
    }
}

impl<'a> From<&'a Coo> for DataRef<'a> {
    fn from(coo: &'a Coo) -> DataRef<'a> {
        DataRef::Coordinate(coo)
    }
}

impl<'a> From<&'a Dense> for DataRef<'a> {
    fn from(dense: &'a Dense) -> DataRef<'a> {
        DataRef::Dense(dense)
    }
}

/// Tells if a Matrix Market file shows values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteField {
    /// The field that the element type calls for.
    #[default]
    OfType,
    /// A pattern: places only. Every value must be 1 or true.
    Pattern,
}

/// The options of writing.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// Tells if a Matrix Market file shows values.
    pub field: WriteField,
    /// The format that a list of entries was stored in, for formats of files that have several: the nearest is written.
    pub format: Option<Format>,
    /// The first index of a tensor file (`.tns`), which does not tell it.
    pub base: IndexBase,
    /// True if a progress bar may show on a terminal, in builds with the feature `progress`.
    pub progress: bool,
}

impl Default for WriteOptions {
    fn default() -> WriteOptions {
        WriteOptions { field: WriteField::OfType, format: None, base: IndexBase::One, progress: true }
    }
}

/// Writes a file in the format and the compression that its name tells. The file appears whole or not at all.
pub fn write<'a>(path: &Path, data: impl Into<DataRef<'a>>, options: &WriteOptions) -> Result<(), IoError> {
    let data = data.into();
    let unwritable = |reason: String| IoError::Unwritable { file: path.to_path_buf(), reason };
    let (format, compression) = split_name(path);
    let table = Table::of(data).map_err(unwritable)?;
    let (header, columns) = match format {
        Some(FileFormat::MatrixMarket) => matrix_market(data, options.field),
        Some(FileFormat::Frostt) => Ok(frostt(data, options.base)),
        Some(FileFormat::HarwellBoeing | FileFormat::EdgeList) => Err(only_read()),
        Some(format @ (FileFormat::Npy | FileFormat::Npz)) => {
            return numpy::write(path, data, (format, compression), options.progress);
        }
        Some(FileFormat::Binsparse) => return binsparse::write(path, data, compression, options),
        None => return Err(IoError::UnknownFormat { file: path.to_path_buf(), names: super::WRITTEN_EXTENSIONS }),
    }
    .map_err(unwritable)?;
    let pieces = table.entries.div_ceil(PIECE_ENTRIES).max(1);
    write_pieces(path, compression, options.progress, pieces, |piece| {
        let start = piece * PIECE_ENTRIES;
        let end = (start + PIECE_ENTRIES).min(table.entries);
        let mut text = Vec::with_capacity((end - start) * ENTRY_BYTES);
        if piece == 0 {
            text.extend_from_slice(header.as_bytes());
        }
        for entry in start..end {
            table.push_line(entry, &columns, &mut text)?;
        }
        Ok(text)
    })
}

/// Checks, before there is a tensor, that one of this order (if it is known) can be written to a file: the name tells a format
/// that is written and has such tensors, and the file can be put there.
///
/// ```
/// use lacunar_runtime::io::check_output;
/// let folder = tempfile::tempdir()?;
/// assert!(check_output(&folder.path().join("t.tns"), Some(3)).is_ok());
/// assert!(check_output(&folder.path().join("t.mtx"), Some(3)).is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Why it can't.
pub fn check_output(path: &Path, order: Option<usize>) -> Result<(), IoError> {
    let unwritable = |reason: String| IoError::Unwritable { file: path.to_path_buf(), reason };
    match (split_name(path).0, order) {
        (None, _) => return Err(IoError::UnknownFormat { file: path.to_path_buf(), names: super::WRITTEN_EXTENSIONS }),
        (Some(FileFormat::HarwellBoeing | FileFormat::EdgeList), _) => return Err(unwritable(only_read())),
        (Some(FileFormat::Binsparse), _) => binsparse::check_output(path)?,
        (Some(FileFormat::MatrixMarket), Some(order)) if order > 2 => return Err(unwritable(matrices_only(order))),
        (Some(FileFormat::MatrixMarket | FileFormat::Frostt | FileFormat::Npy | FileFormat::Npz), _) => {}
    }
    check_place(path).map_err(|source| IoError::Write { file: path.to_path_buf(), source })
}

/// Checks that a tensor that is not dense can be written to a file, as a list of its entries.
///
/// ```
/// use std::path::Path;
/// use lacunar_runtime::io::check_list;
/// assert!(check_list(Path::new("a.npz")).is_ok() && check_list(Path::new("a.npy")).is_err());
/// ```
///
/// # Errors
/// The name tells a format that has arrays only.
pub fn check_list(path: &Path) -> Result<(), IoError> {
    if split_name(path).0 == Some(FileFormat::Npy) { Err(numpy::no_list(path)) } else { Ok(()) }
}

fn only_read() -> String {
    "this format is only read; write .mtx instead".to_owned()
}

fn matrices_only(order: usize) -> String {
    format!("Matrix Market has no tensors of order {order}; write .tns instead")
}

/// The columns in the line of an entry.
struct Columns {
    /// True if it shows the indices.
    indices: bool,
    /// The first index.
    base: u64,
    /// True if it shows the value.
    value: bool,
    /// The number of ones that stand for dimensions that the format wants and the tensor lacks.
    padding: usize,
    /// True if the entries of a dense matrix are taken down the columns.
    by_columns: bool,
}

/// The header and the lines of a Matrix Market file.
fn matrix_market(data: DataRef, field: WriteField) -> Result<(String, Columns), String> {
    let (kind, dims, values) = match data {
        DataRef::Coordinate(coo) => ("coordinate", &coo.dims, &coo.values),
        DataRef::Dense(dense) => ("array", &dense.dims, &dense.values),
    };
    let (rows, columns) = match dims.as_slice() {
        [] => (1, 1),
        &[rows] => (rows, 1),
        &[rows, columns] => (rows, columns),
        _ => return Err(matrices_only(dims.len())),
    };
    let field = match (field, data, field_of(values)) {
        (WriteField::Pattern, DataRef::Dense(_), _) => return Err("an array cannot be a pattern".to_owned()),
        (WriteField::Pattern, ..) | (WriteField::OfType, _, FieldKind::Pattern) => "pattern",
        (WriteField::OfType, _, FieldKind::Complex) => "complex",
        (WriteField::OfType, _, FieldKind::Integer) => "integer",
        (WriteField::OfType, ..) => "real",
    };
    let mut header = format!("%%MatrixMarket matrix {kind} {field} general\n{rows} {columns}");
    let sparse = matches!(data, DataRef::Coordinate(_));
    if sparse {
        // Writing to a string cannot fail.
        let _ = write!(header, " {}", values.len());
    }
    header.push('\n');
    let padding = if sparse { 2 - dims.len() } else { 0 };
    Ok((header, Columns { indices: sparse, base: 1, value: field != "pattern", padding, by_columns: !sparse }))
}

/// The lines of a tensor file, which has no header but a comment where values are complex.
fn frostt(data: DataRef, base: IndexBase) -> (String, Columns) {
    let values = match data {
        DataRef::Coordinate(coo) => &coo.values,
        DataRef::Dense(dense) => &dense.values,
    };
    let header = if field_of(values) == FieldKind::Complex { format!("{COMPLEX}\n") } else { String::new() };
    (header, Columns { indices: true, base: base.first(), value: true, padding: 0, by_columns: false })
}

/// The field that holds an element type.
fn field_of(values: &Values) -> FieldKind {
    match values {
        Values::F16(_) | Values::BF16(_) | Values::F32(_) | Values::F64(_) => FieldKind::Real,
        Values::C64(_) | Values::C128(_) => FieldKind::Complex,
        Values::Pattern(_) => FieldKind::Pattern,
        Values::Bool(_)
        | Values::I8(_)
        | Values::I16(_)
        | Values::I32(_)
        | Values::I64(_)
        | Values::U8(_)
        | Values::U16(_)
        | Values::U32(_)
        | Values::U64(_) => FieldKind::Integer,
    }
}

/// A tensor as a list of entries.
struct Table<'a> {
    dims: &'a [u64],
    /// `None`: every place, by rows.
    coords: Option<&'a [Coordinates]>,
    values: &'a Values,
    entries: usize,
}

impl<'a> Table<'a> {
    /// Checks that the parts of a tensor fit each other.
    fn of(data: DataRef<'a>) -> Result<Table<'a>, String> {
        let (dims, coords, values) = match data {
            DataRef::Coordinate(coo) => (&coo.dims, Some(coo.coords.as_slice()), &coo.values),
            DataRef::Dense(dense) => (&dense.dims, None, &dense.values),
        };
        let consistent = match coords {
            Some(coords) => coords.len() == dims.len() && coords.iter().all(|c| c.len() == values.len()),
            None => {
                let cells = dims.iter().try_fold(1u64, |cells, &size| cells.checked_mul(size));
                dims.contains(&0) && values.is_empty() || cells == Some(values.len() as u64)
            }
        };
        if !consistent {
            return Err("its sizes, coordinates and values do not fit each other".to_owned());
        }
        Ok(Table { dims, coords, values, entries: values.len() })
    }

    /// Appends the line of an entry.
    fn push_line(&self, entry: usize, columns: &Columns, text: &mut Vec<u8>) -> Result<(), String> {
        if columns.indices {
            match self.coords {
                Some(coords) => {
                    for (coords, &size) in coords.iter().zip(self.dims) {
                        let coordinate = coords.get(entry).filter(|&coordinate| coordinate < size);
                        push_integer(
                            coordinate.ok_or("a coordinate is not below its dimension's size")? + columns.base,
                            text,
                        );
                    }
                }
                None => {
                    // The place's number has the coordinates as digits.
                    let mut below = self.entries as u64;
                    let mut place = entry as u64;
                    for &size in self.dims {
                        below /= size;
                        push_integer(place / below + columns.base, text);
                        place %= below;
                    }
                }
            }
            for _ in 0..columns.padding {
                push_integer(1, text);
            }
        }
        let place = match self.dims {
            &[rows, columns_of_matrix] if columns.by_columns => {
                // There is an entry, so no size is 0.
                let (row, column) = (entry as u64 % rows, entry as u64 / rows);
                (row * columns_of_matrix + column) as usize
            }
            _ => entry,
        };
        if columns.value {
            push_value(self.values, place, text);
        } else if !is_one(self.values, place) {
            return Err("a pattern has no place for values other than 1".to_owned());
        }
        // Every field left a blank behind it; the last one gives way to the line end.
        if let Some(last) = text.last_mut() {
            *last = b'\n';
        }
        Ok(())
    }
}

/// Appends an integer and a blank.
fn push_integer(integer: impl itoa::Integer, text: &mut Vec<u8>) {
    text.extend_from_slice(itoa::Buffer::new().format(integer).as_bytes());
    text.push(b' ');
}

/// Appends a real and a blank.
fn push_real(real: impl ryu::Float, text: &mut Vec<u8>) {
    text.extend_from_slice(ryu::Buffer::new().format(real).as_bytes());
    text.push(b' ');
}

/// Appends a value and a blank.
fn push_value(values: &Values, place: usize, text: &mut Vec<u8>) {
    match values {
        Values::Bool(v) => push_integer(u8::from(v[place]), text),
        Values::Pattern(_) => push_integer(1u8, text),
        Values::I8(v) => push_integer(v[place], text),
        Values::I16(v) => push_integer(v[place], text),
        Values::I32(v) => push_integer(v[place], text),
        Values::I64(v) => push_integer(v[place], text),
        Values::U8(v) => push_integer(v[place], text),
        Values::U16(v) => push_integer(v[place], text),
        Values::U32(v) => push_integer(v[place], text),
        Values::U64(v) => push_integer(v[place], text),
        Values::F16(v) => push_real(v[place].to_f32(), text),
        Values::BF16(v) => push_real(v[place].to_f32(), text),
        Values::F32(v) => push_real(v[place], text),
        Values::F64(v) => push_real(v[place], text),
        Values::C64(v) => {
            push_real(v[place].re, text);
            push_real(v[place].im, text);
        }
        Values::C128(v) => {
            push_real(v[place].re, text);
            push_real(v[place].im, text);
        }
    }
}

/// True if a value is 1 or true.
fn is_one(values: &Values, place: usize) -> bool {
    let mut text = Vec::new();
    push_value(values, place, &mut text);
    matches!(text.as_slice(), b"1 " | b"1.0 " | b"1.0 0.0 ")
}
