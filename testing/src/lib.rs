//! Generators, the corpus runner and long runs of Lacunar.
//!
//! A [`case`] names a program, formats, types, sizes and data; the oracle ([`lacunar_oracle`]) evaluates its meaning; engines
//! (interpreter, C, LLVM) run it and are compared with the oracle ([`runner`], [`compare`]). Cases come from the corpus in
//! `tests/kernels`, from [`generate`], and, where they are at hand, from other systems' tests ([`conformance`]).

pub use lacunar_oracle::{compare, entries, scalar};

pub mod case;
pub mod conformance;
pub mod data;
pub mod day;
pub mod fuzz;
pub mod generate;
pub mod inferred;
pub mod instance;
pub mod layouts;
pub mod operators;
#[cfg(test)]
mod oracle_tests;
pub mod pairs;
pub mod passed;
pub mod rearranged;
pub mod rounds;
pub mod rules;
pub mod runner;
pub mod sanitize;
pub mod schedules;
pub mod semirings;
pub mod setup;
pub mod shrink;
pub mod sketch;
pub mod soak;
pub mod structured;
pub mod suite;
pub mod tally;
