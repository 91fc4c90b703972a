//! The text that describes the arrays of a group: read and written.
//!
//! Every format is a list of levels, outermost first, and the dimension that each stores; a level of coordinates stores as many
//! dimensions as its rank says. The formats of the specification's table have names; others are written out:
//!
//! ```text
//! CSC                  dimensions 1, 0     dense, sparse of rank 1
//! COOR                 dimensions 0, 1     sparse of rank 2
//! {"transpose": [2, 0, 1],                 dimensions 2, 0, 1
//!  "level": {"level_desc": "dense", "rank": 1,
//!   "level": {"level_desc": "sparse", "rank": 2,
//!    "level": {"level_desc": "element"}}}}
//! ```

use serde_json::{Map, Value, json};

use super::types::ValueType;
use crate::io::Symmetry;
use crate::io::error::{IoError, Place};

/// The version that is written; files of the same major version are read.
const VERSION: &str = "0.1";
/// The most dimensions of a tensor: files with more are refused.
const LARGEST_ORDER: usize = 64;

/// The storage of coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// Every coordinate of a dimension.
    Dense,
    /// Entries, each with a coordinate in this number of dimensions.
    Sparse(usize),
}

/// The formats with a name: their levels, and true if columns are outside. If a format has several names, the first is written.
const FORMATS: [(&str, &[Level], bool); 12] = [
    ("DVEC", &[Level::Dense], false),
    ("CVEC", &[Level::Sparse(1)], false),
    ("DMATR", &[Level::Dense, Level::Dense], false),
    ("DMATC", &[Level::Dense, Level::Dense], true),
    ("DMAT", &[Level::Dense, Level::Dense], false),
    ("CSR", &[Level::Dense, Level::Sparse(1)], false),
    ("CSC", &[Level::Dense, Level::Sparse(1)], true),
    ("DCSR", &[Level::Sparse(1), Level::Sparse(1)], false),
    ("DCSC", &[Level::Sparse(1), Level::Sparse(1)], true),
    ("COOR", &[Level::Sparse(2)], false),
    ("COOC", &[Level::Sparse(2)], true),
    ("COO", &[Level::Sparse(2)], false),
];

/// The structures of a matrix: its symmetry, and true if the upper triangle is stored.
const STRUCTURES: [(&str, Symmetry, bool); 7] = [
    ("general", Symmetry::General, false),
    ("symmetric_lower", Symmetry::Symmetric, false),
    ("symmetric_upper", Symmetry::Symmetric, true),
    ("hermitian_lower", Symmetry::Hermitian, false),
    ("hermitian_upper", Symmetry::Hermitian, true),
    ("skew_symmetric_lower", Symmetry::SkewSymmetric, false),
    ("skew_symmetric_upper", Symmetry::SkewSymmetric, true),
];

/// The content of the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Descriptor {
    /// The size of each dimension.
    pub(super) shape: Vec<u64>,
    /// The levels, outermost first, which store all dimensions together.
    pub(super) levels: Vec<Level>,
    /// The dimension that is stored outermost, the next one, and so on.
    pub(super) order: Vec<usize>,
    /// The number of values.
    pub(super) stored: u64,
    /// The symmetry of a matrix.
    pub(super) symmetry: Symmetry,
    /// True if the upper triangle is stored.
    pub(super) upper: bool,
    /// True if the file gives a value for the elements that are not stored.
    pub(super) fill: bool,
    /// The type of each array.
    types: Vec<(String, ValueType)>,
}

impl Descriptor {
    /// The descriptor of a tensor without symmetry; the types of its arrays are added later.
    pub(super) fn new(shape: Vec<u64>, levels: Vec<Level>, order: Vec<usize>, stored: u64) -> Descriptor {
        let (symmetry, upper, fill, types) = (Symmetry::General, false, false, Vec::new());
        Descriptor { shape, levels, order, stored, symmetry, upper, fill, types }
    }

    /// The type of an array.
    pub(super) fn type_of(&self, name: &str) -> Option<ValueType> {
        self.types.iter().find(|(known, _)| known == name).map(|(_, found)| *found)
    }

    /// Adds the type of an array.
    pub(super) fn add_type(&mut self, name: &str, found: ValueType) {
        self.types.push((name.to_string(), found));
    }

