//! Reading edge lists: a matrix as lines of a source, a target and perhaps a weight, as graphs are passed around.
//!
//! ```text
//! # two columns     with weights, and a headline
//! 1 2               source,target,weight
//! 2 3               1,2,0.5
//!                   2,3,-1
//! ```
//!
//! Fields are separated by blanks, tabs or a comma; comments start with `#` or `%`. The first line of entries tells whether
//! there are weights; a line of words before it is a headline. An edge without a weight is an entry of a pattern. Indices start
//! at 1, or at 0 if the caller says so; this is never guessed. The matrix is square, as large as the largest index asks for,
//! unless the caller gives its sizes. An edge is one entry: its mirror image is not implied. Entries at the same place are all kept.

use lacunar_base::words::count;
use lacunar_formats::One;

use super::entries::{Entries, Field, IntegerField, Layout, PatternField, RealField, UnsignedField, read_entries};
use super::error::IoError;
use super::matrix_market::LARGEST_SIZE;
use super::scan::{Cursor, quote};
use super::text::Text;
use super::{Data, FieldKind, FileFormat, Integers, Metadata, PatternValues, ReadOptions, Symmetry};
use crate::coo::Coo;
use crate::values::Element;

/// The bytes that start a comment.
const COMMENTS: &[u8] = b"#%";

/// True if a text starts like an edge list: with a line of two whole numbers and perhaps a third number.
pub(super) fn sniff(text: &[u8]) -> bool {
    let mut cursor = Cursor::new(text);
    if !cursor.find_content(COMMENTS) {
        return false;
    }
    let line = text.split(|&byte| byte == b'\n').nth(cursor.lines() as usize).unwrap_or_default();
    let is_index = |field: &&[u8]| Cursor::new(field).unsigned().is_some();
    match fields(line).as_slice() {
        [source, target] => is_index(source) && is_index(target),
        [source, target, weight] => is_index(source) && is_index(target) && Cursor::new(weight).real().is_some(),
        _ => false,
    }
}

/// Reads a file whose text is at its start.
pub(super) fn read(text: &mut Text, options: &ReadOptions) -> Result<(Data, Metadata), IoError> {
    let weighted = read_head(text, options.dims.is_some())?;
    text.blank_commas();
    let dims = options.dims.clone();
    if let Some(dims) = dims.as_ref().filter(|dims| dims.len() != 2) {
        let expected = format!("the {} sizes that were asked for", dims.len());
        return Err(text.malformed(text.line().max(1), expected, "an edge list, which is a matrix"));
    }
    let layout = Layout {
        dims_known: dims.is_some(),
        dims: dims.clone().unwrap_or_else(|| vec![LARGEST_SIZE; 2]),
        base: options.base.first(),
        base_is_open: true,
        comments: COMMENTS,
        symmetry: Symmetry::General,
        triangle: None,
        many_per_line: false,
    };
    match (weighted, options.pattern, options.integers) {
        (false, PatternValues::Ones, _) => read_body(text, (dims, layout, FieldKind::Pattern), &PatternField(1.0)),
        (false, PatternValues::True, _) => read_body(text, (dims, layout, FieldKind::Pattern), &PatternField(true)),
        (false, PatternValues::Places, _) => read_body(text, (dims, layout, FieldKind::Pattern), &PatternField(One)),
        (true, _, None) => read_body(text, (dims, layout, FieldKind::Real), &RealField),
        (true, _, Some(Integers::Signed)) => read_body(text, (dims, layout, FieldKind::Integer), &IntegerField),
        (true, _, Some(Integers::Unsigned)) => read_body(text, (dims, layout, FieldKind::Integer), &UnsignedField),
    }
}

/// Reads the entries of a matrix whose sizes are known or follow from them.
fn read_body<F: Field>(
    text: &mut Text,
    (dims, layout, kind): (Option<Vec<u64>>, Layout, FieldKind),
    field: &F,
) -> Result<(Data, Metadata), IoError> {
    let Entries { coords, largest, values, stored } = read_entries(text, &layout, field, None)?;
    let size = match values.is_empty() {
        true => 0,
        false => largest.iter().copied().max().unwrap_or(0) + 1,
    };
    let metadata = Metadata {
        format: FileFormat::EdgeList,
        compression: text.compression(),
        field: kind,
        symmetry: Symmetry::General,
        stored,
    };
    let dims = dims.unwrap_or_else(|| vec![size; 2]);
    Ok((Data::Coordinate(Coo { dims, coords, values: F::Value::wrap(values) }), metadata))
}

/// Reads up to the first entry, which is read again. Returns true if it has a weight. A file without entries needs
/// sizes from the caller.
fn read_head(text: &mut Text, dims_known: bool) -> Result<bool, IoError> {
    let mut headline = None;
    loop {
        let mark = text.mark()?;
        let Some(line) = text.next_line()?.map(<[u8]>::to_vec) else {
            let expected = "a source and a target, or the sizes of the matrix from the caller";
            return if dims_known { Ok(false) } else { Err(text.ends(expected)) };
        };
        if !Cursor::new(&line).find_content(COMMENTS) {
            continue;
        }
        let fields = fields(&line);
        let is_word = |field: &&[u8]| field.first().is_some_and(|&byte| byte.is_ascii_alphabetic() || byte == b'"');
        if headline.is_none() && !fields.is_empty() && fields.iter().all(is_word) {
            headline = Some(text.line());
            continue;
        }
        let weighted = match fields.len() {
            2 => false,
            3 => true,
            other => {
                let found = format!("{}: {}", count(other, "field", "fields"), quote(&line));
                return Err(text.malformed(text.line(), "a source, a target and perhaps a weight", found));
            }
        };
        text.unread_line(mark);
        return Ok(weighted);
    }
}

/// The fields of a line.
fn fields(line: &[u8]) -> Vec<&[u8]> {
    let separates = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',';
    line.split(separates).filter(|field| !field.is_empty()).collect()
}
