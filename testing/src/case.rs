//! Cases of the corpus: programs with choices of formats and types, and their data, as TOML.
//!
//! ```toml
//! [sets]                                        # named choices, for this file
//! matrix = ["csr", "csc", "coo"]
//!
//! [[case]]
//! name = "spmv"
//! expr = "y(i) = A(i,j) * x(j)"
//! formats = { A = "@matrix", x = ["dense", "sv"], y = "dense" }
//!                                               # `*` in a format: each kind of level besides dense, compressed and singleton;
//!                                               # `+`: those that hold any entries; `{}`: each schema of nodes
//! structures = { A = ["symmetric", "(i,j): i <= j"] }
//! unique = ["A"]                                # these are given by their unique elements alone
//! fill = { A = inf }                            # values of elements that are not stored; 0 where nothing is said
//! dtypes = { A = "f32" }                        # `f64` where nothing is said; a list is a choice
//! sizes = { i = 3, j = 4 }                      # of index variables
//! inputs.x = [[0, 1.5], [3, -2]]                # coordinates, then the value
//! inputs.A = { density = 0.5, seed = 7 }        # generated; the default is density 0.4, no stored zeros
//! inputs.B = { density = 0.5, heavy = "first" } # most of them in the first quarter of the rows
//! expected.y = [[0, 3.0]]                       # optional, where there is one choice of types
//! schedule = ["unroll(j, 2)", "split(i, s, t, 2)"]  # the planner's where nothing is said; a list is a choice
//! threads = 2
//! error = "E1210"                               # the schedule is refused with this code
//! tags = ["taco"]
//! why = "what the case is about"
//! ```
//!
//! A case stands for one instance per combination of its choices. Values are numbers, `true`, `nan`, `inf`, `[re, im]`,
//! or text for integers beyond 64 bits. Entries of a result in `inputs` are its values before the program runs.

use std::collections::BTreeMap;

use lacunar_formats::{DType, FormatSpec, IndexWidth, LevelKind};
use lacunar_front::{Declarations, structure};
use lacunar_notation::{Program, Role, Tensor};
use num_complex::Complex;
use serde::Deserialize;
use toml::Value;

use crate::data::{self, Heavy};
use crate::entries::{Entries, fitting};
use crate::instance::{Instance, check, format_text, parse_dtype};
use crate::scalar::Scalar;
use crate::setup::Setup;

/// One file of the corpus.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseFile {
    /// Named choices: `@name` stands for them.
    #[serde(default)]
    pub sets: BTreeMap<String, Vec<String>>,
    /// The cases.
    #[serde(default)]
    pub case: Vec<Case>,
}

/// A program with choices and data.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Unique in its file.
    pub name: String,
    /// The program.
    pub expr: String,
    /// The formats of tensors.
    #[serde(default)]
    pub formats: BTreeMap<String, Choice>,
    /// Types of elements.
    #[serde(default)]
    pub dtypes: BTreeMap<String, Choice>,
    /// The structures of elements: names or rules.
    #[serde(default)]
    pub structures: BTreeMap<String, Choice>,
    /// Structured tensors that are given by their unique elements alone.
    #[serde(default)]
    pub unique: Vec<String>,
    /// Fill values.
    #[serde(default)]
    pub fill: BTreeMap<String, Value>,
    /// Sizes of index variables.
    #[serde(default)]
    pub sizes: BTreeMap<String, u64>,
    /// Sizes of tensors' dimensions, where those of variables do not tell them.
    #[serde(default)]
    pub dims: BTreeMap<String, Vec<u64>>,
    /// Entries of inputs.
    #[serde(default)]
    pub inputs: BTreeMap<String, Data>,
    /// Entries of results, written by hand.
    #[serde(default)]
    pub expected: BTreeMap<String, Vec<Vec<Value>>>,
    /// The schedule; the planner's where there is none.
    pub schedule: Option<Choice>,
    /// The number of threads that run it.
    pub threads: Option<usize>,
    /// True if sums keep their order.
    #[serde(default)]
    pub strict: bool,
    /// True if loops are ordered without a search.
    #[serde(default)]
    pub plain: bool,
    /// True if results are assembled by one kernel and computed by another.
    #[serde(default)]
    pub phases: bool,
    /// Tensors with index arrays of 64 bits.
    #[serde(default)]
    pub wide: Vec<String>,
    /// The code of the error with which the schedule is refused.
    pub error: Option<String>,
    /// The subjects that it belongs to; `#tag` in the names of its tests.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Its purpose; printed if it fails.
    #[serde(default)]
    pub why: String,
}

