//! Each promise of the verifier, broken once.

#![allow(clippy::unwrap_used)] // A failure is what a test is for.

use lacunar_base::Handle;
use lacunar_formats::DType;
use lacunar_imp::{
    Array, ArrayRole, BinaryOp, Builder, Const, Expr, Function, Param, Rule, Stmt, UnaryOp, Var, parse, verify,
};

fn broken_rule(function: Function) -> Rule {
    verify(function).unwrap_err().rule
}

#[test]
fn broken_texts() {
    let cases = [
        ("kernel f(n: i64) { let int: i64 = n; }", Rule::Keyword),
        ("kernel f(n: i64) { let _X: i64 = n; }", Rule::Keyword),
        ("kernel f(n: i32) {}", Rule::ScalarParameter),
        ("kernel f(grown g: i64[2 ..]) {}", Rule::LeastLength),
        ("kernel f(n: i64) { let x: i64 = n + 1u32; }", Rule::OperandTypes),
        ("kernel f(n: i64) { let x: i64 = sqrt(n); }", Rule::OperandTypes),
        ("kernel f() { let x: bool = c64(1.0f32, 0.0f32) < c64(1.0f32, 0.0f32); }", Rule::OperandTypes),
        ("kernel f(n: i64) { let x: i64 = select(n, n, n); }", Rule::OperandTypes),
        ("kernel f(n: i64) { for i in 0 .. n { let x: i64 = i; } let y: i64 = x; }", Rule::NotVisible),
        ("kernel f(n: i64) { for i in 0 .. n { } let y: i64 = i; }", Rule::NotVisible),
        ("kernel f(n: i64) { if n == 0 { var x: i64 = n; } x = 1; }", Rule::NotVisible),
        ("kernel f(n: i64) { n = 1; }", Rule::Immutable),
        ("kernel f(n: i64) { let x: i64 = n; x = 1; }", Rule::Immutable),
        ("kernel f(n: i64) { let x: f64 = n; }", Rule::TypesDiffer),
        ("kernel f(in a: f64[], n: i64) { let x: f32 = a[n]; }", Rule::TypesDiffer),
        ("kernel f(out a: f64[], n: i64) { a[n] = n; }", Rule::TypesDiffer),
        ("kernel f(out a: f64[]) { a[0u32] = 1.0; }", Rule::IndexType),
        ("kernel f() { for i in 0u8 .. 1u8 { } }", Rule::IndexType),
        ("kernel f(n: i64) { if n { } }", Rule::ConditionType),
        ("kernel f(in a: f64[]) { a[0] = 1.0; }", Rule::InputWritten),
        ("kernel f(in a: f64[]) { fill a[0 .. 1] = 1.0; }", Rule::InputWritten),
        ("kernel f(out a: bool[]) { a[0] -= true; }", Rule::OperandTypes),
        ("kernel f(grown a: f64[]) { alloc a[1]; }", Rule::AllocRole),
        ("kernel f(out a: f64[]) { grow a[1 * 1]; }", Rule::GrowRole),
        ("kernel f() { break; }", Rule::StrayBreak),
        ("kernel f() { while true { for i in 0 .. 1 unroll { break; } } }", Rule::StrayBreak),
        ("kernel f(n: i64) { for i in 0 .. n loads n { } }", Rule::LoadsBehindEnd),
        ("kernel f(n: i64) { for i in 0 .. n vector loads n { if i == 0 { } } }", Rule::LoadsBehindEnd),
        ("kernel f(n: i64) { for i in 0 .. n vector loads 1.0 { } }", Rule::IndexType),
        ("kernel f(in a: i64[]) { let p: i64 = lower_bound(a, 0, 1, 2); }", Rule::CallSignature),
        ("kernel f(in a: u32[]) { let p: i64 = lower_bound(a, 0, 1); }", Rule::CallSignature),
        ("kernel f(in a: u32[]) { let p: f64 = lower_bound(a, 0, 1, 2); }", Rule::TypesDiffer),
        ("kernel f() { local a: u32[]; let n: i64 = length(a); }", Rule::CallSignature),
        ("kernel f(in a: u32[]) { for i in 0 .. 2 parallel { let n: i64 = length(a); } }", Rule::CallSignature),
        ("kernel f(in a: u32[]) { let n: i64 = length(a, 1); }", Rule::CallSignature),
        ("kernel f(in l: i64[], in m: bool[]) { sort_marked(l, 0, m, 1); }", Rule::CallSignature),
        ("kernel f(out l: i64[], in m: bool[]) { let r: i64 = sort_marked(l, 0, m, 1); }", Rule::CallSignature),
        ("kernel f(in m: u8[]) { let w: i64 = marks(m, 0); }", Rule::CallSignature),
        ("kernel f(in m: bool[]) { let w: i64 = marks(m, true); }", Rule::CallSignature),
        ("kernel f(out k: i64[]) { sort_combine(1, k, k); }", Rule::CallSignature),
        ("kernel f(out k: i64[], out v: f64[]) { sort_combine(1, v, k, k); }", Rule::CallSignature),
        ("kernel f(out v: f64[]) { sort_combine(1, v); }", Rule::CallSignature),
    ];
    for (text, rule) in cases {
        assert_eq!(broken_rule(parse(text).unwrap()), rule, "{text}");
    }
}

