//! `--check`: every result is compared with the values that the program defines.
//!
//! If the iteration space is small, the dense oracle evaluates the text of the program; it shares no code with the
//! compiler, nor with the check of types. If it is not, each statement is run again on the reference interpreter, on
//! the inputs as they are or, if that would take too long, restricted to a random sample of coordinates of the result
//! ([`crate::sample`]). Then results of earlier statements are taken as they were found, after they have been compared
//! themselves. A program of other actions is left to the oracle.
//!
//! Values may differ by rounding, because sums may be taken in any order. The difference is relative to the largest
//! number that occurred on the way, which the oracle knows; or to the value that the statement has for the absolute
//! values of its inputs with `+` for `-`, which bounds all numbers on the way. A missing entry equals the fill value.

use std::collections::{BTreeMap, BTreeSet};

use lacunar::{Diagnostic, DynTensor, Kernel};
use lacunar_front::Declarations;
use lacunar_notation::Action;
use lacunar_oracle::compare::close;
use lacunar_oracle::entries::Entries;
use lacunar_oracle::scalar::Scalar;
use lacunar_oracle::{Outcome, Question, evaluate, is_small};
use serde::Serialize;

use crate::failure::Failure;
use crate::measure::value_text;
use crate::sample;

/// The most differences that are told.
const TOLD: usize = 5;
/// The largest number of entries that the oracle is given.
const ORACLE_ENTRIES: u64 = 1 << 20;
/// About how many operations, entries of inputs and of results the interpreter is given at once.
const BUDGET: f64 = 2e6;

/// The outcome of the comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The way of the comparison, in words.
    pub how: String,
    /// The number of values that were compared.
    pub compared: u64,
    /// The first differences, in words.
    pub differences: Vec<String>,
    /// The number of differences.
    pub different: u64,
    /// The largest difference of two values that count as the same, relative to the size of the numbers.
    pub largest: f64,
}

impl Verdict {
    /// The message if nothing differs.
    pub fn agreement(&self) -> String {
        let largest = match self.largest {
            0.0 => "no difference".to_string(),
            largest => format!("largest relative difference {largest:.1e}"),
        };
        format!("agrees with {}: {} values, {largest}", self.how, self.compared)
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} values differ (compared with {})", self.different, self.compared, self.how)?;
        for difference in &self.differences {
            write!(f, "\n  {difference}")?;
        }
        if self.different > self.differences.len() as u64 {
            write!(f, "\n  ...")?;
        }
        Ok(())
    }
}

/// The values of one result as they should be, each with the size of the numbers it was computed from.
#[derive(Debug)]
pub struct Expected {
    /// The result's name.
    pub name: String,
    /// The values.
    pub entries: Entries,
    /// The largest number on the way to each value, where it is known.
    pub scale: BTreeMap<Vec<u64>, f64>,
}

/// Refuses, before it runs, a program whose results cannot be checked.
///
/// # Errors
/// E1021: the program changes a tensor by what is in a file.
pub fn refuse(kernel: &Kernel) -> Result<(), Failure> {
    let program = kernel.program();
    let mut changed = None;
    Action::visit(&program.body, &mut |action| {
        if let Action::Change { tensor, file, .. } = action {
            changed = changed.or(Some((&program.tensors[*tensor].name, file)));
        }
    });
    let Some((name, file)) = changed else { return Ok(()) };
    let fault = format!("`{name}` changes by what is in {file}, which the dense oracle does not know");
    Err(Failure::plain(Diagnostic::error("E1021", fault).hint("leave `--check` away: nothing has been run or written")))
}

