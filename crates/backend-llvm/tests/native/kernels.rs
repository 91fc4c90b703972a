//! Handwritten kernels, one for each thing that kernels do, compared with results by definition.

#![allow(clippy::unwrap_used)]

use crate::common::{compile_and_run, run};
use lacunar_backend_llvm::{CompileOptions, Optimization, compile};
use lacunar_formats::DType;
use lacunar_imp::{
    Arg, ArrayData, ArrayId, ArrayRole, BinaryOp, Builder, Callee, CompareOp, Const, ExprId, Function, Memory, Stmt,
    UnaryOp, VarId, Verified, WordOp, verify,
};
use num_complex::Complex;

fn checked(builder: Builder) -> Verified<Function> {
    verify(builder.finish()).unwrap()
}

fn memory(arrays: Vec<ArrayData>, scalars: Vec<i64>) -> Memory {
    Memory { arrays, scalars }
}

/// `y(i) = A(i,j) * x(j)` with `A` in CSR.
fn spmv() -> Verified<Function> {
    let mut b = Builder::new("spmv");
    let pos = b.array_param("A_pos", DType::U32, ArrayRole::Input);
    let crd = b.array_param("A_crd", DType::U32, ArrayRole::Input);
    let vals = b.array_param("A_vals", DType::F64, ArrayRole::Input);
    let x = b.array_param("x", DType::F64, ArrayRole::Input);
    let y = b.array_param("y", DType::F64, ArrayRole::Output);
    let m = b.scalar_param("m");
    let (zero, one) = (b.int(0), b.int(1));
    b.for_loop("i", zero, m, |b, i| {
        let begin = b.load_index("begin", pos, i);
        let next = b.add(i, one);
        let end = b.load_index("end", pos, next);
        let nothing = b.constant(Const::real(DType::F64, 0.0));
        let sum = b.declare("sum", nothing);
        b.for_loop("p", begin, end, |b, p| {
            let j = b.load_index("j", crd, p);
            let (a, v) = (b.load("a", vals, p), b.load("v", x, j));
            let product = b.mul(a, v);
            let old = b.var(sum);
            let new = b.add(old, product);
            b.assign(sum, new);
        });
        let sum = b.var(sum);
        b.store(y, i, sum);
    });
    checked(b)
}

#[test]
fn spmv_sums_rows() {
    let mut memory = memory(
        vec![
            ArrayData::U32(vec![0, 2, 2, 5]),
            ArrayData::U32(vec![0, 3, 1, 2, 3]),
            ArrayData::F64(vec![1.0, 2.0, 3.0, 4.0, 5.0]),
            ArrayData::F64(vec![1.0, 10.0, 100.0, 1000.0]),
            ArrayData::F64(vec![-1.0; 3]),
        ],
        vec![3],
    );
    assert_eq!(compile_and_run(&spmv(), &mut memory), 0);
    assert_eq!(memory.arrays[4], ArrayData::F64(vec![2001.0, 0.0, 5430.0]));
}

/// Appends `value` to two growing arrays at `count`, and counts.
fn append(b: &mut Builder, crd: ArrayId, vals: ArrayId, count: VarId, coordinate: ExprId, value: ExprId) {
    let (place, one) = (b.var(count), b.int(1));
    let next = b.add(place, one);
    b.grow(crd, next, one, false);
    b.store_index(crd, place, coordinate);
    b.grow(vals, next, one, false);
    b.store(vals, place, value);
    b.assign(count, next);
}

