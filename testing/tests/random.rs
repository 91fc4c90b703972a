//! Random programs on every engine: `LACUNAR_RANDOM` of them (300) from seed `LACUNAR_SEED` (0) on.

mod engines;

use std::process::ExitCode;
use std::sync::Arc;

use lacunar_testing::runner::{arguments, conclude, random_trials};
use lacunar_testing::tally::Tally;

fn main() -> ExitCode {
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name} is not a number")))
    };
    let tally = Arc::new(Tally::default());
    let trials = random_trials(number("LACUNAR_SEED", 0), number("LACUNAR_RANDOM", 300), engines::all, &tally);
    conclude(&arguments(), trials, &tally)
}
