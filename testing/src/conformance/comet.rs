//! COMET's test suite: whole programs in its language, with the files they read and their output.
//!
//! ```text
//! IndexLabel [i] = [4];                         A(i,j), B(j,k) in the formats that are declared,
//! Tensor<double> A([i, j], {CSR});              filled or read from the case's files;
//! A[i, j] = comet_read(0);  B[j, k] = 1.7;
//! C[i, k] = A[i, j] * B[j, k];                  C(i,k) = A(i,j) * B(j,k)
//! print(C);                                     C is compared with what was printed
//! ```
//!
//! `.*`, `@(*)` and `@(+,*)` are products, `transpose(A[i,j],{j,i})` is `A(i,j)`, `SUM(..)` a sum over everything. A
//! mask (`C[i,k]<M, push>`), `first`, `second`, and `@(+)` on sparse operands (which COMET computes where all are stored)
//! are products with tensors of truth values that have the pattern in question.

use std::collections::BTreeMap;

use lacunar_formats::{DType, Format, FormatSpec, LevelKind};
use lacunar_front::Declarations;
use serde::Deserialize;
use serde_json::Value;

use crate::conformance::{ConformanceCase, Runnable, Translation};
use crate::entries::{Entries, coordinates};
use crate::instance::Instance;
use crate::runner::Reference;
use crate::scalar::Scalar;

#[derive(Deserialize)]
struct CometCase {
    id: String,
    env: BTreeMap<String, String>,
    data_files: BTreeMap<String, String>,
    program: String,
    expected: Vec<BTreeMap<String, Value>>,
}

/// COMET prints six digits.
const PRINTED_TO: f64 = 5e-6;

/// Translates all cases of the file's text.
pub fn cases(text: &str) -> Vec<ConformanceCase> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let case = |line: &str| match serde_json::from_str::<CometCase>(line) {
        Ok(case) => ConformanceCase { id: case.id.clone(), translation: translate(&case) },
        Err(error) => ConformanceCase { id: "?".to_string(), translation: Err(error.to_string()) },
    };
    lines.map(case).collect()
}

/// The reason why a program is not translated.
enum Stop {
    /// It needs something that is not built.
    Missing(String),
    /// It is not understood.
    Fault(String),
}

impl From<String> for Stop {
    fn from(fault: String) -> Stop {
        Stop::Fault(fault)
    }
}

fn translate(case: &CometCase) -> Result<Translation, String> {
    match Reader::new(case).program() {
        Ok(instance) => {
            let instance =
                Box::new(Runnable { instance, reference: Reference::Oracle, scheduled: false, unscheduled: None });
            Ok(Translation::Run(instance))
        }
        Err(Stop::Missing(what)) => Ok(Translation::Missing(what)),
        Err(Stop::Fault(fault)) => Err(fault),
    }
}

/// A declared tensor.
struct Declared {
    labels: Vec<String>,
    format: String,
}

struct Reader<'a> {
    case: &'a CometCase,
    sizes: BTreeMap<String, u64>,
    tensors: BTreeMap<String, Declared>,
    fills: BTreeMap<String, f64>,
    given: BTreeMap<String, Entries>,
    /// Tensors of truth values with the pattern of another.
    patterns: Vec<String>,
    statements: Vec<String>,
    printed: Vec<String>,
}