/// One word, or several of which each gives an instance.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Choice {
    /// One word, or `@set`.
    One(String),
    /// Several.
    Many(Vec<String>),
}

/// The source of entries.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Data {
    /// Written out: coordinates, then the value.
    Entries(Vec<Vec<Value>>),
    /// Made.
    Generated(Generated),
}

/// The way to make entries.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generated {
    /// The probability that a coordinate has an entry.
    pub density: f64,
    /// The seed of the random choices; by default made from the names of case and tensor.
    pub seed: Option<u64>,
    /// The quarter of the first dimension that has most of the entries; by default they are spread evenly.
    pub heavy: Option<Heavy>,
    /// True if some of the entries are zeros.
    #[serde(default)]
    pub zeros: bool,
}

impl CaseFile {
    /// Reads a file's text.
    ///
    /// # Errors
    /// Text that TOML or the format of cases does not allow.
    pub fn parse(text: &str) -> Result<CaseFile, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// All instances of a case, in order of their choices.
    ///
    /// # Errors
    /// A program that does not check, a format that does not fit, data that make no sense.
    pub fn instances(&self, file: &str, case: &Case) -> Result<Vec<Instance>, String> {
        self.choices(file, case)?.iter().map(Chosen::instance).collect()
    }

    /// All choices of a case, in order: instances that have their ids, and are not made yet.
    ///
    /// # Errors
    /// A set that is not there, or one without words.
    pub fn choices<'a>(&self, file: &str, case: &'a Case) -> Result<Vec<Chosen<'a>>, String> {
        let mut axes = Vec::new();
        for (tensor, choice) in &case.formats {
            axes.push((Of::Format(tensor), each_kind(self.words(choice)?)));
        }
        for (tensor, choice) in &case.dtypes {
            axes.push((Of::Type(tensor), self.words(choice)?));
        }
        for (tensor, choice) in &case.structures {
            axes.push((Of::Structure(tensor), self.words(choice)?));
        }
        if let Some(choice) = &case.schedule {
            axes.push((Of::Schedule, self.words(choice)?));
        }
        let sizes: Vec<u64> = axes.iter().map(|(_, words)| words.len() as u64).collect();
        let choice = |places: Vec<u64>| {
            let picked = axes.iter().zip(places).map(|((of, words), at)| (*of, words[at as usize].clone()));
            let picked: Vec<(Of<'a>, String)> = picked.collect();
            let of_several = picked.iter().zip(&sizes).filter(|(_, size)| **size > 1);
            let named: Vec<String> = of_several.map(|((of, word), _)| format!("{}={word}", of.name())).collect();
            let named = if named.is_empty() { String::new() } else { format!("[{}]", named.join(",")) };
            Chosen { id: format!("{file}/{}{named}", case.name), case, picked }
        };
        Ok(crate::entries::coordinates(&sizes).map(choice).collect())
    }

    fn words(&self, choice: &Choice) -> Result<Vec<String>, String> {
        let words = match choice {
            Choice::One(word) => match word.strip_prefix('@') {
                Some(set) => self.sets.get(set).ok_or_else(|| format!("there is no set `{set}`"))?.clone(),
                None => vec![word.clone()],
            },
            Choice::Many(words) => words.clone(),
        };
        if words.is_empty() { Err("an empty choice stands for no instance".to_string()) } else { Ok(words) }
    }
}

/// Puts each level kind that is not plain in the place of `*`, and each of them that holds any entries in the place of
/// `+`; kinds that need a map are left out. Each schema of nodes takes the place of `{}`.
fn each_kind(words: Vec<String>) -> Vec<String> {
    let kinds: Vec<_> = LevelKind::unmapped().into_iter().map(|kind| kind.info()).collect();
    let with = |word: String| -> Vec<String> {
        if !word.contains(['*', '+']) {
            return vec![word];
        }
        let any = word.contains('*');
        let fits = kinds.iter().filter(|info| any || !info.properties.single);
        fits.map(|info| word.replace(['*', '+'], &info.letter.to_string())).collect()
    };
    let with_nodes = |word: String| -> Vec<String> {
        if !word.contains("{}") {
            return vec![word];
        }
        crate::pairs::nodes().map(|(_, text)| word.replace("{}", &text)).collect()
    };
    words.into_iter().flat_map(with).flat_map(with_nodes).collect()
}