    /// Reads a text.
    pub(super) fn read(text: &[u8], place: &Place) -> Result<Descriptor, IoError> {
        let value: Value = serde_json::from_slice(text).map_err(|error| place.invalid("JSON", error.to_string()))?;
        // Some programs omit the outer braces.
        let inner = value.get("binsparse").unwrap_or(&value);
        let object = inner.as_object().ok_or_else(|| place.invalid("an object of JSON", excerpt(inner)))?;
        let keys = Keys { object, place };
        keys.version()?;
        let shape = keys.shape()?;
        let (levels, order) = keys.format(shape.len())?;
        let (symmetry, upper) = keys.structure(&shape)?;
        let fill = match object.get("fill") {
            None => false,
            Some(fill) => fill.as_bool().ok_or_else(|| keys.wrong("fill", "true or false"))?,
        };
        let stored = keys.object.get("number_of_stored_values").and_then(whole);
        let stored = stored.ok_or_else(|| keys.wrong("number_of_stored_values", "a whole number from 0"))?;
        Ok(Descriptor { shape, levels, order, stored, symmetry, upper, fill, types: keys.types()? })
    }

    /// The text.
    pub(super) fn text(&self) -> String {
        let types: Map<String, Value> =
            self.types.iter().map(|(name, found)| (name.clone(), json!(found.name()))).collect();
        let mut object = json!({
            "version": VERSION,
            "shape": self.shape,
            "number_of_stored_values": self.stored,
            "data_types": types,
        });
        let transposed = self.order == [1, 0];
        let natural = self.order.iter().enumerate().all(|(place, dimension)| place == *dimension);
        let named = FORMATS.iter().find(|(_, levels, columns)| {
            *levels == self.levels.as_slice() && (if *columns { transposed } else { natural })
        });
        match named {
            Some((name, ..)) => object["format"] = json!(name),
            None => object["custom"] = self.custom(natural),
        }
        json!({ "binsparse": object }).to_string()
    }

    /// The levels, written out.
    fn custom(&self, natural: bool) -> Value {
        let mut level = json!({ "level_desc": "element" });
        for outer in self.levels.iter().rev() {
            level = match outer {
                Level::Dense => json!({ "level_desc": "dense", "rank": 1, "level": level }),
                Level::Sparse(rank) => json!({ "level_desc": "sparse", "rank": rank, "level": level }),
            };
        }
        match natural {
            true => json!({ "level": level }),
            false => json!({ "transpose": self.order, "level": level }),
        }
    }
}

/// The entries of a text.
struct Keys<'a> {
    object: &'a Map<String, Value>,
    place: &'a Place,
}

impl Keys<'_> {
    /// The error for an entry that is missing or of another kind.
    fn wrong(&self, key: &str, expected: impl Into<String>) -> IoError {
        let found = self.object.get(key).map_or("none".to_string(), excerpt);
        self.place.within(key).invalid(expected, found)
    }

    fn version(&self) -> Result<(), IoError> {
        let expected = || format!("version {VERSION}, or another of the same first number");
        let version = self.object.get("version").and_then(Value::as_str);
        let major = version.and_then(|version| version.split_once('.')).map(|(major, _)| major);
        let known = VERSION.split_once('.').map(|(major, _)| major);
        if major.is_some() && major == known { Ok(()) } else { Err(self.wrong("version", expected())) }
    }

    fn shape(&self) -> Result<Vec<u64>, IoError> {
        let sizes = self.object.get("shape").and_then(Value::as_array);
        let sizes = sizes.filter(|sizes| sizes.len() <= LARGEST_ORDER);
        let shape: Option<Vec<u64>> = sizes.and_then(|sizes| sizes.iter().map(whole).collect());
        let expected = || format!("a list of at most {LARGEST_ORDER} sizes, from 0 to 2^63-1");
        shape.ok_or_else(|| self.wrong("shape", expected()))
    }

    /// The levels and the dimensions that they store.
    fn format(&self, dimensions: usize) -> Result<(Vec<Level>, Vec<usize>), IoError> {
        let format = self.object.get("format");
        // Levels that are written out may stand under `format`, in place of a name.
        let custom = self.object.get("custom").or(format.filter(|format| format.is_object()));
        let named = format.and_then(Value::as_str).and_then(|name| FORMATS.iter().find(|(known, ..)| *known == name));
        match (named, custom) {
            (Some((name, levels, transposed)), _) => {
                let order: Vec<usize> = if *transposed { vec![1, 0] } else { (0..ranks(levels)).collect() };
                if order.len() != dimensions {
                    let expected = format!("as many sizes as {name} has dimensions, {}", order.len());
                    return Err(self.wrong("shape", expected));
                }
                Ok((levels.to_vec(), order))
            }
            (None, Some(custom)) => {
                // Some programs put the levels under one more key `custom`.
                let place = self.place.within("custom");
                written_out(custom.get("custom").unwrap_or(custom), dimensions, &place)
            }
            (None, None) => {
                let known: Vec<&str> = FORMATS.iter().map(|(name, ..)| *name).collect();
                Err(self.wrong("format", format!("{}, or levels in `custom`", known.join(", "))))
            }
        }
    }

    /// The symmetry, and true if the upper triangle is stored.
    fn structure(&self, shape: &[u64]) -> Result<(Symmetry, bool), IoError> {
        let Some(structure) = self.object.get("structure") else { return Ok((Symmetry::General, false)) };
        let known = STRUCTURES.iter().find(|(name, ..)| structure.as_str() == Some(name));
        let Some(&(_, symmetry, upper)) = known else {
            let names: Vec<&str> = STRUCTURES.iter().map(|(name, ..)| *name).collect();
            return Err(self.wrong("structure", names.join(", ")));
        };
        match shape {
            _ if symmetry == Symmetry::General => Ok((symmetry, upper)),
            [rows, columns] if rows == columns => Ok((symmetry, upper)),
            _ => Err(self.wrong("shape", "as many rows as columns, for the structure announced")),
        }
    }

    fn types(&self) -> Result<Vec<(String, ValueType)>, IoError> {
        let types = self.object.get("data_types").and_then(Value::as_object);
        let types = types.ok_or_else(|| self.wrong("data_types", "an object with the type of each array"))?;
        types
            .iter()
            .map(|(name, found)| match found.as_str().and_then(ValueType::named) {
                Some(found) => Ok((name.clone(), found)),
                None => {
                    let expected = "a type such as float64, iso[int8] or complex[float32]";
                    Err(self.place.within("data_types").within(name).invalid(expected, excerpt(found)))
                }
            })
            .collect()
    }
}