impl Reader<'_> {
    fn new(case: &CometCase) -> Reader<'_> {
        Reader {
            case,
            sizes: BTreeMap::new(),
            tensors: BTreeMap::new(),
            fills: BTreeMap::new(),
            given: BTreeMap::new(),
            patterns: Vec::new(),
            statements: Vec::new(),
            printed: Vec::new(),
        }
    }

    fn program(&mut self) -> Result<Instance, Stop> {
        let code: Vec<&str> = self.case.program.lines().map(|line| line.split('#').next().unwrap_or("")).collect();
        let code = code.join(" ");
        let body = code.split_once('{').map_or("", |(_, body)| body);
        let body = body.rsplit_once('}').map_or(body, |(body, _)| body);
        for statement in body.split(';').map(str::trim).filter(|statement| !statement.is_empty()) {
            self.statement(statement)?;
        }
        for (name, value) in std::mem::take(&mut self.fills) {
            let assigned =
                self.statements.iter().any(|line| line.starts_with(&format!("{name}(")) && !line.contains("+="));
            if !assigned {
                let filled = self.filled(&name, value)?;
                self.given.insert(name, filled);
            }
        }
        self.instance()
    }

    fn instance(&mut self) -> Result<Instance, Stop> {
        for name in self.printed.clone() {
            // A tensor that was only read and printed: its copy has to print the same.
            if self.given.contains_key(&name) && !self.statements.iter().any(|line| assigns(line, &name)) {
                let labels = self.tensors[&name].labels.join(",");
                self.statements.push(format!("{}({labels}) = {name}({labels})", copy(&name)));
            }
        }
        let mut declarations = Declarations::new();
        for (name, tensor) in &self.tensors {
            let spec: FormatSpec = tensor.format.parse().map_err(|fault| format!("{name}: {fault}"))?;
            let dims = self.dims(name)?;
            for name in [name.clone(), copy(name)] {
                if self.statements.iter().any(|line| mentions(line, &name)) {
                    declarations = declarations.format(&name, spec.clone()).dims(&name, dims.iter().copied());
                }
            }
        }
        for name in &self.patterns {
            let tensor = self.tensors.get(name).ok_or_else(|| format!("`{name}` is not declared"))?;
            let spec: FormatSpec = tensor.format.parse().map_err(|fault| format!("{name}: {fault}"))?;
            let mut pattern = self.given.get(name).cloned().ok_or_else(|| format!("`{name}` is not given"))?;
            pattern.dtype = DType::Bool;
            pattern.values.values_mut().for_each(|value| *value = Scalar::Bool(true));
            declarations = declarations.format(pattern_of(name), spec);
            self.given.insert(pattern_of(name), pattern);
        }
        let source = self.statements.join("\n");
        self.given.retain(|name, _| mentions(&source, name));
        let id = format!("comet/{}", self.case.id);
        let mut instance = Instance::new(id, source, declarations, self.given.clone())?;
        instance.known_to = PRINTED_TO;
        let mut blocks = self.case.expected.iter();
        for name in &self.printed {
            let result = if self.given.contains_key(name) { copy(name) } else { name.clone() };
            let expected = self.printed_entries(name, &mut blocks)?;
            instance.expected.insert(result, expected);
        }
        match blocks.next() {
            Some(block) => Err(Stop::Fault(format!("{block:?} is left over"))),
            None => Ok(instance),
        }
    }

    fn statement(&mut self, text: &str) -> Result<(), Stop> {
        if let Some(rest) = text.strip_prefix("IndexLabel") {
            let (names, sizes) = rest.split_once('=').ok_or_else(|| format!("`{text}`"))?;
            // One size for all labels; `?` comes from a file.
            if let Ok(size) = list(sizes).concat().parse() {
                self.sizes.extend(list(names).into_iter().map(|name| (name, size)));
            }
            return Ok(());
        }
        if let Some(rest) = text.strip_prefix("Tensor<double>") {
            let (name, rest) = rest.trim().split_once('(').ok_or_else(|| format!("`{text}`"))?;
            let (labels, format) = rest.split_once(']').ok_or_else(|| format!("`{text}`"))?;
            let format = format.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
            self.tensors.insert(name.trim().to_string(), Declared { labels: list(labels), format });
            return Ok(());
        }
        if let Some(rest) = text.strip_prefix("print(") {
            let name = rest.trim_end_matches(')').split('[').next().unwrap_or_default();
            self.printed.push(name.trim().to_string());
            return Ok(());
        }
        if text.contains("getTime") || text.starts_with("printElapsedTime") {
            return Err(Stop::Missing("timing from within a program".to_string()));
        }
        if let Some(rest) = text.strip_prefix("var ") {
            let (name, value) = rest.split_once('=').ok_or_else(|| format!("`{text}`"))?;
            let sum = value.trim().strip_prefix("SUM(").and_then(|rest| rest.strip_suffix(')'));
            let sum = sum.ok_or_else(|| format!("`{text}`"))?;
            let value = self.expression(sum)?;
            self.statements.push(format!("{} = {value}", name.trim()));
            return Ok(());
        }
        self.assignment(text)
    }

    fn assignment(&mut self, text: &str) -> Result<(), Stop> {
        let (lhs, rhs) = text.split_once('=').ok_or_else(|| format!("`{text}`"))?;
        let (lhs, op) = match lhs.trim().strip_suffix('+') {
            Some(lhs) => (lhs.trim(), "+="),
            None => (lhs.trim(), "="),
        };
        let rhs = rhs.trim();
        let name = lhs.split('[').next().unwrap_or_default().trim().to_string();
        if let Ok(value) = rhs.parse::<f64>() {
            self.fills.insert(name, value);
            return Ok(());
        }
        if let Some(arguments) = rhs.strip_prefix("comet_read(") {
            return self.read(&name, arguments.trim_end_matches(')'));
        }
        let (lhs, mask) = match lhs.split_once('<') {
            Some((lhs, mask)) => (lhs, mask.split([',', '>']).next()),
            None => (lhs, None),
        };
        let mut value = self.expression(rhs)?;
        if let Some(mask) = mask {
            let labels = lhs.split_once('[').map_or("", |(_, labels)| labels.trim_end_matches(']'));
            value = format!("{}({labels}) * ({value})", self.pattern(mask.trim()));
        }
        self.statements.push(format!("{} {op} {value}", parenthesized(lhs)));
        Ok(())
    }

    /// An expression in our notation.
    fn expression(&mut self, text: &str) -> Result<String, Stop> {
        let mut text = text.to_string();
        while let Some(start) = text.find("transpose(") {
            let inside = start + "transpose(".len();
            let end = text[inside..].find("},").or(text[inside..].find('}')).map(|end| inside + end);
            let access = text[inside..].find(']').map(|end| inside + end + 1);
            let (Some(access), Some(end)) = (access, end) else { return Err(Stop::Fault(text)) };
            let close = text[end..].find(')').map_or(text.len(), |close| end + close + 1);
            text = format!("{}{}{}", &text[..start], &text[inside..access], &text[close..]);
        }
        match text.split_once("@(") {
            None => Ok(parenthesized(&text.replace(".*", "*"))),
            Some((a, rest)) => {
                let (operators, b) = rest.split_once(')').ok_or_else(|| format!("`{text}`"))?;
                let (a, b) = (parenthesized(a.trim()), parenthesized(b.trim()));
                self.semiring(operators, &a, &b)
            }
        }
    }

    fn semiring(&mut self, operators: &str, a: &str, b: &str) -> Result<String, Stop> {
        let words: Vec<&str> = operators.split(',').map(str::trim).collect();
        Ok(match words.as_slice() {
            ["*"] | ["+", "*"] => format!("{a} * {b}"),
            ["+", "first"] => format!("{a} * {}", self.pattern_access(b)),
            ["+", "second"] => format!("{} * {b}", self.pattern_access(a)),
            [operator @ ("+" | "-" | "min" | "max")] => {
                let value = match *operator {
                    "min" | "max" => format!("{operator}({a}, {b})"),
                    sign => format!("({a} {sign} {b})"),
                };
                let sparse = [a, b].map(|access| self.is_sparse(access).then(|| self.pattern_access(access)));
                sparse.into_iter().flatten().fold(value, |value, pattern| format!("{pattern} * {value}"))
            }
            [reduction, ..] => return Err(Stop::Missing(format!("reductions other than sums ({reduction})"))),
            [] => return Err(Stop::Fault(operators.to_string())),
        })
    }

    fn is_sparse(&self, access: &str) -> bool {
        let name = access.split('(').next().unwrap_or_default();
        self.tensors.get(name).is_some_and(|tensor| tensor.format != "dense")
    }

    /// An access of the pattern of a tensor, for an access of the tensor.
    fn pattern_access(&mut self, access: &str) -> String {
        let (name, labels) = access.split_once('(').unwrap_or((access, ")"));
        format!("{}({labels}", self.pattern(name))
    }

    fn pattern(&mut self, name: &str) -> String {
        if !self.patterns.iter().any(|known| known == name) {
            self.patterns.push(name.to_string());
        }
        pattern_of(name)
    }

    /// Reads a file of the case: its number, and the triangle of it (0 and 1 all, 2 strictly lower, 3 lower, 4 strictly
    /// upper, 5 upper).
    fn read(&mut self, name: &str, arguments: &str) -> Result<(), Stop> {
        let mut numbers = arguments.split(',').map(|word| word.trim().parse::<u8>().unwrap_or(0));
        let (file, part) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        let path = self.case.env.get(&format!("SPARSE_FILE_NAME{file}")).ok_or_else(|| format!("no file {file}"))?;
        let text = self.case.data_files.get(path).ok_or_else(|| format!("no file `{path}`"))?;
        let mut entries = file_entries(text)?;
        entries.values.retain(|at, _| match part {
            2 => at[0] > at[1],
            3 => at[0] >= at[1],
            4 => at[0] < at[1],
            5 => at[0] <= at[1],
            _ => true,
        });
        let labels = &self.tensors.get(name).ok_or_else(|| format!("`{name}` is not declared"))?.labels;
        for (label, &size) in labels.iter().zip(&entries.dims) {
            self.sizes.insert(label.clone(), size);
        }
        self.given.insert(name.to_string(), entries);
        Ok(())
    }

    fn dims(&self, name: &str) -> Result<Vec<u64>, String> {
        if let Some(entries) = self.given.get(name) {
            return Ok(entries.dims.clone());
        }
        let tensor = self.tensors.get(name).ok_or_else(|| format!("`{name}` is not declared"))?;
        let size = |label: &String| self.sizes.get(label).copied().ok_or_else(|| format!("`{label}` has no size"));
        tensor.labels.iter().map(size).collect()
    }

    fn filled(&self, name: &str, value: f64) -> Result<Entries, String> {
        let mut entries = Entries::empty(self.dims(name)?, DType::F64);
        entries.values.extend(coordinates(&entries.dims).map(|at| (at, Scalar::Real(value))));
        Ok(entries)
    }

    /// The printed output for a tensor: its values, after the arrays of its levels if it is sparse.
    fn printed_entries<'b>(
        &self,
        name: &str,
        blocks: &mut impl Iterator<Item = &'b BTreeMap<String, Value>>,
    ) -> Result<Entries, String> {
        let mut block = || -> Result<Vec<f64>, String> {
            let block = blocks.next().ok_or_else(|| format!("nothing is printed for `{name}`"))?;
            let value = block.get("data").or(block.get("scalar")).ok_or_else(|| format!("{block:?}"))?;
            let number = |value: &Value| value.as_f64().or(value.as_str().and_then(|text| text.trim().parse().ok()));
            match value {
                Value::Array(values) => values.iter().map(number).collect::<Option<Vec<f64>>>(),
                single => number(single).map(|value| vec![value]),
            }
            .ok_or_else(|| format!("{value} is not numbers"))
        };
        let Some(tensor) = self.tensors.get(name) else {
            let mut entries = Entries::empty(Vec::new(), DType::F64);
            entries.values.insert(Vec::new(), Scalar::Real(block()?[0]));
            return Ok(entries);
        };
        let dims = self.dims(name)?;
        let mut entries = Entries::empty(dims.clone(), DType::F64);
        let format: FormatSpec = tensor.format.parse().map_err(|fault| format!("{name}: {fault}"))?;
        let format = format.resolve(dims.len()).map_err(|fault| format!("{name}: {fault}"))?;
        let found: Vec<Vec<u64>> = if format.is_dense() {
            coordinates(&dims).collect()
        } else {
            let mut arrays = Vec::new();
            for _ in 0..2 * dims.len() {
                arrays.push(block()?);
            }
            stored(&format, &arrays)
        };
        let values = block()?;
        if values.len() != found.len() {
            return Err(format!("{} values of `{name}` at {} coordinates", values.len(), found.len()));
        }
        entries.values.extend(found.into_iter().zip(values.into_iter().map(Scalar::Real)));
        Ok(entries)
    }
}

