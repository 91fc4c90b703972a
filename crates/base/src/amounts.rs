//! Amounts in words, for people.
//!
//! ```
//! use lacunar_base::amounts::bytes_text;
//! assert_eq!([bytes_text(999), bytes_text(1_500_000)], ["999 B", "1.5 MB"]);
//! ```

/// A number of bytes; a kB is 1000.
pub fn bytes_text(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", units[unit]) }
}
