//! Random programs on every engine: `LACUNAR_RANDOM` of them from seed `LACUNAR_SEED` on. Unless that is set, the first is another
//! one every day; it is printed, and repeats the run.
//!
//! `-- --soak 100000 --seed 0 --jobs 2` runs so many on LLVM and the interpreter in children, and survives their crashes
//! ([`lacunar_testing::soak`]); most are compiled with little optimization, which is faster, every eighth batch as usual, and
//! every eighth with all of it. `--sanitize` runs them as C, compiled with the address and undefined behavior sanitizers, and
//! `--sanitize thread` with the thread sanitizer.

mod engines;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use lacunar_testing::day::today;
use lacunar_testing::sanitize::Sanitizer;
use lacunar_testing::soak::{Soak, batch, case, soak};
use lacunar_testing::suite::{Suite, arguments, batches, random_instances, random_trials};

/// The number of programs that a run without arguments takes.
const USUAL: u64 = 700;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("`{text}` is not a number"));
    match words[..] {
        ["--batch", first, count] => return batch(number(first), number(count), &alone()),
        ["--case", path] => return case(Path::new(path), &alone()),
        ["--soak", count, ref rest @ ..] => return soak(&orders(number(count), rest)),
        _ => {}
    }
    let variable = |name: &str| std::env::var(name).ok().map(|text| number(&text));
    let first = variable("LACUNAR_SEED").unwrap_or_else(seed_of_the_day);
    let (arguments, suite) = (arguments(), engines::suite("random"));
    if !arguments.list {
        println!("LACUNAR_SEED={first}");
    }
    let count = variable("LACUNAR_RANDOM").unwrap_or(USUAL);
    let mut trials = batches(&suite, move |_| Ok(random_instances(first, count)));
    trials.extend(random_trials(first, count, &suite));
    suite.conclude(&arguments, trials)
}

/// Each program by itself on all engines, and nothing known of earlier runs.
fn alone() -> Suite {
    Suite { engines: engines::engines(&["interp", "c", "llvm"]), ..Suite::default() }
}

/// Seeds that no other day has, far from those that people begin with.
fn seed_of_the_day() -> u64 {
    today() * 1_000_000
}

/// The run that the words behind `--soak COUNT` ask for.
fn orders(count: u64, words: &[&str]) -> Soak {
    let value = |name: &str| {
        let place = words.iter().position(|word| *word == name)?;
        Some(words.get(place + 1)?.parse::<u64>().unwrap_or_else(|_| panic!("{name} wants a number")))
    };
    let sanitize = words.contains(&"--sanitize");
    let first = value("--seed").unwrap_or_else(seed_of_the_day);
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let environment: fn(u64) -> Vec<(&'static str, OsString)> = match sanitize {
        true if words.contains(&"thread") => races,
        true => addresses,
        false => natively,
    };
    let name = if sanitize { format!("soak-sanitize-{first}.txt") } else { format!("soak-{first}.txt") };
    Soak {
        first,
        count,
        jobs: value("--jobs").map_or(cores, |jobs| jobs as usize).max(1),
        limited: !sanitize,
        environment,
        report: Path::new(env!("CARGO_TARGET_TMPDIR")).join(name),
    }
}

/// Native code and the interpreter.
fn natively(batch: u64) -> Vec<(&'static str, OsString)> {
    let effort = match batch % 8 {
        3 => "usual",
        7 => "most",
        _ => "least",
    };
    vec![("LACUNAR_ENGINES", "interp,llvm".into()), ("LACUNAR_OPTIMIZATION", effort.into())]
}

/// C, with checks of each access of memory, of shifts, conversions and the like.
fn addresses(_: u64) -> Vec<(&'static str, OsString)> {
    sanitized(Sanitizer::Address)
}

/// C, with checks of the races of threads.
fn races(_: u64) -> Vec<(&'static str, OsString)> {
    sanitized(Sanitizer::Thread)
}

fn sanitized(sanitizer: Sanitizer) -> Vec<(&'static str, OsString)> {
    let mut environment = sanitizer
        .environment(Path::new(env!("CARGO_TARGET_TMPDIR")))
        .unwrap_or_else(|fault| panic!("{} sanitizer: {fault}", sanitizer.name()));
    // A child ends with its first report, so that the program is known.
    let halts = ["ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"];
    for (_, value) in environment.iter_mut().filter(|(name, _)| halts.contains(name)) {
        value.push(":halt_on_error=1");
    }
    environment.push(("OMP_NUM_THREADS", "3".into()));
    environment
}
