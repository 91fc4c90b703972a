//! Formats: the levels of a tensor, the map from dimensions to levels, and the widths of the index arrays.
//!
//! A format of a concrete order is a [`Format`]. The user's text may leave the order open (`coo`, `csf`, `dense`) and is a
//! [`FormatSpec`] until it meets a tensor.
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

use crate::kinds::NAMED;
use crate::level::{Level, LevelKind};
use crate::map::{Map, Term};
use crate::map_error::{MapError, MapFault};
use crate::names::{self, NAMES, SIZED, is_misleading};
use crate::packing::{self, Packing, PackingFault};
use crate::structure::Named;
use crate::width::{IndexWidth, Widths, read_levels};

/// How a tensor of a fixed order is stored: levels, outermost first.
///
/// Level `l` stores dimension `mode_order()[l]`; or, in a format with a [`Map`], the term of the map: then `mode_order()` is that
/// of the stored dimensions, one a level. Index arrays have a width for each level, which is 32 bits unless said otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Format {
    pub(crate) levels: Vec<Level>,
    mode_order: Vec<usize>,
    /// Boxed: few formats have one, and formats are part of errors.
    pub(crate) map: Option<Box<Map>>,
    /// One a level; see [`Widths::of`].
    pub(crate) widths: Box<[Widths]>,
    /// The structure of which the unique elements alone are stored.
    packing: Option<Packing>,
}

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
                write!(f, "format `{format}` stores {levels} dimensions, but the tensor has {order}")
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

impl Format {
    /// A format from its levels (outermost first) and the dimension each stores; 32-bit index arrays.
    ///
    /// # Errors
    /// [`FormatError::Map`] if `mode_order` is no permutation of the levels.
    pub fn new(levels: Vec<Level>, mode_order: Vec<usize>) -> Result<Format, FormatError> {
        if let Some(error) = MapError::of_order(&mode_order, levels.len()) {
            return Err(FormatError::Map(error));
        }
        Format { mode_order, ..Format::natural(levels) }.with_ranks_mapped()
    }

    /// A format whose levels store what a map says; 32-bit index arrays. A map that stores every dimension as it is gives the
    /// format with that mode order.
    ///
    /// # Errors
    /// [`FormatError::Map`] if the map has no term for each level, or does not store every dimension once.
    pub fn mapped(levels: Vec<Level>, terms: Vec<Term>) -> Result<Format, FormatError> {
        let whole: Option<Vec<usize>> =
            terms.iter().map(|term| if let Term::Whole(d) = term { Some(*d) } else { None }).collect();
        if let Some(mode_order) = whole {
            return Format::new(levels, mode_order);
        }
        if terms.len() != levels.len() {
            let fault = MapFault::Count { terms: terms.len(), levels: levels.len() };
            return Err(FormatError::Map(MapError::new(None, fault)));
        }
        let map = Map::new(terms).map_err(FormatError::Map)?;
        Format { map: Some(Box::new(map)), ..Format::natural(levels) }.with_ranks_mapped()
    }

