//! The values of the command's flags: `A:csr`, `y:f32`, `i:100`, `x:x.tns`, `alpha=2`, `x:rand`.
//!
//! Each function reads one flag's value and gives the name in it and the declaration for it. The spans of diagnostics are within
//! the value. Only the program tells if the name is that of a tensor or of an index variable.
//!
//! ```
//! use lacunar_front::options;
//! assert_eq!(options::sizes("A:5,10").unwrap(), ("A".to_string(), vec![5, 10]));
//! assert_eq!(options::format("A").unwrap_err().code, "E0701");
//! ```

mod error;
mod generate;
mod scalar;

use lacunar_base::{Diagnostic, Span};
pub use lacunar_formats::Generator;
use lacunar_formats::{DType, FormatError, FormatSpec};

use crate::words;
use error::Error;
pub use scalar::Scalar;

/// The source of an input's values.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// In a file of this name.
    File(String),
    /// In the flag: those of a scalar.
    Value(Scalar),
}

/// `-f NAME:LEVELS[:ORDER]`: a tensor's format, e.g. `A:csr`, `A:ds`, `A:ds:1,0`.
///
/// # Errors
/// E0402 to E0406 and E0408 for the format, E0701 and E0702 for the form of the value.
pub fn format(text: &str) -> Result<(String, FormatSpec), Diagnostic> {
    let (name, value) = split(text, &[':'], "-f A:csr")?;
    Ok((name, spec(value)?))
}

/// A format by itself, of a flag that names no tensor: `csr`, `ds:1,0`.
///
/// # Errors
/// E0402 to E0406 and E0408.
pub fn bare_format(text: &str) -> Result<FormatSpec, Diagnostic> {
    spec(Part::new(text, 0))
}

fn spec(value: Part<'_>) -> Result<FormatSpec, Diagnostic> {
    value.text.parse::<FormatSpec>().map_err(|error| format_error(value, error).into_diagnostic())
}

/// `-t NAME:TYPE`: a tensor's element type, e.g. `A:f32`, `A:double`.
///
/// # Errors
/// E0504 for the type, E0701 and E0702 for the form of the value.
pub fn dtype(text: &str) -> Result<(String, DType), Diagnostic> {
    let (name, value) = split(text, &[':'], "-t A:f32")?;
    let dtype = DType::parse(value.text).ok_or_else(|| words::unknown_type(value.span(), value.text))?;
    Ok((name, dtype))
}

/// `--fill NAME:VALUE`: the value of a tensor's elements that are not stored, e.g. `A:inf`, `A:-1`.
///
/// # Errors
/// E0704 for the value, E0701 and E0702 for the form of it.
pub fn fill(text: &str) -> Result<(String, lacunar_formats::Scalar), Diagnostic> {
    let (name, value) = split(text, &[':'], "--fill A:inf")?;
    Ok((name, scalar::parse(value).map_err(Error::into_diagnostic)?.value()))
}

/// `-d NAME:5,10` or `-d VARIABLE:5`: sizes, at least one.
///
/// # Errors
/// E0703 for a size, E0701 and E0702 for the form of the value.
pub fn sizes(text: &str) -> Result<(String, Vec<u64>), Diagnostic> {
    let (name, value) = split(text, &[':'], "-d A:5,10")?;
    let sizes = value.split(',').into_iter().map(|part| {
        let digits = part.text.bytes().all(|b| b.is_ascii_digit());
        let size = part.text.parse().ok().filter(|_| digits);
        size.ok_or_else(|| Error::Size { span: part.span(), text: part.text.to_string() }.into_diagnostic())
    });
    Ok((name, sizes.collect::<Result<_, _>>()?))
}

/// `-i NAME:FILE` or `-i NAME=VALUE`: the source of an input's values.
///
/// # Errors
/// E0704 for a scalar, E0707 for a file, E0701 and E0702 for the form of the value.
pub fn input(text: &str) -> Result<(String, Source), Diagnostic> {
    let (name, value) = split(text, &[':', '='], "-i A:matrix.mtx` or `-i alpha=2.5")?;
    let source = match text[..value.start].trim_end().chars().next_back() {
        Some('=') => Source::Value(scalar::parse(value).map_err(Error::into_diagnostic)?),
        _ => Source::File(file(value)?),
    };
    Ok((name, source))
}

/// `-g NAME:KIND`: the kind of an input's made-up values, e.g. `x:rand`, `A:sparse(0.01)`.
///
/// # Errors
/// E0705 and E0706 for the kind, E0701 and E0702 for the form of the value.
pub fn generator(text: &str) -> Result<(String, Generator), Diagnostic> {
    let (name, value) = split(text, &[':'], "-g x:rand")?;
    Ok((name, generate::parse(value).map_err(Error::into_diagnostic)?))
}

