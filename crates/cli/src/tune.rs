//! `lacunar tune`: candidates for a program's schedule are measured on its data, and the winner is stored for later runs.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use lacunar::{Diagnostic, DynTensor, Effort, Measured, Schedule, Search, TunedStatement, Tuning};
use lacunar_base::Span;
use serde::Serialize;

use crate::args::TuneArgs;
use crate::failure::{self, Failure};
use crate::measure::number;
use crate::output;
use crate::prepare::{Prepared, Values, prepare};
use crate::program::Program;
use crate::report::{section, to_line};

/// Steps of the progress bar.
const STEPS: u64 = 1000;

/// The keys of `--json`.
#[derive(Debug, Serialize)]
struct Json<'a> {
    expression: String,
    backend: &'static str,
    exhaustive: bool,
    statements: Vec<JsonStatement<'a>>,
    /// The schedules that were given and cannot be run.
    refused: Vec<String>,
    stored: Option<String>,
}

#[derive(Debug, Serialize)]
struct JsonStatement<'a> {
    statement: &'a str,
    winner: usize,
    planner_over_best: f64,
    candidates: Vec<JsonCandidate<'a>>,
}

#[derive(Debug, Serialize)]
struct JsonCandidate<'a> {
    idea: &'a str,
    search: &'static str,
    schedule: &'a str,
    median_ms: f64,
    runs: usize,
    ratio: f64,
}

/// Tunes a program.
///
/// # Errors
/// Mistakes in the user's text, files that can't be read, memory that is refused; the winner can't be stored.
pub fn tune(program: &Program, args: &TuneArgs) -> Result<(), Failure> {
    if let Some(file) = args.program.outputs.first() {
        let diagnostic = Diagnostic::error("E1013", "`tune` measures, and writes no results")
            .label(Span::new(0, file.len()), "not written")
            .hint("write it with `run -o`, which takes the schedule that was found");
        return Err(Failure::text(file, "-o", diagnostic));
    }
    let Prepared { request, inputs, options, .. } = prepare(program, &args.program, Values::All)?;
    let given: Vec<(&str, &DynTensor)> = inputs.iter().map(|input| (input.name.as_str(), &input.tensor)).collect();
    let usual = Effort::default();
    let effort = Effort {
        time: args.seconds.map_or(usual.time, |seconds| Duration::from_secs(seconds.into())),
        rounds: args.program.time.unwrap_or(usual.rounds),
        exhaustive: args.exhaustive,
    };
    let bar = bar();
    let outcome =
        lacunar::tune_among(&program.text, &options, &given, &request.proposals(), &effort, &mut |progress| {
            bar.set_position((progress.done * STEPS as f64) as u64);
            bar.set_message(format!("{} {}", progress.doing, progress.idea));
        });
    bar.finish_and_clear();
    let Tuning { statements, refused, stored } = outcome.map_err(|error| program.failure(&request, error))?;
    let color = failure::is_colored();
    let (schedules, reasons): (Vec<_>, Vec<_>) = refused.into_iter().map(|one| (one.schedule, one.reason)).unzip();
    for reason in reasons {
        program.failure(&request, reason).print(color);
    }
    let file = match &stored {
        Some(Ok(path)) => Some(path.display().to_string()),
        _ => None,
    };
    let text = match args.program.json {
        true => {
            let object = Json {
                expression: statements.iter().map(|tuned| tuned.statement.as_str()).collect::<Vec<_>>().join("; "),
                backend: request.backend.name(),
                exhaustive: args.exhaustive,
                statements: statements.iter().map(json).collect(),
                refused: schedules.iter().map(|schedule| schedule.to_string()).collect(),
                stored: file,
            };
            to_line(&object)?
        }
        false => report(&statements, &schedules, file, options.tuned),
    };
    output::print(text.as_bytes())?;
    match stored {
        Some(Err(error)) => Err(Failure::Library(error)),
        _ => Ok(()),
    }
}

