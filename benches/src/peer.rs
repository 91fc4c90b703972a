//! Other engines, each in a process of its own that answers one request at a time (`peers/peer.h`).
//!
//! Eigen is a C++ program of ours, compiled when it is first needed. taco is a command, named by the environment
//! variable `TACO`: it is asked for the C code of the same expression in the same formats, which is compiled with a
//! driver of ours. Both with `-O3 -march=native`, both on huge pages.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::case::Case;
use crate::definition::Taco;
use crate::engine::{Check, Engine};
use crate::wire;

/// Where the sources of peer programs are.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

/// Compiles a peer program.
pub fn compile(compiler: &str, source: &str, flags: &[String], program: &Path) -> Result<()> {
    let mut command = Command::new(compiler);
    command.args(["-O3", "-march=native", "-w"]).args(flags).arg("-I").arg(sources());
    command.arg(sources().join(source)).arg("-o").arg(program).arg("-lm");
    run_to_end(&mut command)
}

fn run_to_end(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("{command:?} can't be run"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().find(|line| line.contains("rror")).unwrap_or_default();
    ensure!(output.status.success(), "{} failed: {first}", command.get_program().display());
    Ok(())
}

/// The peers that are there.
pub struct Peers {
    eigen: Option<PathBuf>,
    taco: Option<String>,
    folder: PathBuf,
    /// taco's programs by kernel; the reason where there is none.
    taco_programs: RefCell<BTreeMap<String, Result<PathBuf, String>>>,
}

impl Peers {
    /// No peers.
    pub fn none() -> Peers {
        Peers { eigen: None, taco: None, folder: PathBuf::new(), taco_programs: RefCell::default() }
    }

    /// Looks for peers, says what is missing, and builds their programs in `folder`.
    pub fn find(folder: &Path) -> Peers {
        let program = folder.join("eigen");
        let include = "-I/usr/include/eigen3".to_string();
        let eigen = match compile("c++", "eigen.cpp", &[include, "-DNDEBUG".to_string()], &program) {
            Ok(()) => Some(program),
            Err(error) => {
                println!("Eigen is left out: {error:#}");
                None
            }
        };
        let taco = env::var("TACO").ok();
        if taco.is_none() {
            println!("taco is left out: the environment variable TACO does not name its command");
        }
        Peers { eigen, taco, folder: folder.to_path_buf(), taco_programs: RefCell::default() }
    }

    /// Starts every peer that has the kernel.
    pub fn start(&self, case: &Case) -> Vec<Result<Peer>> {
        let mut peers = Vec::new();
        if let (Some(program), Some(kernel)) = (&self.eigen, &case.definition.eigen) {
            peers.push(Peer::start("eigen", program, kernel, case));
        }
        if let (Some(taco), Some(how)) = (&self.taco, &case.definition.taco) {
            let name = &case.definition.name;
            let mut programs = self.taco_programs.borrow_mut();
            let program = programs.entry(name.clone()).or_insert_with(|| {
                build_taco(taco, how, case, &self.folder.join(format!("taco-{name}"))).map_err(|e| format!("{e:#}"))
            });
            peers.push(match program {
                Ok(program) => Peer::start("taco", program, name, case),
                Err(error) => Err(anyhow::anyhow!("taco: {error}")),
            });
        }
        peers
    }
}

/// Lets taco generate code for the kernel and compiles it with the driver.
fn build_taco(taco: &str, how: &Taco, case: &Case, program: &Path) -> Result<PathBuf> {
    let generated = program.with_extension("generated.c");
    let mut command = Command::new(taco);
    command.arg(&case.definition.expression).arg("-prefix=taco_").args(&how.options);
    for (name, tensor) in &case.definition.tensors {
        if !tensor.format.is_empty() {
            command.arg(format!("-f={name}:{}", tensor.format));
        }
    }
    command.arg(format!("-write-source={}", generated.display()));
    run_to_end(&mut command)?;
    let assembles = !case.result_format.is_dense();
    let arguments: Vec<String> = (0..=case.inputs.len()).map(|k| format!("t[{k}]")).collect();
    let functions: &[&str] = match (assembles, how.phases) {
        (false, _) => &["compute"],
        (true, false) => &["evaluate"],
        (true, true) => &["assemble", "compute"],
    };
    let calls: String = functions.iter().map(|function| format!("taco_{function}({});", arguments.join(","))).collect();
    let flags = [
        format!("-DKERNEL_FILE=\"{}\"", generated.display()),
        format!("-DCALL={calls}"),
        format!("-DASSEMBLES={}", u8::from(assembles)),
    ];
    compile("cc", "taco.c", &flags, program)?;
    Ok(program.to_path_buf())
}

/// A peer program at work on one case.
pub struct Peer {
    name: &'static str,
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    fn start(name: &'static str, program: &Path, kernel: &str, case: &Case) -> Result<Peer> {
        let tensors = program.with_extension("tensors");
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&tensors)?);
        wire::write(&mut out, case).with_context(|| name)?;
        out.flush()?;
        drop(out);
        let mut child = Command::new(program)
            .arg(&tensors)
            .arg(kernel)
            .env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("{name} has no standard input and output");
        };
        let mut peer = Peer { name, child, requests, answers: BufReader::new(answers) };
        let ready = peer.answer()?;
        fs::remove_file(&tensors)?;
        ensure!(ready == "ready", "{name} said `{ready}` instead of being ready");
        Ok(peer)
    }

    fn answer(&mut self) -> Result<String> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line).with_context(|| format!("{} can't be heard", self.name))?;
        ensure!(read > 0, "{} ended without an answer", self.name);
        Ok(line.trim().to_string())
    }

    fn ask(&mut self, request: &str) -> Result<Vec<f64>> {
        writeln!(self.requests, "{request}").with_context(|| format!("{} can't be asked", self.name))?;
        let answer = self.answer()?;
        let numbers = answer.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>();
        numbers.with_context(|| format!("{} answered `{answer}`", self.name))
    }
}

impl Engine for Peer {
    fn name(&self) -> &str {
        self.name
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
