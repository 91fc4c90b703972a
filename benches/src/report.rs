//! What was measured, as JSON lines and as a table.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::bandwidth::Bandwidth;
use crate::case::Case;
use crate::measure::Measurement;

/// Where measurements go.
pub struct Report {
    json: Option<BufWriter<File>>,
    bandwidth: Option<Bandwidth>,
    /// By kernel and engine: its times as multiples of the first engine's.
    ratios: BTreeMap<(String, String), Vec<f64>>,
    problems: Vec<String>,
}

/// One line of JSON.
#[derive(Serialize)]
struct Line<'a> {
    kernel: &'a str,
    input: &'a str,
    engine: &'a str,
    times_ms: &'a [f64],
    median_ms: f64,
    min_ms: f64,
    max_ms: f64,
    nnz: u64,
    bytes: u64,
    gbytes_per_s: f64,
    limit_ms: Option<f64>,
    checksum: f64,
}

impl Report {
    /// Writes JSON lines to `json`, if given, as they come.
    pub fn new(json: Option<&Path>, bandwidth: Option<Bandwidth>) -> Result<Report> {
        let create = |path: &Path| File::create(path).with_context(|| format!("{} can't be written", path.display()));
        let json = json.map(create).transpose()?.map(BufWriter::new);
        Ok(Report { json, bandwidth, ratios: BTreeMap::new(), problems: Vec::new() })
    }

    /// Something could not be measured.
    pub fn problem(&mut self, text: &str) {
        println!("! {text}");
        self.problems.push(text.to_string());
    }

    /// Adds a kernel on an input. The first engine is what others are compared with.
    pub fn add(&mut self, case: &Case, measurements: &[Measurement]) -> Result<()> {
        let (kernel, input) = (case.definition.name.as_str(), case.input);
        let ours = measurements.first().and_then(Measurement::median_ms);
        let mut row = format!("{kernel:<10} {input:<26} nnz {:>8}", case.nnz());
        for measurement in measurements {
            let engine = measurement.engine.as_str();
            match &measurement.times_ms {
                Ok(times) => {
                    let median = crate::measure::median(times);
                    let ratio = ours.map_or(1.0, |ours| median / ours);
                    let (min, max) = (
                        times.iter().copied().fold(f64::INFINITY, f64::min),
                        times.iter().copied().fold(0.0, f64::max),
                    );
                    row += &format!("  {engine} {median:.4} [{min:.4} {max:.4}]");
                    if engine != measurements[0].engine {
                        row += &format!(" x{ratio:.2}");
                        self.ratios.entry((kernel.to_string(), engine.to_string())).or_default().push(ratio);
                    }
                    self.write_line(case, measurement, times, (median, min, max))?;
                }
                Err(error) => self.problem(&format!("{kernel}/{input}: {engine}: {error:#}")),
            }
        }
        if let Some(limit) = self.limit(case, measurements[0].check.values) {
            row += &format!("  limit {limit:.4}");
        }
        println!("{row}");
        Ok(())
    }

    /// The least time the memory allows.
    fn limit(&self, case: &Case, values: u64) -> Option<f64> {
        let bandwidth = self.bandwidth.as_ref().filter(|_| case.definition.bandwidth_bound)?;
        Some(bandwidth.limit_ms(case.bytes(values)))
    }

    fn write_line(
        &mut self,
        case: &Case,
        measurement: &Measurement,
        times_ms: &[f64],
        (median_ms, min_ms, max_ms): (f64, f64, f64),
    ) -> Result<()> {
        let bytes = case.bytes(measurement.check.values);
        let line = Line {
            kernel: &case.definition.name,
            input: case.input,
            engine: &measurement.engine,
            times_ms,
            median_ms,
            min_ms,
            max_ms,
            nnz: case.nnz(),
            bytes,
            gbytes_per_s: bytes as f64 / median_ms * 1e-6,
            limit_ms: self.limit(case, measurement.check.values),
            checksum: measurement.check.sum,
        };
        if let Some(json) = &mut self.json {
            writeln!(json, "{}", serde_json::to_string(&line)?)?;
            json.flush()?;
        }
        Ok(())
    }

    /// Prints geometric means, and what went wrong.
    pub fn finish(self) -> Result<()> {
        println!(
            "\ntimes of others as multiples of ours: geometric mean, least, greatest, and how many are below 1/1.05"
        );
        for ((kernel, engine), ratios) in &self.ratios {
            let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
            let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
            let greatest = ratios.iter().copied().fold(0.0, f64::max);
            let behind = ratios.iter().filter(|ratio| **ratio < 1.0 / 1.05).count();
            println!(
                "{kernel:<10} {engine:<10} {mean:>6.2} {least:>6.2} {greatest:>6.2}  {behind} of {}",
                ratios.len()
            );
        }
        if !self.problems.is_empty() {
            println!("\n{} problems:", self.problems.len());
            for problem in &self.problems {
                println!("! {problem}");
            }
        }
        Ok(())
    }
}
