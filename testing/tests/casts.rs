//! Explicit conversions: every type to every other, and every third one behind it; of tensors, of literals, of sums,
//! inside of sums and into results that add up. The results are compared with definitions of this file, which follow
//! the text and share nothing with the compiler, so that conversions that vanish or trade places are seen.

#![allow(clippy::unwrap_used)] // A failure is what a test is for.

use half::{bf16, f16};
use lacunar::{Backend, DType, DynTensor, Format, Kernel, Optimization, Options};
use lacunar_formats::Kind;
use lacunar_runtime::{Buffer, Coo, Coordinates, Values};
use lacunar_testing::day::{chosen, today};
use lacunar_testing::entries::{push, scalars};
use lacunar_testing::scalar::Scalar;
use num_complex::Complex;

/// A value of some type, as wide as can be.
#[derive(Clone, Copy, Debug)]
enum Wide {
    Truth(bool),
    Whole(i128),
    Real(f64),
    Complex(f64, f64),
}
use Wide::{Complex as Pair, Real, Truth, Whole};

/// A number of a floating-point type. To 16 bits it goes by way of 32.
fn rounded(value: f64, dtype: DType) -> f64 {
    let single = value as f32;
    match dtype {
        DType::F16 => f64::from(nearest(single, |bits| f16::from_bits(bits).to_f32(), 0x7c00)),
        DType::BF16 => f64::from(nearest(single, |bits| bf16::from_bits(bits).to_f32(), 0x7f80)),
        DType::F32 | DType::C64 => f64::from(single),
        _ => value,
    }
}

/// The nearest number of 16 bits, found by trying those around the value; of two equally near ones, the one with an
/// even last bit. `infinity` are the bits of infinity, which come next after those of the largest number.
fn nearest(value: f32, number: impl Fn(u16) -> f32, infinity: u16) -> f32 {
    if value.is_nan() {
        return value;
    }
    let size = f64::from(value.abs());
    // The numbers from 0 on have their bits' order.
    let (mut low, mut high) = (0u16, infinity);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if f64::from(number(middle)) <= size { low = middle } else { high = middle }
    }
    // As if the numbers went on, infinity stands at the next power of two.
    let step = f64::from(number(infinity - 1)) - f64::from(number(infinity - 2));
    let place =
        |bits: u16| if bits == infinity { f64::from(number(infinity - 1)) + step } else { f64::from(number(bits)) };
    let (below, above) = (size - place(low), place(high) - size);
    let up = above < below || (above == below && high % 2 == 0);
    number(if up { high } else { low }).copysign(value)
}

/// The value in another type; `None` where the language has no such conversion.
fn converted(value: Wide, to: DType) -> Option<Wide> {
    Some(match (value, to.kind()) {
        (_, _) if to == DType::Pattern => Truth(true),
        (Truth(is), Kind::Bool) => Truth(is),
        (Whole(n), Kind::Bool) => Truth(n != 0),
        (Real(x), Kind::Bool) => Truth(x != 0.0),
        (Pair(re, im), Kind::Bool) => Truth(re != 0.0 || im != 0.0),
        (Truth(is), _) => converted(Whole(i128::from(is)), to)?,
        (Whole(n), Kind::Signed | Kind::Unsigned) => {
            let bits = 8 * to.size() as u32;
            let rest = n.rem_euclid(1 << bits);
            let wraps = to.kind() == Kind::Signed && rest >= 1 << (bits - 1);
            Whole(if wraps { rest - (1 << bits) } else { rest })
        }
        (Whole(n), Kind::Real) => Real(if to == DType::F64 { n as f64 } else { rounded(f64::from(n as f32), to) }),
        (Whole(n), Kind::Complex) => Pair(if to == DType::C128 { n as f64 } else { f64::from(n as f32) }, 0.0),
        (Real(x), Kind::Signed | Kind::Unsigned) => {
            let bits = 8 * to.size() as u32;
            let (least, most) = match to.kind() {
                Kind::Signed => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
                _ => (0, (1i128 << bits) - 1),
            };
            // NaN becomes 0.
            Whole((x.trunc() as i128).clamp(least, most))
        }
        (Real(x), Kind::Real) => Real(rounded(x, to)),
        (Real(x), Kind::Complex) => Pair(rounded(x, to), 0.0),
        (Pair(re, im), Kind::Complex) => Pair(rounded(re, to), rounded(im, to)),
        (Pair(..), _) => return None,
    })
}

/// The value after several conversions, one after the other; `None` if the language lacks one of them.
fn chain(value: Wide, types: &[DType]) -> Option<Wide> {
    types.iter().try_fold(value, |value, to| converted(value, *to))
}

fn scalar(value: Wide) -> Scalar {
    match value {
        Truth(is) => Scalar::Bool(is),
        Whole(n) => Scalar::Int(n),
        Real(x) => Scalar::Real(x),
        Pair(re, im) => Scalar::Complex(Complex::new(re, im)),
    }
}

