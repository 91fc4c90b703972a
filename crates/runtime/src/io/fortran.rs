//! Fields of fixed width, as Fortran's formats lay them out.
//!
//! A format such as `(1P,5D16.9)` says that each line holds five fields of 16 columns. Fields may touch, so the blanks
//! between them tell nothing; only the columns count:
//!
//! ```text
//! (3I3)     |101|120|100|            -> 101 120 100
//! (2E10.3)  |-1.000E+02|-2.000E+02|  -> -100 -200
//! ```
//!
//! The rest of the format matters only for numbers written without a point (`12345` under `F8.2` is 123.45) or, with a
//! scale factor `kP`, without an exponent (divided by 10^k). A line may end early: blanks at its end may be missing.

use super::error::IoError;
use super::scan::{fortran_real, quote};
use super::text::Text;

/// The widest field taken.
const WIDEST: usize = 255;

/// One descriptor, repeated: `5D16.9` with scale factor 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    /// Fields in a line.
    pub(super) per_line: usize,
    /// Columns of a field.
    pub(super) width: usize,
    /// Digits behind the point, where none is written.
    decimals: i32,
    /// The exponent of ten by which numbers without an exponent are too large.
    scale: i32,
    /// True if the fields are integers.
    integer: bool,
}

impl Format {
    /// Parses a format in parentheses; `None` if it is none, or not of one repeated descriptor.
    pub(super) fn parse(text: &[u8]) -> Option<Format> {
        let text: Vec<u8> =
            text.iter().filter(|byte| !byte.is_ascii_whitespace()).map(u8::to_ascii_uppercase).collect();
        let mut rest = text.strip_prefix(b"(")?.strip_suffix(b")")?;
        let mut scale = 0;
        let negative = rest.starts_with(b"-");
        let (digits, after) = number(rest.strip_prefix(b"-").unwrap_or(rest));
        if let Some(after) = after.strip_prefix(b"P") {
            let magnitude = i32::try_from(digits?).ok()?;
            scale = if negative { -magnitude } else { magnitude };
            rest = after.strip_prefix(b",").unwrap_or(after);
        }
        let (per_line, after) = number(rest);
        // A group, as in `(1P5(D16.9))`.
        let after = after.strip_prefix(b"(").and_then(|group| group.strip_suffix(b")")).unwrap_or(after);
        let (&letter, after) = after.split_first()?;
        let (width, after) = number(after);
        let (width, per_line) = (width? as usize, per_line.unwrap_or(1) as usize);
        let (decimals, after) = match after.strip_prefix(b".") {
            Some(after) => number(after),
            None => (None, after),
        };
        // The width of the exponent (`E16.9E3`) matters for writing only.
        let after = after.strip_prefix(b"E").map_or(after, |exponent| number(exponent).1);
        let known = matches!(letter, b'I' | b'E' | b'D' | b'F' | b'G') && after.is_empty();
        let sensible = (1..=WIDEST).contains(&width) && (1..=1 << 16).contains(&per_line);
        (known && sensible).then_some(Format {
            per_line,
            width,
            decimals: i32::try_from(decimals.unwrap_or(0)).ok()?,
            scale,
            integer: letter == b'I',
        })
    }

    /// Reads a field as a real number.
    pub(super) fn real(&self, field: &[u8]) -> Option<f64> {
        let exponent_at = field.iter().skip(1).position(|byte| matches!(byte, b'+' | b'-' | b'e' | b'E' | b'd' | b'D'));
        if exponent_at.is_none() && !field.first()?.is_ascii_alphabetic() && !self.integer {
            // It is neither `nan` nor has an exponent: the scale factor counts.
            let shift = if field.contains(&b'.') { self.scale } else { self.scale.checked_add(self.decimals)? };
            return match shift {
                0 => fortran_real(field),
                _ => fortran_real(&[field, format!("e{}", -shift).as_bytes()].concat()),
            };
        }
        fortran_real(field).or_else(|| {
            // The letter of the exponent may be missing: `1.0+05`.
            let (mantissa, exponent) = field.split_at(exponent_at? + 1);
            matches!(exponent.first(), Some(b'+' | b'-'))
                .then(|| fortran_real(&[mantissa, b"e", exponent].concat()))
                .flatten()
        })
    }
}

/// The number in front of a text, and the rest.
fn number(text: &[u8]) -> (Option<u32>, &[u8]) {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(length);
    // A number too large to hold is too large for every use here.
    let value = || std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(u32::MAX);
    ((length > 0).then(value), rest)
}

/// Reads `count` fields of a format, from new lines on, and hands each to `take`, which returns its expectation if the
/// field is wrong. The name tells a reader of errors the meaning of the fields.
pub(super) fn read_fields(
    text: &mut Text,
    format: Format,
    count: u64,
    name: &str,
    mut take: impl FnMut(u64, &[u8]) -> Result<(), String>,
) -> Result<(), IoError> {
    let mut done = 0;
    while done < count {
        let Some(line) = text.next_line()? else {
            return Err(text.ends(format!("{count} {name}, of which {done} are there")));
        };
        let mut fault = None;
        for start in (0..format.per_line).map(|k| k * format.width) {
            if done == count {
                break;
            }
            let end = (start + format.width).min(line.len());
            let field = line.get(start..end).unwrap_or_default().trim_ascii();
            if field.is_empty() {
                let expected = format!("{count} {name}, of which {done} are there");
                fault = Some((expected, format!("blanks in column {}", start + 1)));
                break;
            }
            if let Err(expected) = take(done, field) {
                fault = Some((expected, quote(field)));
                break;
            }
            done += 1;
        }
        if let Some((expected, found)) = fault {
            return Err(text.malformed(text.line(), expected, found));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Format;

    #[test]
    fn formats() {
        let parse = |text: &str| Format::parse(text.as_bytes()).map(|f| (f.per_line, f.width, f.decimals, f.scale));
        assert_eq!(parse("(26I3)"), Some((26, 3, 0, 0)));
        assert_eq!(parse("(1P,5D16.9)"), Some((5, 16, 9, 1)));
        assert_eq!(parse("(1p5(e16.9e3))"), Some((5, 16, 9, 1)));
        assert_eq!(parse("(I8)"), Some((1, 8, 0, 0)));
        assert_eq!(parse("( 4E20.12 )"), Some((4, 20, 12, 0)));
        for wrong in ["", "(banana)", "(0I4)", "(4I0)", "4I4", "(4I4", "(4X4)", "(99999999999I4)", "(4I4,3F2.1)"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn reals() {
        let real = |format: &str, field: &str| Format::parse(format.as_bytes()).and_then(|f| f.real(field.as_bytes()));
        assert_eq!(real("(F8.2)", "12345"), Some(123.45));
        assert_eq!(real("(1P,F8.2)", "12.5"), Some(1.25));
        assert_eq!(real("(1P,E16.9)", "1.25D+02"), Some(125.0));
        assert_eq!(real("(E16.9)", "-1.25-02"), Some(-0.0125));
        assert_eq!(real("(E16.9)", "1.5"), Some(1.5));
        assert_eq!(real("(I6)", "-12"), Some(-12.0));
        assert_eq!(real("(E16.9)", "x"), None);
        assert_eq!(real("(E16.9)", "1.0e"), None);
    }
}
