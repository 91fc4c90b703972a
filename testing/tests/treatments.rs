//! Printed texts are read back: programs, schedules and kernels of the corpus and of random programs. Refusals of
//! schedules are checked too.
//!
//! ```text
//! notation    the program's text, checked again, gives the same kernels
//! concrete    the loops of every statement, read again, give the same kernel, and the plan of a single one the same results
//! mutated     such a text with mistakes in it is refused with a place, or means what the oracle reads in it
//! rearranged  a plan's text with its loops in other orders and its tensors stored otherwise, which users could have written, gives the
//!             same results
//! imp         every kernel's text, read again, is the same kernel, and gives the same results on the interpreter
//! schedule    the planner's schedule, given, makes the same kernels
//! refused     a refusal marks one command, at which the schedule is refused without those behind it, too
//! ```
//!
//! A run takes another sample every day, and everything with `LACUNAR_ALL`; `LACUNAR_INSTANCE` leaves those with a text in their id.

mod engines;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use engines::{has_no_text, is_unreadable, is_untold};
use fastrand::Rng;
use lacunar::{Backend, Diagnostic, Error, Kernel, Options, Search, Step};
use lacunar_base::Span;
use lacunar_compiler::plan::{Plan, named_apart};
use lacunar_front::Declarations;
use lacunar_notation::{Action, Role, Tensor, WorkspaceKind};
use lacunar_testing::compare::values;
use lacunar_testing::data;
use lacunar_testing::day::{all_wanted, chosen, today};
use lacunar_testing::instance::Instance;
use lacunar_testing::rearranged::rearranged as rearrange;
use lacunar_testing::runner::{Reference, guarded, verify};
use lacunar_testing::schedules::schedule;
use lacunar_testing::suite::{Suite, arguments, corpus_instances, is_wanted, random_instances, space, summary};
use libtest_mimic::{Failed, Trial};

/// The number of mistakes that are made in one text.
const MUTATIONS: usize = 4;
/// One instance in so many gets a treatment.
const ONE_IN: u64 = 128;
/// The most elements of the space of a program whose loops are put in other orders.
const MOST_REARRANGED: u64 = 1 << 22;
/// The number of random programs to choose from.
const RANDOM: u64 = 500;
/// The most values of a variable in a text that gets mistakes.
const MOST_VALUES: u64 = 1 << 20;
/// Among how many trials the instances of a treatment are shared.
const SHARES: usize = 8;

/// The code of a name that is not known.
const UNKNOWN_NAME: &str = "E0906";
/// The codes of refusals that later commands may turn into others: an order of levels, an order of appending, a pattern
/// that only values tell. Likewise, `parallelize` is judged when all commands are done.
const JUDGED_AS_A_WHOLE: [&str; 3] = ["E1213", "E1214", "E1215"];

/// The codes of refusals of loops by hand: positions and unique elements that a text does not say, a race, a sparse result that loops
/// cannot append to or combine with.
const REFUSED: [&str; 8] = ["E1206", "E1207", "E1209", "E1210", "E1213", "E1214", "E1217", "E1415"];

/// A check of an instance; the error is the fault.
type Treatment = fn(&Instance, &Suite) -> Result<(), String>;

const TREATMENTS: [(&str, Treatment); 7] = [
    ("notation", notation),
    ("concrete", concrete),
    ("mutated", mutated),
    ("rearranged", rearranged),
    ("imp", imp),
    ("schedule", given_again),
    ("refused", refused),
];

