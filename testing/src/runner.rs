//! Runs instances on every engine and compares the results with the oracle and with each other.
//!
//! An [`Engine`] is one way to run a program: the interpreter, C, LLVM, with one thread or several. For every instance,
//! each engine's values and stored coordinates must be those of the oracle ([`crate::compare`]), values known from
//! elsewhere must hold, and all engines must store the same coordinates. A panic of an engine is a failure like others.
//!
//! Engines compile first, as far as the imperative IR ([`Job`]). Instances that passed before with the same IR
//! ([`Passed`]) are not run again.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use lacunar_notation::{Role, Tensor};
use lacunar_oracle::Outcome;
use lacunar_runtime::coo::Coo;

use crate::compare;
use crate::entries::{Entries, scalars};
use crate::inferred;
use crate::instance::Instance;
use crate::passed::{Digest, Passed};
use crate::scalar::Scalar;

/// The reason why an engine gave no results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The step that failed: `check`, `compile`, `run`, ...
    pub stage: String,
    /// The message.
    pub message: String,
}

/// A result as an engine stores it.
#[derive(Clone, Debug)]
pub struct Found {
    /// The stored entries, in the order they are stored in.
    pub coo: Coo,
    /// The value of all other elements.
    pub fill: Scalar,
}

/// A program that an engine has compiled as far as the imperative IR.
pub struct Job<'a> {
    /// The hash of the IR and of all else, besides the program and its data, that the engine's results depend on; where there is none,
    /// the program is run in any case.
    pub key: Option<u64>,
    /// Makes code and runs it, once or in several ways. The storage of every result is validated (positions, coordinates in
    /// range) on the way.
    #[allow(clippy::type_complexity)] // The one place of this type.
    pub run: Box<dyn FnOnce() -> Result<Vec<Results>, Failure> + 'a>,
}

/// One way to run a program.
pub trait Engine: Send + Sync {
    /// Its name in reports.
    fn name(&self) -> &str;

    /// True if this engine runs the instance; a slow engine may take a sample.
    fn takes(&self, _id: &str) -> bool {
        true
    }

    /// The code of the error with which it refuses the instance's schedule, if it does.
    fn refuses(&self, _instance: &Instance) -> Option<String> {
        None
    }

    /// Compiles an instance as far as the imperative IR.
    ///
    /// # Errors
    /// The failure that the engine reports; no program that checks should be refused.
    fn prepare<'a>(&'a self, instance: &'a Instance) -> Result<Job<'a>, Failure>;
}

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Results {
    /// The way of the run, if there are several: `, 3 threads`.
    pub how: String,
    /// Every result by name, as its stored entries in the order they are stored in.
    pub tensors: Vec<(String, Found)>,
}

/// The reference that engines are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The oracle, and the instance's expected results.
    Oracle,
    /// Only the instance's expected results: for instances that are too large to enumerate.
    Expected,
}

