//! The state that the trials of a test program share, and the trials of the corpus and of random programs.
//!
//! A [`Suite`] has engines, remembers comparisons that passed before, and counts schedules. C is compiled by the file:
//! engines that are [`Batched`] take their sample of all instances in trials of their own, `c/3 of 16`, in which many
//! programs are one library.
//!
//! ```text
//! spmv/csr            every instance of a case on the interpreter and on LLVM
//! c/3 of 16           a sixteenth of the instances that C takes, printed into files of some dozen kernels
//! random/600 to 629   random programs
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZero;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fastrand::Rng;
use libtest_mimic::{Arguments, Failed, Trial};

use crate::case::{CaseFile, Chosen};
use crate::data;
use crate::day::{self, all_wanted, chosen, today};
use crate::generate::generate;
use crate::instance::Instance;
use crate::passed::Passed;
use crate::runner::{Engine, Reference, guarded, has_passed, report, verify};
use crate::schedules::schedule;
use crate::setup::Setup;
use crate::shrink::{shrink, shrink_schedule};
use crate::sketch::Sketch;
use crate::tally::Tally;

/// The most elements of the space of a program that gets a random schedule.
const MOST_SCHEDULED: u64 = 1 << 32;
/// One in so many instances of the corpus is run under a random schedule as well.
const SCHEDULED_ONE_IN: u64 = 6;
/// The number of trials that the instances of a batched engine are shared among.
pub const BATCHES: usize = 16;
/// The number of instances of a batch that are compiled together: starting a compiler and reading its headers costs as much as some
/// kernels.
const TOGETHER: usize = 48;
/// The number of random programs that one trial runs.
const RANDOM_TOGETHER: u64 = 30;
/// The most failing instances of one case that are shown in full.
const SHOWN: usize = 3;

/// Makes engines.
pub type Engines = fn() -> Vec<Box<dyn Engine>>;

/// Engines of which one compiles many programs at once.
pub struct Batched {
    /// Its name in trials.
    pub name: &'static str,
    /// True if the instance of an id is in its sample.
    pub takes: fn(&str) -> bool,
    /// The engines as they run one program by itself.
    pub alone: Engines,
    /// The engines for these programs and no others.
    pub together: fn(&[Instance]) -> Vec<Box<dyn Engine>>,
}

/// The state that trials share.
#[derive(Default)]
pub struct Suite {
    /// The engines that run every instance that they take.
    pub engines: Vec<Box<dyn Engine>>,
    /// The engine that runs a sample.
    pub batched: Option<Batched>,
    /// The comparisons that passed before.
    pub passed: Passed,
    /// The numbers of schedules that were accepted and refused.
    pub tally: Tally,
    /// The number of instances that are in no engine's sample.
    pub left_out: AtomicUsize,
}

impl fmt::Debug for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.engines.iter().map(|engine| engine.name()).collect();
        f.debug_struct("Suite").field("engines", &names).finish_non_exhaustive()
    }
}

impl Suite {
    /// Runs an instance on every engine that takes it, unless it has passed before.
    ///
    /// # Errors
    /// Every difference and failure, in words.
    pub fn verify(&self, instance: &Instance, reference: Reference) -> Result<(), String> {
        if self.takes(&instance.id) { verify(instance, &self.engines, reference, &self.passed) } else { Ok(()) }
    }

    /// True if some engine takes the instance of an id, or if there are no engines; otherwise it is counted.
    pub fn takes(&self, id: &str) -> bool {
        let is_taken = self.engines.is_empty() || self.engines.iter().any(|engine| engine.takes(id));
        self.left_out.fetch_add(usize::from(!is_taken), Ordering::Relaxed);
        is_taken
    }

    /// True if an instance fails otherwise than by a schedule that is refused.
    fn fails(&self, instance: &Instance) -> bool {
        let refused = self.engines.iter().any(|engine| engine.refuses(instance).is_some());
        let refused = refused && !instance.setup.schedule.is_empty();
        !refused && verify(instance, &self.engines, Reference::Oracle, &Passed::none()).is_err()
    }

    /// Leaves the last commands away until the schedule is accepted.
    ///
    /// # Errors
    /// A command that is not even read: a fault of its maker.
    fn accept(&self, instance: &mut Instance) -> Result<(), String> {
        let Some(engine) = self.engines.first() else { return Ok(()) };
        let mut refusal = None;
        let wanted = instance.setup.schedule.len();
        while !instance.setup.schedule.is_empty() {
            let Some(code) = engine.refuses(instance) else { break };
            if !code.starts_with("E12") {
                return Err(report(instance, &[format!("the schedule is not one of the language: {code}")]));
            }
            refusal.get_or_insert(code);
            instance.setup.schedule.pop();
        }
        if wanted > 0 {
            self.tally.count(refusal);
        }
        Ok(())
    }

