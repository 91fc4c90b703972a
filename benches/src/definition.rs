//! The kernels and programs that are measured: one file of `definitions/` a kernel, and one of `programs/` a program or a
//! statement with other indices than variables.
//!
//! ```toml
//! name = "spmv"
//! expression = "y(i) = A(i,j) * x(j)"
//! work = { per = "entry", flops = 2 }    # how many operations it takes, by its definition
//! largest_input = 250_000_000            # more entries than others are measured with
//! # Inputs that are not for the kernel:
//! largest_result = 1_000_000             # a dense result of more values
//! largest_square = 1_000_000             # no square matrix, or more products in its square
//! largest_fill = 3.0                     # in blocks, along diagonals: more stored values for each entry, zeros included
//! whole_blocks = true                    # a size that is no multiple of the result's blocks
//! floor = ["spmv:one", "spmv:four"]      # the variants of `floor/`, kernels written by hand
//! # Ours in other formats, measured as `lacunar:sliced` and compared with engines of this class. Operands are converted
//! # beforehand.
//! ours = [{ name = "sliced", class = "inspected", formats = { A = "sell(8,64)" } }]
//!
//! [tensors.y]                # the result: a tensor that comes from nowhere
//! format = "d"               # as `-f` takes it: level letters, `csr`, `bcsr(3,3)`
//! [tensors.A]
//! format = "ds"
//! from = "file"              # the input; inputs of another order are left out
//! [tensors.x]
//! format = "d"
//! from = "random"            # numbers in [0, 1)
//! dims = ["A.1"]             # a number, or the size of another tensor's dimension
//!
//! [peers]                    # what the kernel is called in the programs of `peers/`, in one or more variants
//! mkl = ["spmv", "spmv:inspected"]
//!
//! # Of programs:
//! program = "bfs.lac"        # instead of `expression`: a file of `examples/`, with its flags but those that are about its own inputs
//! flags = "-f C:csr -t p:i64 --fill A:inf"       # further ones
//! only = ["email-Enron"]     # the inputs that it is for, if not all
//! fresh = true               # every run makes its result anew, a dense one too; so do programs
//!
//! [taco]                     # how the command taco is used; absent where it can't do it
//! schedule = ["split(i,i0,i1,16)", "parallelize(i0,CPUThread,NoRaces)"]     # its best published one, if any
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use lacunar::{Format, FormatSpec};
use serde::Deserialize;

use crate::class::Class;
use crate::program;
use crate::record::OURS;

/// The folder of kernels, below that of this crate.
pub const KERNELS: &str = "definitions";
/// The folder of programs.
pub const PROGRAMS: &str = "programs";

/// A kernel to be measured.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// The computation, in index notation. `{A.1}` stands for the size of dimension 1 of the operand `A`.
    #[serde(default)]
    pub expression: String,
    /// The file of `examples/` that has the computation, if it is there.
    pub program: Option<String>,
    /// Formats, types and fill values, as the command takes them.
    #[serde(default)]
    pub flags: String,
    /// The inputs that it is for; none says all.
    #[serde(default)]
    pub only: Vec<String>,
    /// True if each run makes a dense result anew.
    #[serde(default)]
    pub fresh: bool,
    /// The number of operations it takes.
    pub work: Work,
    /// Leave out inputs of more entries than this, instead of the number for all kernels.
    pub largest_input: Option<u64>,
    /// Leave out results of more values than this, where the result is dense.
    pub largest_result: Option<u64>,
    /// Leave out matrices that are not square, or whose square takes more products than this.
    pub largest_square: Option<u64>,
    /// Leave out inputs of which the result, in a format with a map, stores more values than so many for each entry.
    pub largest_fill: Option<f64>,
    /// True if inputs are left out whose sizes are not multiples of the sizes of the result's blocks.
    #[serde(default)]
    pub whole_blocks: bool,
    /// True if matrices that are not symmetric are left out.
    #[serde(default)]
    pub symmetric: bool,
    /// The variants of the kernel that a peer's program has, by peer.
    #[serde(default)]
    pub peers: BTreeMap<String, Vec<String>>,
    /// The variants of the kernel that are written by hand.
    #[serde(default)]
    pub floor: Vec<String>,
    /// Our variants in other formats.
    #[serde(default)]
    pub ours: Vec<Ours>,
    /// The use of taco.
    pub taco: Option<Taco>,
    /// The tensors by name.
    pub tensors: BTreeMap<String, TensorDefinition>,
}

