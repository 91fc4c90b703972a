//! Printed texts are read back: programs, schedules and kernels of the corpus and of random programs. Refusals of
//! schedules are checked too.
//!
//! ```text
//! notation    the program's text, checked again, gives the same kernels
//! imp         every kernel's text, read again, is the same kernel, and gives the same results on the interpreter
//! schedule    the planner's schedule, given, makes the same kernels
//! refused     a refusal marks one command, at which the schedule is refused without those behind it, too
//! ```
//!
//! A run takes another sample every day, and everything with `LACUNAR_ALL`.

mod engines;

use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use fastrand::Rng;
use lacunar::{Backend, Diagnostic, Error, Kernel, Options, Search};
use lacunar_testing::data;
use lacunar_testing::day::{all_wanted, chosen, today};
use lacunar_testing::instance::Instance;
use lacunar_testing::runner::{Reference, verify};
use lacunar_testing::schedules::schedule;
use lacunar_testing::suite::{Suite, arguments, corpus_instances, random_instances, summary};
use libtest_mimic::{Failed, Trial};

/// One instance in so many gets a treatment.
const ONE_IN: u64 = 12;
/// How many random programs there are to choose from.
const RANDOM: u64 = 1200;
/// Among how many trials the instances of a treatment are shared.
const SHARES: usize = 8;

/// The code of a name that is not known.
const UNKNOWN_NAME: &str = "E0906";
/// The codes of refusals that later commands may turn into others: an order of levels, an order of appending, a pattern
/// that only values tell. Likewise, `parallelize` is judged when all commands are done.
const JUDGED_AS_A_WHOLE: [&str; 3] = ["E1213", "E1214", "E1215"];

/// A check of an instance; the error is the fault.
type Treatment = fn(&Instance, &Suite) -> Result<(), String>;

const TREATMENTS: [(&str, Treatment); 4] =
    [("notation", notation), ("imp", imp), ("schedule", given_again), ("refused", refused)];

fn main() -> ExitCode {
    let (arguments, suite) = (arguments(), engines::suite("treatments"));
    let instances: Arc<OnceLock<Result<Vec<Instance>, String>>> = Arc::default();
    let mut trials = Vec::new();
    for (name, treatment) in TREATMENTS {
        for share in 0..SHARES {
            let (instances, suite) = (instances.clone(), suite.clone());
            trials.push(Trial::test(format!("{name}/{} of {SHARES}", share + 1), move || {
                let instances = instances.get_or_init(all).as_ref().map_err(Failed::from)?;
                let sample =
                    |instance: &&Instance| all_wanted() || chosen(&format!("{name} {}", instance.id), today(), ONE_IN);
                let own: Vec<&Instance> = instances.iter().skip(share).step_by(SHARES).filter(sample).collect();
                let faults: Vec<String> = own.iter().filter_map(|instance| treatment(instance, &suite).err()).collect();
                summary(&format!("LACUNAR_DAY={}", today()), &faults, own.len())
            }));
        }
    }
    suite.conclude(&arguments, trials)
}

/// The corpus, and random programs of the day.
fn all() -> Result<Vec<Instance>, String> {
    let mut all = corpus_instances()?;
    all.extend(random_instances(today() * 1_000_000, RANDOM));
    all.retain(|instance| instance.setup.refused.is_none());
    Ok(all)
}

fn compiled(instance: &Instance, source: &str, commands: &[String]) -> Result<Kernel, Error> {
    let options = Options {
        declarations: instance.declarations.clone(),
        backend: Backend::Interpreter,
        search: if instance.setup.plain { Search::Plain } else { Search::Cost },
        schedule: commands.join(", ").into(),
        strict: instance.setup.strict,
        grain: Some(1),
        tuned: false,
        ..Options::new()
    };
    Kernel::compile(source, &options.emit("imp"))
}

/// The kernels of an instance under commands, which are its own or a part of them.
fn kernels(instance: &Instance, source: &str, commands: &[String]) -> Result<Kernel, String> {
    let failed = |error: Error| format!("{}\n{}", error.render(false), instance.to_case_text());
    compiled(instance, source, commands).map_err(failed)
}

/// An error unless two kernels are the same.
fn same(instance: &Instance, how: &str, a: &Kernel, b: &Kernel) -> Result<(), String> {
    let [a, b] = [a, b].map(|kernel| kernel.text("imp").unwrap_or_default());
    if a == b {
        Ok(())
    } else {
        Err(format!("{}: {how}\n{b}\ninstead of\n{a}\n{}", instance.id, instance.to_case_text()))
    }
}

/// The commands of an instance that are accepted: random ones are not all.
fn accepted(instance: &Instance) -> Vec<String> {
    let mut commands = instance.setup.schedule.clone();
    while !commands.is_empty() && compiled(instance, &instance.source, &commands).is_err() {
        commands.pop();
    }
    commands
}