/// `c(i) = a(i) + b(i)` on compressed vectors: the two-way merge for a union, its result appended.
fn union() -> Verified<Function> {
    let mut b = Builder::new("vector_union");
    let mut input = |name: &str, ty| b.array_param(name, ty, ArrayRole::Input);
    let (a_crd, a_vals) = (input("a_crd", DType::U32), input("a_vals", DType::F64));
    let (b_crd, b_vals) = (input("b_crd", DType::U32), input("b_vals", DType::F64));
    let c_crd = b.array_param("c_crd", DType::U32, ArrayRole::Grown);
    let c_vals = b.array_param("c_vals", DType::F64, ArrayRole::Grown);
    let size = b.array_param("size", DType::I64, ArrayRole::Output);
    let (a_end, b_end) = (b.scalar_param("a_end"), b.scalar_param("b_end"));
    let (zero, one) = (b.int(0), b.int(1));
    let (pa, pb, count) = (b.declare("pa", zero), b.declare("pb", zero), b.declare("count", zero));
    let (pa_value, pb_value) = (b.var(pa), b.var(pb));
    let a_left = b.compare(CompareOp::Lt, pa_value, a_end);
    let b_left = b.compare(CompareOp::Lt, pb_value, b_end);
    let both = b.and(a_left, b_left);
    b.while_loop(both, |b| {
        let (i, j) = (b.load_index("i", a_crd, pa_value), b.load_index("j", b_crd, pb_value));
        let (x, y) = (b.load("x", a_vals, pa_value), b.load("y", b_vals, pb_value));
        let least = b.binary(BinaryOp::Min, i, j);
        let (in_a, in_b) = (b.compare(CompareOp::Eq, i, least), b.compare(CompareOp::Eq, j, least));
        let (in_a, in_b) = (b.define("in_a", in_a), b.define("in_b", in_b));
        let nothing = b.constant(Const::zero(DType::F64));
        let (x, y) = (b.select(in_a, x, nothing), b.select(in_b, y, nothing));
        let sum = b.add(x, y);
        append(b, c_crd, c_vals, count, least, sum);
        for (position, value, here) in [(pa, pa_value, in_a), (pb, pb_value, in_b)] {
            let step = b.cast(DType::I64, here);
            let next = b.add(value, step);
            b.assign(position, next);
        }
    });
    for (left, position, crd, vals) in [(a_left, pa, a_crd, a_vals), (b_left, pb, b_crd, b_vals)] {
        b.while_loop(left, |b| {
            let place = b.var(position);
            let (i, x) = (b.load_index("i", crd, place), b.load("x", vals, place));
            append(b, c_crd, c_vals, count, i, x);
            let next = b.add(place, one);
            b.assign(position, next);
        });
    }
    let count = b.var(count);
    b.store(size, zero, count);
    checked(b)
}

#[test]
fn union_merges_and_appends() {
    // Every third and every fifth number.
    let (a, b): (Vec<u32>, Vec<u32>) = ((0..400).map(|k| 3 * k).collect(), (0..300).map(|k| 5 * k).collect());
    let mut sums = std::collections::BTreeMap::new();
    for (crd, factor) in [(&a, 1.0), (&b, 10.0)] {
        crd.iter().for_each(|&k| *sums.entry(k).or_insert(0.0) += factor * f64::from(k));
    }
    let values = |crd: &[u32], factor: f64| ArrayData::F64(crd.iter().map(|&k| factor * f64::from(k)).collect());
    let mut memory = memory(
        vec![
            ArrayData::U32(a.clone()),
            values(&a, 1.0),
            ArrayData::U32(b.clone()),
            values(&b, 10.0),
            ArrayData::empty(DType::U32),
            ArrayData::empty(DType::F64),
            ArrayData::I64(vec![0]),
        ],
        vec![a.len() as i64, b.len() as i64],
    );
    assert_eq!(compile_and_run(&union(), &mut memory), 0);
    let size = sums.len();
    assert_eq!(memory.arrays[6], ArrayData::I64(vec![size as i64]));
    // Capacities double, so they are below twice the size.
    assert!((size..2 * size).contains(&memory.arrays[4].len()));
    memory.arrays[4].resize(size).unwrap();
    memory.arrays[5].resize(size).unwrap();
    assert_eq!(memory.arrays[4], ArrayData::U32(sums.keys().copied().collect()));
    assert_eq!(memory.arrays[5], ArrayData::F64(sums.values().copied().collect()));
}

