//! Reading numbers from bytes.
//!
//! A [`Cursor`] walks over text; fields are separated by blanks (spaces, tabs, and the carriage return of a CRLF line
//! end), lines by `\n`. Every number must be followed by a blank or a line end, so `1.5x` is no number. The accepted
//! forms:
//!
//! | kind    | taken                                                                  | refused                     |
//! |---------|------------------------------------------------------------------------|-----------------------------|
//! | index   | digits (leading zeros too) up to 2^64 - 1                              | signs, points               |
//! | integer | an optional sign and digits, within 64 bits                            | points, exponents           |
//! | real    | `1.5` `.5` `5.` `1e-3` `+1` `1.5D+02` `nan` `inf` `-Infinity`, any case | `1e`, `0x1p3`, `1,5`, `1_0` |
//!
//! A real becomes the nearest double: too small is 0, too large is infinity (as the numbers of most languages).

use std::borrow::Cow;

use num_complex::Complex;

/// The most bytes of the text that an error shows.
const SHOWN_BYTES: usize = 40;

/// A broken rule at some line of a piece of text: the file and the lines before are added by whoever knows them.
#[derive(Debug)]
pub(super) struct Fault {
    /// The line, counted from 1 in the piece of text.
    pub(super) line: u64,
    /// The content that the format asks for.
    pub(super) expected: Cow<'static, str>,
    /// The content found.
    pub(super) found: String,
    /// A hint that may help.
    pub(super) hint: Option<&'static str>,
}

/// A place in a piece of text.
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
    lines: u64,
}

impl<'a> Cursor<'a> {
    /// The start of a text.
    pub(super) fn new(text: &'a [u8]) -> Cursor<'a> {
        Cursor { text, at: 0, lines: 0 }
    }

    /// The number of line ends passed.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    /// The next byte; `None` at the end.
    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Passes blanks, staying in the line.
    #[inline]
    pub(super) fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// Passes blanks, empty lines and lines that start with one of `comments`, up to the first byte of something else.
    /// `false` at the end of the text.
    #[inline]
    pub(super) fn find_content(&mut self, comments: &[u8]) -> bool {
        loop {
            self.skip_blanks();
            match self.peek() {
                None => return false,
                Some(b'\n') => self.pass_line_end(),
                Some(byte) if comments.contains(&byte) => match memchr::memchr(b'\n', &self.text[self.at..]) {
                    None => {
                        self.at = self.text.len();
                        return false;
                    }
                    Some(length) => {
                        self.at += length;
                        self.pass_line_end();
                    }
                },
                Some(_) => return true,
            }
        }
    }

    /// Passes the end of the line, before which only blanks may stand.
    #[inline]
    pub(super) fn end_line(&mut self) -> Result<(), Fault> {
        self.skip_blanks();
        match self.peek() {
            None => Ok(()),
            Some(b'\n') => {
                self.pass_line_end();
                Ok(())
            }
            Some(_) => Err(self.fault("the end of the line")),
        }
    }

    /// Reads an index or a size, after blanks.
    #[inline]
    pub(super) fn unsigned(&mut self) -> Option<u64> {
        self.skip_blanks();
        let digits = &self.text[self.at..];
        let mut value = 0u64;
        let mut length = 0;
        while let Some(digit) = digits.get(length).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
            // Up to 19 digits cannot wrap; more are read again with care below.
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            length += 1;
        }
        if length == 0 || !is_end(digits.get(length)) {
            return None;
        }
        if length > 19 {
            value = std::str::from_utf8(&digits[..length]).ok()?.parse().ok()?;
        }
        self.at += length;
        Some(value)
    }

    /// Reads a signed integer, after blanks.
    #[inline]
    pub(super) fn integer(&mut self) -> Option<i64> {
        self.skip_blanks();
        let field = self.field();
        let value = std::str::from_utf8(field).ok()?.parse().ok()?;
        self.at += field.len();
        Some(value)
    }

    /// Reads a real number, after blanks.
    #[inline]
    pub(super) fn real(&mut self) -> Option<f64> {
        self.skip_blanks();
        let rest = &self.text[self.at..];
        if let Ok((value, length)) = fast_float2::parse_partial::<f64, _>(rest)
            && is_end(rest.get(length))
        {
            self.at += length;
            return Some(value);
        }
        let field = self.field();
        let value = fortran_real(field)?;
        self.at += field.len();
        Some(value)
    }

