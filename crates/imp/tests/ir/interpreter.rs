//! The interpreter on small functions: arithmetic at its edges, memory, control flow, the runtime's functions, and the
//! faults that it reports.

#![allow(clippy::unwrap_used)] // A failure is what a test is for.

use lacunar_imp::print::constant_text;
use lacunar_imp::{ArrayData, Fault, InterpError, Limits, Memory, Status, interpret, interpret_within, parse, verify};

fn run(text: &str, memory: &mut Memory) -> Result<Option<Status>, InterpError> {
    let function = parse(text).unwrap_or_else(|error| panic!("{}", error.render(text, "text", false)));
    interpret(&verify(function).unwrap(), memory)
}

/// The value of an expression of type `i64`.
fn value(expr: &str) -> i64 {
    let mut memory = Memory { arrays: vec![ArrayData::I64(vec![0])], scalars: vec![] };
    run(&format!("kernel f(out y: i64[]) {{ y[0] = {expr}; }}"), &mut memory).unwrap();
    let ArrayData::I64(y) = &memory.arrays[0] else { panic!("another type") };
    y[0]
}

/// The fault of a function of an output array of three numbers, a grown and a local array.
fn fault(body: &str) -> Fault {
    let text = format!("kernel f(out y: i64[], grown g: i64[]) {{ local w: i64[]; local b: bool[]; {body} }}");
    let arrays = vec![ArrayData::I64(vec![5, 6, 7]), ArrayData::I64(vec![])];
    run(&text, &mut Memory { arrays, scalars: vec![] }).unwrap_err().fault
}

#[test]
fn integers_wrap_and_truncate() {
    for (expr, expected) in [
        ("9223372036854775807 + 1", i64::MIN),
        ("-9223372036854775808 / -1", i64::MIN),
        ("-9223372036854775808 % -1", 0),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("7 % -2", 1),
        ("7 / 0", 0),
        ("7 % 0", 0),
        ("pow(3, 4)", 81),
        ("pow(2, 64)", 0),
        ("pow(2, -1)", 0),
        ("pow(-1, -3)", -1),
        ("pow(0, 0)", 1),
        ("i64(100i8 + 100i8)", -56),
        ("i64(-(200u8))", 56),
        ("i64(u8(-1))", 255),
        ("i64(i8(255u8))", -1),
        ("i64(u64(18446744073709551615u64 / 2u64))", i64::MAX),
        ("i64(f64.nan)", 0),
        ("i64(-f64.inf)", i64::MIN),
        ("i64(u8(-3.7))", 0),
        ("i64(i8(300.0))", 127),
        ("i64(-3.7)", -3),
        ("i64(c128(2.5, 9.0))", 2),
        ("sign(-9) + abs(-9)", 8),
        ("i64(bool(f64.nan))", 1),
        ("i64(true + true)", 1),
        ("i64(max(f64.nan, 1.0) == max(f64.nan, 1.0))", 0),
        ("i64(!(f64.nan < 1.0))", 1),
        ("i64(-0.0 == 0.0)", 1),
        ("i64(c64(1.0f32, 2.0f32) != c64(1.0f32, 3.0f32))", 1),
        ("i64(abs(c128(3.0, 4.0)))", 5),
        ("i64(imag(c128(1.0, 2.0) * conj(c128(0.0, 1.0))))", -1),
        ("select(1 < 2, 3, 4) & 6 | 8 ^ 1", 11),
        ("i64(shl(129u8, 1u8) + shr(129u8, 7u8))", 3),
        ("i64(shl(1u64, 64u64) + shr(5u64, 66u64))", 2),
        ("i64(shl(1u16, 15u16))", 32_768),
        ("i64(count_ones(18446744073709551615u64) + count_ones(0u64))", 64),
        ("i64(trailing_zeros(40u32))", 3),
        ("i64(bit(40u64, 3)) + i64(bit(40u64, 4)) + i64(bit(40u8, 11)) + i64(bit(40u8, -5))", 3),
        ("rank(40u64, 3) + rank(40u64, 4) + rank(40u64, 63)", 3),
        ("rank(255u8, 7) + rank(255u8, 8) + rank(255u8, -1)", 14),
        ("i64(trailing_zeros(0u8))", 8),
        ("i64(trailing_zeros(0u64))", 64),
        ("i64(f32(16777217))", 16_777_216),
        ("i64(f64(16777217))", 16_777_217),
    ] {
        assert_eq!(value(expr), expected, "{expr}");
    }
}

