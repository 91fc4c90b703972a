//! Level kinds: the storage of one dimension's coordinates, and the operations that a kernel can use on them.
//!
//! The lowering never looks at the kind itself; it asks for [`Properties`] (facts about all stored coordinates) and
//! [`Capabilities`] (the access functions that exist). Kinds are an open set: a [`LevelKind`] is a handle to a
//! [`Description`], either one of those in `kinds.rs` or one that was interned while the program runs (`registry.rs`). The
//! [`Family`] in it names the code of the kind: its arrays in `runtime/storage/<family>.rs`, and the operations of kernels on
//! them in `compiler/levels/<family>.rs`.
//!
//! Paper: Chou et al. 2018, Tables 1 and 2.
//!
//! ```
//! use lacunar_formats::Level;
//! let level = Level::from_letter('u').unwrap();
//! assert!(!level.properties().unique);
//! assert!(level.capabilities().iterate_positions);
//! ```

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::kinds::{self, Family};
use crate::registry::{KindError, REGISTRY};
use crate::schema::{Schema, Template};
use crate::{DType, IndexWidth};

/// The kinds that all others are converted through.
const PLAIN: [LevelKind; 3] = [LevelKind::DENSE, LevelKind::COMPRESSED, LevelKind::SINGLETON];

/// The description of a kind of levels, with texts that live as long as `'t`: [`LevelKind::intern`] makes a kind of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description<'t> {
    /// Its name, which no other kind has.
    pub name: &'t str,
    /// Its letter in formats, which no other kind has; `lacunar run --help` lists the letters. For kinds that a schema describes it
    /// is `{`, and formats have the name: `{btree}`.
    pub letter: char,
    /// The letter of the variant that repeats coordinates, if there is one.
    pub repeating: Option<char>,
    /// The code that implements it.
    pub family: Family,
    /// The properties of the coordinates, if they are not repeated.
    pub properties: Properties,
    /// The capabilities of the code.
    pub capabilities: Capabilities,
    /// The arrays, in the order in which kernels take them.
    pub parts: &'t [DescribedPart<'t>],
}

/// The description of a kind that is interned.
pub type LevelInfo = Description<'static>;

/// One array of a level, with a name that lives as long as `'t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DescribedPart<'t> {
    /// Its name, as in `A2_pos`.
    pub name: &'t str,
    /// The kind of numbers in it.
    pub holds: Holds,
}

/// One array of a level of a kind that is interned.
pub type Part = DescribedPart<'static>;

/// The kind of numbers in an array of a level, which decides how wide they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holds {
    /// Positions, of the level's width.
    Positions,
    /// Coordinates, of the level's width.
    Coordinates,
    /// Coordinates, and the largest number of the level's width in the places without one.
    CoordinatesOrNone,
    /// The coordinate of each rank, of a dimension whose coordinates are ranked ([`crate::Ranked`]); of the level's width.
    Ranking,
    /// Words of 32 bits: nodes, or handles of nodes ([`crate::Schema`]).
    Nodes,
    /// Words of 64 bits, whatever the level's widths. A kind that is appended to has one such array at most.
    Words,
}

impl Part {
    /// The position at which the segment of each parent position begins.
    pub const POSITIONS: Part = Part { name: "pos", holds: Holds::Positions };
    /// The coordinate of each position.
    pub const COORDINATES: Part = Part { name: "crd", holds: Holds::Coordinates };
    /// The coordinate of each position, or none.
    pub const COORDINATES_OR_NONE: Part = Part { name: "crd", holds: Holds::CoordinatesOrNone };
    /// The coordinate of each rank.
    pub const RANKING: Part = Part { name: "ranking", holds: Holds::Ranking };
    /// The handle of each parent position's root node.
    pub const ROOTS: Part = Part { name: "root", holds: Holds::Nodes };
    /// The words of nodes.
    pub const NODES: Part = Part { name: "node", holds: Holds::Nodes };

    /// The width of the numbers in a level with these widths of positions and coordinates.
    pub const fn width(self, positions: IndexWidth, coordinates: IndexWidth) -> IndexWidth {
        match self.holds {
            Holds::Positions => positions,
            Holds::Coordinates | Holds::CoordinatesOrNone | Holds::Ranking => coordinates,
            Holds::Nodes => IndexWidth::W32,
            Holds::Words => IndexWidth::W64,
        }
    }

