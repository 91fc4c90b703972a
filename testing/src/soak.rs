//! Long runs of random programs that survive whatever a program does.
//!
//! A supervisor hands out seeds in batches to child processes of the same program, one for each job. A child says which seed it
//! begins, so that a crash, a hang or a report of a sanitizer is known by its seed; the next child goes on behind it. A program
//! that fails is shrunk, each smaller one in a child of its own, as long as it fails in the same manner. Failures are counted by
//! their manner: the first words of the first fault, without numbers and names.
//!
//! ```text
//! supervisor --batch 400 200--> child   "seed 400" "seed 401" "fault 401 ..." "seed 402" (crashes)
//!            --batch 403 197--> child   "seed 403" ... "done"
//!            --case FILE -----> child   one program, while shrinking
//! ```

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::case::CaseFile;
use crate::instance::Instance;
use crate::runner::guarded;
use crate::sanitize::BEGINNINGS;
use crate::shrink::shrink;
use crate::suite::Suite;

/// Seeds of one child.
const BATCH: u64 = 200;
/// The time that one program may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The memory that a child may map, in KiB, if the run limits it.
const MEMORY: u64 = 4 << 20;
/// The number of failures of one manner that are shrunk, and the number of runs for each.
const SHRUNK: usize = 25;
const BUDGET: usize = 120;
/// The time that one may take while another fault is looked for.
const IMPATIENCE: Duration = Duration::from_secs(5);
/// The manner of programs that do not end. They are not shrunk: it would take as long for each step.
const HANG: &str = "hang";
/// The time between two messages of progress.
const TELLS: Duration = Duration::from_secs(20);

/// The programs that are run, and how.
#[derive(Clone, Debug)]
pub struct Soak {
    /// The first seed.
    pub first: u64,
    /// The number of programs.
    pub count: u64,
    /// The number of children at once.
    pub jobs: usize,
    /// True if children have 4 GiB of memory at most. Sanitizers map more than any machine has.
    pub limited: bool,
    /// Environment variables of the children, by the number of the batch.
    pub environment: fn(u64) -> Vec<(&'static str, OsString)>,
    /// The file to which failures are written as they are found.
    pub report: PathBuf,
}

/// The failure of a program.
#[derive(Clone, Debug)]
struct Fault {
    manner: String,
    text: String,
}

/// Carries out `--batch FIRST COUNT`: runs every program in order, and prints its fault.
pub fn batch(first: u64, count: u64, suite: &Suite) -> ExitCode {
    let tell = |line: String| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{line}").and_then(|()| out.flush())
    };
    for seed in first..first.saturating_add(count) {
        let told = tell(format!("seed {seed}")).and_then(|()| match suite.attempt(seed) {
            Ok(()) => Ok(()),
            Err(fault) => tell(format!("fault {seed} {}", serde_json::Value::String(fault))),
        });
        // A supervisor that is gone needs no answers.
        if told.is_err() {
            return ExitCode::FAILURE;
        }
    }
    match tell("done".to_string()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Carries out `--case FILE`: runs the cases of a file, and fails with the first fault.
pub fn case(path: &Path, suite: &Suite) -> ExitCode {
    let verdict = std::fs::read_to_string(path).map_err(|error| error.to_string()).and_then(|text| {
        let cases = CaseFile::parse(&text)?;
        for case in &cases.case {
            for instance in cases.instances("case", case)? {
                suite.attempt_instance(instance)?;
            }
        }
        Ok(())
    });
    match verdict {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            println!("{fault}");
            ExitCode::from(1)
        }
    }
}

/// Runs all programs of a run; fails if one does.
pub fn soak(orders: &Soak) -> ExitCode {
    let run = Run {
        orders,
        next: AtomicU64::new(0),
        done: AtomicU64::new(0),
        found: Mutex::default(),
        begun: Instant::now(),
        told: Mutex::new(Instant::now()),
    };
    println!("programs {} to {}", orders.first, orders.first + orders.count - 1);
    std::thread::scope(|scope| {
        for job in 0..orders.jobs {
            let run = &run;
            scope.spawn(move || run.work(job));
        }
    });
    run.conclude()
}

struct Run<'a> {
    orders: &'a Soak,
    next: AtomicU64,
    done: AtomicU64,
    /// The seeds, by manner of fault.
    found: Mutex<BTreeMap<String, Vec<u64>>>,
    begun: Instant,
    told: Mutex<Instant>,
}

