//! Numbers as people read them in a figure.
//!
//! `grouped(93261)` is `93,261`; `percent(156, 34 * 34)` is `13.5%`; a millionth is `1.0×10⁻⁶`.

/// A count with a comma between thousands.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Three digits of a positive number, with a power of ten where there would be many zeros.
fn three_digits(number: f64) -> String {
    let exponent = number.log10().floor() as i32;
    match exponent {
        2.. => format!("{number:.0}"),
        1 => format!("{number:.1}"),
        0 => format!("{number:.2}"),
        -1 => format!("{number:.3}"),
        -2 => format!("{number:.4}"),
        _ => format!("{:.1}×10{}", number / 10f64.powi(exponent), superscript(exponent)),
    }
}

/// The density `count / places`, in percent while that is readable.
pub fn density(count: u64, places: f64) -> String {
    if count == 0 || places <= 0.0 {
        return "0".to_owned();
    }
    let density = count as f64 / places;
    if density >= 1e-4 { format!("{}%", three_digits(density * 100.0)) } else { three_digits(density) }
}

/// A number in raised digits.
pub fn superscript(number: i32) -> String {
    let raised = |character: char| match character {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => digit.to_digit(10).and_then(|d| char::from_u32(0x2070 + d)).unwrap_or(digit),
    };
    number.to_string().chars().map(raised).collect()
}

/// Sizes with crosses between: `18 × 93,261`.
pub fn sizes(dims: &[u64]) -> String {
    dims.iter().map(|&size| grouped(size)).collect::<Vec<_>>().join(" × ")
}

/// A number of few digits: `0.05`, `200`, `50k`, `2M`, `10⁻⁵`.
pub fn short(value: f64) -> String {
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];
    match units.iter().find(|(unit, _)| value >= *unit * 0.999_999) {
        Some((unit, letter)) => format!("{}{letter}", (value / unit * 100.0).round() / 100.0),
        None if value >= 0.000_999 => format!("{}", (value * 1e4).round() / 1e4),
        None => format!("{value:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(93_261), "93,261");
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(density(156, 34.0 * 34.0), "13.5%");
        assert_eq!(density(4, 4.0), "100%");
        assert_eq!(density(2, 2f64.powi(62)), "4.3×10⁻¹⁹");
        assert_eq!(density(0, 0.0), "0");
        assert_eq!(superscript(-10), "⁻¹⁰");
        assert_eq!(sizes(&[18, 93_261]), "18 × 93,261");
    }
}