    fn natural(levels: Vec<Level>) -> Format {
        let mode_order = (0..levels.len()).collect();
        let widths = vec![Widths::USUAL; levels.len()].into();
        Format { levels, mode_order, map: None, widths, packing: None }
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

    /// Compressed sparse rows whose columns are in any order: dense, unordered. What a product of sparse matrices is cheapest to
    /// store in.
    ///
    /// ```
    /// use lacunar_formats::Format;
    /// assert_eq!(Format::csr_unordered(), "do".parse::<lacunar_formats::FormatSpec>().unwrap().resolve(2).unwrap());
    /// assert_eq!(Format::csr_unordered().to_string(), "csr(unordered)");
    /// ```
    pub fn csr_unordered() -> Format {
        Format::natural(vec![Level::DENSE, Level::UNORDERED])
    }

    /// Compressed sparse columns whose rows are in any order: dense, unordered over dimensions 1, 0.
    ///
    /// ```
    /// assert_eq!(lacunar_formats::Format::csc_unordered().to_string(), "csc(unordered)");
    /// ```
    pub fn csc_unordered() -> Format {
        Format { mode_order: vec![1, 0], ..Format::csr_unordered() }
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

    /// Blocked compressed sparse rows: a dense block of `rows` x `columns` for each block with stored entries.
    ///
    /// # Errors
    /// A size is 0.
    pub fn bcsr(rows: u32, columns: u32) -> Result<Format, FormatError> {
        let levels = vec![Level::DENSE, Level::COMPRESSED, Level::DENSE, Level::DENSE];
        Format::blocks(levels, &[rows, columns], "bcsr")
    }

    /// Compressed sparse blocks: a dense grid of blocks, each a coordinate list.
    ///
    /// # Errors
    /// The size is 0.
    pub fn csb(size: u32) -> Result<Format, FormatError> {
        let levels = vec![Level::DENSE, Level::DENSE, Level::COMPRESSED_NONUNIQUE, Level::SINGLETON];
        Format::blocks(levels, &[size, size], "csb")
    }

    /// A coordinate list of blocks, each a coordinate list (Li et al., *HiCOO*, SC 2018).
    ///
    /// # Errors
    /// The size is 0.
    pub fn hicoo(order: usize, size: u32) -> Result<Format, FormatError> {
        let list = Format::coo(order).levels;
        Format::blocks([list.clone(), list].concat(), &vec![size; order], "hicoo")
    }

    /// Diagonals: those with stored entries, each with a place for every row.
    pub fn dia() -> Format {
        let map = Map::new(vec![Term::Difference(1, 0), Term::Whole(0)]).ok().map(Box::new);
        Format { map, ..Format::natural(vec![Level::COMPRESSED, Level::DENSE]) }
    }

    /// The unique elements of a structure alone, in a tensor of an order: half of a symmetric matrix, a sixth of a symmetric cube. A
    /// tensor in this format is the whole one, and has the structure.
    ///
    /// # Errors
    /// [`FormatError::Packing`] if there is no such structure of tensors of this order, or its unique elements are not neighbors.
    ///
    /// ```
    /// use lacunar_formats::{Format, FormatSpec};
    /// let band = Format::packed("banded(2,1)", 2).unwrap();
    /// assert_eq!(band.to_string(), "packed(banded(2,1))");
    /// assert_eq!(band, "packed(banded(2,1))".parse::<FormatSpec>().unwrap().resolve(2).unwrap());
    /// assert_eq!(band.letters(), "dk");
    /// assert!(Format::packed("chess", 2).is_err());
    /// ```
    pub fn packed(structure: &str, order: usize) -> Result<Format, FormatError> {
        let fault = |fault| FormatError::Packing { structure: structure.to_string(), fault };
        Packing::parse(structure, order).map(Format::of_packing).map_err(fault)
    }

    /// The format of a packing whose levels store the dimensions in their order.
    fn of_packing(packing: Packing) -> Format {
        let order = packing.structure().order();
        Format { packing: Some(packing), ..Format::natural(packed_levels(order)) }
    }

    /// The format that suits a tensor best if it is used about 1000 times in it, as in an iterative solver, the conversion included.
    /// What makes a tensor of entries, reads it or converts it chooses the format from the entries.
    pub fn auto() -> FormatSpec {
        FormatSpec::Auto(USES)
    }

    /// As [`Format::auto`], for so many uses: the fewer they are, the less a conversion may take.
    pub fn auto_for(uses: u64) -> FormatSpec {
        FormatSpec::Auto(uses)
    }

    /// The numbers of blocks outside, the places inside them in arrays as narrow as the blocks allow.
    fn blocks(levels: Vec<Level>, sizes: &[u32], name: &str) -> Result<Format, FormatError> {
        let sizes_text = || sizes.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let dimensions = || sizes.iter().copied().enumerate();
        let outer = dimensions().map(|(d, size)| Term::Quotient(d, size));
        let inner = dimensions().map(|(d, size)| Term::Remainder(d, size));
        let format = Format::mapped(levels, outer.chain(inner).collect())
            .map_err(|_| FormatError::Arguments(format!("{name}({})", sizes_text())))?;
        let narrow = |format: Format, (d, size): (usize, u32)| {
            format.with_coordinates(sizes.len() + d, IndexWidth::for_max(u64::from(size) - 1))
        };
        Ok(dimensions().fold(format, narrow))
    }

    /// The same levels over dimensions in another order: of a format with a map, the map's dimension `k` becomes
    /// `mode_order[k]`.
    ///
    /// # Errors
    /// [`FormatError::Map`] if `mode_order` is no permutation of the dimensions.
    pub fn with_mode_order(self, mode_order: Vec<usize>) -> Result<Format, FormatError> {
        if let Some(packing) = self.packing {
            Format::new(vec![Level::DENSE; self.levels.len()], mode_order.clone())?;
            let fault = |fault| FormatError::Packing { structure: packing.to_string(), fault };
            let packing = Some(packing.with_modes(&mode_order).map_err(fault)?);
            return Ok(Format { mode_order, packing, ..self });
        }
        let Some(map) = &self.map else {
            return Ok(Format { widths: self.widths, ..Format::new(self.levels, mode_order)? });
        };
        Format::new(vec![Level::DENSE; map.order()], mode_order.clone())?;
        let map = Some(Box::new(map.relabeled(|d| mode_order[d])));
        Ok(Format { map, ..self })
    }

    /// The same storage of a tensor whose dimension `d` is called `to[d]`.
    ///
    /// # Errors
    /// [`FormatError::Map`] if `to` is no permutation of the dimensions.
    pub fn with_dimensions(self, to: &[usize]) -> Result<Format, FormatError> {
        if let Some(packing) = self.packing
            && !to.iter().copied().eq(0..self.levels.len())
        {
            // The structure is one of dimensions in their order.
            let order = self.levels.len();
            return Err(FormatError::Order { format: format!("packed({packing})"), levels: order, order: to.len() });
        }
        let order = match &self.map {
            Some(map) => (0..map.order()).collect(),
            None => self.mode_order.clone(),
        };
        let renamed: Option<Vec<usize>> = order.iter().map(|d| to.get(*d).copied()).collect();
        let renamed = renamed.filter(|order| order.len() == to.len());
        let count = || MapError::new(None, MapFault::Count { terms: to.len(), levels: order.len() });
        self.with_mode_order(renamed.ok_or_else(|| FormatError::Map(count()))?)
    }

    /// The number of dimensions; without a map, that of levels.
    pub fn order(&self) -> usize {
        self.map.as_ref().map_or(self.levels.len(), |map| map.order())
    }

    /// The map of the levels, if they do not store one dimension each.
    pub fn map(&self) -> Option<&Map> {
        self.map.as_deref()
    }

    /// The format of the stored tensor: the same levels, whose dimensions are the stored ones.
    pub fn stored(&self) -> Format {
        Format { map: None, ..self.clone() }
    }

    /// The structure of which the unique elements alone are stored, if there is one.
    pub fn packing(&self) -> Option<Packing> {
        self.packing
    }

    /// The format of what is stored: the same levels, which say nothing of a structure.
    ///
    /// ```
    /// use lacunar_formats::Format;
    /// assert_eq!(Format::packed("lower", 2).unwrap().unpacked().to_string(), "dk");
    /// ```
    pub fn unpacked(&self) -> Format {
        Format { packing: None, ..self.clone() }
    }

    /// The format of a packed tensor as kernels see it that come to its own elements only: each has a place that is computed, as if all
    /// levels were dense. Other formats stay as they are.
    ///
    /// ```
    /// use lacunar_formats::Format;
    /// let packed = Format::packed("lower", 2).unwrap();
    /// assert!(!packed.is_dense() && packed.as_array().is_dense());
    /// assert_eq!(packed.as_array().as_stored(), packed);
    /// ```
    pub fn as_array(&self) -> Format {
        match self.packing {
            Some(_) => Format { levels: vec![Level::DENSE; self.levels.len()], ..self.clone() },
            None => self.clone(),
        }
    }

    /// The format in which a tensor is stored that a kernel sees [as an array](Format::as_array).
    pub fn as_stored(&self) -> Format {
        match self.packing {
            Some(_) => Format { levels: packed_levels(self.levels.len()), ..self.clone() },
            None => self.clone(),
        }
    }

    /// The levels, outermost first.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The dimension that each level stores: a stored one, in a format with a map.
    pub fn mode_order(&self) -> &[usize] {
        &self.mode_order
    }

    /// The level that stores dimension `dimension`.
    pub fn level_of(&self, dimension: usize) -> Option<usize> {
        self.mode_order.iter().position(|&m| m == dimension)
    }

    /// True if every level is dense (also true of order 0), and stores a dimension.
    pub fn is_dense(&self) -> bool {
        self.map.is_none() && self.levels.iter().all(|level| level.kind == LevelKind::DENSE)
    }

    /// True if every level is of a kind that all others are converted through: dense, compressed or singleton.
    pub fn is_plain(&self) -> bool {
        self.levels.iter().all(|level| level.kind.is_plain())
    }

    /// True if some stored values are padding, and only their zeros tell them from entries: below dense levels, and others that are
    /// padded, positions exist even without entries.
    pub fn is_padded(&self) -> bool {
        let exact = |level: &Level| !level.properties().padded && !level.properties().branchless;
        match self.levels.iter().rposition(exact) {
            Some(exact) => self.levels[exact + 1..].iter().any(|level| level.properties().padded),
            None => self.order() > 0,
        }
    }

    /// True if the stored coordinates tell the entries without their values, so that a tensor of type [`DType::Pattern`] can be
    /// stored so.
    ///
    /// [`DType::Pattern`]: crate::DType::Pattern
    pub fn tells_entries(&self) -> bool {
        self.order() > 0 && !self.is_padded()
    }

    /// True if the values decide which places share a position.
    pub fn shares_positions(&self) -> bool {
        self.levels.iter().any(|level| level.properties().shared)
    }

    /// The same with a compressed level in the place of each that is not plain. Coordinates that are stored by their ranks are then
    /// ranks.
    pub fn plain(&self) -> Format {
        let levels = self.levels.iter().map(|&level| if level.kind.is_plain() { level } else { Level::COMPRESSED });
        let map = self.map.as_ref().map(|map| Box::new(map.of_ranks()));
        Format { levels: levels.collect(), map, packing: None, ..self.clone() }
    }

    /// True if the mode order is `0, 1, 2, ...`.
    pub fn is_natural_order(&self) -> bool {
        self.mode_order.iter().enumerate().all(|(l, &m)| l == m)
    }

    /// Level letters with the widths that are not the usual ones and the mode order if it is not the natural one, as `-f` takes
    /// them: `ds16:1,0`.
    pub fn letters(&self) -> String {
        let word: String = self.levels.iter().map(|level| level.text()).collect();
        // Letters that spell the name of another format are told from it by a width that could be left out.
        let is_name = named(&word).is_some() || SIZED.contains(&word.as_str()) || is_misleading(&word);
        let keeps = |level: &Level| level.kind.has_coordinates();
        let told = if is_name { self.levels.iter().position(keeps) } else { None };
        let spelled = |(place, (level, widths)): (usize, (&Level, &Widths))| {
            let usual = told == Some(place) && widths.coordinates == IndexWidth::W32;
            format!("{}{}{}", level.text(), if usual { "32" } else { "" }, widths.suffix())
        };
        let mut text: String = self.levels.iter().zip(&self.widths).enumerate().map(spelled).collect();
        if let Some(map) = &self.map {
            text.push(':');
            text += &map.to_string();
        } else if !self.is_natural_order() {
            text.push(':');
            text += &self.mode_order.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        }
        text
    }
}

/// The named format if there is one, else the letters.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(map) = &self.map {
            return match named_map(self, map) {
                Some(name) => f.write_str(&name),
                None => f.write_str(&self.letters()),
            };
        }
        if let Some(packing) = self.packing {
            let letters = self.letters();
            let modes = letters.find(':').map_or("", |colon| &letters[colon..]);
            return write!(f, "packed({packing}){modes}");
        }
        let order = self.order();
        let name = match order {
            0 => "scalar",
            _ if *self == Format::dense(order) => "dense",
            1 if *self == Format::sv() => "sv",
            2 if *self == Format::csr() => "csr",
            2 if *self == Format::csc() => "csc",
            2 if *self == Format::csr_unordered() => "csr(unordered)",
            2 if *self == Format::csc_unordered() => "csc(unordered)",
            2 if *self == Format::dcsr() => "dcsr",
            2 if *self == Format::dcsc() => "dcsc",
            _ if order > 1 && *self == Format::coo(order) => "coo",
            _ if order > 2 && *self == Format::csf(order) => "csf",
            _ => return f.write_str(&self.letters()),
        };
        f.write_str(name)
    }
}

