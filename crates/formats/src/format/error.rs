//! The reasons why a text or a list of levels is no format.

use std::fmt;

use lacunar_base::words::count;

use super::FormatSpec;
use crate::map_error::MapError;
use crate::names::{self, NAMES};
use crate::packing::PackingFault;

/// The reason why a text or a list of levels is no format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormatError {
    /// A word that is neither a named format nor level letters.
    Unknown(String),
    /// A letter that names no level kind, and its place.
    Letter(char, usize),
    /// Braces around a name that no schema has, or with arguments that it does not take.
    Schema {
        /// The name as written.
        name: String,
        /// The number of characters before the brace.
        place: usize,
        /// True if the brace is closed.
        closed: bool,
    },
    /// A named format of one order, given to a tensor of another.
    Order {
        /// The format as written.
        format: String,
        /// The number of levels of the format.
        levels: usize,
        /// The order of the tensor.
        order: usize,
    },
    /// The mode order is not a permutation of `0 .. levels`, or the map does not store every dimension once.
    Map(MapError),
    /// A named format with sizes that it does not take.
    Arguments(String),
    /// A width that a level's arrays cannot have, the place of the text in which it is written, and why.
    Width {
        /// The number of characters before it.
        place: usize,
        /// The mistake in it.
        reason: String,
    },
    /// A level of ranked slots without a term of the map for them, or ranked slots in a level of another kind.
    Ranked(String),
    /// A parenthesis that is not closed.
    Open {
        /// The format as written.
        format: String,
        /// The number of characters before the parenthesis.
        place: usize,
    },
    /// Text after a complete format.
    Trailing(String),
    /// A format that is chosen from a tensor's entries, where there are none to choose by; its text.
    Auto(String),
    /// A structure that cannot be packed.
    Packing {
        /// The structure as written.
        structure: String,
        /// The reason.
        fault: PackingFault,
    },
}

impl FormatError {
    /// The advice on a format of another order than the tensor: where levels are missing, the format with dense ones before it.
    ///
    /// ```
    /// use lacunar_formats::FormatSpec;
    /// let tree: FormatSpec = "{btree}".parse().unwrap();
    /// assert!(tree.resolve(2).unwrap_err().order_hint().contains("for example `d{btree}`"));
    /// ```
    pub fn order_hint(&self) -> String {
        let rule = "a format has one level for each dimension";
        let FormatError::Order { format, levels, order } = self else { return rule.to_string() };
        if *order == 0 {
            return format!("{rule}: a scalar has none");
        }
        let resolves = |text: &str| text.parse::<FormatSpec>().is_ok_and(|spec| spec.resolve(*order).is_ok());
        let of_nodes = format!("{}{{{format}}}", "d".repeat(order - 1));
        if resolves(&of_nodes) {
            return format!("{rule}; the name of a schema of nodes stands in braces, as in `{of_nodes}`");
        }
        let with_dense = format!("{}{format}", "d".repeat(order.saturating_sub(*levels)));
        let example = if resolves(&with_dense) { with_dense } else { format!("d{}", "s".repeat(order - 1)) };
        format!("{rule}, for example `{example}`; `dense`, `coo` and `csf` fit any order")
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FormatError::Unknown(word) => {
                write!(f, "no format is called `{word}` (hint: {}); formats: {}", names::hint(word), NAMES.join(" "))
            }
            FormatError::Letter(c, _) => write!(f, "`{c}` is not a level kind"),
            FormatError::Schema { name, closed: false, .. } => write!(f, "the brace before `{name}` is not closed"),
            FormatError::Schema { name, .. } => {
                write!(f, "no schema of nodes is called `{name}` (hint: {})", FormatSpec::schema_hint(name))
            }
            FormatError::Order { format, levels, order } => {
                write!(
                    f,
                    "format `{format}` stores {}, but the tensor has {order}",
                    count(*levels, "dimension", "dimensions")
                )
            }
            FormatError::Map(error) => error.fmt(f),
            FormatError::Arguments(text) => write!(f, "`{text}` does not have the sizes that the format takes"),
            FormatError::Width { reason, .. } => f.write_str(reason),
            FormatError::Ranked(text) => {
                write!(
                    f,
                    "a level that keeps ranks and a map's term `#0~64` go together, which `{text}` does not have at one place"
                )
            }
            FormatError::Open { format, .. } => write!(f, "the parenthesis in `{format}` is not closed"),
            FormatError::Trailing(text) => write!(f, "unexpected `{text}` after the format"),
            FormatError::Auto(text) => {
                write!(f, "`{text}` is chosen from a tensor's entries, which are not known here")
            }
            FormatError::Packing { structure, fault } => {
                let hint = FormatSpec::packing_hint(structure, fault);
                write!(f, "`{structure}` cannot be packed: {fault} (hint: {hint})")
            }
        }
    }
}

impl std::error::Error for FormatError {}
