//! The corpus (`tests/kernels/*.toml`) on every engine. `cargo test --test corpus -- spgemm` runs the cases with that
//! name; `LACUNAR_INSTANCE='[A=csr,C=coo]'` leaves only instances with that in their id.

mod engines;

use std::process::ExitCode;

use lacunar_testing::suite::{arguments, batches, corpus, corpus_instances, trials};

fn main() -> ExitCode {
    let (arguments, suite) = (arguments(), engines::suite("corpus"));
    let files = corpus().unwrap_or_else(|error| panic!("tests/kernels cannot be read: {error}"));
    let mut all = batches(&suite, corpus_instances);
    for (file, text) in files {
        all.extend(trials(&file, &text, &suite).unwrap_or_else(|fault| panic!("{fault}")));
    }
    suite.conclude(&arguments, all)
}
