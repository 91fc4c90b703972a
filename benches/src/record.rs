//! The records of a run: one JSON object a line.
//!
//! ```text
//! {"what":"machine","processor":"...","limits":[...]}
//! {"what":"measurement","kernel":"spmv","input":"wave","engine":"mkl:inspected","threads":2,"median_ms":0.41,...}
//! {"what":"problem","text":"spgemm/wave: eigen: ..."}
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::class::Class;
use crate::machine::Machine;

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "lowercase")]
pub enum Record {
    /// The machine's limits.
    Machine(Machine),
    /// An engine on an input.
    Measurement(Box<Line>),
    /// Something that could not be measured, or a result that differs.
    Problem {
        /// The problem, in words.
        text: String,
    },
}

/// An engine on an input.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Line {
    /// The kernel.
    pub kernel: String,
    /// The input.
    pub input: String,
    /// The series to which the input belongs, named by the thing that grows in it.
    pub series: Option<String>,
    /// The amount of the thing that grows.
    #[serde(default)]
    pub at: Option<f64>,
    /// The engine, with its variant after a colon.
    pub engine: String,
    /// The freedom that it takes.
    #[serde(default)]
    pub class: Class,
    /// The number of threads it was given.
    pub threads: usize,
    /// Each turn's time: the median of its runs.
    pub times_ms: Vec<f64>,
    /// The median of the turns.
    pub median_ms: f64,
    /// The shortest turn.
    pub min_ms: f64,
    /// The longest turn.
    pub max_ms: f64,
    /// The number of threads of all programs that ran or waited to run in the last minute, by the system's count; 0 where it does not tell.
    #[serde(default)]
    pub load: f64,
    /// The time for which the inputs were analyzed beforehand.
    pub inspection_ms: f64,
    /// Stored values of the input.
    pub nnz: u64,
    /// Entries or products: the things by which operations are counted.
    #[serde(default)]
    pub items: u64,
    /// Stored values of the result.
    pub values: u64,
    /// Bytes of the operands and the result: the least that has to be moved.
    pub bytes: u64,
    /// Bytes of the largest dense operand.
    #[serde(default)]
    pub chosen_bytes: u64,
    /// Operations by the kernel's definition.
    pub flops: u64,
    /// `bytes` a second.
    pub gbytes_per_s: f64,
    /// `flops` a second.
    pub gflops: f64,
    /// The time that the machine's bandwidth or peak allows.
    pub limit_ms: Option<f64>,
    /// `limit_ms` over the median: 1 is as fast as the machine can be.
    pub of_limit: Option<f64>,
    /// The sum of the result's values.
    pub checksum: f64,
}

impl Line {
    /// The engine without its variant.
    pub fn family(&self) -> &str {
        self.engine.split(':').next().unwrap_or_default()
    }

    /// The engine's variant; empty where it has none.
    pub fn variant(&self) -> &str {
        self.engine.split_once(':').map_or("", |(_, variant)| variant)
    }

    /// True if the engine is one of ours.
    pub fn is_ours(&self) -> bool {
        self.family().starts_with(OURS)
    }
}

/// The name of our engine.
pub const OURS: &str = "lacunar";

/// The name of kernels written by hand, which are no peers.
pub const FLOOR: &str = "floor";

/// A kernel on an input with some number of threads, in one class, measured by all engines that take part.
pub struct Duel<'a> {
    /// The kernel and the class that are compared.
    pub contest: String,
    /// The kernel.
    pub kernel: &'a str,
    /// The freedom that engines may take.
    pub class: Class,
    /// The input.
    pub input: &'a str,
    /// The number of threads each was given.
    pub threads: usize,
    /// Our measurement: that of our variant of the class; the plain one where there is no such variant.
    pub ours: &'a Line,
    /// The fastest variant of each peer, by its name.
    pub peers: BTreeMap<&'a str, &'a Line>,
    /// The kernels written by hand.
    pub floor: Vec<&'a Line>,
}