impl Run<'_> {
    fn work(&self, job: usize) {
        loop {
            let batch = self.next.fetch_add(1, Ordering::Relaxed);
            let (mut at, end) = (batch * BATCH, ((batch + 1) * BATCH).min(self.orders.count));
            if at >= end {
                return;
            }
            while at < end {
                at = self.child(job, batch, at, end);
            }
        }
    }

    /// Runs a child from program `at` on. Returns the program at which the next child has to begin.
    fn child(&self, job: usize, batch: u64, at: u64, end: u64) -> u64 {
        let first = self.orders.first + at;
        let log = std::env::temp_dir().join(format!("lacunar-soak-{}-{job}.log", std::process::id()));
        let arguments = ["--batch".to_string(), first.to_string(), (end - at).to_string()];
        let Some((mut child, lines)) = self.spawn(batch, &arguments, &log) else {
            self.note(first, batch, Fault { manner: "no child".into(), text: "no child could be started".into() });
            return end;
        };
        let mut seed = first;
        let fault = loop {
            match within(PATIENCE, &lines) {
                Ok(line) => match line.split_once(' ') {
                    Some(("seed", number)) => {
                        seed = number.parse().unwrap_or(seed);
                        self.done.fetch_add(1, Ordering::Relaxed);
                        self.tell();
                    }
                    Some(("fault", rest)) => {
                        let text = rest.split_once(' ').map_or(rest, |(_, text)| text);
                        let text: String = serde_json::from_str(text).unwrap_or_else(|_| text.to_string());
                        self.failed(job, seed, batch, Fault { manner: manner(&text), text });
                    }
                    _ if line == "done" => break None,
                    _ => {}
                },
                Err(RecvTimeoutError::Timeout) => break Some(stopped(&mut child)),
                Err(RecvTimeoutError::Disconnected) => break Some(crashed(&mut child, &log)),
            }
        };
        // It has said that it is done, or is gone.
        let _ = child.wait();
        let _ = std::fs::remove_file(&log);
        match fault {
            None => end,
            Some(fault) => {
                self.failed(job, seed, batch, fault);
                seed - self.orders.first + 1
            }
        }
    }

    fn spawn(&self, batch: u64, arguments: &[String], log: &Path) -> Option<(Child, Receiver<String>)> {
        let errors = std::fs::File::create(log).ok()?;
        let own = std::env::current_exe().ok()?;
        let mut command = match self.orders.limited {
            true => {
                let mut shell = Command::new("sh");
                shell.args(["-c", &format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\"")]).arg(own);
                shell
            }
            false => Command::new(own),
        };
        command.args(arguments).envs((self.orders.environment)(batch)).env("RUST_BACKTRACE", "0");
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors).spawn().ok()?;
        let out = BufReader::new(child.stdout.take()?);
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Some((child, receiver))
    }

    /// Counts a failure, shrinks it if there are few of its manner, and writes it down.
    fn failed(&self, job: usize, seed: u64, batch: u64, fault: Fault) {
        let known = self.found.lock().unwrap_or_else(PoisonError::into_inner).get(&fault.manner).map_or(0, Vec::len);
        if fault.manner == HANG {
            let case = guarded(|| crate::generate::generate(seed)).ok().flatten().map(|(_, case)| case.to_case_text());
            let text = format!("{}\n{}", fault.text, case.unwrap_or_default());
            return self.note(seed, batch, Fault { text, ..fault });
        }
        if known >= SHRUNK {
            return self.note(seed, batch, Fault { text: String::new(), ..fault });
        }
        let least = self.shrunk(job, seed, batch, &fault);
        self.note(seed, batch, Fault { text: least.unwrap_or(fault.text), manner: fault.manner });
    }

    /// The smallest program that fails in the same manner, as a case with its faults.
    fn shrunk(&self, job: usize, seed: u64, batch: u64, fault: &Fault) -> Option<String> {
        let path = std::env::temp_dir().join(format!("lacunar-soak-{}-{job}.toml", std::process::id()));
        let verdict = |instance: &Instance| {
            std::fs::write(&path, instance.to_case_text()).ok()?;
            self.verdict(job, batch, &path)
        };
        let same = |instance: &Instance| verdict(instance).is_some_and(|found| found.manner == fault.manner);
        let (sketch, instance) = guarded(|| crate::generate::generate(seed)).ok()??;
        let again = same(&instance);
        let least = if again { shrink(sketch, BUDGET, same).instance().ok()? } else { instance };
        let text = verdict(&least).map_or("(it does not fail again)".to_string(), |fault| fault.text);
        let _ = std::fs::remove_file(&path);
        let case = if text.contains("[[case]]") { String::new() } else { least.to_case_text() };
        Some(format!("{text}\n{case}"))
    }

    /// The failure of the case of a file, if it fails.
    fn verdict(&self, job: usize, batch: u64, path: &Path) -> Option<Fault> {
        let log = std::env::temp_dir().join(format!("lacunar-soak-{}-{job}.case.log", std::process::id()));
        let (mut child, lines) = self.spawn(batch, &["--case".to_string(), path.display().to_string()], &log)?;
        let mut text = String::new();
        let fault = loop {
            match within(IMPATIENCE, &lines) {
                Ok(line) => text += &(line + "\n"),
                Err(RecvTimeoutError::Timeout) => break Some(stopped(&mut child)),
                Err(RecvTimeoutError::Disconnected) => match child.wait().ok()?.code() {
                    Some(0) => break None,
                    Some(1) if !text.is_empty() => break Some(Fault { manner: manner(&text), text }),
                    _ => break Some(crashed(&mut child, &log)),
                },
            }
        };
        let _ = std::fs::remove_file(&log);
        fault
    }

    fn note(&self, seed: u64, batch: u64, fault: Fault) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let seeds = found.entry(fault.manner.clone()).or_default();
        seeds.push(seed);
        if seeds.len() > SHRUNK {
            return;
        }
        let environment: Vec<String> = (self.orders.environment)(batch)
            .into_iter()
            .map(|(name, value)| format!("{name}={:?}", value.to_string_lossy()))
            .collect();
        let text = format!(
            "==== seed {seed}: {}\n(repeat with: {} cargo test -p lacunar-testing --test random -- --batch {seed} 1)\n{}\n",
            fault.manner,
            environment.join(" "),
            fault.text
        );
        println!("{text}");
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&self.orders.report);
        if let Err(error) = file.and_then(|mut file| file.write_all(text.as_bytes())) {
            println!("{} cannot be written: {error}", self.orders.report.display());
        }
    }

    fn tell(&self) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.elapsed() >= TELLS {
            *told = Instant::now();
            println!("{}", self.progress());
        }
    }

    fn progress(&self) -> String {
        let (done, seconds) = (self.done.load(Ordering::Relaxed), self.begun.elapsed().as_secs_f64());
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let failed: usize = found.values().map(Vec::len).sum();
        format!(
            "{done} of {} programs, {:.0} a second; {failed} fail, in {} manners",
            self.orders.count,
            done as f64 / seconds.max(1e-3),
            found.len()
        )
    }

    fn conclude(&self) -> ExitCode {
        println!("{}", self.progress());
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        for (manner, seeds) in found.iter() {
            let shown: Vec<String> = seeds.iter().take(10).map(u64::to_string).collect();
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "{:>6}  {manner}  (seeds {})", seeds.len(), shown.join(", "));
        }
        print!("{text}");
        if found.is_empty() {
            return ExitCode::SUCCESS;
        }
        println!("reports: {}", self.orders.report.display());
        ExitCode::FAILURE
    }
}

