//! The printed C against the reference interpreter, on random functions: same status, same memory.
//!
//! All functions go into one program, which is compiled without a warning, run under the address and
//! undefined-behavior sanitizers where the compiler has them, and its memory compared.

use crate::common;
use crate::common::run;
use lacunar_backend_c::{COptions, print_all};
use lacunar_base::Trace;
use lacunar_imp::{ArrayData, Function, Memory, Verified, generate, interpret, optimize, verify};

const SEEDS: u64 = 60;

/// Runs the functions of some seeds, compiled with `flags`, and compares with the interpreter.
fn check(seeds: std::ops::Range<u64>, flags: &[&str]) {
    let cases: Vec<(Verified<Function>, Memory)> = seeds
        .clone()
        .map(|seed| {
            let (function, memory) = generate::function(seed);
            let function = verify(function).expect("generated functions are well-formed");
            // Passes make statements that the generator does not, as they are in use.
            let passes = |function| optimize(function, &mut Trace::new()).expect("passes leave functions well-formed");
            (if seed % 2 == 0 { function } else { passes(function) }, memory)
        })
        .collect();
    let source = print_all(cases.iter().map(|(function, _)| function), &COptions::default());
    let inputs: Vec<(&Function, &Memory)> = cases.iter().map(|(function, memory)| (&**function, memory)).collect();
    let results = run(&source, &inputs, flags);
    for ((seed, (function, memory)), (status, left)) in seeds.zip(&cases).zip(results) {
        let mut expected = memory.clone();
        let outcome = interpret(function, &mut expected).expect("generated functions break no rule");
        assert_eq!(status, outcome.map_or(0, |status| status.code()), "seed {seed}: the status of\n{}", **function);
        if status == 0 {
            let left = cut(left, &expected);
            generate::compare(&expected, &left, 1e-9)
                .unwrap_or_else(|why| panic!("seed {seed}: {why} in\n{}", **function));
        }
    }
}

/// Grown arrays may have room for more than was asked for.
fn cut(mut left: Memory, expected: &Memory) -> Memory {
    for (array, expected) in left.arrays.iter_mut().zip(&expected.arrays) {
        let values: Vec<_> = (0..expected.len()).filter_map(|index| array.get(index)).collect();
        *array = ArrayData::from_values(array.dtype(), &values).expect("memory for a small array");
    }
    left
}

#[test]
fn random_functions_optimized() {
    check(0..SEEDS, &["-O2", "-fwrapv", "-fcx-fortran-rules", "-ffp-contract=fast", "-fno-trapping-math"]);
}

#[test]
fn random_functions_on_threads() {
    let flags = ["-O2", "-fwrapv", "-fcx-fortran-rules", "-ffp-contract=fast", "-fno-trapping-math", "-fopenmp"];
    if compiles_with(&flags, "random_functions_on_threads") {
        check(SEEDS + 15..2 * SEEDS, &flags);
    }
}

#[test]
fn random_functions_under_sanitizers() {
    let sanitizers = ["-O1", "-fwrapv", "-fcx-fortran-rules", "-fsanitize=address,undefined", "-fno-sanitize-recover"];
    if compiles_with(&sanitizers, "random_functions_under_sanitizers") {
        check(SEEDS..SEEDS + 15, &sanitizers);
    }
}

/// True if the C compiler takes some flags; says that a test is skipped if not.
fn compiles_with(flags: &[&str], test: &str) -> bool {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let probe = folder.path().join("probe.c");
    std::fs::write(&probe, "int main(void) { return 0; }\n").expect("the probe is written");
    let done = common::cc(&probe, &folder.path().join("probe"), flags);
    if let Err(message) = &done {
        eprintln!("SKIPPED {test}: the C compiler does not take {flags:?}: {message}");
    }
    done.is_ok()
}
