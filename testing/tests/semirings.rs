//! The table of semirings on every engine: a sample that moves with the day, or all of it with `LACUNAR_SEMIRINGS=all`.

mod engines;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use lacunar_testing::day::{chosen, today};
use lacunar_testing::runner::Reference;
use lacunar_testing::semirings::{Job, jobs};
use lacunar_testing::suite::{arguments, batches, summary};
use libtest_mimic::Trial;

/// One job in so many is in the sample of a day.
const ONE_IN: u64 = 40;

fn main() -> ExitCode {
    let (arguments, suite) = (arguments(), engines::suite("semirings"));
    let all = std::env::var("LACUNAR_SEMIRINGS").is_ok_and(|wanted| wanted == "all");
    let jobs: Vec<Job> = jobs().into_iter().filter(|job| all || chosen(&job.id(), today(), ONE_IN)).collect();
    let together = jobs.clone();
    let mut trials = batches(&suite, move |_| together.iter().map(Job::instance).collect());
    let mut groups: BTreeMap<String, Vec<Job>> = BTreeMap::new();
    for job in jobs {
        groups.entry(job.group()).or_default().push(job);
    }
    for (name, jobs) in groups {
        let suite = Arc::clone(&suite);
        trials.push(Trial::test(name, move || {
            let right = |job: &Job| job.instance().and_then(|instance| suite.verify(&instance, Reference::Oracle));
            let faults: Vec<String> = jobs.iter().filter_map(|job| right(job).err()).collect();
            summary(&format!("LACUNAR_DAY={}", today()), &faults, jobs.len())
        }));
    }
    suite.conclude(&arguments, trials)
}
