//! The numbers of an array, read in pieces: memory is set aside for numbers that are there, and not for those
//! announced.

use std::io::Read;
use std::path::Path;

use half::f16;
use num_complex::Complex;

use super::header::{self, Header, Item};
use super::metadata;
use crate::alloc::make_room;
use crate::dispatch::with_values;
use crate::io::error::{IoError, Place};
use crate::io::text::Source;
use crate::io::{Compression, Data, Dense, FileFormat, Metadata, ReadOptions};
use crate::values::{Element, Values};
use lacunar_formats::DType;

/// The bytes that are read at a time.
const PIECE_BYTES: usize = 1 << 20;

/// Reads a file of one array.
pub(in crate::io) fn read_file(path: &Path, options: &ReadOptions) -> Result<(Data, Metadata), IoError> {
    let place = Place::new(path, "array");
    let Source { mut bytes, compression, .. } = Source::open(path, options.progress)?;
    let dense = read(&mut bytes, &place)?;
    let mut behind = [0];
    if bytes.read(&mut behind).map_err(|error| place.unreadable(error))? > 0 {
        return Err(place.invalid("the end of the file behind the numbers", "more bytes"));
    }
    let metadata = of(&dense, FileFormat::Npy, compression);
    Ok((Data::Dense(dense), metadata))
}

/// The element type of a file of one array, as its header says.
pub(in crate::io) fn dtype(path: &Path) -> Result<DType, IoError> {
    let place = Place::new(path, "array");
    let mut source = Source::open(path, false)?;
    number(&header::read(&mut source.bytes, &place)?, &place).map(|(dtype, _)| dtype)
}

/// The type of an array of numbers, and a flag that is true if the first byte is the highest.
fn number(header: &Header, place: &Place) -> Result<(DType, bool), IoError> {
    match header.item {
        Item::Number { dtype, big_endian } => Ok((dtype, big_endian)),
        Item::Bytes(_) => Err(place.invalid("a type of numbers, such as '<f8'", "byte strings")),
        Item::Text { .. } => Err(place.invalid("a type of numbers, such as '<f8'", "texts")),
    }
}

/// The metadata of a file of one array.
pub(super) fn of(dense: &Dense, format: FileFormat, compression: Compression) -> Metadata {
    metadata(format, compression, dense.values.dtype(), dense.values.len() as u64)
}

/// Reads an array of numbers; in the result the last dimension varies fastest.
pub(super) fn read(source: &mut dyn Read, place: &Place) -> Result<Dense, IoError> {
    let header = header::read(source, place)?;
    let (dtype, big_endian) = number(&header, place)?;
    let values = numbers(source, place, &header, dtype, big_endian)?;
    let values = if header.fortran_order { last_fastest(values, &header.shape, place)? } else { values };
    Ok(Dense { dims: header.shape, values })
}

/// Reads a byte string, or a text, that stands alone.
pub(super) fn read_word(source: &mut dyn Read, place: &Place) -> Result<Vec<u8>, IoError> {
    const LONGEST: usize = 64;
    const CHARACTER: usize = 4;
    let header = header::read(source, place)?;
    let (len, text) = match header.item {
        Item::Bytes(len) => (len, None),
        Item::Text { len, big_endian } => (len, Some(big_endian)),
        Item::Number { .. } => (usize::MAX, None),
    };
    if header.len() != Some(1) || len > LONGEST {
        return Err(place.invalid("one word, such as b'csr'", "an array of another kind"));
    }
    let mut word = vec![0; if text.is_some() { CHARACTER * len } else { len }];
    source.read_exact(&mut word).map_err(|error| place.unreadable(error))?;
    if let Some(big_endian) = text {
        let characters = items(&mut word.as_slice(), place, len, big_endian, u32::from_le_bytes)?;
        let characters =
            characters.into_iter().map(|number| char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER));
        word = characters.collect::<String>().into_bytes();
    }
    // Words are filled up with zeros.
    word.truncate(word.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1));
    Ok(word)
}