/// A kernel with some arrays and variables around a body.
fn with_arrays(body: &str) -> Function {
    let arrays = "local w: f64[]; local v: f64[]; local k: i64[]; local b: bool[]; parts p: f64[]; parts q: i64[];";
    let params = "in a: f64[], in c: u32[], out y: f64[], grown g: f64[], n: i64";
    let text = format!("kernel f({params}) {{ {arrays} var t: f64 = 0.0; var s: i64 = 0; {body} }}");
    parse(&text).unwrap_or_else(|error| panic!("{}", error.render(&text, "text", false)))
}

#[test]
fn broken_parallel_loops() {
    let cases = [
        ("for i in 0 .. n parallel { t = 1.0; }", Rule::OuterVariable),
        ("for i in 0 .. n parallel { var r: f64 = 0.0; for j in 0 .. n parallel { r = 1.0; } }", Rule::OuterVariable),
        ("for i in 0 .. n parallel { grow g[1 * 1]; }", Rule::OuterMemory),
        ("for i in 0 .. n parallel { alloc p[1]; }", Rule::OuterMemory),
        ("for i in 0 .. n parallel { let e: i64 = collect w[0 ..] = p; }", Rule::OuterMemory),
        ("alloc w[1]; for i in 0 .. n parallel { alloc w[1]; }", Rule::PrivateArray),
        ("for i in 0 .. n parallel { grow w[1 * 1]; } w[0] = 1.0;", Rule::PrivateArray),
        ("w[0] = 1.0; for i in 0 .. n parallel { grow w[1 * 1]; }", Rule::PrivateArray),
        ("for i in 0 .. n parallel { alloc w[1]; for j in 0 .. n parallel { alloc w[1]; } }", Rule::PrivateArray),
        ("for i in 0 .. n parallel { w[0] = 1.0; for j in 0 .. n parallel { alloc w[1]; } }", Rule::PrivateArray),
        ("for i in 0 .. n parallel { alloc w[1]; } for j in 0 .. n parallel { w[0] = 1.0; }", Rule::PrivateArray),
        ("for i in 0 .. n parallel { alloc w[1]; } let e: i64 = collect w[0 ..] = p;", Rule::PrivateArray),
        ("alloc w[1]; for i in 0 .. n parallel { deposit p[i] = w[.. 1]; }", Rule::PrivateArray),
        (
            "for i in 0 .. n parallel { alloc w[1]; for j in 0 .. n parallel { deposit p[j] = w[.. 1]; } }",
            Rule::PrivateArray,
        ),
        ("let x: f64 = p[0];", Rule::PartsUse),
        ("p[0] = 1.0;", Rule::PartsUse),
        ("grow p[1 * 1];", Rule::PartsUse),
        ("fill p[0 .. 1] = 1.0;", Rule::PartsUse),
        ("atomic p[0] += 1.0;", Rule::PartsUse),
        ("sort_combine(1, p, k);", Rule::PartsUse),
        ("alloc w[1]; deposit p[0] = w[.. 1];", Rule::DepositRole),
        ("for i in 0 .. n parallel { deposit p[i] = y[.. 1]; }", Rule::DepositRole),
        ("for i in 0 .. n parallel { alloc w[1]; deposit v[i] = w[.. 1]; }", Rule::DepositRole),
        ("for i in 0 .. n parallel { alloc w[1]; deposit q[i] = w[.. 1]; }", Rule::TypesDiffer),
        ("let e: i64 = collect y[0 ..] = p;", Rule::CollectRole),
        ("let e: i64 = collect w[0 ..] = v;", Rule::CollectRole),
        ("let e: i64 = collect w[0 ..] = q;", Rule::TypesDiffer),
        ("let e: f64 = collect w[0 ..] = p;", Rule::TypesDiffer),
        ("let e: i64 = collect w[0.0 ..] = p;", Rule::IndexType),
        ("let e: i64 = collect w[0 ..] = p + q;", Rule::CollectBias),
        ("let e: i64 = collect k[0 ..] = q + q;", Rule::CollectBias),
        ("let e: i64 = collect k[0 ..] = q + v;", Rule::CollectBias),
        ("atomic a[0] += 1.0;", Rule::InputWritten),
        ("atomic y[0] *= 1.0;", Rule::AtomicOp),
        ("atomic y[0] |= 1.0;", Rule::AtomicOp),
        ("atomic y[0] += 1;", Rule::TypesDiffer),
        ("atomic y[0u32] += 1.0;", Rule::IndexType),
        ("let taken: i64 = take(a);", Rule::CallSignature),
        ("let taken: i64 = take(y);", Rule::CallSignature),
        ("let taken: i64 = take(p);", Rule::PartsUse),
        ("let flag: i64 = raised(a);", Rule::CallSignature),
        ("while n == 0 { for i in 0 .. n parallel { break; } }", Rule::StrayBreak),
        ("for j in 0 .. n { for i in 0 .. n vector { if i == n { break; } } }", Rule::VectorBody),
    ];
    for (body, rule) in cases {
        assert_eq!(broken_rule(with_arrays(body)), rule, "{body}");
    }
}

