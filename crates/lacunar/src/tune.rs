//! Tuning: a handful of schedules are measured on the user's data, and the fastest is stored for later.
//!
//! The candidates are those of the compiler ([`plan::candidates`]), the planner's choice among them. All are compiled
//! first; then they are run in rounds, each of which runs every one of them, in turns forwards and backwards, so that a
//! disturbance of the machine affects all alike. The median counts. A candidate that is far slower than the best in the
//! first round is not run again, unless it is the planner's choice, which stays where another one is not clearly
//! better.
//!
//! The statements of a program are tuned one after the other, the earlier ones with the schedules found for them; the
//! time measured is that of the whole program, which is run without its prints and its files of results.
//!
//! ```text
//! round   1            2      3      4           medians
//! 0       2.0 1.6      1.1    9.0    refused     first runs: 3 is far slower than 1
//! 1       1.5          1.0    -
//! 2       1.6          1.0    -                  candidate 2 takes 1.0 and is stored
//! ```

use std::path::PathBuf;
use std::time::{Duration, Instant};

use lacunar_compiler::plan::{self, Candidate, Memory, Request, Search};
use lacunar_notation::Program;
use lacunar_notation::schedule::Schedule as Commands;
use lacunar_runtime::Tensor as DynTensor;

use crate::compile::{Choice, Choices, Step, check_schedule, commands};
use crate::error::Error;
use crate::kernel::Kernel;
use crate::machine::machine;
use crate::options::Options;
use crate::schedule::Schedule;
use crate::store::{self, Entry, Winner};

/// A candidate that is this many times slower than the best is not run again.
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

/// Limits of the measurements.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// About how long may be measured in all, with each statement its part. Three rounds for each statement are made however long they
    /// take.
    pub time: Duration,
    /// The most rounds after the first; three at least.
    pub rounds: u32,
    /// True if every candidate is measured in every round, however slow it is and however long it takes.
    pub exhaustive: bool,
}

impl Default for Effort {
    /// 10 seconds, 25 rounds.
    fn default() -> Effort {
        Effort { time: Duration::from_secs(10), rounds: 25, exhaustive: false }
    }
}

/// The progress of tuning.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The step being done: `compiling` or `measuring`.
    pub doing: &'static str,
    /// The candidate.
    pub idea: &'a str,
    /// The part of all that is done, from 0 to 1.
    pub done: f64,
}

/// A candidate that was measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The difference from the planner's choice, in a few words.
    pub idea: String,
    /// It decided everything that the commands leave open.
    pub search: Search,
    /// Its commands; where there is none, the loops as they are.
    pub schedule: Schedule,
    /// The median time of a run of the program, conversions included.
    pub seconds: f64,
    /// The number of runs that the median is of.
    pub runs: usize,
}

/// The findings for a statement.
#[derive(Clone, Debug)]
pub struct TunedStatement {
    /// Its text.
    pub statement: String,
    /// The candidates that could be run, the planner's choice first.
    pub candidates: Vec<Measured>,
    /// The number of the winner among them.
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

/// A schedule that the caller wants measured.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// It decides everything that the commands leave open.
    pub search: Search,
    /// The commands, of one or more statements of the program.
    pub schedule: Schedule,
}

/// A proposal that cannot be run.
#[derive(Debug)]
pub struct Refused {
    /// Its commands, as they were given.
    pub schedule: Schedule,
    /// Why not.
    pub reason: Error,
}