/// The levels of a packed tensor: rows that begin and end where a structure says.
fn packed_levels(order: usize) -> Vec<Level> {
    (0..order).map(|level| if level == 0 { Level::DENSE } else { Level::BANDED }).collect()
}

/// The name of a format with a map, if it has one.
fn named_map(format: &Format, map: &Map) -> Option<String> {
    let size = |place: usize| match map.terms().get(place) {
        Some(Term::Quotient(_, size)) => *size,
        _ => 0,
    };
    let (rows, columns) = (size(0), size(1));
    if *format == Format::dia() {
        Some("dia".to_string())
    } else if Format::ell().as_ref() == Ok(format) {
        Some("ell".to_string())
    } else if Format::sell(rows).as_ref() == Ok(format) {
        Some(format!("sell({rows})"))
    } else if let Some(window) = map.ranked().map(|ranked| ranked.window)
        && Format::sell_sorted(rows, window).as_ref() == Ok(format)
    {
        Some(format!("sell({rows},{window})"))
    } else if Format::bcsr(rows, columns).as_ref() == Ok(format) {
        Some(format!("bcsr({rows},{columns})"))
    } else if Format::csb(rows).as_ref() == Ok(format) {
        Some(format!("csb({rows})"))
    } else if Format::hicoo(map.order(), rows).as_ref() == Ok(format) {
        Some(format!("hicoo({rows})"))
    } else {
        None
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
    /// `hicoo(b)`: a coordinate list of blocks of this size, whatever the order.
    Hicoo(u32),
    /// `packed(symmetric)`: the unique elements of a structure, whatever the order.
    Packed {
        /// The name of the structure.
        name: &'static str,
        /// Its arguments.
        arguments: Vec<i64>,
    },
    /// A format of one order.
    Exact(Format),
    /// An order-open format with a mode order.
    Permuted(Box<FormatSpec>, Vec<usize>),
    /// `auto(uses)`: the format that suits a tensor's entries best, used so many times after one conversion. It is data of a
    /// tensor, not of a program: what reads, packs or converts a tensor chooses it.
    Auto(u64),
}

/// How many times a tensor in a format `auto` is used, if nothing is said: about as many products as an iterative solver takes.
const USES: u64 = 1000;

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
            FormatSpec::Hicoo(size) => Format::hicoo(order, *size),
            FormatSpec::Packed { name, arguments } => {
                let structure = || packing::Shown(name, arguments).to_string();
                let named = Named::find(name).ok_or_else(|| FormatError::Unknown(structure()))?;
                let packing = Packing::of(named, arguments, &(0..order).collect::<Vec<_>>());
                packing.map(Format::of_packing).map_err(|fault| FormatError::Packing { structure: structure(), fault })
            }
            FormatSpec::Exact(format) if format.order() == order => Ok(format.clone()),
            FormatSpec::Exact(format) => {
                // A name that fits every order does not say which one this is.
                let is_open = matches!(named(&format.to_string()), Some(open) if !matches!(open, FormatSpec::Exact(_)));
                let shown = if is_open { format.letters() } else { format.to_string() };
                Err(FormatError::Order { format: shown, levels: format.order(), order })
            }
            FormatSpec::Permuted(inner, mode_order) if mode_order.len() == order => {
                inner.resolve(order)?.with_mode_order(mode_order.clone())
            }
            FormatSpec::Permuted(_, mode_order) => {
                Err(FormatError::Order { format: self.to_string(), levels: mode_order.len(), order })
            }
            FormatSpec::Auto(_) => Err(FormatError::Auto(self.to_string())),
        }
    }

    /// The number of dimensions, unless the format fits several.
    ///
    /// ```
    /// use lacunar_formats::FormatSpec;
    /// let order = |text: &str| text.parse::<FormatSpec>().unwrap().order();
    /// assert_eq!([order("csr"), order("dss"), order("csf:2,0,1"), order("coo")], [Some(2), Some(3), Some(3), None]);
    /// ```
    pub fn order(&self) -> Option<usize> {
        match self {
            FormatSpec::Exact(format) => Some(format.order()),
            FormatSpec::Permuted(_, modes) => Some(modes.len()),
            FormatSpec::Dense
            | FormatSpec::Coo
            | FormatSpec::Csf
            | FormatSpec::Hicoo(_)
            | FormatSpec::Packed { .. }
            | FormatSpec::Auto(_) => None,
        }
    }

    /// How many uses a format is chosen for; `None` if it is said which one it is.
    ///
    /// ```
    /// use lacunar_formats::{Format, FormatSpec};
    /// assert_eq!("auto(20)".parse::<FormatSpec>().unwrap().uses(), Some(20));
    /// assert_eq!("auto".parse::<FormatSpec>().unwrap(), Format::auto());
    /// assert_eq!(FormatSpec::from(Format::csr()).uses(), None);
    /// ```
    pub fn uses(&self) -> Option<u64> {
        if let FormatSpec::Auto(uses) = self { Some(*uses) } else { None }
    }
}

