//! Charts of the measurements, each as SVG and as PNG:
//!
//! | file | shows |
//! |---|---|
//! | `speedup-1` | geometric means over all inputs, with 1 thread |
//! | `speedup-spmv-1` | every input of one kernel; `speedup-spmv-inspected-1`, in another class |
//! | `roofline-1` | operations a second against the limit of the machine |
//! | `series-1` | the time for each entry, for inputs that belong to a series |
//! | `threads` | speed-up with threads |

mod growth;
mod looks;
mod roofline;
mod speedup;

pub use looks::threads as threads_in_words;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lacunar_draw::Drawing;

use crate::class::Class;
use crate::machine::Machine;
use crate::record::{Duel, Line, compared, duels};

/// Draws all charts for which there is something to show, into a folder. Gives their SVG files.
pub fn draw(folder: &Path, machine: &Machine, lines: &[Line]) -> Result<Vec<PathBuf>> {
    let drawn = all(machine, &duels(lines));
    drawn.into_iter().map(|(name, chart)| write(folder, name, chart)).collect()
}

/// Draws the charts that a processor's page shows, as SVG, into a folder: those of all kernels together. Gives their names.
pub fn for_page(folder: &Path, file: &str, machine: &Machine, lines: &[Line]) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for (name, chart) in all(machine, &duels(lines)) {
        let of_one_kernel = name.starts_with("speedup-") && name.matches('-').count() > 1;
        if !of_one_kernel {
            let name = format!("{file}-{name}");
            let path = folder.join(format!("{name}.svg"));
            let chart = Drawing { title: name.clone(), ..chart };
            fs::write(&path, chart.to_svg()).with_context(|| format!("{} can't be written", path.display()))?;
            names.push(name);
        }
    }
    Ok(names)
}

fn all(machine: &Machine, duels: &[Duel<'_>]) -> Vec<(String, Drawing)> {
    let mut charts: Vec<(String, Option<Drawing>)> = Vec::new();
    let counts: BTreeSet<usize> = duels.iter().map(|duel| duel.threads).collect();
    for threads in counts {
        let has_count = |duel: &&Duel<'_>| duel.threads == threads;
        let all: Vec<&Duel<'_>> = duels.iter().filter(has_count).collect();
        let of_count: Vec<&Duel<'_>> = compared(duels).into_iter().filter(has_count).collect();
        charts.push((format!("speedup-{threads}"), speedup::overview(&of_count, threads)));
        let contests: BTreeSet<&str> = of_count.iter().map(|duel| duel.contest.as_str()).collect();
        for contest in contests {
            let of_kernel: Vec<&Duel<'_>> = of_count.iter().copied().filter(|duel| duel.contest == contest).collect();
            let name = contest.replace(' ', "-");
            charts.push((format!("speedup-{name}-{threads}"), speedup::kernel(&of_kernel, threads)));
        }
        if let Some(limits) = machine.limits(threads) {
            charts.push((format!("roofline-{threads}"), roofline::roofline(&plain(&of_count), limits)));
        }
        charts.push((format!("series-{threads}"), growth::series(&plain(&all), threads)));
    }
    charts.push(("threads".to_string(), growth::threads(&plain(&compared(duels)))));
    charts.into_iter().filter_map(|(name, chart)| Some((name, chart?))).collect()
}

/// The duels between plain engines.
fn plain<'d, 'a>(duels: &[&'d Duel<'a>]) -> Vec<&'d Duel<'a>> {
    duels.iter().copied().filter(|duel| duel.class == Class::Plain).collect()
}

/// Pixels of a PNG to a unit: about 290 to an inch, as papers want.
const SCALE: f32 = 3.0;

fn write(folder: &Path, name: String, chart: Drawing) -> Result<PathBuf> {
    let path = folder.join(format!("{name}.svg"));
    let chart = Drawing { title: name.clone(), ..chart };
    fs::write(&path, chart.to_svg()).with_context(|| format!("{} can't be written", path.display()))?;
    let picture = chart.to_png(SCALE)?;
    fs::write(path.with_extension("png"), picture).with_context(|| format!("{name}.png can't be written"))?;
    Ok(path)
}
