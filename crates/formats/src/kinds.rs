//! The families of level kinds, and the kinds that every program has: one of each family.
//!
//! A [`Family`] is code: the arrays of a level in `runtime/storage/<family>.rs`, and the operations of kernels on them in
//! `compiler/levels/<family>.rs`. Both crates find their part by a `match` over the families, so that a family without code does
//! not compile. A kind is a [`Description`](crate::Description) that names its family. Dense, compressed and singleton levels
//! are *plain*: all others are converted through them.
//!
//! A new family is a line of the list and a description below it:
//!
//! ```text
//! kinds! { .. Delta: DELTA, .. }      the family, and its kind
//! static DELTA: LevelInfo = ..        name, letter, properties of coordinates, capabilities of code, arrays
//! ```
//!
//! Levels of nodes are of one family, [`Family::Nodes`], and of as many kinds as there are schemas: a schema tells the description
//! ([`nodes`]).

use crate::level::{Capabilities, Description, Holds, LevelInfo, Part, Properties};
use crate::schema::Schema;

/// Declares [`Family`] and the table of kinds from a line for each: the family, and the description of its kind.
macro_rules! kinds {
    ($($family:ident: $info:ident,)*) => {
        /// The code that implements a level kind. A family whose code needs more than descriptions say carries that in its variant.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum Family {
            $(#[doc = concat!("The code of `", stringify!($family), "` levels.")] $family,)*
            /// The code of levels of nodes, whose types a schema describes.
            Nodes(&'static Schema),
        }

        impl Family {
            /// The kind of the family that every program has; each schema is a kind of its own.
            pub(crate) fn own_kind(&self) -> Option<&'static LevelInfo> {
                match self {
                    $(Family::$family => Some(&$info),)*
                    Family::Nodes(_) => None,
                }
            }
        }

        /// The kinds that every program has.
        pub(crate) static KINDS: &[&LevelInfo] = &[$(&$info,)*];
    };
}

kinds! {
    Dense: DENSE,
    Compressed: COMPRESSED,
    Singleton: SINGLETON,
    Banded: BANDED,
    Bitmap: BITMAP,
    Delta: DELTA,
    Hashed: HASHED,
    Loose: LOOSE,
    Optional: OPTIONAL,
    Ranked: RANKED,
    Repeated: REPEATED,
    Runs: RUNS,
    Slots: SLOTS,
    Unordered: UNORDERED,
}

/// Every coordinate of the dimension has a position, which is computed.
pub(crate) static DENSE: LevelInfo = LevelInfo {
    name: "dense",
    letter: 'd',
    repeating: None,
    family: Family::Dense,
    properties: Properties { full: true, padded: true, ..Properties::ASCENDING },
    capabilities: Capabilities { iterate_coordinates: true, locate: true, insert: true, ..Capabilities::NONE },
    parts: &[],
};

/// Each parent position has a segment of ascending coordinates.
pub(crate) static COMPRESSED: LevelInfo = LevelInfo {
    name: "compressed",
    letter: 's',
    repeating: Some('u'),
    family: Family::Compressed,
    properties: Properties::ASCENDING,
    capabilities: Capabilities { iterate_positions: true, search: true, append: true, ..Capabilities::NONE },
    parts: &[Part::POSITIONS, Part::COORDINATES],
};

/// Exactly one coordinate under each parent position.
pub(crate) static SINGLETON: LevelInfo = LevelInfo {
    name: "singleton",
    letter: 'q',
    repeating: Some('c'),
    family: Family::Singleton,
    properties: Properties { branchless: true, single: true, ..Properties::ASCENDING },
    capabilities: Capabilities { iterate_positions: true, append: true, ..Capabilities::NONE },
    parts: &[Part::COORDINATES],
};

/// One contiguous run of coordinates under each parent position, which may begin anywhere (a skyline).
pub(crate) static BANDED: LevelInfo = LevelInfo {
    name: "banded",
    letter: 'k',
    repeating: None,
    family: Family::Banded,
    properties: Properties { padded: true, ..Properties::ASCENDING },
    capabilities: Capabilities { iterate_positions: true, search: true, ..Capabilities::NONE },
    parts: &[Part::POSITIONS, Part { name: "first", holds: Holds::Coordinates }],
};

/// A bit for each coordinate of the dimension says if it is stored.
static BITMAP: LevelInfo = LevelInfo {
    name: "bitmap",
    letter: 'b',
    repeating: None,
    family: Family::Bitmap,
    properties: Properties::ASCENDING,
    capabilities: Capabilities {
        iterate_coordinates: true,
        search: true,
        test: true,
        append: true,
        ..Capabilities::NONE
    },
    parts: &[Part { name: "bits", holds: Holds::Words }, Part { name: "rank", holds: Holds::Positions }],
};

