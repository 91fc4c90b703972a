//! The corpus (`tests/kernels/*.toml`) on every engine. `cargo test --test corpus -- spgemm` runs what has that name;
//! `LACUNAR_INSTANCE='[A=csr,C=coo]'` leaves only instances with that in their id.

mod engines;

use std::process::ExitCode;
use std::sync::Arc;

use lacunar_testing::runner::{arguments, conclude, corpus, trials};
use lacunar_testing::tally::Tally;

fn main() -> ExitCode {
    let arguments = arguments();
    let files = corpus().unwrap_or_else(|error| panic!("tests/kernels cannot be read: {error}"));
    let (mut all, tally) = (Vec::new(), Arc::new(Tally::default()));
    for (file, text) in files {
        all.extend(trials(&file, &text, engines::all, &tally).unwrap_or_else(|fault| panic!("{fault}")));
    }
    conclude(&arguments, all, &tally)
}
