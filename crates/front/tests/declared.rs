//! Declared structures: rules against the names of the library and against the elements that they describe, and programs of rules.

#![allow(clippy::unwrap_used)] // A failure is what a test is for.

use lacunar_formats::DType;
use lacunar_front::{Declarations, Language, check, structure, stur};
use lacunar_notation::Structure;
use lacunar_notation::structure::Named;
use lacunar_sets::Coefficient;
use proptest::prelude::*;

fn declared(text: &str) -> Structure {
    let order = text.split(')').next().unwrap().matches(',').count() + 1;
    let (_, spec) = structure::parse(text).unwrap_or_else(|error| panic!("{}", error.render(text, "-p", false)));
    spec.resolve(order).unwrap_or_else(|error| panic!("{}", error.render(text, "-p", false)))
}

fn points(dims: &[i64]) -> impl Iterator<Item = Vec<i64>> + use<> {
    let dims = dims.to_vec();
    let count: i64 = dims.iter().product();
    (0..count).map(move |mut number| {
        let mut point = Vec::new();
        for dim in &dims {
            point.push(number % dim);
            number /= dim;
        }
        point
    })
}

/// True if two structures say the same of tensors of these sizes.
fn alike(a: &Structure, b: &Structure, dims: &[i64], params: &[i64]) -> Result<(), String> {
    for point in points(dims) {
        let (left, right) = (a.element(&[dims, params].concat(), &point), b.element(dims, &point));
        if left != right {
            return Err(format!("at {point:?} of {dims:?}: {left:?} and {right:?}\n{a}\n{b}"));
        }
    }
    Ok(())
}

#[test]
fn rules_say_what_names_do() {
    let cases: &[(&str, &str, &[i64], bool)] = &[
        ("A(i,j): A(j,i) = A(i,j)", "symmetric", &[], true),
        ("A(i,j): A(i,j) = A(j,i)", "symmetric", &[], true),
        ("B(i,j): B(j,i) = -B(i,j)", "skew", &[], true),
        ("A(i,j): -1 * A(j,i) = A(i,j)", "skew", &[], true),
        ("A(i,j): A(j,i) = conj(A(i,j))", "hermitian", &[], true),
        ("A(i,j): A(j,i) = -conj(A(i,j))", "skew_hermitian", &[], true),
        ("A(i,j): A(i+1,j+1) = A(i,j)", "toeplitz", &[], false),
        ("A(i,j): A(i,j) = A(i - 1, j - 1)", "toeplitz", &[], false),
        ("A(i,j): A(i+1,j-1) = A(i,j)", "hankel", &[], false),
        ("A(i,j): A(i,j) = A(0,j)", "identical_rows", &[], false),
        ("A(i,j): A(i,j) = A(i,0)", "identical_columns", &[], false),
        ("A(i,j): A(i+1,j) = A(i,j)", "identical_rows", &[], false),
        ("A(row,col): row <= col", "upper", &[], false),
        ("A(i,j): i <= j + 2; j - i <= 1", "banded", &[2, 1], false),
        ("A(i,j): i = 0 or i = j + 1", "leslie", &[], false),
        ("A(i,j): (i + j) mod 2 = 0", "chess", &[], false),
        ("A(i,j): floor(i/2) = floor(j/2)", "block_diagonal", &[2], false),
        ("A(i,j): exists k: i = k and j = k", "diagonal", &[], false),
        ("A(i,j): false", "zero", &[], false),
        ("A(i,j,k): i <= j <= k", "simplex", &[], false),
    ];
    for (text, name, arguments, square) in cases {
        let rule = declared(text);
        let named = Named::find(name).unwrap().structure(rule.order(), arguments).unwrap();
        for (m, n) in (0..5).flat_map(|m| (0..5).map(move |n| (m, n))).filter(|(m, n)| !square || m == n) {
            let dims: Vec<i64> = [m, n, m].into_iter().take(rule.order()).collect();
            alike(&rule, &named, &dims, &[]).unwrap_or_else(|difference| panic!("{text}: {difference}"));
        }
    }
}

#[test]
fn names_in_conditions_are_parameters() {
    let rule = declared("A(i,j): i - w <= j <= i + w");
    assert_eq!(rule.space().params, ["n_i", "n_j", "w"]);
    let banded = Named::find("banded").unwrap().structure(2, &[2]).unwrap();
    alike(&rule, &banded, &[5, 6], &[2]).unwrap();
}