/// The next line, if it comes in time. Seconds are counted, of which a run that is stopped for a while, and its children with it, has none.
fn within(patience: Duration, lines: &Receiver<String>) -> Result<String, RecvTimeoutError> {
    let mut received = lines.recv_timeout(Duration::from_secs(1));
    for _ in 1..patience.as_secs() {
        if !matches!(received, Err(RecvTimeoutError::Timeout)) {
            break;
        }
        received = lines.recv_timeout(Duration::from_secs(1));
    }
    received
}

fn stopped(child: &mut Child) -> Fault {
    // It may have ended by itself by now.
    let _ = child.kill();
    let _ = child.wait();
    let text = format!("no end within {} seconds", PATIENCE.as_secs());
    Fault { manner: HANG.to_string(), text }
}

/// The fault of a child that has ended, from its status and log.
fn crashed(child: &mut Child, log: &Path) -> Fault {
    let status = child.wait().map_or("(no status)".to_string(), |status| status.to_string());
    let log = std::fs::read_to_string(log).unwrap_or_default();
    let telling = |line: &&str| BEGINNINGS.iter().any(|beginning| line.contains(beginning));
    let why = log.lines().find(telling).or(log.lines().last()).unwrap_or_default();
    let from = log.lines().position(|line| telling(&line)).unwrap_or(log.lines().count().saturating_sub(12));
    let tail: Vec<&str> = log.lines().skip(from).take(25).collect();
    // `heap-buffer-overflow on address 0x..`, `data race (pid=..)`: the words before the part that differs from run to run.
    let kind = match why.split_once("Sanitizer:") {
        Some((_, kind)) => kind.split(" on ").next().and_then(|kind| kind.split(" (").next()).unwrap_or(kind),
        None => why,
    };
    Fault { manner: format!("crash ({status}): {}", bare(kind)), text: format!("{status}\n{}", tail.join("\n")) }
}

/// The manner of a failure that is told: its first fault without numbers and names.
fn manner(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.clone().find(|line| !line.starts_with("random/") && !line.starts_with("case/"));
    bare(first.unwrap_or_default())
}

fn bare(line: &str) -> String {
    let line = line.split(" should be ").next().unwrap_or(line);
    let mut text = String::new();
    for (place, part) in line.split('`').enumerate() {
        if place % 2 == 1 {
            text.push('_');
            continue;
        }
        for c in part.chars() {
            match c {
                '0'..='9' if text.ends_with('#') => {}
                '0'..='9' => text.push('#'),
                _ => text.push(c),
            }
        }
    }
    text.chars().take(120).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manners_are_without_numbers_and_names() {
        let fault = "random/12\nllvm, 3 threads: `R0`[1, 22] should be Real(1.0) and is Real(2.0)\n";
        assert_eq!(manner(fault), "llvm, # threads: _[#, #]");
        assert_eq!(manner("interp: run: index 12 is outside of `y_vals`"), "interp: run: index # is outside of _");
    }
}
