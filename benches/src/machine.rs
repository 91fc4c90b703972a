//! The machine's limits: the speed of its memory, by the number of bytes touched, and the speed of multiplications and additions.

use std::fmt;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::peers::program::{HUGE_PAGES, compile};
use crate::processor::Processor;

/// The largest array, in MiB.
const LARGEST: &str = "1024";

/// The limits measured, for every number of threads.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Machine {
    /// The processor.
    pub processor: Processor,
    /// The day of the measurement, as `2026-11-23`.
    pub date: String,
    /// The command that measures.
    pub command: String,
    /// Ascending by threads.
    pub limits: Vec<Limits>,
}

/// The limits for some number of threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// The number of threads.
    pub threads: usize,
    /// Bytes touched, and gigabytes read a second, ascending.
    pub read_gbytes_per_s: Vec<(f64, f64)>,
    /// Gigabytes a second of `a = b + 3c` over the largest array.
    pub triad_gbytes_per_s: f64,
    /// Fused multiply-adds of the widest vectors, in billions of operations a second.
    pub peak_gflops: f64,
}

impl Machine {
    /// Compiles the program `peers/machine.c` in `folder` and runs it with each number of threads.
    pub fn measure(folder: &Path, threads: &[usize]) -> Result<Machine> {
        let program = folder.join("machine");
        compile("cc", "machine.c", &["-ffast-math".to_string(), "-mprefer-vector-width=512".to_string()], &program)
            .or_else(|_| compile("cc", "machine.c", &["-ffast-math".to_string()], &program))?;
        let mut limits = Vec::new();
        for &threads in threads {
            let mut command = Command::new(&program);
            command.arg(LARGEST).env(HUGE_PAGES.0, HUGE_PAGES.1).env("OMP_NUM_THREADS", threads.to_string());
            let output = command.output()?;
            ensure!(output.status.success(), "the program that measures it failed");
            limits.push(Limits::parse(threads, &String::from_utf8_lossy(&output.stdout))?);
        }
        Ok(Machine { limits, ..Machine::at_hand() })
    }

    /// The machine without its limits.
    pub fn at_hand() -> Machine {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        // Only the last part of a path says something to others.
        let last = |argument: &str| argument.rsplit('/').next().unwrap_or_default().to_string();
        let short = |argument: String| if argument.starts_with('/') { last(&argument) } else { argument };
        let mut arguments: Vec<String> = std::env::args().skip(1).map(short).collect();
        // The folder of the records has nothing to do with the measurements.
        if let Some(place) = arguments.iter().position(|argument| argument == "--out") {
            arguments.drain(place..arguments.len().min(place + 2));
        }
        let command = format!("./x bench {}", arguments.join(" ")).trim_end().to_string();
        Machine { processor: Processor::at_hand(), date: date(seconds / 86_400), command, limits: Vec::new() }
    }

    /// The limits of so many threads.
    pub fn limits(&self, threads: usize) -> Option<&Limits> {
        self.limits.iter().find(|limits| limits.threads == threads)
    }
}

/// The number of threads of all programs that ran or waited to run in the last minute; 0 where the system does not tell.
pub fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0.0)
}

/// The date of a day, counted from 1970-01-01 (Hinnant, "chrono-compatible low-level date algorithms", 2013: years begin in March,
/// so that the day that is put in at times is the last one).
fn date(day: u64) -> String {
    let day = day + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{}-{month:02}-{of_month:02}", year + 400 * era + later)
}

impl Limits {
    fn parse(threads: usize, text: &str) -> Result<Limits> {
        let mut limits = Limits { threads, ..Limits::default() };
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [what, bytes, speed] = words[..] else { continue };
            let (bytes, speed) = (bytes.parse::<f64>()?, speed.parse::<f64>()?);
            match what {
                "read" => limits.read_gbytes_per_s.push((bytes, speed)),
                "triad" => limits.triad_gbytes_per_s = speed,
                _ => limits.peak_gflops = speed,
            }
        }
        limits.read_gbytes_per_s.first().context("it printed no speed of reading")?;
        Ok(limits)
    }

    /// Gigabytes a second where so many bytes are read again and again.
    pub fn bandwidth(&self, bytes: f64) -> f64 {
        let at_least = self.read_gbytes_per_s.iter().find(|(touched, _)| *touched >= bytes);
        at_least.or(self.read_gbytes_per_s.last()).map_or(f64::INFINITY, |(_, speed)| *speed)
    }

    /// The bandwidth of the largest array, which fits in no cache.
    pub fn memory(&self) -> f64 {
        self.bandwidth(f64::INFINITY)
    }

    /// The least time in milliseconds: so many bytes moved once, if they were touched just before as well, or so many
    /// operations done, whichever takes longer.
    pub fn limit_ms(&self, bytes: u64, flops: u64) -> f64 {
        let moved = bytes as f64 / self.bandwidth(bytes as f64) * 1e-6;
        moved.max(flops as f64 / self.peak_gflops * 1e-6)
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} thread(s): read", self.threads)?;
        for (bytes, speed) in &self.read_gbytes_per_s {
            write!(f, "  {} MiB: {speed:.0}", bytes / f64::from(1 << 20))?;
        }
        write!(f, "  GB/s; triad {:.0} GB/s; peak {:.0} GFLOP/s", self.triad_gbytes_per_s, self.peak_gflops)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_days() {
        let expected = [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_780, "2026-11-23"),
        ];
        for (day, text) in expected {
            assert_eq!(date(day), text);
        }
    }

    #[test]
    fn limits_come_from_the_next_larger_size_or_the_peak() {
        let limits =
            Limits::parse(1, "read 1000 10\nread 1000000 5\ntriad 1000000 4\npeak 0 2\n").expect("well-formed");
        for (bytes, flops, expected) in
            [(1000, 0, 1e-4), (500_000, 10, 0.1), (5_000_000, 0, 1.0), (1000, 4_000_000, 2.0)]
        {
            assert!((limits.limit_ms(bytes, flops) / expected - 1.0).abs() < 1e-9, "{bytes}");
        }
        assert_eq!(limits.memory(), 5.0);
    }
}
