//! Numbers that describe a tensor: the sum and the norm of its values, its first entries; and statistics of times.

use std::time::Duration;

use lacunar::{DType, DynTensor, Error};
use lacunar_formats::Kind;
use lacunar_oracle::entries::scalars;
use lacunar_oracle::scalar::Scalar;
use num_complex::Complex;
use serde::Serialize;

use crate::failure::Failure;

/// The sum of a tensor's values: exact for integers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Sum {
    /// The sum of integers (and of truth values, counted).
    Integer(i128),
    /// The sum of reals.
    Real(f64),
    /// The sum of complex numbers: real and imaginary part.
    Complex([f64; 2]),
}

impl std::fmt::Display for Sum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Sum::Integer(value) => write!(f, "{value}"),
            Sum::Real(value) => f.write_str(&number(*value)),
            Sum::Complex([re, im]) => f.write_str(&complex_text(*re, *im, number)),
        }
    }
}

/// The sum of all stored values and their Euclidean norm.
///
/// # Errors
/// Memory for values of another type is refused.
pub fn sum_and_norm(tensor: &DynTensor) -> Result<(Sum, f64), Failure> {
    let wide = match tensor.dtype().kind() {
        Kind::Bool | Kind::Unsigned => DType::U64,
        Kind::Signed => DType::I64,
        Kind::Real => DType::F64,
        Kind::Complex => DType::C128,
    };
    let converted = if tensor.dtype() == wide { None } else { Some(tensor.cast(wide).map_err(Error::from)?) };
    let values = converted.as_ref().unwrap_or(tensor).values();
    let integers = |values: &mut dyn Iterator<Item = i128>| {
        let (sum, squares) =
            values.fold((0i128, 0.0), |(sum, squares), value| (sum + value, squares + value as f64 * value as f64));
        (Sum::Integer(sum), f64::sqrt(squares))
    };
    Ok(if let Some(values) = values.as_slice::<u64>() {
        integers(&mut values.iter().map(|&value| i128::from(value)))
    } else if let Some(values) = values.as_slice::<i64>() {
        integers(&mut values.iter().map(|&value| i128::from(value)))
    } else if let Some(values) = values.as_slice::<Complex<f64>>() {
        let sum: Complex<f64> = values.iter().sum();
        let norm = values.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
        (Sum::Complex([sum.re, sum.im]), norm)
    } else {
        let values = values.as_slice::<f64>().unwrap_or_default();
        (Sum::Real(values.iter().sum::<f64>() + 0.0), values.iter().map(|value| value * value).sum::<f64>().sqrt())
    })
}

/// The most entries that are listed to show the first of them. Dense tensors need no list.
const LISTED: u64 = 10_000_000;

/// The first entries that are stored, one a line, and the number of the others: `y(0) = 1.5`.
///
/// # Errors
/// Memory is refused.
pub fn first_entries(name: &str, tensor: &DynTensor, count: usize) -> Result<Vec<String>, Failure> {
    let entries = if tensor.format().is_dense() { tensor.nnz() } else { tensor.entries() };
    if entries > LISTED && !(tensor.format().is_dense() && tensor.format().is_natural_order()) {
        return Ok(vec![format!("{entries} entries")]);
    }
    let coo = tensor.head(count)?;
    let mut lines = Vec::new();
    for (place, value) in scalars(&coo.values).into_iter().enumerate() {
        let at: Vec<String> = coo.coords.iter().filter_map(|column| column.get(place)).map(|c| c.to_string()).collect();
        let access = if at.is_empty() { name.to_string() } else { format!("{name}({})", at.join(",")) };
        lines.push(format!("{access} = {}", value_text(value)));
    }
    let more = entries.saturating_sub(coo.len() as u64);
    if more > 0 {
        lines.push(format!("... {more} more"));
    }
    Ok(lines)
}