    /// The instance with as many commands of its schedule as are accepted.
    fn acceptable(&self, mut instance: Instance) -> Result<Instance, String> {
        if instance.setup.refused.is_some() {
            return Ok(instance);
        }
        let accepted = guarded(|| self.accept(&mut instance));
        accepted.unwrap_or_else(|panic| Err(report(&instance, &[format!("compile: panic: {panic}")])))?;
        Ok(instance)
    }

    /// Runs the random program of a seed.
    ///
    /// # Errors
    /// The fault, in words.
    pub fn attempt(&self, seed: u64) -> Result<(), String> {
        let (_, instance) = guarded(|| generate(seed))?.ok_or("no program of this seed checks")?;
        self.attempt_instance(instance)
    }

    /// Runs an instance with as many commands of its schedule as are accepted.
    ///
    /// # Errors
    /// The fault, in words.
    pub fn attempt_instance(&self, instance: Instance) -> Result<(), String> {
        self.verify(&self.acceptable(instance)?, Reference::Oracle)
    }

    /// The instance under a random schedule, for one instance in a few; none for an enormous space, all of which commands may have loops
    /// visit that leave out most of it otherwise.
    fn scheduled(&self, instance: &Instance) -> Option<Result<Instance, String>> {
        let seed = data::seed(&["schedule", &instance.id]);
        if space(instance) > MOST_SCHEDULED
            || instance.setup != Setup::default()
            || !seed.is_multiple_of(SCHEDULED_ONE_IN)
        {
            return None;
        }
        let mut instance = instance.clone();
        instance.setup.schedule = schedule(&mut Rng::with_seed(seed), &instance.program);
        Some(self.accept(&mut instance).map(|()| instance))
    }

    /// Runs an instance, and under a random schedule, where it has one.
    fn verify_twice(&self, instance: &Instance) -> Result<(), String> {
        self.verify(instance, Reference::Oracle)?;
        let Some(scheduled) = self.scheduled(instance) else { return Ok(()) };
        let scheduled = scheduled?;
        self.verify(&scheduled, Reference::Oracle).map_err(|fault| {
            let least = shrink_schedule(scheduled.clone(), |instance| self.fails(instance));
            format!("{fault}\n\nwith the fewest commands:\n{}", least.setup.to_case_text())
        })
    }

    /// Runs instances on the batched engine, some dozen at once.
    fn verify_batch(&self, batched: &Batched, instances: &[Instance]) -> Result<(), Failed> {
        let (mut wanted, mut faults) = (Vec::new(), Vec::new());
        // Refused commands are counted when the instance runs by itself.
        let alone = Suite { engines: (batched.alone)(), ..Suite::default() };
        for instance in instances {
            let both = [Some(alone.acceptable(instance.clone())), alone.scheduled(instance)];
            for instance in both.into_iter().flatten() {
                match instance {
                    Ok(instance) => wanted.push(instance),
                    Err(fault) => faults.push(fault),
                }
            }
        }
        let count = wanted.len();
        wanted.retain(|instance| !has_passed(instance, &alone.engines, &self.passed));
        for some in wanted.chunks(TOGETHER) {
            let engines = (batched.together)(some);
            let verdicts = some.iter().map(|instance| verify(instance, &engines, Reference::Oracle, &self.passed));
            faults.extend(verdicts.filter_map(Result::err));
        }
        summary("", &faults, count)
    }

    /// Runs the trials, and prints how many schedules were refused and how much was not run. Returns the process's exit
    /// code.
    pub fn conclude(&self, arguments: &Arguments, trials: Vec<Trial>) -> ExitCode {
        if !arguments.list {
            println!("LACUNAR_DAY={} repeats the choices of this run", day::today());
        }
        let conclusion = libtest_mimic::run(arguments, trials);
        if arguments.list {
            return conclusion.exit_code();
        }
        let left_out = self.left_out.load(Ordering::Relaxed);
        println!("{}; {}; {left_out} instances in no engine's sample", self.tally, self.passed);
        if let Err(error) = self.passed.keep() {
            println!("what passed cannot be kept: {error}");
        }
        match self.tally.verdict() {
            Ok(()) => conclusion.exit_code(),
            Err(fault) => {
                println!("{fault}");
                ExitCode::FAILURE
            }
        }
    }
}

