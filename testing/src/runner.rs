//! Runs instances on every engine and compares the results with the oracle and with each other.
//!
//! An [`Engine`] is one way to run a program: the interpreter, C, LLVM, with one thread or several. For every instance,
//! each engine's values and stored coordinates must be what the oracle says ([`crate::compare`]), values known from
//! elsewhere must hold, and all engines must store the same coordinates. A panic of an engine is a failure like others.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;

use fastrand::Rng;
use lacunar_notation::Role;
use lacunar_oracle::Outcome;
use lacunar_runtime::coo::Coo;
use libtest_mimic::{Arguments, Failed, Trial};

use crate::case::CaseFile;
use crate::compare;
use crate::data;
use crate::entries::Entries;
use crate::generate::generate;
use crate::instance::Instance;
use crate::scalar::Scalar;
use crate::schedules::schedule;
use crate::setup::Setup;
use crate::shrink::{shrink, shrink_schedule};
use crate::sketch::Sketch;
use crate::tally::Tally;

/// Why an engine gave no results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What it was doing: `check`, `compile`, `run`, ...
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

/// One way to run a program.
pub trait Engine: Send + Sync {
    /// Its name in reports.
    fn name(&self) -> &str;

    /// Whether the instance is one for this engine; a slow engine may take a sample.
    fn takes(&self, _instance: &Instance) -> bool {
        true
    }

    /// The code of the error with which it refuses the instance's schedule, if it does.
    fn refuses(&self, _instance: &Instance) -> Option<String> {
        None
    }

    /// Runs an instance, once or in several ways. The storage of every result has been validated (positions, coordinates in
    /// range) on the way.
    ///
    /// # Errors
    /// What the engine reports; no program that checks should be refused.
    fn run(&self, instance: &Instance) -> Result<Vec<Results>, Failure>;
}

/// What a run gave.
#[derive(Clone, Debug)]
pub struct Results {
    /// How it was run, if in several ways: `, 3 threads`.
    pub how: String,
    /// Every result by name, as its stored entries in the order they are stored in.
    pub tensors: Vec<(String, Found)>,
}

/// What the engines are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The oracle, and the instance's expected results.
    Oracle,
    /// Only the instance's expected results: for instances that are too large to enumerate.
    Expected,
}