/// A value for people.
pub fn value_text(value: Scalar) -> String {
    match value {
        Scalar::Bool(value) => value.to_string(),
        Scalar::Int(value) => value.to_string(),
        // Adding 0 takes the sign off a zero.
        Scalar::Real(value) => real_text(value + 0.0),
        Scalar::Complex(value) => complex_text(value.re, value.im, real_text),
    }
}

/// The shortest text of a number, with an exponent where it would have many zeros.
fn real_text(value: f64) -> String {
    let is_plain = value == 0.0 || !value.is_finite() || (1e-5..1e16).contains(&value.abs());
    if is_plain { value.to_string() } else { format!("{value:e}") }
}

/// A complex number whose parts are shown by `show`: `1 - 2i`.
fn complex_text(re: f64, im: f64, show: impl Fn(f64) -> String) -> String {
    let sign = if im < 0.0 { '-' } else { '+' };
    format!("{} {sign} {}i", show(re + 0.0), show(im.abs()))
}

/// A number with six significant digits at most.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() {
        format!("{}", value + 0.0)
    } else if (1e-4..1e7).contains(&size) {
        let digits = (5 - size.log10().floor() as i32).clamp(0, 9) as usize;
        let text = format!("{value:.digits$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
    } else {
        format!("{value:.5e}")
    }
}

/// A duration in milliseconds.
pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The smallest of times; 0 of none.
pub fn min(times: &[f64]) -> f64 {
    times.iter().copied().min_by(f64::total_cmp).unwrap_or(0.0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use lacunar::Format;
    use lacunar_runtime::Buffer;

    #[test]
    fn sums_of_every_kind() {
        assert_eq!(sum_and_norm(&DynTensor::scalar(-3.0f32)).unwrap(), (Sum::Real(-3.0), 3.0));
        assert_eq!(sum_and_norm(&DynTensor::scalar(-3i8)).unwrap(), (Sum::Integer(-3), 3.0));
        assert_eq!(sum_and_norm(&DynTensor::scalar(u64::MAX)).unwrap().0, Sum::Integer(i128::from(u64::MAX)));
        assert_eq!(sum_and_norm(&DynTensor::scalar(true)).unwrap(), (Sum::Integer(1), 1.0));
        let complex = DynTensor::scalar(Complex::new(3.0f32, -4.0));
        assert_eq!(sum_and_norm(&complex).unwrap(), (Sum::Complex([3.0, -4.0]), 5.0));
    }

    #[test]
    fn signs_are_shown_once_and_not_of_zeros() {
        let complex = |re, im| value_text(Scalar::Complex(Complex::new(re, im)));
        assert_eq!([complex(1.0, -2.0), complex(-0.5, 2.0), complex(-0.0, -0.0)], ["1 - 2i", "-0.5 + 2i", "0 + 0i"]);
        assert_eq!(
            [complex(f64::NAN, f64::NAN), value_text(Scalar::Real(-0.0)), number(-0.0)],
            ["NaN + NaNi", "0", "0"]
        );
        assert_eq!(Sum::Complex([3.0, -4.25]).to_string(), "3 - 4.25i");
    }

    #[test]
    fn large_tensors_show_their_first_entries() {
        let shown = |tensor: &DynTensor| first_entries("y", tensor, 2).unwrap();
        let dense =
            DynTensor::from_dense(vec![20_000], Buffer::from_vec(vec![-0.0; 20_000]), &Format::dense(1)).unwrap();
        assert_eq!(shown(&dense), ["y(0) = 0", "y(1) = 0", "... 19998 more"]);
        let blocks =
            DynTensor::from_dense(vec![2, 2], Buffer::from_vec(vec![0, 0, 5, 0]), &Format::bcsr(2, 2).unwrap());
        assert_eq!(shown(&blocks.unwrap()), ["y(1,0) = 5"]);
    }

    #[test]
    fn statistics_of_times() {
        assert_eq!((min(&[3.0, 1.0]), min(&[])), (1.0, 0.0));
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(
            [number(0.5), number(123456.0), number(1e-9), number(-2.25)],
            ["0.5", "123456", "1.00000e-9", "-2.25"]
        );
    }
}
