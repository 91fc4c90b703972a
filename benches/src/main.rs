//! Benchmarks: kernels as data, over real inputs, against other engines, which take turns in one run.
//!
//! ```text
//! definitions/*.toml ──> definition ─┐
//! files of --data ─────> data ───────┼──> case ──> lacunar, peers ──> measure ──> report ──> record (JSON lines)
//!                                    │              (engines)         (rounds)           ╰─> charts (SVG, PNG)
//!                                    └── machine: what its memory and its multipliers allow
//! ```
//!
//! Every engine gets the same arrays. Results are compared, so an engine that is fast because it is wrong is noticed.

mod case;
mod charts;
mod class;
mod compile_times;
mod data;
mod definition;
mod densities;
mod dynamic;
mod engine;
mod fill;
mod graph;
mod insertion;
mod lacunar_engine;
mod machine;
mod made;
mod measure;
mod pages;
mod peers;
mod processor;
mod program;
mod record;
mod report;
mod steps;
mod structures;
mod summary;
mod wire;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;

use crate::case::Case;
use crate::data::{Entries, Source, Wanted};
use crate::definition::{Definition, KERNELS, PROGRAMS};
use crate::engine::Engine;
use crate::lacunar_engine::LacunarEngine;
use crate::machine::Machine;
use crate::peers::Peers;
use crate::peers::room::Room;
use crate::record::Record;
use crate::report::Report;

/// Measures Lacunar's kernels, and other engines beside them
#[derive(Parser)]
#[command(name = "lacunar-bench", after_long_help = PEERS)]
struct Arguments {
    /// Only what has one of these texts in "kernel/input"
    filters: Vec<String>,
    /// Measure the peers that are installed as well
    #[arg(long)]
    peers: bool,
    /// Measure kernels written by hand as well (benches/floor)
    #[arg(long)]
    floor: bool,
    /// A folder of matrices and tensors (.mtx .tns, also .gz .zst)
    #[arg(long)]
    data: Option<PathBuf>,
    /// Grids and random inputs, though there may be files
    #[arg(long, conflicts_with = "data")]
    made_up: bool,
    /// Random matrices and grids of growing sizes as well
    #[arg(long)]
    scaling: bool,
    /// How many threads each engine gets: one number or several
    #[arg(long, value_delimiter = ',', default_value = "1")]
    threads: Vec<usize>,
    /// The folder for JSON lines and charts; `bench` in the build folder if not given
    #[arg(long)]
    out: Option<PathBuf>,
    /// Measure nothing: summarize and draw again what is in the folder of --out
    #[arg(long)]
    draw: bool,
    /// Write docs/benchmarks/PROCESSOR.md as well, with charts, and the table of all processors (with --draw: of an earlier run)
    #[arg(long)]
    report: bool,
    /// A few inputs and rounds only
    #[arg(long)]
    quick: bool,
    /// How often every engine has its turn; 0 chooses
    #[arg(long, default_value_t = 0)]
    rounds: usize,
    /// Measure compilation instead: every program of the corpus, or those with the filter's text in their names
    #[arg(long)]
    compile_times: bool,
    /// With --compile-times: one program in so many of the corpus
    #[arg(long, default_value = "1", requires = "compile_times")]
    every: NonZeroUsize,
    /// Measure instead how long it takes to put random entries into hashed levels, beside a hash map
    #[arg(long)]
    insertion: bool,
    /// Measure instead levels of nodes: steps over them, and updates (with --peers: PAM, CPAM and Aspen beside)
    #[arg(long)]
    dynamic: bool,
    /// Measure instead packed tensors (with --peers: packed C and NumPy beside)
    #[arg(long)]
    structures: bool,
    /// Measure instead bitmaps beside compressed levels, by density
    #[arg(long)]
    densities: bool,
    /// Measure programs and statements with other indices than variables instead (benches/programs)
    #[arg(long)]
    programs: bool,
    /// Measure our kernels through the C compiler as well (with one number of threads)
    #[arg(long)]
    with_c: bool,
    /// Measure our kernels as planned from formats alone as well, without sizes
    #[arg(long)]
    formats_only: bool,
}