/// One trial per case of a file, named `file/case #tag`, over all its instances, or over those whose id has
/// `LACUNAR_INSTANCE` in it, if that is set; `sampled`, over some of many, unless `LACUNAR_ALL` wants all. Some run a second time, under a
/// random schedule.
///
/// # Errors
/// The file's text is no list of cases.
pub fn trials(file: &str, text: &str, suite: &Arc<Suite>, sampled: bool) -> Result<Vec<Trial>, String> {
    let cases = CaseFile::parse(text).map_err(|fault| format!("{file}: {fault}"))?;
    let mut trials = Vec::new();
    for case in cases.case.clone() {
        let (cases, file, suite) = (cases.clone(), file.to_string(), suite.clone());
        let tags: String = case.tags.iter().map(|tag| format!(" #{tag}")).collect();
        let name = format!("{file}/{}{tags}", case.name);
        trials.push(Trial::test(name, move || {
            let mut choices = cases.choices(&file, &case).map_err(Failed::from)?;
            choices.retain(|chosen| is_wanted(&chosen.id));
            if sampled && !all_wanted() {
                choices = sample(choices);
            }
            choices.retain(|chosen| suite.takes(&chosen.id));
            let verified =
                choices.iter().map(|chosen| chosen.instance().and_then(|instance| suite.verify_twice(&instance)));
            let faults: Vec<String> = verified.filter_map(Result::err).collect();
            summary(&case.why, &faults, choices.len())
        }));
    }
    Ok(trials)
}

/// Some of a case's choices: all of a few, about as many of more, others every day.
fn sample(choices: Vec<Chosen<'_>>) -> Vec<Chosen<'_>> {
    /// The most choices of which all are taken.
    const FEW: usize = 4;
    let one_in = choices.len().div_ceil(FEW) as u64;
    let is_first = |number: usize| number == 0;
    let numbered = choices.into_iter().enumerate();
    let taken = numbered.filter(|(number, choice)| is_first(*number) || chosen(&choice.id, today(), one_in));
    taken.map(|(_, choice)| choice).collect()
}

/// The trials of a suite's batched engine, over those of `instances` that it takes; it is told the ids that are wanted.
pub fn batches(
    suite: &Arc<Suite>,
    instances: impl Fn(&Wanted<'_>) -> Result<Vec<Instance>, String> + Send + Sync + 'static,
) -> Vec<Trial> {
    let Some(batched) = &suite.batched else { return Vec::new() };
    // Made by the first of the trials.
    let chosen: Arc<OnceLock<Result<Vec<Instance>, String>>> = Arc::default();
    let instances = Arc::new(instances);
    let trial = |number: usize| {
        let (suite, chosen, instances) = (suite.clone(), chosen.clone(), instances.clone());
        Trial::test(format!("{}/{} of {BATCHES}", batched.name, number + 1), move || {
            let Some(batched) = &suite.batched else { return Ok(()) };
            let takes = |id: &str| is_wanted(id) && (batched.takes)(id);
            let runs = |instance: &Instance| instance.setup.refused.is_none() && takes(&instance.id);
            let chosen = chosen.get_or_init(|| Ok(instances(&takes)?.into_iter().filter(runs).collect()));
            let chosen = chosen.as_ref().map_err(Failed::from)?;
            let own: Vec<Instance> = chosen.iter().skip(number).step_by(BATCHES).cloned().collect();
            suite.verify_batch(batched, &own)
        })
    };
    (0..BATCHES).map(trial).collect()
}

/// True if the command line or the environment names tests, instances or a first seed. Whoever names them means all of them, on every
/// engine, whatever the samples of the day are.
pub fn are_named() -> bool {
    static ARE_NAMED: OnceLock<bool> = OnceLock::new();
    *ARE_NAMED.get_or_init(|| {
        let is_set = |name: &&str| std::env::var_os(name).is_some();
        arguments().filter.is_some() || ["LACUNAR_INSTANCE", "LACUNAR_SEED"].iter().any(is_set)
    })
}

/// True if `LACUNAR_INSTANCE`, if that is set, is in an id.
pub fn is_wanted(id: &str) -> bool {
    static TEXT: OnceLock<String> = OnceLock::new();
    id.contains(TEXT.get_or_init(|| std::env::var("LACUNAR_INSTANCE").unwrap_or_default()).as_str())
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

/// True for the ids of instances that are to be made.
pub type Wanted<'a> = dyn Fn(&str) -> bool + Sync + 'a;

/// The instances of the corpus whose ids are wanted, in the order of the files. Threads share the files, because making all instances
/// takes seconds.
///
/// # Errors
/// A file cannot be read, or does not check.
pub fn corpus_instances(wanted: &Wanted<'_>) -> Result<Vec<Instance>, String> {
    let files = corpus().map_err(|error| format!("tests/kernels cannot be read: {error}"))?;
    let (next, made) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some((file, text)) = files.get(number) else { break };
            let instances = instances_of(file, text, wanted);
            made.lock().unwrap_or_else(PoisonError::into_inner).insert(number, instances);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(work);
        }
    });
    let made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(made.into_values().collect::<Result<Vec<_>, String>>()?.into_iter().flatten().collect())
}

