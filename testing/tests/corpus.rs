//! The corpus (`tests/kernels/*.toml`) on every engine. `cargo test --test corpus -- spgemm` runs what has that name;
//! `LACUNAR_INSTANCE='[A=csr,C=coo]'` leaves only instances with that in their id.

mod engines;

use lacunar_testing::runner::{arguments, corpus, trials};

fn main() {
    let arguments = arguments();
    let files = corpus().unwrap_or_else(|error| panic!("tests/kernels cannot be read: {error}"));
    let mut all = Vec::new();
    for (file, text) in files {
        all.extend(trials(&file, &text, engines::all).unwrap_or_else(|fault| panic!("{fault}")));
    }
    libtest_mimic::run(&arguments, all).exit();
}