#[test]
fn control_flow() {
    let text = "kernel f(out y: i64[], n: i64) {
      var k: i64 = 0;
      while true {
        var inner: i64 = 0;
        if k == n { break; } else { inner = inner + 1; }
        y[0] += inner;
        k = k + 1;
      }
      var end: i64 = 3;
      for i in 0 .. end { end = 100; y[1] += i; }
      for i2 in 5 .. 2 { y[2] = 1; }
      fill y[2 .. 4] = 9;
    }";
    let mut memory = Memory { arrays: vec![ArrayData::I64(vec![0; 4])], scalars: vec![4] };
    assert_eq!(run(text, &mut memory), Ok(None));
    assert_eq!(memory.arrays[0], ArrayData::I64(vec![4, 3, 9, 9]));
}

#[test]
fn memory_grows_and_fails() {
    let text = "kernel f(grown g: i64[], n: i64) {
      for i in 0 .. n { grow g[(i + 1) * 2] = 0; g[2 * i] = i; }
      grow g[1 * 1];
    }";
    let mut memory = Memory { arrays: vec![ArrayData::I64(vec![])], scalars: vec![3] };
    assert_eq!(run(text, &mut memory), Ok(None));
    assert_eq!(memory.arrays[0], ArrayData::I64(vec![0, 0, 1, 0, 2, 0]));

    let status = |body: &str| run(&format!("kernel f() {{ local w: i64[]; {body} }}"), &mut Memory::default());
    assert_eq!(status("alloc w[-1];"), Ok(Some(Status::SizeOverflow)));
    assert_eq!(status("grow w[-1 * -1];"), Ok(Some(Status::SizeOverflow)));
    assert_eq!(status("grow w[9223372036854775807 * 2];"), Ok(Some(Status::SizeOverflow)));
    assert_eq!(status("alloc w[1000000000000];"), Ok(Some(Status::OutOfMemory)));
    assert_eq!(status("fail size_overflow;"), Ok(Some(Status::SizeOverflow)));
}

#[test]
fn faults() {
    let out = |array: &str, index, len| Fault::OutOfBounds { array: array.to_string(), index, len };
    let undefined = |index| Fault::Undefined { array: "w".to_string(), index };
    assert_eq!(fault("alloc b[65] = 0; let m: i64 = marks(b, 2);"), out("b", 65, 65));
    assert_eq!(fault("y[3] = 0;"), out("y", 3, 3));
    assert_eq!(fault("y[-1] = 0;"), out("y", -1, 3));
    assert_eq!(fault("let x: i64 = g[0];"), out("g", 0, 0));
    assert_eq!(fault("fill y[2 .. 5] = 0;"), out("y", 3, 3));
    assert_eq!(fault("alloc w[2]; w[0] = 1; let x: i64 = w[1];"), undefined(1));
    assert_eq!(fault("alloc w[2] = 0; alloc w[2]; w[0] += 1;"), undefined(0));
    assert_eq!(fault("grow w[1 * 1] = 0; grow w[2 * 1]; let x: i64 = w[1];"), undefined(1));
    // The second `grow` may find room that the first one has left as it was.
    assert_eq!(fault("grow w[1 * 1]; grow w[2 * 1] = 0; let x: i64 = w[1];"), undefined(1));
    let precondition = |body: &str| matches!(fault(body), Fault::Precondition(_));
    assert!(precondition("alloc b[4] = 0; b[2] = true; y[0] = 1; sort_marked(y, 1, b, 4);"), "not the marked one");
    assert!(precondition("alloc b[4] = 0; b[2] = true; sort_marked(y, 0, b, 4);"), "a mark is missing");
    assert!(precondition("alloc b[4] = 0; b[2] = true; y[0] = 2; y[1] = 2; sort_marked(y, 2, b, 4);"), "not distinct");
    assert!(precondition("alloc w[2] = 0; let n: i64 = sort_combine(3, w, y);"), "too few values");
    assert!(matches!(
        fault(
            "alloc w[3] = 0; let n: i64 = sort_combine(2, w, y); let m: i64 = sort_combine(2, y, w); let x: i64 = y[1];"
        ),
        Fault::Undefined { .. }
    ));
}