/// The thing that is chosen.
#[derive(Clone, Copy, Debug)]
enum Of<'a> {
    /// The format of a tensor.
    Format(&'a str),
    /// The type of a tensor.
    Type(&'a str),
    /// The structure of a tensor.
    Structure(&'a str),
    /// The schedule.
    Schedule,
}

impl<'a> Of<'a> {
    /// Its name in ids.
    fn name(self) -> &'a str {
        match self {
            Of::Format(tensor) | Of::Type(tensor) | Of::Structure(tensor) => tensor,
            Of::Schedule => "schedule",
        }
    }
}

/// A case with one word for each of its choices. Checking programs and making data take the time that instances take; ids take none.
#[derive(Clone, Debug)]
pub struct Chosen<'a> {
    /// The id of its instance.
    pub id: String,
    case: &'a Case,
    picked: Vec<(Of<'a>, String)>,
}

impl Chosen<'_> {
    /// The instance.
    ///
    /// # Errors
    /// A program that does not check, a format that does not fit, data that make no sense.
    pub fn instance(&self) -> Result<Instance, String> {
        self.case.instance(self).map_err(|fault| format!("{}: {fault}", self.id))
    }
}

impl Case {
    fn instance(&self, chosen: &Chosen<'_>) -> Result<Instance, String> {
        let mut declarations = Declarations::new();
        let mut setup = self.setup();
        for (of, word) in &chosen.picked {
            match *of {
                Of::Type(tensor) => declarations = declarations.dtype(tensor, parse_dtype(word)?),
                Of::Format(tensor) => {
                    let format: FormatSpec = word.parse().map_err(|fault| format!("{tensor}: {fault}"))?;
                    declarations = declarations.format(tensor, format);
                }
                Of::Structure(tensor) => {
                    let colon = if word.starts_with('(') { "" } else { ":" };
                    let parsed = structure::parse(&format!("{tensor}{colon}{word}"));
                    let (_, structure) = parsed.map_err(|found| format!("{tensor}: {}", found.message))?;
                    declarations = declarations.structure(tensor, structure);
                }
                Of::Schedule => setup.schedule = vec![word.clone()],
            }
        }
        declarations = self.sizes.iter().fold(declarations, |all, (name, &size)| all.size(name, size));
        declarations = self.dims.iter().fold(declarations, |all, (name, dims)| all.dims(name, dims.iter().copied()));
        for (name, value) in &self.fill {
            let fill = fill(value).ok_or_else(|| format!("{value:?} is no fill value"))?;
            declarations = declarations.fill(name, fill);
        }
        declarations.unique.extend(self.unique.iter().cloned());
        let program = check(&self.expr, &declarations)?;
        for name in &self.wide {
            let tensor = program.tensors.iter().find(|(_, tensor)| tensor.name == *name);
            let (_, tensor) = tensor.ok_or_else(|| format!("the program has no `{name}`"))?;
            let format = tensor.format.clone().with_widths(IndexWidth::W64, IndexWidth::W64);
            declarations = declarations.format(name, format);
        }
        let mut given = BTreeMap::new();
        for (_, tensor) in program.tensors.iter() {
            let data = self.inputs.get(&tensor.name);
            if tensor.role == Role::Input || data.is_some() {
                let dims = dims(&program, &tensor.name)?;
                let sizes = (dims, index_size(&program, &tensor.name));
                given.insert(tensor.name.clone(), self.entries(&tensor.name, data, sizes, tensor)?);
            }
        }
        if let Some(name) = self.inputs.keys().find(|name| !given.contains_key(*name)) {
            return Err(format!("the program has no `{name}`"));
        }
        let mut expected = BTreeMap::new();
        for (name, rows) in &self.expected {
            let tensor = program.tensors.iter().find(|(_, tensor)| tensor.name == *name);
            let (_, tensor) = tensor.ok_or_else(|| format!("the program has no `{name}`"))?;
            expected.insert(name.clone(), read(rows, dims(&program, name)?, tensor.dtype)?);
        }
        Ok(Instance { expected, setup, ..Instance::new(chosen.id.clone(), self.expr.clone(), declarations, given)? })
    }

