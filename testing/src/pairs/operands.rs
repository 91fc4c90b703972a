//! The corpus' expressions of two operands, for pairs of operand formats and a format of the result.
//!
//! An expression is a program of one statement that reads two tensors of order 1 or more, each once. Expressions of one *kind* join
//! operands of the same orders by the same function to a result of the same order:
//!
//! ```text
//! y(i) = A(i,j) * x(j)         mul of order 2 and 1 to order 1, 1 summed
//! C(i,j) = A(i,j) + B(i,j)     add of order 2 and 2 to order 2, 0 summed
//! ```
//!
//! All pairs of operand formats times all formats of results are many; [`Kind::jobs`] gives for every kind each pair once,
//! and goes through the kind's expressions and the results' formats on the way, unless everything is wanted.

use std::collections::BTreeMap;

use lacunar_formats::DType;
use lacunar_front::Declarations;
use lacunar_notation::{AssignOp, Expr, ExprKind, Function, Program, Role, TensorId};

use super::{Named, of_order};
use crate::case::{Case, CaseFile, Chosen, Data};
use crate::data;
use crate::entries::fitting;
use crate::instance::Instance;
use crate::setup::Setup;

/// Variables have at least and at most so many values, whatever the corpus says: more than a block, and few to enumerate.
const SIZES: (u64, u64) = (4, 9);
/// The most with tensors of order 3 and more.
const SMALL: u64 = 5;

/// The formats that formats with nodes are paired with, besides each other.
const BESIDE_NODES: [&str; 4] = ["dense", "csr", "csf", "sparse"];

/// The share of coordinates that have entries, where the corpus says none.
const DENSITY: f64 = 0.4;

/// Expressions of one kind.
#[derive(Clone, Debug)]
pub struct Kind {
    /// The name of their common property.
    pub name: String,
    /// The formats of the first operand, of the second, and of the result.
    pub formats: [Vec<Named>; 3],
    expressions: Vec<Expression>,
}

/// A statement of the corpus with two operands.
#[derive(Clone, Debug)]
struct Expression {
    /// Its origin.
    id: String,
    source: String,
    /// Types of elements and sizes of variables.
    declarations: Declarations,
    /// The operands and the result.
    tensors: [String; 3],
    /// True if the result has values before the program runs.
    adds: bool,
    /// The densities of tensors, where the case says them.
    densities: BTreeMap<String, f64>,
}

/// A pair of operands, given as the numbers of their formats, and a program that reads them.
#[derive(Clone, Debug)]
pub struct Job {
    /// The numbers of the formats.
    pub pair: (usize, usize),
    expression: usize,
    result: usize,
}

/// The kinds of the corpus' expressions, by name.
///
/// # Errors
/// A file of the corpus cannot be read.
pub fn kinds(corpus: &[(String, String)]) -> Result<Vec<Kind>, String> {
    let mut kinds: BTreeMap<String, Kind> = BTreeMap::new();
    for (file, text) in corpus {
        let cases = CaseFile::parse(text).map_err(|fault| format!("{file}: {fault}"))?;
        for case in &cases.case {
            let instance = cases.choices(file, case)?.first().map(Chosen::instance).transpose()?;
            let Some(instance) = instance.filter(|instance| instance.setup == Setup::default()) else { continue };
            let Some((name, orders, expression)) = expression(case, &instance) else { continue };
            let kind = kinds.entry(name.clone()).or_insert_with(|| Kind {
                name,
                formats: orders.map(of_order),
                expressions: Vec::new(),
            });
            let known = |other: &Expression| {
                other.source == expression.source && other.declarations.dtypes == expression.declarations.dtypes
            };
            if !kind.expressions.iter().any(known) {
                kind.expressions.push(expression);
            }
        }
    }
    Ok(kinds.into_values().collect())
}

