//! Printed kernels called from C without a runtime: results, failures, and compilation into a shared library.

use crate::common;
use crate::common::run;
use lacunar_backend_c::{COptions, CcError, CcOptions, compile_shared, print};
use lacunar_formats::DType;
use lacunar_imp::{ArrayData, Const, Function, Memory, Status, Verified};

const FLAGS: [&str; 2] = ["-O2", "-fwrapv"];

fn call(kernel: &Verified<Function>, arrays: Vec<ArrayData>, scalars: Vec<i64>) -> (i32, Vec<ArrayData>) {
    let memory = Memory { arrays, scalars };
    let source = print(kernel, &COptions::default());
    let (status, left) = run(&source, &[(&**kernel, &memory)], &FLAGS).remove(0);
    (status, left.arrays)
}

#[test]
fn row_sums() {
    let arrays = vec![
        ArrayData::U32(vec![0, 2, 2, 3]),
        ArrayData::F64(vec![1.5, 2.0, f64::INFINITY]),
        ArrayData::F64(vec![9.0; 3]),
    ];
    let (status, arrays) = call(&common::rowsum(), arrays, vec![3]);
    assert_eq!(status, 0);
    assert_eq!(arrays[2], ArrayData::F64(vec![3.5, 0.0, f64::INFINITY]));
}

#[test]
fn grown_arrays_come_back() {
    let none = ArrayData::empty;
    let x = vec![0, 7, 0, -2, 65536, 1];
    let arrays = vec![ArrayData::I32(x), none(DType::U32), none(DType::I32), ArrayData::U64(vec![0])];
    let (status, arrays) = call(&common::compress(), arrays, vec![6]);
    assert_eq!(status, 0);
    assert_eq!(arrays[3], ArrayData::U64(vec![4]));
    assert_eq!(arrays[1], ArrayData::U32(vec![1, 3, 4, 5]));
    // Blocks of two, the second element zero as grown; the square of 65536 wraps.
    assert_eq!(arrays[2], ArrayData::I32(vec![49, 0, 4, 0, 0, 0, 1, 0]));
}

#[test]
fn marks_are_sorted_and_failures_reported() {
    let arrays = |a: &[u64]| vec![ArrayData::U64(a.to_vec()), ArrayData::I64(vec![-1; 3])];
    let kernel = common::distinct();
    // Few marks in a large space are sorted, many in a small one read off.
    for size in [6, 1000] {
        let (status, left) = call(&kernel, arrays(&[5, 1, 5, 3, 1]), vec![5, size]);
        assert_eq!((status, &left[1]), (0, &ArrayData::I64(vec![1, 3, 5])));
    }
    let overflow = Status::SizeOverflow.code();
    assert_eq!(call(&kernel, arrays(&[5, 1]), vec![2, 4]).0, overflow);
    assert_eq!(call(&kernel, arrays(&[]), vec![0, -1]).0, overflow);
    assert_eq!(call(&kernel, arrays(&[]), vec![0, 1 << 61]).0, Status::OutOfMemory.code());
}

#[test]
fn entries_are_sorted_and_combined() {
    let rows = ArrayData::I64(vec![2, 0, 2, 0, 1]);
    let cols = ArrayData::I64(vec![1, 3, 1, 0, 1]);
    let values = ArrayData::I8(vec![100, 2, 100, 4, 5]);
    let count = ArrayData::I64(vec![0]);
    let (status, left) = call(&common::combine(DType::I8), vec![rows, cols, values, count], vec![5]);
    assert_eq!((status, &left[3]), (0, &ArrayData::I64(vec![4])));
    let firsts = |array: &ArrayData| (0..4).filter_map(|k| array.get(k)).map(|c| c.bits as i64).collect::<Vec<_>>();
    assert_eq!(firsts(&left[0]), [0, 0, 1, 2]);
    assert_eq!(firsts(&left[1]), [0, 3, 1, 1]);
    assert_eq!(firsts(&left[2]), [4, 2, 5, -56]);
}

#[test]
fn every_type_combines() {
    for ty in DType::ALL.into_iter().filter(|&ty| lacunar_imp::BinaryOp::Add.accepts(ty)) {
        let zeros = |ty| ArrayData::zeros(ty, 3).expect("three elements");
        let arrays = vec![zeros(DType::I64), zeros(DType::I64), zeros(ty), zeros(DType::I64)];
        let (status, left) = call(&common::combine(ty), arrays, vec![3]);
        assert_eq!((status, left[3].get(0).map(|c| c.bits)), (0, Some(1)), "{ty}");
    }
}

#[test]
fn names_that_c_does_not_take() {
    use num_complex::Complex;
    let arrays = vec![ArrayData::C128(vec![Complex::new(1.0, 2.0)]), ArrayData::I64(vec![3])];
    let (status, left) = call(&common::awkward(), arrays, vec![1]);
    assert_eq!(status, 0);
    assert_eq!(left[0], ArrayData::C128(vec![Complex::new(-1.0, 3.0)]));
    assert_eq!(left[1], ArrayData::I64(vec![3_i64.wrapping_mul(3_i64.wrapping_add(i64::MAX))]));
}