/// Scatters coordinates into a workspace with marks and a list, sorts the list, and gathers.
#[test]
fn a_workspace_is_drained_in_order() {
    let mut b = Builder::new("workspace");
    let crd = b.array_param("crd", DType::U32, ArrayRole::Input);
    let list_out = b.array_param("list_out", DType::I64, ArrayRole::Output);
    let sums_out = b.array_param("sums_out", DType::F64, ArrayRole::Output);
    let (n, size) = (b.scalar_param("n"), b.scalar_param("size"));
    let (sums, marks) = (b.local_array("sums", DType::F64), b.local_array("marks", DType::Bool));
    let list = b.local_array("list", DType::I64);
    let (zero, one) = (b.int(0), b.int(1));
    b.alloc(sums, size, true);
    b.alloc(marks, size, true);
    b.alloc(list, size, false);
    let count = b.declare("count", zero);
    b.for_loop("p", zero, n, |b, p| {
        let k = b.load_index("k", crd, p);
        let value = b.constant(Const::real(DType::F64, 1.5));
        b.accumulate(sums, k, BinaryOp::Add, value);
        let seen = b.load("seen", marks, k);
        let unseen = b.unary(UnaryOp::Not, seen);
        b.if_then(unseen, |b| {
            let (place, yes) = (b.var(count), b.bool(true));
            b.store(marks, k, yes);
            b.store(list, place, k);
            let next = b.add(place, one);
            b.assign(count, next);
        });
    });
    let count = b.var(count);
    b.call(Callee::SortMarked, vec![Arg::Array(list), Arg::Scalar(count), Arg::Array(marks), Arg::Scalar(size)]);
    b.for_loop("q", zero, count, |b, q| {
        let k = b.load("k", list, q);
        b.store(list_out, q, k);
        let sum = b.load("sum", sums, k);
        b.store(sums_out, q, sum);
    });
    let mut memory = memory(
        vec![ArrayData::U32(vec![9, 2, 9, 4, 2, 9]), ArrayData::I64(vec![-1; 4]), ArrayData::F64(vec![-1.0; 4])],
        vec![6, 10],
    );
    assert_eq!(compile_and_run(&checked(b), &mut memory), 0);
    assert_eq!(memory.arrays[1], ArrayData::I64(vec![2, 4, 9, -1]));
    assert_eq!(memory.arrays[2], ArrayData::F64(vec![3.0, 1.5, 4.5, -1.0]));
}

#[test]
fn entries_are_sorted_and_combined() {
    let mut b = Builder::new("combine");
    let names = ["row", "column"];
    let keys: Vec<ArrayId> = names.iter().map(|name| b.array_param(name, DType::I64, ArrayRole::Output)).collect();
    let vals = b.array_param("vals", DType::F64, ArrayRole::Output);
    let left = b.array_param("left", DType::I64, ArrayRole::Output);
    let n = b.scalar_param("n");
    let args = vec![Arg::Scalar(n), Arg::Array(vals), Arg::Array(keys[0]), Arg::Array(keys[1])];
    let count = b.call_value("count", Callee::SortCombine, args);
    let zero = b.int(0);
    b.store(left, zero, count);
    let function = checked(b);
    let start = memory(
        vec![
            ArrayData::I64(vec![2, 1, 2, 1]),
            ArrayData::I64(vec![5, 7, 5, 3]),
            ArrayData::F64(vec![1.0, 2.0, 4.0, 8.0]),
            ArrayData::I64(vec![0]),
        ],
        vec![4],
    );
    let mut done = start.clone();
    assert_eq!(compile_and_run(&function, &mut done), 0);
    assert_eq!(done.arrays[3], ArrayData::I64(vec![3]));
    let first_three = |data: &ArrayData| (0..3).map(|k| data.get(k).unwrap()).collect::<Vec<_>>();
    assert_eq!(first_three(&done.arrays[0]), first_three(&ArrayData::I64(vec![1, 1, 2])));
    assert_eq!(first_three(&done.arrays[1]), first_three(&ArrayData::I64(vec![3, 7, 5])));
    assert_eq!(first_three(&done.arrays[2]), first_three(&ArrayData::F64(vec![8.0, 2.0, 5.0])));

    crate::common::set_budget(0);
    assert_eq!(compile_and_run(&function, &mut start.clone()), 1);
}

#[test]
fn lower_bound_finds_the_first_not_below() {
    let mut b = Builder::new("search");
    let crd = b.array_param("crd", DType::U32, ArrayRole::Input);
    let found = b.array_param("found", DType::I64, ArrayRole::Output);
    let (n, keys) = (b.scalar_param("n"), b.scalar_param("keys"));
    let (zero, one) = (b.int(0), b.int(1));
    b.for_loop("key", zero, keys, |b, key| {
        let key_less_one = b.binary(BinaryOp::Sub, key, one);
        let args = vec![Arg::Array(crd), Arg::Scalar(zero), Arg::Scalar(n), Arg::Scalar(key_less_one)];
        let place = b.call_value("place", Callee::LowerBound, args);
        b.store(found, key, place);
    });
    let function = checked(b);
    for n in 0..9u32 {
        let crd: Vec<u32> = (0..n).map(|k| 3 * k / 2).collect();
        let expected: Vec<i64> = (-1..15).map(|key| crd.partition_point(|&c| i64::from(c) < key) as i64).collect();
        let arrays = vec![ArrayData::U32(crd), ArrayData::I64(vec![-1; 16])];
        let mut memory = memory(arrays, vec![i64::from(n), 16]);
        assert_eq!(compile_and_run(&function, &mut memory), 0);
        assert_eq!(memory.arrays[1], ArrayData::I64(expected), "{n} coordinates");
    }
}

