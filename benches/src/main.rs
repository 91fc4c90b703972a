//! Benchmarks: kernels as data, over real inputs, against other engines, which take turns in one run.
//!
//! ```text
//! definitions/*.toml ──> definition ─┐
//! files of --data ─────> data ───────┼──> case ──> lacunar, peer ──> measure ──> report
//!                                    │              (engines)        (rounds)    (table, JSON lines)
//!                                    └── bandwidth: what the machine's memory allows
//! ```
//!
//! Every engine gets the same arrays. Results are compared, so an engine that is fast because it is wrong is noticed.

mod bandwidth;
mod case;
mod data;
mod definition;
mod engine;
mod lacunar_engine;
mod measure;
mod peer;
mod report;
mod wire;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Parser;

use crate::bandwidth::Bandwidth;
use crate::case::Case;
use crate::data::Source;
use crate::definition::Definition;
use crate::engine::Engine;
use crate::lacunar_engine::LacunarEngine;
use crate::peer::Peers;
use crate::report::Report;

/// Measures Lacunar's kernels, and other engines beside them.
#[derive(Parser)]
#[command(name = "lacunar-bench")]
struct Arguments {
    /// Only what has this text in "kernel/input".
    filter: Option<String>,
    /// Measure the peers that are installed as well: Eigen, and taco where TACO names its command.
    #[arg(long)]
    peers: bool,
    /// A folder of matrices and tensors.
    #[arg(long)]
    data: Option<PathBuf>,
    /// How many threads a kernel may use.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Write one JSON line a measurement to this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// A few inputs and rounds only.
    #[arg(long)]
    quick: bool,
    /// How often every engine has its turn; 0 chooses.
    #[arg(long, default_value_t = 0)]
    rounds: usize,
    /// Leave out the engine that goes through the C compiler.
    #[arg(long)]
    no_c: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    ensure!(arguments.threads == 1, "kernels run on one thread; `--threads 1` is all there is");
    let definitions = Definition::read_all()?;
    let sources = data::sources(arguments.data.as_deref(), arguments.quick)?;
    let workshop = tempfile::tempdir()?;
    let bandwidth = Bandwidth::measure(workshop.path());
    match &bandwidth {
        Ok(bandwidth) => println!("{bandwidth}"),
        Err(error) => println!("bandwidth is not measured: {error:#}"),
    }
    let peers = if arguments.peers { Peers::find(workshop.path()) } else { Peers::none() };
    let mut report = Report::new(arguments.json.as_deref(), bandwidth.ok())?;
    let rounds = match (arguments.rounds, arguments.quick) {
        (0, true) => 5,
        (0, false) => 9,
        (rounds, _) => rounds,
    };
    for source in &sources {
        let wanted = |definition: &&Definition| {
            let name = format!("{}/{}", definition.name, source.name());
            arguments.filter.as_deref().is_none_or(|filter| name.contains(filter))
        };
        let wanted: Vec<&Definition> = definitions.iter().filter(wanted).collect();
        if wanted.is_empty() {
            continue;
        }
        match source.read() {
            Ok(entries) => {
                for definition in wanted {
                    if let Err(error) =
                        measure_one(definition, source, &entries, &peers, rounds, !arguments.no_c, &mut report)
                    {
                        report.problem(&format!("{}/{}: {error:#}", definition.name, source.name()));
                    }
                }
            }
            Err(error) => report.problem(&format!("{}: {error:#}", source.name())),
        }
    }
    report.finish()
}

/// One kernel on one input: all engines, in turns.
fn measure_one(
    definition: &Definition,
    source: &Source,
    entries: &data::Entries,
    peers: &Peers,
    rounds: usize,
    with_c: bool,
    report: &mut Report,
) -> Result<()> {
    let Some(case) = Case::new(definition, source.name(), entries)? else { return Ok(()) };
    let mut engines: Vec<Box<dyn Engine + '_>> = Vec::new();
    if cfg!(feature = "llvm") {
        engines.push(Box::new(LacunarEngine::new(&case, lacunar::Backend::Llvm)?));
    }
    if with_c || !cfg!(feature = "llvm") {
        engines.push(Box::new(LacunarEngine::new(&case, lacunar::Backend::C)?));
    }
    for peer in peers.start(&case) {
        match peer {
            Ok(peer) => engines.push(Box::new(peer)),
            Err(error) => report.problem(&format!("{}/{}: {error:#}", definition.name, source.name())),
        }
    }
    let outcome = measure::take_turns(&mut engines, rounds);
    report.add(&case, &outcome)
}