/// A bar on standard error, where that is a terminal.
fn bar() -> ProgressBar {
    let bar = ProgressBar::new(STEPS);
    // The template is a constant; should it ever be wrong, the default style does.
    if let Ok(style) = ProgressStyle::with_template("[{bar:40}] {percent}% {wide_msg}") {
        bar.set_style(style);
    }
    bar
}

/// The findings, with the file that holds the winners where they could be stored; `wanted` if they should be.
fn report(statements: &[TunedStatement], refused: &[Schedule], file: Option<String>, wanted: bool) -> String {
    let mut text = String::new();
    for tuned in statements {
        let rows: Vec<Vec<String>> =
            tuned.candidates.iter().enumerate().map(|(place, candidate)| row(tuned, place, candidate)).collect();
        section(&mut text, &tuned.statement, &rows);
    }
    let (first, last) = (statements.first().map(TunedStatement::planner), statements.last().map(TunedStatement::best));
    let mut rows = Vec::new();
    if let (Some(planner), Some(best)) = (first, last) {
        let times = format!("{} ms instead of {} ms", ms(best), ms(planner));
        let wins = statements.iter().any(|tuned| tuned.winner > 0);
        rows.push(vec![if wins { times } else { "the planner's choice stays".to_string() }]);
    }
    rows.push(vec![match file {
        Some(file) => format!("stored in {file}; runs on data of this class take it, unless --no-tuned is given"),
        None if wanted => {
            "not stored: the class of the data is not known, as the program makes a tensor itself".to_string()
        }
        None => "not stored".to_string(),
    }]);
    let given = refused.iter().map(|schedule| vec![format!("-s '{schedule}'")]).collect::<Vec<_>>();
    section(&mut text, "refused", &given);
    section(&mut text, "tuned", &rows);
    text
}

/// The columns: a mark at the winner, median, ratio to the planner's choice, runs, idea, flags that choose it.
fn row(tuned: &TunedStatement, place: usize, candidate: &Measured) -> Vec<String> {
    let mark = if place == tuned.winner { "*" } else { "" };
    vec![
        mark.to_string(),
        format!("{} ms", ms(candidate)),
        format!("x {:.3}", ratio(candidate, tuned.planner())),
        format!("{} runs", candidate.runs),
        candidate.idea.clone(),
        flags(candidate),
    ]
}

/// The flags with which `run` computes as a candidate does.
fn flags(candidate: &Measured) -> String {
    let commands = (!candidate.schedule.is_empty()).then(|| format!("-s '{}'", candidate.schedule));
    let nobody = (candidate.search == Search::Plain).then(|| "-s none".to_string());
    nobody.into_iter().chain(commands).collect::<Vec<_>>().join(" ")
}

fn json(tuned: &TunedStatement) -> JsonStatement<'_> {
    let best = tuned.candidates.iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds)).unwrap_or(tuned.best());
    JsonStatement {
        statement: &tuned.statement,
        winner: tuned.winner,
        planner_over_best: ratio(tuned.planner(), best),
        candidates: tuned.candidates.iter().map(|one| json_candidate(one, tuned.planner())).collect(),
    }
}

fn json_candidate<'a>(one: &'a Measured, planner: &Measured) -> JsonCandidate<'a> {
    JsonCandidate {
        idea: &one.idea,
        search: if one.search == Search::Cost { "auto" } else { "none" },
        schedule: one.schedule.text(),
        median_ms: one.seconds * 1e3,
        runs: one.runs,
        ratio: ratio(one, planner),
    }
}

fn ms(candidate: &Measured) -> String {
    number(candidate.seconds * 1e3)
}

/// The ratio of one candidate's time to another's; 1 if no time passed.
fn ratio(one: &Measured, other: &Measured) -> f64 {
    if other.seconds > 0.0 { one.seconds / other.seconds } else { 1.0 }
}
