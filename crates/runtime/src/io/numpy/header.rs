//! The header before the numbers of an array: a literal of Python behind a few bytes.
//!
//! ```text
//! \x93NUMPY  1 0  76 00  {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }       \n
//! magic      version      length, little-endian: of 2 bytes, or of 4 from version 2.0 on
//! ```
//!
//! The keys stand in any order. Only the literals of Python that NumPy writes here are taken.

use std::io::Read;

use lacunar_formats::DType;

use super::ARRAY_MAGIC;
use crate::io::error::{IoError, Place};
use crate::io::scan::quote;

/// The longest header taken: those of arrays of numbers have some hundred bytes.
const LONGEST: usize = 64 << 10;
/// The multiple of bytes at which the numbers begin.
const ALIGNMENT: usize = 64;
/// The largest order taken, which is NumPy's.
const LARGEST_ORDER: usize = 64;

/// The type of an array's items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// Numbers, the byte of the greatest weight first or last.
    Number { dtype: DType, big_endian: bool },
    /// Byte strings of a length, of which SciPy keeps one.
    Bytes(usize),
    /// Texts of so many characters, which have 4 bytes each; SciPy takes one in the place of a byte string.
    Text { len: usize, big_endian: bool },
}

/// The header of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) item: Item,
    /// True if the first dimension varies fastest.
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<u64>,
}

impl Header {
    /// The number of items; `None` if it does not fit.
    pub(super) fn len(&self) -> Option<usize> {
        if self.shape.contains(&0) {
            return Some(0);
        }
        let len = self.shape.iter().try_fold(1u64, |len, &size| len.checked_mul(size))?;
        usize::try_from(len).ok()
    }
}

/// Reads the header before the numbers.
pub(super) fn read(source: &mut dyn Read, place: &Place) -> Result<Header, IoError> {
    let mut head = [0; 8];
    read_exactly(source, &mut head, place)?;
    if !head.starts_with(ARRAY_MAGIC) {
        return Err(place.invalid("an array of NumPy", quote(&head)));
    }
    let len = match head[6] {
        1 => {
            let mut len = [0; 2];
            read_exactly(source, &mut len, place)?;
            usize::from(u16::from_le_bytes(len))
        }
        2 | 3 => {
            let mut len = [0; 4];
            read_exactly(source, &mut len, place)?;
            u32::from_le_bytes(len) as usize
        }
        version => return Err(place.invalid("version 1, 2 or 3 of the array format", format!("version {version}"))),
    };
    if len > LONGEST {
        return Err(place.invalid(format!("a header of at most {LONGEST} bytes"), format!("{len}")));
    }
    let mut text = vec![0; len];
    read_exactly(source, &mut text, place)?;
    let mut literal = Literal { text: &text, at: 0 };
    literal.header().map_err(|(expected, at)| {
        let rest = text.get(at..).unwrap_or_default();
        place.invalid(expected, if rest.is_empty() { "the end of the header".to_string() } else { quote(rest) })
    })
}

/// The bytes before the numbers of an array, the last dimension varying fastest.
pub(super) fn bytes_of(descr: &str, shape: &[u64]) -> Vec<u8> {
    let sizes: Vec<String> = shape.iter().map(u64::to_string).collect();
    let comma = if sizes.len() == 1 { "," } else { "" };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}{comma}), }}", sizes.join(", "))
        .into_bytes();
    // Version 1.0: 64 dimensions of 20 digits are below 2^16 bytes.
    let before = ARRAY_MAGIC.len() + 4;
    let padded = (before + text.len() + 1).next_multiple_of(ALIGNMENT);
    text.resize(padded - before - 1, b' ');
    text.push(b'\n');
    let mut bytes = ARRAY_MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text);
    bytes
}

fn read_exactly(source: &mut dyn Read, bytes: &mut [u8], place: &Place) -> Result<(), IoError> {
    source.read_exact(bytes).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => place.invalid("an array of NumPy", "the end of the file"),
        _ => place.unreadable(error),
    })
}

/// The expected text, and its place.
type Fault = (String, usize);