/// The kind, the orders and the expression of an instance, if it is one of two operands.
fn expression(case: &Case, instance: &Instance) -> Option<(String, [usize; 3], Expression)> {
    let program = &instance.program;
    let [statement] = program.statements.as_slice() else { return None };
    // Loops by hand are those of some formats.
    if !program.loops.is_empty() {
        return None;
    }
    let operands: Vec<_> = statement.rhs.accesses().into_iter().filter(|access| !access.vars.is_empty()).collect();
    let [first, second] = operands.as_slice() else { return None };
    let tensors = [first.tensor, second.tensor, statement.lhs.tensor];
    let input = |tensor| program.tensors[tensor].role == Role::Input;
    if first.tensor == second.tensor || !input(first.tensor) || !input(second.tensor) {
        return None;
    }
    // Patterns are not for every format, and fill values are those of a case; both have cases of their own.
    let special = |tensor: TensorId| {
        let tensor = &program.tensors[tensor];
        tensor.dtype == DType::Pattern || !tensor.fill().is_zero()
    };
    if tensors.into_iter().any(special) {
        return None;
    }
    let orders = [first.vars.len(), second.vars.len(), statement.lhs.vars.len()];
    let adds = statement.op != AssignOp::Set;
    let mut summed = statement.rhs.free_vars();
    summed.retain(|var| !statement.lhs.vars.contains(var));
    let name = format!(
        "{}{} of order {} and {} to order {}, {} summed",
        if adds { "added " } else { "" },
        joined(&statement.rhs)?,
        orders[0],
        orders[1],
        orders[2],
        summed.len()
    );
    let mut declarations = Declarations::new();
    let most = if orders.iter().any(|order| *order > 2) { SMALL } else { SIZES.1 };
    for (_, var) in program.vars.iter() {
        declarations = declarations.size(&var.name, var.size.unwrap_or(most).clamp(SIZES.0, most));
    }
    for (_, tensor) in program.tensors.iter() {
        declarations = declarations.dtype(&tensor.name, tensor.dtype);
    }
    let tensors = tensors.map(|tensor| program.tensors[tensor].name.clone());
    let source = instance.source.clone();
    let density = |(name, data): (&String, &Data)| match data {
        Data::Generated(made) => Some((name.clone(), made.density)),
        Data::Entries(_) => None,
    };
    let densities = case.inputs.iter().filter_map(density).collect();
    let id = format!("{}/{}", instance.id.split('/').next().unwrap_or_default(), case.name);
    Some((name, orders, Expression { id, source, declarations, tensors, adds, densities }))
}

/// The name of the function that joins the two operands.
fn joined(expr: &Expr) -> Option<&'static str> {
    let operands = |expr: &Expr| expr.accesses().iter().filter(|access| !access.vars.is_empty()).count();
    let below = expr.children().into_iter().find(|child| operands(child) == 2);
    match (&expr.kind, below) {
        (_, Some(below)) => joined(below),
        (ExprKind::Binary(function, ..), None) => Some(Function::Binary(*function).name()),
        _ => None,
    }
}

impl Kind {
    /// The jobs: every pair of operand formats, once with one result format or with `all` expressions and result
    /// formats. Formats with nodes are paired with each other and with a few others, unless `all` are wanted.
    pub fn jobs(&self, all: bool) -> Vec<Job> {
        let [first, second, results] = &self.formats;
        let pairs = (0..first.len()).flat_map(|row| (0..second.len()).map(move |column| (row, column)));
        let is_met = |a: &Named, b: &Named| !a.has_nodes() || b.has_nodes() || BESIDE_NODES.contains(&b.name.as_str());
        let pairs = pairs.filter(|&(row, column)| {
            all || (is_met(&first[row], &second[column]) && is_met(&second[column], &first[row]))
        });
        let mut jobs = Vec::new();
        for (k, pair) in pairs.enumerate() {
            // One further each time round, so that a format of an operand meets more than one of a result.
            let turn = (k + k / results.len()) % results.len();
            let chosen = |result: usize| all || result == turn;
            for expression in (0..self.expressions.len()).filter(|e| all || *e == k % self.expressions.len()) {
                jobs.extend((0..results.len()).filter(|r| chosen(*r)).map(|result| Job { pair, expression, result }));
            }
        }
        jobs
    }

    /// The number of expressions.
    pub fn expressions(&self) -> usize {
        self.expressions.len()
    }

