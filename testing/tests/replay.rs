//! The kernels of two versions of the compiler, compared: a change that only moves code shows no difference, and one that changes
//! code shows the differences, and their numbers.
//!
//! ```text
//! ./x replay BASE                                  this tree against a commit, which is built in a folder of its own
//! cargo test --test replay -- --record FILE        what this tree makes of every program
//! cargo test --test replay -- --compare A B        where two records differ: the differences, and one program for each
//! ```
//!
//! A record holds the imperative IR of the corpus, of its random schedules, of other systems' tests where they are at
//! hand, and of a thousand random programs whose seeds do not move; for sizes that are constants and for sizes that are
//! parameters; in one phase and, where a result is sparse, in two. If a program is refused, its record is the refusal.
//! (The golden files of `tests/stages` hold their texts themselves.)
//!
//! Without arguments, a sample is recorded twice and has to be the same: compiling is deterministic.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use fastrand::Rng;
use lacunar::{Backend, Error, Kernel, Options, Phase, Search};
use lacunar_notation::Role;
use lacunar_testing::conformance::{ConformanceCase, Translation, comet, file, taco};
use lacunar_testing::generate::generate;
use lacunar_testing::instance::Instance;
use lacunar_testing::schedules::schedule;
use lacunar_testing::suite::corpus_instances;
use lacunar_testing::{data, setup::Setup};
use similar::TextDiff;

/// The number of random programs in a record.
const RANDOM: u64 = 1000;
/// One in so many instances is recorded by a run without arguments.
const SAMPLE: u64 = 397;
/// The text before the name of a program in a record.
const HEAD: &str = "\u{1}";

/// Makes cases of a file's text.
type Translator = fn(&str) -> Vec<ConformanceCase>;

/// The texts of programs by their names.
type Record = BTreeMap<String, String>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["--record", path] => {
            let record = record(&instances(1));
            let text: String = record.iter().map(|(name, text)| format!("{HEAD}{name}\n{text}")).collect();
            std::fs::write(path, text).unwrap_or_else(|error| panic!("{path}: {error}"));
            println!("{} texts in {path}", record.len());
            ExitCode::SUCCESS
        }
        ["--compare", before, after] => {
            let (text, same) = compare(&read(Path::new(before)), &read(Path::new(after)));
            print!("{text}");
            if same { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        _ => {
            if words.contains(&"--list") {
                return ExitCode::SUCCESS;
            }
            let sample = instances(SAMPLE);
            let (text, same) = compare(&record(&sample), &record(&sample));
            print!("{text}");
            println!(
                "test result: {}. {} passed; {} failed;",
                if same { "ok" } else { "FAILED" },
                same as u8,
                !same as u8
            );
            if same { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
    }
}

/// The texts of programs.
fn record(instances: &[Instance]) -> Record {
    let (next, texts) = (AtomicUsize::new(0), Mutex::new(Record::new()));
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    // Panics are part of the record.
    std::panic::set_hook(Box::new(|_| {}));
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(instance) = instances.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let own = texts_of(instance);
                    if let Ok(mut texts) = texts.lock() {
                        texts.extend(own);
                    }
                }
            });
        }
    });
    let _ = std::panic::take_hook();
    texts.into_inner().unwrap_or_default()
}

/// One in so many of the programs that are recorded.
fn instances(one_in: u64) -> Vec<Instance> {
    let scheduled = |id: &str| format!("{id} under a schedule");
    let is_recorded = |id: &str| data::seed(&[id]).is_multiple_of(one_in);
    let is_made = |id: &str| is_recorded(id) || is_recorded(&scheduled(id));
    let mut all = Vec::new();
    for instance in corpus_instances(&is_made).unwrap_or_else(|fault| panic!("{fault}")) {
        if instance.setup == Setup::default() {
            let mut scheduled = Instance { id: scheduled(&instance.id), ..instance.clone() };
            let seed = data::seed(&["schedule", &instance.id]);
            scheduled.setup.schedule = schedule(&mut Rng::with_seed(seed), &instance.program);
            all.push(scheduled);
        }
        all.push(instance);
    }
    let suites: [(&str, Translator); 2] = [("taco", taco::cases), ("comet", comet::cases)];
    for (name, translate) in suites {
        let text = file(&format!("{name}.jsonl")).and_then(|path| std::fs::read_to_string(path).ok());
        for case in translate(&text.unwrap_or_default()) {
            if let Ok(Translation::Run(mut runnable)) = case.translation {
                runnable.instance.id = format!("{name}/{}", case.id);
                all.push(runnable.instance);
            }
        }
    }
    all.extend((0..RANDOM).filter_map(|seed| Some(generate(seed)?.1)));
    all.retain(|instance| is_recorded(&instance.id));
    all
}