/// Compares the results of a run of a kernel, whose text and declarations are `written`.
///
/// # Errors
/// Memory is refused; the interpreter refuses the program, which is a fault of Lacunar.
pub fn check(
    kernel: &Kernel,
    written: (&str, &Declarations),
    given: &[(&str, &DynTensor)],
    results: &[(String, DynTensor)],
    seed: u64,
) -> Result<Verdict, Failure> {
    let mut verdict = Verdict { how: String::new(), compared: 0, differences: Vec::new(), different: 0, largest: 0.0 };
    let why = match by_oracle(kernel, written, given)? {
        Ok(outcomes) => {
            verdict.how = "the dense oracle".to_string();
            for expected in outcomes.into_iter().filter(|expected| is_told(kernel, &expected.name)) {
                if let Some((_, found)) = results.iter().find(|(name, _)| *name == expected.name) {
                    let found = entries_of(found)?;
                    compare(&expected, &found, |at| at.to_vec(), &mut verdict);
                }
            }
            return Ok(verdict);
        }
        Err(why) => why,
    };
    if !kernel.program().assigns_in_order() {
        let diagnostic = Diagnostic::error(
            "E1021",
            "a program that repeats, exchanges or reads is checked by the dense oracle alone",
        )
        .hint(match why {
            Refusal::Large => {
                "leave `--check` away, or take smaller tensors or fewer rounds: this run is too large for it"
                    .to_string()
            }
            Refusal::Said(why) => format!("leave `--check` away: {why}, which the oracle does not know"),
        });
        return Err(Failure::plain(diagnostic));
    }
    let targets: Vec<_> = kernel.program().statements.iter().map(|statement| statement.lhs.tensor).collect();
    if targets.iter().collect::<BTreeSet<_>>().len() < targets.len() {
        // A statement that adds to a result has overwritten the values that it read.
        verdict.how = "the reference interpreter".to_string();
        for (name, found) in results.iter().filter(|(name, _)| is_told(kernel, name)) {
            let expected = sample::whole(kernel, given, name)?;
            compare(&expected, &entries_of(found)?, |at| at.to_vec(), &mut verdict);
        }
        return Ok(verdict);
    }
    let mut ways = BTreeSet::new();
    let is_told = |place: &usize| is_told(kernel, &kernel.program().tensors[targets[*place]].name);
    for place in (0..targets.len()).filter(is_told) {
        let statement = sample::Statement { kernel, place, given, results };
        let work = statement.work()?;
        let comparison = statement.compare((work > BUDGET).then_some(BUDGET / work), seed)?;
        compare(&comparison.reference, &comparison.found, |at| comparison.origin(at), &mut verdict);
        ways.insert(comparison.how);
    }
    verdict.how = ways.into_iter().collect::<Vec<_>>().join("; ");
    Ok(verdict)
}

/// True for a result that the program is for, or that one of its statements reads: others only mention tensors.
fn is_told(kernel: &Kernel, name: &str) -> bool {
    let program = kernel.program();
    let mut reads = program.statements.iter().flat_map(|statement| statement.rhs.accesses());
    kernel.results().any(|result| result == name) || reads.any(|access| program.tensors[access.tensor].name == name)
}

/// The reason why the oracle does not evaluate a program.
enum Refusal {
    /// It would take too long.
    Large,
    /// Another reason, in its words.
    Said(String),
}

/// The oracle's values, if the program is one for it.
fn by_oracle(
    kernel: &Kernel,
    (source, declarations): (&str, &Declarations),
    given: &[(&str, &DynTensor)],
) -> Result<Result<Vec<Expected>, Refusal>, Failure> {
    if given.iter().map(|(_, tensor)| tensor.nnz()).sum::<u64>() > ORACLE_ENTRIES {
        return Ok(Err(Refusal::Large));
    }
    let mut entries = BTreeMap::new();
    for (name, tensor) in given {
        entries.insert((*name).to_string(), entries_of(tensor)?);
    }
    let tensors = kernel.program().tensors.iter().map(|(_, tensor)| tensor);
    let formats = tensors.map(|tensor| (tensor.name.clone(), tensor.format.clone())).collect();
    let question = Question { source, declarations, formats: &formats, given: &entries };
    if !is_small(&question) {
        return Ok(Err(Refusal::Large));
    }
    // Programs that the oracle refuses, for example because a result is too large to enumerate, are left to the
    // interpreter.
    let outcomes = match evaluate(&question) {
        Ok(outcomes) => outcomes,
        Err(why) if why.contains("too many") || why.contains("too large") => return Ok(Err(Refusal::Large)),
        Err(why) => return Ok(Err(Refusal::Said(why))),
    };
    let expected = |outcome: Outcome| Expected { name: outcome.name, entries: outcome.entries, scale: outcome.scale };
    Ok(Ok(outcomes.into_iter().map(expected).collect()))
}

/// The stored entries of a tensor.
///
/// # Errors
/// Memory is refused.
pub fn entries_of(tensor: &DynTensor) -> Result<Entries, Failure> {
    let fault = |fault: String| {
        Failure::plain(lacunar::Diagnostic::internal(format!("a tensor's entries are not well-formed: {fault}")))
    };
    // Entries that are compared by their coordinates may be in the wrong order.
    tensor.validate().map_err(|error| fault(error.to_string()))?;
    let coo = tensor.to_coo()?;
    let entries = Entries::from_coo(&coo).map(|entries| entries.with_fill(Scalar::from(tensor.fill())));
    entries.map_err(|error| fault(error.to_string()))
}