/// The coordinates that level arrays stand for, as COMET prints them: positions and coordinates of each level, a size in
/// place of the positions of a dense one.
fn stored(format: &Format, arrays: &[Vec<f64>]) -> Vec<Vec<u64>> {
    let at = |array: &Vec<f64>, place: usize| array.get(place).map_or(0, |&value| value as u64);
    let mut positions: Vec<(usize, Vec<u64>)> = vec![(0, Vec::new())];
    for (level, pair) in format.levels().iter().zip(arrays.chunks(2)) {
        let mut next = Vec::new();
        for (position, prefix) in positions {
            let children: Vec<(usize, u64)> = if level.kind == LevelKind::DENSE {
                let size = at(&pair[0], 0);
                (0..size).map(|c| (position * size as usize + c as usize, c)).collect()
            } else if level.kind == LevelKind::SINGLETON {
                vec![(position, at(&pair[1], position))]
            } else {
                let range = at(&pair[0], position) as usize..at(&pair[0], position + 1) as usize;
                range.map(|place| (place, at(&pair[1], place))).collect()
            };
            next.extend(children.into_iter().map(|(place, c)| (place, [prefix.clone(), vec![c]].concat())));
        }
        positions = next;
    }
    positions.into_iter().map(|(_, coordinate)| coordinate).collect()
}

