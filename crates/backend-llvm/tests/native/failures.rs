//! Kernels that fail: the status is right, grown arrays are consistent, nothing leaks (which [`crate::common::run`] checks), and
//! compiled code can be dropped, shared between threads, stored and loaded.

#![allow(unsafe_code, clippy::unwrap_used)]

use crate::common::{run, set_budget, set_pattern};
use lacunar_backend_llvm::{
    CompileOptions, Cpu, JitKernel, LlvmError, Optimization, assembly, compile, llvm_ir, object, processor,
};
use lacunar_formats::DType;
use lacunar_imp::{ArrayData, ArrayRole, Builder, Function, Memory, Status, UnaryOp, Verified, verify};

/// Allocates a workspace of `size`, then appends `0 .. n` to a grown array.
fn append(zeroed: bool) -> Verified<Function> {
    let mut b = Builder::new("append");
    let out = b.array_param("out", DType::I64, ArrayRole::Grown);
    let (n, size) = (b.scalar_param("n"), b.scalar_param("size"));
    let work = b.local_array("work", DType::F32);
    let (zero, one, two) = (b.int(0), b.int(1), b.int(2));
    b.alloc(work, size, zeroed);
    b.for_loop("k", zero, n, |b, k| {
        let next = b.add(k, one);
        b.grow(out, next, two, zeroed);
        b.store(out, k, k);
    });
    verify(b.finish()).unwrap()
}

fn memory(n: i64, size: i64) -> Memory {
    Memory { arrays: vec![ArrayData::empty(DType::I64)], scalars: vec![n, size] }
}

#[test]
fn running_out_of_memory_at_any_allocation_is_a_status() {
    let function = append(false);
    let kernel = compile(&function, &CompileOptions::default()).unwrap();
    let mut succeeded = 0;
    for budget in 0..12 {
        set_budget(budget);
        let mut memory = memory(100, 10);
        let status = run(&kernel, &function, &mut memory);
        if status == 0 {
            succeeded += 1;
            assert!(memory.arrays[0].len() >= 200);
        } else {
            assert_eq!(status, Status::OutOfMemory.code());
        }
    }
    // One workspace and an array that doubles from 2 to 256 take nine allocations.
    assert_eq!(succeeded, 3);
}

#[test]
fn sizes_that_do_not_fit_are_a_status() {
    let function = append(true);
    let kernel = compile(&function, &CompileOptions::default()).unwrap();
    for size in [-1, i64::MIN, i64::MAX, i64::MAX / 4 + 1] {
        assert_eq!(run(&kernel, &function, &mut memory(1, size)), Status::SizeOverflow.code(), "size {size}");
    }
    assert_eq!(run(&kernel, &function, &mut memory(1, 0)), 0);

    let mut b = Builder::new("grow_to");
    let out = b.array_param("out", DType::F64, ArrayRole::Grown);
    let (count, block) = (b.scalar_param("count"), b.scalar_param("block"));
    b.grow(out, count, block, false);
    let function = verify(b.finish()).unwrap();
    let kernel = compile(&function, &CompileOptions::default()).unwrap();
    let overflow = Status::SizeOverflow.code();
    let cases = [
        (1 << 32, 1 << 32, overflow),
        (i64::MAX, 2, overflow),
        (i64::MAX / 8 + 1, 1, overflow),
        (-1, 1, overflow),
        (-1, 0, overflow),
        (-3, -3, overflow),
        (i64::MAX / 8, 1, Status::OutOfMemory.code()),
        (0, 5, 0),
        (7, 6, 0),
    ];
    for (count, block, expected) in cases {
        let mut memory = Memory { arrays: vec![ArrayData::empty(DType::F64)], scalars: vec![count, block] };
        assert_eq!(run(&kernel, &function, &mut memory), expected, "{count} blocks of {block}");
        assert_eq!(memory.arrays[0].len() as i64, if expected == 0 { count * block } else { 0 });
    }
}

