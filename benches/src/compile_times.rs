//! The time of compilation: every program of the corpus, and of other systems' suites where they are at hand, from text to
//! machine code.
//!
//! Compilation is the work of one thread, so the time told is that of this thread on a processor: other work of the
//! machine counts little. Times of stages are elapsed ones; they tell the shares, and on a machine at rest add up to
//! the total.
//!
//! ```text
//! 8200 programs through llvm, 3 times each (the least counts)
//! median 20.1 ms   95% 70.0 ms   most 161.2 ms
//! stage      median ms   95%     most   share
//! generate   19.6        69.1    160.0   98%
//! ...
//! the slowest
//! 161.2 ms  sweep/...
//! ```

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::Duration;

use crate::is_wanted;
use anyhow::{Result, anyhow, ensure};
use indicatif::ProgressIterator;
use lacunar::{Backend, Kernel, Options, Phase, Search};
use lacunar_testing::case::CaseFile;
use lacunar_testing::conformance::{self, Translation};
use lacunar_testing::instance::Instance;
use lacunar_testing::suite::corpus;
use rustix::time::{ClockId, clock_gettime};

/// The number of the slowest programs that are named.
const SLOWEST: usize = 10;

/// The time of one program, in milliseconds: in all, and by stage.
struct Times {
    id: String,
    total: f64,
    stages: BTreeMap<&'static str, f64>,
}

/// Compiles the programs whose id has one of the filters' texts in it, or one in `every` of them, and prints the times.
///
/// # Errors
/// A program that is not compiled; no program of such an id.
pub fn measure(filters: &[String], rounds: usize, every: NonZeroUsize) -> Result<()> {
    let wanted = |instance: &Instance| is_wanted(filters, &instance.id);
    let instances: Vec<Instance> = programs()?.into_iter().filter(wanted).step_by(every.get()).collect();
    ensure!(!instances.is_empty(), "no program is called like that");
    // The first compilation of a process initializes data that the others share.
    compile(&instances[0])?;
    let mut all = Vec::new();
    for instance in instances.iter().progress() {
        let mut least: Option<Times> = None;
        for _ in 0..rounds {
            let times = compile(instance)?;
            if least.as_ref().is_none_or(|least| times.total < least.total) {
                least = Some(times);
            }
        }
        all.extend(least);
    }
    print(&mut all, rounds);
    Ok(())
}

/// All programs that are compiled: with the planner's schedule, or the one that belongs to the case.
fn programs() -> Result<Vec<Instance>> {
    let mut instances = Vec::new();
    for (name, text) in corpus()? {
        let file = CaseFile::parse(&text).map_err(|fault| anyhow!("{name}: {fault}"))?;
        for case in &file.case {
            instances.extend(file.instances(&name, case).map_err(|fault| anyhow!(fault))?);
        }
    }
    let suites = [("taco", conformance::taco::cases as fn(&str) -> Vec<_>), ("comet", conformance::comet::cases)];
    for (suite, cases) in suites {
        let Some(path) = conformance::file(&format!("{suite}.jsonl")) else {
            println!("the cases of {suite} are not beside the repository and are left out");
            continue;
        };
        for case in cases(&std::fs::read_to_string(path)?) {
            if let Ok(Translation::Run(runnable)) = case.translation {
                instances.push(Instance { id: format!("{suite}/{}", case.id), ..runnable.instance });
            }
        }
    }
    instances.retain(|instance| instance.setup.refused.is_none());
    Ok(instances)
}

fn compile(instance: &Instance) -> Result<Times> {
    let setup = &instance.setup;
    let options = Options {
        declarations: instance.declarations.clone(),
        backend: Backend::default(),
        search: if setup.plain { Search::Plain } else { Search::Cost },
        schedule: setup.schedule_text().into(),
        phase: if setup.phases { Phase::Assemble } else { Phase::Fused },
        strict: setup.strict,
        tuned: false,
        reuse: false,
        ..Options::new()
    };
    let start = on_processor();
    let kernel = Kernel::compile(&instance.source, &options).map_err(|error| anyhow!("{}: {error}", instance.id))?;
    let total = milliseconds(on_processor() - start);
    let mut stages = BTreeMap::new();
    for (stage, time) in kernel.trace().times() {
        *stages.entry(*stage).or_default() += milliseconds(*time);
    }
    Ok(Times { id: instance.id.clone(), total, stages })
}

/// The time that this thread has been on a processor.
fn on_processor() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn print(all: &mut [Times], rounds: usize) {
    let backend = Backend::default().name();
    println!("{} programs through {backend}, {rounds} times each (the least counts)", all.len());
    let totals: Vec<f64> = all.iter().map(|times| times.total).collect();
    let (median, most_of, most) = quantiles(&totals);
    println!("median {median:.1} ms   95% {most_of:.1} ms   most {most:.1} ms");
    let sum: f64 = all.iter().flat_map(|times| times.stages.values()).sum();
    let mut stages: Vec<&str> = all.iter().flat_map(|times| times.stages.keys().copied()).collect();
    stages.sort_unstable();
    stages.dedup();
    let of = |stage: &str| -> Vec<f64> {
        all.iter().map(|times| times.stages.get(stage).copied().unwrap_or_default()).collect()
    };
    let mut rows: Vec<(&str, Vec<f64>)> = stages.into_iter().map(|stage| (stage, of(stage))).collect();
    rows.sort_by(|a, b| b.1.iter().sum::<f64>().total_cmp(&a.1.iter().sum()));
    println!("{:10} {:>9} {:>9} {:>9} {:>6}", "stage", "median ms", "95%", "most", "share");
    for (stage, times) in rows {
        let (median, most_of, most) = quantiles(&times);
        let share = 100.0 * times.iter().sum::<f64>() / sum;
        println!("{stage:10} {median:9.2} {most_of:9.2} {most:9.2} {share:5.0}%");
    }
    println!("the slowest");
    all.sort_by(|a, b| b.total.total_cmp(&a.total));
    for times in all.iter().take(SLOWEST) {
        let stages: Vec<String> = times.stages.iter().map(|(stage, time)| format!("{stage} {time:.1}")).collect();
        println!("{:8.1} ms  {}  ({})", times.total, times.id, stages.join(", "));
    }
}

/// The median, the 95th percentile, and the largest.
fn quantiles(times: &[f64]) -> (f64, f64, f64) {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |part: f64| sorted.get((part * sorted.len().saturating_sub(1) as f64).round() as usize).copied();
    (at(0.5).unwrap_or_default(), at(0.95).unwrap_or_default(), at(1.0).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::quantiles;

    #[test]
    fn quantiles_of_a_hundred() {
        let times: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        assert_eq!(quantiles(&times), (50.0, 95.0, 100.0));
        assert_eq!(quantiles(&[3.0]), (3.0, 3.0, 3.0));
    }
}
