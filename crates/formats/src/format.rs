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

mod error;
mod spec;

use std::fmt;

use crate::level::{Level, LevelKind};
use crate::map::{Map, Term};
use crate::map_error::{MapError, MapFault};
use crate::names::{SIZED, is_misleading};
use crate::packing::Packing;
use crate::width::{IndexWidth, Widths};

pub use error::FormatError;
pub use spec::FormatSpec;
use spec::{USES, named};

/// The storage of a tensor of a fixed order: levels, outermost first.
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

    /// A format whose levels store the coordinates that a map computes; 32-bit index arrays. A map that stores every
    /// dimension as it is gives the format with that mode order.
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

    /// Compressed sparse rows whose columns are in any order: dense, unordered. A product of sparse matrices is cheapest to
    /// store in it.
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
    /// The format is chosen from the entries when a tensor is made of entries, read or converted.
    pub fn auto() -> FormatSpec {
        FormatSpec::Auto(USES)
    }

    /// Like [`Format::auto`], for so many uses: the fewer they are, the less a conversion may take.
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
    #[inline]
    pub fn map(&self) -> Option<&Map> {
        self.map.as_deref()
    }

    /// The format of the stored tensor: the same levels, whose dimensions are the stored ones.
    pub fn stored(&self) -> Format {
        Format { map: None, ..self.clone() }
    }

    /// The structure of which the unique elements alone are stored, if there is one.
    #[inline]
    pub fn packing(&self) -> Option<Packing> {
        self.packing
    }

    /// The format of the stored elements: the same levels, without the structure.
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
    #[inline]
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The dimension that each level stores: a stored one, in a format with a map.
    #[inline]
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