impl From<&Format> for FormatSpec {
    fn from(format: &Format) -> FormatSpec {
        FormatSpec::Exact(format.clone())
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
            FormatSpec::Hicoo(size) => write!(f, "hicoo({size})"),
            FormatSpec::Packed { name, arguments } => write!(f, "packed({})", packing::Shown(name, arguments)),
            FormatSpec::Exact(format) => format.fmt(f),
            FormatSpec::Permuted(inner, mode_order) => {
                let modes = mode_order.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
                write!(f, "{inner}:{modes}")
            }
            FormatSpec::Auto(USES) => f.write_str("auto"),
            FormatSpec::Auto(uses) => write!(f, "auto({uses})"),
        }
    }
}

impl FromStr for FormatSpec {
    type Err = FormatError;

    /// Reads `csr`, `coo`, `ds`, `ds16:1,0`, `csf:2,0,1`, `d{btree}`. The empty text is the format of a scalar.
    fn from_str(text: &str) -> Result<FormatSpec, FormatError> {
        let text = text.trim();
        let (name, modes) = match text.split_once(':') {
            Some((name, modes)) => (name.trim(), Some(modes.trim())),
            None => (text, None),
        };
        let lower = name.to_ascii_lowercase();
        if let Some((word, sizes)) = lower.strip_suffix(')').and_then(|text| text.split_once('(')) {
            return with_modes(sized(word.trim(), sizes, text)?, name, modes);
        }
        let spec = match named(&lower) {
            Some(spec) => spec,
            None if SIZED.contains(&lower.as_str()) => return Err(FormatError::Arguments(text.to_string())),
            None if is_misleading(&lower) => return Err(FormatError::Unknown(name.to_string())),
            None => {
                let known = lower.chars().filter(|&c| c == NAMED || Level::from_letter(c).is_some()).count();
                if known == 0 || known > 64 || lower.len() > 512 || names::is_misspelled(&lower) {
                    return Err(FormatError::Unknown(name.to_string()));
                }
                let (levels, widths): (Vec<Level>, Vec<Widths>) = read_levels(&lower)?.into_iter().unzip();
                FormatSpec::Exact(Format { widths: widths.into(), ..Format::natural(levels) })
            }
        };
        match with_modes(spec, name, modes)? {
            FormatSpec::Exact(format) => Ok(FormatSpec::Exact(format.with_ranks_mapped()?)),
            open => Ok(open),
        }
    }
}