impl<'a> Duel<'a> {
    /// The fastest peer.
    pub fn best(&self) -> Option<&'a Line> {
        self.fastest(self.peers.values().copied())
    }

    /// True if there are kernels written by hand of the class, not plain ones alone that stand in another contest already.
    pub fn has_own_floor(&self) -> bool {
        self.floor.iter().any(|line| line.class == self.class)
    }

    /// The fastest kernel written by hand.
    pub fn best_floor(&self) -> Option<&'a Line> {
        self.fastest(self.floor.iter().copied())
    }

    /// True if an engine of the class has a part in the comparison, and so plain engines alone would not do.
    fn is_telling(&self) -> bool {
        let lines = [Some(self.ours), self.best(), self.best_floor()];
        lines.into_iter().flatten().any(|line| line.class == self.class)
    }

    fn of_class(&self) -> (&'a str, Class) {
        (self.kernel, self.class)
    }

    fn fastest(&self, lines: impl Iterator<Item = &'a Line>) -> Option<&'a Line> {
        lines.min_by(|a, b| self.speedup(a).total_cmp(&self.speedup(b)))
    }

    /// The ratio of a measurement's time to ours.
    pub fn speedup(&self, line: &Line) -> f64 {
        speedup(self.ours, line)
    }
}

/// The ratio of another measurement's time to ours: the median, over the turns that both had, of the ratios within a turn,
/// because a load that slows the machine down for a while slows both down.
fn speedup(ours: &Line, other: &Line) -> f64 {
    let ratios: Vec<f64> = other.times_ms.iter().zip(&ours.times_ms).map(|(other, ours)| other / ours).collect();
    if ratios.is_empty() { other.median_ms / ours.median_ms } else { lacunar::median(&ratios) }
}

/// Our measurement in a class, among those of a kernel on an input. `lacunar-c` is ours only where `lacunar` is missing.
fn ours_of<'a>(lines: &[&'a Line], class: Class) -> Option<&'a Line> {
    let own = |class| lines.iter().copied().filter(move |line| line.is_ours() && line.class == class);
    let of_class = own(class).min_by(|a, b| a.median_ms.total_cmp(&b.median_ms)).filter(|_| class != Class::Plain);
    of_class.or_else(|| own(Class::Plain).min_by_key(|line| line.engine.len()))
}

/// All that was measured, in the order of kernels, threads, inputs and classes. A kernel has a class if it makes a difference: if on some
/// input ours of the class takes part, or another engine of the class is the fastest one.
pub fn duels(lines: &[Line]) -> Vec<Duel<'_>> {
    let mut groups: BTreeMap<(&str, usize, &str), Vec<&Line>> = BTreeMap::new();
    for line in lines {
        groups.entry((&line.kernel, line.threads, &line.input)).or_default().push(line);
    }
    let mut duels = Vec::new();
    for ((kernel, threads, input), lines) in groups {
        let is_needed =
            |class| class == Class::Plain || lines.iter().any(|line| !line.is_ours() && line.class == class);
        for class in Class::ALL.into_iter().filter(|&class| is_needed(class)) {
            let Some(ours) = ours_of(&lines, class) else { continue };
            let others = || lines.iter().copied().filter(|line| !line.is_ours() && class.admits(line.class));
            let floor = others().filter(|line| line.family() == FLOOR).collect();
            let mut peers: BTreeMap<&str, &Line> = BTreeMap::new();
            for line in others().filter(|line| line.family() != FLOOR) {
                let best = peers.entry(line.family()).or_insert(line);
                if speedup(ours, line) < speedup(ours, best) {
                    *best = line;
                }
            }
            duels.push(Duel { contest: class.contest(kernel), kernel, class, input, threads, ours, peers, floor });
        }
    }
    let telling: BTreeSet<(&str, Class)> = duels.iter().filter(|duel| duel.is_telling()).map(Duel::of_class).collect();
    duels.retain(|duel| telling.contains(&duel.of_class()));
    duels
}

/// The duels that count when engines are compared: inputs of a series do so only if there are no others.
pub fn compared<'d, 'a>(duels: &'d [Duel<'a>]) -> Vec<&'d Duel<'a>> {
    let single: Vec<&Duel<'_>> = duels.iter().filter(|duel| duel.ours.series.is_none()).collect();
    if single.is_empty() { duels.iter().collect() } else { single }
}

/// The geometric mean; `None` of nothing.
pub fn geometric_mean(numbers: impl IntoIterator<Item = f64>) -> Option<f64> {
    let logarithms: Vec<f64> = numbers.into_iter().map(f64::ln).collect();
    let count = logarithms.len();
    (count > 0).then(|| (logarithms.iter().sum::<f64>() / count as f64).exp())
}

