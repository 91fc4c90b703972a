//! Pages of results, one a processor, and the page that puts their means side by side.
//!
//! ```text
//! docs/benchmarks/intel-xeon-processor-806f8.md             what was measured there, in tables (`page`)
//! docs/benchmarks/intel-xeon-processor-806f8-speedup-1.svg  charts
//! docs/benchmarks/intel-xeon-processor-806f8.json           its means, for the other page
//! docs/benchmarks/README.md                                 the means of all processors (`overview`)
//! ```

mod overview;
mod page;

pub use page::size_in_words;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::charts;
use crate::machine::Machine;
use crate::pages::page::Page;
use crate::record::{Duel, Line, compared, duels, geometric_mean};
use crate::summary::disturbance;

/// The folder of the pages.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("docs").join("benchmarks")
}

/// The means of a processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Means {
    /// The name of the processor's page, without its ending.
    pub file: String,
    /// The processor, as people call it.
    pub processor: String,
    /// The day of the measurement.
    pub date: String,
    /// In order of contests and threads.
    pub contests: Vec<Mean>,
}

/// A contest with some number of threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mean {
    /// The kernel and the class.
    pub contest: String,
    /// The number of threads.
    pub threads: usize,
    /// The best peer's time over ours.
    pub peers: Option<Ratios>,
    /// The time of the fastest kernel written by hand over ours.
    pub floor: Option<Ratios>,
}

/// Ratios over inputs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ratios {
    /// Their geometric mean.
    pub mean: f64,
    /// The least.
    pub least: f64,
    /// The input of the least.
    pub least_on: String,
    /// The number of inputs.
    pub inputs: usize,
    /// The other engines, by the number of times that they were the fastest one.
    pub engines: Vec<(String, usize)>,
}

impl Ratios {
    /// The ratio of pairs of a duel and a measurement that is compared with ours. `None` of nothing.
    fn of<'d>(pairs: impl Iterator<Item = (&'d Duel<'d>, &'d Line)>) -> Option<Ratios> {
        let mut ratios: Vec<(f64, &str)> = Vec::new();
        let mut engines: BTreeMap<&str, usize> = BTreeMap::new();
        for (duel, line) in pairs {
            ratios.push((duel.speedup(line), duel.input));
            *engines.entry(&line.engine).or_default() += 1;
        }
        let mean = geometric_mean(ratios.iter().map(|(ratio, _)| *ratio))?;
        let (least, least_on) = ratios.iter().min_by(|a, b| a.0.total_cmp(&b.0)).copied()?;
        let mut engines: Vec<(String, usize)> =
            engines.into_iter().map(|(engine, count)| (engine.to_string(), count)).collect();
        engines.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        Some(Ratios { mean, least, least_on: least_on.to_string(), inputs: ratios.len(), engines })
    }
}

/// The means of the measurements.
fn means(machine: &Machine, duels: &[&Duel<'_>]) -> Means {
    let mut groups: BTreeMap<(&str, usize), Vec<&Duel<'_>>> = BTreeMap::new();
    for &duel in duels {
        groups.entry((&duel.contest, duel.threads)).or_default().push(duel);
    }
    let contests = groups.into_iter().map(|((contest, threads), duels)| Mean {
        contest: contest.to_string(),
        threads,
        peers: Ratios::of(duels.iter().filter_map(|&duel| Some((duel, duel.best()?)))),
        floor: Ratios::of(
            duels.iter().filter(|duel| duel.has_own_floor()).filter_map(|&duel| Some((duel, duel.best_floor()?))),
        ),
    });
    let processor = &machine.processor;
    Means {
        file: processor.file_name(),
        processor: processor.title(),
        date: machine.date.clone(),
        contests: contests.filter(|mean| mean.peers.is_some() || mean.floor.is_some()).collect(),
    }
}

/// Writes the page of the machine's processor with its charts and means, and the page of all processors. Gives the page's file.
///
/// # Errors
/// The folder cannot be written, or has means of another form.
pub fn write(folder: &Path, machine: &Machine, lines: &[Line], problems: &[String]) -> Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("{} can't be made", folder.display()))?;
    let all = duels(lines);
    let compared = compared(&all);
    let means = means(machine, &compared);
    let charts = charts::for_page(folder, &means.file, machine, lines)?;
    let path = folder.join(format!("{}.md", means.file));
    let page = Page {
        machine,
        means: &means,
        all: &all.iter().collect::<Vec<_>>(),
        compared: &compared,
        charts: &charts,
        problems,
        disturbance: disturbance(lines),
    };
    save(&path, &page::text(&page))?;
    save(&path.with_extension("json"), &(serde_json::to_string_pretty(&means)? + "\n"))?;
    save(&folder.join("README.md"), &overview::text(&read_all(folder)?))?;
    Ok(path)
}

