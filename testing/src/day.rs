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

use crate::data;

pub use lacunar_base::day::{all_wanted, is_turn, today};

/// True if something is in the sample of a day, which holds one thing in `one_in`.
pub fn chosen(id: &str, day: u64, one_in: u64) -> bool {
    data::seed(&[id, &day.to_string()]).is_multiple_of(one_in.max(1))
}