/// The content that a body leaves in an output array of four zeros.
fn output(body: &str) -> Result<Vec<i64>, Fault> {
    let arrays = "local w: i64[]; local v: u8[]; local whole: i64[]; local ends: u8[]; parts p: i64[]; parts q: u8[];";
    let text = format!("kernel f(out y: i64[], n: i64) {{ {arrays} {body} }}");
    let mut memory = Memory { arrays: vec![ArrayData::I64(vec![0; 4])], scalars: vec![4] };
    match run(&text, &mut memory) {
        Ok(None) => {}
        Ok(Some(status)) => panic!("{status:?}"),
        Err(error) => return Err(error.fault),
    }
    let ArrayData::I64(y) = &memory.arrays[0] else { panic!("another type") };
    Ok(y.clone())
}

#[test]
fn parallel_loops() {
    let own = "for i in 0 .. n parallel { alloc w[1] = 0; w[0] += i; let x: i64 = w[0]; y[i] = x; }";
    assert_eq!(output(own), Ok(vec![0, 1, 2, 3]));
    let atomics = "for i in 0 .. n parallel { atomic y[0] += i; atomic y[1] max= i; atomic y[2] |= 1; y[3] += 0; }";
    assert_eq!(output(&atomics.replace("y[3] += 0;", "")), Ok(vec![6, 3, 1, 0]));
    let conflict = |index| Err(Fault::Conflict { array: "y".to_string(), index, kind: "parallel" });
    assert_eq!(output(atomics), conflict(3));
    assert_eq!(output("for i in 0 .. n parallel { y[1] = 5; }"), conflict(1));
    assert_eq!(output("for i in 0 .. n parallel { if i == 2 { y[1] = 5; } let x: i64 = y[1]; }"), conflict(1));
    assert_eq!(output("for i in 0 .. n parallel { atomic y[0] += 1; if i == 2 { let x: i64 = y[0]; } }"), conflict(0));
    assert_eq!(
        output("for i in 0 .. n parallel { if i < 2 { atomic y[0] += 1; } else { atomic y[0] max= 1; } }"),
        conflict(0)
    );
    for nested in ["y[i] += j;", "y[j] = i;"] {
        let text = format!("for i in 0 .. n parallel {{ for j in 0 .. 2 parallel {{ {nested} }} }}");
        assert!(matches!(output(&text), Err(Fault::Conflict { .. })), "{text}");
    }
    assert_eq!(output("for i in 0 .. n parallel { y[i] = 1; let x: i64 = y[i]; y[i] += x; }"), Ok(vec![2; 4]));
    // Two loops one after the other do not meet.
    assert_eq!(output("for k in 0 .. 3 { for i in 0 .. n parallel { y[(i + k) % n] += 1; } }"), Ok(vec![3; 4]));
    // An iteration's own array is new in every iteration, and gone after the loop.
    let stale = "for i in 0 .. n parallel { if i == 0 { alloc w[1] = 0; } w[0] = 1; }";
    assert!(matches!(output(stale), Err(Fault::OutOfBounds { .. })));
    assert_eq!(
        output("for i in 9223372036854775805 .. 9223372036854775807 parallel { atomic y[0] += 1; }"),
        Ok(vec![2, 0, 0, 0])
    );
    assert_eq!(output("for i in 3 .. -3 parallel { y[0] = 1; }"), Ok(vec![0; 4]));
}

/// An iteration takes as many numbers as it comes to, and its work with one may happen beside that with another.
#[test]
fn numbers_are_shared_out() {
    let shared = |work: &str| {
        let take = "let t: i64 = take(w); var c: i64 = t; while c < n {";
        let text =
            format!("alloc w[1] = 0; for i in 0 .. 3 parallel {{ {take} {work} let m: i64 = take(w); c = m; }} }}");
        output(&text)
    };
    assert_eq!(shared("y[c] = c + 1;"), Ok(vec![1, 2, 3, 4]));
    let conflict = Err(Fault::Conflict { array: "y".to_string(), index: 1, kind: "parallel" });
    assert_eq!(shared("y[1] = 5;"), conflict);
    assert_eq!(output("alloc w[1] = 0; for i in 0 .. 3 parallel { let t: i64 = take(w); }"), Ok(vec![0; 4]));
}

