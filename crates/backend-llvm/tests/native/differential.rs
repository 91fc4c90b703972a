//! Random functions, compiled and interpreted on the same memory, must agree.

#![allow(clippy::unwrap_used)]

use crate::common::{Random, Runtime, run_with, set_pattern};
use lacunar_backend_llvm::{CompileOptions, Cpu, Optimization, compile};
use lacunar_base::day::today;
use lacunar_imp::{Memory, Status, generate};
use lacunar_machine::{Filling, Tuning};
use lacunar_runtime::pool;

/// The number of functions. Each is compiled without optimization, and in one of three other ways.
const FUNCTIONS: u64 = 120;
/// The runtimes, with numbers of threads.
const RUNS: [(Runtime, usize); 4] =
    [(Runtime::Checking, 1), (Runtime::Checking, 2), (Runtime::Checking, 4), (Runtime::Real, 2)];
/// Doubles can have been computed from singles, in another order than the interpreter's.
const TOLERANCE: f64 = 1e-5;

/// Cuts the compiled kernel's grown arrays, whose capacity may be larger than asked for, to the interpreter's length.
fn cut(memory: &mut Memory, expected: &Memory) {
    for (data, expected) in memory.arrays.iter_mut().zip(&expected.arrays) {
        assert!(data.len() >= expected.len(), "an array has {} elements, not {}", data.len(), expected.len());
        data.resize(expected.len()).unwrap();
    }
}

#[test]
fn random_functions_agree_with_the_interpreter() {
    // Elements that were never written are zero in the interpreter's result.
    set_pattern(0);
    let (mut finished, mut failed) = (0, 0);
    for seed in (today() * FUNCTIONS..).take(FUNCTIONS as usize) {
        let Random { function, text, memory, expected, outcome } = Random::new(seed);
        let optimized = |optimization| CompileOptions { optimization, ..CompileOptions::default() };
        let plain = Cpu::Named(Cpu::BASELINES[0].to_string());
        let inserts = Tuning { filling: Filling::Inserts, ..Tuning::default() };
        let other = match seed % 3 {
            0 => CompileOptions { tuning: inserts, ..CompileOptions::default() },
            1 => optimized(Optimization::Full),
            _ => CompileOptions { cpu: plain, tuning: inserts, ..CompileOptions::default() },
        };
        for options in [optimized(Optimization::None), other] {
            let kernel = compile(&function, &options).unwrap();
            for (runtime, threads) in RUNS {
                let mut actual = memory.clone();
                let status = pool::with_threads(threads, || run_with(runtime, &kernel, &function, &mut actual));
                let what = format!("seed {seed}, {options:?}, {threads} threads, {runtime:?}");
                assert_eq!(status, outcome.map_or(0, Status::code), "{what}:\n{text}");
                if outcome.is_none() {
                    cut(&mut actual, &expected);
                    if let Err(difference) = generate::compare(&actual, &expected, TOLERANCE) {
                        panic!("{what}: {difference}\n{text}");
                    }
                }
            }
        }
        if outcome.is_none() { finished += 1 } else { failed += 1 }
    }
    assert!(finished > failed, "{finished} functions ran to their end, {failed} failed");
}