/// Runs an instance on every engine that takes it, unless all of it has passed before.
///
/// # Errors
/// Every difference and failure, in words.
pub fn verify(
    instance: &Instance,
    engines: &[Box<dyn Engine>],
    reference: Reference,
    passed: &Passed,
) -> Result<(), String> {
    let mut faults = Vec::new();
    if instance.setup.refused.is_some() {
        let different =
            engines.iter().map(|engine| engine.refuses(instance)).find(|code| *code != instance.setup.refused);
        faults.extend(different.map(|code| match code {
            Some(code) => format!("the schedule is refused with {code}"),
            None => "the schedule is not refused".to_string(),
        }));
        return if faults.is_empty() { Ok(()) } else { Err(report(instance, &faults)) };
    }
    let jobs = jobs(instance, engines);
    if jobs.is_empty() && !engines.is_empty() {
        return Ok(());
    }
    let mut key = key(instance, &jobs, reference);
    if key.is_some_and(|key| passed.knows(key)) {
        return Ok(());
    }
    let outcomes = match reference {
        Reference::Oracle => instance.evaluated().map_err(|fault| format!("oracle: {fault}"))?,
        Reference::Expected => Vec::new(),
    };
    for (name, expected) in &instance.expected {
        if let Some(outcome) = outcomes.iter().find(|outcome| outcome.name == *name) {
            let same = compare::values(&known(instance, name, expected, Some(outcome)), &outcome.entries.to_coo());
            faults.extend(same.err().map(|fault| format!("oracle, against the result known from elsewhere: {fault}")));
        }
    }
    faults.extend(inferred::faults(instance, &outcomes));
    let mut first: Option<(String, Results)> = None;
    for (engine, job) in jobs {
        let run = job.and_then(|job| guarded(job.run).unwrap_or_else(|message| Err(panicked(message))));
        match run {
            Err(failure) if is_beyond_memory(instance, &failure) => key = None,
            Err(failure) => faults.push(format!("{engine}: {}: {}", failure.stage, failure.message)),
            Ok(runs) => {
                for results in runs {
                    let name = format!("{engine}{}", results.how);
                    let checked = check(instance, &outcomes, &results.tensors);
                    faults.extend(checked.err().map(|fault| format!("{name}: {fault}")));
                    match &first {
                        None => first = Some((name, results)),
                        Some((other, before)) => {
                            let same = same_storage(instance, &before.tensors, &results.tensors);
                            faults.extend(same.err().map(|fault| format!("{name} and {other}: {fault}")));
                        }
                    }
                }
            }
        }
    }
    if !faults.is_empty() {
        return Err(report(instance, &faults));
    }
    key.into_iter().for_each(|key| passed.add(key));
    Ok(())
}

/// True if an instance has passed before on these engines.
pub fn has_passed(instance: &Instance, engines: &[Box<dyn Engine>], passed: &Passed) -> bool {
    let key = key(instance, &jobs(instance, engines), Reference::Oracle);
    key.is_some_and(|key| passed.knows(key))
}

/// The instance as the engines that take it have prepared it, by their names. A panic is a failure.
fn jobs<'a>(instance: &'a Instance, engines: &'a [Box<dyn Engine>]) -> Vec<(&'a str, Result<Job<'a>, Failure>)> {
    let taking = engines.iter().filter(|engine| engine.takes(&instance.id));
    let prepared = taking.map(|engine| {
        let job = guarded(|| engine.prepare(instance)).unwrap_or_else(|message| Err(panicked(message)));
        (engine.name(), job)
    });
    prepared.collect()
}

/// The hash of all that the outcome of a comparison depends on, besides the sources behind the IR; none where an engine gives none.
fn key(instance: &Instance, jobs: &[(&str, Result<Job<'_>, Failure>)], reference: Reference) -> Option<u64> {
    let mut digest = Digest::default();
    let Instance { source, declarations, given, expected, known_to, setup, .. } = instance;
    write!(digest, "{reference:?} {source:?} {declarations:?} {given:?} {expected:?} {known_to} {setup:?}").ok()?;
    for (engine, job) in jobs {
        write!(digest, " {engine} {}", job.as_ref().ok()?.key?).ok()?;
    }
    Some(digest.finish())
}

fn panicked(message: String) -> Failure {
    Failure { stage: "panic".to_string(), message }
}

/// True if an engine could not get the memory that it needs for an instance of an enormous size.
fn is_beyond_memory(instance: &Instance, failure: &Failure) -> bool {
    let endless = instance.program.vars.iter().any(|(_, var)| var.size.is_some_and(|size| size > 1 << 31));
    endless && failure.message.contains("memory")
}

pub(crate) fn report(instance: &Instance, faults: &[String]) -> String {
    let case = instance.to_case_text();
    format!("{}\n{}\nto keep it, add to tests/kernels:\n{case}", instance.id, faults.join("\n"))
}

/// The result of a function, or the message with which it panics.
pub fn guarded<T>(function: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(function)).map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        text.or(payload.downcast_ref::<&str>().copied()).unwrap_or("(no message)").to_string()
    })
}

