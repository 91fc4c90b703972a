//! Runs a target on mutated inputs for some time, in this process.
//!
//! The first inputs are the target's seeds, those of its corpus folder, and those that once failed
//! (`fuzz/regressions`); all of them run. An input whose answer is new is mutated further, and written to the corpus if
//! one is kept. A failing input is written and printed; failures at one place of the source count once. An input that
//! takes longer than [`PATIENCE`] ends the process.
//!
//! ```text
//! ./x fuzz imp --seconds 60 --seed 7
//! imp: 41,203 inputs, 96 answers, 0 failures in 60 s (seed 7)
//! ```

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fastrand::Rng;

use super::Target;
use super::mutate::mutate;
use crate::runner::guarded;

/// The time that one input may take.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// The most inputs that are mutated further.
const MOST: usize = 4096;

thread_local! {
    /// The place of the last panic of this thread.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The time, the seed and the folders for a run of a target.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The time.
    pub time: Duration,
    /// The seed of the random choices.
    pub seed: u64,
    /// The folder `fuzz` of the repository.
    pub folder: PathBuf,
    /// True if inputs with new answers are written to the corpus.
    pub keeps: bool,
}

/// The findings of a run of a target.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The target.
    pub name: &'static str,
    /// The number of inputs that it was called with.
    pub inputs: u64,
    /// The number of answers.
    pub answers: usize,
    /// The failures: place and message, and the file with the input.
    pub failures: Vec<(String, PathBuf)>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { name, inputs, answers, failures } = self;
        write!(f, "{name}: {inputs} inputs, {answers} answers, {} failures", failures.len())?;
        failures.iter().try_for_each(|(message, path)| write!(f, "\n  {message}\n  the input: {}", path.display()))
    }
}

/// Runs a target.
pub fn run(target: &Target, plan: &Plan) -> Report {
    let running: Mutex<Option<(Instant, Vec<u8>)>> = Mutex::default();
    let (done, wait) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let (watched, limit) = (&running, plan.folder.clone());
        scope.spawn(move || {
            // Seconds are counted, of which a process that is stopped for a while has none.
            let mut counted: (Option<Instant>, u64) = (None, 0);
            // Ends when the other end is dropped.
            while wait.recv_timeout(Duration::from_secs(1)) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                let now = watched.lock().unwrap_or_else(PoisonError::into_inner);
                let since = now.as_ref().map(|(since, _)| *since);
                counted = if since == counted.0 { (since, counted.1 + 1) } else { (since, 0) };
                if let Some((_, input)) = now.as_ref().filter(|_| counted.1 > PATIENCE.as_secs()) {
                    let path = write(&limit.join("failures").join(target.name), input);
                    println!("{}: no end within {PATIENCE:?}: {}", target.name, path.display());
                    std::process::exit(1);
                }
            }
        });
        let report = Run { target, plan, running: &running, seen: HashSet::new(), places: HashSet::new() }.run();
        drop(done);
        report
    })
}

struct Run<'a> {
    target: &'a Target,
    plan: &'a Plan,
    /// The input that the target has now.
    running: &'a Mutex<Option<(Instant, Vec<u8>)>>,
    /// Hashes of answers.
    seen: HashSet<u64>,
    /// Places of failures.
    places: HashSet<String>,
}

impl Run<'_> {
    fn run(mut self) -> Report {
        let own = |kind: &str| self.plan.folder.join(kind).join(self.target.name);
        let (corpus, regressions) = (own("corpus"), own("regressions"));
        let mut inputs = (self.target.seeds)();
        inputs.extend(files(&regressions));
        inputs.extend(files(&corpus));
        let hook = panic::take_hook();
        panic::set_hook(Box::new(|info| {
            let place = info.location().map(|place| format!("{}:{}", place.file(), place.line()));
            PLACE.set(place.unwrap_or_default());
        }));
        let mut report = Report { name: self.target.name, ..Report::default() };
        for input in &inputs {
            self.call(input, &mut report);
        }
        let mut rng = Rng::with_seed(self.plan.seed);
        let begun = Instant::now();
        while begun.elapsed() < self.plan.time && !inputs.is_empty() {
            // The inputs found last are the least known.
            let recent = if rng.bool() { inputs.len().saturating_sub(64) } else { 0 };
            let chosen = rng.usize(recent..inputs.len());
            let input = mutate(&mut rng, &inputs[chosen], &inputs, self.target.words);
            if self.call(&input, &mut report) && inputs.len() < MOST {
                if self.plan.keeps {
                    write(&corpus, &input);
                }
                inputs.push(input);
            }
        }
        panic::set_hook(hook);
        report.answers = self.seen.len();
        report
    }

    /// Calls the target; returns true if its answer is new.
    fn call(&mut self, input: &[u8], report: &mut Report) -> bool {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), input.to_vec()));
        let answer = guarded(|| (self.target.run)(input));
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = None;
        report.inputs += 1;
        match answer {
            Ok(answer) => {
                let mut hasher = DefaultHasher::new();
                answer.hash(&mut hasher);
                self.seen.insert(hasher.finish())
            }
            Err(message) => {
                let place = PLACE.take();
                if self.places.insert(place.clone()) {
                    let path = write(&self.plan.folder.join("failures").join(self.target.name), input);
                    report.failures.push((format!("{place}: {message}"), path));
                }
                false
            }
        }
    }
}

/// The contents of the files of a folder, by name.
fn files(folder: &Path) -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path()).collect();
    paths.sort();
    paths.iter().filter_map(|path| std::fs::read(path).ok()).collect()
}

/// Writes an input to a folder, under its hash.
fn write(folder: &Path, input: &[u8]) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    let path = folder.join(format!("{:016x}", hasher.finish()));
    if let Err(error) = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, input)) {
        println!("{} cannot be written: {error}; the input: {:?}", path.display(), String::from_utf8_lossy(input));
    }
    path
}