fn main() -> ExitCode {
    let (arguments, suite) = (arguments(), engines::suite("treatments"));
    let instances: Arc<OnceLock<Result<Vec<Instance>, String>>> = Arc::default();
    let mut trials = Vec::new();
    for (name, treatment) in TREATMENTS {
        for share in 0..SHARES {
            let (instances, suite) = (instances.clone(), suite.clone());
            trials.push(Trial::test(format!("{name}/{} of {SHARES}", share + 1), move || {
                let instances = instances.get_or_init(all).as_ref().map_err(Failed::from)?;
                let sample = |instance: &&Instance| is_treated(name, &instance.id);
                let own: Vec<&Instance> = instances.iter().skip(share).step_by(SHARES).filter(sample).collect();
                let fault = |instance: &&&Instance| {
                    let treated = guarded(|| treatment(instance, &suite));
                    treated.unwrap_or_else(|panic| Err(format!("{panic}\n{}", instance.to_case_text()))).err()
                };
                let faults: Vec<String> = own.iter().filter_map(|instance| fault(&instance)).collect();
                summary(&format!("LACUNAR_DAY={}", today()), &faults, own.len())
            }));
        }
    }
    suite.conclude(&arguments, trials)
}

/// True if a treatment's sample has the instance of an id.
fn is_treated(treatment: &str, id: &str) -> bool {
    all_wanted() || chosen(&format!("{treatment} {id}"), today(), ONE_IN)
}

/// The instances of the corpus that some treatment takes, and random programs of the day.
fn all() -> Result<Vec<Instance>, String> {
    let mut all = corpus_instances(&|id| is_wanted(id) && TREATMENTS.iter().any(|(name, _)| is_treated(name, id)))?;
    all.extend(random_instances(today() * 1_000_000, RANDOM));
    all.retain(|instance| instance.setup.refused.is_none() && is_wanted(&instance.id));
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
    // Declares the inferred types, because conversions that the text leaves to the compiler are printed.
    let mut declared = instance.clone();
    for (_, tensor) in instance.program.tensors.iter().filter(|(_, tensor)| !tensor.role.is_computed()) {
        declared.declarations = declared.declarations.dtype(&tensor.name, tensor.dtype);
    }
    let text = |instance: &Instance| instance.program.actions_text();
    let printed = text(instance);
    let Instance { id, declarations, given, .. } = declared.clone();
    let again = Instance::new(id.clone(), printed.clone(), declarations, given);
    let again = again.map_err(|fault| format!("{id}: its text `{printed}` does not check: {fault}"))?;
    if text(&again) != printed {
        return Err(format!("{id}: `{printed}` is read as `{}`", text(&again)));
    }
    // Declarations of workspaces in lines are no part of a program's text.
    if !instance.program.loops.is_empty() {
        return Ok(());
    }
    let commands = accepted(instance);
    let first = kernels(instance, &instance.source, &commands)?;
    same(instance, &format!("`{printed}` gives"), &first, &kernels(&declared, &printed, &commands)?)
}

/// A printed plan, whose converted operands are read from the tensors that they are made of, prints as the same again.
fn planned(instance: &Instance, step: &Step, (options, changed): (&Options, bool)) -> Result<(), String> {
    let printed = step.plan().text();
    let again = match Kernel::compile(&printed, options) {
        Err(error) if is_unreadable(&error) || is_untold(&error, changed) => return Ok(()),
        again => again.map_err(|error| format!("{}: {printed}\n{}", instance.id, error.render(false)))?,
    };
    // Conversions are chosen anew.
    let loops = |plan: &Plan| {
        let text = plan.text();
        let is_loop =
            |line: &&str| ["forall", "where", "do", "sequence"].iter().any(|word| line.trim_start().starts_with(word));
        text.lines().filter(is_loop).collect::<Vec<_>>().join("\n")
    };
    let read = again.statements().next().map(Step::plan);
    let [read, expected] = [read.map(loops).unwrap_or_default(), loops(step.plan())];
    match read == expected {
        true => Ok(()),
        false => Err(format!("{}: read as\n{read}\ninstead of\n{expected}", instance.id)),
    }
}