/// `-o NAME:FILE`: the file that a result is written to.
///
/// # Errors
/// E0707 for the file, E0701 and E0702 for the form of the value.
pub fn output(text: &str) -> Result<(String, String), Diagnostic> {
    let (name, value) = split(text, &[':'], "-o y:y.tns")?;
    Ok((name, file(value)?))
}

/// A part of a flag's value, without blanks around it, and its first position.
#[derive(Clone, Copy)]
struct Part<'a> {
    text: &'a str,
    start: usize,
}

impl<'a> Part<'a> {
    fn new(text: &'a str, start: usize) -> Part<'a> {
        let trimmed = text.trim_start();
        Part { text: trimmed.trim_end(), start: start + text.len() - trimmed.len() }
    }

    fn span(self) -> Span {
        Span::new(self.start, self.start + self.text.len())
    }

    /// The parts between separators.
    fn split(self, separator: char) -> Vec<Part<'a>> {
        let mut start = self.start;
        let part = |text: &'a str| {
            let part = Part::new(text, start);
            start += text.len() + separator.len_utf8();
            part
        };
        self.text.split(separator).map(part).collect()
    }
}

/// The name before the first separator, and the rest. `example` shows the form that is expected.
fn split<'a>(text: &'a str, separators: &[char], example: &'static str) -> Result<(String, Part<'a>), Diagnostic> {
    let Some((place, separator)) = text.char_indices().find(|(_, c)| separators.contains(c)) else {
        let separators = separators.iter().map(|c| format!("`{c}`")).collect::<Vec<_>>().join(" or ");
        let span = Part::new(text, 0).span();
        return Err(Error::Form { span, separators, example }.into_diagnostic());
    };
    let name = Part::new(&text[..place], 0);
    let start = place + separator.len_utf8();
    if !words::is_name(name.text) {
        let (span, text) = (name.span(), name.text.to_string());
        return Err(Error::Name { span, text, example }.into_diagnostic());
    }
    Ok((name.text.to_string(), Part::new(&text[start..], start)))
}

fn file(value: Part<'_>) -> Result<String, Diagnostic> {
    if value.text.is_empty() {
        return Err(Error::File { span: value.span() }.into_diagnostic());
    }
    Ok(value.text.to_string())
}

/// The place of a format's mistake.
fn format_error(value: Part<'_>, error: FormatError) -> Error {
    let parts = value.split(':');
    let word = parts.first().copied().unwrap_or(value);
    match error {
        FormatError::Letter(letter, place) => {
            let start = word.text.char_indices().nth(place).map_or(word.start, |(offset, _)| word.start + offset);
            Error::Letter { span: Span::new(start, start + letter.len_utf8()), letter, word: word.text.to_string() }
        }
        FormatError::Map(error) => {
            let terms = parts.get(1).copied().unwrap_or(value);
            let part = error.term.and_then(|term| terms.split(',').get(term).copied()).unwrap_or(terms);
            Error::Map { span: part.span(), error }
        }
        FormatError::Width { place, reason } => {
            let start = word.text.char_indices().nth(place).map_or(word.text.len(), |(offset, _)| offset);
            let behind = &word.text[start..];
            let end = behind.find(|c: char| c != '@' && !c.is_ascii_digit()).unwrap_or(behind.len());
            Error::Width { span: Span::new(word.start + start, word.start + start + end), reason }
        }
        FormatError::Schema { name, place, closed } => {
            let start = word.text.char_indices().nth(place).map_or(word.text.len(), |(offset, _)| offset);
            let behind = &word.text[start..];
            let end = if closed { behind.find('}').map_or(behind.len(), |end| end + 1) } else { 1.min(behind.len()) };
            Error::Schema { span: Span::new(word.start + start, word.start + start + end), name, closed }
        }
        FormatError::Open { place, .. } => {
            let start = word.text.char_indices().nth(place).map_or(word.text.len(), |(offset, _)| offset);
            Error::Open { span: Span::new(word.start + start, word.start + start + 1), word: word.text.to_string() }
        }
        FormatError::Packing { structure, fault } => {
            let start = word.text.find('(').map_or(word.start, |at| word.start + at + 1);
            Error::Packing { span: Span::new(start, start + structure.len()), structure, fault }
        }
        FormatError::Ranked(_) => Error::Ranks { span: value.span() },
        FormatError::Arguments(_) => Error::FormatSizes { span: word.span(), word: word.text.to_string() },
        FormatError::Unknown(_) | FormatError::Order { .. } | FormatError::Trailing(_) | FormatError::Auto(_) => {
            Error::Format { span: word.span(), word: word.text.to_string() }
        }
    }
}