/// The texts of one program: with sizes as constants and as parameters, in one phase and in two, and with fewer commands where
/// its schedule is refused.
fn texts_of(instance: &Instance) -> Record {
    let mut texts = Record::new();
    let mut instance = instance.clone();
    while let Some(refusal) = refused(&instance) {
        let name = format!("{} [{} commands]", instance.id, instance.setup.schedule.len());
        texts.insert(name, refusal + "\n");
        instance.setup.schedule.pop();
    }
    let sparse =
        instance.program.tensors.iter().any(|(_, tensor)| tensor.role == Role::Result && !tensor.format.is_dense());
    let phases: &[Phase] = if sparse { &[Phase::Fused, Phase::Assemble, Phase::Compute] } else { &[Phase::Fused] };
    for &phase in phases {
        for specialize in [false, true] {
            let text = match compiled(&instance, phase, specialize) {
                Ok(Ok(kernel)) => kernel.text("imp").unwrap_or_default(),
                Ok(Err(error)) => format!("{error}\n"),
                Err(panic) => format!("panic: {panic}\n"),
            };
            let sizes = if specialize { "constants" } else { "parameters" };
            texts.insert(format!("{} [{phase:?}, sizes as {sizes}]", instance.id), text);
        }
    }
    texts
}

/// The refusal of the last command of a schedule that is refused.
fn refused(instance: &Instance) -> Option<String> {
    if instance.setup.schedule.is_empty() {
        return None;
    }
    match compiled(instance, Phase::Fused, false) {
        Ok(Err(Error::Schedule { diagnostics, .. })) => {
            Some(diagnostics.iter().map(|found| format!("{}: {}", found.code, found.message)).collect())
        }
        _ => None,
    }
}

fn compiled(instance: &Instance, phase: Phase, specialize: bool) -> Result<Result<Kernel, Error>, String> {
    let setup = &instance.setup;
    let options = Options {
        declarations: instance.declarations.clone(),
        backend: Backend::Interpreter,
        search: if setup.plain { Search::Plain } else { Search::Cost },
        schedule: setup.schedule_text().into(),
        phase,
        strict: setup.strict,
        specialize,
        grain: Some(1),
        tuned: false,
        ..Options::new()
    };
    let options = options.emit("imp");
    let compile = || Kernel::compile(&instance.source, &options);
    catch_unwind(AssertUnwindSafe(compile)).map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        text.or(payload.downcast_ref::<&str>().copied()).unwrap_or("(no message)").to_string()
    })
}

fn read(path: &Path) -> Record {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.split(HEAD)
        .filter_map(|entry| entry.split_once('\n'))
        .map(|(name, text)| (name.to_string(), text.to_string()))
        .collect()
}

/// The differences between two records, and true if there are none: for each way of differing, the number of programs that do so, and the
/// first of them.
fn compare(before: &Record, after: &Record) -> (String, bool) {
    let mut ways: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut only = Vec::new();
    for (name, text) in before {
        match after.get(name) {
            None => only.push(format!("only before: {name}")),
            Some(other) if text != other => {
                let diff = TextDiff::from_lines(text.as_str(), other.as_str());
                let changes = diff.iter_all_changes().filter(|change| change.tag() != similar::ChangeTag::Equal);
                let way: String =
                    changes.map(|change| format!("{}{}", change.tag(), without_names(change.value()))).collect();
                ways.entry(way).or_default().push(name);
            }
            Some(_) => {}
        }
    }
    only.extend(after.keys().filter(|name| !before.contains_key(*name)).map(|name| format!("only after: {name}")));
    let mut text = String::new();
    let mut ways: Vec<Vec<&str>> = ways.into_values().collect();
    ways.sort_by_key(|names| std::cmp::Reverse(names.len()));
    for names in &ways {
        // The shortest text shows it best.
        let Some(name) = names.iter().min_by_key(|name| before[**name].len()) else { continue };
        let diff = TextDiff::from_lines(before[*name].as_str(), after[*name].as_str());
        let _ = writeln!(text, "== {} texts differ like that of {name}\n{}", names.len(), diff.unified_diff());
    }
    for line in &only {
        let _ = writeln!(text, "{line}");
    }
    let differing: usize = ways.iter().map(Vec::len).sum();
    let _ = writeln!(
        text,
        "{} texts before, {} after: {differing} differ, in {} ways",
        before.len(),
        after.len(),
        ways.len()
    );
    (text, ways.is_empty() && only.is_empty())
}

/// A line without the names and numbers of a program: differences that are alike in all else are one way of differing.
fn without_names(line: &str) -> String {
    let mut short = String::new();
    for c in line.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' if short.ends_with('x') => {}
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => short.push('x'),
            other => short.push(other),
        }
    }
    short
}
