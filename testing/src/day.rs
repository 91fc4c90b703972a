//! The day that samples and random seeds move with.
//!
//! A run takes other samples every day, and tells its day; `LACUNAR_DAY` repeats another day's run.
//!
//! ```
//! use lacunar_testing::day::chosen;
//! // Within seven days, seven different parts of what there is.
//! let days: Vec<bool> = (0..700).map(|day| chosen("spmv[A=csr]", day, 7)).collect();
//! assert!((50..150).contains(&days.iter().filter(|is| **is).count()));
//! ```

use std::time::{SystemTime, UNIX_EPOCH};

use crate::data;

/// The number of the day: `LACUNAR_DAY`, or that of today since 1970.
pub fn today() -> u64 {
    let wanted = std::env::var("LACUNAR_DAY").ok().and_then(|text| text.parse().ok());
    wanted.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() / 86_400))
}

/// True if something is in the sample of a day, which holds one thing in `one_in`.
pub fn chosen(id: &str, day: u64, one_in: u64) -> bool {
    data::seed(&[id, &day.to_string()]).is_multiple_of(one_in.max(1))
}

/// True if a run takes everything, and knows nothing of earlier runs: `LACUNAR_ALL`.
pub fn all_wanted() -> bool {
    std::env::var_os("LACUNAR_ALL").is_some_and(|value| !value.is_empty())
}
