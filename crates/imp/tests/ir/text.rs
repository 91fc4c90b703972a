//! Print, parse and verify: the text form is stable, reads back to the same, and no text makes the parser panic.

#![allow(clippy::unwrap_used)] // A failure is what a test is for.

use lacunar_imp::{Const, Limits, generate, interpret_within, parse, verify};

/// Every form of statement and expression, as it is printed.
const EVERYTHING: &str = include_str!("text/everything.imp");

#[test]
fn golden_text_reads_back() {
    let function = parse(EVERYTHING).unwrap_or_else(|error| panic!("{}", error.render(EVERYTHING, "text", false)));
    assert_eq!(function.to_string(), EVERYTHING.trim_end());
    verify(function).unwrap();
}

#[test]
fn random_functions_read_back() {
    for seed in 0..300 {
        let (function, mut memory) = generate::function(seed);
        let text = function.to_string();
        let again = parse(&text).unwrap_or_else(|error| panic!("seed {seed}: {}", error.render(&text, "text", false)));
        assert_eq!(again.to_string(), text, "seed {seed}");
        let mut other = memory.clone();
        let limits = Limits::default();
        let outcome = interpret_within(&verify(function).unwrap(), &mut memory, limits).unwrap();
        assert_eq!(interpret_within(&verify(again).unwrap(), &mut other, limits).unwrap(), outcome, "seed {seed}");
        generate::compare(&memory, &other, 0.0).unwrap();
    }
}

#[test]
fn broken_text_is_an_error() {
    for (text, message) in [
        ("", "`kernel` is missing"),
        ("kernel f() { x = 1; }", "a value is missing, or the variable is defined nowhere above"),
        ("kernel f(n: i64, n: i64) {}", "`n` is defined twice"),
        ("kernel f() { let x: i8 = 128i8; }", "the number does not fit its type"),
        ("kernel f() { let x: f64 = 1e999; }", "the number does not fit its type"),
        ("kernel f() { let x: i64 = exp(1, 2); }", "`exp` is no operation on 2 operands"),
        ("kernel f() { while true {", "a statement is missing"),
        ("kernel f() { for i in 0 .. 1 vector(0) { } }", "a number of iterations is missing"),
        ("kernel f() { for i in 0 .. 1 sideways { } }", "`{` is missing"),
        ("kernel f(out y: i64[]) { atomic y[0] = 1; }", "an operation is missing"),
        ("kernel f(parts p: i64[]) { }", "`:` is missing"),
        ("kernel f() {} }", "the kernel has ended"),
        ("kernel f() { # }", "`#` has no meaning"),
        ("kernel f() { // ü\u{85}\n let ü", "`ü` has no meaning"),
        ("kernel f() { 1.\u{30b}", "`\\u{30b}` has no meaning"),
    ] {
        assert_eq!(parse(text).unwrap_err().message, message, "{text}");
    }
}

#[test]
fn depth_is_bounded() {
    let deep = |open: &str, inner: &str, close: &str| {
        format!("kernel f() {{ let x: i64 = {}{inner}{}; }}", open.repeat(100_000), close.repeat(100_000))
    };
    for text in [
        deep("(", "1", ")"),
        deep("-", "(1)", ""),
        deep("", "1", " + 1"),
        deep("abs(", "1", ")"),
        deep("1 + (", "1", ")"),
    ] {
        assert_eq!(parse(&text).unwrap_err().message, "the expression is too deep");
    }
    let blocks = format!("kernel f() {{ {}", "while true {".repeat(100_000));
    assert_eq!(parse(&blocks).unwrap_err().message, "the blocks are nested too deep");
    let sum = |terms: usize| format!("kernel f() {{ let x: i64 = 1{}; }}", " + 1".repeat(terms));
    verify(parse(&sum(399)).unwrap()).unwrap();
    assert!(parse(&sum(400)).is_err());
}

/// Cuts, doubles and swaps pieces of good text: the parser reads or refuses the result, and a function that it reads prints.
#[test]
fn mangled_text_does_no_harm() {
    let bytes = EVERYTHING.as_bytes();
    let mut state = 1u64;
    let mut random = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    for _ in 0..4000 {
        let mut text = bytes.to_vec();
        for _ in 0..=random(4) {
            let (from, to, len) = (random(text.len()), random(text.len()), 1 + random(12));
            let piece: Vec<u8> = text[from..].iter().copied().take(len).collect();
            let end = if random(2) == 0 { to } else { (to + len).min(text.len()) };
            text.splice(to..end, piece);
        }
        let text = String::from_utf8_lossy(&text);
        if let Ok(function) = parse(&text) {
            let printed = function.to_string();
            if verify(function).is_ok() {
                assert_eq!(parse(&printed).unwrap().to_string(), printed);
            }
        }
    }
}

#[test]
fn constants_print_with_their_type() {
    use lacunar_formats::DType;
    for (constant, text) in [
        (Const::int(DType::I64, i64::MIN), "-9223372036854775808"),
        (Const::int(DType::U64, -1), "18446744073709551615u64"),
        (Const::real(DType::F64, 0.1), "0.1"),
        (Const::real(DType::F64, -0.0), "-0.0"),
        (Const::real(DType::F32, 0.1), "0.1f32"),
        (Const::real(DType::F64, 1e300), "1e300"),
        (Const::real(DType::F32, f64::NEG_INFINITY), "-f32.inf"),
        (Const::real(DType::F64, f64::NAN), "f64.nan"),
        (Const { ty: DType::F32, bits: 0xffc0_0001, imag: 0 }, "f32.bits(0xffc00001)"),
        (Const::complex(DType::C128, 1.0, f64::NEG_INFINITY), "c128(1.0, -f64.inf)"),
    ] {
        assert_eq!(lacunar_imp::print::constant_text(constant), text);
    }
}
