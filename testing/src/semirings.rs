//! The table of semirings: each with each operation of linear algebra, over formats, types, fill values and numbers of threads.
//!
//! ```text
//! min-plus spmv csr f64 identity 2     y(i) min= A(i,j) + x(j)     A: csr, inf where nothing is stored, on two threads
//! or-and spgemm sell(2) u8 zero 1      C(i,k) or= and(A(i,j), B(j,k))
//! ```
//!
//! An operation is left out where one of the two functions is not defined on the type. Values that `any` chooses from are equal.

use std::collections::BTreeMap;

use lacunar_formats::{DType, FormatSpec};
use lacunar_front::Declarations;
use lacunar_notation::{BinaryFn, Function, Monoid};

use crate::data;
use crate::entries::Entries;
use crate::instance::Instance;
use crate::scalar::Scalar;

/// The names of the semirings, with the operations that combine and multiply.
const SEMIRINGS: [(&str, BinaryFn, BinaryFn); 12] = [
    ("plus-times", BinaryFn::Add, BinaryFn::Mul),
    ("min-plus", BinaryFn::Min, BinaryFn::Add),
    ("max-plus", BinaryFn::Max, BinaryFn::Add),
    ("min-times", BinaryFn::Min, BinaryFn::Mul),
    ("max-times", BinaryFn::Max, BinaryFn::Mul),
    ("min-max", BinaryFn::Min, BinaryFn::Max),
    ("max-min", BinaryFn::Max, BinaryFn::Min),
    ("or-and", BinaryFn::Or, BinaryFn::And),
    ("xor-and", BinaryFn::Xor, BinaryFn::And),
    ("any-times", BinaryFn::Any, BinaryFn::Mul),
    ("plus-min", BinaryFn::Add, BinaryFn::Min),
    ("times-plus", BinaryFn::Mul, BinaryFn::Add),
];

/// The operations: `{r}` is the assignment that combines, `{s}` the reduction, `{p:..}` the product of two, `{c:..}` their combination.
const OPERATIONS: [(&str, &str); 6] = [
    ("spmv", "y(i) {r} {p:A(i,j);x(j)}"),
    ("spmm", "Y(i,k) {r} {p:A(i,j);X(j,k)}"),
    ("spgemm", "C(i,k) {r} {p:A(i,j);B(j,k)}"),
    ("sddmm", "D(i,j) = {p:A(i,j);{s}(k, {p:U(i,k);V(k,j)})}"),
    ("add", "D(i,j) = {c:A(i,j);E(i,j)}"),
    ("scalar", "a {r} A(i,j)"),
];

/// The formats of the operands.
const FORMATS: [&str; 8] = ["dense", "csr", "csc", "coo", "db", "bcsr(2,2)", "sell(2)", "dh"];
/// The formats of results that are matrices, in turn.
const RESULTS: [&str; 3] = ["csr", "dense", "coo"];
const DTYPES: [DType; 5] = [DType::F64, DType::F32, DType::I32, DType::U8, DType::Bool];
const THREADS: [usize; 3] = [1, 2, 7];
/// The sizes of the variables `i`, `j` and `k`.
const SIZES: [u64; 3] = [7, 6, 5];

/// An instance of the table.
#[derive(Clone, Debug)]
pub struct Job {
    semiring: (&'static str, BinaryFn, BinaryFn),
    operation: (&'static str, &'static str),
    format: &'static str,
    result: &'static str,
    dtype: DType,
    /// True if elements that are not stored are the identity of combining, and not 0.
    fills: bool,
    threads: usize,
}

/// The whole table, without undefined combinations.
pub fn jobs() -> Vec<Job> {
    let mut jobs = Vec::new();
    for semiring in SEMIRINGS {
        for dtype in DTYPES {
            let is_defined = |function: BinaryFn| function.result_type(dtype) == Some(dtype);
            if !is_defined(semiring.1) || !is_defined(semiring.2) {
                continue;
            }
            for (operation, format) in OPERATIONS.iter().flat_map(|operation| FORMATS.map(|format| (operation, format)))
            {
                for (fills, threads) in
                    [false, true].into_iter().flat_map(|fills| THREADS.map(|threads| (fills, threads)))
                {
                    let result = RESULTS[jobs.len() % RESULTS.len()];
                    jobs.push(Job { semiring, operation: *operation, format, result, dtype, fills, threads });
                }
            }
        }
    }
    jobs
}

impl Job {
    /// The name that tells it from others.
    pub fn id(&self) -> String {
        let (semiring, operation, fill) =
            (self.semiring.0, self.operation.0, if self.fills { "identity" } else { "zero" });
        format!("{semiring} {operation} {} {} {fill} {}", self.format, self.dtype, self.threads)
    }

