//! Formats: the levels of a tensor, the map from dimensions to levels, and the widths of the index arrays.
//!
//! A format of a concrete order is a [`Format`]. What a user writes may leave the order open (`coo`, `csf`, `dense`)
//! and is a [`FormatSpec`] until it meets a tensor.
//!
//! ```
//! use lacunar_formats::{Format, FormatSpec};
//! let csc: Format = "csc".parse::<FormatSpec>().unwrap().resolve(2).unwrap();
//! assert_eq!(csc, "ds:1,0".parse::<FormatSpec>().unwrap().resolve(2).unwrap());
//! assert_eq!(csc.mode_order(), &[1, 0]);
//! assert_eq!(csc.to_string(), "csc");
//! assert_eq!(Format::csf(3).to_string(), "csf");
//! ```

use std::fmt;
use std::str::FromStr;

use crate::level::{Level, LevelKind};

/// The width of the numbers in a coordinate or position array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IndexWidth {
    /// Unsigned 32-bit.
    W32,
    /// Unsigned 64-bit.
    W64,
}

impl IndexWidth {
    /// The narrowest width whose numbers reach `max`.
    pub const fn for_max(max: u64) -> IndexWidth {
        if max <= u32::MAX as u64 { IndexWidth::W32 } else { IndexWidth::W64 }
    }

    /// The wider of two.
    pub fn wider(self, other: IndexWidth) -> IndexWidth {
        Ord::max(self, other)
    }

    /// The largest number of the width.
    pub const fn max(self) -> u64 {
        match self {
            IndexWidth::W32 => u32::MAX as u64,
            IndexWidth::W64 => u64::MAX,
        }
    }

    /// The element type of an array of this width.
    pub const fn dtype(self) -> crate::DType {
        match self {
            IndexWidth::W32 => crate::DType::U32,
            IndexWidth::W64 => crate::DType::U64,
        }
    }
}

/// How a tensor of a fixed order is stored: one level per dimension, outermost first.
///
/// Level `l` stores dimension `mode_order()[l]`. `positions` and `coordinates` are the widths of the index arrays of
/// all levels.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Format {
    levels: Vec<Level>,
    mode_order: Vec<usize>,
    /// Width of position arrays.
    pub positions: IndexWidth,
    /// Width of coordinate arrays.
    pub coordinates: IndexWidth,
}

/// Why a format is not one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormatError {
    /// A word that is neither a named format nor level letters.
    Unknown(String),
    /// A letter that names no level kind, and its place.
    Letter(char, usize),
    /// A named format of one order, given to a tensor of another.
    Order {
        /// The format as written.
        format: String,
        /// How many levels the format has.
        levels: usize,
        /// The order of the tensor.
        order: usize,
    },
    /// The mode order is not a permutation of `0 .. levels`.
    ModeOrder(String),
    /// Text after a complete format.
    Trailing(String),
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FormatError::Unknown(word) => write!(f, "`{word}` is not a format"),
            FormatError::Letter(c, _) => write!(f, "`{c}` is not a level kind"),
            FormatError::Order { format, levels, order } => {
                write!(f, "format `{format}` stores {levels} dimensions, but the tensor has {order}")
            }
            FormatError::ModeOrder(text) => {
                write!(f, "mode order `{text}` does not name each level's dimension exactly once")
            }
            FormatError::Trailing(text) => write!(f, "unexpected `{text}` after the format"),
        }
    }
}

impl std::error::Error for FormatError {}

impl Format {
    /// A format from its levels (outermost first) and the dimension each stores; 32-bit index arrays.
    ///
    /// # Errors
    /// [`FormatError::ModeOrder`] if `mode_order` is no permutation of the levels.
    pub fn new(levels: Vec<Level>, mode_order: Vec<usize>) -> Result<Format, FormatError> {
        let mut seen = vec![false; levels.len()];
        let valid = mode_order.len() == levels.len()
            && mode_order.iter().all(|&m| m < seen.len() && !std::mem::replace(&mut seen[m], true));
        if !valid {
            let text = mode_order.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
            return Err(FormatError::ModeOrder(text));
        }
        Ok(Format { levels, mode_order, positions: IndexWidth::W32, coordinates: IndexWidth::W32 })
    }

    fn natural(levels: Vec<Level>) -> Format {
        let mode_order = (0..levels.len()).collect();
        Format { levels, mode_order, positions: IndexWidth::W32, coordinates: IndexWidth::W32 }
    }