/// The findings of tuning.
#[derive(Debug)]
pub struct Tuning {
    /// Each statement of the program; at least one.
    pub statements: Vec<TunedStatement>,
    /// The proposals that are not among the candidates of a statement that they are for.
    pub refused: Vec<Refused>,
    /// The file that holds the winners, or why none does; nothing where none was wanted ([`Options::tuned`]), or where a tensor that
    /// the program itself makes (`fill`, `random`, `insert`, a `read` in its midst) leaves the class of the data unknown.
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
/// As [`Kernel::compile`] and [`Kernel::run_named`], with the planner's choice; the schedule of the options is refused.
pub fn tune(
    source: &str,
    options: &Options,
    given: &[(&str, &DynTensor)],
    effort: &Effort,
    progress: &mut dyn FnMut(&Progress<'_>),
) -> Result<Tuning, Error> {
    let wanted = Proposal { search: options.search, schedule: options.schedule.clone() };
    let proposals = if options.schedule.is_empty() { Vec::new() } else { vec![wanted] };
    tune_among(source, options, given, &proposals, effort, progress)
}

/// Tunes like [`tune`], with each proposal, and not the schedule of the options, as one more candidate.
///
/// ```
/// use lacunar::{Effort, Format, Options, Proposal, Search, Tensor, tune_among};
/// # fn main() -> Result<(), lacunar::Error> {
/// let a = Tensor::from_entries(&[2, 2], &[(&[0, 1], 2.0), (&[1, 0], 3.0)], Format::csr())?;
/// let x = Tensor::from_slice(&[2], &[1.0, 10.0])?;
/// let given = [("A", a.as_dyn()), ("x", x.as_dyn())];
/// let options = Options { tuned: false, ..Options::new().tensor("A", a.as_dyn()).tensor("x", x.as_dyn()) };
/// let proposals = ["unroll(j, 2)", "parallelize(j, cpu, none)"]
///     .map(|commands| Proposal { search: Search::Cost, schedule: commands.into() });
/// let tuning = tune_among("y(i) = A(i,j) * x(j)", &options, &given, &proposals, &Effort::default(), &mut |_| ())?;
/// assert_eq!(tuning.statements[0].candidates.iter().filter(|one| one.idea == "as given").count(), 1);
/// // Iterations of `j` add to the same place.
/// assert_eq!(tuning.refused[0].schedule.text(), "parallelize(j, cpu, none)");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`Kernel::compile`] and [`Kernel::run_named`], with the planner's choice; all proposals are refused: the reason of the first.
pub fn tune_among(
    source: &str,
    options: &Options,
    given: &[(&str, &DynTensor)],
    proposals: &[Proposal],
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
    let (mut wanted, mut refused) = (Vec::new(), Vec::new());
    for proposal in proposals {
        let schedule = proposal.schedule.clone();
        match check_schedule(schedule.text(), &program) {
            Ok(commands) => wanted.push(Wanted { search: proposal.search, schedule, commands }),
            Err(diagnostics) => {
                let reason = Error::Schedule { source_text: schedule.to_string(), diagnostics };
                refused.push(Refused { schedule, reason });
            }
        }
    }
    let count = program.statements.len();
    let mut session =
        Session { source, options: &automatic, program, given, proposals, wanted, refused, effort, count, progress };
    session.give_up()?;
    let mut choices: Vec<Option<Choice>> = vec![None; count];
    let mut statements = Vec::new();
    for number in 0..count {
        statements.push(session.statement(number, &mut choices)?);
    }
    let stored = options.tuned.then(|| session.save(&statements)).flatten();
    Ok(Tuning { statements, refused: session.refused, stored })
}

/// A proposal that was read.
struct Wanted {
    search: Search,
    schedule: Schedule,
    /// The commands for each statement.
    commands: Vec<Commands>,
}

/// The data that stay the same while a program is tuned.
struct Session<'a> {
    source: &'a str,
    options: &'a Options,
    program: Program,
    given: &'a [(&'a str, &'a DynTensor)],
    proposals: &'a [Proposal],
    wanted: Vec<Wanted>,
    refused: Vec<Refused>,
    effort: &'a Effort,
    /// The number of statements.
    count: usize,
    progress: &'a mut dyn FnMut(&Progress<'_>),
}

/// A candidate that is compiled, and the seconds of its runs.
struct Runner {
    candidate: Candidate,
    /// The number of the proposal that it is.
    wanted: Option<usize>,
    kernel: Kernel,
    seconds: Vec<f64>,
    /// True if it is run in further rounds.
    stays: bool,
}