/// The wanted instances of a file of the corpus.
fn instances_of(file: &str, text: &str, wanted: &Wanted<'_>) -> Result<Vec<Instance>, String> {
    let cases = CaseFile::parse(text).map_err(|fault| format!("{file}: {fault}"))?;
    let mut instances = Vec::new();
    for case in &cases.case {
        for chosen in cases.choices(file, case)?.iter().filter(|chosen| wanted(&chosen.id)) {
            instances.push(chosen.instance()?);
        }
    }
    Ok(instances)
}

/// The verdict on several programs: the first faults.
///
/// # Errors
/// There are faults.
pub fn summary(why: &str, faults: &[String], of: usize) -> Result<(), Failed> {
    if faults.is_empty() {
        return Ok(());
    }
    let shown: Vec<&str> = faults.iter().take(SHOWN).map(String::as_str).collect();
    let why = if why.is_empty() { String::new() } else { format!("({why})\n") };
    Err(Failed::from(format!("{why}{} of {of} instances fail; the first:\n{}", faults.len(), shown.join("\n\n"))))
}

/// Trials of `count` random programs from seed `first` on; a failing one is shrunk. `LACUNAR_SHOW=1` shows each
/// program before it is compiled, to find one on which something hangs.
pub fn random_trials(first: u64, count: u64, suite: &Arc<Suite>) -> Vec<Trial> {
    let end = first.saturating_add(count);
    let trial = |from: u64| {
        let (suite, to) = (suite.clone(), end.min(from + RANDOM_TOGETHER));
        Trial::test(format!("random/{from} to {}", to - 1), move || {
            let faults: Vec<String> = (from..to).filter_map(|seed| random(seed, &suite).err()).collect();
            summary("", &faults, (to - from) as usize)
        })
    };
    (first..end).step_by(RANDOM_TOGETHER as usize).map(trial).collect()
}

/// The number of elements of the space of a program's variables, as far as their sizes are known.
pub fn space(instance: &Instance) -> u64 {
    instance.program.vars.iter().filter_map(|(_, var)| var.size).fold(1, u64::saturating_mul)
}

/// Runs the random program of a seed, and shrinks it where it fails.
fn random(seed: u64, suite: &Suite) -> Result<(), String> {
    if std::env::var_os("LACUNAR_SHOW").is_some() {
        println!("{}", generate(seed).map(|(_, instance)| instance.to_case_text()).unwrap_or_default());
    }
    let (sketch, instance) = guarded(|| generate(seed))?.ok_or("no program of this seed checks")?;
    let instance = suite.acceptable(instance)?;
    let sketch = Sketch { setup: instance.setup.clone(), ..sketch };
    let Err(fault) = suite.verify(&instance, Reference::Oracle) else { return Ok(()) };
    let small = shrink(sketch, 300, |instance| suite.fails(instance));
    let least = small.instance()?;
    let least = verify(&least, &suite.engines, Reference::Oracle, &Passed::none()).err().unwrap_or_default();
    Err(format!("{fault}\n\nshrunk:\n{least}\n(LACUNAR_SEED={seed} LACUNAR_RANDOM=1 repeats it)"))
}

/// The random programs of `count` seeds from `first` on.
pub fn random_instances(first: u64, count: u64) -> Vec<Instance> {
    (first..first.saturating_add(count)).filter_map(|seed| Some(generate(seed)?.1)).collect()
}

/// The command line's arguments; two threads unless it says otherwise.
pub fn arguments() -> Arguments {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(2));
    arguments
}