    /// The semiring and the operation.
    pub fn group(&self) -> String {
        format!("{}/{}", self.semiring.0, self.operation.0)
    }

    /// The program with its data.
    ///
    /// # Errors
    /// The program's diagnostics, rendered.
    pub fn instance(&self) -> Result<Instance, String> {
        let combine = Monoid::of(self.semiring.1).ok_or("no monoid")?;
        let source = written(self.operation.1, combine, self.semiring.2);
        let fill = combine.identity(self.dtype).filter(|_| self.fills);
        let (mut declarations, mut given) = (Declarations::new(), BTreeMap::new());
        for (name, vars) in accesses(&source) {
            let is_matrix = vars.len() == 2;
            let format = match name {
                'A' | 'B' | 'E' => self.format,
                'C' | 'D' if is_matrix => self.result,
                _ => "",
            };
            if !format.is_empty() {
                let spec: FormatSpec = format.parse().map_err(|fault| format!("{format}: {fault}"))?;
                declarations = declarations.format(name, spec);
            }
            if matches!(name, 'y' | 'Y' | 'C' | 'D' | 'a') {
                continue;
            }
            declarations = declarations.dtype(name, self.dtype);
            if let Some(fill) = fill.filter(|_| matches!(name, 'A' | 'B' | 'E')) {
                declarations = declarations.fill(name, fill);
            }
            let dims: Vec<u64> =
                vars.iter().map(|var| SIZES[(*var as usize).saturating_sub('i' as usize).min(2)]).collect();
            let density = if matches!(name, 'A' | 'B' | 'E') { 0.4 } else { 1.0 };
            given.insert(name.to_string(), self.entries(name, &dims, density));
        }
        let mut instance = Instance::new(format!("semirings/{}", self.id()), source, declarations, given)?;
        instance.setup.threads = Some(self.threads);
        Ok(instance)
    }

    fn entries(&self, name: char, dims: &[u64], density: f64) -> Entries {
        let seed = data::seed(&[&name.to_string(), self.dtype.name()]);
        let mut entries = data::entries(seed, dims, self.dtype, density, false);
        if self.semiring.1 == BinaryFn::Any {
            let one = if self.dtype == DType::Bool { Scalar::Bool(true) } else { Scalar::Int(1) };
            entries.values.values_mut().for_each(|value| *value = one.cast(self.dtype));
        }
        entries
    }
}

/// The tensors of a statement and their variables, each once.
fn accesses(source: &str) -> BTreeMap<char, Vec<char>> {
    let chars: Vec<char> = source.chars().collect();
    let mut found = BTreeMap::new();
    for (at, &name) in chars.iter().enumerate() {
        let alone = at == 0 || !chars[at - 1].is_alphabetic();
        if alone && name.is_alphabetic() && chars.get(at + 1) == Some(&'(') {
            let vars = chars[at + 2..].iter().take_while(|c| **c != ')').filter(|c| c.is_alphabetic());
            found.insert(name, vars.copied().collect());
        }
    }
    found
}

/// An operation of the table as a statement.
fn written(form: &str, combine: Monoid, product: BinaryFn) -> String {
    let mut text = form.replace("{r}", combine.sign()).replace("{s}", combine.name());
    // The innermost first.
    while let Some(end) = text.find('}') {
        let Some(start) = text[..end].rfind('{') else { break };
        let inside = &text[start + 1..end];
        let function = if inside.starts_with('p') { product } else { combine.function() };
        let (a, b) = inside[2..].split_once(';').unwrap_or((&inside[2..], ""));
        let applied = match function.symbol() {
            Some(symbol) => format!("({a} {symbol} {b})"),
            None => format!("{}({a}, {b})", Function::Binary(function).name()),
        };
        text.replace_range(start..=end, &applied);
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use super::*;

    #[test]
    fn the_table_is_written_out() {
        let jobs = jobs();
        let texts: Vec<String> = jobs.iter().map(|job| job.instance().unwrap().source).collect();
        for text in ["y(i) min= (A(i,j) + x(j))", "C(i,k) or= and(A(i,j), B(j,k))", "a xor= A(i,j)"] {
            assert!(texts.iter().any(|found| found == text), "{text}");
        }
        let ids: std::collections::BTreeSet<String> = jobs.iter().map(Job::id).collect();
        assert_eq!(ids.len(), jobs.len());
    }
}
