//! The number of random schedules that were accepted, and the errors of the refused ones.
//!
//! A schedule that is refused tests little. Therefore a run fails if too many are refused ([`Tally::verdict`]).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// The largest share of refused schedules, in percent.
const MOST_REFUSED: usize = 40;

/// Below so many schedules, shares mean nothing.
const FEW: usize = 50;

/// Counts of schedules, which trials on several threads add to.
#[derive(Debug, Default)]
pub struct Tally {
    /// Schedules by the code of their refusal; accepted ones under none.
    counts: Mutex<BTreeMap<Option<String>, usize>>,
}

impl Tally {
    /// Counts a schedule.
    pub fn count(&self, refusal: Option<String>) {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(refusal).or_default() += 1;
    }

    /// All schedules, and those that were refused.
    fn totals(&self) -> (usize, usize) {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = counts.iter().filter(|(code, _)| code.is_some()).map(|(_, count)| count).sum();
        (counts.values().sum(), refused)
    }

    /// An error unless enough schedules were accepted.
    ///
    /// # Errors
    /// Too many were refused.
    pub fn verdict(&self) -> Result<(), String> {
        let (all, refused) = self.totals();
        if all < FEW || refused * 100 <= all * MOST_REFUSED {
            return Ok(());
        }
        Err(format!("more than {MOST_REFUSED} % of the random schedules were refused: they test too little"))
    }
}

/// `318 random schedules, 40 of them refused in part (E1202: 25, E1210: 15)`.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (all, refused) = self.totals();
        write!(f, "{all} random schedules, {refused} of them refused in part")?;
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let codes = counts.iter().filter_map(|(code, count)| code.as_ref().map(|code| format!("{code}: {count}")));
        let codes: Vec<String> = codes.collect();
        if codes.is_empty() { Ok(()) } else { write!(f, " ({})", codes.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_refusals_are_a_fault() {
        let tally = Tally::default();
        (0..60).for_each(|_| tally.count(None));
        (0..40).for_each(|_| tally.count(Some("E1202".to_string())));
        assert_eq!(tally.to_string(), "100 random schedules, 40 of them refused in part (E1202: 40)");
        assert_eq!(tally.verdict(), Ok(()));
        tally.count(Some("E1210".to_string()));
        assert!(tally.verdict().is_err());
    }
}
