//! The entrances of the product under inputs that mean nothing ([`lacunar_testing::fuzz`]): some seconds each, from another seed every
//! day, which is printed. Inputs that once failed (`fuzz/regressions`) run first.
//!
//! `-- --target imp --seconds 60 --seed 7` runs one target for as long as that and keeps its findings in `fuzz/corpus`; `LACUNAR_FUZZ` says
//! how many seconds all targets together take otherwise.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use lacunar_testing::day::today;
use lacunar_testing::fuzz::drive::{Plan, run};
use lacunar_testing::fuzz::{TARGETS, Target, target};
use lacunar_testing::suite::arguments;
use libtest_mimic::{Failed, Trial};

/// Seconds for all targets.
const USUAL: u64 = 5;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| words.iter().position(|word| word == name).and_then(|place| words.get(place + 1));
    let number = |text: &String| text.parse::<u64>().unwrap_or_else(|_| panic!("`{text}` is not a number"));
    let seed = value("--seed").map_or_else(today, number);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
    if let Some(name) = value("--target") {
        let Some(target) = target(name) else {
            println!("there is no target `{name}`; there are {}", TARGETS.map(|target| target.name).join(", "));
            return ExitCode::FAILURE;
        };
        let time = Duration::from_secs(value("--seconds").map_or(USUAL, number));
        let report = run(target, &Plan { time, seed, folder, keeps: true });
        println!("{report}\n(seed {seed})");
        return if report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let seconds = std::env::var("LACUNAR_FUZZ").map_or(USUAL, |text| number(&text));
    let time = Duration::from_millis(seconds * 1000 / TARGETS.len() as u64);
    let trial = |target: Target| {
        let plan = Plan { time, seed, folder: folder.clone(), keeps: false };
        Trial::test(target.name, move || {
            let report = run(&target, &plan);
            println!("{report} (seed {seed})");
            if report.failures.is_empty() { Ok(()) } else { Err(Failed::from(format!("{report}"))) }
        })
    };
    let mut arguments = arguments();
    // The handler of panics is the process's.
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, TARGETS.map(trial).into_iter().collect()).exit_code()
}