fn notation(instance: &Instance, _: &Suite) -> Result<(), String> {
    let commands = accepted(instance);
    let first = kernels(instance, &instance.source, &commands)?;
    // Declares the inferred types, because conversions that the text leaves to the compiler are printed.
    let mut declared = instance.clone();
    for (_, tensor) in instance.program.tensors.iter() {
        declared.declarations = declared.declarations.dtype(&tensor.name, tensor.dtype);
    }
    let text = |instance: &Instance| -> String {
        let statements = instance.program.statements.iter();
        statements.map(|statement| instance.program.statement_text(statement) + "\n").collect()
    };
    let printed = text(instance);
    let Instance { id, declarations, given, .. } = declared.clone();
    let again = Instance::new(id.clone(), printed.clone(), declarations, given);
    let again = again.map_err(|fault| format!("{id}: its text `{printed}` does not check: {fault}"))?;
    if text(&again) != printed {
        return Err(format!("{id}: `{printed}` is read as `{}`", text(&again)));
    }
    same(instance, &format!("`{printed}` gives"), &first, &kernels(&declared, &printed, &commands)?)
}

fn imp(instance: &Instance, suite: &Suite) -> Result<(), String> {
    let mut instance = instance.clone();
    instance.setup.schedule = accepted(&instance);
    verify(&instance, &engines::engines(&["interp", "reread"]), Reference::Oracle, &suite.passed)
}

fn given_again(instance: &Instance, _: &Suite) -> Result<(), String> {
    let commands = accepted(instance);
    let first = kernels(instance, &instance.source, &commands)?;
    reads_back(instance, &first)
}

/// An error unless the schedule of a kernel, given, makes the same kernel. A schedule may name variables that the
/// compiler has made and the program does not know: those of sums whose variable has the name of another, and of stored
/// dimensions in programs of several statements.
fn reads_back(instance: &Instance, first: &Kernel) -> Result<(), String> {
    let printed = first.schedule().text().to_string();
    match compiled(instance, &instance.source, std::slice::from_ref(&printed)) {
        Ok(again) => same(instance, &format!("its schedule `{printed}`, given, makes"), first, &again),
        Err(Error::Schedule { diagnostics, .. }) if diagnostics.iter().all(|found| found.code == UNKNOWN_NAME) => {
            Ok(())
        }
        Err(error) => Err(format!("{}: its schedule `{printed}` is refused: {}", instance.id, error.render(false))),
    }
}

/// Checks the refusal of a random schedule: one command is always marked. If that command itself is wrong, it is
/// refused as the last one, too. The commands that are accepted before the refused one make a kernel whose schedule
/// reads back.
fn refused(instance: &Instance, _: &Suite) -> Result<(), String> {
    let seed = data::seed(&["refused", &instance.id, &today().to_string()]);
    let commands = schedule(&mut Rng::with_seed(seed), &instance.program);
    let Err(Error::Schedule { diagnostics, .. }) = compiled(instance, &instance.source, &commands) else {
        return Ok(());
    };
    let text = commands.join(", ");
    let fault = |what: String| Err(format!("{}: of `{text}`, {what}\n{}", instance.id, instance.to_case_text()));
    let Some(first) = diagnostics.first() else { return fault("nothing is said".to_string()) };
    let Some(refused) = marked(first, &commands) else {
        return fault(format!("no command is marked: {}: {}", first.code, first.message));
    };
    if !JUDGED_AS_A_WHOLE.contains(&first.code) && !commands[refused].contains("parallelize") {
        let without = compiled(instance, &instance.source, &commands[..=refused]);
        // Notes may be about the other commands.
        let is_same = |found: &Diagnostic| (found.code, &found.labels) == (first.code, &first.labels);
        if !matches!(&without, Err(Error::Schedule { diagnostics, .. }) if diagnostics.first().is_some_and(is_same)) {
            let said = without.map_or_else(|error| error.render(false), |_| "nothing".to_string());
            return fault(format!(
                "command {} is marked with {}, and as the last one with {said}",
                refused + 1,
                first.code
            ));
        }
    }
    let mut shorter = instance.clone();
    shorter.setup.schedule = commands;
    let before = kernels(instance, &instance.source, &accepted(&shorter))?;
    reads_back(instance, &before)
}

/// The number of the command that a diagnostic marks.
fn marked(diagnostic: &Diagnostic, commands: &[String]) -> Option<usize> {
    let at = diagnostic.labels.first()?.span.range().start;
    let mut end = 0;
    commands.iter().position(|command| {
        end += command.len() + ", ".len();
        at < end
    })
}