/// The format of a name without sizes.
fn named(word: &str) -> Option<FormatSpec> {
    let exact = match word {
        "dense" => return Some(FormatSpec::Dense),
        "coo" => return Some(FormatSpec::Coo),
        "csf" => return Some(FormatSpec::Csf),
        "auto" => return Some(FormatSpec::Auto(USES)),
        "scalar" | "" => Format::dense(0),
        "sv" => Format::sv(),
        "csr" => Format::csr(),
        "csc" => Format::csc(),
        "dcsr" => Format::dcsr(),
        "dcsc" => Format::dcsc(),
        "dia" => Format::dia(),
        "ell" => Format::ell().ok()?,
        _ => return None,
    };
    Some(FormatSpec::Exact(exact))
}

/// A named format with sizes, such as `bcsr(4,4)`, or with a property, such as `csr(unordered)`.
fn sized(name: &str, sizes: &str, text: &str) -> Result<FormatSpec, FormatError> {
    let wrong = || FormatError::Arguments(text.to_string());
    match (name, sizes.trim()) {
        ("csr", "unordered") => return Ok(FormatSpec::Exact(Format::csr_unordered())),
        ("csc", "unordered") => return Ok(FormatSpec::Exact(Format::csc_unordered())),
        ("csr" | "csc", _) => return Err(wrong()),
        ("packed", structure) => {
            let fault = |fault| FormatError::Packing { structure: structure.to_string(), fault };
            let (named, arguments) = packing::read(structure).map_err(fault)?;
            return Ok(FormatSpec::Packed { name: named.name, arguments });
        }
        _ => {}
    }
    let sizes: Vec<u32> = sizes
        .split(',')
        .map(|size| size.trim().parse().ok().filter(|size| *size > 0).ok_or_else(wrong))
        .collect::<Result<_, _>>()?;
    match (name, sizes.as_slice()) {
        ("bcsr", &[size]) => Ok(FormatSpec::Exact(Format::bcsr(size, size)?)),
        ("bcsr", &[rows, columns]) => Ok(FormatSpec::Exact(Format::bcsr(rows, columns)?)),
        ("sell", &[rows]) => Ok(FormatSpec::Exact(Format::sell(rows)?)),
        ("sell", &[rows, window]) => Ok(FormatSpec::Exact(Format::sell_sorted(rows, window)?)),
        ("csb", &[size]) => Ok(FormatSpec::Exact(Format::csb(size)?)),
        ("hicoo", &[size]) => Ok(FormatSpec::Hicoo(size)),
        ("auto", &[uses]) => Ok(FormatSpec::Auto(uses.into())),
        ("auto" | "bcsr" | "csb" | "hicoo" | "sell", _) => Err(wrong()),
        _ => Err(FormatError::Unknown(name.to_string())),
    }
}