/// Each relation with the function and the factor that it writes: `T(x) = c T(g(x))`; and the elements that may be other than 0.
type Relation = (&'static str, fn(&[i64]) -> Vec<i64>, i64, bool, fn(&[i64]) -> bool);

#[test]
fn relations_hold_of_all_elements() {
    let cases: &[Relation] = &[
        ("A(i,j): A(j,i) = A(i,j); i <= j + 1", |x| vec![x[1], x[0]], 1, false, |x| x[0] <= x[1] + 1),
        ("A(i,j): A(j,i) = -A(i,j); j <= i + 1", |x| vec![x[1], x[0]], -1, false, |x| x[1] <= x[0] + 1 && x[0] != x[1]),
        (
            "A(i,j): A(j,i) = -conj(A(i,j)); (i + j) mod 2 = 0",
            |x| vec![x[1], x[0]],
            -1,
            true,
            |x| (x[0] + x[1]) % 2 == 0,
        ),
        ("A(i,j): A(i+2,j+1) = A(i,j)", |x| vec![x[0] + 2, x[1] + 1], 1, false, |_| true),
        ("A(i,j): A(i+2,j-3) = A(i,j)", |x| vec![x[0] + 2, x[1] - 3], 1, false, |_| true),
        ("A(i,j): A(3-i,4-j) = -A(i,j)", |x| vec![3 - x[0], 4 - x[1]], -1, false, |x| x != [3 - x[0], 4 - x[1]]),
        ("A(i,j): A(i,j) = A(2,j)", |x| vec![2, x[1]], 1, false, |_| true),
        ("A(i,j): A(i,j+2) = A(i,j); j <= 4", |x| vec![x[0], x[1] + 2], 1, false, |x| x[1] <= 4),
        ("A(i,j,k): A(k,j,i) = A(i,j,k)", |x| vec![x[2], x[1], x[0]], 1, false, |_| true),
        ("A(i,j,k): A(i+1,j,k+1) = A(i,j,k); j <= 1", |x| vec![x[0] + 1, x[1], x[2] + 1], 1, false, |x| x[1] <= 1),
        ("A(i,j): A(j,i) = A(i,j); j <= i", |x| vec![x[1], x[0]], 1, false, |x| x[1] <= x[0]),
        (
            "A(i,j): A(j,i) = -A(i,j); j < i or i = 0",
            |x| vec![x[1], x[0]],
            -1,
            false,
            |x| x[1] < x[0] || (x[0] == 0 && x[1] != 0),
        ),
        ("A(i,j): A(i,j) = A(2,j); i != 2 or j <= 1", |x| vec![2, x[1]], 1, false, |x| x[0] != 2 || x[1] <= 1),
    ];
    for (text, partner, sign, conjugate, may_be) in cases {
        let rule = declared(text);
        let dims = &[5, 5, 5][..rule.order()];
        let element = |point: &[i64]| rule.element(dims, point).expect("small numbers fit");
        for point in points(dims) {
            assert_eq!(element(&point).is_some(), may_be(&point), "{text}: {point:?}\n{rule}");
            let other = partner(&point);
            if !other.iter().zip(dims).all(|(at, size)| (0..*size).contains(at)) {
                continue;
            }
            let (Some((a, p)), Some((b, q))) = (element(&point), element(&other)) else { continue };
            assert_eq!(a, b, "{text}: {point:?} and {other:?} follow from others\n{rule}");
            let factor = Coefficient::new(*sign, 1, *conjugate).unwrap();
            let hermitian_diagonal = point == other && *conjugate;
            assert!(
                hermitian_diagonal || Some(p) == factor.times(q),
                "{text}: {point:?} is {p}, {other:?} {q}\n{rule}"
            );
        }
    }
}

#[test]
fn lines_that_a_condition_cuts_are_refused() {
    for text in ["A(i,j): A(i+1,j) = A(i,j); i >= 1", "A(i,j): A(i+1,j+1) = A(i,j); i = j + 1; j != 2"] {
        let refused = structure::parse(text).unwrap_err();
        assert_eq!(refused.code, "E1509", "{text}");
    }
}

const PROGRAM: &str = "\
# A covariance of a triangle.
symbols: n, m
outputs: C
iters: C -> i, j, k
A:D(i, j) := (0 <= i < m) * (0 <= j < n)
A:U(i, j) := (0 <= i <= j < n) * (i < m)
S:D(i, j) := (0 <= i < n) * (0 <= j < n)
S:U(i, j) := (0 <= i < j < n)
S:R(i, j, ip, jp) := -1 * (0 <= j < i < n) * (ip = j) * (jp = i)
P:D(i, j) := (0 <= i < m) * (0 <= j < n)
P:U(i, j) := A:U(i, k) * S:D(k, j)
Q:D(i) := (0 <= i < n)
Q:U(i) := A:U(0, i) * (i % 2 = 0) + (i = n - 1) * (0 <= i)
@preprocess_start
B(s) := A(i, j) * (s = n*i + j - i*(i + 1)/2)
@preprocess_end
C(i, j) := A(k, i) * A(k, j) + 2^-1 * (A^-1(i, j) + S(i, j) * 0.5)
";

#[test]
fn programs_of_rules() {
    let program = stur::parse(PROGRAM).unwrap();
    assert_eq!((program.symbols.len(), program.outputs.len(), program.rules.len()), (2, 1, 11));
    assert!(program.rules[9].prepares && !program.rules[10].prepares);
    let printed = program.to_string();
    assert_eq!(stur::parse(&printed).unwrap().to_string(), printed);
    let structures = program.structures().unwrap_or_else(|error| panic!("{}", error.render(PROGRAM, "program", false)));
    for (m, n) in (0..4).flat_map(|m| (0..5).map(move |n| (m, n))) {
        // Behind the sizes of dimensions stand the symbols, n and m.
        let upper = Named::find("upper").unwrap().structure(2, &[]).unwrap();
        alike(&structures["A"], &upper, &[m, n], &[n, m]).unwrap();
        let skew = Named::find("skew").unwrap().structure(2, &[]).unwrap();
        alike(&structures["S"], &skew, &[n, n], &[n, m]).unwrap();
        // Rows of A that are not empty.
        let product = &structures["P"];
        for point in points(&[m, n]) {
            assert_eq!(
                product.unique().contains(&[m, n, n, m], &point),
                Some(point[0] < n.min(m)),
                "{m} {n} {point:?}"
            );
        }
        for i in 0..n {
            let expected = (m > 0 && i % 2 == 0) || i == n - 1;
            assert_eq!(structures["Q"].unique().contains(&[n, n, m], &[i]), Some(expected), "{m} {n} {i}");
        }
    }
}

/// A rule that becomes several statements gives its tensor the type that all of its terms mix into.
#[test]
fn types_of_rules_follow_from_all_terms() {
    let rules = "x:D(i) := (0 <= i < 4)\nB:D(i) := (0 <= i < 4)\ny:D(i) := (0 <= i < 4)\nz:D(i) := (0 <= i < 4)\n";
    let typed = |rule: &str, x: DType, b: DType| {
        let declarations =
            Declarations { language: Language::Rules, ..Declarations::new() }.dtype("x", x).dtype("B", b);
        let text = format!("{rules}{rule}\n");
        let program =
            check(&text, &declarations).unwrap_or_else(|errors| panic!("{}", errors[0].render(&text, "rules", false)));
        program.tensors.iter().find(|(_, tensor)| tensor.name == "y").unwrap().1.dtype
    };
    let scattered = "y(i) := x(i) + B(b) * (i = b / 2)";
    for (x, b, expected) in [
        (DType::I64, DType::F64, DType::F64),
        (DType::F64, DType::I64, DType::F64),
        (DType::I32, DType::I64, DType::I64),
        (DType::F32, DType::C64, DType::C64),
    ] {
        assert_eq!(typed(scattered, x, b), expected, "{x} {b}");
    }
    assert_eq!(typed("y(i) := 2 * x(i) + B(b) * (i = b / 2)", DType::I64, DType::I64), DType::F64);
    assert_eq!(typed("y(i) := (i = 2) + x(i) + B(b) * (i = b / 2)", DType::F32, DType::F32), DType::F32);
    assert_eq!(typed("z(i) := x(i)\ny(i) := z(i) + B(b) * (i = b / 2)", DType::C128, DType::F32), DType::C128);
}

const TOKENS: [&str; 40] = [
    "A",
    "B",
    "i",
    "j",
    "k",
    "n",
    "(",
    ")",
    "(",
    ")",
    ",",
    ":",
    ":=",
    ";",
    "=",
    "<=",
    "<",
    "!=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "0",
    "1",
    "2",
    "9223372036854775807",
    "and",
    "or",
    "not",
    "exists",
    "floor",
    "mod",
    "conj",
    ":U",
    ":R",
    ":D",
    "^-1",
    "\n",
    "é",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is written is read, or told to be wrong within the text.
    #[test]
    fn no_text_panics(words in prop::collection::vec(prop::sample::select(&TOKENS[..]), 0..24), spaces in any::<bool>()) {
        let text = words.join(if spaces { " " } else { "" });
        for text in [text.clone(), format!("A(i,j): {text}"), format!("A:U(i,j) := (0 <= i < j) * {text}")] {
            if let Ok((_, spec)) = structure::parse(&text) {
                let _ = spec.resolve(2);
            }
            if let Ok(program) = stur::parse(&text) {
                prop_assert_eq!(stur::parse(&program.to_string()).unwrap().to_string(), program.to_string());
                let _ = program.structures();
            }
        }
    }
}
