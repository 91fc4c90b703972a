//! The interpreter on small functions: arithmetic at its edges, memory, control flow, the runtime's functions, and the
//! faults that it reports.

#![allow(clippy::unwrap_used)] // A failure is what a test is for.

use lacunar_imp::{ArrayData, Fault, InterpError, Limits, Memory, Status, interpret, interpret_within, parse, verify};

fn run(text: &str, memory: &mut Memory) -> Result<Option<Status>, InterpError> {
    let function = parse(text).unwrap_or_else(|error| panic!("{}", error.render(text, "text", false)));
    interpret(&verify(function).unwrap(), memory)
}

/// What an expression of type `i64` gives.
fn value(expr: &str) -> i64 {
    let mut memory = Memory { arrays: vec![ArrayData::I64(vec![0])], scalars: vec![] };
    run(&format!("kernel f(out y: i64[]) {{ y[0] = {expr}; }}"), &mut memory).unwrap();
    let ArrayData::I64(y) = &memory.arrays[0] else { panic!("another type") };
    y[0]
}

/// What goes wrong in a function of an output array of three numbers, a grown and a local array.
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

#[test]
fn runtime_functions() {
    let text = "kernel f(in a: u32[], out list: i64[], in marks: bool[], out v: f64[], out k0: i64[],
      out k1: i64[], out r: i64[]) {
      let p: i64 = lower_bound(a, 1, 5, 4);
      let q: i64 = lower_bound(a, 0, 5, -1);
      let s: i64 = lower_bound(a, 0, 5, 100);
      sort_marked(list, 3, marks, 6);
      let n: i64 = sort_combine(4, v, k0, k1);
      r[0] = p; r[1] = q; r[2] = s; r[3] = n;
    }";
    let mut memory = Memory {
        arrays: vec![
            ArrayData::U32(vec![0, 1, 4, 4, 9]),
            ArrayData::I64(vec![5, 0, 3]),
            ArrayData::Bool(vec![true, false, false, true, false, true]),
            ArrayData::F64(vec![1.0, 10.0, 100.0, 1000.0]),
            ArrayData::I64(vec![7, 2, 7, 2]),
            ArrayData::I64(vec![1, 3, 1, 0]),
            ArrayData::I64(vec![0; 4]),
        ],
        scalars: vec![],
    };
    assert_eq!(run(text, &mut memory), Ok(None));
    assert_eq!(memory.arrays[1], ArrayData::I64(vec![0, 3, 5]));
    let heads: Vec<_> = (3..6).map(|array| (0..3).map(|k| memory.arrays[array].get(k).unwrap()).collect()).collect();
    let expected: Vec<Vec<String>> = [["1000.0", "10.0", "101.0"], ["2", "2", "7"], ["0", "3", "1"]]
        .map(|row| row.map(String::from).to_vec())
        .into();
    let heads: Vec<Vec<String>> =
        heads.iter().map(|head: &Vec<lacunar_imp::Const>| head.iter().map(ToString::to_string).collect()).collect();
    assert_eq!(heads, expected);
    assert_eq!(memory.arrays[6], ArrayData::I64(vec![2, 0, 5, 3]));

    memory.arrays[0] = ArrayData::U32(vec![0, 9, 4, 4, 1]);
    assert!(matches!(run(text, &mut memory).unwrap_err().fault, Fault::Precondition(_)));
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