/// Compares an engine's results with the oracle's and with those known from elsewhere.
fn check(instance: &Instance, outcomes: &[Outcome], results: &[(String, Found)]) -> Result<(), String> {
    let find = |name: &str| {
        let found = results.iter().find(|(result, _)| result == name);
        found.map(|(_, found)| found).ok_or_else(|| format!("no result `{name}`"))
    };
    let filled = reads_filling(instance);
    for outcome in outcomes {
        let Found { coo, fill } = find(&outcome.name)?;
        compare::values(outcome, coo)?;
        let tensor = instance.program.tensors.iter().find(|(_, tensor)| tensor.name == outcome.name);
        if let Some((_, tensor)) = tensor {
            let by_hand = !instance.setup.schedule.is_empty() || !instance.program.loops.is_empty();
            compare::storage(outcome, &tensor.format, coo, (filled, by_hand))?;
            let wanted = outcome.entries.fill;
            if !tensor.format.is_dense() && !compare::close(wanted, *fill, 0.0, tensor.dtype) {
                return Err(format!("`{}` should have the fill value {wanted:?} and has {fill:?}", outcome.name));
            }
        }
    }
    for (name, expected) in &instance.expected {
        let outcome = outcomes.iter().find(|outcome| outcome.name == *name);
        let expected = known(instance, name, expected, outcome);
        compare::values(&expected, &find(name)?.coo).map_err(|fault| format!("known from elsewhere: {fault}"))?;
    }
    Ok(())
}

/// A result known from elsewhere, to be compared as the oracle's own outcome is.
fn known(instance: &Instance, name: &str, expected: &Entries, outcome: Option<&Outcome>) -> Outcome {
    let fill = outcome.map_or(expected.fill, |outcome| outcome.entries.fill);
    let mut known = Outcome::known(name, expected.clone().with_fill(fill));
    known.scale = outcome.map(|outcome| outcome.scale.clone()).unwrap_or_default();
    let widened = instance.known_to / compare::tolerance(expected.dtype);
    for (at, value) in &expected.values {
        let scale = known.scale.entry(at.clone()).or_insert(0.0);
        *scale = scale.max(value.magnitude() * widened);
    }
    known
}

/// True if zeros fill up the storage of an operand: a kernel computes with them, or leaves them out where it converts the operand.
fn reads_filling(instance: &Instance) -> bool {
    let is_read = |tensor: &Tensor| tensor.role == Role::Input || tensor.format.packing().is_some();
    let mut inputs = instance.program.tensors.iter().filter(|(_, tensor)| is_read(tensor));
    inputs.any(|(_, tensor)| compare::fills_up(&tensor.format))
}

/// Compares where results are stored. Zeros that fill up are no entries. Engines may come to the sign of another zero in different ways, and
/// a conversion keeps zeros only where one is negative.
fn same_storage(instance: &Instance, a: &[(String, Found)], b: &[(String, Found)]) -> Result<(), String> {
    let filled = reads_filling(instance);
    for (name, left) in a {
        let Some((_, right)) = b.iter().find(|(other, _)| other == name) else { continue };
        let mut tensors = instance.program.tensors.iter().filter(|(_, tensor)| tensor.name == *name);
        let fills = filled || tensors.any(|(_, tensor)| compare::fills_up(&tensor.format));
        let is_moot = || if fills { nonzeros(&left.coo) == nonzeros(&right.coo) } else { differ_by_signs(left, right) };
        let are_same = left.coo.coords == right.coo.coords || is_moot();
        if !are_same {
            let [one, other] = [left, right].map(|found| places(&found.coo).collect::<BTreeSet<_>>());
            let alone: Vec<_> = one.symmetric_difference(&other).take(3).collect();
            return Err(format!("`{name}` is not stored at the same coordinates: one alone stores {alone:?}"));
        }
    }
    Ok(())
}