#[test]
fn memory_is_zero_where_it_was_asked_to_be() {
    set_pattern(0xA5);
    for zeroed in [false, true] {
        let function = append(zeroed);
        let kernel = compile(&function, &CompileOptions::default()).unwrap();
        let mut memory = memory(5, 1);
        assert_eq!(run(&kernel, &function, &mut memory), 0);
        let ArrayData::I64(values) = &memory.arrays[0] else { panic!("the array is of type i64") };
        assert_eq!(values[..5], [0, 1, 2, 3, 4]);
        assert_eq!(values[5..].iter().all(|&value| value == 0), zeroed);
        assert!(values.len() > 5);
    }
}

#[test]
fn kernels_are_shared_between_threads_and_dropped_anywhere() {
    let function = append(false);
    let kernel = compile(&function, &CompileOptions::default()).unwrap();
    std::thread::scope(|scope| {
        for n in 0..4 {
            let (kernel, function) = (&kernel, &function);
            scope.spawn(move || {
                assert_eq!(run(kernel, function, &mut memory(n * 50, 1)), 0);
                drop(compile(function, &CompileOptions::default()).unwrap());
            });
        }
    });
    std::thread::spawn(move || drop(kernel)).join().unwrap();
}

#[test]
fn code_can_be_stored_and_loaded() {
    let function = append(false);
    let bytes = compile(&function, &CompileOptions::default()).unwrap().object().to_vec();
    // SAFETY: the object comes from this process.
    let kernel = unsafe { JitKernel::from_object(&bytes) }.unwrap();
    assert_eq!(run(&kernel, &function, &mut memory(3, 1)), 0);
    // SAFETY: no code is run from bytes that are no object.
    let error = unsafe { JitKernel::from_object(b"no object") }.unwrap_err();
    assert!(matches!(error, LlvmError::Load(_)), "{error}");
}

#[test]
fn text_and_objects_can_be_had() {
    let function = append(false);
    let raw = CompileOptions { optimization: Optimization::None, ..CompileOptions::default() };
    let ir = llvm_ir(&function, &raw).unwrap();
    assert!(ir.contains("define i32 @append(ptr") && ir.contains("!alias.scope"), "{ir}");
    assert!(ir.contains("alloca") && !llvm_ir(&function, &CompileOptions::default()).unwrap().contains("alloca"));
    assert!(assembly(&function, &raw).unwrap().contains("append:"));
    assert_eq!(object(&function, &raw).unwrap()[..4], *b"\x7fELF");
    assert!(!processor().unwrap().is_empty());
}

#[test]
fn unknown_processors_are_refused() {
    let options = CompileOptions { cpu: Cpu::Named("abacus".to_string()), ..CompileOptions::default() };
    assert!(matches!(compile(&append(false), &options), Err(LlvmError::Target(_))));
    let options = CompileOptions { cpu: Cpu::Named(Cpu::BASELINES[0].to_string()), ..CompileOptions::default() };
    let function = append(false);
    let kernel = compile(&function, &options).unwrap();
    assert_eq!(run(&kernel, &function, &mut memory(9, 1)), 0);
}

#[test]
fn a_kernel_may_have_the_name_of_what_it_calls_only_in_the_process() {
    let mut b = Builder::new("tan");
    let y = b.array_param("y", DType::F64, ArrayRole::Output);
    let zero = b.int(0);
    let old = b.load("old", y, zero);
    let tangent = b.unary(UnaryOp::Tan, old);
    b.store(y, zero, tangent);
    let function = verify(b.finish()).unwrap();
    let kernel = compile(&function, &CompileOptions::default()).unwrap();
    let mut memory = Memory { arrays: vec![ArrayData::F64(vec![0.5])], scalars: Vec::new() };
    assert_eq!(run(&kernel, &function, &mut memory), 0);
    assert_eq!(memory.arrays[0], ArrayData::F64(vec![0.5f64.tan()]));
    assert!(matches!(object(&function, &CompileOptions::default()), Err(LlvmError::ReservedName(_))));
}