impl Session<'_> {
    /// Nothing if some proposal is left, or there was none; otherwise why the first was refused.
    fn give_up(&mut self) -> Result<(), Error> {
        let is_refused = |one: &Proposal| self.refused.iter().any(|refused| refused.schedule == one.schedule);
        let all = !self.proposals.is_empty() && self.proposals.iter().all(is_refused);
        if all { Err(self.refused.swap_remove(0).reason) } else { Ok(()) }
    }

    /// Notes that a proposal cannot be run.
    fn refuse(&mut self, place: usize, reason: Error) {
        let schedule = &self.wanted[place].schedule;
        if self.refused.iter().all(|one| one.schedule != *schedule) {
            self.refused.push(Refused { schedule: schedule.clone(), reason });
        }
    }

    /// Tunes one statement, and puts its choice to those of the others.
    fn statement(&mut self, number: usize, choices: &mut [Option<Choice>]) -> Result<TunedStatement, Error> {
        let statement = &self.program.statements[number];
        let text = self.program.statement_text(statement);
        let found = self.candidates(number)?;
        let mut runners = self.compiled(number, found, choices)?;
        self.measure(number, &mut runners)?;
        self.give_up()?;
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

    /// The candidates for a statement, each with the number of the proposal that it is: the planner's choice, the proposals that
    /// are not refused, the others.
    fn candidates(&mut self, number: usize) -> Result<Vec<(Option<usize>, Candidate)>, Error> {
        let statement = &self.program.statements[number];
        let machine = machine(self.options)?;
        let request = Request {
            search: Search::Cost,
            strict: self.options.strict,
            schedule: None,
            memory: Memory::of(&machine),
            grain: self.options.grain.unwrap_or_else(|| machine.grain()),
            alone: self.options.alone,
        };
        let mut found = plan::candidates(&self.program, statement, &request)
            .map_err(|fault| Error::program(self.source, vec![fault]))?;
        let others = found.split_off(1.min(found.len()));
        let (mut given, mut refused) = (Vec::new(), Vec::new());
        for (place, Wanted { search, schedule, commands }) in self.wanted.iter().enumerate() {
            let commands = &commands[number];
            if commands.commands.is_empty() {
                continue;
            }
            let request = Request { search: *search, schedule: Some(commands), ..request };
            match plan::plan(&self.program, statement, &request) {
                Ok(_) => {
                    let idea = "as given".to_string();
                    given.push((Some(place), Candidate { search: *search, schedule: commands.clone(), idea }));
                }
                Err(diagnostic) => {
                    let diagnostics = vec![diagnostic];
                    refused.push((place, Error::Schedule { source_text: schedule.to_string(), diagnostics }));
                }
            }
        }
        refused.into_iter().for_each(|(place, reason)| self.refuse(place, reason));
        let is_given = |one: &Candidate| {
            given.iter().any(|(_, given)| (given.search, &given.schedule) == (one.search, &one.schedule))
        };
        let others: Vec<_> = others.into_iter().filter(|one| !is_given(one)).map(|one| (None, one)).collect();
        Ok(found.into_iter().map(|one| (None, one)).chain(given).chain(others).collect())
    }

    /// The candidates that can be compiled; the planner's choice is.
    fn compiled(
        &mut self,
        number: usize,
        found: Vec<(Option<usize>, Candidate)>,
        choices: &[Option<Choice>],
    ) -> Result<Vec<Runner>, Error> {
        let mut runners: Vec<Runner> = Vec::new();
        let total = found.len() as f64;
        for (place, (wanted, candidate)) in found.into_iter().enumerate() {
            self.tell(number, "compiling", &candidate.idea, COMPILING * place as f64 / total);
            let mut choices = choices.to_vec();
            choices[number] = (place > 0).then(|| choice(&candidate));
            match Kernel::chosen(self.source, self.options, Choices::Given(&choices)) {
                Ok(kernel) => {
                    let kernel = kernel.silent();
                    runners.push(Runner { candidate, wanted, kernel, seconds: Vec::new(), stays: true });
                }
                Err(error) if place == 0 => return Err(error),
                Err(error) => {
                    if let Some(wanted) = wanted {
                        self.refuse(wanted, error);
                    }
                }
            }
        }
        Ok(runners)
    }

    /// Runs candidates in rounds. Candidates that fail, for example because their workspaces need too much memory, are
    /// left out; a failure of the first is an error.
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
                Err(error) => {
                    if let Some(wanted) = runners.remove(place).wanted {
                        self.refuse(wanted, error);
                    }
                }
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
                // The times of the runs before the rounds have served their purpose.
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

    /// Stores the winners; nothing if the data that they are for are not known.
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