    /// The type of the elements in a level with these widths.
    pub const fn dtype(self, positions: IndexWidth, coordinates: IndexWidth) -> DType {
        self.width(positions, coordinates).dtype()
    }
}

/// The kind of storage of one level, without its properties: a handle to an interned [`Description`]. Kinds are the same if
/// they are the same description, and different ones have different names.
#[derive(Clone, Copy)]
pub struct LevelKind(pub(crate) &'static LevelInfo);

/// A level of a format: its kind, and the properties of the coordinates it stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Level {
    /// The kind of the level, which says how coordinates are stored.
    pub kind: LevelKind,
    /// True if no coordinate occurs twice under one parent. A level that is not unique repeats a coordinate once for each
    /// position of the singleton levels below it (as the rows of a coordinate list do).
    pub unique: bool,
}

/// The properties that the coordinates of a level always have (Chou et al. 2018, Table 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// True if every coordinate of the dimension is stored.
    pub full: bool,
    /// True if coordinates under one parent ascend with their positions.
    pub ordered: bool,
    /// True if no coordinate occurs twice under one parent.
    pub unique: bool,
    /// True if every parent position has exactly one child position, of the same number.
    pub branchless: bool,
    /// True if positions are contiguous: no position is unused.
    pub compact: bool,
    /// True if coordinates without entries may be stored, with zeros, as padding.
    pub padded: bool,
    /// True if there is at most one coordinate under each parent.
    pub single: bool,
    /// True if neighboring coordinates under one parent may share a position.
    pub shared: bool,
}

/// The access and assembly functions that a level offers (Chou et al. 2018, Table 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// True if coordinates can be enumerated, one after the other, and each gives its position.
    pub iterate_coordinates: bool,
    /// True if any range of positions can be enumerated, and each that is used gives its coordinate, without those before it.
    pub iterate_positions: bool,
    /// True if the position of a coordinate is computed without a search and always exists.
    pub locate: bool,
    /// True if the position of a coordinate can be searched for, in at most logarithmic time; it may be absent.
    pub search: bool,
    /// True if, for every coordinate of the dimension, a computation without a search tells if it is stored, and its position.
    pub test: bool,
    /// True if a result can be assembled by appending coordinates in order.
    pub append: bool,
    /// True if a result can be assembled by writing coordinates in any order.
    pub insert: bool,
}

impl Properties {
    /// The properties of levels that store coordinates in order, each once, as compressed ones do.
    pub const ASCENDING: Properties = Properties {
        full: false,
        ordered: true,
        unique: true,
        branchless: false,
        compact: true,
        padded: false,
        single: false,
        shared: false,
    };
}

impl Capabilities {
    /// No capabilities: kernels cannot walk through the level, and take it converted.
    pub const NONE: Capabilities = Capabilities {
        iterate_coordinates: false,
        iterate_positions: false,
        locate: false,
        search: false,
        test: false,
        append: false,
        insert: false,
    };

    /// True if coordinates can be enumerated in some way.
    pub const fn iterate(self) -> bool {
        self.iterate_coordinates || self.iterate_positions
    }
}

impl LevelKind {
    /// Every coordinate of the dimension is stored, implicitly: position = parent position * size + coordinate.
    pub const DENSE: LevelKind = LevelKind(&kinds::DENSE);
    /// A segment of coordinates per parent position: `pos[p] .. pos[p+1]` into `crd`.
    pub const COMPRESSED: LevelKind = LevelKind(&kinds::COMPRESSED);
    /// One coordinate per parent position: `crd[p]`.
    pub const SINGLETON: LevelKind = LevelKind(&kinds::SINGLETON);

    /// Contiguous runs of coordinates: [`Level::BANDED`].
    pub const BANDED: LevelKind = LevelKind(&kinds::BANDED);
    /// A segment of coordinates per parent position, in any order: `pos[p] .. pos[p+1]` into `crd`.
    pub const UNORDERED: LevelKind = LevelKind(&kinds::UNORDERED);

    /// All kinds that have letters: the plain ones, and then the others in the order of their names.
    pub fn all() -> Vec<LevelKind> {
        let mut kinds = REGISTRY.all();
        kinds.retain(|kind| kind.schema().is_none());
        kinds.sort_by_key(|kind| (PLAIN.iter().position(|plain| plain == kind).unwrap_or(PLAIN.len()), *kind));
        kinds
    }

