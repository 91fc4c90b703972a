//! The page of a processor.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::{Mean, Means, Ratios, head, row};
use crate::charts::threads_in_words;
use crate::machine::Machine;
use crate::record::Duel;
use crate::steps;

/// The contents of a page.
pub struct Page<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The means of the duels that count.
    pub means: &'a Means,
    /// All duels.
    pub all: &'a [&'a Duel<'a>],
    /// The duels that count when engines are compared.
    pub compared: &'a [&'a Duel<'a>],
    /// The names of charts beside the page.
    pub charts: &'a [String],
    /// The kernels and inputs that could not be measured.
    pub problems: &'a [String],
    /// A sentence about other programs, if any ran.
    pub disturbance: Option<String>,
}

/// The page.
pub fn text(page: &Page<'_>) -> String {
    let &Page { machine, means, all, compared, charts, problems, .. } = page;
    let mut text = format!(
        "# {}\n\nMeasured on {} with version {} by `{}`. [benchmarks.md](../benchmarks.md) says what is measured and how; \
         [README.md](README.md) puts the processors side by side.\n",
        means.processor,
        machine.date,
        env!("CARGO_PKG_VERSION"),
        machine.command
    );
    if let Some(words) = &page.disturbance {
        let _ = write!(text, "\n{words}\n");
    }
    if means.contests.iter().any(|mean| mean.peers.is_some()) {
        text += "\n## Ours beside the best peer\n\n\
                 The best peer's time over ours (above 1, ours is faster): geometric mean over the inputs, and the least. A contest \
                 `inspected` is between engines that may convert or analyze their operands beforehand, an `unordered` one between those \
                 that may leave rows of the result in any order; the others take part in both.\n\n";
        text += &table(means, "best peers (inputs)", |mean| mean.peers.as_ref(), |engine| engine.to_string());
    }
    for chart in charts {
        let _ = write!(text, "\n![{}]({chart}.svg)\n", chart.rsplit('/').next().unwrap_or_default());
    }
    if means.contests.iter().any(|mean| mean.floor.is_some()) {
        text += "\n## Ours beside kernels written by hand\n\n\
                 The time of the fastest variant over ours: geometric mean, and the least. The variants are described in `benches/floor`.\n\n";
        let variant = |engine: &str| engine.split_once(':').map_or(engine, |(_, variant)| variant).to_string();
        text += &table(means, "fastest variants (inputs)", |mean| mean.floor.as_ref(), variant);
    }
    text += &by_input(compared);
    let steps = steps::text(all, &machine.processor.caches);
    if !steps.is_empty() {
        text += "\n## Series\n\nSteps of our time for each entry or product from one input to the next, by more than half:\n\n";
        let _ = write!(text, "```text\n{}\n```\n", steps.join("\n"));
    }
    text += &of_machine(machine);
    if !problems.is_empty() {
        text += "\n## What could not be measured\n\n";
        for problem in problems {
            let _ = writeln!(text, "- {}", problem.lines().next().unwrap_or_default());
        }
    }
    text
}

/// A row a contest, a column a number of threads.
fn table(means: &Means, last: &str, of: impl Fn(&Mean) -> Option<&Ratios>, name: impl Fn(&str) -> String) -> String {
    let mut rows: BTreeMap<&str, BTreeMap<usize, &Ratios>> = BTreeMap::new();
    for mean in &means.contests {
        if let Some(ratios) = of(mean) {
            rows.entry(&mean.contest).or_default().insert(mean.threads, ratios);
        }
    }
    let threads: BTreeSet<usize> = rows.values().flat_map(|row| row.keys().copied()).collect();
    let mut cells = vec!["kernel".to_string()];
    cells.extend(threads.iter().map(|&count| threads_in_words(count)));
    cells.push(last.to_string());
    let mut text = head(&cells);
    for (contest, ratios) in rows {
        let cell = |count: &usize| {
            let of_count = ratios.get(count);
            of_count.map_or_else(String::new, |r| format!("{:.2} ({:.2}, {})", r.mean, r.least, r.least_on))
        };
        let mut engines: BTreeMap<&str, usize> = BTreeMap::new();
        for (engine, count) in ratios.values().flat_map(|ratios| &ratios.engines) {
            *engines.entry(engine).or_default() += count;
        }
        let mut engines: Vec<(&str, usize)> = engines.into_iter().collect();
        engines.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let engines: Vec<String> = engines.iter().map(|(engine, count)| format!("{} {count}", name(engine))).collect();
        let mut cells = vec![contest.to_string()];
        cells.extend(threads.iter().map(cell));
        cells.push(engines.join(", "));
        text += &row(cells);
    }
    text
}

