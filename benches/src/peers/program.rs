//! Peer programs: their compilation, and one at work, which answers one request at a time (`peers/peer.h`).

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::engine::{Check, Engine};

/// Makes the C library ask for huge pages.
pub const HUGE_PAGES: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");

/// The folder of sources.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

/// Compiles a peer program.
pub fn compile(compiler: &str, source: &str, flags: &[String], program: &Path) -> Result<()> {
    let mut command = Command::new(compiler);
    command.args(["-O3", "-march=native", "-fopenmp", "-w", "-I"]).arg(sources());
    command.arg(sources().join(source)).args(flags).arg("-o").arg(program).arg("-lm");
    run_to_end(&mut command)
}

/// Runs a command; an error says the first line in which it speaks of one.
pub fn run_to_end(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("{command:?} can't be run"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().collect();
    let place = lines.iter().position(|line| line.contains("rror")).unwrap_or(0);
    let first = lines[place.min(lines.len())..].iter().take(2).copied().collect::<Vec<_>>().join(" ");
    ensure!(output.status.success(), "{} failed: {first}", command.get_program().display());
    Ok(())
}

/// The command that starts a peer program.
#[derive(Clone, Debug)]
pub struct Program {
    /// The command and its first arguments.
    pub command: Vec<OsString>,
    /// Variables of its environment.
    pub environment: Vec<(&'static str, OsString)>,
}

impl Program {
    /// A program of one file.
    pub fn new(path: &Path) -> Program {
        Program { command: vec![path.into()], environment: Vec::new() }
    }
}

/// A peer program at work on one case.
pub struct Peer {
    name: String,
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    inspection_ms: f64,
}

impl Peer {
    /// Starts a program on a file of tensors. The kernel's variant becomes part of the engine's name.
    pub fn start(engine: &str, program: &Program, tensors: &Path, kernel: &str, threads: usize) -> Result<Peer> {
        let name = kernel.split_once(':').map_or(engine.to_string(), |(_, variant)| format!("{engine}:{variant}"));
        let [first, rest @ ..] = &program.command[..] else { bail!("{name} has no command") };
        let mut command = Command::new(first);
        command.args(rest).arg(tensors).arg(kernel).env(HUGE_PAGES.0, HUGE_PAGES.1);
        for variable in ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RSB_NUM_THREADS"] {
            command.env(variable, threads.to_string());
        }
        // Idle threads of one engine must not run into the turn of the next: see the rest in `measure`.
        command.envs([("KMP_BLOCKTIME", "5"), ("MKL_DYNAMIC", "FALSE"), ("OMP_DYNAMIC", "FALSE")]);
        command.envs(program.environment.iter().map(|(variable, value)| (variable, value)));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("{name} has no standard input and output");
        };
        let mut peer = Peer { name, child, requests, answers: BufReader::new(answers), inspection_ms: 0.0 };
        let ready = peer.answer()?;
        let inspection = ready.strip_prefix("ready ").and_then(|time| time.parse().ok());
        peer.inspection_ms =
            inspection.with_context(|| format!("{} said `{ready}` instead of being ready", peer.name))?;
        Ok(peer)
    }

    fn answer(&mut self) -> Result<String> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line).with_context(|| format!("{} can't be heard", self.name))?;
        ensure!(read > 0, "{} ended without an answer", self.name);
        Ok(line.trim().to_string())
    }

    /// Asks for numbers.
    ///
    /// # Errors
    /// The program is gone, or answers otherwise.
    pub fn ask(&mut self, request: &str) -> Result<Vec<f64>> {
        writeln!(self.requests, "{request}").with_context(|| format!("{} can't be asked", self.name))?;
        let answer = self.answer()?;
        let numbers = answer.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>();
        numbers.with_context(|| format!("{} answered `{answer}`", self.name))
    }
}

impl Engine for Peer {
    fn name(&self) -> &str {
        &self.name
    }

    fn inspection_ms(&self) -> f64 {
        self.inspection_ms
    }

    fn run(&mut self, times: usize) -> Result<Vec<f64>> {
        self.ask(&format!("run {times}"))
    }

    fn check(&mut self) -> Result<Check> {
        match self.ask("check")?[..] {
            [values, sum, magnitude, placed] => Ok(Check { values: values as u64, sum, magnitude, placed }),
            _ => bail!("{} answered a check with other than four numbers", self.name),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // A process that has ended already is as good as one that is ended here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn start(script: &str, kernel: &str) -> Result<Peer> {
        let command = ["sh", "-c", script].map(OsString::from).to_vec();
        Peer::start("mkl", &Program { command, environment: Vec::new() }, Path::new("tensors"), kernel, 2)
    }

    #[test]
    fn peers_answer_requests() {
        let script = "echo ready 2.5; while read word rest; do \
                      case $word in run) echo 1 $OMP_NUM_THREADS;; check) echo 3 1.5 1.5 0.5;; esac; done";
        let mut peer = start(script, "spmv:inspected").unwrap();
        assert_eq!((peer.name(), peer.inspection_ms()), ("mkl:inspected", 2.5));
        assert_eq!(peer.run(2).unwrap(), [1.0, 2.0]);
        let check = peer.check().unwrap();
        assert_eq!((check.values, check.sum, check.magnitude, check.placed), (3, 1.5, 1.5, 0.5));
    }

    #[test]
    fn peers_that_fail_are_errors() {
        assert!(start("exit 1", "spmv").is_err());
        assert!(start("echo hello", "spmv").is_err());
        let mut peer = start("echo ready 0; read line; echo what", "spmv").unwrap();
        assert_eq!(peer.name(), "mkl");
        assert!(peer.run(1).is_err());
        assert!(peer.check().is_err());
    }
}