/// Compiles `out[k] = operation(a[k], b[k])` for every `k` and gives `out`.
fn elementwise(
    a: ArrayData,
    b: ArrayData,
    out: DType,
    operation: impl FnOnce(&mut Builder, ExprId, ExprId) -> ExprId,
) -> ArrayData {
    let mut builder = Builder::new("elementwise");
    let a_array = builder.array_param("a", a.dtype(), ArrayRole::Input);
    let b_array = builder.array_param("b", b.dtype(), ArrayRole::Input);
    let out_array = builder.array_param("out", out, ArrayRole::Output);
    let (n, zero) = (builder.scalar_param("n"), builder.int(0));
    builder.for_loop("k", zero, n, |builder, k| {
        let (x, y) = (builder.load("x", a_array, k), builder.load("y", b_array, k));
        let value = operation(builder, x, y);
        builder.store(out_array, k, value);
    });
    let len = a.len();
    let mut memory = memory(vec![a, b, ArrayData::zeros(out, len).unwrap()], vec![len as i64]);
    assert_eq!(compile_and_run(&checked(builder), &mut memory), 0);
    memory.arrays.pop().unwrap()
}

/// `y[k] = f64(u32(i8(x[k])))` for two neighbors, which LLVM's superword vectorizer takes together.
#[test]
fn negative_integers_are_large_unsigned_ones_with_any_optimization() {
    let mut b = Builder::new("neighbors");
    let (x, y) = (b.array_param("x", DType::F64, ArrayRole::Input), b.array_param("y", DType::F64, ArrayRole::Output));
    for place in [0, 1] {
        let at = b.int(place);
        let mut value = b.load("x", x, at);
        for ty in [DType::I8, DType::U32, DType::F64] {
            value = b.cast(ty, value);
        }
        b.store(y, at, value);
    }
    let function = checked(b);
    for optimization in [Optimization::None, Optimization::Kernel, Optimization::Full] {
        let kernel = compile(&function, &CompileOptions { optimization, ..CompileOptions::default() }).unwrap();
        let mut memory = memory(vec![ArrayData::F64(vec![-3.5, 2.0]), ArrayData::F64(vec![0.0; 2])], Vec::new());
        assert_eq!(run(&kernel, &function, &mut memory), 0);
        assert_eq!(memory.arrays[1], ArrayData::F64(vec![4_294_967_293.0, 2.0]), "{optimization:?}");
    }
}

#[test]
fn integers_divide_by_zero_and_overflow() {
    let a = || ArrayData::I32(vec![7, -7, 7, i32::MIN, i32::MIN, 0]);
    let b = || ArrayData::I32(vec![2, 2, 0, -1, 0, 0]);
    let quotients = elementwise(a(), b(), DType::I32, |b, x, y| b.binary(BinaryOp::Div, x, y));
    assert_eq!(quotients, ArrayData::I32(vec![3, -3, 0, i32::MIN, 0, 0]));
    let remainders = elementwise(a(), b(), DType::I32, |b, x, y| b.binary(BinaryOp::Rem, x, y));
    assert_eq!(remainders, ArrayData::I32(vec![1, -1, 0, 0, 0, 0]));
    let (a, b) = (ArrayData::U8(vec![200, 255, 9]), ArrayData::U8(vec![100, 0, 4]));
    assert_eq!(elementwise(a, b, DType::U8, |b, x, y| b.binary(BinaryOp::Div, x, y)), ArrayData::U8(vec![2, 0, 2]));
}