/// The seed decides which iteration runs first.
#[test]
fn parallel_loops_have_no_order() {
    let text = "kernel f() { for i in 0 .. 8 parallel { if i < 4 { fail out_of_memory; } fail size_overflow; } }";
    let function = verify(parse(text).unwrap()).unwrap();
    let first = |seed| {
        let limits = Limits { seed, ..Limits::default() };
        interpret_within(&function, &mut Memory::default(), limits).unwrap().status
    };
    let outcomes: Vec<_> = (0..20).map(first).collect();
    assert!(outcomes.contains(&Some(Status::OutOfMemory)) && outcomes.contains(&Some(Status::SizeOverflow)));
}

#[test]
fn vector_loops() {
    let conflict = |index| Err(Fault::Conflict { array: "y".to_string(), index, kind: "vector" });
    assert_eq!(output("for i in 0 .. 3 vector { let x: i64 = y[i]; y[i + 1] = x; }"), conflict(1));
    assert_eq!(output("for i in 0 .. 3 vector { y[i] = 1; let x: i64 = y[i + 1]; }"), conflict(1));
    assert_eq!(output("for i in 0 .. n vector { y[0] = i; }"), conflict(0));
    assert_eq!(output("for i in 0 .. n vector { y[i % 2] += i; }"), conflict(0));
    assert_eq!(output("for i in 0 .. n vector { y[0] -= i; }"), conflict(0));
    assert_eq!(output("for i in 0 .. n vector { y[0] += i; let x: i64 = y[0]; }"), conflict(0));
    assert_eq!(output("for i in 0 .. n vector { y[0] += i; y[n - 1] max= i; y[i % 2 + 1] += 0; }"), conflict(1));
    assert_eq!(output("for i in 0 .. n vector { y[0] += i; y[n - 1] max= i; }"), Ok(vec![6, 0, 0, 3]));
    assert_eq!(
        output("var t: i64 = 1; for i in 0 .. n vector(2) { t = t * 3; y[i] = i; } y[0] = t;"),
        Ok(vec![81, 1, 2, 3])
    );
    // Elements that iterations behind the end load have to be there, and do not change the sum.
    let sum = |loads| format!("for i in 0 .. 2 vector loads {loads} {{ let x: i64 = y[i]; t = t + (x + 1); }}");
    let output_of = |loads| output(&format!("y[3] = 7; var t: i64 = 0; {} y[0] = t;", sum(loads)));
    assert_eq!(output_of(4), Ok(vec![2, 0, 0, 7]));
    assert!(matches!(output_of(5), Err(Fault::OutOfBounds { index: 4, .. })), "{:?}", output_of(5));
    // In the loop around a reduction stores: two parallel iterations must not do so.
    let around = "for k in 0 .. 2 parallel { for i in 0 .. n vector { y[0] += i; } }";
    assert_eq!(output(around), Err(Fault::Conflict { array: "y".to_string(), index: 0, kind: "parallel" }));
}

