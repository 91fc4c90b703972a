//! The corpus' expressions of two operands, for every pair of operand formats: each kind of expression with a pair in three, others every
//! day, and the formats of results in turn; with `LACUNAR_PAIRS=all`, every expression with every pair and every result's format.
//! Tables of the report say how many were right.

mod engines;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use lacunar_testing::day::{chosen, today};
use lacunar_testing::pairs::operands::{Job, Kind, kinds};
use lacunar_testing::pairs::table::{Outcome, Table};
use lacunar_testing::pairs::{all_wanted, keep};
use lacunar_testing::runner::Reference;
use lacunar_testing::suite::{Suite, arguments, batches, corpus, summary};
use libtest_mimic::Trial;

/// The number of instances that a trial runs.
const SHARE: usize = 64;
/// One in so many pairs is taken on a day.
const PAIRS_ONE_IN: u64 = 10;

fn main() -> ExitCode {
    let (arguments, suite) = (arguments(), engines::suite("pairs"));
    let files = corpus().unwrap_or_else(|error| panic!("tests/kernels cannot be read: {error}"));
    let kinds = kinds(&files).unwrap_or_else(|fault| panic!("{fault}"));
    let mut tables: BTreeMap<[usize; 2], Arc<Table>> = BTreeMap::new();
    let (mut trials, mut lines) = (Vec::new(), vec!["Kinds of expressions".to_string()]);
    let sampled = kinds.clone();
    trials.extend(batches(&suite, move |wanted| {
        let of = |kind: &Kind| {
            let jobs = jobs(kind).into_iter().filter(|job| wanted(&kind.id(job)));
            jobs.map(|job| kind.instance(&job)).collect::<Vec<_>>()
        };
        sampled.iter().flat_map(of).collect()
    }));
    for kind in kinds {
        let [first, second, _] = kind.formats.each_ref().map(|formats| {
            let names: Vec<String> = formats.iter().map(|named| named.name.clone()).collect();
            names
        });
        let table = tables.entry([first.len(), second.len()]).or_insert_with(|| {
            let title = "Operands in the row's format and in the column's";
            Arc::new(Table::new(title, first, second))
        });
        let jobs = jobs(&kind).len();
        lines.push(format!("{jobs:>6} of {:<2} expressions: {}", kind.expressions(), kind.name));
        trials.extend(shares(Arc::new(kind), table, &suite));
    }
    let whole = arguments.filter.is_none() && !arguments.list;
    let code = suite.conclude(&arguments, trials);
    if whole {
        let tables = tables.values().map(|table| format!("{table}\n"));
        let report: String = tables.chain([lines.join("\n")]).collect();
        if let Err(error) = keep(&report, env!("CARGO_TARGET_TMPDIR"), "pairs.txt") {
            println!("the table cannot be kept: {error}");
        }
    }
    code
}

/// The jobs of a kind that are wanted.
fn jobs(kind: &Kind) -> Vec<Job> {
    let mut jobs = kind.jobs(all_wanted());
    jobs.retain(|job| all_wanted() || chosen(&format!("{} {:?}", kind.name, job.pair), today(), PAIRS_ONE_IN));
    jobs
}

/// The trials of a kind.
fn shares(kind: Arc<Kind>, table: &Arc<Table>, suite: &Arc<Suite>) -> Vec<Trial> {
    let count = jobs(&kind).len().div_ceil(SHARE);
    let trial = |share: usize| {
        let (kind, table, suite) = (kind.clone(), table.clone(), suite.clone());
        Trial::test(format!("{}/{share}", kind.name), move || {
            let mut faults = Vec::new();
            let own = jobs(&kind).into_iter().skip(share * SHARE).take(SHARE);
            let own: Vec<Job> = own.filter(|job| suite.takes(&kind.id(job))).collect();
            for job in &own {
                match kind.instance(job).and_then(|instance| suite.verify(&instance, Reference::Oracle)) {
                    Ok(()) => table.count(job.pair, Outcome::Right),
                    Err(fault) => faults.push(fault),
                }
            }
            summary("", &faults, own.len())
        })
    };
    (0..count).map(trial).collect()
}
