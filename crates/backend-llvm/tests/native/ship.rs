//! Shipped kernels, in each version and through the entry point that chooses one, against the interpreter: without a runtime
//! table from outside, so that the object's own functions run.

#![allow(clippy::unwrap_used, unsafe_code)]

use std::ffi::CString;

use crate::common::{Random, Runtime, run_with, set_pattern};
use lacunar_backend_llvm::{Cpu, Form, JitKernel, Shipped, ship, version_symbol};
use lacunar_base::day::today;
use lacunar_formats::DType;
use lacunar_imp::{ArrayData, ArrayRole, Builder, Function, LoopKind, Memory, Param, Status, VarId, generate, verify};
use lacunar_runtime::pool;

/// The number of functions. Each is compiled in all versions.
const FUNCTIONS: u64 = 30;
/// Doubles can have been computed from singles, in another order than the interpreter's.
const TOLERANCE: f64 = 1e-5;

/// The entry point and the versions of a kernel, in this process.
fn loaded(object: &[u8], symbol: &str) -> Vec<(String, JitKernel)> {
    let versions = Cpu::VERSIONS.iter().filter(|version| version.runs_here());
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
    for seed in (today() * FUNCTIONS..).take(FUNCTIONS as usize) {
        let Random { function, text, memory, expected, outcome } = Random::new(seed);
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

/// The lines of a function in assembly.
fn body<'a>(assembly: &'a str, symbol: &str) -> Vec<&'a str> {
    let label = format!("{symbol}:");
    let lines = assembly.lines().skip_while(|line| line.split_whitespace().next() != Some(label.as_str()));
    lines.take_while(|line| !line.contains(".Lfunc_end")).collect()
}

/// `y[i] = y[i] + x[i]` and the two other versions of it: each uses the registers of its own processor and no wider ones.
#[test]
#[cfg(target_arch = "x86_64")]
fn every_version_has_its_own_instructions() {
    let mut b = Builder::new("axpy");
    let n = b.scalar_param("n");
    let a = b.array_param("a", DType::F64, ArrayRole::Input);
    let x = b.array_param("x", DType::F64, ArrayRole::Input);
    let y = b.array_param("y", DType::F64, ArrayRole::Output);
    let zero = b.int(0);
    b.for_loop("i", zero, n, |b, i| {
        let (a, x, old) = (b.load("a_v", a, i), b.load("x_v", x, i), b.load("y_v", y, i));
        let product = b.mul(a, x);
        let sum = b.add(old, product);
        b.store(y, i, sum);
    });
    let function = verify(b.finish()).unwrap();
    let shipped = Shipped { function: &function, symbol: "axpy", threads: None };
    let assembly = String::from_utf8(ship(&[shipped], Form::Assembly).unwrap()).unwrap();
    let uses = |version: &str, what: &str| {
        let lines = body(&assembly, &format!("axpy_{version}"));
        assert!(lines.len() > 10, "{version} is there:\n{assembly}");
        lines.iter().any(|line| line.contains(what))
    };
    assert!(uses("x86_64", "%xmm") && !uses("x86_64", "%ymm") && !uses("x86_64", "vfmadd"), "{assembly}");
    assert!(uses("x86_64_v3", "%ymm") && uses("x86_64_v3", "vfmadd") && !uses("x86_64_v3", "%zmm"), "{assembly}");
    assert!(uses("x86_64_v4", "%ymm") || uses("x86_64_v4", "%zmm"), "{assembly}");
    // Nothing is called, so there is no runtime in it.
    assert!(!assembly.contains("pthread_create") && !assembly.contains("lac.table"), "{assembly}");
    assert!(body(&assembly, "axpy").iter().any(|line| line.contains("lac.level")), "{assembly}");
}

/// Two kernels in one object: one has loops of threads, and the object has the code that these need, once.
#[test]
fn kernels_share_an_object() {
    let make = |name: &str, parallel: bool| {
        let mut b = Builder::new(name);
        let n = b.scalar_param("n");
        let y = b.array_param("y", DType::I64, ArrayRole::Output);
        let zero = b.int(0);
        let kind = if parallel { LoopKind::Parallel } else { LoopKind::Serial };
        b.for_loop_kind(kind, "i", zero, n, |b, i| b.store(y, i, i));
        verify(b.finish()).unwrap()
    };
    let (first, second) = (make("first", false), make("second", true));
    let shipped = [("first", &first), ("second", &second)];
    let shipped = shipped.map(|(symbol, function)| Shipped { function, symbol, threads: None });
    let object = ship(&shipped, Form::Object).unwrap();
    for (symbol, function) in [("first", &first), ("second", &second)] {
        for (symbol, kernel) in loaded(&object, symbol) {
            let mut memory = Memory { arrays: vec![ArrayData::I64(vec![-1; 1000])], scalars: vec![1000] };
            assert_eq!(run_with(Runtime::Own, &kernel, function, &mut memory), 0, "{symbol}");
            assert_eq!(memory.arrays[0], ArrayData::I64((0..1000).collect()), "{symbol}");
        }
    }
    let assembly = String::from_utf8(ship(&shipped, Form::Assembly).unwrap()).unwrap();
    assert_eq!(assembly.lines().filter(|line| line.starts_with("lac.parallel:")).count(), 1);
    assert!(!assembly.contains("lac.sort_combine"), "only what is called");
    let ir = String::from_utf8(ship(&shipped, Form::Ir).unwrap()).unwrap();
    assert!(ir.contains("define i32 @first(ptr") && ir.contains("define internal i32 @lac.parallel("));
}