/// For each number of threads, a row an input, a column a contest: the ratio and the best peer.
fn by_input(duels: &[&Duel<'_>]) -> String {
    let mut text = String::new();
    let counts: BTreeSet<usize> = duels.iter().map(|duel| duel.threads).collect();
    for threads in counts {
        let of_count = || duels.iter().copied().filter(|duel| duel.threads == threads && duel.best().is_some());
        let contests: BTreeSet<&str> = of_count().map(|duel| duel.contest.as_str()).collect();
        if contests.is_empty() {
            continue;
        }
        let mut rows: BTreeMap<&str, (u64, BTreeMap<&str, String>)> = BTreeMap::new();
        for duel in of_count() {
            if let Some(best) = duel.best() {
                let cell = format!("{:.2} {}", duel.speedup(best), best.engine);
                let row = rows.entry(duel.input).or_default();
                row.0 = row.0.max(duel.ours.nnz);
                row.1.insert(&duel.contest, cell);
            }
        }
        let _ = write!(
            text,
            "\n## By input, {}\n\nThe best peer's time over ours, and the peer.\n\n",
            threads_in_words(threads)
        );
        let mut cells = vec!["input", "stored values"];
        cells.extend(&contests);
        text += &head(&cells);
        for (input, (nnz, of_input)) in rows {
            let mut cells = vec![input.to_string(), nnz.to_string()];
            cells.extend(contests.iter().map(|contest| of_input.get(contest).cloned().unwrap_or_default()));
            text += &row(cells);
        }
    }
    text
}

fn of_machine(machine: &Machine) -> String {
    let processor = &machine.processor;
    let mut text = format!("\n## The machine\n\n{}; {} for the system to use", processor.title(), processor.count);
    for (level, bytes) in &processor.caches {
        let _ = write!(text, "; cache of level {level}: {}", size_in_words(*bytes));
    }
    text += ".\n";
    if !machine.limits.is_empty() {
        let sizes: Vec<String> =
            machine.limits[0].read_gbytes_per_s.iter().map(|(bytes, _)| size_in_words(*bytes as u64)).collect();
        let mut cells = vec!["threads".to_string()];
        cells.extend(sizes.iter().map(|size| format!("reads {size}")));
        cells.extend(["streams", "multiplies and adds"].map(str::to_string));
        text += &format!(
            "\nGigabytes a second, again and again over so much; billions of operations a second.\n\n{}",
            head(&cells)
        );
        for limits in &machine.limits {
            let mut cells = vec![limits.threads.to_string()];
            cells.extend(limits.read_gbytes_per_s.iter().map(|(_, speed)| format!("{speed:.0}")));
            cells.extend([limits.triad_gbytes_per_s, limits.peak_gflops].map(|speed| format!("{speed:.0}")));
            text += &row(cells);
        }
    }
    // A page can be written without the model that kernels were made by.
    if let Ok(model) = lacunar::machine(&lacunar::Options::default()) {
        let _ = write!(
            text,
            "\nThe costs by which kernels are planned (`lacunar info --machine`):\n\n```text\n{}# {}\n```\n",
            model.to_toml(),
            model.explain()
        );
    }
    text
}

/// "48 KiB", "2 MiB".
pub fn size_in_words(bytes: u64) -> String {
    match bytes {
        ..=0xf_ffff => format!("{} KiB", bytes >> 10),
        0x10_0000..=0x3fff_ffff => format!("{} MiB", bytes >> 20),
        _ => format!("{} GiB", bytes >> 30),
    }
}