fn concrete(instance: &Instance, suite: &Suite) -> Result<(), String> {
    let commands = accepted(instance);
    let first = kernels(instance, &instance.source, &commands)?;
    if first.steps().len() == 1 && !instance.setup.phases {
        let mut instance = instance.clone();
        instance.setup.schedule.clone_from(&commands);
        verify(&instance, &engines::engines(&["planned"]), Reference::Oracle, &suite.passed)?;
    }
    for step in first.statements() {
        let kernel = &named_apart(step.kernel().clone());
        if has_no_text(kernel) {
            continue;
        }
        let printed = kernel.to_string();
        let options = Options { backend: Backend::Interpreter, strict: instance.setup.strict, ..Options::new() };
        let search = if instance.setup.plain { Search::Plain } else { Search::Cost };
        let options = Options { grain: Some(1), tuned: false, search, ..options };
        // The text of one statement does not tell the effect of a schedule, of a conversion, or of other statements.
        let changed = !(commands.is_empty() && step.plan().conversions.is_empty() && first.steps().len() == 1);
        planned(instance, step, (&options, changed))?;
        let again = Kernel::compile(&printed, &options.emit("imp"));
        if again.as_ref().is_err_and(|error| is_unreadable(error) || is_untold(error, changed)) {
            continue;
        }
        let again = again.map_err(|error| format!("{}: {printed}\n{}", instance.id, error.render(false)))?;
        let read = again.statements().next().map(|step| named_apart(step.kernel().clone()).to_string());
        let read = read.unwrap_or_default();
        // Tensors that others are made of have a line, and take no part.
        let met = [kernel.reads(), kernel.stmt.writes()].concat();
        let apart =
            kernel.tensors.iter().filter(|(id, _)| !met.contains(id)).map(|(_, other)| format!("{}: ", other.name));
        let apart: Vec<String> = apart.collect();
        // The widths of a result follow from all tensors of the program, of which a statement has only some.
        let is_part = !apart.is_empty() || instance.program.statements.len() > 1;
        // A result that is converted afterwards has the usual ones.
        let widths = |only: Option<Role>| {
            let tensors = kernel.tensors.iter().map(|(_, tensor)| tensor);
            let chosen = tensors.filter(|tensor| only.is_none_or(|role| tensor.role == role));
            chosen.map(|tensor| tensor.format.widest_positions()).max()
        };
        let is_part = is_part || widths(Some(Role::Result)) < widths(None);
        if is_part && printed.contains("@64") {
            continue;
        }
        let taking_part = |line: &&str| !apart.iter().any(|name| line.starts_with(name));
        // Workspaces may stand before tensors that were converted after them.
        let sorted = |mut lines: Vec<&str>| {
            let begin = lines.iter().position(|line| line.contains(": ")).unwrap_or(lines.len());
            lines[begin..].sort_unstable();
            lines.join("\n")
        };
        let (read, expected) = (sorted(read.lines().collect()), sorted(printed.lines().filter(taking_part).collect()));
        if read != expected {
            return Err(format!("{}: read as\n{read}\ninstead of\n{expected}", instance.id));
        }
        // A text does not say that a result takes an operand's levels, nor what follows from a statement that was divided; variables with
        // one name get others in it.
        let is_named_anew = step.kernel().to_string() != printed;
        let followers = again.statements().next().and_then(|step| step.kernel().followers.clone());
        if kernel.pattern_of.is_some() || is_named_anew || (followers.is_none() && kernel.followers.is_some()) {
            continue;
        }
        // Functions are numbered in a program of several statements.
        // Sizes come in the order in which they are met, which is that of all statements there.
        let body = |step: &Step| {
            let text = step.function().to_string();
            let (head, body) = text.split_once(") {").unwrap_or_default();
            let mut params: Vec<&str> = head.split_once('(').map_or("", |(_, params)| params).split(", ").collect();
            params.sort_unstable();
            format!("{}) {{{body}", params.join(", "))
        };
        let [a, b] = [step, again.statements().next().unwrap_or(step)].map(body);
        if a != b {
            return Err(format!("{}: {printed} gives\n{b}\ninstead of\n{a}", instance.id));
        }
    }
    Ok(())
}

