//! Tuning: a handful of schedules are measured on the user's data, and the fastest is stored for later.
//!
//! The candidates are those of the compiler ([`plan::candidates`]), the planner's choice among them. All are compiled first;
//! then they are run in rounds, each of which runs every one of them, in turns forwards and backwards, so that what disturbs
//! the machine for a while disturbs all alike. The median counts. A candidate that is far slower than the best in the first
//! round is not run again, unless it is the planner's choice, which stays where another one is not clearly better.
//!
//! In a program of several statements, one statement after the other is tuned, those before with what was found for them; what
//! is measured is the program.
//!
//! ```text
//! round   1            2      3      4           medians
//! 0       2.0 1.6      1.1    9.0    refused     first runs: 3 is far slower than 1
//! 1       1.5          1.0    -
//! 2       1.6          1.0    -                  candidate 2 takes 1.0 and is stored
//! ```

use std::path::PathBuf;
use std::time::{Duration, Instant};

use lacunar_compiler::plan::{self, Candidate, Request, Search};
use lacunar_notation::Program;
use lacunar_notation::schedule::Schedule as Commands;
use lacunar_runtime::Tensor as DynTensor;

use crate::compile::{Choice, Choices, Step, check_schedule, commands};
use crate::error::Error;
use crate::kernel::Kernel;
use crate::options::Options;
use crate::schedule::Schedule;
use crate::store::{self, Entry, Winner};

/// How many times slower than the best a candidate is that is not run again.
const FAR_SLOWER: f64 = 3.0;
/// The planner's choice stays unless another candidate takes at most this part of its time.
const CLEARLY: f64 = 0.98;
/// The fewest rounds after the first.
const FEWEST_ROUNDS: u32 = 3;
/// In a round, a candidate is run again until it ran so long, in seconds, but so often at most.
const LONG: f64 = 2e-3;
const OFTEN: usize = 32;
/// The part of the progress that compiling the candidates is.
const COMPILING: f64 = 0.25;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// About how long may be measured in all. Three rounds are made however long they take.
    pub time: Duration,
    /// How many rounds are made at most after the first; three at least.
    pub rounds: u32,
    /// Every candidate is measured in every round, however slow it is and however long it takes.
    pub exhaustive: bool,
}

impl Default for Effort {
    /// 10 seconds, 25 rounds.
    fn default() -> Effort {
        Effort { time: Duration::from_secs(10), rounds: 25, exhaustive: false }
    }
}

/// How far tuning has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// What is done now: `compiling`, `measuring`, and what.
    pub doing: &'static str,
    /// The candidate.
    pub idea: &'a str,
    /// The part of all that is done, from 0 to 1.
    pub done: f64,
}

/// A candidate that was measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// In a few words, what it does otherwise than the planner's choice.
    pub idea: String,
    /// Who chose what the commands leave open.
    pub search: Search,
    /// Its commands; where there is none, the loops as they are.
    pub schedule: Schedule,
    /// The median time of a run of the program, conversions included.
    pub seconds: f64,
    /// How many runs that is the median of.
    pub runs: usize,
}

/// What was found for a statement.
#[derive(Clone, Debug)]
pub struct TunedStatement {
    /// Its text.
    pub statement: String,
    /// The candidates that could be run, the planner's choice first.
    pub candidates: Vec<Measured>,
    /// Which of them won.
    pub winner: usize,
}

impl TunedStatement {
    /// The planner's choice.
    pub fn planner(&self) -> &Measured {
        &self.candidates[0]
    }

    /// The winner.
    pub fn best(&self) -> &Measured {
        &self.candidates[self.winner]
    }
}

/// What tuning found.
#[derive(Debug)]
pub struct Tuning {
    /// Each statement of the program; at least one.
    pub statements: Vec<TunedStatement>,
    /// The file that holds the winners, or why none does; nothing where none was wanted ([`Options::tuned`]).
    pub stored: Option<Result<PathBuf, Error>>,
}