    /// Reads a real and an imaginary part, after blanks.
    #[inline]
    pub(super) fn complex(&mut self) -> Option<Complex<f64>> {
        Some(Complex::new(self.real()?, self.real()?))
    }

    /// The fault that the field after the cursor is not as expected.
    #[cold]
    pub(super) fn fault(&mut self, expected: impl Into<Cow<'static, str>>) -> Fault {
        self.skip_blanks();
        let found = match self.peek() {
            None => "the end of the file".to_owned(),
            Some(b'\n') => "the end of the line".to_owned(),
            Some(_) => quote(self.field()),
        };
        Fault { line: self.lines + 1, expected: expected.into(), found, hint: None }
    }

    /// The bytes up to the next blank or line end.
    fn field(&self) -> &'a [u8] {
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|&byte| is_end(Some(&byte))).unwrap_or(rest.len());
        &rest[..length]
    }

    fn pass_line_end(&mut self) {
        self.at += 1;
        self.lines += 1;
    }
}

/// True if a field ends before this byte.
#[inline]
fn is_end(byte: Option<&u8>) -> bool {
    matches!(byte, None | Some(b' ' | b'\n' | b'\t' | b'\r'))
}

/// Reads a real in the forms that other languages lack: a plus sign, and `D` before the exponent.
pub(super) fn fortran_real(field: &[u8]) -> Option<f64> {
    let number = match field {
        [b'+', b'+' | b'-', ..] => return None,
        [b'+', number @ ..] => number,
        number => number,
    };
    match number.iter().position(|byte| matches!(byte, b'd' | b'D')) {
        // A `D` is an exponent only behind a digit or a point; `inf` and `nan` have none there.
        Some(at) if at > 0 && matches!(number[at - 1], b'0'..=b'9' | b'.') => {
            let mut number = number.to_vec();
            number[at] = b'e';
            fast_float2::parse(&number).ok()
        }
        _ => fast_float2::parse(number).ok(),
    }
}

/// A piece of the text in quotation marks, shortened, with unprintable bytes escaped.
pub(super) fn quote(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(SHOWN_BYTES)];
    let dots = if bytes.len() > SHOWN_BYTES { "..." } else { "" };
    format!("\"{}{dots}\"", shown.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_taken_and_refused() {
        let real = |text: &str| Cursor::new(text.as_bytes()).real();
        assert_eq!(real(" 1.5D+02\n"), Some(150.0));
        assert_eq!(real("-2.5d-01 "), Some(-0.25));
        assert_eq!(real("+1.5"), Some(1.5));
        assert_eq!(real(".5"), Some(0.5));
        assert_eq!(real("5.\r\n"), Some(5.0));
        assert_eq!(real("-Infinity"), Some(f64::NEG_INFINITY));
        assert_eq!(real("4.9e-324"), Some(5e-324));
        assert!(real("nan").is_some_and(f64::is_nan));
        for wrong in ["", "1e", "1.5x", "0x10", "1,5", "+-1", "++1", "1_0", "infd", "d", "1.5D2D3", "e5", "."] {
            assert_eq!(real(wrong), None, "{wrong}");
        }
        let unsigned = |text: &str| Cursor::new(text.as_bytes()).unsigned();
        assert_eq!(unsigned("00000000000000000000000000042"), Some(42));
        assert_eq!(unsigned("18446744073709551615"), Some(u64::MAX));
        for wrong in ["18446744073709551616", "-1", "+1", "1.0", "1x", "x", ""] {
            assert_eq!(unsigned(wrong), None, "{wrong}");
        }
        let integer = |text: &str| Cursor::new(text.as_bytes()).integer();
        assert_eq!(integer("-9223372036854775808"), Some(i64::MIN));
        assert_eq!(integer("+7"), Some(7));
        for wrong in ["9223372036854775808", "3.5", "-", "1e3"] {
            assert_eq!(integer(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn faults_tell_the_line() {
        let mut cursor = Cursor::new(b"% comment\n\n  1 two\n");
        assert!(cursor.find_content(b"%"));
        assert_eq!(cursor.unsigned(), Some(1));
        let fault = cursor.fault("a number");
        assert_eq!((fault.line, fault.found.as_str()), (3, "\"two\""));
    }
}