/// The entries of a Matrix Market file (coordinates from 1), or of COMET's tensor file (a line of sizes and the number of
/// entries, coordinates from 0).
fn file_entries(text: &str) -> Result<Entries, String> {
    let base = u64::from(text.starts_with("%%MatrixMarket"));
    let mut lines = text.lines().filter(|line| !line.starts_with('%') && !line.trim().is_empty());
    let words = |line: &str| -> Vec<f64> { line.split_whitespace().filter_map(|word| word.parse().ok()).collect() };
    let mut head = words(lines.next().unwrap_or_default());
    head.pop();
    let mut entries = Entries::empty(head.iter().map(|&size| size as u64).collect(), DType::F64);
    for line in lines {
        let mut row = words(line);
        let value = row.pop().ok_or_else(|| format!("`{line}`"))?;
        let coordinate: Option<Vec<u64>> = row.iter().map(|&c| (c as u64).checked_sub(base)).collect();
        let coordinate = coordinate.filter(|c| c.len() == entries.dims.len()).ok_or_else(|| format!("`{line}`"))?;
        entries.values.insert(coordinate, Scalar::Real(value));
    }
    Ok(entries)
}

fn list(text: &str) -> Vec<String> {
    let inner = text.trim().trim_matches(|c: char| "()[]{}".contains(c));
    inner.split(',').map(|word| word.trim().trim_matches(|c: char| "[]".contains(c)).to_string()).collect()
}