/// Measures candidates for the statements of a program on tensors given by name, and stores the winners. The schedule of the
/// options is one of the candidates. `progress` is called before each compilation and each round.
///
/// ```
/// use lacunar::{Effort, Format, Kernel, Options, Tensor, tune};
/// # fn main() -> Result<(), lacunar::Error> {
/// # let folder = tempfile::tempdir().expect("a folder for the example");
/// let a = Tensor::from_entries(&[2, 2], &[(&[0, 1], 2.0), (&[1, 0], 3.0)], Format::csr())?;
/// let x = Tensor::from_slice(&[2], &[1.0, 10.0])?;
/// let given = [("A", a.as_dyn()), ("x", x.as_dyn())];
/// let options = Options::new().tensor("A", a.as_dyn()).tensor("x", x.as_dyn()).cache(folder.path());
/// let tuning = tune("y(i) = A(i,j) * x(j)", &options, &given, &Effort::default(), &mut |_| ())?;
/// let best = tuning.statements[0].best();
/// assert!(best.seconds <= tuning.statements[0].planner().seconds);
/// // From now on the winner is taken for such data.
/// let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &options)?;
/// assert!(kernel.explain()[0].contains("tun"));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`Kernel::compile`] and [`Kernel::run_named`], with the planner's choice.
pub fn tune(
    source: &str,
    options: &Options,
    given: &[(&str, &DynTensor)],
    effort: &Effort,
    progress: &mut dyn FnMut(&Progress<'_>),
) -> Result<Tuning, Error> {
    let mut automatic =
        Options { schedule: Schedule::new(), search: Search::Cost, emit: Vec::new(), ..options.clone() };
    for (name, tensor) in given {
        automatic = automatic.tensor(name, tensor);
        automatic.declarations = automatic.declarations.input(*name);
    }
    let planned = Kernel::chosen(source, &automatic, Choices::Given(&[]))?;
    let program = planned.program().clone();
    let schedules = check_schedule(options.schedule.text(), &program)
        .map_err(|diagnostics| Error::Schedule { source_text: options.schedule.to_string(), diagnostics })?;
    let count = program.statements.len();
    let mut session = Session { source, options: &automatic, program, given, effort, count, progress };
    let mut choices: Vec<Option<Choice>> = vec![None; count];
    let mut statements = Vec::new();
    for (number, schedule) in schedules.iter().enumerate() {
        let wanted = (!schedule.commands.is_empty()).then_some(schedule);
        statements.push(session.statement(number, wanted, options.search, &mut choices)?);
    }
    let stored = options.tuned.then(|| session.save(&statements)).flatten();
    Ok(Tuning { statements, stored })
}

/// What stays the same while a program is tuned.
struct Session<'a> {
    source: &'a str,
    options: &'a Options,
    program: Program,
    given: &'a [(&'a str, &'a DynTensor)],
    effort: &'a Effort,
    /// The number of statements.
    count: usize,
    progress: &'a mut dyn FnMut(&Progress<'_>),
}

/// A candidate that is compiled, and the seconds of its runs.
struct Runner {
    candidate: Candidate,
    kernel: Kernel,
    seconds: Vec<f64>,
    /// It is run in further rounds.
    stays: bool,
}

