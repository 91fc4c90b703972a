//! The peers of packed tensors: packed C, NumPy and taco, each a program that answers one request at a time.
//!
//! ```text
//! packed C, NumPy     make their inputs themselves, for a kernel and a size, and answer `step COUNT` with the time of a run and the sum of
//!                     the result
//! taco                gets tensors in a file, in formats of compressed and dense levels that store the same, as in other benchmarks
//! ```

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use lacunar::{DynTensor, Format, FormatSpec, median};

use super::kernels::{Kernel, Prepared};
use super::{FIRST_TURNS, runs_after, same};
use crate::engine::Engine;
use crate::peers::program::{Peer, Program, compile, sources};
use crate::peers::taco::{self, Wanted};
use crate::wire;

/// The names of the peers.
pub const NAMES: [&str; 3] = [PACKED_C, NUMPY, TACO];
const PACKED_C: &str = "packed C";
const NUMPY: &str = "numpy";
const TACO: &str = "taco";

/// The programs that could be built.
pub struct Peers {
    c: Option<Program>,
    numpy: Option<Program>,
    taco: Option<String>,
    folder: PathBuf,
}

impl Peers {
    /// Builds programs in a folder, unless no peers are wanted.
    pub fn build(folder: &Path, wanted: bool) -> Peers {
        let folder = folder.to_path_buf();
        if !wanted {
            return Peers { c: None, numpy: None, taco: None, folder };
        }
        let program = folder.join("structures");
        let c = match compile("cc", "structures.c", &["-ffast-math".to_string()], &program) {
            Ok(()) => Some(Program::new(&program)),
            Err(error) => {
                println!("packed C is left out: {error:#}");
                None
            }
        };
        let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
        let command = vec![python, sources().join("structures.py").into()];
        let taco = taco::command();
        if taco.is_none() {
            println!("taco is left out: the environment variable TACO does not name its command");
        }
        Peers { c, numpy: Some(Program { command, environment: Vec::new() }), taco, folder }
    }

    /// Starts the peers that compute a kernel for a size; says which are left out, and why.
    pub fn start(&self, kernel: &Kernel, size: u64, prepared: &Prepared) -> Vec<Rival> {
        let steps = |name, program: &Program| (name, Rival::stepping(name, program, kernel.name, size));
        let numpy = self.numpy.as_ref().filter(|_| size <= kernel.whole_up_to);
        let taco = self.taco.as_ref().filter(|_| !kernel.taco.is_empty());
        let started = [
            self.c.as_ref().map(|program| steps(PACKED_C, program)),
            numpy.map(|program| steps(NUMPY, program)),
            taco.map(|command| (TACO, self.taco(command, kernel, prepared))),
        ];
        let said = |(name, rival): (&str, Result<Rival>)| {
            rival.inspect_err(|error| println!("{name} is left out: {error:#}")).ok()
        };
        started.into_iter().flatten().filter_map(said).collect()
    }

    /// taco's code for a kernel, on the operands in its formats.
    fn taco(&self, command: &str, kernel: &Kernel, prepared: &Prepared) -> Result<Rival> {
        let format_of = |name: &str| kernel.taco.iter().find(|(own, _)| *own == name).map(|(_, format)| *format);
        let stored = |name: &str, order: usize| -> Result<Format> {
            Ok(format_of(name).map_or("dense", |format| format).parse::<FormatSpec>()?.resolve(order)?)
        };
        let mut inputs: Vec<(&str, DynTensor)> = Vec::new();
        for (name, tensor) in prepared.kernel.inputs().zip(&prepared.inputs) {
            inputs.push((name, tensor.convert(&stored(name, tensor.dims().len())?)?));
        }
        let result = prepared.result()?;
        let format = stored(kernel.result.0, result.dims().len())?;
        let arguments: String = (1..=inputs.len()).map(|place| format!(",t[{place}]")).collect();
        let function = if format.is_dense() { "compute" } else { "evaluate" };
        let wanted = Wanted {
            expression: kernel.text,
            formats: kernel.taco.to_vec(),
            arguments: Vec::new(),
            calls: format!("taco_{function}(t[0]{arguments});"),
            assembles: !format.is_dense(),
        };
        let program = taco::made(command, &wanted, &self.folder.join(format!("taco-{}", kernel.name)))?;
        let tensors = self.folder.join("tensors");
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&tensors)?);
        wire::write(&mut out, (result.dims(), &format), &inputs)?;
        out.flush()?;
        let peer = Peer::start(TACO, &program, &tensors, kernel.name, 1)?;
        Ok(Rival { name: TACO, peer, answers: Answers::Runs, times: Vec::new() })
    }
}

/// The requests that a peer answers.
#[derive(Clone, Copy)]
enum Answers {
    /// `step` and a number of runs with the mean time of one and the sum of its result.
    Steps,
    /// `run` and `check`, as `peers/peer.h` says.
    Runs,
}

/// A peer at work, and its times.
pub struct Rival {
    name: &'static str,
    peer: Peer,
    answers: Answers,
    times: Vec<f64>,
}

impl Rival {
    fn stepping(name: &'static str, program: &Program, kernel: &str, size: u64) -> Result<Rival> {
        let size = size.to_string();
        let peer = Peer::start(name, program, Path::new(&size), kernel, 1)?;
        Ok(Rival { name, peer, answers: Answers::Steps, times: Vec::new() })
    }

    /// Its name, one of [`NAMES`].
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Runs twice as often as is worth a turn, and times the second half; the result has to have this sum.
    pub fn turn(&mut self, expected: f64) -> Result<()> {
        let (first, sum) = self.runs(1)?;
        same(self.name, sum, expected)?;
        let runs = runs_after(first);
        self.runs(runs)?;
        let (time, _) = self.runs(runs)?;
        self.times.push(time);
        Ok(())
    }

    /// The mean milliseconds of so many runs, and the sum of the result.
    fn runs(&mut self, count: u32) -> Result<(f64, f64)> {
        match self.answers {
            Answers::Steps => {
                let answer = self.peer.ask(&format!("step {count}"))?;
                let &[time, sum] = &answer[..] else { bail!("{} answered {answer:?}", self.name) };
                Ok((time, sum))
            }
            Answers::Runs => {
                let times = self.peer.run(count as usize)?;
                Ok((times.iter().sum::<f64>() / f64::from(count), self.peer.check()?.sum))
            }
        }
    }

    /// The median of the times, without those of the first turns.
    pub fn time(&self) -> f64 {
        median(&self.times[FIRST_TURNS..])
    }
}