/// A variant of ours: the kernel with tensors in other formats.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ours {
    /// Its name.
    pub name: String,
    /// The engines that it is compared with.
    pub class: Class,
    /// The formats of tensors that differ.
    #[serde(default)]
    pub formats: BTreeMap<String, String>,
    /// The structures of tensors of which the unique elements alone are given.
    #[serde(default)]
    pub structures: BTreeMap<String, String>,
}

impl Ours {
    /// The name of the engine: `lacunar:sliced`.
    pub fn engine(&self) -> String {
        format!("{OURS}:{}", self.name)
    }
}

/// The number of operations of a kernel by its definition, whatever an engine saves or wastes.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// The things that are counted.
    pub per: Per,
    /// Operations for each.
    pub flops: u64,
}

/// The things by which a kernel's operations are counted.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    /// Stored values of the first tensor.
    Entry,
    /// Stored values of all operands together.
    Operand,
    /// Products of two entries in the square of the first tensor.
    Product,
}

/// The use of the command taco.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taco {
    /// The kernel in other words than `expression`, of the same tensors.
    pub expression: Option<String>,
    /// Further options.
    #[serde(default)]
    pub options: Vec<String>,
    /// Scheduling commands; the kernel is measured with and without them.
    #[serde(default)]
    pub schedule: Vec<String>,
    /// True if `assemble` and then `compute` are called, not `evaluate`, where the result is assembled.
    #[serde(default)]
    pub phases: bool,
}

/// A tensor of a kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TensorDefinition {
    /// Level letters, with an order of the modes if it is not that of the dimensions, or a name: `ds:1,0`, `bcsr(3,3)`.
    pub format: String,
    /// Its origin; the result has none.
    pub from: Option<Origin>,
    /// Its sizes, where it is random.
    #[serde(default)]
    pub dims: Vec<Size>,
    /// The distance by which the entries are moved, if they are.
    #[serde(default = "one")]
    pub by: u64,
    /// The value at the start, where it is one; indices are below it.
    pub value: Option<f64>,
}

fn one() -> u64 {
    1
}

/// The origin of an input.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The file at hand.
    File,
    /// The file at hand, its entries moved along the last dimension (those that leave at the end come in at the start).
    Shifted,
    /// The graph of the file at hand: a 1 below the diagonal for each pair of rows that an entry connects.
    Lower,
    /// The graph of the file at hand: a 1 for each entry.
    Graph,
    /// The same in both directions, without links of a node to itself.
    Undirected,
    /// The same, with the file's values as lengths where they are positive and not all alike, and else made-up ones from 1 to 255.
    Lengths,
    /// A value at one place: the row of the first operand that has the most entries.
    Start,
    /// Made up: whole numbers from 0 to less than `value`.
    Indices,
    /// Made up, dense.
    Random,
}

impl Origin {
    /// True of tensors that are made of the file at hand.
    pub fn is_of_file(self) -> bool {
        !matches!(self, Origin::Random | Origin::Indices | Origin::Start)
    }

    /// True of those that are made of square matrices only.
    pub fn is_graph(self) -> bool {
        matches!(self, Origin::Lower | Origin::Graph | Origin::Undirected | Origin::Lengths)
    }
}

/// A size of a random tensor.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Size {
    /// A number.
    Number(u64),
    /// `A.1`: the size of dimension 1 of tensor `A`.
    Of(String),
}