fn save(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("{} can't be written", path.display()))
}

/// The means of all processors, in order of their files.
fn read_all(folder: &Path) -> Result<Vec<Means>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).with_context(|| format!("{} can't be read", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} does not hold means", path.display()))
    };
    paths.iter().map(read).collect()
}

/// A row of a table.
fn row<T: AsRef<str>>(cells: impl IntoIterator<Item = T>) -> String {
    let cells: Vec<String> = cells.into_iter().map(|cell| cell.as_ref().replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// The head of a table.
fn head<T: AsRef<str>>(cells: &[T]) -> String {
    row(cells) + &row(cells.iter().map(|_| "---"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::Class;
    use crate::processor::Processor;
    use crate::record::tests::line;

    fn machine(name: &str) -> Machine {
        let processor =
            Processor { name: name.to_string(), caches: vec![(1, 48 << 10), (2, 2 << 20)], ..Processor::default() };
        let command = "./x bench --peers --report".to_string();
        Machine { processor, date: "2026-11-23".to_string(), command, ..Machine::default() }
    }

    #[test]
    fn processors_stand_side_by_side() {
        let folder = tempfile::tempdir().expect("a folder");
        let lines = |time: f64| {
            vec![
                line("spmv", "wave", "lacunar", 1, 1.0),
                line("spmv", "wave", "mkl", 1, time),
                Line { class: Class::Inspected, ..line("spmv", "wave", "mkl:inspected", 1, time / 2.0) },
                line("spmv", "wave", "floor:four", 1, 0.9),
                line("spmv", "web", "lacunar", 1, 1.0),
                line("spmv", "web", "eigen", 1, 4.0 * time),
            ]
        };
        write(folder.path(), &machine("Fast One"), &lines(2.0), &[]).expect("written");
        let problems = ["spgemm/web: too large".to_string()];
        let path = write(folder.path(), &machine("Slow | Two"), &lines(4.0), &problems).expect("written");
        assert!(path.ends_with("slow-two.md"));
        let page = fs::read_to_string(&path).expect("written");
        for text in [
            "2026-11-23",
            "`./x bench --peers --report`",
            "| spmv | 8.00 (4.00, wave) | eigen 1, mkl 1 |",
            "| spmv inspected | 2.00 (2.00, wave) |",
            "| wave | 100000 | 4.00 mkl | 2.00 mkl:inspected |",
            "| spmv | 0.90 (0.90, wave) | four 1 |",
            "slow-two-speedup-1.svg",
            "level 2: 2 MiB",
            "spgemm/web: too large",
        ] {
            assert!(page.contains(text), "{text} is not in\n{page}");
        }
        assert!(folder.path().join("slow-two-speedup-1.svg").is_file());
        let overview = fs::read_to_string(folder.path().join("README.md")).expect("written");
        for text in ["[Fast One](fast-one.md)", "[Slow \\| Two](slow-two.md)", "| spmv | 4.00 (2.00) | 8.00 (4.00) |"] {
            assert!(overview.contains(text), "{text} is not in\n{overview}");
        }
    }
}
