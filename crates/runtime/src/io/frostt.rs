//! Reading tensors as text: FROSTT's `.tns` (Smith et al., "FROSTT: The Formidable Repository of Open Sparse Tensors
//! and Tools", 2017) and two relatives with a header.
//!
//! ```text
//! # FROSTT          ParTI           Tensor Toolbox
//! 1 1 1 1.5         3               sptensor
//! 2 3 4 -2          2 3 4           3
//!                   1 1 1 1.5       2 3 4
//!                   2 3 4 -2        2
//!                                   1 1 1 1.5
//!                                   2 3 4 -2
//! ```
//!
//! A line is one index per dimension, then a real value. The first line tells the order, up to [`LARGEST_ORDER`]; a
//! first line of one field is ParTI's header, as an entry has at least two. Indices start at 1, or at 0 if the caller
//! says so; this is never guessed. Sizes are those of the header, else the caller's, else the largest indices. If the
//! caller gives sizes, their number is the order: then a file without entries is an empty tensor, and for no sizes at
//! all a line is a value alone, which no file can say by itself. Comments start with `#`. Behind a comment `# complex`, which
//! stands before the entries, a value has two fields: its real and its imaginary part. Entries at the same place
//! are all kept.

use super::entries::{ComplexField, Entries, Field, IntegerField, Layout, RealField, UnsignedField, read_entries};
use super::error::IoError;
use super::matrix_market::LARGEST_SIZE;
use super::scan::{Cursor, quote};
use super::text::Text;
use super::{Data, FieldKind, FileFormat, Integers, Metadata, ReadOptions, Symmetry};
use crate::coo::Coo;
use crate::values::Element;

/// The largest order taken.
pub(super) const LARGEST_ORDER: usize = 64;

/// The facts of a tensor that are known before its entries.
struct Header {
    order: usize,
    dims: Option<Vec<u64>>,
    count: Option<u64>,
    /// True if values have two fields.
    complex: bool,
}

/// The comment that says that values are complex.
pub(super) const COMPLEX: &str = "# complex";

/// True if a text starts like a tensor file: with a line of numbers only, of which all but the last are indices.
pub(super) fn sniff(text: &[u8]) -> bool {
    let mut cursor = Cursor::new(text);
    if !cursor.find_content(b"#") {
        return false;
    }
    let line = text.split(|&byte| byte == b'\n').nth(cursor.lines() as usize).unwrap_or_default();
    let fields = fields(line);
    let (Some((last, indices)), false) = (fields.split_last(), fields.len() < 2) else {
        return fields == [b"sptensor"];
    };
    Cursor::new(last).real().is_some() && indices.iter().all(|index| Cursor::new(index).unsigned().is_some())
}

/// Reads a file whose text is at its start.
pub(super) fn read(text: &mut Text, options: &ReadOptions) -> Result<(Data, Metadata), IoError> {
    let header = read_header(text, options)?;
    let dims = match (&header.dims, &options.dims) {
        (Some(found), Some(given)) if found != given => {
            let line = text.line();
            return Err(text.malformed(line, format!("the sizes {given:?} that were asked for"), format!("{found:?}")));
        }
        (found, given) => found.clone().or_else(|| given.clone()),
    };
    let layout = Layout {
        dims_known: dims.is_some(),
        dims: dims.clone().unwrap_or_else(|| vec![LARGEST_SIZE; header.order]),
        base: options.base.first(),
        base_is_open: true,
        comments: b"#",
        symmetry: Symmetry::General,
        triangle: None,
        many_per_line: false,
    };
    let count = header.count;
    match options.integers {
        _ if header.complex => read_body(text, (dims, layout, count), &ComplexField),
        None => read_body(text, (dims, layout, count), &RealField),
        Some(Integers::Signed) => read_body(text, (dims, layout, count), &IntegerField),
        Some(Integers::Unsigned) => read_body(text, (dims, layout, count), &UnsignedField),
    }
}

/// Reads the entries of a tensor whose sizes are known or follow from them, and so many that are announced.
fn read_body<F: Field>(
    text: &mut Text,
    (dims, layout, count): (Option<Vec<u64>>, Layout, Option<u64>),
    field: &F,
) -> Result<(Data, Metadata), IoError> {
    let Entries { coords, largest, values, stored } = read_entries(text, &layout, field, count)?;
    let dims = dims.unwrap_or_else(|| largest.iter().map(|&coordinate| coordinate + 1).collect());
    let is_complex = F::Value::DTYPE.is_complex();
    let metadata = Metadata {
        format: FileFormat::Frostt,
        compression: text.compression(),
        field: if is_complex { FieldKind::Complex } else { FieldKind::Real },
        symmetry: Symmetry::General,
        stored,
    };
    Ok((Data::Coordinate(Coo { dims, coords, values: F::Value::wrap(values) }), metadata))
}

