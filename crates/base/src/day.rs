//! The number of the day, which tests choose samples and random seeds by.
//!
//! Tests take another sample every day. `LACUNAR_DAY` sets the day, to repeat a run; `LACUNAR_ALL` takes everything.
//!
//! ```
//! use lacunar_base::day::turn_of;
//! // Of things numbered 0, 1, 2, .., a day takes every third.
//! let taken: Vec<bool> = (0..6).map(|number| turn_of(20_000, number, 3)).collect();
//! assert_eq!(taken.iter().filter(|is| **is).count(), 2);
//! // Within three days, each has its turn once.
//! assert_eq!((20_000..20_003).filter(|day| turn_of(*day, 4, 3)).count(), 1);
//! ```

use std::time::{SystemTime, UNIX_EPOCH};

/// The number of the day: `LACUNAR_DAY`, or that of today since 1970.
pub fn today() -> u64 {
    let wanted = std::env::var("LACUNAR_DAY").ok().and_then(|text| text.parse().ok());
    wanted.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() / 86_400))
}

/// True if tests take everything and use no results of earlier runs: `LACUNAR_ALL`.
pub fn all_wanted() -> bool {
    std::env::var_os("LACUNAR_ALL").is_some_and(|value| !value.is_empty())
}

/// True if the sample of a day has item `number`. Each sample has one item in `one_in`, and each item is in the sample of one day in
/// `one_in`.
pub fn turn_of(day: u64, number: usize, one_in: u64) -> bool {
    day.wrapping_add(number as u64).is_multiple_of(one_in.max(1))
}

/// True if today's sample has item `number` ([`turn_of`]), or if all is wanted ([`all_wanted`]).
pub fn is_turn(number: usize, one_in: u64) -> bool {
    all_wanted() || turn_of(today(), number, one_in)
}