/// Reads the numbers of a type.
fn numbers(
    source: &mut dyn Read,
    place: &Place,
    header: &Header,
    dtype: DType,
    big_endian: bool,
) -> Result<Values, IoError> {
    let len = header.len().ok_or_else(|| place.too_large("its number of values does not fit into 64 bits"))?;
    macro_rules! read {
        ($from:expr) => {
            items(source, place, len, big_endian, $from).map(Element::wrap)
        };
    }
    match dtype {
        DType::Bool => truths(items(source, place, len, false, u8::from_le_bytes)?, place),
        DType::I8 => read!(i8::from_le_bytes),
        DType::I16 => read!(i16::from_le_bytes),
        DType::I32 => read!(i32::from_le_bytes),
        DType::I64 => read!(i64::from_le_bytes),
        DType::U8 => read!(u8::from_le_bytes),
        DType::U16 => read!(u16::from_le_bytes),
        DType::U32 => read!(u32::from_le_bytes),
        DType::U64 => read!(u64::from_le_bytes),
        DType::F16 => read!(f16::from_le_bytes),
        DType::F32 => read!(f32::from_le_bytes),
        DType::F64 => read!(f64::from_le_bytes),
        DType::C64 => {
            let parts = items(source, place, len.saturating_mul(2), big_endian, f32::from_le_bytes)?;
            Ok(Values::C64(parts.chunks_exact(2).map(|part| Complex::new(part[0], part[1])).collect()))
        }
        DType::C128 => {
            let parts = items(source, place, len.saturating_mul(2), big_endian, f64::from_le_bytes)?;
            Ok(Values::C128(parts.chunks_exact(2).map(|part| Complex::new(part[0], part[1])).collect()))
        }
        DType::BF16 | DType::Pattern => Err(place.invalid("a type of NumPy", dtype.name())),
    }
}

fn truths(bytes: Vec<u8>, place: &Place) -> Result<Values, IoError> {
    match bytes.iter().find(|&&byte| byte > 1) {
        Some(byte) => Err(place.invalid("truth values, which are 0 or 1", byte.to_string())),
        None => Ok(Values::Bool(bytes.into_iter().map(|byte| byte == 1).collect())),
    }
}

/// Reads so many items of `SIZE` bytes.
fn items<T, const SIZE: usize>(
    source: &mut dyn Read,
    place: &Place,
    len: usize,
    big_endian: bool,
    item: fn([u8; SIZE]) -> T,
) -> Result<Vec<T>, IoError> {
    let mut found: Vec<T> = Vec::new();
    let mut piece = vec![0; PIECE_BYTES.min(len.saturating_mul(SIZE))];
    while found.len() < len {
        let count = (len - found.len()).min(PIECE_BYTES / SIZE);
        let bytes = &mut piece[..count * SIZE];
        source.read_exact(bytes).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                place.invalid(format!("{len} values as announced"), "the end of the file before")
            }
            _ => place.unreadable(error),
        })?;
        make_room(&mut found, count).map_err(|_| place.too_large("no memory for its values"))?;
        found.extend(bytes.chunks_exact(SIZE).map(|bytes| {
            let mut own = [0; SIZE];
            own.copy_from_slice(bytes);
            if big_endian {
                own.reverse();
            }
            item(own)
        }));
    }
    Ok(found)
}

/// Values of which the first dimension varied fastest, in the order in which the last does.
fn last_fastest(values: Values, shape: &[u64], place: &Place) -> Result<Values, IoError> {
    if shape.len() < 2 || values.is_empty() {
        return Ok(values);
    }
    with_values!(values, from => {
        let mut to = Vec::new();
        make_room(&mut to, from.len()).map_err(|_| place.too_large("no memory for its values"))?;
        // The coordinates of the next value, and its place in `from`.
        let (mut at, mut from_place) = (vec![0; shape.len()], 0);
        while to.len() < from.len() {
            to.push(from[from_place]);
            let mut stride = from.len();
            for (coordinate, &size) in at.iter_mut().zip(shape).rev() {
                stride /= size as usize;
                if *coordinate + 1 < size as usize {
                    *coordinate += 1;
                    from_place += stride;
                    break;
                }
                from_place -= *coordinate * stride;
                *coordinate = 0;
            }
        }
        Ok(Element::wrap(to))
    })
}