impl Definition {
    /// Reads a folder of definitions, in order of their names.
    pub fn read_all(folder: &str) -> Result<Vec<Definition>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let mut definitions = Vec::new();
        for entry in fs::read_dir(&folder).with_context(|| format!("{} can't be read", folder.display()))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                let text = fs::read_to_string(&path)?;
                let mut definition: Definition =
                    toml::from_str(&text).with_context(|| format!("{} is no definition", path.display()))?;
                if let Some(file) = &definition.program {
                    let (text, flags) = program::read(file)?;
                    definition.flags = format!("{flags} {}", definition.flags);
                    (definition.expression, definition.fresh) = (text, true);
                }
                ensure!(definition.results().count() == 1, "{} needs one tensor without `from`", path.display());
                definitions.push(definition);
            }
        }
        definitions.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(definitions)
    }

    fn results(&self) -> impl Iterator<Item = &str> {
        self.tensors.iter().filter(|(_, tensor)| tensor.from.is_none()).map(|(name, _)| name.as_str())
    }

    /// The name of the result.
    pub fn result(&self) -> &str {
        self.results().next().unwrap_or_default()
    }

    /// The names of the inputs, in order of their first occurrence in the expression.
    pub fn inputs(&self) -> Vec<&str> {
        self.inputs_of(&self.expression)
    }

    /// The names of the inputs, in order of their first occurrence in an expression.
    pub fn inputs_of(&self, expression: &str) -> Vec<&str> {
        let words = expression.split(|c: char| !c.is_alphanumeric() && c != '_');
        let mut inputs = Vec::new();
        for word in words {
            if let Some((name, tensor)) = self.tensors.get_key_value(word)
                && tensor.from.is_some()
                && !inputs.contains(&name.as_str())
            {
                inputs.push(name.as_str());
            }
        }
        inputs
    }

    /// The index variables of the first access to a tensor; none of a scalar.
    pub fn variables(&self, name: &str) -> Vec<&str> {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let after = |(at, _): (usize, &str)| {
            let whole = !self.expression[..at].ends_with(is_word);
            self.expression[at + name.len()..].strip_prefix('(').filter(|_| whole)
        };
        let inside = self.expression.match_indices(name).find_map(after).and_then(|rest| rest.split_once(')'));
        inside.map(|(inside, _)| inside.split(',').map(str::trim).collect()).unwrap_or_default()
    }

    /// The format of a tensor.
    pub fn format(&self, name: &str) -> Result<Format> {
        let tensor = self.tensors.get(name).with_context(|| format!("there is no tensor `{name}`"))?;
        self.format_of(name, &tensor.format)
    }

    /// A format, as text, of a tensor.
    pub fn format_of(&self, name: &str, format: &str) -> Result<Format> {
        Ok(format.parse::<FormatSpec>()?.resolve(self.variables(name).len())?)
    }

    /// True if it is for an input of this name.
    pub fn is_for(&self, input: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == input)
    }

    /// The order of the tensors that come from the file; 0 if none does.
    pub fn file_order(&self) -> usize {
        let of_file = self.tensors.iter().filter(|(_, tensor)| tensor.from.is_some_and(Origin::is_of_file));
        of_file.map(|(name, _)| self.variables(name).len()).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_name_their_tensors() {
        let read = |folder| Definition::read_all(folder).expect("the definitions are well-formed");
        let (mut definitions, programs) = (read(KERNELS), read(PROGRAMS));
        assert!(definitions.iter().any(|definition| definition.name == "spmv"));
        assert!(definitions.iter().all(|definition| definition.file_order() > 0));
        assert!(programs.iter().any(|definition| definition.name == "bfs"));
        definitions.extend(programs);
        for definition in &definitions {
            assert_eq!(definition.inputs().len() + 1, definition.tensors.len(), "{}", definition.name);
            for name in definition.tensors.keys() {
                definition.format(name).unwrap_or_else(|error| panic!("{} {name}: {error}", definition.name));
            }
            for (name, structure) in definition.ours.iter().flat_map(|ours| &ours.structures) {
                let order = definition.variables(name).len();
                let found =
                    lacunar::inside::front::structure::parse(&format!("{name}:{structure}")).unwrap().1.resolve(order);
                assert!(found.is_ok(), "{} {name}: {found:?}", definition.name);
            }
            for (name, format) in definition.ours.iter().flat_map(|ours| &ours.formats) {
                assert!(definition.tensors.contains_key(name), "{}: `{name}` is no tensor", definition.name);
                let is_chosen = format.parse::<FormatSpec>().is_ok_and(|format| format.uses().is_some());
                let found = definition.format_of(name, format);
                assert!(is_chosen || found.is_ok(), "{} {name}: {found:?}", definition.name);
            }
            let other = definition.taco.as_ref().and_then(|taco| taco.expression.as_deref());
            assert!(other.is_none_or(|other| definition.inputs_of(other).len() == definition.inputs().len()));
        }
    }

    #[test]
    fn variables_are_those_of_whole_names() {
        let text =
            "name = 'a'\nexpression = 'a = BA(i) * A(k, j, l)'\nwork = { per = 'entry', flops = 1 }\n[tensors]\n";
        let definition: Definition = toml::from_str(text).expect("well-formed");
        assert_eq!(definition.variables("A"), ["k", "j", "l"]);
        assert_eq!(definition.variables("BA"), ["i"]);
        assert!(definition.variables("a").is_empty());
    }
}