#[test]
fn parts() {
    let loop_text = "alloc p[n]; alloc q[n];
        for i in 0 .. n parallel {
          for j in 0 .. i { grow w[(j + 1) * 1]; w[j] = 10 * i + j; }
          deposit p[i] = w[.. i];
          alloc v[1]; v[0] = u8(i); deposit q[i] = v[.. 1];
        }";
    let collected = "grow whole[1 * 1]; whole[0] = -1;
        let shifted: i64 = collect ends[0 ..] = q + p;
        let end: i64 = collect whole[1 ..] = p;
        let none: i64 = collect whole[end ..] = p;";
    let run = |rest: &str| output(&format!("{loop_text} {collected} {rest}"));
    assert_eq!(run("y[0] = end; y[1] = none; y[2] = shifted;"), Ok(vec![7, 7, 4, 0]));
    let elements = "for k in 0 .. 4 { let x: i64 = whole[k + from]; y[k] = x; }";
    assert_eq!(run(&elements.replace("from", "0")), Ok(vec![-1, 10, 20, 21]));
    assert_eq!(run(&elements.replace("from", "3")), Ok(vec![21, 30, 31, 32]));
    // 0 parts before, then 0, 1 and 3 elements.
    assert_eq!(run("for k in 0 .. 4 { let x: u8 = ends[k]; y[k] = i64(x); }"), Ok(vec![0, 1, 3, 6]));
    assert_eq!(output("let end: i64 = collect whole[0 ..] = p; y[0] = end;"), Ok(vec![0; 4]));

    let out = |array: &str, index, len| Err(Fault::OutOfBounds { array: array.to_string(), index, len });
    let deposit = |text: &str| output(&format!("alloc p[2]; for i in 0 .. 2 parallel {{ alloc w[1] = 0; {text} }}"));
    assert!(matches!(deposit("deposit p[i + 2] = w[.. 0];"), Err(Fault::OutOfBounds { .. })));
    assert_eq!(deposit("if i == 1 { deposit p[-1] = w[.. 0]; }"), out("p", -1, 2));
    assert_eq!(deposit("if i == 1 { deposit p[i] = w[.. 1]; w[0] = 1; }"), out("w", 0, 0));
    for text in ["deposit p[0] = w[.. 0];", "deposit p[i] = w[.. 2];", "deposit p[i] = w[.. -1];"] {
        assert!(matches!(deposit(text), Err(Fault::Precondition(_))), "{text}");
    }
    assert!(matches!(output("let e: i64 = collect whole[1 ..] = p;"), Err(Fault::Precondition(_))));
    assert!(matches!(output("alloc q[1]; let e: i64 = collect ends[0 ..] = q + p;"), Err(Fault::Precondition(_))));
    let unwritten = "alloc p[1]; for i in 0 .. 1 parallel { alloc w[1]; deposit p[0] = w[.. 1]; }
        let e: i64 = collect whole[0 ..] = p; let x: i64 = whole[0];";
    assert!(matches!(output(unwritten), Err(Fault::Undefined { .. })));

    let status = |body: &str| {
        let arrays = "local v: u8[]; local w: i64[]; local ends: u8[]; parts p: i64[]; parts q: u8[];";
        self::run(&format!("kernel f() {{ {arrays} {body} }}"), &mut Memory::default())
    };
    let overflow = |value: u8| {
        format!(
            "alloc p[2]; alloc q[2];
        for i in 0 .. 2 parallel {{
          alloc w[6]; deposit p[i] = w[.. 6]; alloc v[1]; v[0] = {value}u8; deposit q[i] = v[.. 1];
        }}
        let e: i64 = collect ends[0 ..] = q + p;"
        )
    };
    assert_eq!(status(&overflow(249)), Ok(None));
    assert_eq!(status(&overflow(250)), Ok(Some(Status::SizeOverflow)));
    assert_eq!(status("alloc p[-1];"), Ok(Some(Status::SizeOverflow)));
    assert_eq!(status("alloc p[1000000000000];"), Ok(Some(Status::OutOfMemory)));
    assert_eq!(status("for i in 0 .. 3 parallel { fail size_overflow; }"), Ok(Some(Status::SizeOverflow)));
}

