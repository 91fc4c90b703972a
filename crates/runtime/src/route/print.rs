//! Routes as text, a line for each leg: its result, and the way.
//!
//! ```text
//! a list of 420 entries, 48 x 48
//!   csr              pack: sort by level 1 (48 bins), then each bin; a sorted list is taken as it is
//!   bcsr(3,3)        place: find which coordinates level 2 has, then put every value in its place
//! ```
//!
//! Levels are counted from 1, as in the names of arrays (`A2_pos`).

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
        self.legs
            .iter()
            .try_for_each(|leg| write!(f, "\n  {:<16} {}", leg.stored(), Told { leg, dims: &self.from.dims }))
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
    /// The name of the leg, in a word.
    pub fn name(&self) -> &'static str {
        match self {
            Leg::Mask => "mask",
            Leg::Plain { .. } => "plain",
            Leg::Clear => "clear",
            Leg::List { .. } => "list",
            Leg::StoreList { .. } => "store",
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
            Leg::KeepRanking { .. } => "keep",
            Leg::Insert { .. } => "insert",
            Leg::Unpack { .. } => "unpack",
            Leg::Keep { .. } => "unique",
            Leg::PackDense { .. } | Leg::Pack { .. } => "pack",
        }
    }

    /// The format of the entries after the leg, if it is another one.
    fn stored(&self) -> String {
        let format = match self {
            Leg::Plain { format }
            | Leg::Dense { format, .. }
            | Leg::Count { format, .. }
            | Leg::Columns { format }
            | Leg::Sort { format, .. }
            | Leg::Restore { format, .. }
            | Leg::Spread { format }
            | Leg::KeepRanking { format }
            | Leg::Insert { format }
            | Leg::Unpack { format }
            | Leg::Keep { format }
            | Leg::PackDense { format }
            | Leg::Pack { format, .. } => format.clone(),
            Leg::SortStored { format, .. } => format.stored().plain(),
            Leg::Place { placing, .. } => placing.format().clone(),
            Leg::Rows { placing } => match placing.stage() {
                Ok(format) => format,
                Err(_) => return String::new(),
            },
            Leg::List { .. } | Leg::StoreList { .. } => return "list".to_string(),
            Leg::Mask | Leg::Clear | Leg::Unrank | Leg::Rank { .. } | Leg::Reorder { .. } => return String::new(),
        };
        format.to_string()
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
        let named = if levels == 1 { "level 1".to_string() } else { format!("levels 1 to {levels}") };
        if sizes.is_empty() { named } else { format!("{named} ({bins} bins)") }
    }
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.leg.name())?;
        let zeros = |drop: &bool| if *drop { "; zeros that fill up are left out" } else { "" };
        match self.leg {
            Leg::Mask => write!(f, "exchange the fill value and 0 in all values"),
            Leg::Plain { .. } => write!(f, "put compressed levels in the place of other kinds"),
            Leg::Clear => write!(f, "set values outside of the dimensions to 0"),
            Leg::List { drop } => write!(f, "list coordinates and values{}", zeros(drop)),
            Leg::Dense { drop, .. } => write!(f, "put every value in its place{}", zeros(drop)),
            Leg::Count { format, levels, drop } => {
                write!(f, "sort by {}{}", self.bins(format, *levels), zeros(drop))
            }
            Leg::Columns { .. } => write!(f, "take columns of coordinates, which are in order"),
            Leg::Sort { drop, .. } => write!(f, "sort keys of coordinates{}", zeros(drop)),
            Leg::SortStored { drop, .. } => write!(f, "sort keys of the coordinates that levels store{}", zeros(drop)),
            Leg::Restore { .. } => write!(f, "say that levels store blocks, diagonals or slots of the dimensions"),
            Leg::Spread { .. } => write!(f, "make levels of other kinds of compressed ones"),
            Leg::Place { placing, ranked } => {
                let query = placing.query().map_or_else(String::new, |query| format!("find {query}, then "));
                let ranks = if *ranked { "; rows are taken in the order of their ranks" } else { "" };
                write!(f, "{query}put every value in its place{ranks}")
            }
            Leg::Rows { .. } => write!(f, "take the entries of each row out of its slots"),
            Leg::Unrank => write!(f, "find the rank of each row"),
            Leg::Rank { window } => write!(f, "sort rows by how many entries they have, in windows of {window}"),
            Leg::Reorder { ranked: true } => write!(f, "put rows in the order of their ranks"),
            Leg::Reorder { ranked: false } => write!(f, "put rows back in their own order"),
            Leg::KeepRanking { .. } => write!(f, "keep the order of rows beside the slots"),
            Leg::StoreList { .. } => write!(f, "list the coordinates that levels store"),
            Leg::Unpack { format } if format.is_dense() => {
                write!(f, "put beside every element what follows from it")
            }
            Leg::Unpack { .. } => write!(f, "take the levels as they are"),
            Leg::Keep { .. } => write!(f, "compare all elements with the structure, and keep those that are unique"),
            Leg::Insert { .. } => write!(f, "insert entries in the order of the list"),
            Leg::PackDense { .. } => write!(f, "add every value in its place"),
            Leg::Pack { format, sorting } => match sorting {
                Sorting::Count { levels } => {
                    write!(f, "sort by {}, then each bin; a sorted list is taken as it is", self.bins(format, *levels))
                }
                Sorting::Keys { bits } => write!(f, "sort keys of {bits} bits; a sorted list is taken as it is"),
                Sorting::Columns => write!(f, "sort by one level after the other; a sorted list is taken as it is"),
            },
        }
    }
}
