//! Shipped kernels, in each version and through the entry point that chooses one, against the interpreter: without a runtime
//! table from outside, so that the object's own functions run.

#![allow(clippy::unwrap_used, unsafe_code)]

mod common;

use std::ffi::CString;

use common::{Runtime, run_with, set_pattern};
use lacunar_backend_llvm::{Cpu, Form, JitKernel, Shipped, ship, version_symbol};
use lacunar_imp::{Function, Param, Status, VarId, generate, interpret, verify};
use lacunar_runtime::pool;

/// How many functions; each is compiled in all versions.
const FUNCTIONS: u64 = 150;
/// Doubles can have been computed from singles, in another order than the interpreter's.
const TOLERANCE: f64 = 1e-5;

/// The names of the versions that this machine runs, as the standard library sees it, from the least to the best.
fn runnable() -> Vec<&'static str> {
    let mut names = vec![Cpu::VERSIONS[0].name];
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            names.push("x86_64_v3");
        }
        if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl") {
            names.push("x86_64_v4");
        }
    }
    names
}

/// The entry point and the versions of a kernel, in this process.
fn loaded(object: &[u8], symbol: &str) -> Vec<(String, JitKernel)> {
    let versions = Cpu::VERSIONS.iter().filter(|version| runnable().contains(&version.name));
    let mut symbols: Vec<String> = versions.map(|version| version_symbol(symbol, version)).collect();
    symbols.push(symbol.to_string());
    let load = |symbol: String| {
        let name = CString::new(symbol.clone()).unwrap();
        // SAFETY: the object was shipped, and the machine runs these versions.
        let kernel = unsafe { JitKernel::from_shipped(object, &name) }.unwrap();
        (symbol, kernel)
    };
    symbols.into_iter().map(load).collect()
}

/// The last scalar parameter, to serve as a number of threads.
fn some_scalar(function: &Function) -> Option<VarId> {
    let scalar = |param: &Param| match *param {
        Param::Scalar(var) => Some(var),
        Param::Array(_) => None,
    };
    function.params.iter().rev().find_map(scalar)
}

#[test]
fn random_functions_agree_with_the_interpreter_in_every_version() {
    // Nothing fills the memory that the C library gives.
    set_pattern(0);
    let (mut finished, mut failed) = (0, 0);
    for seed in 0..FUNCTIONS {
        let (function, memory) = generate::function(seed);
        let text = function.to_string();
        let function = verify(function).unwrap();
        let mut expected = memory.clone();
        let outcome = interpret(&function, &mut expected).unwrap();
        // With a number of threads that the function knows nothing of, and with as many as there are processors.
        let threads = some_scalar(&function).filter(|_| seed % 2 == 0);
        let shipped = Shipped { function: &function, symbol: "shipped", threads };
        let object = ship(&[shipped], Form::Object).unwrap();
        for (symbol, kernel) in loaded(&object, "shipped") {
            for runtime in [Runtime::Own, Runtime::Checking, Runtime::Real] {
                let mut actual = memory.clone();
                let status = pool::with_threads(2, || run_with(runtime, &kernel, &function, &mut actual));
                let what = format!("seed {seed}, {symbol}, {runtime:?}");
                assert_eq!(status, outcome.map_or(0, Status::code), "{what}:\n{text}");
                if outcome.is_none() {
                    for (data, expected) in actual.arrays.iter_mut().zip(&expected.arrays) {
                        assert!(data.len() >= expected.len(), "{what}: a grown array is too short");
                        data.resize(expected.len()).unwrap();
                    }
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
