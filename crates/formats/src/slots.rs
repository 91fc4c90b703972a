//! Formats of slots, whose coordinates are ranked or not: ELL, SELL and SELL-C-sigma.
//!
//! What a map says of ranks ([`crate::Ranked`]) and the level kind that keeps them go together:
//!
//! ```text
//! sell(8)       dedp:0/8,#0,0%8,1        slots
//! sell(8,64)    dndp:0/8,#0~64,0%8,1     ranked slots; the format of its ranks is sell(8)
//! ```
//!
//! Paper: Kreutzer et al., *A Unified Sparse Matrix Data Format for Efficient General Sparse Matrix-Vector Multiplication on
//! Modern Processors with Wide SIMD Units* (SISC 2014).

use crate::format::{Format, FormatError};
use crate::level::Level;
use crate::map::Term;

impl Format {
    /// Slots: entry number `k` of every row in slot `k`, and a place for every row in each slot.
    ///
    /// # Errors
    /// Its level kinds are not part of this program.
    pub fn ell() -> Result<Format, FormatError> {
        Format::slots("edp", vec![Term::Ordinal(0), Term::Whole(0), Term::Whole(1)])
    }

    /// Slots of slices: as [`Format::ell`], for so many rows at a time.
    ///
    /// # Errors
    /// The size is 0, or its level kinds are not part of this program.
    pub fn sell(rows: u32) -> Result<Format, FormatError> {
        let terms = vec![Term::Quotient(0, rows), Term::Ordinal(0), Term::Remainder(0, rows), Term::Whole(1)];
        if rows == 0 {
            return Err(FormatError::Arguments(format!("sell({rows})")));
        }
        Format::slots("dedp", terms)
    }

    /// As [`Format::sell`], of rows that are sorted by their entries, the most first, in windows of so many.
    ///
    /// # Errors
    /// A size is 0, or its level kinds are not part of this program.
    pub fn sell_sorted(rows: u32, window: u32) -> Result<Format, FormatError> {
        let slots = Term::RankedOrdinal(0, window);
        let terms = vec![Term::Quotient(0, rows), slots, Term::Remainder(0, rows), Term::Whole(1)];
        if rows == 0 || window == 0 {
            return Err(FormatError::Arguments(format!("sell({rows},{window})")));
        }
        Format::slots("dndp", terms)
    }

    fn slots(letters: &str, terms: Vec<Term>) -> Result<Format, FormatError> {
        let unknown = || FormatError::Unknown(letters.to_string());
        let levels: Option<Vec<Level>> = letters.chars().map(Level::from_letter).collect();
        Format::mapped(levels.ok_or_else(unknown)?, terms)
    }

    /// The format, if the levels that keep ranks are those of which the map says so.
    pub(crate) fn with_ranks_mapped(self) -> Result<Format, FormatError> {
        let mapped = self.map.as_ref().and_then(|map| map.ranked()).map(|ranked| ranked.level);
        let fits = |(level, kept): (usize, &Level)| kept.kind.is_ranked() == (mapped == Some(level));
        match self.levels.iter().enumerate().all(fits) {
            true => Ok(self),
            false => Err(FormatError::Ranked(self.letters())),
        }
    }

    /// The format of ranks: what is stored by ranks here is stored by coordinates.
    ///
    /// # Errors
    /// Level kinds are not part of this program.
    pub fn of_ranks(&self) -> Result<Format, FormatError> {
        let Some((map, ranked)) = self.map().and_then(|map| Some((map, map.ranked()?))) else {
            return Ok(self.clone());
        };
        let slots = Level::from_letter('e').ok_or_else(|| FormatError::Unknown("e".to_string()))?;
        let mut format = self.clone();
        format.levels[ranked.level] = slots;
        format.map = Some(Box::new(map.of_ranks()));
        // Slots keep positions, and nothing besides.
        Ok(format.with_positions(ranked.level, self.positions(ranked.level)))
    }
}
