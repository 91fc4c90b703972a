//! Formats as written: a name or the letters of levels, whose order may be left open, and the text that is read.
//!
//! ```
//! use lacunar_formats::{Format, FormatSpec};
//! let coo: FormatSpec = "coo".parse().unwrap();
//! assert_eq!(coo.order(), None);
//! assert_eq!(coo.resolve(3).unwrap(), Format::coo(3));
//! ```

use std::fmt;
use std::str::FromStr;

use super::{Format, FormatError};
use crate::kinds::NAMED;
use crate::level::Level;
use crate::map::Term;
use crate::map_error::{MapError, MapFault};
use crate::names::{self, SIZED, is_misleading};
use crate::packing::{self, Packing};
use crate::structure::Named;
use crate::width::{Widths, read_levels};

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
    /// tensor, not of a program: it is chosen when a tensor is read, packed or converted.
    Auto(u64),
}

/// The number of uses of a tensor in a format `auto`, if nothing is said: about as many products as an iterative solver takes.
pub(super) const USES: u64 = 1000;

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

    /// The number of uses that a format is to be chosen for; `None` if the format is fixed.
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
        if let Some((before, behind)) = lower.split_once('(')
            && !behind.contains(')')
        {
            return Err(FormatError::Open { format: name.to_string(), place: before.chars().count() });
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
pub(super) fn named(word: &str) -> Option<FormatSpec> {
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
        _ if named(name).is_some() => Err(wrong()),
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