#[test]
fn broken_vector_loops() {
    let bodies = [
        "while s < 1 { }",
        "if n == 0 { fail size_overflow; }",
        "let r: i64 = lower_bound(c, 0, 1, 2);",
        "alloc w[1];",
        "grow w[1 * 1];",
        "atomic y[0] += 1.0;",
        "for j in 0 .. n parallel { }",
        "for j in 0 .. n { for l in 0 .. n vector { } }",
        "let e: i64 = collect w[0 ..] = p;",
    ];
    for body in bodies {
        assert_eq!(
            broken_rule(with_arrays(&format!("for i in 0 .. n vector {{ {body} }}"))),
            Rule::VectorBody,
            "{body}"
        );
    }
    let bodies = [
        "t = 1.0;",
        "t = t - 1.0;",
        "t = 1.0 + t;",
        "t = t + t;",
        "t = t + 1.0; t = t * 2.0;",
        "t = t + 1.0; y[i] = t;",
        "t = t + f64(s); s = s + 1;",
        "for j in 0 .. s { s = s + 1; }",
        "if t < 1.0 { t = t + 1.0; }",
    ];
    for body in bodies {
        let function = with_arrays(&format!("for i in 0 .. n vector(4) {{ {body} }}"));
        assert_eq!(broken_rule(function), Rule::VectorReduction, "{body}");
    }
}

#[test]
fn good_loops() {
    for body in [
        "for i in 0 .. n parallel { alloc w[2]; for j in 0 .. n vector { w[j] += 1.0; } deposit p[i] = w[.. 1]; }",
        "for i in 0 .. n parallel { for j in 0 .. n parallel { alloc w[2]; } var r: f64 = t; r = r + 1.0; }",
        "for i in 0 .. n parallel { alloc w[2]; for j in 0 .. n parallel { atomic w[0] += 1.0; } }",
        "for i in 0 .. n vector { t = t + 1.0; if i < 3 { t = t + 2.0; s = s | i; } var r: i64 = 0; r = 1 - r; }",
        "for i in 0 .. n vector { for j in 0 .. n unroll { t = t max 2.0; } fill y[i .. i + 1] = 0.0; }",
        "for i in 0 .. n unroll(3) { while s < 1 { break; } t = 1.0 - t; grow g[1 * 1]; }",
    ] {
        let body = body.replace("t max 2.0", "max(t, 2.0)");
        verify(with_arrays(&body)).unwrap_or_else(|error| panic!("{body}: {error}"));
    }
}

#[test]
fn broken_names() {
    for (name, rule) in [("", Rule::NotAnIdentifier), ("a b", Rule::NotAnIdentifier), ("ä", Rule::NotAnIdentifier)] {
        assert_eq!(broken_rule(Builder::new(name).finish()), rule);
    }
    let mut function = Builder::new("f").finish();
    for _ in 0..2 {
        function.vars.push(Var { name: "x".to_string(), ty: DType::F64, mutable: false });
    }
    assert_eq!(broken_rule(function), Rule::DuplicateName);
}