fn same(found: Scalar, expected: Wide) -> bool {
    let alike = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
    match (found, expected) {
        (Scalar::Bool(a), Truth(b)) => a == b,
        (Scalar::Int(a), Whole(b)) => a == b,
        (Scalar::Real(a), Real(b)) => alike(a, b),
        (Scalar::Complex(a), Pair(re, im)) => alike(a.re, re) && alike(a.im, im),
        _ => false,
    }
}

/// The values that tensors of a type hold: small numbers and large ones, fractions, limits.
fn samples(dtype: DType) -> Vec<Wide> {
    let numbers = [0.0, -0.0, 1.0, 2.75, -3.5, 0.3, 255.5, 300.0, -129.0, 40000.0, 1e6, 65520.0, 3e9, -1e19, 2.5e38];
    let wholes = [
        0,
        1,
        -1,
        2,
        127,
        128,
        255,
        256,
        -129,
        2049,
        65535,
        65536,
        16_777_217,
        1 << 31,
        (1 << 53) + 1,
        i128::from(u64::MAX),
    ];
    let found: Vec<Wide> = match dtype.kind() {
        Kind::Bool => vec![Truth(dtype == DType::Pattern), Truth(true)],
        Kind::Signed | Kind::Unsigned => wholes.map(Whole).to_vec(),
        Kind::Real => numbers.into_iter().chain([f64::NAN, f64::INFINITY, f64::NEG_INFINITY]).map(Real).collect(),
        Kind::Complex => numbers.map(|x| Pair(x, x / 3.0)).into_iter().chain([Pair(0.0, 2.0)]).collect(),
    };
    found.into_iter().filter_map(|value| converted(value, dtype)).collect()
}

/// A vector with a value at every coordinate.
fn vector(dtype: DType, values: &[Wide]) -> DynTensor {
    let mut list = Values::empty(dtype);
    values.iter().for_each(|value| push(&mut list, scalar(*value)));
    let dims = vec![values.len() as u64];
    if dtype == DType::Pattern {
        let coords = vec![Coordinates::U32((0..values.len() as u32).collect())];
        return DynTensor::from_coo(Coo { dims, coords, values: list }, &Format::sv()).unwrap();
    }
    DynTensor::from_dense(dims, Buffer::from_values(list), &Format::dense(1)).unwrap()
}

/// The values of each result of a program whose only input is `x`.
fn results(text: &str, x: &DynTensor, types: &[(String, DType)], backend: Backend) -> Vec<(String, Vec<Scalar>)> {
    let mut options = Options::new().backend(backend).tuned(false);
    // Large programs: a part of them is optimized as users' are, another one every day.
    if !chosen(text, today(), 8) {
        options.optimization = Optimization::Least;
    }
    // A program of constants has no input.
    let options = if text.contains("x(") { options.tensor("x", x) } else { options };
    let options = types.iter().fold(options, |options, (name, dtype)| options.dtype(name, *dtype));
    let kernel = Kernel::compile(text, &options).unwrap_or_else(|error| panic!("{text}: {error}"));
    let given: Vec<_> = kernel.inputs().map(|name| (name, x)).collect();
    let run = kernel.run_named(&given).unwrap_or_else(|error| panic!("{text}: {error}"));
    run.results.iter().map(|(name, tensor)| (name.clone(), scalars(&tensor.to_coo().unwrap().values))).collect()
}

/// The differences between a program's results and the expected values.
fn differences(
    statements: &[(String, Vec<Wide>)],
    (x, types): (&DynTensor, &[(String, DType)]),
    backend: Backend,
) -> Vec<String> {
    let text: Vec<&str> = statements.iter().map(|(text, _)| text.as_str()).collect();
    let mut wrong = Vec::new();
    let found = results(&text.join("\n"), x, types, backend);
    assert_eq!(found.len(), statements.len());
    for ((statement, expected), (_, found)) in statements.iter().zip(found) {
        let equal = found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| same(*a, *b));
        if !equal {
            wrong.push(format!("{statement} of {}: {found:?} for {expected:?}", x.dtype()));
        }
    }
    wrong
}

fn every(sequences: usize) -> Vec<Vec<DType>> {
    let mut found = vec![Vec::new()];
    for _ in 0..sequences {
        let longer = |types: &Vec<DType>| DType::ALL.map(|dtype| [types.clone(), vec![dtype]].concat());
        found = found.iter().flat_map(longer).collect();
    }
    found
}

/// `i32(f16(x(i)))` for the types `f16`, `i32`.
fn nested(inner: &str, types: &[DType]) -> String {
    types.iter().fold(inner.to_string(), |text, dtype| format!("{dtype}({text})"))
}