    fn setup(&self) -> Setup {
        Setup {
            schedule: Vec::new(),
            threads: self.threads,
            strict: self.strict,
            plain: self.plain,
            phases: self.phases,
            refused: self.error.clone(),
        }
    }

    /// `below`: the size of the dimension that the values are coordinates of, if they are.
    fn entries(
        &self,
        name: &str,
        data: Option<&Data>,
        (dims, below): (Vec<u64>, Option<u64>),
        tensor: &Tensor,
    ) -> Result<Entries, String> {
        let dtype = tensor.dtype;
        let default = Generated { density: 0.4, seed: None, heavy: None, zeros: false };
        let Generated { density, seed, heavy, zeros } = match data {
            Some(Data::Entries(rows)) => return read(rows, dims, dtype),
            Some(Data::Generated(generated)) => generated.clone(),
            None => default,
        };
        let seed = seed.unwrap_or_else(|| data::seed(&[&self.name, name]));
        let entries = data::entries(seed, &dims, dtype, density, zeros);
        let entries = match heavy {
            Some(heavy) => data::uneven(seed, entries, heavy),
            None => entries,
        };
        let entries = fitting(entries, &tensor.format);
        Ok(match below {
            Some(size) => data::below(seed, entries, size),
            None => entries,
        })
    }
}

/// A fill value, of whatever type it is written in.
fn fill(value: &Value) -> Option<lacunar_formats::Scalar> {
    let dtype = match value {
        Value::Boolean(_) => DType::Bool,
        Value::Integer(_) => DType::I64,
        Value::String(_) => DType::U64,
        Value::Float(_) => DType::F64,
        Value::Array(_) => DType::C128,
        Value::Datetime(_) | Value::Table(_) => return None,
    };
    Some(read_value(value, dtype)?.fill(dtype))
}

/// The size of the smallest dimension that values of a tensor are coordinates of, if they are.
pub(crate) fn index_size(program: &Program, name: &str) -> Option<u64> {
    let gathers = program
        .tensors
        .iter()
        .filter(|(_, tensor)| tensor.gathered().is_some_and(|of| program.tensors[of].name == name));
    gathers.filter_map(|(_, tensor)| tensor.dims.last().copied().flatten()).min()
}

/// The sizes of a tensor, from its own dimensions or those of the variables it is used with.
fn dims(program: &Program, name: &str) -> Result<Vec<u64>, String> {
    // Values that are indices have sizes of their own.
    let known = program.tensors.iter().find(|(_, tensor)| tensor.name == name);
    if let Some(dims) = known.and_then(|(_, tensor)| tensor.dims.iter().copied().collect::<Option<Vec<u64>>>()) {
        return Ok(dims);
    }
    let accesses = program.statements.iter().flat_map(|s| std::iter::once(&s.lhs).chain(s.rhs.accesses()));
    let of_tensor = accesses.filter(|access| program.tensors[access.tensor].name == name);
    let mut found = of_tensor.map(|access| {
        let own = program.tensors[access.tensor].dims.iter();
        let sizes = own.zip(&access.vars).map(|(size, &var)| size.or(program.vars[var].size));
        sizes.collect::<Option<Vec<u64>>>()
    });
    found.find_map(|dims| dims).ok_or_else(|| {
        let formats: Vec<String> = program.tensors.iter().map(|(_, t)| format_text(&t.format)).collect();
        format!("the sizes of `{name}` are not known (formats: {})", formats.join(" "))
    })
}

