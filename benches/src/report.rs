//! The measurements, as JSON lines and as a table that grows.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};

use crate::case::Case;
use crate::charts;
use crate::class::Classes;
use crate::machine::{self, Machine};
use crate::measure::Measurement;
use crate::pages;
use crate::record::{Line, Record, duels};
use crate::steps;
use crate::summary::summary;

/// The name of the file of JSON lines.
pub const FILE: &str = "measurements.jsonl";

/// The report that takes the measurements.
pub struct Report {
    folder: PathBuf,
    json: BufWriter<File>,
    machine: Machine,
    lines: Vec<Line>,
    problems: Vec<String>,
    progress: ProgressBar,
    classes: Classes,
}

impl Report {
    /// Writes to a folder, which is made. `steps` is how many cases there may be.
    pub fn new(folder: &Path, machine: Machine, steps: usize) -> Result<Report> {
        let classes = Classes::read()?;
        fs::create_dir_all(folder).with_context(|| format!("{} can't be made", folder.display()))?;
        let path = folder.join(FILE);
        let file = File::create(&path).with_context(|| format!("{} can't be written", path.display()))?;
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed_precise} (about {eta} left) {msg}")?;
        let progress = ProgressBar::new(steps as u64).with_style(style);
        let (folder, json) = (folder.to_path_buf(), BufWriter::new(file));
        let mut report = Report {
            folder,
            json,
            machine: machine.clone(),
            lines: Vec::new(),
            problems: Vec::new(),
            progress,
            classes,
        };
        for limits in &machine.limits {
            report.say(&limits.to_string());
        }
        report.write(&Record::Machine(machine))?;
        Ok(report)
    }

    fn say(&self, text: &str) {
        self.progress.suspend(|| println!("{text}"));
    }

    fn write(&mut self, record: &Record) -> Result<()> {
        writeln!(self.json, "{}", serde_json::to_string(record)?)?;
        Ok(self.json.flush()?)
    }

    /// A case is being measured.
    pub fn begin(&self, name: &str) {
        self.progress.set_message(name.to_string());
    }

    /// Cases are done, or were none.
    pub fn advance(&self, cases: usize) {
        self.progress.inc(cases as u64);
    }

    /// Something could not be measured.
    pub fn problem(&mut self, text: &str) -> Result<()> {
        self.say(&format!("! {text}"));
        self.problems.push(text.to_string());
        self.write(&Record::Problem { text: text.to_string() })
    }

    /// Adds a kernel on an input. The first engine is the one that others are compared with.
    pub fn add(&mut self, case: &Case, threads: usize, measurements: &[Measurement]) -> Result<()> {
        let (kernel, input) = (&case.definition.name, case.input);
        let mut row = format!("{kernel:<9} {input:<26} nnz {:>8}  threads {threads}", case.nnz());
        let mut ours = None;
        for measurement in measurements {
            let engine = measurement.engine.as_str();
            match &measurement.times_ms {
                Ok(times) => {
                    let line = self.line(case, threads, measurement, times);
                    row += &format!("  {engine} {:.4}", line.median_ms);
                    match ours {
                        None => ours = Some(line.median_ms),
                        Some(ours) => row += &format!(" x{:.2}", line.median_ms / ours),
                    }
                    self.write(&Record::Measurement(Box::new(line.clone())))?;
                    self.lines.push(line);
                }
                Err(error) => self.problem(&format!("{kernel}/{input}, {threads} thread(s): {engine}: {error:#}"))?,
            }
        }
        self.say(&row);
        Ok(())
    }

    fn line(&self, case: &Case, threads: usize, measurement: &Measurement, times_ms: &[f64]) -> Line {
        let (bytes, flops) = (case.bytes(measurement.check.values), case.flops());
        let median_ms = lacunar::median(times_ms);
        let limit_ms = self.machine.limits(threads).map(|limits| limits.limit_ms(bytes, flops));
        Line {
            kernel: case.definition.name.clone(),
            input: case.input.to_string(),
            series: case.series.map(|place| place.series.to_string()),
            at: case.series.map(|place| place.at),
            engine: measurement.engine.clone(),
            class: self.classes.of(case.definition, &measurement.engine),
            threads,
            times_ms: times_ms.to_vec(),
            median_ms,
            min_ms: times_ms.iter().copied().fold(f64::INFINITY, f64::min),
            max_ms: times_ms.iter().copied().fold(0.0, f64::max),
            load: machine::load(),
            inspection_ms: measurement.inspection_ms,
            nnz: case.nnz(),
            items: case.items(),
            values: measurement.check.values,
            bytes,
            chosen_bytes: case.chosen_bytes(),
            flops,
            gbytes_per_s: bytes as f64 / median_ms * 1e-6,
            gflops: flops as f64 / median_ms * 1e-6,
            limit_ms,
            of_limit: limit_ms.map(|limit| limit / median_ms),
            checksum: measurement.check.sum,
        }
    }

    /// Draws the charts, and prints the summary and the problems. Writes the processor's page into a folder, if there is one.
    pub fn finish(self, pages: Option<&Path>) -> Result<()> {
        self.progress.finish_and_clear();
        print!("{}", summary(&self.lines));
        print_steps(&self.machine, &self.lines);
        for problem in &self.problems {
            println!("! {problem}");
        }
        println!("{}", self.folder.join(FILE).display());
        for chart in charts::draw(&self.folder, &self.machine, &self.lines)? {
            println!("{}", chart.display());
        }
        if let Some(folder) = pages {
            println!("{}", pages::write(folder, &self.machine, &self.lines, &self.problems)?.display());
        }
        Ok(())
    }
}

/// Prints the steps of series, where there are series.
pub fn print_steps(machine: &Machine, lines: &[Line]) {
    let duels = duels(lines);
    let steps = steps::text(&duels.iter().collect::<Vec<_>>(), &machine.processor.caches);
    if !steps.is_empty() {
        println!("\nsteps: our time for each entry or product from one input to the next, by more than half");
    }
    for step in steps {
        println!("{step}");
    }
}