/// Loops with other names, signs and lines are refused with a place, or they have the meaning that the oracle reads in them.
fn mutated(instance: &Instance, suite: &Suite) -> Result<(), String> {
    let first = kernels(instance, &instance.source, &accepted(instance))?;
    let mut rng = Rng::with_seed(data::seed(&["mutated", &instance.id, &today().to_string()]));
    let Some(kernel) = first.statements().next().map(Step::kernel) else { return Ok(()) };
    let is_given = |name: &str| instance.given.contains_key(name);
    let lacks = |tensor: &Tensor| tensor.role == Role::Input && !is_given(&tensor.name);
    // The oracle goes through all values of an index, of which a summand may have more than that can be.
    let is_open = kernel.vars.iter().any(|(_, var)| var.size.is_some_and(|size| size > MOST_VALUES));
    if has_no_text(kernel) || is_open || kernel.tensors.iter().any(|(_, tensor)| lacks(tensor)) {
        return Ok(());
    }
    for _ in 0..MUTATIONS {
        let text = mutation(&mut rng, &kernel.to_string());
        let options = Options { backend: Backend::Interpreter, grain: Some(1), tuned: false, ..Options::new() };
        let fault = |what: String| Err(format!("{}: {text}\n{what}", instance.id));
        match catch_unwind(AssertUnwindSafe(|| Kernel::compile(&text, &options).map(|_| ()))) {
            Err(_) => return fault("panics".to_string()),
            Ok(Err(Error::Program { diagnostics, .. })) => {
                let is_placed = |found: &Diagnostic| found.labels.iter().any(|label| label.span != Span::NONE);
                if let Some(found) = diagnostics.iter().find(|found| !is_placed(found) && !is_of_declarations(found)) {
                    return fault(format!("{}: {} has no place", found.code, found.message));
                }
            }
            Ok(Err(error)) => return fault(error.render(false)),
            Ok(Ok(())) => {
                let given = instance.given.iter().filter(|(name, _)| text.contains(&format!("{name}: ")));
                let given = given.map(|(name, entries)| (name.clone(), entries.clone())).collect();
                let read = Instance::new(instance.id.clone(), text.clone(), Declarations::new(), given);
                // Values of another size or type than the text now says are none.
                let Ok(read) = read else { continue };
                let lacks = |tensor: &Tensor| tensor.role == Role::Input && !read.given.contains_key(&tensor.name);
                if read.program.tensors.iter().any(|(_, tensor)| lacks(tensor)) {
                    continue;
                }
                // Roundings of an operator of the program are not bounded: loops that are there twice may combine anything.
                let is_bounded = !read.program.operators.iter().any(|own| own.is_monoid());
                if stores_all(&read) || !is_bounded {
                    continue;
                }
                let verified = verify(&read, &engines::engines(&["interp"]), Reference::Oracle, &suite.passed);
                // Nor are those that a format cannot hold.
                if let Some(found) = verified.err().filter(|found| !found.contains("do not fit format")) {
                    return fault(found);
                }
            }
        }
    }
    Ok(())
}