/// A place in a literal.
struct Literal<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Literal<'a> {
    fn header(&mut self) -> Result<Header, Fault> {
        let (mut item, mut fortran_order, mut shape) = (None, None, None);
        self.sign(b'{')?;
        while !self.take(b'}') {
            let start = self.at;
            let key = self.string()?;
            self.sign(b':')?;
            match key {
                b"descr" if item.is_none() => item = Some(self.item()?),
                b"fortran_order" if fortran_order.is_none() => fortran_order = Some(self.truth()?),
                b"shape" if shape.is_none() => shape = Some(self.shape()?),
                _ => return Err(("each of `descr`, `fortran_order` and `shape` once".to_string(), start)),
            }
            if !self.take(b',') && !self.at_sign(b'}') {
                return Err(("`,` or `}`".to_string(), self.at));
            }
        }
        self.skip_blanks();
        if self.at < self.text.len() {
            return Err(("the end of the header".to_string(), self.at));
        }
        match (item, fortran_order, shape) {
            (Some(item), Some(fortran_order), Some(shape)) => Ok(Header { item, fortran_order, shape }),
            _ => Err(("each of `descr`, `fortran_order` and `shape` once".to_string(), self.at)),
        }
    }

    /// A type such as `'<f8'`.
    fn item(&mut self) -> Result<Item, Fault> {
        self.skip_blanks();
        let start = self.at;
        let wrong = || ("a type of numbers, such as '<f8'".to_string(), start);
        let descr = if self.at_sign(b'[') { return Err(wrong()) } else { self.string()? };
        let (order, kind, size) = match descr {
            [order @ (b'<' | b'>' | b'|' | b'='), kind, size @ ..] => (*order, *kind, size),
            [kind, size @ ..] => (b'|', *kind, size),
            [] => return Err(wrong()),
        };
        let size: usize = std::str::from_utf8(size).ok().and_then(|digits| digits.parse().ok()).ok_or_else(wrong)?;
        let big_endian = order == b'>' || order == b'=' && cfg!(target_endian = "big");
        let dtype = match (kind, size) {
            (b'S' | b'a', size) => return Ok(Item::Bytes(size)),
            (b'U', len) => return Ok(Item::Text { len, big_endian }),
            (b'b' | b'?', 1) => DType::Bool,
            (b'i', 1) => DType::I8,
            (b'i', 2) => DType::I16,
            (b'i', 4) => DType::I32,
            (b'i', 8) => DType::I64,
            (b'u', 1) => DType::U8,
            (b'u', 2) => DType::U16,
            (b'u', 4) => DType::U32,
            (b'u', 8) => DType::U64,
            (b'f', 2) => DType::F16,
            (b'f', 4) => DType::F32,
            (b'f', 8) => DType::F64,
            (b'c', 8) => DType::C64,
            (b'c', 16) => DType::C128,
            _ => return Err(wrong()),
        };
        Ok(Item::Number { dtype, big_endian })
    }

    fn truth(&mut self) -> Result<bool, Fault> {
        self.skip_blanks();
        for (word, truth) in [(&b"True"[..], true), (b"False", false)] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(truth);
            }
        }
        Err(("True or False".to_string(), self.at))
    }

    fn shape(&mut self) -> Result<Vec<u64>, Fault> {
        let mut shape = Vec::new();
        self.sign(b'(')?;
        while !self.take(b')') {
            shape.push(self.size()?);
            if shape.len() > LARGEST_ORDER {
                return Err((format!("at most {LARGEST_ORDER} dimensions"), self.at));
            }
            if !self.take(b',') && !self.at_sign(b')') {
                return Err(("`,` or `)`".to_string(), self.at));
            }
        }
        Ok(shape)
    }

    fn size(&mut self) -> Result<u64, Fault> {
        self.skip_blanks();
        let start = self.at;
        let digits = self.text[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += digits;
        let size = std::str::from_utf8(&self.text[start..self.at]).ok().and_then(|digits| digits.parse().ok());
        let size = size.filter(|size| *size <= i64::MAX as u64);
        // NumPy of Python 2 wrote `3L`.
        if self.text.get(self.at) == Some(&b'L') {
            self.at += 1;
        }
        size.ok_or(("a size, from 0 to 2^63-1".to_string(), start))
    }

    /// The text between quotes, in which none is escaped.
    fn string(&mut self) -> Result<&'a [u8], Fault> {
        self.skip_blanks();
        let wrong = ("a word in quotes".to_string(), self.at);
        let Some(quote @ (b'\'' | b'"')) = self.text.get(self.at) else { return Err(wrong) };
        let text: &'a [u8] = self.text;
        let rest = &text[self.at + 1..];
        let Some(len) = rest.iter().position(|byte| byte == quote) else { return Err(wrong) };
        self.at += len + 2;
        Ok(&rest[..len])
    }

    fn sign(&mut self, sign: u8) -> Result<(), Fault> {
        if self.take(sign) { Ok(()) } else { Err((format!("`{}`", char::from(sign)), self.at)) }
    }

    fn take(&mut self, sign: u8) -> bool {
        let there = self.at_sign(sign);
        self.at += usize::from(there);
        there
    }

    fn at_sign(&mut self, sign: u8) -> bool {
        self.skip_blanks();
        self.text.get(self.at) == Some(&sign)
    }

    fn skip_blanks(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }
}