/// Runs an instance on every engine.
///
/// # Errors
/// Every difference and failure, in words.
pub fn verify(instance: &Instance, engines: &[Box<dyn Engine>], reference: Reference) -> Result<(), String> {
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
    let mut first: Option<(String, Results)> = None;
    for engine in engines.iter().filter(|engine| engine.takes(instance)) {
        match run(engine.as_ref(), instance) {
            Err(failure) if is_beyond_memory(instance, &failure) => {}
            Err(failure) => faults.push(format!("{}: {}: {}", engine.name(), failure.stage, failure.message)),
            Ok(runs) => {
                for results in runs {
                    let name = format!("{}{}", engine.name(), results.how);
                    let checked = check(instance, &outcomes, &results.tensors);
                    faults.extend(checked.err().map(|fault| format!("{name}: {fault}")));
                    match &first {
                        None => first = Some((name, results)),
                        Some((other, before)) => {
                            let same = same_storage(&before.tensors, &results.tensors);
                            faults.extend(same.err().map(|fault| format!("{name} and {other}: {fault}")));
                        }
                    }
                }
            }
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(report(instance, &faults)) }
}

/// Whether an engine could not have the memory that it needs for an instance of a size without end.
fn is_beyond_memory(instance: &Instance, failure: &Failure) -> bool {
    let endless = instance.program.vars.iter().any(|(_, var)| var.size.is_some_and(|size| size > 1 << 31));
    endless && failure.message.contains("memory")
}

fn report(instance: &Instance, faults: &[String]) -> String {
    let case = instance.to_case_text();
    format!("{}\n{}\nto keep it, add to tests/kernels:\n{case}", instance.id, faults.join("\n"))
}

/// Runs an instance on an engine; a panic is a failure.
fn run(engine: &dyn Engine, instance: &Instance) -> Result<Vec<Results>, Failure> {
    guarded(|| engine.run(instance)).unwrap_or_else(|message| Err(Failure { stage: "panic".to_string(), message }))
}

/// What a function gives, or the message with which it panics.
pub(crate) fn guarded<T>(function: impl FnOnce() -> T) -> Result<T, String> {
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
    let mut inputs = instance.program.tensors.iter().filter(|(_, tensor)| tensor.role == Role::Input);
    let filled = inputs.any(|(_, tensor)| compare::fills_up(&tensor.format));
    for outcome in outcomes {
        let Found { coo, fill } = find(&outcome.name)?;
        compare::values(outcome, coo)?;
        let tensor = instance.program.tensors.iter().find(|(_, tensor)| tensor.name == outcome.name);
        if let Some((_, tensor)) = tensor {
            compare::storage(outcome, &tensor.format, coo, (filled, !instance.setup.schedule.is_empty()))?;
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

fn same_storage(a: &[(String, Found)], b: &[(String, Found)]) -> Result<(), String> {
    for (name, left) in a {
        let right = b.iter().find(|(other, _)| other == name).map(|(_, found)| found);
        if right.is_some_and(|right| right.coo.coords != left.coo.coords) {
            return Err(format!("`{name}` is not stored at the same coordinates"));
        }
    }
    Ok(())
}

/// Of how many instances of the corpus one is run under a random schedule as well.
const SCHEDULED_ONE_IN: u64 = 6;

/// One trial per case of a file, named `file/case #tag`, over all its instances; those whose id has `LACUNAR_INSTANCE` in it, where that is set.
/// Some run a second time, under a random schedule.
///
/// # Errors
/// The file's text is no list of cases.
pub fn trials(
    file: &str,
    text: &str,
    engines: fn() -> Vec<Box<dyn Engine>>,
    tally: &Arc<Tally>,
) -> Result<Vec<Trial>, String> {
    let cases = CaseFile::parse(text).map_err(|fault| format!("{file}: {fault}"))?;
    let wanted = std::env::var("LACUNAR_INSTANCE").unwrap_or_default();
    let mut trials = Vec::new();
    for case in cases.case.clone() {
        let (cases, file, wanted, tally) = (cases.clone(), file.to_string(), wanted.clone(), tally.clone());
        let tags: String = case.tags.iter().map(|tag| format!(" #{tag}")).collect();
        let name = format!("{file}/{}{tags}", case.name);
        trials.push(Trial::test(name, move || {
            let instances = cases.instances(&file, &case).map_err(Failed::from)?;
            let engines = engines();
            let chosen = instances.iter().filter(|instance| instance.id.contains(&wanted));
            let verified = chosen.map(|instance| {
                verify(instance, &engines, Reference::Oracle)?;
                let seed = data::seed(&["schedule", &instance.id]);
                let plain = instance.setup == Setup::default();
                if plain && seed.is_multiple_of(SCHEDULED_ONE_IN) {
                    scheduled(instance, seed, &engines, &tally)
                } else {
                    Ok(())
                }
            });
            let faults: Vec<String> = verified.filter_map(Result::err).collect();
            summary(&case.why, &faults, instances.len())
        }));
    }
    Ok(trials)
}

/// Runs an instance under a random schedule.
fn scheduled(instance: &Instance, seed: u64, engines: &[Box<dyn Engine>], tally: &Tally) -> Result<(), String> {
    let mut instance = instance.clone();
    instance.setup.schedule = schedule(&mut Rng::with_seed(seed), &instance.program);
    accept(&mut instance, engines, tally)?;
    verify(&instance, engines, Reference::Oracle).map_err(|fault| {
        let fails = |instance: &Instance| fails(instance, engines);
        let least = shrink_schedule(instance.clone(), fails);
        format!("{fault}\n\nwith the fewest commands:\n{}", least.setup.to_case_text())
    })
}

/// Whether an instance fails otherwise than by a schedule that is refused.
fn fails(instance: &Instance, engines: &[Box<dyn Engine>]) -> bool {
    let refused = engines.iter().any(|engine| engine.refuses(instance).is_some());
    let refused = refused && !instance.setup.schedule.is_empty();
    !refused && verify(instance, engines, Reference::Oracle).is_err()
}

/// Leaves the last commands away until the schedule is accepted.
///
/// # Errors
/// A command that is not even read: a fault of what made it.
fn accept(instance: &mut Instance, engines: &[Box<dyn Engine>], tally: &Tally) -> Result<(), String> {
    let Some(engine) = engines.first() else { return Ok(()) };
    let mut refusal = None;
    let wanted = instance.setup.schedule.len();
    while let Some(code) = engine.refuses(instance).filter(|_| !instance.setup.schedule.is_empty()) {
        if !code.starts_with("E12") {
            return Err(report(instance, &[format!("the schedule is not one of the language: {code}")]));
        }
        refusal.get_or_insert(code);
        instance.setup.schedule.pop();
    }
    if wanted > 0 {
        tally.count(refusal);
    }
    Ok(())
}

/// The corpus: every file of `tests/kernels`, by name without its extension, with its text.
///
/// # Errors
/// The folder or a file cannot be read.
pub fn corpus() -> std::io::Result<Vec<(String, String)>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/kernels");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if let (Some("toml"), Some(stem)) = (path.extension().and_then(|e| e.to_str()), path.file_stem()) {
            files.push((stem.to_string_lossy().into_owned(), std::fs::read_to_string(&path)?));
        }
    }
    files.sort();
    Ok(files)
}

/// How many failing instances of one case are shown in full.
const SHOWN: usize = 3;

fn summary(why: &str, faults: &[String], of: usize) -> Result<(), Failed> {
    if faults.is_empty() {
        return Ok(());
    }
    let shown: Vec<&str> = faults.iter().take(SHOWN).map(String::as_str).collect();
    let why = if why.is_empty() { String::new() } else { format!("({why})\n") };
    Err(Failed::from(format!("{why}{} of {of} instances fail; the first:\n{}", faults.len(), shown.join("\n\n"))))
}

/// Runs the random program of a seed.
///
/// # Errors
/// What is wrong, in words.
pub fn attempt(seed: u64, engines: &[Box<dyn Engine>], tally: &Tally) -> Result<(), String> {
    let (_, instance) = guarded(|| generate(seed))?.ok_or("no program of this seed checks")?;
    attempt_instance(instance, engines, tally)
}

/// Runs an instance with as many commands of its schedule as are accepted.
///
/// # Errors
/// What is wrong, in words.
pub fn attempt_instance(instance: Instance, engines: &[Box<dyn Engine>], tally: &Tally) -> Result<(), String> {
    let instance = acceptable(instance, engines, tally)?;
    verify(&instance, engines, Reference::Oracle)
}

/// The instance with as many commands of its schedule as are accepted.
fn acceptable(mut instance: Instance, engines: &[Box<dyn Engine>], tally: &Tally) -> Result<Instance, String> {
    if instance.setup.refused.is_some() {
        return Ok(instance);
    }
    let accepted = guarded(|| accept(&mut instance, engines, tally));
    accepted.unwrap_or_else(|panic| Err(report(&instance, &[format!("compile: panic: {panic}")])))?;
    Ok(instance)
}

/// One trial for each of `count` random programs from seed `first` on; a failing one is shrunk. `LACUNAR_SHOW=1` shows each
/// program before it is compiled, to find one on which something hangs.
pub fn random_trials(first: u64, count: u64, engines: fn() -> Vec<Box<dyn Engine>>, tally: &Arc<Tally>) -> Vec<Trial> {
    let trial = |seed: u64| {
        let tally = tally.clone();
        Trial::test(format!("random/{seed}"), move || {
            let engines = engines();
            if std::env::var_os("LACUNAR_SHOW").is_some() {
                println!("{}", generate(seed).map(|(_, instance)| instance.to_case_text()).unwrap_or_default());
            }
            let (sketch, instance) = generate(seed).ok_or_else(|| Failed::from("no program of this seed checks"))?;
            let instance = acceptable(instance, &engines, &tally)?;
            let sketch = Sketch { setup: instance.setup.clone(), ..sketch };
            let Err(fault) = verify(&instance, &engines, Reference::Oracle) else { return Ok(()) };
            let small = shrink(sketch, 300, |instance| fails(instance, &engines));
            let least = small.instance().map_err(Failed::from)?;
            let least = verify(&least, &engines, Reference::Oracle).err().unwrap_or_default();
            Err(Failed::from(format!("{fault}\n\nshrunk:\n{least}\n(LACUNAR_SEED={seed} LACUNAR_RANDOM=1 repeats it)")))
        })
    };
    (first..first.saturating_add(count)).map(trial).collect()
}

/// The command line's arguments; two threads unless it says otherwise.
pub fn arguments() -> Arguments {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(2));
    arguments
}

