//! The corpus (`tests/kernels/*.toml`) on every engine: of cases with many instances a sample that moves with the day, and all with
//! `LACUNAR_ALL`. `cargo test --test corpus -- spgemm` runs the cases with that name whole; `LACUNAR_INSTANCE='[A=csr,C=coo]'` leaves only instances with that in their id.
//!
//! `-- --sanitize thread nodes/` runs instances as C, watched by a sanitizer ([`lacunar_testing::sanitize`]).

mod engines;

use std::path::Path;
use std::process::ExitCode;

use lacunar_testing::sanitize;
use lacunar_testing::suite::{are_named, arguments, batches, corpus, corpus_instances, trials};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let ["--sanitize", words @ ..] = &words[..] {
        return sanitize::corpus(words, Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap_or_else(|fault| {
            eprintln!("{fault}");
            ExitCode::FAILURE
        });
    }
    let (arguments, suite) = (arguments(), engines::suite("corpus"));
    let files = corpus().unwrap_or_else(|error| panic!("tests/kernels cannot be read: {error}"));
    let mut all = batches(&suite, corpus_instances);
    for (file, text) in files {
        all.extend(trials(&file, &text, &suite, !are_named()).unwrap_or_else(|fault| panic!("{fault}")));
    }
    suite.conclude(&arguments, all)
}