/// The text with parentheses for brackets.
fn parenthesized(text: &str) -> String {
    text.replace('[', "(").replace(']', ")").trim().to_string()
}

fn copy(name: &str) -> String {
    format!("{name}_printed")
}

fn pattern_of(name: &str) -> String {
    format!("{name}_pattern")
}

fn assigns(line: &str, name: &str) -> bool {
    line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['(', ' ']))
}

/// True if a name occurs in a text as a whole word.
fn mentions(text: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use super::*;

    const PROGRAM: &str = "def main() {\n IndexLabel [i] = [?]; IndexLabel [j] = [?];\n\
        Tensor<double> A([i, j], {CSR}); # sparse\n Tensor<double> x([j], {Dense}); Tensor<double> y([i], Dense);\n\
        A[i, j] = comet_read(0); x[j] = 2.0; y[i] = 0.0;\n y[i] = A[i, j] * x[j]; print(y); }";

    fn case(program: &str, expected: &str) -> ConformanceCase {
        let program = serde_json::to_string(program).unwrap();
        let line = format!(
            r#"{{"id": "t", "env": {{"SPARSE_FILE_NAME0": "a"}}, "data_files": {{"a": "%%MatrixMarket\n2 3 2\n1 1 5.0\n2 3 7.0\n"}},
            "program": {program}, "expected": {expected}}}"#
        );
        cases(&line.replace('\n', " ")).remove(0)
    }

    #[test]
    fn a_program_becomes_statements_with_data() {
        let case = case(PROGRAM, r#"[{"data": [10.0, 14.0]}]"#);
        let Translation::Run(runnable) = case.translation.unwrap() else { panic!("missing") };
        assert_eq!(runnable.instance.source, "y(i) = A(i, j) * x(j)");
        crate::runner::verify(&runnable.instance, &[], Reference::Oracle, &crate::passed::Passed::none()).unwrap();
    }

    #[test]
    fn level_arrays_are_decoded() {
        let program = PROGRAM.replace("y[i] = A[i, j] * x[j]; print(y)", "print(A)");
        let printed =
            r#"[{"data":[2.0]},{"data":[-1.0]},{"data":[0.0,1.0,2.0]},{"data":[0.0,2.0]},{"data":[5.0,7.0]}]"#;
        let case = case(&program, printed);
        let Translation::Run(runnable) = case.translation.unwrap() else { panic!("missing") };
        assert_eq!(runnable.instance.source, "A_printed(i,j) = A(i,j)");
        assert_eq!(runnable.instance.expected["A_printed"].values, runnable.instance.given["A"].values);
    }

    #[test]
    fn what_is_missing_has_a_name() {
        let case = case(&PROGRAM.replace("A[i, j] * x[j]", "A[i, j] @(min,*) x[j]"), "[]");
        assert!(matches!(case.translation, Ok(Translation::Missing(what)) if what.contains("min")));
    }
}