/// The places where peers are looked for.
const PEERS: &str = "\
Peers are found where they are installed, and left out where they are not:
  oneMKL       MKLROOT, else the Python package `mkl` with `mkl-include`
  GraphBLAS    GRAPHBLAS_ROOT, else the Python package `suitesparse-graphblas`, else the system's
  SciPy        the Python interpreter PYTHON, else `python3`; packages above are looked for beside it too
  Eigen        EIGEN_ROOT, else the system's
  librsb       LIBRSB_ROOT, else the system's
  taco         TACO, its command
docs/benchmarks.md says how to install each.";

impl Arguments {
    fn out(&self) -> PathBuf {
        let beside =
            || std::env::current_exe().ok().and_then(|program| Some(program.parent()?.parent()?.join("bench")));
        self.out.clone().or_else(beside).unwrap_or_else(|| PathBuf::from("bench"))
    }

    /// The folder for pages, where they are wanted.
    fn pages(&self) -> Option<PathBuf> {
        self.report.then(pages::folder)
    }

    fn with_c(&self) -> bool {
        self.with_c || !cfg!(feature = "llvm")
    }

    fn rounds(&self) -> usize {
        match (self.rounds, self.quick) {
            (0, true) => 5,
            (0, false) => 9,
            (rounds, _) => rounds,
        }
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if arguments.draw {
        return draw_again(&arguments.out(), arguments.pages().as_deref());
    }
    if arguments.insertion {
        return insertion::measure(arguments.rounds(), arguments.quick);
    }
    if arguments.dynamic {
        ensure!(!arguments.threads.contains(&0), "`--threads` are numbers from 1");
        let Arguments { filters, threads, quick, peers, .. } = &arguments;
        let one = |threads: &usize| dynamic::measure(filters, arguments.rounds(), *quick, *peers, *threads);
        return threads.iter().try_for_each(one);
    }
    if arguments.structures {
        return structures::measure(&arguments.filters, arguments.rounds(), arguments.quick, arguments.peers);
    }
    if arguments.densities {
        return densities::measure(10 * arguments.rounds(), arguments.quick);
    }
    if arguments.compile_times {
        let rounds = if arguments.quick { 1 } else { arguments.rounds.max(3) };
        return compile_times::measure(&arguments.filters, rounds, arguments.every);
    }
    ensure!(!arguments.threads.contains(&0), "`--threads` are numbers from 1");
    if arguments.with_c() {
        let &[threads] = &arguments.threads[..] else {
            bail!("kernels through the C compiler run on OpenMP's threads: `--threads` can be one number only");
        };
        if std::env::var("OMP_NUM_THREADS").ok() != Some(threads.to_string()) {
            return run_again(threads);
        }
    }
    let Arguments { made_up, scaling, quick, programs, .. } = arguments;
    let definitions = Definition::read_all(if programs { PROGRAMS } else { KERNELS })?;
    let mut sources = data::sources(&Wanted { folder: arguments.data.as_deref(), made_up, scaling, quick })?;
    if programs {
        sources.extend(data::for_programs());
    }
    let has_wanted_name = |definition: &Definition, source: &Source| {
        let name = format!("{}/{}", definition.name, source.name());
        definition.is_for(source.name()) && is_wanted(&arguments.filters, &name)
    };
    let wanted_of = |source: &Source| -> Vec<&Definition> {
        definitions.iter().filter(|definition| has_wanted_name(definition, source)).collect()
    };
    let cases: usize = sources.iter().map(|source| wanted_of(source).len()).sum();
    ensure!(cases > 0, "nothing is called like that");
    let workshop = tempfile::tempdir()?;
    let machine = Machine::measure(workshop.path(), &arguments.threads).unwrap_or_else(|error| {
        println!("the machine is not measured: {error:#}");
        Machine::at_hand()
    });
    let mut peers = Peers::none(workshop.path());
    if arguments.peers {
        peers.find(|text| println!("{text}"));
    }
    if arguments.floor {
        peers.build_floor().context("the kernels written by hand can't be built")?;
    }
    let mut report = Report::new(&arguments.out(), machine, cases)?;
    for source in &sources {
        let wanted = wanted_of(source);
        if wanted.is_empty() {
            continue;
        }
        match source.read() {
            Ok(entries) => {
                for definition in wanted {
                    report.begin(&format!("{}/{}", definition.name, source.name()));
                    if let Err(error) = measure_one(definition, source, &entries, &peers, &arguments, &mut report) {
                        report.problem(&format!("{}/{}: {error:#}", definition.name, source.name()))?;
                    }
                    report.advance(1);
                }
            }
            Err(error) => {
                report.problem(&format!("{}: {error:#}", source.name()))?;
                report.advance(wanted.len());
            }
        }
    }
    report.finish(arguments.pages().as_deref())
}

/// True if a name has one of the texts in it; any name is wanted where there are no texts.
fn is_wanted(filters: &[String], name: &str) -> bool {
    filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()))
}