/// The number of dimensions that levels store.
fn ranks(levels: &[Level]) -> usize {
    levels.iter().map(|level| if let Level::Sparse(rank) = level { *rank } else { 1 }).sum()
}

/// Reads levels that are written out.
fn written_out(custom: &Value, dimensions: usize, place: &Place) -> Result<(Vec<Level>, Vec<usize>), IoError> {
    let mut levels = Vec::new();
    let mut next = custom.get("level");
    loop {
        let kind = next.and_then(|level| level.get("level_desc")).and_then(Value::as_str);
        if kind == Some("element") {
            break;
        }
        let rank = next.and_then(|level| level.get("rank")).and_then(whole);
        // A level can store only the dimensions that the levels outside of it leave.
        let room = dimensions - ranks(&levels);
        let rank = rank.filter(|rank| (1..=room as u64).contains(rank)).map(|rank| rank as usize);
        match (kind, rank) {
            (Some("dense"), Some(rank)) => levels.extend(std::iter::repeat_n(Level::Dense, rank)),
            (Some("sparse"), Some(rank)) => levels.push(Level::Sparse(rank)),
            (Some("dense" | "sparse"), None) => {
                let found = next.and_then(|level| level.get("rank")).map_or("none".to_string(), excerpt);
                let expected = format!("ranks of levels that are {dimensions} together, as there are so many sizes");
                return Err(place.within("rank").invalid(expected, found));
            }
            _ => {
                let found = next.map_or("none".to_string(), excerpt);
                return Err(place.within("level").invalid("a level that is dense, sparse or element", found));
            }
        }
        next = next.and_then(|level| level.get("level"));
    }
    if ranks(&levels) != dimensions {
        let expected = format!("levels of {dimensions} dimensions, as there are so many sizes");
        return Err(place.within("level").invalid(expected, ranks(&levels).to_string()));
    }
    let Some(transpose) = custom.get("transpose") else { return Ok((levels, (0..dimensions).collect())) };
    let order: Option<Vec<usize>> = transpose
        .as_array()
        .and_then(|order| order.iter().map(|dimension| usize::try_from(whole(dimension)?).ok()).collect());
    let is_permutation =
        |order: &Vec<usize>| order.len() == dimensions && (0..dimensions).all(|dimension| order.contains(&dimension));
    match order.filter(is_permutation) {
        Some(order) => Ok((levels, order)),
        None => {
            let expected = format!("each of the {dimensions} dimensions once, counted from 0");
            Err(place.within("transpose").invalid(expected, excerpt(transpose)))
        }
    }
}

/// A whole number from 0 to 2^63-1; some programs write them as reals.
fn whole(value: &Value) -> Option<u64> {
    const EXACT: f64 = (1u64 << 53) as f64;
    let real = || value.as_f64().filter(|real| real.fract() == 0.0 && (0.0..=EXACT).contains(real));
    let number = value.as_u64().or_else(|| real().map(|real| real as u64));
    number.filter(|number| *number <= i64::MAX as u64)
}

/// The beginning of a value, for errors.
fn excerpt(value: &Value) -> String {
    crate::io::scan::quote(value.to_string().as_bytes())
}