/// Reads the lines before the entries, and goes back to the first entry.
fn read_header(text: &mut Text, options: &ReadOptions) -> Result<Header, IoError> {
    let given_order = options.dims.as_ref().map(Vec::len);
    let mut complex = false;
    let mark = loop {
        let mark = text.mark()?;
        match text.next_line()? {
            Some(line) if !Cursor::new(line).find_content(b"#") => {
                complex |= fields(line).join(&b' ').eq_ignore_ascii_case(COMPLEX.as_bytes());
            }
            Some(_) => {
                text.unread_line(mark);
                break mark;
            }
            None => {
                return match given_order {
                    Some(order) => Ok(Header { order, dims: None, count: None, complex }),
                    None => Err(text.ends("an entry, or the sizes of the tensor from the caller")),
                };
            }
        }
    };
    let line = text.next_line()?.unwrap_or_default().to_vec();
    let fields = fields(&line);
    match fields.as_slice() {
        // Something is in the line that is neither a blank nor a field, such as a form feed.
        [] => {
            let expected = "an order, or indices and a value".to_string();
            Err(text.malformed(text.line(), expected, quote(&line)))
        }
        [word] if word.eq_ignore_ascii_case(b"sptensor") => {
            let order = read_order(text)?;
            let dims = read_numbers(text, order, "the size of dimension", LARGEST_SIZE)?;
            let count = read_numbers(text, 1, "the number of entries, number", u64::MAX)?[0];
            Ok(Header { order, dims: Some(dims), count: Some(count), complex })
        }
        [_] if given_order == Some(0) => {
            text.unread_line(mark);
            Ok(Header { order: 0, dims: None, count: None, complex })
        }
        [_] => {
            text.unread_line(mark);
            let order = read_order(text)?;
            let dims = read_numbers(text, order, "the size of dimension", LARGEST_SIZE)?;
            Ok(Header { order, dims: Some(dims), count: None, complex })
        }
        fields => {
            let (width, value) = if complex { (2, "a real and an imaginary part") } else { (1, "a value") };
            let order = fields.len() - width;
            let expected = match given_order {
                Some(given) if given != order => format!("{given} indices and {value}"),
                None if order > LARGEST_ORDER => format!("at most {LARGEST_ORDER} indices and {value}"),
                None if order == 0 => format!("indices and {value}"),
                _ => {
                    text.unread_line(mark);
                    return Ok(Header { order, dims: None, count: None, complex });
                }
            };
            Err(text.malformed(text.line(), expected, format!("{} fields: {}", fields.len(), quote(&line))))
        }
    }
}

/// Reads the order in a line of its own.
fn read_order(text: &mut Text) -> Result<usize, IoError> {
    let order = read_numbers(text, 1, "an order, or indices and a value: number", LARGEST_ORDER as u64)?[0];
    Ok(order as usize)
}

/// Reads a line of `count` integers, after comments and blank lines.
fn read_numbers(text: &mut Text, count: usize, name: &str, largest: u64) -> Result<Vec<u64>, IoError> {
    loop {
        let Some(line) = text.next_line()? else { return Err(text.ends(format!("{name} 1"))) };
        let mut cursor = Cursor::new(line);
        if count > 0 && !cursor.find_content(b"#") {
            continue;
        }
        let mut numbers = Vec::with_capacity(count);
        let mut fault = None;
        while numbers.len() < count && fault.is_none() {
            match cursor.unsigned() {
                Some(number) if number <= largest => numbers.push(number),
                Some(number) => {
                    let expected = format!("{name} {} of at most {largest}", numbers.len() + 1);
                    fault = Some((expected, format!("\"{number}\"")));
                }
                None => {
                    let expected = format!("{name} {}, an integer from 0", numbers.len() + 1);
                    fault = Some((expected, cursor.fault("").found));
                }
            }
        }
        if fault.is_none() {
            fault = cursor.end_line().err().map(|fault| (fault.expected.into_owned(), fault.found));
        }
        return match fault {
            Some((expected, found)) => Err(text.malformed(text.line(), expected, found)),
            None => Ok(numbers),
        };
    }
}

/// The fields of a line.
fn fields(line: &[u8]) -> Vec<&[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).collect()
}