/// Loops that users could have written, made of those of a plan, give the same results.
fn rearranged(instance: &Instance, suite: &Suite) -> Result<(), String> {
    let first = kernels(instance, &instance.source, &accepted(instance))?;
    let [step] = first.steps() else { return Ok(()) };
    let is_alone = matches!(instance.program.body.as_slice(), [Action::Assign(_)]);
    // Tensors may become dense, and loops visit all of them.
    let is_enormous = space(instance) > MOST_REARRANGED;
    if !is_alone || is_enormous || has_no_text(step.kernel()) || step.plan().copied.is_some() {
        return Ok(());
    }
    let (printed, Ok(outcomes)) = (step.plan().text(), instance.evaluated()) else { return Ok(()) };
    let mut rng = Rng::with_seed(data::seed(&["rearranged", &instance.id, &today().to_string()]));
    for _ in 0..MUTATIONS {
        let (text, is_same) = rearrange(&mut rng, &printed);
        let fault = |what: String| {
            Err(format!(
                "{}: {text}
{what}",
                instance.id
            ))
        };
        let options = Options { backend: Backend::Interpreter, grain: Some(1), tuned: false, ..Options::new() };
        match Kernel::compile(&text, &options) {
            // Orders in which a result cannot be assembled are refused, as those of schedules are.
            Err(Error::Program { diagnostics, .. } | Error::Schedule { diagnostics, .. })
                if diagnostics.iter().all(|found| REFUSED.contains(&found.code)) =>
            {
                continue;
            }
            Err(error) => return fault(error.render(false)),
            Ok(_) => {}
        }
        let given = instance.given.clone();
        let read = match Instance::new(instance.id.clone(), text.clone(), Declarations::new(), given) {
            Ok(read) => read,
            Err(found) => return fault(found),
        };
        // The choice of `any` is open.
        if let (true, Ok(own)) = (is_same && !text.contains("any"), read.evaluated()) {
            for outcome in &outcomes {
                let other = own.iter().find(|other| other.name == outcome.name);
                let compared =
                    other.ok_or("no result".to_string()).and_then(|other| values(outcome, &other.entries.to_coo()));
                if let Err(found) = compared {
                    return fault(format!("means something else: {found}"));
                }
            }
        }
        if stores_all(&read) {
            continue;
        }
        let verified = verify(&read, &engines::engines(&["interp"]), Reference::Oracle, &suite.passed);
        let is_beyond = |found: &String| found.contains("do not fit format") || found.contains("oracle: too many");
        if let Some(found) = verified.err().filter(|found| !is_beyond(found)) {
            return fault(found);
        }
    }
    Ok(())
}

/// True if loops read an array into a sparse result, as a line says: all of its elements are stored.
fn stores_all(instance: &Instance) -> bool {
    instance.program.loops.iter().any(|(_, kernel)| {
        let is_array = |tensor: &Tensor| tensor.role == Role::Workspace(WorkspaceKind::Dense) && tensor.order() > 0;
        let is_sparse = |tensor: &Tensor| tensor.role == Role::Result && !tensor.format.is_dense();
        let has = |so: &dyn Fn(&Tensor) -> bool| kernel.tensors.iter().any(|(_, tensor)| so(tensor));
        has(&is_array) && has(&is_sparse)
    })
}

/// True for mistakes in declarations, which may have no place in the text, and for a text without a statement.
fn is_of_declarations(found: &Diagnostic) -> bool {
    found.code == "E0106"
        || found.code.starts_with("E03")
        || found.code.starts_with("E02")
        || found.code.starts_with("E04")
}

/// A text with one mistake: a word, a sign or a line that is gone, is there twice, or is another one of the text.
fn mutation(rng: &mut Rng, text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    let (one, other) = (rng.usize(..lines.len()), rng.usize(..lines.len()));
    match rng.u8(..6) {
        0 => drop(lines.remove(one)),
        1 => lines.swap(one, other),
        2 => lines.insert(one, lines[other].clone()),
        _ => {
            let tokens = |line: &str| {
                let boundaries = line.char_indices().filter(|(_, c)| !c.is_alphanumeric() && *c != '_');
                let mut cuts: Vec<usize> = boundaries.flat_map(|(at, c)| [at, at + c.len_utf8()]).collect();
                cuts.extend([0, line.len()]);
                cuts.sort_unstable();
                cuts.dedup();
                cuts.windows(2).map(|ends| line[ends[0]..ends[1]].to_string()).collect::<Vec<String>>()
            };
            let (mut words, others) = (tokens(&lines[one]), tokens(&lines[other]));
            let (at, from) = (rng.usize(..words.len()), rng.usize(..others.len()));
            match rng.u8(..4) {
                0 => words[at].clear(),
                1 => words[at] = ["+", "*", "min", "=", "(", "i", "j", "0"][rng.usize(..8)].to_string(),
                _ => words[at].clone_from(&others[from]),
            }
            lines[one] = words.concat();
        }
    }
    lines.join("\n")
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
    if !instance.program.loops.is_empty() {
        return Ok(());
    }
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
