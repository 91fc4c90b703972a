//! What is printed is read back: programs, schedules and kernels of the corpus and of random programs; and what a refusal of a
//! schedule says.
//!
//! ```text
//! notation    the program's text, checked again, gives the same kernels
//! imp         every kernel's text, read again, is the same kernel, and gives the same results on the interpreter
//! schedule    the planner's schedule, given, makes the same kernels
//! refused     a refusal marks one command; those before it are accepted, and printed and given again make the same kernels
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
use lacunar_testing::passed::Passed;
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

/// What is done with an instance, and what is wrong with it.
type Treatment = fn(&Instance) -> Result<(), String>;

const TREATMENTS: [(&str, Treatment); 4] =
    [("notation", notation), ("imp", imp), ("schedule", given_again), ("refused", refused)];

fn main() -> ExitCode {
    let arguments = arguments();
    let instances: Arc<OnceLock<Result<Vec<Instance>, String>>> = Arc::default();
    let mut trials = Vec::new();
    for (name, treatment) in TREATMENTS {
        for share in 0..SHARES {
            let instances = instances.clone();
            trials.push(Trial::test(format!("{name}/{} of {SHARES}", share + 1), move || {
                let instances = instances.get_or_init(all).as_ref().map_err(Failed::from)?;
                let sample = |instance: &&Instance| {
                    all_wanted() || chosen(&format!("{name} {}", instance.id), today(), ONE_IN)
                };
                let own: Vec<&Instance> = instances.iter().skip(share).step_by(SHARES).filter(sample).collect();
                let faults: Vec<String> = own.iter().filter_map(|instance| treatment(instance).err()).collect();
                summary(&format!("LACUNAR_DAY={}", today()), &faults, own.len())
            }));
        }
    }
    Suite::default().conclude(&arguments, trials)
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
        grain: 1,
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

/// Whether two kernels are the same.
fn same(instance: &Instance, how: &str, a: &Kernel, b: &Kernel) -> Result<(), String> {
    let [a, b] = [a, b].map(|kernel| kernel.text("imp").unwrap_or_default());
    if a == b { Ok(()) } else { Err(format!("{}: {how}\n{b}\ninstead of\n{a}\n{}", instance.id, instance.to_case_text())) }
}

/// The commands of an instance that are accepted: random ones are not all.
fn accepted(instance: &Instance) -> Vec<String> {
    let mut commands = instance.setup.schedule.clone();
    while !commands.is_empty() && compiled(instance, &instance.source, &commands).is_err() {
        commands.pop();
    }
    commands
}

fn notation(instance: &Instance) -> Result<(), String> {
    let commands = accepted(instance);
    let first = kernels(instance, &instance.source, &commands)?;
    let text = |instance: &Instance| -> String {
        let statements = instance.program.statements.iter();
        statements.map(|statement| instance.program.statement_text(statement) + "\n").collect()
    };
    let printed = text(instance);
    let again = Instance::new(instance.id.clone(), printed.clone(), instance.declarations.clone(), instance.given.clone());
    let again = again.map_err(|fault| format!("{}: its text `{printed}` does not check: {fault}", instance.id))?;
    if text(&again) != printed {
        return Err(format!("{}: `{printed}` is read as `{}`", instance.id, text(&again)));
    }
    same(instance, &format!("`{printed}` gives"), &first, &kernels(instance, &printed, &commands)?)
}

fn imp(instance: &Instance) -> Result<(), String> {
    let mut instance = instance.clone();
    instance.setup.schedule = accepted(&instance);
    verify(&instance, &engines::engines(&["interp", "reread"]), Reference::Oracle, &Passed::none())
}

fn given_again(instance: &Instance) -> Result<(), String> {
    let commands = accepted(instance);
    let first = kernels(instance, &instance.source, &commands)?;
    let printed = first.schedule().text().to_string();
    let again = kernels(instance, &instance.source, &[printed.clone()])
        .map_err(|fault| format!("{}: its schedule `{printed}` is refused: {fault}", instance.id))?;
    same(instance, &format!("its schedule `{printed}`, given, makes"), &first, &again)
}

fn refused(instance: &Instance) -> Result<(), String> {
    let seed = data::seed(&["refused", &instance.id, &today().to_string()]);
    let commands = schedule(&mut Rng::with_seed(seed), &instance.program);
    let Err(Error::Schedule { diagnostics, .. }) = compiled(instance, &instance.source, &commands) else { return Ok(()) };
    let text = commands.join(", ");
    let fault = |what: String| format!("{}: of `{text}`, {what}\n{}", instance.id, instance.to_case_text());
    let first = diagnostics.first().ok_or_else(|| fault("nothing is said".to_string()))?;
    let Some(refused) = marked(first, &commands) else {
        return Err(fault(format!("no command is marked: {}: {}", first.code, first.message)));
    };
    let before = kernels(instance, &instance.source, &commands[..refused])
        .map_err(|error| fault(format!("command {} is marked, but one before it is refused: {error}", refused + 1)))?;
    if compiled(instance, &instance.source, &commands[..=refused]).is_ok() {
        return Err(fault(format!("command {} is marked, and accepted as the last", refused + 1)));
    }
    let printed = before.schedule().text().to_string();
    let again = kernels(instance, &instance.source, &[printed.clone()])?;
    same(instance, &format!("the schedule `{printed}` of the commands before a refusal makes"), &before, &again)
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
