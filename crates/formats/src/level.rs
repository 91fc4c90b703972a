//! Level kinds: how one stored dimension of a tensor keeps its coordinates, and what that lets a kernel do.
//!
//! The lowering never looks at the kind itself; it asks for [`Properties`] (what is always true of the stored
//! coordinates) and [`Capabilities`] (which access functions exist). The code a level emits is in
//! `compiler/src/levels/<kind>.rs`, the arrays it keeps in `runtime/src/storage/<kind>.rs`.
//!
//! Paper: Chou et al. 2018, Tables 1 and 2.
//!
//! ```
//! use lacunar_formats::Level;
//! let level = Level::from_letter('u').unwrap();
//! assert!(!level.properties().unique);
//! assert!(level.capabilities().iterate_positions);
//! ```

use std::fmt;

/// The kind of storage of one level, without its properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LevelKind {
    /// Every coordinate of the dimension is stored, implicitly: position = parent position * size + coordinate.
    Dense,
    /// A segment of coordinates per parent position: `pos[p] .. pos[p+1]` into `crd`.
    Compressed,
    /// One coordinate per parent position: `crd[p]`.
    Singleton,
}

/// A level of a format: its kind, and what holds of the coordinates it stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Level {
    /// How coordinates are stored.
    pub kind: LevelKind,
    /// No coordinate occurs twice under one parent. Always true of dense levels. A level that is not unique repeats
    /// a coordinate once for each position of the singleton levels below it (as the rows of a coordinate list do).
    pub unique: bool,
}

/// What always holds of the coordinates a level stores (Chou et al. 2018, Table 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// Every coordinate of the dimension is stored.
    pub full: bool,
    /// Coordinates under one parent ascend.
    pub ordered: bool,
    /// No coordinate occurs twice under one parent.
    pub unique: bool,
    /// Every parent position has exactly one child position, of the same number.
    pub branchless: bool,
    /// Positions are contiguous: no position is unused.
    pub compact: bool,
}

/// Which access and assembly functions a level offers (Chou et al. 2018, Table 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Coordinates can be enumerated and each gives its position.
    pub iterate_coordinates: bool,
    /// Positions can be enumerated and each gives its coordinate.
    pub iterate_positions: bool,
    /// The position of a coordinate is computed without a search and always exists.
    pub locate: bool,
    /// The position of a coordinate can be searched for (logarithmic time); it may be absent.
    pub search: bool,
    /// A result can be assembled by appending coordinates in order.
    pub append: bool,
    /// A result can be assembled by writing coordinates in any order.
    pub insert: bool,
}

impl Level {
    /// A dense level.
    pub const DENSE: Level = Level { kind: LevelKind::Dense, unique: true };
    /// A compressed level with unique coordinates.
    pub const COMPRESSED: Level = Level { kind: LevelKind::Compressed, unique: true };
    /// A compressed level that repeats coordinates, one for each entry below.
    pub const COMPRESSED_NONUNIQUE: Level = Level { kind: LevelKind::Compressed, unique: false };
    /// A singleton level whose coordinates are unique under one coordinate of the level above.
    pub const SINGLETON: Level = Level { kind: LevelKind::Singleton, unique: true };
    /// A singleton level that repeats coordinates.
    pub const SINGLETON_NONUNIQUE: Level = Level { kind: LevelKind::Singleton, unique: false };

    /// What always holds of the level's coordinates.
    pub const fn properties(self) -> Properties {
        match self.kind {
            LevelKind::Dense => {
                Properties { full: true, ordered: true, unique: true, branchless: false, compact: true }
            }
            LevelKind::Compressed => {
                Properties { full: false, ordered: true, unique: self.unique, branchless: false, compact: true }
            }
            LevelKind::Singleton => {
                Properties { full: false, ordered: true, unique: self.unique, branchless: true, compact: true }
            }
        }
    }

    /// Which access and assembly functions the level offers.
    pub const fn capabilities(self) -> Capabilities {
        match self.kind {
            LevelKind::Dense => Capabilities {
                iterate_coordinates: true,
                iterate_positions: false,
                locate: true,
                search: false,
                append: false,
                insert: true,
            },
            LevelKind::Compressed => Capabilities {
                iterate_coordinates: false,
                iterate_positions: true,
                locate: false,
                search: self.unique,
                append: true,
                insert: false,
            },
            LevelKind::Singleton => Capabilities {
                iterate_coordinates: false,
                iterate_positions: true,
                locate: false,
                search: false,
                append: true,
                insert: false,
            },
        }
    }

    /// The level for a letter of the command line: `d` dense, `s` compressed, `u` compressed non-unique,
    /// `q` singleton, `c` singleton non-unique.
    pub const fn from_letter(letter: char) -> Option<Level> {
        Some(match letter {
            'd' => Level::DENSE,
            's' => Level::COMPRESSED,
            'u' => Level::COMPRESSED_NONUNIQUE,
            'q' => Level::SINGLETON,
            'c' => Level::SINGLETON_NONUNIQUE,
            _ => return None,
        })
    }

    /// The letter of the command line.
    pub const fn letter(self) -> char {
        match (self.kind, self.unique) {
            (LevelKind::Dense, _) => 'd',
            (LevelKind::Compressed, true) => 's',
            (LevelKind::Compressed, false) => 'u',
            (LevelKind::Singleton, true) => 'q',
            (LevelKind::Singleton, false) => 'c',
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.kind {
            LevelKind::Dense => "dense",
            LevelKind::Compressed => "compressed",
            LevelKind::Singleton => "singleton",
        };
        f.write_str(name)?;
        if !self.unique {
            f.write_str("(non-unique)")?;
        }
        Ok(())
    }
}