/// Reads a file of lines.
pub fn read(path: &Path) -> Result<Vec<Record>> {
    let text = fs::read_to_string(path).with_context(|| format!("{} can't be read", path.display()))?;
    let parse = |(number, line): (usize, &str)| {
        serde_json::from_str(line).with_context(|| format!("{}, line {}", path.display(), number + 1))
    };
    text.lines().enumerate().map(parse).collect()
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A measurement, as tests need it.
    pub fn line(kernel: &str, input: &str, engine: &str, threads: usize, median_ms: f64) -> Line {
        let [kernel, input, engine] = [kernel, input, engine].map(str::to_string);
        let (nnz, bytes, flops) = (100_000, 1_200_000, 200_000);
        let gflops = flops as f64 / median_ms * 1e-6;
        let line = Line { kernel, input, engine, threads, median_ms, nnz, bytes, flops, gflops, ..Line::default() };
        Line { times_ms: vec![median_ms], min_ms: median_ms, max_ms: median_ms, ..line }
    }

    #[test]
    fn the_best_variant_counts() {
        let lines = [
            line("spmv", "a", "lacunar", 1, 2.0),
            line("spmv", "a", "lacunar-c", 1, 1.0),
            line("spmv", "a", "mkl", 1, 5.0),
            line("spmv", "a", "mkl:inspected", 1, 3.0),
            line("spmv", "a", "eigen", 1, 4.0),
            line("spmv", "b", "eigen", 1, 4.0),
        ];
        let duels = duels(&lines);
        assert_eq!(duels.len(), 1);
        assert_eq!(duels[0].contest, "spmv");
        assert_eq!(duels[0].ours.engine, "lacunar");
        assert_eq!(duels[0].peers["mkl"].engine, "mkl:inspected");
        assert_eq!(duels[0].best().map(|line| duels[0].speedup(line)), Some(1.5));
    }

    #[test]
    fn like_is_compared_with_like() {
        let classed = |engine, class, time| Line { class, ..line("spmv", "a", engine, 1, time) };
        let mut lines = vec![
            classed("lacunar", Class::Plain, 2.0),
            classed("mkl", Class::Plain, 3.0),
            classed("mkl:inspected", Class::Inspected, 1.5),
        ];
        let best = |lines: &[Line]| -> Vec<(String, String, Option<f64>)> {
            let of = |duel: &Duel<'_>| {
                (duel.contest.clone(), duel.ours.engine.clone(), duel.best().map(|line| duel.speedup(line)))
            };
            duels(lines).iter().map(of).collect()
        };
        let contest = |name: &str, ours: &str, ratio| (name.to_string(), ours.to_string(), Some(ratio));
        // Without a variant of ours, the plain one stands in.
        assert_eq!(best(&lines), [contest("spmv", "lacunar", 1.5), contest("spmv inspected", "lacunar", 0.75)]);
        // A class in which nobody is faster tells nothing.
        let slower = [lines[0].clone(), lines[1].clone(), classed("librsb", Class::Inspected, 9.0)];
        assert_eq!(best(&slower), [contest("spmv", "lacunar", 1.5)]);
        lines.push(classed("lacunar:sliced", Class::Inspected, 1.0));
        assert_eq!(best(&lines), [contest("spmv", "lacunar", 1.5), contest("spmv inspected", "lacunar:sliced", 1.5)]);
    }

    #[test]
    fn ratios_are_those_within_turns() {
        let turns =
            |engine, times: [f64; 3]| Line { times_ms: times.to_vec(), ..line("spmv", "a", engine, 1, times[1]) };
        // Twice as slow in each turn, though the machine was four times as slow in one of them.
        let (ours, other) = (turns("lacunar", [1.0, 1.0, 4.0]), turns("mkl", [2.0, 8.0, 2.0]));
        assert_eq!(speedup(&ours, &other), 2.0);
        assert_eq!(speedup(&Line { times_ms: Vec::new(), ..ours }, &other), 8.0);
    }

    #[test]
    fn geometric_means() {
        assert_eq!(geometric_mean([]), None);
        assert!((geometric_mean([1.0, 4.0]).unwrap() - 2.0).abs() < 1e-12);
    }

    #[test]
    fn lines_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let records = [
            Record::Machine(Machine::default()),
            Record::Measurement(Box::new(line("spmv", "a", "mkl", 1, 5.0))),
            Record::Problem { text: "no \"such\" thing".to_string() },
        ];
        let text: String = records.iter().map(|record| serde_json::to_string(record).unwrap() + "\n").collect();
        fs::write(&path, text).unwrap();
        let back = read(&path).unwrap();
        assert_eq!(back.len(), 3);
        assert!(matches!(&back[1], Record::Measurement(line) if line.engine == "mkl" && line.median_ms == 5.0));
    }
}