/// Runs trials and says how many random schedules were refused; what the process returns.
pub fn conclude(arguments: &Arguments, trials: Vec<Trial>, tally: &Tally) -> ExitCode {
    let conclusion = libtest_mimic::run(arguments, trials);
    if !arguments.list {
        println!("{tally}");
    }
    match tally.verdict() {
        Ok(()) => conclusion.exit_code(),
        Err(fault) => {
            println!("{fault}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use super::*;

    /// The oracle as an engine, with a fault if one is named.
    struct Echo(&'static str);

    impl Engine for Echo {
        fn name(&self) -> &str {
            "echo"
        }

        fn run(&self, instance: &Instance) -> Result<Vec<Results>, Failure> {
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
        verify(&instance, &[Box::new(Echo("")), Box::new(Echo(fault))], Reference::Oracle)
    }

    #[test]
    fn the_oracle_agrees_with_the_corpus() {
        let mut faults = Vec::new();
        for (file, text) in corpus().unwrap() {
            let cases = CaseFile::parse(&text).unwrap_or_else(|fault| panic!("{file}: {fault}"));
            for case in &cases.case {
                match cases.instances(&file, case) {
                    // Formats make no difference to the oracle but in blocks of zeros: a few are enough.
                    Ok(instances) => {
                        faults.extend(instances.iter().take(8).filter_map(|i| verify(i, &[], Reference::Oracle).err()))
                    }
                    Err(fault) => faults.push(fault),
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