/// Compares the values of one result; `origin` gives the coordinates in the whole result, for people.
fn compare(expected: &Expected, found: &Entries, origin: impl Fn(&[u64]) -> Vec<u64>, verdict: &mut Verdict) {
    let dtype = expected.entries.dtype;
    if expected.entries.dims != found.dims || dtype != found.dtype {
        let (dims, there) = (&expected.entries.dims, &found.dims);
        verdict.different += 1;
        verdict
            .differences
            .push(format!("{}: expected sizes {dims:?} of {dtype}, found {there:?} of {}", expected.name, found.dtype));
        return;
    }
    let places: BTreeSet<&Vec<u64>> = expected.entries.values.keys().chain(found.values.keys()).collect();
    for at in places {
        verdict.compared += 1;
        let want = expected.entries.values.get(at).copied().unwrap_or(expected.entries.fill);
        let have = found.values.get(at).copied().unwrap_or(found.fill);
        let scale = expected.scale.get(at).copied().unwrap_or(0.0);
        if close(want, have, scale, dtype) {
            verdict.largest = verdict.largest.max(relative(want, have, scale));
            continue;
        }
        verdict.different += 1;
        if verdict.differences.len() < TOLD {
            let coordinates: Vec<String> = origin(at).iter().map(u64::to_string).collect();
            let access = match coordinates.as_slice() {
                [] => expected.name.clone(),
                coordinates => format!("{}({})", expected.name, coordinates.join(",")),
            };
            verdict.differences.push(format!("{access}: expected {}, found {}", value_text(want), value_text(have)));
        }
    }
}

/// The distance of two values, relative to the larger, or to the size of the numbers they were computed from.
fn relative(a: Scalar, b: Scalar, scale: f64) -> f64 {
    let (difference, size) = match (a, b) {
        (Scalar::Real(a), Scalar::Real(b)) => ((a - b).abs(), a.abs().max(b.abs())),
        (Scalar::Complex(a), Scalar::Complex(b)) => ((a - b).norm(), a.norm().max(b.norm())),
        // The others are exact.
        _ => return 0.0,
    };
    let relative = difference / size.max(scale);
    if relative.is_finite() { relative } else { 0.0 }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use lacunar::{DType, Format, Options};
    use lacunar_runtime::random::{Generator, generate};

    fn made(kind: Generator, dims: &[u64], format: &Format) -> DynTensor {
        generate(&kind, dims.to_vec(), DType::F64, format, 5).unwrap()
    }

    /// Runs and checks `y(i) = A(i,j) * x(j)` with one value of the result changed by `change`.
    fn verdict(rows: u64, change: impl Fn(&mut [f64])) -> Verdict {
        let a = made(Generator::Uniform(5), &[rows, 100], &Format::csr());
        let x = made(Generator::Rand, &[100], &Format::dense(1));
        let options = Options::new().tensor("A", &a).tensor("x", &x);
        let text = "y(i) = A(i,j) * x(j)";
        let kernel = Kernel::compile(text, &options).unwrap();
        let given = [("A", &a), ("x", &x)];
        let mut run = kernel.run_named(&given).unwrap();
        change(run.results[0].1.values_mut().into_slice().unwrap());
        check(&kernel, (text, &options.declarations), &given, &run.results, 1).unwrap()
    }

    #[test]
    fn a_wrong_value_is_found_by_the_oracle_and_by_the_interpreter() {
        for rows in [10, 300_000] {
            let right = verdict(rows, |_| ());
            assert!(right.differences.is_empty() && right.compared > 0, "{right}");
            assert!(verdict(rows, |values| values.iter_mut().for_each(|v| *v *= 1.0 + 1e-14)).differences.is_empty());
            let wrong = verdict(rows, |values| values.iter_mut().for_each(|v| *v *= 1.0 + 1e-6));
            assert_eq!((wrong.different, wrong.differences.len()), (wrong.compared, 5), "{wrong}");
        }
        let wrong = verdict(10, |values| values[7] = 1.5);
        assert_eq!(wrong.different, 1);
        assert!(wrong.differences[0].starts_with("y(7): expected ") && wrong.differences[0].ends_with("found 1.5"));
        assert!(verdict(10, |_| ()).how.contains("oracle"));
        assert!(verdict(300_000, |_| ()).how.contains("interpreter"));
    }

    #[test]
    fn differences_of_a_sample_name_the_coordinates_of_the_whole() {
        let wrong = verdict(1_000_000, |values| values[500_000..].fill(-1.0));
        assert!(wrong.how.contains("sample"), "{wrong}");
        assert!(wrong.different > 0 && wrong.different < wrong.compared);
        let first: u64 = wrong.differences[0]
            .split_once('(')
            .and_then(|(_, rest)| rest.split_once(')'))
            .map(|(number, _)| number.parse().unwrap())
            .unwrap();
        assert!(first >= 500_000, "{wrong}");
    }
}
