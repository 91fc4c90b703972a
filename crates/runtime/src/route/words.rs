//! Routes as text, a line for each leg: what it makes, and how.
//!
//! ```text
//! a list of 420 entries, 48 x 48
//!   csr              pack: by level 0, 48 bins, then in each bin, unless sorted
//!   bcsr(3,3)        place: query level 1, then every value to its place
//! ```

use std::fmt;

use lacunar_formats::Format;

use super::{Facts, Leg, Route, Sorting, Stored};
use crate::fits::level_sizes;

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.from)?;
        if self.legs.is_empty() {
            return write!(f, "\n  {:<16} as it is", self.to.to_string());
        }
        self.legs.iter().try_for_each(|leg| {
            let made = leg.made().map_or_else(String::new, |format| format.to_string());
            write!(f, "\n  {made:<16} {}", Told { leg, dims: &self.from.dims })
        })
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = self.dims.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ");
        match &self.stored {
            Stored::List => write!(f, "a list of {} entries, {sizes}", self.entries),
            Stored::Levels(format) => write!(f, "{format} of {} values, {sizes}", self.entries),
        }
    }
}

impl Leg {
    /// What is done, in a word.
    pub fn name(&self) -> &'static str {
        match self {
            Leg::Mask => "mask",
            Leg::Plain => "plain",
            Leg::Clear => "clear",
            Leg::List { .. } | Leg::StoreList { .. } => "list",
            Leg::Dense { .. } => "dense",
            Leg::Count { .. } => "count",
            Leg::Columns { .. } => "columns",
            Leg::Sort { .. } | Leg::SortStored { .. } => "sort",
            Leg::Restore { .. } => "restore",
            Leg::Spread { .. } => "spread",
            Leg::Place { .. } => "place",
            Leg::Rows { .. } => "rows",
            Leg::Unrank => "unrank",
            Leg::Rank { .. } => "rank",
            Leg::Reorder { .. } => "reorder",
            Leg::KeepRanks { .. } => "ranks",
            Leg::Insert { .. } => "insert",
            Leg::PackDense { .. } | Leg::Pack { .. } => "pack",
        }
    }

    /// The format after the leg, if that is another.
    fn made(&self) -> Option<&Format> {
        match self {
            Leg::Dense { format, .. }
            | Leg::Count { format, .. }
            | Leg::Columns { format }
            | Leg::Sort { format, .. }
            | Leg::Restore { format, .. }
            | Leg::Spread { format }
            | Leg::KeepRanks { format }
            | Leg::Insert { format }
            | Leg::PackDense { format }
            | Leg::Pack { format, .. } => Some(format),
            Leg::Place { placing, .. } => Some(placing.format()),
            Leg::Mask
            | Leg::Plain
            | Leg::Clear
            | Leg::List { .. }
            | Leg::SortStored { .. }
            | Leg::Rows { .. }
            | Leg::Unrank
            | Leg::Rank { .. }
            | Leg::Reorder { .. }
            | Leg::StoreList { .. } => None,
        }
    }
}

/// A leg of a tensor of these sizes, in words.
struct Told<'a> {
    leg: &'a Leg,
    dims: &'a [u64],
}

impl Told<'_> {
    /// The outermost levels of a format, so many, and their bins.
    fn bins(&self, format: &Format, levels: usize) -> String {
        let sizes = if format.levels().len() == self.dims.len() { level_sizes(self.dims, format) } else { Vec::new() };
        let bins = sizes.iter().take(levels).fold(1u64, |bins, size| bins.saturating_mul(*size));
        let named = if levels == 1 { "level 0".to_string() } else { format!("levels 0 to {}", levels - 1) };
        if sizes.is_empty() { named } else { format!("{named}, {bins} bins") }
    }
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.leg.name())?;
        let zeros = |drop: &bool| if *drop { "; zeros that fill up are left out" } else { "" };
        match self.leg {
            Leg::Mask => write!(f, "exchange the fill value and 0"),
            Leg::Plain => write!(f, "compressed levels in the place of other kinds"),
            Leg::Clear => write!(f, "zeros outside of the dimensions"),
            Leg::List { drop } => write!(f, "coordinates and values{}", zeros(drop)),
            Leg::Dense { drop, .. } => write!(f, "every value to its place{}", zeros(drop)),
            Leg::Count { format, levels, drop } => {
                write!(f, "sort by {}{}", self.bins(format, *levels), zeros(drop))
            }
            Leg::Columns { .. } => write!(f, "in order already"),
            Leg::Sort { drop, .. } => write!(f, "by keys of the coordinates{}", zeros(drop)),
            Leg::SortStored { drop, .. } => write!(f, "by keys of what the map stores{}", zeros(drop)),
            Leg::Restore { .. } => write!(f, "the dimensions that the map is of"),
            Leg::Spread { .. } => write!(f, "levels of other kinds, made of compressed ones"),
            Leg::Place { placing, ranked } => {
                let query = match placing.counted() {
                    Some(level) => format!("query level {level}, then "),
                    None => String::new(),
                };
                let ranks = if *ranked { ", rows in the order of ranks" } else { "" };
                write!(f, "{query}every value to its place{ranks}")
            }
            Leg::Rows { .. } => write!(f, "take rows out of slots"),
            Leg::Unrank => write!(f, "the rank of each coordinate"),
            Leg::Rank { window } => write!(f, "sort rows by their entries, in windows of {window}"),
            Leg::Reorder { .. } => write!(f, "rows in the order of ranks"),
            Leg::KeepRanks { .. } => write!(f, "kept beside the slots"),
            Leg::StoreList { .. } => write!(f, "the coordinates that the map stores"),
            Leg::Insert { .. } => write!(f, "in the order of the list"),
            Leg::PackDense { .. } => write!(f, "every value to its place, added to what is there"),
            Leg::Pack { format, sorting } => match sorting {
                Sorting::Count { levels } => {
                    write!(f, "by {}, then in each bin, unless sorted", self.bins(format, *levels))
                }
                Sorting::Keys { bits } => write!(f, "sort by keys of {bits} bits, unless sorted"),
                Sorting::Columns => write!(f, "sort by one level after the other, unless sorted"),
            },
        }
    }
}
