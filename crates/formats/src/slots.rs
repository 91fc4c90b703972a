//! Formats of slots, whose coordinates are ranked or not: ELL, SELL and SELL-C-sigma.
//!
//! The ranks in a map ([`crate::Ranked`]) and the level kind that keeps them go together:
//!
//! ```text
//! sell(8)       dedp:0/8,#0,0%8,1        slots
//! sell(8,64)    dndp:0/8,#0~64,0%8,1     ranked slots; the format of its ranks is sell(8)
//! ```
//!
//! Paper: Kreutzer et al., *A Unified Sparse Matrix Data Format for Efficient General Sparse Matrix-Vector Multiplication on
//! Modern Processors with Wide SIMD Units* (SISC 2014).

use crate::format::{Format, FormatError};
use crate::kinds;
use crate::level::{Level, LevelKind};
use crate::map::Term;

const SLOTS: Level = Level { kind: LevelKind(&kinds::SLOTS), unique: true };
const RANKED: Level = Level { kind: LevelKind(&kinds::RANKED), unique: true };
const OPTIONAL: Level = Level { kind: LevelKind(&kinds::OPTIONAL), unique: true };

impl Format {
    /// Slots: entry number `k` of every row in slot `k`, and a place for every row in each slot.
    ///
    /// # Errors
    /// The errors of [`Format::mapped`].
    pub fn ell() -> Result<Format, FormatError> {
        Format::mapped(vec![SLOTS, Level::DENSE, OPTIONAL], vec![Term::Ordinal(0), Term::Whole(0), Term::Whole(1)])
    }

    /// Slots of slices: as [`Format::ell`], for so many rows at a time.
    ///
    /// # Errors
    /// The size is 0.
    pub fn sell(rows: u32) -> Result<Format, FormatError> {
        let terms = vec![Term::Quotient(0, rows), Term::Ordinal(0), Term::Remainder(0, rows), Term::Whole(1)];
        if rows == 0 {
            return Err(FormatError::Arguments(format!("sell({rows})")));
        }
        Format::mapped(vec![Level::DENSE, SLOTS, Level::DENSE, OPTIONAL], terms)
    }

    /// Like [`Format::sell`], of rows that are sorted by their entries, the most first, in windows of so many.
    ///
    /// # Errors
    /// A size is 0.
    pub fn sell_sorted(rows: u32, window: u32) -> Result<Format, FormatError> {
        let slots = Term::RankedOrdinal(0, window);
        let terms = vec![Term::Quotient(0, rows), slots, Term::Remainder(0, rows), Term::Whole(1)];
        if rows == 0 || window == 0 {
            return Err(FormatError::Arguments(format!("sell({rows},{window})")));
        }
        Format::mapped(vec![Level::DENSE, RANKED, Level::DENSE, OPTIONAL], terms)
    }

    /// The format, if the levels that keep ranks are those that the map ranks.
    pub(crate) fn with_ranks_mapped(self) -> Result<Format, FormatError> {
        let mapped = self.map.as_ref().and_then(|map| map.ranked()).map(|ranked| ranked.level);
        let fits = |(level, kept): (usize, &Level)| kept.kind.is_ranked() == (mapped == Some(level));
        match self.levels.iter().enumerate().all(fits) {
            true => Ok(self),
            false => Err(FormatError::Ranked(self.letters())),
        }
    }

    /// The format of ranks: dimensions that are stored by ranks here are stored by coordinates there.
    pub fn of_ranks(&self) -> Format {
        let Some((map, ranked)) = self.map().and_then(|map| Some((map, map.ranked()?))) else {
            return self.clone();
        };
        let mut format = self.clone();
        format.levels[ranked.level] = SLOTS;
        format.map = Some(Box::new(map.of_ranks()));
        // Slots keep positions, and nothing besides.
        format.with_positions(ranked.level, self.positions(ranked.level))
    }
}
