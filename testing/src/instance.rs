//! A case instance, the unit that engines run: one program with one choice of formats and types, and its data.

use std::collections::BTreeMap;
use std::fmt::Write;

use lacunar_base::Diagnostic;
use lacunar_formats::{DType, Format};
use lacunar_front::Declarations;
use lacunar_notation::{Program, Role, Structure};
use lacunar_oracle::{Outcome, Question};

use crate::entries::Entries;
use crate::scalar::Scalar;
use crate::setup::Setup;
use crate::structured::structured;

/// A program, how its tensors are stored, and the values given.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Its origin: file, case and choice of formats, or a seed.
    pub id: String,
    /// The program's text.
    pub source: String,
    /// The declarations of its tensors: formats, types, sizes of all inputs.
    pub declarations: Declarations,
    /// The checked program.
    pub program: Program,
    /// Entries of each input, and of results that have values before the program runs.
    pub given: BTreeMap<String, Entries>,
    /// Results known from elsewhere (by hand, or from another system's tests).
    pub expected: BTreeMap<String, Entries>,
    /// The relative precision of these results; 0 if they are known as exactly as they can be computed.
    pub known_to: f64,
    /// The options of compiling and running it.
    pub setup: Setup,
}

impl Instance {
    /// Checks a program with its declarations and with the sizes of the given tensors declared as well.
    ///
    /// # Errors
    /// The program's diagnostics, rendered.
    pub fn new(
        id: String,
        source: String,
        mut declarations: Declarations,
        given: BTreeMap<String, Entries>,
    ) -> Result<Instance, String> {
        for (name, entries) in &given {
            declarations.dims.entry(name.clone()).or_insert_with(|| entries.dims.clone());
            declarations.dtypes.entry(name.clone()).or_insert(entries.dtype);
        }
        let mut program = check(&source, &declarations)?;
        // A result that has values before begins with them, not with the identity of its first reduction.
        for (_, tensor) in program.tensors.iter() {
            let is_open = tensor.role == Role::Result && tensor.fill.is_none() && given.contains_key(&tensor.name);
            if is_open && !declarations.fills.contains_key(&tensor.name) {
                declarations = declarations.fill(&tensor.name, lacunar_formats::Scalar::zero(tensor.dtype));
            }
        }
        program = check(&source, &declarations)?;
        let fill = |name: &str| {
            program.tensors.iter().find(|(_, tensor)| tensor.name == name).map(|(_, tensor)| tensor.fill())
        };
        let structures: BTreeMap<String, Structure> = program
            .tensors
            .iter()
            .filter_map(|(_, tensor)| Some((tensor.name.clone(), tensor.structure.as_deref()?.clone())))
            .collect();
        let given = given.into_iter().map(|(name, entries)| {
            let entries = structures.get(&name).map_or(entries.clone(), |structure| structured(&entries, structure));
            let fill = fill(&name).map_or(entries.fill, Scalar::from);
            (name, entries.with_fill(fill))
        });
        let given = given.collect();
        Ok(Instance {
            id,
            source,
            declarations,
            program,
            given,
            expected: BTreeMap::new(),
            known_to: 0.0,
            setup: Setup::default(),
        })
    }