/// One kernel on one input: all engines, in turns, once for each number of threads.
fn measure_one(
    definition: &Definition,
    source: &Source,
    entries: &Entries,
    peers: &Peers,
    arguments: &Arguments,
    report: &mut Report,
) -> Result<()> {
    let Some(case) = Case::new(definition, source, entries)? else { return Ok(()) };
    let tensors = peers.write_tensors(&case)?;
    for &threads in &arguments.threads {
        let mut engines: Vec<Box<dyn Engine + '_>> = Vec::new();
        if cfg!(feature = "llvm") {
            engines.push(Box::new(LacunarEngine::new(&case, lacunar::Backend::Llvm, threads)?));
            for ours in &definition.ours {
                match LacunarEngine::variant(&case, ours, threads) {
                    Ok(engine) => engines.push(Box::new(engine)),
                    Err(error) => report.problem(&format!(
                        "{}/{}: {}: {error:#}",
                        definition.name,
                        source.name(),
                        ours.engine()
                    ))?,
                }
            }
        }
        if arguments.formats_only {
            engines.push(Box::new(LacunarEngine::of_formats(&case, threads)?));
        }
        if arguments.with_c() {
            engines.push(Box::new(LacunarEngine::new(&case, lacunar::Backend::C, threads)?));
        }
        let values = engines.first_mut().map_or(Ok(0), |ours| case.values_of_result(ours.as_mut()))?;
        let room = Room::of(&case, values, peers);
        if let Some(words) = room.words() {
            report.problem(&format!("{}/{}: {words}", definition.name, source.name()))?;
        }
        for peer in peers.start(&case, &tensors, threads, &room) {
            match peer {
                Ok(peer) => engines.push(peer),
                Err(error) => report.problem(&format!("{}/{}: {error:#}", definition.name, source.name()))?,
            }
        }
        let outcome = measure::take_turns(&mut engines, arguments.rounds());
        report.add(&case, threads, &outcome)?;
    }
    Ok(())
}

/// Starts this program again with so many threads for OpenMP, which looks at its environment only once.
fn run_again(threads: usize) -> Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    let status = command.args(std::env::args_os().skip(1)).env("OMP_NUM_THREADS", threads.to_string()).status()?;
    std::process::exit(status.code().unwrap_or(1))
}

/// The summary and the charts of earlier measurements, and the processor's page, if there is a folder for it.
fn draw_again(folder: &Path, pages: Option<&Path>) -> Result<()> {
    let mut machine = Machine::default();
    let (mut lines, mut problems) = (Vec::new(), Vec::new());
    for record in record::read(&folder.join(report::FILE))? {
        match record {
            Record::Machine(measured) => machine = measured,
            Record::Measurement(line) => lines.push(*line),
            Record::Problem { text } => {
                println!("! {text}");
                problems.push(text);
            }
        }
    }
    print!("{}", summary::summary(&lines));
    report::print_steps(&machine, &lines);
    for chart in charts::draw(folder, &machine, &lines)? {
        println!("{}", chart.display());
    }
    if let Some(pages) = pages {
        println!("{}", pages::write(pages, &machine, &lines, &problems)?.display());
    }
    Ok(())
}