#[test]
fn integer_powers_truncate() {
    let (a, b) = (ArrayData::I16(vec![3, -1, -1, 2, 0, 1, -3]), ArrayData::I16(vec![4, -3, -2, -1, -1, -9, 3]));
    let powers = elementwise(a, b, DType::I16, |b, x, y| b.binary(BinaryOp::Pow, x, y));
    assert_eq!(powers, ArrayData::I16(vec![81, -1, 1, 0, 0, 1, -27]));
}

#[test]
fn bits_are_shifted_and_counted() {
    let (a, b) = (|| ArrayData::U64(vec![1, 5, u64::MAX, 0, 40]), || ArrayData::U64(vec![63, 66, 1, 9, 64]));
    let up = elementwise(a(), b(), DType::U64, |b, x, y| b.binary(BinaryOp::Shl, x, y));
    assert_eq!(up, ArrayData::U64(vec![1 << 63, 20, u64::MAX - 1, 0, 40]));
    let down = elementwise(a(), b(), DType::U64, |b, x, y| b.binary(BinaryOp::Shr, x, y));
    assert_eq!(down, ArrayData::U64(vec![0, 1, u64::MAX >> 1, 0, 40]));
    let ones = elementwise(a(), b(), DType::U64, |b, x, _| b.unary(UnaryOp::CountOnes, x));
    assert_eq!(ones, ArrayData::U64(vec![1, 2, 64, 0, 2]));
    let zeros = elementwise(a(), b(), DType::U64, |b, x, _| b.unary(UnaryOp::TrailingZeros, x));
    assert_eq!(zeros, ArrayData::U64(vec![0, 0, 0, 64, 3]));
    let place = |b: &mut Builder, y| b.cast(DType::I64, y);
    let below = elementwise(a(), b(), DType::I64, |b, x, y| {
        let place = place(b, y);
        b.word(WordOp::Rank, x, place)
    });
    assert_eq!(below, ArrayData::I64(vec![1, 1, 1, 0, 0]));
    let there = elementwise(a(), b(), DType::Bool, |b, x, y| {
        let place = place(b, y);
        b.word(WordOp::Bit, x, place)
    });
    assert_eq!(there, ArrayData::Bool(vec![false, true, true, false, false]));
    let short = || ArrayData::U8(vec![0, 0x90, 0xff]);
    let zeros = elementwise(short(), short(), DType::U8, |b, x, _| b.unary(UnaryOp::TrailingZeros, x));
    assert_eq!(zeros, ArrayData::U8(vec![8, 4, 0]));
    let up = elementwise(short(), short(), DType::U8, |b, x, y| b.binary(BinaryOp::Shl, x, y));
    assert_eq!(up, ArrayData::U8(vec![0, 0x90, 0x80]));
}

#[test]
fn casts_saturate_and_wrap() {
    let reals = || ArrayData::F64(vec![1e300, -1e300, f64::NAN, -2.9, 300.7]);
    let as_u8 = elementwise(reals(), reals(), DType::U8, |b, x, _| b.cast(DType::U8, x));
    assert_eq!(as_u8, ArrayData::U8(vec![255, 0, 0, 0, 255]));
    let as_i64 = elementwise(reals(), reals(), DType::I64, |b, x, _| b.cast(DType::I64, x));
    assert_eq!(as_i64, ArrayData::I64(vec![i64::MAX, i64::MIN, 0, -2, 300]));
    let as_bool = elementwise(reals(), reals(), DType::Bool, |b, x, _| b.cast(DType::Bool, x));
    assert_eq!(as_bool, ArrayData::Bool(vec![true; 5]));
    let wide = || ArrayData::I64(vec![-1, 256, 65_537, 1 << 31]);
    let narrow = elementwise(wide(), wide(), DType::U16, |b, x, _| b.cast(DType::U16, x));
    assert_eq!(narrow, ArrayData::U16(vec![65_535, 256, 1, 0]));
}

#[test]
fn extremes_keep_nan() {
    let (a, b) = (ArrayData::F32(vec![1.0, f32::NAN, 2.0]), ArrayData::F32(vec![f32::NAN, 1.0, -3.0]));
    let ArrayData::F32(least) = elementwise(a, b, DType::F32, |b, x, y| b.binary(BinaryOp::Min, x, y)) else {
        panic!("the result is of type f32");
    };
    assert!(least[0].is_nan() && least[1].is_nan() && least[2] == -3.0);
}