#[test]
fn runtime_functions() {
    let text = "kernel f(in a: u32[], out list: i64[], in marks: bool[], out v: f64[], out k0: i64[],
      out k1: i64[], out r: i64[]) {
      let p: i64 = lower_bound(a, 1, 5, 4);
      let q: i64 = lower_bound(a, 0, 5, -1);
      let s: i64 = lower_bound(a, 0, 5, 100);
      sort_marked(list, 3, marks, 6);
      let n: i64 = sort_combine(4, v, k0, k1);
      let z: i64 = length(a);
      r[0] = p; r[1] = q; r[2] = s; r[3] = n; r[4] = z;
    }";
    let mut memory = Memory {
        arrays: vec![
            ArrayData::U32(vec![0, 1, 4, 4, 9]),
            ArrayData::I64(vec![5, 0, 3]),
            ArrayData::Bool(vec![true, false, false, true, false, true]),
            ArrayData::F64(vec![1.0, 10.0, 100.0, 1000.0]),
            ArrayData::I64(vec![7, 2, 7, 2]),
            ArrayData::I64(vec![1, 3, 1, 0]),
            ArrayData::I64(vec![0; 5]),
        ],
        scalars: vec![],
    };
    assert_eq!(run(text, &mut memory), Ok(None));
    assert_eq!(memory.arrays[1], ArrayData::I64(vec![0, 3, 5]));
    let heads: Vec<_> = (3..6).map(|array| (0..3).map(|k| memory.arrays[array].get(k).unwrap()).collect()).collect();
    let expected: Vec<Vec<String>> = [["1000.0", "10.0", "101.0"], ["2", "2", "7"], ["0", "3", "1"]]
        .map(|row| row.map(String::from).to_vec())
        .into();
    let heads: Vec<Vec<String>> = heads
        .iter()
        .map(|head: &Vec<lacunar_imp::Const>| head.iter().map(|constant| constant_text(*constant)).collect())
        .collect();
    assert_eq!(heads, expected);
    assert_eq!(memory.arrays[6], ArrayData::I64(vec![2, 0, 5, 3, 5]));

    memory.arrays[0] = ArrayData::U32(vec![0, 9, 4, 4, 1]);
    assert!(matches!(run(text, &mut memory).unwrap_err().fault, Fault::Precondition(_)));
}

#[test]
fn marks_are_the_bits_of_a_word() {
    let text = "kernel f(out r: i64[]) { local m: bool[]; alloc m[70] = 0; m[0] = true; m[3] = true; m[66] = true;
      m[69] = true; let a: i64 = marks(m, 0); let b: i64 = marks(m, 3); r[0] = a; r[1] = b; }";
    let mut memory = Memory { arrays: vec![ArrayData::I64(vec![0; 2])], scalars: vec![] };
    assert_eq!(run(text, &mut memory), Ok(None));
    assert_eq!(memory.arrays[0], ArrayData::I64(vec![0b1001, 1 | 1 << 63]));
}

#[test]
fn memory_must_fit() {
    let text = "kernel f(in a: f64[2 ..], grown g: f64[], n: i64) {}";
    let fits = Memory { arrays: vec![ArrayData::F64(vec![0.0; 2]), ArrayData::F64(vec![])], scalars: vec![0] };
    assert_eq!(run(text, &mut fits.clone()), Ok(None));
    let mut cases = vec![fits.clone(); 4];
    cases[0].scalars.clear();
    cases[1].arrays.truncate(1);
    cases[2].arrays[0] = ArrayData::F64(vec![0.0]);
    cases[3].arrays[1] = ArrayData::F64(vec![0.0]);
    for mut case in cases {
        assert!(matches!(run(text, &mut case).unwrap_err().fault, Fault::Memory(_)));
    }
}

#[test]
fn steps_are_bounded() {
    let function = verify(parse("kernel f() { while true { } }").unwrap()).unwrap();
    let limits = Limits { steps: Some(1000), ..Limits::default() };
    let error = interpret_within(&function, &mut Memory::default(), limits).unwrap_err();
    assert_eq!(error.to_string(), "the limit of 1000 steps is reached: while true {");
}

#[test]
fn elements_that_were_not_written_are_told() {
    let text =
        "kernel f(in x: i64[], out y: i64[], grown z: i64[]) { let v: i64 = x[0]; y[1] = v; grow z[2 * 1]; z[0] = v; }";
    let function = verify(parse(text).unwrap()).unwrap();
    let unwritten = |blank_outputs| {
        let mut memory =
            Memory { arrays: vec![vec![5i64].into(), vec![0i64; 2].into(), vec![0i64; 0].into()], scalars: vec![] };
        let limits = Limits { blank_outputs, ..Limits::default() };
        interpret_within(&function, &mut memory, limits).unwrap().unwritten
    };
    assert_eq!(unwritten(true), [None, Some(0), Some(1)]);
    assert_eq!(unwritten(false), [None, None, Some(1)]);
}
