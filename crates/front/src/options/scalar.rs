//! Scalars on the command line: `true`, `-3`, `2.5`, `1e-3`, `1+2i`, `-i`.

use lacunar_formats::DType;

use super::Part;
use super::error::Error;

/// The value of a scalar input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// A truth value.
    Bool(bool),
    /// An integer, of `i64` or `u64`.
    Int(i128),
    /// A real number.
    Float(f64),
    /// A complex number: real and imaginary part.
    Complex(f64, f64),
}

impl Scalar {
    /// The type of the scalar if none is declared.
    pub fn dtype(self) -> DType {
        match self {
            Scalar::Bool(_) => DType::Bool,
            Scalar::Int(value) if value > i128::from(i64::MAX) => DType::U64,
            Scalar::Int(_) => DType::I64,
            Scalar::Float(_) => DType::F64,
            Scalar::Complex(..) => DType::C128,
        }
    }
}

impl Scalar {
    /// The value in that type.
    pub fn value(self) -> lacunar_formats::Scalar {
        use lacunar_formats::Scalar as Value;
        match self {
            Scalar::Bool(value) => Value::bool(value),
            // The reader accepts only values that fit in 64 bits.
            Scalar::Int(value) => Value { ty: self.dtype(), bits: value as u64, imag: 0 },
            Scalar::Float(value) => Value::real(DType::F64, value),
            Scalar::Complex(re, im) => Value::complex(DType::C128, re, im),
        }
    }
}

/// Reads a scalar.
pub(super) fn parse(value: Part<'_>) -> Result<Scalar, Error> {
    let text = value.text;
    let in_range = |int: &i128| (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(int);
    let found = match text {
        "true" => Some(Scalar::Bool(true)),
        "false" => Some(Scalar::Bool(false)),
        _ if text.trim_start_matches(['+', '-']).bytes().all(|b| b.is_ascii_digit()) => {
            text.parse().ok().filter(in_range).map(Scalar::Int)
        }
        _ => text.parse().ok().map(Scalar::Float).or_else(|| complex(text)),
    };
    found.ok_or_else(|| Error::Scalar { span: value.span(), text: text.to_string() })
}

/// Reads `[real][+-][imaginary]i`; `j` will do for `i`.
fn complex(text: &str) -> Option<Scalar> {
    let parts = text.strip_suffix(['i', 'j'])?;
    // The sign between the parts is the last one that begins a number: not the first character, not an exponent's.
    let bytes = parts.as_bytes();
    let is_sign = |place: usize| matches!(bytes[place], b'+' | b'-') && !matches!(bytes[place - 1], b'e' | b'E');
    let middle = (1..bytes.len()).rev().find(|&place| is_sign(place)).unwrap_or(0);
    let (real, imaginary) = parts.split_at_checked(middle)?;
    let imaginary = match imaginary {
        "" | "+" => 1.0,
        "-" => -1.0,
        digits => digits.parse().ok()?,
    };
    let real = if real.is_empty() { 0.0 } else { real.parse().ok()? };
    Some(Scalar::Complex(real, imaginary))
}