/// Entries from rows of coordinates and a value.
fn read(rows: &[Vec<Value>], dims: Vec<u64>, dtype: DType) -> Result<Entries, String> {
    let mut entries = Entries::empty(dims, dtype);
    for row in rows {
        let bad = || format!("{row:?} is not an entry of a tensor with dimensions {:?}", entries.dims);
        let (value, coordinates) = row.split_last().ok_or_else(bad)?;
        let coordinate: Option<Vec<u64>> =
            coordinates.iter().map(|c| c.as_integer().and_then(|c| u64::try_from(c).ok())).collect();
        let coordinate = coordinate.filter(|c| c.len() == entries.dims.len()).ok_or_else(bad)?;
        if coordinate.iter().zip(&entries.dims).any(|(&c, &size)| c >= size) {
            return Err(bad());
        }
        let value = read_value(value, dtype).ok_or_else(bad)?;
        if entries.values.insert(coordinate, value).is_some() {
            return Err(format!("{row:?} is there twice"));
        }
    }
    Ok(entries)
}

fn read_value(value: &Value, dtype: DType) -> Option<Scalar> {
    let real = |value: &Value| value.as_float().or(value.as_integer().map(|x| x as f64));
    let scalar = match value {
        Value::Boolean(value) => Scalar::Bool(*value),
        Value::Integer(value) => Scalar::Int(i128::from(*value)),
        Value::Float(value) => Scalar::Real(*value),
        Value::String(text) => Scalar::Int(text.parse().ok()?),
        Value::Array(parts) => match parts.as_slice() {
            [re, im] => Scalar::Complex(Complex::new(real(re)?, real(im)?)),
            _ => return None,
        },
        _ => return None,
    };
    Some(scalar.cast(dtype))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use super::*;

    const TEXT: &str = r#"
        [sets]
        matrix = ["csr", "csc", "coo"]
        [[case]]
        name = "spmv"
        expr = "y(i) = A(i,j) * x(j)"
        formats = { A = "@matrix", x = ["dense", "sv"], y = "dense" }
        sizes = { i = 3, j = 4 }
        inputs.x = [[0, 1.5], [3, -2]]
        inputs.A = [[0, 0, 2], [2, 3, nan]]
        expected.y = [[0, 3.0], [2, nan]]
        schedule = ["split(i, i0, i1, 2)", "unroll(j, 2)"]
        threads = 2
        wide = ["A"]
    "#;

    #[test]
    fn a_case_stands_for_all_its_choices() {
        let file = CaseFile::parse(TEXT).unwrap();
        let instances = file.instances("basic", &file.case[0]).unwrap();
        let ids: Vec<&str> = instances.iter().map(|instance| instance.id.as_str()).collect();
        assert_eq!(ids.len(), 12);
        assert_eq!(ids[2], "basic/spmv[A=csr,x=sv,schedule=split(i, i0, i1, 2)]");
        assert_eq!(instances[0].given["A"].dims, [3, 4]);
        assert_eq!(instances[0].given["x"].values[&vec![3]], Scalar::Real(-2.0));
    }

    #[test]
    fn an_instance_written_as_a_case_reads_back() {
        let file = CaseFile::parse(TEXT).unwrap();
        for instance in file.instances("basic", &file.case[0]).unwrap() {
            let text = instance.to_case_text();
            let again = CaseFile::parse(&text).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
            let read = again.instances("again", &again.case[0]).unwrap().remove(0);
            assert_eq!(format!("{:?}", read.given), format!("{:?}", instance.given));
            assert_eq!(read.program.to_string(), instance.program.to_string());
            assert_eq!(read.setup, instance.setup);
            let formats = |instance: &Instance| -> Vec<lacunar_formats::Format> {
                instance.program.tensors.iter().map(|(_, tensor)| tensor.format.clone()).collect()
            };
            assert_eq!(formats(&read), formats(&instance));
        }
    }

    #[test]
    fn mistakes_are_reported() {
        for (from, to, word) in [
            ("csc", "cscc", "cscc"),
            ("@matrix", "@matrices", "matrices"),
            ("[3, -2]", "[4, -2]", "entry"),
            ("inputs.x", "inputs.z", "`z`"),
            ("A(i,j) *", "A(i,j) **", "error"),
        ] {
            let file = CaseFile::parse(&TEXT.replace(from, to)).unwrap();
            let fault = file.instances("basic", &file.case[0]).unwrap_err();
            assert!(fault.contains(word), "{fault}");
        }
        assert!(CaseFile::parse(&TEXT.replace("expr", "text")).is_err());
    }
}