/// True if all that one of two results stores alone are zeros, and some zero has a sign.
fn differ_by_signs(a: &Found, b: &Found) -> bool {
    let mut has_sign = false;
    let mut adds_zeros = |one: &Found, other: &Found| {
        let stored: BTreeSet<_> = places(&other.coo).collect();
        let mut alone = scalars(&one.coo.values).into_iter().zip(places(&one.coo)).filter(|(value, place)| {
            has_sign |= matches!(value, Scalar::Real(number) if *number == 0.0 && number.is_sign_negative());
            !stored.contains(place)
        });
        alone.all(|(value, _)| value.is_zero())
    };
    adds_zeros(a, b) && adds_zeros(b, a) && has_sign
}

/// The coordinates of entries.
fn places(coo: &Coo) -> impl Iterator<Item = Vec<Option<u64>>> {
    (0..coo.len()).map(|place| coo.coords.iter().map(|column| column.get(place)).collect())
}

/// The coordinates of entries that are not zero.
fn nonzeros(coo: &Coo) -> Vec<Vec<Option<u64>>> {
    let entries = scalars(&coo.values).into_iter().zip(places(coo)).filter(|(value, _)| !value.is_zero());
    entries.map(|(_, place)| place).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use super::*;
    use crate::case::{Case, CaseFile};
    use crate::day::{all_wanted, chosen, today};
    use crate::suite::corpus;

    /// The oracle as an engine, with a fault if one is named.
    struct Echo(&'static str);

    impl Engine for Echo {
        fn name(&self) -> &str {
            "echo"
        }

        fn prepare<'a>(&'a self, instance: &'a Instance) -> Result<Job<'a>, Failure> {
            let run = || {
                let outcomes = instance.evaluated();
                let outcomes = outcomes.map_err(|message| Failure { stage: "run".into(), message })?;
                assert!(self.0 != "panic", "on purpose");
                let results = outcomes.into_iter().map(|mut outcome| {
                    let mut values = outcome.entries.values.values_mut();
                    if let (Some(value), "value") = (values.next(), self.0) {
                        *value = Scalar::Real(1e6);
                    }
                    if self.0 == "hole" {
                        outcome.entries.values.pop_first();
                    }
                    (outcome.name, Found { coo: outcome.entries.to_coo(), fill: outcome.entries.fill })
                });
                Ok(vec![Results { how: String::new(), tensors: results.collect() }])
            };
            Ok(Job { key: Some(0), run: Box::new(run) })
        }
    }

    fn verdict(fault: &'static str) -> Result<(), String> {
        let text = r#"
            [[case]]
            name = "copy"
            expr = "y(i) = x(i)"
            formats = { x = "sv", y = "sv" }
            sizes = { i = 4 }
            inputs.x = [[1, 2.0], [3, 1.0]]
        "#;
        let file = CaseFile::parse(text).unwrap();
        let instance = file.instances("test", &file.case[0]).unwrap().remove(0);
        verify(&instance, &[Box::new(Echo("")), Box::new(Echo(fault))], Reference::Oracle, &Passed::none())
    }

    #[test]
    fn the_oracle_agrees_with_the_corpus() {
        let mut faults = Vec::new();
        for (file, text) in corpus().unwrap() {
            let cases = CaseFile::parse(&text).unwrap_or_else(|fault| panic!("{file}: {fault}"));
            let of_the_day = |case: &&Case| all_wanted() || chosen(&case.name, today(), 4);
            for case in cases.case.iter().filter(of_the_day) {
                // Formats make no difference to the oracle but in blocks of zeros, and engines are compared with it elsewhere.
                for chosen in cases.choices(&file, case).unwrap().iter().take(2) {
                    let verified = chosen
                        .instance()
                        .and_then(|instance| verify(&instance, &[], Reference::Oracle, &Passed::none()));
                    faults.extend(verified.err());
                }
            }
        }
        assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n\n"));
    }

    #[test]
    fn every_fault_is_seen() {
        verdict("").unwrap();
        assert!(verdict("value").unwrap_err().contains("[1] should be Real(2.0)"));
        let hole = verdict("hole").unwrap_err();
        assert!(hole.contains("[1] should be") && hole.contains("not stored at the same"), "{hole}");
        assert!(verdict("panic").unwrap_err().contains("on purpose"));
    }
}