impl Session<'_> {
    /// Tunes one statement; its choice is put to those of the others.
    fn statement(
        &mut self,
        number: usize,
        wanted: Option<&Commands>,
        search: Search,
        choices: &mut [Option<Choice>],
    ) -> Result<TunedStatement, Error> {
        let statement = &self.program.statements[number];
        let text = self.program.statement_text(statement);
        let request = Request { search, strict: self.options.strict, schedule: wanted };
        let found = plan::candidates(&self.program, statement, &request)
            .map_err(|fault| Error::program(self.source, vec![fault]))?;
        let mut runners = self.compiled(number, found, choices)?;
        self.measure(number, &mut runners)?;
        let medians: Vec<f64> = runners.iter().map(|runner| median(&runner.seconds)).collect();
        let winner = winner(&medians);
        choices[number] = (winner > 0).then(|| choice(&runners[winner].candidate));
        let texts = |kernel: &Kernel| {
            let plans = kernel.statements().filter(|step| step.statement() == number).map(Step::plan);
            let commands = plans.flat_map(|plan| commands(&self.program, number, plan));
            Schedule::from(commands.collect::<Vec<_>>().join(", "))
        };
        let measured = |(runner, seconds): (Runner, f64)| Measured {
            schedule: texts(&runner.kernel),
            idea: runner.candidate.idea,
            search: runner.candidate.search,
            seconds,
            runs: runner.seconds.len(),
        };
        let candidates = runners.into_iter().zip(medians).map(measured).collect();
        Ok(TunedStatement { statement: text, candidates, winner })
    }

    /// The candidates that can be compiled; the planner's choice is.
    fn compiled(
        &mut self,
        number: usize,
        found: Vec<Candidate>,
        choices: &[Option<Choice>],
    ) -> Result<Vec<Runner>, Error> {
        let mut runners: Vec<Runner> = Vec::new();
        let total = found.len() as f64;
        for (place, candidate) in found.into_iter().enumerate() {
            self.tell(number, "compiling", &candidate.idea, COMPILING * place as f64 / total);
            let mut choices = choices.to_vec();
            choices[number] = (place > 0).then(|| choice(&candidate));
            match Kernel::chosen(self.source, self.options, Choices::Given(&choices)) {
                Ok(kernel) => runners.push(Runner { candidate, kernel, seconds: Vec::new(), stays: true }),
                Err(error) if place == 0 => return Err(error),
                Err(_) => {}
            }
        }
        Ok(runners)
    }

    /// Runs candidates in rounds. Those that fail, for example because their workspaces need too much memory, are left out;
    /// the first does not.
    fn measure(&mut self, number: usize, runners: &mut Vec<Runner>) -> Result<(), Error> {
        let begin = Instant::now();
        let time = self.effort.time.div_f64(self.count as f64);
        let mut best = f64::INFINITY;
        let mut place = 0;
        while place < runners.len() {
            let runner = &mut runners[place];
            self.tell(number, "measuring", &runner.candidate.idea, COMPILING);
            // The first run meets cold caches and new memory; one that is long, and far from the best all the same, is enough.
            let outcome = self.run(&runner.kernel).and_then(|cold| match cold > LONG && cold > FAR_SLOWER * best {
                true => Ok(cold),
                false => Ok(self.runs(&runner.kernel)?.into_iter().fold(cold, f64::min)),
            });
            match outcome {
                Ok(seconds) => {
                    best = best.min(seconds);
                    runner.seconds.push(seconds);
                    place += 1;
                }
                Err(error) if place == 0 => return Err(error),
                Err(_) => drop(runners.remove(place)),
            }
        }
        for (place, runner) in runners.iter_mut().enumerate() {
            runner.stays = self.effort.exhaustive || place == 0 || runner.seconds[0] <= FAR_SLOWER * best;
        }
        let rounds = self.effort.rounds.max(FEWEST_ROUNDS);
        for round in 0..rounds {
            let spent = begin.elapsed().as_secs_f64() / time.as_secs_f64().max(1e-9);
            let spent = if self.effort.exhaustive { 0.0 } else { spent };
            if spent >= 1.0 && round >= FEWEST_ROUNDS {
                break;
            }
            let part = (f64::from(round) / f64::from(rounds)).max(spent).min(1.0);
            self.tell(number, "measuring", "all in turn", COMPILING + (1.0 - COMPILING) * part);
            let mut order: Vec<&mut Runner> = runners.iter_mut().filter(|runner| runner.stays).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for runner in order {
                // What the first round gave has served its purpose.
                if round == 0 {
                    runner.seconds.clear();
                }
                runner.seconds.extend(self.runs(&runner.kernel)?);
            }
        }
        Ok(())
    }

    /// The seconds of the runs of one round: one, or several short ones.
    fn runs(&self, kernel: &Kernel) -> Result<Vec<f64>, Error> {
        let mut seconds = Vec::new();
        while seconds.is_empty() || seconds.len() < OFTEN && seconds.iter().sum::<f64>() < LONG {
            seconds.push(self.run(kernel)?);
        }
        Ok(seconds)
    }

    /// The seconds of one run.
    fn run(&self, kernel: &Kernel) -> Result<f64, Error> {
        let run = kernel.run_named(self.given)?;
        Ok((run.kernel + run.convert).as_secs_f64())
    }

    fn tell(&mut self, number: usize, doing: &'static str, idea: &str, part: f64) {
        let done = (number as f64 + part) / self.count as f64;
        (self.progress)(&Progress { doing, idea, done });
    }

    /// Stores the winners; nothing if it is not known what data they are for.
    fn save(&self, statements: &[TunedStatement]) -> Option<Result<PathBuf, Error>> {
        let winner = |tuned: &TunedStatement| {
            let best = tuned.best();
            let (planned, schedule) = (best.search == Search::Cost, best.schedule.to_string());
            (tuned.winner > 0).then_some(Winner { planned, schedule })
        };
        let (first, last) = (statements.first()?, statements.last()?);
        let entry = Entry {
            key: store::key(&self.program, self.options)?,
            statements: statements.iter().map(winner).collect(),
            seconds: last.best().seconds,
            planner_seconds: first.planner().seconds,
        };
        Some(store::save(&entry, self.options))
    }
}

fn choice(candidate: &Candidate) -> Choice {
    Choice { search: candidate.search, schedule: candidate.schedule.clone() }
}

/// The place of the least time; the first place unless another one is clearly less.
fn winner(medians: &[f64]) -> usize {
    let least = medians.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
    match (medians.first(), least) {
        (Some(first), Some((place, least))) if *least <= first * CLEARLY => place,
        _ => 0,
    }
}

/// The median of measured times, in whichever unit they are; 0 of none.
///
/// ```
/// assert_eq!(lacunar::median(&[3.0, 1.0, 2.0]), 2.0);
/// assert_eq!(lacunar::median(&[4.0, 1.0]), 2.5);
/// ```
pub fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        len if len % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}