#[test]
fn the_builder_makes_good_names() {
    let mut b = Builder::new("f");
    for wanted in ["int", "int", "int_2", "x", "x", "I"] {
        let zero = b.int(0);
        b.define(wanted, zero);
    }
    let function = verify(b.finish()).unwrap();
    let names: Vec<&str> = function.vars.iter().map(|(_, var)| var.name.as_str()).collect();
    assert_eq!(names, ["int_2", "int_3", "int_2_2", "x", "x_2", "I_2"]);
}

#[test]
fn broken_arenas() {
    let mut loops = Builder::new("f").finish();
    let next = Handle::from_index(1);
    loops.exprs.insert(Expr::Unary(UnaryOp::Neg, next));
    loops.exprs.insert(Expr::Unary(UnaryOp::Abs, Handle::from_index(0)));
    // The printer must not follow it for ever.
    assert_eq!(loops.expr_text(next), "abs(<?>)");
    assert_eq!(broken_rule(loops), Rule::OperandOrder);

    let mut dangling = Builder::new("f").finish();
    dangling.exprs.insert(Expr::Var(next_var()));
    assert_eq!(broken_rule(dangling), Rule::DanglingHandle);

    let mut no_expr = Builder::new("f").finish();
    no_expr.body.push(Stmt::While { cond: Handle::from_index(9), body: Vec::new() });
    assert_eq!(broken_rule(no_expr), Rule::DanglingHandle);

    let mut no_array = Builder::new("f");
    let zero = no_array.int(0);
    no_array.alloc(Handle::from_index(3), zero, true);
    assert_eq!(broken_rule(no_array.finish()), Rule::DanglingHandle);

    let mut no_param = Builder::new("f").finish();
    no_param.params.push(Param::Scalar(next_var()));
    assert_eq!(broken_rule(no_param), Rule::ScalarParameter);

    for constant in [
        Const { ty: DType::U8, bits: 256, imag: 0 },
        Const { ty: DType::I8, bits: 128, imag: 0 },
        Const { ty: DType::Bool, bits: 2, imag: 0 },
        Const { ty: DType::F32, bits: 1 << 32, imag: 0 },
        Const { ty: DType::F64, bits: 0, imag: 1 },
    ] {
        let mut function = Builder::new("f").finish();
        function.exprs.insert(Expr::Const(constant));
        assert_eq!(broken_rule(function), Rule::ConstantRange, "{constant:?}");
    }
}

fn next_var() -> Handle<Var> {
    Handle::from_index(0)
}

#[test]
fn broken_parameters_and_definitions() {
    let mut local = Builder::new("f");
    let array = local.local_array("w", DType::F64);
    let mut function = local.finish();
    function.params.push(Param::Array(array));
    assert_eq!(broken_rule(function), Rule::ArrayParameter);

    let mut missing = Builder::new("f").finish();
    let role = ArrayRole::Input;
    missing.arrays.push(Array { name: "a".to_string(), elem: DType::F64, role, min_len: 0 });
    assert_eq!(broken_rule(missing), Rule::ArrayParameter);

    let mut twice = Builder::new("f");
    let one = twice.int(1);
    let var = twice.declare("x", one);
    twice.push(Stmt::Define { var, value: one });
    assert_eq!(broken_rule(twice.finish()), Rule::DefinedTwice);

    let mut counter = Builder::new("f");
    let zero = counter.int(0);
    let mut function = counter.finish();
    let var = function.vars.push(Var { name: "i".to_string(), ty: DType::I64, mutable: true });
    let kind = lacunar_imp::LoopKind::Serial;
    function.body.push(Stmt::For { var, begin: zero, end: zero, loads: None, kind, body: Vec::new() });
    assert_eq!(broken_rule(function), Rule::MustBeImmutable);
}

#[test]
fn broken_depths() {
    let mut deep = Builder::new("f");
    let mut sum = deep.scalar_param("n");
    let n = sum;
    for _ in 0..10_000 {
        sum = deep.expr(Expr::Binary(BinaryOp::Add, sum, n));
    }
    assert_eq!(broken_rule(deep.finish()), Rule::TooDeep);

    let mut nested = Builder::new("f");
    let yes = nested.bool(true);
    let mut body = Vec::new();
    for _ in 0..1000 {
        body = vec![Stmt::While { cond: yes, body }];
    }
    body.into_iter().for_each(|stmt| nested.push(stmt));
    assert_eq!(broken_rule(nested.finish()), Rule::TooNested);
}

#[test]
fn errors_print_what_is_at_fault() {
    let error = verify(parse("kernel f(in a: f64[]) {\n  a[0] = 1.0 + 2.0;\n}").unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "an input array is written: a[0] = 1.0 + 2.0;");
}
