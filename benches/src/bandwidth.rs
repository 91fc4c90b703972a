//! What the machine's memory allows: bytes a second, by how many bytes are touched.

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::peer::compile;

/// The largest array, in MiB.
const LARGEST: &str = "1024";

/// Measured speeds.
pub struct Bandwidth {
    /// Bytes touched, and gigabytes read a second, ascending.
    reads: Vec<(f64, f64)>,
    /// Gigabytes a second of `a = b + 3c` over the largest array.
    triad: f64,
}

impl Bandwidth {
    /// Compiles the program `peers/bandwidth.c` in `folder` and runs it.
    pub fn measure(folder: &Path) -> Result<Bandwidth> {
        let program = folder.join("bandwidth");
        compile("cc", "bandwidth.c", &["-ffast-math".to_string()], &program)?;
        let output = Command::new(&program).arg(LARGEST).env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1").output()?;
        ensure!(output.status.success(), "the program that measures it failed");
        Bandwidth::parse(&String::from_utf8_lossy(&output.stdout))
    }

    fn parse(text: &str) -> Result<Bandwidth> {
        let mut bandwidth = Bandwidth { reads: Vec::new(), triad: 0.0 };
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [what, bytes, speed] = words[..] else { continue };
            let (bytes, speed) = (bytes.parse::<f64>()?, speed.parse::<f64>()?);
            match what {
                "read" => bandwidth.reads.push((bytes, speed)),
                _ => bandwidth.triad = speed,
            }
        }
        bandwidth.reads.first().context("it printed no speed of reading")?;
        Ok(bandwidth)
    }

    /// The time in milliseconds in which so many bytes can be read once, if they were read just before as well.
    pub fn limit_ms(&self, bytes: u64) -> f64 {
        let bytes = bytes as f64;
        let at_least = self.reads.iter().find(|(touched, _)| *touched >= bytes);
        let speed = at_least.or(self.reads.last()).map_or(f64::INFINITY, |(_, speed)| *speed);
        bytes / speed * 1e-6
    }
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "read")?;
        for (bytes, speed) in &self.reads {
            write!(f, "  {:.2} MiB: {speed:.1}", bytes / f64::from(1 << 20))?;
        }
        write!(f, "  GB/s; triad: {:.1} GB/s", self.triad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_come_from_the_next_larger_size() {
        let bandwidth = Bandwidth::parse("read 1000 10\nread 1000000 5\ntriad 1000000 4\n").expect("well-formed");
        for (bytes, expected) in [(1000, 1e-4), (500_000, 0.1), (5_000_000, 1.0)] {
            assert!((bandwidth.limit_ms(bytes) / expected - 1.0).abs() < 1e-9, "{bytes}");
        }
    }
}