    /// The kind of a name.
    pub fn named(name: &str) -> Option<LevelKind> {
        REGISTRY.find(|kind| kind.0.name == name)
    }

    /// The kind with this description: the one that is known by it, or a new one, which stays.
    ///
    /// # Errors
    /// The description is not that of a kind, or its name or a letter is another kind's.
    pub fn intern(described: &Description<'_>) -> Result<LevelKind, KindError> {
        REGISTRY.intern(described)
    }

    /// The kind of levels that have a schema's nodes: the one that is known by it, or a new one, which stays.
    ///
    /// ```
    /// use lacunar_formats::{Format, Level, LevelKind, Schema};
    /// let schema = Schema::parse("def pair { a: elem  b: elem  n: pair  seq = a, b, n }").unwrap();
    /// let level = Level { kind: LevelKind::nodes(schema).unwrap(), unique: true };
    /// let format = Format::new(vec![Level::DENSE, level], vec![0, 1]).unwrap();
    /// assert_eq!(format.to_string(), "d{pair}");
    /// ```
    ///
    /// # Errors
    /// The schema's name is that of another kind.
    pub fn nodes(schema: Schema) -> Result<LevelKind, KindError> {
        REGISTRY.nodes(schema)
    }

    /// The kind of a schema's name, which arguments may follow: `btree`, `blist<64>`. Schemas are those of every program, and those
    /// that were made known.
    ///
    /// ```
    /// use lacunar_formats::LevelKind;
    /// assert_eq!(LevelKind::nodes_named("blist<16>"), LevelKind::nodes_named("blist"));
    /// assert_eq!(LevelKind::nodes_named("blist<64>").unwrap().schema().unwrap().name(), "blist<64>");
    /// assert_eq!(LevelKind::nodes_named("blist<K=64>"), LevelKind::nodes_named("blist<64>"));
    /// assert_eq!(LevelKind::nodes_named("delta"), None);
    /// ```
    pub fn nodes_named(name: &str) -> Option<LevelKind> {
        let (stem, arguments) = match name.strip_suffix('>') {
            Some(rest) => rest.split_once('<')?,
            None => (name, ""),
        };
        match crate::schema::named(stem.trim()) {
            Some(template) => LevelKind::nodes(template.with(&template.arguments(arguments)?).ok()?).ok(),
            None => LevelKind::named(name).filter(|kind| kind.schema().is_some()),
        }
    }

    /// The kinds of the schemas that every program has.
    pub fn every_nodes() -> Vec<LevelKind> {
        Template::every_program()
            .iter()
            .filter_map(|template| LevelKind::nodes(template.with(&[]).ok()?).ok())
            .collect()
    }

    /// The schema of the nodes of a level, if it has nodes.
    #[inline]
    pub fn schema(self) -> Option<&'static Schema> {
        match self.0.family {
            Family::Nodes(schema) => Some(schema),
            _ => None,
        }
    }

    /// The kinds that are not plain and go without a map, in the order of their names.
    pub fn unmapped() -> Vec<LevelKind> {
        LevelKind::all().into_iter().filter(|kind| !kind.is_plain() && !kind.is_ranked()).collect()
    }

    /// The description of the kind.
    #[inline]
    pub const fn info(self) -> &'static LevelInfo {
        self.0
    }

    /// True if this is one of the kinds that all others are converted through.
    pub fn is_plain(self) -> bool {
        PLAIN.contains(&self)
    }

    fn holds(self, what: &[Holds]) -> bool {
        self.0.parts.iter().any(|part| what.contains(&part.holds))
    }

    /// True if a level keeps positions.
    pub fn has_positions(self) -> bool {
        self.holds(&[Holds::Positions])
    }

    /// True if a level keeps numbers that are as wide as coordinates.
    pub fn has_coordinates(self) -> bool {
        self.holds(&[Holds::Coordinates, Holds::CoordinatesOrNone, Holds::Ranking])
    }

    /// True if a level keeps the coordinates that have ranks, which only a map describes.
    pub fn is_ranked(self) -> bool {
        self.holds(&[Holds::Ranking])
    }

    /// The largest number that a level has to tell from others in the place of a coordinate, if its dimension is of a size.
    pub fn largest_coordinate(self, size: u64) -> u64 {
        if self.holds(&[Holds::CoordinatesOrNone]) { size } else { size.saturating_sub(1) }
    }

    /// The place of an array among those of a level.
    pub fn place(self, name: &str) -> Option<usize> {
        self.0.parts.iter().position(|part| part.name == name)
    }
}

