//! Writing arrays: a dense tensor as `.npy`, or alone in `.npz`; a list of entries as SciPy's `coo` in `.npz`.
//!
//! Truth values, and those of a pattern, are `bool`. NumPy has no `bf16`: such values are written as `f32`, which holds
//! them exactly.

use std::io::{self, Write};
use std::path::Path;

use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, ZipWriter};

use super::header;
use crate::coo::{Coo, Coordinates};
use crate::io::error::IoError;
use crate::io::output::{write_pieces, write_stream};
use crate::io::write::DataRef;
use crate::io::{Compression, Dense, FileFormat};
use crate::values::Values;

/// The values that one task writes at a time.
const PIECE_VALUES: usize = 1 << 17;
/// From this many bytes on, a file in an archive says that it is large.
const LARGE: u64 = 1 << 31;

/// Writes a file of an array, or an archive.
pub(in crate::io) fn write(
    path: &Path,
    data: DataRef<'_>,
    (format, compression): (FileFormat, Compression),
    progress: bool,
) -> Result<(), IoError> {
    match (format, data) {
        (FileFormat::Npz, data) => write_stream(path, compression, |writer| archive(writer, data)),
        (_, DataRef::Dense(dense)) => {
            let head = header::bytes_of(descr(&dense.values), &dense.dims);
            let pieces = dense.values.len().div_ceil(PIECE_VALUES).max(1);
            write_pieces(path, compression, progress, pieces, |piece| {
                let mut bytes = if piece == 0 { head.clone() } else { Vec::new() };
                let end = ((piece + 1) * PIECE_VALUES).min(dense.values.len());
                push(&dense.values, piece * PIECE_VALUES..end, &mut bytes);
                Ok(bytes)
            })
        }
        (_, DataRef::Coordinate(_)) => Err(no_list(path)),
    }
}

/// The error for a list of entries that is to be written as an array.
pub(in crate::io) fn no_list(path: &Path) -> IoError {
    let reason = "an array of NumPy has every place; write .npz instead, or store the tensor as `dense`".to_string();
    IoError::Unwritable { file: path.to_path_buf(), reason }
}

fn archive(writer: &mut dyn Write, data: DataRef<'_>) -> io::Result<()> {
    let mut zip = ZipWriter::new_stream(writer);
    match data {
        DataRef::Dense(Dense { dims, values }) => array(&mut zip, "arr_0", dims, values)?,
        DataRef::Coordinate(coo) => {
            coordinates(&mut zip, coo)?;
            start(&mut zip, "format", 0)?;
            zip.write_all(&header::bytes_of("|S3", &[]))?;
            zip.write_all(b"coo")?;
            let shape = coo.dims.iter().map(|&size| size as i64).collect();
            array(&mut zip, "shape", &[coo.dims.len() as u64], &Values::I64(shape))?;
            array(&mut zip, "data", &[coo.len() as u64], &coo.values)?;
            if coo.dims.len() != 2 {
                // SciPy's matrices have two dimensions, its arrays any number.
                array(&mut zip, "_is_array", &[], &Values::Bool(vec![true]))?;
            }
        }
    }
    zip.finish().map_err(io::Error::from)?.flush()
}

/// The coordinates, by the names that SciPy has for them.
fn coordinates(zip: &mut ZipWriter<StreamWriter<&mut dyn Write>>, coo: &Coo) -> io::Result<()> {
    let entries = coo.len() as u64;
    if let [rows, columns] = coo.coords.as_slice() {
        array(zip, "row", &[entries], &signed(rows))?;
        return array(zip, "col", &[entries], &signed(columns));
    }
    let mut all = Vec::with_capacity(coo.coords.len() * coo.len());
    for column in &coo.coords {
        all.extend((0..column.len()).filter_map(|place| column.get(place)).map(|coordinate| coordinate as i64));
    }
    array(zip, "coords", &[coo.coords.len() as u64, entries], &Values::I64(all))
}

/// Coordinates as SciPy has them: of 32 bits if they fit.
fn signed(coords: &Coordinates) -> Values {
    match coords {
        Coordinates::U32(coords) if coords.iter().all(|&coordinate| i32::try_from(coordinate).is_ok()) => {
            Values::I32(coords.iter().map(|&coordinate| coordinate as i32).collect())
        }
        Coordinates::U32(coords) => Values::I64(coords.iter().map(|&coordinate| i64::from(coordinate)).collect()),
        Coordinates::U64(coords) => Values::I64(coords.iter().map(|&coordinate| coordinate as i64).collect()),
    }
}

fn array(
    zip: &mut ZipWriter<StreamWriter<&mut dyn Write>>,
    name: &str,
    shape: &[u64],
    values: &Values,
) -> io::Result<()> {
    start(zip, name, values.len() as u64 * values.dtype().size().max(4) as u64)?;
    zip.write_all(&header::bytes_of(descr(values), shape))?;
    let mut bytes = Vec::new();
    for begin in (0..values.len()).step_by(PIECE_VALUES) {
        bytes.clear();
        push(values, begin..(begin + PIECE_VALUES).min(values.len()), &mut bytes);
        zip.write_all(&bytes)?;
    }
    Ok(())
}

/// Begins an array of about so many bytes in an archive.
fn start(zip: &mut ZipWriter<StreamWriter<&mut dyn Write>>, name: &str, bytes: u64) -> io::Result<()> {
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    zip.start_file(format!("{name}.npy"), options.large_file(bytes >= LARGE)).map_err(io::Error::from)
}

/// The name that NumPy has for a type.
fn descr(values: &Values) -> &'static str {
    match values {
        Values::Bool(_) | Values::Pattern(_) => "|b1",
        Values::I8(_) => "|i1",
        Values::U8(_) => "|u1",
        Values::I16(_) => "<i2",
        Values::U16(_) => "<u2",
        Values::I32(_) => "<i4",
        Values::U32(_) => "<u4",
        Values::I64(_) => "<i8",
        Values::U64(_) => "<u8",
        Values::F16(_) => "<f2",
        Values::BF16(_) | Values::F32(_) => "<f4",
        Values::F64(_) => "<f8",
        Values::C64(_) => "<c8",
        Values::C128(_) => "<c16",
    }
}

/// Appends the bytes of some values.
fn push(values: &Values, range: std::ops::Range<usize>, bytes: &mut Vec<u8>) {
    macro_rules! numbers {
        ($values:expr) => {
            $values[range].iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()))
        };
    }
    macro_rules! complexes {
        ($values:expr) => {
            $values[range].iter().for_each(|value| {
                bytes.extend_from_slice(&value.re.to_le_bytes());
                bytes.extend_from_slice(&value.im.to_le_bytes());
            })
        };
    }
    match values {
        Values::Bool(values) => bytes.extend(values[range].iter().map(|&value| u8::from(value))),
        Values::Pattern(values) => bytes.extend(values[range].iter().map(|_| 1)),
        Values::I8(values) => numbers!(values),
        Values::I16(values) => numbers!(values),
        Values::I32(values) => numbers!(values),
        Values::I64(values) => numbers!(values),
        Values::U8(values) => numbers!(values),
        Values::U16(values) => numbers!(values),
        Values::U32(values) => numbers!(values),
        Values::U64(values) => numbers!(values),
        Values::F16(values) => numbers!(values),
        Values::BF16(values) => {
            values[range].iter().for_each(|value| bytes.extend_from_slice(&value.to_f32().to_le_bytes()));
        }
        Values::F32(values) => numbers!(values),
        Values::F64(values) => numbers!(values),
        Values::C64(values) => complexes!(values),
        Values::C128(values) => complexes!(values),
    }
}