#[test]
fn large_and_deep_expressions() {
    let (status, left) = call(&common::doubled(), vec![ArrayData::U64(vec![3, 0])], vec![]);
    let first = 3_u64 << 60;
    let deep = (0..300).fold(first, |deep: u64, k: u64| k.wrapping_sub(deep));
    assert_eq!((status, &left[0]), (0, &ArrayData::U64(vec![first, deep])));
}

/// Five rows in chunks of two, on one thread and on as many as there are.
#[test]
fn chunks_of_rows_come_together() {
    let none = ArrayData::empty;
    let arrays = |last: f64| {
        vec![
            ArrayData::U32(vec![0, 2, 2, 5, 6, 7]),
            ArrayData::U32(vec![0, 1, 1, 2, 0, 2, 1]),
            ArrayData::F64(vec![1.0, 2.5, 3.0, 0.0, 4.0, 5.0, last]),
            none(DType::U32),
            none(DType::U32),
            none(DType::F64),
            ArrayData::I64(vec![0; 3]),
            ArrayData::F64(vec![0.5]),
            ArrayData::Bool(vec![false; 3]),
            ArrayData::from_values(DType::C128, &[Const::zero(DType::C128)]).expect("memory for an element"),
        ]
    };
    let kernel = common::chunks();
    let source = print(&kernel, &COptions::default());
    for flags in [&FLAGS[..], &["-O2", "-fwrapv", "-fopenmp"]] {
        let run_with = |last| {
            let memory = Memory { arrays: arrays(last), scalars: vec![5, 2] };
            run(&source, &[(&*kernel, &memory)], flags).remove(0)
        };
        let (status, left) = run_with(8.5);
        assert_eq!(status, 0);
        let first = |number: usize, n: usize| (0..n).filter_map(|k| left.arrays[number].get(k)).collect::<Vec<Const>>();
        let indices =
            |values: &[i64]| values.iter().map(|&value| Const::int(DType::U32, value)).collect::<Vec<Const>>();
        assert_eq!(first(3, 6), indices(&[0, 2, 2, 4, 5, 6]));
        assert_eq!(first(4, 6), indices(&[0, 1, 1, 0, 2, 1]));
        assert_eq!(first(5, 6), [1.0, 2.5, 3.0, 4.0, 5.0, 8.5].map(|value| Const::real(DType::F64, value)));
        assert_eq!(left.arrays[6], ArrayData::I64(vec![2, 3, 1]));
        assert_eq!(left.arrays[7], ArrayData::F64(vec![8.5]));
        assert_eq!(left.arrays[8], ArrayData::Bool(vec![true; 3]));
        assert_eq!(left.arrays[9].get(0), Some(Const::complex(DType::C128, 24.0, 0.0)));
        assert_eq!(run_with(-1.0).0, Status::SizeOverflow.code());
    }
}

#[test]
fn a_shared_library_is_made() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let source = print(&common::rowsum(), &COptions::default());
    let library = compile_shared(&source, &CcOptions::default(), folder.path()).expect("the kernel compiles");
    assert!(library.starts_with(folder.path()) && library.is_file());
    let reassociating = CcOptions { reassociate: true, optimization: 9, ..CcOptions::default() };
    compile_shared(&source, &reassociating, folder.path()).expect("the kernel compiles once more");
    let threads = print(&common::chunks(), &COptions::default());
    compile_shared(&threads, &CcOptions::default(), folder.path()).expect("a kernel with parallel loops compiles");
    let script = "case \"$*\" in *-fopenmp*) exit 1;; esac; exec cc \"$@\"";
    let compiler = ["sh", "-c", script, "cc"].map(Into::into).to_vec();
    let without = CcOptions { compiler, ..CcOptions::default() };
    compile_shared(&threads, &without, folder.path()).expect("it compiles without OpenMP");
}

#[test]
fn a_compiler_that_fails_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let mut source = print(&common::rowsum(), &COptions::default());
    let missing = CcOptions { compiler: vec!["no-such-compiler".into()], ..CcOptions::default() };
    let error = compile_shared(&source, &missing, folder.path()).expect_err("there is no such compiler");
    assert!(matches!(&error, CcError::NotStarted { compiler, .. } if compiler == "no-such-compiler"));
    let nowhere = folder.path().join("nowhere");
    let error = compile_shared(&source, &CcOptions::default(), &nowhere).expect_err("there is no such folder");
    assert!(matches!(error, CcError::Write { .. }));
    source.source.push_str("this is not C\n");
    let error = compile_shared(&source, &CcOptions::default(), folder.path()).expect_err("that is not C");
    assert!(matches!(&error, CcError::Failed { message, .. } if message.contains("this")), "{error}");
}