    /// The instance as a case of the corpus, to be kept in `tests/kernels`.
    pub fn to_case_text(&self) -> String {
        let mut text = String::new();
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "[[case]]\nname = {:?}\nexpr = {:?}", self.id, self.source);
        let table = |entries: Vec<String>| entries.join(", ");
        // The compiler's own tensors and variables, which tie indices that are no variables, have no place in the text.
        let tensors = || self.program.tensors.iter().map(|(_, tensor)| tensor).filter(|t| !t.role.is_computed());
        let is_own = self.program.tensors.iter().any(|(_, tensor)| tensor.role == Role::Indicator);
        let written: Vec<&str> = self.source.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let formats = tensors().map(|t| format!("{} = {:?}", t.name, format_text(&t.format))).collect();
        let dtypes = tensors().map(|t| format!("{} = {:?}", t.name, t.dtype.name())).collect();
        let filled = self.declarations.fills.iter();
        let fills: Vec<String> =
            filled.map(|(name, fill)| format!("{name} = {}", value_text((*fill).into()))).collect();
        let vars = self.program.vars.iter().map(|(_, var)| var).filter(|var| written.contains(&var.name.as_str()));
        let sized = vars.filter_map(|var| var.size.map(|size| format!("{} = {size}", var.name)));
        let _ = writeln!(text, "formats = {{ {} }}\ndtypes = {{ {} }}", table(formats), table(dtypes));
        let _ = writeln!(text, "sizes = {{ {} }}", table(sized.collect()));
        if is_own {
            let dims = self.declarations.dims.iter().filter(|(_, dims)| !dims.is_empty());
            let dims = dims.map(|(name, dims)| format!("{name} = {dims:?}")).collect();
            let _ = writeln!(text, "dims = {{ {} }}", table(dims));
        }
        if !fills.is_empty() {
            let _ = writeln!(text, "fill = {{ {} }}", table(fills));
        }
        let structures = self.declarations.structures.iter();
        let structures: Vec<String> = structures.map(|(name, spec)| format!("{name} = \"{spec}\"")).collect();
        if !structures.is_empty() {
            let _ = writeln!(text, "structures = {{ {} }}", table(structures));
        }
        let unique: Vec<String> = self.declarations.unique.iter().map(|name| format!("\"{name}\"")).collect();
        if !unique.is_empty() {
            let _ = writeln!(text, "unique = [{}]", table(unique));
        }
        text += &self.setup.to_case_text();
        for (name, entries) in &self.given {
            let rows = entries.values.iter().map(|(coordinate, value)| {
                let mut fields: Vec<String> = coordinate.iter().map(u64::to_string).collect();
                fields.push(value_text(*value));
                format!("[{}]", fields.join(", "))
            });
            let _ = writeln!(text, "inputs.{name} = [{}]", table(rows.collect()));
        }
        text
    }

    /// The format of each tensor.
    pub fn formats(&self) -> BTreeMap<String, Format> {
        let tensors = self.program.tensors.iter().map(|(_, tensor)| tensor);
        tensors.map(|tensor| (tensor.name.clone(), tensor.format.clone())).collect()
    }

    /// The results that the oracle gives for it.
    ///
    /// # Errors
    /// It is too large to be enumerated.
    pub fn evaluated(&self) -> Result<Vec<Outcome>, String> {
        lacunar_oracle::evaluate(&self.question(&self.formats()))
    }

    /// True if it is small enough to be enumerated.
    pub fn is_small(&self) -> bool {
        lacunar_oracle::is_small(&self.question(&self.formats()))
    }

    fn question<'a>(&'a self, formats: &'a BTreeMap<String, Format>) -> Question<'a> {
        Question { source: &self.source, declarations: &self.declarations, formats, given: &self.given }
    }

    /// The names of all results.
    pub fn results(&self) -> Vec<&str> {
        let results = self.program.tensors.iter().filter(|(_, tensor)| tensor.role == Role::Result);
        results.map(|(_, tensor)| tensor.name.as_str()).collect()
    }
}

/// A format as the command line takes it; `scalar` for order 0.
pub fn format_text(format: &Format) -> String {
    match format.packing() {
        Some(_) => format.to_string(),
        None if format.order() == 0 => "scalar".to_string(),
        None => format.letters(),
    }
}

/// A value as the corpus writes it.
fn value_text(value: Scalar) -> String {
    let real = |x: f64| {
        let text = format!("{x:?}");
        text.replace("NaN", "nan")
    };
    match value {
        Scalar::Bool(value) => value.to_string(),
        Scalar::Int(value) => match i64::try_from(value) {
            Ok(value) => value.to_string(),
            Err(_) => format!("\"{value}\""),
        },
        Scalar::Real(value) => real(value),
        Scalar::Complex(value) => format!("[{}, {}]", real(value.re), real(value.im)),
    }
}

/// A checked program.
///
/// # Errors
/// The diagnostics, rendered.
pub fn check(source: &str, declarations: &Declarations) -> Result<Program, String> {
    lacunar_front::check(source, declarations).map_err(|found| render(&found, source))
}

fn render(diagnostics: &[Diagnostic], source: &str) -> String {
    diagnostics.iter().map(|diagnostic| diagnostic.render(source, "<case>", false)).collect()
}

/// Reads an element type.
///
/// # Errors
/// The text names none.
pub fn parse_dtype(text: &str) -> Result<DType, String> {
    DType::parse(text).ok_or_else(|| format!("`{text}` is not an element type"))
}