#[test]
fn two_conversions_of_every_type() {
    let mut wrong = Vec::new();
    for from in DType::ALL {
        let values = samples(from);
        let x = vector(from, &values);
        let mut statements = Vec::new();
        for types in every(2) {
            let expected: Option<Vec<Wide>> = values.iter().map(|value| chain(*value, &types)).collect();
            if let Some(expected) = expected {
                let number = statements.len();
                statements.push((format!("y{number}(i) = {}", nested("x(i)", &types)), expected));
            }
        }
        wrong.extend(statements.chunks(64).flat_map(|some| differences(some, (&x, &[]), Backend::Interpreter)));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// The forms in which one conversion is followed by another that is not written, on the engine that users run.
#[test]
fn a_conversion_and_what_is_around_it() {
    let backend = if cfg!(feature = "llvm") { Backend::Llvm } else { Backend::Interpreter };
    let mut wrong = Vec::new();
    for from in DType::ALL {
        // Sums of these are exact in every type.
        let values: Vec<Wide> = [1.0, 2.75, 6.5, 2.0, 0.5]
            .into_iter()
            .filter_map(|x| converted(if from.is_complex() { Pair(x, 0.0) } else { Real(x) }, from))
            .collect();
        let x = vector(from, &values);
        let (mut statements, mut types) = (Vec::new(), Vec::new());
        for to in DType::ALL {
            let Some(parts) = values.iter().map(|value| chain(*value, &[to])).collect::<Option<Vec<Wide>>>() else {
                continue;
            };
            let mut add = |right: String, dims: &str, expected: Vec<Wide>, dtype: Option<DType>| {
                let name = format!("y{}", statements.len());
                types.extend(dtype.map(|dtype| (name.clone(), dtype)));
                statements.push((format!("{name}{dims} = {right}"), expected));
            };
            let cast = format!("{to}(x(i))");
            // A product with a real number, an assignment to a wider type, a sum that is written and one that is not.
            let wide = if to.is_complex() { DType::C128 } else { DType::F64 };
            let widened: Vec<Wide> = parts.iter().filter_map(|value| converted(*value, wide)).collect();
            add(format!("{wide}(1) * {cast}"), "(i)", widened.clone(), None);
            add(cast.clone(), "(i)", widened.clone(), Some(wide));
            let total = widened.iter().fold(Pair(0.0, 0.0), |sum, value| match (sum, *value) {
                (Pair(a, b), Pair(re, im)) => Pair(a + re, b + im),
                (Pair(a, b), Real(x)) => Pair(a + x, b),
                _ => sum,
            });
            let total = match total {
                Pair(re, im) if wide == DType::C128 => Pair(re, im),
                Pair(re, _) => Real(re),
                other => other,
            };
            // Truth values have no sum but "or".
            if to.kind() != Kind::Bool {
                let computed = converted(total, to).into_iter().collect::<Vec<_>>();
                add(cast.clone(), "", computed.clone(), None);
                add(format!("sum(i, {cast})"), "", computed, None);
                add(format!("{wide}(sum(i, {cast}))"), "", vec![total], None);
            }
        }
        for (some, types) in statements.chunks(40).map(|some| (some, &types)) {
            let declared = |name: &str| some.iter().any(|(text, _)| text.split(['(', ' ']).next() == Some(name));
            let types: Vec<_> = types.iter().filter(|(name, _)| declared(name)).cloned().collect();
            wrong.extend(differences(some, (&x, &types), backend));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Values that the text rounds to 16 bits are rounded there, and once more when they are stored: not once for both.
#[test]
fn what_is_rounded_by_the_text_is_added_up_rounded() {
    // 512 of 1 + 3/4096: rounded each they are 1 + 1/1024, and their sum 512.5.
    let many = vector(DType::F64, &[Real(1.0 + 3.0 / 4096.0); 512]);
    let types = ["y".to_string(), "z".to_string()].map(|name| (name, DType::F16));
    let statements = [
        ("y = f16(x(i))".to_string(), vec![Real(512.5)]),
        ("z = x(i)".to_string(), vec![Real(512.5)]),
        // 1000.73 is between 1000.5 and 1001.
        ("u = 2 * f16(x(i) * 1000)".to_string(), vec![Real(f64::INFINITY)]),
        ("v = i64(f16(x(i) * 1000) * 2)".to_string(), vec![Whole(512 * 2001)]),
    ];
    assert_eq!(differences(&statements, (&many, &types), Backend::Interpreter), Vec::<String>::new());
}

#[test]
fn constants_are_converted_like_values() {
    let literals = [
        ("2.75", Real(2.75)),
        ("-3.5", Real(-3.5)),
        ("300", Whole(300)),
        ("70000.5", Real(70000.5)),
        ("true", Truth(true)),
        ("0", Whole(0)),
        ("0.3", Real(0.3)),
    ];
    let x = vector(DType::F64, &[Real(0.0)]);
    // Operators that need a truth value test if a number is not 0.
    let not = [("0", true), ("3", false), ("-0.0", true), ("0.5", false), ("1 - 1", true), ("true", false)];
    let not: Vec<_> =
        not.iter().enumerate().map(|(k, (text, is))| (format!("n{k} = not({text})"), vec![Truth(*is)])).collect();
    let mut wrong = differences(&not, (&x, &[]), Backend::Interpreter);
    for (text, value) in literals {
        let mut statements = Vec::new();
        for types in every(2) {
            if let Some(expected) = chain(value, &types) {
                statements.push((format!("y{} = {}", statements.len(), nested(text, &types)), vec![expected]));
            }
        }
        wrong.extend(statements.chunks(64).flat_map(|some| differences(some, (&x, &[]), Backend::Interpreter)));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