    /// The instance of a job.
    ///
    /// # Errors
    /// The program does not check.
    pub fn instance(&self, job: &Job) -> Result<Instance, String> {
        let expression = &self.expressions[job.expression];
        let mut declarations = expression.declarations.clone();
        for (tensor, named) in expression.tensors.iter().zip(self.of_job(job)) {
            let text = named.text.as_str();
            let format: lacunar_formats::FormatSpec = text.parse().map_err(|fault| format!("{text}: {fault}"))?;
            declarations = declarations.format(tensor, format);
        }
        let program = crate::instance::check(&expression.source, &declarations)?;
        let given = given(&program, expression)?;
        Instance::new(self.id(job), expression.source.clone(), declarations, given)
    }

    /// The id of a job's instance.
    pub fn id(&self, job: &Job) -> String {
        let [a, b, c] = self.of_job(job).map(|named| named.name.as_str());
        format!("sweep-pairs/{}[{a},{b},{c}]", self.expressions[job.expression].id)
    }

    /// The formats of a job.
    fn of_job(&self, job: &Job) -> [&Named; 3] {
        [&self.formats[0][job.pair.0], &self.formats[1][job.pair.1], &self.formats[2][job.result]]
    }
}

/// Entries of the inputs, which depend on the expression alone, and of a result that is added to.
fn given(program: &Program, expression: &Expression) -> Result<BTreeMap<String, crate::entries::Entries>, String> {
    let statement = &program.statements[0];
    let mut given = BTreeMap::new();
    let results = std::iter::once(&statement.lhs).filter(|_| expression.adds);
    for access in statement.rhs.accesses().into_iter().chain(results) {
        let tensor = &program.tensors[access.tensor];
        let dims: Option<Vec<u64>> = access.vars.iter().map(|var| program.vars[*var].size).collect();
        let dims = dims.ok_or_else(|| format!("the sizes of `{}` are not known", tensor.name))?;
        let seed = data::seed(&[&expression.id, &tensor.name]);
        let density = if dims.is_empty() { 1.0 } else { DENSITY };
        let density = expression.densities.get(&tensor.name).copied().unwrap_or(density);
        let entries = fitting(data::entries(seed, &dims, tensor.dtype, density, false), &tensor.format);
        given.insert(tensor.name.clone(), entries);
    }
    Ok(given)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const CORPUS: &str = r#"
        [[case]]
        name = "spmv"
        expr = "y(i) = 2 * A(i,j) * x(j)"
        sizes = { i = 3, j = 20 }
        [[case]]
        name = "spmv-again"
        expr = "y(i) = 2 * A(i,j) * x(j)"
        sizes = { i = 5, j = 5 }
        [[case]]
        name = "transposed"
        expr = "y(j) = A(i,j) * x(i)"
        sizes = { i = 5, j = 5 }
        [[case]]
        name = "square"
        expr = "C(i,k) = A(i,j) * A(j,k)"
        sizes = { i = 5, j = 5, k = 5 }
    "#;

    #[test]
    fn every_pair_is_there_once_and_every_format_of_a_result_occurs() {
        let kinds = kinds(&[("test".to_string(), CORPUS.to_string())]).unwrap();
        let names: Vec<&str> = kinds.iter().map(|kind| kind.name.as_str()).collect();
        assert_eq!(names, ["mul of order 2 and 1 to order 1, 1 summed"]);
        let kind = &kinds[0];
        assert_eq!(kind.expressions(), 2);
        let [first, second, results] = &kind.formats;
        let jobs = kind.jobs(false);
        let pairs: BTreeSet<(usize, usize)> = jobs.iter().map(|job| job.pair).collect();
        assert_eq!(jobs.len(), pairs.len());
        for (row, a) in first.iter().enumerate() {
            for (column, b) in second.iter().enumerate() {
                let is_among = a.has_nodes() == b.has_nodes();
                assert!(!is_among || pairs.contains(&(row, column)), "{} and {}", a.name, b.name);
            }
        }
        assert!((0..results.len()).all(|result| jobs.iter().any(|job| job.result == result)));
        assert_eq!(kind.jobs(true).len(), 2 * first.len() * second.len() * results.len());
        let instance = kind.instance(&jobs[0]).unwrap();
        assert_eq!(instance.given["A"].dims, [4, 9]);
    }
}