/// As compressed levels, with the difference of each coordinate to the one before it.
static DELTA: LevelInfo = LevelInfo {
    name: "delta",
    letter: 't',
    repeating: None,
    family: Family::Delta,
    properties: Properties::ASCENDING,
    capabilities: Capabilities { iterate_coordinates: true, ..Capabilities::NONE },
    parts: &[Part::POSITIONS, Part { name: "delta", holds: Holds::Coordinates }],
};

/// A table of coordinates with open addressing under each parent position.
static HASHED: LevelInfo = LevelInfo {
    name: "hashed",
    letter: 'h',
    repeating: None,
    family: Family::Hashed,
    properties: Properties { ordered: false, compact: false, ..Properties::ASCENDING },
    capabilities: Capabilities { iterate_coordinates: true, search: true, ..Capabilities::NONE },
    parts: &[Part::POSITIONS, Part::COORDINATES_OR_NONE],
};

/// As compressed levels, with unused places behind each segment.
static LOOSE: LevelInfo = LevelInfo {
    name: "loose",
    letter: 'l',
    repeating: None,
    family: Family::Loose,
    properties: Properties { compact: false, ..Properties::ASCENDING },
    capabilities: Capabilities { iterate_positions: true, search: true, ..Capabilities::NONE },
    parts: &[Part::POSITIONS, Part { name: "end", holds: Holds::Positions }, Part::COORDINATES],
};

/// At most one coordinate under each parent position.
pub(crate) static OPTIONAL: LevelInfo = LevelInfo {
    name: "optional",
    letter: 'p',
    repeating: None,
    family: Family::Optional,
    properties: Properties { compact: false, single: true, ..Properties::ASCENDING },
    capabilities: Capabilities { iterate_positions: true, search: true, ..Capabilities::NONE },
    parts: &[Part::COORDINATES_OR_NONE],
};

/// Slots of coordinates that are sorted by their numbers of entries: those of SELL-C-sigma.
pub(crate) static RANKED: LevelInfo = LevelInfo {
    name: "ranked",
    letter: 'n',
    repeating: None,
    family: Family::Ranked,
    properties: Properties { padded: true, ..Properties::ASCENDING },
    capabilities: Capabilities { iterate_positions: true, search: true, ..Capabilities::NONE },
    parts: &[Part::POSITIONS, Part::RANKING],
};

/// Run-length coding: neighboring coordinates that have the same value share a position.
static REPEATED: LevelInfo = LevelInfo {
    name: "repeated",
    letter: 'g',
    repeating: None,
    family: Family::Repeated,
    properties: Properties { shared: true, ..Properties::ASCENDING },
    capabilities: Capabilities { iterate_coordinates: true, search: true, ..Capabilities::NONE },
    parts: &[Part::POSITIONS, Part::COORDINATES, Part { name: "last", holds: Holds::Coordinates }],
};

/// As compressed levels, with only the first of coordinates that follow each other.
static RUNS: LevelInfo = LevelInfo {
    name: "runs",
    letter: 'r',
    repeating: None,
    family: Family::Runs,
    properties: Properties::ASCENDING,
    capabilities: Capabilities { iterate_positions: true, search: true, ..Capabilities::NONE },
    parts: &[
        Part { name: "run", holds: Holds::Positions },
        Part::COORDINATES,
        Part { name: "start", holds: Holds::Positions },
    ],
};

/// A counted run of coordinates 0, 1, 2, .. under each parent position: the columns of ELL and SELL.
pub(crate) static SLOTS: LevelInfo = LevelInfo {
    name: "slots",
    letter: 'e',
    repeating: None,
    family: Family::Slots,
    properties: Properties { padded: true, ..Properties::ASCENDING },
    capabilities: Capabilities { iterate_positions: true, search: true, ..Capabilities::NONE },
    parts: &[Part::POSITIONS],
};

/// As compressed levels, with the coordinates of each segment in any order.
pub(crate) static UNORDERED: LevelInfo = LevelInfo {
    name: "unordered",
    letter: 'o',
    repeating: None,
    family: Family::Unordered,
    properties: Properties { ordered: false, ..Properties::ASCENDING },
    capabilities: Capabilities { iterate_positions: true, append: true, ..Capabilities::NONE },
    parts: &[Part::POSITIONS, Part::COORDINATES],
};

/// The letter of every kind whose nodes a schema describes: behind it formats have the schema's name.
pub(crate) const NAMED: char = '{';

/// The description of levels of a schema's nodes.
pub(crate) fn nodes(schema: &'static Schema) -> LevelInfo {
    let is_ordered = schema.is_ordered();
    Description {
        name: schema.name(),
        letter: NAMED,
        repeating: None,
        family: Family::Nodes(schema),
        properties: Properties { ordered: is_ordered, compact: false, ..Properties::ASCENDING },
        capabilities: Capabilities { iterate_coordinates: true, search: is_ordered, ..Capabilities::NONE },
        parts: &[Part::ROOTS, Part::NODES],
    }
}