impl PartialEq for LevelKind {
    fn eq(&self, other: &LevelKind) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for LevelKind {}

// By name, and not by address: work in the order of hashes is then the same in every process.
impl Hash for LevelKind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}

impl PartialOrd for LevelKind {
    fn partial_cmp(&self, other: &LevelKind) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for LevelKind {
    fn cmp(&self, other: &LevelKind) -> Ordering {
        self.0.name.cmp(other.0.name)
    }
}

impl fmt::Debug for LevelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

impl Level {
    /// A dense level.
    pub const DENSE: Level = Level { kind: LevelKind::DENSE, unique: true };
    /// A compressed level with unique coordinates.
    pub const COMPRESSED: Level = Level { kind: LevelKind::COMPRESSED, unique: true };
    /// A level with a contiguous run of coordinates under each parent.
    pub const BANDED: Level = Level { kind: LevelKind::BANDED, unique: true };
    /// A compressed level whose coordinates are in no order.
    pub const UNORDERED: Level = Level { kind: LevelKind::UNORDERED, unique: true };
    /// A compressed level that repeats coordinates, one for each entry below.
    pub const COMPRESSED_NONUNIQUE: Level = Level { kind: LevelKind::COMPRESSED, unique: false };
    /// A singleton level whose coordinates are unique under one coordinate of the level above.
    pub const SINGLETON: Level = Level { kind: LevelKind::SINGLETON, unique: true };
    /// A singleton level that repeats coordinates.
    pub const SINGLETON_NONUNIQUE: Level = Level { kind: LevelKind::SINGLETON, unique: false };

    /// The properties that the level's coordinates always have.
    #[inline]
    pub const fn properties(self) -> Properties {
        let properties = self.kind.0.properties;
        Properties { unique: properties.unique && self.unique, ..properties }
    }

    /// The access and assembly functions that the level offers.
    pub const fn capabilities(self) -> Capabilities {
        let capabilities = self.kind.0.capabilities;
        Capabilities { search: capabilities.search && self.unique, ..capabilities }
    }

    /// The level for a letter of the command line: `d` dense, `s` compressed, `u` compressed non-unique,
    /// `q` singleton, `c` singleton non-unique, and those of other kinds.
    pub fn from_letter(letter: char) -> Option<Level> {
        let of = |kind: LevelKind| {
            if kind.schema().is_some() {
                return None;
            }
            let unique = kind.0.letter == letter;
            (unique || kind.0.repeating == Some(letter)).then_some(Level { kind, unique })
        };
        REGISTRY.find_map(of)
    }

    /// The text in formats: a letter, or the name of a schema in braces.
    ///
    /// ```
    /// use lacunar_formats::{Level, LevelKind};
    /// let tree = Level { kind: LevelKind::nodes_named("bst").unwrap(), unique: true };
    /// assert_eq!((Level::COMPRESSED.text(), tree.text()), ("s".to_string(), "{bst}".to_string()));
    /// ```
    pub fn text(self) -> String {
        match self.kind.schema() {
            Some(schema) => format!("{{{}}}", schema.name()),
            None => self.letter().to_string(),
        }
    }

    /// The letter of the command line, of kinds that have one.
    pub fn letter(self) -> char {
        let info = self.kind.0;
        if self.unique { info.letter } else { info.repeating.unwrap_or(info.letter) }
    }

    /// All levels, with their letters in a sentence: `d dense, s compressed, u compressed non-unique, ..`.
    pub fn alphabet() -> String {
        let mut words = Vec::new();
        for kind in LevelKind::all() {
            words.push(format!("{} {}", kind.0.letter, kind.0.name));
            words.extend(kind.0.repeating.map(|letter| format!("{letter} {} non-unique", kind.0.name)));
        }
        words.join(", ")
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.0.name)?;
        if !self.unique {
            f.write_str("(non-unique)")?;
        }
        Ok(())
    }
}