/// A format as written, with the text behind it: a mode order, or a map in the place of one.
fn with_modes(spec: FormatSpec, name: &str, modes: Option<&str>) -> Result<FormatSpec, FormatError> {
    let Some(modes) = modes else { return Ok(spec) };
    let term = |(place, word): (usize, &str)| {
        word.parse::<Term>().map_err(|fault| FormatError::Map(MapError::new(place, fault)))
    };
    let terms = modes.split(',').enumerate().map(term).collect::<Result<Vec<_>, _>>()?;
    let whole = |term: &Term| if let Term::Whole(d) = term { Some(*d) } else { None };
    let mode_order: Option<Vec<usize>> = terms.iter().map(whole).collect();
    match (spec, mode_order) {
        (FormatSpec::Exact(format), Some(order)) => Ok(FormatSpec::Exact(format.with_mode_order(order)?)),
        (FormatSpec::Exact(format), None) if format.map.is_none() && format.is_natural_order() => {
            Ok(FormatSpec::Exact(Format::mapped(format.levels.clone(), terms)?.with_widths_of(&format)))
        }
        (FormatSpec::Auto(_), Some(_)) => Err(FormatError::Map(MapError::new(None, MapFault::Named(name.to_string())))),
        (open, Some(order)) => {
            Format::dense(order.len()).with_mode_order(order.clone())?;
            Ok(FormatSpec::Permuted(Box::new(open), order))
        }
        (_, None) => Err(FormatError::Map(MapError::new(None, MapFault::Named(name.to_string())))),
    }
}