    /// All levels dense, row-major.
    pub fn dense(order: usize) -> Format {
        Format::natural(vec![Level::DENSE; order])
    }

    /// A sparse vector: one compressed level.
    pub fn sv() -> Format {
        Format::natural(vec![Level::COMPRESSED])
    }

    /// A sorted coordinate list: compressed non-unique, then singletons.
    pub fn coo(order: usize) -> Format {
        let levels = (0..order)
            .map(|level| match (level == 0, level + 1 == order) {
                (true, true) => Level::COMPRESSED,
                (true, false) => Level::COMPRESSED_NONUNIQUE,
                (false, true) => Level::SINGLETON,
                (false, false) => Level::SINGLETON_NONUNIQUE,
            })
            .collect();
        Format::natural(levels)
    }

    /// Compressed sparse rows: dense, compressed.
    pub fn csr() -> Format {
        Format::natural(vec![Level::DENSE, Level::COMPRESSED])
    }

    /// Compressed sparse columns: dense, compressed over dimensions 1, 0.
    pub fn csc() -> Format {
        Format { mode_order: vec![1, 0], ..Format::csr() }
    }

    /// Doubly compressed sparse rows: compressed, compressed.
    pub fn dcsr() -> Format {
        Format::natural(vec![Level::COMPRESSED; 2])
    }

    /// Doubly compressed sparse columns.
    pub fn dcsc() -> Format {
        Format { mode_order: vec![1, 0], ..Format::dcsr() }
    }

    /// Compressed sparse fibres: all levels compressed.
    pub fn csf(order: usize) -> Format {
        Format::natural(vec![Level::COMPRESSED; order])
    }

    /// The same levels over dimensions in another order.
    ///
    /// # Errors
    /// [`FormatError::ModeOrder`] if `mode_order` is no permutation of the levels.
    pub fn with_mode_order(self, mode_order: Vec<usize>) -> Result<Format, FormatError> {
        let (positions, coordinates) = (self.positions, self.coordinates);
        Ok(Format { positions, coordinates, ..Format::new(self.levels, mode_order)? })
    }

    /// The same format with the given widths of position and coordinate arrays.
    pub fn with_widths(self, positions: IndexWidth, coordinates: IndexWidth) -> Format {
        Format { positions, coordinates, ..self }
    }

    /// The number of dimensions (and of levels).
    pub fn order(&self) -> usize {
        self.levels.len()
    }

    /// The levels, outermost first.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The dimension that each level stores.
    pub fn mode_order(&self) -> &[usize] {
        &self.mode_order
    }

    /// The level that stores dimension `dimension`.
    pub fn level_of(&self, dimension: usize) -> Option<usize> {
        self.mode_order.iter().position(|&m| m == dimension)
    }

    /// Whether every level is dense (also true of order 0).
    pub fn is_dense(&self) -> bool {
        self.levels.iter().all(|level| level.kind == LevelKind::DENSE)
    }

    /// Whether every level is of a kind that all others are converted through: dense, compressed or singleton.
    pub fn is_plain(&self) -> bool {
        self.levels.iter().all(|level| level.kind.is_plain())
    }

    /// The same with a compressed level in the place of each that is not plain.
    pub fn plain(&self) -> Format {
        let levels = self.levels.iter().map(|&level| if level.kind.is_plain() { level } else { Level::COMPRESSED });
        Format { levels: levels.collect(), ..self.clone() }
    }

    /// Whether the mode order is `0, 1, 2, ...`.
    pub fn is_natural_order(&self) -> bool {
        self.mode_order.iter().enumerate().all(|(l, &m)| l == m)
    }

    /// Level letters with the mode order where it is not the natural one, as `-f` takes them: `ds:1,0`.
    pub fn letters(&self) -> String {
        let mut text: String = self.levels.iter().map(|level| level.letter()).collect();
        if !self.is_natural_order() {
            text.push(':');
            text += &self.mode_order.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        }
        text
    }
}

/// The named format if there is one (ignoring widths), else the letters.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = self.clone().with_widths(IndexWidth::W32, IndexWidth::W32);
        let order = self.order();
        let name = match order {
            0 => "scalar",
            _ if plain == Format::dense(order) => "dense",
            1 if plain == Format::sv() => "sv",
            2 if plain == Format::csr() => "csr",
            2 if plain == Format::csc() => "csc",
            2 if plain == Format::dcsr() => "dcsr",
            2 if plain == Format::dcsc() => "dcsc",
            _ if order > 1 && plain == Format::coo(order) => "coo",
            _ if order > 2 && plain == Format::csf(order) => "csf",
            _ => return f.write_str(&self.letters()),
        };
        f.write_str(name)
    }
}

