//! The mistakes in the terms of a map, or in a mode order: the term at fault, the mistake in words, and a hint.
//!
//! ```
//! use lacunar_formats::{FormatError, FormatSpec, MapFault, Term};
//! let Err(FormatError::Map(error)) = "ds:0/4,1".parse::<FormatSpec>() else { panic!() };
//! assert_eq!((error.term, &error.fault), (Some(0), &MapFault::Unpaired(Term::Quotient(0, 4))));
//! assert_eq!(error.to_string(), "`0/4` tells the block of dimension 0, and no term the place inside of it");
//! assert_eq!(error.hint(), "add a level that stores `0%4`");
//! ```

use std::fmt;

use crate::map::Term;

/// A mistake in the terms behind a format's colon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapError {
    /// The term at fault, counted from 0; `None` if it is all of them.
    pub term: Option<usize>,
    /// The mistake.
    pub fault: MapFault,
}

/// The kinds of mistakes in terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapFault {
    /// A text is no term.
    NoTerm(String),
    /// The size in a term is 0, or more than 32 bits hold.
    Size(String),
    /// There are not as many terms as levels, or not as many numbers as dimensions.
    Count {
        /// The number of terms.
        terms: usize,
        /// The number of levels, or of dimensions.
        levels: usize,
    },
    /// No term tells a dimension's coordinate.
    Missing(usize),
    /// A block's number without the place inside the block, or the other way round.
    Unpaired(Term),
    /// A diagonal, without the coordinate of either of its dimensions.
    Diagonal(Term),
    /// A term tells what others tell already.
    Redundant(Term),
    /// Slots are counted twice.
    Slots(Term),
    /// A dimension is stored by ranks, and is part of a diagonal.
    RankedDiagonal(usize),
    /// A vector is stored by ranks.
    RankedVector,
    /// A map behind a format that is not one of letters.
    Named(String),
}

impl MapError {
    pub(crate) fn new(term: impl Into<Option<usize>>, fault: MapFault) -> MapError {
        MapError { term: term.into(), fault }
    }

    /// The reason why a mode order is not one of so many levels; `None` if it is one.
    pub(crate) fn of_order(mode_order: &[usize], levels: usize) -> Option<MapError> {
        if mode_order.len() != levels {
            return Some(MapError::new(None, MapFault::Count { terms: mode_order.len(), levels }));
        }
        let repeated = |place: &usize| mode_order[..*place].contains(&mode_order[*place]);
        if let Some(place) = (0..levels).find(repeated) {
            return Some(MapError::new(place, MapFault::Redundant(Term::Whole(mode_order[place]))));
        }
        let missing = (0..levels).find(|dimension| !mode_order.contains(dimension))?;
        Some(MapError::new(None, MapFault::Missing(missing)))
    }

    /// The hint of what to do about it.
    pub fn hint(&self) -> String {
        match &self.fault {
            MapFault::NoTerm(_) => {
                "terms are a dimension's number, counted from 0, as in `0`; `0/4` and `0%4` for blocks of 4, \
                                    `1-0` for diagonals, `#0` or `#0~64` for slots"
                    .to_string()
            }
            MapFault::Size(_) => "write a size from 1 to 4294967295, e.g. `0/4`".to_string(),
            MapFault::Count { levels, .. } => {
                let order: Vec<String> = (0..*levels).rev().map(|dimension| dimension.to_string()).collect();
                match levels {
                    1..=8 => format!("say what each level stores, the outermost first, e.g. `{}`", order.join(",")),
                    _ => "say what each level stores, the outermost first".to_string(),
                }
            }
            MapFault::Missing(d) => format!(
                "dimensions are counted from 0, and each has to be recoverable: from `{d}`, from `{d}/4` and `{d}%4`, or from a \
                 diagonal and its other dimension"
            ),
            MapFault::Unpaired(Term::Quotient(d, size)) => format!("add a level that stores `{d}%{size}`"),
            MapFault::Unpaired(Term::Remainder(d, size)) => format!("add a level that stores `{d}/{size}`"),
            MapFault::Unpaired(term) => format!("leave `{term}` and its level away"),
            MapFault::Redundant(term) => format!("store another dimension there, or leave `{term}` and its level away"),
            MapFault::Diagonal(Term::Difference(a, b)) if a == b => {
                "write two different dimensions, e.g. `1-0`".to_string()
            }
            MapFault::Diagonal(term) => match term {
                Term::Difference(a, b) => format!("add a level that stores `{b}` or `{a}`"),
                _ => format!("add a level that stores dimension {}", term.dimension()),
            },
            MapFault::Slots(term) => {
                format!("leave `{term}` and its level away: a map counts the entries of one dimension")
            }
            MapFault::RankedDiagonal(d) => format!("count slots without a window, `#{d}`, or leave the diagonal away"),
            MapFault::RankedVector => {
                "slots of ranks are those of matrices and tensors: leave the window away".to_string()
            }
            MapFault::Named(_) => {
                "write a letter for each level before the map, e.g. `dsdd:0/4,1/4,0%4,1%4`".to_string()
            }
        }
    }
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fault {
            MapFault::NoTerm(text) if text.is_empty() => f.write_str("a term is missing"),
            MapFault::NoTerm(text) => write!(f, "`{text}` does not say what a level stores"),
            MapFault::Size(text) => write!(f, "`{text}` has a size that blocks or windows cannot have"),
            MapFault::Count { terms, levels } => {
                write!(f, "the format takes {levels} terms behind its colon, not {terms}")
            }
            MapFault::Missing(d) => write!(f, "dimension {d} is stored by no level"),
            MapFault::Unpaired(term @ Term::Remainder(d, _)) => {
                write!(f, "`{term}` tells the place inside a block of dimension {d}, and no term which block")
            }
            MapFault::Unpaired(term) => {
                let d = term.dimension();
                write!(f, "`{term}` tells the block of dimension {d}, and no term the place inside of it")
            }
            MapFault::Diagonal(term) => {
                write!(
                    f,
                    "`{term}` tells a diagonal, and no level stores where on it: neither of its dimensions by itself"
                )
            }
            MapFault::Redundant(Term::Whole(d)) => write!(f, "dimension {d} is stored twice"),
            MapFault::Redundant(term) => write!(f, "`{term}` tells nothing that the other terms do not tell"),
            MapFault::Slots(_) => f.write_str("slots are counted twice"),
            MapFault::RankedDiagonal(d) => {
                write!(f, "dimension {d} is stored by ranks, and ranks have no diagonals")
            }
            MapFault::RankedVector => f.write_str("a vector is not stored by ranks"),
            MapFault::Named(name) => write!(f, "`{name}` says itself what its levels store"),
        }
    }
}