#[test]
fn stored_infinities_and_nan_survive_sums() {
    // (x + y) - y is NaN for infinite y: nothing may cancel it.
    let (a, b) = (ArrayData::F64(vec![1.0, 2.0]), ArrayData::F64(vec![f64::INFINITY, 5.0]));
    let ArrayData::F64(result) = elementwise(a, b, DType::F64, |b, x, y| {
        let sum = b.add(x, y);
        b.sub(sum, y)
    }) else {
        panic!("the result is of type f64");
    };
    assert!(result[0].is_nan());
    assert_eq!(result[1], 2.0);
}

#[test]
fn complex_numbers_multiply_and_divide() {
    let a = || ArrayData::C128(vec![Complex::new(1.0, 2.0), Complex::new(-3.0, 0.5), Complex::new(1e200, 1e200)]);
    let b = || ArrayData::C128(vec![Complex::new(0.5, -1.0), Complex::new(2.0, 4.0), Complex::new(1e200, 0.0)]);
    let products = elementwise(a(), b(), DType::C128, |b, x, y| b.mul(x, y));
    assert_eq!(products.get(0), Some(Const::complex(DType::C128, 2.5, 0.0)));
    assert_eq!(products.get(1), Some(Const::complex(DType::C128, -8.0, -11.0)));
    let quotients = elementwise(a(), b(), DType::C128, |b, x, y| b.binary(BinaryOp::Div, x, y));
    assert_eq!(quotients.get(0), Some(Const::complex(DType::C128, -1.2, 1.6)));
    // The textbook formula overflows here; Smith's does not.
    assert_eq!(quotients.get(2), Some(Const::complex(DType::C128, 1.0, 1.0)));
    let roots = elementwise(a(), b(), DType::C128, |b, x, _| {
        let square = b.mul(x, x);
        b.unary(UnaryOp::Sqrt, square)
    });
    let root = roots.get(0).unwrap();
    assert!((root.re() - 1.0).abs() < 1e-12 && (root.im() - 2.0).abs() < 1e-12);
}

#[test]
fn booleans_are_a_semiring() {
    let (a, b) = (ArrayData::Bool(vec![true, true, false]), ArrayData::Bool(vec![true, false, false]));
    let (again_a, again_b) = (a.clone(), b.clone());
    let sums = elementwise(a, b, DType::Bool, |b, x, y| b.add(x, y));
    assert_eq!(sums, ArrayData::Bool(vec![true, true, false]));
    let products = elementwise(again_a, again_b, DType::Bool, |b, x, y| b.mul(x, y));
    assert_eq!(products, ArrayData::Bool(vec![true, false, false]));
}

#[test]
fn shared_operands_are_evaluated_once() {
    // Each step doubles the number of paths: walked as a tree this would never end.
    let (a, b) = (ArrayData::U64(vec![3]), ArrayData::U64(vec![0]));
    let doubled = elementwise(a, b, DType::U64, |b, x, _| (0..60).fold(x, |sum, _| b.add(sum, sum)));
    assert_eq!(doubled, ArrayData::U64(vec![3u64 << 60]));
}

#[test]
fn fills_breaks_and_unreachable_code() {
    let mut b = Builder::new("control");
    let y = b.array_param("y", DType::C64, ArrayRole::Output);
    let n = b.scalar_param("n");
    let (zero, one, always) = (b.int(0), b.int(1), b.bool(true));
    let value = b.constant(Const::complex(DType::C64, 1.0, -1.0));
    b.push(Stmt::Fill { array: y, begin: one, end: n, value });
    let count = b.declare("count", zero);
    b.while_loop(always, |b| {
        let place = b.var(count);
        let enough = b.compare(CompareOp::Ge, place, n);
        b.if_then(enough, |b| {
            b.push(Stmt::Break);
            b.store(y, zero, value); // never reached
        });
        let next = b.add(place, one);
        b.assign(count, next);
    });
    let count = b.var(count);
    let expected = b.compare(CompareOp::Ne, count, n);
    b.if_then(expected, |b| b.fail(lacunar_imp::Status::SizeOverflow));
    let mut memory = memory(vec![ArrayData::zeros(DType::C64, 4).unwrap()], vec![3]);
    assert_eq!(compile_and_run(&checked(b), &mut memory), 0);
    let (nothing, value) = (Complex::new(0.0, 0.0), Complex::new(1.0, -1.0));
    assert_eq!(memory.arrays[0], ArrayData::C64(vec![nothing, value, value, nothing]));
}