/// A format as written, whose order may be open: a named format or level letters, with an optional mode order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FormatSpec {
    /// `dense`: all levels dense, whatever the order.
    Dense,
    /// `coo`: sorted coordinate list, whatever the order.
    Coo,
    /// `csf`: all levels compressed, whatever the order.
    Csf,
    /// A format of one order.
    Exact(Format),
    /// An order-open format with a mode order.
    Permuted(Box<FormatSpec>, Vec<usize>),
}

impl FormatSpec {
    /// The format for a tensor of `order` dimensions.
    ///
    /// # Errors
    /// [`FormatError::Order`] if the format stores another number of dimensions.
    pub fn resolve(&self, order: usize) -> Result<Format, FormatError> {
        match self {
            FormatSpec::Dense => Ok(Format::dense(order)),
            FormatSpec::Coo => Ok(Format::coo(order)),
            FormatSpec::Csf => Ok(Format::csf(order)),
            FormatSpec::Exact(format) if format.order() == order => Ok(format.clone()),
            FormatSpec::Exact(format) => {
                Err(FormatError::Order { format: format.to_string(), levels: format.order(), order })
            }
            FormatSpec::Permuted(inner, mode_order) if mode_order.len() == order => {
                inner.resolve(order)?.with_mode_order(mode_order.clone())
            }
            FormatSpec::Permuted(_, mode_order) => {
                Err(FormatError::Order { format: self.to_string(), levels: mode_order.len(), order })
            }
        }
    }
}

impl From<Format> for FormatSpec {
    fn from(format: Format) -> FormatSpec {
        FormatSpec::Exact(format)
    }
}

impl fmt::Display for FormatSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FormatSpec::Dense => f.write_str("dense"),
            FormatSpec::Coo => f.write_str("coo"),
            FormatSpec::Csf => f.write_str("csf"),
            FormatSpec::Exact(format) => format.fmt(f),
            FormatSpec::Permuted(inner, mode_order) => {
                let modes = mode_order.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
                write!(f, "{inner}:{modes}")
            }
        }
    }
}

impl FromStr for FormatSpec {
    type Err = FormatError;

    /// Reads `csr`, `coo`, `ds`, `ds:1,0`, `csf:2,0,1`. The empty text is the format of a scalar.
    fn from_str(text: &str) -> Result<FormatSpec, FormatError> {
        let text = text.trim();
        let (name, modes) = match text.split_once(':') {
            Some((name, modes)) => (name.trim(), Some(modes.trim())),
            None => (text, None),
        };
        let spec = match name.to_ascii_lowercase().as_str() {
            "dense" => FormatSpec::Dense,
            "coo" => FormatSpec::Coo,
            "csf" => FormatSpec::Csf,
            "scalar" | "" => FormatSpec::Exact(Format::dense(0)),
            "sv" => FormatSpec::Exact(Format::sv()),
            "csr" => FormatSpec::Exact(Format::csr()),
            "csc" => FormatSpec::Exact(Format::csc()),
            "dcsr" => FormatSpec::Exact(Format::dcsr()),
            "dcsc" => FormatSpec::Exact(Format::dcsc()),
            letters => {
                let known = letters.chars().filter(|&c| Level::from_letter(c).is_some()).count();
                if known == 0 || letters.len() > 64 {
                    return Err(FormatError::Unknown(name.to_string()));
                }
                let levels = letters
                    .chars()
                    .enumerate()
                    .map(|(place, c)| Level::from_letter(c).ok_or(FormatError::Letter(c, place)))
                    .collect::<Result<Vec<_>, _>>()?;
                FormatSpec::Exact(Format::natural(levels))
            }
        };
        let Some(modes) = modes else { return Ok(spec) };
        let mode_order = modes
            .split(',')
            .map(|word| word.trim().parse::<usize>().map_err(|_| FormatError::ModeOrder(modes.to_string())))
            .collect::<Result<Vec<_>, _>>()?;
        match spec {
            FormatSpec::Exact(format) => Ok(FormatSpec::Exact(format.with_mode_order(mode_order)?)),
            open => {
                Format::dense(mode_order.len()).with_mode_order(mode_order.clone())?;
                Ok(FormatSpec::Permuted(Box::new(open), mode_order))
            }
        }
    }
}
